"""A TOML file that remembers where each of its keys stands.

`tomllib` gives values without lines.  A message needs both, so the text is scanned a second time: table
headers and keys are found line by line, brackets and strings are followed only far enough to know which
lines continue a value.  The text is valid TOML by then, which keeps the scanner small; where it does not
see a key (one inside an inline table), the line of the innermost key around it is the answer.

A place in the file is a *path*: ``("joint", 1, "alpha")``, shown to people as ``joint[2].alpha``.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import Any

from stiffarm.errors import InputError, Problem, found_text

Path = tuple[str | int, ...]
MAX_BYTES = 4_000_000

_KEY = r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEYS = rf"{_KEY}(?:[ \t]*\.[ \t]*{_KEY})*"
_HEADER = re.compile(rf"[ \t]*(?P<open>\[\[?)[ \t]*(?P<keys>{_KEYS})[ \t]*\]")
_ASSIGNMENT = re.compile(rf"[ \t]*(?P<keys>{_KEYS})[ \t]*=")
_TOKEN = re.compile(
    r'''"""(?:\\.|[^\\])*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:'{0,2})|"(?:\\.|[^"\\\n])*"|'[^'\n]*'|#[^\n]*|[\[\]{}\n]''',
    re.DOTALL,
)
_DECIMAL_COMMA = re.compile(r"([\w.-]+\s*=\s*[-+]?\d+),(\d+)")
_ERROR_LINE = re.compile(r"\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True)
class TomlSource:
    """The values of a TOML file and the row of every key."""

    file: str
    data: dict[str, Any]
    rows: dict[Path, int] = field(default_factory=dict)

    def row(self, path: Path) -> int | None:
        """Line of the innermost known key on the way to ``path``."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.rows:
                return self.rows[path[:length]]
        return None

    def in_file(self, path: Path) -> Path:
        """``path`` without the steps that the file does not have."""
        value: object = self.data
        kept: list[str | int] = []
        for step in path:
            inner = _step(value, step)
            if inner is not _ABSENT:
                value = inner
                kept.append(step)
        return tuple(kept)

    def value(self, path: Path) -> object:
        """What the file says at ``path``; None when it says nothing."""
        value: object = self.data
        for step in path:
            value = _step(value, step)
        return None if value is _ABSENT else value

    def problem(
        self,
        path: Path,
        what: str,
        *,
        found: str | None = None,
        allowed: str | None = None,
        next_step: str | None = None,
    ) -> Problem:
        """A problem at ``path``; ``found`` is by default what stands there."""
        if found is None:
            value = self.value(path)
            found = "nothing" if value is None else found_text(value)
            if isinstance(value, bool):
                found = str(value).lower()  # as TOML writes it
        return Problem(what, self.file, self.row(path), dotted(path) or None, found, allowed, next_step)


_ABSENT = object()


def _step(value: object, step: str | int) -> object:
    if isinstance(value, dict) and isinstance(step, str):
        return value.get(step, _ABSENT)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return _ABSENT


def dotted(path: Path) -> str:
    """A path as people count it.

    >>> dotted(("joint", 1, "limits", 0))
    'joint[2].limits[1]'
    """
    text = "".join(f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def toml_source(content: bytes | str, file: str) -> TomlSource:
    """Parse a TOML file; one `InputError` when it is not one."""
    text = (content if isinstance(content, str) else _decode(content, file)).replace("\r\n", "\n")
    if "\n" not in text:  # lines as old Macintoshes ended them
        text = text.replace("\r", "\n")
    if not text.strip():
        raise InputError(Problem("the file is empty", file=file, found="no text", allowed="a TOML file"))
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise InputError(
            Problem("brackets are nested too deeply", file=file, found="hundreds of levels", allowed="at most six")
        ) from None
    except ValueError as error:  # TOMLDecodeError, and integers of thousands of digits
        raise InputError(_syntax_problem(text, str(error), file)) from None
    return TomlSource(file, data, key_rows(text))


def _decode(content: bytes, file: str) -> str:
    if len(content) > MAX_BYTES:
        raise InputError(
            Problem(
                "the file is too big to be one written for stiffarm",
                file=file,
                found=f"more than {MAX_BYTES} bytes",
                allowed=f"at most {MAX_BYTES} bytes",
                next_step="Check that this is the file you meant",
            )
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(_encoding_problem(file, 1, "UTF-16"))
    if b"\x00" in content:
        row = content[: content.index(b"\x00")].count(b"\n") + 1
        raise InputError(
            Problem("this is not a text file", file=file, row=row, found="a zero byte", allowed="TOML in UTF-8")
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start : error.start + 1]
        raise InputError(_encoding_problem(file, row, f"byte 0x{byte.hex()} ({byte.decode('cp1252', 'replace')!r} in "
                                           "Windows-1252)")) from None  # fmt: skip


def _encoding_problem(file: str, row: int, found: str) -> Problem:
    return Problem("the text is not UTF-8", file, row, None, found, "UTF-8", "Save the file again with encoding UTF-8")


def _syntax_problem(text: str, message: str, file: str) -> Problem:
    place = _ERROR_LINE.search(message)
    reason = _ERROR_LINE.sub("", message).replace("(at end of document)", "").strip()
    lines = text.split("\n")
    if "(at end of document)" in message:
        row: int | None = len(text.rstrip().split("\n"))
    else:
        row = int(place[1]) if place else None
    found = lines[row - 1].strip() if row is not None and row <= len(lines) else text[:60]
    next_step = _likely_cause(text, found, file)
    what = f"this is not valid TOML ({reason[:1].lower()}{reason[1:120]})"
    return Problem(what, file, row, None, found_text(found), 'lines such as  key = 1.0,  key = "text"', next_step)


def _likely_cause(text: str, found: str, file: str) -> str | None:
    """What a text that is no TOML most likely is, with the way out."""
    if text.lstrip().startswith("{"):
        return "This is JSON: a robot file is TOML"
    if file.lower().endswith(".csv"):
        return "This is a table: the robot or model comes first, then the table"
    if comma := _DECIMAL_COMMA.fullmatch(found):
        return f"With a decimal point: {comma[1]}.{comma[2]}"
    return None


def key_rows(text: str) -> dict[Path, int]:
    """Line of every table, key and outer array element of a valid TOML text.

    >>> key_rows('a = 1\\n[[joint]]\\n[[joint]]\\nd = [[1],\\n  [2]]\\n')[("joint", 1, "d", 1)]
    5
    """
    rows: dict[Path, int] = {}
    counts: dict[Path, int] = {}
    table: Path = ()
    position, row = 0, 1
    while position < len(text):
        if header := _HEADER.match(text, position):
            table = _enter(header, counts)
            rows.setdefault(table, row)
            rows.setdefault(table[:-1], row)
            position = header.end()
            key: Path = table
        elif assignment := _ASSIGNMENT.match(text, position):
            key = _resolve((*table,), _split(assignment["keys"]), {})
            rows.setdefault(key, row)
            position = assignment.end()
        else:
            key = ()
        position, row = _skip_value(text, position, row, key, rows)
    rows.pop((), None)
    return rows


def _enter(header: re.Match[str], counts: dict[Path, int]) -> Path:
    """Path of the table that a header opens; ``[[x]]`` opens the next element of x."""
    parts = _split(header["keys"])
    if header["open"] == "[":
        return _resolve((), parts, counts)
    array = (*_resolve((), parts[:-1], counts), parts[-1])
    counts[array] = counts.get(array, -1) + 1
    return (*array, counts[array])


def _resolve(start: Path, parts: list[str], counts: dict[Path, int]) -> Path:
    path = start
    for part in parts:
        path = (*path, part)
        if path in counts:
            path = (*path, counts[path])
    return path


def _split(keys: str) -> list[str]:
    return [part.strip("\"'") for part in re.findall(_KEY, keys)]


def _skip_value(text: str, position: int, row: int, key: Path, rows: dict[Path, int]) -> tuple[int, int]:
    """Position and row of the line after the value that starts at ``position``; notes array elements."""
    depth, element = 0, 0
    while token := _TOKEN.search(text, position):
        position = token.end()
        symbol = token[0]
        if symbol == "\n" and depth <= 0:
            return position, row + 1
        if symbol in "[{":
            if depth == 1 and key:
                rows.setdefault((*key, element), row)
                element += 1
            depth += 1
        elif symbol in "]}":
            depth -= 1
        row += symbol.count("\n")
    return len(text), row
