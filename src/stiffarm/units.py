"""Units exist only at the edge: every number inside stiffarm is SI (m, rad, N, N m, kg, s, degC).

A column header or a quantity carries its unit in brackets or after the number: ``q.A1[deg]``,
``"0.03 mm"``.  `Unit.to_si` multiplies by an exact factor, so that a value already in SI is not touched.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from stiffarm.errors import InputError, Problem, found_text


@dataclass(frozen=True)
class Unit:
    """A unit as it is written in files."""

    symbol: str
    dimension: str
    """``length``, ``angle``, ``force``, ``torque``, ``time``, ``mass``, ``area``, ``volume``, ``pressure``,
    ``speed``, ``frequency``, ``temperature``, ``number``, or one of the compliances."""
    factor: float
    """SI value of one such unit."""

    def to_si(self, value: float) -> float:
        """Value in SI."""
        return value * self.factor


UNITS: dict[str, Unit] = {
    unit.symbol: unit
    for unit in (
        Unit("m", "length", 1.0),
        Unit("mm", "length", 1e-3),
        Unit("um", "length", 1e-6),
        Unit("rad", "angle", 1.0),
        Unit("mrad", "angle", 1e-3),
        Unit("urad", "angle", 1e-6),
        Unit("deg", "angle", math.pi / 180.0),
        Unit("N", "force", 1.0),
        Unit("kN", "force", 1e3),
        Unit("N*m", "torque", 1.0),
        Unit("N*mm", "torque", 1e-3),
        Unit("s", "time", 1.0),
        Unit("kg", "mass", 1.0),
        Unit("m^2", "area", 1.0),
        Unit("m^3", "volume", 1.0),
        Unit("Pa", "pressure", 1.0),
        Unit("MPa", "pressure", 1e6),
        Unit("N/mm^2", "pressure", 1e6),
        Unit("m/s", "speed", 1.0),
        Unit("mm/s", "speed", 1e-3),
        Unit("m/min", "speed", 1.0 / 60.0),
        Unit("mm/min", "speed", 1e-3 / 60.0),
        Unit("1/s", "frequency", 1.0),
        Unit("1/min", "frequency", 1.0 / 60.0),
        Unit("degC", "temperature", 1.0),
        Unit("1", "number", 1.0),
        Unit("rad/(N*m)", "turning compliance", 1.0),
        Unit("m/N", "sliding compliance", 1.0),
        Unit("rad/N", "mixed compliance", 1.0),
    )
}

_OTHER_SPELLINGS = {
    "\u00b0": "deg", "degree": "deg", "degrees": "deg", "radian": "rad", "radians": "rad",
    "\u00b5m": "um", "\u03bcm": "um", "micron": "um", "\u00b5rad": "urad", "\u03bcrad": "urad",
    "millimeter": "mm", "millimetre": "mm", "meter": "m", "metre": "m",
    "nm": "N*m", "n.m": "N*m", "n m": "N*m", "n-m": "N*m", "n\u00b7m": "N*m", "n\u22c5m": "N*m",
    "nmm": "N*mm", "n\u00b7mm": "N*mm", "n\u22c5mm": "N*mm",
    "newton": "N", "sec": "s", "\u00b0c": "degC", "c": "degC",
}  # fmt: skip
"""How units of the same size are written elsewhere, to be named in a message; nothing is converted in silence."""

_HEADER = re.compile(r"^\s*(?P<name>[^\[\]]*?)\s*(?:\[(?P<unit>[^\[\]]*)\])?\s*$")
_USUAL = ("mm", "deg", "N")
"""Units that people's numbers are in when they do not say so: what examples in messages are written in."""
_QUANTITY = re.compile(r"^\s*(?P<value>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(?P<unit>\S+)?\s*$")


def units_of(*dimensions: str) -> list[str]:
    """Symbols allowed for the given dimensions, e.g. ``['m', 'mm', 'um']`` for a length."""
    return [unit.symbol for unit in UNITS.values() if unit.dimension in dimensions]


def nearest_unit(text: str | None, allowed: Sequence[str]) -> str:
    """The allowed unit that a text most likely means, the usual one when nothing is near.

    >>> nearest_unit("\N{DEGREE SIGN}", ["rad", "deg"]), nearest_unit("M", ["m", "mm"]), nearest_unit(None, ["m", "mm"])
    ('deg', 'm', 'mm')
    """
    plain = (text or "").strip().lower()
    meant = _OTHER_SPELLINGS.get(plain) or next((unit for unit in allowed if unit.lower() == plain), None)
    usual = next((unit for unit in _USUAL if unit in allowed), allowed[0])
    return usual if meant is None or meant not in allowed else meant


def split_header(header: str) -> tuple[str, str | None]:
    """Name and unit of a column header; the unit is None when there are no brackets.

    >>> split_header("q.A1[deg]"), split_header("experiment")
    (('q.A1', 'deg'), ('experiment', None))
    """
    match = _HEADER.match(header)
    if match is None:
        return header.strip(), None
    unit = match["unit"]
    return match["name"], None if unit is None else unit.strip()


def _example(text: str, dimension: str) -> str:
    """A quantity as it should be written: with what stands there, when that can be told.

    >>> _example("0,03mm", "length"), _example("1500", "force"), _example("thin", "length")
    ('0.03mm', '1500 N', '0.1 mm')
    """
    symbols = units_of(dimension)
    usual = next((symbol for symbol in _USUAL if symbol in symbols), symbols[:2][-1])
    match = _QUANTITY.match(text.replace(",", ".", 1))
    if match is not None and math.isfinite(float(match["value"])):
        if match["unit"] in symbols:
            return text.strip().replace(",", ".", 1)
        if match["unit"] is None:
            return f"{match['value']} {usual}"
    return f"0.1 {usual}"


def parse_quantity(text: str | float, dimension: str, *, file: str | None = None, key: str | None = None) -> float:
    """SI value of a quantity such as ``"0.03 mm"``; a bare number is refused, its unit being unknown.

    >>> parse_quantity("250 um", "length")
    0.00025
    """
    match = _QUANTITY.match(str(text))
    unit = UNITS.get(match["unit"] or "") if match else None
    if match is None or unit is None or unit.dimension != dimension or not math.isfinite(float(match["value"])):
        raise InputError(
            Problem(
                f"a {dimension} with its unit is needed",
                file=file,
                column=key,
                found=found_text(text),
                allowed=f"a number and one of {' '.join(units_of(dimension))}",
                next_step=f'Write for instance "{_example(str(text), dimension)}"',
            )
        )
    return unit.to_si(float(match["value"]))
