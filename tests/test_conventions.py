"""Frames in the words of controllers, against what each convention is defined as."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from chains import X, Y, Z, reference_fk, turn
from stiffarm.compensate import conventions as c
from stiffarm.robot.placement import Rigid, rotation_from_vector
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]
degrees = st.one_of(st.sampled_from([0.0, 90.0, -90.0, 180.0, 90.0 - 1e-9, 90.0 - 1e-6]), st.floats(-180.0, 180.0))
BRANDS = tuple(c.CONVENTIONS)


def about(axis: Floats, degree: float) -> Floats:
    return turn(axis, math.radians(degree))[:3, :3]


def defined(brand: str, numbers: tuple[float, ...]) -> Floats:
    """The rotation as the convention defines it, turn by turn."""
    if brand == "kuka":  # about z, then the turned y, then the turned x
        a, b, g = numbers
        r = about(Z, a)
        r = about(r @ Y, b) @ r
        return about(r @ X, g) @ r
    if brand == "fanuc":  # about the fixed x, then y, then z
        w, p, r_ = numbers
        return about(Z, r_) @ about(Y, p) @ about(X, w)
    if brand == "abb":
        angle = 2.0 * math.atan2(math.dist(numbers[1:], (0, 0, 0)), numbers[0])
        axis = np.array(numbers[1:])
        return np.eye(3) if np.linalg.norm(axis) == 0.0 else turn(axis / np.linalg.norm(axis), angle)[:3, :3]
    vector = np.array(numbers)
    angle = float(np.linalg.norm(vector))
    return np.eye(3) if angle == 0.0 else turn(vector / angle, angle)[:3, :3]


@given(st.tuples(degrees, degrees, degrees), st.tuples(*[st.floats(-4.0, 4.0)] * 3))
def test_every_convention_says_the_same_frame(angles: tuple[float, float, float], place: tuple[float, ...]) -> None:
    rotation = defined("kuka", angles)
    frame = Rigid(rotation, np.array(place))
    for brand in BRANDS:
        numbers = c.numbers_of(frame, brand)
        metre = 1.0 if brand == "ur" else 1e3
        assert np.abs(np.array(numbers[:3]) / metre - place).max() < 1e-12
        assert np.abs(defined(brand, numbers[3:]) - rotation).max() < 2e-14
        back = c.frame_of(numbers, brand)
        assert np.abs(back.rotation - rotation).max() < 2e-14
        assert np.abs(back.translation - place).max() < 1e-12


def test_angles_are_those_of_the_definition_where_they_are_unique() -> None:
    angles = (30.0, 40.0, 50.0)
    for brand in ("kuka", "fanuc"):
        assert c.numbers_of(Rigid(defined(brand, angles), np.zeros(3)), brand)[3:] == pytest.approx(angles)
    quarter = Rigid(about(Z, 90.0), np.zeros(3))
    assert c.numbers_of(quarter, "abb")[3:] == pytest.approx((math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)))
    assert c.numbers_of(quarter, "ur")[3:] == pytest.approx((0.0, 0.0, math.pi / 2))


def test_batches_are_the_single_frames_side_by_side() -> None:
    rng = np.random.default_rng(1)
    r = np.moveaxis(np.array([rotation_from_vector(v) for v in rng.normal(size=(20, 3))]), 0, -1)
    for there, back in (
        (c.kuka_from_matrix, c.matrix_from_kuka),
        (c.fanuc_from_matrix, c.matrix_from_fanuc),
        (c.quaternion_from_matrix, c.matrix_from_quaternion),
    ):
        together = there(r)
        assert np.array_equal(together, np.stack([there(r[..., i]) for i in range(20)], axis=-1))
        assert np.abs(back(together) - r).max() < 1e-14


@pytest.mark.parametrize(
    ("robot", "q_deg", "brand", "numbers"),
    [
        # stretched out along x, the controller's z out of the flange: tool 0 of KUKA stands at A 0, B 90, C 0
        ("kr270", (0, 0, 0, 0, 0, 0), "kuka", (350 + 1250 + 1100 + 230, 0, 695, 0, 90, 0)),
        # upper arm up, forearm along x
        ("kr270", (0, -90, 90, 0, 0, 0), "kuka", (350 + 1100 + 230, 0, 750 + 1250 - 55, 0, 90, 0)),
        # A1 turns about -z: +90 points to -y
        ("kr270", (90, -90, 90, 0, 0, 0), "kuka", (0, -1680, 1945, -90, 90, 0)),
        # zero pose of the published DH table: arm along -x, flange to -y, tool z to -y
        ("ur5", (0, 0, 0, 0, 0, 0), "ur", (-0.81725, -0.19145, -0.005491, math.pi / 2, 0, 0)),
    ],
)
def test_frames_of_robots_are_those_their_controllers_show(
    robot: str, q_deg: tuple[float, ...], brand: str, numbers: tuple[float, ...]
) -> None:
    of_file = read_robot(robot)
    pose = reference_fk(of_file, np.deg2rad(np.array(q_deg, dtype=float)))
    shown = Rigid(pose[:3, :3], pose[:3, 3]) @ Rigid.of(of_file.controller.tool0)
    wanted = c.frame_of(numbers, brand)
    assert np.abs(shown.translation - wanted.translation).max() < 1e-9
    assert np.abs(shown.rotation - wanted.rotation).max() < 1e-9
