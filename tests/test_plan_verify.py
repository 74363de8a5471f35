"""The check by virtual campaigns: it agrees with what is right, and with nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from stiffarm.measure.campaign import Isotropic, SharedError
from stiffarm.measure.settings_text import settings_text
from stiffarm.measure.virtual import simulate
from stiffarm.measure.writing import write_table
from stiffarm.plan.api import driven_by, predicted_std
from stiffarm.plan.deflected import deflections, planned_for
from stiffarm.plan.driven import driven
from stiffarm.plan.job import Job, job_of
from stiffarm.plan.options import PlanOptions
from stiffarm.plan.plan_file import campaign_of
from stiffarm.plan.problem import Floats, Plan
from stiffarm.plan.scale import with_scale
from stiffarm.plan.search import Found
from stiffarm.plan.shift import Manner
from stiffarm.plan.uses import target_of
from stiffarm.plan.verify import CHANCE, compared, covariance_of, drawn_errors, verify
from stiffarm.robot.arm import Prior
from stiffarm.robot.reading import read_robot

LOADED = PlanOptions(experiments=9, poses=6, force_n=3000.0, sigma_m=3e-5, curve=False)
TRACKER = """format = "stiffarm-campaign/1"
[instrument]
type = "tracker"
range = ["5 um", 1e-6]
angle = "4 urad"
[shared]
translation = "0.01 mm"
rotation = "0.02 mrad"
[setup.cell]
station = [2500.0, 1500.0, 800.0]
"""


def planned(options: PlanOptions, priors: tuple[Prior, ...] = (), seed: int = 3) -> tuple[Job, Plan]:
    """A plan of candidates drawn at random: good or not, what it promises can be checked."""
    job = job_of(replace(read_robot("kr270"), priors=priors), options)
    chosen = np.random.default_rng(seed).choice(len(job.pool.stops), job.problem.poses, replace=False)
    found = Found(job.pool.stops.take(chosen), job.refiner.value(job.pool.stops.take(chosen)))
    made = Plan(
        job.problem, found.stops, job.problem.repeats(), job.criterion.name, found.value, None,
        predicted_std(job, found), 0, 0.0,
    )  # fmt: skip
    return job, driven_by(job, made, Manner())


def tracker(folder: Path) -> PlanOptions:
    path = folder / "cell.campaign.toml"
    path.write_text(TRACKER, encoding="utf-8")
    return PlanOptions(experiments=12, geometry="offsets", elastic="joints", settings=path, force_n=3000.0,
                       observe="position", curve=False)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """A plan and the errors of its virtual campaigns."""

    job: Job
    plan: Plan
    errors: Floats


@pytest.fixture(scope="module")
def loaded() -> Drawn:
    job, plan = planned(LOADED)
    return Drawn(job, plan, drawn_errors(job, plan, 150, seed=1))


def test_deviations_of_compliances_come_out_as_promised(loaded: Drawn) -> None:
    found = compared(loaded.job, loaded.plan, loaded.errors, 1)
    assert found.agrees, [(c.name, c.ratio) for c in found.parameters if not c.agrees]
    assert found.draws == 150
    assert found.at_use is not None
    assert found.at_use.predicted == loaded.plan.value
    assert {d.where for d in found.deflections} == {"near the test poses", "over the workspace"}


def test_positions_under_load_with_tracker_and_shared_errors_come_out_as_promised(tmp_path: Path) -> None:
    job, plan = planned(tracker(tmp_path), (Prior("A?.offset", 0.2, "mrad"), Prior("tool.P?.*", 0.3, "mm")))
    assert plan.problem.reading.shared == SharedError(1e-5, 2e-5)
    assert len(job.refiner.information.known)
    found = verify(job, plan, 60, seed=2)
    assert found is not None
    assert found.agrees, [(c.name, c.ratio) for c in found.parameters if not c.agrees]
    assert found.deflections == ()


def test_a_gain_nobody_knows_exactly_is_in_what_came_out(tmp_path: Path) -> None:
    path = tmp_path / "load.campaign.toml"
    path.write_text('format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = "0.01 mm"\n[load]\n'
                    'gain_sigma = 0.02\ndirection_sigma = "5 mrad"\n', encoding="utf-8")  # fmt: skip
    job, plan = planned(replace(LOADED, settings=path, sigma_m=None))
    plan = with_scale(job, plan)
    without, counted = covariance_of(job, plan), np.array(list(plan.predicted_std.values()))
    np.testing.assert_allclose(np.sqrt(np.diag(without)), counted)
    found = verify(job, plan, 60, seed=3)
    assert found is not None
    assert found.agrees, [(c.name, c.ratio) for c in found.parameters if not c.agrees]
    assert found.at_use is not None
    assert plan.scale_part is not None
    assert plan.scale_part > 0.5 * found.at_use.empirical


@pytest.mark.parametrize("wrong", ["deviation", "value", "noise"])
def test_what_is_not_as_promised_is_found(wrong: str, loaded: Drawn) -> None:
    job, plan, errors = loaded.job, loaded.plan, loaded.errors
    if wrong == "deviation":
        std = dict(plan.predicted_std)
        std["A3.compliance"] *= 1.4
        plan = replace(plan, predicted_std=std)
    elif wrong == "value":
        plan = replace(plan, value=plan.value / 1.4)
    else:  # the instrument is worse than it was planned with
        reading = replace(plan.problem.reading, instrument=Isotropic(4.5e-5))
        worse = replace(plan, problem=replace(plan.problem, reading=reading))
        errors = drawn_errors(job, worse, 60, seed=1)
    found = compared(job, plan, errors, 1)
    assert not found.agrees
    failed = [one.name for one in found.parameters if not one.agrees]
    assert (failed == ["A3.compliance"]) == (wrong == "deviation")
    assert found.at_use is not None
    assert found.at_use.agrees == (wrong == "deviation")


def test_limits_are_left_as_seldom_as_they_say(loaded: Drawn) -> None:
    job, plan = loaded.job, loaded.plan
    found = compared(job, plan, loaded.errors[:60], 1)
    one = found.parameters[0]
    checks = 2 * len(found.parameters) + 1
    random = np.random.default_rng(0)
    ratio = random.standard_normal((60, 10_000)).std(axis=0, ddof=1)
    left = int(((ratio < one.low) | (ratio > one.high)).sum())
    low, high = stats.binom.ppf([1e-4, 1.0 - 1e-4], 10_000, CHANCE / checks)
    assert low <= left <= high
    at_use = found.at_use
    assert at_use is not None
    spread = covariance_of(job, plan)
    target = target_of(planned_for(job), job.use, deflection=True)  # type: ignore[arg-type]
    drawn = random.multivariate_normal(np.zeros(len(spread)), spread, (300, 60)) @ target.T
    root = np.sqrt((drawn**2).sum(axis=2).mean(axis=1)) / plan.value
    assert ((root < at_use.low) | (root > at_use.high)).sum() <= 3
    assert at_use.high - at_use.low < 5.0 * root.std() * 2.0


def test_draws_are_those_of_simulate_and_the_seed_decides(loaded: Drawn) -> None:
    job, plan = loaded.job, loaded.plan
    first, again, other = (drawn_errors(job, plan, 3, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first, again)
    assert (first != other).all()
    assert plan.shift is not None
    campaign = driven(campaign_of(plan), plan.shift, pairs=False)
    assert settings_text(campaign) == ""
    scatter = simulate(plan.problem.asked.model.at(), campaign, seed=1).campaign.readings.value[:3]
    truth = simulate(
        plan.problem.asked.model.at(),
        replace(campaign, readings=replace(campaign.readings, sigma=np.full_like(campaign.readings.sigma, np.nan))),
        seed=1,
    ).campaign.readings.value[:3]
    assert np.std(scatter - truth) == pytest.approx(3e-5, rel=0.25)


def test_interrupted_early_nothing_is_claimed(loaded: Drawn) -> None:
    assert verify(loaded.job, loaded.plan, 200, seed=1, stop=lambda: True) is None


def test_relative_deflections_are_those_of_the_arm_itself(tmp_path: Path) -> None:
    robot = read_robot("kr270")
    names = [f"q.{joint}[deg]" for joint in robot.joint_names]
    write_table(tmp_path / "a.path.csv", [*names, "force.x[N]", "force.y[N]", "force.z[N]", "load_point"],
                [[20.0], [-70.0], [80.0], [10.0], [40.0], [0.0], [300.0], [-800.0], [-900.0], ["hook"]])  # fmt: skip
    job, plan = planned(replace(LOADED, test_pose=tmp_path / "a.path.csv"))
    covariance = covariance_of(job, plan)
    exact = deflections(job, plan, np.zeros((4, len(covariance))), covariance)
    assert [d.mean for d in exact] == [0.0, 0.0]
    # all compliances too large by the same share: every deflection is off by that share
    model = plan.problem.asked.model
    size = np.array([model.nominal[name] for name in job.refiner.information.names])
    off = deflections(job, plan, 0.03 * size[None], covariance)
    for one in off:
        assert one.mean == pytest.approx(0.03)
        assert set(one.by_marker) == {"P1", "P2", "P3"}
        assert list(one.by_marker.values()) == pytest.approx([0.03] * 3)
    whole = np.random.default_rng(1).multivariate_normal(np.zeros(len(size)), covariance, 150)
    drawn = deflections(job, plan, whole, covariance)
    for one in drawn:
        assert 0.7 * one.promised < one.mean < one.promised
