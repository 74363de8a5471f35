"""Planning with grouped compliances: eq. 16 as blocks, its gains, and what its plans are worth."""

from __future__ import annotations

import numpy as np
import pytest

from plan_problems import central
from stiffarm.papers.grouped_002 import EachAlone, Grouped
from stiffarm.papers.paper_002_design import problem
from stiffarm.plan.problem import Floats, Stops
from stiffarm.plan.search import Effort

QUICK = Effort(refined=False)


@pytest.fixture(scope="module")
def both() -> Grouped:
    return problem()


def some(both: Grouped, seed: int) -> Stops:
    stops = both.candidates(both.full, seed)
    return stops.take(np.random.default_rng(seed).choice(len(stops), 31, replace=False))


def of_each_group(both: Grouped, stops: Stops) -> float:
    """Eq. 16 as printed."""
    m, rows = len(both.angles), both.full.information.rows(stops)
    target = both.full.criterion.target.reshape(m, -1, rows.shape[2])  # type: ignore[attr-defined]
    group = np.abs(stops.q[1][:, None] - both.angles).argmin(axis=1)
    total = 0.0
    for j in range(m):
        index = [j, *range(m, rows.shape[2])]
        own = rows[group == j][:, :, index].reshape(-1, len(index))
        test = target[j][:, index]
        total += float(np.trace(test @ np.linalg.solve(own.T @ own, test.T)))
    return float(np.sqrt(total))


def test_blocks_have_the_value_of_equation_16(both: Grouped) -> None:
    for seed in range(3):
        stops = some(both, seed)
        assert both.alone.value(stops) == pytest.approx(of_each_group(both, stops), rel=1e-9)
        rows = both.full.information.rows(stops).reshape(-1, 10)
        target = both.full.criterion.target  # type: ignore[attr-defined]
        whole = float(np.sqrt(np.trace(target @ np.linalg.solve(rows.T @ rows, target.T))))
        assert both.full.value(stops) == pytest.approx(whole, rel=1e-9)
        assert both.full.value(stops) < both.alone.value(stops)


def test_gains_of_blocks_change_as_differences_say(both: Grouped) -> None:
    alone = both.alone
    assert isinstance(alone.information, EachAlone)
    stops = some(both, 1).take(slice(0, 4))
    square = np.random.default_rng(0).normal(size=(alone.information.size,) * 2)
    n = square @ square.T
    gains = alone.information.gains(stops, n)
    white = alone.information.rows(stops)
    np.testing.assert_allclose(gains.value, np.einsum("nrp,pq,nrq->n", white, n, white), rtol=1e-10)

    def moved(x: Floats) -> Floats:
        return alone.information.gains(Stops(stops.q + x[:, None] * (np.arange(6) != 1)[:, None]), n).value

    found = central(moved, np.zeros(6), 1e-6)
    keep = np.arange(6) != 1
    np.testing.assert_allclose(found[keep], gains.by_q[keep], atol=1e-6 * np.abs(gains.by_q).max())


def test_plans_from_all_readings_are_better(both: Grouped) -> None:
    for seed in range(3):
        full, one = both.plan(both.full, seed, QUICK)
        printed, _ = both.plan(both.alone, seed, QUICK)
        assert one.bound <= full.value < both.full.value(printed.stops)
        assert one.efficiency > 0.93
        angles = full.stops.q[1]
        assert np.abs(angles[:, None] - both.angles).min(axis=1).max() < 1e-12
