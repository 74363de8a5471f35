"""Which readings a model was fitted to, as short fingerprints, so that no copy of them can pass for new ones.

The hash of a file finds the file.  A file with other columns, another order or another name has another hash but the
same readings: a fingerprint is made of the joint values and the numbers read (to 1e-7 m and rad; names are left out).
Of a large campaign those with the smallest fingerprints are kept, which are the same whatever the order; among new
readings only those up to the largest kept one are compared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Campaign

Hashes = NDArray[np.uint64]
MOST = 2000
"""Fingerprints kept."""
LEAST, SHARE = 3, 0.02
"""So many, and such a share of what could be compared, are no coincidence."""
RESOLUTION = 1e-7


@dataclass(frozen=True)
class Seen:
    """How many of the readings that could be compared were fitted before."""

    fitted: int
    compared: int

    @property
    def is_training(self) -> bool:
        """Whether that is no coincidence."""
        return self.fitted >= LEAST and self.fitted >= SHARE * self.compared


def fingerprints(campaign: Campaign) -> tuple[str, ...]:
    """The smallest fingerprints of a campaign's readings, rising, without repetitions."""
    return tuple(f"{one:016x}" for one in np.unique(_all(campaign))[:MOST])


def seen_before(kept: tuple[str, ...], campaign: Campaign) -> Seen:
    """How many of a campaign's readings are among those kept."""
    if not kept:
        return Seen(0, 0)
    known = np.array([int(one, 16) for one in kept], dtype=np.uint64)
    every = _all(campaign)
    comparable = every if len(kept) < MOST else every[every <= known[-1]]
    return Seen(int(np.isin(comparable, known).sum()), len(comparable))


def _all(campaign: Campaign) -> Hashes:
    """(rows,) 64 bits each: numbers times random odd constants, mixed until every bit hangs on every number."""
    readings = campaign.readings
    q = _steps(campaign.experiments.q)[:, readings.experiment]
    table = np.concatenate([q, _steps(readings.value)]).astype(np.uint64)
    odd = np.random.default_rng(len(table)).integers(0, 2**63, (len(table), 1), dtype=np.uint64) * 2 + 1
    mixed = np.zeros(table.shape[1], dtype=np.uint64)
    for numbers in table * odd:
        mixed = (mixed ^ numbers) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _steps(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers of the resolution; what was not read is the same number everywhere."""
    return np.where(np.isfinite(values), np.round(np.nan_to_num(values) / RESOLUTION), -(2**62)).astype(np.int64)
