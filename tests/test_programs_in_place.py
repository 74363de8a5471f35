"""Programs of others, corrected in place: points where an independent forward kinematics puts them, all else untouched.

What a program says is built here from joint values by the tests' own kinematics, and read back by a parser of the
tests' own; what the same joint values become as a table is the truth both are held to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chains import placed, reference_fk, shift
from stiffarm.cli.main import main
from stiffarm.compensate import branches
from stiffarm.compensate.axes import axes_of
from stiffarm.compensate.cell import Cell
from stiffarm.compensate.conventions import frame_of, numbers_of
from stiffarm.compensate.programs.correcting import read_program
from stiffarm.compensate.programs.placing import placed as placed_program
from stiffarm.errors import InputError
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import Controller, Placement, Robot
from stiffarm.robot.placement import Rigid
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot

Floats = NDArray[np.float64]
NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
FORCE = ("--force", "300,-400,-1500N")
BASE, TOOL = (1200.5, -80.25, 640.0, 33.0, -4.5, 171.25), (101.5, -33.25, 250.0, 12.0, 80.0, -5.0)
"""KUKA's numbers: base in the world, tool in the controller's flange."""


def arm_file(folder: Path, name: str = "kr270") -> Path:
    """A packaged arm with springs, weights, a tool, and a controller that does not correct."""
    robot = read_robot(name)
    joints = tuple(replace(j, compliance=j.compliance or 1e-6, mass=j.mass or 40.0) for j in robot.joints)
    tool = replace(robot.tool, placement=Placement((0.21, -0.04, 0.13), (0.3, -0.5, 0.2)), mass=12.0)
    path = folder / "arm.robot.toml"
    write_robot(
        replace(robot, joints=joints, tool=tool, controller=replace(robot.controller, absolute_accuracy="off")), path
    )
    return path


def rigid(matrix: Floats) -> Rigid:
    return Rigid(matrix[:3, :3], matrix[:3, 3])


def matrix(frame: Rigid) -> Floats:
    out = shift(frame.translation)
    out[:3, :3] = frame.rotation
    return out


def told(
    robot: Robot, q: Floats, brand: str, base: Rigid | None = None, tool: Rigid | None = None
) -> tuple[float, ...]:
    """Numbers of the pose of a program's tool in its base at joint values, after the tests' own kinematics."""
    flange = reference_fk(replace(robot, tool=replace(robot.tool, placement=Placement())), q)
    hand = placed(robot.tool.placement) if tool is None else placed(robot.controller.tool0) @ matrix(tool)
    frame = rigid(np.linalg.inv(matrix(base)) @ flange @ hand if base else flange @ hand)
    return numbers_of(frame, brand)


def as_table(folder: Path, robot: Robot, q: Floats) -> Floats:
    """The corrected joint values of the same points by way of a table, SI."""
    units = [("mm", 1e3) if j.kind == "prismatic" else ("deg", 180 / np.pi) for j in robot.joints]
    head = ",".join(f"q.{j.name}[{unit}]" for j, (unit, _) in zip(robot.joints, units, strict=True))
    scale = np.array([one for _, one in units])
    rows = "".join(",".join(repr(float(v)) for v in row) + "\n" for row in (q.T * scale))
    (folder / "a.path.csv").write_text(f"{head}\n{rows}")
    out = folder / "a.corrected.csv"
    assert main(["compensate", str(folder / "arm.robot.toml"), str(folder / "a.path.csv"), "-o", str(out), *FORCE]) == 0
    table = [line.split(",") for line in out.read_text().splitlines()[1:]]
    return np.array([[float(cell) for cell in row[: len(units)]] for row in table]).T / scale[:, None]


def some_joints(robot: Robot, n: int, seed: int) -> Floats:
    """(joints, n): every way an arm may take, inside its limits, rails somewhere."""
    rng = np.random.default_rng(seed)
    q = np.empty((len(robot.joints), n))
    for k, joint in enumerate(robot.joints):
        low, high = joint.limits or (-np.pi, np.pi)
        q[k] = rng.uniform(low + 0.1 * (high - low), high - 0.1 * (high - low), n)
        if joint.kind == "prismatic":
            q[k] = q[k].round(4)
    known, arm = axes_of(robot).six, ArmModel.of(robot).at()
    assert known is not None
    q[known[4]] = np.where(np.abs(q[known[4]]) < 0.4, 0.4, q[known[4]])
    straight = np.abs(np.sin(q[known[2]])) < 0.3
    q[known[2], straight] += 0.5
    assert branches.has_branches(arm, axes_of(robot))
    return q


def run(folder: Path, *options: str, code: int = 0, program: str = "job.src") -> Path:
    (folder / "out").mkdir(exist_ok=True)
    output = folder / "out" / program
    command = ["compensate", str(folder / "arm.robot.toml"), str(folder / program), "-o", str(output), *FORCE, *options]
    assert main(command) == code
    return output


def status(robot: Robot, q: Floats) -> tuple[int, int]:
    axes = axes_of(robot)
    way = branches.branch_of(ArmModel.of(robot).at(), axes, q[:, None]).number[0]
    return int(way), int(branches.kuka_turn(axes, q[:, None])[0])


def fields(names: Sequence[str], values: Sequence[float], decimals: int = 9) -> str:
    return ",".join(f"{name} {value:.{decimals}f}" for name, value in zip(names, values, strict=True))


def e6pos(robot: Robot, q: Floats, base: Rigid | None, tool: Rigid | None, decimals: int = 9) -> str:
    s, t = status(robot, q)
    rails = [1e3 * v for v, joint in zip(q, robot.joints, strict=True) if joint.kind == "prismatic"]
    external = fields([f"E{i + 1}" for i in range(6)], [*rails, *[7.5] * (6 - len(rails))], 1)
    return f"{{{fields('XYZABC', told(robot, q, 'kuka', base, tool), decimals)},S {s},T {t},{external}}}"


def e6axis(robot: Robot, q: Floats) -> str:
    turning = [np.degrees(v) for v, joint in zip(q, robot.joints, strict=True) if joint.kind == "revolute"]
    rails = [1e3 * v for v, joint in zip(q, robot.joints, strict=True) if joint.kind == "prismatic"]
    return (
        f"{{E6AXIS: {fields([f'A{i + 1}' for i in range(6)], turning)},{fields(['E1', 'E2'], [*rails, -3.25, 0][:2])}}}"
    )


def numbers_in(text: str) -> dict[str, float]:
    return {key: float(value) for key, value in re.findall(rf"\b([A-Z]\d?) +({NUMBER})", text)}


def assert_there(robot: Robot, numbers: dict[str, float], q: Floats, base: Rigid | None, tool: Rigid | None) -> None:
    """A corrected KUKA point is where the table says, to 1 um."""
    if "A1" in numbers:
        values = [numbers[joint.name] * (1e-3 if joint.kind == "prismatic" else np.pi / 180) for joint in robot.joints]
        here = rigid(reference_fk(robot, np.array(values)))
        wanted = rigid(reference_fk(robot, q))
    else:
        here = frame_of(tuple(numbers[key] for key in "XYZABC"), "kuka")
        wanted = frame_of(told(robot, q, "kuka", base, tool), "kuka")
    assert np.linalg.norm(here.translation - wanted.translation) < 1e-6
    assert np.abs(here.rotation - wanted.rotation).max() < 1e-7


@pytest.mark.parametrize("name", ["kr270", "kr120", "kr500-rail"])
def test_kuka_points_of_every_kind_go_where_the_table_goes(tmp_path: Path, name: str) -> None:
    robot = read_robot(arm_file(tmp_path, name))
    base, tool = frame_of(BASE, "kuka"), frame_of(TOOL, "kuka")
    q = some_joints(robot, 12, seed=5)
    if name == "kr500-rail":  # its own zeros: axes 2 and 3 are not those of the controller
        q = some_joints(robot, 12, seed=8)
    declared = "".join(f"DECL E6POS XP{i}={e6pos(robot, q[:, i], base, tool)}\r\n" for i in range(6))
    declared += f"DECL E6AXIS XHOME={e6axis(robot, q[:, 6])}\r\nGLOBAL E6AXIS XA7={e6axis(robot, q[:, 7])}\r\n"
    moves = "".join(f"PTP XP{i} C_PTP\r\n" for i in range(6)) + "PTP XHOME\r\nSPTP xa7\r\n"
    moves += f"PTP {e6axis(robot, q[:, 8])}\r\nSLIN {e6pos(robot, q[:, 9], base, tool)} C_SPL\r\n"
    moves += f"CIRC {e6pos(robot, q[:, 10], base, tool)}, {e6pos(robot, q[:, 11], base, tool)} ,CA 90 C_DIS\r\n"
    head = f"DEF job()\r\n$BASE={{FRAME: {fields('XYZABC', BASE)}}}\r\n$TOOL={{{fields('XYZABC', TOOL)}}}\r\n"
    (tmp_path / "job.src").write_bytes(f"{head}{moves}END\r\n".encode())
    (tmp_path / "job.dat").write_bytes(f"DEFDAT job\r\n{declared}ENDDAT\r\n".encode())
    output = run(tmp_path)
    wanted = as_table(tmp_path, robot, q)
    points = re.findall(r"\{[^}]*\}", output.with_suffix(".dat").read_text())
    points += re.findall(r"\{[^}]*\}", output.read_text())[2:]
    assert len(points) == 12
    for i, point in enumerate(points):
        numbers = numbers_in(point)
        assert_there(robot, numbers, wanted[:, i], base, tool)
        if "S" in numbers:
            assert (numbers["S"], numbers["T"]) == status(robot, wanted[:, i])
            assert numbers["E6"] == 7.5


@pytest.mark.parametrize("name", ["irb6700-235", "kr500-rail"])
def test_abb_points_of_every_kind_go_where_the_table_goes(tmp_path: Path, name: str) -> None:
    robot = read_robot(arm_file(tmp_path, name))
    frames = {"u": (1000.0, 50.0, -20.0, 0.5, 0.5, -0.5, 0.5), "o": (5.0, 6.0, 7.0, 0.8, 0.0, 0.6, 0.0)}
    base = frame_of(frames["u"], "abb") @ frame_of(frames["o"], "abb")
    tool = frame_of((10.0, -20.0, 300.0, 0.6, 0.0, 0.8, 0.0), "abb")
    q = some_joints(robot, 8, seed=2)
    axes, arm = axes_of(robot), ArmModel.of(robot).at()
    cfx = branches.abb_cfx(branches.branch_of(arm, axes, q))
    quadrants = branches.abb_quadrants(axes, q)

    def extax(i: int) -> str:
        rails = [f"{1e3 * v:.6f}" for v, j in zip(q[:, i], robot.joints, strict=True) if j.kind == "prismatic"]
        return "[" + ",".join([*rails, *["9E+09"] * (6 - len(rails))]) + "]"

    def target(i: int) -> str:
        p = [f"{v:.9f}" for v in told(robot, q[:, i], "abb", base, tool)]
        conf = ",".join(str(v) for v in (*quadrants[:, i], cfx[i]))
        return f"[[{','.join(p[:3])}], [{','.join(p[3:])}],[{conf}],\n      {extax(i)}]"

    def joints(i: int) -> str:
        turning = [f"{np.degrees(v):.9f}" for v, j in zip(q[:, i], robot.joints, strict=True) if j.kind == "revolute"]
        return f"[[{','.join(turning)}],{extax(i)}]"

    module = f"""MODULE job ! Fr\xe4sen [[1,2,3]]
  PERS tooldata tMill := [TRUE,[[10,-20,300],[0.6,0,0.8,0]],[5,[0,0,50],[1,0,0,0],0,0,0]];
  TASK PERS wobjdata wPart:=[FALSE,TRUE,"",[[1000,50,-20],[0.5,0.5,-0.5,0.5]],[[5,6,7],[0.8,0,0.6,0]]];
  LOCAL CONST robtarget p10 :={target(0)};
  CONST robtarget p20:={target(1)};  ! keep ; this
  VAR jointtarget jHome:={joints(2)};
  CONST robtarget pOther:=[[1,2,3],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]];
  PROC main()
    MoveAbsJ jHome\\NoEOffs, v1000, z50, tMill\\WObj:=wPart;
    movel p10,v100\\V:=50,z10,tMill \\WObj:=wPart;
    IF TRUE MoveJ p20, v200, fine, tMill\\WObj:=wPart;
    MoveL {target(3)},v100,z1,tMill\\WObj:=wPart;
    MoveAbsJ {joints(4)}\\NoEOffs,v100,z1,tMill;
    MoveC {target(5)}, {target(6)}, v100, z1, tMill\\WObj:=wPart;
    MoveL \\Conc, {target(7)}, v100, z1, tMill\\WObj:=wPart;
    MoveL Offs(p10,0,0,100),v100,z1,tMill\\WObj:=wPart;
  ENDPROC
ENDMODULE
"""
    (tmp_path / "job.mod").write_bytes(module.encode("cp1252"))
    output = run(tmp_path, program="job.mod")
    text = output.read_bytes().decode("cp1252")
    wanted = as_table(tmp_path, robot, q)
    shape = re.compile(r":?=?\s*(\[\[[^a-zA-DF-Z]*?\]\s*\])(?=[;,\\])")
    read = [[float(v) for v in re.findall(NUMBER, one)] for one in shape.findall(text)]
    read = [one for one in read if len(one) > 7]  # without the frames of tool and work object
    assert [len(one) for one in read] == [17, 17, 12, 17, 17, 12, 17, 17, 17]
    assert read.pop(3) == [1, 2, 3, 1, 0, 0, 0, 0, 0, 0, 0, *[9e9] * 6]
    for i, numbers in enumerate(read):
        rails = [1e-3 * v for v in numbers[-6:] if v < 8e9]
        if len(numbers) == 12:
            here = rigid(reference_fk(robot, np.array([*rails, *np.deg2rad(numbers[:6])])))
            there = rigid(reference_fk(robot, wanted[:, i]))
        else:
            here = frame_of(tuple(numbers[:7]), "abb")
            there = frame_of(told(robot, wanted[:, i], "abb", base, tool), "abb")
            way = branches.abb_cfx(branches.branch_of(arm, axes, wanted[:, i : i + 1]))
            quarter = branches.abb_quadrants(axes, wanted[:, i : i + 1])
            assert numbers[7:11] == [*quarter[:, 0], *way]
        assert np.linalg.norm(here.translation - there.translation) < 1e-6
        assert np.abs(here.rotation - there.rotation).max() < 1e-7
    assert masked(text.encode("cp1252")) == masked(module.encode("cp1252"))


def masked(content: bytes) -> bytes:
    """Without the numbers."""
    return re.sub(rb"[-+]?(?<![A-Za-z_0-9])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", b"#", content)


@dataclass(frozen=True)
class Line:
    """A line of a program, and the joint values of the point that stands there."""

    content: bytes
    point: Floats | None = None


ROBOT = read_robot("kr270")
LETTERS = st.sampled_from(["ä", "Ö", "ß", "é", "µ", "{", "}", "X 1.0", "PTP", ",", "=", "  ", "%{PE}", "Tool[1]", "\t"])
COMMENTS = st.lists(LETTERS, max_size=8).map("".join)
ENCODINGS = st.sampled_from(["latin-1", "cp1252", "utf-8"])


@st.composite
def lines(draw: st.DrawFn, number: int) -> Line:
    """One line as people write them."""
    encoding, comment = draw(ENCODINGS), draw(COMMENTS)
    tail = (draw(st.sampled_from(["", "  ", "\t", " C_DIS", " C_DIS  "])) + draw(st.sampled_from(["", " ;"]))).encode()
    if tail.endswith(b";"):
        tail += comment.encode(encoding, "replace")
    kind = draw(st.sampled_from(["comment", "other", "axes", "pose", "pose"]))
    if kind == "comment":
        return Line(b"; " + comment.encode(encoding, "replace"))
    if kind == "other":
        return Line(draw(st.sampled_from([
            b"WAIT SEC 0.5", b"$OUT[12]=TRUE", b";FOLD PTP P1 Vel=100 % PDAT1;%{PE}", b'MSG[]="PTP {X 1.0,Y 2.0}"', b"",
            b"  $VEL.CP=0.25  ", b"IF $IN[3]==TRUE THEN", b"ENDIF", b"LIN_REL {Z 10.0} C_DIS", b"PDAT_ACT=PPDAT1",
        ])))  # fmt: skip
    q = some_joints(ROBOT, 1, seed=draw(st.integers(0, 200)))[:, 0]
    places = draw(st.integers(4, 9))
    space = draw(st.sampled_from(["", " "]))
    if kind == "axes":
        body = f"{{{space}{fields([f'A{i}' for i in range(1, 7)], np.degrees(q), places)},{space}E1 12.50}}"
        q = np.deg2rad([float(v) for v in re.findall(rf"A\d ({NUMBER})", body)])
        return Line(draw(st.sampled_from([b"PTP ", b"ptp ", b"  SPTP  "])) + body.encode() + tail, q)
    body = f"{{{space}{fields('XYZABC', told(ROBOT, q, 'kuka', frame_of(BASE, 'kuka')), 9)},"
    body += (
        "S {},T {}".format(*status(ROBOT, q)) + draw(st.sampled_from(["", ",E1 12.50,E2 -0.0", ", E1 1.0E+02"])) + "}"
    )
    return Line(draw(st.sampled_from([b"PTP ", b"LIN ", b"\tLIN  ", b"slin "])) + body.encode() + tail, q)


@given(st.data(), st.sampled_from([b"\r\n", b"\n"]), st.booleans())
@settings(
    max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None
)
def test_every_byte_that_is_no_point_survives(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, end: bytes, last: bool
) -> None:
    folder = tmp_path_factory.mktemp("krl")
    arm_file(folder)
    robot = read_robot(folder / "arm.robot.toml")
    body = [data.draw(lines(i)) for i in range(data.draw(st.integers(1, 7)))]
    base = Line(f"$BASE={{{fields('XYZABC', BASE)}}}   ".encode())
    safe = Line(b"PTP {A1 0,A2 -75.5,A3 95.0,A4 3,A5 40.0,A6 5}", np.deg2rad([0, -75.5, 95.0, 3, 40.0, 5]))
    rows = [Line(b"&ACCESS RVP"), Line("DEF job( ) ; größer".encode("cp1252")), base, safe, *body, Line(b"END")]
    # built for the robot without this tool: the poses are those of its own tool here
    rows = [replace_pose(row, robot) for row in rows]
    content = end.join(row.content for row in rows) + (end if last else b"")
    (folder / "job.src").write_bytes(content)
    output = run(folder)
    found = output.read_bytes()
    before, after = content.split(end), found.split(end)
    assert len(before) == len(after)
    wanted = as_table(folder, robot, np.array([row.point for row in rows if row.point is not None]).T)
    i = 0
    for row, old, new in zip(rows, before, after, strict=False):
        if row.point is None:
            assert old == new
            continue
        head, tail = old.index(b"{"), old.index(b"}")
        assert new.startswith(old[:head])
        assert new.endswith(old[tail:])
        assert masked(old) == masked(new)
        numbers = numbers_in(new[head : new.index(b"}")].decode())
        assert_there(robot, numbers, wanted[:, i], frame_of(BASE, "kuka"), None)
        old_e1 = re.findall(rb"E\d +[^,} ]+", old[: old.index(b"}")])
        assert re.findall(rb"E\d +[^,} ]+", new[: new.index(b"}")]) == old_e1
        i += 1


def replace_pose(row: Line, robot: Robot) -> Line:
    """The pose of a line for the tool the robot of this test has."""
    if row.point is None or b"X " not in row.content[: row.content.index(b"}")]:
        return row
    new = fields("XYZABC", told(robot, row.point, "kuka", frame_of(BASE, "kuka")), 9).encode()
    return Line(re.sub(rb"X [^;]*?(?=,S)", new, row.content, count=1), row.point)


INLINE = """&ACCESS RVP
&REL 4
&COMMENT Schwei\xdfnaht
DEF job( )
;FOLD INI;%{PE}
BAS (#INITMOV,0 )
;ENDFOLD (INI)
;FOLD PTP P1 Vel=100 % PDAT1 Tool[1]:Fr\xe4ser Base[3]:Tisch;%{PE}%R 8.3.31,%MKUKATPBASIS,%CMOVE,%VPTP
$BWDSTART=FALSE
PDAT_ACT=PPDAT1
FDAT_ACT=FP1
BAS(#PTP_PARAMS,100)
PTP XP1
;ENDFOLD
;FOLD SLIN P2 Vel=0.5 m/s CPDAT1 Tool[1]:Fr\xe4ser Base[3]:Tisch;%{PE}
SLIN XP2 WITH $VEL=SVEL_CP(0.5, , LCPDAT1), $TOOL=STOOL2(FP1), $BASE=SBASE(FP1.BASE_NO)
;ENDFOLD
END
"""


def test_inline_forms_take_base_and_tool_by_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = read_robot(arm_file(tmp_path))
    base, tool = frame_of(BASE, "kuka"), frame_of(TOOL, "kuka")
    q = some_joints(robot, 2, seed=11)
    (tmp_path / "job.src").write_bytes(INLINE.replace("\n", "\r\n").encode("cp1252"))
    dat = "DEFDAT JOB PUBLIC\r\n"
    dat += "".join(f"DECL E6POS XP{i + 1}={e6pos(robot, q[:, i], base, tool, 6)}\r\n" for i in range(2))
    dat += 'DECL FDAT FP1={TOOL_NO 1,BASE_NO 3,IPO_FRAME #BASE,POINT2[] " ",TQ_STATE FALSE}\r\n'
    dat += "DECL PDAT PPDAT1={VEL 100.000,ACC 100.000,APO_DIST 100.000,GEAR_JERK 50.0000}\r\nENDDAT\r\n"
    (tmp_path / "job.dat").write_bytes(dat.encode())
    run(tmp_path, code=2)
    said = capsys.readouterr().err
    assert "BASE_DATA[3]" in said
    assert "--tool 1=file" in said
    assert not (tmp_path / "out" / "job.src").exists()
    numbers = [",".join(map(str, frame)) for frame in (BASE, TOOL)]
    output = run(tmp_path, "--base", f"3={numbers[0]}", "--tool", f"1={numbers[1]}")
    assert output.read_bytes() == (tmp_path / "job.src").read_bytes()
    text = output.with_suffix(".dat").read_text()
    wanted = as_table(tmp_path, robot, q)
    for i, line in enumerate(text.splitlines()[1:3]):
        assert_there(robot, numbers_in(line), wanted[:, i], base, tool)
    assert text.splitlines()[3:] == dat.splitlines()[3:]


def test_what_cannot_be_understood_is_left_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = read_robot(arm_file(tmp_path))
    q = some_joints(robot, 1, seed=4)[:, 0]
    pose = e6pos(robot, q, None, None)
    rows = [
        "DEF job()", "$BASE=$NULLFRAME", "$TOOL={X 0,Y 0,Z 10,A 0,B 0,C 0}", f"PTP {e6axis(robot, q)}", f"LIN {pose}",
        "LIN XFAR", "LIN XMOVED", "LIN {X 10.0,Y dy,Z 0.0,A 0.0,B 0.0,C 0.0}", "LIN XGOOD:{X 0,Y 0,Z 5,A 0,B 0,C 0}",
        "XMOVED.Z=XMOVED.Z+1", "PTP $AXIS_ACT", "LIN_REL {X 5.0}", "PTP {A1 10.0}", "$BASE=$BASE:XOFF", "LIN XGOOD",
        "$IPO_MODE=#TCP", "LIN XTCP", "END",
    ]  # fmt: skip
    (tmp_path / "job.src").write_text("\n".join(rows) + "\n")
    points = [f"DECL E6POS {name}={pose}" for name in ("XMOVED", "XGOOD", "XTCP", "XNEVER")]
    (tmp_path / "job.dat").write_text("\n".join(["DEFDAT job", *points, "ENDDAT"]) + "\n")
    output = run(tmp_path, "--json")
    document = json.loads(capsys.readouterr().out)
    left = {one["point"]: one["why"] for one in document["left"]}
    assert document["corrected"] == ["row 4", "row 5"]
    assert set(left) == {
        "XFAR",
        "XMOVED",
        "row 8",
        "XGOOD:{X 0,Y 0,Z 5,A 0,B 0,C 0}",
        "row 12",
        "row 13",
        "XGOOD",
        "XTCP",
        "XNEVER",
    }
    assert "row 10" in left["XMOVED"]
    assert "Y" in left["row 8"]
    assert "$BASE" in left["XGOOD"]
    assert "#TCP" in left["XTCP"]
    after = output.read_text().splitlines()
    assert [i for i, (a, b) in enumerate(zip(rows, after, strict=True)) if a != b] == [3, 4]
    assert output.with_suffix(".dat").read_bytes() == (tmp_path / "job.dat").read_bytes()


def test_numbers_keep_their_style(tmp_path: Path) -> None:
    robot = read_robot(arm_file(tmp_path))
    text = "DEF job()\nPTP {A1 +10,A2 -75.500000000,A3 95.0,A4 3,A5 4.0E+01,A6 5,E1 100,E2 1.5E-03}\nEND\n"
    (tmp_path / "job.src").write_text(text)
    found = run(tmp_path).read_text()
    values = dict(re.findall(r"([AE]\d) ([^,}]+)", found))
    wanted = np.degrees(as_table(tmp_path, robot, np.deg2rad([[10, -75.5, 95, 3, 40, 5]]).T)[:, 0])
    assert values["A1"] == f"+{wanted[0]:.6f}"
    assert values["A2"] == f"{wanted[1]:.9f}"
    assert values["A3"] == f"{wanted[2]:.6f}"
    assert values["E1"] == "100"
    assert values["E2"] == "1.5E-03"


@pytest.mark.parametrize(("content", "name", "options", "says"), [
    (b"DEF job()\nEND\n", "job.src", (), "no point that could be corrected"),
    (b"DEF job()\nPTP {A1 0}\nEND\n", "job.src", (), "no point that could be corrected"),
    (b"D\0E\0F\0", "job.src", (), "bytes of zero"),
    (b"DEF job()\nPTP {A1 0,A2 -75,A3 95,A4 3,A5 40,A6 5}\n", "job.src", ("--to", "rapid"), "its own language"),
    (b"MODULE m\nPROC a()\nMoveL [[1,2,3],[1,1,1,1],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]],v1,fine,tool0;\n", "job.mod",
     (), "quaternion"),
    (b"MODULE m\nPROC a()\nMoveL [[1,2,3],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]],v1,fine,tX\\WObj:=wX;\n",
     "job.mod", (), "--base wX="),
    (b"MODULE m" + b"[" * 5000, "job.mod", (), "no point"),
])  # fmt: skip
def test_what_is_no_program_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, name: str, options: tuple[str, ...], says: str
) -> None:
    arm_file(tmp_path)
    (tmp_path / name).write_bytes(content)
    output = run(tmp_path, *options, code=2, program=name)
    assert says in capsys.readouterr().err
    assert not output.exists()


def test_a_program_is_not_written_over_itself_nor_corrected_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = arm_file(tmp_path)
    text = b"DEF job()\r\nPTP {A1 10,A2 -75,A3 95,A4 3,A5 40,A6 5}\r\nEND\r\n"
    (tmp_path / "job.src").write_bytes(text)
    (tmp_path / "job.dat").write_bytes(b"DEFDAT job\r\nENDDAT\r\n")
    command = ["compensate", str(arm), str(tmp_path / "job.src"), "-o"]
    assert main([*command, str(tmp_path / "job.src")]) == 2
    assert main([*command, str(tmp_path / "job.mod")]) == 2
    assert "ending in .src" in capsys.readouterr().err
    robot = read_robot(arm)
    write_robot(replace(robot, controller=Controller("kuka", "unknown")), arm)
    assert main([*command, str(tmp_path / "new.src")]) == 2
    assert "corrected twice" in capsys.readouterr().err
    assert not (tmp_path / "new.src").exists()
    assert main([*command, str(tmp_path / "new.src"), "--allow-absolute-accuracy"]) == 0
    rows = (tmp_path / "new.src").read_bytes().split(b"\r\n")
    assert rows[0] == b"DEF job()"
    assert rows[1].startswith(b"; MAY BE CORRECTED TWICE")
    assert rows[3:] == [b"END", b""]
    assert (tmp_path / "job.src").read_bytes() == text


def test_points_out_of_reach_are_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arm_file(tmp_path)
    (tmp_path / "job.src").write_text("DEF job()\nPTP {A1 10,A2 -75,A3 95,A4 3,A5 40,A6 5}\nPTP XFAR\nEND\n")
    far = "DECL E6POS XFAR={X 9000.0,Y 0.0,Z 0.0,A 0.0,B 0.0,C 0.0,S 2,T 2}"
    (tmp_path / "job.dat").write_text(f"DEFDAT job\n{far}\nENDDAT\n")
    output = run(tmp_path, "--json", code=1)
    document = json.loads(capsys.readouterr().out)
    assert [one["reason"].split(":")[0] for one in document["refused"]] == ["XFAR"]
    assert document["written"] == []
    assert not output.exists()


def test_configurations_nobody_watches_are_not_heeded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ConfL and ConfJ off a module's configurations say nothing: the arm stays on the way it is on."""
    robot = read_robot(arm_file(tmp_path, "irb6700-235"))
    q = np.deg2rad([[10.0, 20, 10, 30, 50, 20], [12.0, 22, 8, 25, 55, 10]]).T
    start = ",".join(repr(float(v)) for v in np.degrees(q[:, 0]))
    pose = [f"{v:.9f}" for v in told(robot, q[:, 1], "abb")]
    frame = [f"{v:.9f}" for v in numbers_of(rigid(placed(robot.tool.placement)), "abb")]
    for watch, same in (("", False), ("    ConfL\\Off;\n    ConfJ \\Off;\n", True)):
        module = f"""MODULE job
  PERS tooldata t:=[TRUE,[[{",".join(frame[:3])}],[{",".join(frame[3:])}]],[1,[0,0,1],[1,0,0,0],0,0,0]];
  PROC main()
{watch}    MoveAbsJ [[{start}],[9E9,9E9,9E9,9E9,9E9,9E9]],v100,fine,t;
    MoveL [[{",".join(pose[:3])}],[{",".join(pose[3:])}],[0,2,-2,1],[9E9,9E9,9E9,9E9,9E9,9E9]],v100,fine,t;
  ENDPROC
ENDMODULE
"""
        (tmp_path / "job.mod").write_text(module)
        text = run(tmp_path, program="job.mod").read_text()
        # cfx 1 is the wrist turned over: the springs give way alike, so that the way itself is looked at
        meant = placed_program(read_program(tmp_path / "job.mod"), Cell(), robot, ArmModel.of(robot).at()).source.q
        assert meant is not None
        assert (meant[4, 1] > 0.0) == same
        assert (np.abs(meant[:, 1] - q[:, 1]).max() < 1e-9) == same
        assert "[0,2,-2,1]" in text
    capsys.readouterr()


def test_a_turn_bit_at_its_bound_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    robot = read_robot(arm_file(tmp_path))
    q = np.deg2rad([0.0, -75, 95, 0, 40, 0])
    (tmp_path / "job.src").write_text(f"DEF job()\n$BASE=$NULLFRAME\nPTP {e6pos(robot, q, None, None)}\nEND\n")
    command = [
        "compensate",
        str(tmp_path / "arm.robot.toml"),
        str(tmp_path / "job.src"),
        "-o",
        str(tmp_path / "new.src"),
    ]
    assert main([*command, "--force", "0,0,-500N"]) == 0
    said = capsys.readouterr().err
    assert "stands at a bound" in said
    assert "states no tool" in said


PARTS = """
DEF job()|PTP|LIN |CIRC|XP1|{|}|[|]|X 1e999|X 1.0,Y 2,Z 3,A 4,B 5,C 6|A1 0|S 1e999|,|=|:=|;|!|"|$BASE=|$TOOL={
|FDAT_ACT=FP1|FP1={TOOL_NO 1e999,BASE_NO 3}|BAS(#BASE,2)|MODULE m|CONST robtarget p:=|MoveL p,v1,z1,t\\WObj:=w;
|MoveC |PERS tooldata t:=[TRUE,[[1,2,3],[0,0,0,0]],|[[1,2,3],[1,0,0,0],[0,0,0,0],[9E9,9E9,9E9,9E9,9E9,9E9]]
|DECL E6POS XP1={|\xe4|PERS wobjdata w:=[FALSE,TRUE,"",|PTP {A1 1,A2 -70,A3 90,A4 1,A5 30,A6 0}
|MoveAbsJ [[0,0,0,0,30,0],[9E9,9E9]],v1,fine,t;
"""
WORDS = st.sampled_from(PARTS.split("|"))


@given(st.lists(WORDS, max_size=30).map(" ".join), st.sampled_from(["src", "mod"]))
@settings(max_examples=150, deadline=None)
def test_no_text_confuses_the_readers(tmp_path_factory: pytest.TempPathFactory, text: str, ending: str) -> None:
    """Whatever stands in a file: it is read, or refused in words."""
    path = tmp_path_factory.getbasetemp() / f"any.{ending}"
    path.write_bytes(text.encode())
    program = read_program(path)
    with suppress(InputError):
        placed_program(program, Cell(), ROBOT, ArmModel.of(ROBOT).at())
    assert program.files[0].text.encode("latin-1") == text.encode()


def test_points_of_every_type_are_read_and_a_byte_order_mark_stays_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = arm_file(tmp_path)
    robot = read_robot(arm)
    write_robot(replace(robot, controller=replace(robot.controller, absolute_accuracy="unknown")), arm)
    q = some_joints(robot, 1, seed=14)[:, 0]
    pose, (s, t) = fields("XYZABC", told(robot, q, "kuka")), status(robot, q)
    rows = [
        "DEF job ( ) ; größer",
        "$BASE=$NULLFRAME",
        "$TOOL=TOOL_DATA[1]",
        "PTP XQ",
        "LIN XF",
        "LIN P[3] C_DIS",
        "END",
    ]
    points = [
        f"GLOBAL POS XQ={{{pose},S {s},T {t}}}",
        f"DECL FRAME XF={{{pose}}}",
        f"P[ 3 ]={{{pose},S {s},T {t},E1 0}}",
    ]
    (tmp_path / "job.src").write_bytes("\n".join(rows).encode("utf-8-sig"))
    (tmp_path / "job.dat").write_text("\n".join(["DEFDAT job", "DECL E6POS P[3]", *points, "ENDDAT"]))
    output = run(tmp_path, "--tool", "1=file", "--allow-absolute-accuracy")
    after = output.read_bytes().decode("utf-8-sig").split("\n")
    assert [after[0], *after[2:]] == rows
    assert after[1].startswith("; MAY BE CORRECTED TWICE")
    write_robot(robot, arm)
    wanted = as_table(tmp_path, robot, q[:, None])[:, 0]
    for line in output.with_suffix(".dat").read_text().splitlines()[2:5]:
        assert_there(robot, numbers_in(line), wanted, None, None)
    capsys.readouterr()
