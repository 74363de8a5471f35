"""Stiffness of drive and compensator together: derivatives, and that it is what a deflection shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stiffarm.model.aggregated import aggregated
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import Compensator, GasCylinder, Spring
from stiffarm.robot.reading import read_robot

ELEMENTS = {
    "spring": Spring(250e3, 0.47),
    "push": GasCylinder("push", 1.25, 6e-3, s0=9.0, sv=0.35),
    "pull": GasCylinder("pull", 1.0, 6e-3, s0=-9.0, sv=1.05),
    "filled": GasCylinder("pull", 1.3, 5e-3, p_ref=8e6, V_ref=3e-3, s_ref=0.6),
}
Q = np.radians([-140.0, -99.85, -56.9, -25.24, -0.01, 20.0])
DRIVE = 3.0e6


def compensator(kind: str) -> Compensator:
    return Compensator("A2", 0.1847, 0.697, 1.393, ELEMENTS[kind])


@pytest.mark.parametrize("kind", ELEMENTS)
def test_derivatives_against_finite_differences(kind: str) -> None:
    part = compensator(kind)
    both = aggregated(part, DRIVE, Q)
    for i, name in enumerate(both.names):
        number = name.rsplit(".", 1)[1]
        value = 1.0 / DRIVE if i == 0 else float(getattr(part.element, number))
        h = 1e-3 * abs(value)
        ends = []
        for shift in (-2 * h, -h, h, 2 * h):
            moved = 1.0 / (value + shift) if i == 0 else DRIVE
            ends.append(aggregated(part, moved, Q, {number: value + shift} if i else None))
        for part_of in ("stiffness", "compliance"):
            a, b, c, d = (getattr(end, part_of) for end in ends)
            truth = (a - 8 * b + 8 * c - d) / (12 * h)
            found = both.by_parameter[i] if part_of == "stiffness" else both.compliance_by_parameter[i]
            assert np.abs(found - truth).max() <= 1e-7 * np.abs(truth).max() + 1e-12 * abs(a).max() / h, name
    assert np.array_equal(both.by_stiffness[0], np.ones(len(Q)))
    np.testing.assert_allclose(both.by_parameter[0], -(DRIVE**2) * both.by_stiffness[0], rtol=1e-15)


@pytest.mark.parametrize("kind", ELEMENTS)
def test_it_is_the_serial_joint_a_deflection_shows(kind: str) -> None:
    robot = read_robot("kr270")
    robot = replace(robot, compensators=(compensator(kind),))
    both = aggregated(robot.compensators[0], 1.0 / float(robot.joints[1].compliance or 0.0), Q)
    with_it = ArmModel.of(robot).at()
    serial = ArmModel.of(replace(robot, compensators=())).grouped("A2", Q)
    alone = serial.at({f"A2.compliance[{i + 1}]": k for i, k in enumerate(both.compliance)})
    q = np.vstack([np.zeros(len(Q)), Q, *np.full((4, len(Q)), 0.4)])
    state = State(q, (Load(with_it.chain.point("hook"), np.array([[300.0], [200.0], [-2500.0]])),))
    found, truth = (predict(arm, state, "tool").deflection for arm in (with_it, alone))
    np.testing.assert_allclose(found, truth, rtol=1e-11)
