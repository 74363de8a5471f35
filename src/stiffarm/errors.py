"""What stiffarm says when an input cannot be used.

A message is part of the interface: it says *what* is wrong, *where* (file, row, column), what was
*found*, what is *allowed* and what to do *next*.  Readers collect every `Problem` of a file and raise
one `InputError`; the command line prints it on stderr and exits with 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True)
class Problem:
    """One thing wrong with an input, in the words a user needs to mend it."""

    what: str
    """One sentence without a full stop, e.g. ``unit of column 'x[kg]' is not a length``."""
    file: str | None = None
    """The file as the user named it."""
    row: int | None = None
    """Line in the file, the first line being 1 (a CSV header is row 1)."""
    column: str | None = None
    """Column header, or the dotted key of a TOML entry (``joint[2].alpha``)."""
    found: str | None = None
    allowed: str | None = None
    next_step: str | None = None

    def __str__(self) -> str:
        place = [self.file] if self.file else []
        if self.row is not None:
            place.append(f"row {self.row}")
        if self.column is not None:
            place.append(f"column {self.column}" if self.row is not None else self.column)
        text = f"{', '.join(place)}: {self.what}" if place else self.what
        for label, value in (("found", self.found), ("allowed", self.allowed)):
            if value is not None:
                text += f"; {label}: {value}"
        return text + (f". {self.next_step}" if self.next_step else ".")


class StiffarmError(Exception):
    """Root of everything stiffarm raises on purpose."""


class InputError(StiffarmError, ValueError):
    """An input that cannot be used; carries every problem found.

    >>> str(InputError(Problem("joint 'A7' does not exist", file="a.csv", allowed="A1, A2")))
    "a.csv: joint 'A7' does not exist; allowed: A1, A2."
    """

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__(str(self))

    def __str__(self) -> str:
        more = len(self.problems) - 1
        return f"{self.problems[0]}" + (f" ({more} more like it or different)" if more else "")


class StiffarmWarning(UserWarning):
    """Something the user should know and that does not stop the work."""


def found_text(value: object, limit: int = 60) -> str:
    """The offending text, quoted and shortened so that a message stays one line."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 4] + "..." + text[0]


def did_you_mean(name: str, known: Sequence[str]) -> str | None:
    """A hint such as ``did you mean 'A2'?`` when a known name is close.

    >>> did_you_mean("experment", ["experiment", "repeat"])
    "did you mean 'experiment'?"
    """
    close = get_close_matches(name, known, n=1, cutoff=0.75)
    close = close or [one for one in known if one.lower() == name.lower()]
    return f"did you mean '{close[0]}'?" if close else None
