"""Writes a robot file that reads back to the same robot, bit for bit.

Inside everything is SI; a file speaks mm and degrees.  A number y of the file is read as y * factor, so the
writer looks for the y whose product is the SI value to the last bit: the shortest decimal first, then the
neighbours of the quotient.  Where no such y exists for some length (or angle) of the robot, all lengths
(or angles) of the file are written in SI, where the factor is 1.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stiffarm.errors import InputError, Problem
from stiffarm.robot.arm import (
    STANDARD_GRAVITY,
    ZERO3,
    AxisPlacement,
    BodyPoint,
    Capsule,
    Compensator,
    Controller,
    DenavitHartenberg,
    FileUnits,
    GasCylinder,
    Joint,
    Link,
    Placement,
    Robot,
    Spring,
    Tool,
    Vector3,
)
from stiffarm.robot.reading import parse_robot
from stiffarm.robot.schema import FORMAT
from stiffarm.robot.toml_text import Value, lines_of
from stiffarm.units import UNITS, Unit

Entries = dict[str, Value]


def write_robot(robot: Robot, path: str | Path) -> None:
    """Write a robot file, moved into place when complete; refuses a robot that could not be read back."""
    path = Path(path)
    text = robot_text(robot)
    _refuse_unreadable(robot, text, str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(
            Problem("the robot file cannot be written", str(path), found=(error.strerror or str(error)).lower(),
                    allowed="a file in a folder that exists and may be written to")
        ) from None  # fmt: skip


def robot_text(robot: Robot) -> str:
    """The text of a robot's file.

    In ``robot.units`` when every number survives that; a ``urdf`` robot carries its chain in the file.
    """
    numbers = _FileNumbers(robot.units)
    blocks = _blocks(robot, numbers)
    if numbers.lost:
        units = replace(robot.units, **{dimension: _SI[dimension] for dimension in numbers.lost})
        blocks = _blocks(robot, _FileNumbers(units))
    return "\n".join("\n".join(([header] if header else []) + lines_of(entries)) + "\n" for header, entries in blocks)


_SI = {"length": "m", "angle": "rad"}


def to_file(value: float, unit: Unit) -> float | None:
    """The number that reads as ``value`` in a unit, to the last bit; None when there is none.

    >>> to_file(0.1847, UNITS["mm"])
    184.7
    """
    quotient = value / unit.factor
    for digits in range(1, 18):
        candidate = float(f"{quotient:.{digits}g}")
        if unit.to_si(candidate) == value:
            return candidate
    for candidate in (math.nextafter(quotient, -math.inf), math.nextafter(quotient, math.inf)):
        if unit.to_si(candidate) == value:
            return candidate
    return None


@dataclass
class _FileNumbers:
    """Turns SI numbers into those of a file, and remembers the dimensions in which that failed."""

    units: FileUnits
    lost: set[str] = field(default_factory=set)

    def length(self, value: float) -> float:
        return self._number("length", self.units.length, value)

    def angle(self, value: float) -> float:
        return self._number("angle", self.units.angle, value)

    def motion(self, joint: Joint, value: float) -> float:
        return self.angle(value) if joint.kind == "revolute" else self.length(value)

    def point(self, xyz: Sequence[float]) -> list[float]:
        return [self.length(value) for value in xyz]

    def angles(self, rpy: Sequence[float]) -> list[float]:
        return [self.angle(value) for value in rpy]

    def placement(self, placement: Placement) -> Entries:
        return {"xyz": self.point(placement.xyz), "rpy": self.angles(placement.rpy)}

    def _number(self, dimension: str, symbol: str, value: float) -> float:
        number = to_file(value, UNITS[symbol])
        if number is None:
            self.lost.add(dimension)
            return value
        return number


def _blocks(robot: Robot, numbers: _FileNumbers) -> list[tuple[str, Entries]]:
    """Header and entries of every table, in the order of the file."""
    blocks: list[tuple[str, Entries]] = [("", _top(robot, numbers))]
    blocks += [("[[joint]]", _joint(joint, numbers)) for joint in robot.joints]
    blocks += [("[[link]]", _link(link, numbers)) for link in robot.links]
    blocks += [("[[compensator]]", _compensator(compensator, numbers)) for compensator in robot.compensators]
    blocks += [("[[capsule]]", _capsule(capsule, numbers)) for capsule in robot.capsules]
    blocks += [
        ("[[prior]]", {"parameter": prior.parameter, "sigma": prior.sigma, "unit": prior.unit})
        for prior in robot.priors
    ]
    for header, placement in (("[base]", robot.base), ("[flange]", robot.flange)):
        if placement != Placement():
            blocks.append((header, numbers.placement(placement)))
    if robot.tool != Tool():
        blocks.append(("[tool]", _tool(robot.tool, numbers)))
    return blocks


def _top(robot: Robot, numbers: _FileNumbers) -> Entries:
    entries: Entries = {
        "format": FORMAT,
        "name": robot.name,
        "units": {"length": numbers.units.length, "angle": numbers.units.angle},
        "convention": robot.convention,
    }
    if robot.convention == "urdf" and robot.source is not None:
        source = robot.source
        entries["urdf"] = {"file": source.file, "base": source.base, "tip": source.tip, "embedded": True}
    if robot.gravity != STANDARD_GRAVITY:
        entries["gravity"] = robot.gravity
    if robot.controller != Controller():
        brand: Entries = {} if robot.controller.brand is None else {"brand": robot.controller.brand}
        tool0: Entries = {}
        if robot.controller.tool0 != Placement():
            tool0 = {"tool0": numbers.placement(robot.controller.tool0)}
        entries["controller"] = {**brand, "absolute_accuracy": robot.controller.absolute_accuracy, **tool0}
    if robot.notes:
        entries["notes"] = robot.notes
    return entries


def _joint(joint: Joint, numbers: _FileNumbers) -> Entries:
    entries: Entries = {"name": joint.name, "type": joint.kind}
    geometry = joint.geometry
    if isinstance(geometry, DenavitHartenberg):
        entries |= {"alpha": numbers.angle(geometry.alpha), "a": numbers.length(geometry.a)}
        entries |= {"d": numbers.length(geometry.d), "theta": numbers.angle(geometry.theta)}
    else:
        entries |= numbers.placement(geometry.origin)
        entries["axis"] = geometry.axis
        entries |= _other("offset", numbers.motion(joint, geometry.offset), 0.0)
    entries |= _other("sign", joint.sign, 1)
    if joint.limits is not None:
        entries["limits"] = [numbers.motion(joint, limit) for limit in joint.limits]
    if joint.speed is not None:
        entries["speed"] = numbers.motion(joint, joint.speed)
    if joint.compliance is not None:
        entries["compliance"] = joint.compliance
    if joint.couples_to is not None:
        entries["couples_to"] = {"joint": joint.couples_to.joint, "gain": joint.couples_to.gain}
    return entries | _mass(joint.mass, joint.com, numbers)


def _other(key: str, value: float, default: float) -> Entries:
    return {} if value == default else {key: value}


def _mass(mass: float, com: Vector3, numbers: _FileNumbers) -> Entries:
    entries = _other("mass", mass, 0.0)
    return entries if tuple(com) == ZERO3 else {**entries, "com": numbers.point(com)}


def _link(link: Link, numbers: _FileNumbers) -> Entries:
    entries: Entries = {"after": link.after, "template": link.template}
    if link.xyz is not None:
        entries["xyz"] = numbers.point(link.xyz)
    if link.rpy != ZERO3:
        entries["rpy"] = numbers.angles(link.rpy)
    if link.compliance is not None:
        entries["compliance"] = link.compliance
    return entries


def _capsule(capsule: Capsule, numbers: _FileNumbers) -> Entries:
    ends = {"start": capsule.start, "end": capsule.end}
    entries: Entries = {"on": capsule.on, "radius": numbers.length(capsule.radius)}
    return entries | {key: numbers.point(xyz) for key, xyz in ends.items() if xyz is not None}


def _compensator(compensator: Compensator, numbers: _FileNumbers) -> Entries:
    element = compensator.element
    entries: Entries = {
        "joint": compensator.joint,
        "type": "spring" if isinstance(element, Spring) else "pneumatic",
        "L": numbers.length(compensator.L),
        "a": numbers.length(compensator.a),
        "alpha": numbers.angle(compensator.alpha),
    }
    if isinstance(element, Spring):
        return entries | {"stiffness": element.stiffness, "s0": numbers.length(element.s0)}
    return entries | _gas(element, numbers)


def _gas(gas: GasCylinder, numbers: _FileNumbers) -> Entries:
    entries: Entries = {"side": gas.side, "exponent": gas.exponent, "area": gas.area}
    lengths = {"s0": gas.s0, "sv": gas.sv, "s_ref": gas.s_ref}
    entries |= {key: numbers.length(value) for key, value in lengths.items() if value is not None}
    return entries | {key: v for key, v in (("p_ref", gas.p_ref), ("V_ref", gas.V_ref)) if v is not None}


def _tool(tool: Tool, numbers: _FileNumbers) -> Entries:
    entries = numbers.placement(tool.placement)
    for key, points in (("load_points", tool.load_points), ("markers", tool.markers)):
        if points:
            entries[key] = {point.name: _point(point, numbers) for point in points}
    return entries | _mass(tool.mass, tool.com, numbers)


def _point(point: BodyPoint, numbers: _FileNumbers) -> Value:
    xyz = numbers.point(point.xyz)
    return xyz if point.on is None else {"on": point.on, "xyz": xyz}


def _refuse_unreadable(robot: Robot, text: str, file: str) -> None:
    """A robot made by hand can say what no file may: better refused now than when it is needed."""
    written_as = AxisPlacement if robot.convention in ("frames", "urdf") else DenavitHartenberg
    for joint in robot.joints:
        if not isinstance(joint.geometry, written_as):
            what = f"joint '{joint.name}' is not described in the convention '{robot.convention}'"
            allowed = f"a {written_as.__name__}"
            raise InputError(Problem(what, file, found=type(joint.geometry).__name__, allowed=allowed))
    read = parse_robot(text, file)
    if replace(read, units=robot.units) != robot:
        lost = [name for name in robot.__dataclass_fields__ if getattr(read, name) != getattr(robot, name)]
        what = "the robot holds something that its file cannot say"
        found = ", ".join(name for name in lost if name != "units")
        raise InputError(Problem(what, file, found=found, allowed="what the file format describes"))
