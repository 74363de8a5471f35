"""Clearances against sampled segments, kinematics by hand, and central differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plan_problems import CABLE, random_stops
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.plan.candidates import feasible_stops, sobol_stops
from stiffarm.plan.clearance import (
    Clearance,
    cable_clearance,
    cell_clearance,
    self_clearance,
    sight_clearance,
)
from stiffarm.plan.constraints import kept
from stiffarm.plan.distances import Apart, between_segments, to_box
from stiffarm.plan.problem import Floats, Stops
from stiffarm.plan.solids import Box, Cell, Rod, arm_rods, place
from stiffarm.plan.variables import Space
from stiffarm.robot.arm import Capsule
from stiffarm.robot.placement import Rigid, base_transform, chain_transforms, flange_transform, rotation_from_rpy
from stiffarm.robot.placement import rotation_from_vector as turned
from stiffarm.robot.reading import read_robot

CAPSULES = (
    Capsule("base", 0.2), Capsule("A1", 0.25), Capsule("A2", 0.18), Capsule("A3", 0.16), Capsule("A4", 0.2),
    Capsule("A5", 0.1), Capsule("A6", 0.12), Capsule("flange", 0.06, (0.0, 0.0, 0.1), (0.3, 0.1, -0.1)),
)  # fmt: skip
STATION = (5.0, 1.0, 1.0)
CELL = Cell(
    (Rod("column", 0, (1.4, -1.2, 0.0), (1.4, -1.2, 2.0), 0.15),),
    (Box("table", Rigid(rotation_from_rpy((0.1, 0.0, 0.4)), np.array([1.5, 0.9, 0.4])), (0.4, 0.3, 0.4)),),
)


def arm_with(capsules: tuple[Capsule, ...] = CAPSULES, name: str = "kr500-rail") -> Arm:
    robot = read_robot(name)
    known = {"base", "flange", *robot.joint_names}
    return ArmModel.of(replace(robot, capsules=tuple(c for c in capsules if c.on in known))).at()


def ranges(arm: Arm) -> tuple[Floats, Floats]:
    low, high = np.array([joint.limits for joint in arm.robot.joints]).T
    return low, high


def segments(count: int, seed: int) -> tuple[Floats, ...]:
    """(3, n) ends; some segments parallel, some without length."""
    random = np.random.default_rng(seed)
    a, b, c, d = random.uniform(-1.0, 1.0, (4, 3, count))
    d[:, : count // 6] = c[:, : count // 6] + 1.3 * (b - a)[:, : count // 6]
    b[:, count // 6 : count // 4] = a[:, count // 6 : count // 4]
    d[:, count // 5 : count // 3] = c[:, count // 5 : count // 3]
    return a, b, c, d


def sampled(start: Floats, end: Floats, points: int) -> Floats:
    """(3, points, n)"""
    t = np.linspace(0.0, 1.0, points)[:, None]
    return np.asarray(start[:, None] + t * (end - start)[:, None])


def test_segments_are_as_far_apart_as_their_nearest_samples() -> None:
    a, b, c, d = segments(120, 1)
    found = between_segments(a, b, c, d).value
    points, others = sampled(a, b, 81), sampled(c, d, 81)
    brute = np.sqrt(((points[:, :, None] - others[:, None]) ** 2).sum(axis=0)).min(axis=(0, 1))
    assert (found <= brute + 1e-12).all()
    spacing = (np.linalg.norm(b - a, axis=0) + np.linalg.norm(d - c, axis=0)) / 160.0
    assert (brute - found <= spacing + 1e-12).all()


def test_boxes_are_as_far_as_their_nearest_samples() -> None:
    a, b, _, _ = segments(200, 2)
    half = np.array([0.5, 0.3, 0.2])
    found = to_box(a, b, half).value
    points = sampled(a, b, 2001)
    over = np.abs(points) - half[:, None, None]
    brute = np.where((over <= 0.0).all(axis=0), over.max(axis=0), np.linalg.norm(np.maximum(over, 0.0), axis=0))
    brute = brute.min(axis=0)
    assert (found <= brute + 1e-9).all()
    assert (brute - found <= np.linalg.norm(b - a, axis=0) / 4000.0 + 1e-9).all()
    assert (found < -0.05).any()
    assert (found > 0.5).any()


@pytest.mark.parametrize("kind", ["segments", "box"])
def test_distances_change_as_differences_say(kind: str) -> None:
    a, b, c, d = segments(60, 3)
    half = np.array([0.5, 0.3, 0.2])

    def apart(a: Floats, b: Floats, c: Floats, d: Floats) -> Apart:
        return between_segments(a, b, c, d) if kind == "segments" else to_box(a, b, half)

    found, h = apart(a, b, c, d), 1e-6
    slopes = (found.by_start, found.by_end, found.by_other_start, found.by_other_end)
    general = slice(20, None)  # the nearest points of parallel segments jump
    for place_, slope in enumerate(slopes):
        for k in range(3):
            step = np.zeros((4, 3, 1))
            step[place_, k] = h
            ahead, behind = (apart(*(x + s * y for x, y in zip((a, b, c, d), step, strict=True))) for s in (1, -1))
            numeric = (ahead.value - behind.value) / (2 * h)
            np.testing.assert_allclose(numeric[general], slope[k][general], atol=2e-5 if kind == "box" else 1e-6)


def by_hand(arm: Arm, q: Floats) -> dict[str, Rigid]:
    """World frames after every joint's motion, of the base and of the flange, from the robot file alone."""
    robot = arm.robot
    frame = base_transform(robot)
    out = {"base": Rigid.identity()}
    for name, joint, value in zip(robot.joint_names, chain_transforms(robot), q, strict=True):
        motion = (
            Rigid(np.eye(3), value * joint.axis) if joint.prismatic else Rigid(turned(value * joint.axis), np.zeros(3))
        )
        frame = frame @ joint.fixed @ motion
        out[name] = frame
    out["flange"] = frame @ flange_transform(robot)
    return out


def test_the_arms_capsules_are_where_kinematics_by_hand_has_them() -> None:
    arm = arm_with()
    low, high = ranges(arm)
    q = low + 0.37 * (high - low)
    at, robot = by_hand(arm, q), arm.robot
    rods = {rod.name: rod for rod in arm_rods(arm)}
    placed = {
        name: place(arm, Stops(q[:, None]), [rod.start, rod.end], derivatives=False).xyz[:, :, 0]
        for name, rod in rods.items()
    }
    following = {"base": robot.joint_names[0], **dict(zip(robot.joint_names, robot.joint_names[1:], strict=False))}
    for name in ("A1", "A2", "A3", "A4", "A5"):
        np.testing.assert_allclose(placed[name][0], at[name].translation, atol=1e-12)
        np.testing.assert_allclose(placed[name][1], at[following[name]].translation, atol=1e-12)
    np.testing.assert_allclose(placed["A6"][1], at["flange"].translation, atol=1e-12)
    np.testing.assert_allclose(placed["base"][0], base_transform(robot).translation, atol=1e-12)
    ends = [at["flange"].apply(np.array(end)) for end in (CAPSULES[-1].start, CAPSULES[-1].end)]
    np.testing.assert_allclose(placed["flange"], ends, atol=1e-12)


def test_a_capsule_may_stand_anywhere_on_its_body() -> None:
    on = Capsule("J3", 0.1, (0.1, 0.2, 0.3), (0.4, -0.1, 0.2))
    arm = arm_with((on,), "r2000ic-165f")
    q = np.linspace(-0.7, 0.8, 6)
    (rod,) = arm_rods(arm)
    found = place(arm, Stops(q[:, None]), [rod.start, rod.end], derivatives=False).xyz[:, :, 0]
    frame = by_hand(arm, np.asarray(arm.chain.mix @ q))["J3"]
    np.testing.assert_allclose(found, [frame.apply(np.array(on.start)), frame.apply(np.array(on.end))], atol=1e-12)


def constraints(arm: Arm) -> dict[str, Clearance]:
    found = {
        "self": self_clearance(arm, *ranges(arm), 0.01),
        "cell": cell_clearance(arm, CELL, 0.02),
        "cable": cable_clearance(arm, "hook", CELL),
        "sight": sight_clearance(arm, ("P1", "P2"), STATION, CELL, 0.01),
    }
    assert all(c is not None for c in found.values())
    return found  # type: ignore[return-value]


def test_neighbours_and_bodies_that_always_touch_are_left_out() -> None:
    arm = arm_with()
    found = constraints(arm)["self"]
    names = {frozenset((found.rods[i].name, found.rods[j].name)) for i, j in found.pairs}
    assert frozenset(("A1", "A3")) in names
    assert frozenset(("A2", "flange")) in names
    assert frozenset(("A2", "A3")) not in names
    assert frozenset(("A6", "flange")) not in names
    assert frozenset(("A4", "A6")) not in names  # their axes meet
    cable = constraints(arm)["cable"]
    met = {cable.words(i) for i in range(len(cable))}
    assert {"cable and A3", "cable and column", "cable and table"} <= met
    assert "cable and A5" not in met  # the hook is always as near to it
    assert "cable and flange" not in met
    assert self_clearance(arm_with(()), *ranges(arm)) is None
    assert cell_clearance(arm_with(()), CELL) is None
    assert cell_clearance(arm, Cell()) is None


@pytest.mark.parametrize("which", ["self", "cell", "cable", "sight"])
def test_margins_change_as_differences_say(which: str) -> None:
    arm = arm_with()
    constraint, h = constraints(arm)[which], 1e-6
    space = Space(*ranges(arm), CABLE, np.zeros(7, dtype=bool))
    stops = random_stops(space, 40, 4)
    found = constraint.derivatives(stops)
    assert found.value.shape == (min(4, len(constraint)), 40)
    np.testing.assert_array_equal(found.value, constraint.margins(stops))
    assert stops.aim is not None
    for j in range(7):
        step = h * np.eye(7)[j][:, None]
        ahead, behind = (constraint.margins(Stops(stops.q + s, stops.aim)) for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), found.by_q[:, j], atol=1e-5)
    for k in range(3):
        step = h * np.eye(3)[k][:, None]
        ahead, behind = (constraint.margins(Stops(stops.q, stops.aim + s)) for s in (step, -step))
        np.testing.assert_allclose((ahead - behind) / (2 * h), found.by_aim[:, k], atol=1e-5)
    assert (np.abs(found.by_aim).max() > 0.1) == (which == "cable")


def test_margins_are_those_of_sampled_axes() -> None:
    arm = arm_with()
    constraint = constraints(arm)["self"]
    stops = random_stops(Space(*ranges(arm), CABLE, np.zeros(7, dtype=bool)), 12, 5)
    margins = constraint.all(stops)
    ends = [end for rod in constraint.rods for end in (rod.start, rod.end)]
    xyz = place(arm, stops, ends, derivatives=False).xyz
    for row, (i, j) in zip(margins, constraint.pairs, strict=True):
        points, others = (sampled(xyz[2 * k], xyz[2 * k + 1], 201) for k in (i, j))
        brute = np.sqrt(((points[:, :, None] - others[:, None]) ** 2).sum(axis=0)).min(axis=(0, 1))
        apart = brute - constraint.rods[i].radius_m - constraint.rods[j].radius_m - 0.01
        np.testing.assert_allclose(row, apart, atol=0.02)
        assert (row <= apart + 1e-12).all()


def test_a_box_in_the_world_is_met_where_it_stands() -> None:
    arm = arm_with((Capsule("flange", 0.05, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)),))
    (constraint,) = [cell_clearance(arm, Cell((), CELL.boxes))]
    assert constraint is not None
    stops = random_stops(Space(*ranges(arm), None, np.zeros(7, dtype=bool)), 30, 6)
    (box,) = CELL.boxes
    flange = place(arm, stops, [arm.chain.point("flange")], derivatives=False).xyz[0]
    local = box.frame.inverse().apply(flange)
    over = np.abs(local) - np.array(box.half_m)[:, None]
    expected = np.where((over <= 0).all(axis=0), over.max(axis=0), np.linalg.norm(np.maximum(over, 0), axis=0)) - 0.05
    np.testing.assert_allclose(constraint.margins(stops)[0], expected, atol=1e-9)
    assert constraint.words(0) == "flange and table"


def test_candidates_are_moved_until_they_touch_nothing() -> None:
    arm = arm_with()
    space = Space(*ranges(arm), CABLE, np.zeros(7, dtype=bool))
    needed = tuple(constraints(arm).values())
    held = np.zeros((7, 1))
    before = kept(needed, sobol_stops(space, 128, 3, held)).mean()
    stops, broken = feasible_stops(space, needed, 128, 3, held)
    assert kept(needed, stops).all()
    assert set(broken) == {"self-collision", "obstacles", "cable clearance", "hidden markers"}
    assert broken["self-collision"] > 0.05
    assert len(stops) / 128 > 3.0 * before
