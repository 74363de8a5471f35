"""Plans of touches: what a group says without its point, the search against all choices, the bound, the files."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import stiffarm
from stiffarm import assess
from stiffarm.cli.main import main
from stiffarm.measure.reading import read_plan
from stiffarm.plan.criteria import criterion_of
from stiffarm.plan.information import triangle
from stiffarm.plan.options import Box, PlanOptions
from stiffarm.plan.problem import Floats
from stiffarm.plan.touch_bound import bound_of
from stiffarm.plan.touch_pool import TouchPool
from stiffarm.plan.touch_search import Groups, KnownLength, TouchProblem, searched, shared_out
from stiffarm.plan.touches import campaign_of_touches, plan_touches
from stiffarm.robot.reading import read_robot

Output = pytest.CaptureFixture[str]
BOX = "x=0.8..2.2,y=-1.2..1.2,z=0.3..1.6[m]"
FEW = PlanOptions(experiments=36, poses=3, geometry="full", elastic="none", sigma_m=5e-5, known_length=True,
                  tool_box=Box((0.2, -0.6, 0.1), (0.7, 0.6, 0.7)))  # fmt: skip


def problem(seed: int, name: str = "test", *, length: bool = False, places: int = 3, each: int = 5) -> TouchProblem:
    random = np.random.default_rng(seed)
    rows = random.normal(size=(places * each, 3, 4))
    pool = TouchPool(np.zeros((6, places * each)), np.repeat(np.arange(places), each),
                     random.normal(size=(places, 3)), rows)  # fmt: skip
    one = criterion_of(name, 4, 6, random.normal(size=(3, 4)))
    return TouchProblem(pool, one, np.zeros((0, 4)), KnownLength(2e-5, 5e-5) if length else None)


def with_points(one: TouchProblem, groups: Groups) -> Floats:
    """The triangular factor with the touched points among the unknowns, and what is left when they are taken out."""
    rows = []
    for g, touches in enumerate(groups):
        for touch in touches:
            point = np.zeros((3, 3 * len(groups)))
            point[:, 3 * g : 3 * g + 3] = -np.eye(3)
            rows.append(np.concatenate([point, one.pool.rows[touch]], axis=1))
    if one.length is not None:
        away = one.pool.at_m[one.pool.place[groups[0][0]]] - one.pool.at_m[one.pool.place[groups[1][0]]]
        u = away / np.linalg.norm(away)
        row = np.zeros((1, 3 * len(groups) + 4))
        row[0, :3], row[0, 3:6] = u, -u
        rows.append(row * one.length.touch_sigma_m / one.length.sigma_m)
    r = triangle(np.concatenate(rows))
    return r[3 * len(groups) :, 3 * len(groups) :]


@pytest.mark.parametrize("length", [False, True])
def test_a_group_says_what_is_left_when_its_point_is_taken_out(length: bool) -> None:
    one = problem(1, length=length)
    groups = (np.array([0, 2, 4]), np.array([5, 6, 9]), np.array([11, 12, 14]))
    ours, full = one.factor(groups), with_points(one, groups)
    np.testing.assert_allclose(ours.T @ ours, full.T @ full, atol=1e-10)


@pytest.mark.parametrize("name", ["test", "D"])
def test_the_search_comes_near_the_best_of_all_choices_and_the_bound_stays_under_it(name: str) -> None:
    for seed in range(3):
        one = problem(seed, name)
        best = min(
            one.value((np.array(a), np.array(b)))
            for x, y in combinations(range(3), 2)
            for a in combinations(range(5 * x, 5 * x + 5), 3)
            for b in combinations(range(5 * y, 5 * y + 5), 3)
        )
        groups, value = searched(one, np.array([3, 3]), np.random.default_rng(0), starts=6)
        assert value == pytest.approx(one.value(groups))
        assert best * (1.0 - 1e-9) <= value <= 1.02 * best
        assert 0.5 * best <= bound_of(one, groups) <= best


def test_a_known_length_only_helps_and_its_bound_still_holds() -> None:
    with_length, without = problem(5, length=True), problem(5)
    groups = (np.array([0, 1, 2]), np.array([5, 7, 8]))
    assert with_length.value(groups) < without.value(groups)
    best = min(
        with_length.value((np.array(a), np.array(b)))
        for x, y in combinations(range(3), 2)
        for a in combinations(range(5 * x, 5 * x + 5), 3)
        for b in combinations(range(5 * y, 5 * y + 5), 3)
    )
    assert bound_of(with_length, groups) <= best


def test_touches_are_shared_out_evenly() -> None:
    assert shared_out(54, 3).tolist() == [18, 18, 18]
    assert shared_out(11, 3).tolist() == [4, 4, 3]


def test_a_plan_of_touches_and_its_campaign() -> None:
    robot = read_robot("ur5")
    plan = stiffarm.plan_touches(robot, FEW)
    assert plan.touches == 36
    assert repr(plan).startswith("36 touches by 'tool' of 3 points")
    assert plan.to_polars().height == 37
    assert [one.shape[1] for one in plan.q] == [12, 12, 12]
    assert (plan.places_m >= np.array([0.2, -0.6, 0.1]) - 1e-9).all()
    assert plan.bound is not None
    assert 0.0 < plan.bound <= plan.value < 1e-3
    told = assess(robot, geometry="full", elastic="none", observe="touch", known_length=True).groups.rank
    assert len(plan.predicted_std) == told
    again = plan_touches(robot, FEW)
    assert all((a == b).all() for a, b in zip(plan.q, again.q, strict=True))
    campaign = campaign_of_touches(plan)
    assert campaign.kind("touch").sum() == 36
    assert campaign.kind("distance").sum() == 1
    unscaled = plan_touches(robot, PlanOptions(**{**vars(FEW), "known_length": False}))
    assert len(unscaled.predicted_std) == told - 1
    assert any("scale" in note for note in unscaled.notes)


def test_the_command_writes_a_plan_that_is_measured_and_identified(tmp_path: Path, capsys: Output) -> None:
    file, read, model = tmp_path / "t.plan.csv", tmp_path / "t.campaign.csv", tmp_path / "t.model.json"
    options = ["--observe", "touch", "--known-length", "--experiments", "45", "--poses", "3", "--sigma", "0.05mm",
               "--geometry", "full", "--elastic", "none",
               "--tool-box", "x=0.2..0.7,y=-0.6..0.6,z=0.1..0.7[m]"]  # fmt: skip
    assert main(["plan", "ur5", *options, "--json", "-o", str(file)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["efficiency"] == found["bound"] / found["value"]
    assert len(found["experiments"]) == 45
    assert {one["target"] for one in found["experiments"]} == {"T1", "T2", "T3"}
    assert len(read_plan(file, read_robot("ur5")).targets) == 3
    spread = ["--spread", "*.offset=0.5 mrad", "--spread", "*.x=0.2 mm"]
    assert main(["simulate", "ur5", str(file), *spread, "--sigma", "0.05mm", "-o", str(read)]) == 0
    assert main(["identify", "ur5", str(read), "--elastic", "none", "--gears", "none", "-o", str(model), "--json"]) in (
        0, 1)  # fmt: skip
    capsys.readouterr()
    stds = {p["name"]: p["std"] for p in json.loads(model.read_text())["parameters"] if p["std"]}
    shared = [name for name in found["predicted_std"] if name in stds]
    assert len(shared) >= 15
    ratio = np.array([stds[name] / found["predicted_std"][name] for name in shared])
    assert np.median(ratio) == pytest.approx(1.0, abs=0.35)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--experiments", "6", "--poses", "2"], "touches do not tell"),
        (["--experiments", "12", "--poses", "9"], "12 touches of 9 points"),
        (["--tool-box", "z>=9[m]"], "no place is found"),
        (["--cable", "1,1,0[m]", "--force", "500N"], "one steady force"),
        (["--known-length", "--poses", "1"], "touches of 1 points"),
        (["--experiments", "400", "--poses", "1"], "different postures"),
    ],
)
def test_what_cannot_be_planned_is_refused(options: list[str], words: str, tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "t.plan.csv"
    arguments = ["plan", "ur5", "--observe", "touch", "--elastic", "none", "--geometry", "full", "--criterion", "D"]
    assert main([*arguments, *options, "-o", str(file)]) == 2
    assert words in capsys.readouterr().err
    assert not file.exists()
