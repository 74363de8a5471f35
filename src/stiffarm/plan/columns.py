"""What the readings of a stop say about every parameter, and how that changes with the joints and the aim.

Every number read changes with a parameter by a sum of terms, each the column of an axis times a factor,

    A = sum over terms of  f c_a(p),          f = e_0 + sum_b e_b tau_b

where tau_b is the load that an axis of the same effect feels: f = tau of a compliance, 1 of a geometric error, q or
sin q of a gear.  Columns are those of the stiff, unloaded arm (`stiffarm.identifiability.design` says why).  With
joint j turning, and the load point h moving by c_j(h),

    dc_a/dq_j    a cross product of two columns                         (`stiffarm.model.coupling`)
    dtau_b/dq_j  the virial of the loads, plus c_b(h) . dF/dq_j         dF/dq_j = (dF/dh) c_j(h)
    cable        F = t u,  u = (aim - h)/|aim - h|                      dF/dh = -(t/|aim - h|) (I - u u') = -dF/daim
    free force   F = t u,  u = aim/|aim|                                dF/daim = (t/|aim|) (I - u u')

Nothing is ever differentiated that is not asked for: for a scalar with the derivative E by the columns, its gradient
by joints and aim is contracted from these pieces (`Columns.gradient`).  The factors' own dependence on q is exact for
gears (a complex step) and taken by central differences for the numbers of gravity compensators alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.design import second_order, stiff
from stiffarm.identifiability.question import Wanted
from stiffarm.model.arm_model import Arm
from stiffarm.model.coupling import AxisTable, column_derivative, load_derivative
from stiffarm.model.effects import AxisOf, CompensatedJoint, Effect, Entry, Gear
from stiffarm.model.kernel import Frames, WorldNode, WorldPoint, cross, dot, frames, world_node, world_point
from stiffarm.model.loads import Felt, Load, State, felt_at
from stiffarm.plan.problem import Cable, FixedForce, Floats, Ints, Pull, Stops

TINY = 1e-30
"""Step of a derivative through the imaginary part."""
SMALL = 1e-5
"""rad or m: step of a central difference."""


@dataclass(frozen=True, eq=False)
class _Effect:
    """One effect with the terms it gives: parameter row and axis of each, and how its factors are found."""

    effect: Effect
    index: int
    first_axis: int
    bends: bool
    rows: dict[int, int]
    """Parameter of the effect: row of the columns."""

    def entries(self, values: dict[str, float], state: State, torque: Floats) -> list[Entry]:
        """Those of wanted parameters."""
        return [e for e in self.effect.entries(values, state, torque) if e.parameter in self.rows]


class ColumnMaker:
    """The columns of some parameters of one arm, at the markers and under the pull of a plan."""

    def __init__(
        self, arm: Arm, names: Sequence[str], markers: Sequence[str], pull: Pull | None, *, weights: bool, pose: bool
    ) -> None:
        self.arm, self.names, self.markers, self.pull = arm, tuple(names), tuple(markers), pull
        self.weights = arm.weights() if weights else ()
        self.pose = pose
        self.parts, self.axes = self._parts()
        self.points = [arm.chain.point(marker) for marker in self.markers]
        self.hook = None if pull is None else arm.chain.point(pull.load_point, of="load point")
        self.tool_order = arm.chain.points["tool"].order

    def _parts(self) -> tuple[list[_Effect], list[tuple[int, AxisOf]]]:
        row = {name: i for i, name in enumerate(self.names)}
        found: list[_Effect] = []
        axes: list[tuple[int, AxisOf]] = []
        for index, effect in enumerate(self.arm.model.effects):
            rows = {k: row[p.name] for k, p in enumerate(effect.parameters) if p.name in row}
            if rows:
                found.append(_Effect(effect, index, len(axes), index in self.arm.model.bending, rows))
                axes += [(index, axis) for axis in effect.axes]
        return found, axes

    @property
    def numbers(self) -> int:
        """How many numbers a stop gives."""
        return 3 * len(self.markers) + (3 if self.pose else 0)

    def at(self, stops: Stops) -> Columns:
        """Columns at some stops."""
        return Columns(self, stops)


class Columns:
    """Columns (parameters, numbers, n) at some stops, their gradients when asked for."""

    def __init__(self, maker: ColumnMaker, stops: Stops) -> None:
        self.maker, self.stops, self.n = maker, stops, len(stops)
        self.arm = maker.arm
        self.frames: Frames = frames(self.arm.chain, np.ascontiguousarray(stops.q))
        self.points: list[WorldPoint] = [world_point(self.frames, point) for point in maker.points]
        self.factor, self.row, self.axis, self.only = self._terms()

    @cached_property
    def state(self) -> State:
        """Configurations and loads."""
        return State(self.stops.q, self.loads)

    @cached_property
    def hook(self) -> WorldPoint:
        """Where it pulls."""
        assert self.maker.hook is not None
        return world_point(self.frames, self.maker.hook)

    @cached_property
    def force(self) -> tuple[Floats, Floats, Floats]:
        """Force (3, n), N; its derivatives by the load point and by the aim, (3, 3, n) component first."""
        pull, zero = self.maker.pull, np.zeros((3, 3, self.n))
        if pull is None:
            return np.zeros((3, self.n)), zero, zero
        if isinstance(pull, FixedForce):
            return np.repeat(np.array(pull.force_world)[:, None], self.n, axis=1), zero, zero
        assert self.stops.aim is not None, "a cable or a free force has an aim"
        along = self.stops.aim - self.hook.xyz if isinstance(pull, Cable) else self.stops.aim
        length = np.sqrt(dot(along, along))
        u = along / length
        by_aim = (pull.force_n / length) * (np.eye(3)[:, :, None] - u[:, None] * u[None])
        return pull.force_n * u, -by_aim if isinstance(pull, Cable) else zero, by_aim

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """The pull, then the weights that count."""
        own = () if self.maker.hook is None else (Load(self.maker.hook, self.force[0]),)
        return (*own, *self.maker.weights)

    def _felt(self, nodes: Sequence[WorldNode]) -> tuple[Felt, ...]:
        return felt_at([world_point(self.frames, load.point) for load in self.loads], self.loads, nodes)

    @cached_property
    def table(self) -> AxisTable:
        """Axes of the wanted parameters, with the loads they feel."""
        nodes = {i: [world_node(self.frames, node) for node in self.arm.nodes(i)] for i, _ in self.maker.axes}
        chosen = [nodes[i][axis.node] for i, axis in self.maker.axes]
        felt = self._felt(chosen)
        return AxisTable.of(
            chosen, [axis.row for _, axis in self.maker.axes], [axis.turning for _, axis in self.maker.axes], felt
        )

    @cached_property
    def joints(self) -> AxisTable:
        """Axes of all joints, with the loads they feel."""
        chain = self.arm.chain
        nodes = [world_node(self.frames, chain.joint_node(k)) for k in range(chain.n_joints)]
        turning = [not slides for slides in chain.prismatic]
        return AxisTable.of(nodes, [0] * len(nodes), turning, self._felt(nodes))

    @cached_property
    def torque(self) -> Floats:
        """(axes, n) loads felt by the axes, N m or N."""
        table, out = self.table, np.zeros((len(self.maker.axes), self.n))
        for i, felt in enumerate(table.felt):
            out[i] = dot(table.direction[i], felt.moment if table.turning[i, 0] else felt.force)
        return out

    def _terms(self) -> tuple[Floats, Ints, Ints, list[str | None]]:
        """Factors (terms, n), rows of the parameters, axes, and the one point that a term moves."""
        factors, rows, axes, only = [], [], [], []
        for part in self.maker.parts:
            torque = self.torque[part.first_axis :][: len(part.effect.axes)] if part.bends else np.zeros((0, self.n))
            for entry in part.entries(dict(self.arm.values), self.state, torque):
                factors.append(np.broadcast_to(entry.factor, (self.n,)))
                rows.append(part.rows[entry.parameter])
                axes.append(part.first_axis + entry.axis)
                only.append(entry.only_point)
        return (
            np.array(factors).reshape(len(rows), self.n), np.array(rows, dtype=np.int64),
            np.array(axes, dtype=np.int64), only,
        )  # fmt: skip

    @cached_property
    def moved(self) -> Floats:
        """(axes, numbers, n) motion of every number read by every axis."""
        blocks = [self.table.columns(point) for point in self.points]
        if self.maker.pose:
            blocks.append(self.table.omega * (self.table.order < self.maker.tool_order)[:, None, None])
        full = (len(self.maker.axes), 3, self.n)
        return np.concatenate([np.broadcast_to(block, full) for block in blocks], axis=1)

    @cached_property
    def _mask(self) -> Floats | None:
        """(terms, numbers, 1) of terms that move one point alone; None when there is none."""
        if not any(self.only):
            return None
        mask = np.ones((len(self.only), self.maker.numbers, 1))
        for i, name in enumerate(self.only):
            if name is not None:
                mask[i] = 0.0
                for k, marker in enumerate(self.maker.markers):
                    mask[i, 3 * k : 3 * k + 3] = float(marker == name)
        return mask

    @cached_property
    def moved_by_term(self) -> Floats:
        """(terms, numbers, n)"""
        by_term = self.moved[self.axis]
        return by_term if self._mask is None else by_term * self._mask

    @cached_property
    def columns(self) -> Floats:
        """(parameters, numbers, n) in m and rad per unit of each parameter."""
        out = np.zeros((len(self.maker.names), self.maker.numbers, self.n))
        values = self.factor[:, None, :] * self.moved_by_term
        if len(set(self.row.tolist())) == len(self.row):
            out[self.row] = values
        else:
            np.add.at(out, self.row, values)
        return out

    def gradient(self, by_columns: Floats) -> tuple[Floats, Floats]:
        """Gradient by the joints (joints, n) and by the aim (3, n) of a scalar whose derivatives by the columns of
        each stop are (parameters, numbers, n)."""
        chain, weight = self.arm.chain, by_columns[self.row]
        if self._mask is not None:
            weight = weight * self._mask
        by_axis = np.zeros((len(self.maker.axes), self.maker.numbers, self.n))
        np.add.at(by_axis, self.axis, self.factor[:, None, :] * weight)
        by_value = np.zeros((chain.n_joints, self.n))
        for k, point in enumerate(self.points):
            change = column_derivative(self.joints, self.table, point)
            by_value += np.einsum("jmin,min->jn", change, by_axis[:, 3 * k : 3 * k + 3])
        if self.maker.pose:
            carried = (self.joints.order[:, None] <= self.table.order)[:, :, None, None]
            omega = self.table.omega * (self.table.order < self.maker.tool_order)[:, None, None]
            turned = cross(self.joints.omega[:, None], omega[None]) * carried
            by_value += np.einsum("jmin,min->jn", turned, by_axis[:, -3:])
        by_factor = np.einsum("trn,trn->tn", weight, self.moved_by_term)
        by_torque, by_q = self._by_factor(by_factor)
        torque_by_value, torque_by_aim = self._torque_slopes()
        by_value += np.einsum("jmn,mn->jn", torque_by_value, by_torque)
        by_q += chain.mix.T @ by_value
        return by_q, np.einsum("kmn,mn->kn", torque_by_aim, by_torque)

    def _torque_slopes(self) -> tuple[Floats, Floats]:
        """dtau/dvalue (joints, axes, n) and dtau/daim (3, axes, n)."""
        shape = (len(self.maker.axes), self.n)
        if not self.loads or not any(part.bends for part in self.maker.parts):
            return np.zeros((self.arm.chain.n_joints, *shape)), np.zeros((3, *shape))
        out = np.broadcast_to(load_derivative(self.joints, self.table), (self.arm.chain.n_joints, *shape))
        if self.maker.hook is None:
            return out, np.zeros((3, *shape))
        _, by_point, by_aim = self.force
        lever = self.table.columns(self.hook)
        if by_point.any():
            force = np.einsum("ikn,jkn->jin", by_point, self.joints.columns(self.hook))
            out = out + np.einsum("jin,min->jmn", force, lever)
        return out, np.einsum("ikn,min->kmn", by_aim, lever)

    def _by_factor(self, weight: Floats) -> tuple[Floats, Floats]:
        """Gradient through the factors by the torques (axes, n) and by the joints' own values (joints, n)."""
        by_torque, by_q = np.zeros((len(self.maker.axes), self.n)), np.zeros((self.arm.chain.n_joints, self.n))
        start, values = 0, dict(self.arm.values)
        for part in self.maker.parts:
            axes = len(part.effect.axes)
            torque = self.torque[part.first_axis :][:axes]
            nothing = np.zeros((axes, self.n))
            count = len(part.entries(values, self.state, nothing if part.bends else nothing[:0]))
            mine = weight[start : start + count]
            start += count
            if part.bends:
                at_rest = _factors(part, values, self.state, nothing)
                for k in range(axes):
                    unit = nothing.copy()
                    unit[k] = 1.0
                    slope = _factors(part, values, self.state, unit) - at_rest
                    by_torque[part.first_axis + k] += (slope * mine).sum(axis=0)
            if isinstance(part.effect, CompensatedJoint):
                j = self.arm.robot.joint_index(part.effect.joint)
                ahead, behind = (_factors(part, values, self._moved(j, step), torque) for step in (SMALL, -SMALL))
                by_q[j] += ((ahead - behind) / (2.0 * SMALL) * mine).sum(axis=0)
            elif isinstance(part.effect, Gear):
                for j in range(len(by_q)):
                    ahead = _factors(part, values, self._moved(j, 1j * TINY), nothing[:0])
                    by_q[j] += (ahead.imag / TINY * mine).sum(axis=0)
        return by_torque, by_q

    def _moved(self, joint: int, step: complex) -> State:
        q = self.stops.q.astype(type(step))
        q[joint] += step
        return State(q, self.loads)


def _factors(part: _Effect, values: dict[str, float], state: State, torque: Floats) -> NDArray[np.float64]:
    """(terms, n)"""
    found = part.entries(values, state, torque)
    return np.array([np.broadcast_to(entry.factor, (len(state),)) for entry in found]).reshape(len(found), len(state))


def arms_of(asked: Wanted) -> list[tuple[Arm, list[int]]]:
    """On which arm the columns of which parameters are taken: most on the stiff one; what shows only when the arm
    bends, and the drive of a joint whose compensator carries a part of its load, on the arm as it is."""
    drives = {f"{one.joint}.compliance" for one in asked.model.robot.compensators}
    bent = [second_order(name) or name.partition("[")[0] in drives for name in asked.names]
    first = [i for i, second in enumerate(bent) if not second]
    return [(stiff(asked.model), first), (asked.model.at(), [i for i, second in enumerate(bent) if second])]


def makers(
    asked: Wanted, markers: Sequence[str], pull: Pull | None, *, weights: bool, pose: bool
) -> list[tuple[Ints, ColumnMaker]]:
    """Makers with the positions of their parameters among those asked for (`arms_of`)."""
    found = []
    for arm, at in arms_of(asked):
        if at:
            names = [asked.names[i] for i in at]
            maker = ColumnMaker(arm, names, markers, pull, weights=weights, pose=pose)
            found.append((np.array(at, dtype=np.int64), maker))
    return found
