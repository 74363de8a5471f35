"""How columns and loads change when the arm moves: second derivatives of a point by two virtual joints.

Let g stand before b in the chain (directions w_g, w_b; columns c at a point).  Turning g carries b along,

    d c_b / d theta_g = d c_g / d theta_b = w_g x c_b                                   (0 when g slides)

so the load b feels, tau_b = sum c_b . F + w_b . M over the points it moves, changes with g by

    b turns:   w_g^T X_b w_b - (w_g . w_b) tr X_b + (w_g x w_b) . M_b,     X_b = sum (h - o_b) F^T
    b slides:  F_b . (w_g x w_b)

and the load g feels changes with b by the same without the couples M, which do not turn with the arm (a couple
fixed in the world is not conservative; forces are, and for them the two agree).  Turning b moves its points
relative to g, hence the virial X of the loads beyond b, the later of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.kernel import WorldNode, WorldPoint, cross, dot
from stiffarm.model.loads import Felt

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class AxisTable:
    """Axes stacked for work on all of them at once: m axes, batch last."""

    direction: Floats
    """(m, 3, n)"""
    turning: Floats
    """(m, 1): 1 or 0."""
    origin: Floats
    """(m, 3, n)"""
    order: NDArray[np.int64]
    """(m,)"""
    felt: tuple[Felt, ...]
    """By axis."""

    @staticmethod
    def of(nodes: Sequence[WorldNode], rows: Sequence[int], turning: Sequence[bool], felt: Sequence[Felt]) -> AxisTable:
        """From one node, direction row and resultant per axis."""
        return AxisTable.of_nodes([(node, [row]) for node, row in zip(nodes, rows, strict=True)], turning, felt)

    @staticmethod
    def of_nodes(
        runs: Sequence[tuple[WorldNode, Sequence[int]]], turning: Sequence[bool], felt: Sequence[Felt]
    ) -> AxisTable:
        """From nodes, each with those of its directions that are axes, and the resultant at each axis."""
        n = max((node.directions.shape[-1] for node, _ in runs), default=1)
        n = max([n, *(f.virial.shape[-1] for f in felt)])
        size = (len(turning), 3, n)
        direction, origin = np.empty(size), np.empty(size)
        order, start = np.empty(len(turning), dtype=np.int64), 0
        for node, rows in runs:
            mine = slice(start, start + len(rows))
            direction[mine] = node.directions[rows[0]] if len(rows) == 1 else node.directions[rows]
            origin[mine], order[mine], start = node.origin, node.order, mine.stop
        return AxisTable(direction, np.array(turning, dtype=float)[:, None], origin, order, tuple(felt))

    @cached_property
    def omega(self) -> Floats:
        """(m, 3, n) angular velocity per unit motion; zero for slides."""
        return self.direction * self.turning[:, :, None]

    def part(self, rows: NDArray[np.intp]) -> AxisTable:
        """Some of the axes."""
        felt = tuple(self.felt[i] for i in rows) if self.felt else ()
        return AxisTable(self.direction[rows], self.turning[rows], self.origin[rows], self.order[rows], felt)

    def columns(self, point: WorldPoint) -> Floats:
        """(m, 3, n) motion of a point; zero where the axis does not move it."""
        turns = np.flatnonzero(self.turning[:, 0])
        out = np.empty((len(self.order), *np.broadcast_shapes(self.direction.shape[1:], point.xyz.shape)))
        out[...] = self.direction
        out[turns] = cross(self.direction[turns], point.xyz - self.origin[turns])
        out[self.order >= point.order] = 0.0
        return out

    @cached_property
    def force(self) -> Floats:
        """(m, 3, n) resultant force beyond each axis."""
        return np.stack([np.broadcast_to(f.force, self.direction.shape[1:]) for f in self.felt])

    @cached_property
    def virial(self) -> Floats:
        """(m, 3, 3, n)"""
        shape = (3, *self.direction.shape[1:])
        return np.stack([np.broadcast_to(f.virial, shape) for f in self.felt])

    @cached_property
    def couple(self) -> Floats:
        """(m, 3, n)"""
        return np.stack([np.broadcast_to(f.couple, self.direction.shape[1:]) for f in self.felt])


def column_derivative(g: AxisTable, b: AxisTable, point: WorldPoint) -> Floats:
    """d c_b(point) / d theta_g for every pair: (g, b, 3, n)."""
    before = (g.order[:, None] <= b.order[None, :])[:, :, None, None]
    c_g, c_b = g.columns(point)[:, None], b.columns(point)[None]
    moved = ((g.order < point.order)[:, None] & (b.order < point.order)[None, :])[:, :, None, None]
    carried = np.where(before, cross(g.omega[:, None], c_b), cross(b.omega[None], c_g))
    return np.asarray(carried * moved)


def load_derivative(g: AxisTable, b: AxisTable) -> Floats:
    """d tau_b / d theta_g for every pair: (g, b, n); this is the tangent (geometric) stiffness, sign reversed."""
    before = (g.order[:, None] <= b.order[None, :])[:, :, None]
    early, late = _later_pair(g, b), np.swapaxes(_later_pair(b, g), 0, 1)
    couples = dot(cross(g.omega[:, None], b.omega[None]), b.couple[None])
    return np.asarray(np.where(before, early + couples, late))


def _later_pair(first: AxisTable, later: AxisTable) -> Floats:
    """(first, later, n): change by ``first`` of the load of forces felt by ``later``, which stands beyond it."""
    w_first = first.omega
    w_later, virial = later.omega, later.virial
    # X_b w_b and tr X_b belong to the later axis alone
    pulled = np.einsum("mijn,mjn->min", virial, w_later)
    trace = np.einsum("miin->mn", virial)
    turning = dot(w_first[:, None], (pulled - trace[:, None, :] * w_later)[None])
    sliding = later.direction * (1.0 - later.turning)[:, :, None]
    slid = dot(w_first[:, None], cross(sliding, later.force)[None])
    return np.asarray(turning + slid)
