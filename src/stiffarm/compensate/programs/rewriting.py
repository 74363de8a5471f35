"""A corrected program: the numbers of its points in their places, in the style they were written in.

A number keeps its decimals, or gets as many as the correction needs: 4 for mm, 6 for deg, 9 for a quaternion.  One that
would read the same stays as it is, byte by byte.  S, T and the configuration change only where the correction takes an
axis across a bound they tell, and only where they told the truth before.

What was allowed against advice is said in a comment after the program's first line; nothing else is added.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate import branches
from stiffarm.compensate.axes import ControllerAxes
from stiffarm.compensate.conventions import numbers_of
from stiffarm.compensate.corrected import CorrectedPath
from stiffarm.compensate.handing_over import plain
from stiffarm.compensate.programs.parts import Number, Point, Program, ProgramFile
from stiffarm.compensate.programs.placing import MOST_NAMED, Placed
from stiffarm.errors import InputError, Problem, StiffarmWarning
from stiffarm.measure.writing import replace_file
from stiffarm.model.arm_model import Arm
from stiffarm.robot.placement import Rigid, rotation_from_vector

Floats = NDArray[np.float64]
Edit = tuple[int, int, int, str]
"""File, start, end, what stands there instead."""

MM, DEG, PART = 4, 6, 9
NEAR_TURN_DEG = 0.001
HEADS = {
    "krl": re.compile(
        r"^(?:\xef\xbb\xbf)?[^\S\r\n]*(?:GLOBAL\s+)?DEF(?:FCT)?\b[^\r\n]*(?:\r\n|\r|\n)", re.IGNORECASE | re.MULTILINE
    ),
    "rapid": re.compile(r"^(?:\xef\xbb\xbf)?[^\S\r\n]*MODULE\b[^\r\n]*(?:\r\n|\r|\n)", re.IGNORECASE | re.MULTILINE),
}
BYTE_ORDER_MARK = "\xef\xbb\xbf"
COMMENT = {"krl": ";", "rapid": "!"}


def outputs_of(program: Program, output: Path) -> tuple[Path, ...]:
    """The files a corrected program is written to; `InputError` when one of them is read or has a wrong ending."""
    first = program.files[0].path
    if output.suffix.lower() != first.suffix.lower():
        what = "a program is corrected into one of its own language"
        raise InputError(Problem(what, str(output), None, "--output", output.name, f"a name ending in {first.suffix}"))
    names = [output, *(output.with_suffix(file.path.suffix) for file in program.files[1:])]
    for name in names:
        if any(name.exists() and name.samefile(file.path) for file in program.files):
            what = "this file belongs to the program that is read and would be overwritten"
            raise InputError(Problem(what, str(name), None, "--output", allowed="another name or folder"))
    return tuple(names)


def near_a_turn(placed: Placed, path: CorrectedPath) -> tuple[str, ...]:
    """Points with an axis so near to zero that the controller may read its turn bit either way."""
    near = []
    for i, point in enumerate(placed.points):
        known = [joint for joint in placed.axes.arm if joint is not None]
        if "T" in point.ways and (np.abs(np.degrees(path.q[known, i])) < NEAR_TURN_DEG).any():
            near.append(point.name)
    if not near:
        return ()
    some = ", ".join(near[:MOST_NAMED]) + (" and more" if len(near) > MOST_NAMED else "")
    return (
        f"T of {some} stands at a bound: an axis within {NEAR_TURN_DEG:g} deg of zero, which a PTP may take for the "
        "other side and turn right round",
    )


def write_program(placed: Placed, path: CorrectedPath, nominal: Arm, output: Path) -> tuple[Path, ...]:
    """Write the corrected program, every file of it."""
    names = outputs_of(placed.program, output)
    for sentence in near_a_turn(placed, path):
        warnings.warn(sentence, StiffarmWarning, stacklevel=2)
    for name, content in zip(names, corrected_files(placed, path, nominal), strict=True):
        replace_file(name, content)
    return names


def corrected_files(placed: Placed, path: CorrectedPath, nominal: Arm) -> tuple[bytes, ...]:
    """Contents of the program's files with the points of a corrected path (that of ``placed.points``)."""
    edits: list[Edit] = []
    old_q = placed.wish.wished.q
    known = branches.has_branches(nominal, placed.axes)
    taken = [branches.branch_of(nominal, placed.axes, q).number for q in (old_q, path.q)] if known else None
    for i, point in enumerate(placed.points):
        edits += [edit for edit in _numbers(placed, path, i) if edit is not None]
        both = (int(taken[0][i]), int(taken[1][i])) if taken else None
        for number, value in _ways(point, placed.axes, old_q[:, i], path.q[:, i], both):
            if value != number.value:
                edits.append((number.file, number.start, number.end, str(value)))
    if path.against_advice:
        edits.append(_remark(placed.program, path.against_advice))
    return tuple(_applied(file, [e for e in edits if e[0] == k]) for k, file in enumerate(placed.program.files))


def _numbers(placed: Placed, path: CorrectedPath, i: int) -> Iterator[Edit | None]:
    """Replaced numbers of a point: its axes, or its pose; external axes."""
    point, axes, files = placed.points[i], placed.axes, placed.program.files
    arm, external = axes.values(path.q[:, i])
    for own, values, joints in ((point.arm, arm, axes.arm), (point.external, external, axes.external)):
        for place, number in own.items():
            value, joint = values[place], joints[place]
            if value is not None and joint is not None:
                yield _edit(files, number, value, MM if axes.prismatic[joint] else DEG)
    if point.kind == "axes":
        return
    told = Rigid(rotation_from_vector(path.pose_world[3:, i]), path.pose_world[:3, i])
    brand = "kuka" if placed.program.language == "krl" else "abb"
    numbers = numbers_of(placed.bases[i].inverse() @ told @ placed.tools[i], brand)
    turn = np.array(numbers[3:])
    if brand == "abb" and float(turn @ [one.value for one in point.turn]) < 0.0:
        turn = -turn
    for number, value in zip(point.place, numbers[:3], strict=True):
        yield _edit(files, number, value, MM)
    for number, value in zip(point.turn, turn, strict=True):
        yield _edit(files, number, float(value), DEG if brand == "kuka" else PART)


def _edit(files: tuple[ProgramFile, ...], number: Number, value: float, least: int) -> Edit | None:
    text = files[number.file].text[number.start : number.end]
    new = in_style(text, value, least)
    return None if new == text else (number.file, number.start, number.end, new)


def in_style(text: str, value: float, least: int) -> str:
    """A number in the style of another: its decimals, at least ``least``; the other itself when that says the same.

    >>> in_style("12.50", 12.50001, 4), in_style("+3", 3.25, 4), in_style("-0.5", -0.123456, 2)
    ('12.50', '+3.2500', '-0.12')
    """
    places = least
    if "e" not in text.lower():
        places = max(least, len(text.partition(".")[2]))
    if abs(value - float(text)) <= 0.5 * 10.0**-places:
        return text
    new = f"{value:.{places}f}"
    if float(new) == 0.0:
        new = new.lstrip("-")
    return f"+{new}" if text.startswith("+") and not new.startswith("-") else new


def _ways(
    point: Point, axes: ControllerAxes, old: Floats, new: Floats, taken: tuple[int, int] | None
) -> Iterator[tuple[Number, int]]:
    """What S, T and the configuration must say now."""
    for key, number in point.ways.items():
        told = int(number.value)
        if key == "S" and taken is not None and told & branches.S_MASK == taken[0]:
            yield number, told - taken[0] + taken[1]
        elif key == "T":
            was, now = (int(branches.kuka_turn(axes, q[:, None])[0]) for q in (old, new))
            changed = (was ^ now) & ~(told ^ was)
            yield number, told ^ changed
        elif key == "cfx" and taken is not None and branches.branch_of_cfx(told) == taken[0]:
            yield number, branches.cfx_of_branch(taken[1])
        elif key in ("cf1", "cf4", "cf6"):
            place = ("cf1", "cf4", "cf6").index(key)
            was, now = (int(branches.abb_quadrants(axes, q[:, None])[place, 0]) for q in (old, new))
            if told == was:
                yield number, now


def _remark(program: Program, sentences: tuple[str, ...]) -> Edit:
    """A comment after the program's first line."""
    file = program.files[0]
    head = HEADS[program.language].search(file.text)
    at = head.end() if head else len(BYTE_ORDER_MARK) * file.text.startswith(BYTE_ORDER_MARK)
    lines = (f"{COMMENT[program.language]} {plain(sentence)}{file.line_end}" for sentence in sentences)
    return 0, at, at, "".join(lines)


def _applied(file: ProgramFile, edits: list[Edit]) -> bytes:
    parts, at = [], 0
    for _, start, end, text in sorted(edits):
        parts += [file.text[at:start], text]
        at = end
    return "".join([*parts, file.text[at:]]).encode("latin-1")
