"""Lack of fit and the honest estimator: size and power of the tests, coverage in exact binomial limits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from identify_scenarios import (
    Geometry,
    Scenario,
    paper_geometry,
    problem_of,
    scattered_geometry,
    scenarios,
    simulate,
)
from stiffarm.identify.honest import honest, honest_design, variance_groups
from stiffarm.identify.lackoffit import lack_of_fit, splits_replicates, visit_effect
from stiffarm.identify.linear import ols
from stiffarm.identify.problem import Array, LinearProblem, Prior

PAPER, SCATTERED = paper_geometry(), scattered_geometry()
BY_NAME = {scenario.name: scenario for scenario in scenarios()}


def data_of(name: str, seed: int, geometry: Geometry = PAPER) -> LinearProblem:
    return simulate(problem_of(geometry), geometry.truth, BY_NAME[name], np.random.default_rng(seed))


def test_lack_of_fit_with_one_variance_is_the_textbook_test() -> None:
    data = data_of("independent", 1)
    assert data.replicate is not None
    found = lack_of_fit(data, np.zeros(data.rows, dtype=np.intp))
    assert found is not None
    means = np.bincount(data.replicate, data.y) / 6
    pure = np.sum((data.y - means[data.replicate]) ** 2)
    lack = np.sum(ols(data).residuals ** 2) - pure
    assert (found.dof_lack, found.dof_pure) == (pytest.approx(126), pytest.approx(675))
    assert pytest.approx((lack / 126) / (pure / 675)) == found.F
    assert found.p_value == pytest.approx(stats.f.sf(found.F, 126, 675))


@pytest.mark.parametrize("name", ["independent", "cells"])
def test_size_of_the_tests(name: str) -> None:
    """Under independence p < 0.1 happens in a tenth of the runs (limits of 1e-6)."""
    rng, base = np.random.default_rng(2), problem_of(PAPER)
    assert base.cell is not None
    low, high = stats.binom.ppf([5e-7, 1 - 5e-7], 150, 0.1)
    lack = visits = 0
    for _ in range(150):
        data = simulate(base, PAPER.truth, BY_NAME[name], rng)
        one, two = lack_of_fit(data, base.cell), visit_effect(data, data.shared[2:], base.cell)
        assert one is not None
        assert two is not None
        lack += one.p_value < 0.1
        visits += two.p_value < 0.1
    assert low <= lack <= high
    assert low <= visits <= high


def test_which_errors_are_found() -> None:
    clean = honest(data_of("cells", 3))
    assert clean.details.shared_effects == ()
    assert clean.claimed_gain_bound is not None
    shared = honest(data_of("shared translation", 3))
    assert shared.details.lack_of_fit is not None
    assert shared.details.lack_of_fit.F > 2
    assert shared.details.shared_effects == ("configuration translation", "configuration rotation")
    assert shared.claimed_gain_bound is None
    visit = honest(data_of("shared by visit", 3))
    assert visit.details.lack_of_fit is not None
    assert visit.details.lack_of_fit.F < 2
    assert visit.details.shared_effects == ("visit translation", "visit rotation")
    assert any("visit F" in line for line in visit.details.messages)


def test_variances_are_recovered() -> None:
    found = honest(data_of("cells + shared motion", 5)).details.variance_components
    sigma = {component.name: component.sigma for component in found}
    assert sigma["configuration translation"] == pytest.approx(50, rel=0.4)
    assert sigma["configuration rotation"] == pytest.approx(50, rel=0.5)
    assert sigma["cell 1"] == pytest.approx(150, rel=0.5)


def test_levels_of_effects_are_recognised() -> None:
    base = problem_of(PAPER)
    assert [splits_replicates(base, effect) for effect in base.shared] == [False, False, True, True]


def test_a_missing_effect_is_a_lack_of_fit() -> None:
    data = data_of("independent", 4)
    without = replace(data, A=data.A[:, 1:], names=())
    assert data.cell is not None
    found = lack_of_fit(without, data.cell)
    assert found is not None
    assert found.F > 100


def test_variance_groups_follow_the_readings() -> None:
    base = problem_of(PAPER)
    assert variance_groups(base).kind == "cell"
    once = problem_of(PAPER, repeats=1)
    assert variance_groups(once).kind == "axis"
    assert variance_groups(base, base.shared[:2], base.shared[2:]).kind == "cell"
    assert variance_groups(LinearProblem(base.A, base.y)).kind == "all"


def test_without_repeats_shared_effects_stay() -> None:
    rng = np.random.default_rng(5)
    once = simulate(problem_of(PAPER, repeats=1), PAPER.truth, BY_NAME["shared translation"], rng)
    found = honest(once)
    assert found.details.lack_of_fit is None
    assert found.details.shared_effects == ("configuration translation", "configuration rotation")
    assert any("nothing was repeated" in line for line in found.details.messages)


def test_without_geometry_an_offset_per_axis_stands_in() -> None:
    data = replace(data_of("shared translation", 6), shared=())
    assert honest(data).details.shared_effects == ("configuration offset",)


def test_without_labels_it_is_plain_regression() -> None:
    data = data_of("independent", 7)
    bare = LinearProblem(data.A, data.y)
    one, two = honest(bare), ols(bare)
    np.testing.assert_allclose(one.values, two.values, rtol=1e-8)
    np.testing.assert_allclose(one.intervals(), two.intervals(), rtol=1e-5)


def test_a_prior_enters() -> None:
    data = data_of("cells", 8)
    tight = replace(data, prior=Prior.independent(PAPER.truth, np.where(np.arange(9) == 8, 1e-6, np.inf)))
    found = honest(tight)
    assert found.values[8] == pytest.approx(PAPER.truth[8], abs=1e-5)
    assert found.sigma[8] == pytest.approx(1e-6, rel=1e-3)


def test_a_reused_design_changes_nothing() -> None:
    data = data_of("shared by visit", 9)
    design = honest_design(data)
    honest(data_of("shared by visit", 10), design=design)
    np.testing.assert_array_equal(honest(data, design=design).values, honest(data).values)


def misses(geometry: Geometry, scenario: Scenario, runs: int, seed: int) -> Array:
    """(runs, parameters) |error| / half width of the 95 % interval."""
    rng, base = np.random.default_rng(seed), problem_of(geometry)
    design, found = honest_design(base), []
    for _ in range(runs):
        estimate = honest(simulate(base, geometry.truth, scenario, rng), design=design)
        half = np.diff(estimate.intervals(0.95), axis=1)[:, 0] / 2
        found.append(np.abs(estimate.values - geometry.truth) / half)
    return np.array(found)


@pytest.mark.parametrize("geometry", [PAPER, SCATTERED], ids=["paper", "scattered"])
@pytest.mark.parametrize("name", ["independent", "cells", "shared translation", "cells + shared motion"])
def test_coverage(geometry: Geometry, name: str) -> None:
    """Runs are independent, parameters of a run are not: one of them per run, in turn, gives exact binomial limits."""
    ratio = misses(geometry, BY_NAME[name], 45, 31)
    inside = int(np.sum(ratio[np.arange(45), np.arange(45) % ratio.shape[1]] <= 1))
    assert inside >= stats.binom.ppf(1e-6, 45, 0.95)
    assert np.mean(ratio <= 1) > 0.9
