"""From a program to the path it means, and back from the corrected path to the program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from stiffarm.compensate import branches
from stiffarm.compensate.cell import Cell
from stiffarm.compensate.compensating import Compensation
from stiffarm.compensate.corrected import CorrectedPath, Refused
from stiffarm.compensate.languages import Handover, Language
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.programs.krl_reading import read_krl
from stiffarm.compensate.programs.parts import KRL_ENDINGS, Program
from stiffarm.compensate.programs.placing import MOST_NAMED, Placed, placed
from stiffarm.compensate.programs.rapid_reading import read_rapid
from stiffarm.compensate.programs.rewriting import outputs_of, write_program
from stiffarm.errors import InputError, Problem

_CORRECTED = re.compile(r"^[ \t]*[;!][ \t]*corrected with ([^;\r\n]+)", re.MULTILINE)
"""The comment in which a program that was written here names its model."""


def read_program(path: Path) -> Program:
    """A program by its ending."""
    return read_krl(path) if path.suffix.lower() in KRL_ENDINGS else read_rapid(path)


def opened(path: Path, model: KnownModel, cell: Cell, to: str | None, output: Path | None) -> Placed:
    """A program to be corrected in place; `InputError` for what cannot be done with it."""
    program = read_program(path)
    if to not in (None, program.language):
        what = "a program is corrected in place, in its own language"
        raise InputError(Problem(what, str(path), None, "--to", to, program.language))
    if output is not None:
        outputs_of(program, output)
    return placed(program, cell, model.robot, model.nominal())


def language_of_program(job: Placed) -> Language:
    """A writer that puts the corrected points in their places."""

    def write(path: CorrectedPath, handover: Handover, output: Path) -> Sequence[Path]:
        return write_program(job, path, handover.model.nominal(), output)

    return Language(job.program.language, lambda: write)


def named(found: Compensation, job: Placed) -> Compensation:
    """The same with refused points called by their names."""
    lost = np.flatnonzero(np.isnan(found.path.q).any(axis=0))
    refused = tuple(
        Refused(one.row, f"{job.points[i].name}: {one.reason}") for i, one in zip(lost, found.path.refused, strict=True)
    )
    return replace(found, path=replace(found.path, refused=refused))


def told_warnings(job: Placed) -> tuple[str, ...]:
    """What the user should know of the program."""
    taught = [
        point.name
        for point in job.points
        if "S" in point.ways and int(point.ways["S"].value) & branches.TAUGHT_CORRECTED
    ]
    marks: tuple[str, ...] = ()
    if taught:
        some = ", ".join(taught[:MOST_NAMED])
        marks = (
            f"S of {len(taught)} points ({some}) says that they were taught on a robot whose controller corrects by "
            "itself: if it still does, they would be corrected twice",
        )
    already = sorted({found[1] for file in job.program.files for found in _CORRECTED.finditer(file.text)})
    if already:
        marks += (
            f"the program says that it was corrected with {', '.join(already)} already: its points would be corrected "
            "twice; take the program from before",
        )
    return (*job.warnings, *marks)
