"""How a point of the loaded arm gives way to a further small wrench at that point.

A wrench w (force at the point, couple on what carries it) loads the elastic axes by J^T w; they follow by
(I - k T)^-1 k J^T w at the equilibrium, and the point by

    C = J (I - k T)^-1 k J^T        (6x6, compliance: x y z rx ry rz in the world)

so k may be singular.  The stiffness is C^-1 and exists only where the arm gives way in all six directions.

Where the wrench acts at a point h and the motion is that of another point p, C = J_p (I - k T)^-1 k J_h^T.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.model.arm_model import Arm
from stiffarm.model.chain import AXES
from stiffarm.model.equilibrium import Equilibrium, equilibrium
from stiffarm.model.kernel import chunks
from stiffarm.model.loads import State
from stiffarm.model.stages import reach
from stiffarm.model.statics import PAIRS_CHUNK, StiffColumns

Floats = NDArray[np.float64]

SINGULAR = 1e-12
"""Ratio of the smallest to the largest compliance (turns as lengths at the arm's reach) from which none is said."""


def cartesian_compliance(
    arm: Arm, state: State, point: str, *, pulled: str | None = None, found: Equilibrium | None = None
) -> Floats:
    """Compliance (6, 6, n) of a named point at equilibrium, world axes through the point.

    Row: x y z (m) rx ry rz (rad) of the point and of the body that carries it; column: force (N), couple (N m) at the
    point itself or at another one, ``pulled``.
    Raises `InputError` where there is no equilibrium; with ``found`` such configurations are NaN instead.
    """
    if found is None:
        found = equilibrium(arm, state)
        found.require()
    out = np.full((6, 6, len(state)), np.nan)
    for rows in chunks(len(state), PAIRS_CHUNK):
        posture = found.posture(rows)
        here = posture.point(arm.chain.point(point))
        columns = StiffColumns(posture, here, here.order)
        # columns of C: what follows unit loads along each of the six directions
        felt = columns.plain if pulled is None else columns.plain_at(posture.point(arm.chain.point(pulled)))
        out[..., rows] = np.swapaxes(columns.moved(felt), 0, 1)
    out[..., ~found.reached] = np.nan
    return out


def cartesian_stiffness(arm: Arm, state: State, point: str, *, found: Equilibrium | None = None) -> Floats:
    """Stiffness (6, 6, n), the inverse of `cartesian_compliance`: N/m, N/rad, N m/m, N m/rad.

    Raises `InputError` where the arm is rigid in some direction.
    """
    compliance = cartesian_compliance(arm, state, point, found=found)
    lever = np.array([1.0] * 3 + [reach(arm.chain)] * 3)
    scaled = np.moveaxis(compliance, -1, 0) * lever[:, None] * lever[None, :]
    answered = np.isfinite(scaled).all(axis=(1, 2))
    _check_soft(scaled, answered)
    out = np.full_like(scaled, np.nan)
    out[answered] = np.linalg.inv(scaled[answered]) * lever[:, None] * lever[None, :]
    return np.ascontiguousarray(np.moveaxis(out, 0, -1))


def _check_soft(scaled: Floats, answered: NDArray[np.bool_]) -> None:
    rigid = np.zeros(len(scaled), dtype=bool)
    left, values, _ = np.linalg.svd(scaled[answered])
    rigid[answered] = values[:, -1] <= SINGULAR * values[:, 0]
    if rigid.any():
        first = int(np.flatnonzero(rigid)[0])
        stiff = left[int(np.count_nonzero(answered[:first])), :, -1]
        raise InputError(
            Problem(
                "the arm is rigid in some direction, so its stiffness there is infinite",
                found=f"configuration {first + 1}, mostly along {AXES[int(np.argmax(np.abs(stiff)))]}",
                next_step="Ask for the compliance instead (--cartesian compliance), or give every link a compliance",
            )
        )
