"""The order of visits: rounds, sides and returns, and what drift and backlash do to what is estimated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stiffarm.model.arm_model import ArmModel
from stiffarm.plan.clearance import self_clearance
from stiffarm.plan.constraints import ToolBox, kept
from stiffarm.plan.problem import Ints, Shift, Stops
from stiffarm.plan.shift import BEFORE_RAD, Manner, shift_of
from stiffarm.robot.arm import Capsule
from stiffarm.robot.reading import read_robot

ROBOT = read_robot("kr270")
LOW, HIGH = np.array([joint.limits for joint in ROBOT.joints]).T


def stops(count: int, seed: int = 1) -> Stops:
    share = np.random.default_rng(seed).uniform(0.1, 0.9, (6, count))
    return Stops(LOW[:, None] + share * (HIGH - LOW)[:, None])


def counted(shift: Shift, count: int) -> Ints:
    return np.bincount(shift.stop[~shift.reference], minlength=count)


@pytest.mark.parametrize("order", ["tour", "random"])
def test_every_stop_is_measured_as_often_as_it_should_in_rounds(order: str) -> None:
    repeats = np.array([3, 2, 2, 2, 2])
    shift = shift_of(ROBOT, stops(5), repeats, Manner(order, seed=4))  # type: ignore[arg-type]
    assert counted(shift, 5).tolist() == repeats.tolist()
    assert sorted(shift.stop[:5].tolist()) == list(range(5))
    assert shift.repeat.tolist() == [1] * 5 + [2] * 5 + [3]
    assert np.isnan(shift.side).all()
    np.testing.assert_array_equal(shift.before, stops(5).q[:, shift.stop])


def test_an_even_drift_shifts_all_poses_of_a_tour_alike() -> None:
    shift = shift_of(ROBOT, stops(6), np.full(6, 4), Manner("tour"))
    drift = np.arange(len(shift), dtype=float)
    means = [drift[shift.stop == s].mean() for s in range(6)]
    np.testing.assert_allclose(means, drift.mean(), atol=1e-12)


def test_random_orders_are_drawn_from_the_seed_and_differ_by_round() -> None:
    def drawn(seed: int) -> list[int]:
        return shift_of(ROBOT, stops(8), np.full(8, 2), Manner("random", seed=seed)).stop.tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert drawn(1)[:8] != drawn(1)[8:]


def test_the_tour_is_shorter_than_a_random_order() -> None:
    tour, random = (shift_of(ROBOT, stops(10), np.full(10, 2), Manner(order)).driving_s for order in ("tour", "random"))  # type: ignore[arg-type]
    assert tour < 0.8 * random


def test_sides_take_turns_and_their_mean_takes_backlash_out() -> None:
    repeats = np.full(6, 4)
    shift = shift_of(ROBOT, stops(6), repeats, Manner("tour", both_sides=True))
    np.testing.assert_allclose(np.abs(stops(6).q[:, shift.stop] - shift.before), BEFORE_RAD)
    arrived = np.sign(stops(6).q[:, shift.stop] - shift.before)
    np.testing.assert_array_equal(arrived, shift.side)
    for s in range(6):
        assert shift.side[0, shift.stop == s].sum() == 0.0  # as often from below as from above
    assert abs(shift.side[0, :6].sum()) <= 1.0  # and in turns over the stops of a round
    backlash = 1e-4 * shift.side
    mean = np.array([backlash[:, shift.stop == s].mean(axis=1) for s in range(6)])
    np.testing.assert_allclose(mean, 0.0, atol=1e-18)


def test_a_joint_near_its_limit_comes_from_the_other_side() -> None:
    q = np.repeat(stops(1).q, 2, axis=1)
    q[0] = LOW[0] + 1e-3, HIGH[0] - 1e-3
    shift = shift_of(ROBOT, Stops(q), np.array([2, 2]), Manner(both_sides=True))
    assert ((shift.before >= LOW[:, None]) & (shift.before <= HIGH[:, None])).all()
    assert set(shift.side[0, shift.stop == 0]) == {-1.0}
    assert set(shift.side[0, shift.stop == 1]) == {1.0}
    assert set(shift.side[1]) == {1.0, -1.0}
    assert any("other side" in note for note in shift.notes)


def test_where_it_waits_is_allowed_too() -> None:
    bodies = tuple(Capsule(name, 0.1) for name in ("A1", "A2", "A3", "A4", "A6"))
    arm = ArmModel.of(replace(ROBOT, capsules=bodies)).at()
    collision = self_clearance(arm, LOW, HIGH)
    assert collision is not None
    some = stops(200, 3)
    height = ToolBox(arm, (-np.inf, -np.inf, 0.0), (np.inf,) * 3).margins(some)[0]
    needed = (ToolBox(arm, (-np.inf, -np.inf, float(np.median(height))), (np.inf,) * 3), collision)
    good = np.flatnonzero(kept(needed, some))
    near = some.take(good[np.argsort(needed[0].margins(some)[0, good])[:8]])
    manner = Manner(both_sides=True)
    carefree = shift_of(ROBOT, near, np.full(8, 2), manner)
    careful = shift_of(ROBOT, near, np.full(8, 2), manner, needed)
    assert not kept(needed, Stops(carefree.before)).all()
    assert np.isfinite(careful.side).all()
    assert kept(needed, Stops(careful.before), 2e-5).all()
    np.testing.assert_array_equal(np.sign(near.q[:, careful.stop] - careful.before), careful.side)


def test_the_reference_frames_the_shift_and_keeps_its_side() -> None:
    shift = shift_of(ROBOT, stops(5), np.full(5, 2), Manner(both_sides=True, reference_every=4))
    at = np.flatnonzero(shift.reference)
    assert at.tolist() == [0, 5, 10, 13]  # first, after 4, after 8, last
    assert (shift.stop[at] == shift.stop[1]).all()
    assert (shift.side[:, at] == 1.0).all()
    assert shift.repeat[at].tolist() == [1, 2, 3, 4]
    assert counted(shift, 5).tolist() == [2] * 5


def test_single_measurements_say_that_one_side_is_seen() -> None:
    shift = shift_of(ROBOT, stops(4), np.ones(4, dtype=np.int64), Manner(both_sides=True))
    assert any("once" in note for note in shift.notes)
    assert set(shift.side[0]) == {1.0, -1.0}
