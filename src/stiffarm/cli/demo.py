"""`stiffarm demo`: the whole story on a packaged robot, in a folder of its own.

Each step is a function that reads what the steps before it wrote, as a user would, and returns what it has to tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stiffarm.cli.common import WIDTH, AsJson, Quiet, Seed, answer, tell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stiffarm.measure.campaign import Campaign
    from stiffarm.model.arm_model import Arm

ROBOT = "kr270"
POINT = "hook"
VERTICAL, SIDEWAYS = 10, 5
"""Experiments of each kind."""
WEIGHT_N, PULL_N = 2600.0, 3500.0
LOWEST_M = 0.3
"""No marker of the plan stands lower."""
SPREAD_PERCENT = 20.0
SIGMA_M = 0.03e-3


@dataclass(frozen=True)
class Told:
    """What a step has to say, the files it wrote, its figures."""

    text: str
    files: tuple[Path, ...] = ()
    figures: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Files:
    """Everything the demo writes."""

    folder: Path

    @property
    def robot(self) -> Path:
        """The robot file."""
        return self.folder / f"{ROBOT}.robot.toml"

    @property
    def plan(self) -> Path:
        """What to measure."""
        return self.folder / f"{ROBOT}.plan.csv"

    @property
    def campaign(self) -> Path:
        """What was measured."""
        return self.folder / f"{ROBOT}.campaign.csv"

    @property
    def settings(self) -> Path:
        """How it was measured."""
        return self.folder / f"{ROBOT}.campaign.toml"

    @property
    def truth(self) -> Path:
        """The stated truth behind it, a model file."""
        return self.folder / f"{ROBOT}.truth.model.json"

    @property
    def prediction(self) -> Path:
        """Where the robot file expects the markers."""
        return self.folder / f"{ROBOT}.prediction.csv"

    @property
    def model(self) -> Path:
        """What identification found."""
        return self.folder / f"{ROBOT}.model.json"

    @property
    def page(self) -> Path:
        """The same as a page."""
        return self.folder / f"{ROBOT}.report.html"

    @property
    def unseen(self) -> Path:
        """A second campaign that is not fitted."""
        return self.folder / f"{ROBOT}-unseen.campaign.csv"

    @property
    def unseen_settings(self) -> Path:
        """How it was measured."""
        return self.folder / f"{ROBOT}-unseen.campaign.toml"

    @property
    def unseen_plan(self) -> Path:
        """Its plan."""
        return self.folder / f"{ROBOT}-unseen.plan.csv"


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
    for number, step in enumerate((describe, plan, measure, predict, identify, validate), start=1):
        told.append(step(files, seed))
        tell(_wrapped(number, told[-1].text), quiet or not as_json)
    written = [str(path) for one in told for path in one.files]
    figures = {name: value for one in told for name, value in one.figures.items()}
    story = "\n".join(_wrapped(number, one.text) for number, one in enumerate(told, start=1))
    listed = "\n".join(f"  {name}" for name in written)
    answer({"files": written, "seed": seed, **figures}, f"{story}\nWritten:\n{listed}", as_json)


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

    _write_plan(files.robot, files.plan, np.random.default_rng([seed, 0]))
    markers = len(read_robot(files.robot).marker_names)
    return Told(
        f"Plan. {VERTICAL} configurations with {WEIGHT_N:.0f} N hanging at the hook, {SIDEWAYS} pulled sideways with "
        f"{PULL_N:.0f} N (a hanging load alone says nothing about axis 1): {(VERTICAL + SIDEWAYS) * markers} readings.",
        (files.plan,),
    )


def _write_plan(robot_file: Path, plan_file: Path, random: np.random.Generator) -> None:
    import numpy as np

    from stiffarm.measure.writing import write_table
    from stiffarm.robot.reading import read_robot

    robot = read_robot(robot_file)
    q = _configurations(robot_file, VERTICAL + SIDEWAYS, random)
    force = np.zeros((3, q.shape[1]))
    force[2, :VERTICAL] = -WEIGHT_N
    heading = random.uniform(-np.pi, np.pi, SIDEWAYS)
    force[:2, VERTICAL:] = PULL_N * np.stack([np.cos(heading), np.sin(heading)])
    markers = robot.marker_names
    row = np.repeat(np.arange(q.shape[1]), len(markers))
    columns = {
        "experiment": [f"e{number + 1:02d}" for number in row],
        **{
            f"q.{joint}[deg]": np.degrees(values)[row].round(2)
            for joint, values in zip(robot.joint_names, q, strict=True)
        },
        "load_point": [POINT] * len(row),
        **{f"force.{axis}[N]": values[row].round(1) for axis, values in zip("xyz", force, strict=True)},
        "observation": ["deflection"] * len(row),
        "marker": [*markers] * q.shape[1],
    }
    write_table(plan_file, list(columns), list(columns.values()))


def _configurations(robot: Path, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """(joints, count) values drawn within the limits such that every marker stands above the floor."""
    import numpy as np

    from stiffarm.model.evaluate import predict as positions
    from stiffarm.model.loads import State

    arm = _arm(robot)
    limits = np.array([joint.limits for joint in arm.robot.joints])
    q = random.uniform(limits[:, :1], limits[:, 1:], (len(limits), 40 * count))
    heights = [positions(arm, State(q), name).position[2] for name in (POINT, *arm.robot.marker_names)]
    clear = np.flatnonzero(np.min(heights, axis=0) > LOWEST_M)
    return np.ascontiguousarray(q[:, clear[:count]])


def _arm(robot: Path) -> Arm:
    from stiffarm.model.arm_model import ArmModel
    from stiffarm.robot.reading import read_robot

    return ArmModel.of(read_robot(robot)).at()


def measure(files: Files, seed: int) -> Told:
    """A virtual campaign of an arm whose compliances are not those of the file."""
    from stiffarm.cli.common import json_text, write_text
    from stiffarm.measure.reading import read_plan
    from stiffarm.measure.truth import Spread, random_truth, truth_document
    from stiffarm.measure.virtual import simulate
    from stiffarm.measure.writing import as_written, write_campaign

    model = _arm(files.robot).model
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
    from stiffarm.cli.common import write_text
    from stiffarm.compensate.model_file import read_model
    from stiffarm.identify.api import identify as run
    from stiffarm.identify.model_file import write_estimate
    from stiffarm.identify.options import Options
    from stiffarm.report.model_page import page

    estimate = run(files.robot, files.campaign, Options(seed=seed), command="stiffarm demo")
    write_estimate(estimate, files.model)
    write_text(files.page, page(estimate))
    truth = read_model(files.truth).values
    found = [p for p in estimate.parameters if p.low is not None and p.high is not None]
    inside = sum(p.low <= truth[p.name] <= p.high for p in found if p.low is not None and p.high is not None)
    best = min(found, key=lambda p: (p.std or 0.0) / abs(p.value or 1.0))
    share = (best.std or 0.0) / abs(best.value or 1.0)
    return Told(
        f"Identify. {len(found)} springs with their 95 % intervals, {inside} of which hold the truth; the best known "
        f"is {best.name} ({share:.1%}). {'Usable' if estimate.verdict.usable else 'Not usable'}: "
        f"{'; '.join(estimate.verdict.reasons)}.",
        (files.model, files.page),
        {"intervals": float(len(found)), "intervals_that_hold": float(inside)},
    )


def validate(files: Files, seed: int) -> Told:
    """A second campaign of the same arm that nobody fitted."""
    import numpy as np

    from stiffarm.compensate.model_file import read_model
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.identify.validation import validate_model
    from stiffarm.measure.reading import read_campaign, read_plan
    from stiffarm.measure.virtual import simulate
    from stiffarm.measure.writing import as_written, write_campaign

    truth = read_model(files.truth)
    _write_plan(files.robot, files.unseen_plan, np.random.default_rng([seed, 1]))
    virtual = simulate(truth.arm(), read_plan(files.unseen_plan, truth.robot), seed=seed + 1, sigma_m=SIGMA_M)
    write_campaign(as_written(virtual.campaign, "mm,deg"), files.unseen, units="mm,deg")
    found = validate_model(read_estimate(files.model), read_campaign(files.unseen, truth.robot), files=[files.unseen])
    assert found.rms_m is not None
    assert found.nominal_rms_m is not None
    return Told(
        f"Validate. On {found.rows} readings of another day the model is off by {1e3 * found.rms_m:.3f} mm (rms), "
        f"the file's springs by {1e3 * found.nominal_rms_m:.3f} mm; the tracker alone scatters by "
        f"{1e3 * SIGMA_M * np.sqrt(6):.3f} mm.",
        (files.unseen_plan, files.unseen, files.unseen_settings),
        {"unseen_rms[m]": found.rms_m, "unseen_nominal_rms[m]": found.nominal_rms_m},
    )
