"""Campaigns from arrays against the same in a file, and the problem of the side-by-side benchmark."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from stiffarm.errors import InputError
from stiffarm.identify.fit import fit
from stiffarm.identify.options import Options
from stiffarm.measure.arrays import campaign_of_positions
from stiffarm.measure.reading import read_campaign
from stiffarm.robot.reading import read_robot

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "bench"))

import _peer_problem as problem
from peers import TASKS, UNTURNED, Task, robot_of, unseen_mm


def test_arrays_say_what_a_file_says(tmp_path: Path) -> None:
    robot = read_robot("ur5")
    random = np.random.default_rng(1)
    q, xyz = random.uniform(-1.5, 1.5, (5, 6)), random.uniform(-0.8, 0.8, (5, 3))
    header = ",".join([*(f"q.{name}[rad]" for name in robot.joint_names), "x[m]", "y[m]", "z[m]"])
    rows = [",".join(map(repr, row)) for row in np.hstack([q, xyz]).tolist()]
    path = tmp_path / "arrays.campaign.csv"
    path.write_text("experiment," + header + "\n" + "".join(f"{i},{row}\n" for i, row in enumerate(rows)))
    read, made = read_campaign(path, robot), campaign_of_positions(robot, q, xyz)
    np.testing.assert_array_equal(made.experiments.q, read.experiments.q)
    np.testing.assert_array_equal(made.readings.value, read.readings.value)
    assert (made.readings.kind == read.readings.kind).all()
    assert (made.joints, made.joint_kinds) == (read.joints, read.joint_kinds)


@pytest.mark.parametrize(
    ("q", "xyz", "marker", "says"),
    [
        (np.zeros((3, 5)), np.zeros((3, 3)), None, "do not fit"),
        (np.zeros((3, 6)), np.zeros((4, 3)), None, "do not fit"),
        (np.full((3, 6), np.nan), np.zeros((3, 3)), None, "not a finite number"),
        (np.zeros((3, 6)), np.zeros((3, 3)), "P9", "does not exist"),
    ],
)
def test_arrays_that_cannot_be_a_campaign(q: np.ndarray, xyz: np.ndarray, marker: str | None, says: str) -> None:
    with pytest.raises(InputError, match=says):
        campaign_of_positions(read_robot("ur5"), q, xyz, marker=marker)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_problem_of_the_peers_is_solved_as_well_as_noise_allows(task: Task) -> None:
    """Unseen accuracy, number of directions told, and no compliance of a joint that weights do not turn."""
    robot = robot_of(task.elastic)
    q, read = problem.readings(task.poses, elastic=task.elastic)
    found = fit(robot, campaign_of_positions(robot, q, read, marker="P1"), Options(estimator="ols"))
    told = {name.split(".")[0] for name in found.names if name.endswith(".compliance")}
    assert unseen_mm(found, robot, task.elastic) <= task.most_mm
    assert found.rank == 27 + len(told)
    assert found.solution.iterations <= 4
    assert told == ({"A2", "A3", "A4", "A5"} if task.elastic else set())
    why = {held.name: held.why for held in found.dropped}
    assert not task.elastic or all(why[f"{joint}.compliance"] for joint in UNTURNED)
