"""`stiffarm report`: the page of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stiffarm.cli.common import AsJson, Quiet, Seed, answer, write_text


def report(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of identify.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="HTML", help="Default: the model's name with .html.")
    ] = None,
    static: Annotated[bool, typer.Option("--static", help="A small file whose figures stand still.")] = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """The page of a model: verdict, errors on unseen readings.

    With parameters, residuals, what was held and why. One file that fetches nothing.
    """
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.report.model_page import page
    from stiffarm.report.model_words import summary

    estimate = read_estimate(model)
    file = output or model.with_name(model.name.removesuffix(".json").removesuffix(".model") + ".report.html")
    write_text(file, page(estimate, script=not static))
    usable = "USABLE" if estimate.verdict.usable else "NOT USABLE"
    verdict = {"usable": estimate.verdict.usable, "reasons": list(estimate.verdict.reasons)}
    text = f"{usable}\n{summary(estimate)}\nwrote {file}"
    answer({"file": str(file), "verdict": verdict, "summary": summary(estimate)}, text, as_json)
