"""A corrected path as a KUKA program: instructions in ``NAME.src``, points in ``NAME.dat``.

    joint targets   E6AXIS {A1 ... A6, E1 ... E6}                   PTP: the axes go there, the path between is theirs
    pose targets    E6POS {X Y Z A B C, S T, E1 ... E6} in $BASE    LIN at $VEL.CP, the first one by PTP on its axes

mm with 4 decimals, deg with 6: 0.05 um and 9e-9 rad, that is 0.03 um at 3 m.  The controller itself keeps REAL in
single precision, up to 0.12 um at 3 m and 8e-6 deg at 180 deg.  S and T say which way the arm takes the pose
(`stiffarm.compensate.branches`); an arm whose ways have no such numbers is told poses without them, on LIN alone, where
the controller stays on the way it is on.

A module is named by its files: 24 characters, letters, digits and underscores.  Lines stay under 254.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate import branches
from stiffarm.compensate.axes import ControllerAxes, axes_of
from stiffarm.compensate.cell import UNNAMED, Cell, refuse_more_than, speeds
from stiffarm.compensate.conventions import kuka_from_matrix, numbers_of
from stiffarm.compensate.corrected import CorrectedPath
from stiffarm.compensate.handing_over import check_name, header, refuse_incomplete, targets_of
from stiffarm.compensate.languages import Handover
from stiffarm.compensate.poses import Poses
from stiffarm.errors import InputError, Problem
from stiffarm.measure.writing import replace_file
from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]

SUFFIX = ".src"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,23}")
_WORDS = """
and anin anout b_and b_exor b_not b_or bool brake case cast_from cast_to ccclose ccopen char chead circ circ_rel
confirm const continue cpread cpwrite ctemp cwrite decl def default defdat deffct delay digin digout do else end
enddat endfct endfor endif endloop endspline endswitch endwhile enum exit exor export ext extfct false for frame
global goto halt if import imported int interrupt is joint lin lin_rel loop not off on or path pos private ptp
ptp_rel public pulse real repeat resume return sec signal slin spl spline sptp struc switch then to tool trigger
true until wait when while with
"""
RESERVED = frozenset(_WORDS.split())
POINTS_OF_BASIS = "EXT BAS (BAS_COMMAND :IN,REAL :IN )"
AXIS_VELOCITY_PERCENT = 10


def write_krl(path: CorrectedPath, handover: Handover, output: Path) -> Sequence[Path]:
    """Write ``NAME.src`` and ``NAME.dat``."""
    refuse_incomplete(path, str(output))
    check_krl(output, len(path), handover.cell)
    source, points = krl_text(path, handover, output.stem)
    beside = output.with_suffix(".dat")
    replace_file(beside, points.encode("ascii"))
    replace_file(output, source.encode("ascii"))
    return (output, beside)


def check_krl(output: Path, points: int, cell: Cell) -> None:
    """`InputError` for a name or a number of points the controller does not take."""
    check_name(output, (SUFFIX,), NAME, RESERVED, "a letter, then at most 23 letters, digits or underscores")
    refuse_more_than(points, cell, str(output))


def krl_text(path: CorrectedPath, handover: Handover, name: str) -> tuple[str, str]:
    """Contents of the two files; lines end as in Windows."""
    robot, cell = handover.model.robot, handover.cell
    axes, targets = axes_of(robot), targets_of(path, handover)
    if targets == "joints" and cell.blend_m:
        raise InputError(
            Problem(
                "KRL rounds corners between joint targets by percent of the axes, not by a length",
                column="--blend",
                next_step="Say --targets poses, or leave --blend out",
            )
        )
    base_name, base = cell.base()
    tool_name, tool = cell.tool(robot)
    source = [
        "&ACCESS RVP",
        "&REL 1",
        f"DEF {name} ( )",
        *(f"; {line}" for line in header(path, handover, "KRL: mm to 0.0001, deg to 0.000001")),
        ";FOLD INI",
        "  ;FOLD BASISTECH INI",
        "    GLOBAL INTERRUPT DECL 3 WHEN $STOPMESS==TRUE DO IR_STOPM ( )",
        "    INTERRUPT ON 3",
        "    BAS (#INITMOV,0 )",
        "  ;ENDFOLD (BASISTECH INI)",
        ";ENDFOLD (INI)",
        _choice("BASE", base_name, base),
        _choice("TOOL", tool_name, tool),
        f"BAS (#VEL_PTP,{AXIS_VELOCITY_PERCENT} )",
        "$IPO_MODE=#BASE",
    ]
    declared, moves = (_joint_moves if targets == "joints" else _pose_moves)(path, handover, axes, cell)
    points = ["&ACCESS RVP", "&REL 1", f"DEFDAT {name}", POINTS_OF_BASIS, *declared, "ENDDAT"]
    return _lines([*source, *moves, "END"]), _lines(points)


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\r\n" for line in lines)


def _choice(kind: str, name: str, frame: Rigid) -> str:
    if name == UNNAMED:
        return f"${kind}={{FRAME: {_fields('XYZABC', numbers_of(frame, 'kuka'), '444666')}}}"
    return f"BAS (#{kind},{name} )"


def _fields(names: Sequence[str], values: Sequence[float | None], decimals: Sequence[str | int]) -> str:
    told = zip(names, values, decimals, strict=True)
    return ",".join(f"{name} {_number(value, int(places))}" for name, value, places in told if value is not None)


def _number(value: float, decimals: int) -> str:
    """With a point, without trailing zeros beyond the first decimal, without a minus before zero.

    >>> _number(-0.0000001, 4), _number(12.5, 6)
    ('0.0', '12.5')
    """
    text = f"{value:.{decimals}f}".rstrip("0")
    text = f"{text}0" if text.endswith(".") else text
    return "0.0" if text == "-0.0" else text


def axis_fields(axes: ControllerAxes, q: Floats, which: str) -> str:
    """``A1 ..,A2 ..`` or ``E1 ..,E2 ..`` of joint values (joints,); axes the robot has not stand at 0."""
    arm, external = axes.values(q)
    values = [0.0 if value is None else value for value in (arm if which == "A" else external)]
    joints = axes.arm if which == "A" else axes.external
    decimals = [4 if joint is not None and axes.prismatic[joint] else 6 for joint in joints]
    return _fields([f"{which}{k + 1}" for k in range(6)], values, decimals)


def _axis_point(name: str, axes: ControllerAxes, q: Floats) -> str:
    return f"DECL E6AXIS {name}={{{axis_fields(axes, q, 'A')},{axis_fields(axes, q, 'E')}}}"


def _joint_moves(
    path: CorrectedPath, handover: Handover, axes: ControllerAxes, cell: Cell
) -> tuple[list[str], list[str]]:
    declared = [_axis_point(f"XP{i + 1}", axes, path.q[:, i]) for i in range(len(path))]
    return declared, [f"PTP XP{i + 1}" for i in range(len(path))]


def _pose_moves(
    path: CorrectedPath, handover: Handover, axes: ControllerAxes, cell: Cell
) -> tuple[list[str], list[str]]:
    robot = handover.model.robot
    own_tool = Cell().tool(robot)[1].inverse() @ cell.tool(robot)[1]
    told = Poses.of(path.pose_world).then(own_tool).seen_from(cell.base()[1])
    numbers = np.concatenate([1e3 * told.position, kuka_from_matrix(told.rotation)])
    arm = handover.model.nominal()
    known = branches.has_branches(arm, axes)
    status = branches.branch_of(arm, axes, path.q).number if known else None
    turn = branches.kuka_turn(axes, path.q)
    declared = [_axis_point("XP0", axes, path.q[:, 0])] if len(path) else []
    for i in range(len(path)):
        ways = f",S {status[i]},T {turn[i]}" if status is not None else ""
        pose = _fields("XYZABC", list(numbers[:, i]), "444666")
        declared.append(f"DECL E6POS XP{i + 1}={{{pose}{ways},{axis_fields(axes, path.q[:, i], 'E')}}}")
    moves, feed = (["PTP XP0"] if declared else []), None
    if cell.blend_m:
        moves.append(f"$APO.CDIS={_number(1e3 * cell.blend_m, 4)}")
    for i, speed in enumerate(speeds(path, cell.speed_m_s)):
        if (text := _number(float(speed), 6)) != feed:
            moves.append(f"$VEL.CP={text}")
            feed = text
        rounded = " C_DIS" if cell.blend_m and i + 1 < len(path) else ""
        moves.append(f"LIN XP{i + 1}{rounded}")
    return declared, moves
