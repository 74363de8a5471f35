"""The commands as functions of one call each.

They take what the commands take, in SI: a length given as a number is in m, an angle in rad, a force in N.  Files may
be names, objects or data frames (`stiffarm.compensate.given`).  Every answer shows itself in a notebook and gives its
rows as a polars data frame by ``.to_polars()``.  Wrong input raises `stiffarm.InputError` with the command's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stiffarm.compensate.given import (
    ModelLike,
    RobotLike,
    campaign_of,
    estimate_of,
    model_of,
    plan_of,
    robot_of,
)
from stiffarm.measure.frames import TableLike, listed, source_of

if TYPE_CHECKING:
    from stiffarm.compensate.budget import Budget
    from stiffarm.compensate.compensating import Compensation
    from stiffarm.compensate.predicting import Predicted
    from stiffarm.identify.comparison import Comparison
    from stiffarm.identify.estimate import Estimate
    from stiffarm.identify.options import LoadsChoice
    from stiffarm.identify.validation import Refit, Validation
    from stiffarm.measure.campaign import Campaign
    from stiffarm.measure.virtual import VirtualCampaign
    from stiffarm.robot.arm import Vector3


def simulate(
    robot: RobotLike,
    plan: Campaign | TableLike,
    *,
    truth: ModelLike | None = None,
    spread: Sequence[str] = (),
    seed: int = 0,
    sigma_m: float | None = None,
    sigma_rad: float | None = None,
    shared_translation_m: float | None = None,
    shared_rotation_rad: float | None = None,
    outlier_share: float = 0.0,
    loads: LoadsChoice = "model",
    exact: bool = False,
) -> VirtualCampaign:
    """A plan read by an instrument off an arm whose truth is stated; ``.campaign`` has the readings.

    ``truth`` is the true arm (default: the robot itself), ``spread`` draws around it: ``"*.compliance=20 %"``.  What
    was drawn stands in ``.truth``.  ``exact``: it bends as a real arm does instead of to first order.
    """
    from stiffarm.measure.truth import Spread, random_truth
    from stiffarm.measure.virtual import simulate as run

    nominal = robot_of(robot)
    known = model_of(nominal if truth is None else truth)
    planned = plan_of(plan, nominal)
    own = known.one_tool([setup.name for setup in planned.setups])
    values = random_truth(known.model, [Spread.parse(one) for one in spread], seed, {**known.values, **own})
    found = run(
        known.model.at(values), planned, seed=seed,
        frames={setup.name: setup.frame for setup in known.setups}, sigma_m=sigma_m, sigma_rad=sigma_rad,
        shared_translation_m=shared_translation_m, shared_rotation_rad=shared_rotation_rad,
        outlier_share=outlier_share, loads=loads, exact=exact,
    )  # fmt: skip
    return replace(found, truth=dict(values))


def predict(
    model: ModelLike,
    plan: TableLike,
    *,
    marker: str | None = None,
    setup: str | None = None,
    exact: bool = False,
    force_n: Vector3 | None = None,
    torque_nm: Vector3 | None = None,
    load_point: str | None = None,
    force_frame: Literal["world", "tool"] = "world",
    milling: str | Path | None = None,
) -> Predicted:
    """Where the tool is under load at every row of a plan, campaign or path, and how sure that is.

    Where the file states no loads, ``force_n`` and ``torque_nm`` act at ``load_point``, or those of a ``milling`` file.
    """
    from stiffarm.compensate.predicting import ask, predict_asked
    from stiffarm.compensate.pulling import Asking

    known = model_of(model)
    cutter = None if milling is None else Path(milling)
    asking = Asking.checked(force_frame, force_n, torque_nm, load_point, cutter)
    asked = ask(known, source_of(plan), marker=marker, asking=asking)
    return predict_asked(known, asked, None if setup is None else known.setup(setup), exact=exact)


def compensate(
    model: ModelLike,
    path: TableLike,
    *,
    controller: Literal["nominal", "model"] = "nominal",
    free: Sequence[str] = (),
    force_n: Vector3 | None = None,
    torque_nm: Vector3 | None = None,
    load_point: str | None = None,
    force_frame: Literal["world", "tool"] = "world",
    milling: str | Path | None = None,
    allow_unusable: bool = False,
    workers: int = 2,
) -> Compensation:
    """Correct a path so that the bent tool goes where it was sent; points that cannot be are refused with a reason.

    Loads that the path does not state as for `predict`.
    """
    from stiffarm.compensate.compensating import How
    from stiffarm.compensate.compensating import compensate as run
    from stiffarm.compensate.pulling import Asking
    from stiffarm.compensate.wishing import wish_of
    from stiffarm.errors import InputError, Problem
    from stiffarm.measure.paths import read_path

    known = model_of(model)
    if known.unusable is not None and not allow_unusable:
        raise InputError(
            Problem(
                "this model failed its validation, so nothing is corrected with it",
                file=known.file,
                found=known.unusable,
                next_step="Measure more, or say allow_unusable=True",
            )
        )
    cutter = None if milling is None else Path(milling)
    asking = Asking.checked(force_frame, force_n, torque_nm, load_point, cutter)
    source = read_path(source_of(path), known.robot)
    wish = wish_of(source, known.nominal()).under(asking, source, known.robot)
    return run(known, source, wish, How(controller, tuple(free), workers))


def validate(
    model: Estimate | str | Path,
    campaign: Campaign | TableLike | Sequence[TableLike],
    *,
    refit: Refit = "frame",
    loads: LoadsChoice = "torque",
    exact: bool = False,
) -> Validation:
    """Judge a model on readings it was not fitted to."""
    from stiffarm.identify.known import model_of as effects_of
    from stiffarm.identify.validation import validate_model
    from stiffarm.measure.campaign import Campaign

    estimate = estimate_of(model)
    given = [] if isinstance(campaign, Campaign) else listed(campaign)
    folder = model.parent if isinstance(model, Path) else Path(model).parent if isinstance(model, str) else None
    read = campaign_of(campaign, effects_of(estimate, folder).robot)
    files = [one for one in given if isinstance(one, str | Path)]
    return validate_model(estimate, read, refit=refit, loads=loads, files=files, exact=exact)


def compare(
    first: Estimate | str | Path, second: Estimate | str | Path, *, significance: float = 0.05, same_load: bool = False
) -> Comparison:
    """What changed between two models beyond noise."""
    from stiffarm.identify.comparison import compare as run

    return run(estimate_of(first), estimate_of(second), significance=significance, same_load=same_load)


def budget(
    model: ModelLike,
    plan: TableLike,
    *,
    marker: str | None = None,
    setup: str | None = None,
    gain_sigma: float | None = None,
    direction_sigma_rad: float | None = None,
    coverage: float = 2.0,
) -> Budget:
    """How uncertain each place under load is, by cause (JCGM 100)."""
    from stiffarm.compensate.budget import budget_file

    return budget_file(
        model_of(model), source_of(plan), marker=marker, setup=setup, coverage=coverage, gain_sigma=gain_sigma,
        direction_sigma_rad=direction_sigma_rad,
    )  # fmt: skip
