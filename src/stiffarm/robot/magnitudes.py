"""Sizes beyond which a number of a robot file must be in another unit, or be another quantity.

A stiffness in the place of a compliance is the commonest: 3e6 N m/rad is read as an arm softer than rubber by
thirteen decades, and nothing that follows is sensible.  The limits stand far outside what an arm can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from stiffarm.errors import Problem
from stiffarm.robot.arm import GasCylinder, Robot
from stiffarm.robot.toml_source import Path, TomlSource

LONGEST_M = 100.0
TWO_TURNS = 4.0 * math.pi
SOFTEST = {"revolute": (1.0, "rad/(N m)", "N m/rad"), "prismatic": (1.0, "m/N", "N/m")}
HEAVIEST_KG = 1e6
STIFFEST_SPRING = 1e10
WIDEST_M2, LARGEST_M3, HIGHEST_PA = 10.0, 100.0, 1e9


@dataclass(frozen=True)
class _Size:
    path: Path
    value: float
    limit: float
    unit: str
    next_step: str


def magnitude_problems(source: TomlSource, robot: Robot) -> list[Problem]:
    """Numbers that no arm can have in the unit they are read in."""
    return [
        source.problem(
            size.path,
            "the units look wrong: the number is too large",
            found=f"{size.value:.4g} {size.unit}",
            allowed=f"at most {size.limit:g} {size.unit}",
            next_step=size.next_step,
        )
        for size in (*_joints(source, robot), *_points(robot), *_compensators(robot))
        if size.value > size.limit
    ] + list(_turns(source, robot))


def _turns(source: TomlSource, robot: Robot) -> Iterator[Problem]:
    """Some flange turns a hundred times; an arm of which every joint does is one whose degrees were read as rad."""
    limits = [joint.limits for joint in robot.joints if joint.kind == "revolute" and joint.limits is not None]
    least = min((max(map(abs, pair)) for pair in limits), default=0.0)
    if least > TWO_TURNS:
        yield source.problem(
            ("units", "angle") if "units" in source.data else (),
            "the units look wrong: the limits of every joint are beyond two turns",
            found=f"at least {least:.4g} rad",
            allowed="a joint that turns less than twice; angles of a URDF are in rad",
            next_step="Check the unit of the angles",
        )


def _joints(source: TomlSource, robot: Robot) -> Iterator[_Size]:
    named = source.data.get("joint")
    tables = {str(row.get("name")): i for i, row in enumerate(named if isinstance(named, list) else ())}
    for joint in robot.joints:
        at: Path = ("joint", tables[joint.name]) if joint.name in tables else ()
        limit, unit, inverse = SOFTEST[joint.kind]
        step = f"A compliance is wanted, {unit}; for a stiffness in {inverse} write its reciprocal"
        yield _Size((*at, "compliance"), joint.compliance or 0.0, limit, unit, step)
        yield _Size((*at, "mass"), joint.mass, HEAVIEST_KG, "kg", "Masses are in kg in every file")
        yield _Size((*at, "com"), math.hypot(*joint.com), LONGEST_M, "m", "Mend the number or units.length")


def _points(robot: Robot) -> Iterator[_Size]:
    tool, step = robot.tool, "Mend the number or units.length"
    yield _Size(("tool", "mass"), tool.mass, HEAVIEST_KG, "kg", "Masses are in kg in every file")
    yield _Size(("tool", "com"), math.hypot(*tool.com), LONGEST_M, "m", step)
    yield _Size(("tool", "xyz"), math.hypot(*tool.placement.xyz), LONGEST_M, "m", step)
    yield _Size(("flange", "xyz"), math.hypot(*robot.flange.xyz), LONGEST_M, "m", step)
    for group, points in (("markers", tool.markers), ("load_points", tool.load_points)):
        for point in points:
            yield _Size(("tool", group, point.name), math.hypot(*point.xyz), LONGEST_M, "m", step)
    for i, capsule in enumerate(robot.capsules):
        yield _Size(("capsule", i, "radius"), capsule.radius, LONGEST_M, "m", step)
        for end, xyz in (("start", capsule.start), ("end", capsule.end)):
            yield _Size(("capsule", i, end), math.hypot(*(xyz or (0.0,))), LONGEST_M, "m", step)
    for i, link in enumerate(robot.links):
        yield _Size(("link", i, "xyz"), math.hypot(*(link.xyz or (0.0,))), LONGEST_M, "m", step)


def _compensators(robot: Robot) -> Iterator[_Size]:
    for i, compensator in enumerate(robot.compensators):
        gas, at = compensator.element, ("compensator", i)
        yield _Size((*at, "L"), compensator.L, LONGEST_M, "m", "Mend the number or units.length")
        yield _Size((*at, "a"), compensator.a, LONGEST_M, "m", "Mend the number or units.length")
        if isinstance(gas, GasCylinder):
            yield _Size((*at, "area"), gas.area, WIDEST_M2, "m^2", "Areas are in m^2 in every file")
            yield _Size((*at, "V_ref"), gas.V_ref or 0.0, LARGEST_M3, "m^3", "Volumes are in m^3 in every file")
            yield _Size((*at, "p_ref"), gas.p_ref or 0.0, HIGHEST_PA, "Pa", "Pressures are in Pa in every file")
        else:
            yield _Size((*at, "stiffness"), gas.stiffness, STIFFEST_SPRING, "N/m", "Stiffness is in N/m in every file")
