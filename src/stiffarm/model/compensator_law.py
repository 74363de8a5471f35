"""Gravity compensators: energy, torque and stiffness of a spring or a gas between two hinges about a joint.

The hinges lie at distances a and L from the joint's axis, so with beta = alpha - q their distance s obeys

    s^2 = a^2 + L^2 + 2 a L cos beta,      s s' = h,   s s'' = h' - s'^2,   s s''' = h'' - 3 s' s'',
    h = a L sin beta,   h' = -a L cos beta,   h'' = -h                          (primes at s and h: d/dq)

With the energy U(s) of the element and its tension F = dU/ds,

    torque    M_c = dU/dq = F s'                      what the element takes off a load in the joint's sense
    stiffness K_c = d^2U/dq^2 = F' s'^2 + F s''       what it adds to the drive beside it

    spring   F = stiffness (s - s0)
    gas      F = -eps A (p - P0),   p V^n = const,   dV/ds = eps A,   eps = +1 (pushes), -1 (pulls)
             F' = n p A^2 / V,      F'' = -eps n (n + 1) p A^3 / V^2

A gas is known by the lengths s0 where it is at ambient pressure P0 and sv where it would have no volume,

    V = eps A (s - sv),   p = P0 ((s0 - sv) / (s - sv))^n,      so F = eps A P0 [1 - ((s0 - sv) / (s - sv))^n],

or by a pressure p_ref and volume V_ref at the length s_ref.  n is 1 for slow (isothermal) and 1.4 for fast motion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.robot.arm import Compensator, Spring

Floats = NDArray[np.float64]

AMBIENT_PA = 101325.0
"""Pressure of the air outside a gas cylinder."""


@dataclass(frozen=True, eq=False)
class LeverAt:
    """Length s of an element (m) and its derivatives by the joint's angle (m/rad, ...), each (n,)."""

    s: Floats
    first: Floats
    second: Floats
    third: Floats


@dataclass(frozen=True)
class Lever:
    """The triangle of two hinges and a joint: distances a and L (m) from its axis, angle alpha (rad)."""

    L: float
    a: float
    alpha: float

    def at(self, q: Floats) -> LeverAt:
        """At joint values q (rad, controller sense).

        >>> round(float(Lever(3.0, 4.0, 0.0).at(np.array([np.pi / 2])).s[0]), 12)
        5.0
        """
        product = self.a * self.L
        beta = self.alpha - np.asarray(q, dtype=float)
        s = np.sqrt(self.a**2 + self.L**2 + 2.0 * product * np.cos(beta))
        h = product * np.sin(beta)
        first = h / s
        second = (-product * np.cos(beta) - first**2) / s
        return LeverAt(s, first, second, (-h - 3.0 * first * second) / s)


class Law(Protocol):
    """How the tension of an element depends on its length (m), and on the numbers that describe it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its parameters, in the order of `by_parameter`."""
        ...

    def energy(self, s: Floats) -> Floats:
        """U (J), from any fixed zero."""
        ...

    def tension(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """F (N), F' (N/m) and F'' (N/m^2)."""
        ...

    def by_parameter(self, s: Floats) -> tuple[Floats, Floats]:
        """Derivatives (parameters, n) of F and of F'."""
        ...


@dataclass(frozen=True)
class SpringLaw:
    """F = stiffness (s - s0); N/m and m."""

    stiffness: float
    s0: float

    @property
    def names(self) -> tuple[str, ...]:
        """Stiffness and free length."""
        return ("stiffness", "s0")

    def energy(self, s: Floats) -> Floats:
        """U (J), zero at the free length."""
        return np.asarray(0.5 * self.stiffness * (s - self.s0) ** 2)

    def tension(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """F, F', F''."""
        return self.stiffness * (s - self.s0), np.full_like(s, self.stiffness), np.zeros_like(s)

    def by_parameter(self, s: Floats) -> tuple[Floats, Floats]:
        """By stiffness and s0."""
        force = np.stack([s - self.s0, np.full_like(s, -self.stiffness)])
        return force, np.stack([np.ones_like(s), np.zeros_like(s)])


@dataclass(frozen=True)
class NoLaw:
    """An element that is not there: a cylinder without area."""

    names: tuple[str, ...]

    def energy(self, s: Floats) -> Floats:
        """None."""
        return np.zeros_like(s)

    def tension(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """None."""
        return np.zeros_like(s), np.zeros_like(s), np.zeros_like(s)

    def by_parameter(self, s: Floats) -> tuple[Floats, Floats]:
        """None."""
        return np.zeros((len(self.names), len(s))), np.zeros((len(self.names), len(s)))


@dataclass(frozen=True)
class _Gas(ABC):
    """What both ways of describing a gas share: everything follows from p, V and their logarithmic derivatives."""

    eps: float
    """+1 when the cylinder pushes (its gas grows with s), -1 when it pulls."""
    area: float
    exponent: float

    @property
    @abstractmethod
    def _reference(self) -> tuple[float, float]:
        """A pressure (Pa) and the volume (m^3) there."""

    @abstractmethod
    def _volume(self, s: Floats) -> Floats:
        """m^3, not checked."""

    def volume(self, s: Floats) -> Floats:
        """V (m^3); `InputError` where there would be none."""
        found = self._volume(s)
        if not (found > 0.0).all() or self._reference[1] <= 0.0:
            raise no_volume(float(np.min(found)), float(np.ravel(s)[np.argmin(found)]))
        return found

    def pressure(self, s: Floats) -> Floats:
        """p (Pa, absolute)."""
        p_ref, v_ref = self._reference
        return np.asarray(p_ref * (v_ref / self.volume(s)) ** self.exponent)

    def energy(self, s: Floats) -> Floats:
        """U (J) of the gas against the ambient air, zero at the reference volume."""
        p_ref, v_ref = self._reference
        volume = self.volume(s)
        x = np.log(volume / v_ref)
        z = -(self.exponent - 1.0) * x
        small = np.abs(z) < 1e-5
        work = x * np.where(small, 1.0 + z / 2.0 + z**2 / 6.0, np.expm1(z) / np.where(small, 1.0, z))
        return np.asarray(AMBIENT_PA * (volume - v_ref) - p_ref * v_ref * work)

    def tension(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """F, F', F''."""
        p, volume, n = self.pressure(s), self.volume(s), self.exponent
        rate = n * p * self.area**2 / volume
        force = -self.eps * self.area * (p - AMBIENT_PA)
        return force, rate, -self.eps * (n + 1.0) * rate * self.area / volume

    def _by_logarithms(
        self, s: Floats, area: Floats, exponent: Floats, p: Floats, volume: Floats
    ) -> tuple[Floats, Floats]:
        """Derivatives of F and F' from those (parameters, n) of the logarithms of area, exponent, p and V."""
        pressure = self.pressure(s)
        _, rate, _ = self.tension(s)
        force = -self.eps * self.area * ((pressure - AMBIENT_PA) * area + pressure * p)
        return force, rate * (exponent + p + 2.0 * area - volume)


@dataclass(frozen=True)
class VentedGas(_Gas):
    """A gas known by its lengths s0 (at ambient pressure) and sv (no volume left), m."""

    s0: float
    sv: float

    @property
    def names(self) -> tuple[str, ...]:
        """Lengths, area, exponent."""
        return ("s0", "sv", "area", "exponent")

    @property
    def _reference(self) -> tuple[float, float]:
        return AMBIENT_PA, self.eps * self.area * (self.s0 - self.sv)

    def _volume(self, s: Floats) -> Floats:
        return np.asarray(self.eps * self.area * (s - self.sv))

    def by_parameter(self, s: Floats) -> tuple[Floats, Floats]:
        """By s0, sv, area, exponent."""
        one, none, n = np.ones_like(s), np.zeros_like(s), self.exponent
        here, vented = 1.0 / (s - self.sv), 1.0 / (self.s0 - self.sv)
        ratio = np.log((self.s0 - self.sv) * here)
        p = np.stack([n * vented * one, n * (here - vented), none, ratio])
        volume = np.stack([none, -here, one / self.area, none])
        area, exponent = np.stack([none, none, one / self.area, none]), np.stack([none, none, none, one / n])
        return self._by_logarithms(s, area, exponent, p, volume)


@dataclass(frozen=True)
class FilledGas(_Gas):
    """A gas known by its pressure p_ref (Pa, absolute) and volume V_ref (m^3) at the length s_ref (m)."""

    p_ref: float
    V_ref: float
    s_ref: float

    @property
    def names(self) -> tuple[str, ...]:
        """Pressure, volume, area, exponent."""
        return ("p_ref", "V_ref", "area", "exponent")

    @property
    def _reference(self) -> tuple[float, float]:
        return self.p_ref, self.V_ref

    def _volume(self, s: Floats) -> Floats:
        return np.asarray(self.V_ref + self.eps * self.area * (s - self.s_ref))

    def by_parameter(self, s: Floats) -> tuple[Floats, Floats]:
        """By p_ref, V_ref, area, exponent."""
        one, none, n = np.ones_like(s), np.zeros_like(s), self.exponent
        here = self.volume(s)
        swept = self.eps * (s - self.s_ref) / here
        p = np.stack([one / self.p_ref, n * (1.0 / self.V_ref - 1.0 / here), -n * swept, np.log(self.V_ref / here)])
        volume = np.stack([none, 1.0 / here, swept, none])
        area, exponent = np.stack([none, none, one / self.area, none]), np.stack([none, none, none, one / n])
        return self._by_logarithms(s, area, exponent, p, volume)


def no_volume(volume: float, s: float) -> InputError:
    """The error of a gas without volume."""
    return InputError(
        Problem(
            "the gas of a compensator has no volume left",
            found=f"{volume:.3g} m^3 at s = {s:.4g} m",
            allowed="more than 0 everywhere within the joint's limits",
            next_step="Check side, sv (or V_ref and s_ref) and area, or give them a prior",
        )
    )


def law_of(compensator: Compensator, numbers: dict[str, float] | None = None) -> Law:
    """The element of a compensator as its file states it, or with some of its parameters at other values."""
    element = compensator.element
    given = numbers or {}
    if isinstance(element, Spring):
        return SpringLaw(given.get("stiffness", element.stiffness), given.get("s0", element.s0))
    eps = 1.0 if element.side == "push" else -1.0
    area, exponent = given.get("area", element.area), given.get("exponent", element.exponent)
    filled = element.p_ref is not None
    if area == 0.0:
        return NoLaw((*(("p_ref", "V_ref") if filled else ("s0", "sv")), "area", "exponent"))
    if element.p_ref is not None and element.V_ref is not None and element.s_ref is not None:
        p_ref, v_ref = given.get("p_ref", element.p_ref), given.get("V_ref", element.V_ref)
        return FilledGas(eps, area, exponent, p_ref, v_ref, element.s_ref)
    s0, sv = given.get("s0", element.s0), given.get("sv", element.sv)
    if s0 is None or sv is None:  # the schema of robot files lets none through
        raise InputError(Problem("the gas of a compensator is not described", allowed="s0, sv or p_ref, V_ref, s_ref"))
    return VentedGas(eps, area, exponent, s0, sv)


@dataclass(frozen=True)
class CompensatorLaw:
    """An element in its triangle: what it does to the joint."""

    lever: Lever
    law: Law

    @staticmethod
    def of(compensator: Compensator, numbers: dict[str, float] | None = None) -> CompensatorLaw:
        """The compensator of a robot file, some of its parameters perhaps at other values.

        >>> pulls = CompensatorLaw.of(Compensator("A2", L=0.2, a=0.7, alpha=1.4, element=Spring(1.8e5, 0.46)))
        >>> torque, stiffness, _ = pulls.torque(np.array([0.0]))
        >>> round(float(torque[0])), round(float(stiffness[0]))
        (9803, 1900)
        """
        return CompensatorLaw(Lever(compensator.L, compensator.a, compensator.alpha), law_of(compensator, numbers))

    def energy(self, q: Floats) -> Floats:
        """U (J) at joint values q (rad)."""
        return self.law.energy(self.lever.at(q).s)

    def torque(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """M_c = dU/dq (N m), K_c = dM_c/dq (N m/rad) and dK_c/dq, each (n,)."""
        at = self.lever.at(q)
        force, rate, curve = self.law.tension(at.s)
        stiffness = rate * at.first**2 + force * at.second
        slope = curve * at.first**3 + 3.0 * rate * at.first * at.second + force * at.third
        return force * at.first, stiffness, slope

    def by_parameter(self, q: Floats) -> tuple[Floats, Floats]:
        """Derivatives (parameters, n) of M_c and of K_c."""
        at = self.lever.at(q)
        force, rate = self.law.by_parameter(at.s)
        return force * at.first, rate * at.first**2 + force * at.second
