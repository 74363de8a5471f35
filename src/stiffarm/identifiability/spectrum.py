"""How many independent numbers a design can tell, and which directions of the parameters it cannot see.

The rows of a design are whitened, its columns scaled to unit length (equilibrated); nothing then depends on the
units of readings or parameters.  A column that is zero up to rounding must be recognised before that, or its
rounding is scaled up to a column of its own: it is zero when its length times the size of its parameter is
negligible beside the largest such product.

With the singular values s_1 >= s_2 >= ... of what remains, the rank r stands at the widest gap s_r / s_(r+1) that
ends in rounding: a design that is deficient drops there by many orders of magnitude, a merely poor one does not.
The gap is part of the answer.  The right singular vectors beyond r span the null space: changes of the (scaled)
parameters that no reading shows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.selection import ZERO_COLUMN, triangle

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-8
"""A gap counts only when what lies below it is relatively smaller than this."""
LEAST_GAP = 1e4
"""Ratio of neighbouring singular values that is called a gap."""
FLOOR = 1e-13
"""Relative singular values under this are rounding, gap or not."""
WEAK = 1e-3
"""A direction weaker than this, relative to the strongest, is lifted by small misalignments and not by loads."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular values of a design and what they say."""

    rank: int
    gap: float
    """s_r / s_(r+1); to rounding when nothing was dropped."""
    values: Floats
    """Singular values of the seen, equilibrated columns, relative to the largest."""
    seen: Flags
    """(parameters,) columns that are not zero."""
    length: Floats
    """(parameters,) lengths by which the columns were divided; 1 for those that are zero."""
    null: Floats
    """(parameters, nullity) orthonormal directions of the scaled parameters among the seen columns."""

    @property
    def weak(self) -> int:
        """How many of the told directions are weaker than `WEAK`."""
        return int(np.sum(self.values[: self.rank] < WEAK))

    @property
    def projector(self) -> Floats:
        """(parameters, parameters) onto the null space of the seen columns."""
        return np.asarray(self.null @ self.null.T)


def spectrum(rows: Floats, sizes: Floats | None = None) -> Spectrum:
    """Rank, gap and null space of whitened rows (readings, parameters).

    ``sizes`` are typical sizes of the parameters (default: all alike), for telling which columns are zero.

    >>> found = spectrum(np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0], [3.0, 6.0, 0.0]]))
    >>> found.rank, found.seen.tolist(), abs(found.null[:, 0]).round(6).tolist()
    (1, [True, True, False], [0.707107, 0.707107, 0.0])
    """
    r = triangle(np.asarray(rows, dtype=float))
    length = np.linalg.norm(r, axis=0)
    moved = length * (1.0 if sizes is None else sizes)
    seen = moved > ZERO_COLUMN * moved.max(initial=0.0)
    length = np.where(seen, length, 1.0)
    count = int(seen.sum())
    if count == 0:
        return Spectrum(0, 1.0, np.zeros(0), seen, length, np.zeros((len(length), 0)))
    _, values, right = np.linalg.svd(r[:, seen] / length[seen], full_matrices=True)
    relative = np.zeros(count)
    relative[: len(values)] = values / values[0]
    rank, gap = _rank(relative)
    null = np.zeros((len(length), count - rank))
    null[seen] = right[rank:].T
    return Spectrum(rank, gap, relative, seen, length, null)


def _rank(relative: Floats) -> tuple[int, float]:
    """Rank and gap of falling relative singular values."""
    padded = np.maximum(np.append(relative, 0.0), np.finfo(float).eps)
    ratio = padded[:-1] / padded[1:]
    gaps = np.where((padded[1:] < ROUNDING) & (ratio > LEAST_GAP), ratio, 0.0)
    above = int(np.sum(relative > FLOOR))
    rank = min(int(np.argmax(gaps)) + 1, above) if gaps.any() else above
    return rank, float(ratio[rank - 1])
