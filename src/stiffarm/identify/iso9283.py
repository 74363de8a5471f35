"""Figures of ISO 9283 from readings that were repeated: pose accuracy and repeatability, by configuration.

The attained positions p_1 .. p_n of one point in one configuration have the barycentre b; the model says p.  With
l_j = |p_j - b|,

    positioning accuracy       AP = |b - p|
    repeatability              RP = mean(l) + 3 S,       S^2 = sum (l_j - mean(l))^2 / (n - 1)

and, where orientation was read, for each of the three components of the rotation from the expected to the attained one,
with mean m and standard deviation s: AP_r = m and RP_r = 3 s; the largest of the three is stated.  The standard asks
for n = 30; with fewer the figures are those of the repeats there are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.holdout import configurations
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign

Floats = NDArray[np.float64]
ASKED_REPEATS = 30
"""Repeats the standard asks for."""


@dataclass(frozen=True)
class Attained:
    """One point in one configuration, read several times."""

    experiment: str
    setup: str
    marker: str
    n: int
    ap_m: float
    rp_m: float
    ap_rad: float | None = None
    rp_rad: float | None = None


@dataclass(frozen=True)
class Iso9283:
    """Figures of all configurations that were repeated."""

    poses: tuple[Attained, ...]

    @property
    def ap_m(self) -> float:
        """Largest positioning accuracy."""
        return max(p.ap_m for p in self.poses)

    @property
    def rp_m(self) -> float:
        """Largest repeatability."""
        return max(p.rp_m for p in self.poses)


def iso9283(campaign: Campaign, error: Floats) -> Iso9283 | None:
    """Figures from errors (6, rows), read minus expected (m, rad); None when nothing was read twice.

    Repeats are readings of one marker in one setup under one load at equal joint values.
    """
    readings = campaign.readings
    whole = np.flatnonzero(np.isfinite(error[:3]).all(axis=0) & ~campaign.kind("deflection"))
    load = np.unique(
        campaign.experiments.wrench_world.reshape(-1, len(campaign.experiments)), axis=1, return_inverse=True
    )
    pull = load[1].reshape(-1)[readings.experiment]
    key = np.stack([configurations(campaign), pull, readings.setup, readings.marker])[:, whole]
    first, member = np.unique(key, axis=1, return_index=True, return_inverse=True)[1:]
    poses = []
    for group, at in enumerate(first):
        rows = whole[member.reshape(-1) == group]
        if len(rows) < 2:
            continue
        row = whole[at]
        m = int(readings.marker[row])
        poses.append(
            Attained(
                campaign.experiments.names[readings.experiment[row]],
                campaign.setups[readings.setup[row]].name,
                DEFAULT_MARKER if m < 0 else campaign.markers[m],
                len(rows),
                float(np.linalg.norm(error[:3, rows].mean(axis=1))),
                repeatability(error[:3, rows]),
                *_turns(error[3:, rows]),
            )
        )
    return Iso9283(tuple(poses)) if poses else None


def repeatability(attained: Floats) -> float:
    """RP of positions (3, n), m.

    >>> round(repeatability(np.array([[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]])), 12)
    1.0
    """
    lengths = np.linalg.norm(attained - attained.mean(axis=1, keepdims=True), axis=0)
    return float(lengths.mean() + 3.0 * lengths.std(ddof=1))


def _turns(error: Floats) -> tuple[float | None, float | None]:
    if not np.isfinite(error).all():
        return None, None
    return float(np.abs(error.mean(axis=1)).max()), float(3.0 * error.std(axis=1, ddof=1).max())
