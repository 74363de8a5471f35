"""A chart as the script of the page draws it: traces and layout of plotly, as plain JSON.

Colours stay names, written ``{"$": "model"}``, until the page resolves them in its present theme.  Plotly reads tags
in words, so whatever comes from a file is escaped here; numbers that are not finite are null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from stiffarm.report.chart import Axis, Band, Chart, ColourScale, Heat, Line, Mark, Points, Rule, Spans, extent
from stiffarm.report.palette import RISING, Role
from stiffarm.report.scale import Scale, number

Json = dict[str, Any]
LOW = 160.0
"""Height below which a scale of colours has few numbers."""
_SYMBOLS = {"circle": "circle", "square": "square", "triangle": "triangle-up", "diamond": "diamond"}


def chart_plotly(chart: Chart) -> Json:
    """``data`` and ``layout`` of a chart."""
    cells = all(isinstance(mark, Heat) for mark in chart.marks)
    traces = [trace for mark in chart.marks for trace in _traces(mark, chart, cells)]
    shapes = [_rule(mark, chart) for mark in chart.marks if isinstance(mark, Rule)]
    layout = {
        "xaxis": _axis(chart, "x", cells),
        "yaxis": _axis(chart, "y", cells),
        "shapes": [shape for shape, _ in shapes],
        "annotations": [words for _, words in shapes if words],
        "showlegend": any(trace.get("showlegend") for trace in traces),
        "barmode": "overlay",
        "hovermode": "closest",
    }
    return {"data": traces, "layout": layout}


def paint(role: Role) -> Json:
    """A colour by its name."""
    return {"$": role}


def said(words: str) -> str:
    """Words that plotly shows as they are."""
    return escape(words, quote=False)


def finite(values: Sequence[float]) -> list[float | None]:
    """Numbers as JSON holds them: six digits are more than anyone sees."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values]


def colour_bar(colours: ColourScale) -> Json:
    """How plotly colours numbers."""
    if colours.signed:
        most = max(abs(colours.low), abs(colours.high)) or 1.0
        ends, stops = (-most, most), [[0.0, paint("minus")], [0.5, paint("paper")], [1.0, paint("plus")]]
    else:
        ends = (colours.low, colours.high)
        stops = [[i / (len(RISING) - 1), colour] for i, colour in enumerate(RISING)]
    bar: Json = {"title": {"text": said(colours.title), "side": "right"}, "thickness": 12, "outlinewidth": 0}
    return {"colorscale": stops, "cmin": ends[0], "cmax": ends[1], "colorbar": bar}


def _axis(chart: Chart, side: str, cells: bool) -> Json:
    axis: Axis = chart.x if side == "x" else chart.y
    found: Json = {"title": {"text": said(axis.title)}, "automargin": True, "zeroline": False}
    low, high = extent(chart, "x" if side == "x" else "y")
    if axis.names and cells:
        found |= {"type": "category"} | ({"autorange": "reversed"} if side == "y" else {})
    elif axis.names:
        ends = [high, low] if side == "y" else [low, high]
        words = [said(name) for name in axis.names]
        found |= {"tickvals": list(range(len(words))), "ticktext": words, "range": ends, "showgrid": False}
    else:
        found["range"] = finite([math.log10(low), math.log10(high)] if axis.log else [low, high])
        ticks = Scale(low, high, 0.0, 1.0, log=True).ticks() if axis.log else []
        found |= {"type": "log", "tickvals": ticks, "ticktext": [number(v) for v in ticks]} if axis.log else {}
    if axis.code:
        found["tickfont"] = {"family": "ui-monospace, SFMono-Regular, Consolas, monospace", "size": 11}
    if not axis.ticks:
        found |= {"showticklabels": False, "showgrid": False}
    if chart.equal and side == "y":
        found |= {"scaleanchor": "x", "scaleratio": 1}
    return found


def _traces(mark: Mark, chart: Chart, cells: bool) -> list[Json]:
    match mark:
        case Line():
            return [_line(mark)]
        case Points():
            return [_points(mark, chart.colours)]
        case Spans():
            return [_bars(mark) if mark.thick else _intervals(mark)]
        case Band():
            return _band(mark)
        case Heat():
            return [_heat(mark, chart, cells)]
        case Rule():
            return []


def _named(name: str, texts: Sequence[str]) -> Json:
    """Legend and what is said when something is pointed at."""
    found: Json = {"name": said(name), "showlegend": bool(name)}
    if texts:
        return found | {"text": [said(one) for one in texts], "hovertemplate": "%{text}<extra></extra>"}
    return found | {"hoverinfo": "skip"}


def _line(mark: Line) -> Json:
    look = {"color": paint(mark.colour), "width": 1.2 if mark.thin else 2.4, "dash": mark.dash}
    own = {"type": "scatter", "mode": "lines", "x": finite(mark.x), "y": finite(mark.y), "line": look}
    return own | _named(mark.name, mark.texts)


def _points(mark: Points, colours: ColourScale | None) -> Json:
    look: Json = {"symbol": _SYMBOLS[mark.shape], "size": 8, "color": paint(mark.colour)}
    if mark.values and colours is not None:
        look |= {"color": finite(mark.values), **colour_bar(colours), "line": {"color": paint("ink"), "width": 0.6}}
    if any(mark.ringed):
        widths = [2.5 if ringed else 0.0 for ringed in mark.ringed]
        look["line"] = {"color": paint("no"), "width": widths}
    own = {"type": "scatter", "mode": "markers", "x": finite(mark.x), "y": finite(mark.y), "marker": look}
    told = {} if mark.texts else {"hovertemplate": "%{x:.4g}; %{y:.3g}<extra></extra>", "hoverinfo": "all"}
    return own | _named(mark.name, mark.texts) | told


def _bars(mark: Spans) -> Json:
    long = [end - begin for begin, end in zip(mark.begin, mark.end, strict=True)]
    own: Json = {
        "type": "bar", "orientation": "h", "y": finite(mark.y), "base": finite(mark.begin), "x": finite(long),
        "width": mark.thick, "marker": {"color": paint(mark.colour)},
    }  # fmt: skip
    named = _named(mark.name, ())
    if mark.words:
        own |= {"text": [said(one) for one in mark.words], "textposition": "outside", "cliponaxis": False}
    if mark.texts:
        told = [said(one) for one in mark.texts]
        return named | own | {"hovertext": told, "hovertemplate": "%{hovertext}<extra></extra>"}
    return named | own


def _intervals(mark: Spans) -> Json:
    """Lines with gaps between them."""
    x = [v for begin, end in zip(mark.begin, mark.end, strict=True) for v in (begin, end, math.nan)]
    y = [v for at in mark.y for v in (at, at, math.nan)]
    texts = [v for one in mark.texts for v in (one, one, "")]
    look = {"color": paint(mark.colour), "width": 3}
    own: Json = {"type": "scatter", "mode": "lines", "x": finite(x), "y": finite(y), "line": look}
    return own | {"connectgaps": False} | _named(mark.name, texts)


def _band(mark: Band) -> list[Json]:
    edge: Json = {"type": "scatter", "mode": "lines", "x": finite(mark.x), "line": {"width": 0}, "hoverinfo": "skip"}
    fill = {"fill": "tonexty", "fillcolor": {"$": mark.colour, "alpha": 0.22}}
    low = edge | {"y": finite(mark.low), "showlegend": False}
    return [low, edge | {"y": finite(mark.high), "name": said(mark.name), "showlegend": bool(mark.name), **fill}]


def _heat(mark: Heat, chart: Chart, cells: bool) -> Json:
    assert chart.colours is not None, "a heat map needs its colours"
    look = colour_bar(chart.colours)
    if chart.height < LOW:
        look["colorbar"]["nticks"] = 3
    bar = {"zmin": look["cmin"], "zmax": look["cmax"], "colorscale": look["colorscale"], "colorbar": look["colorbar"]}
    found: Json = {"type": "heatmap", "z": [finite(row) for row in mark.values], **bar}
    if cells and chart.x.names:
        found["x"] = [said(name) for name in chart.x.names]
    elif mark.x:
        found["x"] = finite(mark.x)
    if cells and chart.y.names:
        found["y"] = [said(name) for name in chart.y.names]
    elif mark.y:
        found["y"] = finite(mark.y)
    return found | {
        "hovertemplate": f"%{{y}}, %{{x}}: %{{z:.3g}} {said(mark.unit)}<extra></extra>",
        "showlegend": False,
    }


def _rule(mark: Rule, chart: Chart) -> tuple[Json, Json | None]:
    """A line across, and its words, whose places plotly takes as logarithms on such an axis."""
    log = chart.y.log if mark.along == "y" else chart.x.log
    at = math.log10(mark.at) if log else mark.at
    along = mark.along == "y"
    ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": mark.at, "y1": mark.at}
    if not along:
        ends = {"yref": "paper", "y0": 0, "y1": 1, "x0": mark.at, "x1": mark.at}
    shape = {"type": "line", **ends, "line": {"color": paint(mark.colour), "width": 1.2, "dash": mark.dash}}
    if not mark.words:
        return shape, None
    place = {"xref": "paper", "x": 1, "y": at, "xanchor": "right", "yanchor": "bottom"}
    if not along:
        place = {"yref": "paper", "y": 1, "x": at, "xanchor": "left", "yanchor": "top"}
    return shape, {"text": said(mark.words), "showarrow": False, **place}
