"""Derivatives of an observed point, and of the tool's rotation, by every parameter, at one chunk of configurations.

What is computed is derived in `stiffarm.model.evaluate`.  Elastic parameters move the point by the column of their
own axis.  Geometric ones are taken together: the columns of all their axes at once and, when the arm bends,

    carried     w_g x sum_{b beyond g} theta_b c_b(p)  +  (sum_{b before g} theta_b w_b) x c_g(p)
    reloaded    sum_b c_b(p) (dtheta_b/dtau_b) dtau_b/dg

the deflection moved along with g (or seen at the point that g has moved), and the deflection changed because g moves
the loads and the axes that feel them.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chunk import Chunk
from stiffarm.model.coupling import AxisTable, load_derivative
from stiffarm.model.effects import AxisOf, Entry
from stiffarm.model.kernel import cross
from stiffarm.model.loads import Load
from stiffarm.model.rotations import left_jacobian, rotate

Floats = NDArray[np.float64]

PAIRS = 2_000_000
"""Most numbers in an array over pairs of axes."""


class _Share(NamedTuple):
    """What one geometric parameter moves: an axis of an effect, written into one row of the derivatives."""

    key: tuple[int, int]
    """Effect and axis."""
    row: int
    entry: Entry


class Derivatives:
    """Derivatives of what a chunk shows; with ``deflection`` of its elastic part alone."""

    def __init__(self, chunk: Chunk, *, deflection: bool = False) -> None:
        self.at, self.deflection, self.n = chunk, deflection, chunk.n
        self.effects, self.values, self.state = chunk.effects, chunk.arm.values, chunk.state

    def fill_elastic(self, order: dict[str, int], columns: Floats) -> None:
        """Write the derivatives by the elastic parameters in ``order`` into ``columns``, which are zero."""
        untouched = set(order.values())
        for index in self.at.arm.model.bending:
            effect = self.effects[index]
            rows = [order.get(p.name) if p.elastic else None for p in effect.parameters]
            if all(row is None for row in rows):
                continue
            moved = [self.at.column(index, axis) for axis in effect.axes]
            for entry in effect.entries(self.values, self.state, self.at.torques[index]):
                row, column = rows[entry.parameter], moved[entry.axis]
                if row is None or column is None:
                    continue
                if row in untouched:  # memory is what this costs: the first entry writes and does not add
                    untouched.remove(row)
                    np.multiply(column, entry.factor, out=columns[row])
                else:
                    columns[row] += column * entry.factor

    def fill(self, order: dict[str, int], columns: Floats, turns: Floats | None) -> None:
        """Write the derivatives by the parameters in ``order`` into ``columns`` (and ``turns``), which are zero."""
        nothing, bending = np.zeros((0, self.n)), self.at.arm.model.bending
        geometric: list[_Share] = []
        for index, rows in self._wanted(order).items():
            effect = self.effects[index]
            bends = index in bending
            if bends and not self.at.loaded:
                continue  # what feels nothing does not bend
            for entry in effect.entries(self.values, self.state, self.at.torques[index] if bends else nothing):
                row = rows.get(entry.parameter)
                if row is None or entry.only_point not in (None, self.at.point_name):
                    continue
                if effect.parameters[entry.parameter].elastic:
                    self._add_elastic(index, entry, row, columns, turns)
                else:
                    geometric.append(_Share((index, entry.axis), row, entry))
            for source in effect.load_entries(self.at.arm.chain, self.values, self.state.loads):
                if source.parameter in rows:
                    self._add_load(source.loads, rows[source.parameter], columns, turns)
        if geometric:
            self._add_geometric(geometric, columns, turns)

    def _wanted(self, order: dict[str, int]) -> dict[int, dict[int, int]]:
        """Row of each wanted parameter by effect and parameter; names of other things are passed over."""
        rows: dict[int, dict[int, int]] = {}
        for name, row in order.items():
            for index, parameter in self.at.arm.model.owners.get(name, ()):
                rows.setdefault(index, {})[parameter] = row
        return rows

    def _add_elastic(self, index: int, entry: Entry, row: int, columns: Floats, turns: Floats | None) -> None:
        """One entry of an elastic parameter: the column of its axis."""
        axis = self.effects[index].axes[entry.axis]
        column, turn = self.at.column(index, axis), self.at.turn(index, axis)
        if column is not None:
            columns[row] += column * entry.factor
        if turns is not None and turn is not None:
            turns[row] += self._under_load(turn, elastic=True) * entry.factor

    def _add_geometric(self, shares: list[_Share], columns: Floats, turns: Floats | None) -> None:
        """Entries of geometric parameters: columns of all axes at once, with what they do to the deflection."""
        keys = list(dict.fromkeys(share.key for share in shares))
        at = {key: i for i, key in enumerate(keys)}
        place = [at[share.key] for share in shares]
        carries_all = np.zeros(len(keys), dtype=bool)
        carries_all[[i for i, share in zip(place, shares, strict=True) if share.entry.only_point is None]] = True
        axes = [(index, self.effects[index].axes[axis]) for index, axis in keys]
        moved, turned = self._geometric(axes, carries_all, turning=turns is not None)
        rows = [share.row for share in shares]
        if len(set(rows)) == len(rows) and all(_is_one(share.entry.factor) for share in shares):
            columns[rows] += moved[place]
            if turns is not None:
                turns[rows] += turned[place] * carries_all[place][:, None, None]
            return
        for i, share in zip(place, shares, strict=True):
            columns[share.row] += moved[i] * share.entry.factor
            if turns is not None and carries_all[i]:
                turns[share.row] += turned[i] * share.entry.factor

    def _geometric(
        self, axes: list[tuple[int, AxisOf]], carries_all: NDArray[np.bool_], *, turning: bool
    ) -> tuple[Floats, Floats]:
        """Motion of the observed point and, if asked for, rotation of the tool by each axis, (axes, 3, n) each."""
        g = self.at.table(axes, felt=self._bends)
        moved = np.zeros((len(axes), 3, self.n)) if self.deflection else g.columns(self.at.point)
        turned = np.zeros((len(axes), 3, self.n)) if turning else moved[:0]
        if turning and not self.deflection:
            turned += self._under_load(g.omega * (g.order < self.at.tool_order)[:, None, None], elastic=False)
        if not self._bends:
            return moved, turned
        moved = moved + self._carried(g)
        # pairs of axes take memory: some of them at a time; a marker's own place changes no load
        most = max(1, PAIRS // (9 * len(self._elastic[0]) * self.n))
        carrying = np.flatnonzero(carries_all)
        for part in np.array_split(carrying, -(-len(carrying) // most)) if len(carrying) else ():
            moved_by_load, turned_by_load = self._reloaded(g.part(part))
            moved[part] += moved_by_load
            if turning:
                turned[part] += turned_by_load
        return moved, turned

    def _under_load(self, turn: Floats, elastic: bool) -> Floats:
        """Rotation of the loaded tool (from the left) for one of the unloaded arm, or of its deflection."""
        bent = self.at.deflections[1]
        if self.deflection or not bent.any():
            return turn
        return left_jacobian(bent, turn) if elastic else rotate(bent, turn)

    @cached_property
    def _elastic(self) -> tuple[list[tuple[int, AxisOf]], Floats]:
        """Axes that twist, with their motions."""
        axes = [(i, axis) for i in self.at.twists for axis in self.effects[i].axes]
        return axes, np.concatenate([*self.at.twists.values(), np.zeros((0, self.n))])

    @cached_property
    def _bends(self) -> bool:
        return bool(self._elastic[1].any())

    @cached_property
    def _elastic_table(self) -> AxisTable:
        return self.at.table(self._elastic[0])

    @cached_property
    def _elastic_columns(self) -> Floats:
        return self._elastic_table.columns(self.at.point)

    def follow(self, torque_change: Floats) -> Floats:
        """Change (..., axes, n) of the elastic twists when the loads they feel change by (..., axes, n)."""
        out = np.zeros((*torque_change.shape[:-2], len(self._elastic[0]), self.n))
        start = 0
        for index, twist in self.at.twists.items():
            rows = slice(start, start + twist.shape[0])
            tangent = self.effects[index].tangent(self.values, self.state)
            if tangent is not None:
                change = torque_change[..., rows, :]
                if len(twist) == 1:
                    out[..., rows, :] = tangent[0] * change
                else:
                    each = np.broadcast_to(tangent, (*tangent.shape[:2], self.n))
                    out[..., rows, :] = np.einsum(
                        "abn,...bn->...an", each, np.broadcast_to(change, out[..., rows, :].shape)
                    )
            start = rows.stop
        return out

    def _carried(self, g: AxisTable) -> Floats:
        """The deflection carried along by each axis, or seen at a moved point, (axes, 3, n).

        Of an elastic axis beyond g its column turns with g; of one before g it acts on a point that g has moved.
        """
        b, twists = self._elastic_table, self._elastic[1][:, None, :]
        beyond = _summed(g.order[:, None] <= b.order[None, :], twists * self._elastic_columns)
        before = _summed(g.order[:, None] > b.order[None, :], twists * b.omega)
        return cross(g.omega, beyond) + cross(before, g.columns(self.at.point))

    def _reloaded(self, g: AxisTable) -> tuple[Floats, Floats]:
        """What a moved axis does to the loads and to the axes that feel them: change of the observed point and of
        the tool's rotation, (axes, 3, n) each."""
        b, twists = self._elastic_table, self._elastic[1][:, None, :]
        change = self.follow(load_derivative(g, b))
        omega = b.omega * (b.order < self.at.tool_order)[:, None, None]
        spun = cross(g.omega, _summed(g.order[:, None] <= b.order[None, :], twists * omega))
        turned = spun + np.einsum("gbn,bin->gin", change, omega)
        return np.einsum("gbn,bin->gin", change, self._elastic_columns), self._under_load(turned, elastic=True)

    def _add_load(self, loads: tuple[Load, ...], row: int, columns: Floats, turns: Floats | None) -> None:
        """Deflection under a derivative load."""
        if not self._elastic[0]:
            return
        felt = self.at.felt_of(loads, tuple(self.at.twists))
        torque = np.concatenate([self.at.torque(i, felt[i]) for i in self.at.twists])
        change = self.follow(torque)
        columns[row] += np.einsum("bn,bin->in", change, self._elastic_columns)
        if turns is not None:
            omega = self._elastic_table.omega * (self._elastic_table.order < self.at.tool_order)[:, None, None]
            turns[row] += self._under_load(np.einsum("bn,bin->in", change, omega), elastic=True)


def _is_one(factor: float | Floats) -> bool:
    return isinstance(factor, float) and factor == 1.0


def _summed(which: NDArray[np.bool_], parts: Floats) -> Floats:
    """Sums (axes, 3, n) of those of the parts (m, 3, n) that each axis names in ``which`` (axes, m)."""
    return np.asarray((which.astype(float) @ parts.reshape(len(parts), -1)).reshape(len(which), *parts.shape[1:]))
