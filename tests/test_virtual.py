"""Virtual campaigns: exact without noise, the stated scatter with it, shared errors shared, same seed same bytes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from stiffarm.errors import InputError
from stiffarm.measure.campaign import Campaign, Isotropic, Setup, SharedError, Spherical, Tracker
from stiffarm.measure.covariance import noise_of
from stiffarm.measure.instruments import reading_covariance
from stiffarm.measure.observe import expected, residual
from stiffarm.measure.points import seen_points
from stiffarm.measure.references import resolve_references
from stiffarm.measure.truth import Spread, random_truth, truth_document
from stiffarm.measure.virtual import OUTLIER_SIGMAS, simulate
from stiffarm.measure.writing import write_campaign
from stiffarm.robot.arm import Placement
from stiffarm.robot.placement import Rigid, rotation_from_vector, vector_from_rotation
from virtual_plans import MODEL, assert_same_covariance, plan_of, sample_covariance

ARM = MODEL.at({"A2.rz": 1e-3, "tool.P1.x": 0.151})
DRAWS = 50_000
FRAMES = {"day": Rigid(rotation_from_vector((0.3, -1.0, 0.4)), np.array([0.5, 1.0, -0.2]))}
KINDS = ("position", "deflection", "pose")


def mixed_plan() -> Campaign:
    return plan_of(4, {"experiment": [0, 1, 2, 3, 0, 1]}, kind=KINDS * 2)


def repeated(experiments: list[int], markers: list[int], kind: str = "position", **more: object) -> Campaign:
    """The same rows in ``DRAWS`` stops of their own."""
    stops = np.repeat(np.arange(DRAWS), len(experiments))
    rows = {"experiment": np.tile(experiments, DRAWS), "marker": np.tile(markers, DRAWS), "visit": stops}
    rows["repeat"] = stops + 1
    return plan_of(max(experiments) + 1, rows | dict(more.pop("rows", {})), kind=kind, visits=DRAWS, **more)  # type: ignore[call-overload]


def scatter(campaign: Campaign, rows: int) -> np.ndarray:
    """(3 rows, draws) errors of the readings of each stop, coordinate by coordinate."""
    error = campaign.readings.value[:3] - expected(ARM, campaign, FRAMES).value[:3]
    return error.reshape(3, DRAWS, rows).swapaxes(1, 2).reshape(3 * rows, DRAWS)


def test_without_noise_the_readings_are_the_expected_ones() -> None:
    plan = mixed_plan()
    done = simulate(ARM, plan, seed=1, frames=FRAMES)
    value = expected(ARM, plan, FRAMES).value
    read = np.isfinite(done.campaign.readings.value)
    assert np.array_equal(done.campaign.readings.value[read], value[read])
    assert read[:3].all()
    assert read[3:].all(axis=0).tolist() == [False, False, True] * 2
    assert done.campaign.instrument is None
    assert not len(done.outliers)


def test_zero_sigma_is_no_noise() -> None:
    one, other = (simulate(ARM, mixed_plan(), seed=1, **given) for given in ({}, {"sigma_m": 0.0}))
    assert np.array_equal(one.campaign.readings.value, other.campaign.readings.value, equal_nan=True)


def test_setups_stand_where_they_are_said_to_stand() -> None:
    placed = Setup("day", Placement((1.0, 2.0, 3.0), (0.1, 0.2, 0.3)))
    plan = replace(mixed_plan(), setups=(placed,))
    done = simulate(ARM, plan, seed=1)
    assert np.array_equal(done.frames["day"].translation, (1.0, 2.0, 3.0))
    assert np.array_equal(simulate(ARM, plan, seed=1, frames=FRAMES).frames["day"].translation, (0.5, 1.0, -0.2))


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        noise = {"sigma_m": 3e-5, "sigma_rad": 1e-4, "shared_translation_m": 1e-5, "outlier_share": 0.2}
        done = simulate(ARM, mixed_plan(), seed=seed, frames=FRAMES, **noise)
        write_campaign(done.campaign, tmp_path / f"{name}.campaign.csv")
        texts.append((tmp_path / f"{name}.campaign.csv").read_bytes())
    assert texts[0] == texts[1] != texts[2]


def test_a_deflection_scatters_with_twice_the_variance_of_a_reading() -> None:
    plan = repeated([0], [0], "deflection")
    done = simulate(ARM, plan, seed=2, sigma_m=3e-5, sigma_rad=1e-4, frames=FRAMES)
    assert_same_covariance(sample_covariance(scatter(done.campaign, 1)), 2.0 * 9e-10 * np.eye(3))
    turned = done.campaign.readings.value[3:]
    assert_same_covariance(sample_covariance(turned), 2.0 * 1e-8 * np.eye(3))
    assert done.campaign.instrument == Isotropic(3e-5, 1e-4)


def test_a_deviation_stated_in_a_deflection_row_is_its_own() -> None:
    sigma = np.full((6, DRAWS), np.nan)
    sigma[2] = 5e-5
    plan = repeated([0], [0], "deflection", rows={"sigma": sigma})
    found = sample_covariance(scatter(simulate(ARM, plan, seed=2, sigma_m=3e-5).campaign, 1))
    assert_same_covariance(found, np.diag([18e-10, 18e-10, 25e-10]))


@pytest.mark.parametrize("kind", ["position", "deflection"])
def test_a_tracker_scatters_as_its_covariance(kind: str) -> None:
    plan = repeated([0], [0], kind, setups=(Setup("day", None, (4.0, -2.0, 1.0)),))
    tracker = Tracker(5e-6, 2e-6, 1e-5)
    done = simulate(ARM, plan, seed=3, instrument=tracker, frames=FRAMES)
    stated = reading_covariance(plan, tracker, seen_points(ARM, plan, FRAMES)).position[:, :, 0]
    assert_same_covariance(sample_covariance(scatter(done.campaign, 1)), stated)
    assert done.campaign.instrument == tracker


@pytest.mark.parametrize(("kind", "factor"), [("position", 1.0), ("deflection", 2.0)])
def test_a_spherical_instrument_errs_in_random_directions(kind: str, factor: float) -> None:
    done = simulate(ARM, repeated([0], [0], kind), seed=4, instrument=Spherical(3e-5), frames=FRAMES)
    found = scatter(done.campaign, 1)
    assert_same_covariance(sample_covariance(found), factor * 9e-10 * np.diag([0.25, 0.25, 0.5]))
    if kind == "position":  # the length of a normal error in space would have another fourth moment
        length = np.linalg.norm(found, axis=0)
        assert np.mean(length**4) / np.mean(length**2) ** 2 == pytest.approx(3.0, rel=0.03)


def test_pose_errors_turn_the_read_rotation() -> None:
    plan = repeated([0], [0], "pose")
    done = simulate(ARM, plan, seed=5, sigma_m=1e-5, sigma_rad=2e-3, frames=FRAMES)
    error = residual(done.campaign, expected(ARM, plan, FRAMES).value)
    assert_same_covariance(sample_covariance(error[3:]), 4e-6 * np.eye(3))


def test_shared_errors_are_shared_by_a_stop_and_have_the_stated_covariance() -> None:
    plan = replace(repeated([0, 0, 0], [0, 1, 2]), shared=SharedError(4e-5, 1e-4))
    done = simulate(ARM, plan, seed=6, sigma_m=1e-5, frames=FRAMES)
    one = plan_of(1, {"experiment": [0] * 3, "visit": [0] * 3}, visits=1, shared=plan.shared)
    points = seen_points(ARM, one, FRAMES)
    stated = noise_of(resolve_references(one), points, Isotropic(1e-5)).dense()[:3, :, :3].reshape(9, 9)
    assert_same_covariance(sample_covariance(scatter(done.campaign, 3)), stated)


def test_a_shared_error_is_a_rigid_motion_of_the_stop() -> None:
    rows = {"experiment": [0] * 6, "marker": [0, 1, 2] * 2, "visit": [0, 0, 0, 1, 1, 1]}
    plan = plan_of(1, rows, visits=2)
    done = simulate(ARM, plan, seed=9, shared_translation_m=1e-3, shared_rotation_rad=0.2, frames=FRAMES)
    before, after = expected(ARM, plan, FRAMES).value[:3], done.campaign.readings.value[:3]
    for stop in (slice(0, 3), slice(3, 6)):
        sides = [np.linalg.norm(np.diff(p[:, stop], axis=1, append=p[:, stop][:, :1]), axis=0) for p in (before, after)]
        assert np.allclose(*sides, atol=1e-12)
        assert np.linalg.norm(after[:, stop] - before[:, stop], axis=0).min() > 1e-4
    assert not np.allclose(after[:, :3], after[:, 3:], atol=1e-5)
    assert done.campaign.shared == SharedError(1e-3, 0.2)


def test_a_shared_rotation_turns_poses_with_their_points() -> None:
    plan = plan_of(1, {"experiment": [0, 0], "marker": [0, 1]}, kind="pose")
    done = simulate(ARM, plan, seed=9, shared_rotation_rad=0.1, frames=FRAMES)
    before, after = expected(ARM, plan, FRAMES).value, done.campaign.readings.value
    turns = [rotation_from_vector(after[3:, i]) @ rotation_from_vector(before[3:, i]).T for i in range(2)]
    assert np.allclose(turns[0], turns[1], atol=1e-12)
    assert np.linalg.norm(vector_from_rotation(turns[0])) > 0.01
    side_before, side_after = before[:3, 0] - before[:3, 1], after[:3, 0] - after[:3, 1]
    assert np.allclose(side_after, turns[0] @ side_before, atol=1e-12)


def test_references_get_readings_of_their_own_and_correlated_differences() -> None:
    rows = {"reference": np.tile([-1, 0, 0], DRAWS), "visit": np.full(3 * DRAWS, -1)}
    plan = repeated([0, 1, 2], [0, 0, 0], rows=rows, loaded=(False, True, True))
    done = simulate(ARM, plan, seed=12, sigma_m=2e-5)
    resolved = resolve_references(done.campaign, keep_unloaded=False).campaign
    error = resolved.readings.value[:3].reshape(3, DRAWS, 2)
    found = sample_covariance(error.swapaxes(1, 2).reshape(6, DRAWS))
    assert_same_covariance(found, np.kron(np.eye(3), 4e-10 * np.array([[2.0, 1.0], [1.0, 2.0]])))


def test_outliers_are_the_stated_share_and_far_away() -> None:
    plan = plan_of(1, {"experiment": [0] * 1000}, kind=("position", "deflection") * 500)
    clean = simulate(ARM, plan, seed=10, sigma_m=3e-5)
    spoilt = simulate(ARM, plan, seed=10, sigma_m=3e-5, outlier_share=0.05)
    assert len(spoilt.outliers) == 50
    moved = np.linalg.norm(spoilt.campaign.readings.value[:3] - clean.campaign.readings.value[:3], axis=0)
    assert np.array_equal(np.flatnonzero(moved), spoilt.outliers)
    own = np.where(spoilt.outliers % 2 == 0, 3e-5, 3e-5 * np.sqrt(2.0))
    assert np.allclose(moved[spoilt.outliers], own * spoilt.outlier_sigmas, rtol=1e-9)
    assert spoilt.outlier_sigmas.min() >= OUTLIER_SIGMAS[0]
    assert spoilt.outlier_sigmas.max() <= OUTLIER_SIGMAS[1]


def test_outliers_need_a_deviation() -> None:
    with pytest.raises(InputError, match="--sigma"):
        simulate(ARM, mixed_plan(), seed=1, outlier_share=0.5)


def test_a_plan_with_readings_keeps_its_unread_cells() -> None:
    value = np.full((6, 2), np.nan)
    value[:3] = 1.0
    value[1, 0] = np.nan
    done = simulate(ARM, plan_of(1, {"experiment": [0, 0], "value": value}), seed=1, sigma_m=1e-5)
    assert np.isfinite(done.campaign.readings.value[:3]).tolist() == [[True, True], [False, True], [True, True]]


def test_measured_torques_stay_and_may_bend_the_arm() -> None:
    plan = mixed_plan()
    torque = np.full((6, 4), 300.0)
    with_torque = replace(plan, experiments=replace(plan.experiments, joint_torque=torque))
    by_load, by_torque, none = (
        simulate(ARM, with_torque, seed=1, loads=loads).campaign.readings.value for loads in ("model", "torque", "none")
    )
    assert np.array_equal(by_load, simulate(ARM, plan, seed=1).campaign.readings.value, equal_nan=True)
    positions = ~plan.kind("deflection")
    assert np.abs(by_load - by_torque)[:3, positions].min(axis=0).max() > 1e-6
    assert not none[:3, ~positions].any()
    assert simulate(ARM, with_torque, seed=1).campaign.experiments.joint_torque is torque


def test_truth_scatters_as_the_spread_says() -> None:
    spreads = [Spread.parse("A*.offset=0.1 mrad"), Spread.parse("*.compliance=20%"), ("A6.offset", 0.5)]
    draws = [random_truth(MODEL, spreads, seed) for seed in range(400)]
    offset = np.array([draw["A1.offset"] for draw in draws])
    share = np.array([draw["A3.compliance"] for draw in draws]) / 3e-6 - 1.0
    assert np.std(offset) == pytest.approx(1e-4, rel=0.1)
    assert np.std(share) == pytest.approx(0.2, rel=0.1)
    assert abs(np.corrcoef(offset, share)[0, 1]) < 0.15
    assert np.std([draw["A6.offset"] for draw in draws]) == pytest.approx(0.5, rel=0.1)
    assert {draw["A1.rx"] for draw in draws} == {0.0}
    assert draws[3] == random_truth(MODEL, spreads, 3) != draws[4]


def test_a_drawn_compliance_is_never_negative() -> None:
    draws = [random_truth(MODEL, [("*.compliance", 1e-5)], seed) for seed in range(40)]
    assert min(draw[f"A{k}.compliance"] for draw in draws for k in range(1, 7)) >= 0.0


def test_a_spread_is_about_the_given_centre() -> None:
    assert random_truth(MODEL, [Spread("A1.compliance", 0.0, "%")], 1, {"A1.compliance": 7e-6, "A2.gain": 1e-3}) == {
        **MODEL.nominal,
        "A1.compliance": 7e-6,
        "A2.gain": 1e-3,
    }


def test_a_spread_is_for_what_has_its_dimension() -> None:
    drawn = random_truth(MODEL, [Spread.parse("A1.*=0.1 mm")], 4)
    assert {name for name, value in drawn.items() if value != MODEL.nominal[name]} == {"A1.x", "A1.y", "A1.z"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A1.offset", "a pattern of parameter names"),
        ("A1.offset=", "a pattern of parameter names"),
        ("A1.offset=-1 mrad", "not negative"),
        ("A1.offset=1 mm", "impossible unit"),
        ("A*.r?=1 mm", "impossible unit.* rad mrad urad deg %"),
        ("A1.offset=1", "impossible unit"),
        ("A9.offset=1 mrad", "no parameter matches"),
        ("A*.offset=10 %", "a share of zero is zero"),
    ],
)
def test_a_wrong_spread_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        random_truth(MODEL, [Spread.parse(text)], 0)


def test_the_truth_is_a_model_file() -> None:
    plan = plan_of(2, {"experiment": [0, 1]})
    values = random_truth(MODEL, [Spread("*.compliance", 10.0, "%")], 3)
    done = simulate(MODEL.at(values), plan, seed=3, sigma_m=1e-5, outlier_share=0.5, frames=FRAMES)
    document = json.loads(json.dumps(truth_document(done, MODEL, values, robot="arm.robot.toml"), allow_nan=False))
    assert document["format"] == "stiffarm-model/1"
    stated = {p["name"]: p["value"] for p in document["parameters"]}
    assert stated == values
    assert next(p for p in document["parameters"] if p["name"] == "A2.compliance")["nominal"] == 2e-6
    assert document["verdict"] == {"usable": True, "reasons": ["truth of a simulation"]}
    assert [o["experiment"] for o in document["outliers"]] == [f"e{done.outliers[0] + 1}"]
    assert np.allclose(rotation_from_vector(document["setups"][0]["rotvec"]), FRAMES["day"].rotation, atol=1e-14)
    assert document["provenance"]["seed"] == 3
