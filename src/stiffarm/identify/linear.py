"""Ordinary and weighted least squares, by QR of whitened rows and scaled columns.

With W = diag(1/sigma) and the prior rows appended, QR of [W A; L] D = Q R (D scales the columns to unit length) gives

    x = D R^-1 Q' [W y; L m],          cov = s^2 D R^-1 R^-T D.

`wls` with known sigma takes s^2 = 1 and the normal law.  With sigma known up to a factor, s^2 = |whitened residuals|^2
/ (rows - parameters) and t with as many degrees of freedom; `ols` is that with sigma = 1.  A prior has a scale of its
own, so with a prior and unknown s^2 the factor is estimated by restricted maximum likelihood (`reml`) instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identify.outcome import FitDetails, LinearEstimate, VarianceComponent
from stiffarm.identify.problem import LinearProblem, require_full_rank
from stiffarm.identify.reml import fit_reml

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WhitenedSolution:
    """Least squares of whitened rows with what inference needs of its factors."""

    values: Array
    root: Array
    """(p, p) D R^-1: the covariance for unit noise is ``root @ root.T``."""
    basis: Array
    """(rows, p) Q of the data rows; its squared rows are the leverages."""
    residuals: Array
    """(rows,) whitened."""


def solve_whitened(problem: LinearProblem, row_sigma: Array) -> WhitenedSolution:
    """Solve with rows divided by ``row_sigma`` and the prior appended."""
    prior_rows, prior_values = problem.prior_rows
    rows = np.vstack([problem.A / row_sigma[:, None], prior_rows])
    right = np.concatenate([problem.y / row_sigma, prior_values])
    length = np.linalg.norm(rows, axis=0)
    basis, triangle = np.linalg.qr(rows / length)
    root = np.linalg.solve(triangle, np.eye(len(triangle))) / length[:, None]
    values = root @ (basis.T @ right)
    residuals = right[: problem.rows] - rows[: problem.rows] @ values
    return WhitenedSolution(values, root, basis[: problem.rows], residuals)


def ols(problem: LinearProblem) -> LinearEstimate:
    """Ordinary least squares: all rows alike and independent, whatever their ``sigma`` says.

    >>> found = ols(LinearProblem(np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 4.0])))
    >>> float(found.values[0]), float(found.dof[0])
    (2.5, 3.0)
    """
    return _scaled(problem, np.ones(problem.rows), "ols")


def wls(problem: LinearProblem, *, known: bool = True) -> LinearEstimate:
    """Weighted least squares with the problem's ``sigma``: known, or known up to one common factor.

    >>> found = wls(LinearProblem(np.ones((2, 1)), np.array([0.0, 3.0]), sigma=np.array([1.0, np.sqrt(0.5)])))
    >>> found.values.round(12).tolist(), found.dof.tolist()
    ([2.0], [inf])
    """
    if problem.sigma is None:
        raise InputError(
            Problem(
                "weighted least squares needs the standard deviation of every row",
                next_step="Give sigma, or use the estimator 'cells' or 'honest', which find it",
            )
        )
    if not known:
        return _scaled(problem, problem.sigma, "wls")
    require_full_rank(problem)
    solution = solve_whitened(problem, problem.sigma)
    return LinearEstimate(
        estimator="wls",
        values=solution.values,
        covariance=solution.root @ solution.root.T,
        dof=np.full(problem.parameters, np.inf),
        residuals=problem.y - problem.A @ solution.values,
        names=problem.names,
        details=FitDetails(row_sigma=problem.sigma, weights=1.0 / problem.sigma),
    )


def _scaled(problem: LinearProblem, row_sigma: Array, name: str) -> LinearEstimate:
    require_full_rank(problem)
    if problem.rows <= problem.parameters and problem.prior is None:
        raise InputError(
            Problem(
                "no reading is left over to tell the noise",
                found=f"{problem.rows} rows, {problem.parameters} parameters",
                next_step="Measure more, or use 'wls' with a known standard deviation",
            )
        )
    if problem.prior is not None:
        return _scaled_with_prior(problem, row_sigma, name)
    solution = solve_whitened(problem, row_sigma)
    dof = problem.rows - problem.parameters
    variance = float(solution.residuals @ solution.residuals) / dof
    return LinearEstimate(
        estimator=name,
        values=solution.values,
        covariance=variance * solution.root @ solution.root.T,
        dof=np.full(problem.parameters, float(dof)),
        residuals=problem.y - problem.A @ solution.values,
        names=problem.names,
        details=FitDetails(
            row_sigma=row_sigma * np.sqrt(variance),
            weights=1.0 / row_sigma,
            variance_components=(VarianceComponent("rows", variance, variance * np.sqrt(2.0 / dof)),),
        ),
    )


def _scaled_with_prior(problem: LinearProblem, row_sigma: Array, name: str) -> LinearEstimate:
    fit = fit_reml(problem, np.zeros(problem.rows, dtype=np.intp), row_scale=row_sigma)
    return fit.estimate(name)
