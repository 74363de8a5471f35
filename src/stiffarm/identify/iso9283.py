"""Figures of ISO 9283 from readings that were repeated: accuracy and repeatability of poses and of distances.

The attained positions p_1 .. p_n of one point in one configuration have the barycentre b; the model says p.  With
l_j = |p_j - b|,

    positioning accuracy       AP = |b - p|
    repeatability              RP = mean(l) + 3 S,       S^2 = sum (l_j - mean(l))^2 / (n - 1)

and, where orientation was read, for each of the three components of the rotation from the expected to the attained one,
with mean m and standard deviation s: AP_r = m and RP_r = 3 s; the largest of the three is stated.

Two configurations P and P' read by turns are D_j = |p_j - p'_j| apart where D = |p - p'| is expected:

    distance accuracy          AD = mean(D_j) - D
    distance repeatability     RD = 3 S,                 S^2 = sum (D_j - mean(D_j))^2 / (n - 1)

likewise for the angle of the turn between them.  Distances need no frame, so no fit of one can flatter them.  Repeats
are paired in the order they were read.  The standard asks for n = 30; with fewer the figures are those of the repeats
there are, and of a deviation from n of them the relative standard deviation is about 1 / sqrt(2 (n - 1)).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.holdout import configurations
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.model.rotations import matrix_of, vector_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ASKED_REPEATS = 30
"""Repeats the standard asks for."""
MOST_PAIRED = 12
"""Configurations of which every pair has its distance; of more, neighbours in the order they were read."""


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
    nominal_ap_m: float | None = None
    """Before: of the nominal robot; repeatability is the same whatever the model."""
    nominal_ap_rad: float | None = None


@dataclass(frozen=True)
class Distance:
    """One point in two configurations, each read several times."""

    experiments: tuple[str, str]
    setup: str
    marker: str
    n: int
    ad_m: float
    """Signed: attained less expected."""
    rd_m: float
    nominal_ad_m: float | None = None
    ad_rad: float | None = None
    """Of the angle of the turn between them."""
    rd_rad: float | None = None


@dataclass(frozen=True)
class Iso9283:
    """Figures of all configurations that were repeated."""

    poses: tuple[Attained, ...]
    distances: tuple[Distance, ...] = ()

    @property
    def ap_m(self) -> float:
        """Largest positioning accuracy."""
        return max(p.ap_m for p in self.poses)

    @property
    def rp_m(self) -> float:
        """Largest repeatability."""
        return max(p.rp_m for p in self.poses)

    @property
    def ap_rad(self) -> float | None:
        """Largest orientation accuracy."""
        return _largest(p.ap_rad for p in self.poses)

    @property
    def rp_rad(self) -> float | None:
        """Largest orientation repeatability."""
        return _largest(p.rp_rad for p in self.poses)

    @property
    def ad_m(self) -> float | None:
        """Largest size of a distance accuracy."""
        return _largest(abs(d.ad_m) for d in self.distances)

    @property
    def rd_m(self) -> float | None:
        """Largest distance repeatability."""
        return _largest(d.rd_m for d in self.distances)

    @property
    def nominal_ap_m(self) -> float | None:
        """Largest positioning accuracy of the nominal robot."""
        return _largest(p.nominal_ap_m for p in self.poses)

    @property
    def nominal_ad_m(self) -> float | None:
        """Largest size of a distance accuracy of the nominal robot."""
        return _largest(None if d.nominal_ad_m is None else abs(d.nominal_ad_m) for d in self.distances)

    @property
    def fewest(self) -> int:
        """Repeats of the configuration that was repeated least."""
        return min(p.n for p in self.poses)


def _largest(values: Iterator[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return max(known) if known else None


def iso9283(campaign: Campaign, error: Floats, nominal: Floats | None = None) -> Iso9283 | None:
    """Figures from errors (6, rows), read minus expected (m, rad); None when nothing was read twice.

    ``nominal`` are the errors of the nominal robot on the same rows.  Repeats are readings of one marker in one setup
    under one load at equal joint values.
    """
    groups = list(_repeats(campaign, error))
    if not groups:
        return None
    before = np.full_like(error, np.nan) if nominal is None else nominal
    poses = tuple(_attained(campaign, rows, error, before) for rows in groups)
    return Iso9283(poses, tuple(_distances(campaign, groups, error, before)))


def _repeats(campaign: Campaign, error: Floats) -> Iterator[Ints]:
    """Rows of each point in each configuration that were read more than once, in the order they were read."""
    readings = campaign.readings
    whole = np.flatnonzero(np.isfinite(error[:3]).all(axis=0) & ~campaign.kind("deflection"))
    load = np.unique(
        campaign.experiments.wrench_world.reshape(-1, len(campaign.experiments)), axis=1, return_inverse=True
    )
    pull = load[1].reshape(-1)[readings.experiment]
    key = np.stack([configurations(campaign), pull, readings.setup, readings.marker])[:, whole]
    first, member = np.unique(key, axis=1, return_index=True, return_inverse=True)[1:]
    member = member.reshape(-1)
    for group in np.argsort(first):
        rows = whole[member == group]
        if len(rows) > 1:
            order = np.lexsort((rows, np.nan_to_num(readings.sequence[rows]), readings.repeat[rows]))
            yield rows[order]


def _attained(campaign: Campaign, rows: Ints, error: Floats, nominal: Floats) -> Attained:
    ap_rad, rp_rad = _turns(error[3:, rows])
    before = float(np.linalg.norm(nominal[:3, rows].mean(axis=1)))
    return Attained(
        *_names(campaign, rows[0]),
        len(rows),
        float(np.linalg.norm(error[:3, rows].mean(axis=1))),
        repeatability(error[:3, rows]),
        ap_rad,
        rp_rad,
        before if np.isfinite(before) else None,
        _turns(nominal[3:, rows])[0],
    )


def _names(campaign: Campaign, row: int) -> tuple[str, str, str]:
    """Experiment, setup and marker of a reading."""
    readings, m = campaign.readings, int(campaign.readings.marker[row])
    return (
        campaign.experiments.names[readings.experiment[row]],
        campaign.setups[readings.setup[row]].name,
        DEFAULT_MARKER if m < 0 else campaign.markers[m],
    )


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


def _distances(campaign: Campaign, groups: list[Ints], error: Floats, nominal: Floats) -> Iterator[Distance]:
    """Of pairs of configurations in which one point was read in one setup."""
    readings = campaign.readings
    points: dict[tuple[int, int], list[Ints]] = {}
    for rows in groups:
        points.setdefault((int(readings.setup[rows[0]]), int(readings.marker[rows[0]])), []).append(rows)
    for members in points.values():
        pairs = combinations(members, 2) if len(members) <= MOST_PAIRED else pairwise(members)
        for one, other in pairs:
            yield _distance(campaign, one, other, error, nominal)


def _distance(campaign: Campaign, one: Ints, other: Ints, error: Floats, nominal: Floats) -> Distance:
    n = min(len(one), len(other))
    one, other = one[:n], other[:n]
    read = campaign.readings.value
    attained = np.linalg.norm(read[:3, one] - read[:3, other], axis=0)
    expected, before = (
        float(np.linalg.norm((read - off)[:3, one] - (read - off)[:3, other], axis=0).mean())
        for off in (error, nominal)
    )
    mean = float(attained.mean())
    turns = _angles(read, one, other, error)
    (first, setup, marker), (second, _, _) = _names(campaign, one[0]), _names(campaign, other[0])
    return Distance(
        (first, second), setup, marker, n, mean - expected, float(3.0 * attained.std(ddof=1)),
        mean - before if np.isfinite(before) else None, *turns,
    )  # fmt: skip


def _angles(read: Floats, one: Ints, other: Ints, error: Floats) -> tuple[float | None, float | None]:
    """AD and RD of the angle of the turn from one orientation to the other."""
    if not (np.isfinite(read[3:, one]) & np.isfinite(read[3:, other])).all():
        return None, None
    attained, expected = (_angle(*(_oriented(read, rows, off) for rows in (one, other))) for off in (None, error))
    return float(attained.mean() - expected.mean()), float(3.0 * attained.std(ddof=1))


def _oriented(read: Floats, rows: Ints, error: Floats | None) -> Floats:
    """(3 columns, 3, n) attained orientations, or with their errors the expected ones."""
    found = matrix_of(read[3:, rows])
    return found if error is None else np.einsum("kin,jkn->jin", matrix_of(-error[3:, rows]), found)


def _angle(one: Floats, other: Floats) -> Floats:
    """(n,) rad of the turn from one orientation to the other."""
    return np.asarray(np.linalg.norm(vector_of(np.einsum("kin,kjn->jin", other, one)), axis=0))
