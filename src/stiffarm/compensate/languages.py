"""The languages a corrected path can be written in: one writer file each, one line here.

A writer is a function of a corrected path, of what it may need beside it, and of the file to write; it answers
with the files it wrote.  Writers are imported when they are asked for, so that the command's help comes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from stiffarm.errors import InputError, Problem, did_you_mean

if TYPE_CHECKING:
    from stiffarm.compensate.cell import Cell
    from stiffarm.compensate.corrected import CorrectedPath
    from stiffarm.compensate.model_file import KnownModel
    from stiffarm.measure.paths import PathFile
    from stiffarm.measure.writing import Cells


@dataclass(frozen=True, eq=False)
class Handover:
    """What a writer may need beside the targets."""

    model: KnownModel
    source: PathFile
    """The path as it was read, its columns as they stand."""
    remarks: Mapping[str, Cells] = field(default_factory=dict)
    """Further columns for tables, one cell a point: residual, deviations, why a point is refused."""
    corrected_twice: bool = False
    """Whether to write although the controller may correct by itself."""
    stated_cell: Cell | None = None
    """Base, tool, targets, speed and rounding as they were asked for; None: nothing was."""

    @property
    def cell(self) -> Cell:
        """Base, tool, targets, speed and rounding."""
        from stiffarm.compensate.cell import Cell

        return self.stated_cell or Cell()


Writer = Callable[["CorrectedPath", Handover, Path], Sequence[Path]]


@dataclass(frozen=True)
class Language:
    """One entry of ``--to``."""

    name: str
    writer: Callable[[], Writer]
    """Imports the writer."""
    partial: bool = False
    """Whether a path with refused points may be written: tables can leave cells empty, programs cannot."""
    endings: tuple[str, ...] = ()
    """Of its files, by which the language is known when nobody names it."""
    check: Callable[[], Callable[[Path, int, Cell], None]] | None = None
    """Imports what refuses a file's name or a number of points that its controller does not take."""

    def refuse(self, output: Path, points: int, cell: Cell) -> None:
        """`InputError` for what can be known to be wrong before the work."""
        if self.check is not None:
            self.check()(output, points, cell)


def _csv() -> Writer:
    from stiffarm.compensate.csv_path import write_csv

    return write_csv


def _krl() -> Writer:
    from stiffarm.compensate.krl import write_krl

    return write_krl


def _krl_check() -> Callable[[Path, int, Cell], None]:
    from stiffarm.compensate.krl import check_krl

    return check_krl


def _rapid_check() -> Callable[[Path, int, Cell], None]:
    from stiffarm.compensate.rapid import check_rapid

    return check_rapid


def _rapid() -> Writer:
    from stiffarm.compensate.rapid import write_rapid

    return write_rapid


LANGUAGES: tuple[Language, ...] = (
    Language("csv", _csv, partial=True, endings=(".csv",)),
    Language("krl", _krl, endings=(".src",), check=_krl_check),
    Language("rapid", _rapid, endings=(".mod", ".modx"), check=_rapid_check),
)
"""In the order of the help."""


def language_of(name: str | None, output: Path | None) -> Language:
    """The language that is named, else that of the output's ending, else the first.

    >>> language_of(None, Path("job.src")).name, language_of("csv", None).name, language_of(None, None).name
    ('krl', 'csv', 'csv')
    """
    if name is not None:
        return language(name)
    ending = "" if output is None else output.suffix.lower()
    return next((one for one in LANGUAGES if ending in one.endings), LANGUAGES[0])


def language(name: str) -> Language:
    """A language by name; `InputError` naming those there are.

    >>> language("csv").partial
    True
    """
    known = [one.name for one in LANGUAGES]
    if name not in known:
        hint = did_you_mean(name, known)
        step = None if hint is None else hint[0].upper() + hint[1:]
        raise InputError(
            Problem("no writer for this language", column="--to", found=name, allowed=", ".join(known), next_step=step)
        )
    return LANGUAGES[known.index(name)]
