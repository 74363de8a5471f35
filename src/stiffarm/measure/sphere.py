"""A touched sphere, or a bar between two balls: the marker stays at a radius r from an unknown centre c.

    expected |p_j - c| - r,   read 0.

With u the unit vector from the centre to the marker

    derivative by p: u        by c: -u        by r, when it is not known: -1.

A radius known with a standard deviation is an unknown that was read once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MOST_STEPS = 60


def best_sphere(world_m: Floats, weight: Floats, radius_m: float | None) -> Floats:
    """Centre and radius (4,) nearest to the touches (touches, 3); the radius stays where it is known.

    Begins with the algebraic sphere |p|^2 = 2 c.p + (r^2 - |c|^2), which is linear, and goes on by Gauss-Newton steps
    that are halved while they do not help.
    """
    centre = world_m.mean(axis=0)
    p = world_m - centre
    rows = np.column_stack([2.0 * p, np.ones(len(p))]) * weight[:, None]
    found = np.linalg.lstsq(rows, np.sum(p**2, axis=1) * weight, rcond=1e-12)[0]
    size = np.sqrt(max(found[3] + found[:3] @ found[:3], 0.0))
    place = np.array([*(centre + found[:3]), size if radius_m is None else radius_m])
    cost = float(np.sum((residual(world_m, place) * weight) ** 2))
    for _ in range(_MOST_STEPS):
        _, by_unknown = jacobian(world_m, place, radius_m is None)
        right = residual(world_m, place) * weight
        step: Floats = np.asarray(np.linalg.lstsq(by_unknown * weight[:, None], right, rcond=1e-12)[0])
        for _ in range(30):
            trial = moved(place, step)
            there = float(np.sum((residual(world_m, trial) * weight) ** 2))
            if there <= cost:
                break
            step = 0.5 * step
        else:
            break
        place, cost = trial, there
        if np.abs(step).max() <= 1e-15 * max(1.0, float(np.abs(place).max())):
            break
    return place


def residual(world_m: Floats, place: Floats) -> Floats:
    """Read minus expected (touches,), m."""
    return np.asarray(place[3] - np.linalg.norm(world_m - place[:3], axis=1))


def jacobian(world_m: Floats, place: Floats, free_radius: bool) -> tuple[Floats, Floats]:
    """Derivatives of what is expected by the touched position (touches, 3) and by the unknowns (touches, 3 or 4)."""
    apart = world_m - place[:3]
    along = apart / np.maximum(np.linalg.norm(apart, axis=1), 1e-300)[:, None]
    return along, np.column_stack([-along, -np.ones(len(along))]) if free_radius else -along


def moved(place: Floats, step: Floats) -> Floats:
    """The sphere after a step in its unknowns."""
    return np.asarray(place + np.concatenate([step, np.zeros(4 - len(step))]))
