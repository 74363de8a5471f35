"""A known distance between two touched targets: a bar, a gauge block, two balls of an artefact.

    points, centres of spheres   expected |c_2 - c_1|    derivative by c_2: u, by c_1: -u
    parallel planes              expected |d_2 - d_1|    derivative by d_2: sign, by d_1: -sign

It moves with the targets only, never with the arm itself: it is what gives touches a scale.  Without a standard
deviation of its own it counts as much as one coordinate of a touch: the ends of what is touched are found no better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def between_points(first_m: Floats, second_m: Floats, read_m: float) -> tuple[float, Floats]:
    """Read minus expected (m), and the derivative (3,) of what is expected by the second; by the first the opposite."""
    apart = second_m - first_m
    length = float(np.linalg.norm(apart))
    return read_m - length, apart / max(length, 1e-300)


def between_planes(first_m: float, second_m: float, read_m: float) -> tuple[float, float]:
    """The same for distances of parallel planes from the origin along their common normal."""
    sign = 1.0 if second_m >= first_m else -1.0
    return read_m - abs(second_m - first_m), sign
