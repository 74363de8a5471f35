"""A chart as a static drawing: it needs no script, prints as lines, and stands as a file of its own.

The frame takes its margins from the words around it; legends stand below, where they wrap.  A drawing is 480 or 320
wide, so that its letters stay readable where it is shown: beside others on a desk, alone on a phone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from stiffarm.report.chart import Band, Chart, ColourScale, Heat, Line, Points, Rule, Spans, extent
from stiffarm.report.drawing import Drawing, shortened, widest
from stiffarm.report.palette import RISING, Role, rising
from stiffarm.report.scale import Scale, number

LEGEND = 20.0
MOST_TITLES = 900
"""Cells of a heat map that say what they are when pointed at."""
STEPS = 40
"""Colours of a scale where more than that are drawn together."""
MOST_DOTS = 200
"""Points of a chart that do; more are drawn as one path for each series."""


@dataclass(frozen=True)
class Frame:
    """Where the numbers of a chart stand in its drawing."""

    x: Scale
    y: Scale
    turned: bool
    """Categories along x are written upright."""


def chart_svg(chart: Chart, label: str, *, themed: bool = True, inside: tuple[float, float] | None = None) -> str:
    """The chart as SVG; ``label`` is what a reader hears in its place."""
    drawing = Drawing(themed)
    frame = frame_of(chart)
    _grid(drawing, chart, frame)
    for mark in chart.marks:
        _mark(drawing, mark, chart, frame)
    if chart.colours is not None:
        _bar(drawing, chart.colours, frame)
    _legend(drawing, chart, frame)
    return drawing.svg(chart.width, svg_height(chart), label, inside=inside)


def svg_height(chart: Chart) -> float:
    """Height of the drawing with its legend."""
    return chart.height + LEGEND * len(_legend_rows(chart))


def frame_of(chart: Chart) -> Frame:
    """Margins from the words around the frame, and the scales inside it."""
    (x_low, x_high), (y_low, y_high) = extent(chart, "x"), extent(chart, "y")
    y_ticks = Scale(y_low, y_high, 0.0, 1.0, chart.y.log).ticks()
    y_words = [shortened(n) for n in chart.y.names] if chart.y.names else [number(v) for v in y_ticks]
    left = 14.0 + widest(y_words, 7.3 if chart.y.names else 6.8)
    words = [w for mark in chart.marks if isinstance(mark, Spans) for w in mark.words]
    right = 14.0 + (58.0 if chart.colours else 0.0) + (widest(words) + 6.0 if words else 0.0)
    x_words = [shortened(n) for n in chart.x.names]
    room = (chart.width - left - right) / max(len(x_words), 1)
    turned = bool(x_words) and widest(x_words, 7.3) + 6.0 > room
    below = widest(x_words, 7.3) + 12.0 if turned else 22.0 if chart.x.ticks or x_words else 8.0
    bottom = below + (20.0 if chart.x.title else 0.0)
    top = 26.0 if chart.y.title or chart.colours is not None else 10.0
    begin, end = left, chart.width - right
    low_at, high_at = chart.height - bottom, top
    if chart.equal:
        per_x, per_y = (x_high - x_low) / (end - begin), (y_high - y_low) / (low_at - high_at)
        if per_x < per_y:
            more = (per_y * (end - begin) - (x_high - x_low)) / 2
            x_low, x_high = x_low - more, x_high + more
        else:
            more = (per_x * (low_at - high_at) - (y_high - y_low)) / 2
            y_low, y_high = y_low - more, y_high + more
    if chart.y.names:  # the first stands at the top
        low_at, high_at = high_at, low_at
    return Frame(
        Scale(x_low, x_high, begin, end, chart.x.log), Scale(y_low, y_high, low_at, high_at, chart.y.log), turned
    )


def _grid(drawing: Drawing, chart: Chart, frame: Frame) -> None:
    x, y = frame.x, frame.y
    low, high = max(y.begin, y.end), min(y.begin, y.end)
    if chart.y.names:
        every = _every(len(chart.y.names), low - high, 12.0)
        for i in range(0, len(chart.y.names), every):
            drawing.text(
                x.begin - 6,
                y(i) + 4,
                shortened(chart.y.names[i]),
                "ink",
                "end",
                12 if every == 1 else 10,
                mono=chart.y.code,
            )
    elif chart.y.ticks:
        for value in y.ticks():
            drawing.line(x.begin, y(value), x.end, y(value), "line")
            drawing.text(x.begin - 6, y(value) + 4, number(value), "soft", "end")
    if chart.x.names:
        every = _every(len(chart.x.names), x.end - x.begin, 13.0 if frame.turned else 40.0)
        for i in range(0, len(chart.x.names), every):
            name = shortened(chart.x.names[i])
            if frame.turned:
                drawing.text(
                    x(i) + 4, low + 8, name, "ink", "end", 12 if every == 1 else 10, mono=chart.x.code, turn=90
                )
            else:
                drawing.text(x(i), low + 16, name, "ink", "middle", mono=chart.x.code)
    elif chart.x.ticks:
        about = 5 if x.end - x.begin > 250 else 4
        for value in x.ticks(about):
            drawing.line(x(value), low, x(value), high, "line")
            drawing.text(x(value), low + 16, number(value), "soft", "middle")
    if chart.x.title:
        drawing.text((x.begin + x.end) / 2, chart.height - 6, chart.x.title, "soft", "middle", 12.5)
    if chart.y.title:
        drawing.text(2.0, 14, chart.y.title, "soft", "start", 12.5)


def _every(count: int, room: float, least: float) -> int:
    """Every how manieth category is named."""
    return max(1, math.ceil(count * least / max(room, 1.0)))


def _mark(drawing: Drawing, mark: object, chart: Chart, frame: Frame) -> None:
    x, y = frame.x, frame.y
    match mark:
        case Line():
            points = [
                (x(a), y(b)) for a, b in zip(mark.x, mark.y, strict=True) if math.isfinite(a) and math.isfinite(b)
            ]
            points = _inside(points, frame) if chart.y.high is not None else points
            drawing.path(points, mark.colour, 1.2 if mark.thin else 2.4, mark.dash, mark.name, "curve")
        case Band():
            there = [(x(a), y(b)) for a, b in zip(mark.x, mark.high, strict=True)]
            back = [(x(a), y(b)) for a, b in zip(mark.x, mark.low, strict=True)][::-1]
            drawing.path(there + back, mark.colour, 0.0, title=mark.name, mark="band", closed=True, opacity=0.22)
        case Points():
            _points(drawing, mark, chart, frame)
        case Spans():
            _spans(drawing, mark, frame)
        case Heat():
            _heat(drawing, mark, chart, frame)
        case Rule():
            _rule(drawing, mark, frame)


def _inside(points: list[tuple[float, float]], frame: Frame) -> list[tuple[float, float]]:
    """A line kept within the frame's height."""
    top, bottom = sorted((frame.y.begin, frame.y.end))
    return [(x, min(max(y, top), bottom)) for x, y in points]


def _points(drawing: Drawing, mark: Points, chart: Chart, frame: Frame) -> None:
    colours = chart.colours
    told = sum(len(one.x) for one in chart.marks if isinstance(one, Points)) <= MOST_DOTS
    if not told:
        _crowd(drawing, mark, colours, frame)
    for i, (a, b) in enumerate(zip(mark.x, mark.y, strict=True)):
        ringed = bool(mark.ringed) and mark.ringed[i]
        if not math.isfinite(a + b) or not (told or ringed) or _beyond(chart, frame, a):
            continue
        paint: Role | str = mark.colour
        if mark.values and colours is not None:
            paint = cell_colour(colours, mark.values[i])[0]
        title = mark.texts[i] if mark.texts else ""
        edge = bool(mark.values)
        drawing.dot(frame.x(a), frame.y(b), mark.shape, paint, title, ringed=ringed, edge=edge)


def _beyond(chart: Chart, frame: Frame, x: float) -> bool:
    """Whether a point lies outside ends that were stated for the axis."""
    stated = chart.x.low is not None and chart.x.high is not None
    return stated and not frame.x.low <= x <= frame.x.high


def _crowd(drawing: Drawing, mark: Points, colours: ColourScale | None, frame: Frame) -> None:
    """Very many points: one path for each colour, of which there are `STEPS` at most."""
    groups: dict[Role | str, list[tuple[float, float]]] = {}
    for i, (a, b) in enumerate(zip(mark.x, mark.y, strict=True)):
        if math.isfinite(a + b):
            paint: Role | str = mark.colour
            if mark.values and colours is not None:
                paint = cell_colour(colours, _stepped(colours, mark.values[i]))[0]
            groups.setdefault(paint, []).append((frame.x(a), frame.y(b)))
    for paint, places in groups.items():
        drawing.dots(places, mark.shape, paint)


def _stepped(colours: ColourScale, value: float) -> float:
    """A number in one of the steps of a scale."""
    long = (colours.high - colours.low) or 1.0
    return colours.low + long * round(STEPS * min(max((value - colours.low) / long, 0.0), 1.0)) / STEPS


def _spans(drawing: Drawing, mark: Spans, frame: Frame) -> None:
    step = abs(frame.y(1.0) - frame.y(0.0))
    for i, (at, begin, end) in enumerate(zip(mark.y, mark.begin, mark.end, strict=True)):
        left, right = sorted((frame.x.inside(begin), frame.x.inside(end)))
        title = mark.texts[i] if mark.texts else ""
        if mark.thick:
            high = mark.thick * step
            drawing.box(left, frame.y(at) - high / 2, right - left, high, mark.colour, title, "span")
        else:
            drawing.line(left, frame.y(at), right, frame.y(at), mark.colour, 3.0, title=title)
            for beyond, place, anchor in ((end > frame.x.high, right, "»"), (begin < frame.x.low, left, "«")):
                if beyond:
                    drawing.text(place, frame.y(at) + 4, anchor, "ink", "middle")
        if mark.words:
            drawing.text(right + 6, frame.y(at) + 4, mark.words[i], "ink", bold=True)


def _heat(drawing: Drawing, mark: Heat, chart: Chart, frame: Frame) -> None:
    assert chart.colours is not None, "a heat map needs its colours"
    rows, columns = len(mark.values), max((len(row) for row in mark.values), default=0)
    xs = mark.x or tuple(map(float, range(columns)))
    ys = mark.y or tuple(map(float, range(rows)))
    wide = abs(frame.x(xs[1]) - frame.x(xs[0])) if columns > 1 else abs(frame.x(xs[0] + 0.5) - frame.x(xs[0] - 0.5))
    high = abs(frame.y(ys[1]) - frame.y(ys[0])) if rows > 1 else abs(frame.y(ys[0] + 0.5) - frame.y(ys[0] - 0.5))
    told = rows * columns <= MOST_TITLES
    groups: dict[tuple[Role | str, float], list[tuple[float, float]]] = {}
    for i, row in enumerate(mark.values):
        for j, value in enumerate(row):
            if not math.isfinite(value):
                continue
            left, top = frame.x(xs[j]) - wide / 2, frame.y(ys[i]) - high / 2
            if not told:
                groups.setdefault(cell_colour(chart.colours, _stepped(chart.colours, value)), []).append((left, top))
                continue
            paint, opacity = cell_colour(chart.colours, value)
            where = f"{_place(chart.y.names, ys, i)}, {_place(chart.x.names, xs, j)}"
            title = f"{where}: {value:.3g} {mark.unit}".strip()
            drawing.box(left, top, wide + 0.3, high + 0.3, paint, title, "cell", opacity)
    for (paint, opacity), corners in groups.items():
        drawing.boxes(corners, wide + 0.3, high + 0.3, paint, opacity)


def _place(names: tuple[str, ...], places: tuple[float, ...], i: int) -> str:
    return names[i] if names else number(places[i])


def cell_colour(colours: ColourScale, value: float) -> tuple[Role | str, float]:
    """Colour and opacity of a number.

    >>> cell_colour(ColourScale("", -1.0, 1.0, signed=True), -0.5)
    ('minus', 0.5)
    """
    if not colours.signed:
        return rising((value - colours.low) / ((colours.high - colours.low) or 1.0)), 1.0
    most = max(abs(colours.low), abs(colours.high)) or 1.0
    return ("plus" if value >= 0.0 else "minus"), min(abs(value) / most, 1.0)


def _rule(drawing: Drawing, mark: Rule, frame: Frame) -> None:
    x, y = frame.x, frame.y
    if mark.along == "y":
        drawing.line(x.begin, y(mark.at), x.end, y(mark.at), mark.colour, 1.2, mark.dash, mark.words)
        if mark.words:
            drawing.text(x.end - 4, y(mark.at) - 5, mark.words, "ink", "end", 11.5)
    else:
        top = min(y.begin, y.end)
        drawing.line(x(mark.at), y.begin, x(mark.at), y.end, mark.colour, 1.2, mark.dash, mark.words)
        if mark.words:
            drawing.text(x(mark.at) + 4, top + 12, mark.words, "ink", "start", 11.5)


def _bar(drawing: Drawing, colours: ColourScale, frame: Frame) -> None:
    """The scale of colours beside the frame."""
    left = frame.x.end + 14
    top, bottom = sorted((frame.y.begin, frame.y.end))
    scale = Scale(colours.low, colours.high, bottom, top)
    steps = 4 * len(RISING)
    for i in range(steps):
        low, high = (colours.low + k / steps * (colours.high - colours.low) for k in (i, i + 1))
        paint, opacity = cell_colour(colours, (low + high) / 2)
        drawing.box(left, scale(high), 11, abs(scale(low) - scale(high)) + 0.4, paint, "", "", opacity)
    for value in scale.ticks(4):
        drawing.text(left + 15, scale(value) + 4, number(value), "soft", size=11)
    drawing.text(frame.x.end + 58 + 10, top - 8, colours.title, "soft", "end", 11.5)


def _legend_rows(chart: Chart) -> list[list[object]]:
    """Marks with names, in rows that fit."""
    rows: list[list[object]] = []
    left = chart.width
    for mark in chart.marks:
        name = getattr(mark, "name", "")
        if not name:
            continue
        wide = 40.0 + widest([shortened(name, 40)])
        if left + wide > chart.width:
            rows.append([])
            left = 10.0
        rows[-1].append(mark)
        left += wide
    return rows


def _legend(drawing: Drawing, chart: Chart, frame: Frame) -> None:
    for i, row in enumerate(_legend_rows(chart)):
        left, y = 10.0, chart.height + LEGEND * i + 12.0
        for mark in row:
            match mark:
                case Line():
                    drawing.line(left, y - 4, left + 24, y - 4, mark.colour, 1.2 if mark.thin else 2.4, mark.dash)
                case Points():
                    drawing.dot(left + 16, y - 4, mark.shape, "nominal" if mark.values else mark.colour)
                case Spans():
                    drawing.box(left + 4, y - 9, 20, 9 if mark.thick else 3, mark.colour)
                case Band():
                    drawing.box(left + 4, y - 9, 20, 9, mark.colour, opacity=0.3)
            name = shortened(getattr(mark, "name", ""), 40)
            drawing.text(left + 30, y, name, "ink")
            left += 40.0 + widest([name])
