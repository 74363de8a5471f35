"""What may be chosen where a place of the tool alone is asked for: rails, turns of a spindle, and what stands still.

Joints that are neither named by the region nor offered move as the inverse kinematics wants; slides beyond six axes
stand in the middle of their limits; what is offered is tried at evenly spread values, every combination of them an
*alternative* of the place.  An arm of five joints keeps the direction of the tool's z, one of fewer its place alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.freedom import CONDITIONS, TURNS, freedom_of
from stiffarm.compensate.region import Region
from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.model.arm_model import Arm
from stiffarm.model.reaching import joint_ranges
from stiffarm.model.rotations import matrix_of, vector_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TURNS_TRIED, VALUES_TRIED = 12, 9
"""Turns of the tool and values of a joint that are tried when they are offered."""


class Choices:
    """Alternatives at the places of a region; rows of its answers are places times alternatives."""

    def __init__(self, arm: Arm, region: Region, free: Sequence[str], standing: Mapping[str, float]) -> None:
        freedom_of(arm.robot, free)  # refuses what cannot be offered
        self.arm, self.region = arm, region
        self.standing = standing_joints(arm, region.cartesian, free, standing)
        self.turned = [name for name in TURNS if name in free] if region.cartesian else []
        self.offered = [n for n in arm.robot.joint_names if n in free and n not in region.names and region.cartesian]
        named = {*region.names, *self.offered}
        self.moving = sum(
            bool(np.isnan(value)) and name not in named
            for name, value in zip(arm.robot.joint_names, self.standing, strict=True)
        )

    @property
    def alternatives(self) -> int:
        """At every place."""
        return int(TURNS_TRIED ** len(self.turned) * VALUES_TRIED ** len(self.offered))

    @property
    def kept_turns(self) -> tuple[int, ...]:
        """Axes of the tool about which it is turned as asked, as far as the arm's joints go."""
        return (0, 1, 2) if self.moving >= CONDITIONS else (0, 1) if self.moving == CONDITIONS - 1 else ()

    @cached_property
    def _tried(self) -> dict[str, Floats]:
        """(alternatives,) values of what is offered."""
        low, high = joint_ranges(self.arm)
        values = [np.arange(TURNS_TRIED) * 2.0 * np.pi / TURNS_TRIED for _ in self.turned]
        for name in self.offered:
            k = self.arm.robot.joint_index(name)
            values.append(np.linspace(low[k], high[k], VALUES_TRIED))
        mesh = np.meshgrid(*values, indexing="ij") if values else []
        return {name: one.reshape(-1) for name, one in zip((*self.turned, *self.offered), mesh, strict=True)}

    def held(self, rows: Ints) -> Floats:
        """(joints, rows x alternatives) values of joints that stand, NaN for those that move."""
        held = np.repeat(self.region.joints(self.arm.robot, self.standing)[:, rows], self.alternatives, axis=1)
        for name in self.offered:
            held[self.arm.robot.joint_index(name)] = np.tile(self._tried[name], len(rows))
        return held

    def poses(self, position_world: Floats, axes_world: Floats) -> Floats:
        """(6, rows x alternatives) tool poses from places (3, rows) and axes of the tool.

        The axes (3 columns, 3, rows or rows x alternatives) are those before any turn that is offered.
        """
        many = position_world.shape[1]
        position = np.repeat(position_world, self.alternatives, axis=1)
        if axes_world.shape[2] == many:
            axes_world = np.repeat(axes_world, self.alternatives, axis=2)
        for name in self.turned:
            angle = np.tile(self._tried[name], many)
            own = matrix_of(np.eye(3)[TURNS.index(name)][:, None] * angle)
            axes_world = np.einsum("kin,jkn->jin", axes_world, own)
        return np.concatenate([position, vector_of(axes_world)])

    def notes(self) -> tuple[str, ...]:
        """What was chosen without being asked for."""
        said, robot = [], self.arm.robot
        for joint, value in zip(robot.joints, self.standing, strict=True):
            if np.isfinite(value) and joint.name not in self.region.names:
                turns = joint.kind == "revolute"
                said.append(f"{joint.name} at {np.degrees(value) if turns else value:.4g} {'deg' if turns else 'm'}")
        found = [f"standing: {', '.join(said)}"] if said else []
        if self.region.cartesian and self.kept_turns != (0, 1, 2):
            kept = "the direction of the tool's z is kept" if self.kept_turns else "the tool's place alone is kept"
            found.append(f"{self.moving} joints move: {kept}")
        if self.region.cartesian and self.moving > CONDITIONS:
            found.append("the arm has more joints than a pose needs: a sample of its postures was compared")
        return tuple(found)


def standing_joints(
    arm: Arm, cartesian: bool = True, free: Sequence[str] = (), standing: Mapping[str, float] | None = None
) -> Floats:
    """(joints,) values (rad, m) of joints that stand still, NaN for those that are solved for or offered.

    A grid of joints leaves the others in the middle of their limits; places of the tool leave slides beyond six axes
    there.
    """
    low, high = joint_ranges(arm)
    robot, given = arm.robot, dict(standing or {})
    unknown = next((name for name in given if name not in robot.joint_names), None)
    if unknown is not None:
        hint = did_you_mean(unknown, robot.joint_names)
        step = hint and hint[0].upper() + hint[1:]
        raise InputError(
            Problem(
                f"joint '{unknown}' does not exist",
                column="--hold",
                allowed=", ".join(robot.joint_names),
                next_step=step,
            )
        )
    moves = freedom_of(robot, free).moving if cartesian else (False,) * len(low)
    middle = np.where(moves, np.nan, 0.5 * (low + high))
    for name, value in given.items():
        middle[robot.joint_index(name)] = value
    return np.asarray(middle)
