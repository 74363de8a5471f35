"""What every stop must keep, as margins with exact derivatives: 0 or more where it is kept.

    tool box        p_k - low_k,  high_k - p_k           p a point of the arm (m)
    cable           |aim - h| - shortest                 h the load point (m)
    line of sight   farthest - |p - s|,  |p - s| - nearest,  f.u - cos(widest)
                    s the station, u from the marker to it, f the direction in which the marker looks

Joint limits and the box of the attachment point are bounds of the variables themselves (`stiffarm.plan.variables`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from stiffarm.model.arm_model import Arm
from stiffarm.model.chain import joint_order
from stiffarm.model.kernel import cross, frames, jacobian, world_vectors
from stiffarm.plan.problem import Constraint, Flags, Floats, Margins, Stops
from stiffarm.robot.arm import Vector3

SHORTEST_CABLE_M = 0.3


def _place(arm: Arm, stops: Stops, point: str) -> tuple[Floats, Floats]:
    """Position (3, n) and motion (joints, 3, n) of a point by the controller values."""
    position, columns = jacobian(arm.chain, stops.q, arm.chain.point(point))
    return position, np.einsum("jin,jk->kin", columns, arm.chain.mix)


@dataclass(frozen=True, eq=False)
class ToolBox:
    """The tool point, or another, stays in a box of the world; infinite where nothing is asked."""

    arm: Arm
    low_m: Vector3
    high_m: Vector3
    point: str = "tool"
    name: str = field(default="tool box")

    def margins(self, stops: Stops) -> Floats:
        """(bounds, n) m."""
        return self.derivatives(stops).value

    def derivatives(self, stops: Stops) -> Margins:
        """Of the bounds that are finite."""
        position, moved = _place(self.arm, stops, self.point)
        sides = [(k, 1.0, self.low_m[k]) for k in range(3) if np.isfinite(self.low_m[k])]
        sides += [(k, -1.0, self.high_m[k]) for k in range(3) if np.isfinite(self.high_m[k])]
        value = np.array([sign * (position[k] - bound) for k, sign, bound in sides]).reshape(-1, len(stops))
        by_q = np.array([sign * moved[:, k] for k, sign, _ in sides]).reshape(-1, *stops.q.shape)
        return Margins(value, by_q, np.zeros((len(sides), 3, len(stops))))


@dataclass(frozen=True, eq=False)
class CableLength:
    """The attachment point is not at the load point."""

    arm: Arm
    load_point: str
    shortest_m: float = SHORTEST_CABLE_M
    name: str = field(default="shortest cable")

    def margins(self, stops: Stops) -> Floats:
        """(1, n) m."""
        return self.derivatives(stops).value

    def derivatives(self, stops: Stops) -> Margins:
        """Along the cable."""
        assert stops.aim is not None, "a cable has an attachment point"
        position, moved = _place(self.arm, stops, self.load_point)
        along = stops.aim - position
        length = np.linalg.norm(along, axis=0)
        u = along / length
        return Margins((length - self.shortest_m)[None], -np.einsum("kin,in->kn", moved, u)[None], u[None])


@dataclass(frozen=True, eq=False)
class LineOfSight:
    """Every marker is near enough to the station, far enough, and looks towards it."""

    arm: Arm
    markers: Sequence[str]
    station_m: Vector3
    farthest_m: float
    nearest_m: float = 0.0
    facing: Vector3 | None = None
    """Direction in which the markers look, flange frame; None: into all."""
    widest_rad: float = np.pi
    name: str = field(default="line of sight")

    def margins(self, stops: Stops) -> Floats:
        """(2 or 3 times the markers, n)"""
        return self.derivatives(stops).value

    def derivatives(self, stops: Stops) -> Margins:
        """Distances in m, the angle as a difference of cosines."""
        value, by_q = [], []
        looking = None if self.facing is None else self._looking(stops, self.facing)
        for marker in self.markers:
            position, moved = _place(self.arm, stops, marker)
            beam = np.array(self.station_m)[:, None] - position
            d = np.linalg.norm(beam, axis=0)
            u = beam / d
            nearer = np.einsum("kin,in->kn", moved, u)  # the distance falls by this
            value += [self.farthest_m - d, d - self.nearest_m]
            by_q += [nearer, -nearer]
            if looking is not None:
                f, turned = looking
                turn_u = -(moved - np.einsum("kin,in->kn", moved, u)[:, None] * u) / d
                value.append((f * u).sum(axis=0) - np.cos(self.widest_rad))
                by_q.append(np.einsum("kin,in->kn", turned, u) + np.einsum("kin,in->kn", turn_u, f))
        return Margins(np.array(value), np.array(by_q), np.zeros((len(value), 3, len(stops))))

    def _looking(self, stops: Stops, facing: Vector3) -> tuple[Floats, Floats]:
        """The direction (3, n) in the world and its change by the joints (joints, 3, n)."""
        chain = self.arm.chain
        at = frames(chain, np.ascontiguousarray(stops.q))
        local = chain.flange.rotation @ (np.array(facing) / np.linalg.norm(facing))
        f = world_vectors(at.rotation[-1], local[None])[0]
        turned = np.zeros((chain.n_joints, 3, len(stops)))
        for k in range(chain.n_joints):
            if not chain.prismatic[k] and joint_order(k) < chain.points["tool"].order:
                turned[k] = cross(np.broadcast_to(at.rotation[k + 1][2], f.shape), f)
        return f, np.einsum("jin,jk->kin", turned, chain.mix)


def all_margins(constraints: Sequence[Constraint], stops: Stops) -> Margins:
    """Margins of all constraints together."""
    found = [constraint.derivatives(stops) for constraint in constraints]
    nothing = Margins(np.zeros((0, len(stops))), np.zeros((0, *stops.q.shape)), np.zeros((0, 3, len(stops))))
    parts = [nothing, *found]
    return Margins(
        np.concatenate([m.value for m in parts]),
        np.concatenate([m.by_q for m in parts]),
        np.concatenate([m.by_aim for m in parts]),
    )


def kept(constraints: Sequence[Constraint], stops: Stops, slack: float = 0.0) -> Flags:
    """(n,) which stops keep everything, up to a slack."""
    good = np.ones(len(stops), dtype=bool)
    for constraint in constraints:
        good &= (constraint.margins(stops) >= -slack).all(axis=0)
    return good
