"""What stands around the arm in space, without how it is drawn: arms, ellipsoids and points, in mm in the world.

Drawn as two views without a script (from the side and from above), and to be turned with one.
"""

from __future__ import annotations

from dataclasses import dataclass

from stiffarm.report.chart import ColourScale, Numbers
from stiffarm.report.palette import Role

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class ArmLine:
    """An arm as the line through its frames."""

    places: tuple[Vector, ...]
    """mm, world."""
    colour: Role = "nominal"
    name: str = ""
    dots_from: int = 0
    """The first place with a dot: of a force only where it pulls to."""


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid by its centre and its semi-axes."""

    centre: Vector
    """mm, world."""
    axes: tuple[Vector, Vector, Vector]
    """Semi-axes as they are drawn, mm in the picture."""
    colour: Role = "model"
    text: str = ""


@dataclass(frozen=True)
class Cloud:
    """Points in space, coloured by their values."""

    places: tuple[Vector, ...]
    values: Numbers = ()
    texts: tuple[str, ...] = ()
    colour: Role = "model"
    name: str = ""


@dataclass(frozen=True)
class Scene:
    """Things in space."""

    things: tuple[ArmLine | Ellipsoid | Cloud, ...]
    title: str = ""
    colours: ColourScale | None = None
    width: float = 960.0
