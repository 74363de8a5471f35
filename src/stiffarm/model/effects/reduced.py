"""An effect whose numbers follow from fewer unknowns: own = M reduced + fixed.

By the chain rule, with entries d(motion)/d(own) = f, the derivative by a reduced unknown is the sum of M f over the
own numbers it moves; twists, tangents and corrections are those of the effect at the own numbers.  So a reduced model
is a model like any other: whatever solves, plans or predicts needs to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain, Corrections, Node
from stiffarm.model.effects.effect import AxisOf, Effect, Entry, LoadEntry
from stiffarm.model.loads import Load, State
from stiffarm.model.parameters import Parameter, Values

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReducedEffect:
    """An effect behind a map of its parameters."""

    effect: Effect
    parameters: tuple[Parameter, ...]
    """The reduced unknowns."""
    matrix: Floats
    """(own, reduced)"""
    fixed: Floats
    """(own,)"""

    @property
    def bends(self) -> bool:
        """Whether the effect may bend, held or not."""
        return any(p.elastic for p in self.effect.parameters)

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """Those of the effect."""
        return self.effect.axes

    def own(self, values: Values) -> Values:
        """The values with the effect's own numbers among them."""
        reduced = np.array([values[p.name] for p in self.parameters])
        numbers = self.matrix @ reduced + self.fixed
        return {**values, **{p.name: float(v) for p, v in zip(self.effect.parameters, numbers, strict=True)}}

    @cached_property
    def _shares(self) -> tuple[tuple[tuple[int, float], ...], ...]:
        """By own parameter, the reduced ones that move it and how much."""
        return tuple(tuple((int(r), float(row[r])) for r in np.flatnonzero(row)) for row in self.matrix)

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """Those of the effect."""
        return self.effect.nodes(chain, self.own(values))

    def corrections(self, values: Values) -> Corrections:
        """Those of the effect at its own numbers."""
        return self.effect.corrections(self.own(values))

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """The effect's entries, each shared out."""
        return [
            Entry(entry.axis, r, entry.factor * share, entry.only_point)
            for entry in self.effect.entries(self.own(values), state, torque)
            for r, share in self._shares[entry.parameter]
        ]

    def exact(self) -> ReducedEffect:
        """The exact effect behind the same map."""
        true = self.effect.exact()
        return self if true is self.effect else replace(self, effect=true)

    def twist(self, values: Values, state: State, torque: Floats) -> Floats | None:
        """That of the effect."""
        return self.effect.twist(self.own(values), state, torque)

    def tangent(self, values: Values, state: State, torque: Floats | None = None) -> Floats | None:
        """That of the effect."""
        return self.effect.tangent(self.own(values), state, torque)

    def loads(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> tuple[Load, ...]:
        """Those of the effect."""
        return self.effect.loads(chain, self.own(values), loads)

    def load_entries(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> Sequence[LoadEntry]:
        """The effect's entries, each shared out."""
        return [
            LoadEntry(r, tuple(_times(load, share) for load in entry.loads))
            for entry in self.effect.load_entries(chain, self.own(values), loads)
            for r, share in self._shares[entry.parameter]
        ]


def _times(load: Load, factor: float) -> Load:
    torque = load.torque_world
    return replace(
        load, force_world=factor * load.force_world, torque_world=None if torque is None else factor * torque
    )
