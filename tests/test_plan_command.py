"""`stiffarm plan` from options to files, and what it refuses."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stiffarm
from plan_problems import CABLE, RAIL_TEST_FORCE, RAIL_TEST_POSE, rail
from stiffarm.cli.main import main
from stiffarm.identify.api import identify
from stiffarm.measure.reading import read_plan
from stiffarm.measure.writing import write_table
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import State
from stiffarm.plan.options import Box, PlanOptions
from stiffarm.plan.plan_file import campaign_of, write_plan
from stiffarm.plan.problem import Plan, Stops

JOINTS = ("E1", "A1", "A2", "A3", "A4", "A5", "A6")
RAIL = ["kr500-rail", "--experiments", "12", "--poses", "3", "--force", "4000N", "--no-curve"]
CELL = ["--cable-box", "x=2..6,y=6,z=-0.891[m]", "--tool-box", "z>=0.5[m]"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    q = RAIL_TEST_POSE[:, 0]
    headers = ["q.E1[m]", *(f"q.{joint}[rad]" for joint in JOINTS[1:]), *(f"force.{a}[N]" for a in "xyz"), "load_point"]
    write_table("test.path.csv", headers, [[v] for v in (*q.tolist(), *RAIL_TEST_FORCE)] + [["hook"]])
    return tmp_path


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["plan", *arguments, "--json", "--quiet"]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    answer: dict[str, Any] = json.loads(found.out)
    return answer


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    before = sorted(Path().iterdir())
    assert main(["plan", *arguments, "-o", "never.plan.csv"]) == 2
    assert sorted(Path().iterdir()) == before
    said = capsys.readouterr()
    assert said.out == ""
    return said.err


def test_a_plan_of_the_rail_is_good_certified_and_can_be_measured(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--test-pose", "test.path.csv", "-o", "a.plan.csv"]
    answer = answered(capsys, *RAIL, *CELL, *files, "--seed", "1", "--report", "a.html")
    assert answer["value"] <= 0.0485e-5
    page = Path("a.html").read_text(encoding="utf-8")
    assert f"Efficiency {100 * answer['efficiency']:.1f} %" in page
    assert 'id="plan-stops"' in page
    assert answer["bound"] <= answer["value"]
    assert answer["efficiency"] == answer["bound"] / answer["value"] >= 0.98
    assert answer["finished"] is True
    assert [e["repeats"] for e in answer["experiments"]] == [4, 4, 4]

    plan = read_plan("a.plan.csv", stiffarm.read_robot("kr500-rail"))
    assert len(plan.readings) == 12 * 3
    np.testing.assert_array_equal(plan.experiments.q.T, [e["q"] for e in answer["experiments"]])
    np.testing.assert_array_equal(plan.experiments.wrench_world[0, :3].T, [e["force"] for e in answer["experiments"]])
    np.testing.assert_allclose(np.linalg.norm(plan.experiments.wrench_world[0, :3], axis=0), 4000.0)
    assert plan.experiments.cable_to_m is not None
    np.testing.assert_allclose(plan.experiments.cable_to_m.T, [answer["attachment"]] * 3)
    value = rail().value(Stops(plan.experiments.q).aimed(np.array(answer["attachment"])))
    assert value == pytest.approx(answer["value"], rel=1e-9)

    first = Path("a.plan.csv").read_bytes()
    answered(capsys, *RAIL, *CELL, *files, "--seed", "1")
    assert Path("a.plan.csv").read_bytes() == first

    assert main(["simulate", "kr500-rail", "a.plan.csv", "-o", "b.campaign.csv", "--quiet"]) == 0
    estimate = identify("kr500-rail", "b.campaign.csv", stiffarm.Options(estimator="wls", folds=0))
    for name, sigma in answer["predicted_std"].items():
        assert estimate.parameter(name).std == pytest.approx(sigma, rel=1e-3), name
    capsys.readouterr()
    assert main(["assess", "kr500-rail", "a.plan.csv", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["rank"] == 7


def test_what_stands_beside_a_campaign_is_counted(folder: Path) -> None:
    options = PlanOptions(
        experiments=6, poses=2, force_n=4000.0, cable=Box(CABLE.low_m, CABLE.high_m), test_pose="test.path.csv",
        curve=False,
    )  # fmt: skip
    first = planned("kr500-rail", options)
    write_plan(first, "one.plan.csv")
    second = planned("kr500-rail", PlanOptions(**{**vars(options), "add": ("one.plan.csv",), "poses": 1}))
    both = planned("kr500-rail", PlanOptions(**{**vars(options), "experiments": 12, "poses": 3}))
    assert both.certificate is not None
    assert both.certificate.bound <= second.value < first.value
    assert second.value == pytest.approx(both.value, rel=0.1)


def planned(robot: str, options: PlanOptions) -> Plan:
    made = stiffarm.plan(robot, options)
    assert isinstance(made, Plan)
    return made


def test_geometry_is_planned_from_positions(folder: Path) -> None:
    made = planned("kr270", PlanOptions(experiments=14, criterion="D", markers=("P1",), curve=False, elastic="none"))
    assert made.problem.reading.kind == "position"
    assert len(made.predicted_std) == 27  # of a six-axis arm seen at one marker
    assert made.certificate is not None
    assert made.certificate.bound <= made.value
    campaign = campaign_of(made)
    assert campaign.markers == ("P1",)
    assert campaign.kind("position").all()
    assert not campaign.experiments.wrench_world.any()


def test_ctrl_c_gives_the_best_so_far(folder: Path) -> None:
    said: list[str] = []
    made = stiffarm.plan(
        "kr500-rail",
        PlanOptions(experiments=12, poses=3, force_n=4000.0, cable=Box(CABLE.low_m, CABLE.high_m)),
        tell=said.append, stop=lambda: any("best so far" in line for line in said),
    )  # fmt: skip
    assert not made.finished
    assert made.curve == ()
    assert made.certificate is not None
    assert 0.0 < made.certificate.bound <= made.value


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["kr270", "--force", "2600N", "--load", "vertical"], "cannot excite A1.compliance"),
        (["kr270", "--force", "2600N", "--poses", "1", "--marker", "P1"], "allowed: 2 or more"),
        (["kr270", "--force", "2600"], "unit"),
        (["kr270", "--force", "2600N", "--cable-box", "x=2..6,y=6[m]"], "open along z"),
        (["kr270", "--force", "2600N", "--cable-box", "x=6..2,y=6,z=0[m]"], "the box is empty"),
        (["kr270", "--force", "2600N", "--cable-box", "x=2..6,y=6,z=0"], "the unit is missing"),
        (["kr270", "--force", "2600N", "--cable", "1,2[m]"], "three coordinates"),
        (["kr270", "--cable", "1,2,0[m]"], "a cable pulls with a tension"),
        (["kr270", "--force", "2600N", "--tool-box", "z>=9[m]"], "tool box breaks 100%"),
        (["kr500-rail", "--elastic", "joints"], "nothing pulls"),
        (["kr270", "--force", "2600N", "--marker", "P9"], "no such marker"),
        (["kr270", "--force", "2600N", "--load", "eye"], "no such load point"),
        (["kr270", "--force", "2600N", "--poses", "5", "--experiments", "3"], "at least once"),
        (["kr270", "--force", "2600N", "--test-pose", "none.csv"], "none.csv"),
        (["kr270", "--force", "2600N", "--select", "A2.compliance[*]"], "at which angles"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_words(
    arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, *arguments)
    assert any(word in said for word in words.split("|")), said
    assert "Traceback" not in said


def test_the_instrument_of_a_settings_file_is_planned_with_and_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("in.campaign.toml").write_text(
        'format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = "0.02 mm"\n'
        '[shared]\ntranslation = "0.01 mm"\n[load]\ngain_sigma = 0.02\n',
        encoding="utf-8",
    )
    arguments = [*RAIL, *CELL, "--test-pose", "test.path.csv", "--instrument", "in.campaign.toml"]
    answer = answered(capsys, *arguments, "-o", "a.plan.csv")
    assert main(["simulate", "kr500-rail", "a.plan.csv", "-o", "b.campaign.csv", "--quiet"]) == 0
    capsys.readouterr()
    estimate = identify("kr500-rail", "b.campaign.csv", stiffarm.Options(estimator="wls", folds=0))
    for name, sigma in answer["predicted_std"].items():
        # the gain moves a compliance by a share of itself, which the fit takes of the one it found
        assert estimate.parameter(name).std == pytest.approx(sigma, rel=0.05), name
    assert 0.0 < answer["load_gain_part"] < answer["value"]
    before = Path("in.campaign.toml").read_bytes()
    answered(capsys, *arguments, "-o", "in.plan.csv")
    assert Path("in.campaign.toml").read_bytes() == before


def test_candidates_of_the_user_are_taken_as_they_are(folder: Path) -> None:
    random = np.random.default_rng(1)
    q = random.uniform(-1.0, 1.0, (6, 40))
    force = random.normal(size=(3, 40))
    force *= 1500.0 / np.linalg.norm(force, axis=0)
    headers = [*(f"q.A{k}[rad]" for k in range(1, 7)), *(f"force.{a}[N]" for a in "xyz"), "load_point"]
    write_table("own.path.csv", headers, [*q, *force, ["hook"] * 40])
    region = Box((1.2, -0.5, 0.8), (1.8, 0.5, 1.2))
    made = planned("kr270", PlanOptions(poses=3, candidates="own.path.csv", test_pose=region, curve=False))
    campaign = campaign_of(made)
    pairs = np.concatenate([q, force]).T
    for column in np.concatenate([campaign.experiments.q, campaign.experiments.wrench_world[0, :3]]).T:
        assert np.isclose(pairs, column, rtol=1e-9).all(axis=1).any()
    assert made.certificate is not None
    assert made.certificate.bound <= made.value
    assert "32 poses" in str(made.use)


def test_a_joint_that_stands_at_given_angles_has_a_compliance_for_each(folder: Path) -> None:
    angles = tuple(np.radians([-120.0, -60.0, 0.0]))
    options = PlanOptions(poses=5, force_n=2600.0, angles={"A2": angles}, criterion="D", curve=False)
    made = planned("kr270", options)
    assert [name for name in made.predicted_std if name.startswith("A2")] == [f"A2.compliance[{i}]" for i in (1, 2, 3)]
    assert set(np.round(np.degrees(made.stops.q[1]))) == {-120.0, -60.0, 0.0}


def test_stops_keep_the_box_the_distance_and_the_line_of_sight(folder: Path) -> None:
    made = planned(
        "kr270",
        PlanOptions(
            poses=3, force_n=2600.0, criterion="A", curve=False, min_distance_m=0.4, station_m=(4.0, 0.0, 1.0),
            sight_m=(1.0, 3.5), tool_box=Box((-np.inf, -np.inf, 0.4), (np.inf, np.inf, 1.5)),
        ),
    )  # fmt: skip
    arm = made.problem.asked.model.at()
    tool = predict(arm, State(made.stops.q), "tool").position
    assert tool[2].min() >= 0.4 - 1e-9
    assert tool[2].max() <= 1.5 + 1e-9
    i, j = np.triu_indices(3, 1)
    assert np.linalg.norm(tool[:, i] - tool[:, j], axis=0).min() >= 0.4
    for marker in ("P1", "P2", "P3"):
        beam = predict(arm, State(made.stops.q), marker).position - np.array([[4.0], [0.0], [1.0]])
        assert (np.abs(np.linalg.norm(beam, axis=0) - 2.25) <= 1.25).all()


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a POSIX signal")
def test_a_second_of_planning_interrupted_leaves_a_plan(folder: Path) -> None:
    command = [sys.executable, "-m", "stiffarm", "plan", *RAIL[:-1], *CELL, "-o", "a.plan.csv", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "best so far" not in (line := process.stderr.readline()):
        assert line, "it was over before it was interrupted"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate()
    assert process.returncode == 0
    answer = json.loads(out)
    assert answer["finished"] is False
    assert answer["bound"] <= answer["value"]
    assert len(read_plan("a.plan.csv", stiffarm.read_robot("kr500-rail")).experiments) == 3
