"""The operator's sheet of a plan: what to set up, then every stop in its order, with room to write.

One file without scripts and without the network; a wide table on a screen and on paper, cards on a telephone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from stiffarm.measure.settings import stem_of
from stiffarm.plan.plan_file import forces_of, hooks_of
from stiffarm.plan.problem import Cable, FixedForce, Floats, Plan, Shift
from stiffarm.plan.said import duration
from stiffarm.plan.words import value_text
from stiffarm.robot.arm import Robot
from stiffarm.units import UNITS

GRAVITY = 9.80665
DECIMALS = {"deg": 2, "mm": 1}


@dataclass(frozen=True)
class JointCell:
    """Where a joint goes, and where it waits before."""

    name: str
    target: str
    before: str


@dataclass(frozen=True)
class VisitRow:
    """One stop of the robot."""

    number: int
    stop: str
    note: str
    reference: bool
    joints: tuple[JointCell, ...]
    load: str


@dataclass(frozen=True)
class SetUp:
    """A line of what to prepare."""

    what: str
    how: str


def page(plan: Plan, campaign: str, robot: str) -> str:
    """The sheet as one HTML page; ``campaign`` is the file to fill in, ``robot`` how the robot is named in commands."""
    from jinja2 import Environment, StrictUndefined

    assert plan.shift is not None, "a plan that is answered says how it is driven"
    folder = files("stiffarm.report")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string((folder / "shift.html").read_text(encoding="utf-8"))
    reading = plan.problem.reading
    return template.render(
        style=(folder / "shift.css").read_text(encoding="utf-8"),
        title=plan.problem.robot.name,
        lead=lead(plan),
        set_up=set_up(plan),
        joints=[f"{joint.name} [{_unit(joint.kind)}]" for joint in plan.problem.robot.joints],
        rows=visits(plan, plan.shift),
        loaded=plan.problem.pull is not None,
        load_head=load_head(plan),
        sided=plan.shift.sided,
        markers=reading.markers,
        cells=cells(plan),
        steps=steps(plan, campaign),
        notes=plan.notes,
        command=f"stiffarm identify {robot} {campaign} -o {stem_of(campaign)}.model.json",
    )


def _unit(kind: str) -> str:
    return "deg" if kind == "revolute" else "mm"


def lead(plan: Plan) -> str:
    """What is done, how long it takes where speeds are known, and what it gives."""
    shift = plan.shift
    assert shift is not None
    returns = int(shift.reference.sum())
    words = f"{len(shift)} stops at {len(plan.stops)} poses"
    words += f", {returns} of them returns to the first pose" if returns else ""
    if all(joint.speed is not None for joint in plan.problem.robot.joints):
        words += f"; {duration(shift.driving_s)} of driving at full speed besides the readings"
    words += "."
    if plan.criterion == "test":
        words += f" Expected error after compensation at {plan.use}: {value_text(plan.value, 'test')}."
    return words


def set_up(plan: Plan) -> list[SetUp]:
    """What has to stand before the first stop."""
    problem, reading = plan.problem, plan.problem.reading
    out = [SetUp("Markers", _markers(problem.robot, reading.markers))]
    if reading.station_m is not None:
        out.append(SetUp("Instrument", f"at {_point(reading.station_m)} mm in the world"))
    pull = problem.pull
    if isinstance(pull, Cable):
        assert plan.attachment_m is not None
        out.append(
            SetUp("Cable", f"fastened at {_point(plan.attachment_m)} mm in the world, tension {pull.force_n:g} N")
        )
        words = "measure two points of the cable and its tension at every stop, and write them into the columns "
        out.append(SetUp("On the day", f"{words}cable1, cable2 and force in the place of the planned ones"))
    elif isinstance(pull, FixedForce):
        hanging = pull.force_world[0] == pull.force_world[1] == 0.0 > pull.force_world[2]
        mass = f", {-pull.force_world[2] / GRAVITY:.1f} kg that hang" if hanging else ""
        force = ", ".join(f"{value:g}" for value in pull.force_world)
        out.append(SetUp("Load", f"{force} N in the world{mass}"))
    elif pull is not None:
        out.append(SetUp("Load", f"{pull.force_n:g} N, in the direction of every stop below"))
    if pull is not None:
        out.append(SetUp("Load point", _load_point(problem.robot, pull.load_point)))
    accuracy = problem.robot.controller.absolute_accuracy
    if accuracy != "off":
        out.append(SetUp("Controller", "note whether absolute accuracy is on: it changes where the arm goes"))
    return [*out, SetUp("Before", "let the arm run until it is warm; no stop may be changed on the way")]


def _point(xyz: Sequence[float] | Floats) -> str:
    return ", ".join(f"{1e3 * float(value) + 0.0:.1f}" for value in xyz)


def _markers(robot: Robot, markers: Sequence[str]) -> str:
    places = {point.name: point for point in robot.tool.markers}
    parts = [
        f"{m} at {_point(places[m].xyz)}" + (f" on {places[m].on}" if places[m].on else "") if m in places else m
        for m in markers
    ]
    return f"{'; '.join(parts)} (mm, flange axes)"


def _load_point(robot: Robot, name: str) -> str:
    places = {point.name: point for point in robot.tool.load_points}
    return f"{name} at {_point(places[name].xyz)} mm in flange axes" if name in places else name


def visits(plan: Plan, shift: Shift) -> list[VisitRow]:
    """Every stop in its order."""
    robot, pull = plan.problem.robot, plan.problem.pull
    force = forces_of(plan)
    hooks = hooks_of(plan) if isinstance(pull, Cable) else None
    out = []
    for v, (stop, repeat, reference) in enumerate(zip(shift.stop, shift.repeat, shift.reference, strict=True)):
        sided = bool(np.isfinite(shift.side[:, v]).all())
        cells = []
        for j, joint in enumerate(robot.joints):
            unit = _unit(joint.kind)
            target, before = (
                f"{value / UNITS[unit].factor + 0.0:.{DECIMALS[unit]}f}"
                for value in (plan.stops.q[j, stop], shift.before[j, v])
            )
            cells.append(JointCell(joint.name, target, before if sided else ""))
        load = ""
        if isinstance(pull, Cable) and hooks is not None and plan.stops.aim is not None:
            load = f"{1e3 * float(np.linalg.norm(plan.stops.aim[:, stop] - hooks[:, stop])):.0f}"
        elif pull is not None:
            load = ", ".join(f"{value:.0f}" for value in force[:, stop] + 0.0)
        note = "reference" if reference else f"repeat {repeat}" if plan.repeats[stop] > 1 else ""
        out.append(VisitRow(v + 1, f"{int(stop) + 1}", note, bool(reference), tuple(cells), load))
    return out


def load_head(plan: Plan) -> str:
    """What the column of the load shows."""
    return "cable, mm" if isinstance(plan.problem.pull, Cable) else "force x, y, z [N]"


def cells(plan: Plan) -> list[str]:
    """What is written down at a stop, marker by marker."""
    reading = plan.problem.reading
    kinds = ("unloaded", "loaded") if reading.kind == "deflection" else ("x, y, z",)
    if reading.kind == "pose":
        kinds = ("x, y, z, rx, ry, rz",)
    return [f"{marker} {kind}" for kind in kinds for marker in reading.markers]


def steps(plan: Plan, campaign: str) -> list[str]:
    """What is done at every stop."""
    reading, shift = plan.problem.reading, plan.shift
    assert shift is not None
    out = []
    if shift.sided:
        out.append("Drive to the small values, then to the large ones in one motion: every joint comes from its side.")
    else:
        out.append("Drive to the joint values.")
    out.append("Wait until nothing swings.")
    names = ", ".join(reading.markers)
    if reading.kind == "deflection":
        out.append(f"Read {names} without the load, put the load on, read them again; do not move the arm in between.")
    else:
        out.append(f"Read {names}" + (" with the load on." if plan.problem.pull is not None else "."))
    out.append(f"Write the readings and the time into {campaign}, rows of the same number (column sequence); leave a "
               "number that was not read empty, and delete rows of stops that were left out.")  # fmt: skip
    if shift.reference.any():
        out.append("Returns to the reference are read like every stop: what changes from one to the next is drift.")
    return out
