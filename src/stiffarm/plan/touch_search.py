"""Which places to touch, and in which postures: greedy by place, then by exchange of touches and of places.

With a touch of a group of k taken away, m the mean row of the k - 1 that are left, adding the touch with rows B brings

    sqrt((k - 1) / k) (B - m)

to what the group says, so that exchanges need matrices of the size of one touch (`stiffarm.plan.exchange`).  A known
length between two places, of standard deviation s along the unit vector u, is the one row

    u' (mean B_1 - mean B_2) / sqrt(s^2 / sigma^2 + 1 / k_1 + 1 / k_2)

in units of the touches' sigma, for the points are as uncertain as the means of their touches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.plan.criteria import Criterion
from stiffarm.plan.exchange import after_adding
from stiffarm.plan.information import triangle
from stiffarm.plan.problem import Floats, Ints
from stiffarm.plan.touch_pool import TouchPool

PASSES, EXACT, TRIED = 3, 3, 3
"""Rounds of exchanges; touches worked out exactly; places tried in the place of one."""
LEAST_GAIN = 1e-6
FAINT = 1e-3
Groups = tuple[Ints, ...]
"""Touches of every group, of one place each."""


@dataclass(frozen=True, eq=False)
class KnownLength:
    """A length between the first two places that something else has measured."""

    sigma_m: float
    touch_sigma_m: float


@dataclass(frozen=True, eq=False)
class TouchProblem:
    """Touches to choose from and what they are judged by."""

    pool: TouchPool
    criterion: Criterion
    known: Floats
    """(rows, parameters) white rows of what is known before."""
    length: KnownLength | None = None

    @cached_property
    def centred(self) -> Floats:
        """(n, 3, parameters) rows less the mean of their place."""
        return self.pool.centred()

    def factor(self, groups: Groups) -> Floats:
        """The triangular factor R of all groups together."""
        return triangle(np.concatenate([self.known, *(self.scatter(one) for one in groups), *self.lengths(groups)]))

    def value(self, groups: Groups) -> float:
        """The criterion of a plan."""
        return float(self.criterion.judge(self.factor(groups)).value)

    def scatter(self, touches: Ints) -> Floats:
        """(3 k, parameters) what a group says once its point is taken out."""
        rows = self.pool.rows[touches]
        return (rows - rows.mean(axis=0)).reshape(-1, rows.shape[2]) if len(touches) else rows.reshape(0, rows.shape[2])

    def lengths(self, groups: Groups) -> tuple[Floats, ...]:
        """The row of the known length, when there is one."""
        if self.length is None or len(groups) < 2 or not (len(groups[0]) and len(groups[1])):
            return ()
        first, second = groups[0], groups[1]
        pool, known = self.pool, self.length
        away = pool.at_m[pool.place[first[0]]] - pool.at_m[pool.place[second[0]]]
        u = away / np.linalg.norm(away)
        spread = (known.sigma_m / known.touch_sigma_m) ** 2 + 1.0 / len(first) + 1.0 / len(second)
        row = u @ (pool.rows[first].mean(axis=0) - pool.rows[second].mean(axis=0)) / np.sqrt(spread)
        return (row[None],)


def shared_out(touches: int, points: int) -> Ints:
    """(points,) touches of each point, as evenly as possible.

    >>> shared_out(10, 3).tolist()
    [4, 3, 3]
    """
    few, more = divmod(touches, points)
    return np.full(points, few, dtype=np.int64) + (np.arange(points) < more)


def searched(
    problem: TouchProblem,
    counts: Ints,
    random: np.random.Generator,
    stop: Callable[[], bool] = lambda: False,
    starts: int = 1,
) -> tuple[Groups, float]:
    """The best groups found for so many touches of each point, with their value.

    The first of the ``starts`` is greedy, the others are drawn at random.
    """
    faint = _faintly(problem)
    best = _improved(problem, faint, _greedy(faint, counts), stop)
    for _ in range(starts - 1):
        if stop():
            break
        found = _improved(problem, faint, _drawn(problem, counts, random), stop)
        best = min(best, found, key=lambda one: one[1])
    return best


def _improved(
    problem: TouchProblem, faint: TouchProblem, groups: Groups, stop: Callable[[], bool]
) -> tuple[Groups, float]:
    """Exchanges of places and touches until none is better."""
    value = problem.value(groups)
    for _ in range(PASSES):
        before = value
        for at in range(len(groups)):
            if stop():
                return groups, value
            groups, value = _other_place(problem, faint, groups, at, value)
            groups, value = _other_touches(problem, groups, at, value)
        if not value < before * (1.0 - 1e-4):
            break
    return groups, value


def _drawn(problem: TouchProblem, counts: Ints, random: np.random.Generator) -> Groups:
    """Any touches of any places that have enough."""
    chosen: list[Ints] = []
    many = np.bincount(problem.pool.place)
    for count in counts.tolist():
        taken = [int(problem.pool.place[one[0]]) for one in chosen]
        place = int(random.choice(np.setdiff1d(np.flatnonzero(many >= count), taken)))
        chosen.append(random.choice(problem.pool.of(place), count, replace=False))
    return tuple(chosen)


def _faintly(problem: TouchProblem) -> TouchProblem:
    """The same beside a faint knowledge of everything, so that a part of a plan has a finite value."""
    size = problem.pool.rows.shape[2]
    typical = np.sqrt((problem.pool.centred() ** 2).sum(axis=(1, 2)).mean() / size)
    return replace(problem, known=np.concatenate([problem.known, FAINT * typical * np.eye(size)]))


def _greedy(faint: TouchProblem, counts: Ints) -> Groups:
    """Place after place the one whose best touches gain most."""
    alone = replace(faint, length=None)
    chosen: list[Ints] = []
    free = set(range(len(faint.pool.at_m)))
    for count in counts.tolist():
        offers = []
        for place in _first(alone, tuple(chosen), free):
            one = _spread(alone, tuple(chosen), place, count)
            offers += [(alone.value((*chosen, one)), place, one)] if len(one) else []
            if len(offers) == TRIED:
                break
        if not offers:
            raise InputError(
                Problem(
                    f"no place left can be touched in {count} different postures",
                    column="--experiments",
                    found=f"{sum(counts.tolist())} touches of {len(counts)} points",
                    allowed=f"at most {int(np.bincount(faint.pool.place).max())} of one point",
                    next_step="Touch more points (--points), or fewer times",
                )
            )
        _, place, touches = min(offers, key=lambda offer: offer[:2])
        chosen.append(touches)
        free.discard(place)
    return tuple(chosen)


def _first(faint: TouchProblem, groups: Groups, free: set[int]) -> list[int]:
    """Places in the order in which they promise most beside some groups."""
    slope = faint.criterion.smooth.judge(faint.factor(groups)).slope
    gain = np.einsum("nip,pq,niq->n", faint.centred, slope, faint.centred)
    total = np.bincount(faint.pool.place, gain) / np.bincount(faint.pool.place)
    return [place for place in np.argsort(-total, kind="stable").tolist() if place in free]


def _spread(problem: TouchProblem, others: Groups, place: int, count: int) -> Ints:
    """Touches of a place that gain most beside the other groups, one after the other; fewer than asked where it has
    fewer."""
    mine = problem.pool.of(place)
    if len(mine) < count:
        return np.zeros(0, dtype=np.int64)
    rest = problem.factor(others)
    start = mine[:1]
    while len(start) < count:
        left = np.setdiff1d(mine, start)
        grown = triangle(np.concatenate([rest, problem.scatter(start)]))
        start = np.append(start, left[int(np.argmin(after_adding(grown, _joining(problem, start, left),
                                                                 problem.criterion)))])  # fmt: skip
    return start


def _joining(problem: TouchProblem, group: Ints, others: Ints) -> Floats:
    """(others, 3, parameters) what each brings to a group."""
    k = len(group) + 1
    return np.asarray(np.sqrt((k - 1) / k) * (problem.pool.rows[others] - problem.pool.rows[group].mean(axis=0)))


def _other_place(
    problem: TouchProblem, faint: TouchProblem, groups: Groups, at: int, value: float
) -> tuple[Groups, float]:
    """The group at another place, when one of the most promising is better."""
    rest = tuple(one for i, one in enumerate(groups) if i != at)
    taken = {int(faint.pool.place[one[0]]) for one in groups}
    for place in _first(faint, groups, set(range(len(faint.pool.at_m))) - taken)[:TRIED]:
        offer = _spread(faint, rest, place, len(groups[at]))
        if not len(offer):
            continue
        trial = (*groups[:at], offer, *groups[at + 1 :])
        found = problem.value(trial)
        if found < value * (1.0 - LEAST_GAIN):
            return trial, found
    return groups, value


def _other_touches(problem: TouchProblem, groups: Groups, at: int, value: float) -> tuple[Groups, float]:
    """The group with single touches exchanged for better ones of the same place."""
    place = int(problem.pool.place[groups[at][0]])
    for slot in range(len(groups[at])):
        group = groups[at]
        left = np.delete(group, slot)
        others = np.setdiff1d(problem.pool.of(place), group)
        if not len(left) or not len(others):
            continue
        rest = problem.factor((*groups[:at], left, *groups[at + 1 :]))
        gains = after_adding(rest, _joining(problem, left, others), problem.criterion)
        for one in others[np.argsort(gains, kind="stable")[:EXACT]]:
            trial = (*groups[:at], np.insert(left, slot, one), *groups[at + 1 :])
            found = problem.value(trial)
            if found < value * (1.0 - LEAST_GAIN):
                groups, value = trial, found
                break
    return groups, value
