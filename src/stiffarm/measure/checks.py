"""Rules that the rows of a campaign must keep, each a function from columns to problems.

Rows are compared through integer codes: `pack` turns any set of codes into one key, so that "the same
reading twice" and "a reading of that marker in the reference" are one sort and one lookup.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.errors import Problem
from stiffarm.measure.campaign import OBSERVATIONS
from stiffarm.measure.columns import POSE
from stiffarm.measure.loads import load_columns
from stiffarm.measure.sheet import LARGEST, Flags, Floats, Ints, Sheet
from stiffarm.robot.arm import Robot

KIND = {name: code for code, name in enumerate(OBSERVATIONS)}
TOUCHING = tuple(KIND[name] for name in ("touch", "plane", "sphere"))
VALUED = tuple(KIND[name] for name in ("position", "deflection", "pose"))
SAME_STOP = 1e-3
"""rad or m by which joint values of one visit may scatter."""


def pack(*codes: Ints) -> Ints:
    """One key per row, equal exactly where all codes (from -1 upwards) are equal.

    >>> pack(np.array([0, 0, 1]), np.array([-1, 2, -1]))
    array([4, 7, 8])
    """
    key = np.zeros_like(codes[0])
    size = 1
    for code in codes:
        count = int(code.max(initial=-1)) + 2
        if size * count > 2**62:
            key, code = np.unique(key, return_inverse=True)[1], np.unique(code, return_inverse=True)[1] - 1
            size, count = int(key.max(initial=0)) + 1, int(code.max(initial=-1)) + 2
        key = key * count + (code + 1)
        size *= count
    return key


def number_of_occurrence(key: Ints) -> Ints:
    """1 for the first row with a key, 2 for the second and so on."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.concatenate([[True], np.diff(key[order]) != 0]))
    run = np.repeat(starts, np.diff(np.append(starts, key.size)))
    occurrence = np.empty_like(key)
    occurrence[order] = np.arange(key.size) - run + 1
    return occurrence


def experiment_problems(sheet: Sheet, experiment: Ints, head: Ints, needs_joints: Flags) -> list[Problem]:
    """Rows of one experiment share configuration and loads exactly; ``head`` is the row each is held against."""
    joints = [f"q.{joint}" for joint in sheet.layout.joints]
    families = ("sigma.q.", "approach.")
    states = [name for name in sheet.layout.columns if name.startswith(families)] + ["sigma.force"]
    against = head[experiment]
    problems = []
    for name in (*joints, *load_columns(sheet), *states):
        if not sheet.has(name):
            continue
        values = sheet.number(name)
        other = values[against]
        differs = (values != other) & ~(np.isnan(values) & np.isnan(other))
        if name in joints:
            differs &= needs_joints
        problems += _differing(sheet, name, differs, against)
    if sheet.has("load_point"):
        _, point = sheet.codes("load_point", "tool")
        loaded = np.any(np.nan_to_num(sheet.block(load_columns(sheet))) != 0.0, axis=0)
        problems += _differing(sheet, "load_point", (point != point[against]) & loaded, against)
    return problems


def _differing(sheet: Sheet, name: str, differs: Flags, against: Ints) -> list[Problem]:
    if not differs.any():
        return []
    at = int(np.argmax(differs))
    first = int(against[at])
    experiment = sheet.text("experiment")[at]
    cell = sheet.text(name)[first]
    return [
        sheet.problem(
            f"rows {sheet.table.row[first]} and {sheet.table.row[at]} belong to experiment '{experiment}' and differ",
            name,
            at,
            allowed=f"'{cell}' as in row {sheet.table.row[first]}",
            next_step="Give rows with another configuration or load another experiment id",
        )
    ]


def reading_problems(sheet: Sheet, kind: Ints, value: Floats, *, readings_required: bool) -> list[Problem]:
    """Each kind of observation has what it needs."""
    read = np.isfinite(value)
    rotations = read[3:].sum(axis=0)
    problems: list[Problem] = []
    if readings_required:
        nothing = np.isin(kind, VALUED) & ~read.any(axis=0)
        allowed = "at least one of x y z rx ry rz"
        at = next((name for name in POSE if sheet.has(name)), "x")
        problems += sheet.first(nothing, at, "the row has no reading", allowed=allowed)
    partial = (kind == KIND["pose"]) & (rotations > 0) & (rotations < 3)
    if partial.any():
        missing = int(np.argmin(read[3:, int(np.argmax(partial))]))
        problems += sheet.first(
            partial, POSE[3 + missing], "a rotation vector is incomplete", allowed="rx, ry and rz, or none of them"
        )
    distance = kind == KIND["distance"]
    required = (
        ("target", distance | np.isin(kind, TOUCHING), "the row names no target"),
        ("target2", distance, "a distance needs a second target"),
    )
    for name, where, what in required:
        empty = where & (sheet.codes(name)[1] < 0)
        problems += sheet.first(empty, name, what, allowed="a name of your choice, the same for the same thing")
    if readings_required:
        no_length = distance & ~np.isfinite(sheet.number("distance"))
        problems += sheet.first(no_length, "distance", "a distance row has no distance", allowed="a length")
    same = distance & (sheet.text("target") == sheet.text("target2")).to_numpy() & (sheet.codes("target")[1] >= 0)
    return problems + sheet.first(same, "target2", "a distance needs two different targets")


def sign_problems(sheet: Sheet) -> list[Problem]:
    """Standard deviations and lengths are positive, approaches are +1 or -1, repeats are whole."""
    problems: list[Problem] = []
    for name, column in sheet.layout.columns.items():
        if name.startswith("sigma.") or name in ("distance", "radius"):
            wrong = sheet.number(name) <= 0.0
            what = "a standard deviation must be positive" if name.startswith("sigma.") else "a length must be positive"
            problems += sheet.first(wrong, name, what, allowed="more than 0, or an empty cell")
        elif name.startswith("approach."):
            values = sheet.number(name)
            wrong = np.isfinite(values) & (np.abs(values) != 1.0)
            problems += sheet.first(wrong, name, "an approach is a direction", allowed="1, -1 or an empty cell")
        elif column.name == "repeat":
            values = sheet.number(name)
            wrong = np.isfinite(values) & ((values != np.floor(values)) | (values < 0.0))
            problems += sheet.first(wrong, name, "a repeat is counted", allowed="1, 2, 3, ...")
    return problems


def joint_problems(sheet: Sheet, q: Floats, needs_joints: Flags, robot: Robot | None) -> list[Problem]:
    """Joint values are there and can be what their unit says."""
    problems: list[Problem] = []
    for index, joint in enumerate(sheet.layout.joints):
        values = q[index]
        missing = needs_joints & np.isnan(values)
        problems += sheet.first(missing, f"q.{joint}", f"joint '{joint}' has no value", allowed="a number in every row")
        limits = None if robot is None else robot.joints[index].limits
        largest = LARGEST["angle" if sheet.layout.joint_kinds[index] == "revolute" else "length"]
        low, high = (-largest, largest) if limits is None else (min(-largest, limits[0]), max(largest, limits[1]))
        wrong = (values < low) | (values > high)
        problems += sheet.first(wrong, f"q.{joint}", "the units look wrong: the joint value is too large",
                                allowed="two turns, or the robot's limits")  # fmt: skip
    return problems


def limit_warnings(sheet: Sheet, q: Floats, robot: Robot | None) -> list[str]:
    """Joint values outside the robot's limits, and degrees that look like radians."""
    warnings = []
    for index, joint in enumerate(() if robot is None else robot.joints):
        if joint.limits is None:
            continue
        low, high = joint.limits
        slack = 1e-9 * max(1.0, abs(low), abs(high))
        outside = (q[index] < low - slack) | (q[index] > high + slack)
        if outside.any():
            warnings.append(f"{sheet.table.file}: q.{joint.name} is beyond its limits in {sheet.rows_text(outside)}.")
    columns = sheet.layout.family("q")
    in_degrees = [joint for joint, column in columns.items() if column.header.replace(" ", "").endswith("[deg]")]
    degrees = [sheet.layout.joints.index(joint) for joint in in_degrees]
    if len(degrees) >= 3 and np.isfinite(q[degrees]).any():
        largest = float(np.rad2deg(np.nanmax(np.abs(q[degrees]))))
        if 1.0 < largest <= 2.0 * np.pi + 1e-9:
            warnings.append(
                f"{sheet.table.file}: no joint moves beyond {largest:.2f} deg: the units look wrong, "
                "these may be radians."
            )
    return warnings


def duplicate_problems(sheet: Sheet, key: Ints, counted: Flags) -> list[Problem]:
    """No reading stands twice."""
    rows = np.flatnonzero(counted)
    again = rows[number_of_occurrence(key[rows]) > 1] if rows.size else rows
    if not again.size:
        return []
    at = int(again[0])
    first = int(rows[np.argmax(key[rows] == key[at])])
    return [
        sheet.problem(
            f"row {sheet.table.row[at]} is the same reading as row {sheet.table.row[first]} "
            "(experiment, repeat, visit, setup, observation, marker and target are equal)",
            "repeat" if sheet.has("repeat") else "experiment",
            at,
            next_step="Number repetitions in the column 'repeat', or delete the row",
        )
    ]


def visit_problems(sheet: Sheet, visit: Ints, q: Floats) -> list[Problem]:
    """The robot did not move between the rows of one visit."""
    inside = np.flatnonzero((visit >= 0) & np.isfinite(q).all(axis=0))
    if not inside.size or not q.size:
        return []
    first = np.zeros(int(visit.max()) + 1, dtype=np.int64)
    first[visit[inside[::-1]]] = inside[::-1]
    moved = np.abs(q[:, inside] - q[:, first[visit[inside]]]).max(axis=0) > SAME_STOP
    if not moved.any():
        return []
    at = int(inside[np.argmax(moved)])
    other = int(sheet.table.row[first[visit[at]]])
    what = f"the robot moved between row {other} and row {sheet.table.row[at]} of one visit"
    return [sheet.problem(what, "visit", at, next_step="Give every stop of the robot its own visit")]


@dataclass(frozen=True, eq=False)
class ReferenceColumns:
    """What decides whether a reference can be subtracted."""

    experiment: Ints
    same: Ints
    """Key of what a reading and its reference must have in common (marker, repeat)."""
    kind: Ints
    reference: Ints
    """Index of an experiment, -1 = none, -2 = no such experiment."""
    loaded: Flags
    """(experiments,)"""


def reference_problems(sheet: Sheet, columns: ReferenceColumns, names: tuple[str, ...]) -> list[Problem]:
    """A reference is another, unloaded experiment with a reading of the same marker and repeat."""
    rows = np.flatnonzero(columns.reference != -1)
    to = columns.reference[rows]
    some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    unknown = to < -1
    if unknown.any():
        what = "the reference is not an experiment of this file"
        return [sheet.problem(what, "reference", int(rows[np.argmax(unknown)]), allowed=some)]
    readable = np.isin(columns.kind, (KIND["position"], KIND["pose"]))
    keys = pack(np.concatenate([columns.experiment, to]), np.concatenate([columns.same, columns.same[rows]]))
    absent = ~np.isin(keys[len(sheet) :], keys[: len(sheet)][readable])
    rules = (
        (~readable[rows], "only position and pose rows have a reference", "an empty cell for every other observation"),
        (columns.experiment[rows] == to, "the reference is the experiment itself", "another experiment, unloaded"),
        (columns.loaded[to], "the reference is loaded", "an experiment without force and torque"),
        (absent, "the reference has no reading of the same marker and repeat", "a position or pose row of it"),
    )
    return [
        sheet.problem(what, "reference", int(rows[np.argmax(wrong)]), allowed=allowed)
        for wrong, what, allowed in rules
        if wrong.any()
    ]
