"""`stiffarm simulate` from files to files."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stiffarm.cli.outputs import guarded
from stiffarm.cli.simulate import simulate
from stiffarm.compensate.model_file import read_model
from stiffarm.errors import InputError, StiffarmWarning
from stiffarm.measure.campaign import Campaign, Isotropic, SharedError, Tracker
from stiffarm.measure.observe import expected
from stiffarm.measure.reading import read_campaign
from stiffarm.robot.writing import write_robot
from virtual_plans import ROBOT

HEADER = "experiment,visit,setup," + ",".join(f"q.A{k}[deg]" for k in range(1, 7))
PLAN = f"""{HEADER},force.z[N],load_point,observation,marker
e1,v1,day,10,-20,30,40,50,60,-2000,hook,deflection,P1
e1,v1,day,10,-20,30,40,50,60,-2000,hook,position,P2
e2,v2,day,-15,25,5,70,-40,10,,,pose,P3
e2,v2,day,-15,25,5,70,-40,10,,,position,
"""
Run = Callable[..., Campaign]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_robot(ROBOT, "arm.robot.toml")
    Path("day.plan.csv").write_text(PLAN, encoding="utf-8")
    return tmp_path


def run(output: str = "out.campaign.csv", **options: Any) -> Campaign:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffarmWarning)
        loud(output, **options)
    return read_campaign(output, ROBOT)


def loud(output: str = "out.campaign.csv", **options: Any) -> None:
    guarded(simulate)("arm.robot.toml", Path("day.plan.csv"), Path(output), **options)


def test_the_truth_explains_the_campaign(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spread = ["A*.offset=1 mrad", "*.compliance=20 %", "tool.P2.*=0.5mm"]
    campaign = run(spread=spread, truth_out=Path("truth.model.json"), as_json=True, seed=5)
    truth = read_model("truth.model.json")
    assert truth.values["A2.compliance"] != truth.model.nominal["A2.compliance"]
    value = expected(truth.arm(), campaign, {"day": truth.setup("day").frame}).value
    read = np.isfinite(campaign.readings.value)
    assert read.sum(axis=0).tolist() == [3, 3, 6, 3]
    assert np.allclose(campaign.readings.value[read], value[read], rtol=0.0, atol=1e-14)
    answer = json.loads(capsys.readouterr().out)
    assert answer["rows"] == 4
    assert answer["seed"] == 5
    assert answer["files"] == ["out.campaign.csv", "truth.model.json"]


def test_a_truth_file_is_a_truth_again(folder: Path) -> None:
    first = run(spread=["*.compliance=20 %"], truth_out=Path("truth.model.json"), seed=5)
    (folder / "sub").mkdir()
    again = run("again.campaign.csv", truth="truth.model.json", truth_out=Path("sub/again.model.json"))
    assert np.array_equal(first.readings.value, again.readings.value, equal_nan=True)
    assert read_model("sub/again.model.json").values == read_model("truth.model.json").values


def test_another_robot_is_the_truth(folder: Path) -> None:
    text = Path("arm.robot.toml").read_text(encoding="utf-8")
    Path("soft.robot.toml").write_text(text.replace("compliance = 2e-06", "compliance = 9e-06"), encoding="utf-8")
    soft = run("soft.campaign.csv", truth="soft.robot.toml", truth_out=Path("soft.model.json"))
    assert read_model("soft.model.json").values["A2.compliance"] == 9e-6
    assert not np.allclose(soft.readings.value[:3, 0], run().readings.value[:3, 0], atol=1e-5)


def test_noise_options_reach_the_campaign_and_its_settings(folder: Path) -> None:
    options = {
        "sigma": "0.03mm",
        "sigma_rotation": "0.1 mrad",
        "shared_translation": "20um",
        "shared_rotation": "1mrad",
    }
    exact, noisy = run(), run("noisy.campaign.csv", outliers="25 %", truth_out=Path("t.json"), **options)
    assert noisy.instrument == Isotropic(3e-5, 1e-4)
    assert noisy.shared == SharedError(20 * 1e-6, 1e-3)
    moved = np.linalg.norm((noisy.readings.value - exact.readings.value)[:3], axis=0)
    assert 1e-5 < np.median(moved) < 1e-3
    outliers = json.loads(Path("t.json").read_text(encoding="utf-8"))["outliers"]
    assert len(outliers) == 1
    command = json.loads(Path("t.json").read_text(encoding="utf-8"))["provenance"]["command"]
    assert command.startswith("stiffarm simulate arm.robot.toml day.plan.csv --sigma 0.03mm --sigma-rotation '0.1 ")
    assert command.endswith("--outliers '25 %' --seed 0")


def test_the_same_seed_gives_the_same_bytes(folder: Path) -> None:
    files = []
    for seed in (3, 3, 4):
        run(sigma="0.03mm", spread=["A*.offset=1 mrad"], truth_out=Path("truth.model.json"), seed=seed)
        names = ("out.campaign.csv", "out.campaign.toml", "truth.model.json")
        files.append([Path(name).read_bytes() for name in names])
    assert files[0] == files[1]
    assert files[0][0] != files[2][0]
    assert files[0][2] != files[2][2]


SETTINGS = """# ours
format = "stiffarm-campaign/1"
[instrument]
type = "tracker"
range = ["5 um", 1e-6]
angle = "2 urad"
[setup.day]
station = [3000.0, 500.0, 200.0]
"""


def test_readings_stand_in_one_unit(folder: Path) -> None:
    """One column in m beside another in mm would be read wrongly by a person, whatever the header says."""
    run(sigma="0.03mm", seed=3)
    header = Path("out.campaign.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert [h for h in header if h.split("[")[0] in ("x", "y", "z")] == ["x[mm]", "y[mm]", "z[mm]"]
    assert [h for h in header if h.split("[")[0] in ("rx", "ry", "rz")] == ["rx[deg]", "ry[deg]", "rz[deg]"]
    assert 'sigma = "0.03 mm"' in Path("out.campaign.toml").read_text(encoding="utf-8")


def test_rotations_that_do_not_scatter_are_named(folder: Path) -> None:
    words = "rotations of 1 pose rows are exact"
    with pytest.warns(StiffarmWarning, match=f"{words}.*--sigma-rotation"):
        loud(sigma="0.03mm")
    loud(sigma="0.03mm", sigma_rotation="0.1mrad")
    loud(sigma="0mm")
    Path("day.campaign.toml").write_text(SETTINGS, encoding="utf-8")
    with pytest.warns(StiffarmWarning, match=rf"{words}.*sigma\.rx"):
        loud()


def test_settings_of_the_plan_count_and_keep_their_text(folder: Path) -> None:
    Path("day.campaign.toml").write_text(SETTINGS, encoding="utf-8")
    campaign = run("day.campaign.csv")
    assert campaign.instrument == Tracker(5 * 1e-6, 1e-6, 2 * 1e-6)
    assert Path("day.campaign.toml").read_text(encoding="utf-8") == SETTINGS
    changed = run("day.campaign.csv", sigma="0.1mm")
    assert changed.instrument == Isotropic(1e-4)
    assert changed.setups[0].station_m == (3.0, 0.5, 0.2)


def test_settings_of_another_campaign_do_not_outlive_it(folder: Path) -> None:
    assert run(sigma="0.1mm").instrument == Isotropic(1e-4)
    assert run().instrument is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": "0.03"}, "--sigma: a length with its unit"),
        ({"sigma": "-1 mm"}, "--sigma: this cannot be negative"),
        ({"sigma_rotation": "1 mrad"}, "--sigma-rotation"),
        ({"outliers": "0.7"}, "--outliers"),
        ({"outliers": "some"}, "--outliers"),
        ({"outliers": "0.5"}, "an outlier is so many"),
        ({"spread": ["A1.offset"]}, "--spread"),
        ({"loads": "weights"}, "--loads"),
        ({"truth": "iiwa7"}, "--truth"),
        ({"truth": "no.model.json"}, "cannot be read"),
        ({"truth_out": Path("nowhere/t.json")}, "--truth-out"),
        ({"output": "nowhere/out.campaign.csv"}, "--output"),
        ({"output": "day.plan.csv"}, "would be overwritten"),
        ({"truth_out": Path("out.campaign.csv")}, "name the same file"),
    ],
)
def test_bad_options_write_nothing(folder: Path, options: dict[str, Any], message: str) -> None:
    before = sorted(folder.rglob("*"))
    with pytest.raises(InputError) as refused:
        run(**options)
    assert message in str(refused.value)
    assert sorted(folder.rglob("*")) == before
    assert Path("day.plan.csv").read_text(encoding="utf-8") == PLAN
