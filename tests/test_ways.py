"""All ways of an arm to take a pose: each stands there after an independent forward kinematics, and none is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from chains import reference_fk
from stiffarm.compensate import branches
from stiffarm.compensate.axes import axes_of
from stiffarm.compensate.ways import ways_of
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import vector_from_rotation
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]


@pytest.mark.parametrize("name", ["kr270", "kr60", "kr500-rail", "irb120", "irb6700-235", "r2000ic-165f"])
def test_eight_ways_lead_to_a_pose_and_the_one_it_came_from_is_among_them(name: str) -> None:
    robot = read_robot(name)
    arm, axes = ArmModel.of(robot).at(), axes_of(robot)
    assert branches.has_branches(arm, axes)
    assert axes.six is not None
    rng, n = np.random.default_rng(6), 30
    q = rng.uniform(-3.0, 3.0, (len(robot.joints), n))
    poses = [reference_fk(robot, alone(robot, one)) for one in q.T]
    told = np.array([[*pose[:3, 3], *vector_from_rotation(pose[:3, :3])] for pose in poses]).T
    held = np.full(q.shape, np.nan)
    for i, joint in enumerate(robot.joints):
        if joint.kind == "prismatic":
            held[i] = q[i]
    free = replace(robot, joints=tuple(replace(joint, limits=None) for joint in robot.joints))
    ways = ways_of(ArmModel.of(free).at(), axes, told, held)
    for k in range(n):
        good = ways.missed_m[:, k] == 0.0
        assert good.any()
        for way in ways.q[good, :, k]:
            there = reference_fk(robot, alone(robot, way))
            assert np.abs(there - poses[k]).max() < 1e-9
        apart = np.abs((ways.q[good, :, k] - q[:, k] + np.pi) % (2 * np.pi) - np.pi)
        apart[:, ~np.isnan(held[:, k])] = 0.0
        assert apart.max(axis=1).min() < 1e-6
        numbers = branches.branch_of(arm, axes, np.ascontiguousarray(ways.q[good, :, k].T)).number
        assert len(set(numbers.tolist())) == good.sum() or not good.all()
    assert (ways.missed_m == 0.0).mean() > 0.45


def alone(robot: Robot, q: Floats) -> Floats:
    """What each joint would be told if none followed another."""
    out = np.array(q)
    for k, joint in enumerate(robot.joints):
        if joint.couples_to is not None:
            out[k] += joint.sign * joint.couples_to.gain * q[robot.joint_index(joint.couples_to.joint)]
    return out
