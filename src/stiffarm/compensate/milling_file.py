"""`NAME.milling.toml`: a cutter and its engagement, for `stiffarm.compensate.milling`.

Every quantity carries its unit, as the data sheets of cutters have them: ``"0.1 mm"``, ``"1800 N/mm^2"``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from stiffarm.compensate.milling import Milling, Side, Turning
from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.robot.toml_source import TomlSource, toml_source
from stiffarm.robot.values import NotNegative, refusal
from stiffarm.units import parse_quantity, units_of

FORMAT = "stiffarm-milling/1"
AXES = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}
_LARGEST = {"length": 1.0, "pressure": 1e11, "frequency": 5e3}


def _quantity(dimension: str) -> BeforeValidator:
    """A positive quantity with its unit, turned into SI."""
    units = units_of(dimension)
    allowed = f"a number and one of {' '.join(units)} in quotes"

    def to_si(value: object) -> float:
        try:
            si = parse_quantity(value if isinstance(value, str) else "", dimension)
        except InputError:
            raise refusal(f"a {dimension} with its unit is needed", allowed) from None
        if not 0.0 < si <= _LARGEST[dimension]:
            raise refusal("this cannot be", f"more than 0 and at most {_LARGEST[dimension]:g} {units[0]}")
        return si

    return BeforeValidator(to_si)


def _share(value: float) -> float:
    if not abs(value) <= 5.0:
        raise refusal("this is no share of the tangential force", "a number within -5 and 5")
    return value


def _falling(value: float) -> float:
    if value >= 1.0:
        raise refusal("a force would fall with the chip", "0 or more, less than 1; 0.2 to 0.3 for most metals")
    return value


Length = Annotated[float, _quantity("length")]
Pressure = Annotated[float, _quantity("pressure")]
Frequency = Annotated[float, _quantity("frequency")]
Share = Annotated[float, AfterValidator(_share)]
Exponent = Annotated[NotNegative, AfterValidator(_falling)]


class MillingTable(BaseModel):
    """The whole file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal["stiffarm-milling/1"]
    specific_force: Pressure
    depth: Length
    width: Length
    diameter: Length
    teeth: Annotated[int, Field(ge=1, le=1000)]
    feed_per_tooth: Length | None = None
    speed: Frequency | None = None
    side: Side = "down"
    turning: Turning = "right"
    radial: Share = 0.3
    axial: Share = 0.0
    exponent: Exponent = 0.0
    axis: Literal["x", "y", "z", "-x", "-y", "-z"] = "z"
    load_point: str = "tool"


ALLOWED = {
    "format": f'"{FORMAT}"',
    "specific_force": 'a pressure such as "1800 N/mm^2"',
    "depth": 'a length such as "2 mm"',
    "width": 'a length such as "8 mm", at most the diameter',
    "diameter": 'a length such as "16 mm"',
    "teeth": "a whole number from 1",
    "side": '"up" or "down"',
    "turning": '"right" (clockwise seen from the holder) or "left"',
    "axis": ", ".join(f'"{name}"' for name in AXES) + " of the tool, from the holder to the tip",
    "radial": "a number within -5 and 5",
    "axial": "a number within -5 and 5",
    "exponent": "0 or more, less than 1",
    "load_point": "the name of a load point of the robot",
}


def read_milling(path: str | Path) -> Milling:
    """Read the file; `InputError` with row and key of what is wrong."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(Problem(f"the file cannot be read ({error.strerror})", file=str(path))) from None
    source = toml_source(content, str(path))
    try:
        table = MillingTable.model_validate(source.data)
    except ValidationError as error:
        raise InputError([_problem(source, detail) for detail in error.errors(include_url=False)]) from None
    if table.width > table.diameter:
        what = "the cutter cannot be engaged by more than its diameter"
        raise InputError(source.problem(("width",), what, allowed=f"at most {1e3 * table.diameter:g} mm"))
    if (table.feed_per_tooth is None) == (table.speed is None):
        what = "the chip needs either 'feed_per_tooth', or 'speed' and the feeds of the path"
        found = "nothing" if table.speed is None else "both"
        raise InputError(source.problem(("speed",), what, found=found, allowed="one of the two"))
    return Milling(
        specific_force_pa=table.specific_force,
        depth_m=table.depth,
        width_m=table.width,
        diameter_m=table.diameter,
        teeth=table.teeth,
        feed_per_tooth_m=table.feed_per_tooth,
        speed_hz=table.speed,
        side=table.side,
        turning=table.turning,
        radial=table.radial,
        axial=table.axial,
        exponent=table.exponent,
        axis_tool=AXES[table.axis],
        load_point=table.load_point,
    )


def _problem(source: TomlSource, detail: ErrorDetails) -> Problem:
    """The checker's error as a problem with its row, what stood there and what is allowed."""
    kind, context = detail["type"], detail.get("ctx", {})
    path = detail["loc"]
    key = str(path[-1]) if path else ""
    if kind == "stiffarm":
        words: dict[str, Any] = {"allowed": context["allowed"], "next_step": context["next_step"]}
        return source.problem(path, context["what"], **words)
    if kind == "extra_forbidden":
        known = list(MillingTable.model_fields)
        hint = did_you_mean(key, known)
        step = hint[0].upper() + hint[1:] if hint else None
        return source.problem(path, f"unknown key '{key}'", allowed=", ".join(known), next_step=step)
    if kind == "missing":
        return source.problem(path, f"'{key}' is missing", found="nothing", allowed=ALLOWED.get(key))
    return source.problem(path, f"'{key}' cannot be this", allowed=ALLOWED.get(key, "a value of another kind"))
