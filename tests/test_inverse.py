"""Inverse kinematics: whatever pose an arm can take is found again, and paths stay on one branch."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.model import inverse
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.inverse import inverse_kinematics
from stiffarm.model.loads import State
from stiffarm.model.rotations import matrix_of, vector_of
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]


def arm_of(name: str) -> Arm:
    return ArmModel.of(read_robot(name)).at()


def limits_of(arm: Arm) -> Floats:
    return np.array([joint.limits or (-3.0, 3.0) for joint in arm.robot.joints])


def poses(arm: Arm, q: Floats) -> Floats:
    at = predict(arm, State(q), "tool")
    return np.concatenate([at.position, vector_of(at.rotation)])


def smooth_path(arm: Arm, count: int) -> Floats:
    """A wavy line between two places well within the limits."""
    low, high = limits_of(arm).T
    s = np.linspace(0.0, 1.0, count)
    line = np.outer(0.6 * low + 0.4 * high, 1.0 - s) + np.outer(0.42 * low + 0.58 * high, s)
    return np.asarray(line + 0.02 * np.outer(high - low, np.sin(6.0 * s)))


@pytest.mark.parametrize("name", packaged_robots())
def test_every_pose_within_the_limits_is_found_again(name: str) -> None:
    arm = arm_of(name)
    low, high = limits_of(arm).T
    rng = np.random.default_rng(3)
    q = rng.uniform((0.95 * low + 0.05 * high)[:, None], (0.05 * low + 0.95 * high)[:, None], (len(low), 8))
    found = inverse_kinematics(arm, poses(arm, q))
    assert found.reached.all()
    assert (found.q >= low[:, None]).all()
    assert (found.q <= high[:, None]).all()
    # the answer is judged by the arm itself, not by the errors the solver reports
    wanted, got = predict(arm, State(q), "tool"), predict(arm, State(found.q), "tool")
    assert np.abs(got.position - wanted.position).max() < 1e-7
    assert np.abs(got.rotation - wanted.rotation).max() < 1e-7


@pytest.mark.parametrize("name", ["kr270", "ur10", "r2000ic-165f"])
def test_a_path_is_followed_without_jumps(name: str) -> None:
    arm = arm_of(name)
    q = smooth_path(arm, 300)
    found = inverse_kinematics(arm, poses(arm, q), start=q[:, 0] + 0.02)
    assert found.reached.all()
    assert np.abs(found.q - q).max() < 1e-5


def test_a_redundant_arm_moves_smoothly() -> None:
    arm = arm_of("kr500-rail")
    q = smooth_path(arm, 200)
    found = inverse_kinematics(arm, poses(arm, q), start=q[:, 0])
    assert found.reached.all()
    assert np.abs(np.diff(found.q, axis=1)).max() < 4.0 * np.abs(np.diff(q, axis=1)).max()


def test_what_is_out_of_reach_is_said() -> None:
    arm = arm_of("kr270")
    near = poses(arm, np.array([[0.3], [-1.0], [1.2], [0.4], [0.5], [0.1]]))
    far = near.copy()
    far[0] += 10.0
    found = inverse_kinematics(arm, np.concatenate([near, far, near], axis=1))
    assert found.reached.tolist() == [True, False, True]
    assert found.position_error_m[1] > 5.0


def test_no_poses_is_no_trouble() -> None:
    assert inverse_kinematics(arm_of("kr270"), np.zeros((6, 0))).q.shape == (6, 0)


def test_same_poses_same_answer() -> None:
    arm = arm_of("iiwa7")
    wanted = poses(arm, smooth_path(arm, 20))
    assert np.array_equal(inverse_kinematics(arm, wanted).q, inverse_kinematics(arm, wanted).q)
    assert np.allclose(matrix_of(wanted[3:]), matrix_of(poses(arm, inverse_kinematics(arm, wanted).q)[3:]), atol=1e-7)


def test_steps_of_many_poses_are_those_of_few() -> None:
    random = np.random.default_rng(5)
    jacobian, error = random.normal(size=(300, 6, 7)), random.normal(size=(6, 300))
    damping = 10.0 ** random.uniform(-12.0, 0.0, 300)
    few, many = inverse._few_steps(jacobian, error, damping), inverse._many_steps(jacobian, error, damping)
    assert np.abs(many - few).max() < 1e-9 * np.abs(few).max()
