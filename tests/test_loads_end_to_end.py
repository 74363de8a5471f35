"""Every way a load may be stated, from a plan through simulate to identify: the truth is found again.

Each campaign is read off a robot whose compliances differ from the file's by some 20 %; what is identified must lie
within its own uncertainty of the truth, which is small enough to tell the two apart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stiffarm.cli.main import main
from stiffarm.measure.departures import as_it_was
from stiffarm.measure.reading import read_plan
from stiffarm.measure.virtual import simulate, stream
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import BodyPoint
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot

KR270 = read_robot("kr270")
ROBOT = replace(
    KR270,
    tool=replace(
        KR270.tool,
        markers=(
            *KR270.tool.markers,
            BodyPoint("E1", (0.1, 0.2, 0.1), "A3"),
            BodyPoint("E2", (0.3, -0.2, 0.15), "A3"),
            BodyPoint("E3", (-0.2, 0.1, -0.2), "A3"),
        ),
        load_points=(
            *KR270.tool.load_points,
            BodyPoint("elbow", (0.2, 0.1, 0.1), "A3"),
            BodyPoint("side", (0.1, -0.4, 0.2)),
        ),
    ),
)
Q = [f"q.A{k}[deg]" for k in range(1, 7)]
RANGES = np.array([(-80, 80), (-110, -40), (20, 110), (-120, 120), (-90, 90), (-150, 150)])
Cells = list[Any]
Rows = Callable[[int, Cells, np.random.Generator], list[Cells]]
TOOL, ELBOW = ("P1", "P2", "P3"), ("E1", "E2", "E3", "P1")


def several_points(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
    pull = [round(float(x), 1) for x in random.uniform(-1500, 1500, 3)]
    return [[f"e{i}", *q, -1500, *pull, "deflection", m] for m in TOOL]


def cable(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
    return [[f"e{i}", *q, "hook", 0, 0, 0, 3000, 2000, -800, 3, "deflection", m] for m in TOOL]


def torques(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
    measured = random.uniform(-800, 800, 6).round(2).tolist()
    return [[f"e{i}", *q, *measured, m] for m in TOOL]


def two_payloads(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
    return [[f"{setup}{i}", setup, *q, m] for setup in ("light", "heavy") for m in TOOL]


def with_and_without_pull(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
    return [[f"{name}{i}", *q, pull, m] for name, pull in (("a", ""), ("b", -2000)) for m in TOOL]


def references(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
    unloaded = [[f"u{i}", *q, "", "", "", m] for m in TOOL]
    return unloaded + [[f"l{i}{f}", *q, -f, "hook", f"u{i}", m] for f in (1500, 3000) for m in TOOL]


def at_the_elbow(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
    pull = round(float(random.uniform(-1500, 1500)), 1)
    return [[f"e{i}", *q, -1500, pull, "deflection", m] for m in ELBOW]


@dataclass(frozen=True)
class Case:
    """A way to state loads, and what must be found."""

    columns: Sequence[str]
    rows: Rows
    told: Sequence[str]
    settings: str = ""
    simulate: Sequence[str] = ()
    identify: Sequence[str] = ()


CABLE = [f"cable{end}.{axis}[mm]" for end in (1, 2) for axis in "xyz"]
ALL = [f"A{k}.compliance" for k in range(1, 7)]
CASES = {
    "several points in one row": Case(
        [*Q, "force.hook.z[N]", "force.side.x[N]", "force.elbow.y[N]", "torque.flange.z[N*m]", "observation", "marker"],
        several_points,
        ALL,
    ),
    "cable and tension": Case([*Q, "load_point", *CABLE, "force[kN]", "observation", "marker"], cable, ALL),
    "measured torques": Case(
        [*Q, *(f"joint_torque.A{k}[N*m]" for k in range(1, 7)), "marker"],
        torques,
        ALL,
        identify=["--geometry", "none"],
    ),
    "known payload of a setup": Case(
        ["setup", *Q, "marker"],
        two_payloads,
        ALL[1:],
        settings="[setup.light]\nxyz = [0.0, 0.0, 0.0]\n[setup.heavy]\nxyz = [0.0, 0.0, 0.0]\n"
        "payload = { mass = 250.0, com = [100.0, 50.0, 200.0], mass_sigma = 2.0 }\n",
        identify=["--geometry", "none"],
    ),
    "unknown payload": Case(
        [*Q, "force.z[N]", "marker"],
        with_and_without_pull,
        [*ALL[1:5], "payload.mass", "payload.x", "payload.y", "payload.z"],
        simulate=["--spread", "payload.mass=150 kg", "--spread", "payload.?=100 mm"],
        identify=["--geometry", "none", "--select", "payload.*"],
    ),
    "unloaded readings subtracted": Case(
        [*Q, "force.z[N]", "load_point", "reference", "marker"], references, ALL[1:]
    ),
    "markers and loads at the elbow": Case(
        [*Q, "force.elbow.z[N]", "force.elbow.x[N]", "observation", "marker"], at_the_elbow, ALL[:3]
    ),
}  # fmt: skip


def plan(folder: Path, case: Case, configurations: int = 25) -> Path:
    """Writes robot, plan and settings into a folder."""
    random = np.random.default_rng(1)
    write_robot(ROBOT, folder / "arm.robot.toml")
    lines = [["experiment", *case.columns]]
    for i in range(configurations):
        lines += case.rows(i, random.uniform(*RANGES.T).round(3).tolist(), random)
    path = folder / "day.plan.csv"
    path.write_text("".join(",".join(map(str, line)) + "\n" for line in lines), encoding="utf-8")
    if case.settings:
        (folder / "day.campaign.toml").write_text(f'format = "stiffarm-campaign/1"\n{case.settings}', encoding="utf-8")
    return path


def parameters(path: str) -> Mapping[str, Mapping[str, Any]]:
    return {entry["name"]: entry for entry in json.loads(Path(path).read_text(encoding="utf-8"))["parameters"]}


@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_found_again(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    plan(tmp_path, case)
    files = ["-o", "day.campaign.csv", "--truth-out", "truth.json", "--seed", "4", "--sigma", "0.02mm"]
    spread = ["--spread", "*.compliance=20 %", *case.simulate]
    assert main(["simulate", "arm.robot.toml", "day.plan.csv", *files, *spread, "--quiet"]) == 0
    asked = ["--folds", "0", "--level", "0.999", *case.identify]
    assert main(["identify", "arm.robot.toml", "day.campaign.csv", "-o", "m.json", *asked, "--quiet"]) in (0, 1)
    truth, found = parameters("truth.json"), parameters("m.json")
    assert {n for n in found if found[n]["std"] is not None} >= set(case.told)
    for told in case.told:
        value, entry = truth[told]["value"], found[told]
        assert entry["low"] <= value <= entry["high"], told
        assert entry["std"] < (0.01 if entry["unit"] == "m" else 0.1 * abs(value)), f"{told} is hardly known"


# --- loads that differ from what is stated --------------------------------------------------------

PULLED = Case(["setup", *Q, "force.x[N]", "force.z[N]", "observation", "marker"],
              lambda i, q, _: [[f"e{i}", f"s{i % 3}", *q, 500, -2500, "deflection", "P1"]], ALL)  # fmt: skip


@pytest.mark.parametrize(("shared", "groups"), [("campaign", 1), ("setup", 3), ("experiment", 6)])
def test_true_loads_scatter_as_stated_and_together(shared: str, groups: int, tmp_path: Path) -> None:
    load = f'[load]\ngain_sigma = 0.02\ndirection_sigma = "5 mrad"\nshared = "{shared}"\n'
    stated = read_plan(plan(tmp_path, replace(PULLED, settings=load), configurations=6), ROBOT)
    draws = 1000
    gain, turn = np.empty((draws, 6)), np.empty((draws, 6, 3))
    force = stated.experiments.wrench_world[0, :3]
    for seed in range(draws):
        true, errors = as_it_was(stated, stream(seed, "loads"))
        assert len(errors) == groups
        pull = true.experiments.wrench_world[0, :3]
        gain[seed] = np.linalg.norm(pull, axis=0) / np.linalg.norm(force, axis=0)
        turn[seed] = np.cross(force.T, pull.T) / (force**2).sum(axis=0)[:, None] / gain[seed][:, None]
    group = {"campaign": np.zeros(6), "setup": np.arange(6) % 3, "experiment": np.arange(6)}[shared]
    together = group[:, None] == group[None, :]
    np.testing.assert_allclose(gain.mean(axis=0), 1.0, atol=5 * 0.02 / np.sqrt(draws))
    np.testing.assert_allclose(np.cov(gain.T), 0.02**2 * together, atol=0.2 * 0.02**2)
    across = (turn**2).sum(axis=2).mean(axis=0)  # of three turns, the one about the force itself changes nothing
    np.testing.assert_allclose(across, 2 * 0.005**2, rtol=0.16)


def test_a_virtual_campaign_bends_under_its_true_loads(tmp_path: Path) -> None:
    exact = read_plan(plan(tmp_path, PULLED, configurations=6), ROBOT)
    stated = replace(exact, load_uncertainty=replace(exact.load_uncertainty, gain_sigma=0.05))
    arm = ArmModel.of(ROBOT).at()
    virtual, plain = simulate(arm, stated, seed=7), simulate(arm, exact, seed=7)
    (error,) = virtual.departures
    assert plain.departures == ()
    assert abs(error.gain - 1.0) > 1e-3
    ratio = virtual.campaign.readings.value[:3] / plain.campaign.readings.value[:3]
    np.testing.assert_allclose(ratio, error.gain, rtol=1e-9)
    np.testing.assert_array_equal(virtual.campaign.experiments.wrench_world, exact.experiments.wrench_world)


def test_a_payload_weighs_otherwise_than_stated(tmp_path: Path) -> None:
    stated = read_plan(plan(tmp_path, CASES["known payload of a setup"], configurations=2), ROBOT)
    masses = []
    for seed in range(1000):
        true, (error,) = as_it_was(stated, stream(seed, "loads"))
        light, heavy = true.setups
        assert light.payload is None
        assert heavy.payload is not None
        assert heavy.payload.mass_kg == 250.0 + error.mass_kg
        masses.append(error.mass_kg)
    assert np.mean(masses) == pytest.approx(0.0, abs=5 * 2.0 / np.sqrt(1000))
    assert np.std(masses) == pytest.approx(2.0, rel=0.1)


# --- forces and joint values with deviations of their own -----------------------------------------

OWN = {
    "sigma.force[N]": (150.0, lambda i, q, pull: [[f"e{i}", *q, *pull, 150, "deflection", m] for m in TOOL]),
    "sigma.q.A2[deg]": (0.02, lambda i, q, pull: [[f"e{i}", *q, *pull, 0.02, "position", m] for m in TOOL]),
}


def scores(folder: Path, column: str, seeds: range, *, known: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Errors of the compliances in standard deviations, with or without what the column says."""

    def rows(i: int, q: Cells, random: np.random.Generator) -> list[Cells]:
        return OWN[column][1](i, q, random.uniform(-2000, 2000, 3).round(1).tolist())

    header = [*Q, *(f"force.side.{axis}[N]" for axis in "xyz"), column, "observation", "marker"]
    plan(folder, Case(header, rows, ALL), configurations=20)
    found = []
    for seed in seeds:
        made = ["-o", "day.campaign.csv", "--truth-out", "truth.json", "--sigma", "0.02mm", "--seed", str(seed)]
        assert main(["simulate", "arm.robot.toml", "day.plan.csv", *made, "--quiet"]) == 0
        if not known:
            path = folder / "day.campaign.csv"
            path.write_text(path.read_text(encoding="utf-8").replace("sigma.", "stated."), encoding="utf-8")
        asked = ["--folds", "0", "--geometry", "none", "--estimator", "wls", "-o", "m.json", "--quiet"]
        assert main(["identify", "arm.robot.toml", "day.campaign.csv", *asked]) in (0, 1)
        truth, model = parameters("truth.json"), parameters("m.json")
        found += [(model[n]["value"] - truth[n]["value"]) / model[n]["std"] for n in ALL]
    return np.array(found)


@pytest.mark.parametrize("column", OWN)
def test_deviations_stated_in_rows_are_carried(column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    told = np.sqrt(np.mean(scores(tmp_path, column, range(5), known=True) ** 2))
    untold = np.sqrt(np.mean(scores(tmp_path, column, range(2), known=False) ** 2))
    assert 0.5 < told < 1.6  # six numbers of five campaigns; 0.95 over thirty
    assert untold > 4.0


def test_own_deviations_scatter_as_stated(tmp_path: Path) -> None:
    for column, (sigma, rows) in OWN.items():
        header = [*Q, *(f"force.side.{axis}[N]" for axis in "xyz"), column, "observation", "marker"]
        case = Case(header, lambda i, q, _, rows=rows: rows(i, q, [300.0, 0.0, -400.0]), ALL)
        stated = read_plan(plan(tmp_path, case, configurations=2), ROBOT)
        draws = []
        for seed in range(1000):
            true, _ = as_it_was(stated, stream(seed, "loads"))
            pull = np.linalg.norm(true.experiments.wrench_world[0, :3], axis=0) - 500.0
            draws.append(pull if "force" in column else np.rad2deg(true.experiments.q[1] - stated.experiments.q[1]))
        np.testing.assert_allclose(np.std(draws, axis=0), sigma, rtol=0.12)
        assert abs(np.corrcoef(np.array(draws).T)[0, 1]) < 0.15
