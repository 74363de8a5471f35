"""Keep what matters where the model is used: selection by prediction.

An estimate x with covariance C predicts P x in the region of use.  Leaving parameter j out (held at zero, the others
refitted) changes x by -C_j x_j / C_jj, hence the prediction by -e_j t_j with

    e_j = P C_j / sqrt(C_jj)        what one standard deviation of j does in use, the others following,
    t_j = x_j / sqrt(C_jj),

and lowers the variance of the prediction by |e_j|^2.  With b the change accumulated so far, the estimated squared
error of prediction falls as long as

    |b + e_j t_j|^2 - |b|^2  <  kappa |e_j|^2,

kappa = 2 being the unbiased estimate (Mallows; the bias is estimated by |b|^2 less its own noise).  As the best of p
candidates is looked for, chance alone reaches 2 ln p (Foster and George's risk inflation), which is the default.  For
a single parameter that is t_j^2 < kappa, a bound on nu; but parameters whose effects in use cancel or add are judged
together, and whatever moves the prediction by less than a tolerance is left out however well it is known.
"Negligible" thus means: in use.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.selection import triangle

Floats = NDArray[np.float64]

LEAST_KAPPA = 4.0
"""Square of the usual lower bound of nu."""


@dataclass(frozen=True, eq=False)
class InUse:
    """What is kept for a use."""

    kept: tuple[int, ...]
    dropped: tuple[int, ...]
    """In the order in which they were left out."""
    values: Floats
    """(parameters,) refitted estimate, zero where dropped."""
    effect: Floats
    """(parameters,) root mean square change of the prediction when this one alone is left out of the full model."""
    error_full: float
    """Estimated root mean square error of prediction of the full model, in the unit of the prediction."""
    error_kept: float
    """The same of what was kept."""


def keep_for_use(
    values: Floats,
    covariance: Floats,
    use_rows: Floats,
    *,
    tolerance: float = 0.0,
    kappa: float | None = None,
    wanted: Collection[int] = (),
) -> InUse:
    """Backward elimination by prediction.

    ``use_rows`` (rows, parameters) is P; ``tolerance`` is a root mean square change of the prediction that nobody
    minds, in its unit; ``kappa`` how clear the evidence must be (default: 2 ln p, at least 4).  Those ``wanted`` are
    never left out.

    >>> found = keep_for_use(np.array([10.0, 0.5]), np.eye(2), np.eye(2))
    >>> found.kept, found.dropped, found.values.tolist()
    ((0,), (1,), [10.0, 0.0])
    """
    kappa = max(LEAST_KAPPA, 2.0 * float(np.log(max(len(values), 1)))) if kappa is None else kappa
    root = triangle(use_rows / np.sqrt(len(use_rows)))
    x, C = np.array(values, dtype=float), np.array(covariance, dtype=float)
    image = root @ C
    left, held = list(range(len(x))), frozenset(wanted)
    dropped: list[int] = []
    bias = np.zeros(root.shape[0])
    gained = 0.0
    effect = _changes(image, x, C, left)[0]
    nothing = 1e-12 * float(np.linalg.norm(root @ x)) + np.finfo(float).tiny
    while left:
        length, spread = _changes(image, x, C, left)
        std = np.sqrt(np.diag(C)[left])
        steps = image[:, left] / std * (x[left] / std)
        change = np.sum((bias[:, None] + steps) ** 2, axis=0) - bias @ bias
        gain = kappa * spread**2 - change
        small = length <= max(tolerance - float(np.linalg.norm(bias)), nothing)
        worth = np.where(small | (gain > 0.0), gain / np.maximum(spread, nothing) ** 2, -np.inf)
        worth[[i for i, j in enumerate(left) if j in held]] = -np.inf
        best = int(np.argmax(worth))
        if not np.isfinite(worth[best]):
            break
        j = left.pop(best)
        dropped.append(j)
        bias = bias + steps[:, best]
        gained += float(spread[best] ** 2)
        direction = C[:, j] / C[j, j]
        x = x - direction * x[j]
        image = image - np.outer(image[:, j], C[j] / C[j, j])
        C = C - np.outer(direction, C[j])
    x[dropped] = 0.0
    variance = float(np.sum(root @ np.asarray(covariance) * root))
    kept_error = max(float(bias @ bias) - gained, 0.0) + variance - gained
    return InUse(tuple(left), tuple(dropped), x, effect, variance**0.5, max(kept_error, 0.0) ** 0.5)


def _changes(image: Floats, x: Floats, C: Floats, left: list[int]) -> tuple[Floats, Floats]:
    """|e_j t_j| and |e_j| of the parameters left."""
    std = np.sqrt(np.diag(C)[left])
    spread = np.linalg.norm(image[:, left], axis=0) / std
    return spread * np.abs(x[left]) / std, spread
