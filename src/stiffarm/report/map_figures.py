"""Pictures of a map: sections through a region coloured by deflection, or a curve where it has one direction.

The two axes with the most points span a picture, the next one is shown as one panel after another, any further one
stands where the best place is.  One scale of colours holds for all panels; what is out of reach stays empty, what only
postures near a singularity reach carries a mark.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.region import PLACES, TURN, GridAxis, Region
from stiffarm.compensate.stiffness_map import SINGULAR, STATUS, STIFF
from stiffarm.report.chart import WIDE, Axis, Band, Chart, ColourScale, Heat, Line, Mark, Points
from stiffarm.report.parts import Figure, Table
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_SECTIONS = 6
MOST_LISTED = 400
"""Places in the table beside a picture."""
HIGH = 0.98
"""Share of the places whose deflection the colours cover; softer ones have the last colour."""
LOWEST, HIGHEST = 200.0, 520.0
"""Heights of a section."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Numbers at the places of a region, ready to be drawn."""

    region: Region
    robot: Robot
    value: Floats
    """(n,) m, NaN where there is none."""
    sigma: Floats | None
    """(n,) m"""
    status: Ints
    best: int | None
    words: str
    """What the numbers are, in words."""
    reading: str
    """The picture in a sentence."""

    @property
    def colours(self) -> ColourScale:
        """One scale for every section, mm."""
        known = 1e3 * self.value[np.isfinite(self.value) & (self.status == STIFF)]
        if not known.size:
            return ColourScale("mm", 0.0, 1.0)
        low, high = float(known.min()), float(np.quantile(known, HIGH))
        return ColourScale("mm", low, high if high > low else low + max(abs(low), 1e-6))


def shown(axis: GridAxis, robot: Robot) -> tuple[Floats, str]:
    """Values of an axis as people read them, and their unit."""
    joint = axis.name not in (*PLACES, TURN)
    turning = axis.name == TURN or (joint and robot.joints[robot.joint_index(axis.name)].kind == "revolute")
    return (np.degrees(axis.values), "deg") if turning else (axis.values, "m")


def place_cells(region: Region, robot: Robot, index: int) -> list[tuple[str, str]]:
    """Name and value of every axis at a place."""
    found = []
    for axis, i in zip(region.axes, np.unravel_index(index, region.shape), strict=True):
        values, unit = shown(axis, robot)
        found.append((axis.name, f"{values[i]:.4g} {unit}"))
    return found


def map_figure(drawn: Drawn, slug: str = "map") -> Figure | None:
    """The picture of a map; None for a single place."""
    ranges = [i for i, n in enumerate(drawn.region.shape) if n > 1]
    if not ranges:
        return None
    home = [int(i) for i in np.unravel_index(drawn.best or 0, drawn.region.shape)]
    if len(ranges) == 1:
        panels = [_curve(drawn, ranges[0])]
    else:
        spanning = sorted(sorted(ranges, key=lambda i: -drawn.region.shape[i])[:2])
        panels = [_section(drawn, (spanning[0], spanning[1]), at) for at in _slices(drawn, ranges, spanning, home)]
    return Figure(slug, drawn.words, drawn.reading, tuple(panels), _table(drawn), wide=len(panels) > 1)


def _slices(drawn: Drawn, ranges: list[int], spanning: list[int], home: list[int]) -> list[list[int]]:
    """Indices of the sections: through the best place, and spread over the next longest axis."""
    others = [i for i in ranges if i not in spanning]
    if not others:
        return [home]
    sliced = max(others, key=lambda i: drawn.region.shape[i])
    n = drawn.region.shape[sliced]
    chosen = {int(i) for i in np.linspace(0, n - 1, min(n, MOST_SECTIONS)).round()} | {home[sliced]}
    return [[i if k == sliced else at for k, at in enumerate(home)] for i in sorted(chosen)]


def _section(drawn: Drawn, spanning: tuple[int, int], at: list[int]) -> Chart:
    """One section: the first axis to the right, the second upwards; ``at`` are the indices of all axes."""
    first, second = (drawn.region.axes[i] for i in spanning)
    (u, u_unit), (v, v_unit) = shown(first, drawn.robot), shown(second, drawn.robot)
    where: list[int | slice] = [*at]
    where[spanning[0]], where[spanning[1]] = slice(None), slice(None)
    chosen = np.arange(len(drawn.region)).reshape(drawn.region.shape)[tuple(where)]
    marks: list[Mark] = [Heat(tuple(_floats(row) for row in 1e3 * drawn.value[chosen].T), _floats(u), _floats(v), "mm")]
    i, j = np.nonzero((drawn.status[chosen] == SINGULAR) & np.isfinite(drawn.value[chosen]))
    if i.size:
        marks.append(Points(_floats(u[i]), _floats(v[j]), "no", "triangle", "near a singularity"))
    if drawn.best is not None and drawn.best in chosen:
        a, b = (int(k[0]) for k in np.nonzero(chosen == drawn.best))
        texts = (f"best: {1e3 * drawn.value[drawn.best]:.3g} mm",)
        marks.append(Points((float(u[a]),), (float(v[b]),), "no", "diamond", "best", texts, ringed=(True,)))
    alike = u_unit == v_unit
    aspect = (v[-1] - v[0]) * len(v) / (len(v) - 1) / ((u[-1] - u[0]) * len(u) / (len(u) - 1))
    height = float(np.clip(44.0 + (WIDE - 110.0) * aspect, LOWEST, HIGHEST)) if alike else 320.0
    axes = Axis(f"{first.name}, {u_unit}"), Axis(f"{second.name}, {v_unit}")
    title = ", ".join(
        f"{axis.name} = {value}"
        for k, (axis, value) in enumerate(zip(drawn.region.axes, _values(drawn, at), strict=True))
        if k not in spanning
    )
    return Chart(*axes, tuple(marks), title, height=height, equal=alike, colours=drawn.colours)


def _values(drawn: Drawn, at: list[int]) -> list[str]:
    index = int(np.ravel_multi_index(at, drawn.region.shape))
    return [text for _, text in place_cells(drawn.region, drawn.robot, index)]


def _curve(drawn: Drawn, along: int) -> Chart:
    """Deflection along the only axis that has more than one value, with a band of two standard deviations."""
    axis = drawn.region.axes[along]
    u, unit = shown(axis, drawn.robot)
    mm = 1e3 * drawn.value
    known = np.isfinite(mm)
    marks: list[Mark] = []
    for run in np.split(np.arange(len(u)), np.flatnonzero(np.diff(known.astype(int))) + 1):
        if not known[run[0]]:
            continue
        if drawn.sigma is not None:
            two = 2e3 * np.nan_to_num(drawn.sigma[run])
            low, high = np.maximum(mm[run] - two, 0.0), mm[run] + two
            marks.append(Band(_floats(u[run]), _floats(low), _floats(high), "model"))
        marks.append(Line(_floats(u[run]), _floats(mm[run]), "model"))
        texts = tuple(f"{axis.name} {u[i]:.4g} {unit}: {mm[i]:.3g} mm, {STATUS[drawn.status[i]]}" for i in run)
        marks.append(Points(_floats(u[run]), _floats(mm[run]), "model", texts=texts))
    if drawn.best is not None:
        i = drawn.best
        marks.append(Points((float(u[i]),), (float(mm[i]),), "no", "diamond", "best", ringed=(True,)))
    return Chart(Axis(f"{axis.name}, {unit}", float(u[0]), float(u[-1])), Axis("mm", low=0.0), tuple(marks))


def _table(drawn: Drawn) -> Table:
    """The places and their numbers, the stiffest first."""
    order = np.argsort(np.where(np.isfinite(drawn.value), drawn.value, np.inf), kind="stable")[:MOST_LISTED]
    order = order[np.isfinite(drawn.value[order])]
    heads = [f"{axis.name}, {shown(axis, drawn.robot)[1]}" for axis in drawn.region.axes] + ["mm"]
    heads += [] if drawn.sigma is None else ["sigma, mm"]
    rows = []
    for i in order:
        cells = [text.partition(" ")[0] for _, text in place_cells(drawn.region, drawn.robot, int(i))]
        cells.append(f"{1e3 * drawn.value[i]:.4g}")
        cells += [] if drawn.sigma is None else [f"{1e3 * drawn.sigma[i]:.2g}"]
        rows.append((*cells, STATUS[drawn.status[i]]))
    caption = f"{drawn.words}, the stiffest {len(rows)} places"
    return Table(caption, (*heads, ""), tuple(rows), frozenset(range(len(heads))))


def _floats(values: Floats) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
