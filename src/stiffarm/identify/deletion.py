"""Every row, and every configuration, against what the rest of a campaign predicts for it.

Let V be the covariance of the rows found by `honest` and P = V^-1 - V^-1 A Phi A' V^-1.  A free shift delta of row i
alone changes nothing for the others, and its estimate is the deletion residual, reading less prediction from all other
rows (shared errors predicted too):

    delta_i = (P y)_i / P_ii,      var delta_i = 1 / P_ii.

A configuration is shifted along the columns C of its shared error (translation and rotation of the tool):

    delta = (C' P C)^-1 C' P y,    cov delta = (C' P C)^-1,    F = delta' cov^-1 delta / k.

Suspects must not hide behind the variances they inflate or the fit they pull.  Variances come from the other rows, and
V of a suspect is inflated by a large factor (of its row, or along C): delta stays what it is, for it never depended on
the row itself, the fit is no longer pulled, and the variance of delta is corrected for the inflation afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.honest import honest
from stiffarm.identify.lackoffit import splits_replicates
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import Array, Codes, LinearProblem, SharedEffect, numerical_rank
from stiffarm.identify.reduction import members

INFLATED = 1e6
"""Factor on the variance of suspects."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Deletion:
    """Deletion residuals of every row and shift of every configuration, suspects set aside."""

    problem: LinearProblem
    suspect_rows: Flags
    suspect_configurations: Flags
    delta: Array
    delta_variance: Array
    row_dof: Array
    """(rows,) degrees of freedom of the variance of the row's group."""
    F: Array
    """(configurations,) before it is made external."""
    directions: Array
    """(configurations,) k."""
    shift: Array
    """(configurations,) root mean square over its rows."""
    shared_dof: float
    """Degrees of freedom of the variance a shift is compared with."""

    @classmethod
    def of(cls, problem: LinearProblem, rows: Flags, whole: Flags) -> Deletion:
        """With these rows and configurations set aside."""
        kept = ~rows if problem.configuration is None else ~rows & ~whole[problem.configuration]
        if numerical_rank(np.vstack([problem.A[kept], problem.prior_rows[0]])).rank < problem.parameters:
            kept, whole = ~rows, np.zeros_like(whole)
        fit = honest(_subset(problem, kept))
        sigma = _spread_sigma(problem, kept, fit)
        variance = np.where(rows, INFLATED, 1.0) * sigma**2
        shared = [(e, _component(fit, e.name)) for e in problem.shared if e.name in fit.details.shared_effects]
        offset = _configuration_effect(problem)
        blocks = blocks_of(problem)
        V = [
            _covariance(b, variance, shared, offset if g < len(whole) and whole[g] else None, sigma)
            for g, b in enumerate(blocks)
        ]
        inverse: list[Array] = [np.asarray(np.linalg.inv(v), dtype=float) for v in V]
        Py, basis = _projected(problem, blocks, V, inverse)
        delta, spread = np.zeros(problem.rows), np.zeros(problem.rows)
        for b, inv, u in zip(blocks, inverse, basis, strict=True):
            diagonal = np.maximum(np.diag(inv) - np.sum(u**2, axis=1), 1e-300)
            delta[b], spread[b] = Py[b] / diagonal, 1.0 / diagonal
        spread = np.maximum(spread - variance + sigma**2, 1e-12 * spread)
        F, directions, shift = _shifts(blocks, inverse, basis, Py, offset, whole, sigma)
        shared_dof = _shared_dof(problem, fit, directions, whole, kept)
        return cls(
            problem, rows, whole, delta, spread, _group_dof(problem, kept, fit), F, directions, shift, shared_dof
        )


def _subset(problem: LinearProblem, kept: Flags) -> LinearProblem:
    def part(code: Codes | None) -> Codes | None:
        return None if code is None else code[kept]

    return replace(
        problem,
        A=problem.A[kept],
        y=problem.y[kept],
        sigma=None if problem.sigma is None else problem.sigma[kept],
        configuration=part(problem.configuration),
        axis=part(problem.axis),
        cell=part(problem.cell),
        replicate=part(problem.replicate),
        shared=tuple(SharedEffect(e.name, e.group[kept], e.columns[kept]) for e in problem.shared),
    )


def _spread_sigma(problem: LinearProblem, kept: Flags, fit: LinearEstimate) -> Array:
    """(rows,) standard deviation of every row from those of kept rows of its cell, else its axis, else all."""
    assert fit.details.row_sigma is not None
    relative = fit.details.row_sigma / problem.row_scale[kept]
    sigma = np.full(problem.rows, float(np.sqrt(np.mean(relative**2))))
    for code in (problem.axis, problem.cell):
        if code is not None:
            number = np.bincount(code[kept], minlength=int(code.max()) + 1)
            mean = np.bincount(code[kept], relative**2, minlength=len(number)) / np.maximum(number, 1)
            sigma = np.where(number[code] > 0, np.sqrt(mean)[code], sigma)
    return np.asarray(sigma * problem.row_scale)


def _group_dof(problem: LinearProblem, kept: Flags, fit: LinearEstimate) -> Array:
    """(rows,) effective degrees of freedom 2 (variance / its standard error)^2 of the variance of each row."""
    assert fit.details.row_sigma is not None
    relative = (fit.details.row_sigma / problem.row_scale[kept]) ** 2
    components = [c for c in fit.details.variance_components if c.name not in fit.details.shared_effects]
    value = np.array([c.variance for c in components])
    dof = np.array([2.0 * (c.variance / c.standard_error) ** 2 if c.standard_error > 0 else 1e6 for c in components])
    own = dof[np.argmin(np.abs(relative[:, None] - value), axis=1)]
    result: Array = np.full(problem.rows, float(np.median(own)))
    result[kept] = own
    code = problem.cell
    if code is not None:
        for rows in members(code):
            here = rows[kept[rows]]
            result[rows[~kept[rows]]] = result[here[0]] if len(here) else float(np.median(own))
    return np.asarray(np.maximum(result, 2.0))


def _component(fit: LinearEstimate, name: str) -> float:
    return next(c.variance for c in fit.details.variance_components if c.name == name)


def _configuration_effect(problem: LinearProblem) -> Array | None:
    """(rows, k) columns along which a whole configuration may be shifted."""
    if problem.configuration is None:
        return None
    between = [e.columns for e in problem.shared if not splits_replicates(problem, e)]
    if between:
        return np.hstack(between)
    axis = np.zeros(problem.rows, dtype=np.intp) if problem.axis is None else problem.axis
    return np.asarray(np.eye(int(axis.max()) + 1)[axis])


def blocks_of(problem: LinearProblem) -> list[Codes]:
    """Rows of each configuration, or single rows without configurations."""
    if problem.configuration is None:
        return [np.array([i], dtype=np.intp) for i in range(problem.rows)]
    return members(problem.configuration)


def _covariance(
    rows: Codes,
    variance: Array,
    shared: list[tuple[SharedEffect, float]],
    suspect: Array | None,
    sigma: Array,
) -> Array:
    V = np.diag(variance[rows])
    for effect, size in shared:
        same = effect.group[rows][:, None] == effect.group[rows][None, :]
        V += size * (effect.columns[rows] @ effect.columns[rows].T) * same
    if suspect is not None:
        V += (suspect[rows] * _free(suspect[rows], sigma[rows])) @ suspect[rows].T
    return np.asarray(V)


def _free(columns: Array, sigma: Array) -> Array:
    """Variances of a shift along each column that leave it free."""
    return np.asarray(INFLATED * np.mean(sigma**2) / np.maximum(np.mean(columns**2, axis=0), 1e-300))


def _projected(
    problem: LinearProblem, blocks: list[Codes], V: list[Array], inverse: list[Array]
) -> tuple[Array, list[Array]]:
    """P y, and per block the columns U with P = V^-1 - U U'."""
    prior_rows, prior_values = problem.prior_rows
    factors = [np.linalg.cholesky(v) for v in V]
    white = [
        np.linalg.solve(L, np.column_stack([problem.A[b], problem.y[b]])) for L, b in zip(factors, blocks, strict=True)
    ]
    stacked = np.vstack([*white, np.column_stack([prior_rows, prior_values])])
    length = np.maximum(np.linalg.norm(stacked[:, :-1], axis=0), 1e-300)
    basis, triangle = np.linalg.qr(stacked[:, :-1] / length)
    root = np.linalg.inv(triangle) / length[:, None]
    values = root @ (basis.T @ stacked[:, -1])
    Py, columns = np.zeros(problem.rows), []
    for b, inv in zip(blocks, inverse, strict=True):
        Py[b] = inv @ (problem.y[b] - problem.A[b] @ values)
        columns.append(inv @ problem.A[b] @ root)
    return Py, columns


def _shifts(
    blocks: list[Codes],
    inverse: list[Array],
    basis: list[Array],
    Py: Array,
    offset: Array | None,
    whole: Flags,
    sigma: Array,
) -> tuple[Array, Array, Array]:
    """F, number of directions and root mean square of the shift of each configuration."""
    if offset is None:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    F, directions, size = np.zeros(len(blocks)), np.zeros(len(blocks)), np.zeros(len(blocks))
    for g, (rows, inv, u) in enumerate(zip(blocks, inverse, basis, strict=True)):
        C = offset[rows]
        length = np.linalg.norm(C, axis=0)
        used = length > 1e-9 * length.max()
        C = C[:, used] / length[used]
        information = C.T @ inv @ C - (u.T @ C).T @ (u.T @ C)
        values, vectors = np.linalg.eigh(information)
        known = values > 1e-9 * values[-1]
        covariance = (vectors[:, known] / values[known]) @ vectors[:, known].T
        delta = covariance @ (C.T @ Py[rows])
        if whole[g]:
            covariance = covariance - np.diag(_free(offset[rows][:, used], sigma[rows]) * length[used] ** 2)
        k = int(known.sum())
        F[g] = max(float(delta @ np.linalg.pinv(covariance, rcond=1e-9, hermitian=True) @ delta), 0.0) / k
        directions[g], size[g] = k, float(np.sqrt(np.mean((C @ delta) ** 2)))
    return F, directions, size


def _shared_dof(problem: LinearProblem, fit: LinearEstimate, directions: Array, whole: Flags, kept: Flags) -> float:
    """A shift is compared with the shifts of the other configurations, or with the rows when none was found."""
    if fit.details.shared_effects:
        return max(float(directions[~whole].sum()) - problem.parameters, 3.0)
    return max(float(kept.sum()) - problem.parameters, 3.0)
