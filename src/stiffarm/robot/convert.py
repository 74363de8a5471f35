"""From one way of stating a robot to another: URDF, and robot files in any convention.

The frame after each joint's motion is the same in every convention, so masses, markers and springs keep
their coordinates; only the fixed transform before the motion is stated in other words.  As a row of a DH
table it must be

    RotX(alpha) TransX(a) RotZ(theta) TransZ(d)

with the motion along or about z (in a ``dh`` table RotX(alpha) TransX(a) stands in the row before).  These are four
numbers for six, so not every chain has such a row; one that has not is refused rather than given other
frames.  Only before the first joint anything may stand: what does not fit a row moves into the base.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from stiffarm.errors import InputError, Problem, StiffarmWarning, found_text
from stiffarm.robot.arm import STANDARD_GRAVITY, AxisPlacement, DenavitHartenberg, Joint, Robot
from stiffarm.robot.placement import (
    JointTransform,
    Rigid,
    base_transform,
    chain_transforms,
    flange_transform,
    rotation_about,
)
from stiffarm.robot.reading import read_robot
from stiffarm.robot.urdf import placement_of, read_urdf, vector3
from stiffarm.robot.urdf_write import write_urdf
from stiffarm.robot.writing import write_robot

Target = Literal["dh", "mdh", "frames"]
_TOLERANCE = 1e-12
"""m or rad: what a row of a table may differ from the transform it states, all of it rounding."""


def convert_robot(
    robot_or_path: Robot | Path | str,
    output: Path,
    convention: Target | None = None,
    *,
    base: str | None = None,
    tip: str | None = None,
) -> Robot:
    """Writes a robot, a robot file, a packaged robot or a URDF to ``output``; returns what was written.

    The suffix of ``output`` decides: ``.urdf``, or ``.robot.toml`` (in ``convention``, by default the robot's
    own).  ``base`` and ``tip`` choose the arm in a URDF.  Raises `InputError` for what the target cannot say,
    and warns of what a URDF leaves out.
    """
    robot = robot_or_path if isinstance(robot_or_path, Robot) else _read(robot_or_path, base, tip)
    name = output.name.lower()
    if name.endswith(".urdf"):
        if convention is not None:
            raise InputError(
                Problem("a URDF has no convention to choose", file=str(output), found=found_text(convention))
            )
        write_urdf(robot, output)
        _warn_of_losses(robot, output)
        return robot
    if not name.endswith(".robot.toml"):
        what = "the suffix does not say what to write"
        raise InputError(Problem(what, file=str(output), allowed=".urdf, .robot.toml"))
    if convention is not None:
        try:
            robot = in_convention(robot, convention)
        except InputError as error:
            file = robot.name if isinstance(robot_or_path, Robot) else str(robot_or_path)
            raise InputError([replace(problem, file=file) for problem in error.problems]) from None
    write_robot(robot, output)
    return robot


def in_convention(robot: Robot, convention: Target) -> Robot:
    """The same robot, stated in another convention; `InputError` when its frames do not allow it."""
    if convention not in get_args(Target):
        allowed = ", ".join(get_args(Target))
        raise InputError(Problem("this is not a convention", found=found_text(convention), allowed=allowed))
    if convention == robot.convention:
        return robot
    if convention == "frames":
        joints = _frames_joints(robot)
    else:
        robot, rows = _table(robot)
        if convention == "dh":
            robot, rows = _shifted_to_dh(robot, rows)
        joints = _table_joints(robot, rows)
    flange = robot.flange if robot.convention != "dh" else placement_of(flange_transform(robot))
    return replace(robot, joints=joints, convention=convention, flange=flange, source=None)


def _read(path: Path | str, base: str | None, tip: str | None) -> Robot:
    if base is None and tip is None:
        return read_robot(path)
    if not str(path).lower().endswith(".urdf"):
        raise InputError(Problem("base and tip choose the arm in a URDF; this is none", file=str(path)))
    return read_urdf(path, base, tip)


def _frames_joints(robot: Robot) -> tuple[Joint, ...]:
    if robot.convention == "urdf":
        return robot.joints
    return tuple(
        replace(joint, geometry=AxisPlacement(placement_of(transform.fixed), vector3(joint.sign * transform.axis)))
        for joint, transform in zip(robot.joints, chain_transforms(robot), strict=True)
    )


def _table(robot: Robot) -> tuple[Robot, list[DenavitHartenberg]]:
    """Rows in the order of ``mdh``, and the robot with the base that goes with them."""
    given = [joint.geometry for joint in robot.joints if isinstance(joint.geometry, DenavitHartenberg)]
    if len(given) == len(robot.joints):
        if robot.convention == "mdh":
            return robot, given
        before = [DenavitHartenberg(), *given]
        return robot, [replace(row, alpha=last.alpha, a=last.a) for last, row in zip(before, given, strict=False)]
    transforms = chain_transforms(robot)
    rows = [_row(transform) for transform in transforms]
    if rows[0] is None and _along_z(transforms[0]):
        robot = replace(robot, base=placement_of(base_transform(robot) @ transforms[0].fixed))
        rows[0] = DenavitHartenberg()
    _refuse_missing(robot, transforms, rows)
    return robot, [row for row in rows if row is not None]


def _row(transform: JointTransform) -> DenavitHartenberg | None:
    """The row that states a fixed transform, or None when no row does."""
    r, t = transform.fixed.rotation, transform.fixed.translation
    alpha, theta = math.atan2(-r[1, 2], r[2, 2]), math.atan2(-r[0, 1], r[0, 0])
    row = DenavitHartenberg(alpha + 0.0, float(t[0]), float(t @ r[:, 2]), theta + 0.0)
    stated = Rigid(rotation_about("x", alpha), np.array([row.a, 0.0, 0.0])) @ Rigid(
        rotation_about("z", theta), np.array([0.0, 0.0, row.d])
    )
    error = max(np.abs(stated.rotation - r).max(), np.abs(stated.translation - t).max())
    return row if error <= _TOLERANCE and _along_z(transform) else None


def _along_z(transform: JointTransform) -> bool:
    return math.hypot(transform.axis[0], transform.axis[1]) <= _TOLERANCE


def _refuse_missing(
    robot: Robot, transforms: Sequence[JointTransform], rows: Sequence[DenavitHartenberg | None]
) -> None:
    problems = []
    for joint, transform, row in zip(robot.joints, transforms, rows, strict=True):
        if row is None:
            straight = _along_z(transform)
            why = "the x axis before it does not cross its axis at a right angle" if straight else "its axis is not z"
            axis = None if straight else str(list(vector3(joint.sign * transform.axis)))
            what = f"the joint cannot be stated as a row of a DH table: {why}"
            step = "Keep the convention 'frames', which states every chain"
            problems.append(Problem(what, column=f"joint[{joint.name}]", found=axis, next_step=step))
    if problems:
        raise InputError(problems)


def _shifted_to_dh(robot: Robot, rows: list[DenavitHartenberg]) -> tuple[Robot, list[DenavitHartenberg]]:
    """Rows of ``dh``: each takes alpha and a of the one after it, the base those of the first."""
    first = rows[0]
    if (first.alpha, first.a) != (0.0, 0.0):
        tail = Rigid(rotation_about("x", first.alpha), np.array([first.a, 0.0, 0.0]))
        robot = replace(robot, base=placement_of(base_transform(robot) @ tail))
    after = [*rows[1:], DenavitHartenberg()]
    return robot, [
        replace(row, alpha=following.alpha, a=following.a) for row, following in zip(rows, after, strict=True)
    ]


def _table_joints(robot: Robot, rows: Sequence[DenavitHartenberg]) -> tuple[Joint, ...]:
    """The joints with their rows; one that turned about -z turns about z with the other sign."""
    joints = []
    for joint, row, transform in zip(robot.joints, rows, chain_transforms(robot), strict=True):
        sign = 1 if transform.axis[2] > 0.0 else -1
        coupling = joint.couples_to
        if coupling is not None and sign != joint.sign:
            coupling = replace(coupling, gain=-coupling.gain)
        joints.append(replace(joint, geometry=row, sign=sign, couples_to=coupling))
    return tuple(joints)


def _warn_of_losses(robot: Robot, output: Path) -> None:
    elastic = bool(robot.links) or any(joint.compliance is not None for joint in robot.joints)
    losses = {
        "compliances": elastic,
        "gravity compensators": bool(robot.compensators),
        "load points": bool(robot.tool.load_points),
        "priors": bool(robot.priors),
        "capsules": bool(robot.capsules),
        "speeds": any(joint.speed is not None for joint in robot.joints),
        "the direction of gravity": robot.gravity != STANDARD_GRAVITY,
    }
    left_out = [name for name, present in losses.items() if present]
    if left_out:
        warnings.warn(f"{output}: a URDF has no place for {', '.join(left_out)}", StiffarmWarning, stacklevel=3)
