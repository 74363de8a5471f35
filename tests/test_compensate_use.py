"""What is offered is used, what cannot be is refused by row, and files of several tastes are read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from chains import reference_fk
from stiffarm.cli.main import main
from stiffarm.compensate.compensating import NEAR_SINGULAR, Compensation, How, compensate
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.wishing import wish_of
from stiffarm.measure.paths import read_path
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.loads import Load, State
from stiffarm.model.statics import predict_exact
from stiffarm.robot.arm import Link, Robot
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]
PULL_N = np.array([1200.0, -1500.0, -2500.0])


def softened(name: str) -> Robot:
    """A packaged robot with the same plain spring at every link: it gives way where its joints cannot follow."""
    robot = read_robot(name)
    size = np.array([1e-9] * 3 + [1e-7] * 3)
    spring = tuple(map(tuple, np.diag(size).tolist()))
    return replace(robot, links=tuple(Link(after, "diagonal", compliance=spring) for after in robot.joint_names))


def path_of(folder: Path, robot: Robot, q: Floats, name: str = "a.path.csv") -> Path:
    """A path of joint values (m, deg) under one pull."""
    columns: dict[str, Any] = {
        f"q.{joint.name}[{'m' if joint.kind == 'prismatic' else 'deg'}]": row
        for joint, row in zip(robot.joints, q, strict=True)
    }
    columns |= {f"force.{a}[N]": np.full(q.shape[1], f) for a, f in zip("xyz", PULL_N, strict=True)}
    pl.DataFrame(columns).write_csv(folder / name)
    return folder / name


def corrected(robot: Robot, path: Path, *free: str) -> Compensation:
    source = read_path(path, robot)
    known = KnownModel("robot", ArmModel.of(robot), {})
    return compensate(known, source, wish_of(source, known.nominal()), How(free=free))


def stands(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    """Position (3, n) and axes (3 columns, 3, n) of the loaded tool, from outside."""
    arm = ArmModel.of(robot).at()
    load = Load(arm.chain.point("tool"), np.repeat(PULL_N[:, None], q.shape[1], axis=1))
    found = predict_exact(arm, State(q, (load, *arm.weights())), "tool")
    return found.position, found.rotation


def wished(robot: Robot, q: Floats) -> tuple[Floats, Floats]:
    poses = np.array([reference_fk(robot, one) for one in q.T])
    return poses[:, :3, 3].T, np.moveaxis(poses[:, :3, :3], 0, -1).swapaxes(0, 1)


def si(robot: Robot, q: Floats) -> Floats:
    slides = np.array([joint.kind == "prismatic" for joint in robot.joints])
    return np.where(slides[:, None], q, np.radians(q))


def test_a_rail_takes_over_where_a_joint_is_at_its_limit(tmp_path: Path) -> None:
    robot = softened("kr500-rail")
    low = np.degrees((robot.joints[1].limits or (-1.0, 1.0))[0])
    q = np.repeat(np.array([6.0, low, -40, 70, 20, 60, 10])[:, None], 3, axis=1)
    q[1] += [0.0, 5e-3, 20.0]
    path = path_of(tmp_path, robot, q)
    alone, helped = corrected(robot, path), corrected(robot, path, robot.joint_names[0])
    assert [one.row for one in alone.path.refused] == [2, 3]
    assert all(robot.joint_names[1] in one.reason and "limit" in one.reason for one in alone.path.refused)
    assert helped.path.complete
    assert np.abs(alone.path.q[0] - 6.0)[2] == 0.0
    assert np.degrees(helped.path.q[1]).min() >= low - 1e-9
    position, axes = stands(robot, helped.path.q)
    target, frames = wished(robot, si(robot, q))
    assert np.linalg.norm(position - target, axis=0).max() < 1e-6
    assert np.abs(axes - frames).max() < 1e-6
    assert np.abs(helped.path.q[0] - 6.0).min() > 1e-5


def test_a_free_turn_of_the_tool_passes_a_singularity(tmp_path: Path) -> None:
    robot = softened("kr270")
    q = np.repeat(np.array([10.0, -70, 80, 20, 0, 15])[:, None], 9, axis=1)
    q[4] = np.linspace(-0.2, 0.2, 9)
    path = path_of(tmp_path, robot, q)
    held, free = corrected(robot, path), corrected(robot, path, "rz")
    assert held.path.refused
    assert all("singular" in one.reason and "A" in one.reason for one in held.path.refused)
    named = {one.row for one in held.path.refused} | {int(held.path.row[i]) for i in held.near_singular}
    assert named == set(range(2, 11))
    assert (held.spread < NEAR_SINGULAR).all()
    assert free.path.complete
    position, axes = stands(robot, free.path.q)
    target, frames = wished(robot, si(robot, q))
    assert np.linalg.norm(position - target, axis=0).max() < 1e-6
    assert np.abs(axes[2] - frames[2]).max() < 1e-6
    assert np.abs(axes[0] - frames[0]).max() > 1e-5


def test_what_is_commanded_near_a_singularity_is_exact(tmp_path: Path) -> None:
    robot = softened("kr270")
    q = np.repeat(np.array([10.0, -70, 80, 20, 0, 15])[:, None], 41, axis=1)
    q[4] = np.linspace(-6.0, 6.0, 41)
    found = corrected(robot, path_of(tmp_path, robot, q))
    kept = np.isfinite(found.path.q).all(axis=0)
    assert 0 < kept.sum() < 41
    position, _ = stands(robot, np.ascontiguousarray(found.path.q[:, kept]))
    target, _ = wished(robot, si(robot, q))
    assert np.linalg.norm(position - target[:, kept], axis=0).max() < 1e-6
    assert found.iterations <= 10


def model_file(folder: Path, **more: Any) -> Path:
    """A model of the packaged KR 270 learned under at most 1 kN."""
    model: dict[str, Any] = {
        "format": "stiffarm-model/1",
        "robot": "kr270",
        "parameters": [{"name": "A2.compliance", "unit": "rad/(N*m)", "value": 4e-7, "nominal": 3e-7, "std": 1e-8}],
        "covariance": {"names": ["A2.compliance"], "values": [[1e-16]]},
        "domain": {"joints": {"A1": [-1.0, 1.0]}, "force": [0.0, 1000.0]},
    }
    path = folder / "m.model.json"
    path.write_text(json.dumps(model | more), encoding="utf-8")
    return path


SOME = np.repeat(np.array([10.0, -70, 80, 20, 40, 15])[:, None], 2, axis=1)


def test_leaving_what_was_calibrated_is_told_with_the_factor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = path_of(tmp_path, read_robot("kr270"), SOME)
    for command in ("compensate", "predict"):
        assert main([command, str(model_file(tmp_path)), str(path)]) == 0
        told = capsys.readouterr().err
        assert f"force beyond the calibration: {np.linalg.norm(PULL_N) / 1000.0:.3g} times" in told
        assert "the first is row 2" in told


def test_a_model_that_failed_is_refused_unless_it_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = path_of(tmp_path, read_robot("kr270"), SOME), tmp_path / "out.csv"
    model = model_file(tmp_path, verdict={"usable": False, "reasons": ["worse than nominal"]})
    assert main(["compensate", str(model), str(path), "-o", str(out)]) == 2
    assert "worse than nominal" in capsys.readouterr().err
    assert not out.exists()
    assert main(["compensate", str(model), str(path), "-o", str(out), "--allow-unusable", "-q"]) == 0
    assert "worse than nominal" in out.read_text(encoding="utf-8").splitlines()[0]


def test_what_is_left_is_what_the_covariance_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = path_of(tmp_path, read_robot("kr270"), SOME), tmp_path / "out.csv"
    assert main(["compensate", str(model_file(tmp_path)), str(path), "-o", str(out), "--json", "-q"]) == 0
    said = json.loads(capsys.readouterr().out)
    table = pl.read_csv(out)
    sigma = np.linalg.norm(table.select("sigma.x[m]", "sigma.y[m]", "sigma.z[m]").to_numpy(), axis=1)
    assert said["left[m]"] == pytest.approx(float(np.sqrt(np.mean(sigma**2))), rel=1e-6)
    # the deviation of the one parameter, by a model that is off by it
    q = np.radians(table.select("^q.*$").to_numpy().T.astype(float))
    load_point = ArmModel.of(read_robot("kr270")).at().chain.point("tool")
    pull = Load(load_point, np.repeat(PULL_N[:, None], 2, axis=1))
    arms = [ArmModel.of(read_robot("kr270")).at({"A2.compliance": value}) for value in (4e-7, 4.1e-7)]
    here, there = (predict_exact(arm, State(q, (pull, *arm.weights())), "tool").position for arm in arms)
    assert np.linalg.norm(there - here, axis=0) == pytest.approx(sigma, rel=0.03)
    assert said["removed"] == pytest.approx(1.0 - said["left[m]"] / said["before[m]"])


def test_a_path_of_a_spreadsheet_with_decimal_commas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot, rows = read_robot("kr270"), []
    q = np.radians([[10.0, -70, 80, 20, 40, 15], [12.0, -69, 79, 20, 41, 15]])
    for one, feed in zip(q, ("1200,5", ""), strict=True):
        pose = reference_fk(robot, one)
        turn = Rotation.from_matrix(pose[:3, :3]).as_rotvec(degrees=True)
        numbers = [f"{value:.9f}" for value in (*1e3 * pose[:3, 3], *turn, -1500.5)]
        rows.append(";".join([*(number.replace(".", ",") for number in numbers), feed, "Ann, 2,5"]))
    header = "x[mm];y[mm];z[mm];rx[deg];ry[deg];rz[deg];force.z[N];feed[mm/min];remark"
    path, out = tmp_path / "a.path.csv", tmp_path / "b.path.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    assert main(["compensate", "kr270", str(path), "-o", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["max_residual[m]"] < 1e-6
    assert {"points", "iterations", "removed", "removed_elastic", "refused"} <= set(said)
    table = pl.read_csv(out)
    assert table["feed[mm/min]"].to_list() == [1200.5, None]
    assert table["remark"].to_list() == ["Ann, 2,5"] * 2
    # what was written is read again: the loaded arm told these joints stands where it was wished
    for solved, one in zip(np.radians(table.select("^q.*$").to_numpy()), q, strict=True):
        arm = ArmModel.of(robot).at()
        load = Load(arm.chain.point("tool"), np.array([[0.0], [0.0], [-1500.5]]))
        found = predict_exact(arm, State(solved[:, None], (load, *arm.weights())), "tool")
        assert np.linalg.norm(found.position[:, 0] - reference_fk(robot, one)[:3, 3]) < 1e-6
    assert main(["predict", "kr270", str(out), "--exact", "--json", "-q"]) == 0


def test_poses_out_of_reach_are_refused_by_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.path.csv"
    rows = ["1500,0,1500,0,90,0", "9500,0,1500,0,90,0", "1500,100,1500,0,90,0"]
    path.write_text("\n".join(["x[mm],y[mm],z[mm],rx[deg],ry[deg],rz[deg]", *rows]) + "\n", encoding="utf-8")
    assert main(["compensate", "kr270", str(path), "--json", "-q"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [one["row"] for one in said["refused"]] == [3]
    assert "out of reach" in said["refused"][0]["reason"]
    assert main(["predict", "kr270", str(path)]) == 2
    assert "row 3" in capsys.readouterr().err
