"""What a campaign of touches would be without noise and with the nominal arm: the ground on which rank is judged.

Touches are consistent when some arm makes them exactly.  Measured ones are not, at nominal geometry by millimetres, and
a direction that says nothing (a turn of the base, one more length of everything) then seems to say something: its
column is the residual itself.  So joint values are moved until the nominal arm touches every point, plane or sphere
where its own touches put it on average (`stiffarm.measure.reaching`), and known distances are those between.  There a
redundant direction is redundant to rounding.  Touches in which the nominal arm does not reach so far (it was stretched
out) are left out: what all others cannot tell, these could at most tell by their being inconsistent.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stiffarm.identify.system import Point, System
from stiffarm.measure.reaching import reach
from stiffarm.measure.subset import with_readings

REACHED_M = 1e-12
"""A touch that misses by more is none."""


def consistent(system: System, at: Point) -> System:
    """The system at joint values at which the arm of ``at`` touches exactly; itself when nothing is touched."""
    if not len(system.contacts):
        return system
    arm, campaign = system.arm(at), system.campaign
    place = system.contacts.places(system.observer.expected(arm, at.frames).world)
    distance_m = campaign.readings.distance_m.copy()
    for link in system.contacts.targets.links:
        ends = place[[link.first, link.second]]
        planes = system.contacts.targets.targets[link.first].shape == "plane"
        distance_m[link.row] = abs(np.ptp(ends[:, 3])) if planes else np.linalg.norm(ends[1, :3] - ends[0, :3])
    campaign = replace(campaign, readings=replace(campaign.readings, distance_m=distance_m))
    reached = reach(arm, campaign, place, system.loads)
    there = np.ones(len(campaign.readings), dtype=bool)
    there[system.contacts.rows[reached.missing_m > REACHED_M]] = False
    return System(system.model, with_readings(reached.campaign, there), system.loads, touch_m=system.touch_m)
