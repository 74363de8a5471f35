"""Campaigns of touches built in code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Readings, Setup

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Touched:
    """A target and how often it is touched."""

    name: str
    shape: str
    count: int
    radius_m: float | None = None


def touch_campaign(
    touched: Sequence[Touched],
    *,
    q: Floats | None = None,
    marker: str | None = None,
    joints: Sequence[str] = ("J1",),
    distances: Sequence[tuple[str, str, float]] = (),
    sigma_distance_m: float = np.nan,
    wrench_world: Floats | None = None,
    load_point: str = "flange",
) -> Campaign:
    """Touches one after the other, one experiment each, then known distances; ``q`` (joints, touches)."""
    touches = sum(t.count for t in touched)
    n = touches + len(distances)
    names = list(dict.fromkeys([t.name for t in touched] + [end for d in distances for end in d[:2]]))
    none, nan = np.full(n, -1, dtype=np.int64), np.full(n, np.nan)
    target, target2, kind, radius, length = none.copy(), none.copy(), none.copy(), nan.copy(), nan.copy()
    at = 0
    for t in touched:
        rows = slice(at, at + t.count)
        target[rows], kind[rows] = names.index(t.name), OBSERVATIONS.index(t.shape)
        radius[rows] = np.nan if t.radius_m is None else t.radius_m
        at += t.count
    for i, (first, second, distance) in enumerate(distances, start=touches):
        target[i], target2[i], length[i] = names.index(first), names.index(second), distance
        kind[i] = OBSERVATIONS.index("distance")
    own = np.full((len(joints), n), np.nan)
    own[:, :touches] = 0.0 if q is None else q
    wrench = np.zeros((0, 6, n))
    if wrench_world is not None:
        wrench = np.zeros((1, 6, n))
        wrench[0, :, :touches] = wrench_world.reshape(6, -1)
    markers = none.copy()
    markers[:touches] = -1 if marker is None else 0
    return Campaign(
        name="touches",
        joints=tuple(joints),
        experiments=Experiments(
            tuple(str(i + 1) for i in range(n)),
            own,
            load_points=() if wrench_world is None else (load_point,),
            wrench_world=wrench,
        ),
        readings=Readings(
            experiment=np.arange(n),
            repeat=np.ones(n, dtype=np.int64),
            setup=np.zeros(n, dtype=np.int64),
            kind=kind,
            marker=markers,
            value=np.full((6, n), np.nan),
            sigma=np.full((6, n), np.nan),
            reference=none,
            target=target,
            target2=target2,
            distance_m=length,
            sigma_distance_m=np.where(np.isfinite(length), sigma_distance_m, np.nan),
            radius_m=radius,
            visit=none,
            sequence=nan,
            time_s=nan,
            row=np.arange(2, n + 2),
        ),
        markers=() if marker is None else (marker,),
        setups=(Setup("touches"),),
        targets=tuple(names),
    )
