"""Curves K_2(q) that a joint's drive and compensator may have, in unknowns in which they are as linear as they can be.

Drive and compensator in parallel (`stiffarm.model.compensator_law`) have K_2 = K_q + F' s'^2 + F s''.  With tension

    constant   F = 0                                          unknown K_q
    spring     F = Kc s - P,          P = Kc s0               unknown K_q, Kc, P:    linear in all three
    gas        F = eps (A P0 - T (d_m / d)^n),  d = eps (s - sv),  d_m that of the middle of the travel
                                                              unknown K_q, T, w:     linear but for w

T is what the gas presses with in the middle of the travel and w = ln(distance of sv from the nearest length that the
joint's limits allow), so that every w is a gas with volume everywhere.  A is the area of the file, n its exponent.
Where the file describes no gas, the ambient air is left out (A P0 = 0): then T and sv are what can be told at all.

The numbers of the robot file follow from these unknowns:

    s0 = P / Kc;     s0 = sv + eps (T d_m^n / (A P0))^(1/n);     V_ref = eps A (s_ref - sv), p_ref = T (d_m/d_ref)^n / A
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.compensator_law import AMBIENT_PA, Lever
from stiffarm.robot.arm import Compensator, GasCylinder, Joint, Spring
from stiffarm.robot.check import length_range

Floats = NDArray[np.float64]

NEAREST, FARTHEST = 1e-2, 1e2
"""Distances of sv beyond the travel that are searched, as shares of a + L."""
SCANNED = 41
"""Values of sv on the logarithmic grid."""


class Curve(Protocol):
    """A family of curves K_2(q; u)."""

    @property
    def kind(self) -> str:
        """``constant``, ``spring`` or ``gas``."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers of `physical`, without the joint."""
        ...

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """Least and greatest u."""
        ...

    @property
    def scans(self) -> Floats:
        """(grids,) values of the last unknown to be tried where K_2 is not linear in it; empty when it is."""
        ...

    def basis(self, q: Floats, scan: float | None = None) -> Floats:
        """(linear unknowns, n) what K_2 is linear in."""
        ...

    def stiffness(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """K_2 (N m/rad) and its derivatives (unknowns, n)."""
        ...

    def physical(self, u: NDArray[Any]) -> NDArray[Any]:
        """Drive's compliance (rad/(N m)), then the compensator's numbers; u may be complex (for derivatives)."""
        ...

    def unknowns(self, physical: Mapping[str, float]) -> Floats:
        """u of the numbers in ``names``."""
        ...

    def torque(self, u: Floats, q: Floats) -> Floats:
        """M_c (N m) of the compensator."""
        ...


@dataclass(frozen=True)
class Constant:
    """No compensator, or none that is seen."""

    kind: str = "constant"
    names: tuple[str, ...] = ("compliance",)

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """K_q above 0."""
        return np.array([1.0]), np.array([np.inf])

    @property
    def scans(self) -> Floats:
        """Linear."""
        return np.zeros(0)

    def basis(self, q: Floats, scan: float | None = None) -> Floats:
        """One."""
        return np.ones((1, len(q)))

    def stiffness(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """K_q everywhere."""
        return np.full(len(q), u[0]), np.ones((1, len(q)))

    def physical(self, u: NDArray[Any]) -> NDArray[Any]:
        """1 / K_q."""
        return 1.0 / u

    def unknowns(self, physical: Mapping[str, float]) -> Floats:
        """K_q."""
        return np.array([1.0 / physical["compliance"]])

    def torque(self, u: Floats, q: Floats) -> Floats:
        """None."""
        return np.zeros(len(q))


@dataclass(frozen=True)
class SpringCurve:
    """u = (K_q, Kc, P = Kc s0)."""

    lever: Lever
    kind: str = "spring"
    names: tuple[str, ...] = ("compliance", "compensator.stiffness", "compensator.s0")

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """A drive, and a spring that pulls back."""
        return np.array([1.0, 1.0, 0.0]), np.full(3, np.inf)

    @property
    def scans(self) -> Floats:
        """Linear."""
        return np.zeros(0)

    def basis(self, q: Floats, scan: float | None = None) -> Floats:
        """1, s'^2 + s s'', -s''."""
        at = self.lever.at(q)
        return np.stack([np.ones_like(q), at.first**2 + at.s * at.second, -at.second])

    def stiffness(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """Linear in u."""
        basis = self.basis(q)
        return u @ basis, basis

    def physical(self, u: NDArray[Any]) -> NDArray[Any]:
        """1 / K_q, Kc, P / Kc."""
        return np.array([1.0 / u[0], u[1], u[2] / u[1]])

    def unknowns(self, physical: Mapping[str, float]) -> Floats:
        """K_q, Kc, Kc s0."""
        k, stiffness, s0 = (physical[name] for name in self.names)
        return np.array([1.0 / k, stiffness, stiffness * s0])

    def torque(self, u: Floats, q: Floats) -> Floats:
        """(Kc s - P) s'."""
        at = self.lever.at(q)
        return np.asarray((u[1] * at.s - u[2]) * at.first)


@dataclass(frozen=True)
class GasCurve:
    """u = (K_q, T, w)."""

    lever: Lever
    eps: float
    """+1 pushes, -1 pulls."""
    exponent: float
    shortest: float
    longest: float
    """Of s over the joint's limits, m."""
    area: float = 0.0
    """m^2; 0: not known, and the ambient air is left out."""
    s_ref: float | None = None
    """Of a gas known by p_ref and V_ref, m."""
    kind: str = "gas"

    @property
    def names(self) -> tuple[str, ...]:
        """In the form of the robot file; the force in the middle (N) and sv when the file has no gas."""
        if not self.area:
            return ("compliance", "force", "compensator.sv")
        if self.s_ref is not None:
            return ("compliance", "compensator.p_ref", "compensator.V_ref")
        return ("compliance", "compensator.s0", "compensator.sv")

    @property
    def _edge(self) -> float:
        return self.shortest if self.eps > 0 else self.longest

    @property
    def _middle(self) -> float:
        """Distance of the middle of the travel from the edge, m."""
        return 0.5 * (self.longest - self.shortest)

    @property
    def scans(self) -> Floats:
        """From a hundredth of the triangle's size to a hundred times."""
        size = self.lever.a + self.lever.L
        return np.log(np.geomspace(NEAREST * size, FARTHEST * size, SCANNED))

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        """A drive, a gas that presses, and what was scanned."""
        return np.array([1.0, 1e-3, self.scans[0]]), np.array([np.inf, np.inf, self.scans[-1]])

    def _parts(self, w: float, q: Floats) -> tuple[Floats, Floats, Floats]:
        """Stiffness of the ambient air, of the gas per unit of T, and the derivative of the latter by w; each (n,)."""
        at, n, beyond = self.lever.at(q), self.exponent, np.exp(w)
        d, middle = self.eps * (at.s - self._edge) + beyond, self._middle + beyond
        share = (middle / d) ** n
        by_w = n * share * (beyond / middle - beyond / d)
        stiff = n * at.first**2 / d - self.eps * at.second
        return (
            self.eps * self.area * AMBIENT_PA * at.second,
            share * stiff,
            by_w * stiff - share * n * at.first**2 * beyond / d**2,
        )

    def basis(self, q: Floats, scan: float | None = None) -> Floats:
        """1 and the gas at w; the ambient air is known (`known`)."""
        return np.stack([np.ones_like(q), self._parts(float(self.scans[0] if scan is None else scan), q)[1]])

    def known(self, q: Floats) -> Floats:
        """(n,) stiffness that has no unknown in it."""
        return self._parts(0.0, q)[0]

    def stiffness(self, u: Floats, q: Floats) -> tuple[Floats, Floats]:
        """K_2 and its derivatives by K_q, T, w."""
        air, gas, by_w = self._parts(float(u[2]), q)
        return u[0] + air + u[1] * gas, np.stack([np.ones_like(q), gas, u[1] * by_w])

    def physical(self, u: NDArray[Any]) -> NDArray[Any]:
        """1 / K_q and the two numbers in ``names``."""
        beyond = np.exp(u[2])
        sv = self._edge - self.eps * beyond
        middle = self._middle + beyond
        if not self.area:
            return np.array([1.0 / u[0], u[1], sv])
        if self.s_ref is not None:
            d_ref = self.eps * (self.s_ref - sv)
            return np.array([1.0 / u[0], u[1] * (middle / d_ref) ** self.exponent / self.area, self.area * d_ref])
        vented = middle * (u[1] / (self.area * AMBIENT_PA)) ** (1.0 / self.exponent)
        return np.array([1.0 / u[0], sv + self.eps * vented, sv])

    def unknowns(self, physical: Mapping[str, float]) -> Floats:
        """K_q, T, w."""
        k, first, second = (physical[name] for name in self.names)
        if self.s_ref is not None and self.area:
            d_ref = second / self.area
            beyond = self.eps * (self._edge - self.s_ref) + d_ref
            force = first * self.area * (d_ref / (self._middle + beyond)) ** self.exponent
        else:
            beyond = self.eps * (self._edge - second)
            if self.area:
                vented = self.eps * (first - second) / (self._middle + beyond)
                force = self.area * AMBIENT_PA * vented**self.exponent
            else:
                force = first
        return np.array([1.0 / k, force, np.log(beyond)])

    def torque(self, u: Floats, q: Floats) -> Floats:
        """eps (A P0 - T (d_m / d)^n) s'."""
        at, beyond = self.lever.at(q), np.exp(u[2])
        d = self.eps * (at.s - self._edge) + beyond
        pressed = u[1] * ((self._middle + beyond) / d) ** self.exponent
        return np.asarray(self.eps * (self.area * AMBIENT_PA - pressed) * at.first)


def curves_of(compensator: Compensator | None, joint: Joint) -> tuple[Curve, ...]:
    """What a joint's stiffness may follow: a constant, and with a compensator's triangle a spring and a gas.

    The gas is that of the file; where the file has a spring, a slow one of either side that leaves the air out.
    """
    if compensator is None:
        return (Constant(),)
    lever = Lever(compensator.L, compensator.a, compensator.alpha)
    shortest, longest = length_range(compensator, joint)
    gas = compensator.element
    if isinstance(gas, Spring):
        sides = (GasCurve(lever, eps, 1.0, shortest, longest) for eps in (1.0, -1.0))
        return (Constant(), SpringCurve(lever), *sides)
    return (Constant(), SpringCurve(lever), _gas_of_file(gas, lever, shortest, longest))


def _gas_of_file(gas: GasCylinder, lever: Lever, shortest: float, longest: float) -> GasCurve:
    eps = 1.0 if gas.side == "push" else -1.0
    return GasCurve(lever, eps, gas.exponent, shortest, longest, gas.area, gas.s_ref if gas.p_ref is not None else None)


def known_part(curve: Curve, q: Floats) -> Floats:
    """(n,) what of K_2 has no unknown in it: the ambient air on a gas cylinder's piston."""
    return curve.known(q) if isinstance(curve, GasCurve) else np.zeros(len(q))
