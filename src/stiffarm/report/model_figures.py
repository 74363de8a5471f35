"""The pictures of a model: errors on unseen readings, parameters, what the fit left, where it was learned."""

from __future__ import annotations

import math
from collections.abc import Sequence

from stiffarm.identify.estimate import Domain, Estimate, Holdout, ParameterEstimate, Remains
from stiffarm.identify.remains import SHARES
from stiffarm.identify.words import shown_unit
from stiffarm.report.svg import SHAPES, WIDTH, Axis, Figure
from stiffarm.robot.arm import Robot

MILLI = 1e3
ELASTIC = "Compliances"
CURVES = (("nominal", "nominal robot"), ("geometry", "geometry alone"), ("model", "this model"))
MOST_ROWS = 60
"""Parameters of one unit drawn; the table has all."""
WIDE = 20.0
"""Ratio of numbers beyond which an axis is logarithmic."""


def errors_figure(holdout: Holdout) -> str | None:
    """Share of the unseen readings that are off by less than so much."""
    curves = [(key, words, holdout.quantiles[key]) for key, words in CURVES if key in holdout.quantiles]
    if not curves:
        return None
    largest = MILLI * max(values[-1] for _, _, values in curves)
    least = MILLI * min(values[1] for _, _, values in curves)
    log = largest > WIDE * least
    low = max(least, 1e-4 * largest, 1e-9) if log else 0.0
    x = Axis(low, largest, 56, WIDTH - 16, log)
    y = Axis(0.0, 100.0, 236, 40)
    figure = Figure(310, "Errors on readings that were not fitted")
    figure.frame(x, y, "3-D error, mm", "% of readings below")
    for i, (key, words, values) in enumerate(curves):
        points = [(x(MILLI * v), y(100.0 * s)) for v, s in zip(values, SHARES, strict=True)]
        figure.curve(points, f"curve {key}", f"{words}: half of the readings under {MILLI * values[10]:.3g} mm")
        left = 56 + i * 145
        figure.line(left, 298, left + 24, 298, f"curve {key}")
        figure.text(left + 30, 302, words, "legend")
    return figure.svg()


def remains_figure(remains: Remains, suspects: frozenset[str]) -> str | None:
    """Residual of every marker in every configuration, in the order of the campaign."""
    if not remains.rms_m:
        return None
    order = {name: i for i, name in enumerate(dict.fromkeys(remains.experiment))}
    markers = list(dict.fromkeys(remains.marker))
    largest = MILLI * max(remains.rms_m)
    y = Axis(0.0, largest * 1.05 or 1.0, 236, 40)
    x = Axis(0.0, max(len(order) - 1, 1), 62, WIDTH - 14)
    figure = Figure(310 if len(markers) > 1 else 282, "What the fit leaves in every configuration")
    figure.frame(x, y, f"configuration, 1 to {len(order)} in the order of the campaign", "residual, mm", x_ticks=False)
    rows = zip(remains.experiment, remains.setup, remains.marker, remains.rms_m, strict=True)
    for experiment, setup, marker, rms in rows:
        i = markers.index(marker)
        kind = f"dot series{i % len(SHAPES)}" + (" suspect" if experiment in suspects else "")
        title = f"{experiment}, {marker}, setup {setup}: {MILLI * rms:.3g} mm"
        figure.dot(x(order[experiment]), y(MILLI * rms), SHAPES[i % len(SHAPES)], kind, title)
    if len(markers) > 1:
        for i, marker in enumerate(markers[:6]):
            left = 62 + i * 68
            figure.dot(left, 298, SHAPES[i % len(SHAPES)], f"dot series{i % len(SHAPES)}", marker)
            figure.text(left + 8, 302, marker[:7], "legend")
    return figure.svg()


def parameter_figures(parameters: Sequence[ParameterEstimate]) -> list[tuple[str, str]]:
    """One picture for each unit and part of the arm: (words, picture) of the estimates with their intervals.

    Elastic parameters show their value with the file's value beside it, others their difference from the file's.
    """
    groups: dict[tuple[str, str], list[ParameterEstimate]] = {}
    for p in parameters:
        if p.std is not None and p.value is not None and p.low is not None and p.high is not None:
            groups.setdefault((p.unit, _part_of(p.name)), []).append(p)
    found = []
    for (unit, part), members in groups.items():
        elastic = part == ELASTIC
        words = f"{part}, {shown_unit(unit)[1]}" + ("" if elastic else ": difference from the robot file")
        more = f" (the first {MOST_ROWS} of {len(members)})" if len(members) > MOST_ROWS else ""
        found.append((words + more, _forest(members[:MOST_ROWS], unit, elastic=elastic)))
    return found


def _part_of(name: str) -> str:
    """Where a tool sits is often a guess in the robot file: centimetres, beside tenths of a millimetre of the arm."""
    if ".compliance" in name:
        return ELASTIC
    return "Tool and markers" if name.startswith("tool.") else "Arm"


def _forest(members: Sequence[ParameterEstimate], unit: str, *, elastic: bool) -> str:
    factor, shown = shown_unit(unit)
    rows = []
    for p in members:
        assert p.value is not None
        assert p.low is not None
        assert p.high is not None
        shift = 0.0 if elastic else p.nominal
        rows.append((p, factor * (p.low - shift), factor * (p.value - shift), factor * (p.high - shift)))
    marks = [factor * p.nominal for p in members] if elastic else [0.0]
    told = [r for r in rows if r[0].kind != "negligible"] or rows  # what is hardly told must not flatten the rest
    low, high = min([r[1] for r in told] + marks + [0.0]), max([r[3] for r in told] + marks + [0.0])
    margin = 0.04 * (high - low or 1.0)
    left = 24.0 + 7.2 * max(len(p.name) for p in members)
    x = Axis(low - margin, high + margin, min(left, 210.0), WIDTH - 14)
    height = 20.0 * len(rows)
    figure = Figure(height + 52, f"Parameters in {shown}")
    for value in x.ticks():
        figure.line(x(value), 6, x(value), height + 8, "grid")
        figure.text(x(value), height + 24, f"{value:.4g}", "tick", "middle")
    figure.text((x.begin + x.end) / 2, height + 42, shown, "axis", "middle")
    figure.line(x(0.0), 6, x(0.0), height + 8, "zero")
    for i, (p, below, value, above) in enumerate(rows):
        y = 18.0 + 20.0 * i
        title = f"{p.name}: {value:.4g} ({below:.4g} to {above:.4g}) {shown}, {p.kind}"
        figure.text(x.begin - 8, y + 4, p.name, "name", "end")
        begin, end = (min(max(x(v), x.begin), x.end) for v in (below, above))
        figure.line(begin, y, end, y, f"interval {p.kind}", title)
        if elastic:
            figure.line(x(factor * p.nominal), y - 6, x(factor * p.nominal), y + 6, "nominaltick", "robot file")
        if x.low <= value <= x.high:
            figure.dot(x(value), y, "circle", f"dot {p.kind}", title)
        if above > x.high or below < x.low:
            figure.text(x.end if above > x.high else x.begin, y + 4, "»" if above > x.high else "«", "tick", "middle")
    return figure.svg()


def domain_figure(domain: Domain, robot: Robot) -> str | None:
    """Learned range of every joint inside its limits."""
    joints = [joint for joint in robot.joints if joint.name in domain.joints]
    if not joints:
        return None
    figure = Figure(26.0 * len(joints) + 8, "Joint ranges the model was learned in")
    for i, joint in enumerate(joints):
        low, high = domain.joints[joint.name]
        turn, unit = (180.0 / math.pi, "deg") if joint.kind == "revolute" else (MILLI, "mm")
        begin, end = joint.limits or (low, high)
        x = Axis(min(begin, low), max(end, high) if max(end, high) > min(begin, low) else low + 1.0, 56, 300)
        y = 8.0 + 26.0 * i
        limits = f"{joint.name}: limits {begin * turn:.4g} to {end * turn:.4g} {unit}"
        figure.text(48, y + 12, joint.name, "name", "end")
        figure.box(x(begin), y, x(end) - x(begin), 16, "limits", limits)
        figure.box(x(low), y + 3, x(high) - x(low), 10, "learned", f"learned {low * turn:.4g} to {high * turn:.4g}")
        figure.text(310, y + 12, f"{low * turn:.4g} to {high * turn:.4g} {unit}", "legend")
    return figure.svg()


def suspects_of(estimate: Estimate) -> frozenset[str]:
    """Experiments that are listed as not fitting the rest."""
    return frozenset(o.experiment for o in estimate.outliers if o.experiment)
