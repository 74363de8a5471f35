"""Postures for poses: each leads there within the limits, and none is missed that a search from many starts finds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.compensate.wishing import tool_of
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.postures import Search, postures
from stiffarm.model.reaching import joint_ranges
from stiffarm.model.rotations import matrix_of, vector_of
from stiffarm.robot.reading import read_robot

Array = NDArray[np.float64]


def poses_of(name: str, n: int, seed: int = 0, share: float = 0.6) -> tuple[Array, Array]:
    """Random joint values (joints, n) within a share of the limits and the poses (6, n) they lead to."""
    arm = ArmModel.of(read_robot(name)).at()
    low, high = joint_ranges(arm)
    q = np.random.default_rng(seed).uniform(share * low[:, None], share * high[:, None], (len(low), n))
    place, axes = tool_of(arm, q)
    return q, np.concatenate([place, vector_of(axes)])


def same_posture(one: Array, others: Array) -> bool:
    apart = np.abs(others - one[:, None])
    return bool((np.minimum(apart, np.abs(2 * np.pi - apart)).max(axis=0) < 0.05).any())


@pytest.mark.parametrize("name", ["kr270", "ur5", "iiwa7", "irb120"])
def test_every_posture_leads_there_within_the_limits(name: str) -> None:
    arm = ArmModel.of(read_robot(name)).at()
    _, pose = poses_of(name, 60)
    found = postures(arm, pose)
    assert len(np.unique(found.pose)) >= 57  # poses in general position lie far apart: a few may be missed
    place, axes = tool_of(arm, found.q)
    np.testing.assert_allclose(place, pose[:3, found.pose], rtol=0, atol=2e-7)
    np.testing.assert_allclose(axes, matrix_of(pose[3:])[:, :, found.pose], rtol=0, atol=2e-6)
    low, high = (np.array([j.limits for j in arm.robot.joints if j.limits]).T[i][:, None] for i in (0, 1))
    assert ((found.q >= low) & (found.q <= high)).all()
    # the spread is the smallest singular value of finite differences of the tool
    step, length = 1e-6, Search(arm, pose, found.q * np.nan).length
    q = found.q[:, :1]
    columns = []
    for axis in np.eye(len(q)):
        after, before = (tool_of(arm, q + sign * step * axis[:, None]) for sign in (1.0, -1.0))
        turn = vector_of(np.einsum("cin,cjn->jin", after[1], before[1]))
        columns.append(np.concatenate([(after[0] - before[0]) / length, turn])[:, 0] / (2 * step))
    assert found.spread[0] == pytest.approx(np.linalg.svd(np.array(columns).T)[1][5], rel=1e-5)


def test_on_a_grid_hardly_a_posture_is_missed() -> None:
    """Beside what 300 random starts find at 25 places of a grid of 400."""
    arm = ArmModel.of(read_robot("kr270")).at()
    x, z = np.meshgrid(np.linspace(0.5, 2.8, 20), np.linspace(0.0, 2.2, 20))
    pose = np.zeros((6, 400))
    pose[0], pose[2], pose[3] = x.reshape(-1), z.reshape(-1), np.pi
    found = postures(arm, pose)
    search = Search(arm, pose, np.full(pose.shape, np.nan))
    random = np.random.default_rng(1)
    low, high = joint_ranges(arm)
    starts = random.uniform(np.maximum(low, -np.pi)[:, None], np.minimum(high, np.pi)[:, None], (6, 300))
    there = missed = 0
    for index in random.choice(400, 25, replace=False):
        q, arrived = search.solve(starts, np.full(300, index))
        own = found.q[:, found.pose == index]
        for posture in search.unwound(q)[:, arrived].T:
            there += 1
            missed += not same_posture(posture, own)
    assert there > 1000
    assert missed < 0.05 * there


def test_joints_that_are_held_stand_and_a_free_turn_is_free() -> None:
    arm = ArmModel.of(read_robot("kr500-rail")).at()
    true, pose = poses_of("kr500-rail", 20, share=0.3)
    held = np.full(true.shape, np.nan)
    held[0] = true[0]
    found = postures(arm, pose, held=held)
    assert np.array_equal(found.q[0], true[0, found.pose])
    assert len(np.unique(found.pose)) >= 19
    free = postures(arm, pose, held=held, kept_turns=(0, 1))
    place, axes = tool_of(arm, free.q)
    np.testing.assert_allclose(place, pose[:3, free.pose], rtol=0, atol=2e-7)
    np.testing.assert_allclose(axes[2], matrix_of(pose[3:])[2][:, free.pose], rtol=0, atol=2e-6)
    assert not np.allclose(axes[0], matrix_of(pose[3:])[0][:, free.pose], atol=1e-3)


def test_what_is_out_of_reach_has_none() -> None:
    arm = ArmModel.of(read_robot("ur5")).at()
    pose = np.zeros((6, 3))
    pose[0] = [0.4, 5.0, 0.5]
    pose[2], pose[3] = 0.3, np.pi
    assert set(postures(arm, pose).pose.tolist()) == {0, 2}
    assert len(postures(arm, pose[:, :0]).pose) == 0
