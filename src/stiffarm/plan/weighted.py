"""The best weighted design: how much of all stops each should be, if parts of stops could be measured.

With weights w_i >= 0 that sum to 1, M(w) = M_0 + n sum w_i I_i.  The criterion is convex in w, so that what is found
is the best, and no plan of n stops is better than it: a plan is the special case of weights in steps of 1/n.  At the
best weights the gain d_i = tr(N I_i) is the same for every stop with weight and nowhere larger.

Few candidates: w_i = u_i^2 / sum u^2 is minimised without bounds.  Hundreds: each weight is multiplied by the root of
its gain over the mean one, which only ever improves (Titterington's rule), and what carries nothing is dropped first.
Thousands: some are weighed, and those of the others that gain most join them until none gains more than the mean, so
that all are gone through a few times only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from stiffarm.plan.criteria import Criterion, Judged
from stiffarm.plan.information import triangle
from stiffarm.plan.problem import Floats, Ints

MULTIPLIED = 60
FEW, SOME = 400, 2000
"""Most candidates for the minimisation by the roots of the weights, and for weighing all of them."""
JOINING, TURNS, CLOSE = 300, 12, 1e-3
"""Candidates that join in a turn; most turns; relative excess of the largest gain that is good enough."""
NOTHING = 1e-4
"""A weight under this share of the largest carries nothing."""


@dataclass(frozen=True, eq=False)
class Weighted:
    """A weighted design."""

    weight: Floats
    """(candidates,)"""
    value: float
    slope: Floats
    """N at it."""
    known: float
    """tr(N M_0)."""

    def support(self) -> Ints:
        """Candidates that carry weight, the heaviest first."""
        order = np.argsort(-self.weight, kind="stable")
        return np.asarray(order[self.weight[order] > NOTHING * self.weight.max()])


def screened(rows: Floats, n_matrix: Floats, chunk: int = 8192) -> Floats:
    """Gains (n,) of candidates with white rows (n, numbers, parameters)."""
    s, v = np.linalg.eigh(n_matrix)
    keep = s > 1e-14 * max(float(s[-1]), 1e-300)
    factor = v[:, keep] * np.sqrt(s[keep])
    out = np.empty(len(rows))
    p = rows.shape[2]
    for i in range(0, len(rows), chunk):
        seen = rows[i : i + chunk].reshape(-1, p) @ factor
        out[i : i + chunk] = (seen**2).reshape(-1, rows.shape[1] * factor.shape[1]).sum(axis=1)
    return out


def judged(rows: Floats, weight: Floats, known: Floats, experiments: int, criterion: Criterion) -> Judged:
    """The criterion of a weighted design."""
    k, numbers, p = rows.shape
    heavy = (rows * np.sqrt(experiments * weight)[:, None, None]).reshape(k * numbers, p)
    return criterion.judge(triangle(np.concatenate([known, heavy])))


def best_weights(
    rows: Floats, known: Floats, experiments: int, criterion: Criterion, start: Floats | None = None
) -> Weighted:
    """The best weights of candidates with white rows (candidates, numbers, parameters)."""
    count = len(rows)
    which = np.arange(count)
    weight = np.full(count, 1.0 / count) if start is None else start / start.sum()
    if count > SOME:
        which, weight = _joined(rows, known, experiments, criterion, weight)
    if len(which) > FEW:
        which, weight = _multiplied(rows, known, experiments, criterion, which, weight)
    weight = _by_roots(rows[which], weight, known, experiments, criterion)
    at = judged(rows[which], weight, known, experiments, criterion)
    full = np.zeros(count)
    full[which] = weight
    return Weighted(full, float(at.value), at.slope, float(np.sum((known @ at.slope) * known)))


def _multiplied(
    rows: Floats, known: Floats, experiments: int, criterion: Criterion, which: Ints, weight: Floats
) -> tuple[Ints, Floats]:
    """Candidates that are left, with their weights."""
    for _ in range(MULTIPLIED):
        at = judged(rows[which], weight, known, experiments, criterion)
        weight = weight * np.sqrt(screened(rows[which], at.slope))
        keep = weight > 1e-3 * weight.max() if len(which) > FEW else np.ones(len(which), dtype=bool)
        which, weight = which[keep], weight[keep] / weight[keep].sum()
    return which, weight


def _joined(rows: Floats, known: Floats, experiments: int, criterion: Criterion, weight: Floats) -> tuple[Ints, Floats]:
    """Candidates out of very many, with their weights."""
    count, size = len(rows), SOME
    while True:  # until those weighed tell everything
        even = np.linspace(0, count - 1, size, dtype=np.int64)
        which = np.unique(np.append(np.argsort(-weight, kind="stable")[:FEW], even))
        weight = np.full(len(which), 1.0 / len(which))
        if size >= count or np.isfinite(judged(rows[which], weight, known, experiments, criterion).value):
            break
        size = min(count, 4 * size)
    for _ in range(TURNS):
        which, weight = _multiplied(rows, known, experiments, criterion, which, weight)
        at = judged(rows[which], weight, known, experiments, criterion)
        gain = screened(rows, at.slope)
        if gain.max() <= (1.0 + CLOSE) * float(gain[which] @ weight):
            break
        gain[which] = 0.0
        new = np.argpartition(-gain, JOINING)[:JOINING]
        which = np.append(which, new)
        weight = np.append(weight, np.full(len(new), 0.2 / len(new)))
        weight /= weight.sum()
    return which, weight


def _by_roots(rows: Floats, start: Floats, known: Floats, experiments: int, criterion: Criterion) -> Floats:
    """Weights u^2 / sum u^2 by a quasi-Newton method."""

    def objective(u: Floats) -> tuple[float, Floats]:
        total = float(u @ u)
        w = u**2 / total
        at = judged(rows, w, known, experiments, criterion)
        by_w = -experiments * screened(rows, at.slope)
        by_u = 2.0 * u / total * (by_w - by_w @ w)
        return float(np.log(at.value)), by_u / float(at.value)

    u = np.sqrt(np.maximum(start, 1e-6 / len(start)))
    done = minimize(
        objective, u / np.linalg.norm(u), jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": 1e-9}
    )
    w: Floats = done.x**2
    return np.asarray(w / w.sum())
