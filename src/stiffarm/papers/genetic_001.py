"""The published method of paper 001: a genetic algorithm, to see what it leaves.

Real-valued genes in their boxes: parents by tournament of two, simulated binary crossover (spread index 15, nine
pairs in ten), polynomial mutation (index 20, one gene in each child on average), and of parents and children
together the better half lives.  A plan that breaks z7 >= 0.5 m counts as worse by what is missing.
"""

from __future__ import annotations

import numpy as np

from stiffarm.plan.constraints import all_margins
from stiffarm.plan.problem import Floats
from stiffarm.plan.refine import Refiner

POPULATION = 200
CROSSED, SPREAD, MUTATED = 0.9, 15.0, 20.0


def values_of(refiner: Refiner, x: Floats) -> Floats:
    """Criterion (plans,) of plans (plans, variables), times 1 + 10 for every metre that is missing."""
    each = refiner.space.spread(x, refiner.poses)
    stops = refiner.space.unpack(each, np.zeros((len(refiner.space.low), len(each))))
    value = refiner.values(stops, len(x))
    if not refiner.constraints:
        return value
    missing = np.maximum(0.0, -all_margins(refiner.constraints, stops).value).sum(axis=0)
    return np.asarray(value * (1.0 + 10.0 * missing.reshape(len(x), -1).sum(axis=1)))


def evolved(refiner: Refiner, evaluations: int, seed: int) -> float:
    """The best value after so many evaluations."""
    random = np.random.default_rng(seed)
    low, high = refiner.space.plan_bounds(refiner.poses)
    x = random.uniform(low, high, (POPULATION, len(low)))
    value = values_of(refiner, x)
    for _ in range(evaluations // POPULATION - 1):
        a, b = random.integers(POPULATION, size=(2, POPULATION))
        parents = x[np.where(value[a] < value[b], a, b)]
        children = np.clip(_mutated(_crossed(parents, random), low, high, random), low, high)
        x, value = np.concatenate([x, children]), np.concatenate([value, values_of(refiner, children)])
        best = np.argsort(value, kind="stable")[:POPULATION]
        x, value = x[best], value[best]
    return float(value[0])


def _crossed(parents: Floats, random: np.random.Generator) -> Floats:
    """Pairs of parents replaced by children spread about them as far as they are apart."""
    first, second = parents[::2], parents[1::2]
    u = random.uniform(size=first.shape)
    spread = np.where(u < 0.5, 2.0 * u, 0.5 / (1.0 - u)) ** (1.0 / (SPREAD + 1.0))
    swapped = (random.uniform(size=(len(first), 1)) < CROSSED) & (random.uniform(size=first.shape) < 0.5)
    half = np.where(swapped, 0.5 * (1.0 - spread) * (first - second), 0.0)
    return np.concatenate([first - half, second + half])


def _mutated(x: Floats, low: Floats, high: Floats, random: np.random.Generator) -> Floats:
    """One gene in each child on average moved within its box, mostly a little."""
    u = random.uniform(size=x.shape)
    power = 1.0 / (MUTATED + 1.0)
    step = np.where(u < 0.5, (2.0 * u) ** power - 1.0, 1.0 - (2.0 * (1.0 - u)) ** power)
    return np.where(random.uniform(size=x.shape) < 1.0 / x.shape[1], x + step * (high - low), x)
