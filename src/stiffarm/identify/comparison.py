"""`stiffarm compare`: which parameters differ between two models by more than their noise.

For campaigns with independent errors the difference d of two estimates has the covariance C1 + C2, and

    t = d / sqrt(s1^2 + s2^2)     on     nu = (s1^2 + s2^2)^2 / (s1^4/nu1 + s2^4/nu2)

degrees of freedom (Welch and Satterthwaite), nu1 and nu2 being those behind each interval.  With many parameters some
differ by chance: p-values are corrected by Holm's step-down rule, so that with nothing changed at all a report of any
change comes with the stated probability only.  All parameters together are tested once by d' (C1 + C2)^-1 d, which
sees a change that several correlated parameters share and none shows alone.

Two things break independence.  *One load* for both campaigns (the same load cell): its error moves the compliances of
both models alike, so the scale parts of both covariances cancel in the difference and are left out, C - S.  *The same
readings* in both: differences are then smaller than the noise of either says; that is said, and nothing can be proved.

A number has a meaning only beside what was held.  When two models held different parameters, a geometric parameter
stands for other motions in one than in the other; those are named and not compared.  Nor are geometric parameters of
robot files whose nominal geometry differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identify.estimate import Estimate, ParameterEstimate
from stiffarm.identify.intervals import t_quantile
from stiffarm.identify.known import model_of
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Change:
    """One parameter in two models (SI)."""

    name: str
    difference: float
    """Second minus first."""
    std: float
    p: float
    """Two-sided, corrected for the number of parameters compared."""


@dataclass(frozen=True)
class NotCompared:
    """A parameter that has no counterpart of the same meaning."""

    name: str
    why: str


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Two models side by side."""

    changed: tuple[Change, ...]
    """Corrected p below the significance, strongest first."""
    every: tuple[Change, ...]
    """All that were compared, strongest first."""
    p_together: float | None
    """Of no change at all, by all parameters together; None when nothing was compared."""
    not_compared: tuple[NotCompared, ...]
    notes: tuple[str, ...] = ()

    @property
    def compared(self) -> int:
        """How many parameters were compared."""
        return len(self.every)

    def summary(self) -> tuple[str, ...]:
        """How many changed."""
        return (f"{len(self.changed)} of {self.compared} parameters changed beyond noise", *self.notes)

    def to_polars(self) -> pl.DataFrame:
        """All that were compared, strongest first, SI."""
        import polars as pl

        every = [{"name": c.name, "difference": c.difference, "std": c.std, "p": c.p} for c in self.every]
        changed = {c.name for c in self.changed}
        return pl.DataFrame([{**one, "changed": one["name"] in changed} for one in every], infer_schema_length=None)


def compare(first: Estimate, second: Estimate, *, significance: float = 0.05, same_load: bool = False) -> Comparison:
    """Parameters that changed beyond noise from the first model to the second.

    ``same_load``: both campaigns were pulled by what was measured by one load cell.
    """
    a, b = (_told(one) for one in (first, second))
    left_out = _not_compared(first, second, a, b)
    out = {one.name for one in left_out}
    both = [name for name in a if name in b and name not in out]
    covariances = [_covariance(one, both, without_scale=same_load) for one in (first, second)]
    rows = [_change(a[name], b[name], covariances[0][i, i], covariances[1][i, i]) for i, name in enumerate(both)]
    every = _holm(rows)
    difference = np.array([row.difference for row in rows])
    return Comparison(
        tuple(c for c in every if c.p < significance),
        tuple(every),
        _together(difference, covariances[0] + covariances[1]) if both else None,
        tuple(left_out),
        _notes(first, second, same_load=same_load),
    )


def _told(estimate: Estimate) -> dict[str, ParameterEstimate]:
    return {p.name: p for p in estimate.parameters if p.std is not None and p.value is not None}


def _covariance(estimate: Estimate, names: Sequence[str], *, without_scale: bool) -> Floats:
    """Of the named parameters; standard deviations alone when the model has no covariance of them."""
    std = {p.name: p.std or 0.0 for p in estimate.parameters}
    at = {name: i for i, name in enumerate(estimate.covariance_names)}
    if not set(names) <= set(at):
        return np.diag(np.array([std[name] for name in names]) ** 2)
    which = np.array([at[name] for name in names], dtype=np.int64)
    whole = np.array(estimate.covariance).reshape(len(at), len(at))[np.ix_(which, which)]
    if without_scale and estimate.scale_covariance:
        whole = whole - np.array(estimate.scale_covariance)[np.ix_(which, which)]
    return whole


def _change(one: ParameterEstimate, two: ParameterEstimate, variance_1: float, variance_2: float) -> Change:
    from scipy.special import stdtr

    assert one.value is not None
    assert two.value is not None
    variance = max(variance_1, 0.0) + max(variance_2, 0.0)
    difference, std = two.value - one.value, float(np.sqrt(variance))
    if std == 0.0:
        return Change(one.name, difference, 0.0, float(difference == 0.0))
    share = sum((v / variance) ** 2 / degrees_of_freedom(p) for v, p in ((variance_1, one), (variance_2, two)))
    dof = 1.0 / share if share > 0.0 else np.inf
    return Change(one.name, difference, std, float(2.0 * stdtr(min(dof, 1e9), -abs(difference) / std)))


def degrees_of_freedom(p: ParameterEstimate) -> float:
    """What the half-width of an interval in standard deviations says: it is t(level, dof).

    >>> from stiffarm.identify.intervals import t_quantile
    >>> half = float(t_quantile(0.95, np.array([7.0]))[0])
    >>> round(degrees_of_freedom(ParameterEstimate("a", "m", 0.0, 0.0, 1.0, -half, half, 0.95, 0.0, "negligible")), 6)
    7.0
    """
    from scipy.optimize import brentq

    if p.low is None or p.high is None or p.level is None or not p.std:
        return float("inf")
    wide, level = (p.high - p.low) / (2.0 * p.std), p.level

    def excess(log_dof: float) -> float:
        return float(t_quantile(level, np.array([np.exp(log_dof)]))[0]) - wide

    if excess(np.log(1e6)) >= 0.0:
        return float("inf")
    return 1.0 if excess(0.0) <= 0.0 else float(np.exp(brentq(excess, 0.0, np.log(1e6))))


def _together(difference: Floats, covariance: Floats) -> float:
    """p of d' C^-1 d under no change, by chi squared; directions that neither model tells are left out."""
    from scipy.special import chdtrc

    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    told = values > 1e-12 * values[-1]
    along = (vectors.T @ (difference / scale))[told]
    return float(chdtrc(int(told.sum()), float(np.sum(along**2 / values[told]))))


def _not_compared(
    first: Estimate, second: Estimate, a: dict[str, ParameterEstimate], b: dict[str, ParameterEstimate]
) -> list[NotCompared]:
    found = [NotCompared(name, f"only the {which} model tells it") for which, names in
             (("first", a.keys() - b.keys()), ("second", b.keys() - a.keys())) for name in sorted(names)]  # fmt: skip
    geometric = [name for name in a if name in b and not _elastic(name)]
    if not geometric:
        return found
    if not _same_geometry(first, second):
        return found + [NotCompared(name, "the robot files differ in their nominal geometry") for name in geometric]
    told = (set(a), set(b))
    held_1, held_2 = ({d.name for d in one.dropped if not _elastic(d.name)} for one in (first, second))
    if held_1 ^ held_2 and {n for n in told[0] ^ told[1] if not _elastic(n)}:
        differing = ", ".join(sorted(held_1 ^ held_2)[:6])
        why = f"it stands for other motions: the models did not hold the same parameters ({differing})"
        partners = {name for one in (first, second) for p in one.parameters for name in (p.name, *p.merged)
                    if {p.name, *p.merged} & (held_1 ^ held_2)}  # fmt: skip
        found += [NotCompared(name, why) for name in geometric if name in partners]
    return found


def _elastic(name: str) -> bool:
    return ".compliance" in name


def _same_geometry(first: Estimate, second: Estimate) -> bool:
    """Whether two robot files draw the same chain; `InputError` when they are not even of the same joints."""
    from stiffarm.model.evaluate import predict
    from stiffarm.model.kernel import frames
    from stiffarm.model.loads import State

    arms = [model_of(one).at() for one in (first, second)]
    names = [arm.robot.joint_names for arm in arms]
    if names[0] != names[1]:
        raise InputError(
            Problem(
                "these are models of different robots",
                found=f"joints {' '.join(names[0])} and {' '.join(names[1])}",
                allowed="two models of one robot",
            )
        )
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (len(names[0]), 3))
    one, two = (frames(arm.chain, q) for arm in arms)
    ends = (predict(arm, State(q), "flange").position for arm in arms)
    pairs = (tuple(ends), *zip(one.origin, two.origin, strict=True), *zip(one.rotation, two.rotation, strict=True))
    return all(np.allclose(a, b, atol=1e-9) for a, b in pairs)


def _notes(first: Estimate, second: Estimate, *, same_load: bool) -> tuple[str, ...]:
    notes = []
    shared = set(first.provenance.readings) & set(second.provenance.readings)
    files = {d for d in first.provenance.files.values() if d} & {d for d in second.provenance.files.values() if d}
    if shared or files:
        notes.append("both models were fitted to the same readings: differences say nothing of a change")
    loads = [bool(one.scale_covariance) for one in (first, second)]
    if same_load and not all(loads):
        notes.append(
            "one load for both is asked for, but a model states no uncertainty of its load: nothing cancels there"
        )
    if all(loads) and not same_load:
        notes.append("the loads of both campaigns count as independent; --same-load when one cell measured both")
    return tuple(notes)


def _holm(changes: Sequence[Change]) -> list[Change]:
    ordered = sorted(changes, key=lambda c: c.p)
    corrected, largest = [], 0.0
    for i, c in enumerate(ordered):
        largest = max(largest, min(1.0, c.p * (len(ordered) - i)))
        corrected.append(Change(c.name, c.difference, c.std, largest))
    return corrected
