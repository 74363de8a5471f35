"""Joints with a compensator: prediction, its derivatives, and what a deflection sees of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from stiffarm.errors import InputError
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.effects import CompensatedJoint
from stiffarm.model.evaluate import elastic_columns, predict, sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import Compensator, GasCylinder, Robot, Spring
from stiffarm.robot.reading import read_robot

ELEMENTS = {
    "spring": Spring(250e3, 0.47),
    "push": GasCylinder("push", 1.25, 6e-3, s0=9.0, sv=0.35),
    "pull": GasCylinder("pull", 1.0, 6e-3, s0=-9.0, sv=1.05),
    "filled": GasCylinder("pull", 1.3, 5e-3, p_ref=8e6, V_ref=3e-3, s_ref=0.6),
}
SOFT = 5e-6
"""rad/(N m): soft joints make every second-order term visible."""


def robot_with(kind: str) -> Robot:
    robot = read_robot("kr270")
    joints = tuple(replace(joint, compliance=SOFT) for joint in robot.joints)
    compensator = replace(robot.compensators[0], element=ELEMENTS[kind])
    return replace(robot, joints=joints, compensators=(compensator,), priors=())


def make_state(arm: Arm, *, weights: bool, n: int = 3) -> State:
    rng = np.random.default_rng(5)
    q = rng.uniform(-1.2, 0.2, (arm.chain.n_joints, n))
    force = rng.normal(size=(3, n)) * 1500.0
    load = Load(arm.chain.point("tool"), force, rng.normal(size=(3, n)) * 100.0)
    return State(q, (load, *(arm.weights() if weights else ())))


def own_names(model: ArmModel) -> list[str]:
    return [p.name for p in model.parameters if p.name.startswith("A2.comp")]


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("groups", [(), (-1.0, -0.2)])
def test_columns_against_finite_differences(kind: str, weights: bool, groups: tuple[float, ...]) -> None:
    model = ArmModel.of(robot_with(kind))
    if groups:
        model = model.grouped("A2", groups)
    names = [*own_names(model), "A2.offset", "A1.ry", "A3.compliance", "load.gain", "payload.mass", "payload.x"]
    values = model.nominal | {"payload.mass": 50.0, "A2.offset": 1e-3}
    arm = model.at(values)
    state = make_state(arm, weights=weights)
    kept = {name: sensitivity(arm, state, "tool", [name], deflection=not weights)[1][0] for name in names}
    scale = {p.name: p.scale for p in model.parameters}
    for name in names:
        h = {"load.gain": 0.1, "payload.mass": 1.0, "A2.offset": 1e-3}.get(name, 0.1 * scale[name])
        ends = []
        for shift in (-2 * h, -h, h, 2 * h):
            moved_arm = model.at(values | {name: values[name] + shift})
            moved = predict(moved_arm, make_state(moved_arm, weights=weights), "tool")
            ends.append(moved.position if weights else moved.deflection)
        truth = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        limit = 1e-6 * np.abs(truth).max() + 5e-15 / h
        assert np.abs(kept[name] - truth).max() <= limit, name
        if name not in ("A2.offset", "A1.ry", "load.gain", "payload.mass", "payload.x"):
            columns = elastic_columns(arm, state, "tool", [name])[0]
            np.testing.assert_allclose(columns, kept[name], rtol=1e-12, atol=1e-18)


def effect_of(model: ArmModel) -> CompensatedJoint:
    return next(effect for effect in model.effects if isinstance(effect, CompensatedJoint))


@pytest.mark.parametrize("kind", ELEMENTS)
def test_joint_stands_where_its_torques_balance(kind: str) -> None:
    model = ArmModel.of(robot_with(kind))
    effect, arm = effect_of(model.exact), model.at()
    state = make_state(arm, weights=True)
    law = effect.law(arm.values)
    torque = np.array([[-8000.0, 500.0, 12000.0]])
    theta = effect.twist(arm.values, state, torque)
    assert theta is not None
    for i in range(3):
        q = state.q[1, i]

        def unbalance(x: float, i: int = i, q: float = q) -> float:
            return x / SOFT - torque[0, i] + float(law.torque(np.array([q + x]))[0][0])

        assert theta[0, i] == pytest.approx(brentq(unbalance, -0.5, 0.5, xtol=1e-15), rel=1e-12)
    h = 1.0
    found = effect.tangent(arm.values, state, torque)
    ends = [effect.twist(arm.values, state, torque + shift) for shift in (-h, h)]
    assert found is not None
    np.testing.assert_allclose(found[0, 0], (ends[1] - ends[0])[0] / (2 * h), rtol=1e-7)
    for entry, parameter in zip(effect.entries(arm.values, state, torque), effect.parameters, strict=True):
        h = 1e-2 * parameter.scale
        ends = [effect.twist(arm.values | {parameter.name: parameter.nominal + s}, state, torque) for s in (-h, h)]
        np.testing.assert_allclose(entry.factor, (ends[1] - ends[0])[0] / (2 * h), rtol=1e-5)


def test_first_order_is_the_tangent_of_the_balance() -> None:
    model = ArmModel.of(robot_with("push"))
    arm = model.at()
    state = make_state(arm, weights=True)
    own = effect_of(model).law(arm.values).torque(state.q[1])[0]
    solved, linear = effect_of(model.exact), effect_of(model)
    ends = []
    for share in (1e-2, 1e-3):  # loads that leave the joint ever nearer to where it was commanded
        torque = (own + share * 5000.0)[None, :]
        exact, first = (effect.twist(arm.values, state, torque) for effect in (solved, linear))
        ends.append(np.abs(exact - first).max() / np.abs(exact).max())
    assert ends[1] == pytest.approx(0.1 * ends[0], rel=0.1)
    assert model.exact.exact is model.exact


def test_deflection_sees_the_stiffness_and_not_the_torque() -> None:
    robot = robot_with("spring")
    model = ArmModel.of(robot)
    arm = model.at()
    state = make_state(arm, weights=False)
    stiffness = effect_of(model).law(arm.values).torque(state.q[1])[1]
    serial = ArmModel.of(replace(robot, compensators=()))
    for i in range(len(state)):
        one = state.part(slice(i, i + 1))
        both = 1.0 / (1.0 / SOFT + float(stiffness[i]))
        expected = predict(serial.at({"A2.compliance": both}), one, "tool").deflection
        np.testing.assert_allclose(predict(arm, one, "tool").deflection, expected, rtol=1e-12)


def test_grouped_compliances_are_the_serial_model() -> None:
    """Golden matrices of grouped compliances do not know whether the robot file has a compensator."""
    robot = robot_with("push")
    state = make_state(ArmModel.of(robot).at(), weights=False)
    angles = state.q[1].tolist()
    names = [f"A2.compliance[{i + 1}]" for i in range(3)]
    with_it, without = ArmModel.of(robot), ArmModel.of(replace(robot, compensators=()))
    found, truth = (elastic_columns(m.grouped("A2", angles).at(), state, "tool", names) for m in (with_it, without))
    assert np.array_equal(found, truth)


def test_robots_without_compensator_are_left_alone() -> None:
    model = ArmModel.of(replace(read_robot("kr270"), compensators=()))
    assert not any(isinstance(effect, CompensatedJoint) for effect in model.effects)
    assert not any(".compensator." in p.name for p in model.parameters)


def test_a_compensator_carries_weight() -> None:
    """The packaged spring holds the arm up: with it the tool sinks less when the arm reaches out."""
    robot = read_robot("kr270")
    sinks = []
    for compensators in (robot.compensators, ()):
        arm = ArmModel.of(replace(robot, compensators=compensators)).at()
        q = np.radians([[0.0], [-30.0], [60.0], [0.0], [30.0], [0.0]])
        sinks.append(float(predict(arm, State(q, arm.weights()), "tool").deflection[2, 0]))
    assert sinks[1] < sinks[0] < 0.0


def test_measured_torque_is_what_the_drive_carries() -> None:
    robot = robot_with("spring")
    arm, serial = (ArmModel.of(r).at() for r in (robot, replace(robot, compensators=())))
    state = State(np.full((6, 2), 0.1), joint_torque=np.full((6, 2), 800.0))
    assert np.array_equal(predict(arm, state, "tool").position, predict(serial, state, "tool").position)
    names = ["A2.compliance"]
    found, truth = (sensitivity(a, state, "tool", names)[1] for a in (arm, serial))
    assert np.array_equal(found, truth)


def test_a_compensator_that_tips_its_joint_over_is_an_error() -> None:
    robot = robot_with("spring")
    tipping = Compensator("A2", 0.2, 0.7, 0.0, Spring(3e6, 0.3))
    arm = ArmModel.of(replace(robot, compensators=(tipping,))).at()
    state = State(np.zeros((6, 1)), arm.weights())
    with pytest.raises(InputError, match="pushes it away more than its drive holds it"):
        predict(arm, state, "tool")


def test_parameters_have_names_units_and_the_values_of_the_file() -> None:
    by_name = {p.name: p for p in ArmModel.of(robot_with("filled")).parameters}
    assert by_name["A2.compensator.p_ref"].nominal == 8e6
    assert [by_name[f"A2.compensator.{n}"].unit for n in ("p_ref", "V_ref", "area", "exponent")] == [
        "Pa",
        "m^3",
        "m^2",
        "1",
    ]
    assert all(by_name[f"A2.compensator.{n}"].elastic for n in ("p_ref", "V_ref", "area", "exponent"))


@pytest.mark.parametrize("kind", ELEMENTS)
def test_an_arm_with_everything_elastic_at_zero_is_stiff(kind: str) -> None:
    model = ArmModel.of(robot_with(kind))
    arm = model.at({p.name: 0.0 for p in model.parameters if p.elastic})
    state = make_state(arm, weights=True)
    assert not predict(arm, state, "tool").deflection.any()
    columns = sensitivity(arm, state, "tool", [p.name for p in model.parameters if p.elastic])[1]
    assert np.isfinite(columns).all()
