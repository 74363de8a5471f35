"""`NAME.cell.toml`: what stands around the arm, in the world: rods with round ends and boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.plan.solids import BASE, Box, Cell, Rod
from stiffarm.robot.arm import ZERO3, Vector3
from stiffarm.robot.placement import Rigid, rotation_from_rpy
from stiffarm.robot.schema import Table, UnitsTable
from stiffarm.robot.toml_source import Path as Place
from stiffarm.robot.toml_source import TomlSource, toml_source
from stiffarm.robot.values import Positive, Text, Vector
from stiffarm.units import UNITS

FORMAT = "stiffarm-cell/1"


class _Obstacle(Table):
    name: Text


class CapsuleObstacle(_Obstacle):
    """A rod with round ends; a ball when it has no ``end``."""

    type: Literal["capsule"]
    radius: Positive
    start: Vector
    end: Vector | None = None


class BoxObstacle(_Obstacle):
    """A box about its centre."""

    type: Literal["box"]
    size: Vector
    xyz: Vector
    rpy: Vector = ZERO3


class CellTable(Table):
    """The whole file."""

    format: Literal["stiffarm-cell/1"]
    units: UnitsTable
    obstacle: list[Annotated[CapsuleObstacle | BoxObstacle, Field(discriminator="type")]]


ALLOWED = {
    "format": f'"{FORMAT}"',
    "units": '{ length = "mm", angle = "deg" }',
    "obstacle": "[[obstacle]] tables",
    "type": "capsule, box",
    "name": "a text",
    "radius": "a positive number, in the length unit of the file",
    "size": "[x, y, z], the edges, in the length unit of the file",
    "rpy": "[roll, pitch, yaw] about the fixed axes x, y, z, in the angle unit of the file",
    **dict.fromkeys(("start", "end", "xyz"), "[x, y, z] in the world, in the length unit of the file"),
}
TABLES: dict[str, type[Table]] = {"capsule": CapsuleObstacle, "box": BoxObstacle, "units": UnitsTable}


def read_cell(path: str | Path) -> Cell:
    """The obstacles of a cell file; raises `InputError` with every problem of the file."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        what = f"the cell file cannot be read ({(error.strerror or str(error)).lower()})"
        raise InputError(Problem(what, file=str(path), allowed="a file such as my.cell.toml")) from None
    source = toml_source(content, str(path))
    try:
        table = CellTable.model_validate(source.data)
    except ValidationError as error:
        raise InputError([_problem(source, detail) for detail in error.errors(include_url=False)]) from None
    return _cell(source, table)


def _cell(source: TomlSource, table: CellTable) -> Cell:
    length, angle = UNITS[table.units.length].to_si, UNITS[table.units.angle].to_si

    def point(xyz: Vector3) -> Vector3:
        x, y, z = xyz
        return length(x), length(y), length(z)

    rods: list[Rod] = []
    boxes: list[Box] = []
    for i, obstacle in enumerate(table.obstacle):
        if isinstance(obstacle, CapsuleObstacle):
            end = obstacle.start if obstacle.end is None else obstacle.end
            rods.append(Rod(obstacle.name, BASE, point(obstacle.start), point(end), length(obstacle.radius)))
            continue
        if min(obstacle.size) <= 0.0:
            path: Place = ("obstacle", i, "size")
            raise InputError(source.problem(path, "a box has three edges", allowed="three numbers above 0"))
        x, y, z = point(obstacle.size)
        turn = rotation_from_rpy(tuple(angle(value) for value in obstacle.rpy))
        boxes.append(Box(obstacle.name, Rigid(turn, np.array(point(obstacle.xyz))), (0.5 * x, 0.5 * y, 0.5 * z)))
    return Cell(tuple(rods), tuple(boxes))


def _problem(source: TomlSource, detail: ErrorDetails) -> Problem:
    """pydantic's error as a problem with its row, what stood there and what is allowed."""
    kind, context = detail["type"], detail.get("ctx", {})
    tags = [step for step in detail["loc"] if step in ("capsule", "box")]
    path: Place = tuple(step for step in detail["loc"] if step not in ("capsule", "box"))
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        path = (*path, "type")
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    if kind == "stiffarm":
        return source.problem(path, context["what"], allowed=context["allowed"], next_step=context["next_step"])
    if kind == "extra_forbidden":
        table = TABLES.get(str(tags[0] if tags else path[0]), CellTable) if len(path) > 1 else CellTable
        known = list(table.model_fields)
        hint = did_you_mean(key, known)
        step = hint[0].upper() + hint[1:] if hint else None
        return source.problem(path, f"unknown key '{key}'", allowed=", ".join(known), next_step=step)
    if kind in ("missing", "union_tag_not_found"):
        return source.problem(path, f"'{key}' is missing", found="nothing", allowed=ALLOWED.get(key))
    return source.problem(path, f"'{key}' cannot be this", allowed=ALLOWED.get(key, "a value of another kind"))
