"""identify, validate and compare from files, as users call them, wrong turns included."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from stiffarm.cli.main import main
from stiffarm.identify.model_file import document, estimate_of, read_estimate

ROBOT = """
format = "stiffarm-robot/1"
name = "six"
units = { length = "mm", angle = "deg" }
convention = "mdh"
joint = [
  { name = "A1", type = "revolute", alpha = 0.0, a = 0.0, d = 675.0, theta = 0.0, limits = [-180, 180] },
  { name = "A2", type = "revolute", alpha = -90.0, a = 350.0, d = 0.0, theta = -90.0, limits = [-50, 85] },
  { name = "A3", type = "revolute", alpha = 0.0, a = 1150.0, d = 0.0, theta = 0.0, limits = [-120, 65] },
  { name = "A4", type = "revolute", alpha = -90.0, a = -41.0, d = 1200.0, theta = 0.0, limits = [-180, 180] },
  { name = "A5", type = "revolute", alpha = 90.0, a = 0.0, d = 0.0, theta = 0.0, limits = [-120, 120] },
  { name = "A6", type = "revolute", alpha = -90.0, a = 0.0, d = 215.0, theta = 0.0, limits = [-180, 180] },
]
[tool]
load_points = { hook = [100.0, 0.0, 200.0] }
[tool.markers]
P1 = [150.0, 50.0, 200.0]
P2 = [-75.0, 130.0, 50.0]
P3 = [-75.0, -130.0, 50.0]
"""
JOINTS = [f"A{i + 1}" for i in range(6)]
LIMITS = np.array([[-180, 180], [-50, 85], [-120, 65], [-180, 180], [-120, 120], [-180, 180]])


@dataclass
class Bench:
    """A folder with a robot file, and ways to make campaigns in it."""

    folder: Path

    @property
    def robot(self) -> str:
        return str(self.folder / "six.robot.toml")

    def plan(
        self,
        name: str,
        n: int,
        seed: int,
        *,
        markers: list[str],
        kind: str = "position",
        force: bool = False,
        repeats: int = 1,
    ) -> str:
        """A plan of random configurations."""
        random = np.random.default_rng(seed)
        q = random.uniform(LIMITS[:, 0], LIMITS[:, 1], (n, 6))
        pull = random.uniform(-2500, 2500, (n, 3)) * force
        header = ["experiment", "repeat", *(f"q.{j}[deg]" for j in JOINTS), "load_point"]
        header += [*(f"force.{a}[N]" for a in "xyz"), "observation", "marker"]
        rows = [
            [f"e{i}", str(k + 1), *(f"{v:.4f}" for v in q[i]), "hook", *(f"{v:.2f}" for v in pull[i]), kind, m]
            for i in range(n)
            for k in range(repeats)
            for m in markers
        ]
        path = self.folder / name
        path.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
        return str(path)

    def campaign(self, name: str, plan: str, *more: str, seed: int = 1) -> str:
        """A virtual campaign of a plan."""
        path = str(self.folder / name)
        assert main(["simulate", self.robot, plan, "-o", path, "--seed", str(seed), "--quiet", *more]) == 0
        return path


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "six.robot.toml").write_text(ROBOT, encoding="utf-8")
    return Bench(tmp_path)


GEOMETRY = ("--spread", "A?.x=0.5mm", "--spread", "A?.r?=0.5mrad", "--sigma", "0.03mm")


def read_json(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_geometry_from_positions_to_a_validated_model(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = bench.campaign("a.campaign.csv", bench.plan("a.plan.csv", 60, 1, markers=["P1"]), *GEOMETRY)
    unseen = bench.campaign("b.campaign.csv", bench.plan("b.plan.csv", 40, 2, markers=["P1"]), *GEOMETRY)
    model = str(bench.folder / "m.model.json")
    capsys.readouterr()
    assert main(["identify", bench.robot, fitted, "-o", model, "--json", "--quiet"]) == 0
    found = read_json(capsys)
    assert found["format"] == "stiffarm-model/1"
    assert found["fit"]["rank"] == 27
    assert found["holdout"]["rms[m]"] < 0.1e-3 < found["holdout"]["nominal_rms[m]"]
    # nothing that was asked is gone without a line
    asked = {f"{j}.{a}" for j in JOINTS for a in ("x", "y", "z", "rx", "ry", "rz")} | {f"tool.P1.{a}" for a in "xyz"}
    fitted_names = {p["name"] for p in found["parameters"] if p["std"] is not None}
    dropped = {d["name"]: d["why"] for d in found["dropped"]}
    assert fitted_names | set(dropped) == asked
    assert not fitted_names & set(dropped)
    assert all(dropped.values())
    # the same truth (same seed) on configurations never seen
    assert main(["validate", model, unseen, "--json", "--quiet"]) == 0
    judged = read_json(capsys)
    assert judged["rows"] == 40
    assert judged["rms[m]"] < 0.1e-3 < judged["nominal_rms[m]"]
    # and the readings it learned from prove nothing
    assert main(["validate", model, fitted, "--json", "--quiet"]) == 1
    assert "fitted" in read_json(capsys)["verdict"]["reasons"][0]


def test_a_model_file_is_its_object(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = bench.campaign("a.campaign.csv", bench.plan("a.plan.csv", 40, 1, markers=["P1"]), *GEOMETRY)
    model = bench.folder / "m.model.json"
    assert main(["identify", bench.robot, fitted, "-o", str(model), "--quiet"]) == 0
    estimate = read_estimate(model)
    assert estimate_of(json.loads(json.dumps(document(estimate)))) == estimate
    # no number is rounded on its way
    assert document(estimate) == json.loads(model.read_text(encoding="utf-8"))
    assert any(p.value is not None and p.value != round(p.value, 6) for p in estimate.parameters)


def test_compliances_from_deflections_with_true_intervals(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    plan = bench.plan("d.plan.csv", 12, 3, markers=["P1", "P2", "P3"], kind="deflection", force=True, repeats=3)
    data = bench.campaign(
        "d.campaign.csv",
        plan,
        "--spread",
        "*.compliance=1e-6 rad/(N*m)",
        "--sigma",
        "0.03mm",
        "--truth-out",
        str(bench.folder / "t.model.json"),
    )
    capsys.readouterr()
    assert main(["identify", bench.robot, data, "--json", "--quiet"]) == 0
    found = {p["name"]: p for p in read_json(capsys)["parameters"]}
    truth = {p["name"]: p["value"] for p in json.loads((bench.folder / "t.model.json").read_text())["parameters"]}
    assert set(found) == {f"{j}.compliance" for j in JOINTS}
    z = np.array([(p["value"] - truth[name]) / p["std"] for name, p in found.items()])
    assert np.sqrt(np.mean(z**2)) < 2.5
    assert np.abs(z).max() > 0.05  # standard deviations are not a hundred times too large either


def test_held_out_readings_are_judged_and_not_fitted(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    plan = bench.plan("a.plan.csv", 40, 1, markers=["P1"])
    good = Path(bench.campaign("a.campaign.csv", plan, *GEOMETRY))
    rows = good.read_text(encoding="utf-8").splitlines()
    header = rows[0].split(",")
    tagged = [rows[0] + ",part"] + [row + (",test" if i >= 30 else ",train") for i, row in enumerate(rows[1:])]
    x = next(i for i, name in enumerate(header) if name.startswith("x["))
    centimetre = 0.01 if header[x] == "x[m]" else 10.0
    spoiled = [tagged[0]]
    for row in tagged[1:]:
        cells = row.split(",")
        if cells[-1] == "test":
            cells[x] = repr(float(cells[x]) + centimetre)
        spoiled.append(",".join(cells))
    answers = []
    for name, lines in (("clean", tagged), ("spoiled", spoiled)):
        path = bench.folder / "t.campaign.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        capsys.readouterr()
        status = main(["identify", bench.robot, str(path), "--holdout", "column:part=test", "--json", "--quiet"])
        answers.append((name, status, read_json(capsys)))
    clean, bad = answers[0][2], answers[1][2]
    assert [p["value"] for p in clean["parameters"]] == [p["value"] for p in bad["parameters"]]
    assert clean["holdout"]["rms[m]"] < 0.2e-3
    assert bad["holdout"]["rms[m]"] == pytest.approx(0.01, rel=0.05)
    assert (answers[0][1], answers[1][1]) == (0, 1)
    assert not bad["verdict"]["usable"]


def test_no_verdict_on_training_data(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    fitted = bench.campaign("a.campaign.csv", bench.plan("a.plan.csv", 40, 1, markers=["P1"]), *GEOMETRY)
    capsys.readouterr()
    assert main(["identify", bench.robot, fitted, "--folds", "0", "--json", "--quiet"]) == 1
    assert not read_json(capsys)["verdict"]["usable"]


def test_compare_names_what_changed_and_only_that(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    plan = bench.plan("d.plan.csv", 12, 3, markers=["P1", "P2", "P3"], kind="deflection", force=True, repeats=3)
    stiff = "--spread", "*.compliance=1e-6 rad/(N*m)", "--sigma", "0.03mm"
    truth = bench.folder / "t.model.json"
    first = bench.campaign("one.campaign.csv", plan, *stiff, "--truth-out", str(truth))
    worn = json.loads(truth.read_text(encoding="utf-8"))
    for p in worn["parameters"]:
        p["value"] *= 1.3 if p["name"] == "A3.compliance" else 1.0
    (bench.folder / "worn.model.json").write_text(json.dumps(worn), encoding="utf-8")
    second = bench.campaign(
        "two.campaign.csv", plan, "--truth", str(bench.folder / "worn.model.json"), "--sigma", "0.03mm", seed=2
    )
    models = []
    for name, data in (("one", first), ("two", second)):
        models.append(str(bench.folder / f"{name}.model.json"))
        assert main(["identify", bench.robot, data, "-o", models[-1], "--quiet"]) == 0
    capsys.readouterr()
    assert main(["compare", *models, "--json"]) == 0
    assert [c["name"] for c in read_json(capsys)["changed"]] == ["A3.compliance"]


WRONG = {
    "too few configurations": (lambda b: b.plan("w.plan.csv", 5, 1, markers=["P1"]), (), "too few readings"),
    "no load but compliances": (
        lambda b: b.plan("w.plan.csv", 40, 1, markers=["P1"]),
        ("--elastic", "joints"),
        "nothing pulls on the arm",
    ),
    "unknown parameter": (
        lambda b: b.plan("w.plan.csv", 40, 1, markers=["P1"]),
        ("--select", "A9.x"),
        "no parameter matches",
    ),
    "unknown hold-out rule": (
        lambda b: b.plan("w.plan.csv", 40, 1, markers=["P1"]),
        ("--holdout", "rows:3"),
        "unknown hold-out rule",
    ),
    "folds that are no number": (
        lambda b: b.plan("w.plan.csv", 40, 1, markers=["P1"]),
        ("--folds", "some"),
        "not a number of folds",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_turns_are_named_and_write_nothing(case: str, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    make_plan, options, words = WRONG[case]
    data = bench.campaign("w.campaign.csv", make_plan(bench), *GEOMETRY)
    model = bench.folder / "m.model.json"
    capsys.readouterr()
    assert main(["identify", bench.robot, data, "-o", str(model), "--json", "--quiet", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert "Traceback" not in captured.err
    assert not model.exists()


def _edited(bench: Bench, edit) -> str:  # type: ignore[no-untyped-def]
    plan = bench.plan("a.plan.csv", 40, 1, markers=["P1"])
    path = Path(bench.campaign("w.campaign.csv", plan, *GEOMETRY))
    lines = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    edit(lines[0], lines[1:])
    path.write_text("\n".join(",".join(line) for line in lines) + "\n", encoding="utf-8")
    return str(path)


def _swap_joints(header: list[str], rows: list[list[str]]) -> None:
    """Readings of one configuration beside the joints of the next."""
    at = [header.index(name) for name in header if name.startswith("q.")]
    joints = [[row[i] for i in at] for row in rows]
    for row, other in zip(rows, [*joints[1:], joints[0]], strict=True):
        for i, value in zip(at, other, strict=True):
            row[i] = value


def _thousand(header: list[str], rows: list[list[str]]) -> None:
    """One unit written under the heading of the other."""
    other = {"m": "mm", "mm": "m"}
    for i, name in enumerate(header):
        if name[:2] in ("x[", "y[", "z["):
            header[i] = f"{name[0]}[{other[name[2:-1]]}]"


def _all_equal(header: list[str], rows: list[list[str]]) -> None:
    """Every configuration the same."""
    for row in rows:
        for name in header:
            if name.startswith("q."):
                row[header.index(name)] = rows[0][header.index(name)]


@pytest.mark.parametrize("edit", [_swap_joints, _thousand, _all_equal])
def test_unusable_readings_give_no_usable_model(edit, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    data = _edited(bench, edit)
    capsys.readouterr()
    status = main(["identify", bench.robot, data, "--json", "--quiet"])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    if status == 2:
        assert captured.out == ""
        assert captured.err.startswith("error: ")
    else:
        assert status == 1
        verdict = json.loads(captured.out)["verdict"]
        assert not verdict["usable"]
        assert verdict["reasons"]


def test_a_campaign_without_readings_is_refused(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    plan = bench.plan("a.plan.csv", 10, 1, markers=["P1"])
    assert main(["identify", bench.robot, plan, "--quiet"]) == 2
    assert "error: " in capsys.readouterr().err


def test_markers_without_known_places_are_found(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A robot file that knows nothing of the markers gives the same predictions: they are unknowns."""
    data = bench.campaign("a.campaign.csv", bench.plan("a.plan.csv", 50, 1, markers=["P1", "P2"]), *GEOMETRY)
    blank = bench.folder / "blank.robot.toml"
    text = ROBOT
    for place in ("[150.0, 50.0, 200.0]", "[-75.0, 130.0, 50.0]", "[-75.0, -130.0, 50.0]"):
        text = text.replace(place, "[0.0, 0.0, 0.0]")
    blank.write_text(text, encoding="utf-8")
    capsys.readouterr()
    assert main(["identify", str(blank), data, "--json", "--quiet"]) == 0
    found = read_json(capsys)
    values = {p["name"]: p["value"] for p in found["parameters"]}
    assert [values[f"tool.P1.{a}"] for a in "xy"] == pytest.approx([0.15, 0.05], abs=5e-3)
    assert found["holdout"]["rms[m]"] < 0.1e-3


def test_a_planted_outlier_is_listed_and_kept(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    plan = bench.plan("d.plan.csv", 12, 3, markers=["P1", "P2", "P3"], kind="deflection", force=True, repeats=3)
    path = Path(bench.campaign("d.campaign.csv", plan, "--spread", "*.compliance=1e-6 rad/(N*m)", "--sigma", "0.03mm"))
    lines = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    y = next(i for i, name in enumerate(lines[0]) if name.startswith("y["))
    millimetre = 1e-3 if lines[0][y] == "y[m]" else 1.0
    lines[20][y] = repr(float(lines[20][y]) + millimetre)
    path.write_text("\n".join(",".join(line) for line in lines) + "\n", encoding="utf-8")
    capsys.readouterr()
    main(["identify", bench.robot, str(path), "--json", "--quiet"])
    found = read_json(capsys)
    assert found["fit"]["n_rows"] == 108
    named = [o for o in found["outliers"] if o["experiment"] == lines[20][0] and "row 21" in o["evidence"]]
    assert named
    assert named[0]["action"] == "kept"
    assert len(found["outliers"]) <= 3
