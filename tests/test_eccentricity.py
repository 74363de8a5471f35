"""Eccentric gears are found where there are some, and only there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fit_problems import Truth, angles, anywhere, arm, as_built, campaign
from stiffarm.identify.api import identify
from stiffarm.identify.data import resolved_of
from stiffarm.identify.eccentricity import clearly_better, with_eccentricities
from stiffarm.identify.options import Options
from stiffarm.identify.unknowns import ask
from stiffarm.measure.campaign import Campaign
from stiffarm.robot.arm import Robot

ROBOT = arm((0.1, 0.02, 0.05))
TRUTH = Truth(as_built(ROBOT), {"day": anywhere(1)})
AMPLITUDE = 4e-4


def measured(seed: int, *, eccentric: bool, poses: int = 60) -> Campaign:
    """Readings of an arm whose second joint stands at q + a sin q when the controller says q."""
    q = angles(poses, seed)
    real = q.copy()
    if eccentric:
        real[1] += AMPLITUDE * np.sin(q[1])
    read = campaign(TRUTH, real, noise_m=3e-5, seed=seed)
    return replace(read, experiments=replace(read.experiments, q=q))


def added(robot: Robot, read: Campaign, options: Options) -> bool:
    trial = with_eccentricities(robot, ask(robot, read, options), resolved_of(read), options)
    assert (trial.note is None) == (trial.options == options)
    return trial.note is not None


def test_an_eccentric_gear_is_found_and_named() -> None:
    found = identify(ROBOT, measured(0, eccentric=True), Options(estimator="wls"))
    sine = found.parameter("A2.sin")
    assert sine.value is not None
    assert sine.std is not None
    assert abs(sine.value - AMPLITUDE) < 4.0 * sine.std < AMPLITUDE
    assert "eccentricities of the gears of A1, A2, A3, A4, A5, A6 were added" in " ".join(found.notes)
    assert found.holdout is not None
    assert found.holdout.rms_m is not None
    assert found.holdout.rms_m < 1e-4
    plain = identify(ROBOT, measured(0, eccentric=True), Options(estimator="wls", gears="none"))
    assert plain.holdout is not None
    assert plain.holdout.rms_m is not None
    assert plain.holdout.rms_m > 1.5 * found.holdout.rms_m
    assert not any(".sin" in p.name for p in plain.parameters)


def test_good_gears_are_left_alone() -> None:
    assert [seed for seed in range(12) if added(ROBOT, measured(seed, eccentric=False), Options())] == []


def test_held_readings_do_not_decide() -> None:
    """Eccentric configurations that are only judged change nothing in the decision."""
    good, bad = measured(5, eccentric=False), measured(5, eccentric=True)
    fitted = np.arange(len(good.readings)) < 30
    mixed = replace(
        good, readings=replace(good.readings, value=np.where(fitted, good.readings.value, bad.readings.value))
    )
    column = {"late": tuple("no" if one else "yes" for one in fitted)}
    options = Options(estimator="wls", holdout="column:late=yes")
    one, other = (identify(ROBOT, replace(read, extra=column), options) for read in (good, mixed))
    assert [p.value for p in one.parameters] == [p.value for p in other.parameters]


NOT_TRIED = (
    Options(gears="none"),
    Options(folds=0),
    Options(geometry="offsets"),
    Options(select=("A1.sin",)),
    Options(fix=("*.sin", "*.cos")),
)


@pytest.mark.parametrize("options", NOT_TRIED)
def test_nothing_is_tried_unless_it_may_be(options: Options) -> None:
    assert not added(ROBOT, measured(0, eccentric=True), options)


def test_repeats_of_a_configuration_are_one_piece_of_evidence() -> None:
    """A hundred readings that agree because they are the same stop prove nothing."""
    without, better = np.full(100, 2.0), np.full(100, 1.0)
    assert clearly_better(without, better, np.arange(100))
    assert not clearly_better(without, better, np.zeros(100, dtype=np.int64))
