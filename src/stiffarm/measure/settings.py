"""`NAME.campaign.toml`: what is known of the instrument, of shared errors, of the load and of the setups.

Lengths and angles of instruments are written with their unit (``"5 um"``) because they span six decades.
Coordinates in ``[setup.*]`` are plain numbers, mm and rad, as on a drawing; a quantity such as
``"0.25 m"`` may stand in their place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.measure.campaign import (
    Instrument,
    Isotropic,
    LoadUncertainty,
    Payload,
    Setup,
    SharedError,
    SigmaTable,
    Spherical,
    Tracker,
)
from stiffarm.measure.frames import FrameFile, Source
from stiffarm.measure.published import known_table, published_noise
from stiffarm.robot.arm import ZERO3, Placement
from stiffarm.robot.toml_source import TomlSource, dotted, toml_source
from stiffarm.robot.values import NotNegative, refusal
from stiffarm.units import parse_quantity, units_of

FORMAT = "stiffarm-campaign/1"
SUFFIXES = (".campaign.csv", ".plan.csv", ".path.csv", ".csv")
MILLIMETRE = 1e-3
TWO_TURNS = 4.0 * math.pi
SI_OF = {"length": "m", "angle": "rad"}


def stem_of(path: Source) -> str:
    """File name without its suffix, e.g. ``day1`` for ``day1.campaign.csv``."""
    name = path.name if isinstance(path, FrameFile) else Path(path).name
    return next((name.removesuffix(s) for s in SUFFIXES if name.endswith(s) and name != s), name)


def settings_path(path: str | Path) -> Path:
    """Where the settings of a campaign file are looked for."""
    return Path(path).with_name(stem_of(path) + ".campaign.toml")


def _quantity(dimension: str, low: float, plain: float | None = None, high: float = 1e6) -> BeforeValidator:
    """A quantity with its unit, turned into SI; ``plain`` is what a bare number is multiplied by."""
    example = f"a number and one of {' '.join(units_of(dimension))} in quotes"
    needed = f"{'an' if dimension[0] in 'aeiou' else 'a'} {dimension} with its unit is needed"

    def to_si(value: object) -> object:
        if isinstance(value, int | float) and not isinstance(value, bool) and plain is not None:
            si = value * plain
        elif isinstance(value, str):
            try:
                si = parse_quantity(value, dimension)
            except InputError:
                raise refusal(needed, example) from None
        else:
            raise refusal(needed, example)
        if not abs(si) < 1e6 or si < low:
            raise refusal(f"this {dimension} cannot be", "a finite number" + (", not negative" if low >= 0.0 else ""))
        if abs(si) > high:
            raise refusal("the units look wrong: the number is too large", f"at most {high:.4g} {SI_OF[dimension]}")
        return si

    return BeforeValidator(to_si)


def _triple(value: object) -> object:
    if not isinstance(value, list) or len(value) != 3:
        raise refusal("three numbers are needed", "[x, y, z]")
    return tuple(value)


def _pair(value: object) -> object:
    if not isinstance(value, list) or len(value) != 2:
        raise refusal("a constant and a part per metre are needed", '["5 um", 1e-6]')
    return tuple(value)


def _positive(value: float) -> float:
    if value <= 0.0:
        raise refusal("this must be positive", "more than 0")
    return value


Length = Annotated[float, _quantity("length", 0.0)]
Angle = Annotated[float, _quantity("angle", 0.0)]
Coordinate = Annotated[float, _quantity("length", -1e6, MILLIMETRE)]
Rotation = Annotated[float, _quantity("angle", -1e6, 1.0, TWO_TURNS)]
Point = Annotated[tuple[Coordinate, Coordinate, Coordinate], BeforeValidator(_triple)]
Rotations = Annotated[tuple[Rotation, Rotation, Rotation], BeforeValidator(_triple)]
Sigmas = Annotated[tuple[Length, Length, Length], BeforeValidator(_triple)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class InstrumentTable(_Table):
    """``[instrument]``."""

    type: Literal["isotropic", "tracker", "table", "spherical"]
    sigma: Length | None = None
    sigma_rotation: Angle | None = None
    range: Annotated[tuple[Length, NotNegative], BeforeValidator(_pair)] | None = None
    angle: Angle | None = None
    table: dict[str, Sigmas] | None = None


class SharedTable(_Table):
    """``[shared]``."""

    translation: Length = 0.0
    rotation: Angle = 0.0


class LoadTable(_Table):
    """``[load]``."""

    gain_sigma: NotNegative = 0.0
    direction_sigma: Angle = 0.0
    shared: Literal["campaign", "setup", "experiment"] = "campaign"


class PayloadTable(_Table):
    """``payload`` of a setup: kg, mm in the flange frame."""

    mass: NotNegative
    com: Point = ZERO3
    mass_sigma: NotNegative = 0.0


class SetupTable(_Table):
    """``[setup.NAME]``: mm and rad."""

    xyz: Point | None = None
    rpy: Rotations | None = None
    station: Point | None = None
    payload: PayloadTable | None = None


class CampaignTables(_Table):
    """The whole file."""

    format: Literal["stiffarm-campaign/1"]
    instrument: InstrumentTable | None = None
    shared: SharedTable = SharedTable()
    load: LoadTable = LoadTable()
    setup: dict[str, SetupTable] = Field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """A settings file in SI."""

    instrument: Instrument | None = None
    published: str | None = None
    """The instrument is a table of this name (`stiffarm.measure.published`)."""
    sigma_by_cell: bool = False
    """The instrument is a table and the table is in the ``sigma.`` columns of the campaign."""
    shared: SharedError = field(default_factory=SharedError)
    load_uncertainty: LoadUncertainty = field(default_factory=LoadUncertainty)
    setups: tuple[Setup, ...] = ()
    file: str | None = None
    warnings: tuple[str, ...] = ()

    def instrument_for(self, experiments: Sequence[str]) -> Instrument | None:
        """The instrument of a campaign with these experiments, which a published table is laid over in order."""
        if self.published is None:
            return self.instrument
        try:
            return published_noise(experiments, self.published)
        except InputError as error:
            place = replace(error.problems[0], file=self.file, column="instrument.table")
            raise InputError(place) from None


def read_settings(path: str | Path) -> Settings:
    """Read a settings file; nothing is known when there is none."""
    if not Path(path).exists():
        return Settings()
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(Problem(f"the file cannot be read ({error.strerror})", file=str(path))) from None
    source = toml_source(content, str(path))
    published = _published(source)
    data = source.data
    if published is not None:
        data = {**data, "instrument": {k: v for k, v in data["instrument"].items() if k != "table"}}
    try:
        tables = CampaignTables.model_validate(data)
    except ValidationError as error:
        raise InputError([_problem(source, detail) for detail in error.errors(include_url=False)]) from None
    instrument, unused = _instrument(source, tables.instrument)
    load = tables.load
    return Settings(
        instrument=instrument,
        published=published,
        sigma_by_cell=tables.instrument is not None and instrument is None and published is None,
        shared=SharedError(tables.shared.translation, tables.shared.rotation),
        load_uncertainty=LoadUncertainty(load.gain_sigma, load.direction_sigma, load.shared),
        setups=tuple(_setup(name, table) for name, table in tables.setup.items()),
        file=source.file,
        warnings=unused,
    )


def settings_of(source: Source) -> Settings:
    """What is stated beside a campaign file, or with a frame."""
    if isinstance(source, FrameFile):
        return Settings() if source.settings is None else read_settings(_present(source.settings))
    return read_settings(settings_path(source))


def _present(path: Path) -> Path:
    if not path.is_file():
        raise InputError(Problem("the settings file does not exist", file=str(path)))
    return path


def _published(source: TomlSource) -> str | None:
    """The name of a published table, when that stands in the place of a table."""
    path = ("instrument", "table")
    name = source.value(path)
    if not isinstance(name, str) or source.value(("instrument", "type")) != "table":
        return None
    if problem := known_table(name):
        raise InputError(replace(problem, file=source.file, row=source.row(path), column=dotted(path)))
    return name


_NEEDED: dict[str, tuple[str, ...]] = {
    "isotropic": ("sigma",),
    "spherical": ("sigma",),
    "tracker": ("range", "angle"),
    "table": (),
}
_USED: dict[str, tuple[str, ...]] = {**_NEEDED, "isotropic": ("sigma", "sigma_rotation"), "table": ("table",)}


def _instrument(source: TomlSource, table: InstrumentTable | None) -> tuple[Instrument | None, tuple[str, ...]]:
    """The instrument, and a warning for keys that its type does not use."""
    if table is None:
        return None, ()
    given = [key for key in InstrumentTable.model_fields if key != "type" and getattr(table, key) is not None]
    for key in _NEEDED[table.type]:
        if key not in given:
            what = f"a {table.type} instrument needs '{key}'"
            raise InputError(source.problem(("instrument", key), what, found="nothing", allowed=ALLOWED[key]))
        if key in ("sigma", "angle") and getattr(table, key) <= 0.0:
            raise InputError(source.problem(("instrument", key), "this must be positive", allowed="more than 0"))
    unused = [key for key in given if key not in _USED[table.type]]
    warnings = tuple(f"{source.file}: a {table.type} instrument does not use '{key}'." for key in unused)
    return _INSTRUMENTS[table.type](table), warnings


def _table_instrument(table: InstrumentTable) -> Instrument | None:
    return None if table.table is None else SigmaTable(tuple(table.table), tuple(table.table.values()))


def _tracker(table: InstrumentTable) -> Instrument:
    constant, per_metre = table.range or (0.0, 0.0)
    return Tracker(constant, per_metre, table.angle or 0.0)


_INSTRUMENTS: dict[str, Callable[[InstrumentTable], Instrument | None]] = {
    "isotropic": lambda table: Isotropic(table.sigma or 0.0, table.sigma_rotation),
    "spherical": lambda table: Spherical(table.sigma or 0.0),
    "tracker": _tracker,
    "table": _table_instrument,
}


def _setup(name: str, table: SetupTable) -> Setup:
    placed = table.xyz is not None or table.rpy is not None
    payload = table.payload
    return Setup(
        name=name,
        placement=Placement(table.xyz or ZERO3, table.rpy or ZERO3) if placed else None,
        station_m=table.station,
        payload=None if payload is None else Payload(payload.mass, payload.com, payload.mass_sigma),
    )


ALLOWED: dict[str, str] = {
    "format": f'"{FORMAT}"',
    "type": "isotropic, tracker, table, spherical",
    "sigma": 'a length such as "0.03 mm"',
    "sigma_rotation": 'an angle such as "0.1 mrad"',
    "range": 'constant and per metre, ["5 um", 1e-6]',
    "angle": 'an angle such as "2 urad"',
    "table": 'standard deviations of x, y, z by experiment, { e1 = ["10 um", "10 um", "20 um"] }',
    "shared": "campaign, setup, experiment",
    "mass": "a number, kg",
    "mass_sigma": "a number, kg",
    "gain_sigma": "a number, 0 or more",
}


TABLES: dict[str, str] = {
    **{name: f"[{name}] with its keys below" for name in ("instrument", "shared", "load")},
    "setup": "[setup.NAME] for every setup",
    "instrument.table": ALLOWED["table"],
}


def _problem(source: TomlSource, detail: ErrorDetails) -> Problem:
    """pydantic's error as a problem with its row, what stood there and what is allowed."""
    kind, context = detail["type"], detail.get("ctx", {})
    path = tuple(step for step in detail["loc"] if step != "[key]")
    key = next((step for step in reversed(path) if isinstance(step, str)), "")
    if kind == "stiffarm":
        return source.problem(path, context["what"], allowed=context["allowed"], next_step=context["next_step"])
    if kind == "extra_forbidden":
        known = _keys_at(path[:-1])
        hint = did_you_mean(key, known)
        step = hint[0].upper() + hint[1:] if hint else None
        return source.problem(path, f"unknown key '{key}'", allowed=", ".join(known), next_step=step)
    if kind == "missing":
        return source.problem(path, f"'{key}' is missing", found="nothing", allowed=ALLOWED.get(key))
    if kind in ("model_type", "dict_type"):
        return source.problem(path, "a table is needed here", allowed=TABLES.get(dotted(path), "a table in braces"))
    return source.problem(path, f"'{key}' cannot be this", allowed=ALLOWED.get(key, "a value of another kind"))


def _keys_at(path: tuple[str | int, ...]) -> list[str]:
    tables: dict[str, Any] = {"instrument": InstrumentTable, "shared": SharedTable, "load": LoadTable}
    if not path:
        return list(CampaignTables.model_fields)
    table = PayloadTable if path[-1] == "payload" else tables.get(str(path[0]), SetupTable)
    return list(table.model_fields)
