"""Fits of touches: exact recovery, rank, the scale, and the set-up of paper 004."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paper_004 import DH_NAMES, MODEL, PAPER_33, POINTS, ROBOT, touches, true_values
from stiffarm.identify.api import identify
from stiffarm.identify.fit import Fit, fit
from stiffarm.identify.model_file import document, estimate_of
from stiffarm.identify.options import Options
from stiffarm.identify.validation import validate_model
from stiffarm.identify.words import estimate_text
from stiffarm.measure.campaign import OBSERVATIONS, Campaign
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import Observer
from stiffarm.measure.reaching import reach
from stiffarm.measure.subset import with_readings
from stiffarm.robot.arm import Prior
from touch_campaigns import Touched, touch_campaign

SELECTED = Options(geometry="none", elastic="none", select=PAPER_33, folds=0)
CARRIED = ("A6.z", "A6.rz", "tool.x", "tool.rx")
"""What the probe's place stands for."""


def truth_of(**changes: float) -> dict[str, float]:
    """The paper's arm, less what touches under a vertical force at the flange cannot see."""
    return true_values() | dict.fromkeys((*CARRIED, "A1.compliance", "A6.compliance"), 0.0) | changes


def missed(found: Fit, truth: Mapping[str, float]) -> np.ndarray:
    return np.array([found.at.values[n] - truth.get(n, MODEL.nominal[n]) for n in found.names])


RANKS: dict[str, tuple[dict[str, Any], int]] = {
    "force at the flange": ({}, 23),
    "force off the flange's axis": ({"load_point": "spindle"}, 24),
    "lateral force": ({"lateral_n": 300.0}, 24),
    "known distances": ({"distances": True}, 24),
}


@pytest.mark.parametrize("case", RANKS)
def test_rank_of_the_papers_33_parameters(case: str) -> None:
    more, rank = RANKS[case]
    found = fit(ROBOT, touches(MODEL.at(truth_of()), sigma_m=1.5e-5, **more), SELECTED)
    assert len(found.asked.names) == 33
    assert found.rank == rank
    assert found.selection.gap > 1e6
    assert found.solution.iterations <= 10
    assert (found.held_scale is None) == (case == "known distances")
    held = {d.name for d in found.dropped}
    assert {"A1.rz", "A1.z", "A3.z", "tool.x", "tool.rx"} <= held
    assert ("A1.compliance" in held) == (case != "lateral force")
    assert ("A6.compliance" in held) == (case != "force off the flange's axis")


def test_noise_free_touches_with_distances_give_the_arm_back() -> None:
    truth = truth_of()
    found = fit(ROBOT, touches(MODEL.at(truth), distances=True), SELECTED)
    assert np.abs(missed(found, truth)).max() < 1e-12


@pytest.mark.parametrize(("shape", "rank"), [("touch", 20), ("plane", 20), ("sphere", 20)])
def test_rank_of_a_six_axis_geometry(shape: str, rank: int) -> None:
    """One marker shows 27 numbers of a 6R; six of them are where it stands and one is the scale."""
    found = fit(ROBOT, surfaces(shape), Options(elastic="none", folds=0))
    assert found.rank == rank
    assert {f"A1.{axis}" for axis in ("x", "y", "z", "rx", "ry", "rz")} <= {d.name for d in found.dropped}


@pytest.mark.parametrize("shape", ["touch", "sphere", "plane"])
def test_a_known_length_adds_the_scale(shape: str) -> None:
    """A two-point artefact, a sphere of known radius, parallel planes with a gap: 21."""
    found = fit(ROBOT, surfaces(shape, known=True), Options(elastic="none", folds=0))
    assert (found.rank, found.held_scale) == (21, None)


def surfaces(shape: str, *, known: bool = False) -> Campaign:
    """Two tilted planes, two points or one sphere touched by the nominal arm in random postures."""
    random = np.random.default_rng(11)
    count = 1 if shape == "sphere" else 2
    slant = np.array([0.6, 0.3, 0.742])
    slant = slant / np.linalg.norm(slant)
    other = slant if known else np.array([0.1, 0.9, 0.424]) / np.linalg.norm([0.1, 0.9, 0.424])
    place = {
        "touch": np.array([[1.3, 0.3, 0.9, 0.0], [1.0, -0.7, 0.7, 0.0]]),
        "plane": np.array([[*slant, 1.3], [*other, 1.1 if known else 0.7]]),
        "sphere": np.array([[1.3, 0.2, 0.8, 0.25]]),
    }[shape]
    tries = 150
    q = random.uniform(-1.0, 1.0, (6, count * tries)) * np.array([2.0, 0.8, 0.8, 2.5, 1.8, 3.0])[:, None]
    radius = 0.25 if known and shape == "sphere" else None
    touched = [Touched(f"T{i}", shape, tries, radius) for i in range(count)]
    lengths = [("T0", "T1", 1.0)] if known and count == 2 else []
    campaign = touch_campaign(touched, q=q, marker="tip", joints=ROBOT.joint_names, distances=lengths)
    reached = reach(MODEL.at(), campaign, place)
    good = np.ones(len(campaign.readings), dtype=bool)
    good[Contacts(campaign).rows] = reached.missing_m < 1e-12
    readings = reached.campaign.readings
    length_m = 0.2 if shape == "plane" else float(np.linalg.norm(place[0, :3] - place[-1, :3]))
    exact = np.where(np.isfinite(readings.distance_m), length_m, np.nan)
    return with_readings(replace(reached.campaign, readings=replace(readings, distance_m=exact)), good)


def test_deviations_agree_with_the_truth_with_and_without_a_scale() -> None:
    random = np.random.default_rng(7)
    for distances in (True, False):
        z = []
        for seed in range(6):
            truth = truth_of()
            for name in DH_NAMES:
                truth[name] = random.normal(0.0, 5e-4 if name[-2:] in (".x", ".y", ".z") else 1e-3)
            truth |= dict.fromkeys((*CARRIED, "A3.z"), 0.0)
            found = fit(ROBOT, touches(MODEL.at(truth), sigma_m=3e-5, seed=seed, distances=distances), SELECTED)
            z += list(missed(found, truth) / found.estimate.sigma[: len(found.names)])
        assert 0.8 < float(np.sqrt(np.mean(np.square(z)))) < 1.25


def test_a_free_scale_would_collapse_and_a_held_one_stays() -> None:
    campaign = touches(MODEL.at(truth_of()), sigma_m=2e-3, per_point=30)
    found = fit(ROBOT, campaign, SELECTED)
    assert found.held_scale is not None
    kept = [found.at.values[name] for name in found.names]
    assert abs(found.held_scale.row @ kept) < 1e-3 * found.held_scale.sigma
    share = np.array([found.at.values[n] for n in ("A2.x", "A3.y")])
    assert np.abs(share).max() < 0.02  # and no length ran away


def test_what_is_known_of_lengths_is_in_every_interval() -> None:
    campaign = touches(MODEL.at(truth_of()), sigma_m=1.5e-5)
    half = replace(ROBOT, priors=(Prior("A*", 0.25, "mm"),))
    wide, narrow = fit(ROBOT, campaign, SELECTED), fit(half, campaign, SELECTED)
    assert wide.held_scale is not None
    assert narrow.held_scale is not None
    # the priors let one more length, 170 mm of 1240, be fitted
    assert narrow.held_scale.sigma == pytest.approx(0.5 * wide.held_scale.sigma, rel=0.02)
    at = wide.names.index("A3.y")  # the upper arm, 850 mm
    assert wide.estimate.sigma[at] == pytest.approx(0.85 * wide.held_scale.sigma, rel=0.05)


def test_the_scale_is_the_first_thing_said() -> None:
    campaign = touches(MODEL.at(truth_of()), sigma_m=1.5e-5)
    found = identify(ROBOT, campaign, replace(SELECTED, folds=3))
    assert found.verdict.usable
    assert found.verdict.reasons[0].startswith("the scale of all lengths is not told by touches alone")
    assert "scale of all lengths" in estimate_text(found).splitlines()[1]
    assert found.fit.scale_sigma == pytest.approx(4e-4, rel=0.05)
    assert np.array(found.scale_covariance).shape == np.array(found.covariance).shape
    assert estimate_of(document(found)) == found
    known = identify(ROBOT, touches(MODEL.at(truth_of()), sigma_m=1.5e-5, distances=True), replace(SELECTED, folds=3))
    assert known.fit.scale_sigma is None
    assert "scale" not in known.verdict.reasons[0]


def test_judged_touches_scatter_about_their_own_centre() -> None:
    campaign = touches(MODEL.at(truth_of()), sigma_m=3e-5, per_point=40)
    found = identify(ROBOT, campaign, replace(SELECTED, holdout="target:X3"))
    assert found.holdout is not None
    assert found.holdout.rows == 40
    assert found.holdout.rms_m == pytest.approx(3e-5 * np.sqrt(3.0), rel=0.3)
    assert found.holdout.nominal_rms_m is not None
    assert found.holdout.nominal_rms_m > 1e-3


def test_stated_scatter_is_taken_for_what_it_is() -> None:
    found = fit(ROBOT, touches(MODEL.at(truth_of()), sigma_m=3e-5, stated=True), SELECTED)
    assert found.noise.known
    assert found.noise.sigma == pytest.approx(np.full(len(found.system), 3e-5))


def test_the_model_says_where_what_was_touched_is() -> None:
    campaign = touches(MODEL.at(truth_of()), sigma_m=3e-5, distances=True)
    found = identify(ROBOT, campaign, SELECTED)
    assert [t.name for t in found.targets] == ["X1", "X2", "X3"]
    near = [float(np.linalg.norm(np.array(t.xyz) - p)) for t, p in zip(found.targets, POINTS, strict=True)]
    assert max(near) < 5e-3  # up to a turn about the first axis, which nothing tells
    assert found.targets[0].rms == pytest.approx(3e-5 * np.sqrt(3.0), rel=0.4)
    assert estimate_of(document(found)) == found


def test_validation_judges_touches_by_their_scatter() -> None:
    found = identify(ROBOT, touches(MODEL.at(truth_of()), sigma_m=3e-5), replace(SELECTED, folds=0))
    other = touches(MODEL.at(truth_of()), sigma_m=3e-5, seed=5, per_point=30)
    judged = validate_model(found, other)
    assert judged.rows == 90
    assert judged.rms_m is not None
    assert judged.nominal_rms_m is not None
    assert judged.rms_m == pytest.approx(3e-5 * np.sqrt(3.0), rel=0.5)
    assert judged.nominal_rms_m > 10.0 * judged.rms_m


def test_touches_and_readings_are_fitted_together() -> None:
    truth = truth_of()
    campaign = touches(MODEL.at(truth), sigma_m=0.0)
    world = Observer(campaign).expected(MODEL.at(truth)).world
    readings = campaign.readings
    some = np.arange(0, 54, 3)
    kind, value, target = readings.kind.copy(), readings.value.copy(), readings.target.copy()
    kind[some], value[:3, some], target[some] = OBSERVATIONS.index("position"), world[:, some], -1
    mixed = replace(campaign, readings=replace(readings, kind=kind, value=value, target=target))
    found = fit(ROBOT, mixed, SELECTED)
    assert found.held_scale is None  # an instrument tells it
    assert found.rank == 24 + 6  # the frame of the setup, and the scale
    assert np.abs(missed(found, truth)).max() < 1e-9
