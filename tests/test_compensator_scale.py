"""Torques of compensators over the limits of their joints, and what `robot check` says of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stiffarm.cli.main import main
from stiffarm.model.compensator_law import CompensatorLaw
from stiffarm.model.compensator_scale import largest_torque, scale_warnings
from stiffarm.robot.arm import GasCylinder, Robot, Spring
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot


def with_spring(stiffness: float, s0: float) -> Robot:
    robot = read_robot("kr270")
    return replace(robot, compensators=(replace(robot.compensators[0], element=Spring(stiffness, s0)),))


def test_packaged_compensators_can_be_built() -> None:
    for name in packaged_robots():
        assert scale_warnings(read_robot(name)) == ()


def test_the_published_spring_holds_hundreds_of_kilonewton_metres() -> None:
    robot = with_spring(1.0 / 0.144e-6, 0.458)
    largest = largest_torque(CompensatorLaw.of(robot.compensators[0]), robot.joints[1])
    assert largest == pytest.approx(344e3, rel=0.01)
    (sentence,) = scale_warnings(robot)
    assert "the compensator of A2 gives 344 kN m, out of physical scale (above 20 kN m)" in sentence


def test_largest_torque_is_that_of_the_energy() -> None:
    robot = read_robot("kr270")
    gas = replace(robot.compensators[0], element=GasCylinder("pull", 1.2, 3e-3, p_ref=9e6, V_ref=4e-3, s_ref=0.6))
    law, joint = CompensatorLaw.of(gas), robot.joints[1]
    assert joint.limits is not None
    q = np.linspace(*joint.limits, 20001)
    slope = np.gradient(law.energy(q), q)
    assert largest_torque(law, joint) == pytest.approx(np.abs(slope).max(), rel=1e-3)


def test_check_warns_and_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_robot(with_spring(7e6, 0.458), tmp_path / "arm.robot.toml")
    assert main(["robot", "check", str(tmp_path / "arm.robot.toml")]) == 0
    shown = capsys.readouterr()
    assert "out of physical scale" in shown.err
    assert "no problems found" in shown.out
