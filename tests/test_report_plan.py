"""The page of a plan, the plan on the page of a model, and figures as files of their own."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from browser import browser_program, open_page
from budget_scenarios import MODEL, ROBOT, plan
from budget_scenarios import Scenario as Campaigns
from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identify.api import identify
from stiffarm.identify.model_file import write_estimate
from stiffarm.identify.options import Options
from stiffarm.measure.virtual import simulate
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import State
from stiffarm.report import figure_files
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.parts import Figure
from stiffarm.report.plan_answer import plan_answer_of
from stiffarm.report.plan_figures import achieved_figure, certificate_figure, stops_figure
from stiffarm.report.plan_page import plan_page
from stiffarm.report.scene import ArmLine, Cloud, Scene
from stiffarm.report.scene_plotly import scene_plotly

DRAWN = "document.documentElement.dataset.drawn !== undefined"


def document(**more: Any) -> dict[str, Any]:
    rng = np.random.default_rng(4)
    stops = [
        {"q": q, "force": f, "load_point": "hook", "markers": ["P1"], "repeats": 2}
        for q, f in zip(rng.uniform(-1, 1, (5, 6)).tolist(), rng.normal(0, 1e3, (5, 3)).tolist(), strict=True)
    ]
    curve = [{"poses": p, "value": 1e-5 + 1e-5 / p, "efficiency": 0.5} for p in (2, 4, 8)]
    own = {
        "criterion": "test",
        "value": 1.2e-5,
        "bound": 1.14e-5,
        "efficiency": 0.95,
        "joints": list(ROBOT.joint_names),
    }
    std = {"A1.compliance": 1e-9, "A2.compliance": 2e-9}
    rest = {"experiments": stops, "predicted_std": std, "curve": curve, "use": "<b>milling</b>", "notes": ["a note"]}
    return own | rest | more


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked = plan(Campaigns("deflection"), 10, 1, 1, seed=3)
    campaign = simulate(MODEL.at(), asked, seed=1, sigma_m=2e-5).campaign
    file = tmp_path_factory.mktemp("model") / "arm.model.json"
    write_estimate(identify(ROBOT, campaign, Options(estimator="wls", folds=0)), file)
    return file


def test_stops_stand_where_the_arm_is_and_forces_where_they_pull() -> None:
    answer = plan_answer_of(document(), ROBOT)
    arm = ArmModel.of(ROBOT).at()
    (scene,) = stops_figure(answer, ShownArm.bare(arm)).panels
    assert isinstance(scene, Scene)
    (tips,) = [thing for thing in scene.things if isinstance(thing, Cloud)]
    pulls = [thing for thing in scene.things if isinstance(thing, ArmLine) and thing.colour == "geometry"]
    assert len(pulls) == 5
    for stop, tip, pull in zip(answer.experiments, tips.places, pulls, strict=True):
        q = np.array(stop.q)[:, None]
        assert np.array(tip) == pytest.approx(1e3 * predict(arm, State(q), "tool").position[:, 0], abs=1e-6)
        begin, end = np.array(pull.places)
        along = (end - begin) / np.linalg.norm(end - begin)
        assert along == pytest.approx(np.array(stop.force) / np.linalg.norm(stop.force))
        at = "hook" if "hook" in arm.chain.points else "tool"
        assert begin == pytest.approx(1e3 * predict(arm, State(q), at).position[:, 0], abs=1e-6)


def test_the_certificate_says_how_much_better_another_could_be() -> None:
    figure = certificate_figure(plan_answer_of(document(), ROBOT))
    assert figure is not None
    assert "95.0 %" in figure.reading
    assert "at most 5 %" in figure.reading
    assert certificate_figure(plan_answer_of(document(bound=None, efficiency=None), ROBOT)) is None


def test_a_page_of_a_plan_opens(tmp_path: Path) -> None:
    row = {"predicted": 1.0, "empirical": 1.3, "ratio": 1.3, "low": 0.9, "high": 1.1, "agrees": False}
    check = {"draws": 200, "agrees": False, "parameters": {"A1.compliance": row}}
    file = tmp_path / "p.html"
    file.write_text(plan_page(document(verify=check), ROBOT), encoding="utf-8")
    with open_page() as browser:
        for width in (1280, 390):
            browser.open(file.as_uri(), width=width)
            browser.wait_for(DRAWN)
            assert browser.errors == []
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            assert browser.evaluate("+document.documentElement.dataset.drawn") == 4
            assert "<b>milling</b>" in browser.evaluate("document.body.innerText")
            assert "do not scatter as predicted" in browser.evaluate("document.querySelector('.answer').innerText")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (document(joints=["J1"]), "another robot"),
        (document(experiments=[{"q": [0.0]}]), "another robot"),
        (document(value="much"), "value"),
        (document(experiments=[{"q": [0.0] * 6, "repeats": 0}]), "repeats"),
        ({"format": "stiffarm-model/1"}, "not the answer of a plan"),
        ([1], "not the answer of a plan"),
    ],
)
def test_what_is_no_plan_is_refused(wrong: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        plan_answer_of(wrong, ROBOT)


def test_by_command_with_a_plan_and_figures(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked, folder, page = tmp_path / "plan.json", tmp_path / "figures", tmp_path / "r.html"
    asked.write_text(json.dumps(document()), encoding="utf-8")
    command = ["report", str(model), "--plan", str(asked), "--figures", str(folder), "-o", str(page), "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    text = page.read_text(encoding="utf-8")
    assert {"plan-stops", "plan-certificate", "plan-curve", "plan-achieved"} <= set(_slugs(text))
    assert sorted(found["figures"]) == sorted(str(file) for file in folder.iterdir())
    assert {Path(one).stem for one in found["figures"]} == set(_slugs(text))
    for file in folder.iterdir():
        drawing = ElementTree.fromstring(file.read_text(encoding="utf-8"))
        assert drawing.find("{http://www.w3.org/2000/svg}title") is not None
        assert "var(--" not in file.read_text(encoding="utf-8")
    asked.write_text("{}", encoding="utf-8")
    page.unlink()
    assert main(command) == 2
    assert "not the answer of a plan" in capsys.readouterr().err
    assert not page.exists()


def _slugs(text: str) -> list[str]:
    return [part.split('"')[0] for part in text.split('<figure id="')[1:]]


def test_planned_and_found_are_compared_by_name(model: Path) -> None:
    from stiffarm.identify.model_file import read_estimate

    estimate = read_estimate(model)
    figure = achieved_figure(plan_answer_of(document(), ROBOT), estimate)
    assert figure is not None
    assert figure.table is not None
    for row in figure.table.rows:
        std = estimate.parameter(row[0]).std
        assert std is not None
        assert float(row[4]) == pytest.approx(std / document()["predicted_std"][row[0]], rel=5e-3)
    assert achieved_figure(plan_answer_of(document(predicted_std={}), ROBOT), estimate) is None


def test_png_is_the_drawing_twice_as_large(tmp_path: Path) -> None:
    if browser_program() is None:
        pytest.skip("no Chromium on this machine")
    figure = certificate_figure(plan_answer_of(document(), ROBOT))
    assert isinstance(figure, Figure)
    text, width, height = figure_files.figure_svg(figure)
    png = figure_files.png_of(text, width, height)
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == (2 * round(width), 2 * round(height))
    assert len(png) > 4000  # something is painted


def test_without_a_browser_png_is_refused_and_nothing_written(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(figure_files, "browser_program", lambda: None)
    page, folder = tmp_path / "r.html", tmp_path / "f"
    assert main(["report", str(model), "--figures", str(folder), "--png", "-o", str(page)]) == 2
    said = capsys.readouterr().err
    assert "PNG needs Chrome, Chromium or Edge" in said
    assert len(said.splitlines()) == 1
    assert not page.exists()
    assert not folder.exists()
    assert main(["report", str(model), "--png", "-o", str(page)]) == 2
    assert "--figures FOLDER" in capsys.readouterr().err
    assert main(["report", str(model), "--figures", str(tmp_path / "a" / "b"), "-o", str(page)]) == 2
    assert "cannot be made" in capsys.readouterr().err


def test_the_camera_stands_where_a_tall_scene_and_its_axes_fit() -> None:
    """At 1.9 x 3.9 x 3.3 m the axes' names were cut off from a distance of 2.3 cubes; 2.6 show them."""
    camera = scene_plotly(Scene(()))["layout"]["scene"]["camera"]
    away = [camera["eye"][axis] - camera["center"][axis] for axis in "xyz"]
    assert math.hypot(*away) > 2.6
