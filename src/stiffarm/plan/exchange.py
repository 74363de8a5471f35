"""Choosing stops out of candidates: greedy, then by exchange, with updates of low rank.

The rows of all stops but one make a triangular factor R; in its units a candidate's rows are B = A R^-1, and adding
it makes I + B'B of the unit matrix.  So the value after an exchange needs matrices of the size of one stop's numbers:

    accuracy        |L R^-1|^2 - tr( (I + BB')^-1 B (L R^-1)'(L R^-1) B' )
    determinant     det R^2 det(I + BB')

and other criteria the singular values of R with the rows added.  First-order gains tell which candidates are worth
it; only the most promising are worked out.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stiffarm.plan.criteria import Accuracy, Criterion, Determinant, inverses
from stiffarm.plan.information import triangle
from stiffarm.plan.problem import Floats, Ints
from stiffarm.plan.weighted import screened

SHORTLIST = 192
PASSES = 6
LEAST_GAIN = 1e-6
Allowed = Callable[[Ints, int], Floats]
"""(chosen without one, its place) -> (candidates,) which may stand there."""


def after_adding(r: Floats, rows: Floats, criterion: Criterion) -> Floats:
    """Values (n,) of the factor ``r`` with the rows (n, numbers, parameters) of each candidate added."""
    if isinstance(criterion, Accuracy | Determinant):
        inverse, ok = inverses(r)
        if ok:
            b = rows @ inverse
            inner = np.eye(b.shape[1]) + b @ b.transpose(0, 2, 1)
            if isinstance(criterion, Determinant):
                grown = np.linalg.slogdet(inner)[1]
                return np.asarray(float(criterion.judge(r).value) * np.exp(-grown / (2.0 * r.shape[0])))
            x = criterion.target @ inverse
            seen = b @ x.T
            less = np.einsum("nij,nij->n", seen, np.linalg.solve(inner, seen))
            return np.asarray(np.sqrt(np.maximum((x**2).sum() - less, 0.0)))
    stacked = np.concatenate([np.broadcast_to(r, (len(rows), *r.shape)), rows], axis=1)
    return criterion.judge(triangle(stacked)).value


def exchange(
    rows: Floats,
    known: Floats,
    repeats: Ints,
    criterion: Criterion,
    start: Ints,
    *,
    allowed: Allowed | None = None,
    passes: int = PASSES,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Ints, float]:
    """Improve a choice (one candidate a place) until no exchange of one place improves it; with its value."""
    chosen, root = np.array(start), np.sqrt(repeats.astype(float))
    value = float(criterion.judge(_factor(rows, known, chosen, root)).value)
    for _ in range(passes):
        before = value
        for place in range(len(chosen)):
            if stop():
                return chosen, value
            others = np.delete(np.arange(len(chosen)), place)
            rest = _factor(rows, known, chosen[others], root[others])
            shortlist = _promising(rows, known, chosen, root, place, criterion, allowed)
            values = after_adding(rest, root[place] * rows[shortlist], criterion)
            best = int(np.argmin(values))
            if values[best] < value * (1.0 - LEAST_GAIN):
                chosen[place], value = shortlist[best], float(values[best])
        if not value < before * (1.0 - 1e-4):
            break
    return chosen, value


def _factor(rows: Floats, known: Floats, chosen: Ints, root: Floats) -> Floats:
    stacked = (rows[chosen] * root[:, None, None]).reshape(-1, rows.shape[2])
    return triangle(np.concatenate([known, stacked]))


def _promising(
    rows: Floats, known: Floats, chosen: Ints, root: Floats, place: int, criterion: Criterion, allowed: Allowed | None
) -> Ints:
    """The candidates of the largest gains for the whole choice and for the choice without this place."""
    others = np.delete(np.arange(len(chosen)), place)
    half = root.copy()
    half[place] *= np.sqrt(0.3)  # so that what only this stop tells is still wanted, and finite
    slope = criterion.judge(_factor(rows, known, chosen, half)).slope
    gain = screened(rows, slope)
    gain[chosen[others]] = -1.0
    if allowed is not None:
        gain = np.where(allowed(chosen[others], place), gain, -1.0)
    count = min(SHORTLIST, len(gain))
    top = np.argpartition(-gain, count - 1)[:count]
    top = top[gain[top] >= 0.0]
    return np.asarray(np.append(top, chosen[place]))


def greedy(
    rows: Floats, known: Floats, repeats: Ints, criterion: Criterion, random: np.random.Generator,
    allowed: Allowed | None = None, first: Floats | None = None,
) -> Ints:  # fmt: skip
    """A first choice: each place the candidate that gains most beside a faint knowledge of everything.

    ``first`` (candidates,) are weights with which the places are drawn instead.
    """
    count, p = len(rows), rows.shape[2]
    chosen: list[int] = []
    faint = np.concatenate([known, 1e-3 * np.eye(p) * np.sqrt((rows**2).sum(axis=(1, 2)).mean() / p)])
    for place in range(len(repeats)):
        may = np.ones(count, dtype=bool) if allowed is None else allowed(np.array(chosen, dtype=np.int64), place)
        if first is not None and (first * may).any():
            weight = first * may
            chosen.append(int(random.choice(count, p=weight / weight.sum())))
            continue
        taken = np.array(chosen, dtype=np.int64)
        factor = _factor(rows, faint, taken, np.sqrt(repeats[:place].astype(float)))
        slope = criterion.smooth.judge(factor).slope
        gain = np.where(may, screened(rows, slope), -1.0)
        gain[taken] = -1.0
        chosen.append(int(np.argmax(gain)))
    return np.array(chosen, dtype=np.int64)
