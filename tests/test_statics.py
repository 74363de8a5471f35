"""Exact equilibria against Pinocchio, energy, closed forms and finite differences of the thing itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import brentq

from stiffarm.errors import InputError
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.cartesian import cartesian_compliance, cartesian_stiffness
from stiffarm.model.effects import JointCompliance, LinkCompliance
from stiffarm.model.evaluate import predict, sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.model.newton import rows_of
from stiffarm.model.posture import Posture
from stiffarm.model.rotations import matrix_of, vector_of
from stiffarm.model.stability import softening, softening_bound
from stiffarm.model.statics import Equilibrium, equilibrium, predict_exact, sensitivity_exact
from stiffarm.robot.arm import (
    AxisPlacement,
    BodyPoint,
    Compensator,
    Joint,
    Link,
    Placement,
    Robot,
    Spring,
    Tool,
)
from stiffarm.robot.placement import (
    Rigid,
    chain_transforms,
    flange_transform,
    rotation_from_rpy,
    rotation_from_vector,
    rpy_from_rotation,
)
from stiffarm.robot.reading import read_robot
from stiffarm.robot.urdf_write import write_urdf

Floats = NDArray[np.float64]
Y_AXIS = (0.0, 1.0, 0.0)


def spring(seed: int, size: float = 1.0) -> tuple[tuple[float, ...], ...]:
    """A positive definite 6x6 compliance, about 1e-8 m/N and 1e-6 rad/(N m) times ``size``."""
    root = np.random.default_rng(seed).normal(size=(6, 6)) * 0.3 + np.eye(6)
    scale = np.array([1e-4] * 3 + [1e-3] * 3)
    return tuple(map(tuple, (size * (root @ root.T) * scale[:, None] * scale).tolist()))


def bent_robot(size: float = 1.0) -> Robot:
    """Slide, turn, turn on a tilted base; springs at the base, between and at the end; masses; a couple's lever."""
    joints = (
        Joint("R", "prismatic", AxisPlacement(Placement((0.1, 0.0, 0.4), (0.0, 0.2, 0.0)), (1.0, 0.0, 0.0)),
              limits=(-1.0, 1.0), compliance=1e-8 * size, mass=80.0, com=(0.0, 0.1, 0.2)),
        Joint("A", "revolute", AxisPlacement(Placement((0.2, 0.1, 0.5), (0.3, 0.0, 0.1)), Y_AXIS), -1,
              compliance=2e-6 * size, mass=60.0, com=(0.3, 0.0, 0.1)),
        Joint("B", "revolute", AxisPlacement(Placement((0.9, 0.0, 0.1)), (0.6, 0.8, 0.0)),
              compliance=3e-6 * size, mass=40.0, com=(0.2, 0.1, 0.0)),
    )  # fmt: skip
    links = tuple(
        Link(after, "symmetric", xyz, rpy, spring(seed, size))
        for after, xyz, rpy, seed in (
            ("base", (0.0, 0.1, 0.2), (0.1, 0.2, 0.3), 1),
            ("A", None, (0.2, -0.1, 0.4), 2),
            ("B", None, (0.0, 0.5, 0.0), 3),
        )
    )
    tool = Tool(
        Placement((0.1, 0.0, 0.3), (0.1, 0.2, 0.3)),
        load_points=(BodyPoint("hook", (0.2, 0.1, 0.1)), BodyPoint("elbow", (0.1, 0.2, 0.1), on="A")),
        markers=(BodyPoint("P1", (0.2, -0.1, 0.2)), BodyPoint("P2", (0.3, 0.1, 0.0), on="A")),
        mass=30.0,
        com=(0.0, 0.05, 0.1),
    )
    base = Placement((0.2, -0.1, 0.0), (0.1, -0.2, 0.5))
    flange = Placement((0.6, 0.0, 0.1), (0.0, 1.0, 0.0))
    return Robot("bent", joints, base=base, flange=flange, tool=tool, links=links)


def linked(name: str) -> Robot:
    """A packaged robot with a 6x6 spring after the base and every joint."""
    robot = read_robot(name)
    links = tuple(
        Link(after, "symmetric", compliance=spring(i, 0.1)) for i, after in enumerate(("base", *robot.joint_names))
    )
    joints = tuple(replace(joint, mass=100.0 - 10 * k, com=(0.05, -0.1, 0.2)) for k, joint in enumerate(robot.joints))
    return replace(robot, joints=joints, links=links, compensators=(), priors=())


def loaded(arm: Arm, n: int, seed: int, newtons: float = 1500.0, *, couples: bool = True) -> State:
    """Random configurations, a wrench at the tool, a force on an inner link when there is a point, weights."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.0, 1.0, (arm.chain.n_joints, n))
    couple = rng.normal(size=(3, n)) * newtons * 0.1 if couples else None
    loads = [Load(arm.chain.point("tool"), rng.normal(size=(3, n)) * newtons, couple)]
    if "elbow" in arm.chain.points:
        loads.append(Load(arm.chain.point("elbow"), rng.normal(size=(3, n)) * newtons / 3))
    return State(q, (*loads, *arm.weights()))


def fourth_order(f: object, at: Floats, row: int, h: float) -> Floats:
    """Derivative of f by row ``row`` of its argument."""
    assert callable(f)
    step = np.zeros_like(at)
    step[row] = h
    return np.asarray((f(at - 2 * step) - 8 * f(at - step) + 8 * f(at + step) - f(at + 2 * step)) / (12 * h))


def compliance_of(found: Equilibrium) -> Floats:
    """The block-diagonal compliance, written down from the robot's own numbers."""
    arm = found.arm
    blocks = []
    for index in found.theta:
        effect = arm.model.effects[index]
        if isinstance(effect, LinkCompliance):
            blocks.append(np.array(effect.link.compliance))
        elif isinstance(effect, JointCompliance):
            blocks.append(np.array([[arm.values[f"{effect.joint}.compliance"]]]))
    size = sum(len(block) for block in blocks)
    k, start = np.zeros((size, size)), 0
    for block in blocks:
        k[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    return k


# ---------------------------------------------------------------- Pinocchio


@pytest.mark.parametrize("name", ["bent", "kr270", "iiwa7"])
def test_gravity_torques_and_their_derivative_are_those_of_pinocchio(
    name: str, pinocchio: ModuleType, tmp_path: Path
) -> None:
    robot = bent_robot() if name == "bent" else replace(linked(name), links=())
    joints = tuple(replace(joint, compliance=1e-6, limits=(-2.0, 2.0)) for joint in robot.joints)
    robot = replace(robot, links=(), joints=joints)
    arm = ArmModel.of(robot).at()
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (len(robot.joints), 5))
    posture = equilibrium(arm, State(q, arm.weights())).posture()
    rigid = Posture(posture.unbent, np.zeros_like(posture.theta))
    found, change = rigid.torque, rigid.load_tangent()
    write_urdf(robot, tmp_path / "robot.urdf")
    model = pinocchio.buildModelFromUrdf(str(tmp_path / "robot.urdf"))
    data = model.createData()
    model.gravity.linear = np.array(robot.gravity)
    for i in range(q.shape[1]):
        truth = -pinocchio.computeGeneralizedGravity(model, data, q[:, i])
        assert np.abs(found[:, i] - truth).max() <= 1e-9 * np.abs(truth).max()
        slope = -pinocchio.computeGeneralizedGravityDerivatives(model, data, q[:, i])
        assert np.abs(change[:, :, i] - slope).max() <= 1e-9 * np.abs(truth).max()


class FloatingLinks:
    """The elastic arm in Pinocchio: every link spring a free-flying joint, joint compliances added to the values."""

    def __init__(self, pin: ModuleType, robot: Robot) -> None:
        self.pin, self.robot = pin, robot
        self.model = pin.Model()
        self.model.gravity.linear = np.array(robot.gravity)
        self.parent, self.pending = 0, self.se3(Rigid.of(robot.base))
        self.links: dict[str, int] = {}
        self.joints: list[int] = []
        springs = {link.after: LinkCompliance(robot, link).frame for link in robot.links}
        self.float("base", springs)
        for joint, transform in zip(robot.joints, chain_transforms(robot), strict=True):
            kind = pin.JointModelPrismaticUnaligned if transform.prismatic else pin.JointModelRevoluteUnaligned
            place = self.pending * self.se3(transform.fixed)
            self.parent = self.model.addJoint(self.parent, kind(transform.axis), place, joint.name)
            self.joints.append(self.parent)
            self.weigh(joint.mass, np.array(joint.com), pin.SE3.Identity())
            self.pending = pin.SE3.Identity()
            self.float(joint.name, springs)
        flange = self.pending * self.se3(flange_transform(robot))
        self.weigh(robot.tool.mass, np.array(robot.tool.com), flange)
        tool = flange * self.se3(Rigid.of(robot.tool.placement))
        self.tool = self.model.addFrame(pin.Frame("tool", self.parent, 0, tool, pin.FrameType.OP_FRAME))
        self.data = self.model.createData()

    def se3(self, rigid: Rigid) -> object:
        return self.pin.SE3(rigid.rotation, rigid.translation)

    def float(self, after: str, springs: dict[str, Rigid]) -> None:
        if after in springs:
            place = self.pending * self.se3(springs[after])
            self.parent = self.model.addJoint(self.parent, self.pin.JointModelFreeFlyer(), place, f"link {after}")
            self.links[after] = self.parent
            self.pending = self.se3(springs[after].inverse())

    def weigh(self, mass: float, com: Floats, place: object) -> None:
        self.model.appendBodyToJoint(self.parent, self.pin.Inertia(mass, com, np.zeros((3, 3))), place)

    def loads(self, q: Floats, links: dict[str, Floats], wrench: Floats) -> tuple[Floats, dict[str, Floats]]:
        """Loads of the joints, and those conjugate to (slides, rotation vector) of the links."""
        full = self.pin.neutral(self.model)
        for joint, value in zip(self.joints, q, strict=True):
            full[self.model.joints[joint].idx_q] = value
        for name, theta in links.items():
            start = self.model.joints[self.links[name]].idx_q
            turn = self.pin.Quaternion(self.pin.exp3(theta[3:]))
            full[start : start + 7] = [*theta[:3], *turn.coeffs()]
        torque = -self.pin.computeGeneralizedGravity(self.model, self.data, full)
        frame = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        torque += self.pin.computeFrameJacobian(self.model, self.data, full, self.tool, frame).T @ wrench
        found = {}
        for name, theta in links.items():
            start = self.model.joints[self.links[name]].idx_v
            force, moment = torque[start : start + 3], torque[start + 3 : start + 6]
            body = self.pin.exp3(theta[3:])
            found[name] = np.concatenate([body @ force, self.pin.Jexp3(theta[3:]).T @ moment])
        return np.array([torque[self.model.joints[joint].idx_v] for joint in self.joints]), found


@pytest.mark.parametrize("name", ["bent", "kr270", "ur10"])
def test_the_equilibrium_satisfies_hookes_law_in_pinocchio(name: str, pinocchio: ModuleType) -> None:
    robot = bent_robot() if name == "bent" else linked(name)
    arm = ArmModel.of(robot).at()
    rng = np.random.default_rng(1)
    n = 3
    q, wrench = rng.uniform(-1.0, 1.0, (len(robot.joints), n)), rng.normal(size=(6, n)) * 800.0
    state = State(q, (Load(arm.chain.point("tool"), wrench[:3], wrench[3:]), *arm.weights()))
    found = equilibrium(arm, state)
    assert found.reached.all()
    oracle = FloatingLinks(pinocchio, robot)
    for i in range(n):
        given, springs, links = q[:, i].copy(), {}, {}
        for index, theta in found.theta.items():
            effect = arm.model.effects[index]
            if isinstance(effect, JointCompliance):
                springs[effect.joint] = theta[0, i]
                given[robot.joint_index(effect.joint)] += theta[0, i]
            elif isinstance(effect, LinkCompliance):
                links[effect.link.after] = theta[:, i]
        joint_loads, link_loads = oracle.loads(given, links, wrench[:, i])
        for name_, theta_ in springs.items():
            truth = arm.values[f"{name_}.compliance"] * joint_loads[robot.joint_index(name_)]
            assert abs(theta_ - truth) <= 1e-9 * max(map(abs, springs.values()))
        for link in robot.links:
            truth = np.array(link.compliance) @ link_loads[link.after]
            assert np.abs(links[link.after] - truth).max() <= 1e-9 * np.abs(truth).max()


# ---------------------------------------------------------------- energy


def potential(posture: Posture) -> Floats:
    """(n,) J: minus the work of the forces."""
    pairs = zip(posture.load_points, posture.unbent.loads, strict=True)
    return np.asarray(-sum(np.sum(p.xyz * load.force_world, axis=0) for p, load in pairs))


def test_loads_and_their_tangent_are_derivatives_of_the_energy_far_from_rest() -> None:
    arm = ArmModel.of(bent_robot()).at()
    posture = equilibrium(arm, loaded(arm, 4, 1, couples=False)).posture()
    far = np.random.default_rng(2).normal(size=posture.theta.shape) * 0.4
    torque, change = Posture(posture.unbent, far).torque, Posture(posture.unbent, far).load_tangent()
    for row in range(len(far)):
        slope = -fourth_order(lambda t: potential(Posture(posture.unbent, t)), far, row, 1e-3)
        assert np.abs(torque[row] - slope).max() <= 1e-8 * np.abs(torque).max()
        slope = fourth_order(lambda t: Posture(posture.unbent, t).torque, far, row, 1e-3)
        assert np.abs(change[:, row] - slope).max() <= 1e-8 * np.abs(change).max()
    assert np.abs(change - np.swapaxes(change, 0, 1)).max() <= 1e-12 * np.abs(change).max()


def test_tangent_with_couples_against_finite_differences() -> None:
    arm = ArmModel.of(bent_robot()).at()
    posture = equilibrium(arm, loaded(arm, 4, 3)).posture()
    far = np.random.default_rng(4).normal(size=posture.theta.shape) * 0.4
    change = Posture(posture.unbent, far).load_tangent()
    for row in range(len(far)):
        slope = fourth_order(lambda t: Posture(posture.unbent, t).torque, far, row, 1e-3)
        assert np.abs(change[:, row] - slope).max() <= 1e-8 * np.abs(change).max()


@pytest.mark.parametrize("size", [1.0, 60.0])
def test_the_equilibrium_is_stationary_for_the_total_potential_energy(size: float) -> None:
    arm = ArmModel.of(bent_robot(size)).at()
    found = equilibrium(arm, loaded(arm, 5, 5, couples=False))
    assert found.reached.all()
    posture = found.posture()
    stiffness = np.linalg.inv(compliance_of(found))

    def energy(theta: Floats) -> Floats:
        return 0.5 * np.einsum("an,ab,bn->n", theta, stiffness, theta) + potential(Posture(posture.unbent, theta))

    for row in range(len(posture.theta)):
        h = 0.02 * np.abs(posture.theta[row]).max()
        scale = np.abs(stiffness[row] @ posture.theta)
        assert np.abs(fourth_order(energy, posture.theta, row, h)).max() <= 1e-7 * scale.max()


@pytest.mark.parametrize("size", [1.0, 20.0, 150.0])
def test_residual_iterated_and_by_newton(size: float) -> None:
    """The softer arms cannot be solved by plain iteration."""
    arm = ArmModel.of(bent_robot(size)).at()
    found = equilibrium(arm, loaded(arm, 40, 6, 600.0))
    posture = found.posture()
    off = posture.theta - compliance_of(found) @ posture.torque
    assert found.reached.sum() >= 30
    metres = np.abs(posture.theta).max(axis=0)
    assert (np.abs(off).max(axis=0)[found.reached] <= 1e-10 * 5 * metres[found.reached]).all()
    assert found.residual[found.reached].max() <= 1e-10


# ---------------------------------------------------------------- first order and closed forms


@pytest.mark.parametrize("name", ["bent", "kr270"])
def test_first_order_differs_by_the_square_of_the_load(name: str) -> None:
    arm = ArmModel.of(bent_robot() if name == "bent" else linked(name)).at()
    state = loaded(arm, 6, 7)
    gaps = []
    for share in (0.5, 0.25, 0.125):
        loads = tuple(
            replace(
                load,
                force_world=share * load.force_world,
                torque_world=None if load.torque_world is None else share * load.torque_world,
            )
            for load in state.loads
        )
        part = replace(state, loads=loads)
        exact, linear = predict_exact(arm, part, "tool"), predict(arm, part, "tool")
        turn = np.linalg.norm(exact.deflection_rotation - linear.deflection_rotation, axis=0)
        gaps.append(np.stack([np.linalg.norm(exact.position - linear.position, axis=0), turn]))
    ratios = np.array([gaps[0] / gaps[1], gaps[1] / gaps[2]])
    assert (np.abs(ratios[1] - 4.0) < 0.4).all()
    assert np.abs(ratios[1] - 4.0).mean() < np.abs(ratios[0] - 4.0).mean()


def column(stiffness: list[float], lengths: list[float]) -> Arm:
    """Upright links on springs that turn about y."""
    joints = tuple(
        Joint(f"J{i}", "revolute", AxisPlacement(Placement((0.0, 0.0, below)), Y_AXIS), compliance=1.0 / k)
        for i, (k, below) in enumerate(zip(stiffness, [0.0, *lengths[:-1]], strict=True))
    )
    return ArmModel.of(Robot("column", joints, flange=Placement((0.0, 0.0, lengths[-1])))).at()


def pressed(arm: Arm, newtons: list[float], tilt: float = 0.0) -> State:
    force = np.zeros((3, len(newtons)))
    force[2] = -np.array(newtons)
    q = np.zeros((arm.chain.n_joints, len(newtons)))
    q[0] = tilt
    return State(q, (Load(arm.chain.point("tool"), force),))


def test_an_upright_column_buckles_at_stiffness_over_length() -> None:
    arm = column([700.0], [0.5])
    critical = 700.0 / 0.5
    found = equilibrium(arm, pressed(arm, [0.5 * critical, 0.9999 * critical, 1.0001 * critical, 5 * critical, -1e6]))
    reasons = [found.reason(i) for i in range(5)]
    assert reasons == ["equilibrium", "equilibrium", "buckled", "buckled", "equilibrium"]
    assert found.softening[1:4] == pytest.approx([0.9999, 1.0001, 5.0], rel=1e-9)


def test_two_links_on_equal_springs_buckle_at_the_smaller_root() -> None:
    """K theta = T: det [[2-p, -1], [-1, 1-p]] = 0 in relative angles, p = P L / K = (3 - sqrt 5) / 2."""
    arm = column([100.0, 100.0], [0.25, 0.25])
    critical = 0.5 * (3.0 - np.sqrt(5.0)) * 100.0 / 0.25
    found = equilibrium(arm, pressed(arm, [0.999 * critical, 1.001 * critical]))
    assert [found.reason(i) for i in range(2)] == ["equilibrium", "buckled"]


def test_a_leaning_column_bends_until_it_falls() -> None:
    arm = column([1000.0], [1.0])
    tilt = 0.02
    shares = [0.2, 0.5, 0.8, 0.95]
    found = equilibrium(arm, pressed(arm, [1000.0 * s for s in shares], tilt))
    assert found.reached.all()
    theta = next(iter(found.theta.values()))[0]
    truth = [brentq(lambda t, s=s: t - s * np.sin(t + tilt), 0.0, 2.0, xtol=1e-15, rtol=1e-14) for s in shares]
    assert theta == pytest.approx(truth, rel=1e-9)
    fallen = equilibrium(arm, pressed(arm, [3000.0], tilt))
    assert fallen.reason(0) == "buckled"


@pytest.mark.parametrize("share", [0.3, 1.0, 3.0, 12.0])
def test_a_soft_level_beam_hangs_where_the_closed_form_says(share: float) -> None:
    arm = column([100.0], [2.0])
    state = pressed(arm, [share * 50.0], tilt=0.5 * np.pi)
    found = equilibrium(arm, state)
    truth = brentq(lambda t: t - share * np.cos(t), 0.0, 1.6, xtol=1e-15, rtol=1e-14)
    assert found.reached.all()
    assert next(iter(found.theta.values()))[0, 0] == pytest.approx(truth, rel=1e-10)
    assert predict_exact(arm, state, "tool").position[:, 0] == pytest.approx(
        [2.0 * np.cos(truth), 0.0, -2.0 * np.sin(truth)], abs=1e-9
    )


def test_a_spring_wound_beyond_a_quarter_turn_is_no_equilibrium() -> None:
    arm = column([1.0], [1.0])
    couple = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    found = equilibrium(arm, State(np.zeros((1, 2)), (Load(arm.chain.point("tool"), np.zeros((3, 1)), couple),)))
    assert [found.reason(i) for i in range(2)] == ["equilibrium", "no equilibrium"]


# ---------------------------------------------------------------- what is said, and to whom


def test_lost_configurations_are_named_and_leave_the_others_alone() -> None:
    arm = column([100.0], [1.0])
    state = pressed(arm, [50.0, 150.0, 20.0, 120.0], tilt=1e-4)
    with pytest.raises(InputError, match=r"the arm buckles under its loads.*configuration 2 and 1 more of 4"):
        predict_exact(arm, state, "tool")
    found = equilibrium(arm, state)
    with pytest.raises(InputError, match="experiment 'e7'"):
        found.require(["e6", "e7", "e8", "e9"])
    known = predict_exact(arm, state, "tool", found=found)
    assert np.isnan(known.position).any(axis=0).tolist() == [False, True, False, True]
    alone = predict_exact(arm, rows_of(state, np.array([0, 2])), "tool")
    assert np.array_equal(known.position[:, [0, 2]], alone.position)
    columns = sensitivity_exact(arm, state, "tool", ["J0.compliance"], found=found)[1]
    assert np.isnan(columns).any(axis=(0, 1)).tolist() == [False, True, False, True]
    assert np.isnan(cartesian_compliance(arm, state, "tool", found=found)).any(axis=(0, 1))[1]


def test_a_missing_joint_value_is_no_equilibrium_and_leaves_the_others_alone() -> None:
    arm = ArmModel.of(bent_robot(10.0)).at()
    state = loaded(arm, 4, 17)
    holed = state.q.copy()
    holed[1, 2] = np.nan
    found = equilibrium(arm, replace(state, q=holed))
    assert found.reached.tolist() == [True, True, False, True]
    whole = predict_exact(arm, state, "tool").position
    assert np.array_equal(predict_exact(arm, replace(state, q=holed), "tool", found=found).position[:, 3], whole[:, 3])


def test_measured_joint_torques_fix_their_twists() -> None:
    arm = ArmModel.of(bent_robot()).at()
    state = loaded(arm, 4, 8)
    measured = np.random.default_rng(9).normal(size=(3, 4)) * 500.0
    found = equilibrium(arm, replace(state, joint_torque=measured))
    for index, theta in found.theta.items():
        effect = arm.model.effects[index]
        if isinstance(effect, JointCompliance):
            k = arm.values[f"{effect.joint}.compliance"]
            assert theta[0] == pytest.approx(k * measured[arm.robot.joint_index(effect.joint)], rel=1e-12)
    assert found.residual.max() <= 1e-10


def test_a_compensator_takes_part_with_its_true_law() -> None:
    """At the equilibrium drive and compensator carry together what the joint feels there."""
    balanced = Compensator("A", 0.2, 0.7, 1.4, Spring(1e5, 0.45))
    arm = ArmModel.of(replace(bent_robot(10.0), compensators=(balanced,))).at()
    state = loaded(arm, 4, 18)
    found = equilibrium(arm, state)
    index = next(i for i in found.theta if getattr(arm.model.effects[i], "joint", "") == "A")
    posture = found.posture()
    felt, theta = posture.torque[posture.unbent.rows[index]][0], found.theta[index][0]

    def energy(angle: Floats) -> Floats:
        length = np.sqrt(0.2**2 + 0.7**2 + 2 * 0.2 * 0.7 * np.cos(1.4 - angle))
        return np.asarray(0.5 * 1e5 * (length - 0.45) ** 2)

    h, angle = 1e-3, state.q[1] + theta
    own = (energy(angle - 2 * h) - 8 * energy(angle - h) + 8 * energy(angle + h) - energy(angle + 2 * h)) / (12 * h)
    assert theta / 2e-5 == pytest.approx(felt - own, abs=1e-6 * np.abs(own).max())


def test_a_rigid_arm_and_an_empty_batch() -> None:
    rigid = replace(bent_robot(), links=(), joints=tuple(replace(j, compliance=None) for j in bent_robot().joints))
    arm = ArmModel.of(rigid).at()
    state = loaded(arm, 3, 10)
    names = [p.name for p in arm.model.parameters if not p.elastic]
    exact, linear = (f(arm, state, "P1", names, rotation=True) for f in (sensitivity_exact, sensitivity))
    assert np.array_equal(exact[0].position, linear[0].position)
    assert np.abs(exact[1] - linear[1]).max() <= 1e-15
    assert not cartesian_compliance(arm, state, "tool").any()
    none = State(np.zeros((3, 0)), arm.weights())
    assert predict_exact(arm, none, "tool").position.shape == (3, 0)
    soft = ArmModel.of(bent_robot()).at()
    assert predict_exact(soft, State(np.zeros((3, 0)), soft.weights()), "tool").position.shape == (3, 0)


def test_without_loads_nothing_bends() -> None:
    arm = ArmModel.of(bent_robot()).at()
    state = State(np.random.default_rng(0).uniform(-1, 1, (3, 4)))
    exact = predict_exact(arm, state, "P1")
    assert not exact.deflection.any()
    assert not exact.deflection_rotation.any()
    assert np.array_equal(exact.position, predict(arm, state, "P1").position)


@pytest.mark.parametrize("size", [0.3, 3.0, 30.0])
def test_the_cheap_bound_is_never_below_an_eigenvalue(size: float) -> None:
    for robot in (bent_robot(size), linked("kr270")):
        arm = ArmModel.of(robot).at()
        posture = equilibrium(arm, loaded(arm, 50, 11, 3000.0)).posture()
        bound, truth = softening_bound(posture), softening(posture)
        assert (bound >= truth).all()
        assert (bound <= 100 * np.abs(truth) + 1.0 * size).all()  # and says something


def test_the_bound_holds_for_a_load_far_beyond_the_arm() -> None:
    joint = Joint("J", "revolute", AxisPlacement(axis=Y_AXIS), compliance=1e-3)
    mast = Tool(load_points=(BodyPoint("mast", (0.0, 0.0, 9.0)),))
    arm = ArmModel.of(Robot("mast", (joint,), flange=Placement((0.0, 0.0, 1.0)), tool=mast)).at()
    force = np.array([[0.0, 0.0], [0.0, 0.0], [-99.0, -101.0]])
    found = equilibrium(arm, State(np.zeros((1, 2)), (Load(arm.chain.point("mast"), force),)))
    assert [found.reason(i) for i in range(2)] == ["equilibrium", "buckled"]
    assert (softening_bound(found.posture()) >= softening(found.posture())).all()


# ---------------------------------------------------------------- rotating the world

angles = st.floats(-3.0, 3.0)


@settings(max_examples=15)
@given(turn=st.tuples(angles, angles, angles), seed=st.integers(0, 1000))
def test_turning_base_gravity_and_loads_turns_the_answer(turn: tuple[float, float, float], seed: int) -> None:
    world = rotation_from_vector(np.array(turn))
    robot = bent_robot(5.0)
    at_base = robot.links[0]
    assert at_base.xyz is not None
    first = replace(
        at_base,
        xyz=tuple(world @ np.array(at_base.xyz)),
        rpy=rpy_from_rotation(world @ rotation_from_rpy(at_base.rpy)),
    )
    base = Placement(
        tuple(world @ np.array(robot.base.xyz)), rpy_from_rotation(world @ rotation_from_rpy(robot.base.rpy))
    )
    other = replace(robot, base=base, gravity=tuple(world @ np.array(robot.gravity)), links=(first, *robot.links[1:]))
    arm, turned_arm = ArmModel.of(robot).at(), ArmModel.of(other).at()
    state = loaded(arm, 2, seed)
    external = tuple(
        replace(
            load,
            force_world=world @ load.force_world,
            torque_world=None if load.torque_world is None else world @ load.torque_world,
        )
        for load in state.loads
        if load.origin == "external"
    )
    here = predict_exact(arm, state, "P1")
    there = predict_exact(turned_arm, State(state.q, (*external, *turned_arm.weights())), "P1")
    assert np.abs(there.position - world @ here.position).max() <= 1e-12
    assert np.abs(there.deflection_rotation - world @ here.deflection_rotation).max() <= 1e-12
    assert np.abs(there.rotation - np.einsum("ij,cjn->cin", world, here.rotation)).max() <= 1e-12


# ---------------------------------------------------------------- derivatives


def away(model: ArmModel, seed: int) -> dict[str, float]:
    """Every parameter off nominal, elastic ones by a part of themselves."""
    rng = np.random.default_rng(seed)
    values = {
        p.name: p.nominal * rng.uniform(0.8, 1.2) if p.elastic else p.nominal + p.scale * rng.normal()
        for p in model.parameters
    }
    return values | {"payload.mass": 40.0, "payload.x": 0.1, "payload.y": -0.1, "payload.z": 0.2}


@pytest.mark.parametrize(("point", "first", "step"), [("P1", 0, 7), ("P2", 1, 16)])
def test_columns_at_equilibrium_against_finite_differences(point: str, first: int, step: int) -> None:
    balanced = Compensator("A", 0.2, 0.7, 1.4, Spring(1e5, 0.45))
    model = ArmModel.of(replace(bent_robot(4.0), compensators=(balanced,)))
    values = away(model, 12)
    names = [p.name for p in model.parameters]
    arm = model.at(values)
    at, columns = sensitivity_exact(arm, loaded(arm, 2, 13, 500.0), point, names, rotation=True)
    checked = {*names[first::step], *(name for name in names if name.startswith(("load.", "payload.", "A.comp")))}
    for i, parameter in enumerate(model.parameters):
        if parameter.name not in checked:
            continue
        size = max(abs(values[parameter.name]), parameter.scale)
        h = {"payload.mass": 1.0, "load.gain": 0.05}.get(parameter.name, 0.05 * size)
        ends = []
        for shift in (-2 * h, -h, h, 2 * h):
            moved_arm = model.at(values | {parameter.name: values[parameter.name] + shift})
            moved = predict_exact(moved_arm, loaded(moved_arm, 2, 13, 500.0), point)
            product = np.einsum("cin,cjn->ijn", moved.rotation, at.rotation)
            ends.append(np.concatenate([moved.position, vector_of(np.moveaxis(product, 1, 0))]))
        truth = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
        for part in (slice(0, 3), slice(3, 6)):
            error = np.abs(columns[i, part] - truth[part]).max()
            limit = 1e-6 * np.abs(truth[part]).max() + 1e-14 / h
            assert error <= limit, f"{parameter.name} {part}: {error:.2e} > {limit:.2e}"


def test_columns_of_rigid_links_tell_what_softening_them_would_do() -> None:
    """A compliance that is zero has a column all the same, and it sees what else gives way."""
    robot = bent_robot(10.0)
    stiff = replace(robot, links=(replace(robot.links[0], compliance=None), *robot.links[1:]))
    model = ArmModel.of(stiff)
    state = loaded(model.at(), 3, 14, 500.0)
    name, h = "link0.compliance[ry,ry]", 1e-7
    column = sensitivity_exact(model.at(), state, "P1", [name])[1][0]
    ends = [predict_exact(model.at({name: x}), state, "P1").position for x in (0.0, h, 2 * h, 3 * h, 4 * h)]
    truth = sum(w * e for w, e in zip((-25, 48, -36, 16, -3), ends, strict=True)) / (12 * h)
    assert np.abs(column - truth).max() <= 1e-6 * np.abs(truth).max()


def test_cartesian_compliance_is_what_a_small_further_wrench_does() -> None:
    arm = ArmModel.of(bent_robot(10.0)).at()
    state = loaded(arm, 3, 15, 500.0)
    found = cartesian_compliance(arm, state, "tool")
    at = predict_exact(arm, state, "tool")
    for k in range(6):
        ends = []
        for h in (-20.0, -10.0, 10.0, 20.0):
            wrench = np.zeros((6, 1))
            wrench[k] = h
            more = Load(arm.chain.point("tool"), wrench[:3], wrench[3:])
            moved = predict_exact(arm, replace(state, loads=(*state.loads, more)), "tool")
            product = np.einsum("cin,cjn->ijn", moved.rotation, at.rotation)
            ends.append(np.concatenate([moved.position, vector_of(np.moveaxis(product, 1, 0))]))
        truth = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / 120.0
        assert np.abs(found[:, k] - truth).max() <= 1e-6 * np.abs(truth).max()
    stiffness = cartesian_stiffness(arm, state, "tool")
    product = np.einsum("ijn,jkn->ikn", stiffness, found)
    assert np.abs(product - np.eye(6)[:, :, None]).max() <= 1e-7


def test_stiffness_of_an_arm_that_is_rigid_somewhere_is_refused() -> None:
    arm = column([100.0], [1.0])
    with pytest.raises(InputError, match=r"rigid in some direction.*Ask for the compliance"):
        cartesian_stiffness(arm, pressed(arm, [10.0]), "tool")


def test_the_bent_frames_place_points_before_their_springs() -> None:
    """A spring bends what is beyond it: the body's own frame and its marker move only with what is before."""
    arm = ArmModel.of(bent_robot()).at()
    state = loaded(arm, 3, 16)
    posture = equilibrium(arm, state).posture()
    frames = posture.frames()
    marker = arm.chain.point("P2")
    placed = frames.origin[marker.body] + np.einsum("cin,c->in", frames.rotation[marker.body], marker.xyz)
    assert np.abs(placed - posture.point(marker).xyz).max() <= 1e-15
    tool = arm.chain.point("tool")
    moved = frames.origin[tool.body] + np.einsum("cin,c->in", frames.rotation[tool.body], tool.xyz)
    assert np.abs(moved - posture.point(tool).xyz).max() > 1e-6
    unit = matrix_of(np.zeros((3, 3)))
    for rotation in frames.rotation[1:]:
        assert np.abs(np.einsum("cin,din->cdn", rotation, rotation) - np.swapaxes(unit, 0, 1)).max() <= 1e-14
