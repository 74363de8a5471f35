"""Postures that bring a point to where it is wanted."""

from __future__ import annotations

import numpy as np
import pytest

from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import State
from stiffarm.model.reaching import joint_ranges, stand_at, touch_again
from stiffarm.robot.reading import read_robot


@pytest.mark.parametrize("name", ["kr270", "ur5", "panda", "kr500-rail"])
def test_one_point_many_postures(name: str) -> None:
    robot = read_robot(name)
    arm, random = ArmModel.of(robot).at(), np.random.default_rng(3)
    low, high = joint_ranges(arm)
    point = robot.marker_names[0] if robot.marker_names else "tool"
    middle = predict(arm, State((low + 0.4 * (high - low))[:, None]), point).position
    found = touch_again(arm, point, np.repeat(middle, 30, axis=1), random)
    assert found.there.all()
    assert ((found.q >= low[:, None] - 1e-12) & (found.q <= high[:, None] + 1e-12)).all()
    at = predict(arm, State(found.q), point)
    np.testing.assert_allclose(at.position, np.repeat(middle, 30, axis=1), atol=1e-9)
    assert np.sort(np.ptp(found.q, axis=1))[-3] > 1.0


def test_out_of_reach_is_said() -> None:
    arm = ArmModel.of(read_robot("ur5")).at()
    far = np.array([[0.3, 9.0], [0.3, 0.0], [0.3, 0.0]])
    assert touch_again(arm, "tool", far, np.random.default_rng(0)).there.tolist() == [True, False]


def test_from_a_start_it_stays_near() -> None:
    arm = ArmModel.of(read_robot("kr270")).at()
    start = np.array([[0.2], [-1.2], [1.5], [0.3], [0.8], [-0.4]])
    wanted = predict(arm, State(start), "tool").position + 1e-3
    found = stand_at(arm, "tool", wanted, start)
    assert found.there.all()
    assert np.abs(found.q - start).max() < 5e-3
