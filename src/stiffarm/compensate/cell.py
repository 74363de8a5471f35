"""What a program says beside its points: base, tool, kind of targets, speed, rounding of corners.

Frames are stated as options in the numbers of a controller, ``[NAME=]X,Y,Z,A,B,C`` (mm, deg, KUKA) or
``[NAME=]x,y,z,q1,q2,q3,q4`` (mm, ABB): bases in the world, tools in the controller's flange frame.  A name is what the
controller calls it: the number of KUKA's ``BASE_DATA`` and ``TOOL_DATA``, the name of ABB's wobjdata and tooldata.
``file`` in the place of a tool's numbers is the tool of the robot file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from stiffarm.compensate.conventions import frame_of
from stiffarm.compensate.corrected import CorrectedPath
from stiffarm.errors import InputError, Problem
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import Floats
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import Rigid, tool_transform

Targets = Literal["joints", "poses"]

UNNAMED = ""
"""The name of a frame that has none in the controller."""
OF_FILE = "file"
DEFAULT_SPEED_M_S = 0.01
MOST_POINTS = 5000


@dataclass(frozen=True, eq=False)
class Cell:
    """What was said of the cell by option."""

    bases: Mapping[str, Rigid] = field(default_factory=dict)
    """World from base, by name."""
    tools: Mapping[str, Rigid | None] = field(default_factory=dict)
    """Controller's flange from tool, by name; None: the tool of the robot file."""
    targets: Targets | None = None
    """Joint or pose targets; None: as the path states its points."""
    speed_m_s: float = DEFAULT_SPEED_M_S
    """Of the tool, where the path states neither feeds nor times."""
    blend_m: float = 0.0
    """Radius by which corners are rounded; 0: every point is stopped at."""
    most_points: int = MOST_POINTS

    @staticmethod
    def of(bases: Sequence[str] = (), tools: Sequence[str] = ()) -> Cell:
        """From the options ``--base`` and ``--tool``."""
        known = dict(_frame(text, "--base") for text in bases)
        lost = [name for name, frame in known.items() if frame is None]
        if lost:
            raise _unreadable(f"{lost[0]}={OF_FILE}", "--base")
        return Cell({name: frame for name, frame in known.items() if frame}, dict(_frame(t, "--tool") for t in tools))

    def base(self) -> tuple[str, Rigid]:
        """The base a new program is written in: the first that was stated, else the world."""
        return next(iter(self.bases.items()), (UNNAMED, Rigid.identity()))

    def tool(self, robot: Robot) -> tuple[str, Rigid]:
        """The tool a new program is written for: the first that was stated, else that of the robot file."""
        name, stated = next(iter(self.tools.items()), (UNNAMED, None))
        return name, tool_of_file(robot) if stated is None else stated


def tool_of_file(robot: Robot) -> Rigid:
    """The tool of the robot file as the controller sees it: from its own flange frame."""
    return Rigid.of(robot.controller.tool0).inverse() @ tool_transform(robot)


def speeds(path: CorrectedPath, default_m_s: float) -> Floats:
    """(n,) m/s towards every point: its feed, else its distance over its time, else the default."""
    if path.feed_m_s is not None:
        found = np.where(path.feed_m_s > 0.0, path.feed_m_s, np.nan)
    elif path.time_s is not None and len(path) > 1:
        steps = np.linalg.norm(np.diff(path.pose_world[:3], axis=1), axis=0)
        times = np.diff(path.time_s)
        found = np.concatenate([[np.nan], np.divide(steps, times, out=np.full_like(steps, np.nan), where=times > 0.0)])
        found = np.where(found > 1e-6, found, np.nan)
    else:
        found = np.full(len(path), np.nan)
    return np.asarray(np.where(np.isnan(found), default_m_s, found))


def refuse_more_than(points: int, cell: Cell, output: str) -> None:
    """`InputError` when a program would be longer than was allowed."""
    if points > cell.most_points:
        raise InputError(
            Problem(
                "a program of so many points may not fit into the controller's memory or its editor",
                file=output,
                found=f"{points} points",
                allowed=f"{cell.most_points}",
                next_step="Split the path, or say --most-points when your controller takes it",
            )
        )


def controller_arm(robot_arm: Arm, model_arm: Arm, path: CorrectedPath) -> Arm:
    """The arm whose kinematics the controller inverts."""
    return robot_arm if path.kinematics == "nominal" else model_arm


def _frame(text: str, option: str) -> tuple[str, Rigid | None]:
    name, _, numbers = text.rpartition("=")
    if numbers.strip().lower() == OF_FILE:
        return name.strip(), None
    try:
        values = tuple(float(part) for part in numbers.split(","))
    except ValueError:
        raise _unreadable(text, option) from None
    if len(values) not in (6, 7) or not np.isfinite(values).all():
        raise _unreadable(text, option)
    if len(values) == 7 and abs(float(np.linalg.norm(values[3:])) - 1.0) > 0.01:
        raise _unreadable(text, option, "the quaternion has not the length 1")
    return name.strip(), frame_of(values, "kuka" if len(values) == 6 else "abb")


def _unreadable(text: str, option: str, what: str = "this is not a frame") -> InputError:
    allowed = "[NAME=]X,Y,Z,A,B,C in mm and deg, or [NAME=]x,y,z,q1,q2,q3,q4"
    if option == "--tool":
        allowed += ", or NAME=file"
    return InputError(Problem(what, column=option, found=text, allowed=allowed))
