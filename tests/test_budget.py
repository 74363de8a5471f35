"""The budget of uncertainty: against simulated truth, against what predict says, against differences, by command."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from budget_scenarios import SCENARIOS, STOPS, Scenario, calibrated, deviations, plan
from stiffarm.cli.main import main
from stiffarm.compensate.budget import LINES, budget_file
from stiffarm.compensate.model_file import read_model
from stiffarm.compensate.predicting import predict_file
from stiffarm.identify.model_file import document, estimate_of, write_estimate
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign, Isotropic, LoadUncertainty, SharedError, Tracker
from stiffarm.measure.writing import write_campaign

KNOWN = Options(folds=0, estimator="wls")
"""Takes the stated errors for what they are, and no time."""
QUICK = {
    "scatter alone, places": (KNOWN, 20),
    "stops found from visits, readings": (Options(folds=0), 4),
    "stops stated": (KNOWN, 8),
    "load gain 2 % in the calibration": (KNOWN, 8),
    "load gain and turn in use": (KNOWN, 16),
    "positions, geometry and compliances, readings": (KNOWN, 6),
}


@pytest.mark.parametrize("name", QUICK)
def test_errors_at_unseen_points_are_what_the_budget_says(name: str, tmp_path: Path) -> None:
    """`bench/budget.py` has more scenarios and runs; with these few, rms z scatters by 5 to 8 %."""
    options, runs = QUICK[name]
    z = deviations(replace(SCENARIOS[name], options=options), runs, tmp_path)
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.2
    assert np.mean(np.abs(z) <= 2.0) > 0.88


def model_of(scenario: Scenario, folder: Path, seed: int = 0) -> Path:
    path = folder / "m.model.json"
    write_estimate(calibrated(scenario, seed)[0], path)
    return path


def plan_of_file(scenario: Scenario, folder: Path, name: str = "u.plan.csv", **more: Any) -> Path:
    path = folder / name
    write_campaign(replace(plan(scenario, 4, 1, 1, seed=99), **more), path, units="m,rad")
    return path


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario("position", experiments=30, options=KNOWN),
        Scenario("position", experiments=30, gain=0.02, options=KNOWN),
    ],
)
@pytest.mark.parametrize("setup", [None, "day"])
def test_parameters_and_scale_are_what_predict_calls_sigma(
    scenario: Scenario, setup: str | None, tmp_path: Path
) -> None:
    model, asked = read_model(model_of(scenario, tmp_path)), plan_of_file(scenario, tmp_path)
    sigma = predict_file(model, asked, setup=setup).sigma
    u = budget_file(model, asked, setup=setup).u
    assert sigma is not None
    both = u["parameters"] ** 2 + np.nan_to_num(u["scale"]) ** 2
    assert np.sqrt(both) == pytest.approx(sigma[:3], rel=1e-6)
    assert bool(np.isfinite(u["scale"]).all()) == (scenario.gain > 0)


def test_sigma_in_the_frame_of_a_setup_is_that_of_the_truth(tmp_path: Path) -> None:
    """Frame and parameters are found from the same readings: without their covariance rms z would be 0.8."""
    scenario = Scenario("position", experiments=30, options=KNOWN, instrument=Isotropic(2e-5))
    asked, z = plan_of_file(scenario, tmp_path), []
    for seed in range(8):
        estimate, values, frames = calibrated(scenario, seed)
        write_estimate(estimate, tmp_path / "m.model.json")
        known = read_model(tmp_path / "m.model.json")
        found = predict_file(known, asked, setup="day")
        true = predict_file(replace(known, values={**known.model.nominal, **values}, setups=()), asked).pose[:3]
        assert found.sigma is not None
        seen = frames["day"].rotation @ true + frames["day"].translation[:, None]
        z.append((found.pose[:3] - seen) / found.sigma[:3])
    assert 0.85 < np.sqrt(np.mean(np.square(z))) < 1.15


def test_load_lines_are_those_of_loads_that_differ(tmp_path: Path) -> None:
    """The line of a gain is by how much the prediction moves when the load is that much larger."""
    scenario = Scenario()
    model = read_model(model_of(scenario, tmp_path))
    plain = plan(scenario, 4, 1, 1, seed=99)
    asked = plan_of_file(scenario, tmp_path)
    wrench = plain.experiments.wrench_world * 1.01
    more = tmp_path / "more.plan.csv"
    write_campaign(replace(plain, experiments=replace(plain.experiments, wrench_world=wrench)), more, units="m,rad")
    apart = np.abs(predict_file(model, more).elastic - predict_file(model, asked).elastic)
    found = budget_file(model, asked, gain_sigma=0.01).u["load"]
    assert found == pytest.approx(apart, rel=1e-6)
    assert np.linalg.norm(found, axis=0).min() > 1e-6
    assert budget_file(model, asked, gain_sigma=0.0).u["load"].max() == 0.0


def test_what_nobody_stated_is_not_zero(tmp_path: Path) -> None:
    scenario = Scenario()
    model, asked = read_model(model_of(scenario, tmp_path)), plan_of_file(scenario, tmp_path)
    found = budget_file(model, asked)
    assert found.missing == ("load", "scale")
    assert np.isnan(found.u["load"]).all()
    assert found.within == {"repeatability": "lack_of_fit"}
    assert np.isnan(found.u["repeatability"]).all()
    known = [found.u[name] for name in ("instrument", "parameters", "lack_of_fit")]
    assert found.combined == pytest.approx(np.sqrt(np.sum(np.square(known), axis=0)))
    of_place = budget_file(model, asked, measurand="place", gain_sigma=0.0)
    assert "load" not in of_place.missing
    assert of_place.combined.max() < found.combined.min()
    # a model of deflections says nothing of where an arm without load comes to rest
    positions = replace(scenario, kind="position")
    other = budget_file(model, plan_of_file(positions, tmp_path, "p.plan.csv"))
    assert {"repeatability", "lack_of_fit"} <= set(other.missing)
    assert any("no geometry was identified" in note for note in other.notes)


def test_what_could_not_be_told_apart_says_where_it_is(tmp_path: Path) -> None:
    """Scatter of unrepeated readings holds everything; an instrument stated for the plan holds itself alone."""
    scenario = Scenario(options=KNOWN)
    model = read_model(model_of(scenario, tmp_path))
    plain = budget_file(model, plan_of_file(scenario, tmp_path), gain_sigma=0.0)
    assert plain.within == {"lack_of_fit": "instrument", "repeatability": "instrument"}
    assert plain.missing == ("scale",)
    place = budget_file(model, plan_of_file(scenario, tmp_path), gain_sigma=0.0, measurand="place")
    assert place.combined == pytest.approx(plain.combined)  # what of the scatter is the arm's nobody knows
    stated = plan_of_file(scenario, tmp_path, "s.plan.csv", instrument=Isotropic(5e-6))
    found = budget_file(model, stated, gain_sigma=0.0)
    assert found.within == {}
    assert found.missing == ("repeatability", "lack_of_fit", "scale")
    assert found.u["instrument"] == pytest.approx(np.full((3, 12), np.sqrt(2.0) * 5e-6))


def test_the_scale_says_what_it_rests_on(tmp_path: Path) -> None:
    """Uncertain by experiment: in the parameters.  Weights alone: taken as known.  Torques: nobody knows."""
    scenario = Scenario(options=KNOWN, gain=0.02)
    asked = plan_of_file(scenario, tmp_path)
    model = read_model(model_of(scenario, tmp_path))
    assert budget_file(model, asked).sources["scale"].startswith("load of the calibration")
    plain = replace(model, scale=None)
    by_experiment = budget_file(plain, asked)
    assert "by experiment" in by_experiment.sources["scale"]
    assert by_experiment.u["scale"].max() == 0.0
    assert model.errors is not None
    assert model.domain is not None
    unstated = replace(plain, errors=replace(model.errors, load_gain_sigma=0.0))
    weights = replace(unstated, domain=replace(model.domain, force=(0.0, 0.0)))
    assert "only weights" in budget_file(weights, asked).sources["scale"]
    torques = replace(unstated, domain=replace(model.domain, torque={"A1": (0.0, 1.0)}))
    for one in (unstated, torques):
        found = budget_file(one, asked)
        assert "scale" in found.missing
        assert found.sources["scale"].startswith("not known")


def test_the_settings_of_the_plan_come_first(tmp_path: Path) -> None:
    scenario = Scenario("position", experiments=30, options=KNOWN)
    model = read_model(model_of(scenario, tmp_path))
    asked = plan_of_file(
        scenario, tmp_path, instrument=Isotropic(1e-3), shared=SharedError(2e-3), load_uncertainty=LoadUncertainty(0.5)
    )
    found = budget_file(model, asked)
    assert found.u["instrument"] == pytest.approx(np.full((3, 12), 1e-3))
    assert found.u["repeatability"] == pytest.approx(np.full((3, 12), 2e-3))
    assert found.u["load"].min() >= 0.0
    assert found.u["load"].max() > 1e-5
    alone = budget_file(model, plan_of_file(scenario, tmp_path, "v.plan.csv"))
    assert alone.u["instrument"].max() < 3e-5


def test_a_tracker_is_seen_along_its_beam(tmp_path: Path) -> None:
    scenario = Scenario("position", experiments=30, options=KNOWN)
    model = read_model(model_of(scenario, tmp_path))
    asked: Campaign = plan(scenario, 4, 1, 1, seed=99)
    far = replace(asked.setups[0], station_m=(0.0, 0.0, 50.0))
    path = tmp_path / "t.plan.csv"
    write_campaign(replace(asked, setups=(far,), instrument=Tracker(1e-6, 0.0, 1e-5)), path, units="m,rad")
    u = budget_file(model, path, setup="day").u["instrument"]
    assert u[:2].min() > 4e-4  # 50 m away by 10 urad, across the beam
    assert u[2].max() < 1e-4


def test_a_model_file_carries_what_no_parameter_does(tmp_path: Path) -> None:
    estimate = calibrated(SCENARIOS["everything at once"], 0)[0]
    assert estimate.errors is not None
    assert estimate.errors.stop is not None
    assert estimate.errors.stop.source == "visits"
    assert estimate.errors.stop.translation_m == pytest.approx(STOPS.translation_m, rel=0.3)
    assert estimate.errors.load_gain_sigma == 0.02
    assert estimate_of(json.loads(json.dumps(document(estimate)))) == estimate


def test_more_scatter_than_stated_is_lack_of_fit() -> None:
    """Readings of 20 um of an instrument stated as 10 um: the rest is something nobody stated."""
    scenario = Scenario(instrument=Isotropic(1e-5), sigma_m=2e-5, options=KNOWN)
    errors = calibrated(scenario, 0)[0].errors
    assert errors is not None
    assert errors.reading_m == pytest.approx((1e-5,) * 3)
    assert errors.excess_m == pytest.approx((np.sqrt(3.0) * 1e-5,) * 3, rel=0.3)
    honest = calibrated(replace(scenario, sigma_m=1e-5), 0)[0].errors
    assert honest is not None
    assert honest.excess_m == (0.0, 0.0, 0.0)


def answer_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    assert main(["budget", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = SCENARIOS["everything at once"]
    model, asked, out = model_of(scenario, tmp_path), plan_of_file(scenario, tmp_path), tmp_path / "b.csv"
    found = answer_of(capsys, model, asked, "--gain-sigma", "0.01", "--inputs", "-o", out, "--k", "3")
    assert found["measurand"] == "reading"
    assert found["complete"]
    assert [line["name"] for line in found["lines"]] == list(LINES)
    for row in found["rows"]:
        for axis in "xyz":
            total = sum(row[f"{name}.{axis}[m]"] ** 2 for name in LINES)
            assert row[f"combined.{axis}[m]"] == pytest.approx(total**0.5)
            assert row[f"expanded.{axis}[m]"] == pytest.approx(3.0 * total**0.5)
        assert row["combined[m]"] == pytest.approx(sum(row[f"combined.{axis}[m]"] ** 2 for axis in "xyz") ** 0.5)
        gain = next(one for one in row["inputs"] if one["name"] == "load.gain")
        assert gain["u"] == 0.01
        assert gain["sensitivity_unit"] == "m/(1)"
        assert np.linalg.norm(gain["contribution[m]"]) == pytest.approx(row["load[m]"])
    with out.open(encoding="utf-8", newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [float(row["combined[m]"]) for row in written] == [row["combined[m]"] for row in found["rows"]]
    assert main(["budget", str(model), str(asked)]) == 0
    text = capsys.readouterr().out
    assert "not complete: load" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_path_is_of_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = model_of(SCENARIOS["everything at once"], tmp_path)
    path = tmp_path / "a.path.csv"
    joints = ",".join(f"q.{name}[deg]" for name in json.loads(model.read_text())["domain"]["joints"])
    path.write_text(f"{joints},force.z[N],load_point,marker\n10,20,30,10,20,30,-800,hook,P1\n", encoding="utf-8")
    found = answer_of(capsys, model, path, "--quiet")
    assert found["measurand"] == "place"
    assert not next(line for line in found["lines"] if line["name"] == "instrument")["included"]
    assert found["rows"][0]["load.x[m]"] is None
    assert "load" in found["missing"]


def test_a_robot_file_has_no_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["budget", "kr270", str(plan_of_file(Scenario(), tmp_path))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no uncertainty" in captured.err
    assert "stiffarm identify" in captured.err
