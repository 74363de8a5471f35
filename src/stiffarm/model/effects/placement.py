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
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import (
    AXES,
    BASE_ORDER,
    Chain,
    Corrections,
    Node,
    Twist6,
    drawing,
    flange_order,
    placement_order,
)
from stiffarm.model.effects.effect import AxisOf, Entry, Plain
from stiffarm.model.loads import State
from stiffarm.model.parameters import Parameter, Values
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import Rigid, skew

Floats = NDArray[np.float64]
SIX_AXES = (*(AxisOf(0, i, False) for i in range(3)), *(AxisOf(0, 3 + i, True) for i in range(3)))
SIX_ENTRIES = tuple(Entry(i, i) for i in range(6))


def left_jacobian(vector: Floats) -> Floats:
    """J_l of SO(3) at a rotation vector (rad)."""
    if not vector.any():
        return np.eye(3)
    angle = float(np.linalg.norm(vector))
    k = skew(vector)
    first = 0.5 * float(np.sinc(angle / (2 * math.pi))) ** 2
    second = 1.0 / 6.0 - angle**2 / 120.0 if angle < 1e-3 else (angle - math.sin(angle)) / angle**3
    return np.asarray(np.eye(3) + first * k + second * (k @ k))


@lru_cache(maxsize=1024)
def six_names(owner: str) -> tuple[str, ...]:
    """``owner.x`` .. ``owner.rz``."""
    return tuple(f"{owner}.{axis}" for axis in AXES)


def six_parameters(owner: str) -> tuple[Parameter, ...]:
    """``owner.x`` .. ``owner.rz``, corrections that are zero by nature."""
    units = ("m", "m", "m", "rad", "rad", "rad")
    return tuple(Parameter(name, unit, scale=1e-3) for name, unit in zip(six_names(owner), units, strict=True))


def twist_of(owner: str, values: Values) -> Twist6:
    """The correction of an owner from its six values."""
    numbers = np.array([values.get(name, 0.0) for name in six_names(owner)])
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
        twist = twist_of(self.owner, values)
        if not (twist.translation.any() or twist.rotation.any()):
            return self._uncorrected
        return (self._node(twist),)

    @cached_property
    def _uncorrected(self) -> tuple[Node, ...]:
        return (self._node(Twist6()),)

    def _node(self, twist: Twist6) -> Node:
        body, frame, order = self._placed
        if self.owner == "base":  # fixed to the corrected base itself, D^-1 away from the uncorrected one
            frame = twist.rigid().inverse()
        directions = np.concatenate([frame.rotation.T, (frame.rotation @ left_jacobian(twist.rotation)).T])
        return Node(body, frame.rotation @ twist.translation + frame.translation, directions, order)

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """Each parameter moves its own axis."""
        return SIX_ENTRIES

    @cached_property
    def _placed(self) -> tuple[int, Rigid, int]:
        """Body, uncorrected transform in the aligned frame of the body, order."""
        drawn, n = drawing(self.robot), len(self.robot.joints)
        if self.owner == "base":
            return 0, Rigid.identity(), BASE_ORDER
        if self.owner == "tool":
            return n, drawn.tool, flange_order(n)
        k = self.robot.joint_index(self.owner)
        return k, drawn.before[k], placement_order(k)
