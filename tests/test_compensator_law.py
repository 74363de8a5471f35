"""Torque and stiffness of compensators against finite differences of their energy and against the printed formula."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from stiffarm.errors import InputError
from stiffarm.model.compensator_law import AMBIENT_PA, CompensatorLaw, FilledGas, Lever, SpringLaw, VentedGas
from stiffarm.robot.arm import Compensator, GasCylinder, Spring
from stiffarm.robot.check import gas_volume

CASES = 200
KINDS = ("spring", "push", "pull", "push filled", "pull filled")


def random_law(rng: np.random.Generator, kind: str) -> tuple[CompensatorLaw, float]:
    """A compensator as they are built, and an angle; gas isothermal in a third of the cases."""
    lever = Lever(L=rng.uniform(0.1, 0.4), a=rng.uniform(0.5, 1.0), alpha=rng.uniform(-3, 3))
    q = np.array([rng.uniform(-2.5, 2.5)])
    shortest, longest = lever.a - lever.L, lever.a + lever.L
    if kind == "spring":
        return CompensatorLaw(lever, SpringLaw(rng.uniform(1e4, 1e6), rng.uniform(0.3, 1.2))), q[0]
    eps = 1.0 if kind.startswith("push") else -1.0
    area = rng.uniform(1e-3, 2e-2)
    exponent = 1.0 if rng.random() < 1 / 3 else rng.uniform(1.0, 1.4)
    beyond = rng.uniform(0.05, 0.8)
    sv = shortest - beyond if eps > 0 else longest + beyond
    if kind.endswith("filled"):
        s_ref = rng.uniform(shortest, longest)
        law = FilledGas(eps, area, exponent, rng.uniform(2e6, 2e7), eps * area * (s_ref - sv), s_ref)
    else:
        law = VentedGas(eps, area, exponent, sv + eps * rng.uniform(5.0, 50.0), sv)
    return CompensatorLaw(lever, law), q[0]


def derivative(f: Callable[[float], float], x: float, h: float) -> float:
    """Sixth order, central."""
    ends = [f(x + k * h) for k in (-3, -2, -1, 1, 2, 3)]
    return (-ends[0] + 9 * ends[1] - 45 * ends[2] + 45 * ends[3] - 9 * ends[4] + ends[5]) / (60 * h)


@pytest.mark.parametrize("kind", KINDS)
def test_torque_stiffness_and_slope_are_derivatives_of_the_energy(kind: str) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    h = 4e-3
    for _ in range(CASES):
        law, q = random_law(rng, kind)
        torque, stiffness, slope = (float(x[0]) for x in law.torque(np.array([q])))
        # terms of a sum may cancel: the scale is that of the energy and of the torques around
        near = q + h * np.arange(-3, 4)
        by_energy = derivative(lambda x, law=law: float(law.energy(np.array([x]))[0]), q, h)
        by_torque = derivative(lambda x, law=law: float(law.torque(np.array([x]))[0][0]), q, h)
        by_stiffness = derivative(lambda x, law=law: float(law.torque(np.array([x]))[1][0]), q, h)
        around = np.abs(np.stack(law.torque(near))).max()
        assert abs(by_energy - torque) <= 1e-7 * max(abs(torque), 1e-2 * around)
        assert abs(by_torque - stiffness) <= 1e-7 * max(abs(stiffness), around)
        assert abs(by_stiffness - slope) <= 1e-7 * max(abs(slope), around)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_every_parameter(kind: str) -> None:
    from dataclasses import replace

    rng = np.random.default_rng(10 + KINDS.index(kind))
    for _ in range(40):
        law, angle = random_law(rng, kind)
        q = np.array([angle])
        force, rate = law.by_parameter(q)
        assert force.shape == rate.shape == (len(law.law.names), 1)
        for i, name in enumerate(law.law.names):
            value = getattr(law.law, name)

            def at(x: float, part: int, law: CompensatorLaw = law, name: str = name, q: np.ndarray = q) -> float:
                moved = CompensatorLaw(law.lever, replace(law.law, **{name: x}))  # type: ignore[type-var]
                return float(moved.torque(q)[part][0])

            for part, found in enumerate((force, rate)):
                step = 1e-3 if name in ("s0", "sv") else 1e-3 * value
                truth = derivative(lambda x, part=part: at(x, part), value, step)
                size = max(abs(truth), 1e-3 * abs(at(value, part) / value))
                assert abs(float(found[i, 0]) - truth) <= 1e-6 * size, (name, part)


def printed_equation_7(lever: Lever, s0: float, sv: float, q: float) -> float:
    """What eq. 7 adds to K_q2, typed from the paper term by term (isothermal; the piston's area is missing)."""
    beta = lever.alpha - q
    s = math.sqrt(lever.a**2 + lever.L**2 + 2 * lever.a * lever.L * math.cos(beta))
    a_l = lever.a * lever.L
    bracket = a_l * math.sin(beta) ** 2 * (s0 - sv) / (s - sv)
    bracket += (-(s**2) * math.cos(beta) - a_l * math.sin(beta) ** 2) * (s - s0) / s
    return -AMBIENT_PA * a_l / (s**2 * (s - sv)) * bracket


@pytest.mark.parametrize(("side", "sign"), [("pull", 1.0), ("push", -1.0)])
def test_printed_stiffness_times_the_area_is_that_of_a_pulling_cylinder(side: str, sign: float) -> None:
    rng = np.random.default_rng(20)
    for _ in range(CASES):
        law, q = random_law(rng, side)
        gas = law.law
        assert isinstance(gas, VentedGas)
        law = CompensatorLaw(law.lever, VentedGas(gas.eps, gas.area, 1.0, gas.s0, gas.sv))
        found = float(law.torque(np.array([q]))[1][0])
        printed = gas.area * printed_equation_7(law.lever, gas.s0, gas.sv, q)
        at = law.lever.at(np.array([q]))
        force, rate, _ = law.law.tension(at.s)
        terms = float(np.abs(rate * at.first**2)[0] + np.abs(force * at.second)[0])
        assert abs(found - sign * printed) <= 1e-12 * terms


def test_both_descriptions_of_one_gas_agree() -> None:
    rng = np.random.default_rng(3)
    q = np.linspace(-2, 2, 9)
    for kind in ("push", "pull"):
        law, _ = random_law(rng, kind)
        gas = law.law
        assert isinstance(gas, VentedGas)
        s_ref = 0.7
        p_ref = float(gas.pressure(np.array([s_ref]))[0])
        v_ref = float(gas.volume(np.array([s_ref]))[0])
        other = CompensatorLaw(law.lever, FilledGas(gas.eps, gas.area, gas.exponent, p_ref, v_ref, s_ref))
        for mine, theirs in zip(law.torque(q), other.torque(q), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12)
        difference = law.energy(q) - other.energy(q)  # of two zeros of the energy
        assert np.ptp(difference) <= 1e-10 * np.abs(law.energy(q)).max()


def test_gas_is_at_ambient_pressure_at_s0_and_pushes_or_pulls_as_it_says() -> None:
    for eps in (1.0, -1.0):
        gas = VentedGas(eps, 5e-3, 1.2, 0.9 + eps * 2.0, 0.9)
        assert gas.tension(np.array([gas.s0]))[0] == pytest.approx(0.0, abs=1e-9)
        compressed = np.array([0.9 + eps * 0.3])
        assert np.sign(gas.tension(compressed)[0][0]) == -eps  # tension: negative pushes the hinges apart
        assert gas.tension(compressed)[1][0] > 0


def test_volume_agrees_with_the_check_of_robot_files() -> None:
    element = GasCylinder("pull", 1.2, 5e-3, s0=0.2, sv=0.95)
    law = CompensatorLaw.of(Compensator("A2", 0.2, 0.6, 1.3, element))
    s = law.lever.at(np.array([0.4])).s
    assert isinstance(law.law, VentedGas)
    assert law.law.volume(s)[0] == pytest.approx(gas_volume(element, float(s[0])), rel=1e-14)


def test_gas_without_volume_is_an_error_that_says_where() -> None:
    law = CompensatorLaw.of(Compensator("A2", 0.2, 0.6, 0.0, GasCylinder("push", 1.2, 5e-3, s0=3.0, sv=0.5)))
    assert law.torque(np.array([0.0]))[0].shape == (1,)
    with pytest.raises(InputError, match=r"no volume left; found: .* at s = 0\.4 m"):
        law.torque(np.array([0.0, math.pi]))


def test_a_spring_is_a_spring() -> None:
    law = CompensatorLaw.of(Compensator("A2", 0.2, 0.7, 0.0, Spring(1e5, 0.5)))
    straight = law.lever.at(np.array([0.0]))
    assert straight.s[0] == pytest.approx(0.9)
    assert straight.first[0] == pytest.approx(0.0, abs=1e-15)
    torque, stiffness, _ = law.torque(np.array([0.0]))
    assert torque[0] == pytest.approx(0.0, abs=1e-10)
    assert stiffness[0] == pytest.approx(-1e5 * 0.4 * 0.2 * 0.7 / 0.9)  # stretched at its longest: it tips over
