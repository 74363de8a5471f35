"""Exact compression of the rows of a problem before variances are estimated.

Rows of one variance group (within one configuration, when shared effects are in the model) have independent errors of
equal variance, so an orthogonal turn among them changes nothing.  Take the turn [U, U_perp] with U a basis of the
columns of [A, C] restricted to these rows: U' y keeps every trace of the parameters and the shared effects,
U_perp' y is noise alone, of which only its sum of squares and its number matter to a Gaussian likelihood.

Six repeats of three markers read in one axis become three rows and fifteen degrees of freedom of pure error; 810 rows
become 135.  Nothing is assumed about repeats: rows without repeats just compress less.

Blocks of compressed rows (one per configuration) are padded to equal size for batched linear algebra.  Each variance
component is carried as columns F_a with V = sum_a theta_owner(a) F_a F_a': unit columns for rows, C for effects.  A
padded row has zero design, zero observation and unit variance owned by nobody.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.problem import Array, Codes, LinearProblem, SharedEffect

Owners = NDArray[np.intp]
DROPPED = 1e-11
"""Directions of [A, C] within a cell that are relatively smaller than this are rounding."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """Compressed design; `project` compresses observations, so many data sets share one design."""

    design: Array
    """(blocks, m, p), columns scaled by ``column_scale``."""
    column_scale: Array
    """(p,) lengths the columns were divided by: parameters of the scaled columns are longer by this."""
    features: Array
    """(blocks, m, f) columns F_a of the variance components."""
    owner: Owners
    """(blocks, f) component of each column: groups, then effects; ``components`` marks padding."""
    components: int
    groups: int
    pure_dof: Array
    """(groups,) degrees of freedom of the discarded directions."""
    row_scale: Array
    group: Codes
    turn: tuple[Owners, Owners, Array]
    """Sparse U': target (flat compressed row), source row, coefficient."""

    @property
    def shape(self) -> tuple[int, int]:
        """(blocks, m)."""
        return self.design.shape[0], self.design.shape[1]

    def project(self, y: Array) -> tuple[Array, Array]:
        """Compressed observations (blocks, m) and sum of squares of the rest per group."""
        target, source, factor = self.turn
        scaled = y / self.row_scale
        blocks, m = self.shape
        kept: Array = np.bincount(target, factor * scaled[source], minlength=blocks * m).astype(float)
        rest = scaled - np.bincount(source, factor * kept[target], minlength=len(y))
        return kept.reshape(blocks, m), np.bincount(self.group, rest * rest, minlength=self.groups).astype(float)


@dataclass(frozen=True, eq=False)
class _Block:
    rows: Owners
    """Rows of the problem in this block."""
    columns: Array
    """(rows, q) columns of all shared effects' groups in this block."""
    column_owner: Owners


def reduce_rows(problem: LinearProblem, group: Codes, effects: tuple[SharedEffect, ...], row_scale: Array) -> Reduction:
    """Compress the rows for a model with one variance per ``group`` (times ``row_scale``) and these shared effects."""
    groups = int(group.max()) + 1
    scaled = problem.A / row_scale[:, None]
    length = np.linalg.norm(scaled, axis=0)
    scaled = scaled / np.where(length > 0, length, 1.0)
    label = group if not effects or problem.configuration is None else problem.configuration
    blocks = [_block(rows, effects, row_scale, groups) for rows in members(label)]
    bases = [_bases(block, scaled, group) for block in blocks]
    sizes = [sum(u.shape[1] for _, u in basis) for basis in bases]
    m, q = max(sizes), max(block.columns.shape[1] for block in blocks)
    components = groups + len(effects)
    design = np.zeros((len(blocks), m, problem.parameters))
    features = np.zeros((len(blocks), m, m + q))
    features[:, :, :m] = np.eye(m)
    owner = np.full((len(blocks), m + q), components, dtype=np.intp)
    pure_dof = np.bincount(group, minlength=groups).astype(float)
    targets, sources, factors = [], [], []
    for b, (block, basis) in enumerate(zip(blocks, bases, strict=True)):
        width = block.columns.shape[1]
        owner[b, m : m + width] = block.column_owner
        at = 0
        for local, u in basis:
            rows, rank = block.rows[local], u.shape[1]
            design[b, at : at + rank] = u.T @ scaled[rows]
            features[b, at : at + rank, m : m + width] = u.T @ block.columns[local]
            owner[b, at : at + rank] = group[rows[0]]
            pure_dof[group[rows[0]]] -= rank
            targets.append(np.tile(b * m + at + np.arange(rank), len(rows)))
            sources.append(np.repeat(rows, rank))
            factors.append(u.ravel())
            at += rank
    turn = (np.concatenate(targets), np.concatenate(sources), np.concatenate(factors))
    return Reduction(design, length, features, owner, components, groups, pure_dof, row_scale, group, turn)


def members(label: Codes) -> list[Owners]:
    """Rows of each label, in order.

    >>> [rows.tolist() for rows in members(np.array([1, 0, 1]))]
    [[1], [0, 2]]
    """
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label))[:-1])


def spread_columns(effect: SharedEffect, rows: Owners) -> Array:
    """Columns of an effect for some rows, one set for each of its groups that occurs among them."""
    present, local = np.unique(effect.group[rows], return_inverse=True)
    columns = np.zeros((len(rows), len(present), effect.columns.shape[1]))
    columns[np.arange(len(rows)), local] = effect.columns[rows]
    return columns.reshape(len(rows), -1)


def column_space(matrix: Array) -> Array:
    """Orthonormal basis of the columns of a matrix, whatever their units."""
    length = np.linalg.norm(matrix, axis=0)
    tiny = 1e-9 * length.max(initial=0.0)
    scaled = matrix[:, length > tiny] / length[length > tiny]
    if not scaled.size:
        return np.zeros((len(matrix), 0))
    u, values, _ = np.linalg.svd(scaled, full_matrices=False)
    return np.asarray(u[:, values > DROPPED * values[0]])


def _block(rows: Owners, effects: tuple[SharedEffect, ...], row_scale: Array, groups: int) -> _Block:
    """Columns of the shared effects in one block: each group of an effect has columns of its own."""
    parts, owners = [np.zeros((len(rows), 0))], []
    for number, effect in enumerate(effects):
        columns = spread_columns(effect, rows) / row_scale[rows, None]
        parts.append(columns)
        owners.append(np.full(columns.shape[1], groups + number, dtype=np.intp))
    owner = np.concatenate(owners) if owners else np.zeros(0, dtype=np.intp)
    return _Block(rows, np.hstack(parts), owner)


def _bases(block: _Block, scaled: Array, group: Codes) -> list[tuple[Owners, Array]]:
    """Orthonormal basis of [A, C] for the rows of each variance group of a block: (local rows, U)."""
    found = []
    norm = np.linalg.norm(block.columns, axis=0) if block.columns.size else np.ones(0)
    for g in np.unique(group[block.rows]):
        local = np.flatnonzero(group[block.rows] == g)
        stacked = np.hstack([scaled[block.rows[local]], block.columns[local] / np.where(norm > 0, norm, 1.0)])
        u, values, _ = np.linalg.svd(stacked, full_matrices=False)
        found.append((local, u[:, values > DROPPED * max(values[0], np.finfo(float).tiny)]))
    return found
