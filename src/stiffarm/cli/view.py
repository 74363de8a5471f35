"""`stiffarm view`: the arm in three dimensions, in a browser of this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stiffarm.cli.common import AsJson, Quiet, Seed, answer, tell, warn_all, write_text

if TYPE_CHECKING:
    from stiffarm.report.view.scene import Pull
    from stiffarm.report.view.subject import Subject


def view(
    model: Annotated[
        str, typer.Argument(metavar="MODEL|ROBOT", help="A model file, a robot file or a packaged robot.")
    ],
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Step through the poses of a plan, campaign or path.")
    ] = None,
    campaign: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Measured beside predicted markers, errors magnified.")
    ] = None,
    cell: Annotated[Path | None, typer.Option(metavar="FILE", help="A .cell.toml: what stands around the arm.")] = None,
    force: Annotated[
        str | None, typer.Option(metavar="X,Y,Z[N]", help="What pulls, in the world, z up; 500N pulls down.")
    ] = None,
    load_point: Annotated[str, typer.Option(metavar="NAME", help="Where --force pulls.")] = "tool",
    host: Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 shows it to the network.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Default: the first free one from 8080; 0: any.")
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser.")] = True,
    seconds: Annotated[float | None, typer.Option(min=0.0, help="End by itself after so long.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the picture (.html), or the answer."),
    ] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """The arm in three dimensions, in a browser of this machine.

    Unloaded and bent (magnified), with its loads, the compliance at the tool, the poses of a plan and what was
    measured. Ctrl-C ends it.
    """
    from stiffarm.compensate.model_file import read_model
    from stiffarm.report.view.serving import on_show, require_viser
    from stiffarm.report.view.subject import subject_of

    require_viser()
    known = read_model(model)
    subject = subject_of(known, plan=plan, campaign=campaign, cell=cell, force=_pull(known, force, load_point))
    warn_all(subject.notes)
    try:
        with on_show(subject, host, port) as shown:
            pictured = output is not None and output.suffix.lower() in (".html", ".htm")
            if pictured and output is not None:
                write_text(output, shown.page())
            text = _text(subject, shown.url)
            answer(_document(model, subject, shown.url), text, as_json, None if pictured else output)
            sys.stdout.flush()
            if open_browser and not as_json:
                _open(shown.url)
            shown.run(seconds)
    except KeyboardInterrupt:
        tell("closed.", quiet)


def _pull(known: Any, force: str | None, load_point: str) -> Pull | None:
    """The force of the option, or `InputError`."""
    import re

    import numpy as np

    from stiffarm.errors import InputError, Problem, found_text
    from stiffarm.report.view.scene import Pull
    from stiffarm.report.view.subject import known_point

    point = known_point(known.arm(), load_point, "--load-point")
    if force is None:
        return None
    found = re.fullmatch(r"\s*([^\[\]a-zA-Z]*(?:[eE][-+]?\d+[^\[\]a-zA-Z]*)*)\[?(k?N)\]?\s*", force)
    try:
        numbers = [float(word) for word in found[1].split(",")] if found else []
    except ValueError:
        numbers = []
    if found is None or len(numbers) not in (1, 3) or not np.isfinite(numbers).all() or np.abs(numbers).max() > 1e7:
        allowed = "X,Y,Z[N] as 0,0,-500[N], or a downward pull as 500N"
        raise InputError(Problem("this is no force", column="--force", found=found_text(force), allowed=allowed))
    vector = np.array(numbers if len(numbers) == 3 else [0.0, 0.0, -numbers[0]])
    return Pull(point, vector * (1e3 if found[2] == "kN" else 1.0), np.zeros(3))


def _document(model: str, subject: Subject, url: str) -> dict[str, object]:
    from stiffarm.report.view.words import described

    missed = subject.misses
    return {
        "url": url,
        "model": model,
        "robot": subject.known.robot.name,
        "drawn": subject.drawn,
        "poses": 0 if subject.stops is None else len(subject.stops),
        "readings": 0 if missed is None else len(missed),
        "rms[m]": None if missed is None else missed.rms_m,
        "magnification": {
            "deflection": subject.magnification,
            "errors": None if missed is None else subject.misses_magnification,
        },
        "shown": described(subject),
    }


def _text(subject: Subject, url: str) -> str:
    import textwrap

    from stiffarm.report.view.words import described

    lines = [wrapped for line in described(subject) for wrapped in textwrap.wrap(line, 78, subsequent_indent="  ")]
    return "\n".join([url, *lines, "Sliders move the joints (arrow keys too). Ctrl-C ends it."])


def _open(url: str) -> None:
    """A browser with windows, where there is a screen; a text browser would take the terminal."""
    if os.name == "posix" and sys.platform != "darwin" and not ({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys()):
        return
    import webbrowser

    webbrowser.open(url)
