"""Do the readings disagree with the model by more than they disagree with themselves?

Rows with the same replicate label measured the same quantity again; their scatter is *pure error*, whatever the model.
With the pure variance s_g^2 of each variance group g (on nu_g degrees of freedom) as weights, the residual sum of
squares of the fit splits into pure error and *lack of fit*, S, on d = replicates - (effective) parameters.  If the
model holds and errors of different replicates are independent, S is a sum of k_g F(k_g, nu_g) over the groups, so

    E S = sum k_g nu_g / (nu_g - 2),       var S = sum 2 k_g nu_g^2 (k_g + nu_g - 2) / ((nu_g - 2)^2 (nu_g - 4)),

and F is S scaled to follow F(d, d2), where d2 matches var S / (E S)^2.  One group gives the textbook statistic.  A
missing effect raises F, and so does an error shared by all rows of a configuration: in both cases rows are not
independent.

Errors shared by one *visit* only (the robot left and came back) do not raise F, for they scatter between repeats.  They
show as agreement among the markers of a visit: within pure error, the part that a shared motion of the visit explains
has a larger mean square than the rest.  That ratio is the second test.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.identify.intervals import f_upper
from stiffarm.identify.linear import solve_whitened
from stiffarm.identify.outcome import LackOfFit
from stiffarm.identify.problem import Array, Codes, LinearProblem, SharedEffect, crossed_codes, label_codes
from stiffarm.identify.reduction import column_space, members, spread_columns

OWN_VARIANCE_DOF = 6
"""A group with fewer degrees of freedom of pure error takes the pooled variance."""


@dataclass(frozen=True, eq=False)
class PureError:
    """Scatter of repeated readings about their means."""

    row_sigma: Array
    """(rows,) standard deviation from pure error alone."""
    deviation: Array
    """(rows,) deviation from the mean of the replicates, divided by ``row_sigma``."""
    group_dof: Array
    """(groups,) degrees of freedom of pure error in each variance group."""
    denominator: Codes
    """(rows,) which variance estimate a row uses: one per group, the poor groups share one."""
    dof: Array
    """(rows,) degrees of freedom of that estimate."""


def pure_error(problem: LinearProblem, group: Codes) -> PureError | None:
    """Scatter within replicates per variance group; None when too little was repeated.

    Residuals of a fit, not readings, are compared, so that repeats may differ slightly in their joints.
    """
    if problem.replicate is None:
        return None
    number = np.bincount(problem.replicate)
    dof: Array = np.bincount(group, 1.0 - 1.0 / number[problem.replicate]).astype(float)
    if dof.sum() < OWN_VARIANCE_DOF:
        return None
    residual = solve_whitened(problem, problem.row_scale).residuals
    deviation = _centred(residual, problem.replicate, problem.row_scale)
    within = np.bincount(group, deviation**2)
    own = dof >= OWN_VARIANCE_DOF
    variance = np.where(own, within / np.maximum(dof, 1.0), within.sum() / dof.sum())
    floor = max(1e-24 * float(np.mean((problem.y / problem.row_scale) ** 2)), 1e-280)
    scale = np.sqrt(np.maximum(variance, floor))[group]
    denominator = np.where(own, np.arange(len(dof)), len(dof))[group]
    used: Array = np.where(own, dof, dof.sum())[group]
    return PureError(problem.row_scale * scale, deviation / scale, dof, denominator.astype(np.intp), used)


def lack_of_fit(problem: LinearProblem, group: Codes) -> LackOfFit | None:
    """F test of the model against pure error; None when nothing was repeated or nothing is left to test.

    ``group`` is the variance group of each row.
    """
    pure = pure_error(problem, group)
    if pure is None or problem.replicate is None:
        return None
    solution = solve_whitened(problem, pure.row_sigma)
    weight = 1.0 / pure.row_sigma
    along = np.bincount(problem.replicate, solution.residuals * weight)
    lack = float(np.sum(along**2 / np.bincount(problem.replicate, weight**2)))
    first = np.unique(problem.replicate, return_index=True)[1]
    dof = len(first) - float(np.sum(solution.basis**2))
    return None if dof < 1 else _matched(lack, dof, pure.denominator[first], pure.dof[first])


def visit_effect(problem: LinearProblem, effects: tuple[SharedEffect, ...], group: Codes) -> LackOfFit | None:
    """F test for errors shared by one visit: pure error that ``effects`` explain against the rest of it."""
    pure = pure_error(problem, group)
    if pure is None or problem.replicate is None or problem.configuration is None or not effects:
        return None
    explained, rank = 0.0, 0
    for rows in members(problem.configuration):
        columns = np.hstack([spread_columns(effect, rows) for effect in effects]) / pure.row_sigma[rows, None]
        columns = _centred(columns, problem.replicate[rows], pure.row_sigma[rows])
        basis = column_space(columns)
        explained += float(np.sum((basis.T @ pure.deviation[rows]) ** 2))
        rank += basis.shape[1]
    rest_dof = float(pure.group_dof.sum()) - rank
    if rank == 0 or rest_dof < OWN_VARIANCE_DOF:
        return None
    rest = max(float(np.sum(pure.deviation**2)) - explained, 1e-300)
    ratio = (explained / rank) / (rest / rest_dof)
    return LackOfFit(ratio, float(rank), rest_dof, f_upper(ratio, rank, rest_dof))


def splits_replicates(problem: LinearProblem, effect: SharedEffect) -> bool:
    """True for an effect of visits: rows of one replicate lie in several groups of it."""
    if problem.replicate is None:
        return False
    return int(crossed_codes(problem.replicate, effect.group).max()) > int(problem.replicate.max())


def _matched(S: float, dof: float, denominator: Codes, nu: Array) -> LackOfFit:
    """Scale S so that it follows F(dof, d2) with the first two moments of the sum over groups of replicates."""
    codes = label_codes(denominator)
    number = np.bincount(codes)
    k, v = number * dof / len(codes), np.bincount(codes, nu) / number
    mean = float(np.sum(k * v / (v - 2)))
    variance = float(np.sum(2 * k * v**2 * (k + v - 2) / ((v - 2) ** 2 * (v - 4))))
    relative = variance / mean**2
    excess = dof * relative - 2.0
    below = (2 * dof - 4 + 4 * dof * relative) / excess if excess > 1e-9 else np.inf
    F = S / mean * (below / (below - 2) if np.isfinite(below) else 1.0)
    return LackOfFit(F, dof, float(below), f_upper(F, dof, float(below)))


def _centred(white: Array, label: Codes, row_sigma: Array) -> Array:
    """Whitened values (rows or rows x k) less the weighted mean of the rows with the same label, still whitened."""
    codes = label_codes(label)
    weight = 1.0 / row_sigma
    total = np.bincount(codes, weight**2)
    columns = white.reshape(len(white), -1)
    means = np.stack([np.bincount(codes, c * weight) / total for c in columns.T], axis=1)
    return np.asarray((columns - means[codes] * weight[:, None]).reshape(white.shape))
