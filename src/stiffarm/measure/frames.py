"""A data frame in the place of a campaign, plan or path file.

A frame has the columns of the file, units in their names (``q.A1[deg]``), and goes the same way: its cells become
text, each number the shortest decimal that reads back to it, and from there every check is the one of files.  Rows are
counted from 0 in messages, as frames count them.  Anything with named columns will do: polars, pandas, a mapping of
sequences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.measure.table import Table


@dataclass(frozen=True, eq=False)
class FrameFile:
    """A table in memory that stands for a file.

    >>> FrameFile.of({"experiment": ["E1"], "x[mm]": [0.1]}, "day1").table().cells("x[mm]").to_list()
    ['0.1']
    """

    name: str
    """What messages and the setup of its rows are called."""
    text: pl.DataFrame
    """Cells as text, ``""`` for an empty one."""
    settings: Path | None = None
    """A settings file (`NAME.campaign.toml`); nothing is looked for when there is none."""

    @staticmethod
    def of(frame: object, name: str = "table", settings: str | Path | None = None) -> FrameFile:
        """From a polars or pandas data frame, or a mapping of columns."""
        columns = {header: _text(cells) for header, cells in _columns(frame)}
        lengths = {header: len(cells) for header, cells in columns.items()}
        if len(set(lengths.values())) > 1:
            what = "the columns of the table have different lengths"
            raise InputError(Problem(what, file=name, found=", ".join(f"{h}: {n}" for h, n in lengths.items())[:200]))
        if not columns or not next(iter(lengths.values())):
            raise InputError(Problem("the table is empty", file=name, allowed="one row per reading or point"))
        return FrameFile(name, pl.DataFrame(columns), None if settings is None else Path(settings))

    def table(self) -> Table:
        """The same as what a file would give."""
        rows = np.arange(self.text.height, dtype=np.int64)
        return Table(f"{self.name} (rows from 0)", tuple(self.text.columns), self.text, rows, ";")


Source = str | Path | FrameFile
"""Where a campaign, plan or path is read from."""
TableLike = Any
"""A file, or a table in memory: a polars or pandas data frame, or a mapping of columns."""


def source_of(given: TableLike) -> Source:
    """A file, or a table that stands for one."""
    return given if isinstance(given, FrameFile | str | Path) else FrameFile.of(given)


def name_of(source: Source) -> str:
    """What messages call it."""
    return source.name if isinstance(source, FrameFile) else str(source)


def listed(given: TableLike | Sequence[TableLike]) -> list[TableLike]:
    """One thing or several as a list.

    >>> listed("a.csv"), listed(["a.csv", "b.csv"])
    (['a.csv'], ['a.csv', 'b.csv'])
    """
    one = isinstance(given, str | Path | FrameFile) or is_table(given)
    return [given] if one else list(given)


def is_table(thing: object) -> bool:
    """Whether something in memory has named columns.

    >>> is_table(pl.DataFrame({"a": [1]})), is_table({"a": [1]}), is_table("a.csv")
    (True, True, False)
    """
    return isinstance(thing, pl.DataFrame | Mapping) or (hasattr(thing, "columns") and hasattr(thing, "__getitem__"))


def _columns(frame: object) -> Iterable[tuple[str, list[Any]]]:
    if isinstance(frame, pl.DataFrame):
        return [(name, frame[name].to_list()) for name in frame.columns]
    if isinstance(frame, Mapping):
        return [(str(name), list(cells)) for name, cells in frame.items()]
    if is_table(frame):
        given: Any = frame
        return [(str(name), list(given[name])) for name in given.columns]
    raise InputError(
        Problem(
            "this is no table",
            found=found_text(frame),
            allowed="a polars or pandas data frame, or a mapping of columns",
        )
    )


def _text(cells: list[Any]) -> pl.Series:
    return pl.Series([_cell(value) for value in cells], dtype=pl.String)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        return "" if math.isnan(value) else repr(float(value))
    return "" if value != value else str(value)
