"""Covariances of every instrument and of shared readings, against errors drawn as they arise."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.measure.campaign import Campaign, Isotropic, Setup, SharedError, SigmaTable, Spherical, Tracker
from stiffarm.measure.covariance import cholesky3, noise_of, shared_groups, whitener
from stiffarm.measure.instruments import beam_covariance, reading_covariance
from stiffarm.measure.points import read_points, seen_points
from stiffarm.measure.published import DEFLECTION_SIGMA_UM, published_noise
from stiffarm.measure.reading import read_campaign
from stiffarm.measure.references import resolve_references, unloaded_rows
from stiffarm.robot.arm import Placement
from stiffarm.robot.placement import Rigid, rotation_from_vector, vector_from_rotation
from virtual_plans import MODEL, assert_same_covariance, plan_of, sample_covariance

DRAWS = 120_000
ARM = MODEL.at()
TILTED = Placement((0.4, -1.2, 0.3), (0.3, -0.2, 0.9))
Floats = NDArray[np.float64]


def one_row(kind: str = "position") -> Campaign:
    return plan_of(1, {"experiment": [0]}, kind=kind)


def test_isotropic() -> None:
    campaign = plan_of(1, {"experiment": [0, 0, 0]}, kind=("position", "pose", "deflection"))
    found = reading_covariance(campaign, Isotropic(3e-5, 1e-4))
    for row, factor in enumerate((1.0, 1.0, 2.0)):
        assert np.allclose(found.position[:, :, row], factor * 9e-10 * np.eye(3), rtol=1e-12)
        assert np.allclose(found.rotation[:, :, row], factor * 1e-8 * np.eye(3), rtol=1e-12)


def test_rotations_of_an_instrument_that_states_none_are_unknown() -> None:
    assert np.isnan(reading_covariance(one_row("pose"), Isotropic(3e-5)).rotation).all()


def test_nothing_is_known_without_an_instrument() -> None:
    assert np.isnan(reading_covariance(one_row()).position).all()


@pytest.mark.parametrize("beam", [(3.0, -1.0, 0.5), (0.0, 0.0, 4.0), (-2.0, 2.0, -0.1)])
def test_tracker_against_drawn_range_and_angles(beam: tuple[float, float, float]) -> None:
    tracker = Tracker(5e-6, 4e-6, 8e-6)
    random = np.random.default_rng(11)
    distance = np.linalg.norm(beam)
    u = np.array(beam) / distance
    side = np.cross(u, (0.3, 0.5, -0.8))
    side /= np.linalg.norm(side)
    up = np.cross(u, side)
    length = distance + (5e-6 + 4e-6 * distance) * random.standard_normal(DRAWS)
    yaw, pitch = 8e-6 * random.standard_normal((2, DRAWS))
    # a direction by azimuth about one axis across the beam and elevation about the other
    direction = u[:, None] * np.cos(pitch) * np.cos(yaw) + side[:, None] * np.cos(pitch) * np.sin(yaw)
    direction += up[:, None] * np.sin(pitch)
    read = length * direction
    assert_same_covariance(sample_covariance(read), beam_covariance(tracker, np.array(beam)[:, None])[:, :, 0])


def test_tracker_looks_from_its_station_at_the_reading_in_the_frame_of_the_setup() -> None:
    setup = Setup("day", TILTED, (1.0, 2.0, 0.5))
    campaign = plan_of(1, {"experiment": [0], "value": [[4.0], [1.0], [1.5], *[[np.nan]] * 3]}, setups=(setup,))
    tracker = Tracker(1e-5, 0.0, 2e-5)
    found = reading_covariance(campaign, tracker).position[:, :, 0]
    assert np.allclose(found, beam_covariance(tracker, np.array([[3.0], [-1.0], [1.0]]))[:, :, 0], rtol=1e-12)
    u = np.array([3.0, -1.0, 1.0]) / np.sqrt(11.0)
    assert u @ found @ u == pytest.approx(1e-10)


def test_tracker_needs_points_for_deflections_and_doubles_them() -> None:
    setup = Setup("day", TILTED, (1.0, 2.0, 0.5))
    campaign = plan_of(1, {"experiment": [0, 0], "marker": [0, 0]}, kind=("position", "deflection"), setups=(setup,))
    tracker = Tracker(1e-5, 1e-6, 2e-5)
    assert np.isnan(reading_covariance(campaign, tracker).position).all()
    found = reading_covariance(campaign, tracker, seen_points(ARM, campaign)).position
    assert np.allclose(found[:, :, 1], 2.0 * found[:, :, 0], rtol=1e-12)


def test_tracker_without_a_station_is_refused() -> None:
    with pytest.raises(InputError, match=r"setup\.day\.station"):
        reading_covariance(one_row(), Tracker(1e-5, 0.0, 1e-6))


def test_points_of_deflections_and_positions_in_a_tilted_setup() -> None:
    campaign = plan_of(2, {"experiment": [0, 1], "marker": [0, 0]}, kind=("position", "deflection"),
                       setups=(Setup("day", TILTED),))  # fmt: skip
    points = seen_points(ARM, campaign)
    frame = Rigid.of(TILTED)
    assert np.allclose(points.setup, frame.apply(points.world), atol=1e-14)
    value = np.full((6, 2), np.nan)
    value[:3, 0] = points.setup[:, 0]
    read = read_points(replace(campaign, readings=replace(campaign.readings, value=value)))
    assert np.allclose(read.world[:, 0], points.world[:, 0], atol=1e-14)
    assert np.isnan(read.world[:, 1]).all()


def test_table_by_experiment_and_axis() -> None:
    table = SigmaTable(("e2", "e1"), ((1e-5, 2e-5, 3e-5), (4e-5, 5e-5, 6e-5)))
    campaign = plan_of(3, {"experiment": [0, 1, 1, 2]}, kind=("position", "position", "deflection", "position"))
    found = reading_covariance(campaign, table).position
    assert np.allclose(np.sqrt(found[:, :, 0].diagonal()), (4e-5, 5e-5, 6e-5), rtol=1e-12)
    assert np.allclose(np.sqrt(found[:, :, 1].diagonal()), (1e-5, 2e-5, 3e-5), rtol=1e-12)
    assert np.allclose(found[:, :, 2], 2.0 * found[:, :, 1], rtol=1e-12)
    assert np.isnan(found[:, :, 3]).all()


def test_spherical_against_random_directions() -> None:
    random = np.random.default_rng(5)
    length = 3e-5 * random.standard_normal(DRAWS)
    polar, azimuth = random.uniform(0.0, np.pi / 2, DRAWS), random.uniform(-np.pi, np.pi, DRAWS)
    drawn = length * np.array([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)])
    assert_same_covariance(sample_covariance(drawn), reading_covariance(one_row(), Spherical(3e-5)).position[:, :, 0])


def test_a_deviation_stated_in_the_row_is_taken_as_it_stands() -> None:
    sigma = np.full((6, 2), np.nan)
    sigma[0, 1], sigma[4, 1] = 7e-5, 3e-4
    setup = Setup("day", None, (0.0, 0.0, 0.0))
    campaign = plan_of(1, {"experiment": [0, 0], "sigma": sigma, "marker": [0, 0]}, kind="deflection", setups=(setup,))
    found = reading_covariance(campaign, Tracker(1e-5, 1e-6, 2e-5), seen_points(ARM, campaign))
    assert found.position[0, 0, 1] == pytest.approx(49e-10)
    assert not found.position[0, 1:, 1].any()
    assert not found.position[1:, 0, 1].any()
    assert np.array_equal(found.position[1:, 1:, 1], found.position[1:, 1:, 0])
    assert found.rotation[1, 1, 1] == pytest.approx(9e-8)


def test_cholesky_of_many_matrices_and_of_none() -> None:
    random = np.random.default_rng(2)
    factors = random.standard_normal((50, 3, 3))
    matrices = factors @ factors.transpose(0, 2, 1)
    found = cholesky3(np.moveaxis(matrices, 0, -1))
    assert np.allclose(np.moveaxis(found, -1, 0), np.linalg.cholesky(matrices), atol=1e-12)
    assert not cholesky3(np.zeros((3, 3, 2))).any()


def test_white_rows_have_unit_covariance_and_unread_numbers_vanish() -> None:
    value = np.zeros((6, 2))
    value[3:] = np.nan
    value[1, 1] = np.nan
    setup = Setup("day", None, (1.0, -2.0, 3.0))
    campaign = plan_of(1, {"experiment": [0, 0], "value": value}, setups=(setup,), instrument=Tracker(1e-5, 0.0, 4e-5))
    campaign = replace(campaign, readings=replace(campaign.readings, value=np.where(np.isnan(value), value, 2.0)))
    points = seen_points(ARM, campaign)
    own = reading_covariance(campaign, points=points)
    white = whitener(campaign, own)
    residual = np.where(np.isfinite(campaign.readings.value), 1e-5, np.nan)
    done = white(residual)
    cov = own.position
    full = residual[:3, 0] @ np.linalg.solve(cov[:, :, 0], residual[:3, 0])
    part = np.ix_([0, 2], [0, 2])
    rest = residual[[0, 2], 1] @ np.linalg.solve(cov[:, :, 1][part], residual[[0, 2], 1])
    assert (done[:, 0] ** 2).sum() == pytest.approx(full, rel=1e-10)
    assert (done[:, 1] ** 2).sum() == pytest.approx(rest, rel=1e-10)
    assert not done[3:].any()
    assert done[1, 1] == 0.0
    columns = np.stack([residual, 2.0 * residual])
    assert np.allclose(white(columns)[1], 2.0 * done, rtol=1e-12)


def test_a_reading_of_unknown_deviation_is_named() -> None:
    value = np.full((6, 2), np.nan)
    value[:3] = 1.0
    campaign = plan_of(1, {"experiment": [0, 0], "value": value})
    with pytest.raises(InputError, match=re.escape("row 2, column x: the standard deviation of a reading")):
        whitener(campaign, reading_covariance(campaign))


def test_what_shares_errors() -> None:
    rows = {"experiment": [0, 0, 0, 1, 1, 2], "setup": [0, 1, 0, 0, 0, 0], "visit": [-1, -1, -1, 0, 0, 0]}
    campaign = plan_of(3, rows, setups=(Setup("a"), Setup("b")), visits=1)
    groups = shared_groups(campaign)
    assert groups[0] == groups[2] != groups[1]
    assert groups[3] == groups[4] == groups[5]
    assert len(set(groups)) == 3


def moved(points: Floats, shifts: Floats, vectors: Floats) -> Floats:
    """Points (3, n) turned about their mean by rotation vectors (draws, 3), then shifted: (draws, 3, n)."""
    centre = points.mean(axis=1)
    angle = np.linalg.norm(vectors, axis=1)[:, None, None]
    axis = (vectors / angle[:, :, 0])[:, None, :]
    lever = (points.T - centre)[None]
    along = axis * (lever @ axis.swapaxes(1, 2))
    turned = along + np.cos(angle) * (lever - along) + np.sin(angle) * np.cross(axis, lever)
    return np.asarray((centre + turned + shifts[:, None, :]).swapaxes(1, 2))


def test_shared_errors_of_one_visit_seen_from_two_stations() -> None:
    setups = (Setup("a", TILTED), Setup("b", Placement((0.0, 0.0, 1.0), (0.0, 1.1, 0.2))))
    rows = {"experiment": [0] * 4, "marker": [0, 1, 2, 0], "setup": [0, 0, 0, 1], "visit": [0] * 4}
    campaign = plan_of(1, rows, setups=setups, visits=1, shared=SharedError(4e-5, 3e-4))
    points = seen_points(ARM, campaign)
    noise = noise_of(resolve_references(campaign), points, Isotropic(1e-5, 1e-5))
    random = np.random.default_rng(8)
    worlds = moved(points.world, 4e-5 * random.standard_normal((DRAWS, 3)), 3e-4 * random.standard_normal((DRAWS, 3)))
    frames = [Rigid.of(setups[k].placement or Placement()) for k in rows["setup"]]
    seen = np.stack([frame.apply(worlds[:, :, i].T).T for i, frame in enumerate(frames)], axis=2)
    drawn = seen.reshape(DRAWS, 12).T + 1e-5 * random.standard_normal((12, DRAWS))
    assert_same_covariance(sample_covariance(drawn), noise.dense()[:3, :, :3].reshape(12, 12))


def referring_plan(**more: Any) -> Campaign:
    """e1 unloaded; e2 and e3 loaded, both subtract it; two markers, a row of e1 that nobody subtracts."""
    rows = {
        "experiment": [0, 0, 0, 1, 1, 2, 2],
        "marker": [0, 1, 2, 0, 1, 0, 1],
        "reference": [-1, -1, -1, 0, 0, 0, 0],
    }
    setup = Setup("day", None, (3.0, 0.5, 0.2))
    return plan_of(3, rows, loaded=(False, True, True), setups=(setup,), **more)


def test_references_are_subtracted() -> None:
    campaign = referring_plan()
    value = np.full((6, 7), np.nan)
    value[:3] = np.random.default_rng(4).normal(size=(3, 7))
    campaign = replace(campaign, readings=replace(campaign.readings, value=value))
    assert unloaded_rows(campaign).tolist() == [-1, -1, -1, 0, 1, 0, 1]
    done = resolve_references(campaign)
    assert done.campaign.kind("deflection").tolist() == [False] * 3 + [True] * 4
    assert np.array_equal(done.campaign.readings.value[:3, 3:], value[:3, [3, 4, 5, 6]] - value[:3, [0, 1, 0, 1]])
    assert np.array_equal(done.campaign.readings.value[:3, :3], value[:3, :3])
    only = resolve_references(campaign, keep_unloaded=False)
    assert only.origin.tolist() == [2, 3, 4, 5, 6]
    assert only.campaign.readings.row.tolist() == [4, 5, 6, 7, 8]
    assert only.subtracted.tolist() == [-1, 0, 1, 0, 1]


def test_a_reference_of_poses_gives_the_small_rotation() -> None:
    rows = {"experiment": [0, 1], "marker": [0, 0], "reference": [-1, 0]}
    before, small = np.array([0.4, -1.3, 2.0]), np.array([1e-4, -3e-4, 2e-4])
    after = vector_from_rotation(rotation_from_vector(small) @ rotation_from_vector(before))
    value = np.zeros((6, 2))
    value[3:] = np.stack([before, after], axis=1)
    done = resolve_references(plan_of(2, rows | {"value": value}, kind="pose"))
    assert np.allclose(done.campaign.readings.value[3:, 1], small, atol=1e-15)


def test_a_reference_without_its_reading_is_refused() -> None:
    campaign = plan_of(2, {"experiment": [0, 1], "marker": [1, 0], "reference": [-1, 0]})
    with pytest.raises(InputError, match="no reading of the same marker"):
        resolve_references(campaign)


def test_rows_that_subtract_one_reading_are_correlated() -> None:
    tracker = Tracker(2e-5, 1e-6, 1e-5)
    campaign = referring_plan(instrument=tracker)
    points = seen_points(ARM, campaign)
    random = np.random.default_rng(21)
    single = reading_covariance(campaign, points=points).position
    error = np.stack([random.multivariate_normal(np.zeros(3), single[:, :, i], DRAWS).T for i in range(7)], axis=1)
    drawn = (error[:, [3, 4, 5, 6]] - error[:, [0, 1, 0, 1]]).reshape(12, DRAWS)
    noise = noise_of(resolve_references(campaign, keep_unloaded=False), points)
    stated = noise.dense()[:3, 1:, :3, 1:].reshape(12, 12)
    assert_same_covariance(sample_covariance(drawn), stated)
    assert np.allclose(stated[0, 0], single[0, 0, 3] + single[0, 0, 0])
    assert np.allclose(stated[0, 2], single[0, 0, 0])


def test_a_reference_carries_the_shared_errors_of_both_stops() -> None:
    campaign = referring_plan(instrument=Isotropic(1e-5), shared=SharedError(5e-5, 2e-4))
    points = seen_points(ARM, campaign)
    random = np.random.default_rng(22)
    stops = (slice(0, 3), slice(3, 5), slice(5, 7))
    errors = np.empty((DRAWS, 3, 7))
    for stop in stops:
        shifts, turns = 5e-5 * random.standard_normal((DRAWS, 3)), 2e-4 * random.standard_normal((DRAWS, 3))
        errors[:, :, stop] = moved(points.world[:, stop], shifts, turns) - points.world[:, stop]
    errors += 1e-5 * random.standard_normal(errors.shape)
    drawn = (errors[:, :, [3, 4, 5, 6]] - errors[:, :, [0, 1, 0, 1]]).reshape(DRAWS, 12).T
    noise = noise_of(resolve_references(campaign, keep_unloaded=False), points)
    assert_same_covariance(sample_covariance(drawn), noise.dense()[:3, 1:, :3, 1:].reshape(12, 12))


def test_shared_errors_of_one_and_the_same_stop_cancel() -> None:
    rows = {"experiment": [0, 1], "marker": [0, 0], "reference": [-1, 0], "visit": [0, 0]}
    campaign = plan_of(2, rows, loaded=(False, True), visits=1, shared=SharedError(5e-5, 0.0))
    campaign = replace(campaign, instrument=Isotropic(1e-5))
    noise = noise_of(resolve_references(campaign), seen_points(ARM, campaign))
    assert np.allclose(noise.dense()[:3, 1, :3, 1], 2e-10 * np.eye(3), atol=1e-22)


def test_white_shared_columns_are_those_of_the_white_rows() -> None:
    campaign = plan_of(1, {"experiment": [0, 0, 0]}, shared=SharedError(5e-5, 2e-4), instrument=Isotropic(2e-5))
    value = np.full((6, 3), np.nan)
    value[:3] = 1.0
    campaign = replace(campaign, readings=replace(campaign.readings, value=value))
    noise = noise_of(resolve_references(campaign), seen_points(ARM, campaign))
    white = whitener(campaign, noise.own)
    for effect in noise.shared:
        seen = white.shared(effect)
        assert np.allclose(seen.columns[:, :3], effect.columns[:, :3] / 2e-5, rtol=1e-12)
        assert not seen.columns[:, 3:].any()


def test_the_published_table_is_that_of_deflections() -> None:
    names = tuple(f"e{k + 1}" for k in range(15))
    campaign = plan_of(15, {"experiment": np.arange(15)}, kind="deflection")
    found = reading_covariance(campaign, published_noise(names)).position
    deviations = 1e6 * np.sqrt(found[np.arange(3), np.arange(3)])
    assert np.allclose(deviations[:, 0], (150.0, 64.0, 33.0))
    assert np.allclose(deviations[:, 14], (90.0, 52.0, 50.0))
    assert (round(deviations.min()), round(deviations.max())) == (17, 153)
    with pytest.raises(InputError, match="15 experiments"):
        published_noise([*names, "e16"])


def test_the_published_table_is_used_by_its_name(tmp_path: Path) -> None:
    rows = "".join(f"e{k},{k},deflection,1\n" for k in range(15))
    path = tmp_path / "day.campaign.csv"
    path.write_text(f"experiment,q.A1[deg],observation,x[mm]\n{rows}", encoding="utf-8")
    settings = 'format = "stiffarm-campaign/1"\n[instrument]\ntype = "table"\ntable = "paper-003"\n'
    beside = tmp_path / "day.campaign.toml"
    beside.write_text(settings, encoding="utf-8")
    found = reading_covariance(read_campaign(path)).position
    assert 1e6 * np.sqrt(found[0, 0]) == pytest.approx(DEFLECTION_SIGMA_UM["paper-003"][:, 0])
    path.write_text(path.read_text(encoding="utf-8") + "e15,1,deflection,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"day.campaign.toml, instrument.table: .*found: 16; allowed: 15 experiments"):
        read_campaign(path)
    beside.write_text(settings.replace("003", "004"), encoding="utf-8")
    with pytest.raises(InputError, match=r"row 4, column instrument.table: .*'paper-004'; allowed: paper-003.*Did you"):
        read_campaign(path)
