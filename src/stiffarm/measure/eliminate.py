"""Unknowns that belong to a few rows, taken out of them exactly and at a cost linear in the rows.

Rows of unit variance say  r = A x + N n + e.  With N = Q [R; 0], Q orthogonal, the rows Q' r split into

    heads   (one for each n)    the only ones that n enters: whatever x is, n can satisfy them
    tails   Q2' r = Q2' A x + Q2' e

so that least squares in x alone sees the tails, which are independent rows of unit variance again: the solution, its
covariance and its degrees of freedom are those of the full problem.  Q is never formed: it is a product of as many
Householder reflections as there are unknowns, and a reflection of rows costs one pass over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Reflections:
    """Q' of one block of rows as Householder reflections 1 - tau v v'."""

    vectors: Floats
    """(rows, reflections)"""
    tau: Floats
    triangle: Floats
    """R: (heads, unknowns)."""

    @classmethod
    def of(cls, nuisance: Floats) -> Self:
        """From the derivatives (rows, unknowns) by the unknowns to be taken out.

        >>> found = Reflections.of(np.ones((4, 1)))
        >>> found.tails(np.array([[1.0], [2.0], [3.0], [4.0]])).shape, found.heads
        ((3, 1), 1)
        """
        packed, tau = np.linalg.qr(nuisance, mode="raw")
        rows, count = nuisance.shape[0], len(tau)
        vectors = np.tril(packed.T[:, :count], -1)
        vectors[range(count), range(count)] = 1.0
        return cls(vectors, tau, np.triu(packed.T)[: min(rows, nuisance.shape[1])])

    @property
    def heads(self) -> int:
        """Rows that the unknowns enter."""
        return len(self.triangle)

    def __call__(self, rows: Floats) -> Floats:
        """Q' rows (rows, columns): heads first."""
        out = np.array(rows, dtype=float)
        for v, tau in zip(self.vectors.T, self.tau, strict=True):
            out -= np.outer(tau * v, v @ out)
        return out

    def tails(self, rows: Floats) -> Floats:
        """Rows free of the unknowns."""
        return self(rows)[self.heads :]


@dataclass(frozen=True, eq=False)
class MeanReflections:
    """The same for many blocks at once whose only unknown is their mean, with weights.

    For the derivative -w of a block the reflection has v = w + |w| e_1, and R = |w|.
    """

    start: Ints
    """(blocks,) first row of each."""
    block: Ints
    """(rows,) block of each row."""
    vectors: Floats
    """(rows, columns)"""
    scale: Floats
    """(blocks, columns) 2 / v'v"""
    triangle: Floats
    """(blocks, columns) |w|"""

    @classmethod
    def of(cls, weight: Floats, start: Ints) -> Self:
        """From weights (rows, columns), sorted by block; each column is a problem of its own."""
        length = np.diff([*start, len(weight)])
        block = np.repeat(np.arange(len(start)), length)
        if not len(start):
            empty = np.zeros((0, weight.shape[1]))
            return cls(start, block, empty, empty, empty)
        size = np.sqrt(np.add.reduceat(weight**2, start))
        vectors = weight.copy()
        vectors[start] += size
        return cls(start, block, vectors, 1.0 / (size * (size + weight[start])), size)

    def __call__(self, rows: Floats) -> Floats:
        """Q' rows (rows, columns, further): the first row of each block is its head."""
        if not len(self.start):
            return rows
        along = np.add.reduceat(self.vectors[:, :, None] * rows, self.start) * self.scale[:, :, None]
        return np.asarray(rows - self.vectors[:, :, None] * along[self.block])

    def centred(self, rows: Floats, weight: Floats) -> Floats:
        """Rows less their blocks' means, as they would be without reflection; for reports."""
        total = np.add.reduceat(weight**2 * rows, self.start) / self.triangle**2
        return np.asarray(rows - total[self.block])
