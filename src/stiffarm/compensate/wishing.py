"""What a path wishes: where the tool shall be, the joint values to start from, what pulls there.

    joints given    the wished pose is the tool of the nominal, unloaded robot at them
    poses given     they are wished; the nominal robot's joint values for them are the start
    both given      the poses are wished, the joint values choose the branch

What pulls is what the file states or what options ask for (`stiffarm.compensate.pulling`); loads in the tool's axes
turn with the wished tool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.inverting import Wished
from stiffarm.compensate.pulling import Asking, Points
from stiffarm.measure.paths import PathFile
from stiffarm.model.arm_model import Arm
from stiffarm.model.inverse import inverse_kinematics
from stiffarm.model.kernel import chunks, frames, world_point, world_vectors
from stiffarm.model.rotations import matrix_of
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]

SAME_M = 1e-6
"""m and rad by which joints and poses of one row may differ without a word."""
NEAR_M = 0.01
"""m and rad up to which given joint values are a start for the pose beside them."""


@dataclass(frozen=True, eq=False)
class Wish:
    """A path as it is wished; the batch axis is last."""

    wished: Wished
    reached: NDArray[np.bool_]
    """(n,) whether the nominal robot takes the pose."""
    missed_m: Floats
    """(n,) m by which it does not."""
    warnings: tuple[str, ...] = ()

    def pulled(self, wrench_world: Floats, load_points: tuple[str, ...] | None = None) -> Wish:
        """The same with other loads (load points, 6, n), N and N m."""
        points = self.wished.load_points if load_points is None else load_points
        return replace(self, wished=replace(self.wished, load_points=points, wrench_world=wrench_world))

    def under(self, asking: Asking, path: PathFile, robot: Robot) -> Wish:
        """The same under the loads of the path or those that options ask for, turned into the world."""
        here = self.wished
        found = asking.along(
            Points(
                path.file, path.row, here.position_world, here.rotation_world, path.load_points, path.wrench_world,
                path.feed_m_s,
            ),
            robot,
        )  # fmt: skip
        pulled = self.pulled(found.wrench_world, found.load_points)
        return replace(pulled, warnings=(*self.warnings, *found.warnings))


def tool_of(arm: Arm, q: Floats) -> tuple[Floats, Floats]:
    """Position (3, n) and axes (3 columns, 3, n) of the unloaded tool in the world."""
    chain = arm.chain
    position, rotation = np.empty((3, q.shape[1])), np.empty((3, 3, q.shape[1]))
    own = np.ascontiguousarray(chain.tool.rotation.T)
    for rows in chunks(q.shape[1]):
        at = frames(chain, np.ascontiguousarray(q[:, rows]))
        position[:, rows] = world_point(at, chain.point("tool")).xyz
        rotation[:, :, rows] = world_vectors(at.rotation[chain.n_joints], own)
    return position, rotation


def wish_of(path: PathFile, nominal: Arm) -> Wish:
    """What a path asks of the tool, its loads as they stand in the file taken as world ones."""
    n, warnings = len(path), path.warnings
    reached, missed = np.ones(n, dtype=bool), np.zeros(n)
    if path.pose_world is None:
        assert path.q is not None, "a path has joints or poses"
        q = path.q
        position, rotation = tool_of(nominal, q)
    else:
        position, rotation = path.pose_world[:3], matrix_of(path.pose_world[3:])
        near, start = False, None
        if path.q is not None:
            apart, beside = _apart(nominal, path.q, position, rotation)
            start, near = path.q[:, 0], apart <= NEAR_M
            warnings = (*warnings, *([] if apart <= SAME_M else [beside]))
        if near and path.q is not None:
            q = path.q
        else:
            solution = inverse_kinematics(nominal, path.pose_world, start)
            q, reached, missed = solution.q, solution.reached, solution.position_error_m
    wished = Wished(np.array(q), position, rotation, path.load_points, path.wrench_world)
    return Wish(wished, reached, missed, warnings)


def _apart(nominal: Arm, q: Floats, position: Floats, rotation: Floats) -> tuple[float, str]:
    """How far joints and poses of the rows differ, and how to say it."""
    here, axes = tool_of(nominal, q)
    metres, turns = float(np.abs(here - position).max()), float(np.abs(axes - rotation).max())
    says = "joints and poses of the path differ for the nominal robot"
    return max(metres, turns), f"{says} by {1e3 * metres:.3g} mm and {1e3 * turns:.3g} mrad: the poses are followed"
