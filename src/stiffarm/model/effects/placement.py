"""Errors of fixed transforms: joints, base and tool.

The transform P becomes P D with D = Trans(x, y, z) Rot(rx, ry, rz).  In the frame of P, the derivative of D by
a translation slides along that axis; the derivative by a component of the rotation vector turns about the
column of the left Jacobian of SO(3)

    J_l(r) = I + (1 - cos |r|)/|r|^2 [r] + (|r| - sin |r|)/|r|^3 [r]^2

through the corrected origin, so the columns are exact at any value and not only at zero.

`J.offset` is a correction along the joint's own axis in the controller's sense; it is one of the six directions
of the placement and stands for the redundant one when both are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import (
    AXES,
    BASE_ORDER,
    Chain,
    Corrections,
    Node,
    Twist6,
    flange_order,
    placement_order,
)
from stiffarm.model.effects.effect import AxisOf, Entry, Plain
from stiffarm.model.loads import State
from stiffarm.model.parameters import Parameter, Values
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import (
    Rigid,
    base_transform,
    chain_transforms,
    flange_transform,
    skew,
    tool_transform,
)

Floats = NDArray[np.float64]
SIX_AXES = (*(AxisOf(0, i, False) for i in range(3)), *(AxisOf(0, 3 + i, True) for i in range(3)))


def left_jacobian(vector: Floats) -> Floats:
    """J_l of SO(3) at a rotation vector (rad)."""
    angle = float(np.linalg.norm(vector))
    k = skew(vector)
    first = 0.5 * float(np.sinc(angle / (2 * math.pi))) ** 2
    second = 1.0 / 6.0 - angle**2 / 120.0 if angle < 1e-3 else (angle - math.sin(angle)) / angle**3
    return np.asarray(np.eye(3) + first * k + second * (k @ k))


def six_parameters(owner: str) -> tuple[Parameter, ...]:
    """``owner.x`` .. ``owner.rz``, corrections that are zero by nature."""
    return tuple(Parameter(f"{owner}.{axis}", "rad" if axis.startswith("r") else "m", scale=1e-3) for axis in AXES)


def twist_of(owner: str, values: Values) -> Twist6:
    """The correction of an owner from its six values."""
    numbers = np.array([values.get(f"{owner}.{axis}", 0.0) for axis in AXES])
    return Twist6(numbers[:3], numbers[3:])


@dataclass(frozen=True)
class PlacementError(Plain):
    """Six corrections of one fixed transform: of a joint (by name), of the ``base`` or of the ``tool``."""

    robot: Robot
    owner: str

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """``owner.x`` .. ``owner.rz``."""
        return six_parameters(self.owner)

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """Three slides, three turns."""
        return SIX_AXES

    def corrections(self, values: Values) -> Corrections:
        """The corrected transform."""
        twist = twist_of(self.owner, values)
        if not (twist.translation.any() or twist.rotation.any()):
            return Corrections()
        return Corrections(placement={self.owner: twist})

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """The six directions of the correction, fixed to the body before the transform."""
        body, frame, order = self._frame(chain)
        twist = twist_of(self.owner, values)
        directions = np.concatenate([frame.rotation.T, (frame.rotation @ left_jacobian(twist.rotation)).T])
        return (Node(body, frame.apply(twist.translation), directions, order),)

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """Each parameter moves its own axis."""
        return tuple(Entry(i, i) for i in range(6))

    @cached_property
    def _joint_transform(self) -> Rigid:
        return chain_transforms(self.robot)[self.robot.joint_index(self.owner)].fixed

    def _frame(self, chain: Chain) -> tuple[int, Rigid, int]:
        """Body, uncorrected transform in the aligned frame of the body, order."""
        if self.owner == "base":
            return 0, chain.base.inverse() @ base_transform(self.robot), BASE_ORDER
        if self.owner == "tool":
            n = chain.n_joints
            aligned = Rigid(chain.align[n].T, np.zeros(3))
            return n, aligned @ flange_transform(self.robot) @ tool_transform(self.robot), flange_order(n)
        k = self.robot.joint_index(self.owner)
        return k, Rigid(chain.align[k].T, np.zeros(3)) @ self._joint_transform, placement_order(k)
