"""Do the readings belong to the joints beside them? Asked before anything is fitted, where the answer is plain.

With frames, markers and tool found (`stiffarm.identify.start`), a nominal arm misses what was read by millimetres,
whatever its make: a thousandth of the room its poses take up.  When it misses by a good part of that room, some column
is not what its header says.  Which one is found by trying: units a thousand times too large or small show as the ratio
of the room that was read to the room the arm took up, two joints that were exchanged, a joint that counts the other way
or angles in the wrong unit by how much better the arm fits with just that mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identify.start import Cloud

Floats = NDArray[np.float64]

MISFIT = 0.2
"""Share of the room taken up by the poses that no nominal arm misses its readings by."""
LEAST_M = 0.05
"""Misfit (m) under which nothing is said, however close together the poses are."""
CURED = 0.1
"""A change that brings the misfit under this share of what it was is named as the likely cause."""
STILL = 1e-3
"""Room (share of that of the joints) in which readings are all of one place."""

Misfit = Callable[[Floats], float]
"""Root mean square distance (m) that is left with joints (joints, experiments)."""


def require_belonging(cloud: Cloud, misfit_m: float, q: Floats, joints: tuple[str, ...], retry: Misfit) -> None:
    """Raise `InputError` when readings cannot come from these joints; ``q`` (joints, experiments) rad or m."""
    taken, read = room(cloud.body_position, cloud.setup), room(cloud.read, cloud.setup)
    if misfit_m <= max(MISFIT * taken, LEAST_M):
        return
    found = f"the nominal arm misses its readings by {_m(misfit_m)} while it moved within {_m(taken)}"
    if read < STILL * taken:
        raise InputError(
            Problem(
                "the readings are all of one place while the joints moved",
                found=f"readings within {_m(read)}, the arm within {_m(taken)}",
                next_step="Check that x, y, z are those of the moving marker and not copied from one row",
            )
        )
    raise InputError(
        Problem(
            "the readings do not belong to the joints beside them",
            found=found,
            allowed="a few millimetres, once frames and markers are found",
            next_step=_cause(read / taken, misfit_m, q, joints, retry),
        )
    )


def room(points: Floats, setup: NDArray[np.int64]) -> float:
    """Root mean square distance (m) of points (3, n) from the mean of their setup."""
    total = 0.0
    for s in np.unique(setup):
        own = points[:, setup == s]
        total += float(np.sum((own - own.mean(axis=1, keepdims=True)) ** 2))
    return float(np.sqrt(total / max(points.shape[1], 1)))


def _cause(ratio: float, misfit_m: float, q: Floats, joints: tuple[str, ...], retry: Misfit) -> str:
    for factor, word in ((1e3, "large"), (1e-3, "small")):
        if 0.5 < ratio / factor < 2.0:
            return f"The readings are about 1000 times too {word}: check the unit in the headers of x, y, z"
    tried = [(retry(changed), words) for changed, words in _changes(q, joints)]
    best, words = min(tried, default=(np.inf, ""))
    if best < CURED * misfit_m:
        return f"{words} it would miss by {_m(best)}: check the columns q.*"
    return (
        "Check that q.* are the joints at the time of the reading (order, sign, zero, unit), that rows were not "
        "shuffled, and that the robot file is of this robot"
    )


def _changes(q: Floats, joints: tuple[str, ...]) -> Iterator[tuple[Floats, str]]:
    """Joints with one thing changed, and what was changed."""
    for factor, words in ((180.0 / np.pi, "radians labelled deg"), (np.pi / 180.0, "degrees labelled rad")):
        yield q * factor, f"With all angles taken for {words}"
    for i, name in enumerate(joints):
        changed = q.copy()
        changed[i] *= -1.0
        yield changed, f"With q.{name} counted the other way"
    for i, j in combinations(range(len(joints)), 2):
        changed = q.copy()
        changed[[i, j]] = q[[j, i]]
        yield changed, f"With q.{joints[i]} and q.{joints[j]} exchanged"


def _m(metres: float) -> str:
    return f"{metres:.3g} m" if metres >= 0.1 else f"{metres * 1e3:.3g} mm"
