"""Drive and compensator from grouped compliances: against one fit of all readings, brute force and known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from compensator_campaigns import ELEMENTS, MATTERS, Q2_DEG, TRIANGLE, linear, robot
from stiffarm.identify.curves import Constant, Curve, GasCurve, SpringCurve, curves_of
from stiffarm.identify.separated import Candidate, Separation, Split, separation_lines
from stiffarm.identify.separated_file import separation_document, separation_of
from stiffarm.identify.separation import Block, choose, constant_stiffness, fit_curve, jacobian, separate
from stiffarm.model.aggregated import aggregated
from stiffarm.model.compensator_law import CompensatorLaw
from stiffarm.robot.arm import Compensator, GasCylinder, Spring

Q = np.radians(Q2_DEG)
GASES = {
    "push, vented": GasCylinder("push", 1.3, 6e-3, s0=9.0, sv=0.35),
    "pull, vented": GasCylinder("pull", 1.0, 6e-3, s0=-9.0, sv=1.05),
    "push, filled": GasCylinder("push", 1.0, 5e-3, p_ref=8e6, V_ref=2e-3, s_ref=0.7),
    "pull, filled": GasCylinder("pull", 1.4, 5e-3, p_ref=8e6, V_ref=3e-3, s_ref=0.6),
    "spring": Spring(250e3, 0.47),
}


def curve_of(kind: str) -> tuple[Curve, Compensator]:
    compensator = Compensator("A2", element=GASES[kind], **TRIANGLE)
    wanted = "spring" if kind == "spring" else "gas"
    return next(c for c in curves_of(compensator, robot("real gas").joints[1]) if c.kind == wanted), compensator


def numbers_of(compensator: Compensator, curve: Curve) -> dict[str, float]:
    own = {n: getattr(compensator.element, n.rsplit(".", 1)[1]) for n in curve.names if n != "compliance"}
    return {"compliance": 3.2e-7, **own}


@pytest.mark.parametrize("kind", GASES)
def test_a_curve_is_drive_and_compensator_together(kind: str) -> None:
    curve, compensator = curve_of(kind)
    u = curve.unknowns(numbers_of(compensator, curve))
    q = np.linspace(-2.6, 0.5, 9)
    stiffness, by_u = curve.stiffness(u, q)
    np.testing.assert_allclose(stiffness, aggregated(compensator, 1 / 3.2e-7, q).stiffness, rtol=1e-12)
    law = CompensatorLaw.of(compensator)
    np.testing.assert_allclose(curve.torque(u, q), law.torque(q)[0], rtol=1e-11, atol=1e-8)
    np.testing.assert_allclose(curve.physical(u), list(numbers_of(compensator, curve).values()), rtol=1e-12)
    for i in range(len(u)):
        h = 1e-4 * max(abs(u[i]), 1.0)
        ends = [curve.stiffness(u + s * h * (np.arange(len(u)) == i), q)[0] for s in (-2, -1, 1, 2)]
        truth = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        assert np.abs(by_u[i] - truth).max() <= 1e-7 * np.abs(truth).max() + 1e-13 * stiffness.max() / h
        moved = [curve.physical(u + s * h * (np.arange(len(u)) == i)) for s in (-1, 1)]
        np.testing.assert_allclose(jacobian(curve, u)[:, i], (moved[1] - moved[0]) / (2 * h), rtol=1e-5, atol=1e-20)


@pytest.mark.parametrize("kind", GASES)
def test_exact_compliances_give_back_what_made_them(kind: str) -> None:
    curve, compensator = curve_of(kind)
    both = aggregated(compensator, 1 / 3.2e-7, Q)
    block = Block(robot("real gas").joints[1], Q, both.compliance, np.diag((1e-6 * both.compliance) ** 2), 279)
    found = fit_curve(block, curve)
    assert found is not None
    np.testing.assert_allclose(found.compliance(Q), both.compliance, rtol=1e-9)
    for name, value, truth in zip(
        curve.names, curve.physical(found.u), numbers_of(compensator, curve).values(), strict=True
    ):
        assert value == pytest.approx(truth, rel=1e-3), name


@pytest.mark.parametrize("kind", ["strong gas", "strong spring"])
def test_two_steps_are_one_fit_of_all_readings(kind: str) -> None:
    """One step by scipy on every reading, from the true numbers; nothing of the package but the columns."""
    problem, arm, m = linear(kind), robot(kind), len(Q2_DEG)
    scale = np.linalg.norm(problem.A, axis=0)
    compensator = arm.compensators[0]
    names = ("p_ref", "V_ref") if kind == "strong gas" else ("stiffness", "s0")
    nominal = np.array([getattr(compensator.element, name) for name in names])
    for seed in range(3):
        block = problem.block(np.random.default_rng(seed))
        rng = np.random.default_rng(seed)
        y = problem.A @ problem.truth + rng.standard_normal(len(problem.A)) * 0.03e-3 * np.sqrt(2.0)

        def rest(x: np.ndarray, y: np.ndarray = y) -> np.ndarray:
            numbers = dict(zip(names, x[1:3] * nominal, strict=True))
            k2 = aggregated(compensator, x[0] * 3e6, Q, numbers).compliance
            return np.asarray((problem.A @ np.concatenate([k2, x[3:] / scale[m:] * 1e-4]) - y) / 1e-4)

        start = np.concatenate([[1.0, 1.0, 1.0], problem.truth[m:] * scale[m:] / 1e-4])
        one = least_squares(rest, start, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15)
        numbers = dict(zip(names, one.x[1:3] * nominal, strict=True))
        truth = aggregated(compensator, one.x[0] * 3e6, Q, numbers).stiffness
        two = separate(block, compensator).candidate("gas" if kind == "strong gas" else "spring")
        np.testing.assert_allclose(two.stiffness, truth, rtol=1e-6)


def test_the_search_finds_what_many_starts_find() -> None:
    """Gases of paper 002 with one-per-cent compliances: no start anywhere ends lower."""
    rng = np.random.default_rng(4)
    curve, compensator = curve_of("push, filled")
    compensator = replace(
        compensator, element=replace(compensator.element, area=0.03, p_ref=3e7, V_ref=5e-3, s_ref=0.6)
    )
    curve = next(c for c in curves_of(compensator, robot("real gas").joints[1]) if c.kind == "gas")
    truth = aggregated(compensator, 3.2e6, Q).compliance
    low, high = curve.bounds
    for _ in range(6):
        block = Block(
            robot("real gas").joints[1],
            Q,
            truth * (1 + 0.01 * rng.standard_normal(6)),
            np.diag((0.01 * truth) ** 2),
            279,
        )
        found = fit_curve(block, curve)
        assert found is not None

        def rest(u: np.ndarray, block: Block = block) -> np.ndarray:
            stiffness = np.maximum(curve.stiffness(u, Q)[0], 1.0)
            return np.asarray((block.compliance - 1.0 / stiffness) / (0.01 * truth))

        ends = []
        for _ in range(25):
            start = [rng.uniform(2e6, 4e6), 10 ** rng.uniform(3, 6.5), rng.uniform(low[2], high[2])]
            ends.append(least_squares(rest, start, bounds=(low, high), x_scale=[1e6, 1e5, 1.0]).cost * 2.0)
        assert found.cost <= min(ends) * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("kind", ELEMENTS)
def test_a_curve_is_chosen_where_it_matters_and_a_constant_where_not(kind: str) -> None:
    """A smaller study than that of bench/compensators.py."""
    problem, arm = linear(kind), robot(kind)
    chosen, errors = [], []
    for seed in range(12):
        found = separate(problem.block(np.random.default_rng(seed)), arm.compensators[0])
        chosen.append(found.chosen)
        errors.append(np.array(found.best.stiffness) / problem.stiffness - 1.0)
    constant = sum(kind == "constant" for kind in chosen)
    assert constant == 0 if MATTERS[kind] else constant >= 11
    assert np.sqrt(np.mean(np.array(errors) ** 2)) < 0.007


def test_standard_deviations_are_those_of_repeated_campaigns() -> None:
    problem, compensator = linear("strong spring"), robot("strong spring").compensators[0]
    values, claimed = [], []
    for seed in range(60):
        found = fit_curve(problem.block(np.random.default_rng(seed)), SpringCurve(CompensatorLaw.of(compensator).lever))
        assert found is not None
        values.append(1.0 / found.compliance(Q))
        claimed.append(found.spread(Q) / found.compliance(Q))
    ratio = np.std(values, axis=0) / np.mean(claimed, axis=0)
    assert 0.75 < np.sqrt(np.mean(ratio**2)) < 1.25


def test_a_prior_tells_the_split() -> None:
    kind = "strong gas"
    problem, compensator = linear(kind), robot(kind).compensators[0]
    block = problem.block(np.random.default_rng(2))
    pressure = compensator.element.p_ref
    with_prior = replace(block, priors={"compensator.p_ref": (pressure, 0.001 * pressure)})
    free, held = (separate(b, compensator).candidate("gas") for b in (block, with_prior))
    assert free.split is not None
    assert held.split is not None
    assert held.split.values[1] == pytest.approx(pressure, rel=2e-3)
    assert held.split.std[1] < 1.01e-3 * pressure
    assert held.split.std[2] < 0.8 * free.split.std[2]
    assert held.bic >= free.bic - 1e-9


def candidate(kind: str, bic: float, held_out: float | None) -> Candidate:
    return Candidate(kind, (3e6,), (1e4,), bic, held_out, None)


@pytest.mark.parametrize(
    ("others", "wanted"),
    [
        ([], "constant"),
        ([("spring", 5.0, 0.5)], "spring"),
        ([("spring", 15.0, 0.5)], "constant"),
        ([("spring", 5.0, 1.5)], "constant"),
        ([("spring", 5.0, None)], "constant"),
        ([("spring", 5.0, 0.9), ("gas", 4.0, 0.8)], "gas"),
        ([("spring", 5.0, 0.9), ("gas", 4.0, 1.8)], "spring"),
    ],
)
def test_both_judges_must_agree(others: list[tuple[str, float, float | None]], wanted: str) -> None:
    chosen, why = choose([candidate("constant", 10.0, 1.0), *(candidate(*other) for other in others)])
    assert chosen == wanted
    assert why


def test_two_angles_tell_a_constant_only() -> None:
    found = separate(
        Block(robot("real gas").joints[1], Q[:2], np.array([3e-7, 3.1e-7]), np.eye(2) * 9e-18, 90),
        robot("real gas").compensators[0],
    )
    assert [c.kind for c in found.candidates] == ["constant", "interpolated"]


def test_a_constant_is_the_weighted_mean_of_the_compliances() -> None:
    k, sigma = np.array([3.0e-7, 3.2e-7, 3.1e-7]), np.array([1e-9, 2e-9, 4e-9])
    block = Block(robot("real gas").joints[1], Q[:3], k, np.diag(sigma**2), 90)
    mean = np.sum(k / sigma**2) / np.sum(1 / sigma**2)
    assert constant_stiffness(block) == pytest.approx(1.0 / mean, rel=1e-9)
    found = fit_curve(block, Constant())
    assert found is not None
    assert found.spread(Q[:1])[0] == pytest.approx(np.sum(1 / sigma**2) ** -0.5 / mean, rel=1e-9)


def test_a_gas_without_a_file_leaves_the_air_out() -> None:
    curves = curves_of(robot("real spring").compensators[0], robot("real spring").joints[1])
    gases = [c for c in curves if isinstance(c, GasCurve)]
    assert sorted(c.eps for c in gases) == [-1.0, 1.0]
    u = np.array([3e6, 2e5, -1.0])
    for gas in gases:
        assert gas.names == ("compliance", "force", "compensator.sv")
        np.testing.assert_allclose(gas.unknowns(dict(zip(gas.names, gas.physical(u), strict=True))), u, rtol=1e-12)
        middle = 0.5 * (gas.shortest + gas.longest)
        angle = np.arccos((middle**2 - TRIANGLE["a"] ** 2 - TRIANGLE["L"] ** 2) / (2 * TRIANGLE["a"] * TRIANGLE["L"]))
        q = np.array([TRIANGLE["alpha"] - angle])
        assert gas.torque(u, q)[0] == pytest.approx(-gas.eps * 2e5 * gas.lever.at(q).first[0], rel=1e-12)


def test_what_is_said_of_a_split() -> None:
    split = Split(
        ("A2.compliance", "A2.compensator.stiffness", "A2.compensator.s0"),
        (3e-7, 7e6, 0.46),
        (3e-9, 6e6, 0.01),
        torque=(344e3, 5e3),
    )
    unknown = Separation("A2", (0.0,), (Candidate("spring", (3e6,), (2e4,), 5.0, 0.8, split),), "spring", "so")
    text = " ".join(unknown.sentences)
    assert "as a curve is known to 0.67 %, its physical split is not: A2.compensator.stiffness 7e+06 +- 6e+06" in text
    assert "344 kN m, out of physical scale" in text
    assert not split.told
    told = replace(split, std=(3e-9, 6e4, 0.01), torque=(9e3, 1e2))
    assert told.told
    assert not told.out_of_scale
    assert not replace(told, at_bound=("A2.compensator.s0",)).told


def test_a_separation_comes_back_from_a_file() -> None:
    import json

    for kind in ELEMENTS:
        found = separate(linear(kind).block(np.random.default_rng(0)), robot(kind).compensators[0])
        assert separation_of(json.loads(json.dumps(separation_document(found)))) == found
        lines = separation_lines(found)
        assert f"> {found.chosen}" in " ".join(lines)
        assert sum("kN m" in line for line in lines) >= 2
