"""A corrected path as an ABB module: ``NAME.mod``.

    joint targets   jointtarget [[rax_1 ... rax_6],[eax_a ... eax_f]]                   MoveAbsJ
    pose targets    robtarget [[x,y,z],[q1,q2,q3,q4],[cf1,cf4,cf6,cfx],[eax_a ...]]     MoveL, the first by MoveAbsJ

seen from the work object, mm with 4 decimals, deg with 6, quaternions with 9: 0.05 um, 9e-9 rad and 1e-9, together
0.03 um at 3 m beside the first.  The controller keeps ``num`` in single precision: up to 0.12 um at 3 m.  cf1, cf4, cf6
and cfx say which way the arm takes the pose (`stiffarm.compensate.branches`); for an arm whose ways have no such
numbers they are 0 and the module switches the watch on them off (ConfL, ConfJ).  An external axis the robot has not is
9E9.

Names have at most 32 characters: letters, digits, underscores.  The routine is called ``run_NAME``.
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
from stiffarm.compensate.conventions import numbers_of, quaternion_from_matrix
from stiffarm.compensate.corrected import CorrectedPath
from stiffarm.compensate.handing_over import check_name, header, refuse_incomplete, targets_of
from stiffarm.compensate.languages import Handover
from stiffarm.compensate.poses import Poses
from stiffarm.measure.writing import replace_file
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]

SUFFIXES = (".mod", ".modx")
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,27}")
_WORDS = """
alias and backward case connect const default div do else elseif endfor endfunc endif endmodule endproc endrecord
endtest endtrap endwhile error exit false for from func goto if inout local mod module nostepin not noview or pers
proc raise readonly record retry return step sysmodule task test then to trap true trynext undo var viewonly while
with xor
"""
RESERVED = frozenset(_WORDS.split())
UNUSED = "9E9"
BASE, TOOL = "wStiffarm", "tStiffarm"
EMPTY_LOAD = "0.001,[0,0,0.001],[1,0,0,0],0,0,0"
"""The load ABB itself states where there is none: a mass of zero is refused by the controller."""
TURNING_DEG_S = 30.0


def write_rapid(path: CorrectedPath, handover: Handover, output: Path) -> Sequence[Path]:
    """Write ``NAME.mod``."""
    refuse_incomplete(path, str(output))
    check_rapid(output, len(path), handover.cell)
    replace_file(output, rapid_text(path, handover, output.stem).encode("ascii"))
    return (output,)


def check_rapid(output: Path, points: int, cell: Cell) -> None:
    """`InputError` for a name or a number of points the controller does not take."""
    check_name(output, SUFFIXES, NAME, RESERVED, "a letter, then at most 27 letters, digits or underscores")
    refuse_more_than(points, cell, str(output))


def rapid_text(path: CorrectedPath, handover: Handover, name: str) -> str:
    """The module."""
    robot, cell = handover.model.robot, handover.cell
    axes, targets = axes_of(robot), targets_of(path, handover)
    arm = handover.model.nominal()
    known = branches.has_branches(arm, axes)
    declared = [*_speeds(path, cell), *_frames(robot, cell)]
    if targets == "joints":
        declared += [_joint_target(f"p{i + 1}", axes, path.q[:, i]) for i in range(len(path))]
    elif len(path):
        declared.append(_joint_target("p0", axes, path.q[:, 0]))
        declared += _pose_targets(path, handover, axes, known)
    watch = [] if known or targets == "joints" else ["ConfL\\Off;", "ConfJ\\Off;"]
    body = [*watch, *_moves(path, cell, targets == "joints")]
    rounding = "RAPID: mm to 0.0001, deg to 0.000001, quaternions to 1e-9"
    lines = [
        f"MODULE {name}",
        *(f"  ! {line}" for line in header(path, handover, rounding)),
        *(f"  {line}" for line in declared),
        f"  PROC run_{name}()",
        *(f"    {line}" for line in body),
        "  ENDPROC",
        "ENDMODULE",
    ]
    return "".join(f"{line}\r\n" for line in lines)


def _number(value: float, decimals: int) -> str:
    """Without trailing zeros and without a minus before zero.

    >>> _number(-0.0000001, 4), _number(12.5, 6), _number(100.0, 4)
    ('0', '12.5', '100')
    """
    text = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _list(values: Sequence[float], decimals: int) -> str:
    return "[" + ",".join(_number(value, decimals) for value in values) + "]"


def _frame(frame: Rigid) -> str:
    numbers = numbers_of(frame, "abb")
    return f"[{_list(numbers[:3], 4)},{_list(numbers[3:], 9)}]"


def _frames(robot: Robot, cell: Cell) -> list[str]:
    """Declarations of work object and tool, where the controller has not its own."""
    (base_name, base), (tool_name, tool) = cell.base(), cell.tool(robot)
    out = []
    if base_name == UNNAMED:
        nothing = "[[0,0,0],[1,0,0,0]]"
        out.append(f'TASK PERS wobjdata {BASE}:=[FALSE,TRUE,"",{_frame(base)},{nothing}];')
    if tool_name == UNNAMED:
        out.append(f"TASK PERS tooldata {TOOL}:=[TRUE,{_frame(tool)},[{_load(robot)}]];")
    return out


def _load(robot: Robot) -> str:
    """Mass (kg) and its centre (mm) in the controller's flange frame."""
    if not robot.tool.mass > 0.0:
        return EMPTY_LOAD
    centre = Rigid.of(robot.controller.tool0).inverse().apply(robot.tool.com)
    return f"{_number(robot.tool.mass, 4)},{_list(list(1e3 * centre), 4)},[1,0,0,0],0,0,0"


def _external(axes: ControllerAxes, q: Floats) -> str:
    _, values = axes.values(q)
    slides = [joint is not None and axes.prismatic[joint] for joint in axes.external]
    told = (UNUSED if v is None else _number(v, 4 if s else 6) for v, s in zip(values, slides, strict=True))
    return "[" + ",".join(told) + "]"


def _joint_target(name: str, axes: ControllerAxes, q: Floats) -> str:
    arm = [0.0 if value is None else value for value in axes.values(q)[0]]
    return f"LOCAL CONST jointtarget {name}:=[{_list(arm, 6)},{_external(axes, q)}];"


def _pose_targets(path: CorrectedPath, handover: Handover, axes: ControllerAxes, known: bool) -> list[str]:
    robot, cell = handover.model.robot, handover.cell
    own_tool = Cell().tool(robot)[1].inverse() @ cell.tool(robot)[1]
    told = Poses.of(path.pose_world).then(own_tool).seen_from(cell.base()[1])
    turns = quaternion_from_matrix(told.rotation)
    quadrants = branches.abb_quadrants(axes, path.q)
    cfx = branches.abb_cfx(branches.branch_of(handover.model.nominal(), axes, path.q)) if known else None
    lines = []
    for i in range(len(path)):
        way = [*map(int, quadrants[:, i]), int(cfx[i])] if cfx is not None else [0, 0, 0, 0]
        place = f"{_list(list(1e3 * told.position[:, i]), 4)},{_list(list(turns[:, i]), 9)}"
        conf = "[" + ",".join(map(str, way)) + "]"
        lines.append(f"LOCAL CONST robtarget p{i + 1}:=[{place},{conf},{_external(axes, path.q[:, i])}];")
    return lines


def _speed_names(path: CorrectedPath, cell: Cell) -> tuple[list[str], dict[str, str]]:
    """Speed of every point (mm/s, as it is written), and the name of each."""
    told = [_number(1e3 * float(speed), 4) for speed in speeds(path, cell.speed_m_s)]
    return told, {text: f"vel{i + 1}" for i, text in enumerate(dict.fromkeys(told))}


def _speeds(path: CorrectedPath, cell: Cell) -> list[str]:
    _, names = _speed_names(path, cell)
    return [f"LOCAL CONST speeddata {name}:=[{text},{TURNING_DEG_S:g},1000,30];" for text, name in names.items()]


def _moves(path: CorrectedPath, cell: Cell, joints: bool) -> list[str]:
    base = cell.base()[0] or BASE
    tool = next(iter(cell.tools), UNNAMED) or TOOL
    told, names = _speed_names(path, cell)
    lines = []
    if not joints and len(path):
        lines.append(f"MoveAbsJ p0\\NoEOffs,{names[told[0]]},fine,{tool}\\WObj:={base};")
    for i, text in enumerate(told):
        last = i + 1 == len(told)
        zone = "fine" if last or not cell.blend_m else _zone(cell.blend_m)
        what = f"MoveAbsJ p{i + 1}\\NoEOffs" if joints else f"MoveL p{i + 1}"
        lines.append(f"{what},{names[text]},{zone},{tool}\\WObj:={base};")
    return lines


def _zone(blend_m: float) -> str:
    size = 1e3 * blend_m
    parts = (size, 1.5 * size, 1.5 * size, 0.15 * size, 1.5 * size, 0.15 * size)
    return "[FALSE," + ",".join(_number(part, 4) for part in parts) + "]"
