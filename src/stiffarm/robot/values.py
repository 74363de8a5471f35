"""The kinds of values a robot file may hold, each a type that checks itself.

A refusal carries what a user needs to mend the value; `validate` adds file, row and key.
"""

from __future__ import annotations

import math
import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError

from stiffarm.errors import did_you_mean
from stiffarm.robot.arm import RESERVED_POINTS
from stiffarm.units import UNITS, units_of

RESERVED_JOINTS = ("base", "tool", "flange", "payload", "load")
LARGEST = 1e15
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_LINK_NAME = re.compile(r"link\d+\Z")
_NAME_RULE = "a letter, then letters, digits, _ or -"


def refusal(
    what: str, allowed: str, next_step: str | None = None, *, at: tuple[str | int, ...] = (), found: str | None = None
) -> PydanticCustomError:
    """An error whose words go to the user as they stand; ``at`` leads on from the value that is checked."""
    words = {"what": what, "allowed": allowed, "next_step": next_step, "at": at, "found": found}
    return PydanticCustomError("stiffarm", "{what}", words)


def _number(value: float) -> float:
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise refusal("this is not a finite number", f"a number within -{LARGEST:g} and {LARGEST:g}")
    return value


def _not_negative(value: float) -> float:
    if value < 0.0:
        raise refusal("this cannot be negative", "0 or more")
    return value


def _gas_exponent(value: float) -> float:
    if not 1.0 <= value <= 1.7:
        raise refusal("this is not the exponent of a gas", "1 (slow) to 1.7; 1.4 for fast nitrogen")
    return value


def _positive(value: float) -> float:
    if value <= 0.0:
        raise refusal("this must be positive", "more than 0")
    return value


def _three(value: object) -> object:
    if not isinstance(value, list) or len(value) != 3 or _looks_like_rotation(value):
        why = "Rotations are given as rpy angles about the fixed axes x, y, z" if _looks_like_rotation(value) else None
        raise refusal("three numbers are needed", "[x, y, z]", why)
    return tuple(value)


def _looks_like_rotation(value: object) -> bool:
    return isinstance(value, list) and (len(value) in (4, 9) or any(isinstance(row, list) for row in value))


def _two(value: object) -> object:
    if not isinstance(value, list) or len(value) != 2:
        raise refusal("two numbers are needed", "[low, high]")
    return tuple(value)


def _rising(limits: tuple[float, float]) -> tuple[float, float]:
    low, high = limits
    if low >= high:
        step = f"Write [{high!r}, {low!r}]" if low > high else "Give the joint a range, or leave limits out"
        raise refusal("the limits are reversed or equal", "[low, high] with low < high", step)
    return limits


def _direction(axis: tuple[float, float, float]) -> tuple[float, float, float]:
    if math.hypot(*axis) < 1e-9:
        raise refusal("the axis has no direction", "a unit vector such as [0.0, 0.0, 1.0]")
    return axis


def _sign(value: object) -> object:
    if isinstance(value, bool) or value not in (1, -1):
        raise refusal("the sign must be 1 or -1", "1 or -1")
    return int(value)


def name_problem(name: str) -> tuple[str, str] | None:
    """What is wrong with a joint's name and what is allowed; None when it can be used."""
    if not _NAME.match(name):
        return "a joint name must serve in parameter names", _NAME_RULE
    if name in RESERVED_JOINTS or _LINK_NAME.match(name):
        return "this joint name is reserved", f"any name but {', '.join(RESERVED_JOINTS)}, link0, link1 and so on"
    return None


def _joint_name(name: str) -> str:
    if refused := name_problem(name):
        raise refusal(*refused)
    return name


def _point_name(name: str) -> str:
    if not _NAME.match(name):
        raise refusal("the name of a point must serve in parameter names", _NAME_RULE)
    if name in RESERVED_POINTS:
        raise refusal("this name is reserved", f"any name but {', '.join(RESERVED_POINTS)}",
                      "The flange and the tool point are always there; give other points other names")  # fmt: skip
    return name


def _text(value: str) -> str:
    if not value.strip():
        raise refusal("this text is empty", "a text")
    return value


def known_unit(*dimensions: str) -> AfterValidator:
    """Check of a unit's symbol: one of the dimensions, or any when none is given."""
    allowed = units_of(*dimensions) if dimensions else list(UNITS)

    def check(symbol: str) -> str:
        if symbol not in allowed:
            raise refusal("this unit is not known here", " ".join(allowed), did_you_mean(symbol, allowed))
        return symbol

    return AfterValidator(check)


def _six_rows(value: object) -> object:
    if not isinstance(value, list) or len(value) != 6 or any(not isinstance(r, list) or len(r) != 6 for r in value):
        shape = f"{len(value)} rows" if isinstance(value, list) else type(value).__name__
        raise refusal(f"a 6x6 matrix is needed, not {shape}", "6 rows of 6 numbers (order x y z rx ry rz)")
    return tuple(tuple(row) for row in value)


def _gravity(vector: tuple[float, float, float]) -> tuple[float, float, float]:
    if math.hypot(*vector) > 30.0:
        raise refusal("this is far more than the gravity of the Earth", "at most 30 m/s^2",
                      "Gravity is in m/s^2 in every file, whatever its units are")  # fmt: skip
    return vector


Number = Annotated[float, AfterValidator(_number)]
NotNegative = Annotated[Number, AfterValidator(_not_negative)]
Positive = Annotated[Number, AfterValidator(_positive)]
GasExponent = Annotated[Number, AfterValidator(_gas_exponent)]
Text = Annotated[str, AfterValidator(_text)]
Vector = Annotated[tuple[Number, Number, Number], BeforeValidator(_three)]
Limits = Annotated[tuple[Number, Number], BeforeValidator(_two), AfterValidator(_rising)]
Axis = Annotated[Vector, AfterValidator(_direction)]
Sign = Annotated[int, BeforeValidator(_sign)]
JointName = Annotated[str, AfterValidator(_joint_name)]
PointName = Annotated[str, AfterValidator(_point_name)]
Row6 = tuple[Number, Number, Number, Number, Number, Number]
Gravity = Annotated[Vector, AfterValidator(_gravity)]
SixBySix = Annotated[tuple[Row6, Row6, Row6, Row6, Row6, Row6], BeforeValidator(_six_rows)]
