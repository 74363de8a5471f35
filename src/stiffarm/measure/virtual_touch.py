"""Virtual touches: joint values at which an arm whose truth is stated touches what a plan touches.

What is read when a target is touched are the joint values, and a plan's are only near: they come from the nominal arm,
or from a guess.  A target is where the true arm's touches put it on average at the plan's joint values, moved as little
as stated distances ask; every touch misses it by the scatter of touching, in all directions of the contact; and joint
values follow by the smallest change that brings the marker there (`stiffarm.measure.reaching`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import OBSERVATIONS, Campaign
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import Observer
from stiffarm.measure.reaching import reach
from stiffarm.measure.subset import with_readings
from stiffarm.model.arm_model import Arm

Floats = NDArray[np.float64]
EXACT_M = 1e-9
"""How exactly stated distances hold, and touches touch."""


def touching(arm: Arm, plan: Campaign, sigma_m: Floats, random: np.random.Generator, loads: str) -> Campaign:
    """The plan at joint values at which the arm touches; ``sigma_m`` (3, readings) is the scatter, NaN for none."""
    exact = np.full_like(plan.readings.sigma_distance_m, EXACT_M)
    contacts = Contacts(replace(plan, readings=replace(plan.readings, sigma_distance_m=exact)))
    rows = contacts.rows
    if not len(rows):
        return plan
    world = Observer(plan, loads).expected(arm).world
    place = contacts.places(world)
    known = plan.readings.distance_m.copy()
    for row in np.flatnonzero(plan.kind("distance") & np.isnan(known)):
        known[row] = _distance(contacts, place, int(row))
    error = np.nan_to_num(sigma_m) * random.standard_normal(sigma_m.shape)
    first = np.unique(plan.readings.experiment, return_index=True)[1]
    error = error[:, first[np.unique(plan.readings.experiment, return_inverse=True)[1]]]  # one posture, one error
    each, where = _each_alone(plan, contacts, place, error)
    reached = reach(arm, each, where, loads)
    worst = int(np.argmax(reached.missing_m))
    if not reached.missing_m[worst] < EXACT_M:
        at = int(contacts.rows[worst])
        raise InputError(_out_of_reach(plan, at, float(reached.missing_m[worst])))
    experiments = replace(plan.experiments, q=reached.campaign.experiments.q)
    return replace(plan, experiments=experiments, readings=replace(plan.readings, distance_m=known))


def _distance(contacts: Contacts, place: Floats, row: int) -> float:
    """The true distance between two targets of a row that states none."""
    readings, campaign = contacts.campaign.readings, contacts.campaign
    index = {target.name: i for i, target in enumerate(contacts.targets.targets)}
    ends = [index.get(campaign.targets[int(code)]) for code in (readings.target[row], readings.target2[row])]
    first, second = ends
    if first is None or second is None:
        return float("nan")
    if contacts.targets.targets[first].shape == "plane":
        return float(abs(place[first, 3] - place[second, 3]))
    return float(np.linalg.norm(place[first, :3] - place[second, :3]))


def _each_alone(plan: Campaign, contacts: Contacts, place: Floats, error: Floats) -> tuple[Campaign, Floats]:
    """Every touch as a target of its own, and where it is (touches, 4), off by ``error`` (3, readings)."""
    target = np.full_like(plan.readings.target, -1)
    names: list[str] = []
    where = []
    for index, one in enumerate(contacts.targets.targets):
        for row in one.rows:
            target[row] = len(names)
            names.append(f"{one.name} {len(names)}")
            here = place[index].copy()
            if one.shape == "touch":
                here[:3] += error[:, row]
            else:
                here[3] += error[2, row]
            where.append(here)
    none = np.full_like(target, -1)
    kind = np.where(plan.kind("distance"), OBSERVATIONS.index("position"), plan.readings.kind)
    radius = np.full_like(plan.readings.radius_m, np.nan)
    readings = replace(plan.readings, target=target, target2=none, kind=kind, radius_m=radius)
    keep = np.flatnonzero(target >= 0)
    return with_readings(replace(plan, readings=readings, targets=tuple(names)), keep), np.array(where)


def _out_of_reach(plan: Campaign, row: int, missing_m: float) -> Problem:
    return Problem(
        "the arm does not reach what it should touch from near these joint values",
        file=plan.files[0] if len(plan.files) == 1 else None,
        row=int(plan.readings.row[row]),
        column="target",
        found=f"{missing_m * 1e3:.3g} mm are missing",
        next_step="Choose a posture that is not stretched out, or a target farther inside",
    )
