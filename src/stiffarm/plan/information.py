"""The information of a stop: what its readings say about the parameters, as white as the instrument allows.

With A the columns of the numbers read at a stop and K = L L' their covariance, the rows L^-1 A have independent errors
of variance 1.  Parameters are measured in typical sizes s (so that the columns of usual stops have length one), and a
plan with r_i repeats of stop i knows them as well as the rows

    [ what is known before ; sqrt(r_1) L_1^-1 A_1 S ; sqrt(r_2) L_2^-1 A_2 S ; ... ]

let it, which is never multiplied out: every criterion works on the triangular factor R of these rows.  The *gain* of
a stop for a symmetric N is d = tr(N A' K^-1 A), the rate at which a criterion with the slope -N improves when the
stop gets weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stiffarm.identifiability.question import Wanted
from stiffarm.model.kernel import jacobian
from stiffarm.plan.columns import ColumnMaker, Columns, makers
from stiffarm.plan.noise import StopNoise
from stiffarm.plan.problem import Floats, Ints, Pull, Reading, Stops

CHUNK_NUMBERS = 4_000_000
"""Most numbers in the largest array of a chunk of stops."""


@dataclass(frozen=True, eq=False)
class Gains:
    """Gains of stops and their gradients."""

    value: Floats
    """(n,)"""
    by_q: Floats
    """(joints, n) 1/rad or 1/m."""
    by_aim: Floats
    """(3, n)"""


@dataclass(frozen=True, eq=False)
class Information:
    """What stops tell about parameters, in typical sizes."""

    asked: Wanted
    names: tuple[str, ...]
    """Parameters that are planned for, a part of those asked for."""
    reading: Reading
    pull: Pull | None
    scale: Floats
    """(parameters,) typical sizes, SI."""
    known: Floats
    """(rows, parameters) white rows of what is known before, typical sizes."""

    @cached_property
    def parts(self) -> list[tuple[Ints, ColumnMaker]]:
        """Makers of the columns, with the parameters that each makes."""
        at = Wanted(self.asked.model, self.names, self.asked.elastic, self.asked.geometric)
        weights = self.reading.kind != "deflection"
        pose = self.reading.kind == "pose"
        return makers(at, self.reading.markers, self.pull, weights=weights, pose=pose)

    @cached_property
    def noise(self) -> StopNoise:
        """Covariance of the numbers of a stop."""
        return StopNoise(self.reading)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return len(self.names)

    def _chunks(self, stops: Stops, derivatives: bool) -> Iterator[Stops]:
        axes = max(len(maker.axes) for _, maker in self.parts)
        each = max(axes, self.size) * self.noise.numbers * (stops.q.shape[0] if derivatives else 1)
        most = max(16, CHUNK_NUMBERS // max(1, each))
        return (stops.take(slice(i, i + most)) for i in range(0, len(stops), most))

    def at(self, stops: Stops) -> Seen:
        """What some stops tell; for at most some thousands at a time."""
        return Seen(self, stops)

    def rows(self, stops: Stops) -> Floats:
        """(n, numbers, parameters) white rows, typical sizes."""
        out, start = np.empty((len(stops), self.noise.numbers, self.size)), 0
        for part in self._chunks(stops, False):
            out[start : start + len(part)] = self.at(part).white
            start += len(part)
        return out

    def gains(self, stops: Stops, n_matrix: Floats) -> Gains:
        """Gains for N (parameters, parameters), with gradients."""
        whole = [self.at(part).gains(n_matrix) for part in self._chunks(stops, True)]
        return Gains(
            np.concatenate([g.value for g in whole]),
            np.concatenate([g.by_q for g in whole], axis=1),
            np.concatenate([g.by_aim for g in whole], axis=1),
        )


class Seen:
    """What some stops tell, worked out once."""

    def __init__(self, information: Information, stops: Stops) -> None:
        self.information, self.stops = information, stops
        self.noise = information.noise
        self.columns: list[tuple[Ints, Columns]] = [(at, maker.at(stops)) for at, maker in information.parts]

    @cached_property
    def points(self) -> tuple[Floats, Floats]:
        """Markers (markers, 3, n) in the world and their motion by the joints (markers, joints, 3, n)."""
        maker = self.information.parts[0][1]
        chain = maker.arm.chain
        found = [jacobian(chain, self.stops.q, point) for point in maker.points]
        moved = [np.einsum("jin,jk->kin", columns, chain.mix) for _, columns in found]
        return np.stack([position for position, _ in found]), np.stack(moved)

    @cached_property
    def factor(self) -> Floats:
        """L^-1, (numbers, numbers) or one a stop."""
        if not self.noise.moves:
            return self.noise.constant_inverse_factor
        return np.asarray(np.linalg.inv(np.linalg.cholesky(self.noise.covariance(self.points[0]))))

    @cached_property
    def white(self) -> Floats:
        """(n, numbers, parameters) white rows, typical sizes."""
        out = np.empty((len(self.stops), self.noise.numbers, self.information.size))
        for at, columns in self.columns:
            out[:, :, at] = columns.columns.transpose(2, 1, 0)
        out *= self.information.scale
        return np.asarray(self.factor @ out)

    def gains(self, n_matrix: Floats) -> Gains:
        """Gains for N (parameters, parameters), or one N a stop (n, parameters, parameters), with gradients."""
        weighted = self.white @ n_matrix
        value = np.einsum("nrp,nrp->n", self.white, weighted)
        back = np.swapaxes(self.factor, -1, -2) @ weighted  # K^-1 A N
        by_columns = (2.0 * self.information.scale) * back
        by_q, by_aim = np.zeros_like(self.stops.q), np.zeros((3, len(self.stops)))
        for at, columns in self.columns:
            part = columns.gradient(np.ascontiguousarray(by_columns[:, :, at].transpose(2, 1, 0)))
            by_q += part[0]
            by_aim += part[1]
        if self.noise.moves:
            points, moved = self.points
            u = np.swapaxes(self.factor, -1, -2) @ self.white
            q = back @ np.swapaxes(u, -1, -2)
            slope = self.noise.slope(points, 0.5 * (q + np.swapaxes(q, -1, -2)))
            by_q -= np.einsum("min,mjin->jn", slope, moved)
        return Gains(value, by_q, by_aim)


def triangle(rows: Floats) -> Floats:
    """(..., p, p) triangular factor R of rows (..., k, p), k >= p or padded with zero rows."""
    k, p = rows.shape[-2:]
    if k < p:
        rows = np.concatenate([rows, np.zeros((*rows.shape[:-2], p - k, p))], axis=-2)
    return np.asarray(np.linalg.qr(rows, mode="r"))
