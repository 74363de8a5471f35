"""What can be told: ranks, groups with their names, plans with noise, and invariance."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identifiability.assessment import Assessment, assess
from stiffarm.identifiability.design import design_columns
from stiffarm.identifiability.groups import find_groups
from stiffarm.identifiability.planned import plan_rows
from stiffarm.identifiability.practical import covariance_of, practical_class, swamped
from stiffarm.identifiability.question import Question, Wanted, priority
from stiffarm.identifiability.spectrum import spectrum
from stiffarm.identifiability.words import cautions, sentences
from stiffarm.measure.campaign import Campaign, Isotropic, Setup, SharedError
from stiffarm.measure.covariance import noise_of
from stiffarm.measure.observe import expected_with_columns
from stiffarm.measure.paths import read_path
from stiffarm.measure.points import seen_points
from stiffarm.measure.references import resolve_references
from stiffarm.measure.virtual import simulate
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.model.rotations import vector_of
from stiffarm.robot.arm import BodyPoint, Placement, Robot
from stiffarm.robot.reading import read_robot
from virtual_plans import MODEL, ROBOT, plan_of

Floats = NDArray[np.float64]

HEAVY = read_robot("kr270")
REFERENCE = replace(HEAVY, tool=replace(HEAVY.tool, load_points=(BodyPoint("ref", (0.35, 0.10, -0.20)),)))
"""The reference point of the published ranks."""
VERTICAL_G2 = {
    "A1.compliance",
    *(f"link{k}.compliance[{a}]" for k in (0, 1) for a in ("y,y", "z,z", "rx,rx")),
    *(f"link{k}.compliance[y,y]" for k in (2, 3)),
}
"""Of the beams along the arm, what a vertical force at any point of the tool does not touch."""


def asked(robot: Robot = REFERENCE, **question: object) -> Assessment:
    return assess(robot, None, Question(**question))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("template", "load", "observe", "count", "rank"),
    [
        ("full", "any", "pose", 258, 180),
        ("symmetric", "any", "pose", 153, 105),
        ("beam", "any", "pose", 62, 33),
        ("full", "any", "position", 258, 180),
        ("symmetric", "any", "position", 153, 105),
        ("beam", "any", "position", 62, 33),
        ("full", "vertical", "position", 258, 124),
        ("symmetric", "vertical", "position", 153, 89),
        ("beam", "vertical", "position", 62, 28),
    ],
)
def test_ranks_of_a_heavy_robot(template: str, load: str, observe: str, count: int, rank: int) -> None:
    found = asked(elastic="links", template=template, load=load, observe=observe)
    assert (len(found.groups.names), found.groups.rank, len(found.groups.base)) == (count, rank, rank)
    assert found.groups.gap > 1e10
    assert sum(g.rank for g in found.groups.together) + len(found.groups.alone) == rank


def beams_at(robot: Robot, change: dict[str, object], seed: int | None = None) -> Robot:
    """The robot's links as beams, the last one changed, or all turned at random."""
    links = [replace(link, template="beam") for link in robot.links]
    if seed is None:
        links[-1] = replace(links[-1], **change)  # type: ignore[arg-type]
    else:
        random = np.random.default_rng(seed)
        links = [replace(link, rpy=tuple(random.uniform(-1, 1, 3).tolist())) for link in links]  # type: ignore[arg-type]
    return replace(robot, links=tuple(links))


def test_rank_depends_on_where_template_frames_stand() -> None:
    at_tool = beams_at(REFERENCE, {"xyz": (0.115 + 0.35, 0.10, -0.20)})
    assert asked(at_tool, elastic="links", load="any", observe="pose").groups.rank == 36
    turned = beams_at(REFERENCE, {}, seed=4)
    assert asked(turned, elastic="links", load="any", observe="pose").groups.rank == 56


@pytest.mark.parametrize("name", ["ur10", "irb120", "iiwa7", "panda", "kr500-rail"])
def test_rank_follows_the_structure(name: str) -> None:
    robot = read_robot(name)
    kinds = [joint.kind for joint in robot.joints]
    found = asked(robot, elastic="links", template="symmetric", load="any", observe="pose")
    rule = 21 * (len(kinds) + 1) - 7 * kinds.count("revolute") - 11 * kinds.count("prismatic")
    assert found.groups.rank == rule
    if name == "kr500-rail":
        assert rule == 115


def test_base_link_is_optional() -> None:
    ur = read_robot("ur10")
    assert len(asked(ur, elastic="links", template="beam", links="none").groups.names) == 6 + 6 * 8


def test_a_compensator_adds_two_parameters_and_lifts_nothing_else() -> None:
    found = asked(elastic="links", template="full", select=("*.compensator.*",))
    assert (len(found.groups.names), found.groups.rank) == (260, 182)


@pytest.mark.parametrize("observe_marker", [("pose", (), 30), ("position", ("P1",), 27)])
def test_complete_geometry_of_six_axes(observe_marker: tuple[str, tuple[str, ...], int]) -> None:
    observe, markers, rank = observe_marker
    found = asked(geometry="full", observe=observe, markers=markers)
    assert found.groups.rank == rank


def test_vertical_loads_leave_these_unseen() -> None:
    joints = asked(elastic="joints", load="vertical")
    assert joints.groups.nothing == ("A1.compliance",)
    assert set(joints.groups.alone) == {f"A{k}.compliance" for k in range(2, 7)}
    links = asked(elastic="links", load="vertical")
    assert set(links.groups.nothing) == VERTICAL_G2


def deflection(robot: Robot, name: str, value: float, q: Floats, force: Floats) -> Floats:
    model = ArmModel.of(replace(robot, compensators=()))
    arm = model.at({p.name: 0.0 for p in model.parameters if p.elastic} | {name: value})
    state = State(q, (Load(arm.chain.point("ref"), force, None),))
    return predict(arm, state, "P1").deflection


def test_unseen_is_what_bends_nothing() -> None:
    """Each name of G2 alone, made soft, moves no marker under vertical load and some under a horizontal one."""
    random = np.random.default_rng(8)
    q = np.ascontiguousarray(random.uniform(-2.0, -0.1, (6, 5)))
    down = np.tile([[0.0], [0.0], [-1000.0]], (1, 5))
    across = np.tile([[700.0], [600.0], [0.0]], (1, 5))
    for name in sorted(VERTICAL_G2):
        assert np.abs(deflection(REFERENCE, name, 1e-6, q, down)).max() < 1e-15
        assert np.abs(deflection(REFERENCE, name, 1e-6, q, across)).max() > 1e-6
    assert np.abs(deflection(REFERENCE, "A2.compliance", 1e-6, q, down)).max() > 1e-6


def test_together_under_vertical_load_with_names() -> None:
    found = asked(elastic="links", load="vertical").groups
    assert len(found.together) == 1
    assert set(found.together[0].members) == set(found.names) - VERTICAL_G2 - set(found.alone)
    assert found.together[0].members[:5] == tuple(f"A{k}.compliance" for k in range(2, 7))
    assert {c.name for c in found.together[0].told} >= {f"A{k}.compliance" for k in range(2, 7)}
    pairs = {0: ("y,rz", "z,ry", "ry,ry", "rz,rz"), 1: ("y,rz", "z,ry")}
    assert set(found.alone) == {f"link{k}.compliance[{pair}]" for k, some in pairs.items() for pair in some}


def test_a_joint_and_the_links_beside_it_are_told_as_their_sum() -> None:
    found = asked(elastic="links", load="any", observe="pose").groups
    pair = next(g for g in found.together if "A1.compliance" in g.members)
    assert pair.members == ("A1.compliance", "link0.compliance[rx,rx]")
    assert pair.rank == 1
    assert pair.told[0].of({"A1.compliance": 1.0, "link0.compliance[rx,rx]": 2.0}) == pytest.approx(3.0)


def random_columns(seed: int) -> tuple[Floats, int]:
    """Nine columns of rank six: one zero, two triples of rank two, two free."""
    random = np.random.default_rng(seed)
    free = random.standard_normal((40, 6))
    a, b, c, d, e, f = free.T
    return np.stack([a, 0 * a, b, c, b - 2 * c, d, e, 3 * d + 0.5 * e, f], axis=1), 6


def brute_force(rows: Floats) -> tuple[set[int], set[int]]:
    """G1 and G2 by their definition: leaving the column out lowers the rank; the column is zero."""
    rank = np.linalg.matrix_rank(rows)
    alone = {i for i in range(rows.shape[1]) if np.linalg.matrix_rank(np.delete(rows, i, axis=1)) < rank}
    return alone, {i for i in range(rows.shape[1]) if not rows[:, i].any()}


@pytest.mark.parametrize("seed", range(5))
def test_groups_match_their_definition_whatever_units_and_order(seed: int) -> None:
    rows, rank = random_columns(seed)
    random = np.random.default_rng(seed + 100)
    names = tuple("abcdefghi")
    alone, nothing = brute_force(rows)
    units = 10.0 ** random.integers(-9, 9, 9)
    order = random.permutation(9)
    for scaled, sizes, at in (
        (rows, None, range(9)),
        (rows * units, 1.0 / units, range(9)),
        ((1e3 * rows * units)[:, order], (1.0 / units)[order], order),
    ):
        found = find_groups(scaled, [names[i] for i in at], sizes=sizes)
        assert found.rank == rank
        assert set(found.alone) == {names[i] for i in alone}
        assert set(found.nothing) == {names[i] for i in nothing}
        assert {(frozenset(g.members), g.rank) for g in found.together} == {
            (frozenset("cde"), 2),
            (frozenset("fgh"), 2),
        }


def test_combinations_predict_the_same() -> None:
    rows, _ = random_columns(3)
    random = np.random.default_rng(1)
    units = 10.0 ** random.integers(-6, 6, 9)
    names = tuple("abcdefghi")
    found = find_groups(rows * units, names, sizes=1.0 / units)
    x = dict(zip(names, (random.standard_normal(9) / units).tolist(), strict=True))
    kept = {c.name: c.of(x) for c in found.base}
    reduced = np.array([kept.get(name, 0.0) for name in names])
    assert np.abs((rows * units) @ (reduced - np.array(list(x.values())))).max() < 1e-12


def test_a_column_of_rounding_is_zero() -> None:
    """Scaled to unit length it would count as a column of its own: 31 instead of 28."""
    rows, rank = random_columns(2)
    rows[:, 1] = 3e-16 * np.random.default_rng(0).standard_normal(40)
    assert spectrum(rows).rank == rank
    assert not spectrum(rows).seen[1]


def in_millimetres(robot: Robot) -> Assessment:
    """The robot's numbers as they come back from a file in millimetres: rounded differently in the last bit."""
    joints = tuple(
        replace(
            joint,
            geometry=replace(
                joint.geometry,
                origin=replace(joint.geometry.origin, xyz=tuple((1e3 * v) * 1e-3 for v in joint.geometry.origin.xyz)),  # type: ignore[union-attr]
            ),
        )
        for joint in robot.joints
    )
    return asked(replace(robot, joints=joints), elastic="links", load="vertical")


def test_millimetres_or_metres() -> None:
    one, other = asked(elastic="links", load="vertical").groups, in_millimetres(REFERENCE).groups
    assert (one.rank, one.alone, one.nothing) == (other.rank, other.alone, other.nothing)
    assert [g.members for g in one.together] == [g.members for g in other.together]


def test_misalignment_lifts_the_rank_on_paper_only_and_is_said() -> None:
    found = asked(elastic="links", load="any", observe="pose")
    assert found.misaligned is not None
    assert (found.misaligned.on_paper, found.misaligned.against_noise) == (56, 33)
    assert any("56 on paper" in sentence for sentence in cautions(found))


def test_actuators_are_kept_before_links() -> None:
    names = ("link1.compliance[ry,ry]", "A2.ry", "A2.compliance", "tool.P1.x", "base.x")
    assert [names[i] for i in priority(HEAVY, names)] == [
        "A2.compliance",
        "base.x",
        "tool.P1.x",
        "A2.ry",
        "link1.compliance[ry,ry]",
    ]


def test_enough_configurations_are_enough_and_one_less_is_not() -> None:
    found = asked(elastic="links", load="vertical")
    assert found.design is not None
    model = ArmModel.of(REFERENCE)
    rows = design_columns(found.design, model, found.groups.names, deflection=True)
    per = found.design.numbers_per_configuration
    sizes = np.array([p.scale for p in model.parameters if p.name in set(found.groups.names)])
    assert spectrum(rows[: found.enough * per], sizes).rank == 28
    assert spectrum(rows[: (found.enough - 1) * per], sizes).rank < 28


def test_words_say_what_would_help() -> None:
    said = sentences(asked(elastic="joints", load="vertical"))
    assert "Vertical loads cannot tell A1; add a horizontal force with a moment about axis 1." in said
    unloaded = sentences(asked(elastic="joints", load="none"))
    assert any("cannot tell A1, A2" in s for s in unloaded)
    on_axis = sentences(asked(geometry="full", markers=("tool",)))
    assert any("A6.rx" in s and "marker" in s for s in on_axis)


def test_impossible_questions_say_what_is_allowed() -> None:
    with pytest.raises(InputError, match="P1 P2 P3 tool flange"):
        asked(markers=("P9",))
    with pytest.raises(InputError, match="must rise"):
        Question(nu=(5.0, 2.0))
    with pytest.raises(InputError, match="nothing is asked for"):
        asked(geometry="none")


# plans ---------------------------------------------------------------------------------------------------------


def rig(robot: Robot, forces: list[tuple[float, float, float]], each: int, sigma_m: float = 25e-6) -> Campaign:
    """Deflections of three markers in one plan, ``each`` configurations for every force."""
    n = each * len(forces)
    random = np.random.default_rng(5)
    low, high = np.array([joint.limits for joint in robot.joints]).T
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection", instrument=Isotropic(sigma_m))
    wrench = np.zeros((1, 6, n))
    wrench[0, :3] = np.repeat(np.array(forces).T, each, axis=1)
    q = random.uniform(low[:, None], high[:, None], (6, n))
    experiments = replace(plan.experiments, q=q, load_points=("ref",), wrench_world=wrench)
    return replace(plan, joints=robot.joint_names, experiments=experiments)


def test_vertical_and_horizontal_loads_in_one_plan() -> None:
    down, across = (0.0, 0.0, -2500.0), (3500.0, 0.0, 0.0)
    question = Question(elastic="joints")
    only_down = assess(REFERENCE, rig(REFERENCE, [down], 12), question)
    assert only_down.load == "vertical"
    assert only_down.groups.nothing == ("A1.compliance",)
    assert {p.name: p.kind for p in only_down.practical}["A1.compliance"] == "unobservable"
    both = assess(REFERENCE, rig(REFERENCE, [down, across], 12), question)
    assert both.load == "vertical and horizontal"
    assert both.groups.rank == 6
    assert {p.kind for p in both.practical} == {"identifiable"}


def test_a_plan_that_pulls_at_nothing_tells_nothing_in_words() -> None:
    n = 4
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection", loaded=[False] * n)
    found = assess(ROBOT, plan)
    assert found.groups.rank == 0
    assert any("cannot tell" in s and "hang something on the arm" in s for s in sentences(found))


def test_a_use_that_cannot_be_judged_is_said() -> None:
    use = rig(REFERENCE, [(0.0, 0.0, -2500.0)], 3)
    found = assess(REFERENCE, None, Question(elastic="joints"), use)
    assert any("the use was left aside" in caution for caution in cautions(found))


def test_a_geometry_that_was_calibrated_is_warned_of() -> None:
    """Axes off by 1e-5 in the file itself: the rank follows them, and what remains against noise is said."""
    random = np.random.default_rng(0)
    moved = tuple(
        replace(link, rpy=tuple((np.array(link.rpy) + 1e-5 * random.standard_normal(3)).tolist()))
        for link in REFERENCE.links
    )
    found = asked(replace(REFERENCE, links=moved), elastic="links", load="any", observe="pose")
    assert found.groups.rank == 56
    assert any("against noise, where 33 remain" in caution for caution in cautions(found))


def test_a_path_is_a_use_like_the_plan_of_its_points(tmp_path: Path) -> None:
    """Joint values, or the poses that the nominal arm takes at them."""
    n = 10
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection", instrument=Isotropic(20e-6))
    use = plan_of(4, {"experiment": np.arange(4), "marker": np.full(4, -1)}, kind="deflection", seed=9)
    question = Question(elastic="joints")
    known = assess(ROBOT, plan, question, use).in_use
    q, wrench = use.experiments.q, use.experiments.wrench_world[0]
    place = predict(MODEL.at(), State(q), "tool")
    pose = np.concatenate([place.position, vector_of(place.rotation)])
    for names, cells in (
        ([f"q.{joint}[rad]" for joint in ROBOT.joint_names], q),
        (["x[m]", "y[m]", "z[m]", "rx[rad]", "ry[rad]", "rz[rad]"], pose),
    ):
        file = tmp_path / "job.path.csv"
        header = ",".join([*names, "load_point", "force.x[N]", "force.y[N]", "force.z[N]"])
        lines = [",".join([*map(repr, map(float, c)), "hook", *map(repr, map(float, f))])
                 for c, f in zip(cells.T, wrench[:3].T, strict=True)]  # fmt: skip
        file.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
        found = assess(ROBOT, plan, question, read_path(file, ROBOT)).in_use
        assert [u.name for u in found] == [u.name for u in known]
        if names[0].startswith("q."):  # poses may be taken by another configuration
            assert [u.effect_m for u in found] == pytest.approx([u.effect_m for u in known], rel=1e-9)


def test_an_uncertain_parameter_moves_up_as_said() -> None:
    """With the load, or the readings, that the class asks for, nu stands at the upper bound."""
    question = Question(elastic="joints")
    forces = [(0.0, 0.0, -60.0), (30.0, 20.0, -20.0)]
    weak = assess(REFERENCE, rig(REFERENCE, forces, 4, 60e-6), question)
    p = next(p for p in weak.practical if p.kind == "uncertain")
    assert p.nu is not None
    assert p.load is not None
    assert p.repeats == pytest.approx(p.load**2)
    more = [tuple(p.load * f for f in force) for force in forces]
    strong = assess(REFERENCE, rig(REFERENCE, more, 4, 60e-6), question)
    assert {q.name: q.nu for q in strong.practical}[p.name] == pytest.approx(5.0)


def dense_covariance(plan: Campaign, names: tuple[str, ...]) -> Floats:
    """Of the compliances, by generalised least squares with the whole covariance of the rows."""
    resolved = resolve_references(plan, keep_unloaded=False)
    count = len(resolved.campaign.readings)
    value = np.full((6, count), np.nan)
    value[:3] = 0.0
    filled = replace(resolved.campaign, readings=replace(resolved.campaign.readings, value=value))
    columns = expected_with_columns(MODEL.at(dict.fromkeys(names, 0.0)), filled, names)[1][:, :3]
    sigma = noise_of(resolved, seen_points(MODEL.at(), plan)).dense()[:3, :, :3].reshape(3 * count, 3 * count)
    a = columns.reshape(len(names), -1).T
    return np.asarray(np.linalg.inv(a.T @ np.linalg.solve(sigma, a)))


COMPLIANCES = tuple(f"{joint}.compliance" for joint in ROBOT.joint_names)
NOISE = {"instrument": Isotropic(20e-6), "shared": SharedError(15e-6, 20e-6)}


@pytest.mark.parametrize("referenced", [False, True])
def test_covariance_of_a_plan_is_that_of_generalised_least_squares(referenced: bool) -> None:
    """Shared errors of stops, and unloaded readings that several deflections share."""
    rows = {"experiment": np.repeat(np.arange(8), 3)}
    if referenced:
        rows["reference"] = np.repeat([-1, 0, 0, 0, -1, 4, 4, 4], 3)
        loaded = [i % 4 > 0 for i in range(8)]
        plan = plan_of(8, rows, loaded=loaded, **NOISE)
    else:
        plan = plan_of(8, rows, kind="deflection", **NOISE)
    found = plan_rows(plan, Wanted(MODEL, COMPLIANCES, True, False))
    assert found.noise_known
    assert found.deflections
    assert found.names == COMPLIANCES
    assert np.allclose(covariance_of(found.rows), dense_covariance(plan, COMPLIANCES), rtol=1e-9, atol=0.0)


def test_frames_of_setups_are_found_along() -> None:
    """One setup of unknown frame: the same thirty numbers of a complete geometry, none counted twice."""
    n = 20
    plan = plan_of(n, {"experiment": np.arange(n), "marker": np.zeros(n, dtype=np.int64)}, kind="pose")
    found = assess(ROBOT, plan, Question(geometry="full"))
    assert found.groups.rank == 30
    assert not any(name.startswith("base.") for name in found.groups.names)
    assert sum(name.startswith("setup.day.") for name in found.groups.names) == 6
    assert found.practical == ()
    given = assess(ROBOT, replace(plan, setups=(Setup("day", Placement()),)), Question(geometry="full"))
    assert given.groups.rank == 30


def test_measured_deflections_give_their_own_values_and_noise() -> None:
    """Without a stated noise the scatter of the fit is used; a soft joint is found identifiable, a rigid one not."""
    n = 15
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection")
    truth = MODEL.at({"A5.compliance": 1e-12} if "A5.compliance" in MODEL.nominal else {COMPLIANCES[4]: 1e-12})
    measured = simulate(truth, plan, seed=2, sigma_m=10e-6).campaign
    found = assess(ROBOT, replace(measured, instrument=None), Question(elastic="joints"))
    by = {p.name: p for p in found.practical}
    assert by[COMPLIANCES[4]].kind == "negligible"
    assert by[COMPLIANCES[1]].kind == "identifiable"
    assert by[COMPLIANCES[1]].basis == "readings"
    assert by[COMPLIANCES[1]].value == pytest.approx(2e-6, rel=0.05)
    stated = assess(ROBOT, measured, Question(elastic="joints"))
    ratio = by[COMPLIANCES[1]].sigma / {p.name: p for p in stated.practical}[COMPLIANCES[1]].sigma  # type: ignore[operator]
    assert 0.75 < ratio < 1.3


def test_effect_in_use_is_that_of_a_fit_without_the_parameter() -> None:
    n = 10
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection", instrument=Isotropic(20e-6))
    use = plan_of(4, {"experiment": np.repeat(np.arange(4), 3)}, kind="deflection", seed=9)
    found = assess(ROBOT, plan, Question(elastic="joints"), use)
    rows = plan_rows(plan, Wanted(MODEL, COMPLIANCES, True, False)).rows
    there = plan_rows(use, Wanted(MODEL, COMPLIANCES, True, False)).rows  # no noise: metres
    truth = np.array([MODEL.nominal[name] for name in COMPLIANCES])
    for i, effect in enumerate(found.in_use):
        kept = [j for j in range(6) if j != i]
        without = np.zeros(6)
        without[kept] = np.linalg.lstsq(rows[:, kept], rows @ truth, rcond=None)[0]
        change = (there @ (without - truth)).reshape(-1, 3)
        assert effect.effect_m == pytest.approx(np.sqrt(np.mean(np.sum(change**2, axis=1))), rel=1e-6)
    assert all(effect.matters for effect in found.in_use)


# practical classes ---------------------------------------------------------------------------------------------

LINK = np.diag([4.50e-8, 8.01e-5, 3.64e-5, 3.76e-3, 1.09e-3, 2.65e-3])
LINK[1, 5] = LINK[5, 1] = 3.98e-4
LINK[2, 4] = LINK[4, 2] = -1.71e-4
PRINTED = {(0, 0): 0.18, (1, 1): 320, (1, 5): 1592, (2, 2): 146, (2, 4): 684, (3, 3): 1504, (4, 2): 68.4, (4, 4): 436,
           (5, 1): 159, (5, 5): 1060}  # fmt: skip
SIGMA = np.repeat([25e-6, 0.25e-3], 3)


def bench(load: float) -> Floats:
    """White rows (36, 36): one unit load after the other on the free end, six numbers read."""
    rows = np.zeros((36, 36))
    for j in range(6):
        for i in range(6):
            rows[6 * j + i, 6 * i + j] = load / SIGMA[i]
    return rows


def counts(nu: Floats) -> tuple[int, int, int]:
    kinds = [practical_class(abs(float(v))) for v in nu]
    return kinds.count("identifiable"), kinds.count("uncertain"), kinds.count("negligible")


def test_published_ratios_and_classes_of_one_link() -> None:
    sigma = np.sqrt(np.diag(covariance_of(bench(100.0))))
    nu = np.abs(LINK.reshape(-1)) / sigma
    for (i, j), printed in PRINTED.items():
        assert nu[6 * i + j] == pytest.approx(printed, rel=0.003 if printed > 1 else 0.03)
    assert counts(nu) == (9, 0, 27)
    assert np.allclose(np.sqrt(np.diag(covariance_of(bench(10.0)))), 10 * sigma)
    merge = np.zeros((36, 21))
    pairs = [(i, j) for i in range(6) for j in range(i, 6)]
    for k, (i, j) in enumerate(pairs):
        merge[6 * i + j, k] = merge[6 * j + i, k] = 1.0
    symmetric = np.sqrt(np.diag(covariance_of(bench(100.0) @ merge)))
    value = np.array([LINK[pair] for pair in pairs])
    assert counts(value / symmetric) == (7, 0, 14)
    beam = [k for k, pair in enumerate(pairs) if pair in {(i, i) for i in range(6)} | {(1, 5), (2, 4)}]
    beam_sigma = np.sqrt(np.diag(covariance_of((bench(100.0) @ merge)[:, beam])))
    assert counts(value[beam] / beam_sigma) == (7, 0, 1)
    assert symmetric[pairs.index((2, 4))] == pytest.approx(sigma[6 * 4 + 2] / np.sqrt(101))
    assert symmetric[pairs.index((3, 3))] == pytest.approx(sigma[21])
    assert np.linalg.cond(bench(100.0) * np.tile(SIGMA, 6)[:, None]) == pytest.approx(1.0)
    assert np.linalg.cond(bench(100.0)) == pytest.approx(10.0)


def test_weak_estimates_that_lean_on_each_other_are_not_left_out_together() -> None:
    """Two nearly equal columns: each alone looks like noise, their sum is certain."""
    a = np.array([[1.0, 1.0], [1.0, 1.001], [1.0, 0.999]]) * 30.0
    y = a @ np.array([0.5, 0.5])
    cov = covariance_of(a)
    x = np.linalg.lstsq(a, y, rcond=None)[0]
    assert (np.abs(x) < 2.0 * np.sqrt(np.diag(cov))).all()
    dropped, left = swamped(x, cov)
    assert len(dropped) == 1
    assert left.sum() == pytest.approx(1.0, rel=1e-3)


# the command ---------------------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["assess", *arguments])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_command_answers_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(
        capsys, "kr270", "--elastic", "links", "--template", "symmetric", "--load", "vertical", "--json"
    )
    document = json.loads(out)
    assert status == 0
    assert (document["parameters"], document["rank"], len(document["names"])) == (153, 89, 153)
    assert document["gap"] > 1e8
    assert sum(g["rank"] for g in document["G3"]) + len(document["G1"]) == 89
    assert sorted(document["G1"] + document["G2"] + [m for g in document["G3"] for m in g["members"]]) == sorted(
        document["names"]
    )
    assert document["classes"] == {}
    assert "misaligned" in document
    assert "on paper" in err


def test_command_speaks_then_shows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "assess.html"
    status, out, _ = run(capsys, "kr270", "--elastic", "joints", "--load", "vertical", "-o", str(page))
    assert status == 0
    assert "cannot tell A1; add a horizontal force with a moment about" in " ".join(out.split())
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    own = html.split("<script>")[0]
    assert "http" not in own.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    assert len(re.findall(r'class="mark"[^>]*><title>', own)) == 6
    assert "A1.compliance: not seen at all (G2)" in own


def test_command_on_a_plan_gives_classes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = tmp_path / "rig.plan.csv"
    lines = ["experiment,observation,marker,load_point,q.A1[deg],q.A2[deg],q.A3[deg],q.A4[deg],q.A5[deg],q.A6[deg],"
             "force.x[kN],force.y[kN],force.z[kN]"]  # fmt: skip
    random = np.random.default_rng(3)
    for i in range(16):
        q = random.uniform([-180, -140, -100, -300, -120, -300], [180, -5, 150, 300, 120, 300])
        force = "3.5,0,0" if i % 2 else "0,0,-2.5"
        for marker in ("P1", "P2", "P3"):
            lines.append(f"{i},deflection,{marker},hook,{','.join(f'{v:.2f}' for v in q)},{force}")  # noqa: PERF401
    plan.write_text("\n".join(lines) + "\n")
    settings = ('format = "stiffarm-campaign/1"', "[instrument]", 'type = "isotropic"', 'sigma = "0.03 mm"')
    (tmp_path / "rig.campaign.toml").write_text("\n".join(settings) + "\n")
    page = tmp_path / "rig.html"
    status, out, _ = run(capsys, "kr270", str(plan), "--json", "--quiet", "--use", str(plan), "-o", str(page))
    drawn = re.findall(r'class="(?:mark|span)"[^>]*><title>', page.read_text(encoding="utf-8"))
    assert len(drawn) == 12  # groups, and bars of how well
    document = json.loads(out)
    assert status == 0
    assert document["parameters"] == document["rank"] == 6
    assert {c["class"] for c in document["classes"].values()} == {"identifiable"}
    assert set(document["in_use"]) == set(document["classes"]) == set(document["names"])
    status, out, _ = run(capsys, "kr270", str(plan))
    assert status == 0
    assert "vertical and horizontal" in out


@pytest.mark.parametrize(
    "arguments",
    [("kr270", "--load", "sideways"), ("kr270", "--nu", "5"), ("kr270", "--observe", "sniff"), ("nobody",),
     ("kr270", "--marker", "P7"), ("kr270", "--geometry", "none"), ("kr270", "--reduce", "sphere"),
     ("kr270", "--reduce", "neglect"), ("kr270", "--elastic", "links", "--reduce", "beam:y")],
)  # fmt: skip
def test_command_refuses_in_one_line(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("error: ")
    assert len(err.strip().splitlines()) == 1
