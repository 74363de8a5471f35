"""Problem, rank, ordinary and weighted least squares, against formulas written out independently."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from identify_scenarios import DATA, paper_geometry, problem_of, row_sigma, scenarios, simulate
from stiffarm.errors import InputError
from stiffarm.identify.intervals import f_upper, t_quantile, t_two_sided
from stiffarm.identify.linear import ols, wls
from stiffarm.identify.problem import (
    LinearProblem,
    Prior,
    SharedEffect,
    label_codes,
    numerical_rank,
    require_full_rank,
)


def random_problem(seed: int = 0, rows: int = 40, parameters: int = 4) -> LinearProblem:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, parameters)) * 10.0 ** rng.uniform(-3, 3, parameters)
    sigma = rng.uniform(0.5, 2.0, rows)
    return LinearProblem(A, A @ (1.0 / np.linalg.norm(A, axis=0)) + sigma * rng.standard_normal(rows), sigma)


def test_own_kinematics_reproduce_the_golden_observation_matrix() -> None:
    golden = np.loadtxt(DATA / "003_observation_matrix.csv", delimiter=",")
    assert np.max(np.abs(paper_geometry().design - golden)) < 1e-6


def test_ols_is_the_textbook_regression() -> None:
    problem = random_problem()
    found = ols(problem)
    values, rss, *_ = np.linalg.lstsq(problem.A, problem.y, rcond=None)
    dof = problem.rows - problem.parameters
    covariance = float(rss[0]) / dof * np.linalg.inv(problem.A.T @ problem.A)
    np.testing.assert_allclose(found.values, values, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-8)
    half = stats.t.ppf(0.975, dof) * np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.intervals(0.95), np.stack([values - half, values + half], axis=1), rtol=1e-8)


def test_wls_known_and_scaled() -> None:
    problem = random_problem(1)
    assert problem.sigma is not None
    weighted = problem.A / problem.sigma[:, None]
    inverse = np.linalg.inv(weighted.T @ weighted)
    values = inverse @ weighted.T @ (problem.y / problem.sigma)
    known, scaled = wls(problem), wls(problem, known=False)
    np.testing.assert_allclose(known.covariance, inverse, rtol=1e-8)
    np.testing.assert_allclose(known.values, values, rtol=1e-8)
    s2 = np.sum(((problem.y - problem.A @ values) / problem.sigma) ** 2) / 36
    np.testing.assert_allclose(scaled.covariance, s2 * inverse, rtol=1e-8)
    assert np.all(np.isinf(known.dof))
    assert np.all(scaled.dof == 36)


def test_prior_is_the_posterior_of_a_gaussian() -> None:
    problem = random_problem(2)
    assert problem.sigma is not None
    mean, deviation = np.full(4, 0.1), np.array([1.0, np.inf, 0.01, 5.0])
    found = wls(replace(problem, prior=Prior.independent(mean, deviation)))
    weighted = problem.A / problem.sigma[:, None]
    precision = np.diag(1.0 / deviation**2)
    posterior = np.linalg.inv(weighted.T @ weighted + precision)
    expected = posterior @ (weighted.T @ (problem.y / problem.sigma) + precision @ mean)
    np.testing.assert_allclose(found.values, expected, rtol=1e-8)
    np.testing.assert_allclose(found.covariance, posterior, rtol=1e-8)


def test_ols_with_a_prior_finds_its_own_scale() -> None:
    """A prior that says next to nothing must not change the classical answer."""
    problem = replace(random_problem(3), sigma=None)
    vague = replace(problem, prior=Prior.independent(np.zeros(4), 1e9 / np.linalg.norm(problem.A, axis=0)))
    plain, found = ols(problem), ols(vague)
    np.testing.assert_allclose(found.values, plain.values, rtol=1e-7)
    np.testing.assert_allclose(found.covariance, plain.covariance, rtol=1e-5)
    np.testing.assert_allclose(found.dof, plain.dof, rtol=1e-5)


def test_a_prior_makes_a_deficient_problem_solvable() -> None:
    A = np.ones((10, 2))
    y = 3.0 + 0.01 * np.random.default_rng(0).standard_normal(10)
    with pytest.raises(InputError, match=r"1 direction\(s\) among the parameters x1, x2"):
        ols(LinearProblem(A, y))
    found = ols(LinearProblem(A, y, prior=Prior.independent([1.0, 0.0], [0.1, np.inf])))
    np.testing.assert_allclose(found.values, [1.0, 2.0], atol=0.02)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), 0.1, rtol=0.01)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_rank_ignores_units_and_names_the_culprits(scale: float) -> None:
    rng = np.random.default_rng(4)
    A = rng.standard_normal((60, 5))
    A[:, 3] = A[:, 1] * 2 - A[:, 2]
    A[:, 1] *= scale
    assert numerical_rank(A).rank == 4
    names = ("A1.compliance", "A2.compliance", "A3.compliance", "A4.compliance", "A5.compliance")
    with pytest.raises(InputError, match=r"the parameters A2.compliance, A3.compliance, A4.compliance;"):
        require_full_rank(LinearProblem(A, np.zeros(60), names=names))


def test_a_poor_design_is_not_called_deficient() -> None:
    rng = np.random.default_rng(5)
    A = rng.standard_normal((60, 3))
    A[:, 2] = A[:, 0] + 1e-6 * A[:, 2]
    assert numerical_rank(A).rank == 3
    assert numerical_rank(np.zeros((4, 2))).rank == 0
    assert numerical_rank(rng.standard_normal((2, 3))).rank == 2


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"y": np.full(40, np.nan)}, "y holds a number that is not finite"),
        ({"sigma": np.zeros(40)}, "not positive"),
        ({"configuration": np.zeros(3)}, "configuration has not one entry per row"),
        ({"names": ("a",)}, "names do not fit"),
        ({"y": np.zeros(3)}, "do not fit"),
    ],
)
def test_bad_problems_say_what_is_wrong(change: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        replace(random_problem(), **change)


def test_a_shared_group_stays_in_one_configuration() -> None:
    effect = SharedEffect("drift", np.zeros(40), np.ones((40, 1)))
    with pytest.raises(InputError, match="spans several configurations"):
        replace(random_problem(), configuration=np.arange(40) % 2, shared=(effect,))


def test_too_few_rows_or_no_sigma_is_said() -> None:
    with pytest.raises(InputError, match="no reading is left over"):
        ols(LinearProblem(np.eye(2), np.zeros(2)))
    with pytest.raises(InputError, match="standard deviation of every row"):
        wls(LinearProblem(np.eye(2), np.zeros(2)))


def test_quantiles_are_those_of_scipy_stats() -> None:
    dof = np.array([1.0, 2.5, 30.0])
    np.testing.assert_allclose(t_quantile(0.9973, dof), stats.t.ppf(0.99865, dof), rtol=1e-9)
    np.testing.assert_allclose(t_quantile(0.95, np.inf), stats.norm.ppf(0.975), rtol=1e-7)
    np.testing.assert_allclose(t_two_sided(np.array(-1.7), 7.0), 2 * stats.t.sf(1.7, 7), rtol=1e-9)
    np.testing.assert_allclose(f_upper(1.3, 12, 55), stats.f.sf(1.3, 12, 55), rtol=1e-9)
    np.testing.assert_allclose(f_upper(1.3, 12, np.inf), stats.chi2.sf(12 * 1.3, 12), rtol=1e-9)
    with pytest.raises(ValueError, match="between 0 and 1"):
        t_quantile(95, 3.0)


def test_labels_may_be_words() -> None:
    assert label_codes(["P1", "P3", "P1"]).tolist() == [0, 1, 0]


def test_cell_defaults_to_configuration_by_axis() -> None:
    problem = problem_of(paper_geometry())
    assert problem.cell is not None
    assert len(np.unique(problem.cell)) == 45
    assert np.all(np.bincount(problem.cell) == 18)


def test_coverage_of_known_weights() -> None:
    """Exact binomial limits: 1 - 1e-6 of all seeds would pass."""
    geometry, scenario = paper_geometry(), scenarios()[1]
    base = problem_of(geometry)
    base = replace(base, sigma=row_sigma(scenario, base))
    rng = np.random.default_rng(11)
    inside = 0
    for _ in range(100):
        found = wls(simulate(base, geometry.truth, scenario, rng))
        # Parameters of one run are correlated: count one of them per run for an exact binomial.
        lower, upper = found.intervals(0.95)[3]
        inside += int(lower <= geometry.truth[3] <= upper)
    low, high = stats.binom.ppf([5e-7, 1 - 5e-7], 100, 0.95)
    assert low <= inside <= high
