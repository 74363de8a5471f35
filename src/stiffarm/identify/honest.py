"""The estimator whose intervals are true when nobody knows which errors are shared.

1. *Variance groups*: a variance per cell (configuration x axis) if every cell leaves enough degrees of freedom, also
   beside the shared effects (else a variance can collapse to zero while the effects pass through its readings), else
   one per axis, else one for all.  A known relative ``sigma`` of the rows is kept within a group.
2. *Lack of fit* (`lackoffit`): F between replicates over pure error.  Under 2 and not significant, rows are
   independent as far as the readings can tell: variances by REML, covariance and dof by Kenward and Roger (`reml`).
3. Otherwise the readings of a configuration share an error.  It enters as a random translation and rotation of the
   tool per configuration (the problem's ``shared`` effects, or a random offset per axis when the caller gave none):
   a mixed model with the same REML and Kenward-Roger machinery.
4. The same decision is taken separately for errors shared within a visit.

Why significance too, and not F < 2 alone: six repeats at F = 2 mean that the shared variance is a sixth of the
independent one, yet the mean of 18 rows of a configuration is then four times as uncertain as independence has it.
Without repeats there is no pure error to compare with; then the shared effects stay in, as far as the design can
tell their variances from those of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stiffarm.identify.lackoffit import lack_of_fit, splits_replicates, visit_effect
from stiffarm.identify.outcome import LackOfFit, LinearEstimate
from stiffarm.identify.problem import Array, Codes, LinearProblem, SharedEffect, require_full_rank
from stiffarm.identify.reduction import Reduction, column_space, members, reduce_rows, spread_columns
from stiffarm.identify.reml import fit_reml, variances_told_apart
from stiffarm.identify.weights import claimed_gain, gain_bound

LACK_LIMIT = 2.0
SIGNIFICANCE = 0.1
MOST_GROUPS = 400
"""More variances than this are not estimated; the next coarser grouping is taken."""
LEAST_DOF = 6.0
"""Every variance group must leave this many degrees of freedom beside parameters and effects of configurations ..."""
LEAST_DOF_VISITS = 2.0
"""... and on average this many beside the effects of visits too, which are many and known from each other."""


@dataclass(frozen=True, eq=False)
class VarianceGroups:
    """Which rows share a variance."""

    code: Codes
    names: tuple[str, ...]
    kind: str
    """``cell``, ``axis`` or ``all``."""


@dataclass(frozen=True, eq=False)
class HonestDesign:
    """What `honest` derives from design and labels alone: build once, fit many data sets."""

    groups: VarianceGroups
    between: tuple[SharedEffect, ...]
    """Effects of whole configurations."""
    within: tuple[SharedEffect, ...]
    """Effects of single visits."""
    messages: tuple[str, ...]
    reductions: dict[tuple[str, ...], Reduction]
    """Compressed designs met so far, by the names of the effects in the model."""


def honest(
    problem: LinearProblem, *, lack_limit: float = LACK_LIMIT, design: HonestDesign | None = None
) -> LinearEstimate:
    """Estimate with Kenward-Roger intervals, shared errors in the model where the readings show them.

    ``design`` (from `honest_design`) saves time when many data sets share one design.
    """
    if design is None:
        require_full_rank(problem)
        design = honest_design(problem)
    lack = lack_of_fit(problem, design.groups.code)
    visits = visit_effect(problem, design.within, design.groups.code)
    effects: tuple[SharedEffect, ...] = ()
    if _is_needed(lack, lack_limit):
        effects += design.between
    if visits is not None and _is_needed(visits, lack_limit):
        effects += design.within
    key = tuple(effect.name for effect in effects)
    if key not in design.reductions:
        design.reductions[key] = reduce_rows(problem, design.groups.code, effects, problem.row_scale)
    fit = fit_reml(
        problem, design.groups.code, effects, group_names=design.groups.names, reduction=design.reductions[key]
    )
    found = fit.estimate("honest")
    messages = design.messages + _messages(lack, visits, effects) + found.details.messages
    return replace(
        found,
        claimed_gain=claimed_gain(problem, found.covariance),
        claimed_gain_bound=None if effects else gain_bound(fit.row_sigma),
        details=replace(found.details, lack_of_fit=lack, visit_effect=visits, messages=messages),
    )


def honest_design(problem: LinearProblem) -> HonestDesign:
    """Variance groups and the shared effects whose variances this design can tell from those of the rows."""
    offered = problem.shared or offset_effects(problem)
    between = tuple(e for e in offered if not splits_replicates(problem, e))
    within = tuple(e for e in offered if splits_replicates(problem, e))
    groups = variance_groups(problem, between, within)
    kept_between = variances_told_apart(problem, groups.code, between)
    kept_within = variances_told_apart(problem, groups.code, within)
    dropped = [e.name for e in offered if e not in kept_between and e not in kept_within]
    messages = tuple(f"the design cannot tell the variance of '{name}' from that of the rows" for name in dropped)
    return HonestDesign(groups, kept_between, kept_within, messages, {})


def variance_groups(
    problem: LinearProblem, between: tuple[SharedEffect, ...] = (), within: tuple[SharedEffect, ...] = ()
) -> VarianceGroups:
    """The finest of cell, axis, all whose every group leaves enough degrees of freedom."""
    left = 1.0 - _leverage(problem, between)
    left_visits = 1.0 - _leverage(problem, between + within) if within else left
    for kind, code in (("cell", problem.cell), ("axis", problem.axis)):
        if code is None or int(code.max()) >= MOST_GROUPS:
            continue
        enough = np.bincount(code, left).min() >= LEAST_DOF - 1e-9
        if enough and np.bincount(code, left_visits).mean() >= LEAST_DOF_VISITS - 1e-9:
            return VarianceGroups(code, tuple(f"{kind} {i + 1}" for i in range(int(code.max()) + 1)), kind)
    return VarianceGroups(np.zeros(problem.rows, dtype=np.intp), ("all rows",), "all")


def _leverage(problem: LinearProblem, effects: tuple[SharedEffect, ...]) -> Array:
    """(rows,) leverage when the shared effects are free parameters beside those of the problem."""
    design = problem.A / problem.row_scale[:, None]
    leverage = np.zeros(problem.rows)
    for rows in members(problem.configuration) if effects and problem.configuration is not None else ():
        columns = np.hstack([spread_columns(effect, rows) for effect in effects]) / problem.row_scale[rows, None]
        basis = column_space(columns)
        design[rows] -= basis @ (basis.T @ design[rows])
        leverage[rows] = np.sum(basis**2, axis=1)
    return np.asarray(leverage + np.sum(column_space(design) ** 2, axis=1))


def _is_needed(test: LackOfFit | None, limit: float) -> bool:
    return test is None or limit <= test.F or test.p_value < SIGNIFICANCE


def offset_effects(problem: LinearProblem) -> tuple[SharedEffect, ...]:
    """A random offset per configuration and axis, for callers who know no geometry."""
    if problem.configuration is None:
        return ()
    axis = np.zeros(problem.rows, dtype=np.intp) if problem.axis is None else problem.axis
    columns: Array = np.eye(int(axis.max()) + 1)[axis]
    return (SharedEffect("configuration offset", problem.configuration, columns),)


def _messages(lack: LackOfFit | None, visits: LackOfFit | None, effects: tuple[SharedEffect, ...]) -> tuple[str, ...]:
    names = ", ".join(effect.name for effect in effects)
    said = []
    if lack is None:
        said.append("nothing was repeated enough to test the fit against the scatter of readings")
    else:
        said.append(f"lack of fit F = {lack.F:.2f} (p = {lack.p_value:.2g})")
    if visits is not None:
        said.append(f"errors shared by a visit F = {visits.F:.2f} (p = {visits.p_value:.2g})")
    said.append(f"errors shared between readings are in the model: {names}" if effects else "readings are independent")
    return tuple(said)
