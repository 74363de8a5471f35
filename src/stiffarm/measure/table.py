"""A delimited text file as text, every record with the line it stands on.

A table is read in four steps, each of which can say exactly where it failed:

1. *bytes to text*: UTF-8, with or without a byte-order mark; anything else is refused at its first bad byte;
2. *separator*: comma, semicolon or tab, the one that occurs most often in the header;
3. *fields per line*: counted here rather than left to the parser.  Without quotes a line has one field more
   than it has separators, so one sorted search counts all lines; with quotes the `csv`
   module splits, and its records are joined again with a character that occurs nowhere in the text;
4. *cells*: stripped text, an empty cell being ``""``.  Nothing is guessed to be a number here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, found_text

SEPARATORS = (",", ";", "\t")
SEPARATOR_NAMES = {",": "comma", ";": "semicolon", "\t": "tab"}
LONGEST_LINE = 1_000_000
MOST_LOOKED_AT = 1000
"""Rows of a wrong length that are looked at one by one."""
_SEPARATOR_LINE = re.compile(rb'"?sep=.?"?[,;\t]*', re.IGNORECASE)
_OTHER_SEPARATOR = re.compile(r"(?<=[\w\]])([|: ]) *(?=[a-z])", re.IGNORECASE)
"""Between two names of a header that no known separator splits: ``experiment|q.A1[deg]``."""
_JOIN = "\x1f"
"""Unit separator: what records are joined with once the quotes are gone."""


@dataclass(frozen=True, eq=False)
class Table:
    """Cells of a delimited file, as stripped text."""

    file: str
    headers: tuple[str, ...]
    frame: pl.DataFrame
    """One text column per header, ``""`` for an empty cell."""
    row: NDArray[np.int64]
    """Line of each record in the file (the header is row 1)."""
    separator: str

    def __len__(self) -> int:
        return self.frame.height

    def cells(self, header: str) -> pl.Series:
        """The column under ``header``."""
        return self.frame[header]


@dataclass(frozen=True, eq=False)
class _Records:
    """The lines of a file once split: what the header says, and how many fields each record has."""

    header: tuple[str, ...]
    body: bytes
    separator: str
    fields: NDArray[np.int64]
    row: NDArray[np.int64]

    def lines(self) -> list[bytes]:
        """Text of every record."""
        return self.body.split(b"\n")


def read_table(path: str | Path) -> Table:
    """Read a delimited file as text; raise `InputError` naming row and column of what is wrong."""
    file = str(path)
    return table_of(_read_bytes(path, file), file)


def table_of(data: bytes, file: str, skipped: int = 0) -> Table:
    """The same from the bytes of a file, or of a header and some lines after the first ``skipped`` ones."""
    try:
        data = _text_bytes(data, file)
        _check_line_lengths(data, file)
        separator = _separator(data)
        records = _quoted_records(data, separator, file) if b'"' in data else _plain_records(data, separator)
    except InputError as error:
        raise InputError([_further_down(problem, skipped) for problem in error.problems]) from None
    records = replace(records, row=records.row + skipped)
    headers = _checked_headers(records, separator, file)
    _check_field_counts(records, separator, file)
    frame = pl.read_csv(
        records.body,
        has_header=False,
        separator=records.separator,
        quote_char=None,
        infer_schema=False,
        new_columns=[str(index) for index in range(len(headers))],
    ).with_columns(pl.all().fill_null("").str.strip_chars())
    if frame.shape != (records.row.size, len(headers)):
        raise InputError(Problem("the lines cannot be read as a table", file=file, allowed="one record per line"))
    return _without_empty_columns(Table(file, headers, frame, records.row, separator))


def _further_down(problem: Problem, skipped: int) -> Problem:
    return replace(problem, row=problem.row + skipped) if problem.row is not None and problem.row > 1 else problem


def _read_bytes(path: str | Path, file: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(Problem("the file does not exist", file=file)) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(Problem(f"the file cannot be read ({reason})", file=file)) from None


def _text_bytes(data: bytes, file: str) -> bytes:
    """UTF-8 with line feeds, without byte-order mark and without trailing blank lines."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(
            Problem("the text is UTF-16", file=file, row=1, allowed="UTF-8", next_step="Save it as 'CSV UTF-8'")
        )
    while data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    for code, name in ((b"\x00", "a NUL byte"), (_JOIN.encode(), "a control character")):
        position = data.find(code)
        if position >= 0:
            row = data.count(b"\n", 0, position) + 1
            raise InputError(
                Problem(f"the file is not text ({name})", file=file, row=row, next_step="Export it as 'CSV UTF-8'")
            )
    data = data.replace(b"\r\n", b"\n")
    if b"\r" in data:
        data = data.replace(b"\r", b" " if b"\n" in data else b"\n")
    if not data.isascii():
        _check_utf8(data, file)
    data = data[: _end_of_text(data)]
    if not data:
        raise InputError(Problem("the file is empty", file=file, next_step="Write a header and one row per reading"))
    if _SEPARATOR_LINE.fullmatch(_first_line(data).strip()):
        raise InputError(
            Problem(
                "the first line tells a spreadsheet the separator and is no header",
                file=file,
                row=1,
                found=found_text(_first_line(data).decode()),
                allowed="the names of the columns",
                next_step="Delete the line; the separator is recognised without it",
            )
        )
    return data


def _check_utf8(data: bytes, file: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        separator = _separator(data)
        header = _first_line(data).decode("latin-1").split(separator)
        field = data[start : error.start].count(separator.encode())
        raise InputError(
            Problem(
                "the text is not UTF-8",
                file=file,
                row=data.count(b"\n", 0, error.start) + 1,
                column=header[field].strip() if field < len(header) else None,
                found=f"byte 0x{data[error.start]:02x}",
                allowed="UTF-8 (this looks like Windows-1252 or Latin-1)",
                next_step="Save the file as 'CSV UTF-8'",
            )
        ) from None


def _end_of_text(data: bytes) -> int:
    """Where the last line with content ends."""
    end = len(data)
    while end:
        start = data.rfind(b"\n", 0, end) + 1
        if data[start:end].strip(b' \t,;"'):
            return end
        end = max(start - 1, 0)
    return 0


def _line_bounds(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First byte of every line and the byte after its last."""
    feeds = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    return np.concatenate([[0], feeds + 1]), np.concatenate([feeds, [len(data)]])


def _check_line_lengths(data: bytes, file: str) -> None:
    starts, ends = _line_bounds(data)
    lengths = ends - starts
    worst = int(np.argmax(lengths))
    if lengths[worst] > LONGEST_LINE:
        raise InputError(
            Problem(
                "the line is too long for a table",
                file=file,
                row=worst + 1,
                found=f"{lengths[worst]} bytes",
                allowed=f"at most {LONGEST_LINE}",
            )
        )


def _first_line(data: bytes) -> bytes:
    end = data.find(b"\n")
    return data if end < 0 else data[:end]


def _separator(data: bytes) -> str:
    """The separator that occurs most often in the header, a comma when none does."""
    header = _first_line(data)
    return max(SEPARATORS, key=lambda separator: header.count(separator.encode()))


def _plain_records(data: bytes, separator: str) -> _Records:
    _, ends = _line_bounds(data)
    separators = np.flatnonzero(np.frombuffer(data, np.uint8) == ord(separator))
    fields = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
    head, _, body = data.partition(b"\n")
    header = tuple(head.decode().split(separator))
    return _Records(header, body, separator, fields[1:], np.arange(2, ends.size + 1, dtype=np.int64))


def _quoted_records(data: bytes, separator: str, file: str) -> _Records:
    fields: list[int] = []
    rows: list[int] = []

    def lines() -> Iterator[str]:
        reader = csv.reader(io.StringIO(data.decode(), newline="\n"), delimiter=separator, strict=True)
        line = 1
        try:
            for record in reader:
                fields.append(max(len(record), 1))
                rows.append(line)
                line = reader.line_num + 1
                yield _JOIN.join(record).replace("\n", " ")
        except csv.Error as error:
            raise InputError(
                Problem(f"the quotes cannot be understood ({error})", file=file, row=line, allowed='"text"')
            ) from None

    head, _, body = "\n".join(lines()).partition("\n")
    counts, row = np.array(fields[1:], dtype=np.int64), np.array(rows[1:], dtype=np.int64)
    return _Records(tuple(head.split(_JOIN)), body.encode(), _JOIN, counts, row)


def _checked_headers(records: _Records, separator: str, file: str) -> tuple[str, ...]:
    headers = tuple(header.strip() for header in records.header)
    if not any(headers):
        raise InputError(Problem("the first line is blank where the header is expected", file=file, row=1))
    if not records.fields.size:
        found = found_text(separator.join(headers))
        raise InputError(Problem("there is a header and no row below it", file=file, row=1, found=found))
    if len(headers) == 1 and (other := _OTHER_SEPARATOR.search(headers[0])):
        raise InputError(
            Problem(
                "the header is not separated by commas, semicolons or tabs",
                file=file,
                row=1,
                found=f"{other[1]!r} in {found_text(headers[0])}",
                allowed="a comma, a semicolon or a tab",
                next_step="Export the table again with one of these",
            )
        )
    seen: dict[str, str] = {}
    problems = []
    for header in headers:
        name = header.partition("[")[0].strip()
        if name and name in seen:
            both = found_text(header) if seen[name] == header else f"{found_text(seen[name])} and {found_text(header)}"
            problems.append(
                Problem(f"column '{name}' stands twice in the header", file=file, row=1, column=header, found=both)
            )
        seen.setdefault(name, header)
    if problems:
        raise InputError(problems)
    return headers


def _check_field_counts(records: _Records, separator: str, file: str) -> None:
    expected = len(records.header)
    wrong = np.flatnonzero(records.fields != expected)
    if not wrong.size and expected > 1:
        return
    lines = records.lines()
    if not wrong.size:  # a blank line has as many fields as the header
        wrong = np.array([i for i, line in enumerate(lines) if not line.strip()], dtype=np.int64)
        if not wrong.size:
            return
    if expected == 1 and wrong.size == records.fields.size:
        raise InputError(_no_header(records, file))
    first: dict[tuple[str, str | None], Problem] = {}
    count: dict[tuple[str, str | None], int] = {}
    for index in wrong[:MOST_LOOKED_AT]:
        problem = _wrong_count(records, int(index), lines[index].decode(), separator, file)
        kind = (problem.what, problem.next_step)
        first.setdefault(kind, problem)
        count[kind] = count.get(kind, 0) + 1
    raise InputError([replace(one, what=one.what + _and_more(count[kind] - 1)) for kind, one in first.items()])


def _and_more(rows: int) -> str:
    return "" if not rows else f" ({rows} more such row{'s' if rows > 1 else ''})"


def _no_header(records: _Records, file: str) -> Problem:
    """Every row has more fields than the first line: a title or a comment stands above the header."""
    return Problem(
        "the first line is not the header of the rows below it",
        file=file,
        row=1,
        found=found_text(records.header[0]),
        allowed="the names of the columns, separated as the rows are",
        next_step="Delete what stands above the header; comments are not read",
    )


def _wrong_count(records: _Records, index: int, line: str, separator: str, file: str) -> Problem:
    row, found, expected = int(records.row[index]), int(records.fields[index]), len(records.header)
    if not line.strip():
        return Problem("blank line inside the table", file=file, row=row, next_step="Delete the line")
    other = next((s for s in SEPARATORS if s != separator and found == 1 and s in line), None)
    if other is not None:
        hint = f"The line looks separated by a {SEPARATOR_NAMES[other]}, the header by a {SEPARATOR_NAMES[separator]}"
    elif found > expected and not any(map(str.strip, line.split(records.separator)[expected:])):
        hint = "Delete the separators at the end of the line"
    elif separator == "," and found > expected:
        hint = "A decimal comma is a likely cause: write decimal points, or separate by semicolons"
    else:
        hint = "Write every separator, also for empty cells"
    return Problem(
        f"the row has too {'few' if found < expected else 'many'} fields",
        file=file,
        row=row,
        found=f"{found} field{'' if found == 1 else 's'}",
        allowed=f"{expected} fields as in the header, separated by a {SEPARATOR_NAMES[separator]}",
        next_step=hint,
    )


def _without_empty_columns(table: Table) -> Table:
    """Drop the nameless, empty columns a spreadsheet leaves at the right; name the rest by their headers."""
    keep = []
    for index, header in enumerate(table.headers):
        cells = table.frame[str(index)]
        if header:
            keep.append(index)
        elif (filled := cells != "").any():
            at = int(filled.arg_max() or 0)
            raise InputError(
                Problem(
                    f"column {index + 1} has cells and no header",
                    file=table.file,
                    row=int(table.row[at]),
                    found=found_text(cells[at]),
                    next_step="Name the column in the first line",
                )
            )
    headers = tuple(table.headers[index] for index in keep)
    frame = table.frame.select(pl.col(str(index)).alias(table.headers[index]) for index in keep)
    return Table(table.file, headers, frame, table.row, table.separator)
