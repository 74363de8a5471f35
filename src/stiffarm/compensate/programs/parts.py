"""A program as far as it is understood: its files byte by byte, its points with the place of every number in them.

A file is read as one character a byte (Latin-1), whatever its letters mean: what is not replaced is written back as it
was.  Numbers, names and operators of both languages are ASCII, so nothing is lost by that.  `code` is the same text
with comments and strings blanked, character for character.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from stiffarm.errors import InputError, Problem
from stiffarm.robot.placement import Rigid

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
KRL_ENDINGS = (".src",)
RAPID_ENDINGS = (".mod", ".modx", ".sys", ".prg")
LARGEST = 1e12
MOST_BYTES = 200_000_000


@dataclass(frozen=True, eq=False)
class ProgramFile:
    """One file of a program."""

    path: Path
    text: str
    """One character a byte."""
    blank: re.Pattern[str]
    """Comments and strings."""

    @staticmethod
    def read(path: Path, blank: re.Pattern[str]) -> ProgramFile:
        """The file; `InputError` when it cannot be read or is no text of one byte a letter."""
        try:
            if path.stat().st_size > MOST_BYTES:
                what = "the file is too large for a program"
                raise InputError(Problem(what, str(path), allowed=f"at most {MOST_BYTES} bytes"))
            content = path.read_bytes()
        except OSError as error:
            what = f"the program cannot be read ({error.strerror or error})"
            raise InputError(Problem(what, str(path))) from None
        if b"\0" in content:
            what = "the file is no program text: it has bytes of zero"
            raise InputError(Problem(what, str(path), allowed="ASCII, Latin-1, Windows-1252 or UTF-8"))
        return ProgramFile(path, content.decode("latin-1"), blank)

    @cached_property
    def code(self) -> str:
        """The text with comments and strings blanked."""
        return self.blank.sub(lambda found: " " * len(found[0]), self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", self.text))]

    def row(self, offset: int) -> int:
        """Line of a character, the first being 1."""
        return bisect.bisect_right(self._starts, offset)

    def lines(self) -> list[tuple[int, int]]:
        """Start and end of every line of the code, without its line end."""
        ends = [*self._starts[1:], len(self.text)]
        return [
            (start, start + len(self.code[start:end].rstrip("\r\n")))
            for start, end in zip(self._starts, ends, strict=True)
        ]

    @property
    def line_end(self) -> str:
        """How lines end in this file."""
        found = re.search(r"\r\n|\r|\n", self.text)
        return found[0] if found else "\r\n"


@dataclass(frozen=True)
class Number:
    """A number where it stands."""

    file: int
    """Index of the program's file."""
    start: int
    end: int
    value: float


@dataclass(frozen=True, eq=False)
class FrameUse:
    """Base or tool of a point: stated by the program, called by a name, neither, or not to be understood."""

    frame: Rigid | None = None
    name: str | None = None
    why: str | None = None
    """Why it cannot be known."""

    def same(self, other: FrameUse) -> bool:
        """Whether both mean one frame."""
        if (self.name, self.why, self.frame is None) != (other.name, other.why, other.frame is None):
            return False
        if self.frame is None or other.frame is None:
            return True
        return bool(
            (self.frame.rotation == other.frame.rotation).all()
            and (self.frame.translation == other.frame.translation).all()
        )


def number_at(file: int, start: int, text: str) -> Number | None:
    """The number a text is; None when it is none, or one that no controller has."""
    if not NUMBER.fullmatch(text) or not abs(value := float(text)) < LARGEST:
        return None
    return Number(file, start, start + len(text), value)


UNSTATED = FrameUse()
WORLD = FrameUse(Rigid.identity())


@dataclass(frozen=True, eq=False)
class Point:
    """A point of a program that can be corrected."""

    name: str
    row: int
    file: int
    kind: Literal["axes", "pose"]
    place: tuple[Number, ...] = ()
    """x, y, z in mm of a pose."""
    turn: tuple[Number, ...] = ()
    """A, B, C in deg, or the four of a quaternion."""
    arm: Mapping[int, Number] = field(default_factory=dict)
    """Axes of the arm by place (0 to 5), deg or mm."""
    external: Mapping[int, Number] = field(default_factory=dict)
    """External axes likewise."""
    ways: Mapping[str, Number] = field(default_factory=dict)
    """``S`` and ``T``, or ``cf1 cf4 cf6 cfx``."""
    base: FrameUse = UNSTATED
    tool: FrameUse = UNSTATED


@dataclass(frozen=True)
class Left:
    """A point that is left as it stands, and why."""

    name: str
    row: int
    file: int
    why: str

    @property
    def words(self) -> str:
        """What is left; a point without a name is called after its row."""
        return "what is moved to there" if self.name == nameless(self.row) else self.name


def nameless(row: int) -> str:
    """The name of a point that stands in a motion.

    >>> nameless(12)
    'row 12'
    """
    return f"row {row}"


@dataclass(frozen=True, eq=False)
class Program:
    """Files of a program and what is moved to in them."""

    language: Literal["krl", "rapid"]
    files: tuple[ProgramFile, ...]
    points: tuple[Point, ...]
    """In the order in which the text moves to them."""
    left: tuple[Left, ...] = ()
    warnings: tuple[str, ...] = ()
    watched: bool = True
    """Whether the controller heeds the ways its points name; if not it takes the one nearest to the point before."""


def arguments(text: str) -> list[tuple[int, str]]:
    """Arguments with their offsets: parts between commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for i, letter in enumerate([*text, ","]):
        depth += (letter in "{[(") - (letter in "}])")
        if (letter == "," and depth <= 0) or i == len(text):
            part = text[start:i]
            if part.strip():
                parts.append((start + len(part) - len(part.lstrip()), part.strip()))
            start = i + 1
    return parts


def is_program(path: Path) -> bool:
    """Whether a path file is a program of a controller, by its ending.

    >>> is_program(Path("job.SRC")), is_program(Path("job.path.csv"))
    (True, False)
    """
    return path.suffix.lower() in (*KRL_ENDINGS, *RAPID_ENDINGS)
