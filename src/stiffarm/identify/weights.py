"""Weights per cell, the printed scheme of paper 003 (eq. 14), and why weights per equation are not weights.

Rows of a cell (configuration x axis) share a variance sigma_c^2, so weights w = 1/sigma_c are best; the printed scheme
softens them, w = sigma0 / (sigma0 + lambda sigma_c), and may be iterated: fit, residual scatter per cell, weights, fit.
For weights W the estimate is B y with B = (A' W^2 A)^-1 A' W^2 and, whatever the weights, (paper 003, eq. 11)

    cov = B Sigma^2 B';      only for W = Sigma^-1 is this (A' Sigma^-2 A)^-1  (eq. 13 lacks the inverse on Sigma^2).

sigma_c^2 = (sum of squared residuals of the cell) / (rows of the cell - their leverage), which at convergence with
sigma0 = 0 is exactly the REML estimate for independent rows.  That the weights are estimated costs the Kenward-Roger
term 2 Phi Lambda Phi (`reml`), taken at these variances, and Satterthwaite degrees of freedom: for independent cells
cov_jj = sum_c b_jc sigma_c^2 with b_jc the sum of squares of B_j over the cell, so dof_j = 2 cov_jj^2 / (b' W b).

*The bound.*  For independent rows with standard deviations between sigma_min and sigma_max, kappa their squared ratio,
Kantorovich's inequality bounds the variance of any OLS combination against the best weighted one by
(kappa + 1)^2 / (4 kappa): a gain in standard deviation is at most (kappa + 1) / (2 sqrt(kappa)), for every design.

*One weight per equation*, from the residual of that very equation, uses one reading to judge the weight of itself.
Rows that happen to lie near the fit get large weights, the fit moves closer to them, and so on; the variance computed
from these sigmas is that of a noise as small as the smallest residuals.  Nothing was learned: the claimed gain exceeds
what the scatter of the cells permits, the true gain is none.  Standard deviations made that way elsewhere and handed
over as ``sigma`` give themselves away: |residual| / sigma of normal rows has quartiles 0.32 and 1.15, a ratio of 3.6,
whatever the sigmas are; where each sigma follows its own residual the ratio is near 1 (1.5 with a steady component).
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from stiffarm.errors import InputError, Problem, StiffarmWarning
from stiffarm.identify.kenward_roger import variance_uncertainty
from stiffarm.identify.linear import WhitenedSolution, solve_whitened
from stiffarm.identify.outcome import FitDetails, LinearEstimate, VarianceComponent
from stiffarm.identify.problem import Array, Codes, LinearProblem, require_full_rank

CONVERGED = 1e-6
"""Relative change of the standard deviations of the cells at which iteration stops."""
MAX_ITERATIONS = 100
LEAST_IN_CELL = 3
"""Rows under which a cell has no scatter of its own to speak of."""
EVEN_RATIO = 2.0
"""Quartiles of |residual| / sigma closer than this do not come from rows with these standard deviations."""
EVEN_LEAST_ROWS = 60
"""Fewer rows do not tell: of 60 normal ones the ratio of quartiles is under 2 in one of a thousand fits."""


def gain_bound(row_sigma: Array) -> float:
    """Largest ratio of standard deviations, least squares over best weights, for independent rows of any design.

    >>> round(gain_bound(np.array([17.0, 153.0])), 2)
    4.56
    """
    kappa = float(np.max(row_sigma) / np.min(row_sigma)) ** 2
    return (kappa + 1.0) / (2.0 * math.sqrt(kappa))


def claimed_gain(problem: LinearProblem, covariance: Array) -> Array:
    """Standard deviation that ordinary least squares states for itself over the one of ``covariance``."""
    solution = solve_whitened(problem, np.ones(problem.rows))
    dof = max(problem.rows - problem.parameters, 1)
    variance = float(np.sum(solution.residuals**2)) / dof
    stated = variance * np.sum(solution.root**2, axis=1)
    return np.asarray(np.sqrt(stated / np.maximum(np.diag(covariance), 1e-300)))


def cells(
    problem: LinearProblem,
    *,
    lambda_: float = 1.0,
    sigma0: float = 0.0,
    iterations: int | None = None,
    per_equation: bool = False,
) -> LinearEstimate:
    """Weights per cell from the scatter of the cell: ``w = sigma0 / (sigma0 + lambda sigma)``, 1/sigma for sigma0 = 0.

    ``sigma0`` is in the unit of y; ``iterations`` counts weighted fits (None: until the weights settle).
    ``per_equation=True`` asks for one weight per row from its own residual and is refused with its numbers.
    """
    require_full_rank(problem)
    if lambda_ <= 0 or sigma0 < 0 or (iterations is not None and iterations < 1):
        raise InputError(
            Problem("weights need lambda > 0, sigma0 >= 0 and at least one iteration", found=f"{lambda_}, {sigma0}")
        )
    if per_equation:
        raise InputError(_per_equation_problem(problem, lambda_, sigma0, iterations))
    cell = _cell_of(problem)
    row_sigma = np.ones(problem.rows)
    done, settled, limit = 0, False, MAX_ITERATIONS if iterations is None else iterations
    sigma = _cell_sigma(problem, cell, solve_whitened(problem, row_sigma), row_sigma)
    solution = None
    while done < limit and not (settled and iterations is None):
        row_sigma = _softened(sigma[cell], lambda_, sigma0)
        solution = solve_whitened(problem, row_sigma)
        updated = _cell_sigma(problem, cell, solution, row_sigma)
        settled = bool(np.all(np.abs(updated - sigma) <= CONVERGED * sigma))
        sigma, done = updated, done + 1
    assert solution is not None
    return _cells_estimate(problem, cell, sigma, row_sigma, solution, done, settled or iterations is not None)


def per_equation(
    problem: LinearProblem, *, lambda_: float = 1.0, sigma0: float = 10.0, iterations: int = 20
) -> LinearEstimate:
    """The per-equation scheme as printed, for comparison only: warns, and its intervals are false.

    The covariance is the one the scheme claims, (A' Sigma^-2 A)^-1 with Sigma the absolute residuals.
    """
    found = _per_equation_fit(problem, lambda_, sigma0, iterations)
    problem_found = _per_equation_problem(problem, lambda_, sigma0, iterations, found)
    warnings.warn(str(problem_found), StiffarmWarning, stacklevel=2)
    return found


def _cells_estimate(
    problem: LinearProblem,
    cell: Codes,
    sigma: Array,
    row_sigma: Array,
    solution: WhitenedSolution,
    iterations: int,
    converged: bool,
) -> LinearEstimate:
    """Covariance by eq. 11 with the estimated variances, plus what estimating them costs."""
    weights_matrix = (solution.root @ solution.basis.T) / row_sigma
    true_sigma = sigma[cell]
    spread = weights_matrix * true_sigma
    prior = solution.root @ (np.eye(problem.parameters) - solution.basis.T @ solution.basis) @ solution.root.T
    covariance = spread @ spread.T + prior
    extra, theta_covariance = variance_uncertainty(problem, cell, sigma**2)
    parts = np.stack([np.bincount(cell, row**2, minlength=len(sigma)) for row in weights_matrix])
    uncertain = np.einsum("jc,cd,jd->j", parts, theta_covariance, parts)
    dof = 2.0 * np.diag(covariance) ** 2 / np.maximum(uncertain, 1e-300)
    total = covariance + extra
    gain, bound = claimed_gain(problem, total), gain_bound(true_sigma)
    error = np.sqrt(np.diag(theta_covariance))
    return LinearEstimate(
        estimator="cells",
        values=solution.values,
        covariance=total,
        dof=dof,
        residuals=problem.y - problem.A @ solution.values,
        names=problem.names,
        claimed_gain=gain,
        claimed_gain_bound=bound,
        details=FitDetails(
            iterations=iterations,
            converged=converged,
            row_sigma=true_sigma,
            weights=np.min(row_sigma) / row_sigma,
            variance_components=tuple(
                VarianceComponent(f"cell {i + 1}", float(s) ** 2, float(e))
                for i, (s, e) in enumerate(zip(sigma, error, strict=True))
            ),
            messages=gain_messages(gain, bound, problem.names),
        ),
    )


def gain_messages(gain: Array, bound: float, names: tuple[str, ...]) -> tuple[str, ...]:
    """A line for every parameter whose claimed gain the assumed variances cannot give."""
    return tuple(
        f"{name}: claimed gain {g:.2f} over ordinary least squares exceeds {bound:.2f}, "
        "the most that independent rows with these standard deviations allow"
        for name, g in zip(names, gain, strict=True)
        if g > bound
    )


def own_residual_messages(problem: LinearProblem) -> tuple[str, ...]:
    """A line when the stated ``sigma`` of the rows were taken from the residuals of these very rows.

    >>> rng = np.random.default_rng(1)
    >>> errors = rng.standard_normal(80)
    >>> own_residual_messages(LinearProblem(np.ones((80, 1)), errors, sigma=np.ones(80) + np.arange(80) / 40))
    ()
    >>> own_residual_messages(LinearProblem(np.ones((80, 1)), errors, sigma=np.abs(errors)))[0].split(":")[0]
    'the standard deviations of the rows follow the residuals of these very rows'
    """
    sigma = problem.sigma
    if sigma is None or problem.rows < EVEN_LEAST_ROWS + 2 * problem.parameters or _quartile_ratio(sigma) < EVEN_RATIO:
        return ()
    solution = solve_whitened(problem, sigma)
    if _quartile_ratio(np.abs(solution.residuals)) >= EVEN_RATIO:
        return ()
    text = "the standard deviations of the rows follow the residuals of these very rows: they are no weights"
    if problem.prior is None:
        gain = claimed_gain(problem, solution.root @ solution.root.T)
        text += f"; taken as true they claim a gain of {gain.min():.1f} to {gain.max():.1f} over ordinary least squares"
        bound = _bound_of_cells(problem)
        text += "" if bound is None else f", where the scatter of whole cells allows at most {bound:.2f}"
    return (f"{text}; intervals cannot be trusted. Leave sigma out and use 'honest', or weights per cell",)


def _quartile_ratio(sizes: Array) -> float:
    low, high = np.quantile(sizes, (0.25, 0.75))
    return float(high / max(low, 1e-300))


def _cell_of(problem: LinearProblem) -> Codes:
    if problem.cell is not None:
        return problem.cell
    raise InputError(
        Problem(
            "weights per cell need to know which rows belong to one configuration and axis",
            next_step="Give labels of configuration and axis, or use 'ols'",
        )
    )


def _softened(sigma: Array, lambda_: float, sigma0: float) -> Array:
    """1 / w up to a common factor."""
    return np.asarray(sigma0 + lambda_ * sigma)


def _cell_sigma(problem: LinearProblem, cell: Codes, solution: WhitenedSolution, row_sigma: Array) -> Array:
    """Standard deviation per cell from residuals, each cell paying for the leverage of its rows."""
    leverage = np.sum(solution.basis**2, axis=1)
    left = np.bincount(cell, 1.0 - leverage)
    if np.any(left < 0.5):
        raise InputError(
            Problem(
                "a cell has too few readings to tell its own standard deviation",
                found=f"{int(np.sum(left < 0.5))} of {len(left)} cells",
                next_step="Measure more points or repeats per configuration, or use 'honest', which pools cells",
            )
        )
    squares = np.bincount(cell, (solution.residuals * row_sigma) ** 2)
    floor = 1e-12 * float(np.sqrt(np.mean(problem.y**2)))
    return np.asarray(np.sqrt(np.maximum(squares / left, max(floor, 1e-150) ** 2)))


def _per_equation_fit(problem: LinearProblem, lambda_: float, sigma0: float, iterations: int) -> LinearEstimate:
    residuals = problem.y - problem.A @ solve_whitened(problem, np.ones(problem.rows)).values
    floor = 1e-9 * float(np.sqrt(np.mean(problem.y**2)))
    values = np.zeros(problem.parameters)
    for _ in range(iterations):
        values = solve_whitened(problem, _softened(np.maximum(np.abs(residuals), floor), lambda_, sigma0)).values
        residuals = problem.y - problem.A @ values
    assumed = np.maximum(np.abs(residuals), floor)
    root = solve_whitened(problem, assumed).root
    covariance = root @ root.T
    return LinearEstimate(
        estimator="per equation",
        values=values,
        covariance=covariance,
        dof=np.full(problem.parameters, np.inf),
        residuals=residuals,
        names=problem.names,
        claimed_gain=claimed_gain(problem, covariance),
        claimed_gain_bound=_bound_of_cells(problem),
        details=FitDetails(iterations=iterations, row_sigma=assumed),
    )


def _bound_of_cells(problem: LinearProblem) -> float | None:
    """Bound from the scatter of whole cells, None without labels or where a cell is too small to have a scatter."""
    if problem.cell is None or np.bincount(problem.cell).min() < LEAST_IN_CELL:
        return None
    unit = np.ones(problem.rows)
    return gain_bound(_cell_sigma(problem, problem.cell, solve_whitened(problem, unit), unit))


def _per_equation_problem(
    problem: LinearProblem, lambda_: float, sigma0: float, iterations: int | None, fit: LinearEstimate | None = None
) -> Problem:
    found = fit or _per_equation_fit(problem, lambda_, sigma0, iterations or 20)
    gain = found.claimed_gain
    assert gain is not None
    bound = found.claimed_gain_bound
    allowed = None if bound is None else f"a gain of at most {bound:.2f}, from the scatter of whole cells"
    return Problem(
        "a weight taken from the residual of its own row is no weight: it rewards rows for lying near the fit, "
        "and the standard deviations it states are not those of the parameters",
        found=f"claimed gain over ordinary least squares {gain.min():.1f} to {gain.max():.1f}",
        allowed=allowed,
        next_step="Use weights per cell (configuration and axis), or 'honest'",
    )
