"""Where a point of the arm is under its loads, to first order, and how that changes with every parameter.

Every elastic axis b twists by theta_b, a function of the load tau_b it feels in the unloaded posture, and

    p = p_0 + sum_b theta_b c_b(p_0),          phi = sum_b theta_b w_b

(phi is the rotation vector by which the body turns).  Derivatives by parameters:

    elastic      sum over its entries of factor * c(p)
    of loads     sum_b c_b(p) (dtheta_b/dtau_b)(dtau_b of the derivative load)
    geometric    sum over its entries of factor * [ c_g(p) + sum_b theta_b dc_b/dg + c_b(p) (dtheta/dtau)_b dtau_b/dg ]

The last two terms (`stiffarm.model.coupling`) are what a moved geometry does to the deflection itself; they
vanish without load.  Exact to first order in the deflection; `stiffarm.model.statics` solves the equilibrium.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.coupling import AxisTable, column_derivative, load_derivative
from stiffarm.model.effects import AxisOf, Effect, Entry
from stiffarm.model.kernel import (
    CHUNK,
    Frames,
    WorldNode,
    WorldPoint,
    chunks,
    cross,
    frames,
    turning_columns,
    world_node,
    world_point,
    world_vectors,
)
from stiffarm.model.loads import Felt, Load, State, felt_loads, sliding_load, turning_load
from stiffarm.model.rotations import left_jacobian, rotate

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Position and orientation at a point, world frame."""

    position: Floats
    """(3, n) m, under load."""
    deflection: Floats
    """(3, n) m, the elastic part of it."""
    rotation: Floats
    """(3 columns, 3, n) of the tool, under load."""
    deflection_rotation: Floats
    """(3, n) rad, the elastic part as a rotation vector in the world."""


def predict(arm: Arm, state: State, point: str) -> Prediction:
    """Position, deflection and tool orientation at a named point for every configuration of a state."""
    return _joined([_Chunk(arm, state.part(rows), point).prediction() for rows in chunks(len(state))])


def sensitivity(
    arm: Arm,
    state: State,
    point: str,
    names: Collection[str],
    *,
    rotation: bool = False,
    deflection: bool = False,
) -> tuple[Prediction, Floats]:
    """Prediction and its derivatives by the named parameters.

    Columns are (parameters in the order of ``names``, 3, n) in m per unit of the parameter; with ``rotation``
    six components, the last three being the tool's rotation (rad, world frame, applied from the left).
    With ``deflection`` they are those of the deflection and of its rotation vector instead.
    """
    order = {name: i for i, name in enumerate(names)}
    columns = np.zeros((len(order), 6 if rotation else 3, len(state)))
    predictions = []
    for rows in chunks(len(state), _chunk_size(arm)):
        part = _Chunk(arm, state.part(rows), point, deflection=deflection)
        predictions.append(part.prediction())
        part.fill(order, columns[:, :3, rows], columns[:, 3:, rows] if rotation else None)
    return _joined(predictions), columns


def elastic_columns(arm: Arm, state: State, point: str, names: Collection[str]) -> Floats:
    """Only the derivatives (parameters, 3, n) of a deflection by elastic parameters, at the arm's geometry.

    A parameter that is not elastic gets zeros.
    """
    order = {name: i for i, name in enumerate(names)}
    columns = np.zeros((len(order), 3, len(state)))
    for rows in chunks(len(state)):
        _Chunk(arm, state.part(rows), point).fill_elastic(order, columns[:, :, rows])
    return columns


def _chunk_size(arm: Arm) -> int:
    """Rows at a time so that the coupling's arrays, of nine numbers for every axis, stay within some tens of MB."""
    axes = sum(len(effect.axes) for effect in arm.model.effects)
    return int(np.clip(500_000 // max(1, axes), 64, CHUNK))


def _joined(parts: list[Prediction]) -> Prediction:
    if len(parts) == 1:
        return parts[0]
    names = ("position", "deflection", "rotation", "deflection_rotation")
    return Prediction(*(np.concatenate([getattr(p, name) for p in parts], axis=-1) for name in names))


class _Chunk:
    """Everything evaluated for one chunk of configurations, each thing once and when first asked for."""

    def __init__(self, arm: Arm, state: State, point: str, *, deflection: bool = False) -> None:
        self.arm, self.state, self.point_name = arm, state, point
        self.deflection = deflection
        self.n = len(state)
        self.effects: tuple[Effect, ...] = arm.model.effects
        self.at: Frames = frames(arm.chain, state.q)
        self.point: WorldPoint = world_point(self.at, arm.chain.point(point))
        self.tool_order = arm.chain.points["tool"].order
        self.loads: tuple[Load, ...] = state.loads
        for effect in self.effects:
            self.loads = effect.loads(arm.chain, arm.values, self.loads)

        self._nodes: dict[int, tuple[WorldNode, ...]] = {}
        self._turned: dict[tuple[int, int], Floats] = {}

    def nodes(self, index: int) -> tuple[WorldNode, ...]:
        """World nodes of one effect."""
        if index not in self._nodes:
            self._nodes[index] = tuple(world_node(self.at, node) for node in self.arm.nodes(index))
        return self._nodes[index]

    @cached_property
    def felt(self) -> dict[int, tuple[Felt, ...]]:
        """Resultants by bending effect and node."""
        return self.felt_of(self.loads, self.arm.model.bending)

    def felt_of(self, loads: tuple[Load, ...], effects: tuple[int, ...]) -> dict[int, tuple[Felt, ...]]:
        """Resultants of some loads at the nodes of some effects."""
        flat = felt_loads(self.at, loads, [node for i in effects for node in self.nodes(i)])
        ends = np.cumsum([0, *(len(self.nodes(i)) for i in effects)])
        return {i: flat[a:b] for i, (a, b) in zip(effects, pairwise(ends), strict=True)}

    def torque(self, index: int, felt: tuple[Felt, ...]) -> Floats:
        """Loads (axes, n) that the axes of one effect feel, given the resultants at its nodes."""
        axes, nodes = self.effects[index].axes, self.nodes(index)
        out = np.empty((len(axes), self.n))
        for i, axis in enumerate(axes):
            direction = nodes[axis.node].directions[axis.row]
            out[i] = (turning_load if axis.turning else sliding_load)(direction, felt[axis.node])
        return out

    @cached_property
    def torques(self) -> dict[int, Floats]:
        """Loads felt by the bending effects; the others feel nothing."""
        return {i: self.torque(i, self.felt[i]) for i in self.arm.model.bending}

    @cached_property
    def twists(self) -> dict[int, Floats]:
        """Motions of the elastic axes, by effect that bends."""
        if not self.loads and self.state.joint_torque is None:
            return {}
        found = {i: self.effects[i].twist(self.arm.values, self.state, self.torques[i]) for i in self.arm.model.bending}
        return {i: twist for i, twist in found.items() if twist is not None}

    def column(self, index: int, axis: AxisOf) -> Floats | None:
        """Column (3, n) of one axis at the observed point; None when the axis does not move it."""
        node = self.nodes(index)[axis.node]
        if node.order >= self.point.order:
            return None
        if not axis.turning:
            return np.asarray(node.directions[axis.row])
        key = (index, axis.node)
        if key not in self._turned:
            self._turned[key] = turning_columns(node, self.point)
        return np.asarray(self._turned[key][axis.row])

    def turn(self, index: int, axis: AxisOf) -> Floats | None:
        """Rotation (3, n) of the tool per unit motion of one axis; None when there is none."""
        node = self.nodes(index)[axis.node]
        return np.asarray(node.directions[axis.row]) if axis.turning and node.order < self.tool_order else None

    @cached_property
    def deflections(self) -> tuple[Floats, Floats]:
        """Elastic displacement (m) and rotation (rad), (3, n) each."""
        moved, turned = np.zeros((3, self.n)), np.zeros((3, self.n))
        for index, twist in self.twists.items():
            for axis, angle in zip(self.effects[index].axes, twist, strict=True):
                column, turn = self.column(index, axis), self.turn(index, axis)
                if column is not None:
                    moved += column * angle
                if turn is not None:
                    turned += turn * angle
        return moved, turned

    def prediction(self) -> Prediction:
        """Position and orientation under load."""
        moved, turned = self.deflections
        chain = self.arm.chain
        tool = world_vectors(self.at.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))
        rotation = rotate(turned, np.broadcast_to(tool, (3, 3, self.n))) if turned.any() else tool
        return Prediction(self.point.xyz + moved, moved, np.broadcast_to(rotation, (3, 3, self.n)), turned)

    def fill_elastic(self, order: dict[str, int], columns: Floats) -> None:
        """Write the derivatives by the elastic parameters in ``order`` into ``columns``, which are zero."""
        untouched = set(order.values())
        for index in self.arm.model.bending:
            effect = self.effects[index]
            rows = [order.get(p.name) if p.elastic else None for p in effect.parameters]
            if all(row is None for row in rows):
                continue
            moved = [self.column(index, axis) for axis in effect.axes]
            for entry in effect.entries(self.arm.values, self.state, self.torques[index]):
                row, column = rows[entry.parameter], moved[entry.axis]
                if row is None or column is None:
                    continue
                if row in untouched:  # memory is what this costs: the first entry writes and does not add
                    untouched.remove(row)
                    np.multiply(column, entry.factor, out=columns[row])
                else:
                    columns[row] += column * entry.factor

    def fill(self, order: dict[str, int], columns: Floats, turns: Floats | None) -> None:
        """Write the derivatives by the parameters in ``order`` into ``columns`` (and ``turns``)."""
        nothing = np.zeros((0, self.n))
        for index, effect in enumerate(self.effects):
            wanted = {i: order[p.name] for i, p in enumerate(effect.parameters) if p.name in order}
            if not wanted:
                continue
            for entry in effect.entries(self.arm.values, self.state, self.torques.get(index, nothing)):
                if entry.parameter in wanted:
                    self._add(index, entry, wanted[entry.parameter], columns, turns)
            for source in effect.load_entries(self.arm.chain, self.arm.values, self.state.loads):
                if source.parameter in wanted:
                    self._add_load(source.loads, wanted[source.parameter], columns, turns)

    def _add(self, index: int, entry: Entry, row: int, columns: Floats, turns: Floats | None) -> None:
        """One entry: its own column and, for a geometric axis, what it does to the deflection."""
        if entry.only_point not in (None, self.point_name):
            return
        axis = self.effects[index].axes[entry.axis]
        elastic = self.effects[index].parameters[entry.parameter].elastic
        shows = elastic or not self.deflection
        column = self.column(index, axis) if shows else None
        if column is not None:
            columns[row] += column * entry.factor
        turn = self.turn(index, axis) if shows and entry.only_point is None else None
        if turns is not None and turn is not None:
            turns[row] += self._under_load(turn, elastic) * entry.factor
        if elastic or not self._bends:
            return
        g = self._table([(index, axis)])
        self._carry(g, entry.factor, columns[row])
        if entry.only_point is None:  # a marker's place changes no load
            self._reload(g, entry.factor, columns[row], None if turns is None else turns[row])

    def _under_load(self, turn: Floats, elastic: bool) -> Floats:
        """Rotation of the loaded tool (from the left) for one of the unloaded arm, or of its deflection."""
        bent = self.deflections[1]
        if self.deflection or not bent.any():
            return turn
        return left_jacobian(bent, turn) if elastic else rotate(bent, turn)

    @cached_property
    def _elastic(self) -> tuple[list[tuple[int, AxisOf]], Floats]:
        """Axes that twist, with their motions."""
        axes = [(i, axis) for i in self.twists for axis in self.effects[i].axes]
        return axes, np.concatenate([*self.twists.values(), np.zeros((0, self.n))])

    @cached_property
    def _bends(self) -> bool:
        return bool(self._elastic[1].any())

    def _table(self, axes: list[tuple[int, AxisOf]]) -> AxisTable:
        felt = self.felt_of(self.loads, tuple(dict.fromkeys(i for i, _ in axes)))
        return AxisTable.of(
            [self.nodes(i)[axis.node] for i, axis in axes],
            [axis.row for _, axis in axes],
            [axis.turning for _, axis in axes],
            [felt[i][axis.node] for i, axis in axes],
        )

    @cached_property
    def _elastic_table(self) -> AxisTable:
        return self._table(self._elastic[0])

    @cached_property
    def _elastic_columns(self) -> Floats:
        return self._elastic_table.columns(self.point)

    def follow(self, torque_change: Floats) -> Floats:
        """Change (axes, n) of the elastic twists when the loads they feel change by (axes, n)."""
        out = np.zeros((len(self._elastic[0]), self.n))
        start = 0
        for index, twist in self.twists.items():
            rows = slice(start, start + twist.shape[0])
            tangent = self.effects[index].tangent(self.arm.values, self.state)
            if tangent is not None:
                out[rows] = np.einsum(
                    "abn,bn->an",
                    np.broadcast_to(tangent, (*tangent.shape[:2], self.n)),
                    np.broadcast_to(torque_change[rows], (twist.shape[0], self.n)),
                )
            start = rows.stop
        return out

    def _carry(self, g: AxisTable, factor: float | Floats, column: Floats) -> None:
        """The deflection carried along by a geometric axis, or seen at a moved point."""
        carried = column_derivative(g, self._elastic_table, self.point)[0]
        column += factor * np.einsum("bn,bin->in", self._elastic[1], carried)

    def _reload(self, g: AxisTable, factor: float | Floats, column: Floats, turn: Floats | None) -> None:
        """The deflection changed because a geometric axis moves the loads and the axes that feel them."""
        b, twists = self._elastic_table, self._elastic[1]
        change = self.follow(load_derivative(g, b)[0])
        column += factor * np.einsum("bn,bin->in", change, self._elastic_columns)
        if turn is not None:
            omega = b.omega * (b.order < self.tool_order)[:, None, None]
            spun = cross(g.omega, omega) * (g.order[0] <= b.order)[:, None, None]
            bent = np.einsum("bn,bin->in", twists, spun) + np.einsum("bn,bin->in", change, omega)
            turn += factor * self._under_load(bent, elastic=True)

    def _add_load(self, loads: tuple[Load, ...], row: int, columns: Floats, turns: Floats | None) -> None:
        """Deflection under a derivative load."""
        if not self._elastic[0]:
            return
        felt = self.felt_of(loads, tuple(self.twists))
        torque = np.concatenate([self.torque(i, felt[i]) for i in self.twists])
        change = self.follow(torque)
        columns[row] += np.einsum("bn,bin->in", change, self._elastic_columns)
        if turns is not None:
            omega = self._elastic_table.omega * (self._elastic_table.order < self.tool_order)[:, None, None]
            turns[row] += self._under_load(np.einsum("bn,bin->in", change, omega), elastic=True)
