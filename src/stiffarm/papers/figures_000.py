"""Plots of the paper on the identifiability of links: its example link, and how many numbers of an arm can be told."""

from __future__ import annotations

import numpy as np

from stiffarm.papers.paper_000 import FITTED_NU, ratios
from stiffarm.papers.ranks_000 import rank
from stiffarm.report.chart import NARROW, Axis, Chart, ColourScale, Heat, Spans
from stiffarm.report.palette import Role
from stiffarm.report.parts import Figure, Table
from stiffarm.robot.arm import Template

AXES = ("x", "y", "z", "rx", "ry", "rz")
COUNTS: tuple[tuple[str, Template, float], ...] = (
    ("complete", "full", 258.0),
    ("symmetric", "symmetric", 153.0),
    ("beams", "beam", 62.0),
)
"""Model, template of its links, number of its parameters."""


def figures() -> tuple[Figure, ...]:
    """The example link's 36 numbers over their deviations; ranks of the arm."""
    return (_link(), _ranks())


def _link() -> Figure:
    ours, printed = ratios(100.0, 25e-6, 0.25e-3), np.array(FITTED_NU)
    scale = ColourScale("log10 of |value| over deviation", -1.0, 3.2)
    panels = tuple(
        Chart(Axis("load", names=AXES), Axis("deflection", names=AXES), (_heat(nu),), title, 300.0, NARROW, True, scale)
        for title, nu in (("computed from eq. 15", ours), ("printed, eq. 17", printed))
    )
    sure = int((ours > 5.0).sum())
    reading = (
        f"{sure} of 36 compliances of the link stand clear of the noise; the other entries of the printed fit are the "
        "noise of one draw."
    )
    rows = tuple((f"k{i + 1}{j + 1}", f"{ours[i, j]:.3g}", f"{printed[i, j]:.3g}") for i in range(6) for j in range(6))
    table = Table("|value| over its deviation", ("entry", "ours, eq. 18", "printed, eq. 17"), rows, frozenset({1, 2}))
    return Figure("link-000", "The example link: what 100 N tell of its 36 numbers", reading, panels, table, wide=True)


def _heat(nu: np.ndarray) -> Heat:
    logs = np.where(nu > 0.0, np.log10(np.maximum(nu, 1e-300)), np.nan)
    return Heat(tuple(tuple(map(float, row)) for row in logs), unit="decades")


def _ranks() -> Figure:
    told = [(name, count, float(rank(template, "any")), float(rank(template, "vertical")))
            for name, template, count in COUNTS]  # fmt: skip
    marks = []
    series: tuple[tuple[str, int, Role], ...] = (
        ("parameters", 1, "nominal"),
        ("any wrench and poses", 2, "model"),
        ("one vertical force, 3 markers", 3, "second"),
    )
    for shift, (words, column, colour) in zip((-0.27, 0.0, 0.27), series, strict=True):
        values = tuple(float(row[column]) for row in told)
        y = tuple(i + shift for i in range(len(told)))
        ends = tuple(f"{value:.0f}" for value in values)
        marks.append(Spans(y, (0.0,) * len(told), values, colour, 0.24, words, words=ends))
    chart = Chart(
        Axis("number", 0.0, 290.0), Axis("", names=tuple(name for name, *_ in told)), tuple(marks), height=230.0
    )
    reading = (
        f"Of the 153 numbers the paper calls independent {told[1][2]:.0f} can be told by any loads whatever: links on "
        "both sides of a joint share seven forms."
    )
    rows = tuple((name, f"{count:.0f}", f"{full:.0f}", f"{down:.0f}") for name, count, full, down in told)
    table = Table("Ranks", ("model", "parameters", "any wrench", "vertical"), rows, frozenset({1, 2, 3}))
    return Figure("ranks-000", "How many numbers an arm with flexible links can tell", reading, (chart,), table)
