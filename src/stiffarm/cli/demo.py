"""`stiffarm demo`: the whole story on a packaged robot, in a folder of its own.

Each step is a function that reads what the steps before it wrote, as a user would, and returns what it has to tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stiffarm.cli.common import WIDTH, AsJson, Quiet, Seed, answer, tell
from stiffarm.cli.demo_after import compare, look, validate
from stiffarm.cli.demo_files import ROBOT, SIGMA_M, Files, Told
from stiffarm.cli.demo_job import compensate
from stiffarm.cli.demo_plans import CABLE_N, EXPERIMENTS, POSES, arm_of, best_plan

SPREAD_PERCENT = 20.0


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="Where to write.")] = Path("demo"),
    seed: Seed = 1,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """The whole story on a packaged robot, in a folder."""
    from stiffarm.errors import InputError, Problem

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made ({error.strerror})"
        raise InputError(Problem(what, file=str(output), next_step="Choose another with -o DIR")) from None
    files = Files(output)
    told: list[Told] = []
    for number, step in enumerate((assess, plan, measure, identify, validate, compensate, compare, look), start=1):
        told.append(step(files, seed))
        if as_json:
            tell(_wrapped(number, told[-1].text), quiet)
        else:
            print(_wrapped(number, told[-1].text), flush=True)
    written = [str(path) for one in told for path in one.files]
    figures = {name: value for one in told for name, value in one.figures.items()}
    answer({"files": written, "report": str(files.page), "seed": seed, **figures}, _listed(written, files), as_json)


def _listed(written: list[str], files: Files) -> str:
    """What was written, and what to open first."""
    first = {
        files.page: "the model, in a browser",
        files.sheet: "what the operator does, in a browser",
        files.plan: "what to measure, in a spreadsheet",
        files.program: "the corrected path, for a KUKA controller",
    }
    lines = ["Written:", *(f"  {name}" for name in written), "Open first:"]
    return "\n".join([*lines, *(f"  {path}  ({words})" for path, words in first.items())])


def _wrapped(number: int, text: str) -> str:
    from textwrap import fill

    return fill(f"{number}. {text}", WIDTH, subsequent_indent="   ")


def assess(files: Files, seed: int) -> Told:
    """The robot as a file of one's own, and what loads can tell of it."""
    from dataclasses import replace

    from stiffarm.identifiability.api import assess as run
    from stiffarm.robot.reading import read_robot
    from stiffarm.robot.writing import write_robot

    packaged = read_robot(ROBOT)
    robot = replace(packaged, controller=replace(packaged.controller, absolute_accuracy="off"))
    write_robot(robot, files.robot)
    hanging = run(robot, elastic="joints", load="vertical").groups
    pulled = run(robot, elastic="joints", load="any").groups
    unseen = ", ".join(name.split(".")[0] for name in hanging.nothing)
    return Told(
        f"Assess. {robot.name}: a hanging weight tells {hanging.rank} of {len(robot.joints)} springs (never "
        f"{unseen}), a cable that pulls sideways {pulled.rank}.",
        (files.robot,),
        {"told_by_weight": float(hanging.rank), "told_by_cable": float(pulled.rank)},
    )


def plan(files: Files, seed: int) -> Told:
    """The best measurements for that, with a bound on how much better any could be."""
    from dataclasses import replace

    from stiffarm.cli.common import json_text, write_text
    from stiffarm.plan.plan_file import write_plan
    from stiffarm.plan.sheet_campaign import write_sheet_campaign
    from stiffarm.plan.words import document_of
    from stiffarm.report.shift_page import page

    made = best_plan(files.robot, seed)
    write_plan(made, files.plan)
    write_text(files.plan_answer, json_text(document_of(replace(made, seconds=0.0))))  # the same bytes for a seed
    files.sheet_campaign.unlink(missing_ok=True)
    write_sheet_campaign(made, files.sheet_campaign, None)
    write_text(files.sheet, page(made, files.sheet_campaign.name, files.robot.name))
    assert made.certificate is not None
    assert made.attachment_m is not None
    x, y, _ = made.attachment_m
    return Told(
        f"Plan. {POSES} configurations, {EXPERIMENTS // POSES} times each, {CABLE_N:.0f} N towards the floor at x = "
        f"{x:.2f}, y = {y:.2f} m: {1e3 * made.value:.4f} mm expected where it works, and no plan of this size gets "
        f"under {1e3 * made.certificate.bound:.4f}.",
        (files.plan, files.plan_answer, files.sheet, files.sheet_campaign),
        {"plan[m]": made.value, "bound[m]": made.certificate.bound},
    )


def measure(files: Files, seed: int) -> Told:
    """A virtual campaign of an arm whose compliances are not those of the file, beside what the file expects."""
    import numpy as np

    from stiffarm.cli.common import json_text, write_text
    from stiffarm.compensate.model_file import read_model
    from stiffarm.compensate.predicting import predict_file
    from stiffarm.measure.reading import read_plan
    from stiffarm.measure.truth import Spread, random_truth, truth_document
    from stiffarm.measure.virtual import simulate
    from stiffarm.measure.writing import as_written, write_campaign

    model = arm_of(files.robot).model
    values = random_truth(model, [Spread("A*.compliance", SPREAD_PERCENT, "%")], seed)
    virtual = simulate(model.at(values), read_plan(files.plan, model.robot), seed=seed, sigma_m=SIGMA_M)
    write_campaign(as_written(virtual.campaign, "mm,deg"), files.campaign, units="mm,deg")
    document = truth_document(virtual, model, values, robot=files.robot.name, command="stiffarm demo")
    write_text(files.truth, json_text(document))
    read = virtual.campaign.readings.value[:3]
    bending = float(np.linalg.norm(read, axis=0).max())
    rms, floor = (
        float(np.sqrt(np.mean(np.sum((predict_file(read_model(one), files.plan).elastic - read) ** 2, axis=0))))
        for one in (files.robot, files.truth)
    )
    return Told(
        f"Measure. A virtual arm with springs {SPREAD_PERCENT:.0f} % off bends by up to {1e3 * bending:.1f} mm; the "
        f"file's springs say it to {1e3 * rms:.2f} mm, the tracker scatters by {1e3 * floor:.2f}.",
        (files.campaign, files.settings, files.truth),
        {"largest_deflection[m]": bending, "nominal_rms[m]": rms, "true_rms[m]": floor},
    )


def identify(files: Files, seed: int) -> Told:
    """The springs from the readings, with intervals, judged on configurations that were left out."""
    from stiffarm.compensate.model_file import read_model
    from stiffarm.identify.api import identify as run
    from stiffarm.identify.model_file import write_estimate

    estimate = run(files.robot, files.campaign, seed=seed, command="stiffarm demo")
    write_estimate(estimate, files.model)
    truth = read_model(files.truth).values
    found = [p for p in estimate.parameters if p.low is not None and p.high is not None]
    inside = sum(p.low <= truth[p.name] <= p.high for p in found if p.low is not None and p.high is not None)
    share = max((p.std or 0.0) / abs(p.value or 1.0) for p in found)
    return Told(
        f"Identify. {len(found)} springs, each to {share:.1%} or better; {inside} of {len(found)} intervals of 95 % "
        f"hold the truth. {'Usable' if estimate.verdict.usable else 'Not usable'} on readings left out.",
        (files.model,),
        {"intervals": float(len(found)), "intervals_that_hold": float(inside)},
    )
