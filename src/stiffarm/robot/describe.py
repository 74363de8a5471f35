"""A robot in words, for a terminal of 80 columns: where its joints are, what bends, what it carries."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from stiffarm.robot.arm import AxisPlacement, BodyPoint, Compensator, Joint, Link, Robot, Spring
from stiffarm.robot.check import length_range, reach
from stiffarm.robot.placement import Rigid, base_transform, chain_transforms, flange_transform, tool_transform

WIDTH = 80
_NAME_WIDTH = 22
_ACCURACY = {
    "on": "the controller already corrects (absolute accuracy is on): identified offsets come on top of its own",
    "off": "the controller runs the nominal model (absolute accuracy is off)",
    "unknown": "whether the controller already corrects (absolute accuracy) is unknown",
}


def describe(robot: Robot) -> str:
    """Kinematics, elasticity, masses, points and provenance of a robot; mm and degrees."""
    sections = (
        _heading(robot),
        _zero_pose(robot),
        _joints(robot),
        _elasticity(robot),
        _compensators(robot),
        _masses(robot),
        _points(robot),
        _bodies(robot),
        _controller(robot),
        _notes(robot),
    )
    blocks = ["\n".join(_fitted(section)) for section in map(list, sections) if section]
    return "\n\n".join(blocks) + "\n"


def _fitted(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        yield from (
            textwrap.wrap(line, WIDTH, subsequent_indent=indent, drop_whitespace=True)
            if len(line) > WIDTH
            else [line.rstrip()]
        )


def _heading(robot: Robot) -> Iterator[str]:
    kinds = [joint.kind for joint in robot.joints]
    counts = [f"{kinds.count(kind)} {kind}" for kind in ("revolute", "prismatic") if kind in kinds]
    yield robot.name
    yield f"{len(kinds)} joints ({', '.join(counts)}); convention {robot.convention}; file in " + (
        f"{robot.units.length} and {robot.units.angle}"
    )
    yield f"reach: at most {_mm(reach(robot))} mm (sum of all lengths)"
    if robot.source is not None:
        yield f"chain from {robot.source.file}: {robot.source.base} to {robot.source.tip}"
    x, y, z = robot.gravity
    yield f"gravity in the world: {x:g} {y:g} {z:g} m/s^2"


def _zero_pose(robot: Robot) -> Iterator[str]:
    yield "Zero pose (every controller value 0) in the world; axis: the positive sense"
    rows = []
    frame = base_transform(robot)
    for joint, transform in zip(robot.joints, chain_transforms(robot), strict=True):
        frame = frame @ transform.fixed
        rows.append((_short(joint.name), joint.kind, _direction(frame.rotation @ transform.axis), *_place(frame)))
    flange = frame @ flange_transform(robot)
    rows.append(("flange", "", "", *_place(flange)))
    rows.append(("tool", "", "", *_place(flange @ tool_transform(robot))))
    yield from _table(("joint", "type", "axis", "x mm", "y mm", "z mm"), rows)


def _joints(robot: Robot) -> Iterator[str]:
    yield "Joints"
    rows = []
    for joint in robot.joints:
        compliance = "not given" if joint.compliance is None else f"{joint.compliance:.3g}"
        unit = "" if joint.compliance is None else ("rad/(N m)" if joint.kind == "revolute" else "m/N")
        rows.append((_short(joint.name), _limits(joint), compliance, unit, _relation(joint)))
    yield from _table(("joint", "limits", "compliance", "", "model value"), rows)


def _limits(joint: Joint) -> str:
    if joint.limits is None:
        return "none given"
    to_file, unit = (math.degrees, "deg") if joint.kind == "revolute" else (lambda metres: 1e3 * metres, "mm")
    low, high = (to_file(limit) for limit in joint.limits)
    return f"{low:.6g} .. {high:.6g} {unit}"


def _relation(joint: Joint) -> str:
    """How the model value follows from controller values, e.g. ``-q + 90 deg - q.A2``."""
    text = "q" if joint.sign > 0 else "-q"
    offset = _offset(joint)
    if offset != 0.0:
        shown = f"{math.degrees(abs(offset)):.6g} deg" if joint.kind == "revolute" else f"{1e3 * abs(offset):.6g} mm"
        text += f" {'+' if offset > 0 else '-'} {shown}"
    if joint.couples_to is not None:
        gain = joint.couples_to.gain
        factor = "" if abs(gain) == 1.0 else f"{abs(gain):g} "
        text += f" {'+' if gain >= 0 else '-'} {factor}q.{joint.couples_to.joint}"
    return text


def _offset(joint: Joint) -> float:
    geometry = joint.geometry
    if isinstance(geometry, AxisPlacement):
        return geometry.offset
    return geometry.theta if joint.kind == "revolute" else geometry.d


def _elasticity(robot: Robot) -> Iterator[str]:
    known = [joint.name for joint in robot.joints if joint.compliance is not None]
    yield "Elastic elements"
    yield f"  joints with a compliance: {', '.join(known) or 'none'}"
    if not robot.links:
        yield "  links: none described (joints alone bend)"
    for link in robot.links:
        yield f"  link after {link.after}: {_link(link)}"


def _link(link: Link) -> str:
    place = "at the next joint's origin" if link.xyz is None else f"at {_vector(link.xyz)} mm"
    values = "to be identified" if link.compliance is None else "compliance given"
    return f"6x6 {link.template}, {place}, {values}"


def _compensators(robot: Robot) -> Iterator[str]:
    if robot.compensators:
        yield "Gravity compensators"
    for compensator in robot.compensators:
        joint = robot.joints[robot.joint_index(compensator.joint)]
        low, high = length_range(compensator, joint)
        where = "over the limits" if joint.limits else "at 0"
        yield f"  {compensator.joint}: {_element(compensator)}"
        yield (
            f"    L {_mm(compensator.L)} mm, a {_mm(compensator.a)} mm, alpha {math.degrees(compensator.alpha):.2f} "
            + (f"deg; s {_mm(low)} to {_mm(high)} mm {where}")
        )


def _element(compensator: Compensator) -> str:
    element = compensator.element
    if isinstance(element, Spring):
        return f"spring, {element.stiffness:g} N/m, free length s0 {_mm(element.s0)} mm"
    lengths = {"s0": element.s0, "sv": element.sv, "s_ref": element.s_ref}
    given = [f"{key} {_mm(value)} mm" for key, value in lengths.items() if value is not None]
    given += [f"p_ref {element.p_ref:g} Pa"] if element.p_ref is not None else []
    given += [f"V_ref {element.V_ref:g} m^3"] if element.V_ref is not None else []
    return (
        f"gas cylinder ({element.side}), exponent {element.exponent:g}, area {element.area:g} m^2, {', '.join(given)}"
    )


def _masses(robot: Robot) -> Iterator[str]:
    yield "Masses"
    moved = [joint for joint in robot.joints if joint.mass > 0.0]
    if not moved and robot.tool.mass == 0.0:
        yield "  none given: weights of links and tool do not bend this model"
        return
    total = sum(joint.mass for joint in moved) + robot.tool.mass
    rows = [(_short(joint.name), f"{joint.mass:g}", *map(_mm, joint.com)) for joint in moved]
    if robot.tool.mass > 0.0:
        rows.append(("tool", f"{robot.tool.mass:g}", *map(_mm, robot.tool.com)))
    yield from _table(("moved by", "kg", "com x mm", "y mm", "z mm"), rows)
    yield f"  together {total:g} kg"


def _points(robot: Robot) -> Iterator[str]:
    yield "Points (flange frame unless a joint is named)"
    tool = robot.tool
    groups = (("marker", tool.markers), ("load point", tool.load_points))
    rows = [(point.name, kind, *_body_point(point)) for kind, points in groups for point in points]
    rows.append(("tool", "reserved", "flange", *map(_mm, tool.placement.xyz)))
    rows.append(("flange", "reserved", "flange", *map(_mm, (0.0, 0.0, 0.0))))
    yield from _table(("point", "kind", "on", "x mm", "y mm", "z mm"), rows)


def _body_point(point: BodyPoint) -> tuple[str, ...]:
    return (point.on or "flange", *map(_mm, point.xyz))


def _bodies(robot: Robot) -> Iterator[str]:
    if not robot.capsules:
        return
    yield "Bodies (capsules, for collisions)"
    rows = [
        (_short(c.on), _mm(c.radius), "origin" if c.start is None else _vector(c.start),
         "next origin" if c.end is None else _vector(c.end))
        for c in robot.capsules
    ]  # fmt: skip
    yield from _table(("on", "radius mm", "from x y z mm", "to x y z mm"), rows)


def _controller(robot: Robot) -> Iterator[str]:
    yield "Controller"
    yield f"  {robot.controller.brand or 'brand not given'}; {_ACCURACY[robot.controller.absolute_accuracy]}"


def _notes(robot: Robot) -> Iterator[str]:
    if robot.notes:
        yield "Where the numbers come from"
    for note in robot.notes:
        yield f"  {' '.join(note.split())}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns two blanks apart; numbers to the right, words to the left."""
    lines = [header, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    numeric = [all(_is_number(row[i]) for row in rows) for i in range(len(header))]
    for line in lines:
        cells = [c.rjust(w) if right else c.ljust(w) for c, w, right in zip(line, widths, numeric, strict=True)]
        yield f"  {'  '.join(cells)}".rstrip()


def _is_number(text: str) -> bool:
    return bool(text) and text.lstrip("-").replace(".", "", 1).isdigit()


def _direction(axis: NDArray[np.float64]) -> str:
    """``+z`` when the axis is one of the world's, its components otherwise."""
    largest = int(np.argmax(np.abs(axis)))
    if abs(axis[largest]) > 1.0 - 1e-12:
        return f"{'+' if axis[largest] > 0 else '-'}{'xyz'[largest]}"
    return " ".join(f"{value + 0.0:.4f}" for value in np.round(axis, 4))


def _place(frame: Rigid) -> tuple[str, ...]:
    return tuple(_mm(float(value)) for value in frame.translation)


def _vector(xyz: Sequence[float]) -> str:
    return " ".join(_mm(value) for value in xyz)


def _mm(metres: float) -> str:
    return f"{round(1e3 * metres, 2) + 0.0:.2f}"


def _short(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else name[: _NAME_WIDTH - 1] + "~"
