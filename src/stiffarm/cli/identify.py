"""`stiffarm identify`: a campaign becomes a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from stiffarm.cli.common import REDUCE_HELP, AsJson, Exactly, Quiet, Seed, answer, tell, warn_all, write_text

Patterns = list[str]
GEARS = "Eccentricities of gears: where readings not fitted favour them, or never."

Links = Annotated[Literal["base", "none"], typer.Option(help="Whether a link stands before the first joint.")]


def identify(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="Robot file or packaged name.")],
    campaigns: Annotated[list[Path], typer.Argument(metavar="CAMPAIGN", help="Campaign files.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")] = None,
    report: Annotated[Path | None, typer.Option("--report", metavar="HTML", help="A page with tables.")] = None,
    geometry: Annotated[
        Literal["none", "offsets", "full"] | None,
        typer.Option(help="Default: full for positions, poses, touches; none for deflections alone."),
    ] = None,
    elastic: Annotated[
        Literal["none", "joints", "links"] | None, typer.Option(help="Default: joints when there are loads.")
    ] = None,
    template: Annotated[
        Literal["full", "symmetric", "beam", "diagonal"] | None,
        typer.Option(help="Of links the file does not describe; of all links when it describes every one."),
    ] = None,
    links: Links = "base",
    reduce: Annotated[Patterns, typer.Option(metavar="[LINKS=]RULE", help=REDUCE_HELP)] = [],  # noqa: B006
    definite: Annotated[bool, typer.Option("--definite", help="Keep links positive definite, k = L L'.")] = False,
    select: Annotated[Patterns, typer.Option(metavar="PATTERN", help="Ask for these parameters too.")] = [],  # noqa: B006
    fix: Annotated[Patterns, typer.Option(metavar="PATTERN", help="Hold these at nominal; wins.")] = [],  # noqa: B006
    gears: Annotated[Literal["auto", "none"], typer.Option(help=GEARS)] = "auto",
    loads: Annotated[Literal["model", "torque", "none"], typer.Option(help="What bends the arm.")] = "torque",
    exact: Exactly = False,
    estimator: Annotated[
        Literal["ols", "wls", "cells", "honest", "robust", "bootstrap"] | None,
        typer.Option(help="Default: honest; wls for very large campaigns."),
    ] = None,
    holdout: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="experiment:0.3, setup:NAME, load:max, target:GLOB, column:NAME=VALUE."),
    ] = None,
    folds: Annotated[str, typer.Option(metavar="N|each", help="Folds that decide the verdict; 0: none.")] = "5",
    level: Annotated[float, typer.Option(min=0.5, max=0.9999, help="Of the intervals.")] = 0.95,
    lambda_: Annotated[float, typer.Option("--lambda", help="Of the cell weights (estimator cells).")] = 1.0,
    sigma0: Annotated[
        str | None, typer.Option(help="Steady part of the cell weights, e.g. 10um; default 1/sigma weights.")
    ] = None,
    iterations: Annotated[int | None, typer.Option(help="Weighted fits of estimator cells.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be fitted and held.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """From measured campaigns a model with intervals and a verdict.

    Geometry and elasticity together; the verdict comes from readings that were not fitted.
    """
    import sys

    from stiffarm.cli.progress import Stages
    from stiffarm.identify.api import identify as run
    from stiffarm.identify.model_file import document, write_estimate
    from stiffarm.identify.options import Options
    from stiffarm.identify.words import estimate_text
    from stiffarm.units import parse_quantity

    options = Options(
        geometry=geometry, elastic=elastic, template=template, links=links, reduce=tuple(reduce), definite=definite,
        select=tuple(select), fix=tuple(fix), gears=gears, loads=loads, exact=exact, estimator=estimator,
        holdout=holdout,
        folds=_folds(folds), level=level, seed=seed, lambda_=lambda_, iterations=iterations,
        sigma0_m=0.0 if sigma0 is None else parse_quantity(sigma0, "length", key="--sigma0"),
    )  # fmt: skip
    if dry_run:
        return _dry_run(robot, campaigns, options, as_json)
    with Stages(quiet) as stages:
        estimate = run(robot, list(campaigns), options, command=" ".join(["stiffarm", *sys.argv[1:]]), tell=stages.tell)
    warn_all(estimate.notes)
    if output is not None:
        write_estimate(estimate, output)
    if report is not None:
        from stiffarm.report.model_page import page

        write_text(report, page(estimate))
    answer(document(estimate), estimate_text(estimate), as_json)
    for path in (output, report):
        if path is not None and not as_json:
            tell(f"wrote {path}", quiet)
    return 0 if estimate.verdict.usable else 1


def _folds(text: str) -> int | Literal["each"]:
    from stiffarm.errors import InputError, Problem

    if text == "each":
        return "each"
    if not text.isdecimal():
        raise InputError(Problem("not a number of folds", column="--folds", found=text, allowed="0, 2, 3 ... or each"))
    return int(text)


def _dry_run(robot: str, campaigns: list[Path], options: Any, as_json: bool) -> int:
    """What the readings could tell, without the model."""
    from stiffarm.identify.fit import fit
    from stiffarm.measure.merging import read_campaigns
    from stiffarm.robot.reading import read_robot

    arm = read_robot(robot)
    campaign = read_campaigns(campaigns, arm)
    warn_all(campaign.warnings)
    found = fit(arm, campaign, options)
    document = {
        "rank": found.rank,
        "gap": found.selection.gap,
        "fitted": list(found.names),
        "dropped": [{"name": d.name, "why": d.why} for d in found.dropped],
    }
    lines = [f"{len(found.names)} parameters would be fitted:", f"  {' '.join(found.names)}"]
    lines += [f"{d.name}: {d.why}" for d in found.dropped]
    answer(document, "\n".join(lines), as_json)
    return 0
