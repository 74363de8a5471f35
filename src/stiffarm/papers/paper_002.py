"""Gravity compensator: the spring that the five compliances of joint 2 ask for, and what it would be.

A spring between two hinges at distances a and L of joint 2, at the angle alpha - q2, has

    s^2 = a^2 + L^2 + 2 a L cos(alpha - q2),   torque F s',   stiffness K_c = F' s'^2 + F s'',   F = Kc (s - s0)

(primes: derivatives by q2 of s).  So the stiffness 1/k_2j seen at q2j is linear in three unknowns,

    1/k_2j = K_2 + Kc (s'^2 + s s'') - Kc s0 s''
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stiffarm.papers.items import PaperItem

Floats = NDArray[np.float64]

PAPER = "002"
L_M, AX_M, AY_M = 0.1847, 0.6859, 0.1233
Q2_DEG = (-0.01, -25.24, -56.9, -99.85, -140.0)
K2_OLS = (0.297e-6, 0.287e-6, 0.315e-6, 0.302e-6, 0.251e-6)
"""rad/(N m): paper 003, Table 3, ordinary least squares."""


def items() -> tuple[PaperItem, ...]:
    """The fit of the spring, and what is wrong with it."""
    stiffness, kc, s0, relative_rms, force, torque = fitted_spring()
    data = "the published pair comes from data that are not printed; the five k_2j of paper 003 (ordinary least " \
           "squares), fitted without weights, give ours"  # fmt: skip
    not_spring = "a curve for K_2(q2), not a part: no arm holds a torque some forty times that of its weight"
    constant = 1.0 / np.array(K2_OLS)
    flat = math.sqrt(float(np.mean((float(constant.mean()) / constant - 1.0) ** 2)))
    return (
        PaperItem(PAPER, "KR-270: compliance k_c of the spring", 0.144, 1e6 / kc, "1e-6 m/N", "not reproducible", data),
        PaperItem(PAPER, "KR-270: free length s0", 458.0, 1e3 * s0, "mm", "not reproducible", data),
        PaperItem(PAPER, "KR-270: joint compliance k_2", 0.302, 1e6 / stiffness, "1e-6 rad/(N m)", "not reproducible",
                  data),
        PaperItem(PAPER, "KR-270: deviation of the fit from its data (rms)", None, 100.0 * relative_rms, "%",
                  "not reproducible",
                  f"a constant K_2 does as well ({100.0 * flat:.2g} %), so these data show no spring"),
        PaperItem(PAPER, "KR-270: largest force in the fitted spring", None, 1e-6 * force, "MN", "wrong", not_spring),
        PaperItem(PAPER, "KR-270: largest torque of the fitted spring", None, 1e-3 * torque, "kN m", "wrong",
                  not_spring),
    )  # fmt: skip


def lever(q2: Floats) -> tuple[Floats, Floats, Floats]:
    """Length s (m) of the spring and its first two derivatives by q2 (rad)."""
    a, beta = math.hypot(AX_M, AY_M), math.atan2(AX_M, AY_M) - q2
    s = np.sqrt(a**2 + L_M**2 + 2.0 * a * L_M * np.cos(beta))
    first = a * L_M * np.sin(beta) / s
    second = -(a * L_M / s) * (np.cos(beta) + a * L_M * np.sin(beta) ** 2 / s**2)
    return s, first, second


def fitted_spring() -> tuple[float, float, float, float, float, float]:
    """K_2 (N m/rad), Kc (N/m), s0 (m), relative rms of the fit, largest |force| (N) and |torque| (N m)."""
    s, first, second = lever(np.radians(Q2_DEG))
    columns = np.stack([np.ones(len(s)), first**2 + s * second, -second], axis=1)
    seen = 1.0 / np.array(K2_OLS)
    scale = np.linalg.norm(columns, axis=0)
    stiffness, kc, product = (np.linalg.lstsq(columns / scale, seen, rcond=None)[0] / scale).tolist()
    deviation = columns @ np.array([stiffness, kc, product]) / seen - 1.0
    force = kc * s - product
    relative = math.sqrt(float(np.mean(deviation**2)))
    return stiffness, kc, product / kc, relative, float(np.abs(force).max()), float(np.abs(force * first).max())
