"""M-estimation: readings far from the fit lose their say, and the intervals account for it.

Minimise sum rho(u_i), u_i = (y_i - A_i x) / s_i, by iteratively reweighted least squares, w(u) = psi(u) / u:

    Huber   psi = clip(u, -1.345, 1.345)                 (convex, 95 % as efficient as least squares on normal noise)
    Tukey   psi = u (1 - (u/4.685)^2)^2 inside, 0 beyond   (gross errors have no influence at all; starts from Huber)

s_i is 1.4826 times the median |residual| of the axis of the row (of all rows when an axis has few), raised for the
parameters fitted, times the row's own sigma when there is one.  Scales per cell would be weights estimated from a
handful of readings; errors shared within a configuration would make some of them absurdly small.

*Intervals.*  To first order x_hat - x = (A' A)^-1 A' psi / m with rows whitened by s and m = mean psi', so psi(u)/m are
residuals of a least-squares problem ("pseudo values"), and `cluster` gives their covariance: dependence within a
configuration is allowed, few configurations are paid for in degrees of freedom.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from stiffarm.identify.cluster import clusters_of
from stiffarm.identify.linear import WhitenedSolution, solve_whitened
from stiffarm.identify.outcome import FitDetails, LinearEstimate
from stiffarm.identify.problem import Array, Codes, LinearProblem, require_full_rank

Loss = Literal["huber", "tukey"]
HUBER_LIMIT = 1.345
TUKEY_LIMIT = 4.685
NORMAL_MEDIAN = 0.6744897501960817
"""Median of |u| for standard normal u."""
LEAST_READINGS = 50
"""An axis with fewer readings takes its scale from all rows."""
MAX_ITERATIONS = 200
CONVERGED = 1e-6
"""Step, in standard errors, at which iteration stops."""


def robust(problem: LinearProblem, *, loss: Loss = "huber") -> LinearEstimate:
    """M-estimate with intervals that hold when readings are heavy-tailed or dependent within a configuration.

    >>> y = np.array([1.0, 1.2, 0.8, 1.1, 0.9, 1.0, 50.0])
    >>> bool(abs(robust(LinearProblem(np.ones((7, 1)), y), loss="tukey").values[0] - 1.0) < 0.05)
    True
    """
    require_full_rank(problem)
    code = _scale_groups(problem)
    start = solve_whitened(problem, problem.row_scale).values
    values, scale, iterations, converged = _iterate(problem, code, start, "huber")
    if loss == "tukey":
        values, scale, more, converged = _iterate(problem, code, values, "tukey")
        iterations += more
    residuals = problem.y - problem.A @ values
    u = residuals / scale
    slope = max(float(np.mean(_slope(u, loss))), 0.05)
    clusters = clusters_of(problem, solve_whitened(problem, scale / np.sqrt(slope)))
    covariance = clusters.covariance(_psi(u, loss) / np.sqrt(slope))
    return LinearEstimate(
        estimator="robust",
        values=values,
        covariance=covariance,
        dof=clusters.dof(),
        residuals=residuals,
        names=problem.names,
        details=FitDetails(
            iterations=iterations,
            converged=converged,
            row_sigma=scale,
            weights=robust_weights(u, loss),
            messages=() if converged else ("the robust fit did not converge",),
        ),
    )


def robust_weights(u: Array, loss: Loss) -> Array:
    """psi(u) / u, 1 at the centre."""
    return np.asarray(np.where(np.abs(u) > 1e-12, _psi(u, loss) / np.where(np.abs(u) > 1e-12, u, 1.0), 1.0))


def group_scale(problem: LinearProblem, code: Codes, residuals: Array) -> Array:
    """(rows,) robust standard deviation of each row from the median |residual| of its variance group."""
    white = np.abs(residuals) / problem.row_scale
    number = np.bincount(code)
    order = np.lexsort((white, code))
    first = np.concatenate([[0], np.cumsum(number)[:-1]])
    ordered = white[order]
    median = 0.5 * (ordered[first + (number - 1) // 2] + ordered[first + number // 2])
    lost = np.sqrt(problem.rows / max(problem.rows - problem.parameters, 1))
    floor = max(1e-12 * float(np.sqrt(np.mean((problem.y / problem.row_scale) ** 2))), 1e-150)
    return np.asarray(np.maximum(lost * median / NORMAL_MEDIAN, floor)[code] * problem.row_scale)


def _scale_groups(problem: LinearProblem) -> Codes:
    if problem.axis is not None and np.bincount(problem.axis).min() >= LEAST_READINGS:
        return problem.axis
    return np.zeros(problem.rows, dtype=np.intp)


def _iterate(problem: LinearProblem, code: Codes, values: Array, loss: Loss) -> tuple[Array, Array, int, bool]:
    """Reweighted fits; the scale follows the residuals for Huber and stays for Tukey, whose criterion is not convex."""
    scale = group_scale(problem, code, problem.y - problem.A @ values)
    for iteration in range(1, MAX_ITERATIONS + 1):
        residuals = problem.y - problem.A @ values
        if loss == "huber" and iteration <= MAX_ITERATIONS // 4:
            scale = group_scale(problem, code, residuals)
        weight = np.maximum(robust_weights(residuals / scale, loss), 1e-12)
        solution: WhitenedSolution = solve_whitened(problem, scale / np.sqrt(weight))
        step = solution.values - values
        values = solution.values
        if np.all(np.abs(step) <= CONVERGED * np.linalg.norm(solution.root, axis=1)):
            return values, scale, iteration, True
    return values, scale, MAX_ITERATIONS, False


def _psi(u: Array, loss: Loss) -> Array:
    if loss == "huber":
        return np.clip(u, -HUBER_LIMIT, HUBER_LIMIT)
    inside = np.abs(u) < TUKEY_LIMIT
    return np.where(inside, u * (1 - (u / TUKEY_LIMIT) ** 2) ** 2, 0.0)


def _slope(u: Array, loss: Loss) -> Array:
    """Derivative of psi."""
    if loss == "huber":
        return np.where(np.abs(u) < HUBER_LIMIT, 1.0, 0.0)
    t = (u / TUKEY_LIMIT) ** 2
    return np.where(t < 1, (1 - t) * (1 - 5 * t), 0.0)
