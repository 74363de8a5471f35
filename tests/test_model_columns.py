"""Every column and every derivative of a column against central differences of the thing itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stiffarm.model import effects
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.chain import Chain, build_chain
from stiffarm.model.coupling import AxisTable, column_derivative, load_derivative
from stiffarm.model.evaluate import elastic_columns, predict, sensitivity
from stiffarm.model.kernel import WorldPoint, frames, jacobian, world_node, world_point
from stiffarm.model.loads import Load, State, felt_loads
from stiffarm.model.rotations import rotate, vector_of
from stiffarm.robot.arm import BodyPoint, Compensator, GasCylinder, Link, Robot, Spring, Tool
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.reading import read_robot

ROBOTS = packaged_robots()
N = 2
EFFECTS = len(effects.__all__) - len(["Effect", "Entry", "LoadEntry", "AxisOf", "Plain", "default_effects"])
TWO_POINTS = ((-1, -1 / 2), (1, 1 / 2))
FOUR_POINTS = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))


def loaded_robot(name: str) -> Robot:
    """A packaged robot with every kind of effect: links of two kinds, masses, compensators, markers on tool and arm."""
    robot = read_robot(name)
    links = tuple(
        Link(after=after, template="full" if after == robot.joint_names[1] else "symmetric", rpy=(0.1, -0.2, 0.3))
        for after in ("base", *robot.joint_names)
    )
    joints = tuple(
        replace(joint, mass=100.0 - 10 * k, com=(0.05, -0.1, 0.2), compliance=1e-6)
        for k, joint in enumerate(robot.joints)
    )
    middle = robot.joint_names[2]
    tool = Tool(
        placement=robot.tool.placement,
        load_points=(BodyPoint("hook", (0.3, 0.1, -0.2)), BodyPoint("elbow", (0.1, 0.2, 0.0), on=middle)),
        markers=(BodyPoint("P1", (0.1, 0.2, 0.3)), BodyPoint("P4", (0.05, 0.1, -0.2), on=middle)),
        mass=30.0,
        com=(0.0, 0.05, 0.1),
    )
    spring, gas = Spring(200e3, 0.45), GasCylinder("push", 1.25, 6e-3, s0=9.0, sv=0.35)
    carried = [joint.name for joint in robot.joints if joint.kind == "revolute"][1:3]
    beside = zip(carried, (spring, gas), strict=True)
    compensators = tuple(Compensator(joint, 0.18, 0.7, 1.4, element) for joint, element in beside)
    return replace(robot, links=links, joints=joints, tool=tool, compensators=compensators, priors=())


def random_values(model: ArmModel, seed: int) -> dict[str, float]:
    """Every parameter away from nominal, as an arm in the shop would be; 6x6 springs positive definite."""
    rng = np.random.default_rng(seed)
    values = {}
    for p in model.parameters:
        if ".compliance[" in p.name:
            row, column = p.name.split("[")[1].rstrip("]").split(",")
            values[p.name] = p.scale * (rng.uniform(0.5, 1.0) if row == column else rng.uniform(-0.1, 0.1))
        elif ".compensator." in p.name:
            values[p.name] = p.nominal + 0.1 * p.scale * rng.normal()
        elif p.elastic:
            values[p.name] = p.scale * rng.uniform(0.3, 3.0)
        else:
            values[p.name] = p.nominal + p.scale * rng.normal()
    return values | {"payload.mass": 40.0, "payload.x": 0.1, "payload.y": -0.1, "payload.z": 0.2}


def make_state(arm: Arm, seed: int) -> State:
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.5, 1.5, (arm.chain.n_joints, N))
    loads = (
        Load(arm.chain.point("hook"), rng.normal(size=(3, N)) * 2000.0, rng.normal(size=(3, N)) * 100.0),
        Load(arm.chain.point("elbow"), rng.normal(size=(3, N)) * 500.0),
    )
    return State(q, (*loads, *arm.weights()))


def at_values(model: ArmModel, values: dict[str, float], seed: int) -> tuple[Arm, State]:
    """Loads are fixed in the world but their points move with the arm, so the state is rebuilt."""
    arm = model.at(values)
    return arm, make_state(arm, seed)


def as_rotvec(rotation: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Rotation vector of ``rotation`` relative to ``reference``, applied from the left."""
    product = np.einsum("cin,cjn->ijn", rotation, reference)  # R R_ref^T, rows i, columns j
    return vector_of(np.moveaxis(product, 1, 0))


def controller_step(chain: Chain, joint: int) -> np.ndarray:
    """Change (joints, 1) of the controller values that moves one joint alone, also where the file couples two."""
    return np.linalg.inv(chain.mix)[:, [joint]]


@pytest.mark.parametrize("name", ROBOTS)
def test_every_column_against_finite_differences(name: str) -> None:
    model = ArmModel.of(loaded_robot(name))
    assert len({type(effect) for effect in model.effects}) == EFFECTS
    assert_columns(model, ("P1", "P4", "tool") if name == "kr270" else ("P4", "tool"), deflection=False)


@pytest.mark.parametrize("name", ["kr270", "kr500-rail", "kr60", "ur10", "iiwa7"])
def test_columns_of_deflections_against_finite_differences(name: str) -> None:
    assert_columns(ArmModel.of(loaded_robot(name)), ("P1",), deflection=True)


def assert_columns(model: ArmModel, points: tuple[str, ...], *, deflection: bool) -> None:
    """Every column of positions, or of deflections, and of turns is what differences give, to 1e-6 of its size."""
    values = random_values(model, 1)
    arm, state = at_values(model, values, 2)
    names = [p.name for p in model.parameters]
    found = {point: sensitivity(arm, state, point, names, rotation=True, deflection=deflection) for point in points}
    curved = tuple(f"{compensator.joint}.comp" for compensator in model.robot.compensators)
    for i, parameter in enumerate(model.parameters):
        h = 1.0 if parameter.name == "payload.mass" else parameter.scale * 0.1
        truths = {point: np.zeros_like(found[point][1][i]) for point in points}
        for step, weight in FOUR_POINTS if parameter.name.startswith(curved) else TWO_POINTS:
            shifted = values | {parameter.name: values[parameter.name] + step * h}
            moved_arm, moved_state = at_values(model, shifted, 2)
            for point in points:
                moved = predict(moved_arm, moved_state, point)
                shift, turn = moved.position, as_rotvec(moved.rotation, found[point][0].rotation)
                if deflection:
                    shift, turn = moved.deflection, moved.deflection_rotation
                truths[point] += np.concatenate([shift, turn]) * (weight / h)
        for point, truth in truths.items():
            for part in (slice(0, 3), slice(3, 6)):
                rounding = 1e-15 / h  # of a position of some metres
                error = np.abs(found[point][1][i, part] - truth[part]).max()
                limit = 1e-6 * np.abs(truth[part]).max() + 5 * rounding
                assert error <= limit, f"{parameter.name} at {point} {part}: {error:.2e} > {limit:.2e}"


@pytest.mark.parametrize("name", ROBOTS)
def test_jacobian_is_the_derivative_by_joint_values(name: str) -> None:
    robot = read_robot(name)
    chain = build_chain(robot)
    q = np.random.default_rng(3).uniform(-1.5, 1.5, (chain.n_joints, N))
    _, columns = jacobian(chain, q, chain.point("tool"))
    for k in range(chain.n_joints):
        h = 1e-4
        values = []
        for shift in (-2, -1, 1, 2):
            moved = q + shift * h * controller_step(chain, k)
            values.append(jacobian(chain, moved, chain.point("tool"))[0])
        truth = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert np.abs(columns[k] - truth).max() <= 1e-9 * max(1.0, np.abs(truth).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_of_columns_and_of_loads_by_joint_values(name: str) -> None:
    """The second derivatives that couple virtual joints, of every axis there is, with loads at two points."""
    robot = replace(loaded_robot(name))
    arm = ArmModel.of(robot).at()
    chain = arm.chain
    state = make_state(arm, 5)
    owned = [(arm.nodes(i), effect.axes) for i, effect in enumerate(arm.model.effects) if effect.axes]
    axes = [(nodes[axis.node], axis) for nodes, of_effect in owned for axis in of_effect]

    def table_at(q: np.ndarray) -> tuple[AxisTable, WorldPoint]:
        at = frames(chain, q)
        nodes = [world_node(at, node) for node, _ in axes]
        felt = felt_loads(at, state.loads, nodes)
        table = AxisTable.of(nodes, [a.row for _, a in axes], [a.turning for _, a in axes], felt)
        return table, world_point(at, chain.point("P1"))

    def joint_table() -> AxisTable:
        at = frames(chain, state.q)
        nodes = [world_node(at, chain.joint_node(k)) for k in range(chain.n_joints)]
        return AxisTable.of(
            nodes, [0] * len(nodes), [not p for p in chain.prismatic], felt_loads(at, state.loads, nodes)
        )

    def torque(table: AxisTable) -> np.ndarray:
        moment = np.stack([f.moment for f in table.felt])
        turning = np.einsum("min,min->mn", table.direction, moment)
        sliding = np.einsum("min,min->mn", table.direction, table.force)
        return np.where(table.turning > 0, turning, sliding)

    here, point = table_at(state.q)
    by_column, by_load = column_derivative(joint_table(), here, point), load_derivative(joint_table(), here)
    h = 1e-4
    for g in range(chain.n_joints):
        columns, loads = [], []
        for shift in (-2, -1, 1, 2):
            moved = state.q + shift * h * controller_step(chain, g)
            table, p = table_at(moved)
            columns.append(table.columns(p))
            loads.append(torque(table))
        for found, ends in ((by_column[g], columns), (by_load[g], loads)):
            truth = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
            assert np.abs(found - truth).max() <= 1e-8 * max(1.0, np.abs(truth).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_a_hanging_load_does_not_turn_an_upright_axis(name: str) -> None:
    """Exactly: rounding in its column would be taken for information."""
    robot = read_robot(name)
    arm = ArmModel.of(robot).at()
    upright = next(joint.name for joint in robot.joints if joint.kind == "revolute")
    q = np.random.default_rng(8).uniform(-1.5, 1.5, (len(robot.joints), 20))
    hanging = Load(arm.chain.point("tool"), np.array([[0.0], [0.0], [-2600.0]]))
    for loads in ((hanging,), arm.weights()):
        assert np.all(elastic_columns(arm, State(q, loads), "tool", [f"{upright}.compliance"]) == 0.0)
    aside = Load(arm.chain.point("tool"), np.array([[300.0], [200.0], [-2600.0]]))
    assert np.abs(elastic_columns(arm, State(q, (aside,)), "tool", [f"{upright}.compliance"])).max() > 1.0


def test_a_marker_alone_under_load() -> None:
    model = ArmModel.of(loaded_robot(ROBOTS[0]))
    arm, state = at_values(model, random_values(model, 3), 3)
    names = ["tool.P1.x", "tool.P1.y", "tool.P1.z"]
    alone = sensitivity(arm, state, "P1", names, rotation=True)[1]
    beside = sensitivity(arm, state, "P1", [*names, f"{model.robot.joint_names[0]}.x"], rotation=True)[1]
    np.testing.assert_array_equal(alone, beside[:3])
    assert np.abs(alone).max() > 0.1


def test_rotation_vectors_round_trip_up_to_half_a_turn() -> None:
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(3, 200))
    direction /= np.linalg.norm(direction, axis=0)
    vector = direction * np.concatenate([np.linspace(0, np.pi - 1e-9, 150), np.logspace(-12, -1, 50)])
    matrix = rotate(vector, np.broadcast_to(np.eye(3)[:, :, None], (3, 3, 200)))
    assert np.abs(vector_of(matrix) - vector).max() < 1e-7
    assert np.abs(vector_of(matrix)[:, 150:] - vector[:, 150:]).max() < 1e-15
