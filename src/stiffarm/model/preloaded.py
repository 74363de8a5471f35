"""Deflections of an arm that its weights and compensators have bent already.

A deflection is a difference of two equilibria, with the external wrench W and without.  With p(x) the place of a point
at the equilibrium under weights, compensators and the share x of W (`stiffarm.model.statics`),

    p(1) - p(0) = p'(x) + (1/2 - x) p'' + ...,          p'(x) = J (I - k T)^-1 k tau,

J being the columns of the elastic axes at that equilibrium, k their tangent compliances (compensators' stiffness
included, at the angles the joints really have), T what moving the arm does to the loads (its geometric stiffness, sign
reversed), tau what the axes feel of W.  At x = 0 this is linear in W and holds everything of the weights; left out is
the geometric stiffness of W itself.  Half the way, x = 1/2, that is in it too, and what is left is of third order.
First order at the commanded angles (`stiffarm.model.evaluate`) has T = 0 and misses weight * lever / stiffness of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import chunks
from stiffarm.model.loads import Load, State
from stiffarm.model.stages import FINE
from stiffarm.model.statics import PAIRS_CHUNK, StiffColumns, equilibrium

Floats = NDArray[np.float64]


def preloaded_deflection(arm: Arm, state: State, point: str, *, share: float = 0.5) -> Floats:
    """Displacement and rotation (6, n) of a named point under the external loads of a state, its weights at work.

    m and rad, world frame; the rotation is that of the tool.  ``share`` of the external loads is at work where the
    tangent is taken; 0 makes the deflection linear in them.  Raises `InputError` where the arm does not stand.
    """
    loads = tuple(load if load.origin == "weight" else scaled(load, share) for load in state.loads)
    hanging = equilibrium(arm.exact, replace(state, loads=loads))
    hanging.require()
    out = np.zeros((6, len(state)))
    for rows in chunks(len(state), PAIRS_CHUNK):
        posture = hanging.posture(rows)
        if not posture.unbent.size:
            continue
        chain = posture.unbent.arm.chain
        full = state.part(rows).loads
        for effect in arm.model.effects:
            full = effect.loads(chain, arm.values, full)
        external = [load for load in full if load.origin == "external"]
        columns = StiffColumns(posture, posture.point(chain.point(point)), FINE * chain.points["tool"].order)
        out[:, rows] = columns.moved(posture.torque_of(external)[:, None])[0]
    return out


def scaled(load: Load, factor: float) -> Load:
    """A load times a factor."""
    torque = load.torque_world
    return replace(
        load, force_world=factor * load.force_world, torque_world=None if torque is None else factor * torque
    )
