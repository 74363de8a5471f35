"""What a 6x6 compliance in a file must satisfy: its template's zeros, symmetry, and no energy from nothing.

A load w is answered by the displacement k w and stores w' k w / 2, which no real part gives back with
interest: k must be positive semidefinite (its symmetric part, for the template ``full``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.robot.arm import Matrix6
from stiffarm.robot.values import refusal

# Off-diagonal elements of a beam along x: bending in its two planes couples deflection and rotation.
_BEAM = frozenset({(1, 5), (5, 1), (2, 4), (4, 2)})
_SYMMETRY = 1e-9
_ROUNDING = 1e-6
"""Files carry six digits: correlations may exceed 1, and eigenvalues fall below 0, by this much."""

Matrix = NDArray[np.float64]


def check_compliance(compliance: Matrix6, template: str) -> None:
    """Refuse a compliance that contradicts its template or would return energy."""
    k = np.array(compliance)
    _check_zeros(k, template)
    if template != "full":
        _check_symmetry(k, template)
    negative = np.flatnonzero(np.diag(k) < 0.0)
    if negative.size:
        i = int(negative[0])
        _refuse(f"the diagonal element {i + 1},{i + 1} of a compliance is negative", k, i, i, "0 or more")
    if not _positive_semidefinite(k):
        raise refusal(
            "the compliance is not positive semidefinite: some load would be answered by a motion against it",
            "a matrix without negative eigenvalues",
            "Check the signs and sizes of the off-diagonal elements",
            at=("compliance",),
        )


def _refuse(what: str, k: Matrix, i: int, j: int, allowed: str, next_step: str | None = None) -> None:
    raise refusal(what, allowed, next_step, at=("compliance", i, j), found=str(k[i, j]))


def _check_zeros(k: Matrix, template: str) -> None:
    if template in ("full", "symmetric"):
        return
    elements = "the diagonal and elements 2,6 3,5 5,3 6,2" if template == "beam" else "the diagonal"
    for i, j in np.argwhere(k != 0.0):
        if i != j and not (template == "beam" and (i, j) in _BEAM):
            what = f"element {i + 1},{j + 1} is outside the template '{template}'"
            _refuse(what, k, int(i), int(j), f"only {elements}", 'Use template = "symmetric" for a general matrix')


def _check_symmetry(k: Matrix, template: str) -> None:
    unlike = np.abs(k - k.T) > _SYMMETRY * np.maximum(np.abs(k), np.abs(k.T))
    for i, j in np.argwhere(np.tril(unlike))[:1]:
        what = f"the compliance is not symmetric: element {i + 1},{j + 1} differs from {j + 1},{i + 1}"
        step = None if template == "beam" else 'Use template = "full" if it is meant so'
        _refuse(what, k, int(i), int(j), f"{k[j, i]!s}, as in {j + 1},{i + 1}", step)


def _positive_semidefinite(k: Matrix) -> bool:
    """Judged on the correlation form, in which m/N and rad/(N m) weigh alike."""
    root = np.sqrt(np.diag(k))
    symmetric = 0.5 * (k + k.T)
    if np.any(np.abs(symmetric) > (1.0 + _ROUNDING) * root[:, None] * root[None, :]):
        return False
    scale = 1.0 / np.where(root > 0.0, root, 1.0)
    smallest = float(np.linalg.eigvalsh(symmetric * scale[:, None] * scale[None, :])[0])
    return smallest >= -_ROUNDING
