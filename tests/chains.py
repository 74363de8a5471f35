"""Robots of every convention and their forward kinematics, written without the package's own transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from stiffarm.robot.arm import (
    AxisPlacement,
    BodyPoint,
    Convention,
    DenavitHartenberg,
    Joint,
    JointKind,
    Placement,
    Robot,
    Tool,
)

Matrix = NDArray[np.float64]
N_CONFIGURATIONS = 50
TOLERANCE = 1e-12


def turn(axis: Any, angle: float) -> Matrix:
    """4x4 rotation about a unit axis, by Rodrigues' formula."""
    u = np.asarray(axis, dtype=float)
    cross = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    out = np.eye(4)
    out[:3, :3] = np.cos(angle) * np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * np.outer(u, u)
    return out


def shift(vector: Any) -> Matrix:
    out = np.eye(4)
    out[:3, 3] = vector
    return out


X, Y, Z = np.eye(3)


def placed(placement: Placement) -> Matrix:
    roll, pitch, yaw = placement.rpy
    return shift(placement.xyz) @ turn(Z, yaw) @ turn(Y, pitch) @ turn(X, roll)


def one_joint(robot: Robot, joint: Joint, value: float) -> Matrix:
    g, moves = joint.geometry, joint.kind == "prismatic"
    value = joint.sign * value
    if isinstance(g, AxisPlacement):
        value += g.offset
        axis = np.array(g.axis) / np.linalg.norm(g.axis)
        return placed(g.origin) @ (shift(value * axis) if moves else turn(axis, value))
    along = turn(Z, g.theta + (0 if moves else value)) @ shift((g.d + (value if moves else 0)) * Z)
    across = turn(X, g.alpha) @ shift(g.a * X)
    return across @ along if robot.convention == "mdh" else along @ across


def reference_fk(robot: Robot, q: Matrix) -> Matrix:
    """Tool in the world."""
    pose = placed(robot.base)
    for joint, value in zip(robot.joints, q, strict=True):
        pose = pose @ one_joint(robot, joint, value)
    return pose @ placed(robot.flange) @ placed(robot.tool.placement)


def configurations(robot: Robot, seed: int) -> Matrix:
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (N_CONFIGURATIONS, len(robot.joints)))


def assert_same_poses(poses: list[Matrix], truth: list[Matrix]) -> None:
    assert np.abs(np.array(poses) - np.array(truth)).max() < TOLERANCE


angles = st.one_of(
    st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi, 1e-9, math.pi / 2 - 1e-9]),
    st.floats(-math.pi, math.pi, allow_subnormal=False),
)
lengths = st.one_of(st.just(0.0), st.floats(-2.0, 2.0, allow_subnormal=False))
vectors = st.tuples(lengths, lengths, lengths)
placements = st.builds(Placement, vectors, st.tuples(angles, angles, angles))
axes = st.one_of(
    st.sampled_from([(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0)]),
    st.tuples(*[st.floats(-1.0, 1.0, allow_subnormal=False)] * 3).filter(lambda v: math.hypot(*v) > 0.1),
)


@st.composite
def robots(draw: st.DrawFn) -> Robot:
    convention: Convention = draw(st.sampled_from(["dh", "mdh", "frames"]))
    joints = []
    for k in range(draw(st.integers(1, 8))):
        kind: JointKind = draw(st.sampled_from(["revolute", "revolute", "prismatic"]))
        if convention == "frames":
            geometry: Any = AxisPlacement(draw(placements), draw(axes), draw(angles))
        else:
            geometry = DenavitHartenberg(draw(angles), draw(lengths), draw(lengths), draw(angles))
        limits = (-3.0, 3.0) if kind == "prismatic" else draw(st.sampled_from([None, (-3.0, 3.0)]))
        joints.append(Joint(f"J{k}", kind, geometry, draw(st.sampled_from([1, -1])), limits))
    return Robot(
        "random",
        tuple(joints),
        convention=convention,
        base=draw(st.one_of(st.just(Placement()), placements)),
        flange=draw(placements),
        tool=Tool(draw(placements)),
    )


SIX_AXIS = Robot(
    "six axes",
    tuple(
        Joint(
            f"A{k + 1}",
            "revolute",
            DenavitHartenberg(*row),
            sign,
            (-2.0, 3.0),
            mass=10.0 + k,
            com=(0.1 * k, 0.2, -0.05),
        )
        for k, (row, sign) in enumerate(
            [
                ((math.pi, 0.0, -0.75, 0.0), 1),
                ((math.pi / 2, 0.35, 0.0, 0.0), -1),
                ((0.0, 1.25, 0.0, -math.pi / 2), 1),
                ((math.pi / 2, -0.055, -1.1, 0.0), 1),
                ((-math.pi / 2, 0.0, 0.0, 0.0), 1),
                ((math.pi / 2, 0.0, 0.0, math.pi), -1),
            ]
        )
    ),
    convention="mdh",
    base=Placement((0.1, 0.0, 0.5), (0.0, 0.01, 0.3)),
    flange=Placement((0.0, 0.0, -0.23), (math.pi, 0.0, 0.0)),
    tool=Tool(
        Placement((0.05, 0.0, 0.2), (0.0, math.pi / 2, 0.0)),
        markers=(BodyPoint("P1", (0.15, 0.0, 0.05)), BodyPoint("elbow", (0.0, 0.1, 0.2), on="A3")),
        mass=7.0,
        com=(0.0, 0.03, 0.1),
    ),
)
