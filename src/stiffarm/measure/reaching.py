"""Joint values at which an arm touches what a campaign says it touches.

From the joint values that stand there, least-norm Newton steps

    dq = (P J)+ (what is missing)

with P the directions in which a contact says anything: all for a point, the normal for a surface.  The arm may be bent
by the campaign's loads; J is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Campaign
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import Observer
from stiffarm.model.arm_model import Arm

Floats = NDArray[np.float64]
_MOST_STEPS = 40
_REACHED_M = 2e-15
_NEAR_M = 1e-9
_LONGEST_STEP = 0.3
"""rad or m: a longer step is shortened, for J is that of another posture by then."""


@dataclass(frozen=True, eq=False)
class Reached:
    """A campaign whose arm touches, and by how much it still misses."""

    campaign: Campaign
    missing_m: Floats
    """(touches,) in the order of `Contacts.rows`."""


def reach(arm: Arm, campaign: Campaign, place: Floats, loads: str = "torque") -> Reached:
    """Move joint values until the arm touches targets that are at ``place`` (targets, 4), to rounding when it can."""
    names = [f"{joint.name}.offset" for joint in arm.robot.joints]
    contacts = Contacts(campaign)
    rows = contacts.rows
    experiment = campaign.readings.experiment[rows]
    now, before = campaign, np.full(len(rows), np.inf)
    for _ in range(_MOST_STEPS):
        found, columns = Observer(now, loads).with_columns(arm, names)
        vectors, onto = contacts.missing(found.world, place)
        missing = np.linalg.norm(vectors, axis=1)
        stuck = (missing < _NEAR_M) & (missing > 0.5 * before)
        if np.all((missing <= _REACHED_M) | stuck):
            break
        before = missing
        by_joint = onto @ columns[:, :3, rows].T  # (touches, 3, joints)
        step = np.einsum("rij,rj->ri", np.linalg.pinv(by_joint, rcond=1e-6), vectors)
        step *= np.minimum(1.0, _LONGEST_STEP / np.maximum(np.abs(step).max(axis=1, initial=0.0), 1e-300))[:, None]
        q = now.experiments.q.copy()
        q[:, experiment] += step.T
        now = replace(campaign, experiments=replace(campaign.experiments, q=q))
    return Reached(now, missing)
