"""Variances by restricted maximum likelihood, parameters by generalised least squares with those variances.

Fisher scoring climbs the restricted likelihood (`likelihood`) until the expected gain is of the order of one unit per
variance, Newton's method with the second derivatives finishes in a few steps.  A variance of a shared effect that would
turn negative stays at 0.  Covariance and degrees of freedom of the parameters are those of `kenward_roger`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.kenward_roger import kenward_roger, theta_covariance
from stiffarm.identify.likelihood import Likelihood, LikelihoodPoint, scaled_solve
from stiffarm.identify.outcome import FitDetails, LinearEstimate, VarianceComponent
from stiffarm.identify.problem import Array, Codes, LinearProblem, SharedEffect
from stiffarm.identify.reduction import Reduction, reduce_rows

MAX_ITERATIONS = 100
DECREMENT = 1e-8
"""Scoring stops when the squared step, in standard errors of theta, is under this."""
VARIANCE_FLOOR = 1e-24
"""Smallest variance of a group, relative to the mean square of the observations."""
TOLD_APART = 1e-4
"""Share of the information on the variance of an effect that must not be explained by other variances."""
NEAR = 1.0
"""Newton steps replace scoring steps when the expected climb per variance is under this."""
SHRINK, GROW = 0.1, 30.0
"""One step changes the variance of a group at most by these factors."""


@dataclass(frozen=True, eq=False)
class RemlFit:
    """Variances and parameters of one data set."""

    problem: LinearProblem
    reduction: Reduction
    effect_names: tuple[str, ...]
    group_names: tuple[str, ...]
    theta: Array
    """Variances: groups (relative to row_scale squared), then effects."""
    theta_covariance: Array
    values: Array
    naive_covariance: Array
    """Phi, which takes the variances for known."""
    covariance: Array
    """Kenward-Roger."""
    dof: Array
    loglik: float
    iterations: int
    converged: bool

    @property
    def row_sigma(self) -> Array:
        """(rows,) standard deviation of the independent part of each row."""
        return np.asarray(np.sqrt(self.theta[self.reduction.group]) * self.reduction.row_scale)

    def components(self) -> tuple[VarianceComponent, ...]:
        """Every variance with its standard error."""
        error = np.sqrt(np.diag(self.theta_covariance))
        names = self.group_names + self.effect_names
        return tuple(VarianceComponent(n, float(t), float(e)) for n, t, e in zip(names, self.theta, error, strict=True))

    def estimate(self, name: str) -> LinearEstimate:
        """As the result of an estimator of this name."""
        return LinearEstimate(
            estimator=name,
            values=self.values,
            covariance=self.covariance,
            dof=self.dof,
            residuals=self.problem.y - self.problem.A @ self.values,
            names=self.problem.names,
            details=FitDetails(
                iterations=self.iterations,
                converged=self.converged,
                row_sigma=self.row_sigma,
                weights=1.0 / self.row_sigma,
                variance_components=self.components(),
                shared_effects=self.effect_names,
                messages=() if self.converged else ("the variances did not converge",),
            ),
        )


def fit_reml(
    problem: LinearProblem,
    group: Codes,
    effects: tuple[SharedEffect, ...] = (),
    *,
    row_scale: Array | None = None,
    group_names: tuple[str, ...] | None = None,
    reduction: Reduction | None = None,
) -> RemlFit:
    """Variance per row group and per shared effect by REML; parameters with Kenward-Roger covariance and dof.

    ``row_scale`` (default: the problem's sigma) multiplies the standard deviation of each row within its group.
    ``reduction`` reuses the compressed design of an earlier fit with the same design, groups and effects.
    """
    if reduction is None:
        scale = problem.row_scale if row_scale is None else row_scale
        reduction = reduce_rows(problem, group, effects, scale)
    names = group_names or tuple(f"rows {i + 1}" for i in range(reduction.groups))
    likelihood = Likelihood(problem, reduction)
    theta, point, iterations, converged = _climb(likelihood, _start(likelihood))
    covariance_theta = theta_covariance(theta, point, reduction.groups)
    inflation, dof = kenward_roger(point, covariance_theta, reduction.owner)
    root = point.root / reduction.column_scale[:, None]
    return RemlFit(
        problem=problem,
        reduction=reduction,
        effect_names=tuple(effect.name for effect in effects),
        group_names=names,
        theta=theta,
        theta_covariance=covariance_theta,
        values=point.values / reduction.column_scale,
        naive_covariance=root @ root.T,
        covariance=root @ inflation @ root.T,
        dof=dof,
        loglik=point.loglik,
        iterations=iterations,
        converged=converged,
    )


def variances_told_apart(
    problem: LinearProblem, group: Codes, effects: tuple[SharedEffect, ...]
) -> tuple[SharedEffect, ...]:
    """The effects whose variance has information of its own beside those of the row groups and of effects before it."""
    kept: tuple[SharedEffect, ...] = ()
    for effect in effects:
        if not np.any(effect.columns):
            continue
        reduction = reduce_rows(problem, group, (*kept, effect), problem.row_scale)
        likelihood = Likelihood(problem, reduction)
        size = np.array(
            [np.mean(np.sum((e.columns / problem.row_scale[:, None]) ** 2, axis=1)) for e in (*kept, effect)]
        )
        theta = np.concatenate([np.ones(reduction.groups), 1.0 / np.maximum(size, 1e-300)])
        information = likelihood.at(theta).information
        others = information[:-1, :-1]
        partial = information[-1, -1] - information[-1, :-1] @ scaled_solve(others, information[-1, :-1])
        if partial > TOLD_APART * information[-1, -1]:
            kept += (effect,)
    return kept


def _start(likelihood: Likelihood) -> Array:
    """Groups from residuals of the unweighted fit and pure error; effects from what is left over."""
    r = likelihood.reduction
    _, m, p = r.design.shape
    flat, y = r.design.reshape(-1, p), likelihood.y.ravel()
    rest = y - flat @ np.linalg.lstsq(flat, y, rcond=None)[0]
    owner = r.owner[:, :m].ravel()
    squares = np.bincount(owner, rest**2, minlength=r.components + 1)[: r.groups]
    number = np.bincount(owner, minlength=r.components + 1)[: r.groups]
    floor = _floor(likelihood)
    pooled = max((squares.sum() + likelihood.pure.sum()) / max(number.sum() + r.pure_dof.sum() - p, 1.0), floor)
    plain = (squares + likelihood.pure + 2.0 * pooled) / (number + r.pure_dof + 2.0)
    pure = likelihood.pure / np.maximum(r.pure_dof, 1.0)
    groups = np.where((r.pure_dof >= 3) & (r.components > r.groups), pure, plain)
    size = np.bincount(r.owner.ravel(), (r.features**2).sum(axis=1).ravel(), minlength=r.components + 1)
    effects = 0.3 * squares.sum() / np.maximum(size[r.groups : r.components], np.finfo(float).tiny)
    return np.concatenate([np.maximum(groups, floor), effects])


def _floor(likelihood: Likelihood) -> float:
    rows = len(likelihood.reduction.group)
    mean_square = (float(np.sum(likelihood.y**2)) + float(likelihood.pure.sum())) / rows
    return max(VARIANCE_FLOOR * mean_square, np.finfo(float).tiny * 1e20)


def _climb(likelihood: Likelihood, theta: Array) -> tuple[Array, LikelihoodPoint, int, bool]:
    """Scoring, then Newton, with halving of steps that do not climb."""
    groups, floor = likelihood.reduction.groups, _floor(likelihood)
    is_effect = np.arange(len(theta)) >= groups
    point = likelihood.at(theta)
    for iteration in range(1, MAX_ITERATIONS + 1):
        low = np.where(is_effect, 0.0, np.maximum(SHRINK * theta, floor))
        high = np.where(is_effect, np.inf, np.maximum(GROW * theta, floor))
        for matrix in _curvatures(point, (theta > low) | (point.score > 0)):
            move = _bounded_step(matrix, point.score, theta, low, high)
            if float(move @ point.information @ move) < DECREMENT:
                return theta, point, iteration, True
            climbed = _line_search(likelihood, theta, point, move)
            if climbed is not None:
                break
        else:
            return theta, point, iteration, False
        theta, point = climbed
    return theta, point, MAX_ITERATIONS, False


def _curvatures(point: LikelihoodPoint, free: NDArray[np.bool_]) -> tuple[Array, ...]:
    """Matrices to divide the score by, best first: near the top the second derivatives, if they are a minimum's."""
    at, score = np.ix_(free, free), point.score[free]
    near = float(scaled_solve(point.information[at], score) @ score) < NEAR * len(score)
    observed = point.observed[at]
    if near and np.all(np.diag(observed) > 0):
        scale = 1.0 / np.sqrt(np.diag(observed))
        if np.linalg.eigvalsh(observed * scale[:, None] * scale)[0] > 1e-6:
            return point.observed, point.information
    return (point.information,)


def _bounded_step(matrix: Array, score: Array, theta: Array, low: Array, high: Array) -> Array:
    """Step of the quadratic model; a variance that would leave its bounds goes to the bound, the rest is re-solved."""
    move = np.zeros(len(theta))
    free = (theta > low) | (score > 0)
    for _ in range(len(theta)):
        rest = score[free] - matrix[np.ix_(free, ~free)] @ move[~free]
        move[free] = scaled_solve(matrix[np.ix_(free, free)], rest)
        outside = free & ((theta + move < low) | (theta + move > high))
        if not outside.any():
            break
        move[outside] = np.clip(theta + move, low, high)[outside] - theta[outside]
        free &= ~outside
        if not free.any():
            break
    return move


def _line_search(
    likelihood: Likelihood, theta: Array, point: LikelihoodPoint, move: Array
) -> tuple[Array, LikelihoodPoint] | None:
    """First of the halved steps that does not lower the likelihood."""
    for halving in range(12):
        trial_theta = theta + 0.5**halving * move
        trial = likelihood.at(trial_theta)
        if trial.loglik >= point.loglik - 1e-10 * abs(point.loglik):
            return trial_theta, trial
    return None
