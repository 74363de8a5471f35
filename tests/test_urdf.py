"""URDF in and out, against a reference FK written here, Pinocchio and yourdfpy."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import (
    SIX_AXIS,
    Matrix,
    assert_same_poses,
    configurations,
    placed,
    placements,
    reference_fk,
    robots,
    shift,
    turn,
)
from stiffarm.errors import InputError, StiffarmWarning
from stiffarm.robot.arm import (
    AxisPlacement,
    BodyPoint,
    Coupling,
    Joint,
    Placement,
    Robot,
    Tool,
    Vector3,
)
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.placement import Rigid
from stiffarm.robot.reading import read_robot
from stiffarm.robot.urdf import placement_of, read_urdf, read_urdf_chain
from stiffarm.robot.urdf_write import write_calibrated_urdf, write_urdf


def pinocchio_fk(pin: ModuleType, path: Path, names: tuple[str, ...], qs: Matrix, frame: str) -> list[Matrix]:
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    poses = []
    for values in qs:
        q = pin.neutral(model)
        for name, value in zip(names, values, strict=True):
            joint = model.joints[model.getJointId(name)]
            q[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
        pin.framesForwardKinematics(model, data, q)
        poses.append(data.oMf[model.getFrameId(frame)].homogeneous.copy())
    return poses


def yourdfpy_fk(path: Path, names: tuple[str, ...], qs: Matrix, frame: str) -> list[Matrix]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("yourdfpy")
        urdf = module.URDF.load(str(path), load_meshes=False, build_scene_graph=True)
        poses = []
        for values in qs:
            urdf.update_cfg(dict(zip(names, values, strict=True)))
            poses.append(np.array(urdf.get_transform(frame)))
    return poses


# --- writing a robot ---------------------------------------------------------------------------------------


@given(robot=robots(), seed=st.integers(0, 1000))
@settings(max_examples=60)
def test_a_random_chain_keeps_its_kinematics(robot: Robot, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("urdf") / "robot.urdf"
    write_urdf(robot, path)
    again = read_urdf(path)
    assert again.joint_names == robot.joint_names
    assert [joint.limits for joint in again.joints] == [joint.limits for joint in robot.joints]
    qs = configurations(robot, seed)
    assert_same_poses([reference_fk(again, q) for q in qs], [reference_fk(robot, q) for q in qs])


@given(robot=robots(), seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_other_readers_see_the_same_random_chain(
    robot: Robot, seed: int, pinocchio: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("urdf") / "robot.urdf"
    write_urdf(robot, path)
    qs = configurations(robot, seed)
    truth = [reference_fk(robot, q) for q in qs]
    assert_same_poses(pinocchio_fk(pinocchio, path, robot.joint_names, qs, "tool0"), truth)
    assert_same_poses(yourdfpy_fk(path, robot.joint_names, qs[:5], "tool0"), truth[:5])


def test_a_six_axis_arm_in_other_readers(pinocchio: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "six.urdf"
    write_urdf(SIX_AXIS, path)
    qs = configurations(SIX_AXIS, 1)
    truth = [reference_fk(SIX_AXIS, q) for q in qs]
    assert_same_poses(pinocchio_fk(pinocchio, path, SIX_AXIS.joint_names, qs, "tool0"), truth)
    assert_same_poses(yourdfpy_fk(path, SIX_AXIS.joint_names, qs, "tool0"), truth)
    assert_same_poses([reference_fk(read_urdf(path), q) for q in qs], truth)


@pytest.mark.parametrize("name", packaged_robots())
def test_a_packaged_robot_in_other_readers(name: str, pinocchio: ModuleType, tmp_path: Path) -> None:
    robot = read_robot(name)
    path = tmp_path / "packaged.urdf"
    if any(joint.couples_to for joint in robot.joints):
        with pytest.raises(InputError, match="couples_to"):
            write_urdf(robot, path)
        robot = replace(robot, joints=tuple(replace(joint, couples_to=None) for joint in robot.joints))
    write_urdf(robot, path)
    qs = configurations(robot, 6)
    truth = [reference_fk(robot, q) for q in qs]
    assert_same_poses([reference_fk(read_urdf(path), q) for q in qs], truth)
    assert_same_poses(pinocchio_fk(pinocchio, path, robot.joint_names, qs, "tool0"), truth)
    assert_same_poses(yourdfpy_fk(path, robot.joint_names, qs, "tool0"), truth)


def test_markers_stand_on_their_bodies(pinocchio: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "six.urdf"
    write_urdf(SIX_AXIS, path)
    qs = configurations(SIX_AXIS, 2)
    flange = replace(SIX_AXIS, tool=Tool())
    truth = [reference_fk(flange, q) @ shift((0.15, 0.0, 0.05)) for q in qs]
    assert_same_poses(pinocchio_fk(pinocchio, path, SIX_AXIS.joint_names, qs, "P1"), truth)
    forearm = replace(SIX_AXIS, joints=SIX_AXIS.joints[:3], flange=Placement(), tool=Tool())
    truth = [reference_fk(forearm, q[:3]) @ shift((0.0, 0.1, 0.2)) for q in qs]
    assert_same_poses(pinocchio_fk(pinocchio, path, SIX_AXIS.joint_names, qs, "elbow"), truth)


def test_masses_reach_other_readers_and_come_back(pinocchio: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "six.urdf"
    write_urdf(SIX_AXIS, path)
    model = pinocchio.buildModelFromUrdf(str(path))
    again = read_urdf(path)
    for joint, inertia in zip(again.joints, list(model.inertias)[1:], strict=True):
        assert joint.mass == pytest.approx(inertia.mass, rel=1e-14)
        np.testing.assert_allclose(joint.com, inertia.lever, atol=1e-14)
    assert [joint.mass for joint in again.joints] == [10.0, 11.0, 12.0, 13.0, 14.0, 22.0]
    assert [joint.com for joint in again.joints[:5]] == [joint.com for joint in SIX_AXIS.joints[:5]]


def test_a_written_file_read_and_written_again_is_the_same(tmp_path: Path) -> None:
    plain = replace(SIX_AXIS, base=Placement(), tool=Tool())
    write_urdf(plain, tmp_path / "one.urdf")
    write_urdf(read_urdf(tmp_path / "one.urdf", tip="flange"), tmp_path / "two.urdf")
    one, two = ((tmp_path / name).read_text(encoding="utf-8") for name in ("one.urdf", "two.urdf"))
    assert one.split("</robot>")[0].split("\n", 2)[2] == two.split("</robot>")[0].split("\n", 2)[2]


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        (Joint("A1", "revolute", AxisPlacement(), couples_to=Coupling("A2", 1.0)), "couples_to"),
        (Joint("A1", "prismatic", AxisPlacement()), "limits"),
    ],
)
def test_what_a_urdf_cannot_say_is_refused(joint: Joint, words: str, tmp_path: Path) -> None:
    path = tmp_path / "no.urdf"
    with pytest.raises(InputError, match=words):
        write_urdf(Robot("r", (joint, Joint("A2", "revolute", AxisPlacement()))), path)
    assert list(tmp_path.iterdir()) == []


def test_names_do_not_collide(pinocchio: ModuleType, tmp_path: Path) -> None:
    joints = (Joint("tool0_joint", "revolute", AxisPlacement()), Joint("base_link", "revolute", AxisPlacement()))
    robot = Robot("r & <r>", joints, tool=Tool(markers=(BodyPoint("base_link_link", (1.0, 0.0, 0.0)),)))
    write_urdf(robot, tmp_path / "r.urdf")
    assert read_urdf(tmp_path / "r.urdf").name == "r & <r>"
    frames = [frame.name for frame in pinocchio.buildModelFromUrdf(str(tmp_path / "r.urdf")).frames]
    assert len(frames) == len(set(frames))


# --- folding -----------------------------------------------------------------------------------------------


@given(first=placements, second=placements, third=placements)
@settings(max_examples=300)
def test_a_product_of_placements_is_one_placement_to_rounding(
    first: Placement, second: Placement, third: Placement
) -> None:
    product = Rigid.of(first) @ Rigid.of(second) @ Rigid.of(third)
    again = placed(placement_of(product))
    assert np.abs(again[:3, :3] - product.rotation).max() < 2e-15
    assert again[:3, 3].tolist() == product.translation.tolist()


@pytest.mark.parametrize("distance", [0.0, 1e-16, 1e-13, 1e-10, 1e-8, 1e-5])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_near_gimbal_lock_a_rotation_survives(distance: float, side: float) -> None:
    rotation = placed(Placement(rpy=(0.7, side * (math.pi / 2 - distance), -2.1)))[:3, :3]
    again = placed(placement_of(Rigid(rotation, np.zeros(3))))[:3, :3]
    assert np.abs(again - rotation).max() < 1e-15


# --- reading -----------------------------------------------------------------------------------------------

ARM = """<?xml version="1.0" encoding="UTF-8"?>
<robot name="arm">
  <link name="base"><inertial><mass value="99"/></inertial></link>
  <link name="plate"/>
  <joint name="bolts" type="fixed"><parent link="base"/><child link="plate"/>
    <origin xyz="0.1 0 0.2" rpy="0.3 1.5707963267948966 0.4"/></joint>
  <link name="upper"><inertial><origin xyz="0.1 0.2 0.3"/><mass value="2.5"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="plate"/><child link="upper"/>
    <origin xyz="0 0 0.3" rpy="0 0.5 0"/><axis xyz="0 3 4"/>
    <limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <link name="motor"><inertial><origin xyz="0 0 0.05"/><mass value="1.5"/></inertial></link>
  <joint name="screws" type="fixed"><parent link="upper"/><child link="motor"/>
    <origin xyz="0 0.4 0" rpy="0 0 1"/></joint>
  <link name="fan"><inertial><origin xyz="0.01 0 0"/><mass value="0.5"/></inertial></link>
  <joint name="clip" type="fixed"><parent link="motor"/><child link="fan"/><origin xyz="0 0 0.1" rpy="1 0 0"/></joint>
  <link name="slide"><inertial><origin xyz="0 0 0.3" rpy="1 2 3"/><mass value="4"/></inertial></link>
  <joint name="rail" type="prismatic"><parent link="upper"/><child link="slide"/><origin xyz="1 0 0"/>
    <limit lower="0" upper="0.5" effort="1" velocity="1"/></joint>
  <link name="hand"/>
  <joint name="wrist" type="continuous"><parent link="slide"/><child link="hand"/><axis xyz="0 0 -1"/></joint>
  <link name="tcp"><inertial><mass value="0.25"/></inertial></link>
  <joint name="tool" type="fixed"><parent link="hand"/><child link="tcp"/><origin xyz="0 0 0.1" rpy="0 0 0.2"/></joint>
  <transmission name="t"><joint name="shoulder"/></transmission>
</robot>
"""


def saved(tmp_path: Path, text: str | bytes, name: str = "arm.urdf") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def test_reading_agrees_with_other_readers(pinocchio: ModuleType, tmp_path: Path) -> None:
    path = saved(tmp_path, ARM)
    robot = read_urdf(path)
    assert robot.source is not None
    assert (robot.convention, robot.source.base, robot.source.tip) == ("urdf", "base", "tcp")
    assert [joint.kind for joint in robot.joints] == ["revolute", "prismatic", "revolute"]
    assert [joint.limits for joint in robot.joints] == [(-1.0, 2.0), (0.0, 0.5), None]
    qs = configurations(robot, 3)
    poses = [reference_fk(robot, q) for q in qs]
    assert_same_poses(poses, pinocchio_fk(pinocchio, path, robot.joint_names, qs, "tcp"))
    assert_same_poses(poses, yourdfpy_fk(path, robot.joint_names, qs, "tcp"))
    model = pinocchio.buildModelFromUrdf(str(path))
    for joint, inertia in zip(robot.joints, list(model.inertias)[1:], strict=True):
        assert joint.mass == pytest.approx(inertia.mass, abs=1e-14)
        np.testing.assert_allclose(joint.com, inertia.lever, atol=1e-14)


def test_a_part_of_the_chain(tmp_path: Path) -> None:
    path = saved(tmp_path, ARM)
    with pytest.warns(StiffarmWarning, match="what moves with joint wrist"):
        joints, flange = read_urdf_chain(path, "plate", "slide")
    assert [joint.name for joint in joints] == ["shoulder", "rail"]
    assert joints[0].geometry == AxisPlacement(Placement((0.0, 0.0, 0.3), (0.0, 0.5, 0.0)), (0.0, 0.6, 0.8))
    assert flange == Placement()
    assert joints[1].mass == 4.0  # the hand turns against the slide


def test_tool0_is_the_tip_and_a_longest_branch_is_said(tmp_path: Path) -> None:
    def fixed(name: str, parent: str) -> str:
        joint = f'<joint name="{name}_j" type="fixed"><parent link="{parent}"/><child link="{name}"/></joint>'
        return f'<link name="{name}"/>{joint}</robot>'

    camera = ARM.replace("</robot>", fixed("camera", "hand")).replace("</robot>", fixed("optics", "camera"))
    with pytest.warns(StiffarmWarning, match="'optics' is taken as the tip.* tcp"):
        robot = read_urdf(saved(tmp_path, camera))
    assert robot.source is not None
    assert robot.source.tip == "optics"
    robot = read_urdf(saved(tmp_path, camera.replace('"tcp"', '"tool0"')))
    assert robot.source is not None
    assert robot.source.tip == "tool0"
    with pytest.raises(InputError, match=r"equally far.*tcp, camera"):
        read_urdf(saved(tmp_path, ARM.replace("</robot>", fixed("camera", "hand"))))


MESH = '<visual><geometry><mesh filename="../../x.stl"/></geometry></visual>'


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('<axis xyz="0 0 -1"/>', '<axis xyz="0 0 -1"/><mimic joint="rail"/>', r"row 20, joint\[wrist\]: <mimic>"),
        ('<limit lower="0" upper="0.5" effort="1" velocity="1"/>', "", r"joint\[rail\]: the file gives no limits"),
        ('<link name="hand"/>', f'<link name="hand">{MESH}</link>', "outside the folder"),
        ('"clip" type="fixed"', '"clip" type="continuous"', "moves with joint clip"),
    ],
)
def test_what_is_left_out_is_said(old: str, new: str, words: str, tmp_path: Path) -> None:
    with pytest.warns(StiffarmWarning, match=words):
        read_urdf(saved(tmp_path, ARM.replace(old, new)), tip="tcp")


def edited(old: str, new: str) -> str:
    assert old in ARM
    return ARM.replace(old, new)


LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>\n<robot name="&b;"/>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]>\n<robot name="&x;"/>'
JOINT = '<joint name="{}" type="fixed"><parent link="{}"/><child link="{}"/></joint>'
LOOP = '<link name="u"/><link name="v"/>' + JOINT.format("uv", "u", "v") + JOINT.format("vu", "v", "u") + "</robot>"

BAD: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "the file is empty"),
    "blank": (" \n\n", "the file is empty"),
    "not xml": ("name,x[mm]\n1,2\n", r"row 1: this is not an XML file; found: 'name,x\[mm\]'"),
    "binary": (b"\x00\x01\x02\xff" * 20, "not an XML file"),
    "cut short": (ARM[:700], "row 12: the file is not well-formed XML"),
    "crossed tags": (edited('</link>\n  <link name="plate"/>', "</lonk>"), r"row 3: the file is not well-formed XML"),
    "wrong bytes": (ARM.replace("plate", "plätte").encode("latin-1"), "row 4: the file is not well-formed XML"),
    "unknown encoding": (ARM.replace("UTF-8", "klingon").encode(), "encoding|well-formed"),
    "undefined entity": (edited('name="arm"', 'name="&arm;"'), "row 2: .*undefined entity"),
    "billion laughs": (LAUGHS, r"row 1: the file declares a document type.*never expanded"),
    "outside entity": (OUTSIDE, r"row 1: the file declares a document type"),
    "sdf": ('<sdf version="1.7"><model/></sdf>', "not a URDF; found: <sdf>.* SDF"),
    "xacro element": (
        edited("</robot>", '<xacro:include filename="a"/></robot>'),
        "row 24: this is a xacro.*Run xacro",
    ),
    "xacro value": (
        edited("0.1 0 0.2", "${a} 0 0.2"),
        r"row 6: this is a xacro file, not yet a URDF; found: '\$\{a\} 0 0.2'",
    ),
    "no links": ('<robot name="a"/>', "describes no link"),
    "joint without name": (edited('name="bolts" ', ""), "row 5, column joint: <joint> needs the attribute 'name'"),
    "link without name": (
        edited('<link name="plate"/>', "<link/>"),
        "row 4, column link: <link> needs the attribute 'name'",
    ),
    "joint without type": (edited('name="bolts" type="fixed"', 'name="bolts"'), r"joint\[bolts\]: .*attribute 'type'"),
    "unknown type": (
        edited('"revolute"', '"revolut"'),
        r"joint\[shoulder\].*found: 'revolut'.*Did you mean 'revolute'\?",
    ),
    "no parent": (edited('<parent link="plate"/>', ""), r"row 8, column joint\[shoulder\]: the joint has no <parent"),
    "child without link": (edited('<child link="upper"/>', "<child/>"), r"joint\[shoulder\].child: <child> needs"),
    "nan": (
        edited('0 0 0.3" rpy="0 0.5 0', '0 nan 0.3" rpy="0 0.5 0'),
        r"row 9, column joint\[shoulder\].origin: 'xyz' cannot be read; found: '0 nan 0.3'; allowed: 3 numbers",
    ),
    "infinite": (edited('lower="-1"', 'lower="-inf"'), r"joint\[shoulder\].limit: 'lower' cannot be read"),
    "comma": (edited("0.1 0 0.2", "0,1 0 0,2"), r"row 6, column joint\[bolts\].origin: 'xyz' cannot be read"),
    "two numbers": (edited("0.1 0 0.2", "0.1 0"), r"joint\[bolts\].origin.*3 numbers"),
    "no direction": (edited("0 3 4", "0 0 0"), r"joint\[shoulder\].axis: the axis has no direction"),
    "limits without range": (
        edited('lower="-1" upper="2"', 'lower="2" upper="2"'),
        r"limit: the limits leave no range",
    ),
    "limits huge": (edited('lower="-1"', 'lower="-1e300"'), r"joint\[shoulder\].limit: 'lower' cannot be read"),
    "angle in degrees": (
        edited('rpy="0 0.5 0"', 'rpy="0 90 0"'),
        r"row 9, column joint\[shoulder\].origin: .*two turns",
    ),
    "angle huge": (edited('rpy="0 0.5 0"', 'rpy="0 1e300 0"'), r"row 9, .*'rpy' cannot be read"),
    "digits of another script": (edited("0.1 0 0.2", "\u0661 0 0.2"), r"row 6, .*'xyz' cannot be read"),
    "digits with an underscore": (edited("0.1 0 0.2", "1_0 0 0.2"), r"row 6, .*'xyz' cannot be read"),
    "hexadecimal": (edited("0.1 0 0.2", "0x1 0 0.2"), r"row 6, .*'xyz' cannot be read"),
    "mass infinite": (edited('value="2.5"', 'value="inf"'), r"link\[upper\].inertial.mass: 'value' cannot be read"),
    "mass a word": (edited('value="2.5"', 'value="heavy"'), r"row 7, .*found: 'heavy'"),
    "axis a word": (edited("0 3 4", "z"), r"row 9, column joint\[shoulder\].axis: 'xyz' cannot be read; found: 'z'"),
    "junk behind": (ARM + "<robot/>", "row 25: .*junk after document element"),
    "declaration not first": ("\n" + ARM, "row 2: .*declaration not at start"),
    "attribute twice": (edited('name="arm"', 'name="arm" name="b"'), "row 2: .*duplicate attribute"),
    "UTF-16 that says UTF-8": (ARM.encode("utf-16"), "row 1: .*encoding specified"),
    "laughs of the outside": ('<!DOCTYPE r SYSTEM "http://x/r.dtd"><robot name="a"/>', "document type"),
    "limits crossed": (edited('lower="-1"', 'lower="3"'), r"joint\[shoulder\].limit: the lower limit is above"),
    "negative mass": (edited('value="2.5"', 'value="-2.5"'), r"link\[upper\].inertial.mass: a mass cannot be negative"),
    "mass without value": (edited('<mass value="2.5"/>', "<mass/>"), r"link\[upper\].inertial.mass: <mass> needs"),
    "two origins": (
        edited('<origin xyz="1 0 0"/>', '<origin xyz="1 0 0"/><origin/>'),
        r"joint\[rail\].origin: <origin> .*second",
    ),
    "joint twice": (edited('"rail" type', '"shoulder" type'), r"joint\[shoulder\]: a second joint has this name"),
    "link twice": (
        edited('<link name="plate"/>', '<link name="plate"/><link name="plate"/>'),
        r"row 4, column link\[plate\]",
    ),
    "unknown link": (
        edited('<parent link="plate"/>', '<parent link="plaet"/>'),
        r"joint\[shoulder\].parent.*'plaet'.*Did you mean 'plate'",
    ),
    "two parents": (
        edited("</robot>", JOINT.format("again", "base", "hand") + "</robot>"),
        "'hand' has two parents, by joints 'wrist' and 'again'",
    ),
    "itself": (
        edited("</robot>", '<link name="u"/>' + JOINT.format("uu", "u", "u") + "</robot>"),
        r"joint\[uu\]: the links form a loop",
    ),
    "loop": (edited("</robot>", LOOP), "the links form a loop"),
    "two roots": (edited("</robot>", '<link name="table"/></robot>'), "base is not clear; allowed: base, table"),
    "floating": (edited('"continuous"', '"floating"'), r"row 20, column joint\[wrist\]: a joint of type 'floating'"),
    "planar": (edited('"continuous"', '"planar"'), r"joint\[wrist\]: a joint of type 'planar'"),
    "nothing moves": ('<robot name="a"><link name="l"/></robot>', "no joint moves"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_gets_one_clear_message(text: str | bytes, words: str, tmp_path: Path) -> None:
    path = saved(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_urdf(path)
    message = str(caught.value)
    assert re.search(words, message, re.DOTALL), message
    assert message.startswith(str(path))
    assert "\n" not in message


def test_every_mistake_of_a_file_is_reported(tmp_path: Path) -> None:
    text = edited("0 3 4", "0 0 0").replace('value="4"', 'value="-4"').replace('"continuous"', '"turning"')
    with pytest.raises(InputError) as caught:
        read_urdf(saved(tmp_path, text))
    assert sorted(problem.row or 0 for problem in caught.value.problems) == [9, 16, 20]


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_urdf(tmp_path / "none.urdf")
    with pytest.raises(InputError, match="cannot be read"):
        read_urdf(tmp_path)


@pytest.mark.parametrize(
    ("base", "tip", "words"),
    [
        ("bsae", None, "to be the base; found: 'bsae'; allowed: base, plate.*Did you mean 'base'"),
        (None, "tpc", "to be the tip; found: 'tpc'"),
        ("hand", "upper", "'hand' does not carry link 'upper'; allowed: a base above the tip: base, plate"),
        ("hand", "tcp", "no joint moves between"),
        ("tcp", None, "no joint moves beyond"),
        ("base", "base", "does not carry"),
    ],
)
def test_a_wrong_choice_of_ends(base: str | None, tip: str | None, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        read_urdf(saved(tmp_path, ARM), base, tip)


def test_a_deep_file_is_read(tmp_path: Path) -> None:
    deep = edited("</robot>", "<gazebo>" * 20_000 + "</gazebo>" * 20_000 + "</robot>")
    assert len(read_urdf(saved(tmp_path, deep)).joints) == 3


# --- calibrated files --------------------------------------------------------------------------------------

ODD = """<?xml version='1.0' encoding='{encoding}'?>\r
<!-- Prüfstand für Köln: <origin xyz="9 9 9"/> -->\r
<robot\tname='Größe'>\r
  <link name="a"/><link name="b"/>\t<link name="c"/>  <link name="d"/>\r
  <joint type = 'revolute'\r
         name="Gelenk-ä">\r
    <!-- <origin xyz="1 1 1"/> -->\r
    <origin   rpy = '0.1  0.2 3e-1'   xyz="1.0   2 3" note="ü &gt; ö"  />\r
    <calibration rising="0.5"/><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><limit lower="-1" upper="1"/>\r
  </joint>\r
  <joint name="bare > one" type="continuous">\r
     <parent link="b"/><child link="c"/>\r
  </joint>\r
  <joint type="fixed" name="tool"><parent link="c"/><child link="d"/><origin xyz='0 0 1'></origin></joint>\r
  <gazebo reference="ä"><![CDATA[<origin xyz="7 7 7"/>]]></gazebo>\r
</robot>\r
<!-- end ß -->\r
"""
CORRECTIONS: dict[str, tuple[Vector3, Vector3]] = {
    "Gelenk-ä": ((1e-3, -2e-3, 5e-4), (1e-3, 2e-3, -3e-3)),
    "bare > one": ((1e-3, 0.0, 0.0), (0.0, 2e-3, 0.0)),
    "tool": ((0.0, 0.0, 1e-4), (0.0, 0.0, 0.1)),
}
ENCODINGS = ["utf-8", "utf-8-sig", "iso-8859-1", "windows-1252", "utf-16"]


def odd_file(tmp_path: Path, encoding: str) -> Path:
    return saved(tmp_path, ODD.format(encoding=encoding.removesuffix("-sig")).encode(encoding), "odd.urdf")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_calibrated_file_is_the_same_but_for_its_origins(encoding: str, tmp_path: Path) -> None:
    original, output = odd_file(tmp_path, encoding), tmp_path / "calibrated.urdf"
    write_calibrated_urdf(original, CORRECTIONS, output)
    number = r"[-+\d.e]+"
    three = rf"{number} {number} {number}"
    expected = re.escape(ODD.format(encoding=encoding.removesuffix("-sig")).encode(encoding).decode(encoding))
    holes = {
        "0.1  0.2 3e-1": three,
        "1.0   2 3": three,
        'type="continuous">': f'type="continuous">\r\n     <origin xyz="{three}" rpy="{three}"/>',
        "<origin xyz='0 0 1'>": f"<origin rpy=\"{three}\" xyz='{three}'>",
    }
    for old, new in holes.items():
        assert expected.count(re.escape(old)) == 1
        expected = expected.replace(re.escape(old), new)
    raw = output.read_bytes()
    assert re.fullmatch(expected, raw.decode(encoding))
    marks = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16": original.read_bytes()[:2]}
    assert raw.startswith(marks.get(encoding, b""))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calibrated.urdf", "odd.urdf"]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_corrections_multiply_from_the_right(encoding: str, tmp_path: Path) -> None:
    original, output = odd_file(tmp_path, encoding), tmp_path / "calibrated.urdf"
    write_calibrated_urdf(original, CORRECTIONS, output)
    before, after = read_urdf(original), read_urdf(output)
    for q in configurations(before, 4):
        pose = np.eye(4)
        for joint, value in zip(before.joints, q, strict=True):
            assert isinstance(joint.geometry, AxisPlacement)
            pose = pose @ placed(joint.geometry.origin) @ corrected(joint.name) @ turn(joint.geometry.axis, value)
        truth = pose @ placed(before.flange) @ corrected("tool")
        assert np.abs(reference_fk(after, q) - truth).max() < 5e-15


def corrected(name: str) -> Matrix:
    xyz, rotvec = CORRECTIONS[name]
    angle = math.hypot(*rotvec)
    return shift(xyz) @ turn(np.array(rotvec) / angle, angle)


def test_a_calibrated_file_in_another_reader(pinocchio: ModuleType, tmp_path: Path) -> None:
    original, output = saved(tmp_path, ARM), tmp_path / "calibrated.urdf"
    corrections = {"bolts": ((1e-3, 0.0, 0.0), (0.0, 0.0, 1e-3)), "rail": ((0.0, 1e-3, 0.0), (2e-3, 0.0, 0.0))}
    write_calibrated_urdf(original, corrections, output)
    robot = read_urdf(output)
    qs = configurations(robot, 5)
    poses = pinocchio_fk(pinocchio, output, robot.joint_names, qs, "tcp")
    assert_same_poses(poses, [reference_fk(robot, q) for q in qs])
    nominal = [reference_fk(read_urdf(original), q) for q in qs]
    assert min(np.abs(pose - truth).max() for pose, truth in zip(poses, nominal, strict=True)) > 1e-4


def test_a_zero_correction_changes_no_byte(tmp_path: Path) -> None:
    original, output = odd_file(tmp_path, "utf-8"), tmp_path / "calibrated.urdf"
    zero = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    write_calibrated_urdf(original, dict.fromkeys(CORRECTIONS, zero), output)
    assert output.read_bytes() == original.read_bytes()
    write_calibrated_urdf(original, {"tool": ((0.0, 0.0, 0.5), (0.0, 0.0, 0.0))}, output)
    assert output.read_bytes() == original.read_bytes().replace(b"'0 0 1'", b"'0.0 0.0 1.5'")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("tolo", 0.0, "no joint 'tolo' to correct.*Did you mean 'tool'"), ("tool", math.nan, "not finite")],
)
def test_a_correction_that_cannot_be_applied(name: str, value: float, words: str, tmp_path: Path) -> None:
    original, output = odd_file(tmp_path, "utf-8"), tmp_path / "calibrated.urdf"
    with pytest.raises(InputError, match=words):
        write_calibrated_urdf(original, {name: ((value, 0.0, 0.0), (0.0, 0.0, 0.0))}, output)
    assert not output.exists()


def test_the_original_is_never_overwritten(tmp_path: Path) -> None:
    original = odd_file(tmp_path, "utf-8")
    data = original.read_bytes()
    with pytest.raises(InputError, match="the output is the original"):
        write_calibrated_urdf(original, CORRECTIONS, original)
    with pytest.raises(InputError, match="cannot be written"):
        write_calibrated_urdf(original, CORRECTIONS, tmp_path / "no such folder" / "out.urdf")
    assert original.read_bytes() == data


# --- robots that can be read and not used ---------------------------------------------------------


def test_names_and_sizes_that_cannot_be_are_refused_with_their_row(tmp_path: Path) -> None:
    cases = {
        edited('"shoulder" type', '"shoul der" type'): r"row 8, column joint\[shoul der\]: a joint name .* Rename",
        edited('"rail" type', '"base" type'): r"row 17, column joint\[base\]: this joint name is reserved",
        edited('value="2.5"', 'value="1e9"'): r"units look wrong: .*found: 1e\+09 kg",
        edited("0.1 0 0.2", "1000 0 2000"): r"units look wrong by 1000; .*Lengths of a URDF are in m",
        edited('lower="-1" upper="2"', 'lower="-180" upper="180"'): "limits of every joint .*URDF are in rad",
    }
    for text, words in cases.items():
        path = saved(tmp_path, text)
        with pytest.raises(InputError, match=words) as caught:
            read_robot(path)
        assert str(caught.value).startswith(str(path))


def test_limits_of_zero_are_limits_nobody_gave(tmp_path: Path) -> None:
    with pytest.warns(StiffarmWarning, match="gives no limits"):
        robot = read_urdf(saved(tmp_path, edited('lower="-1" upper="2"', 'lower="0" upper="0"')))
    assert robot.joints[0].limits is None
