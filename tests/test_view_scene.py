"""What the view shows where, without a browser: surfaces, the arm's parts, bending, compliance, poses, readings."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from budget_scenarios import MODEL, Scenario, plan, truth
from stiffarm.cli.main import main
from stiffarm.compensate.model_file import KnownModel, read_model
from stiffarm.errors import InputError
from stiffarm.measure.virtual import simulate
from stiffarm.measure.writing import write_campaign
from stiffarm.model.arm_model import ArmModel
from stiffarm.report.view.misses import misses
from stiffarm.report.view.parts import drawn_parts
from stiffarm.report.view.scene import Asked, Posed, Pull, magnified, posed
from stiffarm.report.view.shapes import Mesh, box, capsule, cylinder, image_of_sphere, joined, sphere
from stiffarm.report.view.stage import quaternion
from stiffarm.report.view.stops import stops_from
from stiffarm.report.view.subject import Subject, known_point, subject_of
from stiffarm.report.view.urdf_shapes import mesh_path, urdf_shapes
from stiffarm.report.view.words import described, panel_html
from stiffarm.robot.arm import AxisPlacement, Capsule, Joint, Placement, Robot
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.placement import Rigid, rotation_from_vector

DOWN = np.array([0.0, 0.0, -800.0])
HEADER = "experiment," + ",".join(f"q.A{k}[deg]" for k in range(1, 7))


def down(newtons: float = 800.0, point: str = "tool") -> tuple[Pull, ...]:
    return (Pull(point, np.array([0.0, 0.0, -newtons]), np.zeros(3)),)


@pytest.fixture(scope="module")
def bent() -> tuple[KnownModel, Asked, Posed]:
    known = read_model("kr270")
    asked = Asked(np.radians([20.0, -60.0, 70.0, 30.0, 40.0, -50.0]), down())
    return known, asked, posed(known.arm(), asked)


@pytest.mark.parametrize(
    ("mesh", "volume"),
    [
        (sphere(0.3), 4.0 / 3.0 * math.pi * 0.3**3),
        (capsule((1.0, 2.0, 3.0), (0.0, 2.0, 1.0), 0.2), math.pi * (0.04 * math.sqrt(5.0) + 4.0 / 3.0 * 0.008)),
        (capsule((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), 0.2), 4.0 / 3.0 * math.pi * 0.008),
        (cylinder((1.0, 0.0, 0.0), (0.6, 0.0, -0.8), 0.5, 2.0), math.pi * 0.25 * 2.0),
        (box((1.0, 2.0, 3.0)), 6.0),
        (image_of_sphere(np.diag([1.0, 2.0, 0.5])), 4.0 / 3.0 * math.pi),
        (joined([box((1.0, 1.0, 1.0)), box((2.0, 1.0, 1.0))]), 3.0),
    ],
)
def test_surfaces_are_closed_and_hold_their_volume(mesh: Mesh, volume: float) -> None:
    edges = Counter((int(f[i]), int(f[(i + 1) % 3])) for f in mesh.faces for i in range(3))
    assert all(count == 1 and edges[(b, a)] == 1 for (a, b), count in edges.items())
    assert 0.95 * volume < mesh.volume <= volume * (1.0 + 1e-12)


@pytest.mark.parametrize("name", packaged_robots())
def test_links_reach_from_joint_to_joint(name: str) -> None:
    """In a random posture every link has its surface about the next joint, but for joints that share a place."""
    arm = read_model(name).arm()
    n = arm.chain.n_joints
    found = posed(arm, Asked(np.random.default_rng(4).uniform(-1.0, 1.0, n)))
    parts = drawn_parts(arm)
    assert {part.carrier for part in parts if part.role == "joint"} == set(range(1, n + 1))
    for k in range(1, n):
        step = found.rest[k + 1].translation - found.rest[k].translation
        links = [part.mesh.placed(found.rest[k]).vertices for part in parts if (part.carrier, part.role) == (k, "link")]
        if arm.chain.prismatic[k] or np.linalg.norm(step) < 1e-6:
            continue
        nearest = min(
            (float(np.linalg.norm(v - found.rest[k + 1].translation, axis=1).min()) for v in links), default=0.0
        )
        assert nearest < 0.05 * sum(np.linalg.norm(f.translation) for f in arm.chain.fixed)


def test_rigid_carriers_carry_the_points(bent: tuple[KnownModel, Asked, Posed]) -> None:
    """Where a point of the tool is follows from its carrier, unloaded and bent."""
    known, _, found = bent
    chain = known.arm().chain
    assert found.bent is not None
    for at in (*found.rest, *found.bent):
        assert np.abs(at.rotation @ at.rotation.T - np.eye(3)).max() < 1e-12
    for name in ("flange", "tool", "P1", "hook"):
        local = chain.points[name].xyz
        assert np.abs(found.rest[-1].apply(local) - found.points[name]).max() < 1e-12
        assert np.abs(found.bent[-1].apply(local) - found.points[name] - found.moved[name]).max() < 1e-12
    assert 1e-4 < np.linalg.norm(found.moved["tool"]) < 1e-1


def test_a_lever_bends_by_its_law() -> None:
    """One soft joint: torque k * angle; at the end of a bar of 2 m under F down from the horizontal."""
    joint = Joint("J", "revolute", AxisPlacement(axis=(0.0, 1.0, 0.0)), compliance=1e-4)
    arm = ArmModel.of(Robot("bar", (joint,), flange=Placement((2.0, 0.0, 0.0)))).at()
    found = posed(arm, Asked(np.zeros(1), down(1000.0)))
    angle = 0.2
    for _ in range(50):  # angle = k F l cos(angle)
        angle = 1e-4 * 1000.0 * 2.0 * math.cos(angle)
    expected = 2.0 * np.array([math.cos(angle) - 1.0, 0.0, -math.sin(angle)])
    assert np.abs(found.moved["tool"] - expected).max() < 1e-9
    assert [a.weight for a in found.arrows] == [False]


def test_compliance_is_what_one_newton_more_does(bent: tuple[KnownModel, Asked, Posed]) -> None:
    known, asked, found = bent
    assert found.compliance is not None
    step = 5.0
    for i, axis in enumerate(np.eye(3)):
        more = replace(asked, pulls=(*asked.pulls, Pull("tool", step * axis, np.zeros(3))))
        less = replace(asked, pulls=(*asked.pulls, Pull("tool", -step * axis, np.zeros(3))))
        moved = (posed(known.arm(), more).moved["tool"] - posed(known.arm(), less).moved["tool"]) / (2.0 * step)
        assert np.abs(moved - found.compliance[:, i]).max() < 1e-5 * np.abs(found.compliance).max()


def test_magnification_is_a_straight_line_from_the_unloaded_arm() -> None:
    rest = Rigid(rotation_from_vector((0.3, -1.0, 0.2)), np.array([1.0, 2.0, 3.0]))
    turn = np.array([1e-3, 2e-3, -1e-3])
    there = Rigid(rotation_from_vector(turn) @ rest.rotation, rest.translation + np.array([1e-3, 0.0, -2e-3]))
    for m in (0.0, 1.0, 100.0):
        drawn = magnified(rest, there, m)
        assert np.allclose(drawn.translation, rest.translation + m * np.array([1e-3, 0.0, -2e-3]), atol=1e-12)
        assert np.allclose(drawn.rotation, rotation_from_vector(m * turn) @ rest.rotation, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_quaternions_turn_as_matrices_do(seed: int) -> None:
    turn = np.random.default_rng(seed).normal(size=3) * (0.1, 3.0)[seed % 2]
    r = rotation_from_vector(turn)
    w, x, y, z = quaternion(r)
    columns = [
        [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
        [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
        [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)],
    ]
    assert np.abs(np.array(columns).T - r).max() < 1e-12


def test_too_much_load_is_said_and_nothing_bent_is_drawn() -> None:
    joint = Joint("J", "revolute", AxisPlacement(axis=(0.0, 1.0, 0.0)), compliance=1e-3)
    known = KnownModel("column", ArmModel.of(Robot("column", (joint,), flange=Placement((0.0, 0.0, 1.0)))), {})
    subject = subject_of(known, force=down(1001.0)[0])
    found = posed(subject.arm, subject.start)
    assert found.bent is None
    assert found.compliance is None
    assert found.trouble == "the arm buckles under its loads"
    assert "the arm buckles under its loads" in panel_html(subject, "start", found)


def test_measured_markers_stand_beside_the_predicted_ones() -> None:
    """Readings of the model itself, in a frame nobody stated, miss nothing; one moved by 1 mm misses by that."""
    scenario = Scenario("position")
    values, frames = truth(scenario, np.random.default_rng(2))
    known = KnownModel("m", MODEL, values)
    read = simulate(MODEL.at(values), plan(scenario, 12, 1, 1, seed=3), seed=1, frames=frames).campaign
    clean = misses(known, read)
    nobody = subject_of(KnownModel("m", MODEL, {**values, "tool.P1.x": 0.9}), campaign=read)
    assert any("markers sit elsewhere than is known here" in line for line in described(nobody))
    assert clean.fitted == ("day",)
    assert len(clean) == 36
    assert clean.max_m < 1e-8
    shift = np.array([6e-4, 0.0, -8e-4])
    value = read.readings.value.copy()
    value[:3, 7] += shift
    moved = replace(read, readings=replace(read.readings, value=value))
    placed = replace(known, setups=_setups(frames))
    found = misses(placed, moved)
    assert found.fitted == ()
    assert found.max_m == pytest.approx(1e-3, rel=1e-5)
    assert np.allclose(found.miss[:, 7], frames["day"].rotation.T @ shift, atol=1e-8)
    assert np.allclose(found.measured(50.0) - found.predicted, 50.0 * found.miss)


def _setups(frames: dict[str, Rigid]) -> tuple:  # type: ignore[type-arg]
    from stiffarm.compensate.model_file import KnownSetup

    return tuple(KnownSetup(name, frame) for name, frame in frames.items())


def test_a_plan_gives_poses_loads_and_the_cable(tmp_path: Path) -> None:
    cable = ",".join(f"cable{i}.{a}[m]" for i in (1, 2) for a in "xyz")
    rows = ["e1,0,-60,60,0,10,0,deflection,1,0,2,3,0,2,500,hook", "e2,30,-90,90,10,20,5,deflection,,,,,,,,hook"]
    file = tmp_path / "a.plan.csv"
    file.write_text("\n".join([f"{HEADER},observation,{cable},force[N],load_point", *rows]) + "\n", encoding="utf-8")
    known = read_model("kr270")
    stops = stops_from(file, known)
    assert stops.names == ("e1", "e2")
    assert stops.attachment is not None
    assert np.array_equal(stops.attachment[:, 0], [3.0, 0.0, 2.0])
    assert np.isnan(stops.attachment[:, 1]).all()
    first, second = stops.asked(0), stops.asked(1)
    assert [p.point for p in first.pulls] == ["hook"]
    assert np.allclose(first.pulls[0].force_world, [500.0, 0.0, 0.0])
    assert not first.weights, "a deflection feels the external load alone"
    assert second.pulls == ()
    subject = subject_of(known, plan=file)
    assert np.allclose(subject.track[:, 1], posed(subject.arm, second).points["tool"])
    assert any("2 poses" in line and "cable" in line for line in described(subject))
    pulled = subject_of(known, plan=file, force=down(50.0, "P1")[0])
    assert pulled.stops is not None
    assert [p.point for p in pulled.stops.asked(1).pulls] == ["P1"]


def test_a_path_gives_poses_too(tmp_path: Path) -> None:
    file = tmp_path / "a.path.csv"
    file.write_text(f"{HEADER.removeprefix('experiment,')},force.z[N]\n0,-90,90,0,0,0,-300\n", encoding="utf-8")
    stops = stops_from(file, read_model("kr270"))
    assert stops.asked(0).weights
    assert np.allclose(stops.asked(0).pulls[0].force_world, [0.0, 0.0, -300.0])


def test_stated_sizes_and_obstacles_are_drawn_as_they_are(tmp_path: Path) -> None:
    """Against places worked out here: a capsule from 0.2 m to the elbow of a turned arm, a ball, a turned box."""
    robot = read_model("kr270").robot
    link = Capsule("A2", 0.2, (0.2, 0.0, 0.0), (1.25, 0.0, 0.0))
    held = Capsule("flange", 0.1, (0.0, 0.0, 0.0), (0.3, 0.0, 0.0))
    foot = Capsule("base", 0.3, (0.0, 0.0, 0.1), (0.0, 0.0, 0.2))
    sized = replace(robot, capsules=(link, held, foot))
    arm = ArmModel.of(sized).at()
    found = posed(arm, Asked(np.radians([0.0, -90.0, 90.0, 0.0, 0.0, 0.0])))
    parts = drawn_parts(arm)
    boxes = {}
    for carrier in (0, 2, 7):
        (part,) = (p for p in parts if p.carrier == carrier and p.role != "joint")
        vertices = part.mesh.placed(found.rest[carrier]).vertices
        boxes[carrier] = (vertices.min(axis=0), vertices.max(axis=0))
    # A2 stands upright at x = 0.35, z = 0.75; the forearm lies 0.055 below the elbow, its flange at x = 1.68
    assert np.allclose(boxes[2], [[0.15, -0.2, 0.75], [0.55, 0.2, 2.2]], atol=1e-3)
    assert np.allclose(boxes[7], [[1.58, -0.1, 1.845], [2.08, 0.1, 2.045]], atol=1e-3)
    assert np.allclose(boxes[0], [[-0.3, -0.3, -0.2], [0.3, 0.3, 0.5]], atol=1e-3)
    assert drawn_parts(arm, 1.1)[0].mesh.volume > parts[0].mesh.volume
    cell = tmp_path / "a.cell.toml"
    cell.write_text(CELL, encoding="utf-8")
    subject = subject_of(read_model("kr270"), cell=cell)
    ball, table = subject.obstacles
    assert np.allclose(ball.vertices.min(axis=0), [1.9, 0.9, -0.1], atol=1e-3)
    assert np.allclose(np.ptp(table.vertices, axis=0), [2.0, 1.0, 0.5], atol=1e-9)
    assert "2 obstacles of the cell." in described(subject)
    assert "drawn by the capsules of its file" in described(subject_of(KnownModel("sized", ArmModel.of(sized), {})))[0]


CELL = """format = "stiffarm-cell/1"
units = { length = "mm", angle = "deg" }
[[obstacle]]
name = "ball"
type = "capsule"
radius = 100.0
start = [2000.0, 1000.0, 0.0]
[[obstacle]]
name = "table"
type = "box"
size = [1000.0, 2000.0, 500.0]
xyz = [2000.0, 0.0, 250.0]
rpy = [0.0, 0.0, 90.0]
"""


def test_scales_fit_the_arm(tmp_path: Path) -> None:
    scenario = Scenario("position")
    values, frames = truth(scenario, np.random.default_rng(2))
    read = simulate(MODEL.at(values), plan(scenario, 6, 1, 1, seed=3), seed=1, sigma_m=3e-5, frames=frames).campaign
    file = tmp_path / "a.campaign.csv"
    write_campaign(read, file, units="m,rad")
    subject = subject_of(KnownModel("m", MODEL, values), campaign=file)
    assert subject.stops is not None
    assert subject.misses is not None
    size, found = subject.reach_m, posed(subject.arm, subject.stops.asked(0))
    drawn = subject.magnification * max(
        np.linalg.norm(d) for i in range(6) for d in posed(subject.arm, subject.stops.asked(i)).moved.values()
    )
    assert size / 20.0 <= drawn <= size / 8.0
    assert size / 30.0 <= subject.misses_magnification * subject.misses.max_m <= size / 12.0
    assert found.compliance is not None
    largest = subject.compliance_scale * np.linalg.norm(found.compliance, 2)
    assert largest == pytest.approx(size / 8.0)
    text = panel_html(subject, "<b>e1</b>", found)
    assert "&lt;b&gt;e1" in text
    assert all(word in text for word in ("tool at", "bends by", "gives way", "measured"))


def test_an_arm_without_compliances_says_so() -> None:
    subject = subject_of(read_model("ur5"))
    assert "It has no compliances, so nothing bends." in described(subject)
    found = posed(subject.arm, subject.start)
    assert not any(d.any() for d in found.moved.values())
    assert "nothing bends here" in panel_html(subject, "start", found)


def test_a_point_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"point 'hok' does not exist.*hook.*Did you mean 'hook'"):
        known_point(read_model("kr270").arm(), "hok", "--load-point")


URDF = """<robot name="two">
<link name="base"><visual><geometry><box size="0.4 0.4 0.1"/></geometry></visual></link>
<link name="arm"><visual><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/>
  <geometry><cylinder radius="0.1" length="1.0"/></geometry></visual></link>
<link name="held"><visual><geometry><mesh filename="package://two/meshes/cube.stl" scale="0.1 0.1 -0.2"/></geometry>
  </visual><visual><geometry><mesh filename="package://two/meshes/none.stl"/></geometry></visual></link>
<link name="out"><visual><geometry><sphere radius="0.05"/></geometry></visual></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1"/></joint>
<joint name="j2" type="prismatic"><parent link="arm"/><child link="held"/><origin xyz="1 0 0"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="0.5"/></joint>
<joint name="tip" type="fixed"><parent link="held"/><child link="out"/><origin xyz="0.2 0 0"/></joint>
</robot>"""


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    trimesh = pytest.importorskip("trimesh", reason="trimesh is not installed (extra 'view')")
    package = tmp_path / "two"
    (package / "meshes").mkdir(parents=True)
    (package / "urdf").mkdir()
    trimesh.creation.box((1.0, 1.0, 1.0)).export(package / "meshes" / "cube.stl")
    file = package / "urdf" / "two.urdf"
    file.write_text(URDF, encoding="utf-8")
    return file


def test_shapes_of_a_urdf_stand_where_its_links_do(urdf: Path) -> None:
    """Against link frames worked out here by hand: j1 turned by 0.5, j2 slid by 0.3."""
    arm = read_model(urdf).arm()
    found = posed(arm, Asked(np.array([0.5, 0.3])))
    shapes = urdf_shapes(arm)
    assert shapes.missing == ("link 'held': mesh 'package://two/meshes/none.stl' is not there",)
    turned = Rigid(rotation_from_vector((0.0, 0.5, 0.0)), np.array([0.0, 0.0, 0.3]))
    centres = {0: (0.0, 0.0, 0.0), 1: turned.apply((0.5, 0.0, 0.0))}
    for carrier, centre in centres.items():
        (part,) = (p for p in shapes.parts if p.carrier == carrier)
        vertices = part.mesh.placed(found.rest[carrier]).vertices
        assert np.allclose(0.5 * (vertices.min(axis=0) + vertices.max(axis=0)), centre, atol=1e-9)
    held, out = (p.mesh.placed(found.rest[2]) for p in shapes.parts if p.carrier == 2)
    assert np.allclose(held.vertices.mean(axis=0), turned.apply((1.3, 0.0, 0.0)), atol=1e-9)
    assert held.volume == pytest.approx(0.002), "mirrored by its scale and still seen from outside"
    assert np.allclose(out.vertices.mean(axis=0), turned.apply((1.5, 0.0, 0.0)), atol=1e-3)


INCHES = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.0254" name="inch"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 10 0 0 0 10 0 0 0 10</float_array>
<technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"/></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_a_mesh_in_inches_is_drawn_in_metres(urdf: Path) -> None:
    pytest.importorskip("collada", reason="pycollada is not installed (extra 'view')")
    (urdf.parent.parent / "meshes" / "none.dae").write_text(INCHES, encoding="utf-8")
    urdf.write_text(URDF.replace("none.stl", "none.dae"), encoding="utf-8")
    shapes = urdf_shapes(read_model(urdf).arm())
    assert shapes.missing == ()
    held = next(part.mesh for part in shapes.parts if part.carrier == 2)
    assert held.volume == pytest.approx(0.002 + 0.254**3 / 6.0), "the cube, and a corner of ten inches"


def test_meshes_outside_the_package_are_not_opened(urdf: Path) -> None:
    folder = urdf.parent
    assert mesh_path("package://two/meshes/cube.stl", folder) == folder.parent / "meshes" / "cube.stl"
    (folder / "own.stl").write_bytes(b"")
    assert mesh_path("own.stl", folder) == folder / "own.stl"
    for name in ("../meshes/cube.stl", str(folder / "own.stl"), "package://two/../secret", "package://", ""):
        assert mesh_path(name, folder) is None


def test_the_meshes_are_drawn_when_there_are_any(urdf: Path) -> None:
    subject: Subject = subject_of(read_model(urdf))
    assert subject.drawn == "meshes"
    assert {part.carrier for part in subject.bent_parts} == {1, 2}
    assert "drawn by the meshes of its URDF" in described(subject)[0]
    assert subject_of(read_model("kr270")).drawn == "rods"


def test_without_the_extra_one_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "viser" else found(name, *rest)
    )
    assert main(["view", "kr270"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert 'pip install "stiffarm[view]"' in said.err
