"""Programs for controllers, read by a parser of the test's own and stood at by an independent forward kinematics."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from chains import reference_fk, shift
from stiffarm.cli.main import main
from stiffarm.compensate import branches
from stiffarm.compensate.axes import axes_of
from stiffarm.compensate.conventions import frame_of
from stiffarm.compensate.krl import write_krl
from stiffarm.compensate.languages import Handover, language_of
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import Controller, Placement, Robot
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot

Floats = NDArray[np.float64]
NUMBER = r"-?\d+(?:\.\d+)?(?:E[-+]?\d+)?"
ROUNDING_M = 1e-6
"""1 um; what the written decimals add is below 0.2 um for arms of this size."""


def home_file(folder: Path, robot: Robot, accuracy: str = "off", name: str = "arm") -> Path:
    """The robot with a tool and a known controller, as a file."""
    tool = replace(
        robot.tool, placement=Placement((0.21, -0.04, 0.13), (0.3, -0.5, 0.2)), mass=12.0, com=(0.1, 0.0, 0.0)
    )
    controller = Controller(robot.controller.brand, accuracy, robot.controller.tool0)  # type: ignore[arg-type]
    path = folder / f"{name}.robot.toml"
    write_robot(replace(robot, tool=tool, controller=controller), path)
    return path


def path_of_joints(folder: Path, robot: Robot, n: int = 12, seed: int = 3) -> Path:
    """Joints in both signs of the wrist, with forces and times."""
    rng = np.random.default_rng(seed)
    low, high = np.array([[-60, 60], [-100, -50], [50, 100], [-170, 170], [20, 80], [-170, 170]], dtype=float).T
    q = rng.uniform(low[:, None], high[:, None], (6, n))
    q[4] *= np.where(np.arange(n) % 3 == 0, -1.0, 1.0)
    rails = [f"q.{joint.name}[mm]" for joint in robot.joints if joint.kind == "prismatic"]
    heads = [*rails, *(f"q.A{i}[deg]" for i in range(1, 7)), "force.z[N]", "time[s]"]
    rows = [heads]
    rails_mm = ["1234.5"] * len(rails)
    rows += [[*rails_mm, *(repr(float(v)) for v in q[:, i]), "-1500", str(2.0 * i)] for i in range(n)]
    path = folder / "job.path.csv"
    path.write_text("".join(",".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def corrected(folder: Path, robot: Path, path: Path, *options: str, to: str) -> Path:
    output = folder / f"job.{to}"
    assert main(["compensate", str(robot), str(path), "-o", str(output), "--quiet", *options]) == 0
    return output


def targets_of_table(folder: Path, robot: Path, path: Path) -> Floats:
    """(joints, n) SI: what the table says."""
    table = corrected(folder, robot, path, to="csv").read_text(encoding="utf-8").splitlines()
    heads = table[0].split(",")
    known = [i for i, head in enumerate(heads) if head.startswith("q.")]
    unit = [1e-3 if "[mm]" in heads[i] else np.pi / 180 for i in known]
    return np.array([[float(row.split(",")[i]) * u for i, u in zip(known, unit, strict=True)] for row in table[1:]]).T


def krl_points(output: Path) -> dict[str, dict[str, float]]:
    text = output.with_suffix(".dat").read_text(encoding="ascii")
    found = re.findall(r"DECL E6(?:AXIS|POS) (\w+)=\{([^}]*)\}", text)
    return {name: {k: float(v) for k, v in re.findall(rf"([A-Z]\d?) ({NUMBER})", body)} for name, body in found}


def krl_frame(output: Path, kind: str) -> Floats:
    body = re.search(rf"^\${kind}=\{{FRAME: ([^}}]*)\}}", output.read_text(encoding="ascii"), re.MULTILINE)
    assert body
    frame = frame_of(tuple(float(v) for v in re.findall(rf" ({NUMBER})", body[1])), "kuka")
    return as_matrix(frame.rotation, frame.translation)


def as_matrix(rotation: Floats, translation: Floats) -> Floats:
    out = shift(translation)
    out[:3, :3] = rotation
    return out


def flange_tool(robot: Robot, tool: Floats) -> Floats:
    """A tool stated in the controller's flange frame, seen from the file's flange."""
    from chains import placed

    return np.asarray(placed(robot.controller.tool0) @ tool)


def flange(robot: Robot, q: Floats) -> Floats:
    return reference_fk(replace(robot, tool=replace(robot.tool, placement=Placement())), q)


def assert_same_pose(one: Floats, other: Floats, tolerance: float = ROUNDING_M) -> None:
    assert np.linalg.norm(one[:3, 3] - other[:3, 3]) < tolerance
    assert np.abs(one[:3, :3] - other[:3, :3]).max() < 5e-8


@pytest.mark.parametrize("name", ["kr270", "kr120", "kr500-rail"])
@pytest.mark.parametrize("targets", ["joints", "poses"])
def test_a_kuka_program_stands_where_the_table_does(tmp_path: Path, name: str, targets: str) -> None:
    file = home_file(tmp_path, read_robot(name))
    robot = read_robot(file)
    path = path_of_joints(tmp_path, robot)
    base = ("--base", "900,-120.5,400,30,90,-12.25")
    output = corrected(tmp_path, file, path, "--targets", targets, *base, to="src")
    wanted = targets_of_table(tmp_path, file, path)
    points = krl_points(output)
    slides = [joint.name for joint in robot.joints if joint.kind == "prismatic"]
    told_base, told_tool = krl_frame(output, "BASE"), flange_tool(robot, krl_frame(output, "TOOL"))
    for i, q in enumerate(wanted.T):
        point = points[f"XP{i + 1}"]
        if targets == "joints":
            told = [point[j.name] * (1e-3 if j.name in slides else np.pi / 180) for j in robot.joints]
            assert_same_pose(reference_fk(robot, np.array(told)), reference_fk(robot, q))
            continue
        for rail in slides:
            assert point[rail] == pytest.approx(1e3 * q[robot.joint_index(rail)], abs=5.1e-5)
        frame = frame_of(tuple(point[k] for k in "XYZABC"), "kuka")
        told_pose = told_base @ as_matrix(frame.rotation, frame.translation)
        assert_same_pose(told_pose, flange(robot, q) @ told_tool)
    moves = re.findall(r"^(?:PTP|LIN) (\w+)", output.read_text(encoding="ascii"), re.MULTILINE)
    assert moves == ([] if targets == "joints" else ["XP0"]) + [f"XP{i + 1}" for i in range(wanted.shape[1])]


@pytest.mark.parametrize("targets", ["joints", "poses"])
def test_a_rapid_module_stands_where_the_table_does(tmp_path: Path, targets: str) -> None:
    file = home_file(tmp_path, read_robot("kr500-rail"))
    robot = read_robot(file)
    path = path_of_joints(tmp_path, robot)
    output = corrected(tmp_path, file, path, "--targets", targets, "--base", "1,2,3,0.6,0,0.8,0", to="mod")
    text = output.read_text(encoding="ascii")
    wanted = targets_of_table(tmp_path, file, path)
    frames = {
        kind: [float(v) for v in re.findall(NUMBER, body)]
        for kind, body in re.findall(r"PERS (\w+) \w+:=\[TRUE,(.*)\];", text)
    } | {
        kind: [float(v) for v in re.findall(NUMBER, body)]
        for kind, body in re.findall(r'PERS (\w+) \w+:=\[FALSE,TRUE,"",(.*)\];', text)
    }
    told = {
        name: [float(v) for v in re.findall(NUMBER, body)]
        for name, body in re.findall(r"CONST (?:robtarget|jointtarget) (p\d+):=(.*);", text)
    }
    assert frames["tooldata"][7] == 12.0
    base, tool = (frame_of(tuple(frames[kind][:7]), "abb") for kind in ("wobjdata", "tooldata"))
    for i, q in enumerate(wanted.T):
        numbers = told[f"p{i + 1}"]
        if targets == "joints":
            q_told = np.array([1e-3 * numbers[6], *np.deg2rad(numbers[:6])])
            assert numbers[7:] == [9e9] * 5
            assert_same_pose(reference_fk(robot, q_told), reference_fk(robot, q))
            continue
        assert numbers[11] == pytest.approx(1e3 * q[0], abs=5.1e-5)
        assert numbers[7:10] == [np.floor(np.rad2deg(q[k]) / 90) for k in (1, 4, 6)]
        frame = frame_of(tuple(numbers[:7]), "abb")
        pose = as_matrix(base.rotation, base.translation) @ as_matrix(frame.rotation, frame.translation)
        assert_same_pose(pose, flange(robot, q) @ flange_tool(robot, as_matrix(tool.rotation, tool.translation)))
    moves = re.findall(r"^ *Move(?:L|AbsJ) (p\d+)", text, re.MULTILINE)
    assert moves == ([] if targets == "joints" else ["p0"]) + [f"p{i + 1}" for i in range(wanted.shape[1])]
    speeds = re.findall(r"speeddata (\w+):=\[([^,]*),", text)
    assert len(speeds) == len(set(speeds)) > 5
    assert max(map(len, text.splitlines())) < 254


def test_the_program_follows_the_feeds_it_is_given(tmp_path: Path) -> None:
    file = home_file(tmp_path, read_robot("kr270"))
    path = path_of_joints(tmp_path, read_robot(file), n=3)
    rows = [line.rsplit(",", 1)[0] for line in path.read_text().splitlines()]
    feeds = ["feed[mm/s]", "", "25", "25"]
    path.write_text("".join(f"{row},{feed}\n" for row, feed in zip(rows, feeds, strict=True)))
    text = corrected(
        tmp_path, file, path, "--targets", "poses", "--speed", "40mm/s", "--blend", "2mm", to="src"
    ).read_text()
    lines = [line for line in text.splitlines() if line.startswith(("$VEL", "$APO", "LIN", "PTP"))]
    assert lines == [
        "PTP XP0",
        "$APO.CDIS=2.0",
        "$VEL.CP=0.04",
        "LIN XP1 C_DIS",
        "$VEL.CP=0.025",
        "LIN XP2 C_DIS",
        "LIN XP3",
    ]
    module = corrected(tmp_path, file, path, "--targets", "poses", "--blend", "2mm", "--tool", "tMill=file", to="mod")
    assert "MoveL p2,vel2,[FALSE,2,3,3,0.3,3,0.3],tMill" in module.read_text()
    assert "tooldata" not in module.read_text()


def test_frames_the_controller_has_are_named_and_not_stated(tmp_path: Path) -> None:
    file = home_file(tmp_path, read_robot("kr270"))
    path = path_of_joints(tmp_path, read_robot(file), n=2)
    options = ("--targets", "poses", "--base", "3=100,0,0,0,0,0", "--tool", "7=file")
    text = corrected(tmp_path, file, path, *options, to="src").read_text()
    assert "BAS (#BASE,3 )" in text
    assert "BAS (#TOOL,7 )" in text
    moved = krl_points(tmp_path / "job.src")
    corrected(tmp_path, file, path, "--targets", "poses", to="src")
    plain = krl_points(tmp_path / "job.src")
    assert plain["XP1"]["X"] - moved["XP1"]["X"] == pytest.approx(100.0, abs=1e-3)


def test_ways_of_the_arm_have_the_numbers_controllers_give_them() -> None:
    robot = read_robot("kr270")
    arm, axes = ArmModel.of(robot).at(), axes_of(robot)
    postures = {
        # axes in deg: S and T, as a controller shows them
        (0.0, -90.0, 90.0, 0.0, 30.0, 0.0): (2, 2),
        (0.0, -90.0, 90.0, 0.0, -30.0, -10.0): (6, 50),
        (-10.0, -90.0, 90.0, 0.0, 30.0, -5.0): (2, 35),
        (0.0, -60.0, -60.0, 0.0, 30.0, 0.0): (0, 6),
        (0.0, -146.0, 30.0, 5.0, 30.0, 0.0): (3, 2),
    }
    q = np.deg2rad(np.array(list(postures)).T)
    branch = branches.branch_of(arm, axes, q)
    assert list(zip(branch.number.tolist(), branches.kuka_turn(axes, q).tolist(), strict=True)) == list(
        postures.values()
    )
    small = read_robot("irb120")
    arm, axes = ArmModel.of(small).at(), axes_of(small)
    q = np.deg2rad(np.array([[0.0, 0, 0, 0, 30, 0], [-91, 0, 0, 95, -30, 200], [0, 40, -105, 0, 30, 0]]).T)
    assert branches.abb_cfx(branches.branch_of(arm, axes, q)).tolist() == [0, 1, 2]
    assert branches.abb_quadrants(axes, q).T.tolist() == [[0, 0, 0], [-2, 1, 2], [0, 0, 0]]
    ur = read_robot("ur5")
    assert not branches.has_branches(ArmModel.of(ur).at(), axes_of(ur))


@pytest.mark.parametrize(("accuracy", "to", "code"), [
    ("on", "src", 2), ("on", "mod", 2), ("on", "csv", 2), ("unknown", "src", 2), ("unknown", "mod", 2),
    ("unknown", "csv", 0), ("off", "src", 0), ("off", "mod", 0), ("off", "csv", 0),
])  # fmt: skip
def test_nothing_is_corrected_twice_unless_that_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], accuracy: str, to: str, code: int
) -> None:
    file = home_file(tmp_path, read_robot("kr270"), accuracy)
    path, output = path_of_joints(tmp_path, read_robot(file), n=2), tmp_path / f"job.{to}"
    command = ["compensate", str(file), str(path), "-o", str(output)]
    assert main(command) == code
    said = capsys.readouterr().err
    assert output.exists() == (code == 0)
    assert ("corrected twice" in said) == (accuracy != "off")
    if code:
        assert "--allow-absolute-accuracy" in said
        assert main([*command, "--allow-absolute-accuracy"]) == 0
        assert "CORRECTED TWICE" in output.read_text()


def test_what_was_allowed_stands_at_the_head(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home_file(tmp_path, read_robot("kr270"))
    model: dict[str, Any] = {
        "format": "stiffarm-model/1",
        "robot": str(file),
        "parameters": [],
        "verdict": {"usable": False, "reasons": ["held-out error 0.8 mm: Prüfung nicht bestanden"]},
    }
    (tmp_path / "bad.model.json").write_text(json.dumps(model))
    path = path_of_joints(tmp_path, read_robot(file), n=2)
    for to in ("src", "mod"):
        command = ["compensate", str(tmp_path / "bad.model.json"), str(path), "-o", str(tmp_path / f"job.{to}")]
        assert main(command) == 2
        assert not (tmp_path / f"job.{to}").exists()
        assert main([*command, "--allow-unusable"]) == 0
        text = " ".join((tmp_path / f"job.{to}").read_bytes().decode("ascii").replace("\r\n; ", " ").split())
        assert "MODEL NOT USABLE, allowed by option: held-out error 0.8 mm" in text
        assert "up to 1500 N at tool" in text
    capsys.readouterr()


def test_a_path_with_refused_points_becomes_no_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = home_file(tmp_path, read_robot("kr270"))
    path = path_of_joints(tmp_path, read_robot(file), n=3)
    rows = path.read_text().splitlines()
    rows[2] = "10,-60,154.999,10,35,0,-3500,2"
    path.write_text("\n".join(rows) + "\n")
    output = tmp_path / "job.src"
    assert main(["compensate", str(file), str(path), "-o", str(output)]) == 1
    assert not output.exists()
    assert not output.with_suffix(".dat").exists()
    assert "row 3" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "options", "says"), [
    ("1job.src", (), "a letter"), ("loop.src", (), "word of the language"),
    ("a_name_of_25_characters_x_.src", (), "23"),
    ("job.mpf", ("--to", "krl"), ".src"), ("job_ä.mod", (), "letters"), ("endproc.mod", (), "word of the language"),
    ("job.src", ("--most-points", "2"), "--most-points"),
    ("job.src", ("--blend", "1mm", "--targets", "joints"), "percent"),
    ("job.src", ("--base", "1,2,3"), "X,Y,Z,A,B,C"), ("job.src", ("--base", "3=file"), "mm"),
    ("job.mod", ("--tool", "1,2,3,1,1,0,0"), "quaternion"), ("job.src", ("--speed", "50"), "unit"),
    ("job.src", ("--speed", "0mm/s"), "--speed"), ("job.src", ("--to", "rapit"), "did you mean 'rapid'"),
    ("job.src", ("--to", "karel"), "csv, krl, rapid"),
])  # fmt: skip
def test_what_a_controller_cannot_take_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, options: tuple[str, ...], says: str
) -> None:
    file = home_file(tmp_path, read_robot("kr270"))
    path = path_of_joints(tmp_path, read_robot(file), n=3)
    before = sorted(tmp_path.iterdir())
    assert main(["compensate", str(file), str(path), "-o", str(tmp_path / name), *options]) == 2
    assert says.lower() in capsys.readouterr().err.lower()
    assert sorted(tmp_path.iterdir()) == before


def test_arms_with_more_axes_than_a_controller_has_are_refused(tmp_path: Path) -> None:
    from stiffarm.errors import InputError

    with pytest.raises(InputError, match="six axes"):
        axes_of(read_robot("iiwa7"))
    assert language_of(None, tmp_path / "x.src").name == "krl"
    assert write_krl.__module__.endswith("krl")
    assert Handover.__dataclass_fields__["corrected_twice"].default is False


def test_a_path_of_poses_becomes_poses_and_an_arm_without_ways_has_none(tmp_path: Path) -> None:
    file = home_file(tmp_path, read_robot("ur5"))
    path = tmp_path / "a.path.csv"
    path.write_text("x[mm],y[mm],z[mm],rx[rad],ry[rad],rz[rad]\n-400,-300,250,0.1,3.0,0.2\n-420,-300,260,0.1,3.0,0.2\n")
    output = corrected(tmp_path, file, path, to="src")
    points = krl_points(output)
    assert set(points) == {"XP0", "XP1", "XP2"}
    assert "S" not in points["XP1"]
    assert [points["XP1"][key] for key in "XYZ"] == pytest.approx([-400, -300, 250], abs=1e-4)
    module = corrected(tmp_path, file, path, to="mod").read_text()
    assert "ConfL\\Off;" in module
    assert ",[0,0,0,0],[9E9" in module
