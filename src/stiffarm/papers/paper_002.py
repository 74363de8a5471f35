"""Gravity compensator: the spring that the five compliances of joint 2 ask for, and what it would be.

A spring between two hinges at distances a and L of joint 2, at the angle alpha - q2, has

    s^2 = a^2 + L^2 + 2 a L cos(alpha - q2),   torque F s',   stiffness K_c = F' s'^2 + F s'',   F = Kc (s - s0)

(primes: derivatives by q2 of s).  So the stiffness 1/k_2j seen at q2j is linear in three unknowns,

    1/k_2j = K_2 + Kc (s'^2 + s s'') - Kc s0 s''

The printed equations stand in `stiffarm.papers.paper_002_formulae`, designs in `stiffarm.papers.paper_002_design`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.curves import Constant, SpringCurve
from stiffarm.identify.separation import Block, fit_curve
from stiffarm.model.aggregated import aggregated
from stiffarm.model.compensator_law import Lever
from stiffarm.papers import paper_002_design, paper_002_formulae
from stiffarm.papers.items import PaperItem
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

PAPER = "002"
L_M, AX_M, AY_M = 0.1847, 0.6859, 0.1233
READINGS = 31 * 3 * 3
Q2_DEG = (-0.01, -25.24, -56.9, -99.85, -140.0)
K2_OLS = (0.297e-6, 0.287e-6, 0.315e-6, 0.302e-6, 0.251e-6)
"""rad/(N m): paper 003, Table 3, ordinary least squares."""


def items() -> tuple[PaperItem, ...]:
    """Equations and counts, designs, the six k_2j of Table 1, the spring of another robot's five."""
    return (*paper_002_formulae.items(), *paper_002_design.items(), *_table_1(), *_kr270())


def table_1() -> Block:
    """The six k_2j with their intervals (two standard deviations), at angles between the limits of joint 2."""
    rows = [paper_002_formulae.TABLE_1[f"k2{j}"] for j in range(1, 7)]
    k, half = np.array([r[0] for r in rows]) * 1e-6, np.array([r[1] for r in rows]) * 1e-6
    joint = paper_002_design.arm().joints[1]
    return Block(joint, np.radians(paper_002_design.Q2_DEG), k, np.diag((0.5 * half) ** 2), READINGS)


def _table_1() -> tuple[PaperItem, ...]:
    block = table_1()
    k = block.compliance
    constant = fit_curve(block, Constant())
    spring = fit_curve(block, SpringCurve(Lever(L_M, math.hypot(AX_M, AY_M), math.atan2(AX_M, AY_M))))
    assert constant is not None, "one angle is enough"
    assert spring is not None, "three angles are enough"
    stiffness = 1.0 / k
    spread = float(np.std(stiffness) / np.mean(stiffness))
    known = float(np.sqrt(np.mean(spring.spread(block.angles) ** 2)))
    unpublished = "the angles and the triangle of the KR 120 are unpublished"
    real = f"a spring that gives 9 kN m changes the stiffness of such a joint by {100.0 * real_change():.2g} %"
    return (
        PaperItem(PAPER, "Table 1: rms deviation of the six 1/k_2j from their mean", None, 100.0 * spread, "%",
                  "not reproducible",
                  f"{unpublished}; against a constant chi^2 is {constant.chi2:.0f} for 5 degrees of freedom; {real}"),
        PaperItem(PAPER, "Table 1: a curve of three unknowns through the six, known to", None, 100.0 * known, "%",
                  "not reproducible",
                  f"{unpublished}; with ours the intervals (two standard deviations) tell K_2(q2) this well, its split "
                  "into K_q2, s0 and s_v not"),
    )  # fmt: skip


def real_change() -> float:
    """Range of the stiffness of joint 2 with the packaged spring over its measured angles, relative."""
    robot = read_robot("kr270")
    both = aggregated(robot.compensators[0], 1e6 / 0.302, np.radians(Q2_DEG)).stiffness
    return float(np.ptp(both) / np.mean(both))


def _kr270() -> tuple[PaperItem, ...]:
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
