"""Corrected paths: the loaded arm, solved anew and from outside, stands where the nominal one was sent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from chains import reference_fk
from stiffarm.cli.main import main
from stiffarm.compensate.compensating import How, compensate
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.pulling import in_world
from stiffarm.compensate.wishing import wish_of
from stiffarm.measure.paths import read_path
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.loads import Load, State
from stiffarm.model.statics import predict_exact
from stiffarm.robot.arm import Link, Robot
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]
ARM = ",".join(f"q.A{i}[deg]" for i in range(1, 7))


def with_links(robot: Robot, seed: int = 1) -> Robot:
    """The robot with a full symmetric spring at every link; compensators and weights stay."""
    rng = np.random.default_rng(seed)
    links = []
    for after in ("base", *robot.joint_names):
        root = rng.normal(size=(6, 6)) * 0.3 + np.eye(6)
        size = np.array([3e-5] * 3 + [3e-4] * 3)
        matrix = (root @ root.T) * size[:, None] * size[None, :]
        links.append(Link(after, "symmetric", compliance=tuple(map(tuple, matrix.tolist()))))
    return replace(robot, links=tuple(links))


def path_file(folder: Path, q_deg: Floats, more: dict[str, Floats | list[str]], name: str = "a.path.csv") -> Path:
    """A path of joint values with further columns."""
    columns: dict[str, Any] = {f"q.A{k + 1}[deg]": row for k, row in enumerate(q_deg)}
    path = folder / name
    pl.DataFrame(columns | more).write_csv(path)
    return path


def some_joints(n: int, seed: int = 4) -> Floats:
    """(6, n) deg, away from limits and singularities of the packaged KR 270."""
    low, high = np.array([[-60, 60], [-110, -40], [40, 110], [-80, 80], [25, 80], [-90, 90]], dtype=float).T
    return np.random.default_rng(seed).uniform(low[:, None], high[:, None], (6, n))


def run(robot: Robot, path: Path, **how: Any) -> Any:
    known = KnownModel("robot", ArmModel.of(robot), {})
    source = read_path(path, robot)
    return compensate(known, source, wish_of(source, known.nominal()), How(**how))


def test_the_loaded_arm_stands_where_the_nominal_one_was_sent(tmp_path: Path) -> None:
    robot, n = with_links(read_robot("kr270")), 40
    force = np.random.default_rng(5).normal(size=(3, n))
    force *= 3500.0 / np.linalg.norm(force, axis=0)
    q_deg = some_joints(n)
    more = {f"force.{a}[N]": row for a, row in zip("xyz", force, strict=True)} | {"load_point": ["hook"] * n}
    found = run(robot, path_file(tmp_path, q_deg, more))
    assert robot.compensators
    assert found.path.complete
    assert found.iterations <= 10
    arm = ArmModel.of(robot).at()
    state = State(found.path.q, (Load(arm.chain.point("hook"), force), *arm.weights()))
    real = predict_exact(arm, state, "tool")
    sent = [reference_fk(robot, np.deg2rad(q)) for q in q_deg.T]
    before = predict_exact(arm, replace(state, q=np.deg2rad(q_deg)), "tool").position
    position = np.array([pose[:3, 3] for pose in sent]).T
    assert np.linalg.norm(before - position, axis=0).min() > 1e-3
    assert np.linalg.norm(real.position - position, axis=0).max() < 1e-6
    turned = np.array([pose[:3, :3] for pose in sent])
    assert np.abs(np.moveaxis(real.rotation, -1, 0).swapaxes(1, 2) - turned).max() < 1e-6
    told = np.array([reference_fk(robot, q)[:3, 3] for q in found.path.q.T]).T
    assert np.abs(found.path.pose_world[:3] - told).max() < 1e-9


def test_forces_in_the_tool_turn_with_the_wished_tool(tmp_path: Path) -> None:
    robot, n = read_robot("kr270"), 5
    path = path_file(tmp_path, some_joints(n), {"force.x[N]": np.full(n, 900.0)})
    source = read_path(path, robot)
    wish = wish_of(source, ArmModel.of(robot).at())
    turned = in_world(source.wrench_world, wish.wished.rotation_world, "tool")[0, :3]
    for q, force in zip(source.q.T if source.q is not None else (), turned.T, strict=True):
        assert reference_fk(robot, q)[:3, :3] @ [900.0, 0.0, 0.0] == pytest.approx(force, abs=1e-9)


def test_points_that_cannot_be_corrected_are_refused_by_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    q = np.array([[0.0, -60, 80, 10, 30, 0], [10, -60, 154.99, 10, 35, 0], [5, -60, 80, 10, 30, 0]]).T
    path, out = path_file(tmp_path, q, {"force.z[N]": np.full(3, -3500.0)}), tmp_path / "out.csv"
    assert main(["compensate", "kr270", str(path), "-o", str(out), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert [one["row"] for one in document["refused"]] == [3]
    assert "A3" in document["refused"][0]["reason"]
    assert "155" in document["refused"][0]["reason"]
    table = pl.read_csv(out)
    assert table["q.A1[deg]"].is_null().to_list() == [False, True, False]
    assert "A3" in table["refused"][1]
    assert document["points"] == 3
    assert document["iterations"] <= 10
    assert document["max_residual[m]"] < 1e-6
