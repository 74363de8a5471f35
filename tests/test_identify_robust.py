"""Robust fits, cluster covariance, bootstrap and outliers, against dense formulas and simulated truth."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from identify_scenarios import paper_geometry, problem_of, row_sigma, scattered_geometry, scenarios, simulate
from stiffarm.errors import InputError
from stiffarm.identify.bootstrap import bootstrap
from stiffarm.identify.cluster import clusters_of
from stiffarm.identify.deletion import Deletion
from stiffarm.identify.intervals import t_quantile
from stiffarm.identify.linear import ols, solve_whitened
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.outliers import outliers
from stiffarm.identify.problem import LinearProblem, Prior
from stiffarm.identify.robust import HUBER_LIMIT, Loss, robust

GEOMETRY = scattered_geometry()
BASE = problem_of(GEOMETRY)
MARKER = np.tile(np.repeat(np.arange(3), 3), 90)


def data_of(number: int, seed: int) -> LinearProblem:
    return simulate(BASE, GEOMETRY.truth, scenarios()[number], np.random.default_rng(seed))


def small(seed: int = 0) -> LinearProblem:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((40, 3)) * [1.0, 100.0, 0.01]
    return LinearProblem(A, A @ [1, 2, 3] + rng.standard_normal(40), configuration=np.arange(40) // 5)


def test_cluster_covariance_and_dof_are_the_dense_formulas() -> None:
    problem = small()
    assert problem.configuration is not None
    solution = solve_whitened(problem, np.ones(40))
    clusters = clusters_of(problem, solution)
    A = problem.A
    bread = np.linalg.inv(A.T @ A)
    maker = np.eye(40) - A @ bread @ A.T
    meat, weights = np.zeros((3, 3)), []
    for g in range(8):
        rows = np.flatnonzero(problem.configuration == g)
        adjust = np.real(np.linalg.inv(sqrtm(maker[np.ix_(rows, rows)])))
        score = A[rows].T @ adjust @ solution.residuals[rows]
        meat += np.outer(score, score)
        weights.append(maker[:, rows] @ adjust @ A[rows] @ bread)
    np.testing.assert_allclose(clusters.covariance(solution.residuals), bread @ meat @ bread, rtol=1e-8)
    for j in range(3):
        gamma = np.array([[one[:, j] @ two[:, j] for two in weights] for one in weights])
        assert clusters.dof()[j] == pytest.approx(np.trace(gamma) ** 2 / np.sum(gamma**2), rel=1e-8)


def test_a_parameter_known_from_one_configuration_is_survived() -> None:
    problem = small()
    column = np.where(np.arange(40) < 5, 1.0, 0.0)
    found = robust(replace(problem, A=np.column_stack([problem.A, column]), names=()))
    assert np.all(np.isfinite(found.values))
    assert np.all(found.dof >= 1)


def test_huber_minimises_hubers_criterion() -> None:
    problem = replace(small(3), y=small(3).y + np.where(np.arange(40) % 9 == 0, 15.0, 0.0))
    found = robust(problem)
    scale = found.details.row_sigma
    assert scale is not None

    def criterion(x: np.ndarray) -> float:
        u = np.abs((problem.y - problem.A @ x) / scale)
        inside = u < HUBER_LIMIT
        return float(np.sum(np.where(inside, 0.5 * u**2, HUBER_LIMIT * (u - 0.5 * HUBER_LIMIT))))

    length = np.linalg.norm(problem.A, axis=0)
    best = minimize(lambda z: criterion(z / length), found.values * length, method="BFGS")
    assert criterion(found.values) <= best.fun + 1e-6
    assert np.all(np.abs(found.values - [1, 2, 3]) < 5 * found.sigma)


@pytest.mark.parametrize("loss", ["huber", "tukey"])
def test_robust_gain_with_outliers_and_cost_without(loss: Loss) -> None:
    """Five per cent of rows ten times worse: over 1.5 times better than least squares; clean: at most 10 % worse."""
    for number, least in ((5, 1.5), (0, 0.9)):
        rng, plain, found = np.random.default_rng(4), [], []
        for _ in range(40):
            data = simulate(BASE, GEOMETRY.truth, scenarios()[number], rng)
            plain.append(ols(data).values - GEOMETRY.truth)
            found.append(robust(data, loss=loss).values - GEOMETRY.truth)
        gain = np.sqrt(np.mean(np.square(plain), axis=0) / np.mean(np.square(found), axis=0))
        assert np.median(gain) > least


def test_tukey_ignores_the_absurd() -> None:
    data = data_of(0, 5)
    spoiled = replace(data, y=data.y + np.where(np.arange(810) % 50 == 0, 1e6, 0.0))
    clean = robust(data, loss="tukey")
    assert np.all(np.abs(robust(spoiled, loss="tukey").values - clean.values) < 0.5 * clean.sigma)


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("estimator", [robust, lambda p: bootstrap(p, seed=1, draws=499)], ids=["robust", "bootstrap"])
def test_coverage(estimator: Callable[[LinearProblem], LinearEstimate], number: int) -> None:
    """One parameter per run, in turn: exact binomial limits."""
    rng, inside, pooled = np.random.default_rng(41), 0, []
    for run in range(40):
        limits = estimator(simulate(BASE, GEOMETRY.truth, scenarios()[number], rng)).intervals(0.95)
        hit = (limits[:, 0] <= GEOMETRY.truth) & (GEOMETRY.truth <= limits[:, 1])
        inside += int(hit[run % 5])
        pooled.append(hit)
    assert inside >= stats.binom.ppf(1e-6, 40, 0.95)
    assert np.mean(pooled) > 0.88


def test_bootstrap_is_seeded_and_close_to_t() -> None:
    data = data_of(2, 6)
    one, two, three = bootstrap(data, seed=1), bootstrap(data, seed=1), bootstrap(data, seed=2)
    np.testing.assert_array_equal(one.intervals(), two.intervals())
    np.testing.assert_allclose(one.values, ols(data).values)
    assert one.studentised is not None
    assert three.studentised is not None
    assert not np.array_equal(one.studentised, three.studentised)
    quantiles = [np.quantile(f.studentised, 0.95, axis=0) for f in (one, three) if f.studentised is not None]
    np.testing.assert_allclose(quantiles[0], quantiles[1], rtol=0.1)
    np.testing.assert_allclose(quantiles[0], t_quantile(0.95, one.dof), rtol=0.25)
    assert bootstrap(data, seed=1, level=0.9973).studentised.shape[0] > 3000  # type: ignore[union-attr]


def test_bootstrap_draws_agree_with_refitting() -> None:
    """|t*| of one draw, done by hand on the rows."""
    problem = small(7)
    assert problem.configuration is not None
    found = bootstrap(problem, seed=3, draws=1)
    assert found.studentised is not None
    from stiffarm.identify.bootstrap import WEBB

    v = WEBB[np.random.default_rng(3).integers(0, 6, (1, 8))][0]
    solution = solve_whitened(problem, np.ones(40))
    basis, made = solution.basis, np.zeros(40)
    for g in range(8):
        rows = np.flatnonzero(problem.configuration == g)
        Q = basis[rows]
        adjust = np.real(np.linalg.inv(sqrtm(np.eye(5) - Q @ Q.T)))
        made[rows] = v[g] * (adjust @ solution.residuals[rows])
    drawn = replace(problem, y=problem.A @ solution.values + made)
    again = solve_whitened(drawn, np.ones(40))
    error = np.sqrt(np.diag(clusters_of(drawn, again).covariance(again.residuals)))
    np.testing.assert_allclose(found.studentised[0], np.abs(again.values - solution.values) / error, rtol=1e-8)


def test_bootstrap_needs_configurations_and_takes_a_prior() -> None:
    with pytest.raises(InputError, match="at least 5"):
        bootstrap(replace(small(), configuration=np.arange(40) % 3), seed=1)
    tight = replace(small(), prior=Prior.independent([1.0, 0, 0], [1e-4, np.inf, np.inf]))
    found = bootstrap(tight, seed=1)
    assert found.values[0] == pytest.approx(1.0, abs=1e-3)
    assert found.sigma[0] == pytest.approx(1e-4, rel=0.01)


def test_deletion_residuals_are_predictions_from_the_rest() -> None:
    data = data_of(2, 8)
    none = np.zeros(810, dtype=bool)
    found = Deletion.of(data, none, np.zeros(15, dtype=bool))
    assert found.delta / np.sqrt(found.delta_variance) == pytest.approx(np.zeros(810), abs=6)
    suspect = none.copy()
    suspect[17] = True
    apart = Deletion.of(data, suspect, np.zeros(15, dtype=bool))
    far = Deletion.of(replace(data, y=data.y + np.where(suspect, 1e4, 0.0)), suspect, np.zeros(15, dtype=bool))
    # A row set aside has no say in variances or fit, so its own deletion residual moves by exactly its change.
    assert far.delta[17] - apart.delta[17] == pytest.approx(1e4, rel=1e-9)
    np.testing.assert_allclose(far.delta_variance, apart.delta_variance, rtol=1e-6)
    np.testing.assert_allclose(far.F, apart.F, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("number", [0, 1, 3])
def test_outlying_readings_are_listed_and_no_others(number: int) -> None:
    rng, data = np.random.default_rng(9), data_of(number, 9)
    sigma = row_sigma(scenarios()[number], BASE)
    bad = np.sort(rng.choice(810, 6, replace=False))
    found = outliers(replace(data, y=data.y + np.where(np.isin(np.arange(810), bad), 12 * sigma, 0.0)))
    assert sorted(o.label for o in found if o.kind == "reading") == bad.tolist()
    assert len(found) == 6
    for o in found:
        assert o.shift == pytest.approx(12 * sigma[o.label], abs=5 * sigma[o.label])
        assert o.p_value < 0.01
        assert f"reading {o.label + 1}: off by" in o.evidence


@pytest.mark.parametrize("number", [0, 3])
def test_outlying_configurations_are_listed_as_a_whole(number: int) -> None:
    data, bad = data_of(number, 10), [2, 11]
    assert data.configuration is not None
    moved = np.isin(data.configuration, bad)
    y = data.y + np.where(moved, BASE.shared[0].columns @ [500.0, -400.0, 300.0], 0.0)
    found = outliers(replace(data, y=y))
    assert sorted((o.kind, o.label) for o in found) == [("configuration", 2), ("configuration", 11)]


def test_a_loose_marker_is_listed() -> None:
    rng, data = np.random.default_rng(11), data_of(0, 11)
    y = data.y + np.where(MARKER == 1, 90.0 * rng.standard_normal(810), 0.0)
    found = outliers(replace(data, y=y), groups={"marker": MARKER})
    assert [o.label for o in found if o.kind == "marker"] == [1]


@pytest.mark.parametrize("number", range(5))
def test_clean_campaigns_list_next_to_nothing(number: int) -> None:
    listed = [o for seed in range(2) for o in outliers(data_of(number, 100 + seed), groups={"marker": MARKER})]
    assert len(listed) <= 1


def test_outliers_without_labels_and_of_an_irreplaceable_configuration() -> None:
    data = small(12)
    bare = LinearProblem(data.A, data.y + np.where(np.arange(40) == 7, 30.0, 0.0))
    assert [o.label for o in outliers(bare)] == [7]
    paper = paper_geometry()
    base = problem_of(paper)
    made = simulate(base, paper.truth, scenarios()[0], np.random.default_rng(2))
    assert made.configuration is not None
    y = made.y + np.where(made.configuration < 3, 3000.0, 0.0)  # all that tells k21
    assert isinstance(outliers(replace(made, y=y)), tuple)
