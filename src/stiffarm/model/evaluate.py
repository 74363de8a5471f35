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

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.chunk import Chunk, Prediction
from stiffarm.model.derivatives import Derivatives
from stiffarm.model.kernel import CHUNK, chunks
from stiffarm.model.loads import State

__all__ = ["Prediction", "elastic_columns", "predict", "sensitivity"]

Floats = NDArray[np.float64]


def predict(arm: Arm, state: State, point: str) -> Prediction:
    """Position, deflection and tool orientation at a named point for every configuration of a state."""
    return _joined([Chunk(arm, state.part(rows), point).prediction() for rows in chunks(len(state))])


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
        part = Chunk(arm, state.part(rows), point)
        predictions.append(part.prediction())
        turns = columns[:, 3:, rows] if rotation else None
        Derivatives(part, deflection=deflection).fill(order, columns[:, :3, rows], turns)
    return _joined(predictions), columns


def elastic_columns(arm: Arm, state: State, point: str, names: Collection[str]) -> Floats:
    """Only the derivatives (parameters, 3, n) of a deflection by elastic parameters, at the arm's geometry.

    A parameter that is not elastic gets zeros.
    """
    order = {name: i for i, name in enumerate(names)}
    columns = np.zeros((len(order), 3, len(state)))
    for rows in chunks(len(state)):
        Derivatives(Chunk(arm, state.part(rows), point)).fill_elastic(order, columns[:, :, rows])
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
