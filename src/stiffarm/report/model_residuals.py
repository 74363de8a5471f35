"""What the fit leaves, so that what it missed shows as a pattern, and where the model was learned."""

from __future__ import annotations

import math

from stiffarm.identify.estimate import Domain, Estimate, Remains
from stiffarm.report.chart import SHAPES, Axis, Chart, Mark, Points, Spans
from stiffarm.report.palette import SERIES
from stiffarm.report.parts import Figure, Table
from stiffarm.robot.arm import Robot

MILLI = 1e3
MOST_SHOWN = 40
"""Rows of a figure's table."""


def size_figure(remains: Remains, suspects: frozenset[str]) -> Figure | None:
    """Residual of every marker in every configuration, in the order of the campaign."""
    if not remains.rms_m:
        return None
    order = {name: i for i, name in enumerate(dict.fromkeys(remains.experiment))}
    markers = list(dict.fromkeys(remains.marker))
    rows = list(zip(remains.experiment, remains.setup, remains.marker, remains.rms_m, strict=True))
    marks: list[Mark] = []
    for k, marker in enumerate(markers):
        own = [row for row in rows if row[2] == marker]
        marks.append(
            Points(
                tuple(1.0 + order[experiment] for experiment, *_ in own), tuple(MILLI * rms for *_, rms in own),
                SERIES[k % len(SERIES)], SHAPES[k % len(SHAPES)], marker if 1 < len(markers) <= 8 else "",
                tuple(f"{e}, {m}, setup {s}: {MILLI * rms:.3g} mm" for e, s, m, rms in own),
                ringed=tuple(e in suspects for e, *_ in own),
            )
        )  # fmt: skip
    y = Axis("3-D residual, mm", 0.0, 1.05 * MILLI * max(remains.rms_m) or 1.0)
    chart = Chart(Axis("configuration, in the order of the campaign"), y, tuple(marks))
    worst = sorted(rows, key=lambda row: -row[3])
    reading = f"The largest is {MILLI * worst[0][3]:.3g} mm, of {worst[0][2]} in {worst[0][0]}."
    if remains.of > len(rows):
        reading += f" {len(rows)} of {remains.of} are drawn, the largest among them."
    if suspects:
        reading += " Ringed ones do not fit the rest and are listed below."
    shown = tuple((e, m, s, f"{MILLI * rms:.4g}") for e, s, m, rms in worst[:MOST_SHOWN])
    table = Table(
        "The largest residuals", ("experiment", "marker", "setup", "mm"), shown, frozenset({3}), frozenset({0})
    )
    return Figure("residuals", "Residual of every marker in every configuration", reading, (chart,), table)


def domain_figure(domain: Domain, robot: Robot) -> Figure | None:
    """Learned range of every joint inside its limits, as shares of the limits."""
    joints = [joint for joint in robot.joints if joint.name in domain.joints]
    if not joints:
        return None
    rows, limits, learned = [], [], []
    for joint in joints:
        low, high = domain.joints[joint.name]
        turn, unit = (180.0 / math.pi, "deg") if joint.kind == "revolute" else (MILLI, "mm")
        begin, end = joint.limits or (low, high)
        begin, end = min(begin, low), max(end, high)
        long = (end - begin) or 1.0
        limits.append(f"{joint.name}: limits {begin * turn:.4g} to {end * turn:.4g} {unit}")
        learned.append((100.0 * (low - begin) / long, 100.0 * (high - begin) / long))
        rows.append((joint.name, *(f"{v * turn:.4g}" for v in (low, high, begin, end)), unit))
    at = tuple(map(float, range(len(joints))))
    texts = tuple(f"{r[0]}: learned {r[1]} to {r[2]} {r[5]}" for r in rows)
    marks = (
        Spans(at, (0.0,) * len(at), (100.0,) * len(at), "line", 0.72, "limits", tuple(limits)),
        Spans(at, tuple(a for a, _ in learned), tuple(b for _, b in learned), "model", 0.44, "learned", texts),
    )
    y = Axis("", names=tuple(joint.name for joint in joints), code=True)
    chart = Chart(Axis("% of the joint's range", 0.0, 100.0), y, marks, height=58.0 + 26.0 * len(joints))
    narrow = min(zip(learned, joints, strict=True), key=lambda one: one[0][1] - one[0][0])
    reading = f"Least is known of {narrow[1].name}: {narrow[0][1] - narrow[0][0]:.0f} % of its range was visited."
    heads = ("joint", "from", "to", "limit", "limit", "unit")
    table = Table("Learned ranges of the joints", heads, tuple(rows), frozenset(range(1, 5)), frozenset({0}))
    return Figure("domain", "Joint ranges it was learned in", reading, (chart,), table)


def suspects_of(estimate: Estimate) -> frozenset[str]:
    """Experiments that are listed as not fitting the rest."""
    return frozenset(o.experiment for o in estimate.outliers if o.experiment)
