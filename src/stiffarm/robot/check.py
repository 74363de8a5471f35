"""What joins the tables of a robot file: names that must exist, and numbers that must fit each other.

References are looked up in the file as it stands, so that they are reported even when other tables are
wrong.  The rest needs the whole robot: its reach tells a unit that is wrong by a thousand, and the triangle
of a compensator must neither collapse nor let its gas vanish between the limits of its joint.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from typing import Any

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.robot.arm import Compensator, DenavitHartenberg, GasCylinder, Joint, Robot
from stiffarm.robot.magnitudes import magnitude_problems
from stiffarm.robot.toml_source import Path, TomlSource
from stiffarm.robot.values import name_problem

SMALLEST_REACH_IN_MM = 0.020
LARGEST_REACH = 100.0
LEAST_PRESSURE = 1e4
"""Pa: below it a filled cylinder was stated in bar or MPa."""


def check_file(path: str | FilePath) -> list[Problem]:
    """Everything that is wrong with a robot file; an empty list when it can be used."""
    from stiffarm.robot.reading import read_robot

    try:
        read_robot(path)
    except InputError as error:
        return list(error.problems)
    return []


def reference_problems(source: TomlSource, joint_names: Sequence[str]) -> list[Problem]:
    """Names used twice, or used without being there."""
    known = list(joint_names)
    problems = list(_repeated(source, "joint", "name", "a second joint has this name"))
    if problems or any(name_problem(name) for name in known):
        return problems  # what refers to a joint can be judged when the joints' own names are mended
    problems += _repeated(source, "link", "after", "a second link follows the same body")
    problems += _repeated(source, "compensator", "joint", "a second compensator acts on this joint")
    problems += _unknown(source, _used(source, "link", "after"), [*known, "base"])
    problems += _unknown(source, _used(source, "compensator", "joint"), known)
    problems += _unknown(source, _used(source, "capsule", "on"), [*known, "base", "flange"])
    problems += _unknown(source, _couplings(source), known)
    problems += _unknown(source, _carriers(source), known)
    for i, table in _tables(source, "joint"):
        coupling = table.get("couples_to")
        if isinstance(coupling, dict) and "joint" in coupling and coupling["joint"] == table.get("name"):
            path: Path = ("joint", i, "couples_to", "joint")
            problems.append(source.problem(path, "a joint cannot be coupled to itself", allowed=_listed(known, "")))
    return problems


def _tables(source: TomlSource, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = source.data.get(key)
    return ((i, row) for i, row in enumerate(rows if isinstance(rows, list) else ()) if isinstance(row, dict))


def _used(source: TomlSource, table: str, key: str) -> Iterator[tuple[Path, str]]:
    return (((table, i, key), row[key]) for i, row in _tables(source, table) if isinstance(row.get(key), str))


def _couplings(source: TomlSource) -> Iterator[tuple[Path, str]]:
    for i, table in _tables(source, "joint"):
        coupling = table.get("couples_to")
        if isinstance(coupling, dict) and isinstance(coupling.get("joint"), str):
            yield ("joint", i, "couples_to", "joint"), coupling["joint"]


def _carriers(source: TomlSource) -> Iterator[tuple[Path, str]]:
    tool = source.data.get("tool")
    for group in ("load_points", "markers"):
        points = tool.get(group) if isinstance(tool, dict) else None
        for name, point in points.items() if isinstance(points, dict) else ():
            if isinstance(point, dict) and isinstance(point.get("on"), str):
                yield ("tool", group, name, "on"), point["on"]


def _unknown(source: TomlSource, used: Iterator[tuple[Path, str]], known: list[str]) -> Iterator[Problem]:
    for path, name in used:
        if name not in known:
            hint = did_you_mean(name, known)
            next_step = hint and hint[0].upper() + hint[1:]
            allowed = _listed(known, name)
            yield source.problem(path, f"joint {found_text(name)} does not exist", allowed=allowed, next_step=next_step)


def _listed(known: list[str], name: str) -> str:
    return ", ".join(other for other in known if other != name) or "no joint is named in this file"


def _repeated(source: TomlSource, table: str, key: str, what: str) -> Iterator[Problem]:
    seen: dict[str, Path] = {}
    for path, name in _used(source, table, key):
        if name in seen:
            row = source.row(seen[name])
            first = f"the first one stands in row {row}" if row else "the first one stands above"
            yield source.problem(path, f"{what} ({first})", allowed="each name once", next_step="Rename or delete one")
        seen.setdefault(name, path)


def physical_problems(source: TomlSource, robot: Robot) -> list[Problem]:
    """Numbers that cannot belong to one robot."""
    problems = list(_unit_problem(source, robot)) or magnitude_problems(source, robot)
    for i, compensator in enumerate(robot.compensators):
        problems += _compensator_problems(source, i, compensator, robot.joints[robot.joint_index(compensator.joint)])
    return problems


def reach(robot: Robot) -> float:
    """Sum of the lengths of the chain from the first joint to the farthest point of the tool, m.

    What lies before the first joint (a pedestal) counts as well; the travel of prismatic joints does not.
    """
    tool = [robot.tool.placement.xyz, *(point.xyz for point in (*robot.tool.markers, *robot.tool.load_points))]
    return _chain_length(robot) + max(math.hypot(*xyz) for xyz in tool)


def _chain_length(robot: Robot) -> float:
    return sum(_length(joint) for joint in robot.joints) + math.hypot(*robot.flange.xyz)


def _length(joint: Joint) -> float:
    geometry = joint.geometry
    if isinstance(geometry, DenavitHartenberg):
        return math.hypot(geometry.a, geometry.d)
    return math.hypot(*geometry.origin.xyz)


def _unit_problem(source: TomlSource, robot: Robot) -> Iterator[Problem]:
    length, unit = reach(robot), robot.units.length
    from_urdf = robot.convention == "urdf"
    path: Path = ("units", "length") if not from_urdf else ("urdf", "file") if "urdf" in source.data else ()
    found = f"a reach of {length:.3g} m"
    if unit == "mm" and not from_urdf and 0.0 < length < SMALLEST_REACH_IN_MM:
        yield source.problem(path, "units look wrong by 1000", found=found,
                             allowed="at least 20 mm for a file in mm",
                             next_step='Are the lengths in m? Write units = { length = "m", ... }')  # fmt: skip
    elif _chain_length(robot) > LARGEST_REACH:
        step = 'Are the lengths in mm? Write units = { length = "mm", ... }' if unit == "m" else "Check the lengths"
        yield source.problem(path, "units look wrong by 1000", found=found,
                             allowed=f"at most 100 m for a file in {unit}",
                             next_step="Lengths of a URDF are in m" if from_urdf else step)  # fmt: skip


def _compensator_problems(source: TomlSource, i: int, compensator: Compensator, joint: Joint) -> Iterator[Problem]:
    path: Path = ("compensator", i)
    if joint.kind == "prismatic":
        yield source.problem((*path, "joint"), "a compensator acts on a revolute joint", allowed="a revolute joint")
        return
    shortest, longest = length_range(compensator, joint)
    where = "within the joint's limits" if joint.limits else "at joint value 0"
    if shortest < 1e-6 * (compensator.L + compensator.a):
        yield source.problem(path, f"the triangle collapses {where}", found=f"s = {shortest:.3g} m",
                             allowed="a distance s above 0 between the two hinges",
                             next_step="Check L, a and alpha")  # fmt: skip
    gas = compensator.element
    if isinstance(gas, GasCylinder):
        yield from _gas_problems(source, path, gas)
        volume, at = min((gas_volume(gas, s), s) for s in (shortest, longest))
        if volume <= 0.0:
            yield source.problem(path, f"the gas volume is not positive {where}",
                                 found=f"{volume:.3g} m^3 at s = {at:.4g} m", allowed="more than 0",
                                 next_step="Check side, sv (or V_ref and s_ref), area and the limits")  # fmt: skip


def _gas_problems(source: TomlSource, path: Path, gas: GasCylinder) -> Iterator[Problem]:
    """A gas that has no volume where it is at ambient pressure, or hardly any pressure where it is filled."""
    if gas.s0 is not None and gas.sv is not None and gas_volume(gas, gas.s0) <= 0.0:
        longer = "longer" if gas.side == "push" else "shorter"
        yield source.problem((*path, "s0"), f"s0 is on the wrong side of sv for a {gas.side} cylinder",
                             found=f"s0 = {gas.s0:.4g} m, sv = {gas.sv:.4g} m",
                             allowed=f"s0 {longer} than sv: the gas of a {gas.side} cylinder expands towards it",
                             next_step="Check side, s0 and sv")  # fmt: skip
    if gas.p_ref is not None and gas.p_ref < LEAST_PRESSURE:
        yield source.problem((*path, "p_ref"), "the pressure of the gas is too small to be in Pa",
                             found=f"{gas.p_ref:g} Pa", allowed=f"absolute, in Pa, at least {LEAST_PRESSURE:g}",
                             next_step="1 bar is 1e5 Pa; a gauge shows 1e5 Pa less")  # fmt: skip


def length_range(compensator: Compensator, joint: Joint) -> tuple[float, float]:
    """Least and greatest s (m) of a compensator over its joint's limits (at q = 0 when it has none).

    s^2 = a^2 + L^2 + 2 a L cos(alpha - q) turns at alpha - q = k pi, so ends and turning points suffice.
    """
    low, high = joint.limits or (0.0, 0.0)
    first = math.ceil((compensator.alpha - high) / math.pi)
    last = math.floor((compensator.alpha - low) / math.pi)
    angles = [compensator.alpha - low, compensator.alpha - high]
    angles += [k * math.pi for k in range(first, min(last, first + 1) + 1)]
    L, a = compensator.L, compensator.a
    squares = [a * a + L * L + 2.0 * a * L * math.cos(angle) for angle in angles]
    return math.sqrt(max(min(squares), 0.0)), math.sqrt(max(squares))


def gas_volume(gas: GasCylinder, s: float) -> float:
    """Volume (m^3) of the gas at length s (m): V = V_ref +- area (s - s_ref), or +- area (s - sv)."""
    sense = 1.0 if gas.side == "push" else -1.0
    if gas.V_ref is not None and gas.s_ref is not None:
        return gas.V_ref + sense * gas.area * (s - gas.s_ref)
    assert gas.sv is not None, "the schema admits no gas without sv or V_ref"
    return sense * gas.area * (s - gas.sv)
