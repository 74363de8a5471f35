"""Options that say what pulls on the tool, the same for every command that bends an arm along a path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

ForceFrame = Annotated[
    Literal["world", "tool"], typer.Option(help="Axes of the forces; tool: of the unbent tool at each point.")
]
ConstantForce = Annotated[
    str | None, typer.Option("--force", metavar="X,Y,Z[N]", help="One force everywhere, e.g. 0,0,-1500N.")
]
ConstantTorque = Annotated[
    str | None, typer.Option("--torque", metavar="X,Y,Z[N*m]", help="One couple everywhere, e.g. 0,0,20N*m.")
]
LoadPoint = Annotated[
    str | None, typer.Option("--load-point", metavar="NAME", help="Where --force acts; default: the tool point.")
]
MillingFile = Annotated[
    Path | None, typer.Option("--milling", metavar="TOML", help="A .milling.toml: forces from feed and engagement.")
]
