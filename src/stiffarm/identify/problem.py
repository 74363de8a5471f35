"""The regression problem an identification comes down to, as arrays with labels.

A row i of a campaign is one scalar reading (or a deflection).  Linear in its p parameters it says

    y_i = A_i x + sum_e C_ei u_eg(i) + eps_i,        eps_i ~ N(0, variance of the cell of row i),

where a *cell* is what shares a noise level (one configuration, one axis) and u_eg is an error *shared* by every row
of a group g: the tool moved a little between the unloaded and the loaded reading, so all markers of that stop are off
together.  Two kinds are usual, a translation t and a rotation w of the tool about the centre c of its markers; a row
that reads the coordinate along the unit vector e of the point at p sees

    e . (t + w x (p - c)) = e . t + ((p - c) x e) . w,

so its columns are e and (p - c) x e.  The estimators of this room differ only in what they assume of eps and u.

A prior with mean m and precision factor L adds |L (x - m)|^2 to the criterion: rows of known unit variance.

Rank is judged after rows are whitened and columns scaled to unit length, by the gap in the singular values: a design
that is deficient drops by many orders of magnitude from one singular value to the next, a merely poor one does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiffarm.errors import InputError, Problem

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

RANK_FLOOR = 1e-13
"""Singular values (relative) under this are rounding."""
GAP_CEILING = 1e-8
"""A gap counts only when what lies below it is relatively smaller than this."""
GAP_LEAST = 1e4
"""Ratio of neighbouring singular values that is called a gap."""


def label_codes(labels: ArrayLike) -> Codes:
    """Labels of any kind as integers 0, 1, 2 ... in the sorted order of the labels.

    >>> label_codes(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    return np.unique(np.asarray(labels), return_inverse=True)[1].reshape(-1).astype(np.intp)


def crossed_codes(first: Codes, second: Codes) -> Codes:
    """One code for each pair of codes that occurs."""
    return label_codes(first * (int(second.max(initial=0)) + 1) + second)


@dataclass(frozen=True, eq=False)
class SharedEffect:
    """A random vector common to all rows of a group, the same variance in each of its directions."""

    name: str
    group: Codes
    """(rows,) group of each row; a group lies inside one configuration."""
    columns: Array
    """(rows, k) how each of the k directions of the shared error enters the row, in units of y per unit of error."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "group", label_codes(self.group))
        object.__setattr__(self, "columns", np.atleast_2d(np.asarray(self.columns, dtype=float)))


@dataclass(frozen=True, eq=False)
class Prior:
    """Knowledge before the data: ``factor @ (x - mean)`` has zero mean and unit covariance."""

    mean: Array
    factor: Array
    """(k, parameters) precision factor, e.g. diag(1 / sigma); rows of zeros say nothing."""

    @classmethod
    def independent(cls, mean: ArrayLike, sigma: ArrayLike) -> Prior:
        """Prior with one standard deviation per parameter; ``inf`` leaves a parameter free.

        >>> Prior.independent([0.0, 1.0], [np.inf, 0.5]).factor.tolist()
        [[0.0, 2.0]]
        """
        precision = 1.0 / np.asarray(sigma, dtype=float)
        return cls(np.asarray(mean, dtype=float), np.diag(precision)[precision > 0])


@dataclass(frozen=True, eq=False)
class LinearProblem:
    """``y = A x + errors`` with the labels that say which errors belong together.

    Labels may be any array of integers or strings; they are stored as codes.  ``cell`` defaults to
    configuration x axis.  Rows with the same ``replicate`` label measured the same quantity again.
    """

    A: Array
    """(rows, parameters)."""
    y: Array
    """(rows,)."""
    sigma: Array | None = None
    """(rows,) standard deviation of each row, known or assumed up to a factor, in the unit of y."""
    configuration: Codes | None = None
    axis: Codes | None = None
    cell: Codes | None = None
    replicate: Codes | None = None
    shared: tuple[SharedEffect, ...] = ()
    prior: Prior | None = None
    names: tuple[str, ...] = ()
    """Names of the parameters, for messages; x1, x2 ... when empty."""

    def __post_init__(self) -> None:
        for name in ("A", "y", "sigma"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, np.asarray(value, dtype=float))
        for name in ("configuration", "axis", "cell", "replicate"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, label_codes(value))
        if self.cell is None and self.configuration is not None:
            cell = self.configuration if self.axis is None else crossed_codes(self.configuration, self.axis)
            object.__setattr__(self, "cell", cell)
        if not self.names:
            object.__setattr__(self, "names", tuple(f"x{i + 1}" for i in range(self.parameters)))
        _check(self)

    @property
    def rows(self) -> int:
        """Number of readings."""
        return len(self.y)

    @property
    def parameters(self) -> int:
        """Number of unknowns."""
        return self.A.shape[1] if self.A.ndim == 2 else 0

    @property
    def row_scale(self) -> Array:
        """Assumed standard deviation of each row, ones when nothing is assumed."""
        return np.ones(self.rows) if self.sigma is None else self.sigma

    @property
    def prior_rows(self) -> tuple[Array, Array]:
        """Rows and right-hand side of the prior, of unit variance (none: shape (0, p))."""
        if self.prior is None:
            return np.zeros((0, self.parameters)), np.zeros(0)
        return self.prior.factor, self.prior.factor @ self.prior.mean


def rigid_effects(
    name: str, direction_world: Array, point_world_m: Array, group: ArrayLike
) -> tuple[SharedEffect, ...]:
    """Random translation and rotation of the tool, shared by the rows of each group.

    ``direction_world`` (rows, 3) is the unit vector along which a row reads, ``point_world_m`` (rows, 3) the point it
    reads.  The rotation turns about the mean of the points of a group, so that both effects are as good as orthogonal.
    """
    codes = label_codes(group)
    count = np.bincount(codes)
    centre = np.stack([np.bincount(codes, point_world_m[:, i]) / count for i in range(3)], axis=1)
    arm = point_world_m - centre[codes]
    arm[np.abs(arm) < 1e-12 * np.abs(point_world_m).max(initial=0.0)] = 0.0
    return (
        SharedEffect(f"{name} translation", codes, direction_world),
        SharedEffect(f"{name} rotation", codes, np.cross(arm, direction_world)),
    )


@dataclass(frozen=True)
class Rank:
    """What the singular values of a whitened, column-scaled matrix say."""

    rank: int
    singular_values: Array
    gap: float
    """Ratio of the last singular value kept to the first dropped; to rounding when none is dropped."""
    null_space: Array
    """(parameters, parameters - rank) directions of the scaled parameters that leave every row unchanged."""


def numerical_rank(matrix: Array) -> Rank:
    """Rank by spectral gap of a matrix whose rows are whitened; its columns are scaled here.

    >>> numerical_rank(np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 6.0]])).rank
    1
    """
    length = np.linalg.norm(matrix, axis=0)
    scaled = matrix / np.where(length > 0, length, 1.0)
    triangle = np.linalg.qr(scaled, mode="r") if len(scaled) > scaled.shape[1] else scaled
    values = np.linalg.svd(triangle, compute_uv=False)
    padded = np.zeros(matrix.shape[1] + 1)
    padded[: len(values)] = values
    relative = np.maximum(padded / max(padded[0], np.finfo(float).tiny), 1e-17)
    ratio = relative[:-1] / relative[1:]
    candidates = np.flatnonzero((ratio > GAP_LEAST) & (relative[1:] < GAP_CEILING))
    rank = int(candidates[0]) + 1 if len(candidates) and padded[0] > 0 else int(np.sum(relative[:-1] > RANK_FLOOR))
    rank = 0 if padded[0] == 0 else min(rank, int(np.sum(relative[:-1] > RANK_FLOOR)))
    gap = float(ratio[rank - 1]) if rank else 1.0
    deficient = rank < matrix.shape[1]
    null_space = np.linalg.svd(triangle)[2][rank:].T if deficient else np.zeros((matrix.shape[1], 0))
    return Rank(rank, np.asarray(values, dtype=float), gap, np.asarray(null_space, dtype=float))


def require_full_rank(problem: LinearProblem) -> Rank:
    """Rank of the problem with its prior; an `InputError` naming the parameters involved when it is deficient."""
    rows, _ = problem.prior_rows
    found = numerical_rank(np.vstack([problem.A / problem.row_scale[:, None], rows]))
    if found.rank == problem.parameters:
        return found
    involved = np.abs(found.null_space).max(axis=1) > 1e-3
    names = ", ".join(name for name, is_in in zip(problem.names, involved, strict=True) if is_in)
    raise InputError(
        Problem(
            f"the readings cannot tell {problem.parameters - found.rank} direction(s) among the parameters {names}",
            found=f"rank {found.rank} of {problem.parameters}, gap {found.gap:.1e}",
            next_step="Hold or merge parameters, give a prior, or measure configurations that tell them apart",
        )
    )


def _check(problem: LinearProblem) -> None:
    faults: list[Problem] = []
    if problem.A.ndim != 2 or problem.y.shape != (len(problem.A),):
        raise InputError(
            Problem("design matrix and observations do not fit", found=f"{problem.A.shape} and {problem.y.shape}")
        )
    arrays: Sequence[tuple[str, Any]] = [("A", problem.A), ("y", problem.y), ("sigma", problem.sigma)]
    faults += [Problem(f"{name} holds a number that is not finite") for name, a in arrays if not _all_finite(a)]
    if problem.sigma is not None and np.any(problem.sigma <= 0):
        faults.append(Problem("a standard deviation of a row is not positive", column="sigma"))
    labels = ("sigma", "configuration", "axis", "cell", "replicate")
    faults += [
        Problem(f"{name} has not one entry per row", found=str(np.shape(getattr(problem, name))))
        for name in labels
        if getattr(problem, name) is not None and np.shape(getattr(problem, name)) != (problem.rows,)
    ]
    faults += [f for effect in problem.shared for f in _effect_faults(problem, effect)]
    if len(problem.names) != problem.parameters:
        faults.append(Problem("names do not fit the columns of A", found=f"{len(problem.names)} names"))
    if problem.prior is not None and problem.prior.factor.shape[1:] != (problem.parameters,):
        faults.append(Problem("prior does not fit the columns of A", found=str(problem.prior.factor.shape)))
    if faults:
        raise InputError(faults)


def _effect_faults(problem: LinearProblem, effect: SharedEffect) -> list[Problem]:
    if len(effect.group) != problem.rows or len(effect.columns) != problem.rows:
        return [Problem(f"shared effect '{effect.name}' has not one entry per row")]
    if problem.configuration is None:
        return [Problem(f"shared effect '{effect.name}' needs the configuration of each row")]
    groups = int(effect.group.max(initial=-1)) + 1
    if len(np.unique(crossed_codes(effect.group, problem.configuration))) != groups:
        return [Problem(f"a group of the shared effect '{effect.name}' spans several configurations")]
    return [] if _all_finite(effect.columns) else [Problem(f"shared effect '{effect.name}' is not finite")]


def _all_finite(value: Array | None) -> bool:
    return value is None or bool(np.all(np.isfinite(value)))
