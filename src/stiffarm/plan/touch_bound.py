"""How much better any other touches could be, among the places and postures that were offered.

For a criterion with slope N (`stiffarm.plan.criteria`) the gain of k touches of one place, its point unknown, is that
of their scatter: with b_i the rows of a touch times a root of N, as one long vector,

    tr(N M) = k Var(b) <= k max_w Var_w(b) = k min_c max_i |b_i - c|^2,

the squared radius of the smallest ball around the b_i, and any centre c gives an upper bound.  A known length between
two places adds the square of the difference of their means along the line between them, which is at most the distance
of two balls' centres and both radii.  With the largest such gains the criterion's bound holds for every plan with the
same numbers of touches; postures that were not offered were not looked at.
"""

from __future__ import annotations

import numpy as np

from stiffarm.plan.information import triangle
from stiffarm.plan.problem import Floats
from stiffarm.plan.touch_search import Groups, TouchProblem

TURNS = 60
"""Steps towards the centre of the smallest ball."""
ROUNDS = 40
"""Steps of the weighted design whose slope gives the bound."""


def bound_of(problem: TouchProblem, groups: Groups) -> float:
    """No plan with these numbers of touches of the candidates has a smaller value; at most the plan's own."""
    best, rows = 0.0, problem.factor(groups)
    criterion = problem.criterion.smooth
    touches = sum(map(len, groups))
    own = np.concatenate([problem.known, *problem.lengths(groups)])
    for turn in range(ROUNDS):
        judged = criterion.judge(rows)
        gain, scatter = _largest(problem, judged.slope, touches)
        gain += _length_gain(problem, judged.slope, groups)
        before = float(np.einsum("ij,jk,ik->", problem.known, judged.slope, problem.known))
        best = max(best, criterion.bound(float(judged.value), judged.slope, before + gain))
        share = 2.0 / (turn + 3.0)
        rows = triangle(np.concatenate([np.sqrt(1.0 - share) * rows, np.sqrt(share) * scatter, np.sqrt(share) * own]))
    return min(best, problem.value(groups))


def _root(slope: Floats) -> Floats:
    values, vectors = np.linalg.eigh(0.5 * (slope + slope.T))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _largest(problem: TouchProblem, slope: Floats, touches: int) -> tuple[float, Floats]:
    """The largest gain of so many touches, and the rows of a design that nearly has it."""
    pool = problem.pool
    flat = (pool.rows @ _root(slope)).reshape(len(pool.rows), -1)
    best, rows = -1.0, np.zeros((0, slope.shape[0]))
    for place in range(len(pool.at_m)):
        mine = pool.of(place)
        centre, weight = _ball(flat[mine])
        radius = float(((flat[mine] - centre) ** 2).sum(axis=1).max())
        if radius > best:
            heavy = weight > 0.0
            own = pool.rows[mine[heavy]]
            mean = np.einsum("i,ijk->jk", weight[heavy], own)
            best = radius
            rows = (np.sqrt(touches * weight[heavy])[:, None, None] * (own - mean)).reshape(-1, slope.shape[0])
    return touches * best, rows


def _ball(b: Floats) -> tuple[Floats, Floats]:
    """Near the centre of the smallest ball around points (n, d), and the weights that make it.

    >>> centre, weight = _ball(np.array([[0.0], [1.0], [4.0]]))
    >>> round(float(centre[0]), 1)
    2.0
    """
    weight = np.zeros(len(b))
    weight[0] = 1.0
    centre = b[0]
    for turn in range(TURNS):
        far = int(((b - centre) ** 2).sum(axis=1).argmax())
        step = 1.0 / (turn + 2.0)
        weight *= 1.0 - step
        weight[far] += step
        centre = (1.0 - step) * centre + step * b[far]
    return centre, weight


def _length_gain(problem: TouchProblem, slope: Floats, groups: Groups) -> float:
    """At most what a known length between any two places can add."""
    if problem.length is None or len(groups) < 2:
        return 0.0
    pool, known = problem.pool, problem.length
    least = (known.sigma_m / known.touch_sigma_m) ** 2 + 1.0 / len(groups[0]) + 1.0 / len(groups[1])
    seen = pool.rows @ _root(slope)
    mean = np.stack([seen[pool.of(place)].mean(axis=0) for place in range(len(pool.at_m))])
    away = pool.at_m[:, None] - pool.at_m[None]
    u = away / np.maximum(np.linalg.norm(away, axis=2), 1e-12)[:, :, None]
    apart = np.linalg.norm(np.einsum("abi,abip->abp", u, mean[:, None] - mean[None]), axis=2)
    spread = np.zeros((len(pool.at_m), len(pool.at_m)))
    for place in range(len(pool.at_m)):
        off = np.einsum("bi,nip->bnp", u[place], seen[pool.of(place)] - mean[place])
        spread[place] = np.linalg.norm(off, axis=2).max(axis=1)
    return float(((apart + spread + spread.T) ** 2).max() / least)
