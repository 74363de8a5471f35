"""Options of `stiffarm compensate` about the controller that a program is handed to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from stiffarm.compensate.cell import Cell

Targets = Annotated[
    Literal["joints", "poses"] | None,
    typer.Option(help="Tell a controller joint values or poses. [default: as the path states its points]"),
]
Base = Annotated[
    list[str],
    typer.Option(
        metavar="[NAME=]FRAME", help="Base of the poses, in the world: X,Y,Z,A,B,C or x,y,z,q1,q2,q3,q4; mm, deg."
    ),
]
Tool = Annotated[
    list[str],
    typer.Option(metavar="[NAME=]FRAME", help="Tool, in the controller's flange frame; NAME=file: the robot file's."),
]
Speed = Annotated[str | None, typer.Option(metavar="SPEED", help="Where the path has no feed or time, e.g. 50mm/s.")]
Blend = Annotated[str | None, typer.Option(metavar="LENGTH", help="Radius of rounded corners; default: none.")]
MostPoints = Annotated[int, typer.Option(min=1, metavar="N", help="Refuse a longer program.")]
AllowAbsoluteAccuracy = Annotated[
    bool,
    typer.Option("--allow-absolute-accuracy", help="Write although the controller may correct by itself."),
]


def cell_of(
    targets: Literal["joints", "poses"] | None,
    base: list[str],
    tool: list[str],
    speed: str | None,
    blend: str | None,
    most_points: int,
) -> Cell:
    """What the options say of the cell."""
    from dataclasses import replace

    from stiffarm.compensate.cell import DEFAULT_SPEED_M_S, Cell
    from stiffarm.errors import InputError, Problem
    from stiffarm.units import parse_quantity

    speed_m_s = DEFAULT_SPEED_M_S if speed is None else parse_quantity(speed, "speed", key="--speed")
    blend_m = 0.0 if blend is None else parse_quantity(blend, "length", key="--blend")
    for option, value, least in (("--speed", speed_m_s, 1e-6), ("--blend", blend_m, 0.0)):
        if not least <= value <= 10.0:
            raise InputError(Problem("no controller takes this", column=option, found=f"{value:g} (SI)"))
    cell = Cell.of(base, tool)
    return replace(cell, targets=targets, speed_m_s=speed_m_s, blend_m=blend_m, most_points=most_points)
