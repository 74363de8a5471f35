"""`stiffarm demo`: the whole story on a packaged robot, in a folder of its own.

Each step is a function that reads what the steps before it wrote, as a user would, and returns what it has to tell.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stiffarm.cli.common import WIDTH, AsJson, Quiet, Seed, answer, tell
from stiffarm.cli.demo_after import budget, compare, look, validate
from stiffarm.cli.demo_files import ROBOT, SIGMA_M, Files, Told
from stiffarm.cli.demo_job import compensate
from stiffarm.cli.demo_plans import PULL_N, SIDEWAYS, VERTICAL, WEIGHT_N, arm_of, write_plan

if TYPE_CHECKING:
    from stiffarm.measure.campaign import Campaign

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
    for number, step in enumerate(
        (describe, plan, measure, predict, identify, validate, budget, compensate, compare, look), start=1
    ):
        told.append(step(files, seed))
        tell(_wrapped(number, told[-1].text), quiet or not as_json)
    written = [str(path) for one in told for path in one.files]
    figures = {name: value for one in told for name, value in one.figures.items()}
    story = "\n".join(_wrapped(number, one.text) for number, one in enumerate(told, start=1))
    listed = "\n".join(f"  {name}" for name in written)
    answer(
        {"files": written, "report": str(files.page), "seed": seed, **figures}, f"{story}\nWritten:\n{listed}", as_json
    )


def _wrapped(number: int, text: str) -> str:
    from textwrap import fill

    return fill(f"{number}. {text}", WIDTH, subsequent_indent="   ")


def describe(files: Files, seed: int) -> Told:
    """The robot, as a file of one's own."""
    from stiffarm.robot.reading import read_robot
    from stiffarm.robot.writing import write_robot

    robot = read_robot(ROBOT)
    write_robot(robot, files.robot)
    return Told(
        f"Describe. {robot.name}: {len(robot.joints)} joints that bend, a hook for loads and "
        f"{len(robot.marker_names)} markers for a laser tracker, in one file.",
        (files.robot,),
    )


def plan(files: Files, seed: int) -> Told:
    """Configurations in which the markers stand clear of the floor, and what pulls in each of them."""
    import numpy as np

    from stiffarm.robot.reading import read_robot

    write_plan(files.robot, files.plan, np.random.default_rng([seed, 0]))
    markers = len(read_robot(files.robot).marker_names)
    return Told(
        f"Plan. {VERTICAL} configurations with {WEIGHT_N:.0f} N hanging at the hook, {SIDEWAYS} pulled sideways with "
        f"{PULL_N:.0f} N (a hanging load alone says nothing about axis 1): {(VERTICAL + SIDEWAYS) * markers} readings.",
        (files.plan,),
    )


def measure(files: Files, seed: int) -> Told:
    """A virtual campaign of an arm whose compliances are not those of the file."""
    from stiffarm.cli.common import json_text, write_text
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
    return Told(
        f"Measure. A virtual arm whose springs are {SPREAD_PERCENT:.0f} % off the file's, read by a tracker that "
        f"scatters by {1e3 * SIGMA_M:g} mm; its truth is written beside the campaign.",
        (files.campaign, files.settings, files.truth),
        {"readings": float(len(virtual.campaign.readings))},
    )


def predict(files: Files, seed: int) -> Told:
    """What the robot file expects at the same places, and how far off it is."""
    import numpy as np

    from stiffarm.compensate.model_file import read_model
    from stiffarm.compensate.predicting import predict_file
    from stiffarm.measure.reading import read_campaign

    nominal = predict_file(read_model(files.robot), files.plan)
    true = predict_file(read_model(files.truth), files.plan)
    nominal.write(files.prediction)
    campaign: Campaign = read_campaign(files.campaign)
    read = campaign.readings.value[:3]
    bending = float(np.linalg.norm(read, axis=0).max())
    rms, floor = (float(np.sqrt(np.mean(np.sum((one.elastic - read) ** 2, axis=0)))) for one in (nominal, true))
    return Told(
        f"Predict. Loads bend the arm by up to {1e3 * bending:.2f} mm. The file's springs predict the "
        f"readings to {1e3 * rms:.3f} mm (rms), the true ones to {1e3 * floor:.3f} mm, which is the scatter "
        f"of the tracker: the difference is what calibration is for.",
        (files.prediction,),
        {"largest_deflection[m]": bending, "nominal_rms[m]": rms, "true_rms[m]": floor},
    )


def identify(files: Files, seed: int) -> Told:
    """The springs from the readings, with intervals, judged on configurations that were left out."""
    from stiffarm.compensate.model_file import read_model
    from stiffarm.identify.api import identify as run
    from stiffarm.identify.model_file import write_estimate
    from stiffarm.identify.options import Options

    estimate = run(files.robot, files.campaign, Options(seed=seed), command="stiffarm demo")
    write_estimate(estimate, files.model)
    truth = read_model(files.truth).values
    found = [p for p in estimate.parameters if p.low is not None and p.high is not None]
    inside = sum(p.low <= truth[p.name] <= p.high for p in found if p.low is not None and p.high is not None)
    best = min(found, key=lambda p: (p.std or 0.0) / abs(p.value or 1.0))
    share = (best.std or 0.0) / abs(best.value or 1.0)
    return Told(
        f"Identify. {len(found)} springs with their 95 % intervals, {inside} of which hold the truth; the best known "
        f"is {best.name} ({share:.1%}). {'Usable' if estimate.verdict.usable else 'Not usable'}: "
        f"{'; '.join(estimate.verdict.reasons)}.",
        (files.model,),
        {"intervals": float(len(found)), "intervals_that_hold": float(inside)},
    )
