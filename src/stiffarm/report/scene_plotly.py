"""A scene as plotly turns it in space: lines, points and the skins of ellipsoids, axes in mm of equal length."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiffarm.report.chart_plotly import Json, colour_bar, finite, paint, said
from stiffarm.report.scene import ArmLine, Cloud, Ellipsoid, Scene

AROUND, UP = 20, 11
"""Points of an ellipsoid's skin around its axis and from pole to pole."""


def scene_plotly(scene: Scene) -> Json:
    """``data`` and ``layout`` of a scene."""
    traces = [trace for thing in scene.things for trace in _traces(thing, scene)]
    axes = {
        f"{axis}axis": {"title": {"text": f"{axis}, mm"}, "gridcolor": paint("line"), "backgroundcolor": paint("paper")}
        for axis in "xyz"
    }
    look = {
        "aspectmode": "data",
        "camera": {"eye": {"x": 1.45, "y": -1.97, "z": 0.81}, "center": {"x": 0, "y": 0, "z": -0.12}},
        **axes,
    }
    named = any(trace.get("showlegend") for trace in traces)
    return {"data": traces, "layout": {"scene": look, "showlegend": named}}


def _traces(thing: ArmLine | Ellipsoid | Cloud, scene: Scene) -> list[Json]:
    match thing:
        case ArmLine():
            look: Json = {"line": {"color": paint(thing.colour), "width": 6}, "hoverinfo": "skip"}
            sizes = [0 if i < thing.dots_from else 3 for i in range(len(thing.places))]
            mark = {"marker": {"color": paint(thing.colour), "size": sizes}, "mode": "lines+markers"}
            named = {"name": said(thing.name), "showlegend": bool(thing.name)}
            return [{"type": "scatter3d", **_places(thing.places), **look, **mark, **named}]
        case Cloud():
            return [_cloud(thing, scene)]
        case Ellipsoid():
            return [_skin(thing)]


def _places(places: tuple[tuple[float, float, float], ...]) -> dict[str, Any]:
    return {axis: finite([place[i] for place in places]) for i, axis in enumerate("xyz")}


def _cloud(thing: Cloud, scene: Scene) -> Json:
    mark: Json = {"size": 4, "color": paint(thing.colour)}
    if thing.values and scene.colours is not None:
        mark |= {"color": finite(thing.values), **colour_bar(scene.colours)}
    own: Json = {"type": "scatter3d", "mode": "markers", **_places(thing.places), "marker": mark}
    own |= {"name": said(thing.name), "showlegend": bool(thing.name)}
    if thing.texts:
        return own | {"text": [said(one) for one in thing.texts], "hovertemplate": "%{text}<extra></extra>"}
    return own | {"hoverinfo": "skip"}


def _skin(thing: Ellipsoid) -> Json:
    corners, faces = sphere()
    places = np.array(thing.centre)[:, None] + np.array(thing.axes).T @ corners
    own: Json = {axis: finite(places[i].round(2).tolist()) for i, axis in enumerate("xyz")}
    own |= dict(zip("ijk", faces.tolist(), strict=True))
    told = {"hovertemplate": f"{said(thing.text)}<extra></extra>"} if thing.text else {"hoverinfo": "skip"}
    return {"type": "mesh3d", **own, "color": paint(thing.colour), "opacity": 0.75, "showscale": False, **told}


def sphere() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Corners (3, n) of a unit sphere and its triangles (3, faces).

    >>> corners, faces = sphere()
    >>> bool(np.allclose((corners**2).sum(axis=0), 1.0)), int(faces.max()) == corners.shape[1] - 1
    (True, True)
    """
    turn, rise = np.linspace(0, 2 * np.pi, AROUND, endpoint=False), np.linspace(-np.pi / 2, np.pi / 2, UP)
    corners = np.stack([np.outer(np.cos(rise), np.cos(turn)), np.outer(np.cos(rise), np.sin(turn)),
                        np.outer(np.sin(rise), np.ones(AROUND))]).reshape(3, -1)  # fmt: skip
    found = []
    for low, high in pairwise(range(UP)):
        for a in range(AROUND):
            b = (a + 1) % AROUND
            corner = [low * AROUND + a, low * AROUND + b, high * AROUND + b, high * AROUND + a]
            found += [corner[:3], [corner[0], corner[2], corner[3]]]
    return corners, np.array(found).T
