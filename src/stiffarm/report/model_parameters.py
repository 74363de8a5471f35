"""What was found: every parameter with its interval and class, and how the parameters hang together."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.estimate import Estimate, ParameterEstimate
from stiffarm.identify.words import shown_unit
from stiffarm.report.chart import Axis, Chart, ColourScale, Heat, Mark, Points, Rule, Shape, Spans
from stiffarm.report.palette import Role
from stiffarm.report.parts import Figure, Table

Floats = NDArray[np.float64]
ELASTIC = "Compliances"
MOST_ROWS = 60
"""Parameters of one unit drawn; the table has all."""
FAR = 100.0
"""Times the median size beyond which a number is not what an axis is made for; an arrow points to it."""
MOST_PAIRS = 12
"""Pairs that are named."""
MOST_CORRELATED = 60
"""Parameters in the picture of correlations, those that hang together most."""
CLOSE = 0.9
"""Correlations beyond which two numbers are told little apart."""
CLASSES: tuple[tuple[str, str, Role, Shape], ...] = (
    ("identifiable", "at least five times its standard deviation", "model", "circle"),
    ("uncertain", "two to five times its standard deviation", "geometry", "diamond"),
    ("negligible", "less than twice its standard deviation: it might as well be zero", "nominal", "square"),
)


def parameter_figures(estimate: Estimate) -> tuple[Figure, ...]:
    """One figure for each unit and part of the arm: the estimates with their intervals.

    Elastic parameters show their value with the file's value beside it, others their difference from the file's.
    """
    groups: dict[tuple[str, str], list[ParameterEstimate]] = {}
    for p in estimate.parameters:
        if p.std is not None and p.value is not None and p.low is not None and p.high is not None:
            groups.setdefault((p.unit, part_of(p.name)), []).append(p)
    figures = []
    for i, ((unit, part), members) in enumerate(groups.items()):
        figures.append(_forest(f"parameters-{i + 1}", part, members, unit))
    return tuple(figures)


def part_of(name: str) -> str:
    """Where a tool sits is often a guess in the robot file: centimetres, beside tenths of a millimetre of the arm.

    >>> part_of("link2.compliance[x,x]"), part_of("tool.P1.x"), part_of("A2.offset")
    ('Compliances', 'Tool and markers', 'Arm')
    """
    if ".compliance" in name:
        return ELASTIC
    if ".compensator." in name:
        return "Compensators"
    return "Tool and markers" if name.startswith("tool.") else "Arm"


def _forest(slug: str, part: str, everyone: Sequence[ParameterEstimate], unit: str) -> Figure:
    members = everyone[:MOST_ROWS]
    factor, shown = shown_unit(unit)
    absolute = part in (ELASTIC, "Compensators")
    marks: list[Mark] = [] if absolute else [Rule(0.0, "x", "soft", "solid")]
    rows = [_Row(float(i), p, factor, 0.0 if absolute else p.nominal) for i, p in enumerate(members)]
    if absolute:
        files = tuple(factor * row.p.nominal for row in rows)
        at = tuple(row.at for row in rows)
        told = tuple(f"{row.p.name}: robot file {value:.4g} {shown}" for row, value in zip(rows, files, strict=True))
        marks.append(Points(files, at, "soft", "triangle", "robot file", told))
    for kind, _, colour, shape in CLASSES:
        own = [row for row in rows if row.p.kind == kind]
        if own:
            at, texts = tuple(row.at for row in own), tuple(row.words(shown) for row in own)
            marks.append(Spans(at, tuple(r.low for r in own), tuple(r.high for r in own), colour, texts=texts))
            marks.append(Points(tuple(r.value for r in own), at, colour, shape, kind, texts))
    low, high = _ends(rows, [0.0] + ([factor * p.nominal for p in members] if absolute else []))
    title = f"{shown}" if absolute else f"difference from the robot file, {shown}"
    names = Axis("", names=tuple(p.name for p in members), code=True)
    chart = Chart(Axis(title, low, high), names, tuple(marks), height=58.0 + 20.0 * len(members))
    sure = sum(p.kind == "identifiable" for p in everyone)
    reading = f"{sure} of {len(everyone)} are identifiable; a line is the {_level(members)} interval."
    if len(everyone) > len(members):
        reading += f" The first {len(members)} are drawn; the table below has all."
    what = "" if absolute else ": difference from the robot file"
    return Figure(slug, f"{part}, {shown}{what}", reading, (chart,))


class _Row:
    """One line of a forest."""

    def __init__(self, at: float, p: ParameterEstimate, factor: float, zero: float) -> None:
        assert p.value is not None
        assert p.low is not None
        assert p.high is not None
        self.at, self.p = at, p
        self.low, self.value, self.high = (factor * (v - zero) for v in (p.low, p.value, p.high))

    def words(self, unit: str) -> str:
        return f"{self.p.name}: {self.value:.4g} ({self.low:.4g} to {self.high:.4g}) {unit}, {self.p.kind}"


def _ends(rows: Sequence[_Row], marks: Sequence[float]) -> tuple[float, float]:
    """Ends of the axis: what is hardly told, or far beyond all others, must not flatten the rest."""
    told = [row for row in rows if row.p.kind != "negligible"] or rows
    usual = FAR * statistics.median(abs(row.value) for row in told)
    told = [row for row in told if abs(row.value) <= usual] or told
    low, high = min([row.low for row in told] + list(marks)), max([row.high for row in told] + list(marks))
    margin = 0.04 * (high - low or 1.0)
    return low - margin, high + margin


def _level(members: Sequence[ParameterEstimate]) -> str:
    level = next((p.level for p in members if p.level is not None), 0.95)
    return f"{100 * level:.4g} %"


def correlation(estimate: Estimate) -> Floats:
    """(parameters, parameters) correlations of what was fitted; NaN where a deviation is zero."""
    covariance = np.array(estimate.covariance, dtype=float).reshape(len(estimate.covariance_names), -1)
    sigma = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = covariance / np.outer(sigma, sigma)
    return np.where(np.isfinite(found), np.clip(found, -1.0, 1.0), math.nan)


def correlation_figure(estimate: Estimate) -> Figure | None:
    """Which numbers are told only together."""
    names = estimate.covariance_names
    if len(names) < 2:
        return None
    whole = correlation(estimate)
    strength = np.nan_to_num(np.abs(whole - np.diag(np.diag(whole)))).max(axis=0)
    kept = np.sort(np.argsort(-strength, kind="stable")[:MOST_CORRELATED])
    matrix, names = whole[np.ix_(kept, kept)], tuple(names[i] for i in kept)
    rows = tuple(tuple(float(f"{v:.3g}") for v in row) for row in matrix)
    side = min(max(150.0 + 13.0 * len(names), 260.0), 620.0)
    both, colours = Axis("", names=names, code=True), ColourScale("", -1.0, 1.0, signed=True)
    chart = Chart(both, both, (Heat(rows),), height=side, colours=colours)
    upper = np.triu(np.abs(np.nan_to_num(matrix)), 1)
    order = [divmod(int(k), len(names)) for k in np.argsort(-upper, axis=None, kind="stable")[:MOST_PAIRS]]
    close = int((upper > CLOSE).sum())
    i, j = order[0]
    reading = f"The strongest is {matrix[i, j]:+.2f} between {names[i]} and {names[j]}; "
    reading += (
        f"{close} {'pair is' if close == 1 else 'pairs are'} beyond ±{CLOSE:g}."
        if close
        else f"no pair is beyond ±{CLOSE:g}."
    )
    if len(names) < len(whole):
        reading += f" Shown are the {len(names)} of {len(whole)} that hang together most."
    reading += " Strongly correlated numbers are sure only together: use them together."
    pairs = tuple((names[a], names[b], f"{matrix[a, b]:+.3f}") for a, b in order if upper[a, b] > 0.0)
    heads = ("parameter", "and", "correlation")
    table = Table("The strongest correlations", heads, pairs, frozenset({2}), frozenset({0, 1}))
    return Figure("correlation", "Correlation of the parameters", reading, (chart,), table, wide=len(names) > 14)
