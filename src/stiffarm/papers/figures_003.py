"""Plots for weighting: its Fig. 3, the claimed interval of k21 over the iterations, beside the error that is made.

Readings of the published configurations are drawn with the deviations of Table 1; the truth is zero, so that what is
found is the error.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import StiffarmWarning
from stiffarm.identify.linear import ols
from stiffarm.identify.problem import LinearProblem
from stiffarm.identify.weights import cells, per_equation
from stiffarm.papers.paper_003 import SIGMA_UM, observation, true_gain
from stiffarm.papers.weights_003 import SIGMA0_UM, layout
from stiffarm.report.chart import Axis, Chart, ColourScale, Heat, Line, Rule, Spans
from stiffarm.report.parts import Figure, Table

Floats = NDArray[np.float64]
ITERATIONS, DRAWS, SEED = 12, 40, 5
NAMES = ("k21", "k22", "k23", "k24", "k25", "k3", "k4", "k5", "k6")
CLAIMED = (40.5, 33.2, 33.9, 33.1, 30.1, 28.8, 35.1, 42.0, 27.2)
"""Table 4."""


def figures() -> tuple[Figure, ...]:
    """Noise by cell, Fig. 3, Table 4."""
    seen = observation()
    problem, sigma = layout(seen.columns, seen.points)
    course = _course(problem, sigma)
    return (_noise(), _fig3(course), _table4(true_gain(seen.columns)))


@dataclass(frozen=True, eq=False)
class Course:
    """Of k21 over the iterations, in deviations of least squares."""

    claimed: Floats
    """(iterations,) median of what the printed scheme states."""
    error: Floats
    """(iterations,) root mean square of the error it makes."""
    cells_error: float
    """The same with weights by cell."""


def _course(problem: LinearProblem, sigma: Floats) -> Course:
    rng = np.random.default_rng(SEED)
    claimed, errors = np.zeros((DRAWS, ITERATIONS)), np.zeros((DRAWS, ITERATIONS))
    plain, cell = np.zeros(DRAWS), np.zeros(DRAWS)
    for draw in range(DRAWS):
        data = replace(problem, y=sigma * rng.standard_normal(problem.rows))
        plain[draw], cell[draw] = ols(data).values[0], cells(data, iterations=2).values[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StiffarmWarning)  # that its intervals are false is the figure shown
            found = [per_equation(data, sigma0=SIGMA0_UM, iterations=i + 1) for i in range(ITERATIONS)]
        claimed[draw], errors[draw] = [one.sigma[0] for one in found], [one.values[0] for one in found]
    scale = float(np.sqrt(np.mean(plain**2)))
    return Course(
        np.median(claimed, axis=0) / scale,
        np.sqrt(np.mean(errors**2, axis=0)) / scale,
        float(np.sqrt(np.mean(cell**2))) / scale,
    )


def _noise() -> Figure:
    rows = tuple(tuple(map(float, row)) for row in SIGMA_UM.T)
    names = tuple(str(i + 1) for i in range(SIGMA_UM.shape[0]))
    scale = ColourScale("standard deviation, um", 0.0, float(SIGMA_UM.max()))
    chart = Chart(
        Axis("configuration", names=names), Axis("axis", names=("x", "y", "z")), (Heat(rows, unit="um"),),
        height=170.0, colours=scale,
    )  # fmt: skip
    reading = (
        f"The scatter stated by configuration and axis runs from {SIGMA_UM.min():.0f} to {SIGMA_UM.max():.0f} um: no "
        "weights can gain more than 4.56 from that."
    )
    table = Table(
        "Table 1, um", ("configuration", "x", "y", "z"),
        tuple((n, *(f"{v:.0f}" for v in row)) for n, row in zip(names, SIGMA_UM, strict=True)),
        frozenset({1, 2, 3}),
    )  # fmt: skip
    return Figure("noise-003", "Table 1: scatter by configuration and axis", reading, (chart,), table)


def _fig3(course: Course) -> Figure:
    x = tuple(float(i + 1) for i in range(ITERATIONS))
    marks = (
        Line(x, tuple(map(float, course.error)), "model", name="error that is made"),
        Line(x, tuple(map(float, course.claimed)), "no", "dash", "deviation that is claimed"),
        Rule(course.cells_error, words="error with weights by cell"),
    )
    chart = Chart(
        Axis("iteration", 1.0, float(ITERATIONS)), Axis("of k21, in deviations of least squares", log=True), marks,
        height=300.0,
    )  # fmt: skip
    reading = (
        f"After {ITERATIONS} iterations the printed scheme claims {1.0 / course.claimed[-1]:.0f} times the precision "
        f"of least squares; its error is {course.error[-1]:.2f} times as large as theirs."
    )
    rows = tuple((f"{i:.0f}", f"{c:.4f}", f"{e:.3f}") for i, c, e in zip(x, course.claimed, course.error, strict=True))
    table = Table("k21, in deviations of least squares", ("iteration", "claimed", "made"), rows, frozenset({0, 1, 2}))
    return Figure("fig3-003", "Fig. 3: the interval of k21 over the iterations", reading, (chart,), table)


def _table4(gain: Floats) -> Figure:
    y = np.arange(len(NAMES))
    marks = (
        Spans(tuple(y - 0.18), (0.0,) * len(NAMES), CLAIMED, "nominal", 0.32, "claimed, Table 4"),
        Spans(tuple(y + 0.18), (0.0,) * len(NAMES), tuple(map(float, gain)), "model", 0.32, "true",
              words=tuple(f"{v:.2f}" for v in gain)),
        Rule(4.56, "x", words="bound for any design"),
    )  # fmt: skip
    chart = Chart(Axis("gain over least squares", 0.0, 46.0), Axis("", names=NAMES), marks, height=360.0)
    reading = (
        f"Gains of 27 to 42 are claimed; with the stated scatter the best weights gain {gain.min():.2f} to "
        f"{gain.max():.2f}, and 4.56 is the most for any design."
    )
    rows = tuple((n, f"{c}", f"{g:.2f}") for n, c, g in zip(NAMES, CLAIMED, gain, strict=True))
    table = Table("Gain over least squares", ("", "claimed", "true"), rows, frozenset({1, 2}))
    return Figure("table4-003", "Table 4: what weights gain", reading, (chart,), table)
