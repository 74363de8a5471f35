"""Conversions keep the robot: its kinematics, its frames, and what stands in them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chains import SIX_AXIS, assert_same_poses, configurations, one_joint, placed, reference_fk, robots
from stiffarm.errors import InputError, StiffarmWarning
from stiffarm.robot.arm import AxisPlacement, Coupling, DenavitHartenberg, Joint, Link, Placement, Robot
from stiffarm.robot.convert import Target, convert_robot, in_convention
from stiffarm.robot.reading import read_robot
from stiffarm.robot.urdf import read_urdf
from stiffarm.robot.urdf_write import write_urdf

TABLES = st.sampled_from(["dh", "mdh"])


@given(robot=robots(), target=TABLES, seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_every_table_becomes_frames_and_a_table_again(robot: Robot, target: Target, seed: int) -> None:
    qs = configurations(robot, seed)[:10]
    truth = [reference_fk(robot, q) for q in qs]
    frames = in_convention(robot, "frames")
    assert frames.convention == "frames"
    assert_same_poses([reference_fk(frames, q) for q in qs], truth)
    if robot.convention != "frames":
        for source in (frames, robot):
            table = in_convention(source, target)
            assert table.convention == target
            assert_same_poses([reference_fk(table, q) for q in qs], truth)


@pytest.mark.parametrize("target", ["dh", "mdh", "frames"])
def test_the_frame_after_each_joint_stays(target: Target) -> None:
    converted = in_convention(SIX_AXIS, target)
    for q in configurations(SIX_AXIS, 1)[:5]:
        for count in range(1, 7):
            frames = []
            for robot in (SIX_AXIS, converted):
                part = replace(
                    robot,
                    joints=robot.joints[:count],
                    flange=Placement(),
                    tool=replace(robot.tool, placement=Placement()),
                )
                pose = reference_fk(part, q[:count])
                if target == "dh" and robot is converted:
                    row = part.joints[-1].geometry
                    assert isinstance(row, DenavitHartenberg)
                    alone = replace(part, joints=(Joint("tail", "revolute", replace(row, theta=0.0, d=0.0)),))
                    pose = pose @ np.linalg.inv(one_joint(alone, alone.joints[0], 0.0))
                frames.append(pose)
            assert np.abs(frames[0] - frames[1]).max() < 1e-12


def test_a_table_keeps_its_digits_on_the_way_through_the_other() -> None:
    plain = replace(
        SIX_AXIS, joints=(replace(SIX_AXIS.joints[0], geometry=DenavitHartenberg(d=0.3)), *SIX_AXIS.joints[1:])
    )
    assert in_convention(in_convention(plain, "dh"), "mdh") == plain


def test_a_coupling_keeps_its_sense_when_the_axis_turns_over() -> None:
    down = AxisPlacement(Placement((0.0, 0.0, 0.5)), (0.0, 0.0, -1.0))
    along = AxisPlacement(Placement((0.4, 0.0, 0.0)), (0.0, 0.0, 1.0))
    joints = (
        Joint("A", "revolute", along),
        Joint("B", "revolute", down, couples_to=Coupling("A", 0.5)),
        Joint("C", "revolute", down, sign=-1, couples_to=Coupling("A", 0.5)),
    )
    table = in_convention(Robot("r", joints), "mdh")
    assert [(joint.sign, joint.couples_to) for joint in table.joints] == [
        (1, None),
        (-1, Coupling("A", -0.5)),
        (1, Coupling("A", -0.5)),
    ]


def test_what_stands_before_the_first_joint_moves_into_the_base() -> None:
    first = AxisPlacement(Placement((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    second = AxisPlacement(Placement((0.5, 0.0, 0.0), (math.pi / 2, 0.0, 0.0)))
    robot = Robot("r", (Joint("A", "revolute", first), Joint("B", "revolute", second)))
    table = in_convention(robot, "dh")
    np.testing.assert_allclose(placed(table.base), placed(first.origin), atol=1e-15)
    assert table.joints[0].geometry == DenavitHartenberg(alpha=math.pi / 2, a=0.5)


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (AxisPlacement(axis=(1.0, 0.0, 0.0)), r"joint\[B\]: .*its axis is not z; found: \[1.0, 0.0, 0.0\].*'frames'"),
        (AxisPlacement(Placement((0.0, 0.1, 0.0))), r"joint\[B\]: .*does not cross its axis"),
        (AxisPlacement(Placement(rpy=(0.1, 1e-9, 0.0))), r"joint\[B\]: .*does not cross its axis"),
    ],
)
@pytest.mark.parametrize("target", ["dh", "mdh"])
def test_a_chain_without_a_table_is_refused(second: AxisPlacement, words: str, target: Target, tmp_path: Path) -> None:
    robot = Robot("r", (Joint("A", "revolute", AxisPlacement()), Joint("B", "revolute", second)))
    with pytest.raises(InputError, match=words):
        convert_robot(robot, tmp_path / "r.robot.toml", target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("convention", [None, "dh", "mdh", "frames"])
def test_urdf_to_robot_file_and_back(convention: Target | None, tmp_path: Path) -> None:
    qs = configurations(SIX_AXIS, 2)
    truth = [reference_fk(SIX_AXIS, q) for q in qs]
    convert_robot(SIX_AXIS, tmp_path / "one.urdf")
    convert_robot(tmp_path / "one.urdf", tmp_path / "two.robot.toml", convention)
    convert_robot(str(tmp_path / "two.robot.toml"), tmp_path / "three.urdf")
    two, three = read_robot(tmp_path / "two.robot.toml"), read_urdf(tmp_path / "three.urdf")
    assert two.convention == (convention or "urdf")
    assert_same_poses([reference_fk(two, q) for q in qs], truth)
    assert_same_poses([reference_fk(three, q) for q in qs], truth)


def test_base_and_tip_choose_the_arm(tmp_path: Path) -> None:
    write_urdf(SIX_AXIS, tmp_path / "one.urdf")
    robot = convert_robot(tmp_path / "one.urdf", tmp_path / "a.robot.toml", base="A1_link", tip="flange")
    assert robot.joint_names == ("A2", "A3", "A4", "A5", "A6")
    with pytest.raises(InputError, match="choose the arm in a URDF"):
        convert_robot(tmp_path / "a.robot.toml", tmp_path / "b.urdf", tip="flange")


def test_what_a_urdf_leaves_out_is_said(tmp_path: Path) -> None:
    elastic = replace(SIX_AXIS, links=(Link("A2"),), gravity=(0.0, 0.0, 9.80665))
    with pytest.warns(StiffarmWarning, match="no place for compliances, the direction of gravity$"):
        convert_robot(elastic, tmp_path / "one.urdf")


@pytest.mark.parametrize(
    ("output", "convention", "words"),
    [
        ("a.txt", None, "suffix.*allowed: .urdf, .robot.toml"),
        ("a.toml", None, "suffix"),
        ("a.urdf", "dh", "no convention to choose"),
        ("a.robot.toml", "classic", "not a convention; found: 'classic'; allowed: dh, mdh, frames"),
    ],
)
def test_an_impossible_wish_is_refused(output: str, convention: Target | None, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words):
        convert_robot(SIX_AXIS, tmp_path / output, convention)
    assert list(tmp_path.iterdir()) == []
