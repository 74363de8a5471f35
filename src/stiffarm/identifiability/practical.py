"""Practical identifiability: a parameter beside the noise of its estimate.

    nu = |value| / std

Above the upper bound (5) a parameter is identifiable, below the lower one (2) negligible, in between uncertain.
Deflections are linear in compliances and loads, so that std falls with the load and with the root of the number of
readings: an uncertain parameter moves up with nu_high / nu times the load or (nu_high / nu)^2 times the readings.

The value is what is known of it: what a measured campaign says itself, else that of the robot file, else how far the
parameter may be from nominal (its prior), else its typical size.  A combination is judged as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.groups import Groups
from stiffarm.identifiability.selection import triangle
from stiffarm.model.parameters import Parameter

Floats = NDArray[np.float64]
PracticalClass = Literal["identifiable", "uncertain", "negligible", "merged", "unobservable"]
Basis = Literal["readings", "file", "prior", "typical size"]


@dataclass(frozen=True)
class Practical:
    """One parameter, or the combination it stands for, beside its noise."""

    name: str
    kind: PracticalClass
    nu: float | None = None
    """None where nothing is estimated."""
    sigma: float | None = None
    """Standard deviation of the estimate, SI."""
    value: float | None = None
    """The size it is judged by, SI."""
    basis: Basis | None = None
    """Where that size is from."""
    repeats: float | None = None
    """Times as many readings that would make it identifiable; only for uncertain ones."""
    load: float | None = None
    """Times the load that would; only for uncertain compliances."""
    direction: str | None = None
    """Another load of the same size that would, in words."""


def practical_class(nu: float, bounds: tuple[float, float] = (2.0, 5.0)) -> PracticalClass:
    """Class of a parameter-to-noise ratio.

    >>> [practical_class(nu) for nu in (1.9, 2.0, 5.0, 5.1)]
    ['negligible', 'uncertain', 'uncertain', 'identifiable']
    """
    low, high = bounds
    return "negligible" if nu < low else "identifiable" if nu > high else "uncertain"


def covariance_of(rows: Floats) -> Floats:
    """(p, p) covariance of a least squares estimate from white rows of full column rank."""
    length = np.linalg.norm(rows, axis=0)
    inverse = np.linalg.inv(triangle(rows / length)) / length[:, None]
    return np.asarray(inverse @ inverse.T)


def estimate_of(rows: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Least squares estimate and covariance from white rows of full column rank.

    >>> estimate_of(np.array([[1.0], [1.0]]), np.array([2.0, 4.0]))[0].round(9).tolist()
    [3.0]
    """
    length = np.linalg.norm(rows, axis=0)
    found = np.linalg.lstsq(rows / length, right, rcond=None)[0] / length
    return np.asarray(found), covariance_of(rows)


def swamped(values: Floats, covariance: Floats, bound: float = 2.0) -> tuple[tuple[int, ...], Floats]:
    """M3: unknowns left out because noise swamps them, and the estimate refitted without them.

    The weakest goes first and the rest are refitted before the next is judged: estimates that lean on each other all
    look weak until one of them is gone, and leaving all of them out would lose what they tell together.

    >>> swamped(np.array([10.0, 1.0]), np.eye(2))
    ((1,), array([10.,  0.]))
    """
    x, C = np.array(values, dtype=float), np.array(covariance, dtype=float)
    left, dropped = list(range(len(x))), []
    while left:
        nu = np.abs(x[left]) / np.sqrt(np.diag(C)[left])
        weakest = int(np.argmin(nu))
        if nu[weakest] >= bound:
            break
        j = left.pop(weakest)
        dropped.append(j)
        direction = C[:, j] / C[j, j]
        x = x - direction * x[j]
        C = C - np.outer(direction, C[j])
    x[dropped] = 0.0
    return tuple(dropped), x


def practical_classes(
    groups: Groups,
    rows: Floats,
    parameters: Mapping[str, Parameter],
    *,
    estimated: Mapping[str, float] | None = None,
    bounds: tuple[float, float] = (2.0, 5.0),
) -> tuple[Practical, ...]:
    """Every parameter of ``groups`` with its class; ``rows`` are white, in the order of ``groups.names``.

    ``estimated`` are the base parameters' values when readings gave them.
    """
    at = {name: i for i, name in enumerate(groups.names)}
    base = groups.base
    sigma = np.sqrt(np.diag(covariance_of(rows[:, [at[c.name] for c in base]]))) if base else np.zeros(0)
    judged: dict[str, Practical] = {}
    for combination, std in zip(base, sigma, strict=True):
        value, basis = _size(combination.name, combination.others, combination.coefficients, parameters, estimated)
        elastic = combination.name in parameters and parameters[combination.name].elastic
        judged[combination.name] = _judged(combination.name, value, basis, float(std), elastic, bounds)
    for name in groups.merged:
        judged[name] = Practical(name, "merged")
    for name in groups.nothing:
        judged[name] = Practical(name, "unobservable")
    return tuple(judged[name] for name in groups.names if name in judged)


def _judged(
    name: str, value: float, basis: Basis, sigma: float, elastic: bool, bounds: tuple[float, float]
) -> Practical:
    nu = abs(value) / sigma
    kind = practical_class(nu, bounds)
    if kind != "uncertain":
        return Practical(name, kind, nu, sigma, value, basis)
    factor = bounds[1] / nu
    return Practical(name, kind, nu, sigma, value, basis, factor**2, factor if elastic else None)


def _size(
    name: str,
    others: tuple[str, ...],
    coefficients: tuple[float, ...],
    parameters: Mapping[str, Parameter],
    estimated: Mapping[str, float] | None,
) -> tuple[float, Basis]:
    """The size a base parameter is judged by, and where it is from."""
    if estimated is not None and name in estimated:
        return estimated[name], "readings"
    own = parameters.get(name)
    if own is None:  # the frame of a setup
        return 1.0, "typical size"
    if own.elastic:
        total = own.nominal + sum(
            c * parameters[o].nominal for o, c in zip(others, coefficients, strict=True) if o in parameters
        )
        if total != 0.0:
            return total, "file"
    return (own.scale, "typical size") if own.sigma is None else (own.sigma, "prior")
