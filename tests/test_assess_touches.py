"""What touched points, planes, spheres and known distances can tell, from the command and from code."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.cli.main import main
from stiffarm.identifiability.assessment import Assessment, assess
from stiffarm.identifiability.design import random_configurations, stiff
from stiffarm.identifiability.groups import find_groups
from stiffarm.identifiability.planned import plan_rows
from stiffarm.identifiability.question import Circumstances, Question, wanted
from stiffarm.identifiability.touched_rows import where_touches_meet
from stiffarm.identifiability.words import sentences
from stiffarm.measure.campaign import OBSERVATIONS, Campaign
from stiffarm.measure.contact_rows import ContactRows
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import expected, expected_with_columns
from stiffarm.measure.targets import Shape
from stiffarm.measure.touch_plan import KnownDistance, Touching, plan_of_touches
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import State
from stiffarm.model.reaching import stand_at, touch_again
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]
HEAVY = read_robot("kr270")
ARM = ArmModel.of(HEAVY).at()
GEOMETRY = Question(geometry="full", markers=("P1",))
MIDDLE = np.array([[1.5], [0.4], [1.2]])


def touched(robot: Robot = HEAVY, **question: object) -> Assessment:
    return assess(robot, None, replace(GEOMETRY, **question))  # type: ignore[arg-type]


def postures(points: Floats, seed: int = 0) -> Floats:
    found = touch_again(ARM, "P1", points, np.random.default_rng(seed))
    assert found.there.mean() > 0.9
    return np.ascontiguousarray(found.q[:, found.there])


def on_plane(normal: tuple[float, float, float], count: int = 120, gap: float = 0.0, seed: int = 0) -> Floats:
    n = np.array(normal) / np.linalg.norm(normal)
    axes = np.linalg.svd(n[None])[2][1:]
    random = np.random.default_rng(seed)
    return MIDDLE + gap * n[:, None] + axes.T @ random.uniform(-0.4, 0.4, (2, count))


def on_sphere(radius: float, count: int = 150) -> Floats:
    away = np.random.default_rng(5).standard_normal((3, count))
    return MIDDLE + radius * away / np.linalg.norm(away, axis=0)


def rank_of(*targets: Touching, known: tuple[KnownDistance, ...] = ()) -> int:
    plan = plan_of_touches(HEAVY.joint_names, targets, known, marker="P1")
    return assess(HEAVY, plan, GEOMETRY).groups.rank


def again_and_again(name: str, at: Floats = MIDDLE, count: int = 40, seed: int = 0) -> Touching:
    return Touching(name, "touch", postures(np.repeat(at, count, axis=1), seed))


@pytest.mark.parametrize("shape", ["touch", "plane", "sphere"])
def test_generic_targets_lose_the_scale_and_one_length_gives_it(shape: Shape) -> None:
    free, known = touched(observe=shape), touched(observe=shape, known_length=True)
    assert (free.groups.rank, known.groups.rank) == (20, 21)
    assert min(free.groups.gap, known.groups.gap) > 1e9
    assert free.touches is not None
    assert known.touches is not None
    assert (free.touches.scale_lost, free.touches.rank_with, known.touches.scale_lost) == (True, 21, False)
    assert "cannot tell the scale" in sentences(free)[1]
    assert "The scale comes from 1 known length." in sentences(known)


def test_ranks_by_constraint() -> None:
    """Paper 004's table for six axes: 20 without a length, 21 with one, 18 for a plane at right angles to axis 1."""
    tilted = Touching("tilted", "plane", postures(on_plane((0.3, 0.5, 0.8))))
    other = Touching("other", "plane", postures(on_plane((-0.7, 0.3, 0.4)), 1))
    level = Touching("level", "plane", postures(on_plane((0.0, 0.0, 1.0))))
    parallel = Touching("parallel", "plane", postures(on_plane((0.3, 0.5, 0.8), gap=0.2, seed=2), 2))
    bar = Touching("bar", "sphere", postures(on_sphere(0.4)))
    ends = again_and_again("a"), again_and_again("b", MIDDLE + 0.5, seed=1)
    assert rank_of(again_and_again("a")) == 20
    assert rank_of(*ends) == 20
    assert rank_of(tilted) == 20
    assert rank_of(tilted, other) == 20
    assert rank_of(bar) == 20
    assert rank_of(*ends, known=(KnownDistance("a", "b", 0.5),)) == 21
    assert rank_of(tilted, parallel, known=(KnownDistance("tilted", "parallel", 0.2),)) == 21
    assert rank_of(replace(bar, radius_m=0.4)) == 21
    assert rank_of(level) == 18


def test_a_moment_about_axis_1_is_wanted() -> None:
    found = touched(observe="touch", elastic="joints", load="vertical")
    assert "A1.compliance" in found.groups.nothing
    assert {h.what: h.rank for h in found.help}["a horizontal force"] == found.groups.rank + 1
    assert any("cannot tell A1; add a horizontal force" in s for s in sentences(found))
    every = touched(observe="touch", elastic="joints", load="any")
    assert "A1.compliance" in every.groups.alone
    assert touched(observe="touch", elastic="joints", load="none").groups.rank == 24  # weights of the links


def test_where_the_arm_stands_is_nobodys_business() -> None:
    found = touched(observe="touch")
    assert {f"A1.{axis}" for axis in ("x", "y", "z", "rx", "ry", "rz")} < set(found.groups.nothing)
    assert not any(name.startswith("base.") for name in found.groups.names)
    spoken = [s for s in sentences(found) if "A1.x" in s]
    assert len(spoken) == 1
    assert "where the arm stands" in spoken[0]


def test_a_rail_gives_points_their_scale() -> None:
    """The slide's own readings are lengths; two planes can still turn that into a tilt of the rail."""
    rail = read_robot("kr500-rail")
    marker = rail.marker_names[:1]
    assert touched(rail, observe="touch", markers=marker).touches.scale_lost is False  # type: ignore[union-attr]
    assert touched(rail, observe="plane", markers=marker).touches.scale_lost is True  # type: ignore[union-attr]


def off_by_millimetres(plan: Campaign) -> Campaign:
    """Joint values of an arm that is not the nominal one."""
    wrong = np.random.default_rng(1).normal(0.0, 1e-3, (6, 1))
    return replace(plan, experiments=replace(plan.experiments, q=plan.experiments.q + wrong))


def test_postures_that_miss_are_moved_until_they_meet() -> None:
    plan = plan_of_touches(
        HEAVY.joint_names,
        [again_and_again("a"), again_and_again("b", MIDDLE + 0.4, seed=1),
         Touching("table", "plane", postures(on_plane((0.2, 0.1, 0.9)))),
         Touching("ball", "sphere", postures(on_sphere(0.3)))],
        (KnownDistance("a", "b", np.nan),),
        marker="P1",
    )  # fmt: skip
    missing = off_by_millimetres(plan)
    meeting = where_touches_meet(missing, ARM)
    world = expected(ARM, meeting, None, "none").world
    assert np.abs(ContactRows(Contacts(meeting), world).residual).max() < 1e-9
    before = expected(ARM, missing, None, "none").world
    assert np.abs(ContactRows(Contacts(missing), before).residual[:-1]).max() > 1e-4
    assert np.nanmax(np.abs(meeting.experiments.q - missing.experiments.q)) < 0.05
    first, second = (np.nanmean(world[:, plan.readings.target == i], axis=1) for i in (0, 1))
    assert meeting.readings.distance_m[-1] == pytest.approx(np.linalg.norm(first - second), rel=1e-9)


def test_rank_is_judged_where_touches_meet() -> None:
    plan = plan_of_touches(HEAVY.joint_names, [again_and_again("a")], marker="P1", sigma_m=1e-5)
    missing = off_by_millimetres(plan)
    assert assess(HEAVY, missing, GEOMETRY).groups.rank == 20
    asked = wanted(HEAVY, GEOMETRY, ("P1",), Circumstances(frames=True))
    arm = stiff(asked.model)
    seen, columns = expected_with_columns(arm, missing, asked.names, None, "none")
    naive = ContactRows(Contacts(missing), seen.world).columns(columns[:, :3])
    assert find_groups(naive, asked.names).rank > 20


def test_what_is_not_told_moves_no_touch() -> None:
    """A finite step along every combination that is lost leaves each point a point, to second order."""
    plan = plan_of_touches(HEAVY.joint_names, [again_and_again("a"), again_and_again("b", MIDDLE + 0.3, seed=3)],
                           marker="P1")  # fmt: skip
    found = assess(HEAVY, plan, GEOMETRY)
    null = found.groups.spectrum.null / found.groups.spectrum.length[:, None]
    model = ArmModel.of(HEAVY)
    contacts = Contacts(plan)
    q = plan.experiments.q

    def miss(values: dict[str, float]) -> float:
        world = predict(model.at(values), State(q), "P1").position
        return float(np.abs(ContactRows(contacts, world).residual).max())

    nominal = {name: model.nominal[name] for name in found.groups.names}
    for direction in null.T:
        direction = direction / np.abs(direction).max()
        steps = [
            miss({n: nominal[n] + h * float(v) for n, v in zip(found.groups.names, direction, strict=True)})
            for h in (1e-4, 2e-4)
        ]
        assert steps[0] < 1e-7
        assert steps[1] < 4.5 * steps[0] + 1e-12
    told = dict(nominal, **{"A3.x": nominal["A3.x"] + 1e-4})
    assert miss(told) > 1e-6


def test_touches_beside_a_tracker() -> None:
    """Positions of some postures, touches in others: the scale is the tracker's."""
    n = 45
    touches = plan_of_touches(HEAVY.joint_names, [again_and_again("a", count=n)], marker="P1", sigma_m=2e-5)
    n = len(touches.readings)
    tracked = np.arange(n) >= 5
    q = np.where(tracked, random_configurations(HEAVY, n, np.random.default_rng(2)), touches.experiments.q)
    readings = replace(
        touches.readings,
        kind=np.where(tracked, OBSERVATIONS.index("position"), touches.readings.kind),
        target=np.where(tracked, -1, 0),
    )
    both = replace(touches, experiments=replace(touches.experiments, q=q), readings=readings)
    asked = wanted(HEAVY, GEOMETRY, ("P1",), Circumstances(frames=True))
    rows = plan_rows(both, asked)
    assert rows.noise_known
    found = assess(HEAVY, both, GEOMETRY)
    assert found.readings == "positions and touched points"
    assert found.touches is None
    assert found.groups.rank == 27


def write_plan(path: Path, plan: Campaign, distance: str = "0.5") -> None:
    joints = [f"q.{j}[rad]" for j in HEAVY.joint_names]
    header = ["experiment", *joints, "observation", "marker", "target", "target2", "distance[m]", "sigma.x[um]",
              "sigma.y[um]", "sigma.z[um]", "sigma.distance[um]"]  # fmt: skip
    lines = [",".join(header)]
    for i in range(len(plan.readings)):
        target = plan.targets[plan.readings.target[i]]
        if plan.kind("distance")[i]:
            lines.append(f"{i},,,,,,,distance,,{target},{plan.targets[plan.readings.target2[i]]},{distance},,,,5")
        else:
            q = ",".join(f"{v:.6f}" for v in plan.experiments.q[:, i])
            lines.append(f"{i},{q},touch,P1,{target},,,20,20,20,")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("distance", ["0.5", ""])
def test_command_with_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str], distance: str) -> None:
    plan = plan_of_touches(
        HEAVY.joint_names,
        [again_and_again("hole", count=30), again_and_again("cone", MIDDLE + 0.3, 30, 1)],
        (KnownDistance("hole", "cone", 0.5),),
        marker="P1",
    )
    path = tmp_path / "touches.plan.csv"
    write_plan(path, plan, distance)
    assert main(["assess", "kr270", str(path), "--geometry", "full", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rank"] == 21
    assert found["touches"] == {"scale_told": True, "known_lengths": 1, "with_known_length": 21}
    assert found["classes"]["A3.x"]["class"] in ("identifiable", "uncertain", "negligible")
    assert 1e-7 < found["classes"]["A3.x"]["std"] < 1e-3


def test_command_without_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["assess", "kr270", "--observe", "touch", "--marker", "P1", "--geometry", "full"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "20 numbers can be told" in out
    assert "Touching points cannot tell the scale" in out
    assert "Add a known distance between two of the points: 21 numbers then" in out
    arguments = ["assess", "kr270", "--observe", "plane", "--marker", "P1", "--geometry", "full", "--known-length"]
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rank"] == 21


def test_touches_out_of_reach_are_left_out() -> None:
    """A stretched posture that misses a plane by what the nominal arm lacks must not lift the rank."""
    outward = np.array([[0.8], [0.0], [0.6]])
    stretched = stand_at(ARM, "P1", 10.0 * outward, np.zeros((6, 1))).q
    tip = predict(ARM, State(stretched), "P1").position
    normal = np.array([[1.0], [0.0], [-0.2]]) / np.sqrt(1.04)
    along = np.array([[0.2, 0.0], [0.0, 1.0], [1.0, 0.0]]) / [np.sqrt(1.04), 1.0]
    patch = np.random.default_rng(3).uniform(-0.3, 0.3, (2, 150)) - [[0.9], [0.0]]
    q = np.hstack([postures(tip + 0.05 * normal + along @ patch), stretched])
    plan = plan_of_touches(HEAVY.joint_names, [Touching("wall", "plane", q)], marker="P1")
    meeting = where_touches_meet(plan, ARM)
    assert len(meeting.readings) == q.shape[1] - 1
    world = expected(ARM, meeting, None, "none").world
    assert np.abs(ContactRows(Contacts(meeting), world).residual).max() < 1e-9
    assert assess(HEAVY, plan, GEOMETRY).groups.rank == 20
