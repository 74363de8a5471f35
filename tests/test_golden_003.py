"""The observation matrix of Klimchik et al. 2013 (robust weighting), 15 configurations, 3 markers, 9 compliances."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from identify_scenarios import TABLE_2_DEG
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import elastic_columns, sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

GOLDEN = Path(__file__).parent / "data" / "003_observation_matrix.csv"
MARKERS = ("P1", "P2", "P3")
WEIGHT_N = 265.0 * 9.81
# The paper counts the groups of A2 from upright to stretched out, a model by rising angle.
NAMES = (*(f"A2.compliance[{i}]" for i in (5, 4, 3, 2, 1)), *(f"A{k}.compliance" for k in (3, 4, 5, 6)))


@pytest.fixture(scope="module")
def golden() -> Floats:
    """(configuration, marker, axis, compliance), um per 1e-6 rad/(N m), as are m per rad/(N m)."""
    return np.loadtxt(GOLDEN, delimiter=",").reshape(15, 3, 3, 9)


@pytest.fixture(scope="module")
def arm() -> Arm:
    robot = replace(read_robot("kr270"), compensators=())  # the groups of A2 stand for it
    angles = np.unique(np.radians(TABLE_2_DEG)[:, 1])
    assert len(angles) == 5
    return ArmModel.of(robot).grouped("A2", angles).at()


def state(arm: Arm, force_world: tuple[float, float, float] = (0.0, 0.0, -WEIGHT_N)) -> State:
    return State(np.radians(TABLE_2_DEG).T, (Load(arm.chain.point("hook"), np.array(force_world)[:, None]),))


@pytest.mark.parametrize("m", range(3))
def test_elastic_columns(m: int, arm: Arm, golden: Floats) -> None:
    columns = elastic_columns(arm, state(arm), MARKERS[m], NAMES)
    np.testing.assert_allclose(np.moveaxis(columns, -1, 0).swapaxes(1, 2), golden[:, m], rtol=0, atol=1e-6)


@pytest.mark.parametrize("m", range(3))
def test_sensitivity_of_the_deflection(m: int, arm: Arm, golden: Floats) -> None:
    _, columns = sensitivity(arm, state(arm), MARKERS[m], NAMES, deflection=True)
    np.testing.assert_allclose(np.moveaxis(columns, -1, 0).swapaxes(1, 2), golden[:, m], rtol=0, atol=1e-6)


def test_the_deflection_itself_is_the_matrix_times_the_compliances(arm: Arm, golden: Floats) -> None:
    """With linear elements the columns times the values are the deflection, exactly."""
    rng = np.random.default_rng(1)
    compliances = dict(zip(NAMES, rng.uniform(0.2, 3.0, 9) * 1e-6, strict=True))
    bent = arm.model.at(compliances)
    for m, marker in enumerate(MARKERS):
        prediction, _ = sensitivity(bent, state(bent), marker, NAMES, deflection=True)
        expected = golden[:, m] @ np.array(list(compliances.values()))
        np.testing.assert_allclose(prediction.deflection.T, expected, rtol=0, atol=1e-6 * 9 * 3e-6)


@pytest.mark.parametrize("marker", MARKERS)
def test_a_vertical_load_does_not_turn_the_first_joint(marker: str, arm: Arm) -> None:
    """Exactly zero, so that nothing later mistakes rounding for information."""
    vertical = state(arm)
    assert np.all(elastic_columns(arm, vertical, marker, ["A1.compliance"]) == 0.0)
    assert np.all(sensitivity(arm, vertical, marker, ["A1.compliance"], rotation=True)[1] == 0.0)
    weights = State(vertical.q, arm.weights())
    assert np.all(elastic_columns(arm, weights, marker, ["A1.compliance"]) == 0.0)
    sideways = state(arm, (300.0, -200.0, -WEIGHT_N))
    assert np.all(np.abs(elastic_columns(arm, sideways, marker, ["A1.compliance"])).max(axis=(0, 1)) > 1.0)
