"""Frames in the words of controllers: the same rotation R, stated by each brand in its own numbers.

    KUKA    A B C       R = Rz(A) Ry(B) Rx(C)              deg   (turned axes z, y', x'')
    ABB     q1 q2 q3 q4 R = the rotation of q1 + q2 i + q3 j + q4 k, scalar first, unit length
    FANUC   W P R       R = Rz(R) Ry(P) Rx(W)              deg   (fixed axes x, y, z): the angles of KUKA backwards
    UR      rx ry rz    R = exp of the vector              rad   (its length is the angle)

and positions in mm, those of UR in m.  Turned axes z, y', x'' and fixed axes x, y, z are the same rotation.  At
B = +-90 deg A and C turn about one line and only their sum or difference is told; whatever A comes out, C is taken
for *that* A from R turned back by A, so that the three together give R to rounding however near the lock is.

Rotation matrices are [row, column, ...]: a batch axis may follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.robot.placement import Rigid, rotation_from_vector

Floats = NDArray[np.float64]


def zyx_from_matrix(r: Floats) -> Floats:
    """(3, ...) rad: angles about z, the turned y, the turned x of rotations (3, 3, ...)."""
    first = np.arctan2(r[1, 0], r[0, 0])
    c, s = np.cos(first), np.sin(first)
    second = np.arctan2(-r[2, 0], c * r[0, 0] + s * r[1, 0])
    third = np.arctan2(s * r[0, 2] - c * r[1, 2], c * r[1, 1] - s * r[0, 1])
    return np.stack([first, second, third])


def matrix_from_zyx(angles: Floats) -> Floats:
    """(3, 3, ...) Rz Ry Rx of angles (3, ...) in rad."""
    (ca, cb, cc), (sa, sb, sc) = np.cos(angles), np.sin(angles)
    return np.stack(
        [
            np.stack([ca * cb, ca * sb * sc - sa * cc, ca * sb * cc + sa * sc]),
            np.stack([sa * cb, sa * sb * sc + ca * cc, sa * sb * cc - ca * sc]),
            np.stack([-sb, cb * sc, cb * cc]),
        ]
    )


def kuka_from_matrix(r: Floats) -> Floats:
    """(3, ...) A, B, C in deg.

    >>> kuka_from_matrix(matrix_from_zyx(np.radians([30.0, 90.0, 0.0]))).round(9).tolist()
    [30.0, 90.0, 0.0]
    """
    return np.asarray(np.degrees(zyx_from_matrix(r)))


def matrix_from_kuka(abc_deg: Floats) -> Floats:
    """(3, 3, ...) of A, B, C in deg."""
    return matrix_from_zyx(np.radians(np.asarray(abc_deg, dtype=float)))


def fanuc_from_matrix(r: Floats) -> Floats:
    """(3, ...) W, P, R in deg."""
    return np.asarray(np.degrees(zyx_from_matrix(r)[::-1]))


def matrix_from_fanuc(wpr_deg: Floats) -> Floats:
    """(3, 3, ...) of W, P, R in deg."""
    return matrix_from_zyx(np.radians(np.asarray(wpr_deg, dtype=float))[::-1])


def quaternion_from_matrix(r: Floats) -> Floats:
    """(4, ...) q1 (scalar, not negative) to q4 of unit length.

    Taken from the largest of the four, which is accurate at every angle.
    """
    batch = np.moveaxis(r.reshape(3, 3, -1), -1, 0)
    trace = np.trace(batch, axis1=1, axis2=2)
    table = np.empty((len(batch), 4, 4))
    table[:, 0, 0] = 1.0 + trace
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        table[:, i + 1, i + 1] = 1.0 - trace + 2.0 * batch[:, i, i]
        table[:, 0, i + 1] = table[:, i + 1, 0] = batch[:, k, j] - batch[:, j, k]
        table[:, i + 1, j + 1] = table[:, j + 1, i + 1] = batch[:, i, j] + batch[:, j, i]
    best = table[np.arange(len(batch)), np.argmax(np.einsum("nii->ni", table), axis=1)]
    best = best / np.linalg.norm(best, axis=1, keepdims=True)
    best = np.where(best[:, :1] < 0.0, -best, best)
    return np.asarray(np.moveaxis(best, 0, -1).reshape(4, *r.shape[2:]))


def matrix_from_quaternion(q: Floats) -> Floats:
    """(3, 3, ...) of quaternions (4, ...), scalar first; their length does not matter unless it is zero."""
    w, x, y, z = np.asarray(q, dtype=float) / np.linalg.norm(q, axis=0)
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]),
        ]
    )


def vector_from_matrix(r: Floats) -> Floats:
    """(3, ...) rad: rotation vectors of length at most pi."""
    scalar, rest = (q := quaternion_from_matrix(r))[0], q[1:]
    sine = np.linalg.norm(rest, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_sine = np.where(sine > 0.0, 2.0 * np.arctan2(sine, scalar) / sine, 2.0)
    return np.asarray(per_sine * rest)


@dataclass(frozen=True)
class Convention:
    """How one brand writes a frame."""

    brand: str
    names: tuple[str, ...]
    """Of its numbers, the position first."""
    units: tuple[str, ...]


CONVENTIONS: Mapping[str, Convention] = {
    one.brand: one
    for one in (
        Convention("kuka", ("X", "Y", "Z", "A", "B", "C"), ("mm",) * 3 + ("deg",) * 3),
        Convention("abb", ("x", "y", "z", "q1", "q2", "q3", "q4"), ("mm",) * 3 + ("1",) * 4),
        Convention("fanuc", ("X", "Y", "Z", "W", "P", "R"), ("mm",) * 3 + ("deg",) * 3),
        Convention("ur", ("x", "y", "z", "rx", "ry", "rz"), ("m",) * 3 + ("rad",) * 3),
    )
}
"""By brand, as it stands under ``controller`` in a robot file."""


def numbers_of(frame: Rigid, brand: str) -> tuple[float, ...]:
    """A frame in the numbers of a brand (`CONVENTIONS`).

    >>> numbers_of(Rigid(rotation_from_vector((0.0, 0.0, np.pi / 2)), np.array([0.1, 0.0, 0.0])), "kuka")[:4]
    (100.0, 0.0, 0.0, 90.0)
    """
    r = frame.rotation
    if brand == "ur":
        return tuple(map(float, (*frame.translation, *vector_from_matrix(r))))
    turn = {"kuka": kuka_from_matrix, "abb": quaternion_from_matrix, "fanuc": fanuc_from_matrix}[brand](r)
    return tuple(float(value) + 0.0 for value in (*(1e3 * frame.translation), *turn))


def frame_of(numbers: tuple[float, ...], brand: str) -> Rigid:
    """The frame that a brand's numbers state."""
    position, turn = np.array(numbers[:3], dtype=float), np.array(numbers[3:], dtype=float)
    if brand == "ur":
        return Rigid(rotation_from_vector(turn), position)
    read = {"kuka": matrix_from_kuka, "abb": matrix_from_quaternion, "fanuc": matrix_from_fanuc}[brand]
    return Rigid(read(turn), 1e-3 * position)
