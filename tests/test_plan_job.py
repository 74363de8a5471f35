"""What options become before the search: what can be told, priors, regions, texts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from stiffarm.errors import InputError
from stiffarm.measure.writing import write_table
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import State
from stiffarm.plan.job import Job, job_of
from stiffarm.plan.marker_choice import best_markers, value_of
from stiffarm.plan.options import Box, PlanOptions
from stiffarm.plan.texts import angles_of, attachment_of, box_of, force_of, point_of, span_of
from stiffarm.robot.arm import Prior
from stiffarm.robot.reading import read_robot

ARM = read_robot("kr270")
HANGING = PlanOptions(force_n=2600.0, direction="vertical", poses=3, criterion="D")


def job(**asked: object) -> Job:
    return job_of(ARM, replace(HANGING, **asked))  # type: ignore[arg-type]


def test_a_prior_stands_in_for_a_load_that_tells_nothing() -> None:
    with pytest.raises(InputError, match=r"cannot excite A1\.compliance"):
        job()
    assert "A1.compliance" not in job(fix=("A1.compliance",)).refiner.information.names
    known = replace(ARM, priors=(Prior("A1.compliance", 1e-7, "rad/(N*m)"),))
    found = job_of(known, HANGING).refiner.information
    assert "A1.compliance" in found.names
    at = found.names.index("A1.compliance")
    assert np.linalg.norm(found.known[:, at]) == pytest.approx(found.scale[at] / 1e-7)


def test_priors_on_everything_make_one_pose_enough() -> None:
    with pytest.raises(InputError, match="allowed: 2 or more"):
        job(direction=None, poses=1, markers=("P1",))
    known = replace(ARM, priors=(Prior("*.compliance", 1e-6, "rad/(N*m)"),))
    assert job_of(known, replace(HANGING, direction=None, poses=1, markers=("P1",))).problem.poses == 1


def test_redundant_geometry_is_held_and_named() -> None:
    found = job_of(ARM, PlanOptions(poses=12, criterion="D", elastic="none", markers=("P1",)))
    assert len(found.refiner.information.names) == 27
    assert set(found.refiner.information.names).isdisjoint(found.held)
    assert found.held["A1.rz"].startswith("told only together with base.rz")


def test_rows_of_test_poses_count_by_their_weight(tmp_path: Path) -> None:
    headers = [*(f"q.A{k}[deg]" for k in range(1, 7)), "force.z[N]", "load_point", "weight"]
    rows = [[0.0, 20.0], [-80.0, -60.0], [80.0, 60.0], [0.0, 10.0], [40.0, 60.0], [0.0, 0.0], [-900.0, -1800.0]]
    targets = []
    for name, weight in {"both": [1.0, 3.0], "first": [1.0, 0.0], "second": [0.0, 2.0]}.items():
        write_table(tmp_path / f"{name}.path.csv", headers, [*rows, ["hook", "hook"], weight])
        options = PlanOptions(force_n=2600.0, poses=4, test_pose=tmp_path / f"{name}.path.csv", markers=("P1", "P3"))
        target = job_of(ARM, options).target
        assert target is not None
        targets.append(target.T @ target)
    np.testing.assert_allclose(targets[0], 0.25 * targets[1] + 0.75 * targets[2], atol=1e-12 * targets[0].max())


def test_a_region_has_poses_inside_it() -> None:
    box = Box((1.2, -0.6, 0.8), (1.8, 0.6, 1.2))
    found = job(direction=None, criterion="test", test_pose=box)
    assert found.use is not None
    arm = found.problem.asked.model.at()
    place = predict(arm, State(found.use.q), "tool").position
    low, high = np.array(box.low_m)[:, None], np.array(box.high_m)[:, None]
    assert ((place >= low - 1e-9) & (place <= high + 1e-9)).all()
    np.testing.assert_allclose(np.linalg.norm(found.use.wrench_world[0, :3], axis=0), 2600.0)


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (point_of, "1,2[m]", "three coordinates are needed"),
        (point_of, "1,2,x[m]", "not a number"),
        (point_of, "1,2,3[deg]", "not a unit of a length"),
        (box_of, "z>0.5", "the unit is missing"),
        (box_of, "w=1..2[m]", "cannot be read"),
        (box_of, "z>=1..2[m]", "cannot be read"),
        (box_of, "z=2..1[m]", "the box is empty"),
        (attachment_of, "x=1,y=2[m]", "open along z"),
        (force_of, "4000", "force with its unit"),
        (force_of, "0,0,0[N]", "this force is nothing"),
        (force_of, "-4kN", "positive"),
        (span_of, "5..1[m]", "nearest and a farthest"),
    ],
)
def test_what_is_typed_wrong_is_told(read: object, text: str, words: str) -> None:
    assert callable(read)
    with pytest.raises(InputError, match=words):
        read(text, "--option")


def test_angles_have_the_unit_of_their_joint() -> None:
    assert angles_of("A2=0,-90[deg]", "--angles", ARM) == ("A2", (-np.pi / 2.0, 0.0))
    assert angles_of("E1=1,2[m]", "--angles", read_robot("kr500-rail")) == ("E1", (1.0, 2.0))
    for text, words in (("A9=1[deg]", "no such joint"), ("A2=1,2[m]", "not a unit of an angle"), ("A2", "its values")):
        with pytest.raises(InputError, match=words):
            angles_of(text, "--angles", ARM)


def test_the_markers_that_tell_most_are_read() -> None:
    found = job(direction=None, criterion="A")
    values = {}
    for some in combinations(("P1", "P2", "P3"), 2):
        rows = replace(found.refiner.information, reading=replace(found.problem.reading, markers=some)).rows(
            found.pool.stops.take(np.unique(np.linspace(0, len(found.pool.stops) - 1, 64).astype(np.int64)))
        )
        information = np.einsum("nkp,nkq->pq", rows, rows) * (3.0 / 64.0)
        values[some] = float(np.sqrt(np.trace(np.linalg.inv(information)) / information.shape[0]))
        assert value_of(found, some) == pytest.approx(values[some], rel=1e-6)
    assert best_markers(found, 2) == min(values, key=lambda some: values[some])
    with pytest.raises(InputError, match="allowed: 1 to 3: P1 P2 P3"):
        best_markers(found, 4)
    with pytest.raises(InputError, match="for deflections alone"):
        best_markers(job_of(ARM, PlanOptions(poses=12, criterion="D")), 1)
