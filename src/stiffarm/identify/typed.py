"""Whether data read from a file are of the types a dataclass states, so that a damaged file is told when it is read.

Types are walked beside values: dataclasses field by field, tuples and mappings entry by entry.  An integer is a float
and a bool is neither; NaN, which stands for a null among numbers, is a float.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from stiffarm.errors import found_text


def misfit(value: object, wanted: Any, place: str = "") -> str | None:
    """Where and how a value is not of a type; None when it is.

    >>> misfit((1, 2.5), tuple[float, ...]), misfit({"a": "x"}, Mapping[str, float])
    (None, "a: 'x' is no number")
    """
    origin, arguments = get_origin(wanted), get_args(wanted)
    if isinstance(wanted, type) and is_dataclass(wanted):
        if not isinstance(value, wanted):
            return _said(place, value, "not what belongs there")
        return _first(misfit(getattr(value, name), hint, _at(place, name)) for name, hint in _hints(wanted))
    if origin in (Union, types.UnionType):
        found = [misfit(value, one, place) for one in arguments]
        return None if None in found else next((said for said in found if said), None)
    if origin is Literal:
        return None if value in arguments else _said(place, value, f"one of {', '.join(map(str, arguments))}")
    if origin is tuple:
        return _tuple(value, arguments, place)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            return _said(place, value, "no object")
        return _first(misfit(one, arguments[1], _at(place, str(key))) for key, one in value.items())
    return _plain(value, wanted, place)


@lru_cache
def _hints(kind: type[Any]) -> tuple[tuple[str, Any], ...]:
    found = get_type_hints(kind)
    return tuple((one.name, found[one.name]) for one in fields(kind))


def _tuple(value: object, arguments: tuple[Any, ...], place: str) -> str | None:
    if not isinstance(value, tuple):
        return _said(place, value, "no list")
    kinds = [arguments[0]] * len(value) if arguments[1:] == (...,) else list(arguments)
    if len(kinds) != len(value):
        return _said(place, value, f"not of length {len(kinds)}")
    return _first(misfit(one, kind, f"{place}[{i}]") for i, (one, kind) in enumerate(zip(value, kinds, strict=True)))


def _plain(value: object, wanted: Any, place: str) -> str | None:
    words = {float: "no number", int: "no whole number", str: "no text", bool: "neither true nor false"}
    if wanted is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    elif wanted is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = wanted is Any or isinstance(value, wanted)
    return None if fits else _said(place, value, words.get(wanted, "not what belongs there"))


def _first(said: Any) -> str | None:
    return next((one for one in said if one), None)


def _at(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _said(place: str, value: object, what: str) -> str:
    return f"{place}: {found_text(value, 30)} is {what}"
