"""The packaged robots: they read, they stand where their makers say, and what we chose is marked."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import pytest
from numpy.typing import NDArray

from identify_scenarios import TABLE_2_DEG
from stiffarm.model.chain import build_chain
from stiffarm.model.kernel import frames, world_point
from stiffarm.robot.arm import Robot, Spring
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

PROMISED = {
    "kr270", "kr500-rail", "kr500-rail-literal", "kr120", "kr60", "ur5", "ur10", "irb120", "iiwa7", "r2000ic-165f",
    "panda",
}  # fmt: skip

# Flange position (mm) at controller values (deg), added up by hand from the dimensions of the data sheets.
STANDS = {
    "kr270": [((0, 0, 0, 0, 0, 0), (2930, 0, 695)), ((90, 0, 0, 0, 0, 0), (0, -2930, 695))],
    "kr120": [((0, 0, 0, 0, 0, 0), (2715, 0, 634)), ((0, -90, 90, 0, 0, 0), (1565, 0, 1784))],
    "kr60": [((0, 0, 0, 0, 0, 0), (2190, 0, 960)), ((0, -90, 90, 0, 0, 0), (1340, 0, 1810))],
    "kr210-r2700": [((0, 0, 0, 0, 0, 0), (2915, 0, 634)), ((0, -90, 90, 0, 90, 0), (1550, 0, 1569))],
    "iiwa7": [
        ((0, 0, 0, 0, 0, 0, 0), (0, 0, 1266)),
        ((0, 90, 0, 0, 0, 0, 0), (926, 0, 340)),
        ((0, 0, 0, 90, 0, 0, 0), (-526, 0, 740)),
    ],
    "r2000ic-165f": [
        ((0, 0, 0, 0, 0, 0), (1807, 0, 1300)),
        # the controller counts J3 from the horizontal: J2 carries the forearm without tilting it
        ((0, 30, 0, 0, 0, 0), (1807 + 1075 / 2, 0, 1075 * math.sqrt(3) / 2 + 225)),
        ((0, 0, 90, 0, 0, 0), (312 - 225, 0, 1075 + 1495)),
    ],
    "irb120": [((0, 0, 0, 0, 0, 0), (374, 0, 630)), ((0, 90, 0, 0, 0, 0), (340, 0, -84))],
    "irb6700-235": [((0, 0, 0, 0, 0, 0), (1702.5, 0, 2115)), ((90, 0, 0, 0, 0, 0), (0, 1702.5, 2115))],
    "panda": [
        ((0, 0, 0, 0, 0, 0, 0), (88, 0, 926)),
        ((0, -45, 0, -135, 0, 90, 45), (306.891, 0, 590.282)),
    ],
    "ur5": [((0, 0, 0, 0, 0, 0), (-817.25, -191.45, -5.491)), ((0, -90, 0, -90, 0, 0), (0, -191.45, 1001.059))],
    "ur10": [((0, 0, 0, 0, 0, 0), (-1184.3, -256.141, 11.6))],
    "ur5e": [((0, 0, 0, 0, 0, 0), (-817.2, -232.9, 62.8))],
    "ur10e": [((0, 0, 0, 0, 0, 0), (-1184.25, -290.7, 60.85))],
}

# Denavit-Hartenberg rows (a, d in mm; alpha in quarter turns) as Universal Robots publishes them.
UR_DH = {
    "ur5": ((0, 89.159, 1), (-425, 0, 0), (-392.25, 0, 0), (0, 109.15, 1), (0, 94.65, -1), (0, 82.3, 0)),
    "ur10": ((0, 127.3, 1), (-612, 0, 0), (-572.3, 0, 0), (0, 163.941, 1), (0, 115.7, -1), (0, 92.2, 0)),
    "ur5e": ((0, 162.5, 1), (-425, 0, 0), (-392.2, 0, 0), (0, 133.3, 1), (0, 99.7, -1), (0, 99.6, 0)),
    "ur10e": ((0, 180.7, 1), (-612.7, 0, 0), (-571.55, 0, 0), (0, 174.15, 1), (0, 119.85, -1), (0, 116.55, 0)),
}


def flange_m(robot: Robot, q: Floats) -> Floats:
    """World positions (3, n) of the flange at controller values (joints, n)."""
    chain = build_chain(robot)
    return world_point(frames(chain, q), chain.points["flange"]).xyz


def test_every_promised_robot_is_packaged() -> None:
    assert set(packaged_robots()) >= PROMISED


@pytest.mark.parametrize("name", packaged_robots())
def test_reads_without_a_warning_and_says_where_it_comes_from(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = read_robot(name)
    assert robot.controller.brand
    assert robot.controller.absolute_accuracy == "unknown"
    assert any(note.startswith("Geometry") for note in robot.notes)
    assert all(note == note.strip() and note.endswith(".") for note in robot.notes)


@pytest.mark.parametrize("name", packaged_robots())
def test_every_joint_has_limits_it_can_move_between(name: str) -> None:
    for joint in read_robot(name).joints:
        assert joint.limits is not None
        low, high = joint.limits
        assert 1.0 < high - low <= (14.0 if joint.kind == "prismatic" else 4.5 * math.pi)


@pytest.mark.parametrize("name", packaged_robots())
def test_every_kind_of_number_is_accounted_for_in_the_notes(name: str) -> None:
    robot = read_robot(name)
    notes = " ".join(robot.notes).lower()
    for note in robot.notes:
        assert ("chosen by us" in note) == note.startswith("not found in a public source: ")
    assert "limits" in notes
    # given or left out, stiffness and weight never pass in silence
    assert "compliances" in notes
    if any(joint.mass for joint in robot.joints):
        assert "masses" in notes
    if robot.tool.markers or robot.tool.load_points:
        assert re.search(r"not found in a public source: load point and markers; chosen by us", notes)
    if robot.compensators:
        assert re.search(r"not found in a public source: spring stiffness and free length", notes)


def test_kr270_marks_what_no_paper_gives() -> None:
    marks = [note for note in read_robot("kr270").notes if note.startswith("not found in a public source: ")]
    for value in ("compliance of A1", "spring stiffness", "masses and centres of mass", "load point and markers"):
        assert any(value in mark for mark in marks)


@pytest.mark.parametrize("name", sorted(STANDS))
def test_flange_stands_where_the_data_sheet_puts_it(name: str) -> None:
    robot = read_robot(name)
    for degrees, expected_mm in STANDS[name]:
        found = flange_m(robot, np.radians(np.array(degrees, dtype=float))[:, None])[:, 0]
        np.testing.assert_allclose(found * 1e3, expected_mm, atol=1e-3)


def test_every_packaged_robot_has_its_place_checked() -> None:
    assert set(packaged_robots()) == set(STANDS) | {"kr500-rail", "kr500-rail-literal"}


@pytest.mark.parametrize("name", sorted(UR_DH))
def test_universal_robots_equal_the_published_dh_table(name: str) -> None:
    q = np.random.default_rng(7).uniform(-math.pi, math.pi, (6, 20))
    expected = np.empty_like(q[:3])
    for i, values in enumerate(q.T):
        pose = np.eye(4)
        for theta, (a, d, quarters) in zip(values, UR_DH[name], strict=True):
            c, s, ca, sa = math.cos(theta), math.sin(theta), (1.0, 0.0)[abs(quarters)], float(quarters)
            pose = pose @ np.array(
                [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
            )
        expected[:, i] = pose[:3, 3] / 1e3
    np.testing.assert_allclose(flange_m(read_robot(name), q), expected, atol=1e-9)


@pytest.mark.parametrize("name", ["kr120", "kr60", "kr210-r2700", "r2000ic-165f", "irb120", "irb6700-235"])
def test_z_of_the_flange_leaves_it(name: str) -> None:
    chain = build_chain(read_robot(name))
    at = frames(chain, np.zeros((chain.n_joints, 1)))
    world_from_flange = at.rotation[-1][:, :, 0].T @ chain.flange.rotation
    np.testing.assert_allclose(world_from_flange[:, 2], (1.0, 0.0, 0.0), atol=1e-12)


@pytest.mark.parametrize(
    ("name", "expected_m"),
    [
        ("kr500-rail", (1.941286, 8.048745, 3.537885)),
        ("kr500-rail-literal", (3.240228, 7.819707, 1.368394)),
    ],
)
def test_kr500_stands_at_the_test_pose_of_its_paper(name: str, expected_m: tuple[float, ...]) -> None:
    q = np.array([8.5, *np.radians([-10.0, 35.0, 39.0, 81.0, 22.0, -10.0])])[:, None]
    np.testing.assert_allclose(flange_m(read_robot(name), q)[:, 0], expected_m, atol=1e-6)


@pytest.mark.parametrize("name", ["kr500-rail", "kr500-rail-literal"])
def test_kr500_compliances_are_the_reciprocals_of_the_published_stiffnesses(name: str) -> None:
    compliances = [joint.compliance for joint in read_robot(name).joints]
    np.testing.assert_allclose(
        1.0 / np.array(compliances, dtype=float), [8e7, 3.8e6, 6.6e6, 3.9e6, 5.6e5, 6.6e5, 4.7e5], rtol=1e-11
    )


def test_kr270_reaches_every_published_configuration() -> None:
    for joint, values in zip(read_robot("kr270").joints, np.radians(TABLE_2_DEG).T, strict=True):
        assert joint.limits is not None
        assert joint.limits[0] <= values.min()
        assert values.max() <= joint.limits[1]


def test_kr270_spring_is_one_that_can_be_built() -> None:
    """In tension over the whole range of A2, against the weight of the arm, at most 10 kN m."""
    robot = read_robot("kr270")
    (compensator,) = robot.compensators
    assert isinstance(compensator.element, Spring)
    limits = robot.joints[robot.joint_index("A2")].limits
    assert limits is not None
    q = np.linspace(*limits, 500)
    a, lever, beta = compensator.a, compensator.L, compensator.alpha - q
    length = np.sqrt(a**2 + lever**2 + 2 * a * lever * np.cos(beta))
    force = compensator.element.stiffness * (length - compensator.element.s0)
    torque = -force * a * lever * np.sin(beta) / length  # on A2: minus the derivative of the spring's energy
    assert force.min() > 0.0
    assert 5e3 < np.abs(torque).max() < 10e3
    assert torque[-1] == pytest.approx(-np.abs(torque).max())  # arm stretched out: it is lifted (A2 turns downwards)


def test_kr270_template_frames_are_aligned_with_the_arm() -> None:
    """In the zero pose x is vertical in links 0, 1 and 3 and along the arm in the others."""
    robot = read_robot("kr270")
    assert [link.after for link in robot.links] == ["base", *robot.joint_names]
    vertical = [abs(math.sin(link.rpy[1])) for link in robot.links]
    np.testing.assert_allclose(vertical, [1, 1, 0, 1, 0, 0, 0], atol=1e-12)
    assert all(link.template == "beam" and link.compliance is None for link in robot.links)
