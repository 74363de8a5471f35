"""Directions of the cable against angles worked out otherwise, and central differences."""

from __future__ import annotations

import numpy as np
import pytest

from plan_problems import published, rail
from stiffarm.plan.cable import CableCone, CableSteepness
from stiffarm.plan.problem import Stops

ARM = rail().arm
HOOK = ARM.chain.point("hook")


def pulls(stops: Stops) -> np.ndarray:
    from stiffarm.model.kernel import jacobian

    assert stops.aim is not None
    along = stops.aim - jacobian(ARM.chain, stops.q, HOOK)[0]
    return np.asarray(along / np.linalg.norm(along, axis=0))


def test_the_angle_between_cable_and_axis_is_what_counts() -> None:
    stops = published()
    axis = (0.2, 0.9, -0.4)
    angle = np.arccos(np.array(axis) / np.linalg.norm(axis) @ pulls(stops))
    middle = float(np.sort(angle)[1])
    margins = CableCone(ARM, "hook", axis, middle).margins(stops)[0]
    assert (np.sign(np.round(margins, 12)) == np.sign(np.round(middle - angle, 12))).all()
    np.testing.assert_allclose(np.arccos(margins + np.cos(middle)), angle, atol=1e-12)


def test_a_cable_is_steep_upwards_and_downwards() -> None:
    stops = published()
    steep = np.arcsin(pulls(stops)[2])
    margins = CableSteepness(ARM, "hook", 0.3).margins(stops)
    np.testing.assert_array_equal(margins[0] >= 0.0, steep <= 0.3)
    np.testing.assert_array_equal(margins[1] >= 0.0, steep >= -0.3)
    assert (margins.min(axis=0) < 0.0).any()


@pytest.mark.parametrize(
    "constraint",
    [CableCone(ARM, "hook", (0.2, 0.9, -0.4), 0.5), CableSteepness(ARM, "hook", 0.6)],
    ids=lambda c: c.name,
)
def test_margins_change_as_differences_say(constraint: CableCone | CableSteepness) -> None:
    stops, h = published(), 1e-6
    found = constraint.derivatives(stops)
    assert stops.aim is not None
    for j in range(7):
        step = h * np.eye(7)[j][:, None]
        ahead, behind = (constraint.margins(Stops(stops.q + s, stops.aim)) for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), found.by_q[:, j], atol=1e-8)
    for k in range(3):
        step = h * np.eye(3)[k][:, None]
        ahead, behind = (constraint.margins(Stops(stops.q, stops.aim + s)) for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), found.by_aim[:, k], atol=1e-8)
