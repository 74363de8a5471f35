"""The certificate: a value that no plan of the same size gets under.

Let phi be convex in the information, as all certified criteria are (`stiffarm.plan.criteria`), and let M be that of
any design, best the best weighted one.  A plan of n stops has M* = M_0 + sum of n I(q_i), so that with N the slope

    tr(N M*) <= tr(N M_0) + n max over q of d(q),        d(q) = tr(N I(q))

and the criterion's bound with that gain is one for every plan.  The attachment point of a cable is among what the
maximum runs over.  For test poses this is sqrt(psi^2/max d) with d = tr(A G A'), G = M^-1 W M^-1.

It is a numerical certificate and not a rigorous one: the maximum is looked for from many starting points, in the end
from fresh ones under another seed, with exact gradients, and a maximum missed would make the bound too high.

The weighted design is found by turns: weights for the stops known so far, then the stops of largest gain anywhere
for the slope at these weights, until no gain is larger than what the design already has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stiffarm.plan.candidates import Pool, sobol_stops
from stiffarm.plan.criteria import Criterion
from stiffarm.plan.problem import Certificate, Floats, Ints, Stops
from stiffarm.plan.refine import Refiner
from stiffarm.plan.weighted import Weighted, best_weights, screened

ROUNDS = 14
CLOSE = 2e-3
"""Relative gap at which the weighted design is good enough."""
CLIMBERS, CLIMB_STEPS = 48, 14
FRESH, FRESH_STEPS = 160, 40
MOST_STOPS = 220


@dataclass(frozen=True, eq=False)
class Design:
    """The best weighted design found."""

    stops: Stops
    rows: Floats
    weighted: Weighted
    bound: float
    criterion: Criterion

    @property
    def support(self) -> Ints:
        """Stops that carry weight, heaviest first."""
        return self.weighted.support()


def best_design(
    refiner: Refiner, pool: Pool, experiments: int, random: np.random.Generator, stop: Callable[[], bool],
    *, fixed: bool = False,
) -> Design:  # fmt: skip
    """The best weighted design; ``fixed`` when only the candidates of the pool are allowed."""
    criterion, known = refiner.criterion.smooth, refiner.information.known
    first = best_weights(pool.rows, known, experiments, criterion)
    keep = first.support()[:MOST_STOPS]
    stops, rows, weight = pool.stops.take(keep), pool.rows[keep], first.weight[keep]
    best, found, wide = 0.0, first, False
    for turn in range(1 if fixed else ROUNDS):
        found = best_weights(rows, known, experiments, criterion, weight)
        heavy = found.support()
        if fixed:
            gain = float(screened(pool.rows, found.slope).max())
            best = criterion.bound(found.value, found.slope, found.known + experiments * gain)
            break
        starts = _starts(refiner, pool, stops.take(heavy), found.slope, random, wide)
        climbed, gains = refiner.climb(starts, found.slope, FRESH_STEPS if wide else CLIMB_STEPS, stop)
        best = criterion.bound(found.value, found.slope, found.known + experiments * float(gains.max()))
        close = best >= found.value * (1.0 - CLOSE)
        if stop() or (close and wide) or turn == ROUNDS - 1:
            break
        wide = close  # what looks like the end is believed once a search from everywhere finds nothing more
        new = _distinct(refiner, climbed, gains)
        stops = stops.take(heavy).join(climbed.take(new))
        rows = np.concatenate([rows[heavy], refiner.information.rows(climbed.take(new))])
        weight = np.concatenate([found.weight[heavy], np.full(len(new), 0.2 / max(1, len(new)))])
    return Design(stops, rows, found, best, criterion)


def _starts(refiner: Refiner, pool: Pool, own: Stops, slope: Floats, random: np.random.Generator, wide: bool) -> Stops:
    """Where to look for larger gains: the design's stops, the candidates of largest gains, and others by chance."""
    far = np.argsort(-screened(pool.rows, slope), kind="stable")[:CLIMBERS]
    if wide:
        fresh = sobol_stops(refiner.space, FRESH, int(random.integers(2**31)), pool.held_values)
        return own.join(pool.stops.take(far), fresh)
    some = random.choice(len(pool.stops), min(CLIMBERS // 2, len(pool.stops)), replace=False)
    return own.join(pool.stops.take(np.concatenate([far, some])))


def _distinct(refiner: Refiner, stops: Stops, gains: Floats, apart: float = 0.02) -> Ints:
    """The best of those that climbed to the same place, the best first."""
    x = refiner.space.pack(stops)
    kept: list[int] = []
    for i in np.argsort(-gains, kind="stable"):
        if gains[i] < 0.6 * gains.max():
            break
        if all(np.abs(x[i] - x[j]).max() > apart for j in kept):
            kept.append(int(i))
        if len(kept) >= MOST_STOPS // 3:
            break
    return np.array(kept, dtype=np.int64)


def certificate(
    refiner: Refiner, design: Design, value: float, experiments: int, seed: int, stop: Callable[[], bool],
    pool: Pool, *, fixed: bool = False,
) -> Certificate | None:  # fmt: skip
    """The bound with the maximum searched afresh; None for criteria that have none."""
    if not refiner.criterion.certified:
        return None
    slope, at = design.weighted.slope, design.weighted
    support = design.support
    if fixed:
        gain, starts = float(screened(pool.rows, slope).max()), len(pool.stops)
    else:
        fresh = sobol_stops(refiner.space, FRESH, seed, pool.held_values)
        begin = fresh.join(design.stops.take(support))
        best = np.argsort(-screened(pool.rows, slope), kind="stable")[:CLIMBERS]
        begin = begin.join(pool.stops.take(best))
        gain, starts = float(refiner.climb(begin, slope, FRESH_STEPS, stop)[1].max()), len(begin)
    bound = min(design.criterion.bound(at.value, slope, at.known + experiments * gain), value)
    return Certificate(bound, bound / value, len(support), starts, seed)
