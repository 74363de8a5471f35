"""`stiffarm simulate`: a virtual campaign of an arm whose truth is stated."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stiffarm.cli.common import AsJson, Exactly, Quiet, Seed, answer, json_text, warn_all, write_text
from stiffarm.errors import InputError, Problem, found_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from stiffarm.compensate.model_file import KnownModel
    from stiffarm.measure.campaign import Campaign
    from stiffarm.measure.virtual import VirtualCampaign
    from stiffarm.robot.arm import Robot

LOADS = ("model", "torque", "none")
LARGEST_SHARE = 0.5
UNITS_OF_FILES = "mm,deg"

RobotArgument = Annotated[str, typer.Argument(metavar="R", help="A robot file or a packaged robot.")]
PlanArgument = Annotated[Path, typer.Argument(metavar="PLAN", help="A .plan.csv, or a .campaign.csv to do again.")]
CampaignOutput = Annotated[Path, typer.Option("--output", "-o", metavar="CAMPAIGN", help="Write the campaign here.")]
Truth = Annotated[
    str | None, typer.Option(metavar="MODEL|ROBOT", help="The true arm: a model file or a robot. Default: R itself.")
]
SpreadOption = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN=SIGMA", help="Draw the truth at random: 'A*.offset=0.1 mrad', '*.compliance=20 %'."),
]
Sigma = Annotated[
    str | None,
    typer.Option(metavar="LENGTH", help="Scatter of one reading, 0.03mm; a deflection has twice its variance."),
]
SigmaRotation = Annotated[str | None, typer.Option(metavar="ANGLE", help="The same of rotations, for poses.")]
SharedTranslation = Annotated[str | None, typer.Option(metavar="LENGTH", help="Error common to a visit, 0.02mm.")]
SharedRotation = Annotated[str | None, typer.Option(metavar="ANGLE", help="Turn common to a visit, 0.1mrad.")]
Outliers = Annotated[str | None, typer.Option(metavar="SHARE", help="Share of gross errors, 0.02 or '2 %'.")]
TruthOut = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the truth as a model file.")]
Loads = Annotated[
    str | None,
    typer.Option(metavar="|".join(LOADS), help="What bends the true arm (default: torque when the plan has it)."),
]


def simulate(
    robot: RobotArgument,
    plan: PlanArgument,
    output: CampaignOutput,
    truth: Truth = None,
    spread: SpreadOption = None,
    sigma: Sigma = None,
    sigma_rotation: SigmaRotation = None,
    shared_translation: SharedTranslation = None,
    shared_rotation: SharedRotation = None,
    outliers: Outliers = None,
    truth_out: TruthOut = None,
    loads: Loads = None,
    exact: Exactly = False,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """A virtual campaign: a plan read with a stated truth and noise.

    Without --sigma the plan's own settings (NAME.campaign.toml) say how the instrument scatters; without either
    the readings are exact. The same seed gives the same files.
    """
    from stiffarm.compensate.model_file import KnownModel
    from stiffarm.measure.reading import read_plan
    from stiffarm.measure.truth import Spread, random_truth, truth_document
    from stiffarm.measure.virtual import simulate as measured
    from stiffarm.model.arm_model import ArmModel
    from stiffarm.robot.reading import read_robot

    sigma_m, sigma_rad = _quantity("--sigma", sigma, "length"), _quantity("--sigma-rotation", sigma_rotation, "angle")
    shared_m = _quantity("--shared-translation", shared_translation, "length")
    shared_rad = _quantity("--shared-rotation", shared_rotation, "angle")
    share = _share(outliers)
    spreads = [Spread.parse(text) for text in spread or ()]
    nominal = read_robot(robot)
    planned = read_plan(plan, nominal)
    known = KnownModel(robot, ArmModel.of(nominal), {}) if truth is None else _true_model(truth, nominal)
    own = known.one_tool([setup.name for setup in planned.setups])
    values = random_truth(known.model, spreads, seed, {**known.values, **own})
    virtual = measured(
        known.model.at(values),
        planned,
        seed=seed,
        frames={setup.name: setup.frame for setup in known.setups},
        sigma_m=sigma_m,
        sigma_rad=sigma_rad,
        shared_translation_m=shared_m,
        shared_rotation_rad=shared_rad,
        outlier_share=share,
        loads=_loads(loads, planned),
        exact=exact,
    )
    warn_all((*planned.warnings, *_exact_rotations(virtual.campaign), *_rows_of_their_own(planned, sigma, sigma_m)))
    settings = _write(virtual.campaign, output, plan)
    if truth_out is not None:
        command = _command_line(
            robot, str(plan), truth=truth, spread=spread, sigma=sigma, sigma_rotation=sigma_rotation,
            shared_translation=shared_translation, shared_rotation=shared_rotation, outliers=outliers, loads=loads,
            exact=exact, seed=seed,
        )  # fmt: skip
        robot_entry = _robot_entry(known.file, truth_out)
        document = truth_document(virtual, known.model, values, robot=robot_entry, command=command)
        write_text(truth_out, json_text(document))
    files = [output, *([settings] if settings else []), *([truth_out] if truth_out else [])]
    answer(_document(virtual, files, truth_out), _text(virtual, files), as_json)


def _command_line(*arguments: str, **options: Any) -> str:
    """The command that gives these files again; where they are written changes nothing in them."""
    words = ["stiffarm", "simulate", *arguments]
    for name, value in options.items():
        for one in value if isinstance(value, list) else [value]:
            option = f"--{name.replace('_', '-')}"
            words += [] if one is None or one is False else [option] if one is True else [option, str(one)]
    return shlex.join(words)


def _quantity(option: str, text: str | None, dimension: str) -> float | None:
    """SI value of an option, not negative; None when it was not given."""
    from stiffarm.units import parse_quantity

    if text is None:
        return None
    value = parse_quantity(text, dimension, key=option)
    if value < 0.0:
        raise InputError(
            Problem(
                "this cannot be negative", column=option, found=found_text(text), allowed=f"a {dimension}, 0 or more"
            )
        )
    return value


def _share(text: str | None) -> float:
    if text is None:
        return 0.0
    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100.0 if percent else 1.0)
    except ValueError:
        share = -1.0
    if rest or not 0.0 <= share <= LARGEST_SHARE:
        allowed = f"0 to {LARGEST_SHARE:g}, or 0 % to {LARGEST_SHARE:.0%}"
        raise InputError(
            Problem(
                "the share of outliers cannot be this", column="--outliers", found=found_text(text), allowed=allowed
            )
        )
    return share


def _loads(given: str | None, plan: Campaign) -> str:
    if given is None:
        return "model" if plan.experiments.joint_torque is None else "torque"
    if given not in LOADS:
        raise InputError(Problem("unknown loads", column="--loads", found=found_text(given), allowed=", ".join(LOADS)))
    return given


def _true_model(name: str, nominal: Robot) -> KnownModel:
    """The true model, which must have the joints of the robot."""
    from stiffarm.compensate.model_file import read_model

    known = read_model(name)
    joints = tuple((joint.name, joint.kind) for joint in known.robot.joints)
    wanted = tuple((joint.name, joint.kind) for joint in nominal.joints)
    if joints != wanted:
        raise InputError(
            Problem(
                "the true arm has other joints than the robot",
                file=name,
                column="--truth",
                found=", ".join(joint for joint, _ in joints),
                allowed=", ".join(joint for joint, _ in wanted),
            )
        )
    return known


def _exact_rotations(campaign: Campaign) -> list[str]:
    """A sentence when positions scatter and rotations of poses do not, which no instrument does."""
    import numpy as np

    from stiffarm.measure.campaign import Isotropic

    instrument, pose = campaign.instrument, campaign.kind("pose")
    stated = np.isfinite(campaign.readings.sigma[3:]).all(axis=0)
    known = isinstance(instrument, Isotropic) and instrument.sigma_rad is not None
    count = int((pose & ~stated).sum())
    if instrument is None or known or not count:
        return []
    step = "--sigma-rotation" if isinstance(instrument, Isotropic) else "columns sigma.rx, sigma.ry, sigma.rz"
    return [f"the rotations of {count} pose rows are exact: nothing says how they scatter ({step} would)"]


def _rows_of_their_own(plan: Campaign, sigma: str | None, sigma_m: float | None) -> list[str]:
    """A sentence when ``--sigma`` says otherwise than rows that state their own scatter, which they keep."""
    import numpy as np

    if sigma_m is None:
        return []
    own = plan.readings.sigma[:3]
    asked = np.where(plan.kind("deflection"), np.sqrt(2.0), 1.0) * sigma_m
    same = np.isclose(own, asked, rtol=0.01, atol=0.0) | np.isclose(own, sigma_m, rtol=0.01, atol=0.0)
    other = (np.isfinite(own) & ~same).any(axis=0)
    if not other.any():
        return []
    first = int(np.argmax(other))
    stated = 1e3 * float(np.nanmax(own[:, first]))
    return [
        f"{int(other.sum())} of {len(plan.readings)} rows keep the scatter they state themselves (sigma.x[..] ...: "
        f"{stated:.4g} mm in row {int(plan.readings.row[first])}), which --sigma {sigma} does not change; take these "
        "columns out of the plan to read with it"
    ]


def _write(campaign: Campaign, output: Path, plan: Path) -> Path | None:
    """Write the campaign; its settings file, when there is one afterwards.

    Settings that the plan shares with the campaign keep their text as long as they say what is true of it.
    """
    from stiffarm.measure.settings import FORMAT, read_settings, settings_path
    from stiffarm.measure.settings_text import settings_text
    from stiffarm.measure.writing import as_written, replace_file, write_campaign

    settings = settings_path(output)
    before = settings.read_bytes() if settings.is_file() else None
    stated = (
        read_settings(settings) if before is not None and settings.resolve() == settings_path(plan).resolve() else None
    )
    write_campaign(as_written(campaign, UNITS_OF_FILES), output, units=UNITS_OF_FILES)
    true = (campaign.instrument, campaign.shared)
    if stated is not None and (stated.instrument_for(campaign.experiments.names), stated.shared) == true:
        replace_file(settings, before or b"")
    elif before is not None and not settings_text(campaign):
        replace_file(settings, f'format = "{FORMAT}"\n'.encode())
    return settings if settings.is_file() else None


def _robot_entry(file: str, truth_out: Path) -> str | Mapping[str, Any]:
    """How a truth file names its robot: a packaged name, a path from its own folder, or what the true model says."""
    import json

    from stiffarm.robot.library import is_path

    folder = truth_out.absolute().parent
    source = Path(file)
    if file.lower().endswith(".json"):
        entry: str | Mapping[str, Any] = json.loads(source.read_bytes())["robot"]
        if not isinstance(entry, str) or not is_path(entry):
            return entry
        beside = source.parent / entry
        source = beside if beside.exists() else Path(entry)
    elif not is_path(file):
        return file
    try:
        return Path(os.path.relpath(source, folder)).as_posix()
    except ValueError:  # on another drive
        return source.absolute().as_posix()


def _document(virtual: VirtualCampaign, files: Sequence[Path], truth_out: Path | None) -> dict[str, Any]:
    campaign = virtual.campaign
    return {
        "campaign": str(files[0]),
        "truth": None if truth_out is None else str(truth_out),
        "files": [str(path) for path in files],
        "rows": len(campaign.readings),
        "experiments": len(campaign.experiments),
        "outliers": [int(row) for row in campaign.readings.row[virtual.outliers]],
        "instrument": None if campaign.instrument is None else type(campaign.instrument).__name__.lower(),
        "seed": virtual.seed,
    }


def _text(virtual: VirtualCampaign, files: Sequence[Path]) -> str:
    campaign = virtual.campaign
    lines = [
        f"{len(campaign.readings)} readings of {len(campaign.experiments)} experiments, seed {virtual.seed}.",
        f"Instrument: {_words(campaign)}.",
    ]
    if len(virtual.outliers):
        lines.append(f"Outliers: {len(virtual.outliers)}, listed in the truth file when one is asked for.")
    return "\n".join([*lines, "Written:", *(f"  {path}" for path in files)])


def _words(campaign: Campaign) -> str:
    from stiffarm.measure.campaign import Isotropic, SharedError

    match campaign.instrument:
        case None:
            words = "sigma columns of the plan" if (campaign.readings.sigma > 0.0).any() else "exact"
        case Isotropic(sigma_m, _):
            words = f"{1e3 * sigma_m:.4g} mm per coordinate of a reading"
        case other:
            words = type(other).__name__.lower()
    shared = campaign.shared
    if shared == SharedError():
        return words
    return f"{words}; shared by a stop {1e3 * shared.translation_m:.4g} mm, {1e3 * shared.rotation_rad:.4g} mrad"
