"""The second half of the demo: another day, an arm that has worn, the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stiffarm.cli.demo_files import SIGMA_M, Files, Told
from stiffarm.cli.demo_plans import write_plan

if TYPE_CHECKING:
    from pathlib import Path

    from stiffarm.measure.campaign import Campaign
    from stiffarm.model.arm_model import Arm

WORN, WEAR = "A3.compliance", 1.15
"""The joint that wears and what becomes of its compliance."""


def _read(arm: Arm, plan: Path, campaign: Path, seed: int) -> Campaign:
    """A virtual campaign of a plan, written and read again."""
    from stiffarm.measure.reading import read_campaign, read_plan
    from stiffarm.measure.virtual import simulate
    from stiffarm.measure.writing import as_written, write_campaign

    virtual = simulate(arm, read_plan(plan, arm.robot), seed=seed, sigma_m=SIGMA_M)
    write_campaign(as_written(virtual.campaign, "mm,deg"), campaign, units="mm,deg")
    return read_campaign(campaign, arm.robot)


def validate(files: Files, seed: int) -> Told:
    """A second campaign of the same arm that nobody fitted."""
    import numpy as np

    from stiffarm.compensate.model_file import read_model
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.identify.validation import validate_model

    write_plan(files.robot, files.unseen_plan, np.random.default_rng([seed, 1]))
    campaign = _read(read_model(files.truth).arm(), files.unseen_plan, files.unseen, seed + 1)
    found = validate_model(read_estimate(files.model), campaign, files=[files.unseen])
    assert found.rms_m is not None
    assert found.nominal_rms_m is not None
    return Told(
        f"Validate. {found.rows} readings of another day: {1e3 * found.rms_m:.3f} mm off (rms), the file's springs "
        f"{1e3 * found.nominal_rms_m:.3f}; the tracker alone {1e3 * SIGMA_M * np.sqrt(6):.3f}.",
        (files.unseen_plan, files.unseen, files.unseen_settings),
        {"unseen_rms[m]": found.rms_m, "unseen_nominal_rms[m]": found.nominal_rms_m},
    )


def compare(files: Files, seed: int) -> Told:
    """A year later one spring has softened: which one, by how much."""
    from stiffarm.compensate.model_file import read_model
    from stiffarm.identify.api import identify
    from stiffarm.identify.comparison import compare as run
    from stiffarm.identify.model_file import read_estimate, write_estimate
    from stiffarm.identify.options import Options

    truth = read_model(files.truth)
    worn = truth.model.at({**truth.values, WORN: WEAR * truth.values[WORN]})
    _read(worn, files.unseen_plan, files.later, seed + 2)
    later = identify(files.robot, files.later, Options(seed=seed), command="stiffarm demo")
    write_estimate(later, files.later_model)
    found = run(read_estimate(files.model), later)
    truth_of = truth.values
    named = ", ".join(f"{c.name} by {c.difference / truth_of[c.name]:+.0%}" for c in found.changed)
    return Told(
        f"Compare. A year later {WORN} has grown by {WEAR - 1:.0%}: {len(found.changed)} of {found.compared} springs "
        f"changed beyond noise{', ' + named if named else ''}.",
        (files.later, files.later_settings, files.later_model),
        {"changed": float(len(found.changed)), "worn_found": float(WORN in {c.name for c in found.changed})},
    )


def look(files: Files, seed: int) -> Told:
    """The page of the model."""
    from stiffarm.cli.common import write_text
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.report.model_page import page
    from stiffarm.report.plan_answer import read_plan_answer
    from stiffarm.robot.reading import read_robot

    plan = read_plan_answer(files.plan_answer, read_robot(files.robot))
    write_text(files.page, page(read_estimate(files.model), plan=plan))
    return Told(
        "Report. One page: verdict, springs with their intervals, what the fit leaves, the plan and its bound.",
        (files.page,),
    )
