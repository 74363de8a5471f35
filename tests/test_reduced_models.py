"""A reduction put before a model: whoever solves, plans or predicts gets the chain rule and knows nothing of it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import stiffarm
from reduction_scenarios import TUBES, tube
from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identifiability.groups import find_groups
from stiffarm.identifiability.question import Wanted
from stiffarm.identifiability.reductions import beam, regroup
from stiffarm.identifiability.rules import reduced_model
from stiffarm.identifiability.stands_for import elastic_set
from stiffarm.identify.estimate import Estimate
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign, Isotropic
from stiffarm.measure.virtual import simulate
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import predict, sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.model.parameters import ParameterSet
from stiffarm.model.statics import predict_exact
from stiffarm.plan.information import Information
from stiffarm.plan.problem import FixedForce, Reading, Stops
from stiffarm.robot.arm import Link, Robot
from stiffarm.robot.placement import rotation_from_rpy, rpy_from_rotation
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import robot_text
from virtual_plans import ROBOT, plan_of

Floats = NDArray[np.float64]

FULL = replace(
    ROBOT,
    links=(Link("J1", "full", (0.1, 0.0, 0.3)), Link("J3", "full", (0.3, 0.05, 0.0), (0.2, -0.4, 0.7))),
    joints=tuple(replace(joint, name=f"J{k + 1}") for k, joint in enumerate(ROBOT.joints)),
)
ONE_LINK = replace(FULL, links=FULL.links[1:], joints=tuple(replace(j, compliance=None) for j in FULL.joints))


def state_of(arm: Arm, n: int = 4) -> State:
    random = np.random.default_rng(2)
    q = np.ascontiguousarray(random.uniform(-1.5, 1.5, (6, n)))
    pull = Load(arm.chain.point("hook"), random.uniform(-2e3, 2e3, (3, n)), random.uniform(-500.0, 500.0, (3, n)))
    return State(q, (pull, *arm.weights()))


def springs(model: ArmModel) -> ArmModel:
    """Shapes in turned axes, a tie over two joints."""
    return reduced_model(model, ["link1=beam:0.3,-0.5,0.8", "link3=symmetric", "link3=plane:y",
                                 "tie:J4.compliance,J5.compliance"])  # fmt: skip


def mixed(model: ArmModel) -> ArmModel:
    """The same, a geometric tie and something held away from nominal."""
    model = springs(model)
    own = {p.name: p for p in model.parameters}
    ties = ParameterSet.of([own[name] for name in ("J2.x", "J3.x", "J2.y")]).tie([("J2.x", "J3.x")])
    return model.reduced(ties.fix(["J2.y"], {"J2.y": 2e-3}))


def values_of(model: ArmModel, seed: int = 1) -> dict[str, float]:
    random = np.random.default_rng(seed)
    return {p.name: p.nominal + p.scale * random.uniform(0.2, 1.0) * (1.0 if p.elastic else 1e-3)
            for p in model.parameters if not p.name.startswith(("load.", "payload."))}  # fmt: skip


def in_full(model: ArmModel, values: dict[str, float]) -> dict[str, float]:
    assert model.reduction is not None
    every = model.nominal | values
    return model.reduction.values(np.array([every[name] for name in model.reduction.names]))


def test_a_reduced_arm_is_the_full_arm_at_the_numbers_it_stands_for() -> None:
    full = ArmModel.of(FULL)
    small = mixed(full)
    values = values_of(small)
    one, other = small.at(values), full.at(in_full(small, values))
    assert len(small.parameters) == len(full.parameters) - 28 - 24 - 1 - 2
    for solved in (predict, predict_exact):
        a, b = (solved(arm, state_of(arm), "P2") for arm in (one, other))
        np.testing.assert_allclose(a.position, b.position, rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(a.rotation, b.rotation, rtol=0.0, atol=1e-15)
    assert np.abs(predict(one, state_of(one), "P2").deflection).max() > 1e-4


def test_what_is_held_away_from_nominal_is_held_in_the_nominal_arm_too() -> None:
    full = ArmModel.of(FULL)
    small = mixed(full)
    q = state_of(full.at()).q
    held = predict(small.at(), State(q), "P1").position
    np.testing.assert_allclose(held, predict(full.at({"J2.y": 2e-3}), State(q), "P1").position, atol=1e-15)
    assert np.abs(held - predict(full.at(), State(q), "P1").position).max() > 1e-4


def test_derivatives_against_differences() -> None:
    small = mixed(ArmModel.of(FULL))
    values = values_of(small)
    names = [name for name in values if name.startswith(("link", "J4", "J2.x", "J3.y", "tool.P2"))]
    arm = small.at(values)
    columns = sensitivity(arm, state_of(arm), "P2", names, rotation=False)[1]
    own = {p.name: p for p in small.parameters}
    for name, column in zip(names, columns, strict=True):
        h = 1e-3 * own[name].scale
        ends = [small.at(values | {name: values[name] + s * h}) for s in (1.0, -1.0)]
        ahead, behind = (predict(end, state_of(end), "P2").position for end in ends)
        np.testing.assert_allclose((ahead - behind) / (2 * h), column, atol=2e-6 * np.abs(column).max() + 1e-12 / h)


def test_reductions_follow_one_another() -> None:
    model = ArmModel.of(FULL)
    one = reduced_model(model, ["symmetric", "diagonal"])
    other = reduced_model(reduced_model(model, ["symmetric"]), ["diagonal"])
    assert one.reduction is not None
    assert other.reduction is not None
    values = {p.name: p.scale for p in one.parameters}
    assert in_full(one, values) == in_full(other, {p.name: p.scale for p in other.parameters})
    assert one.full.parameters == model.parameters


def test_planning_takes_a_reduction() -> None:
    full, small = ArmModel.of(FULL), springs(ArmModel.of(FULL))
    reading = Reading("deflection", ("P1", "P2"), Isotropic(3e-5))
    pull = FixedForce("hook", (500.0, 200.0, -2000.0))
    names = tuple(p.name for p in small.parameters if p.elastic)
    every = tuple(p.name for p in full.parameters if p.elastic)
    stops = Stops(state_of(full.at()).q)
    ours, theirs = (
        Information(Wanted(m, n, True, False), n, reading, pull, np.ones(len(n)), np.zeros((0, len(n)))).rows(stops)
        for m, n in ((small, names), (full, every))
    )
    assert small.reduction is not None
    rows = [[p.name for p in small.reduction.full].index(name) for name in every]
    matrix = small.reduction.matrix[np.ix_(rows, [small.reduction.names.index(name) for name in names])]
    np.testing.assert_allclose(ours, theirs @ matrix, rtol=1e-10, atol=1e-9 * np.abs(ours).max())


# identification ----------------------------------------------------------------------------------------------------


def measured(robot: Robot, truth: dict[str, float], n: int = 24, sigma_m: float = 1e-6) -> Campaign:
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection", instrument=Isotropic(sigma_m))
    model = ArmModel.of(robot)
    plan = replace(plan, joints=robot.joint_names)
    return simulate(model.at(truth), plan, seed=4, sigma_m=sigma_m).campaign


def full_values(link: str, k: Floats) -> dict[str, float]:
    axes = ("x", "y", "z", "rx", "ry", "rz")
    return {f"{link}.compliance[{a},{b}]": float(k[i, j]) for i, a in enumerate(axes) for j, b in enumerate(axes)}


@cache
def beams_measured() -> tuple[Campaign, dict[str, float]]:
    """One elastic link, a tube along its x, beside stiff joints."""
    truth = full_values("link3", tube(*TUBES[2]))
    return measured(ONE_LINK, truth), truth


def found(**options: object) -> Estimate:
    select = ("link3.*",)
    return stiffarm.identify(ONE_LINK, beams_measured()[0], Options(elastic="none", select=select, **options))  # type: ignore[arg-type]


def test_a_reduced_fit_is_that_of_the_template() -> None:
    """M1 and M2 on a full link find what a link of that template finds, in the names of the full one."""
    reduced = found(reduce=("symmetric", "beam:x"))
    beam = replace(ONE_LINK, links=(replace(ONE_LINK.links[0], template="beam"),))
    template = stiffarm.identify(beam, beams_measured()[0], Options(elastic="none", select=("link3.*",)))
    assert reduced.fit.rank == template.fit.rank == 8
    for p in template.parameters:
        ours = reduced.parameter(p.name)
        assert (ours.value, ours.std, ours.low, ours.high) == pytest.approx((p.value, p.std, p.low, p.high), rel=1e-7)
    mirror = reduced.parameter("link3.compliance[rz,y]")
    assert mirror.value == reduced.parameter("link3.compliance[y,rz]").value
    left_out = reduced.parameter("link3.compliance[x,y]")
    assert (left_out.value, left_out.std, left_out.kind) == (0.0, None, "negligible")
    assert len(reduced.parameters) == 36
    rank = np.linalg.matrix_rank(np.array(reduced.covariance) * 1e16, tol=1e-9)
    assert (len(reduced.covariance_names), rank) == (10, 8)


def test_a_beam_in_any_direction_is_a_link_whose_frame_is_turned() -> None:
    """The same compliance, found in axes of the beam's own and given in those of the spring's frame."""
    direction = (0.8, 0.4, -0.3)
    turn = beam(direction).rotation
    assert turn is not None
    both = np.kron(np.eye(2), turn)
    k = both @ tube(*TUBES[2]) @ both.T
    campaign = measured(ONE_LINK, full_values("link3", k))
    rule = f"beam:{','.join(map(str, direction))}"
    options = Options(elastic="none", select=("link3.*",), folds=0)
    reduced = stiffarm.identify(ONE_LINK, campaign, replace(options, reduce=(rule,)))
    assert reduced.fit.rank == 8
    link = ONE_LINK.links[0]
    frame = rpy_from_rotation(rotation_from_rpy(link.rpy) @ turn)
    turned = replace(ONE_LINK, links=(replace(link, template="symmetric", rpy=frame),))
    in_own = stiffarm.identify(turned, campaign, replace(options, reduce=("beam:x",)))
    values = [reduced.values[name] for name in full_values("link3", k)]
    back = both.T @ np.array(values).reshape(6, 6) @ both
    for i, j, name in ((0, 0, "x,x"), (1, 1, "y,y"), (1, 5, "y,rz"), (2, 4, "z,ry"), (5, 5, "rz,rz")):
        assert back[i, j] == pytest.approx(in_own.values[f"link3.compliance[{name}]"], rel=1e-6)


def test_what_noise_swamps_is_left_out_and_said() -> None:
    everything, smaller = found(reduce=("symmetric",)), found(reduce=("symmetric", "neglect"))
    assert everything.fit.rank == 21
    gone = [p.name for p in smaller.parameters if p.std is None]
    assert smaller.fit.rank < 21
    assert {smaller.values[name] for name in gone} == {0.0}
    assert any("left out, held at zero (M3)" in held.why for held in smaller.dropped)
    assert all(p.nu >= 2.0 for p in smaller.parameters if p.nu is not None)
    truth = beams_measured()[1]
    for name in ("link3.compliance[ry,ry]", "link3.compliance[rz,rz]", "link3.compliance[z,ry]"):
        assert abs(smaller.values[name] - truth[name]) < 6 * (smaller.parameter(name).std or 0.0)


def test_what_was_merged_is_not_taken_up_again() -> None:
    """A number that stood for another must not come back in its place when the other is left out."""
    campaign = measured(FULL, full_values("link3", tube(*TUBES[2])) | {"J2.compliance": 3e-6}, sigma_m=2e-6)
    options = Options(elastic="none", select=("*.compliance*",), reduce=("symmetric",), folds=0)
    before = stiffarm.identify(FULL, campaign, options)
    after = stiffarm.identify(FULL, campaign, replace(options, reduce=("symmetric", "neglect")))
    assert after.fit.rank < before.fit.rank
    assert set(after.covariance_names) < set(before.covariance_names)
    assert {h.name for h in before.dropped} <= {h.name for h in after.dropped}


def test_what_helps_no_use_is_left_out(tmp_path: Path) -> None:
    """Entries that predict the job no better go, and the others are fitted without them."""
    truth = full_values("link3", tube(*TUBES[2]))
    campaign = measured(ONE_LINK, truth, n=8, sigma_m=3e-6)
    file = tmp_path / "job.path.csv"
    names = ",".join(f"q.{joint}[rad]" for joint in ONE_LINK.joint_names)
    random = np.random.default_rng(7)
    q, force = random.uniform(-1.0, 1.0, (6, 20)), random.uniform(-2000.0, 2000.0, (3, 20))
    rows = "".join(",".join([*map(str, c), "hook", *map(str, f)]) + "\n" for c, f in zip(q.T, force.T, strict=True))
    file.write_text(f"{names},load_point,force.x[N],force.y[N],force.z[N]\n{rows}", encoding="utf-8")
    options = Options(elastic="none", select=("link3.*",), reduce=("symmetric",), folds=0)
    everything = stiffarm.identify(ONE_LINK, campaign, options)
    for_use = stiffarm.identify(ONE_LINK, campaign, replace(options, reduce=("symmetric", f"use:{file}")))
    assert for_use.fit.rank < everything.fit.rank == 21
    assert any("where the model is used" in held.why for held in for_use.dropped)
    gone = [held.name for held in for_use.dropped]
    without = stiffarm.identify(
        ONE_LINK, campaign, replace(options, reduce=("symmetric", *(f"zero:{g}" for g in gone)))
    )
    assert for_use.values == pytest.approx(without.values, rel=1e-9, abs=1e-18)
    with pytest.raises(InputError, match="does not exist"):
        stiffarm.identify(ONE_LINK, campaign, replace(options, reduce=("use:nowhere.path.csv",)))


def test_any_map_may_be_given() -> None:
    """The regrouped model of a design, as a map: the merged ones held, their partners take over."""
    model = ArmModel.of(FULL)
    every = elastic_set(model)
    arm = model.at(dict.fromkeys(every.names, 0.0))
    pulled = state_of(arm, 40)
    state = replace(pulled, loads=(replace(pulled.loads[0], torque_world=None),))
    columns = np.concatenate(
        [sensitivity(arm, state, m, every.names, deflection=True)[1] for m in ("P1", "P2", "P3")], 1
    )
    rows = columns.reshape(len(every), -1).T
    groups = find_groups(rows, every.names, sizes=np.array([p.scale for p in every.full]))
    campaign = measured(FULL, {"J2.compliance": 3e-6, "link1.compliance[y,y]": 2e-7})
    estimate = stiffarm.identify(FULL, campaign, Options(elastic="none", select=("*.compliance*",), folds=0,
                                                         reduction=regroup(every, groups)))  # fmt: skip
    assert estimate.fit.rank == groups.rank
    assert not any("cannot be told" in held.why for held in estimate.dropped)


def test_definite_on_request() -> None:
    """A tube too stiff along its axis for the noise: the free fit is no compliance, the constrained one is."""
    truth = full_values("link3", tube(*TUBES[2]))
    campaign = measured(ONE_LINK, truth, n=8, sigma_m=3e-5)
    options = Options(elastic="none", select=("link3.*",), reduce=("symmetric",), folds=0)
    free = stiffarm.identify(ONE_LINK, campaign, options)
    kept = stiffarm.identify(ONE_LINK, campaign, replace(options, definite=True))
    assert any("link3: not positive definite" in note for note in free.notes)
    assert any("link3: positive definite" in note for note in kept.notes)
    assert any("kept positive definite (k = L L')" in note for note in kept.notes)
    k = np.array([kept.values[name] for name in truth]).reshape(6, 6)
    size = np.sqrt(np.diag(k))
    assert np.linalg.eigvalsh(k / np.outer(size, size)).min() > 0.0
    assert kept.fit.rms_m is not None
    assert free.fit.rms_m is not None
    assert free.fit.rms_m <= kept.fit.rms_m < 1.2 * free.fit.rms_m


def test_definite_needs_a_whole_link() -> None:
    with pytest.raises(InputError, match="no link has all its entries told"):
        stiffarm.identify(FULL, measured(FULL, {}), Options(elastic="joints", definite=True, folds=0))


# commands ----------------------------------------------------------------------------------------------------------


def test_identify_then_predict_by_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The reduced model's file predicts like the one of the template, deviations included, with no word of how."""
    plan = tmp_path / "rig.plan.csv"
    header = ",".join(f"q.A{k}[deg]" for k in range(1, 7))
    random = np.random.default_rng(0)
    lines = [f"experiment,observation,marker,load_point,{header},force.x[N],force.y[N],force.z[N]"]
    for i in range(14):
        q = random.uniform((-180, -140, -100, -300, -120, -300), (180, -5, 150, 300, 120, 300))
        cells = ",".join(f"{v:.4f}" for v in (*q, *random.uniform(-2000, 2000, 3)))
        lines += [f"{i},deflection,{marker},hook,{cells}" for marker in ("P1", "P2", "P3")]
    plan.write_text("\n".join(lines) + "\n", encoding="utf-8")
    robot = tmp_path / "arm.robot.toml"
    robot.write_text(robot_text(replace(read_robot("kr270"), compensators=())), encoding="utf-8")
    campaign = tmp_path / "rig.campaign.csv"
    assert main(["simulate", str(robot), str(plan), "--sigma", "0.03mm", "-o", str(campaign), "--quiet"]) == 0
    answers = []
    for name, how in {
        "reduced": ["--template", "full", "--reduce", "symmetric", "--reduce", "beam:x"],
        "beam": ["--template", "beam"],
    }.items():
        model = tmp_path / f"{name}.model.json"
        asked = [
            "identify",
            str(robot),
            str(campaign),
            "--elastic",
            "links",
            *how,
            "-o",
            str(model),
            "--quiet",
            "--folds",
            "0",
        ]
        assert main(asked) == 1  # nothing kept back: no verdict
        document = json.loads(model.read_text(encoding="utf-8"))
        assert document["fit"]["rank"] == 33
        capsys.readouterr()
        assert main(["predict", str(model), str(plan), "--json", "--quiet"]) == 0
        answers.append(capsys.readouterr().out)
    first, second = (json.loads(answer)["rows"] for answer in answers)
    for one, other in zip(first, second, strict=True):
        for key in ("dx[m]", "dy[m]", "dz[m]", "sigma.x[m]", "sigma.z[m]"):
            assert one[key] == pytest.approx(other[key], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("rule", "said"),
    [("sphere", "no such reduction"), ("beam:q", "an axis is needed"), ("own:x", "pairs of axes"),
     ("link9=beam:x", "no elastic link"), ("zero:J9.*", "no parameter matches"), ("tie:J1,J2", "not an unknown")],
)  # fmt: skip
def test_rules_that_cannot_be_followed_say_why(rule: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        reduced_model(ArmModel.of(FULL), [rule])


def test_assess_takes_a_reduction_and_says_what_it_costs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Counts and ranks of the templates, from the full model by rules; a tube costs nothing as a beam along itself."""
    robot = read_robot("kr270")
    links = tuple(
        replace(link, template="full", compliance=tuple(map(tuple, tube(*size).tolist())))
        for link, size in zip(robot.links, TUBES, strict=True)
    )
    file = tmp_path / "tubes.robot.toml"
    file.write_text(robot_text(replace(robot, links=links)), encoding="utf-8")
    question = ["assess", str(file), "--elastic", "links", "--load", "any", "--observe", "pose"]
    shares = {}
    for rules, count, rank in ((["symmetric"], 153, 105), (["symmetric", "beam:x"], 62, 33), (["diagonal"], 48, 27),
                               (["zero:link2.*"], 222, None)):  # fmt: skip
        how = [word for rule in rules for word in ("--reduce", rule)]
        assert main([*question, *how, "--json", "--quiet"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["parameters"] == count
        assert rank in (None, document["rank"])
        assert (document["reduced"]["full"], document["reduced"]["left"]) == (258, count)
        shares[rules[-1]] = document["reduced"]["share"]
    assert max(shares["symmetric"], shares["beam:x"]) < 1e-9
    assert min(shares["diagonal"], shares["zero:link2.*"]) > 1e-5
    assert main([*question, "--reduce", "beam:x", "--quiet"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Reduced by beam:x: 62 compliances in the place of 258. For the compliances of the robot file it is" in said
    assert (
        main(["assess", "kr270", "--elastic", "links", "--template", "full", "--reduce", "symmetric", "--quiet"]) == 0
    )
    assert "states no compliance of links" in " ".join(capsys.readouterr().out.split())
