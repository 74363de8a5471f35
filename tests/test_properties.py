"""What must hold for every arm: symmetries, names, units, reciprocity, superposition, loads in other words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from chains import robots
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import Prediction, elastic_columns, predict, sensitivity
from stiffarm.model.kernel import CHUNK, frames, jacobian, world_point
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import BodyPoint, Coupling, FileUnits, Link, Placement, Robot, Template, Tool
from stiffarm.robot.placement import Rigid, rotation_from_vector
from stiffarm.robot.reading import read_robot
from stiffarm.robot.urdf import placement_of
from stiffarm.robot.writing import write_robot

Floats = NDArray[np.float64]
N = 3
LOAD_TURN = ("load.rx", "load.ry", "load.rz")
CLOSE = 1e-11


def clothed(robot: Robot, seed: int) -> Robot:
    """A chain with everything a robot may have: springs, masses, points on tool and arm, a coupling."""
    rng = np.random.default_rng(seed)
    names = robot.joint_names
    joints = [
        replace(joint, compliance=rng.uniform(0.3, 3.0) * 1e-6, mass=rng.uniform(5.0, 90.0), com=triple(rng, 0.3))
        for joint in robot.joints
    ]
    if len(joints) > 1:
        joints[-1] = replace(joints[-1], couples_to=Coupling(names[0], 0.7))
    links = (
        Link("base", "symmetric", triple(rng, 0.5), triple(rng, 1.0), spring(rng)),
        *(Link(name, "symmetric", triple(rng, 0.5), triple(rng, 1.0), spring(rng)) for name in names),
    )
    tool = Tool(
        robot.tool.placement,
        load_points=(BodyPoint("hook", triple(rng, 0.4)), BodyPoint("elbow", triple(rng, 0.3), on=names[0])),
        markers=(BodyPoint("P1", triple(rng, 0.3)), BodyPoint("P2", triple(rng, 0.3), on=names[len(names) // 2])),
        mass=20.0,
        com=triple(rng, 0.2),
    )
    return replace(robot, joints=tuple(joints), links=links, tool=tool)


def triple(rng: np.random.Generator, size: float) -> tuple[float, float, float]:
    x, y, z = (size * rng.normal(size=3)).tolist()
    return (x, y, z)


def spring(rng: np.random.Generator) -> tuple[tuple[float, ...], ...]:
    """A symmetric positive definite 6x6 compliance."""
    root = rng.normal(size=(6, 6)) * np.repeat([1e-4, 5e-4], 3)[:, None]
    return tuple(tuple(row) for row in ((root @ root.T + (root @ root.T).T) / 2).tolist())


@dataclass(frozen=True)
class Pull:
    """A force and a moment at a named point, world frame."""

    point: str
    force_world: Floats
    torque_world: Floats | None = None

    def turned(self, rotation: Floats) -> Pull:
        torque = self.torque_world
        return Pull(self.point, rotation @ self.force_world, None if torque is None else rotation @ torque)


def pulls(seed: int) -> tuple[Pull, ...]:
    rng = np.random.default_rng(seed)
    return (
        Pull("hook", 1500.0 * rng.normal(size=(3, N)), 200.0 * rng.normal(size=(3, N))),
        Pull("elbow", 800.0 * rng.normal(size=(3, N))),
        Pull("tool", 300.0 * rng.normal(size=(3, 1))),
    )


def configurations(robot: Robot, seed: int) -> Floats:
    return np.random.default_rng(seed).uniform(-2.0, 2.0, (len(robot.joints), N))


def state_of(arm: Arm, q: Floats, loads: tuple[Pull, ...], *, weights: bool = True) -> State:
    placed = tuple(Load(arm.chain.point(p.point), p.force_world, p.torque_world) for p in loads)
    return State(q, (*placed, *(arm.weights() if weights else ())))


def wrong_values(model: ArmModel, seed: int) -> dict[str, float]:
    """Every rigid parameter off its nominal value."""
    rng = np.random.default_rng(seed)
    off = {p.name: p.nominal + p.scale * rng.normal() for p in model.parameters if not p.elastic}
    return off | {"payload.mass": 30.0}


def parts(prediction: Prediction) -> dict[str, Floats]:
    return {name: getattr(prediction, name) for name in ("position", "deflection", "rotation", "deflection_rotation")}


def assert_close(found: Floats, expected: Floats, tolerance: float = CLOSE) -> None:
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * max(1e-3, np.abs(expected).max(initial=0.0))


def assert_same(found: Prediction, expected: Prediction, tolerance: float = CLOSE) -> None:
    for name, value in parts(expected).items():
        assert_close(parts(found)[name], value, tolerance)


def some_names(model: ArmModel, seed: int, count: int = 16) -> list[str]:
    """Parameters of every kind."""
    return np.random.default_rng(seed).permutation([p.name for p in model.parameters])[:count].tolist()


seeds = st.integers(0, 10_000)
rotation_vectors = st.tuples(*[st.floats(-3.0, 3.0, allow_subnormal=False)] * 3)


# --- symmetries --------------------------------------------------------------------------------------------


def turned_world(robot: Robot, rotation: Floats) -> Robot:
    """The same robot in a cell that is turned with gravity, base and the base's spring."""
    turn = Rigid(rotation, np.zeros(3))

    def placed(placement: Placement) -> Placement:
        return placement_of(turn @ Rigid.of(placement))

    foot, *others = robot.links
    assert foot.xyz is not None
    place = placed(Placement(foot.xyz, foot.rpy))
    x, y, z = (rotation @ np.array(robot.gravity)).tolist()
    links = (replace(foot, xyz=place.xyz, rpy=place.rpy), *others)
    return replace(robot, base=placed(robot.base), gravity=(x, y, z), links=links)


@given(robot=robots(), seed=seeds, vector=rotation_vectors)
@settings(max_examples=25)
def test_a_turned_world_turns_everything(robot: Robot, seed: int, vector: tuple[float, float, float]) -> None:
    robot, rotation = clothed(robot, seed), rotation_from_vector(vector)
    q, loads = configurations(robot, seed), pulls(seed)
    model, turned_model = ArmModel.of(robot), ArmModel.of(turned_world(robot, rotation))
    values = wrong_values(model, seed)
    names = [name for name in some_names(model, seed) if name not in LOAD_TURN]
    turn = dict(zip(LOAD_TURN, rotation @ [values[name] for name in LOAD_TURN], strict=True))  # along world axes
    results = []
    turned_loads = tuple(load.turned(rotation) for load in loads)
    for one, mine, these in ((model, values, loads), (turned_model, values | turn, turned_loads)):
        arm = one.at(mine)
        results.append([sensitivity(arm, state_of(arm, q, these), point, names) for point in ("P1", "P2")])
    for (plain, columns), (turned, turned_columns) in zip(*results, strict=True):
        for name, value in parts(plain).items():
            across = value if value.ndim == 2 else value.swapaxes(0, 1)
            expected = np.einsum("ij,j...->i...", rotation, across)
            assert_close(parts(turned)[name], expected if value.ndim == 2 else expected.swapaxes(0, 1), 1e-9)
        for before, after in zip(columns, turned_columns, strict=True):
            assert_close(after, rotation @ before, 1e-9)


@given(robot=robots(), seed=seeds)
@settings(max_examples=25)
def test_reciprocity(robot: Robot, seed: int) -> None:
    """Maxwell and Betti: a unit force at h along v moves p along u as one at p along u moves h along v."""
    robot = clothed(robot, seed)
    arm, q = ArmModel.of(robot).at(), configurations(robot, seed)
    u, v = np.random.default_rng(seed).normal(size=(2, 3, 1))
    for p, h in (("P1", "hook"), ("P2", "hook"), ("P1", "elbow"), ("P2", "tool")):
        there = predict(arm, state_of(arm, q, (Pull(h, 1e3 * v),), weights=False), p).deflection
        back = predict(arm, state_of(arm, q, (Pull(p, 1e3 * u),), weights=False), h).deflection
        assert np.abs(there).max() > 0.0
        assert_close((u * there).sum(axis=0), (v * back).sum(axis=0))


@given(robot=robots(), seed=seeds)
@settings(max_examples=20)
def test_a_positive_spring_gives_way_to_the_load(robot: Robot, seed: int) -> None:
    robot = clothed(robot, seed)
    arm, q = ArmModel.of(robot).at(), configurations(robot, seed)
    force = pulls(seed)[0].force_world
    moved = predict(arm, state_of(arm, q, (Pull("hook", force),), weights=False), "hook").deflection
    assert ((force * moved).sum(axis=0) > 0.0).all()


# --- names, units, order -----------------------------------------------------------------------------------


def renamed(robot: Robot, names: dict[str, str]) -> Robot:
    def point(p: BodyPoint) -> BodyPoint:
        return replace(p, on=None if p.on is None else names[p.on])

    joints = tuple(
        replace(
            joint,
            name=names[joint.name],
            couples_to=None
            if joint.couples_to is None
            else replace(joint.couples_to, joint=names[joint.couples_to.joint]),
        )
        for joint in robot.joints
    )
    links = tuple(replace(link, after=names.get(link.after, link.after)) for link in robot.links)
    tool = replace(
        robot.tool,
        load_points=tuple(map(point, robot.tool.load_points)),
        markers=tuple(map(point, robot.tool.markers)),
    )
    return replace(robot, joints=joints, links=links, tool=tool)


@given(robot=robots(), seed=seeds)
@settings(max_examples=15)
def test_names_of_joints_change_nothing(robot: Robot, seed: int) -> None:
    robot = clothed(robot, seed)
    names = {name: f"axis {len(robot.joints) - k} of [cell]" for k, name in enumerate(robot.joint_names)}
    some = np.random.default_rng(seed).permutation(len(ArmModel.of(robot).parameters))[:16]
    models = ArmModel.of(robot), ArmModel.of(renamed(robot, names))
    results = []
    for model in models:
        values = dict(zip((p.name for p in model.parameters), wrong_values_in_order(models[0], seed), strict=True))
        arm = model.at(values)
        state = state_of(arm, configurations(robot, seed), pulls(seed))
        asked = [model.parameters[i].name for i in some]
        results.append(sensitivity(arm, state, "P1", asked, rotation=True))
    (first, columns), (second, other_columns) = results
    for name, value in parts(first).items():
        np.testing.assert_array_equal(parts(second)[name], value)
    np.testing.assert_array_equal(other_columns, columns)


def wrong_values_in_order(model: ArmModel, seed: int) -> list[float]:
    values = model.nominal | wrong_values(model, seed)
    return [values[p.name] for p in model.parameters]


@pytest.mark.parametrize("name", ["kr270", "kr500-rail", "ur10"])
def test_units_of_the_robot_file_change_nothing(name: str, tmp_path: Path) -> None:
    robot = clothed(read_robot(name), 3)
    results = []
    for units in (FileUnits("mm", "deg"), FileUnits("m", "rad"), FileUnits("mm", "rad"), FileUnits("m", "deg")):
        path = tmp_path / f"{units.length}-{units.angle}.robot.toml"
        write_robot(replace(robot, units=units), path)
        arm = ArmModel.of(read_robot(path)).at()
        results.append(predict(arm, state_of(arm, configurations(robot, 4), pulls(4)), "P1"))
    for other in results[1:]:
        assert_same(other, results[0], 1e-14)


@given(robot=robots(), seed=seeds)
@settings(max_examples=15)
def test_order_of_effects_changes_nothing(robot: Robot, seed: int) -> None:
    model = ArmModel.of(clothed(robot, seed))
    shuffled = np.random.default_rng(seed).permutation(len(model.effects))
    other = ArmModel(model.robot, tuple(model.effects[i] for i in shuffled))
    values, q = wrong_values(model, seed), configurations(model.robot, seed)
    names = some_names(model, seed)
    results = []
    for one in (model, other):
        arm = one.at(values)
        results.append(sensitivity(arm, state_of(arm, q, pulls(seed)), "P1", names, rotation=True))
    assert_same(results[1][0], results[0][0])
    for before, after in zip(results[0][1], results[1][1], strict=True):
        assert_close(after, before)


def test_names_may_be_asked_for_in_any_order_and_alone() -> None:
    model = ArmModel.of(clothed(read_robot("kr270"), 5))
    arm = model.at(wrong_values(model, 6))
    state = state_of(arm, configurations(model.robot, 7), pulls(7))
    names = [p.name for p in model.parameters]
    _, columns = sensitivity(arm, state, "P1", names)
    backwards = sensitivity(arm, state, "P1", names[::-1])[1]
    np.testing.assert_allclose(backwards[::-1], columns, rtol=1e-13, atol=1e-15)
    for name in ("A3.rz", "A2.coupling[A1]", "link3.compliance[x,rz]", "payload.x", "load.gain"):
        alone = sensitivity(arm, state, "P1", [name])[1][0]
        np.testing.assert_allclose(alone, columns[names.index(name)], rtol=1e-13, atol=1e-15)


# --- templates ---------------------------------------------------------------------------------------------


def with_template(robot: Robot, template: Template) -> ArmModel:
    """Links of one template, their values not yet known."""
    return ArmModel.of(replace(robot, links=tuple(replace(k, template=template, compliance=None) for k in robot.links)))


@pytest.mark.parametrize("template", ["beam", "diagonal"])
@pytest.mark.parametrize("name", ["kr270", "kr500-rail"])
def test_a_template_is_the_symmetric_one_with_zeros(name: str, template: Template) -> None:
    robot = clothed(read_robot(name), 8)
    narrow, wide = with_template(robot, template), with_template(robot, "symmetric")
    rng = np.random.default_rng(9)
    values = {p.name: p.scale * rng.uniform(0.5, 2.0) for p in narrow.parameters if p.name.startswith("link")}
    results = []
    for model in (narrow, wide):
        arm = model.at(values)
        results.append(sensitivity(arm, state_of(arm, configurations(robot, 10), pulls(10)), "P1", list(values)))
    assert set(values) < {p.name for p in wide.parameters}
    assert_same(results[1][0], results[0][0])
    assert_close(results[1][1], results[0][1])


@pytest.mark.parametrize("name", ["kr270", "kr500-rail"])
def test_a_symmetric_link_is_a_full_one_with_equal_halves(name: str) -> None:
    robot = clothed(read_robot(name), 11)
    full, symmetric = with_template(robot, "full"), with_template(robot, "symmetric")
    names = [p.name for p in symmetric.parameters if p.name.startswith("link")]
    rng = np.random.default_rng(12)
    values = {name: 1e-7 * rng.uniform(0.5, 2.0) for name in names}
    mirrored = {mirror(name): value for name, value in values.items()}
    arm, full_arm = symmetric.at(values), full.at(values | mirrored)
    state = state_of(arm, configurations(robot, 13), pulls(13))
    prediction, columns = sensitivity(arm, state, "P1", names)
    full_prediction, upper = sensitivity(full_arm, state, "P1", names)
    lower = sensitivity(full_arm, state, "P1", [mirror(name) for name in names])[1]
    assert_same(full_prediction, prediction)
    off_diagonal = np.array([mirror(name) != name for name in names])
    assert_close(upper + lower * off_diagonal[:, None, None], columns)
    assert np.abs((upper - lower)[off_diagonal]).max() > 0.0


def mirror(name: str) -> str:
    head, pair = name.rstrip("]").split("[")
    a, b = pair.split(",")
    return f"{head}[{b},{a}]"


# --- loads -------------------------------------------------------------------------------------------------


@given(robot=robots(), seed=seeds)
@settings(max_examples=15)
def test_deflections_add_up(robot: Robot, seed: int) -> None:
    robot = clothed(robot, seed)
    arm, q, loads = ArmModel.of(robot).at(), configurations(robot, seed), pulls(seed)
    together = predict(arm, state_of(arm, q, loads), "P1")
    singly = [predict(arm, state_of(arm, q, (load,), weights=False), "P1") for load in loads]
    singly.append(predict(arm, state_of(arm, q, ()), "P1"))
    for name in ("deflection", "deflection_rotation"):
        assert_close(parts(together)[name], np.sum([parts(one)[name] for one in singly], axis=0))
    assert_close(together.position - together.deflection, predict(arm, State(q), "P1").position)


@given(robot=robots(), seed=seeds)
@settings(max_examples=15)
def test_a_force_elsewhere_on_the_flange_is_a_force_and_its_moment(robot: Robot, seed: int) -> None:
    robot = clothed(robot, seed)
    arm, q = ArmModel.of(robot).at(), configurations(robot, seed)
    force = pulls(seed)[0].force_world
    at = frames(arm.chain, q)
    hook, tool = (world_point(at, arm.chain.point(name)).xyz for name in ("hook", "tool"))
    moment = np.cross(hook - tool, force, axis=0)
    one = predict(arm, state_of(arm, q, (Pull("hook", force),)), "P2")
    other = predict(arm, state_of(arm, q, (Pull("tool", force, moment),)), "P2")
    assert_same(other, one, 1e-10)


@given(robot=robots(), seed=seeds)
@settings(max_examples=15)
def test_measured_torques_bend_joints_as_the_loads_that_cause_them(robot: Robot, seed: int) -> None:
    robot = replace(clothed(robot, seed), links=())
    arm, q = ArmModel.of(robot).at(), configurations(robot, seed)
    force = pulls(seed)[0].force_world
    _, columns = jacobian(arm.chain, q, arm.chain.point("hook"))
    torque = np.einsum("kin,in->kn", columns, force)
    caused = predict(arm, state_of(arm, q, (Pull("hook", force),), weights=False), "P1")
    assert_same(predict(arm, State(q, joint_torque=torque), "P1"), caused)


@given(robot=robots(), seed=seeds)
@settings(max_examples=15)
def test_derivatives_by_payload_and_gain_are_differences(robot: Robot, seed: int) -> None:
    """Deflections are linear in the loads, so a whole kilogram is as good as a small one."""
    robot = clothed(robot, seed)
    model, q, loads = ArmModel.of(robot), configurations(robot, seed), pulls(seed)
    values = {"payload.mass": 25.0, "payload.x": 0.1, "payload.y": -0.2, "payload.z": 0.3, "load.gain": 1.2}
    names = list(values)

    def deflection(changed: dict[str, float]) -> Floats:
        arm = model.at(values | changed)
        return predict(arm, state_of(arm, q, loads), "P1").deflection

    arm = model.at(values)
    _, columns = sensitivity(arm, state_of(arm, q, loads), "P1", names)
    for name, column in zip(names, columns, strict=True):
        step = deflection({name: values[name] + 1.0}) - deflection({name: values[name] - 1.0})
        assert_close(column, step / 2.0, 1e-10)


def test_a_payload_is_a_heavier_tool() -> None:
    robot = clothed(read_robot("kr270"), 14)
    q, loads = configurations(robot, 15), pulls(15)
    bare = replace(robot, tool=replace(robot.tool, mass=0.0))
    x, y, z = robot.tool.com
    payload = {"payload.mass": robot.tool.mass, "payload.x": x, "payload.y": y, "payload.z": z}
    heavy, carrying = ArmModel.of(robot).at(), ArmModel.of(bare).at(payload)
    expected = predict(heavy, state_of(heavy, q, loads), "P1")
    assert_same(predict(carrying, state_of(carrying, q, loads), "P1"), expected)
    by_state = ArmModel.of(bare).at()
    loaded = State(
        q, (*state_of(by_state, q, loads, weights=False).loads, *by_state.weights(payload=(20.0, (x, y, z))))
    )
    assert robot.tool.mass == 20.0
    assert_same(predict(by_state, loaded, "P1"), expected)
    assert np.abs(predict(by_state, state_of(by_state, q, loads), "P1").deflection - expected.deflection).max() > 1e-6


def test_a_payload_does_not_bend_where_weights_do_not_count() -> None:
    model = ArmModel.of(clothed(read_robot("kr270"), 16))
    q, arm = configurations(model.robot, 17), model.at({"payload.mass": 50.0})
    state = state_of(arm, q, pulls(17), weights=False)
    prediction, columns = sensitivity(arm, state, "P1", ["payload.mass", "payload.x"])
    assert_same(prediction, predict(model.at(), state, "P1"), 0.0)
    assert not columns.any()


# --- batches -----------------------------------------------------------------------------------------------


def test_chunks_change_nothing() -> None:
    """Batches of several chunks, whatever their ends, against single configurations."""
    model = ArmModel.of(clothed(read_robot("kr270"), 18))
    arm, n = model.at(), CHUNK + 5
    rng = np.random.default_rng(19)
    q, force = rng.uniform(-2.0, 2.0, (6, n)), 1e3 * rng.normal(size=(3, n))
    load = Load(arm.chain.point("hook"), force)
    state, names = State(q, (load, *arm.weights())), ["A2.compliance", "link3.compliance[x,rz]", "A3.ry"]
    prediction, columns = sensitivity(arm, state, "P1", names)
    elastic = elastic_columns(arm, state, "P1", names[:2])
    position, jacobians = jacobian(arm.chain, q, arm.chain.point("P1"))
    for i in (0, 1, CHUNK - 1, CHUNK, n - 1):
        rows = slice(i, i + 1)
        one, one_columns = sensitivity(arm, state.part(rows), "P1", names)
        for name, value in parts(one).items():
            assert_close(parts(prediction)[name][..., rows], value, 1e-13)
        assert_close(columns[..., rows], one_columns, 1e-13)
        assert_close(elastic[..., rows], one_columns[:2], 1e-13)
        one_position, one_jacobian = jacobian(arm.chain, q[:, rows], arm.chain.point("P1"))
        assert_close(position[:, rows], one_position, 1e-14)
        assert_close(jacobians[..., rows], one_jacobian, 1e-14)


def test_an_empty_batch_is_empty() -> None:
    arm = ArmModel.of(clothed(read_robot("kr270"), 20)).at()
    position, columns = jacobian(arm.chain, np.zeros((6, 0)), arm.chain.point("P1"))
    assert position.shape == (3, 0)
    assert columns.shape == (6, 3, 0)
