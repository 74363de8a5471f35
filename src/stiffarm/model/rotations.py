"""Rotation vectors in batches: (3, n), rad.

    Exp(p) v = v + sin|p|/|p| p x v + (1 - cos|p|)/|p|^2 p x (p x v)

and the left Jacobian J_l(p), for which Exp(p + dp) = Exp(J_l(p) dp) Exp(p) to first order, is the same with the
coefficients (1 - cos|p|)/|p|^2 and (|p| - sin|p|)/|p|^3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.kernel import cross, dot

Floats = NDArray[np.float64]


def rotate(vector: Floats, v: Floats) -> Floats:
    """Exp(vector) applied to v (..., 3, n)."""
    first, second, _ = _coefficients(vector)
    once = cross(vector, v)
    return np.asarray(v + first * once + second * cross(vector, once))


def left_jacobian(vector: Floats, v: Floats) -> Floats:
    """J_l(vector) applied to v (..., 3, n)."""
    _, second, third = _coefficients(vector)
    once = cross(vector, v)
    return np.asarray(v + second * once + third * cross(vector, once))


def inverse_right_jacobian(vector: Floats, v: Floats) -> Floats:
    """J_r(vector)^-1 applied to v (..., 3, n): log(Exp(vector) Exp(v)) = vector + J_r^-1 v to first order.

    J_r^-1 = I + [p]/2 + (1/x^2 - (1 + cos x)/(2 x sin x)) [p]^2 with x = |p|.
    """
    x2 = dot(vector, vector)
    x = np.sqrt(x2)
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = 1.0 / x2 - (1.0 + np.cos(x)) / (2.0 * x * np.sin(x))
    second = np.where(x < 0.05, 1 / 12 + x2 / 720, exact)
    once = cross(vector, v)
    return np.asarray(v + 0.5 * once + second * cross(vector, once))


def _coefficients(vector: Floats) -> tuple[Floats, Floats, Floats]:
    """sin x/x, (1 - cos x)/x^2, (x - sin x)/x^3 for x = |vector|, exact at and near zero."""
    x2 = dot(vector, vector)
    x = np.sqrt(x2)
    first = np.sinc(x / np.pi)
    second = 0.5 * np.sinc(x / (2 * np.pi)) ** 2
    series = 1 / 6 - x2 / 120 + x2**2 / 5040
    with np.errstate(divide="ignore", invalid="ignore"):
        third = np.where(x < 0.05, series, (x - np.sin(x)) / (x2 * x))
    return first, second, third


def matrix_of(vector: Floats) -> Floats:
    """Rotation matrices (3 columns, 3, n) of rotation vectors (3, n)."""
    unit = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, vector.shape[1]))
    return rotate(vector, unit)


def vector_of(rotation: Floats) -> Floats:
    """Rotation vectors (3, n), length at most pi, of matrices (3 columns, 3, n)."""
    r = np.moveaxis(rotation, -1, 0).swapaxes(1, 2)  # (n, row, column)
    # the quaternion from its largest component is accurate at every angle
    trace = np.trace(r, axis1=1, axis2=2)
    four = np.stack([1 + trace, *(1 - trace + 2 * r[:, i, i] for i in range(3))], axis=1)
    best = np.argmax(four, axis=1)
    k = np.zeros((len(r), 4, 4))
    k[:, range(4), range(4)] = four
    for i, j, m in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        k[:, 0, i + 1] = k[:, i + 1, 0] = r[:, m, j] - r[:, j, m]
        k[:, i + 1, j + 1] = k[:, j + 1, i + 1] = r[:, i, j] + r[:, j, i]
    quaternion = k[np.arange(len(r)), best]
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    quaternion *= np.where(quaternion[:, :1] < 0, -1.0, 1.0)
    sine = np.linalg.norm(quaternion[:, 1:], axis=1)
    angle = 2 * np.arctan2(sine, quaternion[:, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(sine < 1e-12, 2.0, angle / sine)
    return np.asarray((quaternion[:, 1:] * scale[:, None]).T)
