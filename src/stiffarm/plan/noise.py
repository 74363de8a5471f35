"""The covariance of the numbers read at one stop, and how it changes with where the points are.

    K = R(p) + s_t^2 C_t C_t' + s_r^2 C_r(p) C_r(p)'

R is block diagonal, one block a marker, as `stiffarm.measure.instruments` has it; C_t and C_r are the shift and the
turn that the readings of a stop share (`stiffarm.measure.covariance`).  Only a tracker's R and C_r depend on the
points p.  With U = K^-1 A, the gain tr(N A' K^-1 A) of a stop falls with K by Q = U N U', so that its gradient by
the points is -d<Q, K>/dp:

    tracker, one marker    f = a^2 tr Q + (r^2 - a^2) u'Qu;   r, a the deviations along and across the beam u
    shared turn            f = s_r^2 <Q, C C'>,  C_m = [e x (p_m - mean p)] for e = x, y, z
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import Instrument, Isotropic, SigmaTable, Spherical, Tracker
from stiffarm.measure.instruments import SPHERICAL_SHARES
from stiffarm.model.kernel import cross
from stiffarm.plan.problem import Floats, Reading


@dataclass(frozen=True, eq=False)
class StopNoise:
    """Covariance of the numbers of a stop: three for every marker, then three of rotation for poses."""

    reading: Reading

    def __post_init__(self) -> None:
        instrument = self.reading.instrument
        if isinstance(instrument, SigmaTable):
            raise InputError(
                Problem(
                    "a plan chooses its configurations, and the instrument's table has deviations of known ones only",
                    found="instrument table",
                    allowed="isotropic, tracker or spherical",
                )
            )
        if isinstance(instrument, Tracker) and self.reading.station_m is None:
            raise InputError(
                Problem(
                    "a tracker's deviations depend on where it stands",
                    column="--station",
                    allowed='the station in the world, such as --station "-4,0,1[m]"',
                )
            )
        if self.reading.kind == "pose" and getattr(instrument, "sigma_rad", None) is None:
            raise InputError(
                Problem(
                    "poses have rotations, whose deviation is not known",
                    column="--sigma-rotation",
                    allowed="an angle such as 0.1mrad",
                )
            )

    @property
    def numbers(self) -> int:
        """How many numbers a stop gives."""
        return 3 * len(self.reading.markers) + (3 if self.reading.kind == "pose" else 0)

    @property
    def factor(self) -> float:
        """2 for a deflection whose deviation is stated of one of its two readings."""
        return 2.0 if self.reading.kind == "deflection" and not self.reading.own_sigma else 1.0

    @property
    def moves(self) -> bool:
        """Whether the covariance depends on where the points are."""
        return isinstance(self.reading.instrument, Tracker) or self.reading.shared.rotation_rad > 0.0

    @cached_property
    def constant(self) -> Floats:
        """(numbers, numbers) what does not depend on the points."""
        out, shared = np.zeros((self.numbers, self.numbers)), self.reading.shared
        count = len(self.reading.markers)
        variances = _variances(self.reading.instrument)
        out[np.arange(3 * count), np.arange(3 * count)] = self.factor * np.tile(variances, count)
        if self.reading.kind == "pose":
            sigma_rad = getattr(self.reading.instrument, "sigma_rad", 0.0)
            out[np.arange(-3, 0), np.arange(-3, 0)] = self.factor * sigma_rad**2
        shift = np.tile(np.eye(3), (count, 1))
        out[: 3 * count, : 3 * count] += shared.translation_m**2 * shift @ shift.T
        return out

    @cached_property
    def constant_inverse_factor(self) -> Floats:
        """L^-1 with L L' = K, of readings whose K is constant."""
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self.constant)))

    def covariance(self, points: Floats) -> Floats:
        """K (n, numbers, numbers) with the markers at points (markers, 3, n) in the world."""
        out = np.repeat(self.constant[None], points.shape[2], axis=0)
        if isinstance(self.reading.instrument, Tracker):
            _, u, along, across = self._beam(points)
            eye = np.eye(3)[:, :, None]
            along, across = along[:, None, None], across[:, None, None]
            block = across**2 * eye[None] + (along**2 - across**2) * u[:, :, None] * u[:, None]
            for k in range(len(points)):
                out[:, 3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += self.factor * np.moveaxis(block[k], -1, 0)
        if self.reading.shared.rotation_rad > 0.0:
            turn = self._turn(points)
            out += self.reading.shared.rotation_rad**2 * turn @ turn.transpose(0, 2, 1)
        return out

    def slope(self, points: Floats, q: Floats) -> Floats:
        """d<Q, K>/dp (markers, 3, n) for symmetric Q (n, numbers, numbers)."""
        out = np.zeros_like(points)
        if isinstance(self.reading.instrument, Tracker):
            instrument, (d, u, along, across) = self.reading.instrument, self._beam(points)
            for k in range(len(points)):
                block = np.moveaxis(q[:, 3 * k : 3 * k + 3, 3 * k : 3 * k + 3], 0, -1)
                pulled = np.einsum("ijn,jn->in", block, u[k])
                seen, trace = np.einsum("in,in->n", pulled, u[k]), np.einsum("iin->n", block)
                radial = 2.0 * across[k] * instrument.angle_rad * (trace - seen) + (
                    2.0 * along[k] * instrument.range_per_m * seen
                )
                turned = 2.0 * (along[k] ** 2 - across[k] ** 2) * (pulled - seen * u[k]) / d[k]
                out[k] += self.factor * (radial * u[k] + turned)
        if self.reading.shared.rotation_rad > 0.0:
            h = 2.0 * self.reading.shared.rotation_rad**2 * q @ self._turn(points)
            count = len(points)
            part = h[:, : 3 * count].reshape(-1, count, 3, 3).transpose(1, 3, 2, 0)  # marker, axis, component, n
            moved = cross(part, np.eye(3)[None, :, :, None]).sum(axis=1)
            out += moved - moved.mean(axis=0)
        return out

    def _beam(self, points: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Length (markers, n), direction (markers, 3, n), deviations along and across."""
        instrument = self.reading.instrument
        assert isinstance(instrument, Tracker), "only a tracker has a beam"
        station = np.array(self.reading.station_m)[None, :, None]
        beam = points - station
        d = np.sqrt((beam**2).sum(axis=1))
        return d, beam / d[:, None], instrument.range_m + instrument.range_per_m * d, instrument.angle_rad * d

    def _turn(self, points: Floats) -> Floats:
        """C_r (n, numbers, 3)."""
        lever = points - points.mean(axis=0)
        count, n = points.shape[0], points.shape[2]
        out = np.zeros((n, self.numbers, 3))
        for a, axis in enumerate(np.eye(3)):
            turned = cross(np.broadcast_to(axis[:, None], (3, 1)), lever)
            out[:, : 3 * count, a] = turned.reshape(3 * count, n).T
            if self.reading.kind == "pose":
                out[:, 3 * count + a, a] = 1.0
        return out


def _variances(instrument: Instrument) -> Floats:
    """(3,) of one reading, without a tracker's."""
    match instrument:
        case Isotropic(sigma_m):
            return np.full(3, sigma_m**2)
        case Spherical(sigma_m):
            return np.asarray(np.array(SPHERICAL_SHARES) * sigma_m**2)
        case _:
            return np.zeros(3)
