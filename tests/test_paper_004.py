"""Paper 004: columns of its numbers, ranks, null directions, noise-free recovery and what its figures can be."""

from __future__ import annotations

import numpy as np
import pytest

from stiffarm.measure.contacts import Contacts
from stiffarm.papers import paper_004
from stiffarm.papers.paper_004 import FLANGE, OFF_AXIS, POINTS_M, TIMES, known_distances, told, true_numbers
from stiffarm.papers.registry import papers_named
from stiffarm.papers.touching import (
    NAMES,
    Numbers,
    Weight,
    columns,
    nominal_numbers,
    plan,
    sizes,
    tool_points,
    touch_points,
    white_rows,
)


@pytest.mark.parametrize("weight", [FLANGE, OFF_AXIS])
def test_columns_are_derivatives(weight: Weight) -> None:
    """At the true numbers, where nothing is parallel or at right angles any more."""
    numbers, size = true_numbers(), sizes()
    q = np.random.default_rng(1).uniform(-2.5, 2.5, (6, 7))
    _, found = columns(numbers, q, weight)
    for i, name in enumerate(NAMES):
        step = np.zeros(len(NAMES))
        step[i] = 0.01 * size[i]
        ends = [tool_points(Numbers.of(numbers.vector + s * step), q, weight).position for s in (1.0, -1.0)]
        np.testing.assert_allclose(found[i] * size[i], (ends[0] - ends[1]) / 0.02, atol=2e-10, err_msg=name)


def test_the_table_is_the_papers() -> None:
    nominal = nominal_numbers()
    assert np.degrees(nominal.table[:, 0]).round(9).tolist() == [0.0, 0.0, -90.0, 0.0, 0.0, 0.0]
    assert (1e3 * nominal.table[:, 1]).round(9).tolist() == [350.0, 850.0, 145.0, 0.0, 0.0, 0.0]
    assert (1e3 * nominal.table[:, 2]).round(9).tolist() == [815.0, 0.0, 0.0, -820.0, 0.0, -170.0]
    assert np.degrees(nominal.table[:, 3]).round(9).tolist() == [-90.0, 0.0, 90.0, -90.0, 90.0, 180.0]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_ranks(seed: int) -> None:
    ranks = [
        told(weight, distances, seed).spectrum.rank
        for weight, distances in ((FLANGE, 0), (OFF_AXIS, 0), (FLANGE, 1), (FLANGE, 3), (OFF_AXIS, 3))
    ]
    assert ranks == [23, 24, 24, 24, 25]
    assert told(paper_004.swinging(), 0, seed).spectrum.rank == 24
    assert told(paper_004.swinging(), 1, seed).spectrum.rank == 25
    assert told(FLANGE, 0, seed).spectrum.gap > 1e10


def test_what_touches_cannot_tell() -> None:
    groups = told(FLANGE).groups
    assert groups.nothing == ("theta1", "d1", "k1", "k6")
    assert {"d2", "d3"} in [set(g.members) for g in groups.together]
    last = set().union(*(g.members for g in groups.together if "a1" not in g.members))
    assert {"theta6", "alpha6"} <= last
    scale = next(set(g.members) for g in groups.together if "a2" in g.members)
    assert {"a1", "a2", "a3", "d4"} < scale
    assert "a2" in told(FLANGE, 1).groups.alone


def test_all_lengths_may_grow() -> None:
    assert told(FLANGE).scale_share < 1e-15
    assert told(FLANGE, 1).scale_share > 0.01
    nominal = nominal_numbers()
    q = touch_points(nominal, POINTS_M, TIMES, FLANGE, np.random.default_rng(4))
    for factor in (0.5, 0.0):
        grown = Numbers(nominal.table * [1.0, factor, factor, 1.0], nominal.compliance, factor * nominal.tool)
        right = white_rows(grown, Contacts(plan(q, 3, 1e-5)), FLANGE).right
        assert np.abs(right).max() < 1e-6


def test_ranks_read_higher_where_touches_do_not_meet() -> None:
    """Measured data do not meet in points of the nominal robot; there the rank must not be judged."""
    q = touch_points(true_numbers(), POINTS_M, TIMES, FLANGE, np.random.default_rng(0), 37.5e-6)
    from stiffarm.identifiability.spectrum import spectrum

    assert spectrum(white_rows(nominal_numbers(), Contacts(plan(q, 3, 1e-4)), FLANGE).matrix).rank > 23


def test_noise_free_recovery() -> None:
    assert paper_004.exact_error() < 1e-9


@pytest.mark.parametrize("weight", [FLANGE, OFF_AXIS])
def test_accuracy_without_and_with_distances(weight: Weight) -> None:
    free = [paper_004.error_in_use(f.numbers, weight) for f in paper_004.fits(37.5e-6, 0, weight)]
    known = [paper_004.error_in_use(f.numbers, weight) for f in paper_004.fits(15e-6, 3, weight)]
    assert 0.10e-3 < np.median(free) < 0.45e-3
    assert max(free) < 0.45e-3
    assert max(known) < 0.10e-3
    every = [*paper_004.fits(37.5e-6, 0, weight), *paper_004.fits(15e-6, 3, weight)]
    assert all(4 <= f.steps <= 10 for f in every)


def test_the_criterion_is_as_large_as_its_errors_say() -> None:
    """2340 sigma^2 for 18 touches of three points and 23 numbers: 130 variances of rows about the mean."""
    found = [f.criterion for f in paper_004.fits(37.5e-6, 0)]
    assert np.mean(found) == pytest.approx(130.0, abs=4.0 * np.sqrt(2 * 130.0 / len(found)))


def test_distances_state_what_the_points_are_apart() -> None:
    first = known_distances(1)[0]
    assert (first.first, first.second, first.distance_m) == ("P1", "P2", pytest.approx(np.sqrt(7.9925), rel=1e-12))


def test_verdicts() -> None:
    (paper,) = papers_named(["004"])
    verdicts = {item.item: item.verdict for item in paper.items()}
    assert verdicts["numbers that touches tell"] == "wrong"
    assert verdicts["largest error of a length"] == "wrong"
    assert verdicts["error of the tool point in use, at most"] == "wrong"
    assert verdicts["largest error of an angle"] == "reproduced"
    assert verdicts["iterations"] == "not reproducible"
