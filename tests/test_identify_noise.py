"""What identify assumes of errors: whitening against dense covariances, references, loads not exactly known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from stiffarm.identify.data import fitted_rows, part_of
from stiffarm.identify.fit import Fit, fit
from stiffarm.identify.noise import RowNoise, assumed_noise
from stiffarm.identify.options import EstimatorName, Options
from stiffarm.identify.system import Point, System
from stiffarm.measure.campaign import Campaign, Isotropic, LoadUncertainty, Setup, SharedError, Tracker
from stiffarm.measure.covariance import noise_of
from stiffarm.measure.points import seen_points
from stiffarm.measure.virtual import simulate
from stiffarm.robot.arm import Placement
from stiffarm.robot.placement import rotation_from_vector
from virtual_plans import MODEL, ROBOT, plan_of

Array = NDArray[np.float64]
TRACKER = Tracker(5e-6, 1e-6, 8e-6)
WORLD = Placement((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
STANDING = Setup("day", placement=WORLD, station_m=(3.0, -2.0, 0.5))
PLAIN = Options(geometry="none", folds=0, estimator="wls")
COMPLIANCES = tuple(f"{name}.compliance" for name in ROBOT.joint_names)


def loaded_and_unloaded(configurations: int, loads: int = 2, **more: Any) -> Campaign:
    """Every configuration unloaded and under some loads, three markers; loaded rows refer to the unloaded ones."""
    per = loads + 1
    experiment = np.repeat(np.arange(configurations * per), 3)
    unloaded = experiment // per * per
    plan = plan_of(
        configurations * per,
        {"experiment": experiment, "reference": np.where(experiment == unloaded, -1, unloaded)},
        loaded=np.arange(configurations * per) % per != 0,
        **more,
    )
    q = plan.experiments.q[:, np.arange(configurations * per) // per * per]
    return replace(plan, experiments=replace(plan.experiments, q=q))


def deflections(experiments: int, setups: tuple[Setup, ...] = (Setup("day"),), **more: Any) -> Campaign:
    experiment = np.repeat(np.arange(experiments), 3)
    return plan_of(
        experiments,
        {"experiment": experiment, "setup": experiment % len(setups)},
        kind="deflection",
        setups=setups,
        **more,
    )


def dense(system: System, noise: RowNoise) -> Array:
    """The covariance that a whitening undoes."""
    root = np.linalg.inv(noise.whiten(np.eye(len(system))))
    return np.asarray(root @ root.T)


@pytest.mark.parametrize("shared", [SharedError(), SharedError(2e-5, 3e-5)])
@pytest.mark.parametrize("instrument", [TRACKER, Isotropic(2e-5)])
def test_whitening_undoes_the_dense_covariance(instrument: Any, shared: SharedError) -> None:
    campaign = loaded_and_unloaded(4, setups=(STANDING,), instrument=instrument, shared=shared)
    campaign = simulate(MODEL.at(), campaign, seed=1).campaign
    campaign.readings.value[1, 5] = np.nan
    data = fitted_rows(ROBOT, campaign, PLAIN)
    assert data.campaign.kind("deflection").all()
    assert len(data.campaign.readings) == 24
    system = System(MODEL, data.campaign, "model", data)
    start = Point(MODEL.nominal, {})
    component, row = system.take
    truth = noise_of(data, seen_points(MODEL.at(), data.source)).dense()[component, row][:, component, row]
    found = dense(system, assumed_noise(system, start))
    scale = np.sqrt(np.diag(truth))
    assert np.abs((found - truth) / np.outer(scale, scale)).max() < 1e-4  # beams to read points, not to modelled ones


def test_estimates_are_generalised_least_squares() -> None:
    campaign = loaded_and_unloaded(5, setups=(STANDING,), instrument=TRACKER, shared=SharedError(1e-5, 1e-5))
    campaign = simulate(MODEL.at(), campaign, seed=2).campaign
    found = fit(ROBOT, campaign, PLAIN)
    system = found.system
    component, row = system.take
    V = noise_of(system.rows, seen_points(MODEL.at(), campaign)).dense()[component, row][:, component, row]
    A = system.equations(found.at, COMPLIANCES).columns
    weighted = np.linalg.solve(V, A)
    covariance = np.linalg.inv(A.T @ weighted)
    x = covariance @ weighted.T @ system.campaign.readings.value[component, row]
    assert found.names == COMPLIANCES
    values = np.array([found.at.values[name] for name in COMPLIANCES])
    assert np.abs((values - x) / np.sqrt(np.diag(covariance))).max() < 1e-2
    assert np.abs(found.estimate.covariance / covariance - 1.0).max() < 1e-3


def test_without_a_statement_nothing_is_whitened() -> None:
    campaign = simulate(MODEL.at(), deflections(6), seed=1, sigma_m=1e-5).campaign
    system = System(MODEL, replace(campaign, instrument=None))
    noise = assumed_noise(system, Point(MODEL.nominal, {}))
    assert not noise.known
    assert not noise.whitening.mixes
    assert np.all(noise.sigma == 1.0)


def test_unloaded_readings_of_unknown_scatter_are_shared_all_the_same() -> None:
    campaign = simulate(MODEL.at(), loaded_and_unloaded(3), seed=1, sigma_m=1e-5).campaign
    data = fitted_rows(ROBOT, replace(campaign, instrument=None), PLAIN)
    system = System(MODEL, data.campaign, "model", data)
    noise = assumed_noise(system, Point(MODEL.nominal, {}))
    covariance = dense(system, noise)
    assert not noise.known
    assert np.diag(covariance) == pytest.approx(2.0)
    assert sorted(set(np.round(covariance, 9).ravel())) == [0.0, 1.0, 2.0]


def test_readings_are_fitted_once() -> None:
    campaign = simulate(MODEL.at(), loaded_and_unloaded(3), seed=1, sigma_m=1e-5).campaign
    as_differences = fitted_rows(ROBOT, campaign, PLAIN)
    assert len(as_differences.campaign.readings) == 18
    assert "18 rows with a reference are fitted as deflections; the 9 unloaded" in as_differences.campaign.warnings[-1]
    as_read = fitted_rows(ROBOT, campaign, replace(PLAIN, geometry="full")).campaign
    assert len(as_read.readings) == 27
    assert as_read.kind("position").all()
    assert (as_read.readings.reference == -1).all()
    assert "geometry is asked for" in as_read.warnings[-1]


def test_differences_along_axes_nobody_stated_are_not_taken_for_the_worlds() -> None:
    turned = Placement((1.0, 2.0, 0.0), (0.0, 0.0, 1.2))
    campaign = loaded_and_unloaded(8, setups=(Setup("day", placement=turned),))
    campaign = simulate(MODEL.at(), campaign, seed=1, sigma_m=1e-6).campaign
    assert fitted_rows(ROBOT, campaign, PLAIN).campaign.kind("deflection").all()
    lost = fitted_rows(ROBOT, replace(campaign, setups=(Setup("day"),)), PLAIN).campaign
    assert lost.kind("position").all()
    assert "'day'" in lost.warnings[-1]
    found = fit(ROBOT, replace(campaign, setups=(Setup("day"),)), PLAIN)
    k = np.array([found.at.values[name] for name in COMPLIANCES])
    assert k == pytest.approx([MODEL.nominal[name] for name in COMPLIANCES], rel=0.01)


def test_parts_remember_what_they_subtracted() -> None:
    campaign = simulate(MODEL.at(), loaded_and_unloaded(4), seed=1, sigma_m=1e-5).campaign
    whole = fitted_rows(ROBOT, campaign, PLAIN)
    half = part_of(whole, np.arange(24) % 6 < 3)
    system = System(MODEL, half.campaign, "model", half)
    noise = assumed_noise(system, Point(MODEL.nominal, {}))
    assert dense(system, noise) == pytest.approx(2e-10 * np.eye(len(system)), abs=1e-16)


@pytest.mark.parametrize("estimator", ["ols", "wls", "honest", "robust", "bootstrap"])
def test_every_estimator_takes_correlated_rows(estimator: EstimatorName) -> None:
    campaign = loaded_and_unloaded(8, setups=(STANDING,), instrument=TRACKER, shared=SharedError(1e-5, 1e-5))
    campaign = simulate(MODEL.at(), campaign, seed=3).campaign
    found = fit(ROBOT, campaign, replace(PLAIN, estimator=estimator)).estimate
    reference = fit(ROBOT, campaign, PLAIN)
    assert np.all(found.sigma / reference.estimate.sigma > 0.3)
    assert np.all(found.sigma / reference.estimate.sigma < 3.0)


def wrong_load(campaign: Campaign, random: np.random.Generator) -> Campaign:
    """The campaign with the load that really pulled: gain and direction drawn as its uncertainty says."""
    stated, readings = campaign.load_uncertainty, campaign.readings
    count = len(campaign.experiments)
    setup = np.zeros(count, dtype=np.int64)
    setup[readings.experiment] = readings.setup
    group = {"campaign": np.zeros(count, dtype=np.int64), "setup": setup, "experiment": np.arange(count)}[stated.shared]
    groups = int(group.max()) + 1
    gain = 1.0 + stated.gain_sigma * random.standard_normal(groups)
    turn = [rotation_from_vector(v) for v in stated.direction_sigma_rad * random.standard_normal((groups, 3))]
    wrench = campaign.experiments.wrench_world.copy()
    for e, g in enumerate(group):
        wrench[:, :3, e] = gain[g] * wrench[:, :3, e] @ turn[g].T
    return replace(campaign, experiments=replace(campaign.experiments, wrench_world=wrench))


def misses(
    campaign: Campaign,
    options: Options,
    runs: int,
    names: tuple[str, ...],
    pulled: Callable[..., Campaign] = wrong_load,
) -> tuple[Array, Fit]:
    """How often the 95 % interval of each parameter misses the truth, over campaigns with loads drawn anew."""
    missed = np.zeros(len(names))
    for run in range(runs):
        random = np.random.default_rng([7, run])
        read = simulate(MODEL.at(), pulled(campaign, random), seed=run).campaign
        found = fit(ROBOT, replace(campaign, readings=read.readings), options)
        at = [found.names.index(name) for name in names]
        shift = np.array([MODEL.nominal[name] - found.at.values[name] for name in names])
        low, high = (found.estimate.intervals(0.95)[at] - found.estimate.values[at, None]).T
        missed += (shift < low) | (shift > high)
    return missed, found


def assert_covered(missed: Array, runs: int) -> None:
    """Exact binomial limits for each parameter, together wrong once in a hundred thousand seeds."""
    low, high = stats.binom.ppf([5e-6 / len(missed), 1 - 5e-6 / len(missed)], runs, 0.05)
    assert np.all((missed >= low) & (missed <= high)), missed / runs


LOADS = {
    "exact": LoadUncertainty(),
    "campaign": LoadUncertainty(0.02, 0.01, "campaign"),
    "setup": LoadUncertainty(0.02, 0.01, "setup"),
    "experiment": LoadUncertainty(0.02, 0.01, "experiment"),
}


@pytest.mark.parametrize("shared", list(LOADS))
def test_intervals_cover_whatever_the_load_is_uncertain_by(shared: str) -> None:
    setups = (Setup("one"), Setup("two"), Setup("three"))
    campaign = deflections(12, setups, load_uncertainty=LOADS[shared], instrument=Isotropic(2e-5))
    missed, found = misses(campaign, PLAIN, 120, COMPLIANCES)
    assert_covered(missed, 120)
    if shared == "campaign":
        k = np.array([found.at.values[name] for name in COMPLIANCES])
        along = found.scale / np.outer(k, k)
        assert np.diag(along) == pytest.approx(0.02**2, rel=0.25)  # the gain, and a little of the direction
