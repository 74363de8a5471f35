"""What a separation of drive and compensator answers: curves of stiffness, their splits, and what to say of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from stiffarm.model.compensator_scale import TORQUE_SCALE, out_of_scale

Kind = Literal["constant", "spring", "gas", "interpolated"]
Numbers = tuple[float, ...]

TOLD = 5.0
"""Values over standard deviations from which a number counts as known."""


@dataclass(frozen=True)
class Split:
    """A curve as a drive and a compensator."""

    names: tuple[str, ...]
    """``J.compliance``, ``J.compensator.stiffness`` ..., as parameters of the robot."""
    values: Numbers
    """SI."""
    std: Numbers
    at_bound: tuple[str, ...] = ()
    """Those whose unknown stands at the end of what is physical or was searched."""
    torque: tuple[float, float] | None = None
    """Largest torque of the compensator over the joint's limits and its standard deviation, N m."""

    @property
    def told(self) -> bool:
        """Whether every number of it and the torque it gives are known to a fifth."""
        if self.torque is None:
            return True
        numbers = [*zip(self.values, self.std, strict=True), self.torque]
        return not self.at_bound and all(abs(value) >= TOLD * std for value, std in numbers)

    @property
    def out_of_scale(self) -> bool:
        """Whether its torque is beyond what any compensator gives."""
        return self.torque is not None and self.torque[0] > TORQUE_SCALE


@dataclass(frozen=True)
class Candidate:
    """One model of the joint's stiffness."""

    kind: str
    stiffness: Numbers
    """K_2 at the measured angles, N m/rad."""
    std: Numbers
    bic: float
    """chi^2 + unknowns * ln(readings); less is better."""
    held_out: float | None
    """Root mean square miss of an angle left out, in its standard deviations; None with too few angles."""
    split: Split | None

    @property
    def curve_rms(self) -> float:
        """Root mean square of the relative standard deviation of K_2 over the measured angles."""
        return float(np.sqrt(np.mean((np.array(self.std) / np.array(self.stiffness)) ** 2)))


@dataclass(frozen=True)
class Separation:
    """Drive and compensator of one joint, as far as the readings tell."""

    joint: str
    angles: Numbers
    """rad, rising: those of ``J.compliance[1]``, ``[2]`` ..."""
    candidates: tuple[Candidate, ...]
    chosen: str
    """Kind of the preferred candidate."""
    why: str

    @property
    def best(self) -> Candidate:
        """The preferred candidate."""
        return self.candidate(self.chosen)

    def candidate(self, kind: str) -> Candidate:
        """One candidate by its kind."""
        return next(c for c in self.candidates if c.kind == kind)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What to say: the choice, how well the curve and its split are known, and what is out of scale."""
        best = self.best
        said = [f"{self.joint}: {_NAME[best.kind]} is preferred for its stiffness over the angle: {self.why}"]
        known = f"its K(q) as a curve is known to {100 * best.curve_rms:.2g} %"
        split = best.split
        if split is None or split.torque is None:
            said.append(f"{self.joint}: {known}")
            return tuple(said)
        if split.told:
            said.append(f"{self.joint}: {known}, and so is its split into drive and compensator")
        else:
            said.append(
                f"{self.joint}: {known}, its physical split is not: {_untold(split)}; a known pressure, area or free "
                "length as [[prior]] would tell"
            )
        if split.out_of_scale:
            said.append(f"{self.joint}: the compensator {out_of_scale(split.torque[0])}: a curve for K(q), not a part")
        said += [f"{name} stands at its bound {_BOUND}" for name in split.at_bound]
        return tuple(said)


_NAME = {
    "constant": "a constant",
    "spring": "a spring",
    "gas": "a gas",
    "interpolated": "a curve interpolated between the angles",
}
_BOUND = "(the end of what is physical or was searched): the readings do not tell it"


def _untold(split: Split) -> str:
    """The numbers that are not known, with their standard deviations."""
    pairs = zip(split.names, split.values, split.std, strict=True)
    parts = [f"{name} {value:.3g} +- {std:.2g}" for name, value, std in pairs if abs(value) < TOLD * std] + [
        f"{name} at its bound" for name in split.at_bound
    ]
    torque = split.torque
    if torque is not None and torque[0] < TOLD * torque[1]:
        parts.append(f"largest torque {torque[0] / 1e3:.3g} +- {torque[1] / 1e3:.2g} kN m")
    return ", ".join(parts)


def separation_lines(one: Separation) -> list[str]:
    """A table of the candidates and what to say of them, for a terminal."""
    row = "  {:<14}{:>10}{:>12}{:>15}{:>16}"
    lines = ["", f"stiffness of {one.joint} over its angle:"]
    lines.append(row.format("model", "known to", "criterion", "angle left out", "largest torque"))
    for c in one.candidates:
        torque = c.split.torque if c.split is not None else None
        lines.append(
            row.format(
                f"{'>' if c is one.best else ' '} {c.kind}",
                f"{100 * c.curve_rms:.2g} %",
                f"{c.bic:.4g}",
                "-" if c.held_out is None else f"{c.held_out:.2g} std",
                "-" if torque is None else f"{torque[0] / 1e3:.3g} kN m",
            )
        )
    degrees = " ".join(f"{np.degrees(angle):.4g}" for angle in one.angles)
    stiffness = " ".join(f"{value / 1e6:.4g}" for value in one.best.stiffness)
    lines.append(f"  K at {degrees} deg: {stiffness} MN m/rad")
    return lines + [f"  - {sentence}" for sentence in one.sentences]
