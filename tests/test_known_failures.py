"""What went wrong in other software that does this job, each as a test that it does not happen here.

A base class with one subclass per robot, and robot names in library code, are held by `test_architecture`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fit_problems import Truth, angles, anywhere, arm, as_built, campaign
from stiffarm.cli.main import main
from stiffarm.identify.api import identify
from stiffarm.identify.fit import fit
from stiffarm.identify.options import Options
from stiffarm.identify.system import System
from stiffarm.measure.campaign import Campaign
from stiffarm.robot.arm import Robot
from test_identify_command import GEOMETRY, Bench

MARKER = (0.12, 0.06, 0.25)
PLAIN = Options(estimator="ols")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    from test_identify_command import ROBOT

    (tmp_path / "six.robot.toml").write_text(ROBOT, encoding="utf-8")
    return Bench(tmp_path)


def measured(noise_m: float = 2e-5, n: int = 60, seed: int = 1, **robot_more: object) -> tuple[Robot, Truth, Campaign]:
    robot = arm(MARKER)
    robot = replace(robot, **robot_more) if robot_more else robot  # type: ignore[arg-type]
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    return robot, truth, campaign(truth, angles(n, 2), noise_m=noise_m, seed=seed)


def heavy() -> Robot:
    """The arm with weights that bend it."""
    plain = arm(MARKER)
    masses = (60.0, 50.0, 30.0, 10.0, 8.0, 3.0)
    joints = tuple(
        replace(joint, mass=mass, com=(0.05, -0.1, 0.02 * k))
        for k, (joint, mass) in enumerate(zip(plain.joints, masses, strict=True))
    )
    return replace(plain, joints=joints)


def test_no_elastic_parameter_is_overwritten_by_one_of_the_base() -> None:
    """Six compliances were silently replaced by six base parameters: asked for and unknown frame, all accounted for."""
    robot = heavy()
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    found = fit(robot, campaign(truth, angles(60, 2), noise_m=1e-5), PLAIN)
    asked = [name for name in found.asked.names if name.endswith(".compliance")]
    assert len(asked) == 6
    fitted, held = set(found.names), {d.name: d.why for d in found.dropped}
    assert fitted | set(held) == set(found.asked.names)
    assert not fitted & set(held)
    assert all(name in fitted or held[name] for name in asked)
    assert {"A2.compliance", "A3.compliance"} <= fitted
    assert found.rank == len(fitted) + 6


def test_derivatives_are_exact_and_cost_one_evaluation_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences over 45 unknowns took 46 evaluations a step, in a loop over poses."""
    robot, _, readings = measured()
    calls = {"equations": 0, "residual": 0}
    for name in calls:
        plain = getattr(System, name)

        def counted(self: System, *more: object, _plain=plain, _name=name) -> object:  # type: ignore[no-untyped-def]
            calls[_name] += 1
            return _plain(self, *more)

        monkeypatch.setattr(System, name, counted)
    found = fit(robot, readings, PLAIN)
    assert found.solution.iterations <= 4
    assert calls["equations"] + calls["residual"] <= found.solution.iterations + 3


def test_identifiability_is_judged_where_the_marker_is() -> None:
    """At the flange 25 of 27 would be told, and 0.5 mm left instead of 0.015."""
    robot, _, readings = measured()
    assert fit(robot, readings, PLAIN).rank == 27


def test_standard_deviations_are_those_of_repeated_calibrations() -> None:
    """They were 100 times too small."""
    robot, truth, _ = measured()
    runs = []
    for seed in range(30):
        found = fit(robot, campaign(truth, angles(40, 2), noise_m=2e-5, seed=seed), PLAIN)
        runs.append(([found.at.values[name] for name in found.names], found.estimate.sigma[: len(found.names)]))
    values, sigma = (np.array(part) for part in zip(*runs, strict=True))
    ratio = values.std(axis=0, ddof=1) / sigma.mean(axis=0)
    assert 0.85 < np.sqrt(np.mean(ratio**2)) < 1.15
    assert ratio.min() > 0.5
    assert ratio.max() < 1.7


def test_an_outlier_is_found_and_listed() -> None:
    """Removal of outliers removed nothing."""
    robot, _, readings = measured()
    value = readings.readings.value.copy()
    value[1, 17] += 1e-3
    found = identify(robot, replace(readings, readings=replace(readings.readings, value=value)), PLAIN)
    assert [one.experiment for one in found.outliers] == ["e17"]
    assert all(one.action == "kept" for one in found.outliers)


def test_readings_held_out_are_read_and_not_fitted() -> None:
    """A held-out file was never opened: moving it must change its error and nothing of the model."""
    robot, _, readings = measured(n=80)
    options = replace(PLAIN, holdout="experiment:0.3", gears="none")
    before = identify(robot, readings, options)
    from stiffarm.identify.holdout import split

    judged = split(readings, "experiment:0.3", 0).judged
    value = readings.readings.value.copy()
    value[0, judged] += 5e-4
    after = identify(robot, replace(readings, readings=replace(readings.readings, value=value)), options)
    assert after.values == before.values
    assert before.holdout is not None
    assert after.holdout is not None
    assert before.holdout.rms_m is not None
    assert after.holdout.rms_m == pytest.approx(np.hypot(before.holdout.rms_m, 5e-4), rel=0.1)


def test_results_are_not_rounded(bench: Bench) -> None:
    """Six decimals of a metre are a micrometre, and of a compliance nothing."""
    data = bench.campaign("a.campaign.csv", bench.plan("a.plan.csv", 40, 1, markers=["P1"]), *GEOMETRY)
    model = bench.folder / "a.model.json"
    assert main(["identify", bench.robot, data, "-o", str(model), "--quiet"]) == 0
    told = [p for p in json.loads(model.read_text(encoding="utf-8"))["parameters"] if p["std"]]
    digits = [len(repr(abs(p["value"])).partition("e")[0].replace(".", "").strip("0")) for p in told]
    assert np.median(digits) >= 15


def test_corrections_stand_where_a_urdf_reader_looks(bench: Bench) -> None:
    """Offsets that no reader honours: 'I calibrated and nothing changed'. Origins change, by what was found."""
    import xml.etree.ElementTree as ElementTree

    data = bench.campaign("a.campaign.csv", bench.plan("a.plan.csv", 40, 1, markers=["P1"]), *GEOMETRY)
    model, before, after = (str(bench.folder / name) for name in ("a.model.json", "before.urdf", "after.urdf"))
    assert main(["identify", bench.robot, data, "-o", model, "--gears", "none", "--quiet"]) == 0
    assert main(["robot", "convert", bench.robot, "-o", before]) == 0
    assert main(["robot", "convert", model, "-o", after]) == 0

    def origins(path: str) -> np.ndarray:
        found = [joint.find("origin") for joint in ElementTree.parse(path).getroot().iter("joint")]
        rows = [[*o.get("xyz", "0 0 0").split(), *o.get("rpy", "0 0 0").split()] for o in found if o is not None]
        return np.array(rows[:6], dtype=float)

    told = {p["name"] for p in json.loads(Path(model).read_text(encoding="utf-8"))["parameters"] if p["std"]}
    moved = np.abs(origins(after) - origins(before)).max(axis=1) > 1e-6
    expected = [any(name.startswith(f"A{k + 1}.") for name in told) for k in range(6)]
    assert moved.tolist() == expected
