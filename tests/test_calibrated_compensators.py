"""Compensators of a model handed over as a robot file."""

from __future__ import annotations

import pytest

from stiffarm.compensate.calibrated import calibrated_robot
from stiffarm.errors import InputError
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import Spring
from stiffarm.robot.reading import read_robot


def test_numbers_of_a_compensator_are_handed_over() -> None:
    model = ArmModel.of(read_robot("kr270"))
    found = calibrated_robot(model, {"A2.compensator.stiffness": 1.9e5, "A2.compensator.s0": 0.45})
    assert found.compensators[0].element == Spring(1.9e5, 0.45)
    assert found.compensators[0].L == model.robot.compensators[0].L
    assert calibrated_robot(model, {}).compensators == model.robot.compensators


def test_compliances_by_angle_are_refused_by_name() -> None:
    model = ArmModel.of(read_robot("kr270")).grouped("A2", (-1.0, 0.0))
    with pytest.raises(InputError, match=r"A2\.compliance\[\.\.\.\]"):
        calibrated_robot(model, {"A2.compliance[1]": 3e-7})
