"""Touches against truth, in small: bench/touch_accuracy.py does the same with many."""

from __future__ import annotations

import numpy as np
import pytest

from stiffarm.papers import paper_004
from stiffarm.papers.paper_004 import FLANGE, OFF_AXIS, known_distances, told
from stiffarm.papers.touching import Weight, fit, plan, touch_points
from touch_study import random_numbers, rms_between, scale_error, study, tilted


@pytest.mark.parametrize("weight", [FLANGE, OFF_AXIS])
def test_bands_of_accuracy(weight: Weight) -> None:
    for seed in range(2):
        free = study(seed, weight, sigma_m=37.5e-6, distances=0)
        known = study(seed, weight, sigma_m=15e-6, distances=3)
        assert 0.1e-3 < free.rms() < 0.45e-3
        assert known.rms() < 0.1e-3
        assert max(free.fit.solution.iterations, known.fit.solution.iterations) <= 10
        for k, most in ((2, 0.03), (3, 0.03), (4, 0.1), (5, 0.1)):
            assert known.fit.at.values[f"A{k}.compliance"] == pytest.approx(paper_004.COMPLIANCE[k - 1], rel=2 * most)


def test_frames_find_what_the_table_finds() -> None:
    """The same touches, fitted by frames as any campaign and by the table's own solver of the paper's case."""
    random = np.random.default_rng([3, 4])
    q = touch_points(paper_004.true_numbers(), paper_004.POINTS_M, paper_004.TIMES, OFF_AXIS, random, 15e-6)
    by_table = fit(plan(q, 3, 15e-6, known_distances(3, random)), told(OFF_AXIS, 3).directions, OFF_AXIS)
    by_frames = study(3, OFF_AXIS, sigma_m=15e-6, distances=3)
    found = by_frames.fit.system.model.at(by_frames.fit.at.values)
    apart = rms_between(found, by_table.numbers.arm, OFF_AXIS)
    assert apart < 0.02e-3
    assert by_frames.rms() < 0.05e-3


@pytest.mark.parametrize("distances", [0, 3])
def test_deviations_agree_with_truth(distances: int) -> None:
    """Twelve robots; about five independent numbers each, so the root mean square has a deviation of 0.09."""
    ratios = []
    for seed in range(12):
        truth = random_numbers(np.random.default_rng([seed, 9]))
        one = study(seed, OFF_AXIS, sigma_m=37.5e-6, distances=distances, truth=truth)
        ratios.append((one.errors() / one.deviations()).ravel())
    assert 0.7 < float(np.sqrt(np.mean(np.square(ratios)))) < 1.35


def test_one_distance_gives_the_scale() -> None:
    off = []
    for distances in (0, 1):
        errors = []
        for seed in range(4):
            truth = random_numbers(np.random.default_rng([seed, 9]))
            errors.append(scale_error(study(seed, OFF_AXIS, sigma_m=37.5e-6, distances=distances, truth=truth)))
        off.append(float(np.sqrt(np.mean(np.square(errors)))))
    assert off[0] > 8.0 * off[1]
    assert off[1] < 3e-5


def test_a_tilted_axis_harms_the_table_and_not_the_frames() -> None:
    robot = tilted()
    q = touch_points(robot, paper_004.POINTS_M, paper_004.TIMES, OFF_AXIS, np.random.default_rng([0, 4]), 37.5e-6)
    by_table = fit(plan(q, 3, 37.5e-6), told(OFF_AXIS).directions, OFF_AXIS).numbers.arm
    by_frames = study(0, OFF_AXIS, sigma_m=37.5e-6, distances=0, truth=robot)
    assert by_frames.rms() < 0.45e-3
    assert rms_between(by_table, robot.arm, OFF_AXIS) > 2.5 * by_frames.rms()
