"""Writes TOML: only what a robot file needs, every float with all its digits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | bool | int | float | Sequence[Value] | Mapping[str, Value]"


def value_text(value: Value) -> str:
    """One value on one line.

    >>> value_text({"length": "mm", "at": [0.1, 2]})
    '{ length = "mm", at = [0.1, 2] }'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes all that TOML asks for, except DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key_text(key)} = {value_text(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(value_text(item) for item in value)}]"
    return repr(int(value)) if isinstance(value, int) else repr(float(value))


def key_text(key: str) -> str:
    """A key, bare when it may be.

    >>> key_text("P1"), key_text("a b")
    ('P1', '"a b"')
    """
    bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if bare else value_text(key)


def lines_of(entries: Mapping[str, Value]) -> list[str]:
    """``key = value`` lines; a matrix stands one row a line."""
    lines = []
    for key, value in entries.items():
        rows = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
        if len(rows) > 1 and all(isinstance(row, Sequence) for row in rows):
            lines += [f"{key_text(key)} = [", *(f"    {value_text(row)}," for row in rows), "]"]
        else:
            lines.append(f"{key_text(key)} = {value_text(value)}")
    return lines
