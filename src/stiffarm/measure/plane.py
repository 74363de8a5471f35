"""A touched plane: the marker is somewhere on it, and neither its normal n nor its distance d is known.

    expected n.p_j - d,   read 0,   |n| = 1.

Unknown are two turns of the normal, n -> n + a1 t1 + a2 t2 with t1, t2, n at right angles, and d:

    derivative by p: n        by (a1, a2, d): (t1.p_j, t2.p_j, -1).

Planes between which a distance is stated are parallel: they share their normal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNKNOWNS = 3


def best_planes(world_m: list[Floats], weight: list[Floats]) -> Floats:
    """Parallel planes (planes, 4) as normal and distance, each nearest to its own touches.

    ``world_m`` are (touches, 3) for each plane, ``weight`` (touches,) reciprocal standard deviations along the normal.
    The common normal is the direction in which touches scatter least about their centres, signed so that its largest
    component is positive.
    """
    centres, spread = [], np.zeros((0, 3))
    for points, w in zip(world_m, weight, strict=True):
        centre = np.average(points, axis=0, weights=w**2)
        centres.append(centre)
        rows = np.concatenate([spread, (points - centre) * w[:, None]])
        spread = np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) > 3 else rows
    normal = np.linalg.svd(np.vstack([spread, np.zeros((3, 3))]))[2][-1]
    normal = normal * np.sign(normal[np.argmax(np.abs(normal))])
    return np.array([[*normal, normal @ centre] for centre in centres])


def tangents(normal: Floats) -> Floats:
    """Two unit vectors (2, 3) at right angles to the normal and to each other."""
    first = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first)])


def residual(world_m: Floats, place: Floats) -> Floats:
    """Read minus expected (touches,), m."""
    return np.asarray(place[3] - world_m @ place[:3])


def jacobian(world_m: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Derivatives of what is expected by the touched position (touches, 3) and by the unknowns (touches, 3)."""
    along = np.broadcast_to(place[:3], world_m.shape)
    return along, np.column_stack([world_m @ tangents(place[:3]).T, -np.ones(len(world_m))])


def moved(place: Floats, step: Floats) -> Floats:
    """The plane after a step in its unknowns."""
    normal = place[:3] + step[:2] @ tangents(place[:3])
    size = np.linalg.norm(normal)
    return np.array([*(normal / size), (place[3] + step[2]) / size])
