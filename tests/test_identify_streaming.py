"""The running R factor against least squares of all rows at once."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stiffarm.errors import InputError
from stiffarm.identify.linear import ols, wls
from stiffarm.identify.problem import LinearProblem, Prior
from stiffarm.identify.streaming import RunningQR, stream


def rows_of(seed: int, rows: int, parameters: int) -> LinearProblem:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((rows, parameters)) * 10.0 ** rng.uniform(-4, 4, parameters)
    sigma = rng.uniform(0.1, 10.0, rows)
    return LinearProblem(A, A @ (1 / np.linalg.norm(A, axis=0)) + sigma * rng.standard_normal(rows), sigma)


@given(
    seed=st.integers(0, 1000),
    parameters=st.integers(1, 8),
    cuts=st.lists(st.integers(0, 60), max_size=6),
)
def test_any_cutting_into_blocks_gives_the_full_solution(seed: int, parameters: int, cuts: list[int]) -> None:
    problem = rows_of(seed, 60, parameters)
    assert problem.sigma is not None
    edges = [0, *sorted(cuts), 60]
    parts = [slice(a, b) for a, b in pairwise(edges)]
    running = stream(((problem.A[s], problem.y[s], problem.sigma[s]) for s in parts), parameters)
    full, found = wls(problem, known=False), running.estimate()
    np.testing.assert_allclose(found.values, full.values, rtol=1e-8, atol=1e-12 * np.abs(full.values).max())
    np.testing.assert_allclose(found.covariance, full.covariance, rtol=1e-7, atol=1e-12 * full.covariance.max())
    assert found.dof[0] == full.dof[0]
    assert running.triangle.shape[0] <= parameters + 1
    known = running.estimate(known=True)
    np.testing.assert_allclose(known.sigma, wls(problem).sigma, rtol=1e-7)


def test_factors_merge() -> None:
    problem = rows_of(1, 50, 4)
    left, right = RunningQR(4), RunningQR(4)
    left.add(problem.A[:20], problem.y[:20])
    right.add(problem.A[20:], problem.y[20:])
    left.merge(right)
    np.testing.assert_allclose(left.estimate().values, ols(problem).values, rtol=1e-9)
    assert left.rows == 50
    assert left.residual_sum() == pytest.approx(np.sum(ols(problem).residuals ** 2))


def test_progress_is_told_and_memory_stays() -> None:
    told: list[int] = []
    problem = rows_of(2, 100, 3)
    blocks = [(problem.A[i : i + 10], problem.y[i : i + 10], None) for i in range(0, 100, 10)]
    running = stream(blocks, 3, progress=told.append)
    assert told == list(range(10, 101, 10))
    assert running.triangle.shape == (4, 4)


def test_rank_prior_and_bad_blocks() -> None:
    running = RunningQR(2)
    running.add(np.ones((5, 2)), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert running.rank().rank == 1
    with pytest.raises(InputError, match="rank 1 of 2"):
        running.estimate()
    prior = Prior.independent([1.0, 0.0], [0.1, np.inf])
    whole = LinearProblem(np.ones((5, 2)), np.arange(1.0, 6.0), np.ones(5), prior=prior)
    np.testing.assert_allclose(running.estimate(known=True, prior=prior).values, wls(whole).values, rtol=1e-9)
    np.testing.assert_allclose(running.estimate(known=True, prior=prior).covariance, wls(whole).covariance, rtol=1e-9)
    with pytest.raises(InputError, match="does not fit"):
        running.add(np.ones((5, 3)), np.ones(5))
    with pytest.raises(InputError, match="not finite"):
        running.add(np.full((1, 2), np.nan), np.ones(1))
    few = RunningQR(2)
    few.add(np.eye(2), np.ones(2))
    with pytest.raises(InputError, match="no reading is left"):
        few.estimate()


def test_a_problem_with_prior_and_unknown_scale() -> None:
    problem = rows_of(3, 80, 3)
    plain = replace(problem, sigma=None)
    running = RunningQR(3)
    running.add(plain.A, plain.y)
    vague = Prior.independent(np.zeros(3), 1e8 / np.linalg.norm(plain.A, axis=0))
    np.testing.assert_allclose(running.estimate(prior=vague).sigma, ols(plain).sigma, rtol=1e-6)
