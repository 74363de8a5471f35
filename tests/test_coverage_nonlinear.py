"""Intervals of a whole calibration hold the truth as often as they say; few runs, exact binomial limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import bdtr

from nonlinear_scenarios import GAIN_SIGMA, MADE_FOR, PLAIN, SCENARIOS, Study
from stiffarm.identify.fit import fit_asked
from stiffarm.identify.options import EstimatorName

RUNS = 12
LEVEL = 0.95
QUICK: dict[EstimatorName, tuple[str, ...]] = {
    "ols": ("independent", "deflections, uncertain gain"),
    "wls": ("stated", "uncertain gain"),
    "honest": ("shared by a configuration", "deflections"),
}


def limits(hits: np.ndarray) -> tuple[int, int]:
    """Numbers of hits that a share of 95 % exceeds in one of 2 000 such tests, on either side.

    Intervals of one run share their noise: as many as the runs times a third of the parameters count as independent.
    """
    n = hits.size // 3
    counts = np.arange(n + 1)
    below = bdtr(counts, n, LEVEL)
    return int(np.argmax(below > 2.5e-4)), int(np.argmax(below > 1 - 2.5e-4))


@pytest.mark.parametrize(("estimator", "name"), [(e, name) for e, names in QUICK.items() for name in names])
def test_intervals_hold_the_truth(estimator: EstimatorName, name: str) -> None:
    assert name in MADE_FOR[estimator]
    study = Study(next(s for s in SCENARIOS if s.name == name))
    hits = np.array([study.hits(estimator, seed) for seed in range(RUNS)])
    low, high = limits(hits)
    assert low <= hits.mean() * (hits.size // 3) <= high, f"{hits.mean():.1%}"


def test_errors_that_are_shared_are_not_covered_by_those_who_take_them_for_independent() -> None:
    """The test can fail: least squares holds the truth far too seldom when a stop's readings are off together."""
    study = Study(next(s for s in SCENARIOS if s.name == "shared by a configuration"))
    hits = np.array([study.hits("ols", seed) for seed in range(RUNS)])
    assert hits.mean() * (hits.size // 3) < limits(hits)[0]


def test_an_uncertain_gain_is_in_the_intervals_of_compliances() -> None:
    """The variance that the readings leave, and beside it that of the force as a share of every compliance."""
    study = Study(next(s for s in SCENARIOS if s.name == "deflections, uncertain gain"))
    exact = Study(next(s for s in SCENARIOS if s.name == "deflections"))
    random = np.random.default_rng(1)
    truth = study.truth(random)
    readings = study.read(truth, random)
    stated = fit_asked(study.asked, readings, PLAIN).estimate.sigma
    plain = replace(readings, load_uncertainty=exact.campaign.load_uncertainty)
    ignored = fit_asked(exact.asked, plain, PLAIN).estimate.sigma
    values = np.array([truth.values[name] for name in study.told])
    np.testing.assert_allclose(stated**2, ignored**2 + (GAIN_SIGMA * values) ** 2, rtol=0.2)
