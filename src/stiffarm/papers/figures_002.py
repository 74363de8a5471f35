"""Plots for the gravity compensator: stiffness over the angle of joint 2, and the torque each reading of it means."""

from __future__ import annotations

import numpy as np

from stiffarm.papers.paper_002 import K2_OLS, Q2_DEG, fitted_spring, lever
from stiffarm.papers.spring_000 import published_spring
from stiffarm.report.chart import Axis, Chart, Line, Points, Rule
from stiffarm.report.parts import Figure, Table

ANGLES_DEG = np.linspace(-140.0, 0.0, 71)


def figures() -> tuple[Figure, ...]:
    """The five k_2j with the spring fitted to them, and its torque."""
    return (_stiffness(), _torque())


def _curve(stiffness: float, kc: float, s0: float) -> np.ndarray:
    s, first, second = lever(np.radians(ANGLES_DEG))
    return np.asarray(stiffness + kc * (first**2 + (s - s0) * second))


def _stiffness() -> Figure:
    stiffness, kc, s0, relative, *_ = fitted_spring()
    seen = 1.0 / np.array(K2_OLS)
    fitted = _curve(stiffness, kc, s0)
    x = tuple(map(float, ANGLES_DEG))
    level = float((1.0 / seen).sum() / (1.0 / seen**2).sum())  # least relative squares, as the spring is judged
    off = float(np.sqrt(np.mean((level / seen - 1.0) ** 2)))
    marks = (
        Line(x, tuple(1e-6 * fitted), "model", name="spring fitted to them"),
        Points(Q2_DEG, tuple(1e-6 * seen), "nominal", "diamond", "1 / k_2j as printed"),
        Rule(1e-6 * level, words="the best constant"),
    )
    chart = Chart(Axis("q2, deg"), Axis("stiffness about axis 2, MN m/rad"), marks, height=300.0)
    reading = (
        f"A spring with its triangle leaves {100.0 * relative:.1f} % of the five values, a constant "
        f"{100.0 * off:.1f} %: these data do not show that there is a spring."
    )
    rows = tuple((f"{q:.2f}", f"{1e-6 * k:.3f}") for q, k in zip(Q2_DEG, seen, strict=True))
    table = Table("Printed k_2j", ("q2, deg", "1/k, MN m/rad"), rows, frozenset({0, 1}))
    return Figure("stiffness-002", "A compensator's stiffness seen in joint 2", reading, (chart,), table)


def _torque() -> Figure:
    s, first, _ = lever(np.radians(ANGLES_DEG))
    _, kc, s0, *_ = fitted_spring()
    torque = 1e-3 * np.abs(kc * (s - s0) * first)
    force, moment = published_spring()
    x = tuple(map(float, ANGLES_DEG))
    marks = (
        Line(x, tuple(map(float, torque)), "model", name="of the spring fitted to the five"),
        Rule(20.0, words="20 kN m: more than an arm of this size weighs"),
    )
    chart = Chart(Axis("q2, deg"), Axis("torque about axis 2, kN m", 0.0), marks, height=280.0)
    reading = (
        f"Read as a spring, the fit would pull with up to {torque.max():.0f} kN m, the printed pair (k_c, s0) with "
        f"{1e-3 * moment:.0f} kN m and {1e-6 * force:.1f} MN: curves of stiffness, not springs."
    )
    rows = tuple((f"{q:.0f}", f"{m:.1f}") for q, m in zip(x[::10], torque[::10], strict=True))
    table = Table("Torque of the fitted spring", ("q2, deg", "kN m"), rows, frozenset({0, 1}))
    return Figure("torque-002", "What the fitted numbers would mean as a spring", reading, (chart,), table)
