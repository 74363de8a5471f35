"""A touched point: whatever the arm's posture, the marker is where it was before.

The world position p_j of the marker in touch j is the one unknown point X of the target,

    expected p_j - X,   read 0.

Minimising the squared differences of all m(m-1)/2 pairs of touches is the same as minimising the distances to the
mean, for sum over pairs |p_i - p_j|^2 = m sum |p_j - mean|^2: m rows instead of m(m-1)/2.  The pairs are no further
data; taking them for such makes standard deviations sqrt(m/2) times too small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def best_points(world_m: Floats, weight: Floats, start: Ints) -> Floats:
    """Points (targets, 3) nearest to their touches.

    ``world_m`` and ``weight`` (reciprocal standard deviations) are (touches, 3), sorted by target; target t begins at
    ``start[t]``.  The result is the mean weighted by the squares.
    """
    if not len(start):
        return np.zeros((0, 3))
    square = weight**2
    return np.asarray(np.add.reduceat(square * world_m, start) / np.add.reduceat(square, start))


def residual(world_m: Floats, point_m: Floats) -> Floats:
    """Read minus expected (touches, 3), m; its derivative by the world position is -1, by the point +1."""
    return np.asarray(point_m - world_m)
