"""Cell weights, the printed scheme, the bound on the gain, and the scheme that is none."""

import re
from dataclasses import replace

import numpy as np
import pytest

from identify_scenarios import paper_geometry, problem_of, row_sigma, scattered_geometry, scenarios, simulate, table_1
from stiffarm.errors import InputError, StiffarmWarning
from stiffarm.identify.linear import ols
from stiffarm.identify.linearised import run_estimator
from stiffarm.identify.options import EstimatorName, Options
from stiffarm.identify.problem import LinearProblem
from stiffarm.identify.reml import fit_reml
from stiffarm.identify.weights import cells, gain_bound, gain_messages, own_residual_messages, per_equation

GEOMETRY = paper_geometry()
BASE = problem_of(GEOMETRY)


def table_1_data(seed: int) -> LinearProblem:
    return simulate(BASE, GEOMETRY.truth, scenarios()[1], np.random.default_rng(seed))


def test_the_bound_of_table_1() -> None:
    assert gain_bound(table_1()) == pytest.approx(4.56, abs=0.005)
    assert gain_bound(np.ones(5)) == 1.0


@pytest.mark.parametrize("seed", range(20))
def test_no_design_gains_more_than_the_bound(seed: int) -> None:
    """Exact standard deviations of OLS over best weights for random designs; one design attains the bound."""
    rng = np.random.default_rng(seed)
    sigma = rng.uniform(1.0, rng.uniform(1.0, 10.0), 30)
    A = rng.standard_normal((30, 4))
    pinv = np.linalg.pinv(A)
    plain = np.sqrt(np.diag(pinv @ np.diag(sigma**2) @ pinv.T))
    best = np.sqrt(np.diag(np.linalg.inv(A.T @ np.diag(sigma**-2) @ A)))
    assert np.max(plain / best) <= gain_bound(sigma) + 1e-12
    two = np.array([1.0, sigma.max() / sigma.min()])
    attained = np.sqrt(np.mean(two**2) / 2) / np.sqrt(1 / np.sum(two**-2.0))
    assert attained == pytest.approx(gain_bound(two))


def test_cells_without_softening_are_reml() -> None:
    data = table_1_data(3)
    assert data.cell is not None
    one, two = cells(data), fit_reml(data, data.cell)
    assert one.details.converged
    np.testing.assert_allclose(one.values, two.values, rtol=1e-5)
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-3, atol=1e-12)
    np.testing.assert_allclose(one.dof, two.dof, rtol=1e-3)


def test_lambda_hardly_matters() -> None:
    """Between lambda 0.5, 1 and 2 values typically (median) move by less than a fifth of a standard deviation."""
    moves = []
    for seed in range(10):
        found = [cells(table_1_data(seed), lambda_=value, sigma0=10.0) for value in (0.5, 1.0, 2.0)]
        moves.append(np.ptp([f.values for f in found], axis=0) / found[1].sigma)
    assert np.median(moves) < 0.2
    assert np.max(moves) < 1.0


def test_printed_weights_and_iterations() -> None:
    data = table_1_data(4)
    found = cells(data, lambda_=0.5, sigma0=10.0, iterations=1)
    assert found.details.iterations == 1
    weights = found.details.weights
    assert weights is not None
    assert data.cell is not None
    assert len(np.unique(weights.round(12))) == 45
    residuals = ols(data).residuals
    plain = np.sqrt([np.mean(residuals[data.cell == c] ** 2) for c in range(45)])[data.cell]
    printed = 10.0 / (10.0 + 0.5 * plain)
    np.testing.assert_allclose(weights, printed / printed.max(), rtol=0.05)


def test_true_gain_of_cell_weights() -> None:
    """Root mean square error against the truth, 300 runs: the median gain is 1.38, 1.15 to 1.75 by parameter."""
    rng, plain, weighted = np.random.default_rng(8), [], []
    for _ in range(300):
        data = simulate(BASE, GEOMETRY.truth, scenarios()[1], rng)
        plain.append(ols(data).values - GEOMETRY.truth)
        weighted.append(cells(data, iterations=2).values - GEOMETRY.truth)
    gain = np.sqrt(np.mean(np.square(plain), axis=0) / np.mean(np.square(weighted), axis=0))
    assert 1.25 < np.median(gain) < 1.5
    assert gain.min() > 1.0
    assert gain.max() < 1.95


def test_a_weight_per_equation_is_refused_with_numbers() -> None:
    with pytest.raises(InputError) as refusal:
        cells(table_1_data(5), sigma0=10.0, per_equation=True)
    text = str(refusal.value)
    assert "residual of its own row" in text
    assert "claimed gain over ordinary least squares" in text
    assert "a gain of at most" in text
    assert "weights per cell" in text


def test_the_per_equation_scheme_claims_what_it_does_not_give() -> None:
    errors, covered, plain = [], [], []
    rng = np.random.default_rng(6)
    for _ in range(30):
        data = simulate(BASE, GEOMETRY.truth, scenarios()[1], rng)
        with pytest.warns(StiffarmWarning, match="no weight"):
            found = per_equation(data)
        assert found.claimed_gain is not None
        assert found.claimed_gain_bound is not None
        assert np.median(found.claimed_gain) > 2 * found.claimed_gain_bound
        errors.append(found.values - GEOMETRY.truth)
        plain.append(ols(data).values - GEOMETRY.truth)
        lower, upper = found.intervals(0.9973).T
        covered.append((lower < GEOMETRY.truth) & (upper > GEOMETRY.truth))
    gain = np.sqrt(np.mean(np.square(plain), axis=0) / np.mean(np.square(errors), axis=0))
    assert np.median(gain) < 1.3
    assert np.mean(covered) < 0.4


def test_a_claim_over_the_bound_is_said() -> None:
    lines = gain_messages(np.array([30.0, 1.2]), 4.56, ("A2.compliance", "A3.compliance"))
    assert len(lines) == 1
    assert lines[0].startswith("A2.compliance: claimed gain 30.00")
    found = cells(table_1_data(7))
    assert found.details.messages == ()


@pytest.mark.parametrize("made", ["least squares", "least squares and a steady part", "iterated"])
def test_sigmas_taken_from_the_rows_own_residuals_are_said(made: str) -> None:
    data = table_1_data(11)
    size = np.maximum(np.abs(ols(data).residuals), 1e-3)
    if made == "iterated":
        with pytest.warns(StiffarmWarning):
            size = np.maximum(np.abs(per_equation(data).residuals), 1e-3)
    sigma = size + 10.0 if "steady" in made else size
    (line,) = own_residual_messages(replace(data, sigma=sigma))
    claim = re.search(r"a gain of ([0-9.]+) to ([0-9.]+) .* at most ([0-9.]+)", line)
    assert claim is not None
    assert 2.0 < float(claim[3]) < 8.0
    if "steady" not in made:
        assert float(claim[2]) > float(claim[3])
    asked: tuple[EstimatorName, ...] = ("wls", "honest")
    for estimator in asked:
        assert line in run_estimator(replace(data, sigma=sigma), estimator, Options(), known=True).details.messages


def test_true_sigmas_are_not_taken_for_residuals() -> None:
    """Sigmas of Table 1, sigmas that differ in every row, equal ones, outliers, and as few rows as are judged."""
    rng = np.random.default_rng(12)
    for seed in range(20):
        data = table_1_data(seed)
        spread = np.exp(rng.normal(3.0, 1.0, data.rows))
        own = replace(data, y=spread * rng.standard_normal(data.rows))
        wild = np.where(rng.random(data.rows) < 0.05, 10.0, 1.0)
        assert own_residual_messages(replace(data, sigma=row_sigma(scenarios()[1], data))) == ()
        assert own_residual_messages(replace(own, sigma=spread)) == ()
        assert own_residual_messages(replace(own, y=wild * own.y, sigma=spread)) == ()
        assert own_residual_messages(replace(data, sigma=np.ones(data.rows))) == ()
    false = 0
    for _ in range(2000):
        sigma = np.exp(rng.normal(0.0, 1.0, 68))
        few = LinearProblem(rng.standard_normal((68, 4)), sigma * rng.standard_normal(68), sigma=sigma)
        false += len(own_residual_messages(few))
    assert false <= 3


def test_cells_need_labels_and_readings() -> None:
    with pytest.raises(InputError, match="which rows belong"):
        cells(LinearProblem(np.ones((9, 1)), np.arange(9.0)))
    with pytest.raises(InputError, match="too few readings"):
        cells(LinearProblem(np.eye(9)[:, :3], np.arange(9.0), configuration=np.arange(9)))
    with pytest.raises(InputError, match="lambda > 0"):
        cells(table_1_data(1), lambda_=0.0)


def test_second_geometry_is_well_posed() -> None:
    geometry = scattered_geometry()
    assert np.linalg.cond(geometry.design / np.linalg.norm(geometry.design, axis=0)) < 10
