"""The campaign that the operator fills in: the shift of a plan as a file beside the page."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from stiffarm.errors import InputError, Problem
from stiffarm.measure.settings import stem_of
from stiffarm.plan.driven import driven, to_fill
from stiffarm.plan.plan_file import campaign_of, write_beside
from stiffarm.plan.problem import Plan

READ = ("x", "y", "z", "rx", "ry", "rz")


@dataclass(frozen=True)
class SheetFiles:
    """The page and the campaign to fill in."""

    page: Path
    campaign: Path


def sheet_files(given: Path) -> SheetFiles:
    """Both files by the name of one of them, or by their stem; refused where the campaign holds readings already.

    >>> files = sheet_files(Path("day.html"))
    >>> str(files.page), str(files.campaign)
    ('day.html', 'day.campaign.csv')
    >>> str(sheet_files(Path("day.campaign.csv")).page), str(sheet_files(Path("day")).campaign)
    ('day.html', 'day.campaign.csv')
    """
    name, folder = given.name, given.parent
    suffix = next((s for s in (".campaign.csv", ".csv", ".html", ".htm") if name.lower().endswith(s)), "")
    stem = name[: len(name) - len(suffix)]
    page = given if suffix in (".html", ".htm") else folder / f"{stem}.html"
    path = given if suffix.endswith("csv") else folder / f"{stem}.campaign.csv"
    if path.is_file() and _holds_readings(path):
        raise InputError(
            Problem(
                "this campaign holds readings, and the sheet to fill in would be written over it",
                str(path),
                column="--sheet",
                allowed="another name for the sheet",
                next_step="Or move the campaign away",
            )
        )
    return SheetFiles(page, path)


def _holds_readings(path: Path) -> bool:
    """Whether any reading stands in a file; a file that cannot be understood may hold some."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            first = stream.readline()
            header = next(csv.reader([first], delimiter=_delimiter(first)), [])
            columns = [i for i, name in enumerate(header) if name.split("[")[0].strip() in READ]
            rows = csv.reader(stream, delimiter=_delimiter(first))
            return not columns or any(row[i].strip() for row in rows for i in columns if i < len(row))
    except (OSError, UnicodeDecodeError, csv.Error):
        return True


def _delimiter(header: str) -> str:
    return ";" if ";" in header else ","


def write_sheet_campaign(plan: Plan, path: Path, settings: str | Path | None) -> None:
    """Write the visits of a plan with empty columns for what is read, and the instrument's settings beside them."""
    assert plan.shift is not None, "a plan that is answered says how it is driven"
    campaign = driven(campaign_of(plan, stem_of(path)), plan.shift)
    write_beside(to_fill(campaign, plan.shift, plan.problem.reading.kind), path, settings)
