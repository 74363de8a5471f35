"""Prediction by command: against poses and columns worked out here, against published positions, and its answers."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from chains import reference_fk
from stiffarm.cli.main import main
from stiffarm.compensate.model_file import read_model
from stiffarm.compensate.predicting import predict_file
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

TEST_POSE = "8.5,-10,35,39,81,22,-10"
RAIL = "q.E1[m],q.A1[deg],q.A2[deg],q.A3[deg],q.A4[deg],q.A5[deg],q.A6[deg]"
ARM = "q.A1[deg],q.A2[deg],q.A3[deg],q.A4[deg],q.A5[deg],q.A6[deg]"
Row = dict[str, Any]


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[Row]:
    assert main(["predict", *map(str, arguments), "--json"]) == 0
    rows: list[Row] = json.loads(capsys.readouterr().out)["rows"]
    return rows


def plan_of(folder: Path, header: str, *rows: str, name: str = "a.plan.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def xyz(row: Row, prefix: str = "") -> Floats:
    return np.array([row[f"{prefix}{axis}[m]"] for axis in "xyz"])


@pytest.mark.parametrize(
    ("robot", "published"),
    [("kr500-rail", (1.941286, 8.048745, 3.537885)), ("kr500-rail-literal", (3.240228, 7.819707, 1.368394))],
)
def test_flange_at_the_published_test_pose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], robot: str, published: tuple[float, ...]
) -> None:
    plan = plan_of(tmp_path, f"experiment,{RAIL}", f"TP,{TEST_POSE}")
    (row,) = rows_of(capsys, robot, plan, "--marker", "flange")
    assert np.abs(xyz(row) - published).max() < 1e-6
    assert np.array_equal(xyz(row, "d"), np.zeros(3))


def numeric_deflection(name: str, q: Floats, marker: Floats, hook: Floats, force: Floats) -> Floats:
    """sum_k c_k(p) k_k c_k(h)'F with derivatives by differences of independent kinematics."""
    robot = read_robot(name)
    h = 1e-6

    def point(values: Floats, local: Floats) -> Floats:
        return np.asarray((reference_fk(robot, values) @ np.append(local, 1.0))[:3])

    total = np.zeros(3)
    for k, joint in enumerate(robot.joints):
        step = h * np.eye(len(q))[k]
        p, a = ((point(q + step, local) - point(q - step, local)) / (2 * h) for local in (marker, hook))
        total += p * (joint.compliance or 0.0) * (a @ force)
    return total


def test_bending_of_a_marker_under_a_load_at_the_hook(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    force = np.array([700.0, -1500.0, -2500.0])
    plan = plan_of(
        tmp_path,
        f"experiment,{RAIL},force.x[N],force.y[N],force.z[kN],load_point,marker",
        f"e1,{TEST_POSE},700,-1500,-2.5,hook,P2",
    )
    (row,) = rows_of(capsys, "kr500-rail", plan)
    robot = read_robot("kr500-rail")
    marker, hook = (np.array(point.xyz) for point in (robot.tool.markers[1], robot.tool.load_points[0]))
    q = np.radians([0.0, -10, 35, 39, 81, 22, -10])
    q[0] = 8.5
    expected = numeric_deflection("kr500-rail", q, marker, hook, force)
    assert np.linalg.norm(expected) > 1e-4
    assert np.abs(xyz(row, "d") - expected).max() < 1e-6 * np.linalg.norm(expected)
    unloaded = (reference_fk(robot, q) @ np.append(marker, 1.0))[:3]
    assert np.abs(xyz(row) - unloaded - expected).max() < 1e-6 * np.linalg.norm(expected)


def test_weights_bend_positions_but_not_deflections(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pose = "20,-60,70,30,40,10"
    header = f"experiment,{ARM},force.z[N],load_point,observation,marker"
    plan = plan_of(
        tmp_path, header, f"a,{pose},-2000,hook,position,P1", f"b,{pose},-2000,hook,deflection,P1",
        f"c,{pose},,,position,P1",
    )  # fmt: skip
    position, deflection, bare = rows_of(capsys, "kr270", plan)
    assert np.linalg.norm(xyz(bare, "d")) > 1e-4
    assert np.abs(xyz(position, "d") - xyz(deflection, "d") - xyz(bare, "d")).max() < 1e-12
    assert np.array_equal(xyz(position), xyz(deflection))


def test_exact_and_first_order_differ_by_the_second_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pose = "20,-60,70,30,40,10"
    header = f"experiment,{ARM},force.z[N],load_point,observation,marker"
    rows = [f"{k}{load},{pose},{load},hook,{k},P1" for load in (-2000, -1000) for k in ("position", "deflection")]
    plan = plan_of(tmp_path, header, *rows)
    first, exact = rows_of(capsys, "kr270", plan), rows_of(capsys, "kr270", plan, "--exact")
    gap = [xyz(one, "d") - xyz(other, "d") for one, other in zip(exact, first, strict=True)]
    bending = [float(np.linalg.norm(xyz(row, "d"))) for row in first]
    for one, row in zip(gap, bending, strict=True):
        assert 1e-9 < np.linalg.norm(one) < 0.03 * row
    # a deflection is the difference of two equilibria; doubling the load more than doubles what is of second order
    bare = plan_of(tmp_path, header, f"bare,{pose},,,position,P1", name="bare.plan.csv")
    (unloaded,) = rows_of(capsys, "kr270", bare, "--exact")
    assert xyz(exact[1], "d") == pytest.approx(xyz(exact[0]) - xyz(unloaded), abs=1e-12)
    assert np.linalg.norm(gap[1]) > 1.9 * np.linalg.norm(gap[3])


def test_rows_carry_the_columns_of_the_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(tmp_path, f"experiment,{RAIL},operator,force.z[N]", f"e1,{TEST_POSE},Ann,", f"e2,{TEST_POSE},,-10")
    first, second = rows_of(capsys, "kr500-rail", plan, "--quiet")
    assert first["experiment"] == "e1"
    assert first["q.E1[m]"] == 8.5
    assert first["operator"] == "Ann"
    assert first["force.z[N]"] is None
    assert second["operator"] is None
    assert second["force.z[N]"] == -10.0


def test_what_was_read_stays_beside_what_is_predicted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(
        tmp_path, f"experiment,repeat,{RAIL},x[m],y[mm]", f"e1,2,{TEST_POSE},1.5,8000", name="a.campaign.csv"
    )
    out = tmp_path / "out.csv"
    (row,) = rows_of(capsys, "kr500-rail", plan, "-o", out)
    assert (row["input.x[m]"], row["y[mm]"], row["repeat"]) == (1.5, 8000.0, 2)
    assert isinstance(row["repeat"], int)
    assert row["x[m]"] == pytest.approx(1.941286, abs=1e-6)
    with out.open(encoding="utf-8", newline="") as stream:
        (written,) = csv.DictReader(stream)
    assert (written["input.x[m]"], float(written["x[m]"])) == ("1.5", row["x[m]"])


def test_the_written_file_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(tmp_path, f"experiment,{RAIL},force.z[N]", f"e1,{TEST_POSE},-1000", f"e2,{TEST_POSE},")
    out = tmp_path / "out.csv"
    rows = rows_of(capsys, "kr500-rail", plan, "-o", out)
    with out.open(encoding="utf-8", newline="") as stream:
        written = list(csv.DictReader(stream))
    assert [row["experiment"] for row in written] == ["e1", "e2"]
    for name in ("x[m]", "rz[rad]", "dz[m]"):
        assert [float(row[name]) for row in written] == [row[name] for row in rows]


def model_file(folder: Path, **changes: Any) -> Path:
    """A model of the packaged KR 270 whose values are off its file's."""
    model: dict[str, Any] = {
        "format": "stiffarm-model/1",
        "robot": "kr270",
        "parameters": [
            {"name": "A2.compliance", "unit": "rad/(N*m)", "value": 0.4e-6, "nominal": 0.302e-6, "std": 1e-8},
            {"name": "A3.offset", "unit": "rad", "value": 1e-3, "nominal": 0.0, "std": 1e-4},
            {"name": "A5.compliance", "unit": "rad/(N*m)", "value": None, "nominal": 3.3e-6, "std": None},
        ],
        "covariance": {"names": ["A2.compliance", "A3.offset"], "values": [[1e-16, 3e-13], [3e-13, 1e-8]]},
        "setups": [{"name": "day1", "xyz": [1.0, -2.0, 0.5], "rotvec": [0.0, 0.0, np.pi / 2], "markers": {},
                    "tool_rotvec": None, "covariance": None}],
    }  # fmt: skip
    path = folder / "m.model.json"
    path.write_text(json.dumps(model | changes), encoding="utf-8")
    return path


@pytest.fixture
def loaded_plan(tmp_path: Path) -> Path:
    header = f"experiment,{ARM},force.x[N],force.z[N],load_point,marker"
    return plan_of(
        tmp_path, header, "a,20,-60,70,30,40,10,300,-2000,hook,P1", "b,-70,-100,40,-30,60,90,0,-1500,hook,P3"
    )


def test_sigma_is_that_of_differences(tmp_path: Path, loaded_plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = rows_of(capsys, model_file(tmp_path), loaded_plan)
    values = {"A2.compliance": 0.4e-6, "A3.offset": 1e-3}
    covariance = np.array([[1e-16, 3e-13], [3e-13, 1e-8]])

    def poses(changed: dict[str, float]) -> Floats:
        parameters = [{"name": name, "value": value} for name, value in changed.items()]
        path = model_file(tmp_path, parameters=parameters, covariance=None)
        return predict_file(read_model(path), loaded_plan).pose

    columns = []
    for name, step in (("A2.compliance", 1e-8), ("A3.offset", 1e-6)):
        high, low = (poses(values | {name: values[name] + sign * step}) for sign in (1, -1))
        turned = Rotation.from_rotvec(high[3:].T) * Rotation.from_rotvec(low[3:].T).inv()
        columns.append(np.concatenate([high[:3] - low[:3], turned.as_rotvec().T]) / (2 * step))
    J = np.array(columns)
    sigma = np.sqrt(np.einsum("pcn,pq,qcn->cn", J, covariance, J))
    for i, row in enumerate(rows):
        assert [row[f"sigma.{axis}[m]"] for axis in "xyz"] == pytest.approx(sigma[:3, i], rel=1e-5)
        assert [row[f"sigma.{axis}[rad]"] for axis in ("rx", "ry", "rz")] == pytest.approx(sigma[3:, i], rel=1e-4)


def test_values_without_a_number_stay_nominal(tmp_path: Path, loaded_plan: Path) -> None:
    model = read_model(model_file(tmp_path))
    assert "A5.compliance" not in model.values
    assert model.arm().values["A5.compliance"] == read_robot("kr270").joints[4].compliance


def test_answers_in_the_frame_of_a_setup(tmp_path: Path, loaded_plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = model_file(tmp_path)
    world, setup = rows_of(capsys, model, loaded_plan), rows_of(capsys, model, loaded_plan, "--setup", "day1")
    for one, other in zip(world, setup, strict=True):
        x, y, z = xyz(one)
        assert xyz(other) == pytest.approx([1.0 - y, -2.0 + x, 0.5 + z], abs=1e-12)
        dx, dy, dz = xyz(one, "d")
        assert xyz(other, "d") == pytest.approx([-dy, dx, dz], abs=1e-15)
        assert other["sigma.x[m]"] == pytest.approx(one["sigma.y[m]"], rel=1e-9)


def test_a_setup_brings_its_markers_and_its_own_uncertainty(tmp_path: Path, loaded_plan: Path) -> None:
    frame = {"name": "day1", "xyz": [0.0, 0.0, 0.0], "rotvec": [0.0, 0.0, 0.0], "tool_rotvec": [0.0, 0.0, 1e-3]}
    spread = np.diag([1e-5, 2e-5, 3e-5, 0.0, 0.0, 1e-4]) ** 2
    own = {**frame, "markers": {"P1": [0.29, -0.08, -0.2]}, "covariance": spread.tolist()}
    model = model_file(tmp_path, setups=[own], covariance={"names": ["A3.offset"], "values": [[0.0]]})
    known = read_model(model)
    moved, plain = predict_file(known, loaded_plan, setup="day1"), predict_file(known, loaded_plan)
    assert np.linalg.norm(moved.pose[:3, 0] - plain.pose[:3, 0]) == pytest.approx(0.01, rel=0.02)
    assert np.linalg.norm(moved.pose[:3, 1] - plain.pose[:3, 1]) < 1e-12
    assert moved.sigma is not None
    x, y = moved.pose[:2]
    assert moved.sigma[0] == pytest.approx(np.hypot(1e-5, 1e-4 * y), rel=1e-9)
    assert moved.sigma[1] == pytest.approx(np.hypot(2e-5, 1e-4 * x), rel=1e-9)
    assert moved.sigma[2] == pytest.approx(3e-5, rel=1e-9)


def test_a_path_of_poses_is_where_its_joints_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load = "force.z[N],load_point"
    joints = [f"{20 + k},{-60 - k},{70 + k},30,{40 + 2 * k},10,-1000,hook" for k in range(6)]
    by_joints = plan_of(tmp_path, f"{ARM},{load}", *joints, name="q.path.csv")
    unloaded = plan_of(tmp_path, ARM, *[row.rsplit(",", 2)[0] for row in joints], name="u.path.csv")
    massless = tmp_path / "light.robot.toml"
    source = Path(__file__).parent.parent / "src" / "stiffarm" / "robot" / "library" / "kr270.robot.toml"
    lines = source.read_text(encoding="utf-8").splitlines()
    massless.write_text("\n".join(line for line in lines if not line.startswith("mass")), encoding="utf-8")
    poses = [
        ",".join(repr(row[name]) for name in ("x[m]", "y[m]", "z[m]", "rx[rad]", "ry[rad]", "rz[rad]"))
        for row in rows_of(capsys, massless, unloaded)
    ]
    by_poses = plan_of(
        tmp_path,
        f"x[m],y[m],z[m],rx[rad],ry[rad],rz[rad],{load}",
        *[f"{p},-1000,hook" for p in poses],
        name="p.path.csv",
    )
    loaded = rows_of(capsys, massless, by_joints)
    solved = rows_of(capsys, massless, by_poses)
    for one, pose, other in zip(loaded, poses, solved, strict=True):
        place = [float(number) for number in pose.split(",")[:3]]
        assert np.linalg.norm(xyz(one, "d")) > 1e-4
        # the inverse solution may stand on another branch, but the unloaded tool is where it was asked to be
        assert xyz(other) - xyz(other, "d") == pytest.approx(place, abs=1e-6)


def test_a_pose_out_of_reach_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = "x[m],y[m],z[m],rx[rad],ry[rad],rz[rad]"
    path = plan_of(tmp_path, header, "2,0,1.5,0,0,0", "9,0,1.5,0,0,0", name="a.path.csv")
    out = tmp_path / "out.csv"
    assert main(["predict", "kr270", str(path), "-o", str(out)]) == 2
    captured = capsys.readouterr()
    assert "row 3" in captured.err
    assert "row 2" not in captured.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"format": "stiffarm-model/9"}, "stiffarm-model/1"),
        ({"parameters": [{"name": "A9.offset", "value": 1.0}]}, "A9.offset"),
        ({"parameters": 3}, "parameters"),
        ({"covariance": {"names": ["A3.offset"], "values": [[1.0, 2.0]]}}, "covariance.values"),
        ({"covariance": {"names": ["A3.offsett"], "values": [[1.0]]}}, "did you mean 'A3.offset'"),
        ({"robot": "kr271"}, "kr270"),
        ({"robot": None}, "robot"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(
    tmp_path: Path, loaded_plan: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], says: str
) -> None:
    assert main(["predict", str(model_file(tmp_path, **changes)), str(loaded_plan), "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert says.lower() in captured.err.lower()


@pytest.mark.parametrize("text", ["{", "[]", "", "\udcff"])
def test_a_model_that_is_no_json_object(tmp_path: Path, loaded_plan: Path, text: str) -> None:
    path = tmp_path / "m.model.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert main(["predict", str(path), str(loaded_plan)]) == 2


def test_a_model_that_failed_its_validation_is_used_with_a_warning(
    tmp_path: Path, loaded_plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = model_file(tmp_path, verdict={"usable": False, "reasons": ["no better than nominal"]})
    assert main(["predict", str(path), str(loaded_plan)]) == 0
    assert "warning: " in (told := capsys.readouterr().err)
    assert "no better than nominal" in told


def test_a_robot_inside_the_model_file(tmp_path: Path, loaded_plan: Path) -> None:
    source = Path(__file__).parent.parent / "src" / "stiffarm" / "robot" / "library" / "kr270.robot.toml"
    carried = {"file": "kr270.robot.toml", "text": source.read_text(encoding="utf-8"), "groups": {"A2": [-1.0, -0.5]}}
    parameters = [{"name": "A2.compliance[1]", "value": 4e-7}]
    model = read_model(model_file(tmp_path, robot=carried, parameters=parameters, covariance=None))
    assert np.isfinite(predict_file(model, loaded_plan).pose).all()


@pytest.mark.parametrize(
    ("option", "value", "says"), [("--marker", "P9", "P1, P2, P3"), ("--setup", "day9", "no setups")]
)
def test_names_that_do_not_exist(
    loaded_plan: Path, capsys: pytest.CaptureFixture[str], option: str, value: str, says: str
) -> None:
    assert main(["predict", "kr270", str(loaded_plan), option, value]) == 2
    assert says in capsys.readouterr().err


def test_exact_says_how_far_first_order_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "a.plan.csv"
    header = [f"q.A{i}[deg]" for i in range(1, 7)]
    plan.write_text(f"experiment,{','.join(header)},force.z[N],load_point\ne1,0,-60,80,10,30,0,-3500,hook\n", "utf-8")
    answers = []
    for more in ((), ("--exact",)):
        assert main(["predict", "kr270", str(plan), "--json", "--quiet", *more]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    linear, exact = (np.array([one["rows"][0][f"{axis}[m]"] for axis in "xyz"]) for one in answers)
    assert 1e-6 < np.linalg.norm(exact - linear) < 1e-3
    assert answers[1]["first_order_difference"]["max[m]"] == pytest.approx(float(np.linalg.norm(exact - linear)))


def test_a_robot_that_knows_no_deviations_says_so(tmp_path: Path) -> None:
    """The keys are there for a program to read, and no number is made up."""
    path = tmp_path / "a.path.csv"
    path.write_text(",".join(f"q.A{k}[deg]" for k in range(1, 7)) + "\n0,-90,90,0,45,0\n", encoding="utf-8")
    (row,) = predict_file(read_model("kr270"), path).rows()
    assert [row[f"sigma.{axis}[m]"] for axis in "xyz"] == [None, None, None]
    assert row["sigma.rx[rad]"] is None
