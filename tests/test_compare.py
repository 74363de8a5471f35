"""What changed between two models: false alarms, real changes, loads in common, and what cannot be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from budget_scenarios import MODEL, ROBOT, plan, pulled
from budget_scenarios import Scenario as Campaigns
from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identify.api import identify
from stiffarm.identify.comparison import compare, degrees_of_freedom
from stiffarm.identify.estimate import Estimate, Provenance
from stiffarm.identify.model_file import write_estimate
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Isotropic, LoadUncertainty, Setup
from stiffarm.measure.virtual import simulate
from stiffarm.robot.writing import write_robot

KNOWN = Options(folds=0, estimator="wls")
HARD = "A2.compliance"


def model(seed: int, *, gain: float = 0.0, worn: float = 0.0, stated: float = 0.0, experiments: int = 10) -> Estimate:
    """A model from deflections; ``gain``: what really pulls is so much more than what was stated."""
    asked = plan(Campaigns(), experiments, 1, 1, seed=100 + seed)
    truth = {HARD: MODEL.nominal[HARD] * (1.0 + worn)}
    real = pulled(asked, 0, gain)
    read = simulate(MODEL.at(truth), real, seed=seed, sigma_m=2e-5).campaign.readings
    campaign = replace(
        asked, readings=read, instrument=Isotropic(2e-5), load_uncertainty=LoadUncertainty(gain_sigma=stated)
    )
    return identify(ROBOT, campaign, KNOWN)


def test_nothing_changed_is_reported_as_often_as_it_says() -> None:
    models = [model(seed) for seed in range(60)]
    alarms = [bool(compare(a, b).changed) for a, b in zip(models[::2], models[1::2], strict=True)]
    together = [compare(a, b).p_together for a, b in zip(models[::2], models[1::2], strict=True)]
    assert sum(alarms) <= stats.binom.ppf(0.9999, 30, 0.05)
    assert stats.kstest(np.array(together, dtype=float), "uniform").pvalue > 1e-3


def test_a_worn_joint_is_named_alone() -> None:
    found = compare(model(0), model(1, worn=0.3))
    assert [c.name for c in found.changed] == [HARD]
    assert found.changed[0].difference == pytest.approx(0.3 * MODEL.nominal[HARD], rel=0.2)
    assert found.p_together is not None
    assert found.p_together < 1e-6
    assert found.compared == 6


def test_an_uncertain_load_hides_less_when_it_is_the_same_one() -> None:
    """Both campaigns pulled with 2 % more than stated: 6 % of wear shows only where that cancels."""
    first, worn = model(0, gain=0.02, stated=0.02), model(1, gain=0.02, stated=0.02, worn=0.06)
    apart, together = compare(first, worn), compare(first, worn, same_load=True)
    std = {c.name: c.std for c in apart.every}, {c.name: c.std for c in together.every}
    assert std[0][HARD] > 1.5 * std[1][HARD]
    assert HARD in {c.name for c in together.changed}
    assert HARD not in {c.name for c in apart.changed}
    assert any("--same-load" in note for note in apart.notes)
    assert compare(first, model(2, gain=0.02, stated=0.02), same_load=True).changed == ()


def test_the_same_readings_prove_nothing() -> None:
    one = model(0)
    assert any("same readings" in note for note in compare(one, one).notes)
    assert compare(one, one).p_together == pytest.approx(1.0)
    assert not any("same readings" in note for note in compare(one, model(1)).notes)


def test_degrees_of_freedom_widen_the_difference() -> None:
    """The same difference in standard deviations is less of a proof when a deviation rests on few readings."""
    sure = model(0)
    few = replace(sure, parameters=tuple(_wider(p, 4.0) for p in sure.parameters), provenance=Provenance())
    shifted = (replace(p, value=(p.value or 0.0) + 6.0 * (p.std or 0.0)) for p in sure.parameters)
    moved = replace(sure, parameters=tuple(shifted))
    assert degrees_of_freedom(few.parameters[0]) == pytest.approx(4.0, rel=1e-6)
    assert degrees_of_freedom(sure.parameters[0]) == np.inf
    assert compare(few, moved).every[0].p > 10 * compare(sure, moved).every[0].p


def _wider(p, dof):  # type: ignore[no-untyped-def]
    half = stats.t.ppf(0.975, dof) * p.std
    return replace(p, low=p.value - half, high=p.value + half)


def geometry(seed: int, **options: object) -> Estimate:
    asked = replace(plan(Campaigns("position"), 14, 1, 1, seed=100 + seed), setups=(Setup("day"),))
    read = simulate(MODEL.at({"A2.rz": 1e-3}), asked, seed=seed, sigma_m=2e-5).campaign
    return identify(ROBOT, read, replace(KNOWN, elastic="none", loads="none", geometry="offsets", **options))  # type: ignore[arg-type]


def test_what_has_no_counterpart_is_named() -> None:
    one, two = geometry(0), geometry(1, fix=("A4.offset",))
    found = compare(one, two)
    assert {n.name: n.why for n in found.not_compared}["A4.offset"] == "only the first model tells it"
    longer = replace(ROBOT, flange=replace(ROBOT.flange, xyz=(0.0, 0.0, 0.3)))
    moved = replace(two, robot=replace(two.robot, text=identify_text(longer)))
    reasons = {n.why for n in compare(one, moved).not_compared}
    assert "the robot files differ in their nominal geometry" in reasons
    other = replace(ROBOT, joints=ROBOT.joints[:5])
    with pytest.raises(InputError, match="different robots"):
        compare(one, replace(two, robot=replace(two.robot, text=identify_text(other))))


def identify_text(robot) -> str:  # type: ignore[no-untyped-def]
    from stiffarm.robot.writing import robot_text

    return robot_text(robot)


def test_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for name, estimate in (("a", model(0)), ("b", model(1, worn=0.3))):
        files.append(str(tmp_path / f"{name}.model.json"))
        write_estimate(estimate, Path(files[-1]))
    assert main(["compare", *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [set(c) for c in found["changed"]] == [{"name", "difference", "std", "p"}]
    assert found["changed"][0]["name"] == HARD
    assert len(found["parameters"]) == found["compared"] == 6
    assert main(["compare", *files]) == 0
    text = capsys.readouterr().out
    assert text.startswith("1 of 6 parameters changed beyond noise")
    assert "urad/(N m)" in text


def test_when_nothing_can_be_compared_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The truth of a virtual campaign has no uncertainty: it is no proof that nothing changed."""
    write_robot(ROBOT, tmp_path / "arm.robot.toml")
    head = "experiment," + ",".join(f"q.{joint.name}[deg]" for joint in ROBOT.joints)
    (tmp_path / "a.plan.csv").write_text(f"{head}\ne1{',10' * len(ROBOT.joints)}\n", encoding="utf-8")
    truth, found = str(tmp_path / "truth.model.json"), str(tmp_path / "b.model.json")
    simulate_it = ["simulate", str(tmp_path / "arm.robot.toml"), str(tmp_path / "a.plan.csv"), "--truth-out", truth]
    assert main([*simulate_it, "-o", str(tmp_path / "a.campaign.csv")]) == 0
    write_estimate(model(0), Path(found))
    capsys.readouterr()
    assert main(["compare", truth, found]) == 0
    text = capsys.readouterr().out
    assert text.startswith("nothing could be compared")
    assert max(map(len, text.splitlines())) <= 80
