"""Which way the cable may run, as margins with exact derivatives.

With u = (x - h)/|x - h| from the load point h towards the attachment point x, both in the world,

    cone       u . a - cos(half angle)                      a its axis
    steepness  sin(steepest) - u_z,  sin(steepest) + u_z    against the horizontal

and du = (I - u u') (dx - dh)/|x - h|.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import jacobian
from stiffarm.plan.problem import Floats, Margins, Stops
from stiffarm.robot.arm import Vector3


@dataclass(frozen=True, eq=False)
class _Direction:
    """u (3, n), and its change by the joints (joints, 3, n) and by the attachment point (3 components, 3, n)."""

    u: Floats
    by_q: Floats
    by_aim: Floats


def _direction(arm: Arm, load_point: str, stops: Stops) -> _Direction:
    assert stops.aim is not None, "a cable has an attachment point"
    hook, columns = jacobian(arm.chain, stops.q, arm.chain.point(load_point, of="load point"))
    moved = np.einsum("jin,jk->kin", columns, arm.chain.mix)
    along = stops.aim - hook
    length = np.sqrt((along**2).sum(axis=0))
    u = along / length
    turned = (np.eye(3)[:, :, None] - u[:, None] * u[None]) / length
    return _Direction(u, -np.einsum("ckn,jkn->jcn", turned, moved), turned)


@dataclass(frozen=True, eq=False)
class CableCone:
    """The cable pulls within a half angle of an axis of the world."""

    arm: Arm
    load_point: str
    axis: Vector3
    half_angle_rad: float
    name: str = field(default="cable direction")

    def margins(self, stops: Stops) -> Floats:
        """(1, n), a difference of cosines."""
        return self.derivatives(stops).value

    def derivatives(self, stops: Stops) -> Margins:
        """Along the axis."""
        axis = np.array(self.axis) / np.linalg.norm(self.axis)
        at = _direction(self.arm, self.load_point, stops)
        value = axis @ at.u - np.cos(self.half_angle_rad)
        by_q, by_aim = np.einsum("c,jcn->jn", axis, at.by_q), np.einsum("c,ckn->kn", axis, at.by_aim)
        return Margins(value[None], by_q[None], by_aim[None])


@dataclass(frozen=True, eq=False)
class CableSteepness:
    """The cable is not steeper, up or down, than an angle against the horizontal."""

    arm: Arm
    load_point: str
    steepest_rad: float
    name: str = field(default="cable steepness")

    def margins(self, stops: Stops) -> Floats:
        """(2, n), differences of sines."""
        return self.derivatives(stops).value

    def derivatives(self, stops: Stops) -> Margins:
        """Of the height."""
        at = _direction(self.arm, self.load_point, stops)
        up, by_q, by_aim = at.u[2], at.by_q[:, 2], at.by_aim[2]
        limit = np.sin(self.steepest_rad)
        return Margins(np.stack([limit - up, limit + up]), np.stack([-by_q, by_q]), np.stack([-by_aim, by_aim]))
