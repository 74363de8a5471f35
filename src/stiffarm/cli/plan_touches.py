"""`stiffarm plan --observe touch`: which points to touch, how often, in which postures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stiffarm.cli.common import answer, json_text, tell, warn_all, write_text

if TYPE_CHECKING:
    from rich.console import Group

    from stiffarm.plan.options import PlanOptions
    from stiffarm.plan.touches import TouchPlan

MOST_LINES = 40
FILE_UNITS = "mm,deg"


def plan_touches(
    robot: str,
    options: PlanOptions,
    pages: Sequence[Path | None],
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Plan, write, answer."""
    from stiffarm.cli.progress import Steps, interruptible
    from stiffarm.measure.writing import as_written, write_campaign
    from stiffarm.plan.touch_words import document_of
    from stiffarm.plan.touches import campaign_of_touches
    from stiffarm.plan.touches import plan_touches as run

    ignored = _ignored(options, pages)
    if ignored:
        warn_all([f"{', '.join(ignored)} left aside: touches are planned without"])
    with Steps(quiet) as steps, interruptible(quiet) as stop:
        made = run(robot, options, tell=steps.tell, stop=stop)
    warn_all(made.notes)
    document = document_of(made)
    if output is not None and output.suffix.lower() == ".json":
        write_text(output, json_text(document))
    elif output is not None:
        write_campaign(as_written(campaign_of_touches(made), FILE_UNITS), output, units=FILE_UNITS)
    answer(document, _text(made), as_json)
    if output is not None and not as_json:
        tell(f"wrote {output}", quiet)
    return 0


def _ignored(options: PlanOptions, pages: Sequence[Path | None]) -> list[str]:
    """Options that were given and are not for touches."""
    given = {
        "--candidates": options.candidates,
        "--verify": options.verify,
        "--cell": options.room.cell,
        "--station": options.station_m,
        "--both-sides": options.manner.both_sides,
        "--reference-every": options.manner.reference_every,
        "--instrument": options.settings,
        "--angles": options.angles,
        "--sheet, --report": any(pages),
    }
    return [name for name, one in given.items() if one]


def _text(made: TouchPlan) -> Group:
    """Words, then the table of parameters."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from stiffarm.plan.touch_words import sentences

    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("parameter", no_wrap=True)
    table.add_column("predicted std (SI)", justify="right", no_wrap=True)
    for name, std in list(made.predicted_std.items())[:MOST_LINES]:
        table.add_row(name, f"{std:.2e}")
    parts: list[Text | Table] = [Text(sentence) for sentence in sentences(made)]
    parts.append(table)
    if (more := len(made.predicted_std) - MOST_LINES) > 0:
        parts.append(Text(f"{more} more lines: --json has all of them."))
    parts.append(Text(f"Seed {made.seed}, {made.seconds:.1f} s."))
    return Group(*parts)
