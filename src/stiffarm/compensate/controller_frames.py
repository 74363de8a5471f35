"""What of a calibrated arm a controller can be told as frames, zeros and lengths, and how far off it then still is.

Four things a controller may take, each with the base and tool that belong to it:

    base and tool     frames that every controller takes
    zeros             besides, an offset of every joint: a new mastering
    table             besides, a DH table with d held between axes that are parallel by design
    exact table       a DH table of all four numbers per joint, however large they are

How far the controller's arm is then from the calibrated, unloaded one is computed at joint values that were not used
for the fit.  Gear errors and springs have no place in any of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.conventions import CONVENTIONS, numbers_of
from stiffarm.compensate.dh_table import (
    Residual,
    Table,
    arm_poses,
    moved,
    nearest,
    nearest_table,
    residual,
    table_of,
)
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.poses import Poses
from stiffarm.model.arm_model import Arm
from stiffarm.robot.placement import Rigid, base_transform, tool_transform

Floats = NDArray[np.float64]

FITTED, JUDGED = 150, 600
"""Joint values by which the frames are found, and by which they are judged."""

BRANDS = {
    "kuka": "Takes $BASE, $TOOL (A B C about z, y', x''), the robot's place in $WORLD and the mastering of its axes. "
    "Lengths, tilts and springs only in KUKA's own file for absolutely accurate robots.",
    "abb": "Takes wobjdata and tooldata (quaternion, scalar first), the base frame and the axes' calibration offsets. "
    "Lengths, tilts and springs only in ABB's own Absolute Accuracy file.",
    "fanuc": "Takes UFRAME and UTOOL (W P R about fixed x, y, z) and the mastering of its axes. Lengths and tilts only "
    "in FANUC's own signature file.",
    "ur": "Takes the TCP and planes (rotation vector, m and rad). Its own factory calibration is a full DH table with "
    "d as large as it comes out; drivers outside take the calibrated URDF or robot file.",
}
"""What each brand's controller can and cannot be told."""


@dataclass(frozen=True, eq=False)
class Level:
    """One thing a controller may take."""

    name: str
    base: Rigid
    """World from the robot's root."""
    tool: Rigid
    """Controller's flange from tool."""
    apart: Residual
    zeros: Floats | None = None
    """(joints,) added to the joint values: what the controller shows is that much more than the calibrated arm's."""
    table: Table | None = None


@dataclass(frozen=True, eq=False)
class ControllerFrames:
    """What a controller may be told of a calibrated arm."""

    model: KnownModel
    nominal: Residual
    """How far the robot file's arm is from the calibrated one."""
    levels: tuple[Level, ...]
    of_file: Table
    """The table of the robot file's arm."""
    seed: int

    def numbers(self, frame: Rigid, brand: str) -> dict[str, float]:
        """A frame by the names of a brand's numbers with their units."""
        one = CONVENTIONS[brand]
        keys = (name if unit == "1" else f"{name}[{unit}]" for name, unit in zip(one.names, one.units, strict=True))
        return dict(zip(keys, numbers_of(frame, brand), strict=True))


def controller_frames(model: KnownModel, seed: int = 0) -> ControllerFrames:
    """Frames, zeros and tables of a calibrated arm with what each leaves."""
    nominal, calibrated = model.nominal(), model.arm()
    fitted, judged = _spread(nominal, seed)
    wanted, truth = arm_poses(calibrated, fitted), arm_poses(calibrated, judged)
    root = base_transform(model.robot)
    start = table_of(nominal)
    of_nominal = residual(arm_poses(nominal, judged), truth)
    levels = [
        _frames(model, nominal, fitted, wanted, judged, truth),
        _zeros(model, nominal, fitted, wanted, judged, truth),
    ]
    if not _coupled(nominal):
        held = nearest_table(start, fitted, wanted)
        exact = table_of(calibrated, like=start)
        for name, table in (("table", held), ("exact table", exact)):
            apart = residual(table.poses(judged), truth)
            levels.append(Level(name, *_split(table, start, root, model), apart, table=table))
    return ControllerFrames(model, of_nominal, tuple(levels), start, seed)


def _coupled(arm: Arm) -> bool:
    return bool((arm.chain.mix != np.eye(arm.chain.n_joints)).any())


def _spread(arm: Arm, seed: int) -> tuple[Floats, Floats]:
    """Joint values for the fit and for its judgement, spread over the limits (a turn, or 1 m, where there are none)."""
    rng = np.random.default_rng(seed)
    half = np.where(arm.chain.prismatic, 0.5, np.pi)
    limits = np.array([joint.limits or (-h, h) for joint, h in zip(arm.robot.joints, half, strict=True)])
    q = rng.uniform(limits[:, :1], limits[:, 1:], (len(limits), FITTED + JUDGED))
    return q[:, :FITTED], q[:, FITTED:]


def _frames(model: KnownModel, arm: Arm, q: Floats, wanted: Poses, judged: Floats, truth: Poses) -> Level:
    """Base and tool alone."""
    here, there = arm_poses(arm, q), arm_poses(arm, judged)
    values = nearest(np.zeros(12), lambda twists: _with_frames(here, twists), wanted)
    apart = residual(_with_frames(there, values), truth)
    return Level("base and tool", *_placed(model, values), apart)


def _zeros(model: KnownModel, arm: Arm, q: Floats, wanted: Poses, judged: Floats, truth: Poses) -> Level:
    """Base, tool and an offset of every joint."""
    n = arm.chain.n_joints

    def build(values: Floats, at: Floats) -> Poses:
        return _with_frames(arm_poses(arm, at + values[:n, None]), values[n:])

    values = nearest(np.zeros(n + 12), lambda values: build(values, q), wanted)
    apart = residual(build(values, judged), truth)
    return Level("zeros", *_placed(model, values[n:]), apart, zeros=values[:n])


def _with_frames(poses: Poses, twists: Floats) -> Poses:
    """Poses in a moved world, with a moved tool."""
    return poses.carried_by(moved(Rigid.identity(), twists[:6])).then(moved(Rigid.identity(), twists[6:]))


def _placed(model: KnownModel, twists: Floats) -> tuple[Rigid, Rigid]:
    """Base in the world and tool in the controller's flange."""
    base = moved(Rigid.identity(), twists[:6]) @ base_transform(model.robot)
    return base, _seen(model, tool_transform(model.robot) @ moved(Rigid.identity(), twists[6:]))


def _seen(model: KnownModel, tool: Rigid) -> Rigid:
    return Rigid.of(model.robot.controller.tool0).inverse() @ tool


def _split(table: Table, start: Table, root: Rigid, model: KnownModel) -> tuple[Rigid, Rigid]:
    """Base and tool of a table, whose first frame and flange stand to them as those of the robot file's table do."""
    base = table.base @ start.base.inverse() @ root
    return base, _seen(model, tool_transform(model.robot) @ start.end.inverse() @ table.end)
