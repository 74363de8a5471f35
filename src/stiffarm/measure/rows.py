"""The columns of names of a campaign file as integer codes, and the relations between rows they state."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.measure import checks
from stiffarm.measure.campaign import DEFAULT_MARKER, OBSERVATIONS
from stiffarm.measure.columns import markers_of
from stiffarm.measure.loads import Loads
from stiffarm.measure.sheet import Ints, Sheet, factorise, raise_if, unknown_names
from stiffarm.robot.arm import Robot


@dataclass(frozen=True, eq=False)
class Rows:
    """The columns of names, one code per row; -1 = an empty cell."""

    experiments: tuple[str, ...]
    experiment: Ints
    markers: tuple[str, ...]
    marker: Ints
    setups: tuple[str, ...]
    setup: Ints
    visits: tuple[str, ...]
    visit: Ints
    targets: tuple[str, ...]
    target: Ints
    target2: Ints
    kind: Ints
    reference: Ints
    """Index of an experiment, -1 = none, -2 = no such experiment."""
    repeat: Ints


def rows_of(sheet: Sheet, robot: Robot | None, stem: str) -> Rows:
    """Names of every row as codes; unknown observations and markers are refused here."""
    experiments, experiment = _experiments(sheet)
    observations, observed = sheet.codes("observation", OBSERVATIONS[0])
    problems = unknown_names(sheet, "observation", observations, observed, OBSERVATIONS, "observation")
    kind = np.array([OBSERVATIONS.index(o) if o in OBSERVATIONS else 0 for o in observations])[observed]
    markers, marker = _markers(sheet, kind)
    if robot is not None:
        problems += unknown_names(sheet, "marker", markers, marker, markers_of(robot), "marker")
    raise_if(problems)
    setups, setup = sheet.codes("setup", stem)
    visits, visit = sheet.codes("visit")
    targets, both = factorise(sheet.text("target").append(sheet.text("target2")))
    repeat = np.nan_to_num(sheet.number("repeat"), nan=1.0).astype(np.int64)
    return Rows(
        experiments, experiment, markers, marker, setups, setup, visits, visit,
        targets, both[: len(sheet)], both[len(sheet) :], kind, _references(sheet, experiments), repeat,
    )  # fmt: skip


def _experiments(sheet: Sheet) -> tuple[tuple[str, ...], Ints]:
    if not sheet.has("experiment"):
        headers = sheet.layout.unknown
        close = next((header for header in headers if did_you_mean(header.lower(), ["experiment"])), None)
        raise InputError(
            Problem(
                "the column 'experiment' is missing",
                file=sheet.table.file,
                row=1,
                found=", ".join(sheet.table.headers[:8]) + (", ..." if len(sheet.table.headers) > 8 else ""),
                allowed="an id in every row, the same for rows that share configuration and loads",
                next_step=None if close is None else f"Rename '{close}' to 'experiment'",
            )
        )
    names, codes = sheet.codes("experiment")
    empty = codes < 0
    if empty.any():
        at = int(np.argmax(empty))
        blank = not any(sheet.table.frame.row(at))
        what = "blank line inside the table" if blank else "the row belongs to no experiment"
        raise InputError(sheet.problem(what, "experiment", at, allowed="an id in every row"))
    return names, codes


def _markers(sheet: Sheet, kind: Ints) -> tuple[tuple[str, ...], Ints]:
    """Marker of every row; an empty cell is the tool point, or none for a distance between targets."""
    distance = kind == checks.KIND["distance"]
    if not distance.any():
        return sheet.codes("marker", DEFAULT_MARKER)
    cells = sheet.text("marker")
    settled = (cells != "") | pl.Series(distance)
    return factorise(cells.zip_with(settled, pl.repeat(DEFAULT_MARKER, len(sheet), dtype=pl.String, eager=True)))


def _references(sheet: Sheet, experiments: tuple[str, ...]) -> Ints:
    names, codes = sheet.codes("reference")
    if not names:
        return codes
    index = {name: i for i, name in enumerate(experiments)}
    return np.array([*(index.get(name, -2) for name in names), -1])[codes]


def numbered(sheet: Sheet, rows: Rows) -> Rows:
    """Count repetitions when the file has no column for them; otherwise no reading may stand twice."""
    key = checks.pack(rows.experiment, rows.setup, rows.kind, rows.marker, rows.visit, rows.target, rows.target2)
    if not sheet.has("repeat"):
        return replace(rows, repeat=checks.number_of_occurrence(key))
    counted = rows.kind != checks.KIND["distance"]
    raise_if(
        checks.duplicate_problems(sheet, checks.pack(key, np.unique(rows.repeat, return_inverse=True)[1]), counted)
    )
    return rows


def relation_problems(sheet: Sheet, rows: Rows, loads: Loads) -> list[Problem]:
    """What is wrong with the references between rows."""
    if not (rows.reference != -1).any():
        return []
    columns = checks.ReferenceColumns(
        experiment=rows.experiment,
        same=checks.pack(rows.marker, np.unique(rows.repeat, return_inverse=True)[1]),
        kind=rows.kind,
        reference=rows.reference,
        loaded=np.any(loads.wrench_world != 0.0, axis=(0, 1)),
    )
    return checks.reference_problems(sheet, columns, rows.experiments)
