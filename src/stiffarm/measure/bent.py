"""Readings of the bent arm: equilibria on true transforms in the place of first order.

A position is where the point stands at the equilibrium under everything that acts.  A deflection is the difference of
two equilibria, with the external loads and with the weights alone,

    d = p(W) - p(0),        dphi = log(R(W) R(0)'),        columns: those of p(W) minus those of p(0),

so that what the weights and the compensators have bent already, and the stiffness that loads themselves take away,
are in it.  First order at the commanded joints leaves out some thousandths of a deflection: little beside the
deflection, much beside what is left of it after compensation.  The derivative of dphi leaves out that R(W) R(0)' turns
the second column, which is the square of the deflection's angle.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Payload
from stiffarm.model.arm_model import Arm
from stiffarm.model.evaluate import Prediction
from stiffarm.model.loads import State
from stiffarm.model.rotations import vector_of
from stiffarm.model.statics import predict_exact, sensitivity_exact

Floats = NDArray[np.float64]


class Seen(Protocol):
    """What is asked of a group of readings."""

    @property
    def point(self) -> str:
        """Name of the point that is read."""

    @property
    def deflection(self) -> bool:
        """Whether it is a difference of two equilibria."""


def with_weights(arm: Arm, state: State, payload: Payload | None) -> State:
    """The external loads of a state and the weights of links, tool and payload."""
    bolted = None if payload is None else (payload.mass_kg, payload.com_m)
    return replace(state, loads=(*state.loads, *arm.weights(bolted)))


def without_pull(state: State) -> State:
    """The weights alone."""
    return replace(state, loads=tuple(load for load in state.loads if load.origin == "weight"))


def seen_exactly(arm: Arm, state: State, group: Seen) -> Prediction:
    """Where the point is; of deflections what the external loads do, weights at work before and after."""
    loaded = predict_exact(arm, state, group.point)
    return _difference(loaded, predict_exact(arm, without_pull(state), group.point)) if group.deflection else loaded


def columns_exactly(
    arm: Arm, state: State, group: Seen, names: Collection[str], *, rotation: bool
) -> tuple[Prediction, Floats]:
    """The same with derivatives (parameters, 3 or 6, n)."""
    loaded, columns = sensitivity_exact(arm, state, group.point, names, rotation)
    if not group.deflection:
        return loaded, columns
    bare, before = sensitivity_exact(arm, without_pull(state), group.point, names, rotation)
    return _difference(loaded, bare), columns - before


def _difference(loaded: Prediction, bare: Prediction) -> Prediction:
    turned = np.einsum("cin,cjn->jin", loaded.rotation, bare.rotation)
    return replace(
        loaded, deflection=loaded.position - bare.position, deflection_rotation=np.asarray(vector_of(turned))
    )
