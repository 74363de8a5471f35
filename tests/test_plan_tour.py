"""Tours against every order of few poses."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from stiffarm.plan import tour
from stiffarm.plan.problem import Floats
from stiffarm.plan.tour import home_of, joint_times, length, short_tour, shortest, travel_times
from stiffarm.robot.reading import read_robot


def places(poses: int, seed: int) -> Floats:
    random = np.random.default_rng(seed)
    return travel_times(random.uniform(-1.0, 1.0, (3, poses + 1)), np.array([1.0, 0.7, 1.4]))


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_few_poses_are_visited_in_the_best_order_of_all(seed: int, back: bool) -> None:
    times = places(7, seed)
    best = min(length(times, np.array(order), back=back) for order in permutations(range(1, 8)))
    found = shortest(times, back=back)
    assert sorted(found.order.tolist()) == list(range(7))
    assert found.seconds == pytest.approx(best, abs=1e-12)
    assert length(times, found.order + 1, back=back) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("back", [False, True])
def test_exchanges_come_near_the_best_order(back: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = []
    for seed in range(8):
        times = places(8, 100 + seed)
        best = shortest(times, back=back).seconds
        with monkeypatch.context() as changed:
            changed.setattr(tour, "EXACT", 0)
            found = shortest(times, back=back)
        assert sorted(found.order.tolist()) == list(range(8))
        ratios.append(found.seconds / best)
    assert min(ratios) >= 1.0 - 1e-12
    assert np.mean(ratios) < 1.01
    assert max(ratios) < 1.06


def test_exchanges_leave_nothing_to_gain_by_one_more() -> None:
    times = places(30, 3)
    found = shortest(times).order + 1
    now, n = length(times, found, back=False), 30
    turned = [
        np.concatenate([found[:i], found[i : j + 1][::-1], found[j + 1 :]]) for i in range(n) for j in range(i + 1, n)
    ]
    assert min(length(times, other, back=False) for other in turned) >= now - 1e-9
    random = np.random.default_rng(1)
    drawn = [length(times, random.permutation(n) + 1, back=False) for _ in range(200)]
    assert now < 0.6 * min(drawn)


def test_the_slowest_joint_counts() -> None:
    robot = read_robot("kr270")
    joints = tuple(replace(joint, speed=2.0 if joint.name == "A1" else None) for joint in robot.joints)
    robot = replace(robot, joints=joints)
    seconds = joint_times(robot)
    low, high = robot.joints[1].limits or (0.0, 0.0)
    assert seconds[0] == 0.5
    assert seconds[1] == pytest.approx(4.0 / (high - low))
    home = home_of(robot)
    q = home[:, None] + np.zeros((6, 3))
    q[0] += (3.0, 1.0, 2.0)
    found = short_tour(robot, q, home)
    assert found.order.tolist() == [1, 2, 0]
    assert found.seconds == pytest.approx(1.5)


def test_home_is_within_the_limits() -> None:
    robot = read_robot("kr270")
    first, second, third, *rest = robot.joints
    joints = (
        replace(first, limits=(-2.0, -1.0)),
        replace(second, limits=(0.5, 1.0)),
        replace(third, limits=None),
        *rest,
    )
    assert home_of(replace(robot, joints=joints)).tolist() == [-1.0, 0.5, 0.0, 0.0, 0.0, 0.0]


def test_one_pose_and_none() -> None:
    assert shortest(np.zeros((1, 1))).order.tolist() == []
    assert shortest(places(1, 0)).order.tolist() == [0]
