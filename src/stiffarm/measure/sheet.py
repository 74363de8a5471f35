"""A table whose columns are understood: SI numbers and codes of names, with problems that know their cell.

Text becomes a number by one cast per column; a cell is wrong when it is filled and its number is not
finite, so that ``nan``, ``inf``, an overflow and a word are all found by the same comparison.  A decimal
comma is read where it cannot be anything else: no comma separates the fields and no number of the file
carries a decimal point.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.measure.columns import Column, Layout, meaning_of, understand, unknown_warning
from stiffarm.measure.frames import FrameFile, Source
from stiffarm.measure.table import SEPARATOR_NAMES, Table, read_table
from stiffarm.robot.arm import Robot
from stiffarm.units import split_header

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
_WITH_UNIT = re.compile(r"[-+]?[\d.]+([eE][-+]?\d+)?\s*[a-zA-Z\u00b0\u00b5\u03bc*]+")
LARGEST: dict[str, float] = {
    "length": 100.0,
    "angle": 4.0 * np.pi,
    "force": 1e7,
    "torque": 1e7,
    "time": 1e15,
    "speed": 100.0,
    "temperature": 1e4,
    "number": 2.0**53,
}
"""SI magnitudes beyond which a unit must be wrong."""


@dataclass(frozen=True, eq=False)
class Sheet:
    """Known columns of a table as SI numbers (NaN = empty), and its text."""

    table: Table
    layout: Layout
    numbers: Mapping[str, Floats]
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.table)

    def number(self, name: str) -> Floats:
        """SI values of a column; NaN everywhere when the file does not have it."""
        return self.numbers.get(name, np.full(len(self), np.nan))

    def block(self, names: Sequence[str]) -> Floats:
        """(names, rows) SI values of several columns."""
        return np.stack([self.number(name) for name in names]) if names else np.zeros((0, len(self)))

    def has(self, name: str) -> bool:
        """Whether the file has the column."""
        return name in self.layout.columns

    def text(self, name: str) -> pl.Series:
        """Cells of a column; empty text when the file does not have it."""
        if self.has(name):
            return self.table.cells(self.layout.columns[name].header)
        return pl.repeat("", len(self), dtype=pl.String, eager=True)

    def codes(self, name: str, default: str = "") -> tuple[tuple[str, ...], Ints]:
        """Distinct names of a text column in the order they appear, and each row's index (-1 = empty).

        ``default`` stands for an empty cell.
        """
        if not self.has(name):
            return ((default,) if default else ()), np.full(len(self), 0 if default else -1)
        cells = self.text(name)
        return factorise(cells if not default else cells.replace("", default))

    def problem(
        self, what: str, name: str, index: int, *, allowed: str | None = None, next_step: str | None = None
    ) -> Problem:
        """A problem in the cell of a known column at a record."""
        header = self.layout.columns[name].header if self.has(name) else name
        cell = str(self.table.cells(header)[index]) if self.has(name) else ""
        return Problem(
            what,
            file=self.table.file,
            row=int(self.table.row[index]),
            column=header,
            found=found_text(cell) if cell else "an empty cell" if self.has(name) else None,
            allowed=allowed,
            next_step=next_step,
        )

    def first(self, wrong: Flags, name: str, what: str, *, allowed: str | None = None) -> list[Problem]:
        """A problem for the first record where ``wrong``, or none."""
        return [self.problem(what, name, int(np.argmax(wrong)), allowed=allowed)] if wrong.any() else []

    def rows_text(self, wrong: Flags) -> str:
        """``3 rows (first: row 7)``."""
        count = int(wrong.sum())
        first = int(self.table.row[int(np.argmax(wrong))])
        return f"{count} row{'s' if count > 1 else ''} (first: row {first})"


def table_at(source: Source) -> Table:
    """The text of a file or of a frame that stands for one."""
    return source.table() if isinstance(source, FrameFile) else read_table(source)


def read_sheet(path: Source, robot: Robot | None) -> Sheet:
    """Read a file, understand its header and turn its numeric columns into SI."""
    return sheet_of(table_at(path), robot)


def sheet_of(table: Table, robot: Robot | None) -> Sheet:
    """The same from a table."""
    layout = understand(table.headers, robot, table.file)
    numeric = [column for column in layout.columns.values() if column.meaning.dimensions]
    comma = _has_decimal_comma(table, numeric)
    warnings = list(unknown_warning(layout, table.file))
    if comma:
        by = SEPARATOR_NAMES[table.separator]
        warnings.insert(0, f"{table.file}: read as fields separated by a {by} and numbers with a decimal comma.")
    elif table.separator != ",":
        warnings.insert(0, f"{table.file}: read as fields separated by a {SEPARATOR_NAMES[table.separator]}.")
    problems: list[Problem] = []
    numbers = {c.name: _numbers(table, c, comma, problems) for c in numeric}
    if problems:
        raise InputError(sorted(problems, key=lambda problem: problem.row or 0))
    return Sheet(table, layout, numbers, tuple(warnings))


def _has_decimal_comma(table: Table, numeric: Sequence[Column]) -> bool:
    """Whether the numbers of the file carry decimal commas; a mixture with points is refused."""
    if table.separator == ",":
        return False
    commas = [c for c in numeric if table.cells(c.header).str.contains(",", literal=True).any()]
    if not commas:
        return False
    comma_at = table.cells(commas[0].header).str.contains(",", literal=True).arg_max() or 0
    for column in numeric:
        points = table.cells(column.header).str.contains(".", literal=True)
        if points.any():
            at = points.arg_max() or 0
            raise InputError(
                Problem(
                    "decimal points and decimal commas are mixed",
                    file=table.file,
                    row=int(table.row[at]),
                    column=column.header,
                    found=f"{found_text(table.cells(column.header)[at])}, and "
                    f"{found_text(table.cells(commas[0].header)[comma_at])} in row {table.row[comma_at]}",
                    allowed="one of the two in the whole file, and no thousands separator",
                )
            )
    return True


def _numbers(table: Table, column: Column, comma: bool, problems: list[Problem]) -> Floats:
    """SI values of a column; appends the first cell that is not a number or cannot be in this unit."""
    cells = table.cells(column.header)
    parsed = (cells.str.replace(",", ".", literal=True) if comma else cells).cast(pl.Float64, strict=False)
    values: Floats = parsed.to_numpy().astype(np.float64)
    missing = ~np.isfinite(values)
    if missing.any():
        wrong = missing & (cells != "").to_numpy()
        if wrong.any():
            at = int(np.argmax(wrong))
            more = int(wrong.sum()) - 1
            problems.append(_not_a_number(table, column, at, str(cells[at]), more))
            return values
    si = values if column.factor == 1.0 else values * column.factor
    too_large = np.abs(si) > LARGEST[column.dimension] if column.meaning.joint is None else np.abs(si) > 1e9
    if too_large.any():
        at = int(np.argmax(too_large))
        limit = LARGEST[column.dimension]
        problems.append(
            Problem(
                "the units look wrong: the number is too large",
                file=table.file,
                row=int(table.row[at]),
                column=column.header,
                found=found_text(cells[at]),
                allowed=f"at most {limit / column.factor:.6g} in this unit",
                next_step="Mend the number or the unit in the header",
            )
        )
    return si


def _not_a_number(table: Table, column: Column, at: int, cell: str, more: int) -> Problem:
    what, hint = "not a number", None
    if _DECIMAL_COMMA.fullmatch(cell):
        what = "decimal comma in a number"
        hint = "Write a decimal point, or separate the fields by semicolons"
    elif re.fullmatch(r"[-+]?(nan|inf|infinity|n/?a|null|none|-+)", cell, re.IGNORECASE):
        hint = "Leave the cell empty where nothing was read"
    elif re.fullmatch(r"[-+]?[\d.]+[eE]\+?\d+", cell):
        what = "the number is too large"
    elif re.fullmatch(r"[-+\u2212\u2013]?[\d.,'\u2019\s]+", cell):
        minus = cell[0] in "\u2212\u2013"
        hint = "Write the minus as '-'" if minus else "Write no thousands separator and one decimal point"
    elif _WITH_UNIT.fullmatch(cell):
        hint = "Write the number alone; its unit stands in the header"
    return Problem(
        what + (f" ({more} more such cell{'s' if more > 1 else ''} in this column)" if more else ""),
        file=table.file,
        row=int(table.row[at]),
        column=column.header,
        found=found_text(cell),
        allowed="a number such as -12.5 or 1e-3",
        next_step=hint,
    )


def carried(table: Table) -> dict[str, pl.Series]:
    """Every column as it stands, by header, but decimal commas of numbers as points: they are written beside others."""
    columns = {header: table.cells(header) for header in table.headers}
    if table.separator == ",":
        return columns
    known = {header: meaning_of(split_header(header)[0]) for header in columns}
    numeric = [header for header, meaning in known.items() if meaning is not None and meaning.dimensions]
    return columns | {header: columns[header].str.replace(",", ".", literal=True) for header in numeric}


def factorise(cells: pl.Series) -> tuple[tuple[str, ...], Ints]:
    """Distinct texts in order of appearance and each cell's index; -1 for empty cells."""
    groups = cells.alias("text").to_frame().with_row_index("at").group_by("text", maintain_order=True).agg("at")
    names: list[str] = groups["text"].to_list()
    counts = groups["at"].list.len().to_numpy()
    at = groups["at"].explode().to_numpy()
    codes = np.empty(len(cells), dtype=np.int64)
    empty = names.index("") if "" in names else -1
    order = np.arange(len(names))
    if empty >= 0:
        order[empty + 1 :] -= 1
        order[empty] = -1
        del names[empty]
    codes[at] = np.repeat(order, counts)
    return tuple(names), codes


def unknown_names(
    sheet: Sheet, column: str, names: Sequence[str], codes: Ints, known: Sequence[str], what: str
) -> list[Problem]:
    """A problem for every name of a text column that does not exist, at its first cell."""
    problems = []
    for code, name in enumerate(names):
        if name in known:
            continue
        at = int(np.argmax(codes == code))
        hint = did_you_mean(name, known)
        step = hint[0].upper() + hint[1:] if hint else None
        text = f"{what} '{name}' does not exist"
        problems.append(sheet.problem(text, column, at, allowed=", ".join(known), next_step=step))
    return problems


def raise_if(problems: Sequence[Problem]) -> None:
    """Raise one `InputError` when there are problems."""
    if problems:
        raise InputError(problems)
