"""Finite rotations of many nodes at once, and how their Jacobian changes.

With c_k = 1/k! - x^2/(k+2)! + x^4/(k+4)! - ..., x = |r|, that is sin x / x, (1 - cos x) / x^2, (x - sin x) / x^3,

    Exp(r) = I + c_1 [r] + c_2 [r]^2,        J_l(r) = I + c_2 [r] + c_3 [r]^2,

and, since dc_k = e_k (r . a) along a with e_k = (c_(k-1) - k c_k) / x^2,

    (dJ_l/da) b = c_2 a x b + c_3 (a x (r x b) + r x (a x b)) + (r . a) (e_2 r x b + e_3 r x (r x b)).
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.kernel import cross, dot

Floats = NDArray[np.float64]

SMALL = 0.01
"""x^2 below which the quotients lose digits and the series, cut where it is exact to rounding, is used."""


def exponential(r: Floats, c1: Floats, c2: Floats) -> Floats:
    """Rotation matrices (..., 3 columns, 3, n) of rotation vectors (..., 3, n), rad, and their coefficients."""
    x, y, z = r[..., 0, :], r[..., 1, :], r[..., 2, :]
    xx, yy, zz = c2 * x * x, c2 * y * y, c2 * z * z
    xy, yz, zx = c2 * x * y, c2 * y * z, c2 * z * x
    x, y, z = c1 * x, c1 * y, c1 * z
    columns = (
        (1.0 - yy - zz, xy + z, zx - y),
        (xy - z, 1.0 - zz - xx, yz + x),
        (zx + y, yz - x, 1.0 - xx - yy),
    )
    out = np.empty((*r.shape[:-2], 3, *r.shape[-2:]))
    for column, entries in enumerate(columns):
        for row, entry in enumerate(entries):
            out[..., column, row, :] = entry
    return out


def left_jacobian_transposed(r: Floats, v: Floats, c2: Floats, c3: Floats) -> Floats:
    """J_l(r)^T v for vectors (3, n)."""
    once = cross(r, v)
    return np.asarray(v - c2 * once + c3 * cross(r, once))


def left_jacobian_change(r: Floats, a: Floats, b: Floats) -> Floats:
    """Derivative of J_l(r) b along a, all (..., 3, n) and broadcast."""
    square = dot(r, r)
    _, c2, c3 = coefficients(square)
    e2, e3 = _slopes(square)
    rb, ab = cross(r, b), cross(a, b)
    along = dot(*np.broadcast_arrays(r, a))
    turned = c2 * ab + c3 * (cross(a, rb) + cross(r, ab))
    return np.asarray(turned + along[..., None, :] * (e2 * rb + e3 * cross(r, rb)))


def coefficients(square: Floats) -> tuple[Floats, Floats, Floats]:
    """c_1, c_2, c_3 of x^2 (..., n)."""
    c1, c2, c3 = (_series(square, k) for k in (1, 2, 3))
    large = square > SMALL
    if large.any():
        x2 = square[large]
        x = np.sqrt(x2)
        c1[large], c2[large] = np.sin(x) / x, 2.0 * np.sin(0.5 * x) ** 2 / x2
        c3[large] = (1.0 - c1[large]) / x2
    return c1, c2, c3


def _slopes(square: Floats) -> tuple[Floats, Floats]:
    """e_2, e_3 of x^2."""
    e2, e3 = (-_series(square, k, slope=True) for k in (4, 5))
    large = square > SMALL
    if large.any():
        c1, c2, c3 = (c[large] for c in coefficients(square))
        e2[large], e3[large] = (c1 - 2.0 * c2) / square[large], (c2 - 3.0 * c3) / square[large]
    return e2, e3


def _series(square: Floats, k: int, *, slope: bool = False) -> Floats:
    """c_k by its series; with ``slope`` every term times twice its number, which gives -e_(k-2)."""
    terms = [(-1) ** j / factorial(k + 2 * j) * (2.0 * (j + 1) if slope else 1.0) for j in range(5)]
    total = np.full_like(square, terms[-1])
    for term in reversed(terms[:-1]):
        total *= square
        total += term
    return total
