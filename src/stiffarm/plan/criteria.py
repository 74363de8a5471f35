"""What a plan is judged by: a number that is small when the plan is good, and its slope.

All are functions of M = R'R, R the triangular factor of the white rows in typical sizes of the parameters, with
singular values s_1 >= ... >= s_p, and fall like the standard deviations do, as 1/sqrt(n) with n repeats (O2 not):

    test   sqrt(tr(L M^-1 L'))       L the columns of what is to be accurate: test poses, weighted
    A      the same with L = I/sqrt(p): root mean square deviation of the parameters in typical sizes
    D      det(M)^(-1/2p)            geometric mean of the axes of the ellipsoid
    E      1/s_p                     the worst direction
    O1     sqrt(m) / (s_1 ... s_p)^(1/p)        inverses of the observability indices, which are to be large;
    O2     s_1/s_p                              m is the number of experiments
    O3     1/s_p
    O4     s_1/s_p^2
    O5     sum of 1/s_i

With the slope N = -d value/dM, a plan changes by -tr(N dM).  For a convex value phi of degree -1/2 (all but O2, O4),
and any M that another plan could have,

    phi(M*) >= max over t of phi(tM) - tr(N(tM) (M* - tM))  =  phi sqrt(phi / (2 tr(N M*)))

which turns the largest gain of any stop into a lower bound (`stiffarm.plan.bound`).  E and O3 have no slope where
singular values meet, so their bound takes the mixture of the weakest directions that N says:
phi* >= sqrt(tr N / tr(N M*)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np

from stiffarm.plan.problem import Floats

CriterionName = Literal["test", "A", "D", "E", "O1", "O2", "O3", "O4", "O5"]
CRITERIA: tuple[str, ...] = get_args(CriterionName)
POWER = 48
"""Of the smooth mean that stands for the smallest singular value in weighted designs."""


SINGULAR = 1e-12
"""A factor with a relatively smaller part is singular."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Values (...,) and slopes N (..., p, p) of triangular factors (..., p, p)."""

    value: Floats
    slope: Floats


class Criterion(Protocol):
    """A number to be made small."""

    @property
    def name(self) -> str:
        """As it is asked for."""
        ...

    @property
    def certified(self) -> bool:
        """Whether a lower bound follows from the slope."""
        ...

    @property
    def smooth(self) -> Criterion:
        """A smooth one in its place for weighted designs; itself when it is smooth."""
        ...

    def judge(self, r: Floats) -> Judged:
        """Values and slopes; infinite where R is singular."""
        ...

    def bound(self, value: float, slope: Floats, gain: float) -> float:
        """Lower bound from a design's value and slope N and the largest tr(N M*)."""
        ...


@dataclass(frozen=True, eq=False)
class Accuracy:
    """Root of the trace of the covariance of some linear functions of the parameters."""

    name: str
    target: Floats
    """L (functions, parameters), typical sizes."""
    certified: bool = True

    @property
    def smooth(self) -> Criterion:
        """Itself."""
        return self

    def judge(self, r: Floats) -> Judged:
        """x = L R^-1: value |x|, slope R^-1 x'x R^-T / (2 |x|)."""
        inverse, ok = inverses(r)
        x = self.target @ inverse
        value = np.sqrt((x**2).sum(axis=(-1, -2)))
        back = x @ np.swapaxes(inverse, -1, -2)
        slope = np.swapaxes(back, -1, -2) @ back / (2.0 * np.maximum(value, 1e-300))[..., None, None]
        return Judged(np.where(ok, value, np.inf), slope)

    def bound(self, value: float, slope: Floats, gain: float) -> float:
        """phi sqrt(phi / (2 tr(N M*)))."""
        return value * float(np.sqrt(value / (2.0 * gain)))


@dataclass(frozen=True)
class Determinant:
    """det(M)^(-1/2p), times a factor."""

    name: str
    factor: float = 1.0
    certified: bool = True

    @property
    def smooth(self) -> Criterion:
        """Itself."""
        return self

    def judge(self, r: Floats) -> Judged:
        """The slope is value/(2p) M^-1."""
        inverse, ok = inverses(r)
        p = r.shape[-1]
        diagonal = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
        value = self.factor * np.exp(-np.log(np.maximum(diagonal, 1e-300)).mean(axis=-1))
        slope = inverse @ np.swapaxes(inverse, -1, -2) * (value / (2.0 * p))[..., None, None]
        return Judged(np.where(ok, value, np.inf), slope)

    def bound(self, value: float, slope: Floats, gain: float) -> float:
        """phi sqrt(phi / (2 tr(N M*)))."""
        return value * float(np.sqrt(value / (2.0 * gain)))


@dataclass(frozen=True)
class Spectral:
    """A function of the singular values alone."""

    name: str
    power: int | None = None
    """Of the smooth mean that stands for 1/s_p; None: the function itself."""

    @property
    def certified(self) -> bool:
        """O2 and O4 are not convex."""
        return self.name not in ("O2", "O4")

    @property
    def smooth(self) -> Criterion:
        """The smooth mean for 1/s_p."""
        return Spectral(self.name, POWER) if self.name in ("E", "O3") else self

    def judge(self, r: Floats) -> Judged:
        """s_i changes with M by v_i v_i' / (2 s_i)."""
        s, v = np.linalg.svd(r)[1:]
        ok = s[..., -1] > SINGULAR * s[..., 0]
        s = np.where(ok[..., None], s, 1.0)
        value, by_s = self._of(s)
        slope = np.einsum("...ip,...i,...iq->...pq", v, -by_s / (2.0 * s), v)
        return Judged(np.where(ok, value, np.inf), slope)

    def _of(self, s: Floats) -> tuple[Floats, Floats]:
        """Value (...,) and derivatives (..., p) by the singular values."""
        first, last = s[..., 0], s[..., -1]
        by_s = np.zeros_like(s)
        if self.power is not None:
            ratio = (last[..., None] / s) ** self.power
            total = ratio.sum(axis=-1)
            value = total ** (1.0 / self.power) / last
            return value, -value[..., None] * ratio / (total[..., None] * s)
        match self.name:
            case "O2":
                by_s[..., 0] += 1.0 / last
                by_s[..., -1] -= first / last**2
                return first / last, by_s
            case "O4":
                by_s[..., 0] += 1.0 / last**2
                by_s[..., -1] -= 2.0 * first / last**3
                return first / last**2, by_s
            case "O5":
                return (1.0 / s).sum(axis=-1), -1.0 / s**2
            case _:
                by_s[..., -1] = -1.0 / last**2
                return 1.0 / last, by_s

    def bound(self, value: float, slope: Floats, gain: float) -> float:
        """As the module says."""
        if self.name == "O5":
            return value * float(np.sqrt(value / (2.0 * gain)))
        return float(np.sqrt(np.trace(slope) / gain))


def inverses(r: Floats) -> tuple[Floats, Floats]:
    """R^-1 and whether R is regular; the inverse of a singular one is that of the unit matrix."""
    diagonal = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    ok = diagonal.min(axis=-1) > SINGULAR * diagonal.max(axis=-1)
    safe = np.where(ok[..., None, None], r, np.eye(r.shape[-1]))
    return np.linalg.inv(safe), ok


def criterion_of(name: str, parameters: int, experiments: int, target: Floats | None) -> Criterion:
    """The criterion of a name; ``target`` (functions, parameters) for ``test``."""
    match name:
        case "test":
            assert target is not None, "test poses say what is to be accurate"
            return Accuracy("test", target)
        case "A":
            return Accuracy("A", np.eye(parameters) / np.sqrt(parameters))
        case "D":
            return Determinant("D")
        case "O1":
            return Determinant("O1", float(np.sqrt(experiments)))
        case _:
            return Spectral(name)
