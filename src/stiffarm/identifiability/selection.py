"""Which columns of a design can be told apart, kept in an order of preference.

Rows are whitened and columns scaled to unit length by the caller or here.  Columns are taken one after the other;
what of a column is left after removing the span of those kept before is its *rest*.  A column that is zero moves
nothing (it cannot be seen at all).  A column whose rest is rounding depends on earlier ones: it is not kept, and its
coefficients over the kept ones say what it is merged with,

    a_j = sum over kept i of c_ij a_i      so      x_i (found) = x_i + c_ij x_j.

The dividing line between a small rest and rounding is the widest gap in the sorted rests, not a fixed number.

Beside noise a column may be independent and still useless: with rows whitened, 1/(rest of the unscaled column) is the
standard deviation its parameter would have if all later ones were known.  Where that exceeds what the parameter
could be at all (``plausible``), the readings do not tell it, and keeping it only lets a fit wander.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ZERO_COLUMN = 1e-12
"""A column shorter than this, relative to what its parameter's scale moves at most, is zero."""
ROUNDING = 1e-9
"""Rests below this are candidates for rounding."""
SMALL = 1e-4
"""Rests above this are never taken for rounding."""


@dataclass(frozen=True, eq=False)
class Dependence:
    """A column that follows from kept ones."""

    column: int
    on: tuple[int, ...]
    """Kept columns it is a combination of."""
    coefficients: tuple[float, ...]
    """Original units: column = sum coefficient * kept column."""
    sigma: float = np.inf
    """Standard deviation it would have if kept, in units of its parameter; inf when exactly dependent."""


@dataclass(frozen=True, eq=False)
class Selection:
    """Columns kept, dependent and unseen."""

    kept: tuple[int, ...]
    dependent: tuple[Dependence, ...]
    unseen: tuple[int, ...]
    gap: float
    """Smallest rest kept over largest rest dropped (over rounding when none was dropped)."""


def triangle(rows: Floats) -> Floats:
    """R factor: the same column geometry in as few rows as there are columns."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if rows.shape[0] > rows.shape[1] else rows


def select_columns(
    rows: Floats, priority: Sequence[int], *, reference: Floats | None = None, plausible: Floats | None = None
) -> Selection:
    """Keep a largest independent set of columns, earlier ones of ``priority`` first.

    ``rows`` are whitened; ``reference`` gives, per column, the length under which it counts as zero times
    `ZERO_COLUMN` (default: the longest column); ``plausible`` the largest standard deviation worth keeping.

    >>> chosen = select_columns(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 0.0]]), [0, 1, 2])
    >>> chosen.kept, chosen.dependent[0].on, chosen.unseen
    ((0,), (0,), (2,))
    """
    r = triangle(np.asarray(rows, dtype=float))
    length = np.linalg.norm(r, axis=0)
    limit = ZERO_COLUMN * (np.full(len(length), length.max(initial=0.0)) if reference is None else reference)
    seen = length > limit
    unit = r / np.where(seen, length, 1.0)
    order = [j for j in priority if seen[j]]
    rest = _rests(unit, order)
    border = _border(rest)
    kept = [j for j, left in zip(order, rest, strict=True) if left > border]
    factor: Floats | None = None
    least = np.zeros(len(length)) if plausible is None else 1.0 / (plausible * np.where(seen, length, 1.0))
    useless = any(left <= least[j] for j, left in zip(order, rest, strict=True))
    if len(kept) < len(order) or useless:  # rests after a dropped one were taken against it: once more without it
        kept, rest, factor = _one_by_one(unit, order, rest, np.maximum(border, least))
    rest_of = dict(zip(order, rest, strict=True))
    if plausible is not None:
        kept, weak = _without_weak(r, kept, plausible, factor)
        rest_of |= {j: 1.0 / (sigma * length[j]) for j, sigma in weak.items()}
        factor = None if weak else factor
    dropped = [j for j in order if j not in set(kept)]
    small = [rest_of[j] for j in dropped if rest_of[j] <= border]
    large = [left for j, left in zip(order, rest, strict=True) if j in set(kept)]
    gap = min(large, default=1.0) / max([*small, 1e-16])
    return Selection(
        tuple(kept),
        _dependences(unit, length, kept, {j: rest_of[j] if rest_of[j] > border else 0.0 for j in dropped}, factor),
        tuple(int(j) for j in np.flatnonzero(~seen)),
        float(gap),
    )


def _rests(unit: Floats, order: Sequence[int]) -> list[float]:
    """Length of each column outside the span of all before it."""
    if not order:
        return []
    ordered = unit[:, list(order)]
    factor = np.asarray(np.linalg.qr(ordered, mode="r")) if np.tril(ordered, -1).any() else ordered
    rests = np.zeros(len(order))
    rests[: factor.shape[0]] = np.abs(np.diag(factor))
    return [float(x) for x in rests]


def _one_by_one(
    unit: Floats, order: Sequence[int], rests: Sequence[float], border: Floats
) -> tuple[list[int], list[float], Floats | None]:
    """Columns taken one after the other, those under their border left out, with the rest of each.

    The third is the triangle of the kept columns and, behind them, the others, when it was made.

    What stood out against all before it is guessed to be kept.  With the kept columns first and the others behind
    them, one triangle has the rest of every column against the kept ones before it; when all are on the side of the
    border that was guessed, so is the choice.  Otherwise the columns are gone through.
    """
    kept = [j for j, rest in zip(order, rests, strict=True) if rest > border[j]]
    if len(kept) > unit.shape[0]:
        return *_greedy(unit, order, border), None
    chosen = set(kept)
    left_out = [j for j in order if j not in chosen]
    factor = np.asarray(np.linalg.qr(unit[:, [*kept, *left_out]], mode="r"))
    found: dict[int, float] = {j: abs(float(factor[i, i])) for i, j in enumerate(kept)}
    before = np.cumsum([j in chosen for j in order])
    at = {j: int(n) for j, n in zip(order, before, strict=True)}
    for i, j in enumerate(left_out, start=len(kept)):
        found[j] = float(np.linalg.norm(factor[at[j] :, i]))
    if any((found[j] > border[j]) != (j in chosen) for j in order):
        return *_greedy(unit, order, border), None
    return kept, [found[j] for j in order], factor


def _greedy(unit: Floats, order: Sequence[int], border: Floats) -> tuple[list[int], list[float]]:
    """Gram-Schmidt with a second pass, leaving out columns whose rest is under their border."""
    basis = np.zeros((unit.shape[0], 0))
    kept: list[int] = []
    rests: list[float] = []
    for j in order:
        rest = unit[:, j] - basis @ (basis.T @ unit[:, j])
        rest -= basis @ (basis.T @ rest)
        size = float(np.linalg.norm(rest))
        rests.append(size)
        if size > border[j] and basis.shape[1] < unit.shape[0]:
            basis = np.column_stack([basis, rest / size])
            kept.append(j)
    return kept, rests


def _without_weak(
    r: Floats, kept: list[int], plausible: Floats, factor: Floats | None
) -> tuple[list[int], dict[int, float]]:
    """Kept columns less those that make a standard deviation implausible, the least wanted of each weak direction.

    The standard deviations of all kept together are the row norms of R^-1; while one is implausible, the weakest
    direction of the scaled triangle is found and the last column of the order that has a real share in it goes.
    """
    weak: dict[int, float] = {}
    kept = list(kept)
    while kept:
        scaled = r[:, kept] * np.where(np.isfinite(plausible[kept]), plausible[kept], 1.0)
        length, n = np.linalg.norm(scaled, axis=0), len(kept)
        # the triangle of columns of unit length is the same whatever they were scaled by
        own = np.linalg.qr(scaled / length, mode="r") if factor is None or weak else factor[:n, :n]
        inverse = np.linalg.inv(own) / length[:, None]
        sigma = np.linalg.norm(inverse, axis=1)
        bounded = np.isfinite(plausible[kept])
        worst = int(np.argmax(np.where(bounded, sigma, 0.0)))
        if not bounded[worst] or sigma[worst] <= 1.0:
            break
        share = np.abs(inverse @ inverse[worst]) / (sigma * sigma[worst])
        candidates = [i for i in range(len(kept)) if bounded[i] and share[i] > 0.9]
        last = candidates[-1]
        weak[kept[last]] = float(sigma[last] * plausible[kept[last]])
        del kept[last]
    return kept, weak


def _border(rests: Sequence[float]) -> float:
    """The dividing line: geometric middle of the widest gap that ends below `SMALL`."""
    values = np.sort(np.maximum(np.array([*rests, 1.0]), 1e-17))
    if values[0] > ROUNDING:
        return ROUNDING
    ratio = values[1:] / values[:-1]
    ratio[values[:-1] > ROUNDING] = 0.0
    ratio[values[1:] < ROUNDING * 1e-3] = 0.0
    at = int(np.argmax(ratio))
    return float(min(np.sqrt(values[at] * values[at + 1]), SMALL))


def _dependences(
    unit: Floats, length: Floats, kept: Sequence[int], rests: Mapping[int, float], factor: Floats | None
) -> tuple[Dependence, ...]:
    """What each dropped column, with its rest, is a combination of."""
    if not rests:
        return ()
    dropped = list(rests)
    if factor is None:
        factor = np.asarray(np.linalg.qr(unit[:, [*kept, *dropped]], mode="r"))
    n = len(kept)
    found = np.linalg.solve(factor[:n, :n], factor[:n, n:]).T
    rest = np.array(list(rests.values()))
    big = np.abs(found) > np.where(rest > 0.0, 0.05, 1e-6)[:, None]
    scaled = found * length[dropped][:, None] / length[kept]
    sigma = np.divide(1.0, rest * length[dropped], out=np.full(len(rest), np.inf), where=rest > 0.0)
    return tuple(
        Dependence(j, tuple(compress(kept, some)), tuple(compress(numbers, some)), least)
        for j, some, numbers, least in zip(dropped, big.tolist(), scaled.tolist(), sigma.tolist(), strict=True)
    )
