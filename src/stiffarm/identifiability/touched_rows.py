"""What touches say of every parameter: rows free of the things that were touched, where touches truly meet.

Only where the marker is on one and the same thing in every touch do the rows show what touches can never tell.  The
nominal robot under measured joint values misses by millimetres, and rows taken there tell, weakly, what no data will
(paper 004: rank 30 instead of 23 of 33).  So every posture is moved first, as little as it takes, to where the stiff
arm of the file touches the target that its touches want best; distances become those of these targets.

Columns are to first order in the elasticity (`stiffarm.identifiability.design`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.design import second_order, stiff
from stiffarm.identifiability.question import Wanted
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.measure.contact_rows import ContactRows
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import expected, expected_with_columns
from stiffarm.measure.subset import with_readings
from stiffarm.measure.targets import TOUCHED
from stiffarm.model.arm_model import Arm
from stiffarm.model.reaching import stand_at

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LOOSE_M = 1e6
"""Standard deviation of a distance that is not to be heeded."""


@dataclass(frozen=True, eq=False)
class TouchedRows:
    """Rows of touches and known distances."""

    rows: Floats
    """(numbers, parameters), of unit variance when the scatter of touches is stated, else m."""
    stated: bool


def touching(campaign: Campaign) -> Flags:
    """(readings,) which touch something."""
    return np.asarray(np.any([campaign.kind(shape) for shape in TOUCHED], axis=0))


def touched_part(campaign: Campaign) -> Campaign:
    """Only the touches and distances."""
    return with_readings(campaign, touching(campaign) | campaign.kind("distance"))


def touched_rows(campaign: Campaign, asked: Wanted, loads: str = "torque") -> TouchedRows:
    """Rows of the touches and distances of a campaign or plan."""
    meeting = where_touches_meet(touched_part(campaign), stiff(asked.model))
    contacts = Contacts(meeting)
    world = expected(stiff(asked.model), meeting, None, "none").world
    at = ContactRows(contacts, world)
    rows = np.zeros((len(at.residual), len(asked.names)))
    bent = [name for name in asked.names if second_order(name)]
    first = [name for name in asked.names if not second_order(name)]
    for arm, part in ((stiff(asked.model), first), (asked.model.at(), bent)):
        if part:
            columns = expected_with_columns(arm, meeting, part, None, loads)[1]
            rows[:, [asked.names.index(name) for name in part]] = at.columns(columns[:, :3])
    return TouchedRows(rows / contacts.scale_m if contacts.stated else rows, contacts.stated)


def where_touches_meet(campaign: Campaign, arm: Arm) -> Campaign:
    """The campaign with postures in which an arm touches the targets, and their distances; q moves little.

    Touches that the arm cannot make are left out: what all others cannot tell, these tell by missing only.
    """
    readings = campaign.readings
    link = campaign.kind("distance")
    loose = replace(
        readings,
        distance_m=np.where(link, np.nan_to_num(readings.distance_m, nan=1.0), np.nan),
        sigma_distance_m=np.where(link, LOOSE_M, np.nan),
    )
    guess = Contacts(replace(campaign, readings=loose))
    world = expected(arm, campaign, None, "none").world
    place = guess.places(world)
    wanted = np.full_like(world, np.nan)
    for target, at in zip(guess.targets.targets, place, strict=True):
        wanted[:, target.rows] = _on(target.shape, at, world[:, target.rows])
    q, missed = _moved(campaign, arm, wanted)
    distance = readings.distance_m.copy()
    for known in guess.targets.links:
        first, second = place[known.first], place[known.second]
        plane = guess.targets.targets[known.first].shape == "plane"
        distance[known.row] = abs(second[3] - first[3]) if plane else np.linalg.norm(second[:3] - first[:3])
    meeting = replace(
        campaign,
        experiments=replace(campaign.experiments, q=q),
        readings=replace(readings, distance_m=distance),
    )
    return with_readings(meeting, ~missed) if missed.any() else meeting


def _on(shape: str, place: Floats, world_m: Floats) -> Floats:
    """The points (3, n) of a target that are nearest to given ones."""
    if shape == "touch":
        return np.broadcast_to(place[:3, None], world_m.shape)
    if shape == "plane":
        return np.asarray(world_m + place[:3, None] * (place[3] - place[:3] @ world_m))
    away = world_m - place[:3, None]
    return np.asarray(place[:3, None] + place[3] * away / np.maximum(np.linalg.norm(away, axis=0), 1e-300))


def _moved(campaign: Campaign, arm: Arm, wanted: Floats) -> tuple[Floats, Flags]:
    """Joint values of the experiments, moved so that their first touch is where it is wanted; touches that miss."""
    readings = campaign.readings
    rows = np.flatnonzero(np.isfinite(wanted).all(axis=0))
    rows = rows[np.sort(np.unique(readings.experiment[rows], return_index=True)[1])]
    q = campaign.experiments.q.copy()
    missed = np.zeros(len(readings), dtype=bool)
    for marker in np.unique(readings.marker[rows]):
        mine = rows[readings.marker[rows] == marker]
        name = DEFAULT_MARKER if marker < 0 else campaign.markers[marker]
        at = readings.experiment[mine]
        found = stand_at(arm, name, np.ascontiguousarray(wanted[:, mine]), np.ascontiguousarray(q[:, at]))
        q[:, at[found.there]] = found.q[:, found.there]
        missed[mine[~found.there]] = True
    return q, missed
