"""Validation: what was fitted cannot pass, frames are where the model says, figures of ISO 9283, the domain."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from budget_scenarios import Scenario, plan
from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identify.api import identify
from stiffarm.identify.domain import leaving
from stiffarm.identify.estimate import Domain, Estimate
from stiffarm.identify.iso9283 import iso9283, repeatability
from stiffarm.identify.model_file import document, estimate_of, write_estimate
from stiffarm.identify.options import Options
from stiffarm.identify.seen import MOST, fingerprints, seen_before
from stiffarm.identify.validation import validate_model
from stiffarm.measure.campaign import Campaign, Setup
from stiffarm.measure.subset import with_readings
from stiffarm.measure.virtual import simulate
from stiffarm.measure.writing import write_campaign
from stiffarm.robot.placement import Rigid, rotation_from_vector
from virtual_plans import MODEL, ROBOT

Array = NDArray[np.float64]
OPTIONS = Options(geometry="offsets", estimator="wls", folds=4)
TRUTH = {
    **{name: 1.5 * value for name, value in MODEL.nominal.items() if name.endswith(".compliance")},
    "A2.offset": 2e-3,
    "A3.offset": -1e-3,
    "A5.offset": 1e-3,
}
STANDS = {"day": Rigid(rotation_from_vector(np.array([0.2, -0.1, 1.0])), np.array([1.0, 2.0, 0.3]))}
MOVED = {"other": Rigid(rotation_from_vector(np.array([-0.5, 0.3, 0.1])), np.array([-2.0, 0.5, 1.3]))}


def readings(seed: int, experiments: int = 16, repeats: int = 1, setup: str = "day", shift: float = 0.0) -> Campaign:
    """Positions of three markers under load, read with 20 um."""
    asked = plan(Scenario("position"), experiments, 1, repeats, seed=seed)
    asked = replace(asked, setups=(Setup(setup),), name=f"c{seed}")
    frames = {name: Rigid(f.rotation, f.translation + shift) for name, f in (STANDS | MOVED).items()}
    return simulate(MODEL.at(TRUTH), asked, seed=seed, sigma_m=2e-5, frames=frames).campaign


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    return identify(ROBOT, replace(readings(3), instrument=None), OPTIONS)


def test_unseen_readings_are_judged_beside_nominal_and_geometry_alone(estimate: Estimate) -> None:
    found = validate_model(estimate, readings(4))
    assert found.verdict.usable
    assert found.rms_m is not None
    assert found.nominal_rms_m is not None
    assert found.geometry_rms_m is not None
    assert found.rms_m < 6e-5
    assert min(found.geometry_rms_m, found.nominal_rms_m) > 1e-3
    assert found.seen.fitted == 0
    assert any("geometry alone" in reason for reason in found.verdict.reasons)


def test_a_setup_of_the_model_keeps_its_frame_and_another_gets_one(estimate: Estimate) -> None:
    moved = validate_model(estimate, readings(4, shift=1e-3))
    assert moved.rms_m == pytest.approx(np.sqrt(3.0) * 1e-3, rel=0.05)
    assert any("promised" in reason for reason in moved.verdict.reasons)
    assert not moved.verdict.usable or moved.nominal_rms_m is not None
    other = validate_model(estimate, readings(4, setup="other", shift=1e-3))
    assert other.rms_m is not None
    assert other.rms_m < 6e-5
    assert other.by_setup == {"other": other.rms_m}
    tool = validate_model(estimate, readings(4, shift=1e-3), refit="tool")
    assert tool.rms_m is not None
    assert tool.rms_m < 6e-5
    with pytest.raises(InputError, match="does not know where setup 'other' stands"):
        validate_model(estimate, readings(4, setup="other"), refit="none")
    assert validate_model(estimate, readings(4), refit="none").rms_m == validate_model(estimate, readings(4)).rms_m


def test_readings_that_were_fitted_cannot_pass_whatever_they_are_called(estimate: Estimate) -> None:
    same = readings(3)
    order = np.random.default_rng(0).permutation(len(same.readings))
    for copy in (same, with_readings(same, order), with_readings(same, order[:20])):
        found = validate_model(estimate, replace(copy, name="new", markers=copy.markers))
        assert not found.verdict.usable
        assert "were fitted" in found.verdict.reasons[0]
    mixed = with_readings(same, np.arange(6))
    assert seen_before(estimate.provenance.readings, mixed).is_training
    again = readings(3)  # the same configurations read again: other numbers
    random = np.random.default_rng(1)
    scattered = replace(
        again.readings, value=again.readings.value + 2e-5 * random.normal(size=again.readings.value.shape)
    )
    assert validate_model(estimate, replace(again, readings=scattered)).seen.fitted == 0


def test_what_was_held_out_is_not_in_the_fingerprints() -> None:
    campaign = simulate(MODEL.at(TRUTH), plan(Scenario(), 16, 1, 1, seed=3), seed=1, sigma_m=2e-5).campaign
    found = identify(ROBOT, campaign, Options(estimator="wls", holdout="experiment:0.25"))
    seen = seen_before(found.provenance.readings, campaign)
    assert seen.compared == 48
    assert seen.fitted == 36


def test_fingerprints_of_large_campaigns_do_not_hang_on_the_order() -> None:
    one = plan(Scenario("position"), 1200, 1, 1, seed=1)
    value = np.random.default_rng(0).normal(size=one.readings.value.shape)
    one = replace(one, readings=replace(one.readings, value=value))
    kept = fingerprints(one)
    assert len(kept) == MOST
    order = np.random.default_rng(1).permutation(len(value[0]))
    assert fingerprints(with_readings(one, order)) == kept
    part = seen_before(kept, with_readings(one, order[:300]))
    assert part.fitted == part.compared > 100
    other = replace(one, readings=replace(one.readings, value=value + 1e-4))
    assert seen_before(kept, other).fitted == 0


def test_a_handful_of_readings_cannot_judge(estimate: Estimate) -> None:
    few = validate_model(estimate, with_readings(readings(4, setup="other"), np.arange(3)))
    assert not few.verdict.usable
    assert "too few readings" in few.verdict.reasons[0]
    known = validate_model(estimate, with_readings(readings(4), np.arange(3)))
    assert "too few readings" not in known.verdict.reasons[0]


def test_accuracy_and_repeatability_by_configuration(estimate: Estimate) -> None:
    campaign = readings(5, experiments=4, repeats=6)
    random = np.random.default_rng(2)
    error = random.normal(size=(6, len(campaign.readings)))
    found = iso9283(campaign, error)
    assert found is not None
    assert len(found.poses) == 12
    assert {p.n for p in found.poses} == {6}
    p = next(p for p in found.poses if (p.experiment, p.marker) == ("e2", "P3"))
    rows = np.flatnonzero((campaign.readings.experiment == 1) & (campaign.readings.marker == 2))
    mean = error[:, rows].mean(axis=1)
    lengths = np.sqrt(((error[:3, rows] - mean[:3, None]) ** 2).sum(axis=0))
    assert p.ap_m == pytest.approx(np.sqrt((mean[:3] ** 2).sum()))
    assert p.rp_m == pytest.approx(lengths.sum() / 6 + 3 * np.sqrt(((lengths - lengths.mean()) ** 2).sum() / 5))
    assert p.ap_rad == pytest.approx(np.abs(mean[3:]).max())
    assert iso9283(readings(5, experiments=4), error[:, :12]) is None
    # 20 um along each axis: mean and deviation of a length are 1.596 and 0.673 of them
    many = validate_model(estimate, readings(6, experiments=3, repeats=60)).iso9283
    assert many is not None
    assert many.rp_m == pytest.approx(2e-5 * (1.596 + 3 * 0.673), rel=0.25)
    assert repeatability(np.zeros((3, 5))) == 0.0


def test_leaving_the_domain_is_said_with_its_factor() -> None:
    domain = Domain({"A1": (-1.0, 1.0)}, {"A1": (0.0, 10.0)}, (0.0, 500.0), {"room": (20.0, 22.0)})
    q, row = np.array([[0.0, 2.5, -1.5]]), np.array([2, 3, 4])
    wrench = np.zeros((1, 6, 3))
    wrench[0, 2] = [-100.0, -1000.0, 0.0]
    torque, room = np.array([[5.0, 5.0, 30.0]]), {"room": np.array([21.0, 21.0, np.nan])}
    said = leaving(domain, ("A1",), q, wrench, row, torque, room)
    assert len(said) == 3
    assert "measured torque of A1 beyond the calibrated range: 5 times (row 4)" in said
    assert "force beyond the calibration: 2 times the largest calibrated (row 3)" in said
    assert "joints beyond their calibrated range: A1 2.5 times (2 rows, the first is row 3)" in said
    assert leaving(domain, ("A1",), q[:, :1], wrench[:, :, :1], row[:1]) == ()
    assert leaving(None, ("A1",), q, wrench * 0, row) == ()


def test_by_command(estimate: Estimate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, data = tmp_path / "m.model.json", tmp_path / "day.campaign.csv"
    write_estimate(estimate, model)
    write_campaign(readings(6, experiments=8, repeats=3), data, units="mm,deg")
    assert main(["validate", str(model), str(data), "--json", "--quiet"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    keys = {"rows", "rms[m]", "rms[rad]", "max[m]", "nominal_rms[m]", "geometry_rms[m]", "refit", "by_setup", "verdict"}
    assert keys <= set(found)
    assert found["rows"] == 72
    assert found["refit"] == "frame"
    assert set(found["by_setup"]) == {"day"}
    assert len(found["iso9283"]["poses"]) == 24
    assert found["rms[m]"] ** 2 < found["max[m]"] ** 2 < 3e-8
    assert main(["validate", str(model), str(data), "--quiet"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("USABLE")
    assert "ISO 9283" in text
    # the fitted readings under another name, in another unit
    write_campaign(readings(3), data, units="m,rad")
    assert main(["validate", str(model), str(data), "--json", "--quiet"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert not found["verdict"]["usable"]
    assert found["fitted_before"] == {"readings": 48, "compared": 48}
    # a path far outside is predicted with a warning that says how far
    path = tmp_path / "far.path.csv"
    joints = ",".join(f"q.{name}[rad]" for name in ROBOT.joint_names)
    path.write_text(f"{joints},force.z[N],load_point\n2.5,0,0,0,0,0,-20000,hook\n", encoding="utf-8")
    assert main(["predict", str(model), str(path), "--json"]) == 0
    told = capsys.readouterr().err
    assert "force beyond the calibration" in told
    low, high = estimate.domain.joints[ROBOT.joint_names[0]]
    assert f"{ROBOT.joint_names[0]} {abs(2.5 - 0.5 * (low + high)) / (0.5 * (high - low)):.3g} times" in told


def test_a_model_file_has_every_key_and_comes_back_the_same(estimate: Estimate) -> None:
    found = document(estimate)
    assert {
        "format", "robot", "parameters", "covariance", "dropped", "setups", "outliers", "fit", "domain", "holdout",
        "verdict", "provenance",
    } <= set(found)  # fmt: skip
    assert set(found["parameters"][0]) == {
        "name", "unit", "value", "nominal", "std", "low", "high", "level", "nu", "class", "merged",
    }  # fmt: skip
    assert {"name", "xyz", "rotvec", "markers", "tool_rotvec", "covariance"} <= set(found["setups"][0])
    assert {"n_rows", "dof", "rms[m]", "estimator", "lack_of_fit", "rank", "gap", "iterations"} <= set(found["fit"])
    assert {"rule", "rows", "rms[m]", "nominal_rms[m]"} <= set(found["holdout"])
    assert {"versions", "seed", "files", "command"} <= set(found["provenance"])
    text = json.dumps(found, allow_nan=False)
    assert estimate_of(json.loads(text)) == estimate
    infinite = replace(estimate, fit=replace(estimate.fit, gap=np.inf, rms_m=np.nan))
    assert document(infinite)["fit"]["gap"] is None
    assert document(infinite)["fit"]["rms[m]"] is None
