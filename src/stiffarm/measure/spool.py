"""Campaigns too big to be held: read and checked a piece at a time, then gone through as often as needed.

The file is cut at line ends into pieces of about a megabyte; each, with the header before it, is read and checked
like a file of its own, and laid down in a temporary folder as the arrays it became.  Whoever needs the campaign goes
through the pieces, of which one is in memory.  Beside them a *sample* is kept, rows at even distances and the first
rows of every marker in every setup, as one small campaign: what needs all kinds of rows at once, such as where the
setups stand, starts from it.

Rows of one experiment may lie in several pieces; that they state the same joints is checked by fingerprints.  Rows
that refer to rows elsewhere (a ``reference``, touched targets, distances) cannot be taken apart: `EntangledError` is
raised, and the campaign has to be read as a whole.
"""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import Campaign, SigmaTable
from stiffarm.measure.merging import merge_campaigns
from stiffarm.measure.observe import DIRECT
from stiffarm.measure.reading import campaign_of
from stiffarm.measure.sheet import sheet_of
from stiffarm.measure.table import table_of
from stiffarm.robot.arm import Robot

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Told = Callable[[str, int, int], None]
"""Told what is done, how much of it and of how much."""

PIECE_BYTES = 1_000_000
SAMPLE_ROWS = 6_000
FIRST_ROWS = 50
"""Rows of each marker in each setup that are in the sample whatever the distance."""
MOST_WARNINGS = 6


class EntangledError(Exception):
    """Rows of the campaign refer to each other, so that it cannot be taken in pieces."""


@dataclass(frozen=True, eq=False)
class Spool:
    """A campaign in pieces."""

    folder: Path
    count: int
    rows: int
    sample: Campaign
    """Some of the rows, of every setup and marker, in one campaign."""
    warnings: tuple[str, ...]

    def __iter__(self) -> Iterator[Campaign]:
        """The pieces in order, with what the settings of all files say."""
        known = {setup.name: setup for setup in self.sample.setups}
        for i in range(self.count):
            with (self.folder / f"{i}.piece").open("rb") as stored:
                piece: Campaign = pickle.load(stored)
            yield replace(
                piece,
                setups=tuple(known.get(setup.name, setup) for setup in piece.setups),
                instrument=piece.instrument if isinstance(piece.instrument, SigmaTable) else self.sample.instrument,
                shared=self.sample.shared,
                load_uncertainty=self.sample.load_uncertainty,
            )


@contextmanager
def spooled(paths: Sequence[str | Path], robot: Robot, tell: Told | None = None) -> Iterator[Spool]:
    """Read campaign files in pieces; the pieces are gone when the context ends."""
    with tempfile.TemporaryDirectory(prefix="stiffarm-") as folder:
        reader = _Reader(Path(folder), robot, tell, sum(Path(path).stat().st_size for path in paths))
        kept = [reader.read(path) for path in paths]
        reader.require_same_joints()
        tables = [table_of(text, str(path)) for text, path in zip(kept, paths, strict=True)]
        samples = [campaign_of(sheet_of(t, robot), path, robot) for t, path in zip(tables, paths, strict=True)]
        yield Spool(Path(folder), reader.count, reader.rows, merge_campaigns(samples), reader.told_warnings())


@dataclass(eq=False)
class _Reader:
    """Goes through the files once."""

    folder: Path
    robot: Robot
    tell: Told | None
    total_bytes: int
    count: int = 0
    rows: int = 0
    done_bytes: int = 0
    names: list[Words] = field(default_factory=list)
    states: list[Words] = field(default_factory=list)
    warnings: Counter[str] = field(default_factory=Counter)

    def read(self, path: str | Path) -> bytes:
        """Lay down the pieces of a file; the text of its sample."""
        header, kept, seen = b"", list[bytes](), Counter[tuple[str, str]]()
        step = 0
        for header, body, skipped in cut(path):
            piece = self._piece(path, header, body, skipped)
            lines = body.split(b"\n")
            if not step:  # at this many rows a byte, the file has so many
                file_rows = len(piece.readings) * Path(path).stat().st_size / max(len(body), 1)
                step = max(1, int(file_rows * self.total_bytes / Path(path).stat().st_size / SAMPLE_ROWS))
            kept += [lines[i] for i in _chosen(piece, step, seen)]
            self._lay_down(piece, path)
            self.done_bytes += len(body)
            if self.tell is not None:
                self.tell("bytes read", self.done_bytes, self.total_bytes)
        return b"\n".join([header, *kept])

    def _piece(self, path: str | Path, header: bytes, body: bytes, skipped: int) -> Campaign:
        sheet = sheet_of(table_of(header + b"\n" + body, str(path), skipped), self.robot)
        if sheet.has("reference") and (sheet.text("reference") != "").any():
            raise EntangledError
        piece = campaign_of(sheet, path, self.robot)
        direct = np.logical_or.reduce([piece.kind(kind) for kind in DIRECT])
        if not direct.all() or len(piece.readings) != body.count(b"\n") + 1:
            raise EntangledError
        return piece

    def _lay_down(self, piece: Campaign, path: str | Path) -> None:
        self.names.append(pl.Series([f"{path}\n{name}" for name in piece.experiments.names]).hash().to_numpy())
        self.states.append(fingerprints(piece.experiments.q))
        self.warnings.update(piece.warnings)
        with (self.folder / f"{self.count}.piece").open("wb") as stored:
            pickle.dump(replace(piece, warnings=()), stored, protocol=pickle.HIGHEST_PROTOCOL)
        self.count += 1
        self.rows += len(piece.readings)

    def told_warnings(self) -> tuple[str, ...]:
        """Sentences that every piece says, and the first of those that only some say."""
        everywhere = [sentence for sentence, times in self.warnings.items() if times == self.count]
        some = [s for s, times in self.warnings.items() if times < self.count and "no row belongs to setup" not in s]
        more = len(some) - MOST_WARNINGS
        return (*everywhere, *some[:MOST_WARNINGS], *([f"{more} more such warnings in later rows"] if more > 0 else []))

    def require_same_joints(self) -> None:
        """Rows of one experiment in several pieces must state the same joints."""
        names, states = np.concatenate(self.names), np.concatenate(self.states)
        order = np.lexsort((states, names))
        names, states = names[order], states[order]
        apart = np.flatnonzero((names[1:] == names[:-1]) & (states[1:] != states[:-1]))
        if len(apart):
            raise InputError(
                Problem(
                    "rows of one experiment, far apart in the file, state different joint values",
                    found=f"{len(apart)} such experiment{'s' if len(apart) > 1 else ''}",
                    allowed="the same joints in every row of an experiment",
                    next_step="Give each configuration an experiment of its own, and put its rows together",
                )
            )


def cut(path: str | Path, size: int = PIECE_BYTES) -> Iterator[tuple[bytes, bytes, int]]:
    """Header, some whole lines, and the number of lines between them, again and again to the end of a file."""
    with Path(path).open("rb") as stream:
        header, rest, skipped = stream.readline().rstrip(b"\r\n"), b"", 0
        while block := stream.read(size):
            rest += block
            end = rest.rfind(b"\n")
            if end < 0 or rest.count(b'"', 0, end) % 2:
                continue
            yield header, rest[:end], skipped
            skipped += rest.count(b"\n", 0, end + 1)
            rest = rest[end + 1 :]
        if rest.strip():
            yield header, rest.rstrip(), skipped


def fingerprints(columns: NDArray[np.float64]) -> Words:
    """One number for each column of numbers (k, n), equal for equal columns."""
    bits = np.ascontiguousarray(columns + 0.0).view(np.uint64)
    found = np.full(columns.shape[1], 0x9E3779B97F4A7C15, dtype=np.uint64)
    for row in bits:
        found ^= row
        found *= np.uint64(0xBF58476D1CE4E5B9)
        found ^= found >> np.uint64(29)
    found *= np.uint64(0x94D049BB133111EB)
    return np.asarray(found ^ (found >> np.uint64(32)))


def _chosen(piece: Campaign, step: int, seen: Counter[tuple[str, str]]) -> list[int]:
    """Rows of a piece for the sample."""
    readings = piece.readings
    chosen = set(range(0, len(readings), step))
    markers = (*piece.markers, "")
    code = readings.setup * len(markers) + readings.marker
    for one in np.unique(code):
        rows = np.flatnonzero(code == one)
        name = (piece.setups[readings.setup[rows[0]]].name, markers[readings.marker[rows[0]]])
        chosen.update(rows[: max(0, FIRST_ROWS - seen[name])].tolist())
        seen[name] += len(rows)
    return sorted(chosen)
