"""Rows of paper 001: its plans, the floor of joint 1, the noise as described, what eq. 23 overlooks."""

from __future__ import annotations

import numpy as np
import pytest

from stiffarm.measure.campaign import Spherical
from stiffarm.papers import stiffness_001
from stiffarm.papers.genetic_001 import evolved
from stiffarm.papers.items import PaperItem
from stiffarm.papers.rail_001 import REPEATS, ROBOTS, SIGMA_M, TABLE_2, published, rail
from stiffarm.papers.registry import papers_named

BEST = "best plan found, n = 12, m0 = 3, theta 4 "
BOUND = "lower bound for any 12 experiments, theta 4 "


def row(words: str) -> PaperItem:
    (item,) = [item for item in papers_named(["001"])[0].items() if words in item.item]
    return item


def number(words: str) -> float:
    ours = row(words).ours
    assert isinstance(ours, float)
    return ours


def test_plans_are_as_good_as_the_best_known_and_near_their_bound() -> None:
    best, bound = number(BEST + "+"), number(BOUND + "+")
    assert 0.0475 <= bound <= best <= 0.0485
    assert bound >= 0.98 * best
    literal = number(BEST + "as")
    assert 0.96 * literal <= number(BOUND + "as") <= literal < 0.2163


def test_table_2_is_made_of_repeated_plans() -> None:
    table = {(n, m): number(f"Table II, n = {n}, m0 = {m}, best") for n, m in TABLE_2}
    bound = number(BOUND + "+")
    for n, m in TABLE_2:
        assert table[n, m] >= bound * np.sqrt(12 / n)
        assert table[n, m] <= 1.02 * bound * np.sqrt(12 / n)
    assert table[3, 3] == pytest.approx(2.0 * table[12, 3])
    assert row("Table II, n = 12, m0 = 12, best").verdict == "not reproducible"


def test_joint_1_contradicts_its_inputs() -> None:
    item = row("joint 1: standard deviation")
    assert item.verdict == "wrong"
    assert number("joint 1: floor") == pytest.approx(5.0, abs=0.005)
    floor = float(item.why.split(" gets under ")[1].split(" %")[0])
    assert 5.0 <= floor <= float(item.ours or 0.0)


def test_the_covariance_of_least_squares_is_that_of_drawn_noise() -> None:
    refiner = rail(ROBOTS["theta 4 + 90 deg"], instrument=Spherical(SIGMA_M))
    rows = np.repeat(stiffness_001.plain_rows(refiner, published()), REPEATS, axis=0).reshape(-1, 7)
    random = np.random.default_rng(3)
    radius = SIGMA_M * random.standard_normal((len(rows) // 3, 4000))
    polar = random.uniform(0.0, np.pi / 2, radius.shape)
    around = random.uniform(-np.pi, np.pi, radius.shape)
    across = np.sin(polar)
    noise = radius[:, None] * np.stack([across * np.cos(around), across * np.sin(around), np.cos(polar)], axis=1)
    found = np.linalg.lstsq(rows, noise.reshape(len(rows), -1), rcond=None)[0]
    expected = np.sqrt(np.diag(stiffness_001.covariance_of(refiner)))
    np.testing.assert_allclose(found.std(axis=1), expected, rtol=0.05)
    np.testing.assert_allclose(100.0 * expected[0], number("joint 1: standard"), rtol=1e-12)


def test_what_the_noise_is_and_what_eq_23_overlooks() -> None:
    assert row("eq. 18").ours == "0.2500, 0.2500, 0.5000"
    assert number("eq. 23") == pytest.approx(1.3, abs=0.05)
    assert row("eq. 23").verdict == "wrong"
    assert number("Table III") == pytest.approx(0.0, abs=1e-9)


def test_table_5_follows_from_table_4() -> None:
    rows = [item for item in papers_named(["001"])[0].items() if item.item.startswith("Table V,")]
    assert len(rows) == 6
    for item in rows:
        assert isinstance(item.ours, float)
        assert isinstance(item.published, float)
        assert 1.0 / 1.5 <= item.ours / item.published <= 1.5


def test_the_genetic_algorithm_gets_better_with_more_evaluations() -> None:
    refiner = rail(ROBOTS["theta 4 + 90 deg"])
    few, more = evolved(refiner, 400, 1), evolved(refiner, 8000, 1)
    assert number(BEST + "+") < 1e5 * more < 1e5 * few
