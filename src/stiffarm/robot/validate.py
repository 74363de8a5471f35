"""From pydantic's errors to problems a user can mend.

pydantic says where (a path of keys) and which rule failed; a message also needs the row, what stood there,
what is allowed and, for a mistyped key, which one was probably meant.
"""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from stiffarm.errors import Problem, did_you_mean
from stiffarm.robot.schema import CONVENTIONS, FORMAT, RobotTable, table_for
from stiffarm.robot.toml_source import Path, TomlSource
from stiffarm.robot.values import RESERVED_JOINTS
from stiffarm.units import units_of

_LENGTH = "a number, in the length unit of the file"
_ANGLE = "a number, in the angle unit of the file"
_VECTOR = "[x, y, z], in the length unit of the file"
ALLOWED = {
    "format": f'"{FORMAT}"',
    "name": "a text",
    "convention": ", ".join(CONVENTIONS),
    "units": '{ length = "mm", angle = "deg" }',
    "length": " ".join(units_of("length")),
    "angle": " ".join(units_of("angle")),
    "gravity": "[x, y, z] in m/s^2",
    "absolute_accuracy": "on, off, unknown",
    "brand": 'a text such as "kuka"',
    "tool0": "{ xyz = [x, y, z], rpy = [roll, pitch, yaw] }: the controller's flange seen from that of the file",
    "notes": "a list of sentences",
    "source": "a sentence",
    "joint": "a joint's name; the joints themselves are [[joint]] tables",
    "type": "revolute or prismatic for a joint, spring or pneumatic for a compensator",
    "alpha": _ANGLE,
    "theta": _ANGLE,
    "a": _LENGTH,
    "d": _LENGTH,
    "L": _LENGTH,
    "s0": _LENGTH,
    "sv": _LENGTH,
    "s_ref": _LENGTH,
    "offset": "a number, in the angle unit of the file (length for a prismatic joint)",
    "sign": "1 or -1",
    "limits": "[low, high] of the controller value",
    "compliance": "SI: a number for a joint (rad/(N m), m/N), 6 rows of 6 for a link",
    "couples_to": '{ joint = "A2", gain = -1.0 }',
    "gain": "a number",
    "mass": "a number, kg",
    "com": _VECTOR,
    "xyz": _VECTOR,
    "rpy": "[roll, pitch, yaw] about the fixed axes x, y, z, in the angle unit of the file",
    "axis": "a unit vector such as [0.0, 0.0, 1.0]",
    "after": "a joint's name, or base",
    "template": "full, symmetric, beam, diagonal",
    "stiffness": "a number, N/m",
    "side": "push, pull",
    "exponent": "1 (slow) to 1.7",
    "area": "a number, m^2",
    "p_ref": "a number, Pa absolute",
    "V_ref": "a number, m^3",
    "parameter": "a name or pattern such as A2.*",
    "sigma": "a positive number, in the unit beside it",
    "unit": " ".join(units_of("length", "angle")),
    "load_points": "{ hook = [x, y, z] }",
    "markers": "{ P1 = [x, y, z] }",
    "on": "a joint's name; base or flange for a capsule",
    "capsule": "[[capsule]] tables",
    "radius": "a positive number, in the length unit of the file",
    "start": _VECTOR,
    "end": _VECTOR,
    "speed": "a positive number, in the angle unit of the file per second (length for a prismatic joint)",
    "urdf": '{ file = "arm.urdf", base = "base_link", tip = "tool0" }',
    "file": "the path of a URDF",
    "base": "a table [base] with xyz and rpy",
    "flange": "a table [flange] with xyz and rpy",
    "tool": "a table [tool]",
    "tip": "a link of the URDF",
    "embedded": "true or false",
    "link": "[[link]] tables",
    "compensator": "[[compensator]] tables",
    "prior": "[[prior]] tables",
}
_ROTATIONS = (
    "quaternion",
    "quat",
    "wxyz",
    "xyzw",
    "rotation",
    "rotation_matrix",
    "matrix",
    "R",
    "rotvec",
    "orientation",
)
_NOT_A_NUMBER = ("float_type", "float_parsing", "int_type", "int_parsing_size")


def validated(source: TomlSource) -> tuple[RobotTable | None, list[Problem]]:
    """The file's tables when they are right, and everything that is wrong with any one of them."""
    model = table_for(source.data)
    try:
        return model.model_validate(source.data), []
    except ValidationError as error:
        details = error.errors(include_url=False)
    mistyped = _mistyped(model, details)
    missing = [detail for detail in details if detail["type"] == "missing" and detail["loc"] in mistyped]
    problems = [_problem(source, model, detail) for detail in details if detail not in missing]
    return None, list(dict.fromkeys(problems))


def _mistyped(model: type[RobotTable], details: list[ErrorDetails]) -> set[Path]:
    """Keys that unknown keys were probably meant to be: they are not reported as missing besides."""
    unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    return {(*at[:-1], key) for at in unknown for key in _keys_at(model, at[:-1]) if did_you_mean(str(at[-1]), [key])}


def _problem(source: TomlSource, model: type[RobotTable], detail: ErrorDetails) -> Problem:
    kind, location, context = detail["type"], detail["loc"], detail.get("ctx", {})
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        location = (*location, "type")
    if kind in ("missing", "union_tag_not_found"):
        return _missing_key(source, location)
    path = source.in_file(location)
    if kind == "stiffarm":
        path += context["at"]
        return source.problem(
            path, context["what"], found=context["found"], allowed=context["allowed"], next_step=context["next_step"]
        )
    if kind == "extra_forbidden":
        return _unknown_key(source, model, location, path)
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    allowed = "spring, pneumatic" if kind == "union_tag_invalid" else _allowed(key, detail)
    found = detail["input"]
    hint = did_you_mean(found, allowed.split(", ")) if kind == "literal_error" and isinstance(found, str) else None
    return source.problem(path, _what(kind, key), allowed=allowed, next_step=hint and hint[0].upper() + hint[1:])


def _missing_key(source: TomlSource, location: Path) -> Problem:
    key = str(location[-1])
    path = (*source.in_file(location[:-1]), key)
    if path == ("joint",):
        allowed = "one [[joint]] table for each joint"
        return source.problem(path, "the robot has no joints", found="nothing", allowed=allowed)
    in_compensator = path[0] == "compensator" and key == "type"
    allowed = "spring, pneumatic" if in_compensator else ALLOWED.get(key, "a value")
    return source.problem(path, f"'{key}' is missing", found="nothing", allowed=allowed)


def _what(kind: str, key: str) -> str:
    if kind in _NOT_A_NUMBER:
        return "this is not a number"
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return "a table is needed here"
    if kind == "list_type":
        return "a list is needed here"
    if kind == "string_type":
        return "a text in quotes is needed here"
    return f"'{key}' cannot be this"


def _allowed(key: str, detail: ErrorDetails) -> str:
    expected = detail.get("ctx", {}).get("expected")
    if detail["type"] == "literal_error" and expected:
        return str(expected).replace("'", "").replace(" or ", ", ")
    if detail["type"] in ("model_type", "dict_type") and detail["loc"][-1] == "joint":
        return "[[joint]] tables"
    return ALLOWED.get(key, f"names are {', '.join(RESERVED_JOINTS)} excepted")


def _unknown_key(source: TomlSource, model: type[RobotTable], location: Path, path: Path) -> Problem:
    key = str(location[-1])
    known = _keys_at(model, location[:-1])
    hint = did_you_mean(key, known)
    if key in _ROTATIONS:
        hint = "rotations are given as rpy, angles about the fixed axes x, y, z"
    return source.problem(
        path,
        f"unknown key '{key}'",
        allowed=", ".join(known),
        next_step=hint[0].upper() + hint[1:] if hint else None,
    )


def _keys_at(model: type[BaseModel], location: Path) -> list[str]:
    """Keys of the table that ``location`` leads to."""
    here: list[type[BaseModel]] = [model]
    steps = iter(step for step in location if isinstance(step, str))
    for step in steps:
        fields = [table.model_fields[step] for table in here if step in table.model_fields]
        if fields:
            here = _tables_in(fields[0].annotation)
            if get_origin(fields[0].annotation) is dict:
                next(steps, None)  # a name the user chose
        else:
            here = [table for table in here if _is_tagged(table, step)] or here
    return [key for table in here[:1] for key in table.model_fields]


def _is_tagged(table: type[BaseModel], tag: str) -> bool:
    return "type" in table.model_fields and get_args(table.model_fields["type"].annotation) == (tag,)


def _tables_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [table for argument in get_args(annotation) for table in _tables_in(argument)]
