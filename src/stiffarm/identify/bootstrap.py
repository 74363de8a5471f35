"""Intervals by resampling whole configurations.

Drawing configurations with replacement breaks a designed campaign: a parameter known from three configurations loses
them all in one draw of thirty.  The *wild* bootstrap keeps the design and draws signs: residuals of a configuration
are multiplied, all together, by one random v_g of mean 0 and variance 1 (the six values of Webb, +-sqrt(1/2), +-1,
+-sqrt(3/2): with few configurations two values would give few distinct draws), so their dependence survives.

Each draw is refitted and studentised with its own covariance (`cluster`), t* = (x* - x) / se*; the interval takes the
quantile of |t*| where t tables are used otherwise.  In the p directions of Q, with adjusted scores s_g, shares H_g,

    x* - x = D sum_g r_g =: D delta,  r_g = v_g s_g,  s*_g = (I - H_g)^-1/2 (r_g - H_g delta),  se*^2 = sum (D s*_g)^2,

so a draw costs a few small products whatever the number of rows.

A parameter known from three configurations has three residual vectors to draw from; when one of them happens to be
large it dominates every draw and |t*| cannot become large.  So the bootstrap is smoothed: every second draw takes
r_g = H_g^1/2 z_g with z_g standard normal, the scores of independent rows, for which t* has the law of this design.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identify.cluster import Clusters, clusters_of
from stiffarm.identify.linear import solve_whitened
from stiffarm.identify.outcome import FitDetails, LinearEstimate
from stiffarm.identify.problem import Array, LinearProblem, require_full_rank

LEAST_CONFIGURATIONS = 5
WEBB = np.array([-np.sqrt(1.5), -1.0, -np.sqrt(0.5), np.sqrt(0.5), 1.0, np.sqrt(1.5)])


def bootstrap(problem: LinearProblem, *, seed: int, level: float = 0.95, draws: int | None = None) -> LinearEstimate:
    """(Weighted) least squares with bootstrap-t intervals by configuration; the same seed gives the same numbers.

    ``draws`` defaults to 1999, or what puts ten draws beyond an interval of the given ``level``.
    """
    require_full_rank(problem)
    if problem.configuration is None or int(problem.configuration.max()) + 1 < LEAST_CONFIGURATIONS:
        raise InputError(
            Problem(
                f"resampling configurations needs at least {LEAST_CONFIGURATIONS} of them",
                next_step="Measure more configurations, or use 'honest'",
            )
        )
    solution = solve_whitened(problem, problem.row_scale)
    factor = _common_scale(problem, solution.residuals)
    solution = solve_whitened(problem, problem.row_scale * factor)
    clusters = clusters_of(problem, solution)
    number = max(1999, math.ceil(10.0 / (1.0 - level)) - 1) if draws is None else draws
    studentised = _studentised(clusters, clusters.scores(solution.residuals), np.random.default_rng(seed), number)
    estimate = LinearEstimate(
        estimator="bootstrap",
        values=solution.values,
        covariance=clusters.covariance(solution.residuals),
        dof=clusters.dof(),
        residuals=problem.y - problem.A @ solution.values,
        names=problem.names,
        details=FitDetails(
            row_sigma=problem.row_scale * factor,
            weights=1.0 / problem.row_scale,
            messages=(f"{number} draws by configuration, seed {seed}",),
        ),
    )
    return replace(estimate, studentised=np.sort(studentised, axis=0))


def _common_scale(problem: LinearProblem, residuals: Array) -> float:
    """Factor of the row scale, so that a prior keeps its weight against the data."""
    dof = max(problem.rows - problem.parameters, 1)
    return max(float(np.sqrt(np.sum(residuals**2) / dof)), 1e-150)


def _studentised(clusters: Clusters, scores: Array, rng: np.random.Generator, draws: int) -> Array:
    """(draws, p) |t*|."""
    v = WEBB[rng.integers(0, len(WEBB), ((draws + 1) // 2, len(scores)))]
    values, vectors = np.linalg.eigh(clusters.share)
    half = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)
    normal = rng.standard_normal((draws // 2, *scores.shape))
    drawn = np.concatenate([v[:, :, None] * scores, np.einsum("gij,dgj->dgi", half, normal)])
    delta = drawn.sum(axis=1)
    known = np.eye(scores.shape[1]) - clusters.share.sum(axis=0)
    prior = np.einsum("ji,ik,jk->j", clusters.root, known, clusters.root)
    variance = np.broadcast_to(prior, delta.shape).copy()
    for number in range(len(scores)):
        image = (drawn[:, number] - delta @ clusters.share[number]) @ clusters.adjust[number]
        variance += (image @ clusters.root.T) ** 2
    return np.asarray(np.abs(delta @ clusters.root.T) / np.sqrt(np.maximum(variance, 1e-300)))
