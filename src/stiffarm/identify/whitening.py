"""Rows of a campaign made independent with unit variance, in place.

The covariance of the scalars is R + C C': R their own scatter (a number each, or a small block for the coordinates
of one reading), C the columns of errors that several rows share, one column a unit error.  With W = R^-1/2 and the
thin singular value decomposition W C = U S V',

    (W (R + C C') W)^-1/2 = (I + U S^2 U')^-1/2 = I - U (1 - (1 + S^2)^-1/2) U',

so rows that share nothing cost nothing, and rows that do cost as many numbers as they share errors.  C falls apart
into *components*, sets of rows that share anything at all; each is decomposed by itself, those of equal size at once.

Symmetric roots are taken, not Cholesky factors: they treat the rows of a component alike, so repeats of one reading
stay repeats (equal rows of the design) and a whitened row still is mostly the row it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OwnBlocks:
    """Scalars of readings whose coordinates scatter together, all of the same size."""

    rows: Ints
    """(blocks, size)"""
    root: Floats
    """(blocks, size, size) R^-1/2."""

    @classmethod
    def of(cls, rows: Ints, covariance: Floats) -> Self:
        """From covariances (blocks, size, size), which are positive definite."""
        values, vectors = np.linalg.eigh(covariance)
        return cls(rows, (vectors / np.sqrt(values)[:, None, :]) @ vectors.transpose(0, 2, 1))


@dataclass(frozen=True, eq=False)
class SharedBlocks:
    """Components of shared errors, all of the same size."""

    rows: Ints
    """(components, size)"""
    basis: Floats
    """(components, size, k) U."""
    shrink: Floats
    """(components, k) 1 - (1 + S^2)^-1/2."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """Takes scalar rows to rows of independent unit errors."""

    sigma: Floats
    """(scalars,) own standard deviation."""
    own: tuple[OwnBlocks, ...] = ()
    shared: tuple[SharedBlocks, ...] = ()

    def __call__(self, rows: Floats) -> Floats:
        """White residuals (scalars,) or columns (scalars, columns)."""
        white = self.by_row(rows.reshape(len(rows), -1))
        for block in self.shared:
            part = white[block.rows]
            along = block.basis.transpose(0, 2, 1) @ part
            white[block.rows] = part - block.basis @ (block.shrink[:, :, None] * along)
        return white.reshape(rows.shape)

    def by_row(self, rows: Floats) -> Floats:
        """Rows (scalars, columns) divided by their own scatter only."""
        white = rows / self.sigma[:, None]
        for block in self.own:
            white[block.rows] = block.root @ rows[block.rows]
        return np.asarray(white)

    @property
    def mixes(self) -> bool:
        """Whether a white row is made of more than its own row."""
        return bool(self.own or self.shared)

    def joined(self, label: Ints) -> Ints:
        """Labels of rows, where labels whose rows share a component have become one."""
        code = np.unique(label, return_inverse=True)[1].reshape(-1)
        links = [(code[block.rows[:, :1]], code[block.rows]) for block in self.shared]
        pairs = [np.stack(np.broadcast_arrays(a, b)).reshape(2, -1) for a, b in links]
        if not pairs or all((a == b).all() for a, b in pairs):
            return code
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        a, b = np.concatenate(pairs, axis=1)
        n = int(code.max()) + 1
        found = connected_components(coo_array((np.ones(len(a)), (a, b)), shape=(n, n)), directed=False)[1]
        return np.asarray(found[code], dtype=np.int64)


def shared_blocks(white_columns: csr_array) -> tuple[SharedBlocks, ...]:
    """Components of shared errors from their columns (scalars, errors), each row already divided by its own scatter."""
    rows_of, errors_of = _components(white_columns)
    by_size: dict[tuple[int, int], list[int]] = {}
    for i, (rows, errors) in enumerate(zip(rows_of, errors_of, strict=True)):
        by_size.setdefault((len(rows), len(errors)), []).append(i)
    found = []
    for members in by_size.values():
        rows = np.stack([rows_of[i] for i in members])
        dense = np.stack([white_columns[rows_of[i]][:, errors_of[i]].toarray() for i in members])
        basis, size, _ = np.linalg.svd(dense, full_matrices=False)
        found.append(SharedBlocks(rows, basis, 1.0 - 1.0 / np.sqrt(1.0 + size**2)))
    return tuple(found)


def _components(columns: csr_array) -> tuple[list[Ints], list[Ints]]:
    """Rows and errors of each component; a row without shared errors is in none."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, k = columns.shape
    entries = columns.tocoo()
    links = (np.ones(entries.nnz), (entries.row, n + entries.col))
    code = connected_components(coo_array(links, shape=(n + k, n + k)), directed=False)[1]
    nodes = np.unique(np.concatenate([entries.row, n + entries.col])).astype(np.int64)
    if not len(nodes):
        return [], []
    order = nodes[np.argsort(code[nodes], kind="stable")]
    parts = np.split(order, np.flatnonzero(np.diff(code[order])) + 1)
    return [part[part < n] for part in parts], [part[part >= n] - n for part in parts]
