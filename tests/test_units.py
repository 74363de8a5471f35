"""Units at the edge: what each is worth, how headers and quantities are read, what a wrong one is told."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stiffarm.errors import InputError
from stiffarm.units import UNITS, parse_quantity, split_header, units_of

WORTH = {
    "m": 1.0, "mm": 1e-3, "um": 1e-6, "rad": 1.0, "mrad": 1e-3, "urad": 1e-6, "N": 1.0, "kN": 1e3, "N*m": 1.0,
    "N*mm": 1e-3, "s": 1.0, "kg": 1.0, "m^2": 1.0, "m^3": 1.0, "Pa": 1.0, "degC": 1.0, "1": 1.0, "MPa": 1e6,
    "N/mm^2": 1e6, "m/s": 1.0, "mm/s": 1e-3, "m/min": 1 / 60, "mm/min": 1e-3 / 60, "1/s": 1.0, "1/min": 1 / 60,
}  # fmt: skip
"""What the file formats allow, in SI."""


@pytest.mark.parametrize("symbol", WORTH)
def test_what_a_unit_is_worth(symbol: str) -> None:
    assert UNITS[symbol].to_si(2.0) == 2.0 * WORTH[symbol]


def test_half_a_turn_is_180_degrees() -> None:
    assert UNITS["deg"].to_si(180.0) == math.pi
    assert UNITS["deg"].to_si(90.0) == math.pi / 2


def test_symbols_are_the_keys_and_every_dimension_has_its_si_unit() -> None:
    assert all(unit.symbol == symbol for symbol, unit in UNITS.items())
    dimensions = {unit.dimension for unit in UNITS.values()}
    assert dimensions == {unit.dimension for unit in UNITS.values() if unit.factor == 1.0}


def test_units_of_one_or_several_dimensions() -> None:
    assert units_of("length") == ["m", "mm", "um"]
    assert units_of("torque", "force") == ["N", "kN", "N*m", "N*mm"]
    assert units_of("colour") == []


@pytest.mark.parametrize(
    ("header", "name", "unit"),
    [
        ("q.A1[deg]", "q.A1", "deg"),
        ("  x [ mm ] ", "x", "mm"),
        ("experiment", "experiment", None),
        ("force.hook.x[N]", "force.hook.x", "N"),
        ("x[]", "x", ""),
        ("[mm]", "", "mm"),
        ("x[mm][mm]", "x[mm][mm]", None),
        ("x[mm", "x[mm", None),
        ("", "", None),
    ],
)
def test_headers(header: str, name: str, unit: str | None) -> None:
    assert split_header(header) == (name, unit)


@given(st.text(max_size=20))
def test_any_header_is_a_name(header: str) -> None:
    name, unit = split_header(header)
    assert name == name.strip()
    assert unit is None or unit == unit.strip()


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("0.03 mm", "length", 0.03 * 1e-3),
        ("0.03mm", "length", 0.03 * 1e-3),
        (" 5um ", "length", 5 * 1e-6),
        ("-2e-1 m", "length", -0.2),
        (".5 mrad", "angle", 0.5 * 1e-3),
        ("+90deg", "angle", math.pi / 2),
        ("4 kN", "force", 4000.0),
        ("3. N*mm", "torque", 3.0 * 1e-3),
    ],
)
def test_quantities(text: str, dimension: str, value: float) -> None:
    assert parse_quantity(text, dimension) == value


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(sorted(UNITS)))
def test_every_number_with_every_unit(number: float, symbol: str) -> None:
    unit = UNITS[symbol]
    assert parse_quantity(f"{number!r} {symbol}", unit.dimension) == number * unit.factor


@pytest.mark.parametrize(
    "text", ["3", "mm", "", "3 kg", "3 inch", "3 mm mm", "1,5 mm", "1e mm", "nan mm", "inf mm", "3MM", 3.0]
)
def test_what_is_no_length_is_told_what_is(text: str | float) -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity(text, "length", file="day.campaign.toml", key="instrument.sigma")
    message = str(caught.value)
    assert message.startswith("day.campaign.toml, instrument.sigma: a length with its unit is needed")
    assert "m mm um" in message
    written = {"3": "3 mm", "3.0": "3.0 mm", "1,5 mm": "1.5 mm"}.get(str(text), "0.1 mm")
    assert message.endswith(f'Write for instance "{written}"')
