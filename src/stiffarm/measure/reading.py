"""Campaign files: rows of text become experiments and readings.

A row is one reading of one experiment, so every column is one of two kinds.  Columns of the *experiment*
(joints, loads, state) are stated again in each of its rows; they must agree exactly and are taken from the
first row that states them.  Measured states (link-side joints, torques of the joints, temperatures) scatter
from row to row; there the mean over the rows of the experiment is kept.  Columns of the *reading* keep one
value per row.  Whatever is wrong is collected step by step: text, header, numbers, then rules between rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.measure import checks
from stiffarm.measure.campaign import Campaign, Experiments, Readings, Setup, SigmaTable
from stiffarm.measure.columns import POSE
from stiffarm.measure.frames import Source
from stiffarm.measure.loads import Loads, loads_of
from stiffarm.measure.rows import Rows, numbered, relation_problems, rows_of
from stiffarm.measure.settings import Settings, settings_of, stem_of
from stiffarm.measure.sheet import Flags, Floats, Ints, Sheet, raise_if, read_sheet
from stiffarm.robot.arm import Robot


def read_campaign(path: Source, robot: Robot | None = None) -> Campaign:
    """Read and check `NAME.campaign.csv`, and `NAME.campaign.toml` beside it when there is one.

    With a robot, joints, markers and load points must be the robot's.  Raises `InputError` with file, row
    and column of what is wrong; sentences about what is odd but usable are in `Campaign.warnings`.
    """
    return _campaign(path, robot, readings_required=True)


def read_plan(path: Source, robot: Robot | None = None) -> Campaign:
    """Read `NAME.plan.csv`: a campaign whose rows need no readings yet (their values are NaN)."""
    return _campaign(path, robot, readings_required=False)


def _campaign(path: Source, robot: Robot | None, *, readings_required: bool) -> Campaign:
    return campaign_of(read_sheet(path, robot), path, robot, readings_required=readings_required)


def campaign_of(sheet: Sheet, path: Source, robot: Robot | None, *, readings_required: bool = True) -> Campaign:
    """The campaign of a sheet, all or some rows of the file ``path``, with the settings beside that file."""
    settings = settings_of(path)
    raise_if(checks.sign_problems(sheet))
    rows = rows_of(sheet, robot, stem_of(path))
    value = sheet.block(POSE)
    needs_joints, q = _joint_values(sheet, rows.kind, robot)
    raise_if(
        checks.joint_problems(sheet, q, needs_joints, robot)
        + checks.reading_problems(sheet, rows.kind, value, readings_required=readings_required)
    )
    head = _heads(rows.experiment, len(rows.experiments), needs_joints)
    raise_if(
        checks.experiment_problems(sheet, rows.experiment, head, needs_joints)
        + checks.visit_problems(sheet, rows.visit, q)
    )
    loads = loads_of(sheet, head, robot)
    rows = numbered(sheet, rows)
    raise_if(relation_problems(sheet, rows, loads))
    warnings = [*sheet.warnings, *settings.warnings, *checks.limit_warnings(sheet, q, robot)]
    warnings += _reading_warnings(sheet, rows, value, q[:, head])
    experiments = _experiments(sheet, rows, head, loads, warnings)
    campaign = Campaign(
        name=stem_of(path),
        joints=sheet.layout.joints,
        experiments=experiments,
        readings=_readings(sheet, rows, value),
        markers=rows.markers,
        setups=tuple(Setup(name) for name in rows.setups),
        visits=rows.visits,
        targets=rows.targets,
        extra=_extra(sheet),
        files=(sheet.table.file,),
        warnings=tuple(warnings),
        joint_kinds=sheet.layout.joint_kinds,
    )
    return _with_settings(campaign, settings, sheet)


def _extra(sheet: Sheet) -> dict[str, tuple[str, ...]]:
    """Columns that are carried along as they stand: unknown ones, and those that only a plan asks."""
    carried = [c.header for name, c in sheet.layout.columns.items() if name == "weight" or name.startswith("before.")]
    return {header: tuple(sheet.table.cells(header).to_list()) for header in (*sheet.layout.unknown, *carried)}


def _joint_values(sheet: Sheet, kind: Ints, robot: Robot | None) -> tuple[Flags, Floats]:
    """Which rows need joint values, and (joints, rows) those values."""
    joints = sheet.layout.joints
    needs = kind != checks.KIND["distance"]
    present = [joint for joint in joints if sheet.has(f"q.{joint}")]
    if needs.any() and (len(present) < len(joints) or not joints):
        missing = [joint for joint in joints if joint not in present]
        raise InputError(_missing_joints(sheet, missing, robot))
    q = sheet.block([f"q.{joint}" for joint in joints])
    return needs | np.isfinite(q).any(axis=0) if joints and present else needs, q


def _missing_joints(sheet: Sheet, missing: Sequence[str], robot: Robot | None) -> Problem:
    kinds = {} if robot is None else {joint.name: joint.kind for joint in robot.joints}
    units = {"revolute": "[deg]", "prismatic": "[mm]"}
    expected = ", ".join(f"q.{joint}{units[kind]}" for joint, kind in kinds.items())
    names = ", ".join(f"'q.{joint}'" for joint in missing)
    close = [header for header in sheet.layout.unknown if any(joint in header for joint in missing)]
    return Problem(
        f"the joint column{'s' if len(missing) > 1 else ''} {names} {'are' if len(missing) > 1 else 'is'} missing"
        if missing
        else "there are no joint columns",
        file=sheet.table.file,
        row=1,
        column=f"q.{missing[0]}" if missing else "q.*",
        allowed=f"{expected} (rad or m as well)" if expected else "q.<joint>[deg] or [rad], one for each joint",
        next_step=f"Is it '{close[0]}'?" if close else None,
    )


def _heads(experiment: Ints, count: int, preferred: Flags) -> Ints:
    """First row of every experiment, a row with joint values before one without."""
    head = np.full(count, -1, dtype=np.int64)
    for rows in (np.arange(experiment.size), np.flatnonzero(preferred)):
        head[experiment[rows[::-1]]] = rows[::-1]
    return head


def _reading_warnings(sheet: Sheet, rows: Rows, value: Floats, q_experiment: Floats) -> list[str]:
    warnings = []
    rotation = np.isfinite(value[3:]).any(axis=0) & (rows.kind == checks.KIND["position"])
    if rotation.any():
        count = sheet.rows_text(rotation)
        warnings.append(
            f"{sheet.table.file}: rx ry rz of position rows are not used ({count}); write 'pose' to use them."
        )
    touched = np.unique(rows.target[np.isin(rows.kind, checks.TOUCHING)])
    distance = rows.kind == checks.KIND["distance"]
    lonely = distance & ~(np.isin(rows.target, touched) & np.isin(rows.target2, touched))
    if lonely.any():
        count = sheet.rows_text(lonely)
        warnings.append(f"{sheet.table.file}: a distance to a target that no row touches says nothing: {count}.")
    referring = rows.reference >= 0
    setup = np.zeros(len(rows.experiments), dtype=np.int64)
    setup[rows.experiment] = rows.setup
    elsewhere = referring & (setup[rows.reference] != rows.setup)
    if elsewhere.any():
        count = sheet.rows_text(elsewhere)
        warnings.append(f"{sheet.table.file}: the reference was read in another setup than its row: {count}.")
    if referring.any() and q_experiment.size:
        difference = np.abs(q_experiment[:, rows.experiment] - q_experiment[:, rows.reference]).max(axis=0)
        moved = referring & (difference > checks.SAME_STOP)
        if moved.any():
            count = sheet.rows_text(moved)
            warnings.append(f"{sheet.table.file}: the reference has other joint values than its row: {count}.")
    return warnings


def _experiments(sheet: Sheet, rows: Rows, head: Ints, loads: Loads, warnings: list[str]) -> Experiments:
    """Joints, loads and states of every experiment; ``head`` is its first row."""
    joints = sheet.layout.joints

    def stated(prefix: str) -> Floats | None:
        names = [f"{prefix}.{joint}" for joint in joints]
        return sheet.block(names)[:, head] if any(map(sheet.has, names)) else None

    def measured(name: str) -> Floats:
        mean, scatters = _mean(sheet.number(name), rows.experiment, head)
        if scatters:
            warnings.append(f"{sheet.table.file}: {name} differs between rows of one experiment; the mean is used.")
        return mean

    def measured_joints(prefix: str) -> Floats | None:
        names = [f"{prefix}.{joint}" for joint in joints]
        return np.stack([measured(name) for name in names]) if any(map(sheet.has, names)) else None

    return Experiments(
        names=rows.experiments,
        q=sheet.block([f"q.{joint}" for joint in joints])[:, head],
        load_points=loads.points,
        wrench_world=loads.wrench_world,
        cable_from_m=loads.cable_from_m,
        cable_to_m=loads.cable_to_m,
        tension_n=loads.tension_n,
        joint_torque=measured_joints("joint_torque"),
        encoder=measured_joints("encoder"),
        approach=stated("approach"),
        temperature={name: measured(f"temperature.{name}") for name in sheet.layout.family("temperature")},
        sigma_q=stated("sigma.q"),
        sigma_force_n=sheet.number("sigma.force")[head] if sheet.has("sigma.force") else None,
    )


def _mean(values: Floats, experiment: Ints, head: Ints) -> tuple[Floats, bool]:
    """Mean of the read values of every experiment (exactly the value when all are equal), and whether they differ."""
    read = np.flatnonzero(np.isfinite(values))
    base = values[head]
    base[experiment[read[::-1]]] = values[read[::-1]]
    excess = values[read] - base[experiment[read]]
    if not excess.any():
        return base, False
    total = np.bincount(experiment[read], weights=excess, minlength=head.size)
    count = np.bincount(experiment[read], minlength=head.size)
    return base + total / np.maximum(count, 1), True


def _readings(sheet: Sheet, rows: Rows, value: Floats) -> Readings:
    return Readings(
        experiment=rows.experiment,
        repeat=rows.repeat,
        setup=rows.setup,
        kind=rows.kind,
        marker=rows.marker,
        value=value,
        sigma=sheet.block([f"sigma.{name}" for name in POSE]),
        reference=rows.reference,
        target=rows.target,
        target2=rows.target2,
        distance_m=sheet.number("distance"),
        sigma_distance_m=sheet.number("sigma.distance"),
        radius_m=sheet.number("radius"),
        visit=rows.visit,
        sequence=sheet.number("sequence"),
        time_s=sheet.number("time"),
        row=sheet.table.row,
    )


def _with_settings(campaign: Campaign, settings: Settings, sheet: Sheet) -> Campaign:
    """Join the settings file: every setup and every experiment it names must exist."""
    if settings.file is None:
        return campaign
    if settings.sigma_by_cell and not any(sheet.has(f"sigma.{axis}") for axis in POSE):
        raise InputError(
            Problem(
                "a table instrument needs its table",
                file=settings.file,
                column="instrument.table",
                allowed="'table' here, or columns sigma.x, sigma.y, sigma.z in the campaign",
            )
        )
    instrument = settings.instrument_for(campaign.experiments.names)
    _check_sigma_table(campaign, settings)
    known = {setup.name: setup for setup in settings.setups}
    unused = [name for name in known if name not in {setup.name for setup in campaign.setups}]
    warnings = [f"{settings.file}: no row belongs to setup '{name}'." for name in unused]
    return replace(
        campaign,
        setups=tuple(known.get(setup.name, setup) for setup in campaign.setups),
        instrument=instrument,
        shared=settings.shared,
        load_uncertainty=settings.load_uncertainty,
        warnings=(*campaign.warnings, *warnings),
    )


def _check_sigma_table(campaign: Campaign, settings: Settings) -> None:
    if not isinstance(settings.instrument, SigmaTable):
        return
    table = set(settings.instrument.experiments)
    names = campaign.experiments.names
    key = "instrument.table"
    absent = [name for name in names if name not in table]
    if absent:
        what = f"experiment '{absent[0]}' has no standard deviations"
        raise InputError(Problem(what, file=settings.file, column=key, allowed="a line for every experiment"))
