"""Readings, markers and configurations that do not belong to the rest: listed with evidence, never removed.

*A reading* is judged by its deletion residual (`deletion`), t = delta / sqrt(var delta).  The variance of its group, on
nu degrees of freedom, still contains the row; the external t takes it out: t sqrt((nu - 1) / (nu - t^2)) on nu - 1
(not for nu under 10, which is an approximation that t^2 may exceed by chance).  Readings of a configuration that is
listed as a whole are not listed one by one.
*A configuration* is judged by the F of its shift, made external in the same way.
*A group of rows*, such as a marker, scatters too much when the mean square of its t exceeds that of all other rows.

Outliers hide each other by inflating variances.  So suspects, chosen by medians, are set aside first; those that are
not significant return, and this repeats until nothing changes.  Probabilities are multiplied by the number of
comparisons (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stiffarm.identify.deletion import Deletion, Flags, blocks_of
from stiffarm.identify.honest import offset_effects
from stiffarm.identify.intervals import f_upper, t_two_sided
from stiffarm.identify.problem import Codes, LinearProblem, crossed_codes, label_codes
from stiffarm.identify.reduction import members
from stiffarm.identify.robust import robust

SUSPECT_READING = 4.0
"""Median-scaled residual beyond which a reading is set aside at first."""
SUSPECT_CONFIGURATION = 6.0
"""F of a configuration over the median of all, beyond which it is set aside at first."""
LEAST_EXTERNAL_DOF = 10.0
LEAST_RATIO = 2.0
"""Mean square of a group of rows over the rest that is worth a line however significant."""
ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Outlier:
    """Something measured that the rest of the campaign contradicts."""

    kind: str
    """``reading``, ``configuration`` or the name of a group of rows such as ``marker``."""
    label: int
    """Row, or code of the group (sorted order of the labels)."""
    rows: Codes
    statistic: float
    """External t of a reading, F of a configuration, ratio of mean squares of a group."""
    p_value: float
    """After Bonferroni, at most 1."""
    shift: float
    """Reading: reading less prediction. Otherwise root mean square of that over the rows. Unit of y."""

    @property
    def evidence(self) -> str:
        """One line for a person."""
        what = {"reading": "t", "configuration": "F"}.get(self.kind, "mean square over the rest")
        return (
            f"{self.kind} {self.label + 1}: off by {self.shift:.3g}, {what} = {self.statistic:.1f}, "
            f"p = {self.p_value:.1g} after Bonferroni"
        )


def outliers(
    problem: LinearProblem, *, groups: Mapping[str, ArrayLike] | None = None, level: float = 0.01
) -> tuple[Outlier, ...]:
    """Outlying readings and configurations, and groups of rows (``{"marker": labels}``), most significant first."""
    problem = replace(problem, shared=problem.shared or offset_effects(problem))
    rows = _suspect_readings(problem)
    count = 0 if problem.configuration is None else int(problem.configuration.max()) + 1
    whole: Flags = np.zeros(count, dtype=bool)
    found: tuple[Outlier, ...] = ()
    deletion = Deletion.of(problem, rows, whole)
    whole = _suspect_configurations(problem, deletion)
    for _ in range(ROUNDS):
        deletion = Deletion.of(problem, rows, whole)
        found = (*_readings(deletion, level), *_configurations(deletion, level))
        rows_now, whole_now = np.zeros_like(rows), np.zeros_like(whole)
        rows_now[[o.label for o in found if o.kind == "reading"]] = True
        whole_now[[o.label for o in found if o.kind == "configuration"]] = True
        if np.array_equal(rows_now, rows) and np.array_equal(whole_now, whole):
            break
        rows, whole = rows_now, whole_now
    for kind, labels in (groups or {}).items():
        found = (*found, *_groups(deletion, kind, label_codes(labels), level))
    return tuple(sorted(found, key=lambda outlier: outlier.p_value))


def _readings(d: Deletion, level: float) -> tuple[Outlier, ...]:
    t = d.delta / np.sqrt(d.delta_variance)
    inside = ~d.suspect_rows & (d.row_dof >= LEAST_EXTERNAL_DOF)
    dof = np.where(inside, d.row_dof - 1, d.row_dof)
    room = np.maximum(d.row_dof - t**2, 1e-9 * d.row_dof)
    external = np.where(inside, t * np.sqrt(dof / room), t)
    p = np.minimum(t_two_sided(external, dof) * d.problem.rows, 1.0)
    listed = p < level
    if d.problem.configuration is not None:
        listed &= ~d.suspect_configurations[d.problem.configuration]
    return tuple(
        Outlier("reading", int(i), np.array([i]), float(external[i]), float(p[i]), float(d.delta[i]))
        for i in np.flatnonzero(listed)
    )


def _configurations(d: Deletion, level: float) -> tuple[Outlier, ...]:
    if d.problem.configuration is None:
        return ()
    found = []
    for g, (F, k, rows) in enumerate(zip(d.F, d.directions, blocks_of(d.problem), strict=True)):
        if k == 0:
            continue
        nu, external = d.shared_dof, float(F)
        if not d.suspect_configurations[g]:
            nu = max(nu - k, 1.0)
            external = float(F) * nu / max(d.shared_dof - k * float(F), 1e-9 * d.shared_dof)
        p = min(f_upper(external, float(k), nu) * len(d.F), 1.0)
        if p < level:
            found.append(Outlier("configuration", g, rows, external, p, float(d.shift[g])))
    return tuple(found)


def _groups(d: Deletion, kind: str, code: Codes, level: float) -> tuple[Outlier, ...]:
    kept = ~d.suspect_rows
    square = np.where(kept, d.delta**2 / d.delta_variance, 0.0)
    number, total = np.bincount(code, kept), np.bincount(code, square)
    found = []
    for g in np.flatnonzero(number):
        others = float(number.sum() - number[g])
        ratio = (total[g] / number[g]) / max((total.sum() - total[g]) / max(others, 1.0), 1e-300)
        p = min(f_upper(float(ratio), float(number[g]), max(others, 1.0)) * len(number), 1.0)
        if ratio > LEAST_RATIO and p < level:
            rows = np.flatnonzero(code == g)
            size = float(np.sqrt(np.mean(d.delta[rows] ** 2)))
            found.append(Outlier(kind, int(g), rows, float(ratio), p, size))
    return tuple(found)


def _suspect_readings(problem: LinearProblem) -> Flags:
    """Residuals of a robust fit, less the median of their configuration and axis, far out for the axis."""
    residual = robust(problem).residuals / problem.row_scale
    axis = np.zeros(problem.rows, dtype=np.intp) if problem.axis is None else problem.axis
    if problem.configuration is not None:
        cell = crossed_codes(problem.configuration, axis)
        medians = np.array([np.median(residual[rows]) if len(rows) > 4 else 0.0 for rows in members(cell)])
        residual = residual - medians[cell]
    scale = np.array([np.median(np.abs(residual[rows])) / 0.6745 for rows in members(axis)])
    return np.asarray(np.abs(residual) > SUSPECT_READING * np.maximum(scale, 1e-300)[axis])


def _suspect_configurations(problem: LinearProblem, deletion: Deletion) -> Flags:
    if problem.configuration is None:
        return np.zeros(0, dtype=bool)
    return np.asarray(SUSPECT_CONFIGURATION * np.median(deletion.F[deletion.directions > 0]) < deletion.F)
