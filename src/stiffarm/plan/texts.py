"""Points, boxes and forces as they are typed: ``5,6,-0.891[m]``, ``x=2..6,y=6,z>=0.5[m]``, ``4000N``.

The unit stands once at the end, in brackets.  What cannot be meant is refused in words.
"""

from __future__ import annotations

import math
import re

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.plan.options import INFINITY, Box
from stiffarm.robot.arm import Robot, Vector3
from stiffarm.units import UNITS, parse_quantity, units_of

POINT = 'X,Y,Z[unit], such as "5.04,6,-0.891[m]"'
BOX = 'sides by axis, such as "x=2..6,y=6,z=-0.891[m]" or "z>=0.5[m]"'
FORCE = 'a size such as 4000N, or three components such as "0,0,-2600[N]"'
_UNIT = re.compile(r"^(?P<body>.*)\[(?P<unit>[^\[\]]*)\]\s*$", re.DOTALL)
FARTHEST_M = 100.0
"""No cell is larger: farther coordinates are millimetres that are called metres."""
_DECIMAL_COMMA = re.compile(r"^\s*[-+]?\d+,\d+\s*[a-zA-Z]+\s*$")
_SIDE = re.compile(r"^\s*(?P<axis>[xyz])\s*(?P<sign><=|>=|=|<|>)\s*(?P<value>\S.*?)\s*$")


def point_of(text: str, option: str, dimension: str = "length") -> Vector3:
    """Three numbers with their unit, in SI.

    >>> point_of("5040,6000,-891[mm]", "--cable")
    (5.04, 6.0, -0.891)
    """
    form = POINT if dimension == "length" else FORCE
    body, factor = _split(text, option, dimension, form)
    numbers = tuple(_number(part, text, option, form) * factor for part in body.split(","))
    if len(numbers) != 3:
        raise _refusal(f"three coordinates are needed, there are {len(numbers)}", text, option, form)
    return numbers


def box_of(text: str, option: str) -> Box:
    """A box of the world.

    >>> box_of("x=2..6, y=6, z=-0.891[m]", "--cable-box")
    Box(low_m=(2.0, 6.0, -0.891), high_m=(6.0, 6.0, -0.891))
    >>> box_of("z>=500[mm]", "--tool-box").low_m
    (-inf, -inf, 0.5)
    """
    body, factor = _split(text, option, "length", BOX)
    low, high = dict.fromkeys("xyz", -INFINITY), dict.fromkeys("xyz", INFINITY)
    for part in body.split(","):
        side = _SIDE.match(part)
        if side is None:
            raise _refusal(f"a side of the box cannot be read: {part.strip()!r}", text, option, BOX)
        axis, sign = side["axis"], side["sign"]
        bounds = [_number(one, text, option, BOX) * factor for one in side["value"].split("..")]
        if len(bounds) > (2 if sign == "=" else 1):
            raise _refusal(f"a side of the box cannot be read: {part.strip()!r}", text, option, BOX)
        if not sign.startswith("<"):
            low[axis] = max(low[axis], bounds[0])
        if not sign.startswith(">"):
            high[axis] = min(high[axis], bounds[-1])
    for axis in "xyz":
        far = [bound for bound in (low[axis], high[axis]) if FARTHEST_M < abs(bound) < INFINITY]
        if far:
            what = f"the units look wrong: {axis} = {far[0]:g} m"
            raise _refusal(what, text, option, f"at most {FARTHEST_M:g} m from the origin; mend the number or its unit")
        if low[axis] > high[axis]:
            what = f"the box is empty: {axis} from {low[axis]:g} m to {high[axis]:g} m"
            raise _refusal(what, text, option, BOX)
    return Box((low["x"], low["y"], low["z"]), (high["x"], high["y"], high["z"]))


def attachment_of(text: str, option: str) -> Box:
    """Where a cable may be attached: a box with six sides."""
    box = box_of(text, option)
    if box.closed:
        return box
    open_ = [
        a for a, low, high in zip("xyz", box.low_m, box.high_m, strict=True) if max(abs(low), abs(high)) == INFINITY
    ]
    raise _refusal(f"the box must be closed, it is open along {' and '.join(open_)}", text, option, BOX)


def force_of(text: str, option: str) -> float | Vector3:
    """The size of a force in N, or its three components.

    >>> force_of("4 kN", "--force"), force_of("0,0,-2.6[kN]", "--force")
    (4000.0, (0.0, 0.0, -2600.0))
    """
    if "," in text and not _DECIMAL_COMMA.match(text):
        components = point_of(text, option, "force")
        if not any(components):
            raise _refusal("this force is nothing", text, option, FORCE)
        return components
    size = parse_quantity(text, "force", key=option)
    if size <= 0.0:
        raise _refusal("the size of a force is positive", text, option, FORCE)
    return size


def length_of(text: str, option: str, dimension: str = "length") -> float:
    """A quantity that is positive, SI."""
    value = parse_quantity(text, dimension, key=option)
    if value <= 0.0:
        raise _refusal("this must be positive", text, option, f"a {dimension}, more than 0")
    return value


def span_of(text: str, option: str) -> tuple[float, float]:
    """A nearest and a farthest distance, m.

    >>> span_of("1.5..15[m]", "--sight")
    (1.5, 15.0)
    """
    form = 'nearest..farthest with the unit, such as "1.5..15[m]"'
    body, factor = _split(text, option, "length", form)
    bounds = [_number(part, text, option, form) * factor for part in body.split("..")]
    if len(bounds) != 2 or not 0.0 <= bounds[0] < bounds[1]:
        raise _refusal("a nearest and a farthest distance are needed", text, option, form)
    return bounds[0], bounds[1]


def direction_of(text: str, option: str) -> Vector3:
    """Three numbers of which only the direction counts.

    >>> direction_of("0,0,1", "--facing")
    (0.0, 0.0, 1.0)
    """
    form = "X,Y,Z in the axes of the flange, such as 0,0,1"
    numbers = tuple(_number(part, text, option, form) for part in text.split(","))
    if len(numbers) != 3 or not any(numbers):
        raise _refusal("a direction has three components", text, option, form)
    return numbers


def cone_of(text: str, option: str) -> tuple[Vector3, float]:
    """An axis and the angle (rad) about it.

    >>> axis, half = cone_of("0,1,-1:45deg", "--cable-cone")
    >>> axis, round(half, 6)
    ((0.0, 1.0, -1.0), 0.785398)
    """
    form = 'X,Y,Z:ANGLE in the world, such as "0,1,-1:40deg"'
    axis, colon, angle = text.partition(":")
    numbers = tuple(_number(part, text, option, form) for part in axis.split(","))
    if not colon or len(numbers) != 3 or not any(numbers):
        raise _refusal("an axis with three components and an angle are needed", text, option, form)
    return numbers, length_of(angle.strip(), option, "angle")


def angles_of(text: str, option: str, robot: Robot) -> tuple[str, tuple[float, ...]]:
    """A joint and the values at which it stands, SI, rising."""
    form = 'JOINT=values with their unit, such as "A2=0,-30,-60,-90[deg]"'
    joint, equals, values = (part.strip() for part in text.partition("="))
    if not equals:
        raise _refusal("a joint with its values is needed", text, option, form)
    if joint not in robot.joint_names:
        known = robot.joint_names
        raise InputError(
            Problem(
                "the robot has no such joint",
                column=option,
                found=repr(joint),
                allowed=" ".join(known),
                next_step=did_you_mean(joint, known),
            )
        )
    kind = robot.joints[robot.joint_index(joint)].kind
    body, factor = _split(values, option, "angle" if kind == "revolute" else "length", form)
    return joint, tuple(sorted({_number(part, text, option, form) * factor for part in body.split(",")}))


def _split(text: str, option: str, dimension: str, form: str) -> tuple[str, float]:
    """What stands before the unit, and the unit's factor."""
    found = _UNIT.match(text)
    units = " ".join(units_of(dimension))
    if found is None:
        raise _refusal(f"the unit is missing, in brackets at the end: one of {units}", text, option, form)
    unit = UNITS.get(found["unit"].strip())
    if unit is None or unit.dimension != dimension:
        what = f"[{found['unit']}] is not a unit of {'a' if dimension[0] not in 'aeiou' else 'an'} {dimension}"
        raise _refusal(f"{what}: one of {units}", text, option, form)
    return found["body"], unit.factor


def _number(text: str, whole: str, option: str, form: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _refusal(f"{text.strip()!r} is not a number", whole, option, form)
    return value


def _refusal(what: str, text: str, option: str, form: str) -> InputError:
    return InputError(Problem(what, column=option, found=found_text(text), allowed=form))
