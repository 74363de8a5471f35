"""External loads of a file: wrenches in the world frame at named points.

A row states its load in one of three ways: components at its ``load_point`` (default: the tool point),
components at points named in the header, or a cable measured at two points p1 (robot side) and p2 with its
tension t.  A cable pulls its load point towards p2,

    F = t (p2 - p1) / |p2 - p1|,

which needs neither the length of the cable nor the model of the robot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.measure.columns import AXES, load_points_of
from stiffarm.measure.sheet import Floats, Ints, Sheet, raise_if, unknown_names
from stiffarm.robot.arm import Robot

DEFAULT_LOAD_POINT = "tool"
WRENCH = tuple(f"{family}.{axis}" for family in ("force", "torque") for axis in AXES)
CABLE = tuple(f"{cable}.{axis}" for cable in ("cable1", "cable2") for axis in AXES)
SHORTEST_CABLE_M = 1e-6
MOST_LOAD_POINTS = 100


@dataclass(frozen=True, eq=False)
class Loads:
    """Loads of the chosen records of a sheet."""

    points: tuple[str, ...]
    """Points at which something pulls in any of them."""
    wrench_world: Floats
    """(points, 6, records)"""
    cable_from_m: Floats | None = None
    cable_to_m: Floats | None = None
    tension_n: Floats | None = None


def load_columns(sheet: Sheet) -> list[str]:
    """Names of the numeric columns that state the load of a row."""
    named = [name for name, c in sheet.layout.columns.items() if c.meaning.load_point is not None]
    return [name for name in (*WRENCH, *CABLE, "force") if sheet.has(name)] + named


def pull_of_cable(cable_from_m: Floats, cable_to_m: Floats, tension_n: Floats) -> Floats:
    """(3, n) force (N) of a cable on its load point; 0 where there is no cable."""
    along = cable_to_m - cable_from_m
    length = np.sqrt(np.sum(along**2, axis=0))
    pulls = np.isfinite(length * tension_n)
    safe = np.where(pulls, length, 1.0)
    force: Floats = np.where(pulls, tension_n * (along / safe), 0.0)
    return force


def loads_of(sheet: Sheet, records: Ints, robot: Robot | None) -> Loads:
    """Loads of the given records, checked against the robot's load points."""
    names, codes = sheet.codes("load_point", DEFAULT_LOAD_POINT)
    if robot is not None:
        raise_if(unknown_names(sheet, "load_point", names, codes, load_points_of(robot), "load point"))
    direct = np.nan_to_num(sheet.block(WRENCH)[:, records])
    cable, tension = sheet.block(CABLE)[:, records], sheet.number("force")[records]
    raise_if(_cable_problems(sheet, records, direct, cable, tension))
    has_cable = np.isfinite(tension).any()
    if has_cable:
        direct[:3] += pull_of_cable(cable[:3], cable[3:], tension)
    blocks = _at_load_point(sheet, direct, names, codes[records])
    for name, column in sheet.layout.columns.items():
        point = column.meaning.load_point
        values = np.nan_to_num(sheet.number(name)[records]) if point is not None else np.zeros(0)
        if point is not None and values.any():
            blocks.setdefault(point, np.zeros_like(direct))[WRENCH.index(name.replace(f".{point}.", "."))] += values
    wrench = np.stack(list(blocks.values())) if blocks else np.zeros((0, 6, records.size))
    if not has_cable:
        return Loads(tuple(blocks), wrench)
    return Loads(tuple(blocks), wrench, cable[:3], cable[3:], tension)


def _at_load_point(sheet: Sheet, direct: Floats, names: tuple[str, ...], codes: Ints) -> dict[str, Floats]:
    """(6, records) wrench of each point named in ``load_point`` that pulls somewhere."""
    loaded = np.any(direct != 0.0, axis=0)
    used = np.unique(codes[loaded])
    if used.size > MOST_LOAD_POINTS:
        raise InputError(
            Problem(
                "there are too many different load points",
                file=sheet.table.file,
                column="load_point",
                found=f"{used.size}",
                allowed=f"at most {MOST_LOAD_POINTS}",
            )
        )
    return {names[code]: np.where(codes == code, direct, 0.0) for code in used}


def _cable_problems(sheet: Sheet, records: Ints, direct: Floats, cable: Floats, tension: Floats) -> list[Problem]:
    """Every cable needs two distinct points and a tension that pulls, and excludes other components."""
    given, coordinates = np.isfinite(tension), np.isfinite(cable)
    pulled = given | coordinates.any(axis=0)
    problems = []
    for axis, name in enumerate(CABLE):
        missing = pulled & ~coordinates[axis]
        if missing.any():
            at = int(records[np.argmax(missing)])
            step = "Give both ends of the cable, or the force by its components force.x[N] ..."
            problems.append(sheet.problem("the cable has no direction: a coordinate is missing", name, at,
                                          allowed=", ".join(CABLE), next_step=step))  # fmt: skip
            return problems
    close = np.sqrt(np.sum((cable[3:] - cable[:3]) ** 2, axis=0)) < SHORTEST_CABLE_M
    rules = (
        (pulled & ~given, "force", "the cable has no tension", "a force in N or kN"),
        (tension < 0.0, "force", "a cable cannot push", "0 or more"),
        (pulled & close, "cable2.x", "the two points of the cable are the same", "two distinct points"),
        (pulled & direct.any(axis=0), "force", "the row states its load twice", "a cable or components, not both"),
    )
    for wrong, name, what, allowed in rules:
        if wrong.any():
            problems.append(sheet.problem(what, name, int(records[np.argmax(wrong)]), allowed=allowed))
    return problems
