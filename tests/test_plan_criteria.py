"""Criteria: values against their definitions, slopes against central differences, bounds against other plans."""

from __future__ import annotations

import numpy as np
import pytest

from stiffarm.plan.criteria import CRITERIA, Criterion, criterion_of
from stiffarm.plan.information import triangle
from stiffarm.plan.problem import Floats

P, EXPERIMENTS = 5, 7
TARGET = np.random.default_rng(1).normal(size=(6, P))


def rows(seed: int, count: int = 12) -> Floats:
    return np.random.default_rng(seed).normal(size=(count, P))


def defined(name: str, m: Floats) -> float:
    """Each criterion as it is defined, from the information matrix."""
    s, inverse = np.sqrt(np.sort(np.linalg.eigvalsh(m))[::-1]), np.linalg.inv(m)
    return float(
        {
            "test": np.sqrt(np.trace(TARGET @ inverse @ TARGET.T)),
            "A": np.sqrt(np.trace(inverse) / P),
            "D": np.linalg.det(m) ** (-0.5 / P),
            "E": 1.0 / s[-1],
            "O1": np.sqrt(EXPERIMENTS) / np.prod(s) ** (1.0 / P),
            "O2": s[0] / s[-1],
            "O3": 1.0 / s[-1],
            "O4": s[0] / s[-1] ** 2,
            "O5": np.sum(1.0 / s),
        }[name]
    )


def criterion(name: str) -> Criterion:
    return criterion_of(name, P, EXPERIMENTS, TARGET)


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("smooth", [False, True])
def test_value_and_slope(name: str, smooth: bool) -> None:
    one = criterion(name).smooth if smooth else criterion(name)
    a = rows(2)
    judged = one.judge(triangle(a))
    if not smooth:
        assert float(judged.value) == pytest.approx(defined(name, a.T @ a), rel=1e-10)
    for seed in range(4):
        b = rows(10 + seed, 2)
        h = 1e-5  # M moves by h b'b
        ahead = one.judge(triangle(np.concatenate([a, np.sqrt(h) * b]))).value
        twice = one.judge(triangle(np.concatenate([a, np.sqrt(2 * h) * b]))).value
        slope = (4 * ahead - twice - 3 * judged.value) / (2 * h)
        assert slope == pytest.approx(-np.trace(judged.slope @ b.T @ b), rel=1e-3)


@pytest.mark.parametrize("name", CRITERIA)
def test_values_of_a_batch_are_those_of_its_members(name: str) -> None:
    one = criterion(name)
    batch = triangle(np.stack([rows(1), rows(2)]))
    both = one.judge(batch)
    for i in range(2):
        alone = one.judge(batch[i])
        assert both.value[i] == pytest.approx(float(alone.value), rel=1e-12)
        np.testing.assert_allclose(both.slope[i], alone.slope, rtol=1e-10)


@pytest.mark.parametrize("name", [name for name in CRITERIA if name not in ("O2", "O4")])
def test_no_other_information_beats_the_bound(name: str) -> None:
    one = criterion(name)
    assert one.certified
    for seed in range(20):
        a, b = rows(seed), rows(100 + seed)
        design = one.smooth.judge(triangle(a))
        gain = float(np.trace(design.slope @ b.T @ b))
        assert one.bound(float(design.value), design.slope, gain) <= defined(name, b.T @ b) * (1 + 1e-12)
    at = one.judge(triangle(rows(0)))
    own = float(np.trace(at.slope @ rows(0).T @ rows(0)))
    assert one.bound(float(at.value), at.slope, own) == pytest.approx(float(at.value), rel=1e-9)


@pytest.mark.parametrize("name", CRITERIA)
def test_what_is_not_determined_is_infinitely_bad(name: str) -> None:
    singular = rows(3)
    singular[:, 2] = singular[:, 0]
    assert not np.isfinite(criterion(name).judge(triangle(singular)).value)
    assert not np.isfinite(criterion(name).judge(triangle(rows(3, 3))).value)
