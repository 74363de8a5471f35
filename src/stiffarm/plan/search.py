"""The search for a plan: candidates, the best weighted design, choices out of it, and refinement.

    1  candidates spread over everything that is allowed
    2  the best weighted design (`stiffarm.plan.bound`): which stops a plan should be made of, and the lower bound
    3  starts: choices from the candidates and from the stops of the weighted design by exchange, for several
       attachment points, and random draws from the weighted design
    4  all starts refined together, the best brought exactly into what must be kept

Everything random comes from one seed.  An interrupt ends the step in progress; the best so far is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from stiffarm.plan.bound import Design, best_design
from stiffarm.plan.candidates import Pool, aimed_at
from stiffarm.plan.constraints import kept
from stiffarm.plan.exchange import Allowed, exchange, greedy
from stiffarm.plan.problem import Floats, Ints, Stops
from stiffarm.plan.refine import Refiner
from stiffarm.plan.weighted import screened

Stop = Callable[[], bool]
Tell = Callable[[str], None]


SHORTLIST = 4000


@dataclass(frozen=True)
class Effort:
    """How much is tried."""

    starts: int = 24
    """Plans refined together."""
    aims: int = 4
    """Attachment points from which exchanges start."""
    steps: int = 80
    polished: int = 2
    refined: bool = True
    """False: stops are taken from the candidates as they are."""
    shortlist: int = SHORTLIST
    """Most candidates for exchanges: those that a weighted design would gain most from."""


@dataclass(frozen=True, eq=False)
class Found:
    """A plan that keeps everything."""

    stops: Stops
    value: float


@dataclass(eq=False)
class Search:
    """One search; the methods keep the best plan so far in ``best``."""

    refiner: Refiner
    pool: Pool
    random: np.random.Generator
    effort: Effort = field(default_factory=Effort)
    stop: Stop = lambda: False
    tell: Tell = lambda _: None
    best: Found | None = None

    def run(self, design: Design | None) -> Found | None:
        """The best plan."""
        starts = self.starts(design)
        for start in starts:
            self._offer(start)
        if not self.effort.refined or self.stop():
            return self.best
        few = self._fewest(starts)
        self.tell(f"refining {len(few)} plans of {self.refiner.poses} poses")
        plans, values = self.refiner.refine(few, self.effort.steps, self.stop)
        for i in _different(values)[: self.effort.polished]:
            if self.stop():
                break
            self._offer(self.refiner.polish(plans[i]))
        return self.best

    def _fewest(self, starts: list[Stops]) -> list[Stops]:
        """As many starts as fit into the memory of the quasi-Newton matrices."""
        size = self.refiner.poses * self.refiner.space.own + self.refiner.space.shared
        most = int(np.clip(4_000_000 // max(1, size * size), 2, self.effort.starts))
        return starts[:most]

    def _offer(self, stops: Stops) -> None:
        if not self.keeps(stops):
            return
        value = self.refiner.value(stops)
        if np.isfinite(value) and (self.best is None or value < self.best.value):
            self.best = Found(stops, value)
            self.tell(f"best so far {value:.6g}")

    def keeps(self, stops: Stops) -> bool:
        """Whether a plan keeps everything."""
        inside = bool(kept(self.refiner.constraints, stops).all())
        return inside and self._nearest(stops) >= self.refiner.min_distance_m

    def _nearest(self, stops: Stops) -> float:
        if self.refiner.min_distance_m == 0.0 or len(stops) < 2:
            return np.inf
        position = self.refiner.tools(stops)[0]
        i, j = np.triu_indices(len(stops), 1)
        return float(np.sqrt(((position[:, i] - position[:, j]) ** 2).sum(axis=0)).min())

    def starts(self, design: Design | None) -> list[Stops]:
        """Plans to begin with, the most promising first."""
        found: list[tuple[float, Stops]] = []
        for aim in self._aims(design):
            if self.stop() and found:
                break
            stops, rows = self._at(design, aim)
            allowed = self._allowed(stops)
            refiner = self.refiner
            chosen = greedy(rows, refiner.information.known, refiner.repeats, refiner.criterion, self.random, allowed)
            chosen, value = exchange(
                rows, refiner.information.known, refiner.repeats, refiner.criterion, chosen, allowed=allowed,
                stop=self.stop,
            )  # fmt: skip
            found.append((value, stops.take(chosen)))
        found.sort(key=lambda pair: pair[0])
        plans = [stops for _, stops in found]
        if design is not None and self.effort.refined:
            plans += [self._drawn(design) for _ in range(self.effort.starts - len(plans))]
        return plans

    def _aims(self, design: Design | None) -> list[Floats]:
        """Attachment points: of the heaviest stops of the weighted design, then of candidates."""
        if self.refiner.space.shared == 0 or self.pool.stops.aim is None:
            aim = self.pool.stops.aim
            return [np.zeros(3) if aim is None else aim[:, 0]]
        some = self.random.choice(len(self.pool.stops), self.effort.aims)
        aims = [self.pool.stops.aim[:, i] for i in some]
        if design is not None and design.stops.aim is not None:
            support = design.support
            aims = [design.stops.aim[:, i] for i in support] + aims
        distinct: list[Floats] = []
        for aim in aims:
            if all(np.linalg.norm(aim - other) > 0.05 for other in distinct):
                distinct.append(aim)
        return distinct[: self.effort.aims]

    def _at(self, design: Design | None, aim: Floats) -> tuple[Stops, Floats]:
        """Candidates and the stops of the weighted design, all pulled towards one point, that keep everything."""
        free = self.refiner.space.shared > 0
        stops, rows = self.pool.stops, self.pool.rows
        if design is not None and len(stops) > self.effort.shortlist:
            which = self._shortlist(design)
            stops, rows = stops.take(which), rows[which]
        if free:
            stops = aimed_at(stops, self.refiner.space, aim)
            rows = self.refiner.information.rows(stops)
        if design is not None and self.effort.refined:
            own = design.stops.take(design.support)
            own = aimed_at(own, self.refiner.space, aim) if free else own
            stops, rows = stops.join(own), np.concatenate([rows, self.refiner.information.rows(own)])
        if not free and design is None:
            return stops, rows
        good = kept(self.refiner.constraints, stops)
        return stops.take(good), rows[good]

    def _shortlist(self, design: Design) -> Ints:
        """Of very many candidates those that the weighted design has or would gain most from, and some by chance."""
        gain = screened(self.pool.rows, design.weighted.slope)
        most = self.effort.shortlist
        order = np.argsort(-gain, kind="stable")[:most]
        return np.unique(np.append(order, self.random.choice(len(gain), most // 4, replace=False)))

    def _allowed(self, stops: Stops) -> Allowed | None:
        """Candidates far enough from those chosen."""
        if self.refiner.min_distance_m == 0.0:
            return None
        position = self.refiner.tools(stops)[0]

        def far(others: Ints, place: int) -> Floats:
            good = np.ones(position.shape[1], dtype=bool)
            for i in others:
                good &= np.sqrt(((position - position[:, [i]]) ** 2).sum(axis=0)) >= self.refiner.min_distance_m
            return good

        return far

    def _drawn(self, design: Design) -> Stops:
        """A plan drawn from the weighted design, no stop twice while there are others."""
        support = design.support
        weight = design.weighted.weight[support]
        count = self.refiner.poses
        again = count > len(support)
        picked = support[self.random.choice(len(support), count, replace=again, p=weight / weight.sum())]
        stops = design.stops.take(picked)
        if self.refiner.space.shared and stops.aim is not None:
            stops = stops.aimed(stops.aim[:, int(self.random.integers(count))])
        x = self.refiner.space.pack(stops)
        return self.refiner.space.unpack(x + 0.03 * self.random.standard_normal(x.shape) * (x.shape[1] > 0), stops.q)


def _different(values: Floats) -> Ints:
    """The first of every run of equal values."""
    values = values[np.isfinite(values)]  # sorted, so those that are not come last
    return np.flatnonzero(np.concatenate([[True], np.abs(np.diff(values)) > 1e-5])[: len(values)])


def weighted_design(search: Search, experiments: int, *, fixed: bool) -> Design:
    """The best weighted design for a search, from the same seed."""
    search.tell("weighting stops")
    return best_design(search.refiner, search.pool, experiments, search.random, search.stop, fixed=fixed)
