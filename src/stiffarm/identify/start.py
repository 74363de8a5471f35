"""First values of what no user can guess: where the tracker stands, where the markers sit, how the tool is turned.

With nominal geometry, reading i of a setup says (p, R: flange placement; m: marker, T: tool rotation)

    position   r_i = S (p_i + R_i m) + t
    rotation   Q_i = S R_i T

Rotations, when they are read, give S and T at once: Q_i X = S R_i with X = T^T is linear in the 18 entries of X and
S, whose common null vector is the smallest singular one.  Positions alone give S by the best rotation between two
clouds of points (Kabsch), alternating with the linear problem for (t, m) given S.  Either way (t, m) are linear then.
What comes out is good to a few millimetres and milliradians; the least squares that follow do the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Readings of one or more setups with the nominal placement of the body that carries the marker."""

    body_position: Floats
    """(3, rows) origin of the marker's frame in the world, m."""
    body_rotation: Floats
    """(3 columns, 3, rows) axes of the marker's frame in the world."""
    read: Floats
    """(3, rows) m, setup frame."""
    setup: Ints
    marker: Ints
    """Which marker; -1 when its place is known (and part of ``body_position``)."""
    read_rotation: Floats | None = None
    """(3 columns, 3, rows) of the tool in the setup, NaN where not read."""
    tool_rotation: Floats | None = None
    """(3 columns, 3, rows) of the nominal tool in the world."""


@dataclass(frozen=True, eq=False)
class Start:
    """Setup frames by index, marker places (m, in their frames) by index, tool rotation correction (3, 3)."""

    frames: dict[int, Rigid]
    markers: dict[int, Floats]
    tool: Floats | None
    rms_m: float


def best_rotation(source: Floats, target: Floats) -> Floats:
    """Rotation S minimising |target - mean - S (source - mean)| (Kabsch); clouds are (3, n)."""
    a = source - source.mean(axis=1, keepdims=True)
    b = target - target.mean(axis=1, keepdims=True)
    u, _, vt = np.linalg.svd(b @ a.T)
    return np.asarray(u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt)


def hand_eye(tool_rotation: Floats, read_rotation: Floats) -> tuple[Floats, Floats]:
    """S and T of Q_i = S R_i T from (3 columns, 3, n) rotations; exact for exact data, least squares otherwise."""
    r = np.moveaxis(tool_rotation, -1, 0).swapaxes(1, 2)
    q = np.moveaxis(read_rotation, -1, 0).swapaxes(1, 2)
    unit = np.eye(3)
    # vec is row-major: vec(Q X) = (Q kron I) vec X, vec(S R) = (I kron R^T) vec S
    left = np.einsum("nij,kl->nikjl", q, unit).reshape(-1, 9, 9)
    right = np.einsum("ij,nlk->nikjl", unit, r).reshape(-1, 9, 9)
    rows = np.concatenate([left, -right], axis=2).reshape(-1, 18)
    vector = np.linalg.svd(np.linalg.qr(rows, mode="r"))[2][-1]
    x, s = vector[:9].reshape(3, 3), vector[9:].reshape(3, 3)
    sign = 1.0 if np.linalg.det(s) > 0 else -1.0
    return _nearest_rotation(sign * s), _nearest_rotation(sign * x).T


def _nearest_rotation(matrix: Floats) -> Floats:
    u, _, vt = np.linalg.svd(matrix)
    return np.asarray(u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt)


def find_start(cloud: Cloud, *, rounds: int = 30) -> Start:
    """Frames of the setups and places of the markers from nominal geometry."""
    setups = np.unique(cloud.setup)
    markers = [int(m) for m in np.unique(cloud.marker) if m >= 0]
    of_setup = {int(s): np.flatnonzero(cloud.setup == s) for s in setups}
    of_marker = [np.flatnonzero(cloud.marker == m) for m in markers]
    rotations, tool = _rotations_from_readings(cloud, setups)
    known = dict(rotations)
    linear = _Linear.of(cloud, list(of_setup.values()), of_marker)
    world, rms = cloud.body_position, np.inf
    for _ in range(rounds):
        for setup, rows in of_setup.items():
            if setup not in rotations:
                known[setup] = best_rotation(world[:, rows], cloud.read[:, rows])
        shifts, places, error = linear.solve(cloud, [known[s] for s in of_setup])
        settled = error > rms * (1.0 - 1e-3) or len(rotations) == len(setups)
        rms = error
        if settled:
            break
        world = cloud.body_position.copy()
        for rows, place in zip(of_marker, places, strict=True):
            world[:, rows] += np.tensordot(place, cloud.body_rotation[:, :, rows], 1)
    frames = {s: Rigid(known[s], shift) for s, shift in zip(of_setup, shifts, strict=True)}
    return Start(frames, dict(zip(markers, places, strict=True)), tool, rms)


def _rotations_from_readings(cloud: Cloud, setups: Ints) -> tuple[dict[int, Floats], Floats | None]:
    """S of the setups in which at least three orientations were read, and the tool's T from the largest of them."""
    if cloud.read_rotation is None or cloud.tool_rotation is None:
        return {}, None
    have = np.isfinite(cloud.read_rotation).all(axis=(0, 1))
    counts = {int(s): int((have & (cloud.setup == s)).sum()) for s in setups}
    usable = [s for s, count in counts.items() if count >= 3]
    found, tool = {}, None
    for s in sorted(usable, key=lambda s: -counts[s]):
        rows = np.flatnonzero(have & (cloud.setup == s))
        rows = rows[:: max(1, len(rows) // 500)]
        found[s], turned = hand_eye(cloud.tool_rotation[:, :, rows], cloud.read_rotation[:, :, rows])
        tool = turned if tool is None else tool
    return found, tool


@dataclass(frozen=True, eq=False)
class _Linear:
    """Shifts t of the setups and places m of the markers by linear least squares, given the rotations S.

    Seen in the world, S^T r - p = S^T t + R m: the left side of the unknowns S^T t and m is the same whatever S is,
    so that its pseudo-inverse is taken once.
    """

    matrix: Floats
    """(3 rows, 3 (setups + markers))"""
    inverse: Floats
    of_setup: list[Ints]
    """Rows of each setup."""

    @staticmethod
    def of(cloud: Cloud, of_setup: list[Ints], of_marker: list[Ints]) -> _Linear:
        """From the rows of each setup and of each marker."""
        matrix = np.zeros((cloud.read.shape[1], 3, len(of_setup) + len(of_marker), 3))
        for i, rows in enumerate(of_setup):
            matrix[rows, :, i] = np.eye(3)
        for i, rows in enumerate(of_marker, start=len(of_setup)):
            matrix[rows, :, i] = cloud.body_rotation[:, :, rows].transpose(2, 1, 0)
        flat = matrix.reshape(3 * cloud.read.shape[1], -1)
        return _Linear(flat, np.asarray(np.linalg.pinv(flat, rcond=1e-9), dtype=float), of_setup)

    def solve(self, cloud: Cloud, rotations: list[Floats]) -> tuple[Floats, Floats, float]:
        """Shifts (setups, 3), places (markers, 3) and the root mean square distance that is left, m."""
        right = -cloud.body_position.T
        for rows, rotation in zip(self.of_setup, rotations, strict=True):
            right[rows] += cloud.read[:, rows].T @ rotation
        flat = right.reshape(-1)
        found = self.inverse @ flat
        rest = flat - self.matrix @ found
        seen, places = np.split(found.reshape(-1, 3), [len(rotations)])
        shifts = np.array([rotation @ shift for rotation, shift in zip(rotations, seen, strict=True)]).reshape(-1, 3)
        return shifts, places, float(np.sqrt(rest @ rest / len(right)))
