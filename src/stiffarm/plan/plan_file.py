"""A plan as a campaign without readings: what `stiffarm simulate`, `assess` and `identify` take.

One experiment a stop, one row a marker and repeat; every repeat is a visit of its own.  A cable stands as the two
points that will be measured on it (here where the arm of the file has them) and its tension; any other force by its
components.  The deviation that was asked for stands in every row; an instrument of a settings file is written beside
the plan.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from stiffarm.measure.campaign import (
    DEFAULT_MARKER,
    OBSERVATIONS,
    Campaign,
    Experiments,
    Isotropic,
    Readings,
    Setup,
    SharedError,
)
from stiffarm.measure.loads import pull_of_cable
from stiffarm.measure.settings import FORMAT, MILLIMETRE, settings_path, stem_of
from stiffarm.measure.settings_text import settings_text
from stiffarm.measure.writing import replace_file, write_campaign
from stiffarm.model.kernel import jacobian
from stiffarm.plan.driven import driven, waiting
from stiffarm.plan.problem import Cable, FixedForce, Floats, Plan, Pull, Stops
from stiffarm.robot.arm import Robot
from stiffarm.units import UNITS

HOOK_DECIMALS = 3
"""Of the load point in mm, which will be measured again anyway."""
FILE_UNITS = "mm,deg"
DECIMALS = 6
"""Of angles in degrees and lengths in millimetres: joint values that can be typed."""


def forces_of(plan: Plan) -> Floats:
    """(3, stops) force in the world, N; zero where nothing pulls."""
    pull, stops = plan.problem.pull, plan.stops
    if pull is None:
        return np.zeros((3, len(stops)))
    if isinstance(pull, FixedForce):
        return np.repeat(np.array(pull.force_world)[:, None], len(stops), axis=1)
    assert stops.aim is not None, "a cable or a free force has an aim"
    if isinstance(pull, Cable):
        return pull_of_cable(hooks_of(plan), stops.aim, np.full(len(stops), pull.force_n))
    return np.asarray(pull.force_n * stops.aim / np.linalg.norm(stops.aim, axis=0))


def hooks_of(plan: Plan) -> Floats:
    """(3, stops) the load point of the unloaded arm, world, m."""
    arm = plan.problem.asked.model.at()
    assert plan.problem.pull is not None, "something pulls"
    point = arm.chain.point(plan.problem.pull.load_point)
    place = jacobian(arm.chain, np.ascontiguousarray(plan.stops.q), point)[0]
    return np.asarray(np.round(place / MILLIMETRE, HOOK_DECIMALS) * MILLIMETRE)


def campaign_of(plan: Plan, name: str = "plan") -> Campaign:
    """The plan as a campaign whose readings are still to come."""
    problem, reading = plan.problem, plan.problem.reading
    stops, markers = len(plan.stops), reading.markers
    named = tuple(marker for marker in markers if marker != DEFAULT_MARKER)
    code = np.array([named.index(m) if m in named else -1 for m in markers])
    at = np.repeat(np.arange(stops), plan.repeats * len(markers))
    repeat = np.concatenate([np.repeat(np.arange(1, r + 1), len(markers)) for r in plan.repeats.tolist()])
    rows = len(at)
    nothing, nowhere = np.full(rows, np.nan), np.full(rows, -1, dtype=np.int64)
    readings = Readings(
        experiment=at,
        repeat=repeat,
        setup=np.zeros(rows, dtype=np.int64),
        kind=np.full(rows, OBSERVATIONS.index(reading.kind)),
        marker=np.tile(code, rows // len(markers)),
        value=np.full((6, rows), np.nan),
        sigma=_sigma(plan, rows),
        reference=nowhere,
        target=nowhere,
        target2=nowhere,
        distance_m=nothing,
        sigma_distance_m=nothing,
        radius_m=nothing,
        visit=np.arange(rows) // len(markers),
        sequence=nothing,
        time_s=nothing,
        row=np.arange(rows) + 2,
    )
    visits = tuple(f"v{i + 1:02d}" for i in range(rows // len(markers)))
    setup = Setup(name, station_m=reading.station_m)
    return Campaign(
        name=name,
        joints=problem.robot.joint_names,
        experiments=_experiments(plan),
        readings=readings,
        markers=named,
        setups=(setup,),
        visits=visits,
        instrument=None if reading.own_sigma else reading.instrument,
        shared=reading.shared,
        load_uncertainty=reading.load,
        joint_kinds=tuple(joint.kind for joint in problem.robot.joints),
    )


def _sigma(plan: Plan, rows: int) -> Floats:
    sigma = np.full((6, rows), np.nan)
    reading = plan.problem.reading
    if reading.own_sigma and isinstance(reading.instrument, Isotropic):
        sigma[:3] = reading.instrument.sigma_m
        if reading.kind == "pose" and reading.instrument.sigma_rad is not None:
            sigma[3:] = reading.instrument.sigma_rad
    return sigma


def _experiments(plan: Plan) -> Experiments:
    count, pull = len(plan.stops), plan.problem.pull
    digits = max(2, len(str(count)))
    names = tuple(f"e{i + 1:0{digits}d}" for i in range(count))
    q = plan.stops.q
    if pull is None:
        return Experiments(names, q)
    force = forces_of(plan)
    wrench = np.concatenate([force, np.zeros((3, count))])[None]
    if not isinstance(pull, Cable):
        return Experiments(names, q, (pull.load_point,), wrench)
    tension = np.full(count, pull.force_n)
    return Experiments(
        names, q, (pull.load_point,), wrench, cable_from_m=hooks_of(plan), cable_to_m=plan.stops.aim, tension_n=tension
    )


def write_plan(plan: Plan, path: str | Path, settings: str | Path | None = None) -> None:
    """Write the plan, and what is known of the instrument beside it.

    ``settings`` is the file the instrument came from: when it stands where the plan's own would, it stays as it is.
    """
    write_beside(_visited(plan, campaign_of(plan, stem_of(path))), path, settings)


def write_beside(campaign: Campaign, path: str | Path, settings: str | Path | None) -> None:
    """Write a campaign that has no readings yet; its settings stay as they are where they came from there."""
    beside = settings_path(path)
    before = beside.read_bytes() if beside.is_file() else None
    write_campaign(campaign, path, units=FILE_UNITS)
    if before is not None and settings is not None and beside.resolve() == Path(settings).resolve():
        replace_file(beside, before)
    elif before is not None and not settings_text(campaign):
        replace_file(beside, f'format = "{FORMAT}"\n'.encode())


def _visited(plan: Plan, campaign: Campaign) -> Campaign:
    """Visit by visit, where it matters: sides, returns to a reference, errors that belong to a visit."""
    shift = plan.shift
    if shift is None or not (shift.sided or shift.reference.any() or plan.problem.reading.shared != SharedError()):
        return campaign
    driven_one = driven(campaign, shift, pairs=False)
    return replace(driven_one, extra=waiting(driven_one, shift))


def as_typed(stops: Stops, robot: Robot, pull: Pull | None) -> Stops:
    """Stops whose joint values and attachment point are short decimals in degrees and millimetres."""
    factor = np.array([UNITS["deg" if joint.kind == "revolute" else "mm"].factor for joint in robot.joints])[:, None]
    aim = stops.aim
    if isinstance(pull, Cable) and aim is not None:
        low, high = np.array(pull.low_m)[:, None], np.array(pull.high_m)[:, None]
        aim = np.clip(np.round(aim / MILLIMETRE, DECIMALS) * MILLIMETRE, low, high)
    return Stops(np.round(stops.q / factor, DECIMALS) * factor, aim)
