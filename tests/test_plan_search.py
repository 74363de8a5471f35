"""The search: descent, exchange, the weighted design, its certificate, and what becomes of a seed."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from plan_problems import CABLE, central, published, rail, random_stops
from stiffarm.plan.bound import certificate
from stiffarm.plan.candidates import Pool, feasible_stops
from stiffarm.plan.constraints import kept
from stiffarm.plan.criteria import CRITERIA, criterion_of
from stiffarm.plan.descent import descend
from stiffarm.plan.exchange import after_adding, exchange
from stiffarm.plan.information import triangle
from stiffarm.plan.problem import Cable, Floats, FreeForce, Ints
from stiffarm.plan.refine import Refiner
from stiffarm.plan.search import SHORTLIST, Effort, Found, Search, weighted_design
from stiffarm.plan.variables import Space
from stiffarm.plan.weighted import SOME, best_weights, judged, screened

FIXED_CABLE = Cable(CABLE.load_point, CABLE.force_n, (3.0, 6.0, -0.891), (3.0, 6.0, -0.891))


def test_the_published_design_has_its_value() -> None:
    assert 1e5 * rail().value(published()) == pytest.approx(0.066606, rel=1e-4)
    assert 1e5 * rail(robot="kr500-rail-literal").value(published()) == pytest.approx(0.216347, rel=1e-4)


def test_descent_finds_the_corner_and_the_valley() -> None:
    def rosenbrock(x: Floats, which: Ints) -> tuple[Floats, Floats]:
        a, b = x.T
        value = (1.0 - a) ** 2 + 100.0 * (b - a**2) ** 2
        return value, np.stack([-2.0 * (1.0 - a) - 400.0 * a * (b - a**2), 200.0 * (b - a**2)], axis=1)

    starts = np.random.default_rng(0).uniform(-2.0, 2.0, (8, 2))
    done = descend(rosenbrock, starts, np.full(2, -2.0), np.full(2, 2.0), steps=300, tolerance=1e-14)
    np.testing.assert_allclose(done.x, 1.0, atol=1e-4)
    held = descend(rosenbrock, starts, np.full(2, -2.0), np.array([0.5, 2.0]), steps=300, tolerance=1e-14)
    np.testing.assert_allclose(held.x, np.tile([0.5, 0.25], (8, 1)), atol=1e-4)


@pytest.mark.parametrize("apart", [0.0, 4.0])
def test_the_objective_of_plans_changes_as_differences_say(apart: float) -> None:
    plain = rail()
    refiner = Refiner(
        plain.information, plain.criterion, plain.space, plain.constraints, plain.arm, plain.repeats, apart
    )
    x = refiner.space.pack_plan(published()) + 0.01
    like = published().q
    gradient = refiner.plans(x[None], like, 10.0)[1][0]
    found = central(lambda y: refiner.plans(y[None], like, 10.0)[0][0], x, 1e-6)
    np.testing.assert_allclose(found, gradient, atol=1e-7 * np.abs(gradient).max())
    found = central(lambda y: refiner.margins(y, like)[0], x, 1e-6).T
    np.testing.assert_allclose(found, refiner.margins(x, like)[1], atol=1e-6)


def test_gains_of_free_directions_change_as_differences_say() -> None:
    plain = rail()
    pull = FreeForce("hook", 2000.0)
    space = Space(plain.space.low, plain.space.high, pull, plain.space.held)
    info = type(plain.information)(
        plain.information.asked, plain.information.names, plain.information.reading, pull, plain.information.scale,
        plain.information.known,
    )  # fmt: skip
    refiner = Refiner(info, plain.criterion, space, plain.constraints, plain.arm, plain.repeats)
    stops = random_stops(space, 1, 4)
    x = space.pack(stops)[0] * 1.3
    gradient = refiner.stops(x[None], stops.q, np.eye(7), 5.0)[1][0]
    found = central(lambda y: refiner.stops(y[None], stops.q, np.eye(7), 5.0)[0][0], x, 1e-6)
    np.testing.assert_allclose(found, gradient, atol=1e-7 * np.abs(gradient).max())


@pytest.mark.parametrize("name", CRITERIA)
def test_adding_a_stop_has_the_value_of_all_rows_together(name: str) -> None:
    random = np.random.default_rng(2)
    base, candidates = random.normal(size=(9, 4)), random.normal(size=(6, 3, 4))
    one = criterion_of(name, 4, 5, random.normal(size=(3, 4)))
    found = after_adding(triangle(base), candidates, one)
    for value, rows in zip(found, candidates, strict=True):
        assert value == pytest.approx(float(one.judge(triangle(np.concatenate([base, rows]))).value), rel=1e-9)


@pytest.mark.parametrize("name", ["test", "D", "E"])
def test_exchange_comes_near_the_best_of_all_choices(name: str) -> None:
    random = np.random.default_rng(7)
    rows, known = random.normal(size=(14, 2, 4)), np.zeros((0, 4))
    one = criterion_of(name, 4, 3, random.normal(size=(3, 4)))
    brute = min(
        float(one.judge(triangle(rows[list(choice)].reshape(-1, 4))).value) for choice in combinations(range(14), 3)
    )
    starts = [random.choice(14, 3, replace=False) for _ in range(8)]
    values = [exchange(rows, known, np.ones(3, dtype=np.int64), one, start)[1] for start in starts]
    assert min(values) == pytest.approx(brute, rel=1e-9)


@pytest.mark.parametrize("name", ["test", "A", "D", "E", "O5"])
def test_the_best_weights_have_equal_gains_where_they_stand(name: str) -> None:
    random = np.random.default_rng(3)
    rows, known = random.normal(size=(40, 2, 4)), np.zeros((0, 4))
    target = random.normal(size=(3, 4))
    one = criterion_of(name, 4, 6, target).smooth
    found = best_weights(rows, known, 6, one)
    gain = screened(rows, found.slope)
    heavy = found.weight > 1e-3
    np.testing.assert_allclose(gain[heavy], gain.max(), rtol=2e-2)
    for _ in range(30):  # no other weights are better
        other = random.dirichlet(np.full(40, 0.2))
        assert float(judged(rows, other, known, 6, one).value) >= found.value * (1.0 - 1e-6)
    real = float(judged(rows, found.weight, known, 6, criterion_of(name, 4, 6, target)).value)
    assert 0.97 * real <= one.bound(found.value, found.slope, 6 * float(gain.max())) <= real


@pytest.mark.parametrize("name", ["test", "D", "O5"])
def test_very_many_candidates_are_weighed_as_well_as_few(name: str) -> None:
    random = np.random.default_rng(5)
    rows, known = random.normal(size=(3 * SOME, 2, 4)), np.zeros((0, 4))
    rows[: 2 * SOME, :, 3] = 0.0  # only a part tells everything
    one = criterion_of(name, 4, 6, random.normal(size=(3, 4))).smooth
    found = best_weights(rows, known, 6, one)
    gain = float(screened(rows, found.slope).max())
    assert one.bound(found.value, found.slope, 6 * gain) == pytest.approx(found.value, rel=2e-3)
    assert found.weight.sum() == pytest.approx(1.0)


def test_exchanges_from_a_shortlist_find_as_good_a_plan() -> None:
    values = []
    for shortlist in (SHORTLIST, 300):
        refiner = rail()
        stops, _ = feasible_stops(refiner.space, refiner.constraints, 1000, 1, np.zeros((7, 1)))
        stops = stops.aimed(np.array([3.0, 6.0, -0.891]))
        space = Space(refiner.space.low, refiner.space.high, FIXED_CABLE, refiner.space.held)
        fixed = replace(refiner, space=space)
        pool = Pool.of(refiner.information, stops, np.zeros((7, 1)))
        search = Search(fixed, pool, np.random.default_rng(0), Effort(refined=False, shortlist=shortlist))
        found = search.run(weighted_design(search, 12, fixed=True))
        assert found is not None
        values.append(found.value)
    assert values[1] == pytest.approx(values[0], rel=0.01)


def planned(seed: int) -> tuple[Search, Found, float, float]:
    refiner = rail()
    held = np.zeros((7, 1))
    stops, broken = feasible_stops(refiner.space, refiner.constraints, 512, seed, held)
    assert 0.0 < broken["tool box"] < 1.0
    assert kept(refiner.constraints, stops).all()
    pool = Pool.of(refiner.information, stops, held)
    search = Search(refiner, pool, np.random.default_rng(seed), Effort(starts=8, aims=2, steps=50, polished=1))
    design = weighted_design(search, 12, fixed=False)
    found = search.run(design)
    assert found is not None
    one = certificate(refiner, design, found.value, 12, seed + 1000, lambda: False, pool)
    assert one is not None
    return search, found, one.bound, one.efficiency


def test_a_plan_is_near_its_bound_and_the_same_for_a_seed() -> None:
    search, found, bound, efficiency = planned(0)
    assert bound <= found.value <= 0.0495e-5
    assert efficiency >= 0.96
    assert bound == pytest.approx(0.0476e-5, rel=0.01)
    assert kept(search.refiner.constraints, found.stops).all()
    assert found.stops.aim is not None
    aim = found.stops.aim[:, 0]
    assert (np.array(CABLE.low_m) <= aim).all()
    assert (aim <= np.array(CABLE.high_m)).all()
    again = planned(0)[1]
    assert (again.stops.q == found.stops.q).all()
