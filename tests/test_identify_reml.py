"""Restricted likelihood, its derivatives and the Kenward-Roger covariance, against dense formulas and Monte Carlo."""

from dataclasses import replace

import numpy as np
import pytest

from identify_scenarios import paper_geometry, problem_of, scenarios, simulate
from stiffarm.identify.kenward_roger import kenward_roger, theta_covariance
from stiffarm.identify.likelihood import Likelihood
from stiffarm.identify.linear import ols
from stiffarm.identify.problem import Array, LinearProblem, Prior, SharedEffect, rigid_effects
from stiffarm.identify.reduction import reduce_rows
from stiffarm.identify.reml import fit_reml, variances_told_apart


def small_problem(seed: int = 0, prior: bool = False) -> LinearProblem:
    """Unequal configurations, repeats of some rows only, both kinds of shared effect, a scale per row."""
    rng = np.random.default_rng(seed)
    configuration = np.repeat(np.arange(6), [9, 6, 12, 9, 6, 9])
    rows = len(configuration)
    axis = np.tile(np.arange(3), rows // 3)
    A = rng.standard_normal((rows, 3)) * [1.0, 30.0, 0.1]
    A[9:12] = A[12:15]
    shared = rigid_effects("stop", np.eye(3)[axis], rng.standard_normal((rows, 3)), configuration)
    noise = rng.standard_normal(rows) * (1 + axis)
    for effect in shared:
        noise += np.einsum("ij,ij->i", effect.columns, rng.standard_normal((6, 3))[effect.group])
    given = Prior.independent(np.zeros(3), [2.0, np.inf, 3.0]) if prior else None
    sigma = rng.uniform(0.5, 1.5, rows)
    return LinearProblem(A, A @ [1, 2, 3] + noise, sigma, configuration, axis, shared=shared, prior=given)


def dense_parts(problem: LinearProblem) -> list[Array]:
    """dV / dtheta_i as full matrices: three axes, then the shared effects."""
    assert problem.axis is not None
    parts = [np.diag((problem.axis == i) * problem.row_scale**2) for i in range(3)]
    for effect in problem.shared:
        same = effect.group[:, None] == effect.group[None, :]
        parts.append(effect.columns @ effect.columns.T * same)
    return parts


def dense_loglik(problem: LinearProblem, theta: Array) -> float:
    V = np.tensordot(theta, np.array(dense_parts(problem)), axes=1)
    L, m = problem.prior_rows
    A, y = np.vstack([problem.A, L]), np.concatenate([problem.y, m])
    full = np.block([[V, np.zeros((len(V), len(m)))], [np.zeros((len(m), len(V))), np.eye(len(m))]])
    inverse = np.linalg.inv(full)
    information = A.T @ inverse @ A
    r = y - A @ np.linalg.solve(information, A.T @ inverse @ y)
    return float(-0.5 * (np.linalg.slogdet(full)[1] + np.linalg.slogdet(information)[1] + r @ inverse @ r))


def likelihood_of(problem: LinearProblem) -> Likelihood:
    assert problem.axis is not None
    return Likelihood(problem, reduce_rows(problem, problem.axis, problem.shared, problem.row_scale))


@pytest.mark.parametrize("prior", [False, True])
def test_likelihood_of_compressed_rows_is_that_of_all_rows(prior: bool) -> None:
    problem = small_problem(prior=prior)
    compressed = likelihood_of(problem)
    one, two = np.array([1.0, 2.0, 3.0, 0.7, 0.4]), np.array([0.6, 4.0, 9.0, 0.0, 2.0])
    difference = compressed.at(one).loglik - compressed.at(two).loglik
    assert difference == pytest.approx(dense_loglik(problem, one) - dense_loglik(problem, two), abs=1e-9)


@pytest.mark.parametrize("prior", [False, True])
def test_score_and_second_derivatives_by_finite_differences(prior: bool) -> None:
    likelihood, theta, h = likelihood_of(small_problem(1, prior)), np.array([1.0, 2.0, 3.0, 0.7, 0.4]), 1e-4
    point = likelihood.at(theta)
    for i in range(5):
        step = h * np.eye(5)[i]
        above, below = likelihood.at(theta + step), likelihood.at(theta - step)
        assert point.score[i] == pytest.approx((above.loglik - below.loglik) / (2 * h), abs=1e-5)
        np.testing.assert_allclose(point.observed[i], -(above.score - below.score) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("prior", [False, True])
def test_kenward_roger_is_the_published_formula(prior: bool) -> None:
    problem, theta = small_problem(2, prior), np.array([1.0, 2.0, 3.0, 0.7, 0.4])
    likelihood = likelihood_of(problem)
    point = likelihood.at(theta)
    W = theta_covariance(theta, point, 3)
    inflation, dof = kenward_roger(point, W, likelihood.reduction.owner)
    root = point.root / likelihood.reduction.column_scale[:, None]
    parts = dense_parts(problem)
    inverse = np.linalg.inv(np.tensordot(theta, np.array(parts), axes=1))
    A, L = problem.A, problem.prior_rows[0]
    Phi = np.linalg.inv(A.T @ inverse @ A + L.T @ L)
    projector = inverse - inverse @ A @ Phi @ A.T @ inverse
    information = [[0.5 * np.trace(projector @ a @ projector @ b) for b in parts] for a in parts]
    dense_W = np.linalg.inv(np.array(information))
    np.testing.assert_allclose(W, dense_W, rtol=1e-7)
    P = [-A.T @ inverse @ a @ inverse @ A for a in parts]
    inner = sum(
        dense_W[i, j] * (A.T @ inverse @ a @ inverse @ b @ inverse @ A - P[i] @ Phi @ P[j])
        for i, a in enumerate(parts)
        for j, b in enumerate(parts)
    )
    np.testing.assert_allclose(root @ inflation @ root.T, Phi + 2 * Phi @ inner @ Phi, rtol=1e-7)
    for j in range(3):
        g = np.array([-(Phi @ p @ Phi)[j, j] for p in P])
        assert dof[j] == pytest.approx(2 * Phi[j, j] ** 2 / (g @ dense_W @ g), rel=1e-7)


def test_the_fit_is_a_maximum_and_the_estimate_is_gls() -> None:
    problem = small_problem(4)
    assert problem.axis is not None
    fit = fit_reml(problem, problem.axis, problem.shared)
    assert fit.converged
    best = dense_loglik(problem, fit.theta)
    for i in range(5):
        for factor in (0.98, 1.02):
            moved = fit.theta * np.where(np.arange(5) == i, factor, 1.0)
            assert dense_loglik(problem, moved) <= best + 1e-9
    inverse = np.linalg.inv(np.tensordot(fit.theta, np.array(dense_parts(problem)), axes=1))
    A = problem.A
    np.testing.assert_allclose(fit.values, np.linalg.solve(A.T @ inverse @ A, A.T @ inverse @ problem.y), rtol=1e-8)


def test_one_group_is_classical_regression() -> None:
    problem = replace(small_problem(4), sigma=None)
    fit, plain = fit_reml(problem, np.zeros(problem.rows, dtype=np.intp)), ols(problem)
    np.testing.assert_allclose(fit.values, plain.values, rtol=1e-9)
    np.testing.assert_allclose(fit.covariance, plain.covariance, rtol=1e-6)
    np.testing.assert_allclose(fit.dof, plain.dof, rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_do_not_matter(scale: float) -> None:
    problem = small_problem(5)
    assert problem.axis is not None
    other = replace(problem, A=problem.A * scale, y=problem.y * scale, sigma=problem.row_scale * 7.0)
    other = replace(other, shared=tuple(replace(e, columns=e.columns * scale) for e in problem.shared))
    one, two = (fit_reml(p, problem.axis, p.shared) for p in (problem, other))
    np.testing.assert_allclose(one.values, two.values, rtol=1e-6)
    np.testing.assert_allclose(one.covariance, two.covariance, rtol=1e-4)
    np.testing.assert_allclose(one.theta[3:], two.theta[3:], rtol=1e-3, atol=1e-6)


def test_an_absent_effect_stays_at_zero_and_exact_data_are_fitted() -> None:
    problem = small_problem(6)
    assert problem.axis is not None
    noise = replace(problem, y=np.random.default_rng(0).standard_normal(problem.rows))
    fit = fit_reml(noise, problem.axis, problem.shared)
    assert fit.converged
    assert fit.theta[4] == 0
    assert dense_loglik(noise, np.append(fit.theta[:4], 1e-3)) < dense_loglik(noise, fit.theta)
    assert fit.components()[4].standard_error == 0
    exact = fit_reml(replace(problem, y=problem.A @ [1.0, 2.0, 3.0]), problem.axis, problem.shared)
    np.testing.assert_allclose(exact.values, [1, 2, 3], rtol=1e-9)


def test_an_effect_that_is_noise_in_disguise_is_told() -> None:
    """One marker read once: a random translation of the stop is the noise of its three rows."""
    rng = np.random.default_rng(1)
    axis, configuration = np.tile(np.arange(3), 10), np.repeat(np.arange(10), 3)
    marker = np.repeat(rng.standard_normal((10, 3)), 3, axis=0)
    shift, turn = rigid_effects("stop", np.eye(3)[axis], marker, configuration)
    problem = LinearProblem(rng.standard_normal((30, 2)), np.zeros(30), None, configuration, axis)
    assert variances_told_apart(problem, axis, (shift, turn)) == ()
    repeated = replace(
        problem,
        A=np.tile(problem.A, (2, 1)),
        y=np.zeros(60),
        configuration=np.tile(configuration, 2),
        axis=np.tile(axis, 2),
        cell=None,
    )
    twice = SharedEffect("stop translation", np.tile(configuration, 2), np.tile(shift.columns, (2, 1)))
    assert variances_told_apart(repeated, np.tile(axis, 2), (twice,)) == (twice,)


@pytest.mark.parametrize("number", [1, 3])
def test_kenward_roger_covariance_is_the_scatter_of_estimates(number: int) -> None:
    """Monte Carlo: mean stated covariance against the scatter of 300 estimates, in limits of chi-square (1e-6)."""
    from scipy.stats import chi2

    geometry, scenario = paper_geometry(), scenarios()[number]
    base, rng, runs = problem_of(geometry), np.random.default_rng(21), 300
    assert base.cell is not None
    effects = base.shared[:2] if scenario.translation else ()
    reduction = reduce_rows(base, base.cell, effects, base.row_scale)
    values, stated = np.zeros((runs, 9)), np.zeros((runs, 9))
    for i in range(runs):
        data = simulate(base, geometry.truth, scenario, rng)
        fit = fit_reml(data, base.cell, effects, reduction=reduction)
        assert fit.converged
        values[i], stated[i] = fit.values, np.diag(fit.covariance)
    ratio = np.mean((values - geometry.truth) ** 2, axis=0) / stated.mean(axis=0)
    low, high = chi2.ppf([5e-8, 1 - 5e-8], runs) / runs
    assert np.all((low < ratio) & (ratio < high)), ratio
