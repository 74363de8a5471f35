"""A model file back as something that can be evaluated: the arm's effects, values and frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identify.estimate import Estimate
from stiffarm.identify.system import Point
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.placement import Rigid, rotation_from_vector
from stiffarm.robot.reading import parse_robot, read_robot


def model_of(estimate: Estimate, folder: Path | None = None) -> ArmModel:
    """The robot of an estimate with its effects, grouped compliances included."""
    carried = estimate.robot
    robot = parse_robot(carried.text, carried.file, folder) if carried.text else read_robot(carried.file)
    model = ArmModel.of(robot)
    for joint, angles in carried.groups.items():
        model = model.grouped(joint, angles)
    return model


def point_of(estimate: Estimate, model: ArmModel) -> Point:
    """Values of all parameters and frames of the known setups."""
    unknown = [name for name in estimate.values if name not in model.nominal]
    if unknown:
        raise InputError(Problem(f"parameter {unknown[0]!r} of the model does not exist for {model.robot.name}"))
    frames = {
        setup.name: Rigid(rotation_from_vector(np.array(setup.rotvec)), np.array(setup.xyz))
        for setup in estimate.setups
    }
    return Point(model.nominal | estimate.values, frames)
