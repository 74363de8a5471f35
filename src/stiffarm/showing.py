"""How results show themselves: a few lines in a console, the same lines and a table in a notebook.

A result says its `summary` and, when it has rows, a frame; both are for people.  The generated text of a dataclass
would print every array it holds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 12
"""Rows of the table a notebook shows."""


class Shown(ABC):
    """Something with a summary, and perhaps a table.

    A dataclass that inherits it says ``repr=False``, so that its own text does not take the place of this one.
    """

    @abstractmethod
    def summary(self) -> tuple[str, ...]:
        """The result in a few lines."""

    def to_polars(self) -> pl.DataFrame | None:
        """Its rows as a polars data frame, units in the headers; None when it has none."""
        return None

    def __repr__(self) -> str:
        return "\n".join(self.summary())

    def _repr_html_(self) -> str:
        """For notebooks."""
        first, *others = self.summary()
        text = f"<p><b>{escape(first)}</b>" + "".join(f"<br>{escape(line)}" for line in others) + "</p>"
        frame = self.to_polars()
        return text if frame is None else text + html_table(frame)


def html_table(frame: pl.DataFrame, most: int = MOST_ROWS) -> str:
    """The first rows of a frame as an HTML table; what follows is counted.

    >>> import polars as pl
    >>> html_table(pl.DataFrame({"a<b": [1.5]}))
    '<table><tr><th>a&lt;b</th></tr><tr><td>1.5</td></tr></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in frame.head(most).rows()
    )
    more = f"<p>{frame.height - most} more rows: .to_polars() has all of them</p>" if frame.height > most else ""
    return f"<table><tr>{head}</tr>{rows}</table>{more}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
