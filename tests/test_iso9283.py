"""Figures of ISO 9283 against examples worked out by hand, and the standard's test poses from plan to figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.cli.main import main
from stiffarm.compensate.iso_cube import CORNERS, NAMES, IsoCube, iso_campaign, iso_cube, read_within
from stiffarm.compensate.wishing import tool_of
from stiffarm.errors import InputError
from stiffarm.identify.api import identify
from stiffarm.identify.iso9283 import iso9283
from stiffarm.identify.model_file import write_estimate
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.virtual import simulate
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.reaching import joint_ranges
from stiffarm.model.rotations import matrix_of
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot
from virtual_plans import MODEL, ROBOT, plan_of

Array = NDArray[np.float64]
MM, MRAD = 1e-3, 1e-3


def read(attained: Array, expected: Array, turns: Array | None = None) -> tuple[Campaign, Array]:
    """Readings (poses, repeats, 3) of one marker, and their errors; ``turns`` likewise are rotation vectors."""
    poses, repeats, _ = attained.shape
    row = np.arange(poses * repeats)
    value, error = np.full((6, len(row)), np.nan), np.full((6, len(row)), np.nan)
    value[:3] = attained.reshape(-1, 3).T
    error[:3] = (attained - expected[:, None]).reshape(-1, 3).T
    if turns is not None:
        value[3:] = turns.reshape(-1, 3).T
    columns = {"experiment": row // repeats, "repeat": row % repeats + 1, "marker": 0 * row, "value": value}
    return plan_of(poses, columns, kind="position" if turns is None else "pose"), error


def test_pose_accuracy_and_repeatability_by_hand() -> None:
    # pose 1: x 100.1 and 100.3 where 100 is expected: barycentre 0.2 off, both 0.1 from it, S = 0
    # pose 2: x 0, 0, 3 where (-1, 0, 2) is expected: barycentre 1, l = 1, 1, 2, S = sqrt(1/3)
    first = np.array([[[100.1, 0, 0], [100.3, 0, 0]]]) * MM
    found = iso9283(*read(first, np.array([[100.0, 0, 0]]) * MM))
    assert found is not None
    assert found.poses[0].ap_m == pytest.approx(0.2 * MM)
    assert found.poses[0].rp_m == pytest.approx(0.1 * MM)
    second = np.array([[[0.0, 0, 0], [0, 0, 0], [3, 0, 0]]]) * MM
    campaign, error = read(second, np.array([[-1.0, 0, 2]]) * MM)
    found = iso9283(campaign, error, error + np.array([[1.0], [0], [0], [0], [0], [0]]) * MM)
    assert found is not None
    pose = found.poses[0]
    assert pose.ap_m == pytest.approx(np.sqrt(8.0) * MM)
    assert pose.rp_m == pytest.approx((4.0 / 3.0 + 3.0 * np.sqrt(1.0 / 3.0)) * MM)
    assert pose.rp_m == pytest.approx(3.065384 * MM, rel=1e-6)
    assert pose.nominal_ap_m == pytest.approx(np.sqrt(9.0 + 4.0) * MM)
    assert found.nominal_ap_m == pose.nominal_ap_m
    assert found.fewest == 3


def test_orientation_by_hand() -> None:
    # errors about x of 1 and 3 mrad: AP 2, s = sqrt(2), RP 3 sqrt(2)
    turns = np.zeros((1, 2, 3))
    campaign, error = read(np.zeros((1, 2, 3)), np.zeros((1, 3)), turns)
    error[3:] = np.array([[1.0, 3.0], [0.5, 0.5], [0.0, -0.2]]) * MRAD
    found = iso9283(campaign, error)
    assert found is not None
    assert found.ap_rad == pytest.approx(2.0 * MRAD)
    assert found.rp_rad == pytest.approx(4.242641 * MRAD, rel=1e-6)


def test_distance_accuracy_and_repeatability_by_hand() -> None:
    # D = 100.2 and 100.0 where 100 is expected: AD + 0.1, S = 0.1 sqrt(2), RD 0.424264
    attained = np.array([[[0.0, 0, 0], [0.1, 0, 0]], [[100.2, 0, 0], [100.1, 0, 0]]]) * MM
    expected = np.array([[0.0, 0, 0], [100.0, 0, 0]]) * MM
    campaign, error = read(attained, expected)
    nominal = error.copy()
    nominal[0, 2:] += 0.5 * MM  # the nominal robot takes the second half a millimetre nearer
    found = iso9283(campaign, error, nominal)
    assert found is not None
    (distance,) = found.distances
    assert distance.experiments == ("e1", "e2")
    assert distance.n == 2
    assert distance.ad_m == pytest.approx(0.1 * MM)
    assert distance.rd_m == pytest.approx(0.424264 * MM, rel=1e-6)
    assert distance.nominal_ad_m == pytest.approx(0.6 * MM)
    assert found.ad_m == pytest.approx(0.1 * MM)
    # shorter than expected is negative
    shorter = iso9283(*read(attained, expected * 1.01))
    assert shorter is not None
    assert shorter.distances[0].ad_m == pytest.approx(-0.9 * MM)
    assert shorter.ad_m == pytest.approx(0.9 * MM)


def test_the_angle_between_two_orientations_by_hand() -> None:
    # about z: 0 and 1 mrad at the first, 500 and 503 at the second: 500 and 502 apart, 500 expected
    turns = np.zeros((2, 2, 3))
    turns[:, :, 2] = np.array([[0.0, 1.0], [500.0, 503.0]]) * MRAD
    campaign, error = read(np.zeros((2, 2, 3)), np.zeros((2, 3)), turns)
    error[3:] = 0.0
    error[5] = np.array([0.0, 1.0, 0.0, 3.0]) * MRAD
    found = iso9283(campaign, error)
    assert found is not None
    assert found.distances[0].ad_rad == pytest.approx(1.0 * MRAD, rel=1e-6)
    assert found.distances[0].rd_rad == pytest.approx(4.242641 * MRAD, rel=1e-6)


def test_distances_need_no_frame() -> None:
    random = np.random.default_rng(0)
    expected = random.normal(size=(4, 3))
    attained = expected[:, None] + 1e-3 * random.normal(size=(4, 5, 3))
    campaign, error = read(attained, expected)
    found = iso9283(campaign, error)
    assert found is not None
    assert len(found.distances) == 6
    turn = matrix_of(np.array([[0.3], [-1.0], [0.7]]))[:, :, 0].T
    moved, other = read(attained @ turn.T + 2.0, expected @ turn.T + 2.0)
    again = iso9283(moved, other)
    assert again is not None
    np.testing.assert_allclose([d.ad_m for d in again.distances], [d.ad_m for d in found.distances], atol=1e-14)
    # a frame that is wrong moves every pose and no distance
    shifted = error + np.array([[5e-3], [0], [0], [0], [0], [0]])
    wrong = iso9283(campaign, shifted)
    assert wrong is not None
    assert wrong.ap_m > 4e-3
    np.testing.assert_allclose([d.ad_m for d in wrong.distances], [d.ad_m for d in found.distances], atol=1e-14)


def test_repeats_are_paired_in_the_order_they_were_read() -> None:
    attained = np.array([[[0.0, 0, 0], [0.1, 0, 0]], [[100.0, 0, 0], [100.1, 0, 0]]]) * MM
    campaign, error = read(attained, np.array([[0.0, 0, 0], [100.0, 0, 0]]) * MM)
    straight = iso9283(campaign, error)
    readings = replace(campaign.readings, repeat=np.array([1, 2, 2, 1]))
    crossed = iso9283(replace(campaign, readings=readings), error)
    assert straight is not None
    assert crossed is not None
    assert straight.distances[0].rd_m == pytest.approx(0.0, abs=1e-12)
    assert crossed.distances[0].rd_m == pytest.approx(3 * np.sqrt(2) * 0.1 * MM)


@pytest.mark.parametrize("name", ["kr270", "ur5"])
def test_the_test_poses_lie_in_a_reached_cube(name: str) -> None:
    arm = ArmModel.of(read_robot(name)).at()
    cube = iso_cube(arm)
    assert cube.edge_m > 0.2
    place, axes = tool_of(arm, cube.q)
    np.testing.assert_allclose(place, cube.position_world, atol=1e-5)  # joints are rounded to 1e-4 deg
    assert (axes[2][2] < -0.999999).all()
    low, high = joint_ranges(arm)
    assert ((low <= cube.q.T) & (high >= cube.q.T)).all()
    p = cube.position_world - cube.middle_world[:, None]
    np.testing.assert_allclose(p, 0.4 * cube.edge_m * CORNERS.T, atol=1e-12)
    # a tenth of the diagonal from its ends, all in one plane, P2 and P4 opposite
    diagonal = np.sqrt(3.0) * cube.edge_m
    assert np.linalg.norm(p[:, 1] - p[:, 3]) == pytest.approx(0.8 * diagonal)
    assert np.linalg.matrix_rank(p, tol=1e-9) == 2


def test_a_cube_stays_where_it_may_be() -> None:
    arm = ArmModel.of(read_robot("kr270")).at()
    within = read_within("z=0.5..1.4,x=1.2..9[m]", arm.robot)
    cube = iso_cube(arm, within=within)
    assert 0.3 < cube.edge_m <= 0.9
    assert cube.middle_world[2] - cube.edge_m / 2 >= 0.5 - 1e-9
    assert cube.middle_world[2] + cube.edge_m / 2 <= 1.4 + 1e-9
    assert cube.middle_world[0] - cube.edge_m / 2 >= 1.2 - 1e-9
    with pytest.raises(InputError, match="no cube"):
        iso_cube(arm, within=read_within("z=9..10[m]", arm.robot))
    with pytest.raises(InputError, match="not limited by A1"):
        read_within("A1=0..1[rad]", arm.robot)


def test_a_cycle_visits_every_pose_once() -> None:
    robot = read_robot("kr270")
    cube = IsoCube(np.zeros(3), 1.0, np.zeros((3, 5)), np.zeros((6, 5)))
    plan = iso_campaign(robot, cube, 4)
    assert len(plan.readings) == 4 * 5 * 3
    assert [NAMES[i] for i in plan.readings.experiment[:15:3]] == ["P5", "P4", "P3", "P2", "P1"]
    assert np.unique(plan.readings.visit).size == 20
    assert (np.diff(plan.readings.sequence) >= 0).all()


def test_from_plan_to_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plan, read by an instrument off another arm, figures before and after: as it is typed."""
    monkeypatch.chdir(tmp_path)
    truth = {"A2.offset": 2e-3, "A3.offset": -1e-3, "A5.offset": 1e-3}
    asked = plan_of(20, {"experiment": np.repeat(np.arange(20), 3)})
    campaign = simulate(MODEL.at(truth), asked, seed=1, sigma_m=2e-5).campaign
    options = Options(geometry="offsets", elastic="none", estimator="wls", folds=3)
    write_estimate(identify(ROBOT, campaign, options), Path("m.model.json"))
    write_robot(ROBOT, "arm.robot.toml")
    capsys.readouterr()
    poses = ["--poses", "iso9283", "--cycles", "6", "--tool", "0,0,0[deg]"]
    assert main(["validate", "m.model.json", *poses, "-o", "iso.plan.csv", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert planned["order"] == ["P5", "P4", "P3", "P2", "P1"]
    assert planned["rows"] == 90
    assert main(["simulate", "arm.robot.toml", "iso.plan.csv", "--truth", "m.model.json", "--sigma", "0.02mm",
                 "--seed", "3", "-o", "iso.campaign.csv", "--quiet"]) == 0  # fmt: skip
    capsys.readouterr()
    assert main(["validate", "m.model.json", "iso.campaign.csv", "--json", "--quiet"]) == 0
    iso = json.loads(capsys.readouterr().out)["iso9283"]
    assert len(iso["poses"]) == 15
    assert len(iso["distances"]) == 30
    assert iso["repeats"] == 6
    assert iso["repeats_asked"] == 30
    assert 1e-5 < iso["RP[m]"] < 1.5e-4
    assert iso["AP[m]"] < 4e-5 < iso["nominal_AP[m]"]
    assert iso["AD[m]"] < 4e-5 < iso["nominal_AD[m]"]
    assert main(["validate", "m.model.json", "iso.campaign.csv", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "here as few as 6" in text
    assert "AP before" in text
    assert "AD before" in text
    table = text.partition("ISO 9283")[2]
    assert max(map(len, table.splitlines())) <= 80
