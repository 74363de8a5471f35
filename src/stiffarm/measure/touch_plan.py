"""Touches and known distances as a campaign made in code, for plans that nobody wrote down.

Every touch is an experiment of its own; distances need no joints.  Rows are touches, target after target in the order
given, then distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import (
    DEFAULT_MARKER,
    OBSERVATIONS,
    Campaign,
    Experiments,
    Isotropic,
    Readings,
    Setup,
)
from stiffarm.measure.targets import Shape

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Touching:
    """Touches of one target."""

    name: str
    shape: Shape
    q: Floats
    """(joints, touches) controller values, rad or m."""
    radius_m: float | None = None
    """Of a sphere, when known."""


@dataclass(frozen=True)
class KnownDistance:
    """A distance between two targets that something else has measured."""

    first: str
    second: str
    distance_m: float
    sigma_m: float = np.nan


@dataclass(frozen=True, eq=False)
class Pull:
    """What pulls during the touches, world frame."""

    load_point: str
    force_world: Floats
    """(3, touches) N; (3, 1) for the same in all of them."""
    torque_world: Floats | None = None
    """Likewise, N m."""


def plan_of_touches(
    joints: Sequence[str],
    touched: Sequence[Touching],
    known: Sequence[KnownDistance] = (),
    *,
    pull: Pull | None = None,
    marker: str = DEFAULT_MARKER,
    sigma_m: float | None = None,
) -> Campaign:
    """The campaign; ``sigma_m`` is the standard deviation of a touched position along each axis."""
    count = [t.q.shape[1] for t in touched]
    touches, n = sum(count), sum(count) + len(known)
    names = tuple(dict.fromkeys([t.name for t in touched] + [end for d in known for end in (d.first, d.second)]))
    index = {name: i for i, name in enumerate(names)}
    first = [index[t.name] for t in touched for _ in range(t.q.shape[1])] + [index[d.first] for d in known]
    kind = [t.shape for t in touched for _ in range(t.q.shape[1])] + ["distance"] * len(known)
    q = np.full((len(joints), n), np.nan)
    q[:, :touches] = np.concatenate([np.zeros((len(joints), 0)), *(t.q for t in touched)], axis=1)
    is_touch = np.arange(n) < touches
    after = np.full(touches, np.nan)
    return Campaign(
        name="touches",
        joints=tuple(joints),
        experiments=Experiments(
            tuple(str(i + 1) for i in range(n)),
            q,
            load_points=() if pull is None else (pull.load_point,),
            wrench_world=np.zeros((0, 6, n)) if pull is None else _wrench(pull, touches, n),
        ),
        readings=Readings(
            experiment=np.arange(n),
            repeat=np.ones(n, dtype=np.int64),
            setup=np.zeros(n, dtype=np.int64),
            kind=np.array([OBSERVATIONS.index(k) for k in kind], dtype=np.int64),
            marker=np.where(is_touch, 0, -1),
            value=np.full((6, n), np.nan),
            sigma=np.full((6, n), np.nan),
            reference=np.full(n, -1, dtype=np.int64),
            target=np.array(first, dtype=np.int64),
            target2=np.array([*(-1 for _ in range(touches)), *(index[d.second] for d in known)], dtype=np.int64),
            distance_m=np.concatenate([after, [d.distance_m for d in known]]),
            sigma_distance_m=np.concatenate([after, [d.sigma_m for d in known]]),
            radius_m=np.concatenate([*(np.full(c, _number(t.radius_m)) for c, t in zip(count, touched, strict=True)),
                                     np.full(len(known), np.nan)]),
            visit=np.full(n, -1, dtype=np.int64),
            sequence=np.full(n, np.nan),
            time_s=np.full(n, np.nan),
            row=np.arange(2, n + 2),
        ),
        markers=(marker,),
        setups=(Setup("touches"),),
        targets=names,
        instrument=None if sigma_m is None else Isotropic(sigma_m),
    )  # fmt: skip


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _wrench(pull: Pull, touches: int, n: int) -> Floats:
    wrench = np.zeros((1, 6, n))
    wrench[0, :3, :touches] = pull.force_world
    if pull.torque_world is not None:
        wrench[0, 3:, :touches] = pull.torque_world
    return wrench
