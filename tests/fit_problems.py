"""Small calibration problems with their truth: an arm whose real geometry differs from its file everywhere.

The truth comes from the kinematics of `chains`, which shares nothing with the package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chains import one_joint, placed
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Readings, Setup
from stiffarm.measure.observe import expected
from stiffarm.robot.arm import AxisPlacement, BodyPoint, Joint, Placement, Robot, Tool
from stiffarm.robot.placement import Rigid, rotation_from_vector, vector_from_rotation

Array = NDArray[np.float64]

SHAPE = (
    ((0.0, 0.0, 0.4), (0.0, 0.0, 0.0)),
    ((0.2, 0.0, 0.3), (-np.pi / 2, 0.0, 0.0)),
    ((0.9, 0.0, 0.0), (0.0, 0.0, -np.pi / 2)),
    ((-0.05, 0.55, 0.0), (-np.pi / 2, 0.0, 0.0)),
    ((0.0, 0.0, 0.45), (np.pi / 2, 0.0, 0.0)),
    ((0.0, 0.0, 0.0), (-np.pi / 2, 0.0, 0.0)),
)
LOW = np.array([-2.8, -0.9, -1.6, -2.8, -1.9, -2.8])
HIGH = np.array([2.8, 1.2, 1.4, 2.8, 1.9, 2.8])


def arm(*markers: tuple[float, float, float], **more: Any) -> Robot:
    """The nominal arm with markers P1, P2 ... in its flange frame."""
    joints = tuple(
        Joint(f"A{k + 1}", "revolute", AxisPlacement(Placement(xyz, rpy))) for k, (xyz, rpy) in enumerate(SHAPE)
    )
    points = tuple(BodyPoint(f"P{i + 1}", xyz) for i, xyz in enumerate(markers))
    return Robot(
        "arm", joints, flange=Placement((0.0, 0.0, 0.2)), tool=Tool(Placement((0.1, 0.0, 0.3)), markers=points), **more
    )


def as_built(robot: Robot, seed: int = 0, size: float = 1e-3) -> Robot:
    """The same arm with every placement off by about a millimetre and a milliradian."""
    random = np.random.default_rng(seed)

    def off(placement: Placement) -> Placement:
        xyz, rpy = (tuple(np.array(v) + random.normal(size=3) * size) for v in (placement.xyz, placement.rpy))
        return Placement(xyz, rpy)

    joints = tuple(
        replace(joint, geometry=replace(joint.geometry, origin=off(joint.geometry.origin))) for joint in robot.joints
    )
    markers = tuple(replace(m, xyz=tuple(np.array(m.xyz) + random.normal(size=3) * size)) for m in robot.tool.markers)
    return replace(robot, joints=joints, flange=off(robot.flange), tool=replace(robot.tool, markers=markers))


def flange_of(robot: Robot, q: Array) -> Array:
    """4x4 placement of the flange."""
    pose = placed(robot.base)
    for joint, value in zip(robot.joints, q, strict=True):
        pose = pose @ one_joint(robot, joint, value)
    return pose @ placed(robot.flange)


@dataclass(frozen=True, eq=False)
class Truth:
    """An arm as it was built, and where its setups really stand (setup from world)."""

    robot: Robot
    frames: dict[str, Rigid]

    def reading(self, q: Array, marker: str, setup: str, *, pose: bool = False) -> Array:
        """x y z and rotation vector as the setup sees them; NaN for a rotation that is not read."""
        flange, frame = flange_of(self.robot, q), self.frames[setup]
        if pose:
            tool = flange @ placed(self.robot.tool.placement)
            turned = vector_from_rotation(frame.rotation @ tool[:3, :3])
            return np.concatenate([frame.apply(tool[:3, 3]), turned])
        point = next(m.xyz for m in self.robot.tool.markers if m.name == marker)
        return np.concatenate([frame.apply(flange[:3, :3] @ np.array(point) + flange[:3, 3]), np.full(3, np.nan)])


def anywhere(seed: int) -> Rigid:
    """A frame some ten metres away and turned by anything."""
    random = np.random.default_rng(seed)
    axis = random.normal(size=3)
    turn = random.uniform(0.3, np.pi) * axis / np.linalg.norm(axis)
    return Rigid(rotation_from_vector(turn), random.uniform(-10.0, 10.0, 3))


def angles(n: int, seed: int) -> Array:
    """(joints, n)"""
    return np.random.default_rng(seed).uniform(LOW[:, None], HIGH[:, None], (6, n))


def campaign(
    truth: Truth, q: Array, *, markers: Sequence[str] = ("P1",), pose: bool = False, noise_m: float = 0.0, seed: int = 0
) -> Campaign:
    """Every marker (or the tool's pose) at every configuration, configurations dealt to the setups in turn."""
    setups, random = tuple(truth.frames), np.random.default_rng(seed)
    names: Sequence[str] = ("tool",) if pose else markers
    rows = [(e, m, e % len(setups)) for e in range(q.shape[1]) for m in range(len(names))]
    value = np.array([truth.reading(q[:, e], names[m], setups[s], pose=pose) for e, m, s in rows]).T
    experiment, marker, setup = np.array(rows).T
    return plan(
        Experiments(tuple(f"e{i}" for i in range(q.shape[1])), q),
        experiment=experiment,
        marker=np.full(len(rows), -1) if pose else marker,
        setup=setup,
        kind=np.full(len(rows), OBSERVATIONS.index("pose" if pose else "position")),
        value=value + noise_m * random.normal(size=value.shape),
        markers=() if pose else tuple(markers),
        setups=tuple(Setup(name) for name in setups),
    )


def plan(
    experiments: Experiments, *, markers: tuple[str, ...] = (), setups: tuple[Setup, ...] = (), **columns: Any
) -> Campaign:
    """A campaign from the columns of its readings that are not at their defaults."""
    n = len(columns["experiment"])
    nan, none, ones = np.full(n, np.nan), np.full(n, -1), np.ones(n, dtype=np.int64)
    full: dict[str, Any] = dict.fromkeys(("reference", "target", "target2", "visit", "marker"), none)
    full |= dict.fromkeys(("distance_m", "sigma_distance_m", "radius_m", "sequence", "time_s"), nan)
    full |= {"repeat": ones, "setup": 0 * ones, "kind": 0 * ones, "row": np.arange(n) + 2}
    full |= {"value": np.full((6, n), np.nan), "sigma": np.full((6, n), np.nan)}
    joints = tuple(f"A{k + 1}" for k in range(len(experiments.q)))
    return Campaign("made up", joints, experiments, Readings(**(full | columns)), markers, setups)


def error_m(found: Any, truth: Truth, *, markers: Sequence[str] = ("P1",), pose: bool = False, seed: int = 99) -> float:
    """Largest error of predicted readings (m, and rad when poses) at configurations that were not fitted."""
    unseen = campaign(truth, angles(40, seed), markers=markers, pose=pose)
    value = expected(found.system.arm(found.at), unseen, found.at.frames, found.system.loads).value
    return float(np.nanmax(np.abs(value - unseen.readings.value)[: 6 if pose else 3]))
