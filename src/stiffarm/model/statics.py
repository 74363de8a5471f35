"""Where a point of the arm is at the equilibrium under its loads, and how that changes with every parameter.

At the equilibrium theta = f(tau(theta, v), v) of the bent arm (`stiffarm.model.posture`), with J the columns of the
elastic axes at the point, k = df/dtau and T = dtau/dtheta,

    dp/dv = c_v + J (I - k T)^-1 [ df/dv + k dtau/dv ],

c_v the point's own motion with v.  The *stiffened columns* J (I - k T)^-1 are worked out once per configuration;
with them in the place of J the derivatives are those of first order, taken where the arm is now:

    elastic      sum over its entries of factor * stiffened column
    of loads     sum_b stiffened column_b (k tau(derivative load))_b
    geometric    sum over its entries of factor * [ c_g + sum_b stiffened column_b (k dtau/dg)_b ]

Deflections that geometric axes carry along need no term of their own: the columns c_g are of the bent arm.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.coupling import AxisTable, load_derivative
from stiffarm.model.effects import Entry
from stiffarm.model.equilibrium import Equilibrium, equilibrium
from stiffarm.model.evaluate import Prediction
from stiffarm.model.kernel import WorldPoint, chunks, world_point, world_vectors
from stiffarm.model.loads import Load, State, felt_at
from stiffarm.model.posture import Posture
from stiffarm.model.rotations import vector_of
from stiffarm.model.stability import solved, tangent
from stiffarm.model.stages import FINE

Floats = NDArray[np.float64]

__all__ = ["Equilibrium", "StiffColumns", "equilibrium", "predict_exact", "sensitivity_exact"]

PAIRS_CHUNK = 128
"""Configurations at a time where matrices of all pairs of axes are needed."""


def predict_exact(arm: Arm, state: State, point: str, *, found: Equilibrium | None = None) -> Prediction:
    """Position, deflection and tool orientation at a named point at equilibrium.

    Raises `InputError` where there is none.  With ``found``, an equilibrium of the same arm and state that the
    caller has looked at, such configurations are NaN instead.
    """
    at = _equilibrium(arm, state, found)
    out = Prediction(*(np.empty((*shape, len(state))) for shape in ((3,), (3,), (3, 3), (3,))))
    for rows in chunks(len(state)):
        _predict(at.posture(rows), point, out, rows)
    return _without_lost(at, out)


def sensitivity_exact(
    arm: Arm,
    state: State,
    point: str,
    names: Collection[str],
    rotation: bool = False,
    *,
    found: Equilibrium | None = None,
) -> tuple[Prediction, Floats]:
    """Prediction at equilibrium and its derivatives by the named parameters, as `evaluate.sensitivity`.

    Columns are (parameters in the order of ``names``, 3, n) in m per unit of the parameter; with ``rotation``
    six components, the last three being the tool's rotation (rad, world frame, applied from the left).
    """
    at = _equilibrium(arm, state, found)
    order = {name: i for i, name in enumerate(names)}
    out = np.zeros((len(order), 6, len(state)))
    prediction = Prediction(*(np.empty((*shape, len(state))) for shape in ((3,), (3,), (3, 3), (3,))))
    bending = arm.model.bending
    wanted = [i for i in bending if any(p.elastic and p.name in order for p in arm.model.effects[i].parameters)]
    for rows in chunks(len(state), PAIRS_CHUNK):
        posture = at.posture(rows, wanted)
        _predict(posture, point, prediction, rows)
        _Derivatives(posture, point).fill(order, out[:, :, rows])
    columns = out if rotation else np.ascontiguousarray(out[:, :3])
    columns[:, :, ~at.reached] = np.nan
    return _without_lost(at, prediction), columns


def _equilibrium(arm: Arm, state: State, found: Equilibrium | None) -> Equilibrium:
    if found is None:
        found = equilibrium(arm, state)
        found.require()
    return found


def _without_lost(at: Equilibrium, prediction: Prediction) -> Prediction:
    for array in (prediction.position, prediction.deflection, prediction.rotation, prediction.deflection_rotation):
        array[..., ~at.reached] = np.nan
    return prediction


def _predict(posture: Posture, name: str, out: Prediction, rows: slice) -> None:
    chain, rest = posture.unbent.arm.chain, posture.unbent.at
    point = world_point(rest, chain.point(name))
    motion = posture.beyond(point.order)
    held = posture.beyond(chain.points["tool"].order)
    tool = world_vectors(rest.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))
    out.position[:, rows] = motion.move(point.xyz)
    out.deflection[:, rows] = out.position[:, rows] - point.xyz
    out.rotation[..., rows] = held.turn(tool)
    turned = np.broadcast_to(held.rotation, out.rotation[..., rows].shape)
    out.deflection_rotation[:, rows] = vector_of(turned)


class StiffColumns:
    """Columns of the elastic axes at a point of the bent arm, and the same stiffened by what else gives way."""

    def __init__(self, posture: Posture, point: WorldPoint, turned_order: int) -> None:
        self.posture = posture
        self.tangents = posture.unbent.tangents(posture.torque)
        self.plain: Floats = np.zeros((0, 6, posture.unbent.n))
        """(coordinates, 6, n): motion of the point, turn of what carries it (order ``turned_order``)."""
        self.stiff: Floats = self.plain
        """J (I - k T)^-1, likewise."""
        if not posture.unbent.size:
            return
        self.plain = self.plain_at(point, turned_order)
        self.stiff = solved(np.swapaxes(tangent(posture), 1, 2), self.plain)

    def plain_at(self, point: WorldPoint, turned_order: int | None = None) -> Floats:
        """J (coordinates, 6, n) at another point of the bent arm, by default with the turn of what carries it."""
        table, size = self.posture.table, (self.posture.unbent.size, 3, self.posture.unbent.n)
        turned = table.omega * (table.order < (turned_order or point.order))[:, None, None]
        return np.concatenate([np.broadcast_to(part, size) for part in (table.columns(point), turned)], axis=1)

    def moved(self, change: Floats) -> Floats:
        """Motions (p, 6, n) under changes (coordinates, p, n) of the loads of the axes."""
        followed = self.posture.unbent.follow(self.tangents, change)
        return np.asarray(np.einsum("bpn,bin->pin", followed, self.stiff))


class _Derivatives:
    """Derivatives at one posture by all parameters."""

    def __init__(self, posture: Posture, point: str) -> None:
        unbent = posture.unbent
        self.posture, self.unbent, self.name = posture, unbent, point
        self.values, self.state = unbent.arm.values, unbent.state
        self.point = posture.point(unbent.arm.chain.point(point))
        self.tool_order = FINE * unbent.arm.chain.points["tool"].order
        self.columns = StiffColumns(posture, self.point, self.tool_order)
        self.torque = posture.torque

    def fill(self, order: dict[str, int], out: Floats) -> None:
        """Write the derivatives by the parameters in ``order`` into ``out`` (parameters, 6, n)."""
        chain = self.unbent.arm.chain
        nothing = np.zeros((0, self.unbent.n))
        for index, effect in enumerate(self.unbent.arm.model.effects):
            rows = {i: order[p.name] for i, p in enumerate(effect.parameters) if p.name in order}
            if not rows:
                continue
            own = self.unbent.rows.get(index)
            torque = nothing if own is None else self.torque[own]
            entries = [e for e in effect.entries(self.values, self.state, torque) if e.parameter in rows]
            elastic = [e for e in entries if effect.parameters[e.parameter].elastic]
            for entry in elastic:
                out[rows[entry.parameter]] += self.columns.stiff[own][entry.axis] * entry.factor if own else 0.0
            self._add_geometric(index, [e for e in entries if e not in elastic], rows, out)
            for source in effect.load_entries(chain, self.values, self.state.loads):
                if source.parameter in rows:
                    out[rows[source.parameter]] += self._of_load(source.loads)

    def _add_geometric(self, index: int, entries: Sequence[Entry], rows: dict[int, int], out: Floats) -> None:
        """Entries of one effect, their axes taken together."""
        seen = [e for e in entries if e.only_point in (None, self.name)]
        if not seen:
            return
        axes = self._axes(index)
        found = np.zeros((len(axes.order), 6, self.unbent.n))
        found[:, :3] = axes.columns(self.point)
        if seen[0].only_point is None:  # a marker's place turns nothing and changes no load
            found[:, 3:] = axes.omega * (axes.order < self.tool_order)[:, None, None]
            found += self._reloaded(axes)
        for entry in seen:
            out[rows[entry.parameter]] += found[entry.axis] * entry.factor

    def _axes(self, index: int) -> AxisTable:
        """The axes of a geometric effect where they are now."""
        axes = self.unbent.arm.model.effects[index].axes
        nodes = [self.posture.node(node) for node in self.unbent.arm.nodes(index)]
        felt = felt_at(self.posture.load_points, self.unbent.loads, nodes)
        return AxisTable.of(
            [nodes[axis.node] for axis in axes],
            [axis.row for axis in axes],
            [axis.turning for axis in axes],
            [felt[axis.node] for axis in axes],
        )

    def _reloaded(self, axes: AxisTable) -> Floats:
        """(axes, 6, n): motions because a geometric axis moves the loads and the axes that feel them."""
        if not self.unbent.size:
            return np.zeros((1, 6, 1))
        change = np.swapaxes(load_derivative(axes, self.posture.table), 0, 1)
        return self.columns.moved(np.broadcast_to(change, (*change.shape[:2], self.unbent.n)))

    def _of_load(self, loads: tuple[Load, ...]) -> Floats:
        """(6, n): motion under a derivative load."""
        return np.asarray(self.columns.moved(self.posture.torque_of(loads)[:, None])[0])
