"""Whether a path stays where its model was learned, and by what factor it does not.

A force (the resultant of what is stated, weights apart) is held against the largest one of the calibration.  A joint
is held against the range it was calibrated in: its distance from the middle of the range over half the range.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.estimate import Domain

Floats = NDArray[np.float64]
INSIDE = 1.0 + 1e-6


def force_factor(domain: Domain | None, wrench_world: Floats) -> Floats:
    """(n,) resultant force of wrenches (load points, 6, n) over the largest calibrated; inf where none was.

    >>> force_factor(Domain(force=(0.0, 500.0)), np.ones((1, 6, 2)) * 1000.0 / np.sqrt(3.0)).round(9)
    array([2., 2.])
    """
    size = np.linalg.norm(wrench_world[:, :3].sum(axis=0), axis=0)
    if domain is None or domain.force is None:
        return np.zeros(len(size))
    largest = max(abs(one) for one in domain.force)
    return np.where(size > 1e-9, size / largest, 0.0) if largest > 0.0 else np.where(size > 1e-9, np.inf, 0.0)


def joint_factor(domain: Domain | None, joints: Sequence[str], q: Floats) -> Floats:
    """(joints, n) distance from the middle of the calibrated range over half of it; 0 for joints without a range."""
    out = np.zeros(q.shape)
    for k, name in enumerate(joints):
        low, high = (domain.joints if domain else {}).get(name, (np.nan, np.nan))
        if high > low:
            out[k] = np.abs(q[k] - 0.5 * (low + high)) / (0.5 * (high - low))
    return out


def leaving(
    domain: Domain | None, joints: Sequence[str], q: Floats, wrench_world: Floats, row: NDArray[np.int64]
) -> tuple[str, ...]:
    """Sentences about what lies beyond the calibration, with the factor and the first row; none when nothing does."""
    said = []
    force = force_factor(domain, wrench_world)
    if (force > INSIDE).any():
        worst, first = float(force.max()), int(row[np.argmax(force > INSIDE)])
        much = "though none was calibrated" if np.isinf(worst) else f"{worst:.3g} times the largest calibrated"
        said.append(f"force beyond the calibration: {much} ({_rows(force > INSIDE, first)})")
    turned = joint_factor(domain, joints, np.nan_to_num(q))
    beyond = (turned > INSIDE) & np.isfinite(q)
    if beyond.any():
        named = [f"{joints[k]} {turned[k].max():.3g} times" for k in range(len(joints)) if beyond[k].any()]
        anywhere = np.asarray(beyond.any(axis=0))
        first = int(row[np.argmax(anywhere)])
        said.append(f"joints beyond their calibrated range: {', '.join(named)} ({_rows(anywhere, first)})")
    return tuple(said)


def _rows(which: NDArray[np.bool_], first: int) -> str:
    count = int(which.sum())
    return f"row {first}" if count == 1 else f"{count} rows, the first is row {first}"
