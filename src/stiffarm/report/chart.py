"""What a picture shows, without how it is drawn: axes with units, and marks.

A `Chart` is drawn twice from the same description, once as a static drawing (`stiffarm.report.chart_svg`: for paper,
for readers without scripts, as a file of its own) and once with a pointer's help (`stiffarm.report.chart_plotly`), so
that the two cannot differ.  Numbers are those shown (mm, not m); words may come from files and are escaped by those who
draw.  A name in the place of a number is a category: the i-th of an axis stands at i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stiffarm.report.palette import Role

Numbers = tuple[float, ...]
Shape = Literal["circle", "square", "triangle", "diamond"]
Dash = Literal["solid", "dash", "dot"]
SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond")
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot")
WIDE, NARROW = 480, 320
"""Widths of drawings: one of two, and one of three beside each other; on a phone each fills the width."""


@dataclass(frozen=True)
class Axis:
    """One side of a chart."""

    title: str
    """Quantity and unit, as in ``3-D error, mm``."""
    low: float | None = None
    """Ends of the axis; None: those of the marks with a margin."""
    high: float | None = None
    log: bool = False
    names: tuple[str, ...] = ()
    """Categories in place of numbers; the first stands at the top of a vertical axis."""
    ticks: bool = True
    code: bool = False
    """Whether categories are names from files, written as such."""


@dataclass(frozen=True)
class Line:
    """A line through points."""

    x: Numbers
    y: Numbers
    colour: Role = "model"
    dash: Dash = "solid"
    name: str = ""
    """In the legend; empty: not in it."""
    texts: tuple[str, ...] = ()
    """What each point says when pointed at."""
    thin: bool = False


@dataclass(frozen=True)
class Points:
    """Marks at places."""

    x: Numbers
    y: Numbers
    colour: Role = "model"
    shape: Shape = "circle"
    name: str = ""
    texts: tuple[str, ...] = ()
    """What each says when pointed at; none: its numbers."""
    values: Numbers = ()
    """Magnitudes or signed numbers that colour the points by the chart's `ColourScale`."""
    ringed: tuple[bool, ...] = ()
    """Those that draw a second look."""


@dataclass(frozen=True)
class Spans:
    """Horizontal bars or lines, from begin to end at the height y."""

    y: Numbers
    begin: Numbers
    end: Numbers
    colour: Role = "model"
    thick: float = 0.0
    """Share of a category's height; 0: a line."""
    name: str = ""
    texts: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Written behind the end of each."""


@dataclass(frozen=True)
class Band:
    """The area between two curves."""

    x: Numbers
    low: Numbers
    high: Numbers
    colour: Role = "model"
    name: str = ""


@dataclass(frozen=True)
class Heat:
    """Cells of a table as colours by the chart's `ColourScale`; NaN stays empty.

    With categories on both axes cells stand at them; otherwise ``x`` and ``y`` hold the centres of evenly spaced cells.
    """

    values: tuple[Numbers, ...]
    """Rows; the first stands at y's first."""
    x: Numbers = ()
    y: Numbers = ()
    unit: str = ""


@dataclass(frozen=True)
class Rule:
    """A line across the chart at a number of one axis."""

    at: float
    along: Literal["x", "y"] = "y"
    """The axis whose number it is."""
    colour: Role = "soft"
    dash: Dash = "dash"
    words: str = ""


Mark = Line | Points | Spans | Band | Heat | Rule


@dataclass(frozen=True)
class ColourScale:
    """How numbers become colours."""

    title: str
    low: float
    high: float
    signed: bool = False
    """From orange over paper to blue, zero in the middle; else along the rising scale."""


@dataclass(frozen=True)
class Chart:
    """Marks in a frame."""

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: str = ""
    """Of one panel among several."""
    height: float = 280.0
    """In the units of the width."""
    width: float = WIDE
    equal: bool = False
    """One unit is as long on both axes."""
    colours: ColourScale | None = None


def extent(chart: Chart, side: Literal["x", "y"]) -> tuple[float, float]:
    """Ends of an axis: as stated, else those of the marks with a margin of a twentieth.

    >>> extent(Chart(Axis("a, mm"), Axis("b, mm"), (Line((0.0, 10.0), (1.0, 1.0)),)), "x")
    (-0.5, 10.5)
    """
    axis = chart.x if side == "x" else chart.y
    if axis.names:
        return (-0.5, len(axis.names) - 0.5)
    values = [v for mark in chart.marks for v in _reach(mark, side) if v == v and abs(v) != float("inf")]
    values = [v for v in values if v > 0.0] if axis.log else values
    low, high = min(values, default=0.0 if not axis.log else 0.1), max(values, default=1.0)
    if axis.log:
        low, high = (low / 1.15, high * 1.15)
    else:
        margin = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        low, high = low - margin, high + margin
    return (low if axis.low is None else axis.low, high if axis.high is None else axis.high)


def _reach(mark: Mark, side: Literal["x", "y"]) -> Numbers:
    match mark:
        case Line() | Points():
            return mark.x if side == "x" else mark.y
        case Spans():
            return (*mark.begin, *mark.end) if side == "x" else mark.y
        case Band():
            return mark.x if side == "x" else (*mark.low, *mark.high)
        case Heat():
            centres = mark.x if side == "x" else mark.y
            half = (centres[1] - centres[0]) / 2 if len(centres) > 1 else 0.5
            return (centres[0] - half, centres[-1] + half) if centres else ()
        case Rule():
            return (mark.at,) if mark.along == side else ()
