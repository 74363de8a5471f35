"""What `stiffarm plan` says of order, sides, checks and the room around the arm, and the operator's page."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import open_page
from stiffarm.cli.main import main
from stiffarm.measure.reading import read_plan
from stiffarm.measure.writing import write_table
from stiffarm.model.arm_model import ArmModel
from stiffarm.plan.cable import CableCone, CableSteepness
from stiffarm.plan.cell_file import read_cell
from stiffarm.plan.clearance import cable_clearance, cell_clearance, self_clearance, sight_clearance
from stiffarm.plan.constraints import kept
from stiffarm.plan.problem import Stops
from stiffarm.robot.arm import Capsule
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot

CAPSULES = (
    Capsule("A1", 0.3, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), Capsule("A2", 0.2), Capsule("A3", 0.18), Capsule("A5", 0.1),
    Capsule("flange", 0.05, (0.0, 0.0, 0.0), (0.1, 0.0, 0.1)),
)  # fmt: skip
CELL = """format = "stiffarm-cell/1"
units = { length = "m", angle = "deg" }
[[obstacle]]
name = "floor"
type = "box"
size = [30.0, 30.0, 1.0]
xyz = [0.0, 0.0, -1.41]
[[obstacle]]
name = "column"
type = "capsule"
radius = 0.2
start = [3.0, -1.5, -0.9]
end = [3.0, -1.5, 3.0]
"""
ASKED = ["own.robot.toml", "--experiments", "6", "--poses", "3", "--force", "4000N", "--no-curve", "--criterion", "A"]
PULLED = ["--cable", "4,6,-0.891[m]", "--candidates", "some.path.csv", "--tool-box", "z>=0.5[m]", "--sigma", "0.03mm"]
ROOM = ["--cell", "a.cell.toml", "--clearance", "20mm", "--cable-clearance", "80mm", "--station", "8,-6,2[m]"]
RUN = ["--cable-steepest", "50deg", "--cable-cone", "0,1,-0.3:70deg"]
MANNER = ["--both-sides", "--reference-every", "3", "--sheet", "day.html", "--verify", "60"]
JOINTS = ("E1", "A1", "A2", "A3", "A4", "A5", "A6")


def cell_of(folder: Path) -> None:
    """The arm with sizes and speeds, a cell, and configurations to choose from."""
    robot = read_robot("kr500-rail")
    joints = tuple(replace(joint, speed=1.5) for joint in robot.joints)
    write_robot(replace(robot, capsules=CAPSULES, joints=joints), folder / "own.robot.toml")
    (folder / "a.cell.toml").write_text(CELL, encoding="utf-8")
    low, high = np.array([joint.limits for joint in robot.joints]).T
    q = np.random.default_rng(4).uniform(low, high, (1500, 7)).T
    units = ["m", *["rad"] * 6]
    write_table(folder / "some.path.csv", [f"q.{j}[{u}]" for j, u in zip(JOINTS, units, strict=True)], list(q))


@dataclass(frozen=True)
class Made:
    """A plan with everything asked for."""

    folder: Path
    answer: dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("plan")
    cell_of(folder)
    with pytest.MonkeyPatch.context() as changed, redirect_stdout(StringIO()) as said:
        changed.chdir(folder)
        assert main(["plan", *ASKED, *PULLED, *ROOM, *RUN, *MANNER, "-o", "a.plan.csv", "--json", "--quiet"]) == 0
    return Made(folder, json.loads(said.getvalue()))


def test_the_plan_keeps_the_room_around_the_arm(made: Made) -> None:
    arm = ArmModel.of(read_robot(made.folder / "own.robot.toml")).at()
    q = np.array([one["q"] for one in made.answer["experiments"]]).T
    stops = Stops(q).aimed(np.array(made.answer["attachment"]))
    low, high = np.array([joint.limits for joint in arm.robot.joints]).T
    cell = read_cell(made.folder / "a.cell.toml")
    needed = [
        self_clearance(arm, low, high, 0.02),
        cell_clearance(arm, cell, 0.02),
        cable_clearance(arm, "hook", cell, 0.08),
        sight_clearance(arm, ("P1", "P2", "P3"), (8.0, -6.0, 2.0), cell, 0.02),
        CableSteepness(arm, "hook", np.radians(50.0)),
        CableCone(arm, "hook", (0.0, 1.0, -0.3), np.radians(70.0)),
    ]
    for one in needed:
        assert one is not None
        assert kept([one], stops, 1e-7).all(), one.name


def test_visits_are_told_and_stand_in_the_plan(made: Made) -> None:
    visits = made.answer["visits"]
    assert [v["reference"] for v in visits].count(True) == 3  # first, after three, last
    assert sorted(v["stop"] for v in visits if not v["reference"]) == [0, 0, 1, 1, 2, 2]
    plan = read_plan(made.folder / "a.plan.csv", read_robot(made.folder / "own.robot.toml"))
    assert plan.warnings == ()
    assert len(plan.visits) == len(visits)
    assert plan.kind("deflection").all()
    assert plan.experiments.approach is not None
    order = plan.readings.experiment[np.unique(plan.readings.visit, return_index=True)[1]]
    for v, e in zip(visits, order, strict=True):
        if v["approach"] is not None:
            np.testing.assert_array_equal(plan.experiments.approach[:, e], v["approach"])
        np.testing.assert_allclose(plan.experiments.q[:, e], made.answer["experiments"][v["stop"]]["q"], atol=1e-9)


def test_the_check_agrees_and_is_told(made: Made) -> None:
    verify = made.answer["verify"]
    assert verify["draws"] == 60
    assert verify["agrees"] is True
    assert set(verify["parameters"]) == set(made.answer["predicted_std"])
    for name, one in verify["parameters"].items():
        assert one["predicted"] == made.answer["predicted_std"][name]
        assert one["low"] < one["ratio"] < one["high"]


def test_the_sheet_is_a_campaign_to_fill_in(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    robot = read_robot(made.folder / "own.robot.toml")
    campaign = read_plan(made.folder / "day.campaign.csv", robot)
    assert campaign.warnings == ()
    assert len(campaign.readings) == 2 * 3 * len(made.answer["visits"])
    filled = made.folder / "filled.campaign.csv"
    named = str(made.folder / "own.robot.toml")
    assert main(["simulate", named, str(made.folder / "day.campaign.csv"), "-o", str(filled)]) == 0
    done = ["identify", named, str(filled), "--estimator", "wls", "--dry-run", "--json"]
    capsys.readouterr()
    assert main(done) == 0
    assert "A3.compliance" in capsys.readouterr().out


def test_a_campaign_with_readings_is_not_written_over(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cell_of(tmp_path)
    text = (made.folder / "day.campaign.csv").read_text(encoding="utf-8").splitlines()
    text[1] = text[1].rstrip(",") + ",,1.0,2.0,3.0"
    Path("day.campaign.csv").write_text("\n".join(text), encoding="utf-8")
    assert main(["plan", *ASKED, *PULLED, "--sheet", "day.html"]) == 2
    assert "holds readings" in capsys.readouterr().err
    assert not Path("day.html").exists()
    assert main(["plan", *ASKED, *PULLED, "--sheet", "day.campaign.csv"]) == 2
    assert "holds readings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cell", "a.cell.toml"], "how large the arm is"),
        (["--cable-cone", "0,1:40deg"], "three components"),
        (["--cable-steepest", "-5deg"], "positive"),
        (["--verify", "1"], "2"),
        (["--reference-every", "0"], "1"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    options: list[str], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cell_of(tmp_path)
    assert main(["plan", "kr500-rail", *ASKED[1:], *PULLED, *options]) == 2
    assert words in capsys.readouterr().err


def test_a_cable_is_needed_where_its_direction_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "kr500-rail", *ASKED[1:], "--cable-steepest", "50deg"]) == 2
    assert "no cable" in capsys.readouterr().err


def test_the_page_shows_every_stop_on_paper_screen_and_telephone(made: Made) -> None:
    file = made.folder / "day.html"
    text = file.read_text(encoding="utf-8")
    assert "<script" not in text
    assert len(re.findall("http", text)) == 0
    visits = len(made.answer["visits"])
    with open_page() as browser:
        for width in (1280, 390):
            for dark in (False, True):
                browser.open(file.as_uri(), width=width, dark=dark)
                assert browser.errors == []
                assert browser.requests == [file.as_uri()]
                assert browser.evaluate("document.documentElement.scrollWidth") == width
                assert browser.evaluate("document.querySelectorAll('.stops tbody tr').length") == visits
                paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (paper == "rgb(255, 255, 255)") != dark
        shown = browser.evaluate("document.querySelector('.stops tbody tr:nth-child(2) .joint').innerText").split()
    first = made.answer["visits"][1]
    q = made.answer["experiments"][first["stop"]]["q"][0]
    assert float(shown[-2]) == pytest.approx(1e3 * q, abs=0.06)
    assert float(shown[-1]) == pytest.approx(1e3 * first["before"][0], abs=0.06)


def test_the_sheet_says_what_to_set_up(made: Made) -> None:
    text = (made.folder / "day.html").read_text(encoding="utf-8")
    x, y, z = (f"{1e3 * v:.1f}" for v in made.answer["attachment"])
    assert f"fastened at {x}, {y}, {z} mm" in text
    assert "tension 4000 N" in text
    assert "hook at 100.0, 0.0, 100.0 mm" in text
    assert "P1 at 100.0, 0.0, 50.0" in text
    assert "day.campaign.csv" in text
    assert "of driving at full speed" in text
