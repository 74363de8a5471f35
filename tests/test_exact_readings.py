"""Readings of the bent arm: derivatives by differences, truth found again, and what first order would make of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stiffarm.cli.main import main
from stiffarm.identify.api import identify
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.observe import Observer
from stiffarm.measure.reading import read_plan
from stiffarm.measure.virtual import simulate
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.reading import read_robot

HEADER = "experiment,q.A1[deg],q.A2[deg],q.A3[deg],q.A4[deg],q.A5[deg],q.A6[deg],force.x[N],force.y[N],force.z[N]"
SOFT = {f"A{k}.compliance": value for k, value in enumerate((4e-7, 4e-7, 5e-7, 3.5e-6, 4e-6, 3e-6), start=1)}


def plan_of(folder: Path, n: int = 10, kinds: tuple[str, ...] = ("deflection",)) -> Path:
    rng = np.random.default_rng(8)
    rows = []
    for i in range(n):
        q = rng.uniform([-60, -110, 40, -80, 25, -90], [60, -40, 110, 80, 80, 90])
        force = rng.normal(size=3)
        force *= 3000.0 / np.linalg.norm(force)
        state = ",".join(f"{x:.3f}" for x in (*q, *force))
        rows += [f"e{i},{state},hook,{kind},{marker}" for kind in kinds for marker in ("P1", "P2", "P3")]
    path = folder / "a.plan.csv"
    path.write_text("\n".join([f"{HEADER},load_point,observation,marker", *rows]) + "\n", encoding="utf-8")
    return path


def exactly(campaign: Campaign) -> Campaign:
    return replace(campaign, exact=True)


def test_columns_are_those_of_differences(tmp_path: Path) -> None:
    model = ArmModel.of(read_robot("kr270"))
    campaign = exactly(read_plan(plan_of(tmp_path, 3, ("deflection", "position")), model.robot))
    # a turn of a deflection is derived when it was read
    campaign = replace(campaign, readings=replace(campaign.readings, value=np.zeros_like(campaign.readings.value)))
    observer, steps = (
        Observer(campaign),
        {"A2.compliance": 1e-9, "A5.compliance": 1e-9, "A3.ry": 1e-6, "load.gain": 1e-5},
    )
    values = {name: {**SOFT}.get(name, 0.0) for name in (*SOFT, *steps)}
    _, columns = observer.with_columns(model.at(values), list(steps))
    for i, (name, step) in enumerate(steps.items()):
        high, low = (
            observer.expected(model.at(values | {name: values[name] + sign * step})).value for sign in (1.0, -1.0)
        )
        change = (high - low) / (2.0 * step)
        size = np.abs(change[:3]).max()
        assert np.abs(columns[i, :3] - change[:3]).max() < 1e-5 * size + 1e-9, name
        deflected = campaign.kind("deflection")
        turned = np.abs(change[3:, deflected]).max()
        assert np.abs(columns[i, 3:][:, deflected] - change[3:, deflected]).max() < 0.02 * turned + 1e-9, name


@pytest.mark.parametrize("kinds", [("deflection",), ("position",)])
def test_the_truth_is_found_again_where_first_order_misses_it(tmp_path: Path, kinds: tuple[str, ...]) -> None:
    robot = read_robot("kr270")
    plan = read_plan(plan_of(tmp_path, kinds=kinds), robot)
    read = simulate(ArmModel.of(robot).at(SOFT), plan, seed=0, loads="model", exact=True).campaign
    more: dict[str, Any] = {"geometry": "none", "estimator": "ols", "folds": 0}
    found, linear = identify(robot, read, exact=True, **more), identify(robot, read, **more)
    off = [found.parameter(name).value / value - 1.0 for name, value in SOFT.items()]
    missed = [linear.parameter(name).value / value - 1.0 for name, value in SOFT.items()]
    assert np.abs(off).max() < 1e-6
    assert np.abs(missed).max() > 3e-4
    assert any("--exact" in note for note in found.notes)
    assert not any("--exact" in note for note in linear.notes)


def test_the_commands_agree_on_what_is_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, truth, campaign = plan_of(tmp_path), tmp_path / "t.model.json", tmp_path / "a.campaign.csv"
    simulated = ["simulate", "kr270", str(plan), "--spread", "*.compliance=20 %", "--truth-out", str(truth)]
    assert main([*simulated, "--exact", "-o", str(campaign), "-q"]) == 0
    assert "--exact" in json.loads(truth.read_text(encoding="utf-8"))["provenance"]["command"]
    capsys.readouterr()
    rms = {}
    for how in ((), ("--exact",)):
        assert main(["validate", str(truth), str(campaign), "--json", "-q", *how]) in (0, 1)
        rms[how] = json.loads(capsys.readouterr().out)["rms[m]"]
    assert rms["--exact",] < 1e-9
    assert rms[()] > 1e-6
    model = tmp_path / "m.model.json"
    assert main(["identify", "kr270", str(campaign), "--exact", "--folds", "0", "-o", str(model), "-q"]) in (0, 1)
    found = {p["name"]: p["value"] for p in json.loads(model.read_text(encoding="utf-8"))["parameters"]}
    true = {p["name"]: p["value"] for p in json.loads(truth.read_text(encoding="utf-8"))["parameters"]}
    for name in SOFT:
        assert found[name] == pytest.approx(true[name], rel=1e-6)
