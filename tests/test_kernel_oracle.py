"""Kinematics, Jacobians, loads and elastic columns against Pinocchio, an independent library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chains import robots
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import elastic_columns, predict
from stiffarm.model.kernel import frames, jacobian
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import BodyPoint, Link, Placement, Robot, Tool
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.placement import chain_transforms, flange_transform
from stiffarm.robot.reading import read_robot
from stiffarm.robot.urdf_write import write_urdf

Floats = NDArray[np.float64]
N = 20
AXES = ("x", "y", "z", "rx", "ry", "rz")


def placed_robot(name: str) -> Robot:
    """A packaged robot that stands tilted, carries a tool, and has points on the tool and on the arm."""
    robot = read_robot(name)
    middle = robot.joint_names[2]
    tool = Tool(
        placement=Placement((0.05, -0.1, 0.3), (0.4, -0.7, 1.1)),
        load_points=(BodyPoint("hook", (0.35, 0.1, -0.2)),),
        markers=(BodyPoint("P1", (0.15, 0.02, 0.05)), BodyPoint("elbow", (0.1, -0.2, 0.3), on=middle)),
        mass=12.0,
        com=(0.02, 0.03, 0.1),
    )
    joints = tuple(
        replace(joint, mass=80.0 - 9.0 * k, com=(0.05, -0.1 * k, 0.2), compliance=1e-6)
        for k, joint in enumerate(robot.joints)
    )
    links = tuple(Link(after, "symmetric", rpy=(0.3, -0.2, 0.5)) for after in ("base", *robot.joint_names))
    base = Placement((0.4, -0.3, 0.9), (0.02, -0.03, 2.0))
    return replace(robot, joints=joints, links=links, tool=tool, base=base, compensators=(), priors=())


def geometric_errors(model: ArmModel, seed: int) -> dict[str, float]:
    """Every geometric parameter off, by centimetres and degrees, so that a forgotten second order shows."""
    rng = np.random.default_rng(seed)
    owners = {"base", "tool", *model.robot.joint_names}
    wrong = [p for p in model.parameters if not p.elastic and p.name.split(".")[0] in owners]
    return {p.name: p.nominal + 20.0 * p.scale * rng.normal() for p in wrong}


def configurations(robot: Robot, seed: int) -> Floats:
    return np.random.default_rng(seed).uniform(-3.0, 3.0, (len(robot.joints), N))


class Oracle:
    """The same arm in Pinocchio: a product of its SE3, with corrections in the joints' placements."""

    def __init__(self, pin: ModuleType, robot: Robot, values: Mapping[str, float]) -> None:
        self.pin, self.robot, self.values = pin, robot, values
        self.model = pin.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        base = self.se3(robot.base) * self.correction("base")
        parent, before = 0, base
        for joint, spec in zip(chain_transforms(robot), robot.joints, strict=True):
            fixed = pin.SE3(joint.fixed.rotation, joint.fixed.translation) * self.correction(spec.name)
            kind = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
            parent = self.model.addJoint(parent, kind(joint.axis), before * fixed, spec.name)
            self.body(parent, spec.mass, spec.com, pin.SE3.Identity())
            before = pin.SE3.Identity()
        last = flange_transform(robot)
        flange = pin.SE3(last.rotation, last.translation)
        self.body(parent, robot.tool.mass, robot.tool.com, flange)
        self.frame("flange", parent, flange)
        self.frame("tool", parent, flange * self.se3(robot.tool.placement) * self.correction("tool"))
        for point in (*robot.tool.load_points, *robot.tool.markers):
            names = [f"tool.{point.name}.{axis}" for axis in "xyz"]
            xyz = np.array([values.get(name, given) for name, given in zip(names, point.xyz, strict=True)])
            at = pin.SE3(np.eye(3), xyz)
            if point.on is None:
                self.frame(point.name, parent, flange * at)
            else:
                self.frame(point.name, self.model.getJointId(point.on), at)
        self.data = self.model.createData()

    def se3(self, placement: Placement) -> Any:
        return self.pin.SE3(self.pin.rpy.rpyToMatrix(*placement.rpy), np.array(placement.xyz))

    def correction(self, owner: str) -> Any:
        six = np.array([self.values.get(f"{owner}.{axis}", 0.0) for axis in AXES])
        return self.pin.SE3(self.pin.exp3(six[3:]), six[:3])

    def body(self, joint: int, mass: float, com: tuple[float, float, float], placement: Any) -> None:
        inertia = self.pin.Inertia(mass, np.array(com), np.eye(3))
        self.model.appendBodyToJoint(joint, inertia, placement)

    def frame(self, name: str, joint: int, placement: Any) -> None:
        self.model.addFrame(self.pin.Frame(name, joint, placement, self.pin.FrameType.OP_FRAME))

    def joint_values(self, q: Floats) -> Floats:
        """Errors of gears, offsets and couplings, in the controller's sense."""
        out = q.copy()
        for k, joint in enumerate(self.robot.joints):
            if joint.couples_to is not None:
                other = self.robot.joint_index(joint.couples_to.joint)
                out[k] += joint.sign * joint.couples_to.gain * q[other]
            wrong = {kind: self.values.get(f"{joint.name}.{kind}", 0.0) for kind in ("offset", "gain", "sin", "cos")}
            out[k] += wrong["offset"] + wrong["gain"] * q[k] + wrong["sin"] * np.sin(q[k]) + wrong["cos"] * np.cos(q[k])
            for other, name in enumerate(self.robot.joint_names):
                out[k] += self.values.get(f"{joint.name}.coupling[{name}]", 0.0) * q[other]
        return out

    def place(self, values: Floats) -> None:
        self.pin.framesForwardKinematics(self.model, self.data, values)
        self.pin.computeJointJacobians(self.model, self.data, values)

    def pose(self, name: str) -> Any:
        return self.data.oMf[self.model.getFrameId(name)]

    def columns(self, name: str) -> Floats:
        """(6, joints) at a point, world axes."""
        frame, axes = self.model.getFrameId(name), self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.reshape(self.pin.getFrameJacobian(self.model, self.data, frame, axes), (6, -1))


def assert_close(found: Floats, truth: Floats, largest: float | None = None) -> None:
    """1e-12 of the largest number of its kind."""
    assert found.shape == truth.shape
    assert np.abs(found - truth).max() <= 1e-12 * (np.abs(truth).max() if largest is None else largest)


def assert_same_arm(oracle: Oracle, arm: Arm, q: Floats) -> None:
    """Places of every point, orientation of the tool, columns of every point, axes of every joint."""
    values, robot = oracle.joint_values(q), arm.robot
    at = frames(arm.chain, q)
    tool = predict(arm, State(q), "tool")
    ours = {name: jacobian(arm.chain, q, point) for name, point in arm.chain.points.items()}
    turning = [k for k, joint in enumerate(robot.joints) if joint.kind == "revolute"]
    for i in range(q.shape[1]):
        oracle.place(values[:, i])
        reach = max(1.0, float(np.abs(oracle.pose("tool").translation).max()))
        for name, (position, columns) in ours.items():
            assert_close(position[:, i], oracle.pose(name).translation, reach)
            assert_close(columns[:, :, i], oracle.columns(name)[:3].T, reach)
        assert_close(tool.rotation[:, :, i].T, oracle.pose("tool").rotation)
        axes = oracle.columns("tool")[3:]
        for k in turning:
            assert_close(np.broadcast_to(at.rotation[k + 1], (3, 3, q.shape[1]))[2, :, i], axes[:, k], 1.0)


@pytest.mark.parametrize("name", packaged_robots())
def test_every_packaged_robot(name: str, pinocchio: ModuleType) -> None:
    robot = placed_robot(name)
    arm = ArmModel.of(robot).at()
    assert_same_arm(Oracle(pinocchio, robot, {}), arm, configurations(robot, 1))


@pytest.mark.parametrize("name", packaged_robots())
def test_every_packaged_robot_calibrated(name: str, pinocchio: ModuleType) -> None:
    robot = placed_robot(name)
    model = ArmModel.of(robot)
    values = geometric_errors(model, 2)
    assert {f"{robot.joint_names[1]}.{kind}" for kind in (*AXES, "offset", "gain", "sin", "cos")} <= set(values)
    assert {"base.rz", "tool.ry", "tool.P1.x", "tool.elbow.z"} <= set(values)
    assert_same_arm(Oracle(pinocchio, robot, values), model.at(values), configurations(robot, 3))


@given(robot=robots(), seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_random_chains_of_every_convention(robot: Robot, seed: int, pinocchio: ModuleType) -> None:
    model = ArmModel.of(robot)
    values = geometric_errors(model, seed)
    assert_same_arm(Oracle(pinocchio, robot, values), model.at(values), configurations(robot, seed)[:, :5])


@pytest.mark.parametrize("name", packaged_robots())
def test_jacobian_of_the_urdf_of_every_packaged_robot(name: str, pinocchio: ModuleType, tmp_path: Path) -> None:
    """A URDF cannot couple joints, so the coupled one moves by its joint values there."""
    robot = placed_robot(name)
    plain = replace(robot, joints=tuple(replace(joint, couples_to=None) for joint in robot.joints))
    write_urdf(plain, tmp_path / "robot.urdf")
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "robot.urdf"))
    assert model.nq == len(robot.joints)
    data = model.createData()
    order = [model.joints[model.getJointId(joint)].idx_q for joint in robot.joint_names]
    chain, q = ArmModel.of(robot).at().chain, configurations(robot, 4)
    values = np.empty_like(q)
    values[order] = chain.mix @ q
    for frame, point in (("tool0", "tool"), ("P1", "P1"), ("elbow", "elbow")):
        position, columns = jacobian(chain, q, chain.point(point))
        for i in range(N):
            index, axes = model.getFrameId(frame), pinocchio.ReferenceFrame.LOCAL_WORLD_ALIGNED
            truth = pinocchio.computeFrameJacobian(model, data, values[:, i], index, axes)[:3, order]
            pinocchio.updateFramePlacement(model, data, index)
            place = data.oMf[index].translation
            reach = max(1.0, float(np.abs(place).max()))
            assert_close(position[:, i], place, reach)
            assert_close(columns[:, :, i], truth.T, reach)


@pytest.mark.parametrize("name", packaged_robots())
def test_joint_compliances_under_a_wrench_and_under_weights(name: str, pinocchio: ModuleType) -> None:
    """Columns J_k(p) tau_k with tau = J(h)' W, or minus the torques that hold the arm against gravity."""
    robot = placed_robot(name)
    model = ArmModel.of(robot)
    values = geometric_errors(model, 5)
    arm, oracle, q = model.at(values), Oracle(pinocchio, robot, values), configurations(robot, 6)
    rng = np.random.default_rng(7)
    force, torque = 2000.0 * rng.normal(size=(3, N)), 300.0 * rng.normal(size=(3, N))
    names = [f"{joint}.compliance" for joint in robot.joint_names]
    pulled = elastic_columns(arm, State(q, (Load(arm.chain.point("hook"), force, torque),)), "P1", names)
    hanging = elastic_columns(arm, State(q, arm.weights()), "P1", names)
    for i, joints in enumerate(oracle.joint_values(q).T):
        oracle.place(joints)
        at_point = oracle.columns("P1")[:3]
        by_wrench = oracle.columns("hook").T @ np.concatenate([force[:, i], torque[:, i]])
        by_weights = -pinocchio.computeGeneralizedGravity(oracle.model, oracle.data, joints)
        assert_close(pulled[:, :, i], (at_point * by_wrench).T)
        assert_close(hanging[:, :, i], (at_point * by_weights).T)


@pytest.mark.parametrize("name", ["kr270", "kr500-rail", "iiwa7"])
def test_link_compliances_under_a_wrench(name: str, pinocchio: ModuleType) -> None:
    """A 6x6 spring is a Pinocchio frame: its unit twists move the point, and their power is what it feels."""
    robot = placed_robot(name)
    nodes = ("base", *robot.joint_names)
    place = Placement((0.1, -0.2, 0.3), (0.3, -0.2, 0.5))
    robot = replace(robot, links=tuple(Link(after, "symmetric", place.xyz, place.rpy) for after in nodes))
    arm, oracle, q = ArmModel.of(robot).at(), Oracle(pinocchio, robot, {}), configurations(robot, 8)
    for k in range(1, len(nodes)):
        oracle.frame(f"link{k}", k, oracle.se3(place))
    oracle.frame("link0", 0, oracle.se3(place))  # the base's spring is given in the world
    oracle.data = oracle.model.createData()
    rng = np.random.default_rng(9)
    force, torque = 2000.0 * rng.normal(size=(3, N)), 300.0 * rng.normal(size=(3, N))
    names = [p.name for p in arm.model.parameters if p.name.startswith("link")]
    assert len(names) == 21 * len(nodes)
    found = elastic_columns(arm, State(q, (Load(arm.chain.point("hook"), force, torque),)), "P1", names)
    for i, joints in enumerate(oracle.joint_values(q).T):
        oracle.place(joints)
        p, h = oracle.pose("P1").translation, oracle.pose("hook").translation
        truth = []
        for k in range(len(nodes)):
            twists = oracle.pose(f"link{k}").toActionMatrix()  # columns: linear at the world's origin, angular
            moved_p, moved_h = ((twists[:3] + np.cross(twists[3:], at, axisa=0, axisc=0)) for at in (p, h))
            felt = moved_h.T @ force[:, i] + twists[3:].T @ torque[:, i]
            for a in range(6):
                truth.append(moved_p[:, a] * felt[a])
                truth += [moved_p[:, a] * felt[b] + moved_p[:, b] * felt[a] for b in range(a + 1, 6)]
        for first, last in pairwise(range(0, len(names) + 1, 21)):
            assert_close(found[first:last, :, i], np.array(truth[first:last]))
