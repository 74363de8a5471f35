"""Whether a path stays where its model was learned, and by what factor it does not.

A force (the resultant of what is stated, weights apart) is held against the largest one of the calibration.  A joint
is held against the range it was calibrated in: its distance from the middle of the range over half the range.  So
are measured joint torques and temperatures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.estimate import Domain

Floats = NDArray[np.float64]
INSIDE = 1.01
"""A hundredth beyond is still where it was learned."""


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
    known = domain.joints if domain else {}
    return np.array([range_factor(known.get(name), values) for name, values in zip(joints, q, strict=True)])


def range_factor(known: tuple[float, float] | None, values: Floats) -> Floats:
    """(n,) distance from the middle of a range over half of it; 0 without a range, and for what was not read.

    >>> range_factor((-1.0, 3.0), np.array([1.0, 5.0, np.nan])).tolist()
    [0.0, 2.0, 0.0]
    """
    low, high = known or (np.nan, np.nan)
    if not high > low:
        return np.zeros(len(values))
    return np.asarray(np.nan_to_num(np.abs(values - 0.5 * (low + high)) / (0.5 * (high - low))))


def leaving(
    domain: Domain | None,
    joints: Sequence[str],
    q: Floats,
    wrench_world: Floats,
    row: NDArray[np.int64],
    torque: Floats | None = None,
    temperature: Mapping[str, Floats] | None = None,
) -> tuple[str, ...]:
    """Sentences about what lies beyond the calibration, with the factor and the first row; none when nothing does.

    Arrays have one column per row of a file, whose lines are ``row``; ``torque`` (joints, n) is the measured one.
    """
    said = []
    if domain is not None:
        measured = {} if torque is None else dict(zip(joints, torque, strict=True))
        said += _beyond("measured torque", domain.torque, measured, row)
        said += _beyond("temperature", domain.temperature, temperature or {}, row)
    force = force_factor(domain, wrench_world)
    if (force > INSIDE).any():
        worst, first = float(force.max()), int(row[np.argmax(force > INSIDE)])
        much = "it had none" if np.isinf(worst) else f"{worst:.3g} times the largest calibrated"
        said.append(f"force beyond the calibration: {much} ({_rows(force > INSIDE, first)})")
    turned = joint_factor(domain, joints, np.nan_to_num(q))
    beyond = (turned > INSIDE) & np.isfinite(q)
    if beyond.any():
        named = [f"{joints[k]} {turned[k].max():.3g} times" for k in range(len(joints)) if beyond[k].any()]
        anywhere = np.asarray(beyond.any(axis=0))
        first = int(row[np.argmax(anywhere)])
        said.append(f"joints beyond their calibrated range: {', '.join(named)} ({_rows(anywhere, first)})")
    return tuple(said)


def _beyond(
    what: str, known: Mapping[str, tuple[float, float]], seen: Mapping[str, Floats], row: NDArray[np.int64]
) -> list[str]:
    """A sentence about every named quantity that leaves its range."""
    said = []
    for name, values in seen.items():
        factor = range_factor(known.get(name), values)
        if (factor > INSIDE).any():
            first = int(row[np.argmax(factor > INSIDE)])
            where = _rows(factor > INSIDE, first)
            said.append(f"{what} of {name} beyond the calibrated range: {factor.max():.3g} times ({where})")
    return said


def _rows(which: NDArray[np.bool_], first: int) -> str:
    count = int(which.sum())
    return f"row {first}" if count == 1 else f"{count} rows, the first is row {first}"
