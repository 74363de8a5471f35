"""Where the work is done: test poses with their loads, and what an error of the parameters does there.

The arm is compensated with the identified parameters, so that at a test pose a marker is off by the error of its
prediction, A (x - x_true) with A its columns under the loads of the test pose.  Over rows and markers of weight w_i

    value^2 = sum_i w_i tr(A_i C A_i') / sum_i w_i  =  tr(L C L'),        L = [ sqrt(w_i / sum w) A_i ]

C the covariance of the parameters.  Where positions are planned the frame in which they are read counts as well: a
place is as uncertain as it is in that frame.

Test poses are the rows of a file; or, for a region, poses spread over it.  There a force of the plan's size pulls in
any direction: the mean of tr over all directions is that over three axes at right angles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.question import Wanted
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.measure.columns import markers_of
from stiffarm.measure.frames import TableLike, name_of, source_of
from stiffarm.measure.paths import read_path, read_plan_or_path
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import sensitivity
from stiffarm.model.inverse import inverse_kinematics
from stiffarm.model.loads import Load, State
from stiffarm.plan.candidates import feasible_stops
from stiffarm.plan.columns import arms_of
from stiffarm.plan.constraints import ToolBox
from stiffarm.plan.options import Box
from stiffarm.plan.problem import FixedForce, Floats, Ints, Pull
from stiffarm.plan.variables import Space
from stiffarm.robot.arm import Robot

SPREAD = 32
"""Poses that stand for a region."""
SPREAD_SEED = 20140601
"""Of these poses, whatever the seed of the plan: plans of several seeds are judged alike."""


@dataclass(frozen=True, eq=False)
class TestPoses:
    """Rows of (configuration, loads, marker, weight)."""

    __test__ = False

    q: Floats
    """(joints, rows) controller values, rad or m."""
    load_points: tuple[str, ...]
    wrench_world: Floats
    """(load points, 6, rows) N, N m."""
    markers: tuple[str, ...]
    marker: Ints
    """(rows,) index into ``markers``."""
    weight: Floats
    """(rows,) as stated."""
    words: str
    """What they are, for people."""
    warnings: tuple[str, ...] = ()

    @property
    def loaded(self) -> bool:
        """Whether anything pulls in any row."""
        return bool(self.wrench_world.any())


def read_test_poses(given: TableLike, robot: Robot, markers: tuple[str, ...]) -> TestPoses:
    """Test poses of a file; rows that name no marker stand for each of ``markers``."""
    source = source_of(given)
    path = name_of(source)
    if path.endswith((".plan.csv", ".campaign.csv")):
        found = read_plan_or_path(source, robot)
        assert isinstance(found, Campaign), "a plan by its name"
        return _of_campaign(found, markers, str(path))
    rows = read_path(source, robot)
    known = markers_of(robot)
    named = np.array([rows.markers[m] in known for m in rows.marker.tolist()]) & ("marker" in rows.headers)
    q = rows.q if rows.q is not None else None
    if q is None:
        assert rows.pose_world is not None, "a path has joints or poses"
        q = _joints_of(robot, rows.pose_world, str(path), rows.row)
    if not rows.weight.sum() > 0.0:
        raise InputError(
            Problem("no test pose has any weight", str(path), column="weight", allowed="a positive number")
        )
    poses = TestPoses(
        np.ascontiguousarray(q),
        rows.load_points,
        rows.wrench_world,
        rows.markers,
        rows.marker,
        rows.weight,
        f"{len(rows)} test pose{'s' * (len(rows) > 1)} of {path}",
        rows.warnings,
    )
    return poses if named.all() else _each_marker(poses, markers)


def _of_campaign(plan: Campaign, markers: tuple[str, ...], file: str) -> TestPoses:
    experiments, readings = plan.experiments, plan.readings
    used, first = np.unique(np.stack([readings.experiment, readings.marker]), axis=1, return_index=True)
    at = used[0][np.argsort(first, kind="stable")]
    which = used[1][np.argsort(first, kind="stable")]
    names = (*plan.markers, DEFAULT_MARKER)
    wrench = experiments.wrench_world[:, :, at]
    words = f"the {len(np.unique(at))} experiments of {file}"
    marker = np.where(which < 0, len(plan.markers), which)
    poses = TestPoses(
        np.ascontiguousarray(experiments.q[:, at]),
        experiments.load_points,
        wrench,
        names,
        marker,
        np.ones(len(at)),
        words,
        plan.warnings,
    )
    return _each_marker(poses, markers) if (which < 0).all() else poses


def _each_marker(poses: TestPoses, markers: tuple[str, ...]) -> TestPoses:
    """Every row once for each of the markers."""
    rows, count = poses.q.shape[1], len(markers)
    at = np.repeat(np.arange(rows), count)
    return TestPoses(
        np.ascontiguousarray(poses.q[:, at]),
        poses.load_points,
        poses.wrench_world[:, :, at],
        markers,
        np.tile(np.arange(count), rows),
        poses.weight[at],
        poses.words,
        poses.warnings,
    )


def _joints_of(robot: Robot, pose_world: Floats, file: str, row: Ints) -> Floats:
    solution = inverse_kinematics(ArmModel.of(robot).at(), pose_world)
    missed = np.flatnonzero(~solution.reached)
    if len(missed):
        raise InputError(
            Problem(
                "the nominal robot cannot take this pose",
                file,
                int(row[missed[0]]),
                "x y z rx ry rz",
                allowed="a pose of the tool within reach and joint limits",
            )
        )
    return solution.q


def spread_poses(
    arm: Arm, low: Floats, high: Floats, box: Box | None, pull: Pull | None, markers: tuple[str, ...], where: str
) -> TestPoses:
    """Poses spread over a box of tool points, or over all the arm reaches."""
    space = Space(low, high, None, np.zeros(len(low), dtype=bool))
    kept = () if box is None else (ToolBox(arm, box.low_m, box.high_m, name="region"),)
    stops, _ = feasible_stops(space, kept, 8 * SPREAD if kept else SPREAD, SPREAD_SEED, np.zeros((len(low), 1)))
    if not len(stops):
        raise InputError(
            Problem(
                "the tool cannot reach the region of the test poses",
                column="--test-pose",
                allowed="a box of the world that the tool reaches within its joint limits",
            )
        )
    q = stops.q[:, :SPREAD]
    count = q.shape[1]
    words = f"{count} poses spread over {where}"
    points: tuple[str, ...] = () if pull is None else (pull.load_point,)
    wrench = np.zeros((len(points), 6, count))
    if isinstance(pull, FixedForce):
        wrench[0, :3] = np.array(pull.force_world)[:, None]
        words += " under the plan's force"
    elif pull is not None:
        q = np.repeat(q, 3, axis=1)
        wrench = np.zeros((1, 6, 3 * count))
        wrench[0, :3] = pull.force_n * np.tile(np.eye(3), count)
        words += f" under {pull.force_n:g} N in any direction"
    rows = q.shape[1]
    poses = TestPoses(
        np.ascontiguousarray(q), points, wrench, markers, np.zeros(rows, dtype=np.int64), np.ones(rows), words
    )
    return _each_marker(poses, markers)


def target_of(asked: Wanted, poses: TestPoses, *, deflection: bool) -> Floats:
    """L (3 rows, parameters), SI: the value is the root of tr(L C L')."""
    out = np.zeros((len(asked.names), 3, poses.q.shape[1]))
    for arm, part in arms_of(asked):
        if part:
            names = [asked.names[i] for i in part]
            for m in np.unique(poses.marker).tolist():
                rows = np.flatnonzero(poses.marker == m)
                state = State(np.ascontiguousarray(poses.q[:, rows]), _loads(arm, poses, rows, deflection))
                found = sensitivity(arm, state, poses.markers[m], names, deflection=deflection)[1]
                out[np.array(part)[:, None, None], np.arange(3)[:, None], rows] = found
    share = np.sqrt(poses.weight / poses.weight.sum())
    return np.ascontiguousarray((out * share).reshape(len(asked.names), -1).T)


def _loads(arm: Arm, poses: TestPoses, rows: Ints, deflection: bool) -> tuple[Load, ...]:
    own = [
        Load(arm.chain.point(name, of="load point"), wrench[:3, rows], wrench[3:, rows])
        for name, wrench in zip(poses.load_points, poses.wrench_world, strict=True)
        if wrench[:, rows].any()
    ]
    return tuple(own) if deflection else (*own, *arm.weights())
