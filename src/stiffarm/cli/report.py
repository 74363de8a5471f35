"""`stiffarm report`: the page of a model."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from stiffarm.cli.common import WIDTH, AsJson, Quiet, Seed, answer, write_text


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of identify.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="Default: the model's name with .html.")
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="Answer of plan it was measured by, to be shown too.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write every figure as a file of its own, too.")
    ] = None,
    png: Annotated[bool, typer.Option("--png", help="Figures as PNG besides; needs Chrome or Edge.")] = False,
    static: Annotated[bool, typer.Option("--static", help="A small file whose figures stand still.")] = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """The page of a model: verdict, errors on unseen readings.

    With parameters, residuals, what was held and why. One file that fetches nothing.
    """
    from stiffarm.identify.known import model_of
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.report.figure_files import figure_files, prepared_folder, write_figures
    from stiffarm.report.model_page import model_page
    from stiffarm.report.model_words import summary
    from stiffarm.report.page import page_html
    from stiffarm.report.plan_answer import read_plan_answer

    estimate = read_estimate(model)
    planned = None if plan is None else read_plan_answer(plan, model_of(estimate).robot)
    folder = None if figures is None and not png else prepared_folder(figures, png)
    file = output or model.with_name(model.name.removesuffix(".json").removesuffix(".model") + ".report.html")
    page = model_page(estimate, planned)
    drawn = {} if folder is None else figure_files(page, png=png)
    write_text(file, page_html(page, script=not static))
    written = [] if folder is None else write_figures(drawn, folder)
    usable = "USABLE" if estimate.verdict.usable else "NOT USABLE"
    verdict = {"usable": estimate.verdict.usable, "reasons": list(estimate.verdict.reasons)}
    text = f"{usable}\n{textwrap.fill(summary(estimate), WIDTH)}\nwrote {file}"
    text += f"\nwrote {len(written)} figures into {folder}" if written else ""
    document = {"file": str(file), "verdict": verdict, "summary": summary(estimate)}
    answer(document | {"figures": [str(one) for one in written]}, text, as_json)
