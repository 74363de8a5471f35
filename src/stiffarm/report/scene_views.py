"""A scene seen from the side and from above, as charts: the shadow of an ellipsoid is an ellipse.

With the semi-axes as columns of A, an ellipsoid is A u for unit vectors u.  Seen along an axis it keeps two rows P A
of A, and the edge of its shadow is S e for unit vectors e of the plane, with S the symmetric root of P A A' P'.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.report.chart import Axis, Chart, Line, Mark, Points
from stiffarm.report.scene import ArmLine, Cloud, Ellipsoid, Scene

Floats = NDArray[np.float64]
VIEWS = (("from the side", (0, 2), "x, mm", "z, mm"), ("from above", (0, 1), "x, mm", "y, mm"))
AROUND = 48


def views(scene: Scene) -> tuple[Chart, ...]:
    """The scene from the side (x to the right, z up) and from above (x to the right, y up)."""
    found = []
    for words, (across, up), x_title, y_title in VIEWS:
        marks = [mark for thing in scene.things for mark in _seen(thing, across, up)]
        title = f"{scene.title}: {words}" if scene.title else words
        found.append(Chart(Axis(x_title), Axis(y_title), tuple(marks), title, 360.0, equal=True, colours=scene.colours))
    return tuple(found)


def _seen(thing: ArmLine | Ellipsoid | Cloud, across: int, up: int) -> list[Mark]:
    match thing:
        case ArmLine():
            x, y = (tuple(place[i] for place in thing.places) for i in (across, up))
            dots = Points(x[thing.dots_from :], y[thing.dots_from :], thing.colour)
            return [Line(x, y, thing.colour, name=thing.name), dots]
        case Cloud():
            x, y = (tuple(place[i] for place in thing.places) for i in (across, up))
            return [Points(x, y, thing.colour, name=thing.name, texts=thing.texts, values=thing.values)]
        case Ellipsoid():
            edge = shadow(np.array(thing.axes).T, across, up)
            x, y = (tuple(map(float, thing.centre[i] + row)) for i, row in zip((across, up), edge, strict=True))
            texts = (thing.text,) * AROUND if thing.text else ()
            return [Line(x, y, thing.colour, texts=texts)]


def shadow(axes: Floats, across: int, up: int) -> Floats:
    """(2, around) edge of an ellipsoid's shadow about its centre; ``axes`` (3, 3) has the semi-axes as columns.

    >>> shadow(np.diag([1.0, 2.0, 3.0]), 0, 2).max(axis=1).round(2).tolist()
    [1.0, 3.0]
    """
    part = axes[[across, up]]
    size, turn = np.linalg.eigh(part @ part.T)
    root = turn @ np.diag(np.sqrt(np.maximum(size, 0.0))) @ turn.T
    angle = np.linspace(0.0, 2.0 * np.pi, AROUND)
    return np.asarray(root @ np.stack([np.cos(angle), np.sin(angle)]))
