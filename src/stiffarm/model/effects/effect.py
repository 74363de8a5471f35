"""What an effect is: something of the arm that moves or bends, with unknown numbers of its own.

An effect acts through *axes*, the directions of virtual joints.  A *rigid* effect (placement errors, gears)
changes the chain's constants and bends under nothing; an *elastic* one turns the load each of its axes feels
into a small motion of that axis, its *twist*.  Either way its parameters act on a measured point by

    d(point)/d(parameter) = sum over entries of  column(axis) * factor

so an effect states where its axes are and what the factors are, and never touches columns itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain, Corrections, Node
from stiffarm.model.loads import Load, State
from stiffarm.model.parameters import Parameter, Values

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class AxisOf:
    """One axis of an effect: a direction of one of its nodes, slid along or turned about."""

    node: int
    row: int
    turning: bool


@dataclass(frozen=True, eq=False)
class Entry:
    """d(motion of axis)/d(parameter) = factor, a number or one per configuration (n,)."""

    axis: int
    parameter: int
    factor: float | Floats = 1.0
    only_point: str | None = None
    """Set when the axis carries one named point and nothing else."""


@dataclass(frozen=True, eq=False)
class LoadEntry:
    """d(loads)/d(parameter), itself a set of loads."""

    parameter: int
    loads: tuple[Load, ...]


class Effect(Protocol):
    """What every effect offers; `Plain` holds the answers of an effect to which a question does not apply.

    Twists are linear in the loads felt unless the effect is `exact`, which is what an equilibrium is made of.
    """

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Unknowns of this effect, in order."""
        ...

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """Axes through which it acts."""
        ...

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """Where its axes are, fixed to the bodies of the chain."""
        ...

    def corrections(self, values: Values) -> Corrections:
        """What its values change in the chain's constants (rigid effects); nothing when they are nominal."""
        ...

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """Derivatives of the axes' motions by the parameters; ``torque`` (axes, n) is what they feel."""
        ...

    def exact(self) -> Effect:
        """The same effect with the true law in the place of a linearised one; itself when it is linear."""
        ...

    def twist(self, values: Values, state: State, torque: Floats) -> Floats | None:
        """Motions (axes, n) under the loads felt (elastic effects); None when it does not bend."""
        ...

    def tangent(self, values: Values, state: State, torque: Floats | None = None) -> Floats | None:
        """Derivative (axes, axes, n or 1) of the twist by the torques felt; None when it does not follow them.

        ``torque`` (axes, n) is what the axes feel, for exact effects (None: nothing).
        """
        ...

    def loads(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> tuple[Load, ...]:
        """The loads of a state as this effect changes them."""
        ...

    def load_entries(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> Sequence[LoadEntry]:
        """Derivatives of the loads by the parameters."""
        ...


class Plain:
    """The answers of an effect that has no axes, bends under nothing and leaves loads alone."""

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """No axes."""
        return ()

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """No nodes."""
        return ()

    def corrections(self, values: Values) -> Corrections:
        """No change of the chain."""
        return Corrections()

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """No entries."""
        return ()

    def exact(self) -> Self:
        """Nothing is linearised."""
        return self

    def twist(self, values: Values, state: State, torque: Floats) -> Floats | None:
        """Does not bend."""
        return None

    def tangent(self, values: Values, state: State, torque: Floats | None = None) -> Floats | None:
        """Does not bend."""
        return None

    def loads(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> tuple[Load, ...]:
        """Loads unchanged."""
        return loads

    def load_entries(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> Sequence[LoadEntry]:
        """No dependence of the loads."""
        return ()
