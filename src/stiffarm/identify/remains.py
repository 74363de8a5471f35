"""What the fit leaves of every marker in every configuration, and how far off judged readings were.

The pictures of a model need no more than this, so it travels with the model and the campaign does not: per experiment,
setup and marker the root mean square of the 3-D residual and its mean along each axis, the errors of what was judged
on readings that were not fitted, their quantiles, and the joint values of these experiments.  Of a large campaign
every n-th group is kept, and with it the largest ones, which are what one looks for.  Lengths are kept to 10 nm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.estimate import Holdout, Remains, UnseenErrors
from stiffarm.identify.fit import Fit
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign

Floats = NDArray[np.float64]
MOST = 600
"""Groups kept."""
DIGITS = 8
"""Decimals of lengths in m."""
LARGEST = 50
"""Of these, the largest, whatever their number."""
SHARES = tuple(i / 20 for i in range(21))
"""At which quantiles are kept."""


def remains_of(found: Fit) -> Remains | None:
    """Residuals of a fit by experiment, setup and marker; None without lengths."""
    component, row = found.system.take
    campaign = found.system.campaign
    lengths = component < 3
    if not lengths.any():
        return None
    readings = campaign.readings
    key = np.stack([readings.experiment, readings.setup, readings.marker])[:, row[lengths]]
    groups, member = np.unique(key, axis=1, return_inverse=True)
    member = member.reshape(-1)
    residual = found.solution.equations.residual[lengths]
    squares = np.bincount(member, residual**2)
    pairs = np.unique(np.stack([member, row[lengths]]), axis=1)[0]
    rms = np.sqrt(squares / np.bincount(pairs))
    kept = _kept(rms)
    mean = _means(member, component[lengths], residual, found.system.touching[lengths])[:, kept]
    names = _names(campaign, groups[:, kept])
    return Remains(
        experiment=tuple(one[0] for one in names),
        setup=tuple(one[1] for one in names),
        marker=tuple(one[2] for one in names),
        rms_m=tuple(map(float, rms[kept])),
        of=len(rms),
        mean_m=tuple(_short(one) if np.isfinite(one).all() else None for one in mean.T),
    )


def _names(campaign: Campaign, groups: NDArray[np.int64]) -> list[tuple[str, str, str]]:
    """Experiment, setup and marker of groups (3, n)."""
    experiments, setups, markers = campaign.experiments.names, campaign.setups, campaign.markers
    return [(experiments[e], setups[s].name, markers[m] if m >= 0 else DEFAULT_MARKER) for e, s, m in groups.T.tolist()]


def _short(values: Iterable[float]) -> tuple[float, ...]:
    """Lengths to 10 nm: what a picture can show, in few letters."""
    return tuple(round(float(v), DIGITS) for v in values)


def _means(
    member: NDArray[np.int64], component: NDArray[np.int64], residual: Floats, touching: NDArray[np.bool_]
) -> Floats:
    """(3, groups) mean residual along each axis; NaN where it was not read, and for touches, which have no axes."""
    size = (3, int(member.max()) + 1)
    total, count = np.zeros(size), np.zeros(size)
    np.add.at(total, (component, member), np.where(touching, np.nan, residual))
    np.add.at(count, (component, member), 1.0)
    with np.errstate(invalid="ignore"):
        return np.asarray(total / count)


@dataclass(frozen=True, eq=False)
class JudgedRows:
    """Errors (m) of judged readings, by model, with the names of their groups."""

    groups: Sequence[tuple[str, str, str]]
    """Experiment, setup and marker of each reading."""
    errors_m: Mapping[str, Floats]


def judged_rows_of(campaign: Campaign, rows: NDArray[np.int64], errors_m: Mapping[str, Floats]) -> JudgedRows:
    """Errors with the groups their readings belong to."""
    readings = campaign.readings
    groups = np.stack([readings.experiment, readings.setup, readings.marker])[:, rows]
    return JudgedRows(_names(campaign, groups), errors_m)


def unseen_errors(parts: Sequence[JudgedRows]) -> UnseenErrors | None:
    """Errors of all folds by experiment, setup and marker; None when nothing was judged."""
    groups = [group for part in parts for group in part.groups]
    if not groups:
        return None
    place = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    member = np.array([place[group] for group in groups])
    count = np.bincount(member)
    keys = [key for key in ("model", "nominal", "geometry") if all(key in part.errors_m for part in parts)]
    rms = {
        key: np.sqrt(np.bincount(member, np.concatenate([part.errors_m[key] for part in parts]) ** 2) / count)
        for key in keys
    }
    kept = _kept(rms["model"])
    names = [list(place)[i] for i in kept]
    return UnseenErrors(
        experiment=tuple(one[0] for one in names),
        setup=tuple(one[1] for one in names),
        marker=tuple(one[2] for one in names),
        errors_m={key: _short(values[kept]) for key, values in rms.items()},
        of=len(place),
    )


def configurations_of(
    campaign: Campaign, remains: Remains | None, holdout: Holdout | None
) -> dict[str, tuple[float, ...]]:
    """Joint values (rad, m) of the experiments that pictures name, to a microradian."""
    unseen = None if holdout is None else holdout.unseen
    wanted = {*(remains.experiment if remains else ()), *(unseen.experiment if unseen else ())}
    q = campaign.experiments.q
    return {
        name: tuple(round(float(v), 6) for v in q[:, i])
        for i, name in enumerate(campaign.experiments.names)
        if name in wanted and np.isfinite(q[:, i]).all()
    }


def _kept(rms: Floats) -> NDArray[np.int64]:
    if len(rms) <= MOST:
        return np.arange(len(rms))
    largest = np.argsort(-rms, kind="stable")[:LARGEST]
    spread = np.linspace(0, len(rms) - 1, MOST - LARGEST).astype(np.int64)
    return np.asarray(np.union1d(largest, spread), dtype=np.int64)


def quantiles(errors: Floats) -> tuple[float, ...]:
    """Quantiles of errors (m) at `SHARES`.

    >>> quantiles(np.array([0.0, 1.0, 2.0]))[::10]
    (0.0, 1.0, 2.0)
    """
    return tuple(map(float, np.quantile(errors, SHARES)))
