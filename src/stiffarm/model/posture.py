"""The bent arm: places, loads and axes after every elastic node has moved by a finite transform.

With G = G_{i-1} the motion of everything before node i (`stiffarm.model.stages`), the velocity of a point beyond
the node per unit of its coordinates is, in the bent world,

    slide along   G d          turn about   G J_l(r) d   through   G (o + s)

(J_l is the left Jacobian of the rotation vector r), so the generalised loads conjugate to the coordinates are

    tau_slide = d . G^T F          tau_turn = d . J_l(r)^T G^T N,     J_l(r)^T = J_l(-r),

F and N being force and moment beyond the node about G (o + s).  For forces fixed in the world tau = -dV/dtheta
exactly, V = -sum F . h, which makes an equilibrium theta = k tau stationary for theta^T k^-1 theta / 2 + V.

How tau changes with the coordinates, one node standing before the other, is that of `stiffarm.model.coupling`
with the axes where they are now.  Two turns a, b of one node add what the left Jacobian itself does:

    d tau_b / d r_a = w_b^T X w_a - (w_a . w_b) tr X + (G (dJ_l/dr_a) d_b) . N,        w = G J_l(r) d.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Node, Point, body_order
from stiffarm.model.coupling import AxisTable, load_derivative
from stiffarm.model.kernel import Frames, WorldNode, WorldPoint, cross, dot, world_node, world_point
from stiffarm.model.loads import Felt, Load, felt_at
from stiffarm.model.rotations import left_jacobian
from stiffarm.model.stages import FINE, REST, Motion, Unbent
from stiffarm.model.turns import coefficients, exponential, left_jacobian_change, left_jacobian_transposed

Floats = NDArray[np.float64]


class Posture:
    """The arm at given elastic coordinates; each thing is worked out when first asked for."""

    def __init__(self, unbent: Unbent, theta: Floats) -> None:
        self.unbent, self.theta = unbent, theta

    @cached_property
    def slid(self) -> list[Floats]:
        """Slides s (3, n) by stage, m, unloaded world."""
        return [_combined(self.theta[stage.slide_rows], stage.slides) for stage in self.unbent.stages]

    @cached_property
    def turned(self) -> Floats:
        """Rotation vectors r (stages, 3, n), rad, unloaded world."""
        out = np.zeros((len(self.unbent.stages), 3, self.unbent.n))
        for i, stage in enumerate(self.unbent.stages):
            out[i] = _combined(self.theta[stage.turn_rows], stage.turns)
        return out

    @cached_property
    def coefficients(self) -> tuple[Floats, Floats, Floats]:
        """Of `stiffarm.model.turns`, (stages, n) each."""
        return coefficients(dot(self.turned, self.turned))

    @cached_property
    def motions(self) -> list[Motion]:
        """G_0 (at rest), G_1, ...: what carries everything beyond each stage."""
        motion = REST
        found = [motion]
        turned = exponential(self.turned, *self.coefficients[:2])
        for stage, s, own in zip(self.unbent.stages, self.slid, turned, strict=True):
            if stage.turn_rows:
                held = Motion(own, stage.origin + s)
                shift = motion.move(stage.origin + s - held.turn(stage.origin))
                motion = Motion(motion.turn(own), shift)
            else:
                motion = Motion(motion.rotation, motion.move(s))
            found.append(motion)
        return found

    def beyond(self, order: int) -> Motion:
        """What carries a point of this order."""
        return self.motions[sum(stage.order < order for stage in self.unbent.stages)]

    def place(self, point: WorldPoint) -> WorldPoint:
        """A point of the unloaded arm where it is now, with its fine order."""
        return WorldPoint(self.beyond(point.order).move(point.xyz), FINE * point.order)

    def point(self, point: Point) -> WorldPoint:
        """A point fixed to a body, in the world."""
        return self.place(world_point(self.unbent.at, point))

    def node(self, node: Node) -> WorldNode:
        """A node fixed to a body, in the world, with its fine order."""
        rest, motion = world_node(self.unbent.at, node), self.beyond(node.order)
        return WorldNode(motion.turn(rest.directions), motion.move(rest.origin), FINE * node.order)

    def frames(self) -> Frames:
        """Every body now, as it is before the springs it carries at its end (`point` knows which is where)."""
        rest = self.unbent.at
        motions = [self.beyond(body_order(body)) for body in range(len(rest.origin))]
        return Frames(
            tuple(motion.turn(columns) for motion, columns in zip(motions, rest.rotation, strict=True)),
            tuple(motion.move(origin) for motion, origin in zip(motions, rest.origin, strict=True)),
        )

    @cached_property
    def load_points(self) -> list[WorldPoint]:
        """Where the loads act now."""
        return [self.place(point) for point in self.unbent.load_points]

    @cached_property
    def centres(self) -> list[Floats]:
        """Points (3, n) about which the stages turn, G (o + s)."""
        stages = zip(self.motions, self.unbent.stages, self.slid, strict=False)
        return [motion.move(stage.origin + s) for motion, stage, s in stages]

    @cached_property
    def torque(self) -> Floats:
        """Generalised loads (coordinates, n) at this posture, N and N m."""
        return self._torque(self.load_points, self.unbent.loads)

    def torque_of(self, loads: Sequence[Load]) -> Floats:
        """Likewise of other loads."""
        return self._torque([self.point(load.point) for load in loads], loads)

    def _torque(self, points: Sequence[WorldPoint], loads: Sequence[Load]) -> Floats:
        out = np.zeros_like(self.theta)
        waiting = sorted(zip(points, loads, strict=True), key=lambda pair: pair[0].order)
        force, moment = np.zeros((3, 1)), np.zeros((3, 1))
        _, c2, c3 = self.coefficients
        for i in reversed(range(len(self.unbent.stages))):
            stage = self.unbent.stages[i]
            while waiting and waiting[-1][0].order > FINE * stage.order:
                point, load = waiting.pop()
                force = force + load.force_world
                moment = moment + cross(point.xyz, load.force_world)
                if load.torque_world is not None:
                    moment = moment + load.torque_world
            felt = np.broadcast_to(force, (3, self.unbent.n))
            about = moment - cross(self.centres[i], felt)
            if stage.slide_rows:
                out[stage.slide_rows] = dot(stage.slides, self.motions[i].turn_back(felt))
            if stage.turn_rows:
                about = self.motions[i].turn_back(about)
                if len(stage.turn_rows) > 1:  # else r is along the axis, which it does not turn
                    about = left_jacobian_transposed(self.turned[i], about, c2[i], c3[i])
                out[stage.turn_rows] = dot(stage.turns, about)
        return out

    @cached_property
    def nodes(self) -> list[WorldNode]:
        """By stage: its slides and its turns now, each a node with its fine order."""
        found = []
        for i, (stage, motion) in enumerate(zip(self.unbent.stages, self.motions, strict=False)):
            turns = motion.turn(left_jacobian(self.turned[i], stage.turns))
            found.append(WorldNode(motion.turn(stage.slides), self.centres[i], stage.place))
            found.append(WorldNode(turns, self.centres[i], stage.place + 1))
        return found

    @cached_property
    def felt(self) -> tuple[Felt, ...]:
        """What each of `nodes` feels."""
        return felt_at(self.load_points, self.unbent.loads, self.nodes)

    @cached_property
    def table(self) -> AxisTable:
        """All elastic axes now, in order of the coordinates."""
        which: dict[int, tuple[int, int]] = {}
        for i, stage in enumerate(self.unbent.stages):
            which |= {row: (2 * i, k) for k, row in enumerate(stage.slide_rows)}
            which |= {row: (2 * i + 1, k) for k, row in enumerate(stage.turn_rows)}
        chosen = [which[row] for row in range(self.unbent.size)]
        return AxisTable.of(
            [self.nodes[i] for i, _ in chosen],
            [k for _, k in chosen],
            [i % 2 == 1 for i, _ in chosen],
            [self.felt[i] for i, _ in chosen],
        )

    def load_tangent(self) -> Floats:
        """d tau_b / d theta_a at [b, a]: (coordinates, coordinates, n); N/m, N or N m per rad."""
        change = np.ascontiguousarray(np.swapaxes(load_derivative(self.table, self.table), 0, 1))
        for i, stage in enumerate(self.unbent.stages):
            if len(stage.turn_rows) > 1:
                change[np.ix_(stage.turn_rows, stage.turn_rows)] = self._own_turns(i)
        return change

    def _own_turns(self, i: int) -> Floats:
        """d tau_b / d r_a at [b, a] for the turns of one stage."""
        stage, felt, w = self.unbent.stages[i], self.felt[2 * i + 1], self.nodes[2 * i + 1].directions
        d, r = stage.turns, self.turned[i]
        bent = left_jacobian_change(r, d[None, :], d[:, None])
        pulled = np.einsum("ijn,ajn->ain", felt.virial, w) - np.einsum("iin->n", felt.virial) * w
        return np.asarray(dot(w[:, None], pulled[None]) + dot(self.motions[i].turn(bent), felt.moment))


def _combined(theta: Floats, directions: Floats) -> Floats:
    """sum theta_i d_i (3, n)."""
    out = np.zeros((3, theta.shape[1]))
    for angle, direction in zip(theta, directions, strict=True):
        out += angle * direction
    return out
