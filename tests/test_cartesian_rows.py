"""Stiffness and compliance of a point as `stiffarm predict --cartesian` gives them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stiffarm.cli.main import main
from stiffarm.compensate.cartesian_rows import headers
from stiffarm.compensate.model_file import read_model
from stiffarm.compensate.predicting import predict_file

HEADER = "experiment," + ",".join(f"q.A{k}[deg]" for k in range(1, 7)) + ",force.hook.z[N],marker"
POSES = ("a,0,-90,90,10,30,0", "b,20,-60,70,10,-30,0")
Output = pytest.CaptureFixture[str]


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.plan.csv"
    path.write_text(f"{HEADER}\n" + "".join(f"{q},-3000,P1\n" for q in POSES), encoding="utf-8")
    return path


def asked(capsys: Output, *arguments: str) -> dict[str, Any]:
    assert main(["predict", "kr270", *arguments, "--json", "--quiet"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def matrices(rows: list[dict[str, Any]], kind: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([[row[header] for header in headers(kind)] for row in rows]).reshape(-1, 6, 6)


def test_stiffness_is_the_inverse_of_compliance(plan: Path, capsys: Output) -> None:
    stiff = matrices(asked(capsys, "a.plan.csv", "--cartesian", "stiffness")["rows"], "stiffness")
    soft = matrices(asked(capsys, "a.plan.csv", "--cartesian", "compliance")["rows"], "compliance")
    np.testing.assert_allclose(stiff @ soft, np.broadcast_to(np.eye(6), (2, 6, 6)), atol=1e-9)
    np.testing.assert_allclose(soft, soft.transpose(0, 2, 1), rtol=0, atol=1e-12 * np.abs(soft).max())


def test_compliance_is_what_the_exact_prediction_does_under_a_little_more(plan: Path, capsys: Output) -> None:
    soft = matrices(asked(capsys, "a.plan.csv", "--cartesian", "compliance")["rows"], "compliance")
    more = plan.with_name("more.plan.csv")
    text = HEADER.replace(",marker", ",force.tool.x[N],marker")
    step = 10.0
    pulls = {}
    for pull in (step, -step):
        more.write_text(f"{text}\n" + "".join(f"{q},-3000,{pull},tool\n" for q in POSES), encoding="utf-8")
        pulls[pull] = predict_file(read_model("kr270"), more, exact=True).pose[:3]
    at_tool = matrices(
        asked(capsys, "a.plan.csv", "--cartesian", "compliance", "--marker", "tool")["rows"], "compliance"
    )
    slope = (pulls[step] - pulls[-step]) / (2 * step)
    np.testing.assert_allclose(at_tool[:, :3, 0], slope.T, rtol=1e-5, atol=1e-12)
    assert not np.allclose(soft[:, :3, 0], at_tool[:, :3, 0], rtol=1e-3), "another point gives way otherwise"


def test_the_file_carries_them_and_says_their_units(plan: Path, capsys: Output) -> None:
    rows = asked(capsys, "a.plan.csv", "--cartesian", "stiffness", "-o", "out.csv")["rows"]
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    assert float(written[1]["K.x.rx[N/rad]"]) == rows[1]["K.x.rx[N/rad]"]
    assert len(headers("stiffness")) == len(set(headers("stiffness"))) == 36


def test_people_see_the_diagonal(plan: Path, capsys: Output) -> None:
    stiff = matrices(asked(capsys, "a.plan.csv", "--cartesian", "stiffness")["rows"], "stiffness")
    assert main(["predict", "kr270", "a.plan.csv", "--cartesian", "stiffness"]) == 0
    text = capsys.readouterr().out
    assert "stiffness at the loaded equilibrium" in text
    assert f"{1e-6 * stiff[1, 2, 2]:.4g}" in text


def test_a_rigid_arm_has_no_stiffness_and_says_so(plan: Path, capsys: Output) -> None:
    plan.write_text(
        plan.read_text(encoding="utf-8").replace(".hook.", ".tool.").replace("P1", "tool"), encoding="utf-8"
    )
    assert main(["predict", "kr120", "a.plan.csv", "--cartesian", "stiffness", "-o", "out.csv"]) == 2
    assert "the arm is rigid in some direction" in capsys.readouterr().err
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("asked_for", [["--exact"], ["--cartesian", "compliance"]])
def test_an_arm_that_buckles_is_named_by_its_row(asked_for: list[str], plan: Path, capsys: Output) -> None:
    lying = "c,0,0,0,0,0,0,-9000000,tool"
    plan.write_text(f"{HEADER}\n{POSES[0]},-3000,tool\n{lying}\n".replace("hook.z", "tool.x"), encoding="utf-8")
    assert main(["predict", "kr270", "a.plan.csv", *asked_for, "-o", "out.csv"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: a.plan.csv, row 3: the arm buckles under its loads; found: the loads of this row")
    assert not Path("out.csv").exists()
