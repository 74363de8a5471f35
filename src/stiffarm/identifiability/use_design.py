"""A plan, a campaign or a path in the form of a design: configurations with one load each, and the points seen.

A design has one load point.  When a file loads several at once, their forces and moments are added up at the first.
Poses of a path are taken by the nominal arm, as predictions take them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.design import Design
from stiffarm.identifiability.question import Question, load_point_of
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.measure.paths import PathFile
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.inverse import inverse_kinematics
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
Use = Campaign | PathFile


def design_of_plan(
    robot: Robot, plan: Campaign, question: Question, markers: tuple[str, ...], pose: bool = False
) -> Design:
    """A plan's configurations, for asking what other loads would tell."""
    experiments = plan.experiments
    used = np.unique(plan.readings.experiment[~plan.kind("distance")])
    q = np.ascontiguousarray(experiments.q[:, used])
    return _design(robot, question, q, experiments.load_points, experiments.wrench_world[:, :, used], markers, pose)


def design_of_use(robot: Robot, use: Use, question: Question) -> Design:
    """Where a model is used: the rows of a plan, campaign or path."""
    if isinstance(use, PathFile):
        seen = tuple(dict.fromkeys(use.markers[m] for m in np.unique(use.marker).tolist()))
        return _design(robot, question, _joints_of(robot, use), use.load_points, use.wrench_world, seen, False)
    codes = np.unique(use.readings.marker).tolist()
    points = tuple(dict.fromkeys(use.markers[m] if m >= 0 else DEFAULT_MARKER for m in codes))
    return design_of_plan(robot, use, question, points or (DEFAULT_MARKER,))


def _design(
    robot: Robot,
    question: Question,
    q: Floats,
    load_points: tuple[str, ...],
    wrench_world: Floats,
    markers: tuple[str, ...],
    pose: bool,
) -> Design:
    wrench = wrench_world.sum(axis=0) if len(load_points) else np.zeros((6, q.shape[1]))
    pulled = [name for name, one in zip(load_points, wrench_world, strict=True) if one.any()]
    point = pulled[0] if pulled else load_point_of(robot, question)
    return Design(q, wrench[:3], wrench[3:], point, markers, pose)


def _joints_of(robot: Robot, path: PathFile) -> Floats:
    if path.q is not None:
        return np.ascontiguousarray(path.q)
    assert path.pose_world is not None, "a path has joints or poses"
    solution = inverse_kinematics(ArmModel.of(robot).at(), path.pose_world)
    missed = np.flatnonzero(~solution.reached)
    if len(missed):
        raise InputError(
            Problem(
                "the nominal robot cannot take this pose",
                file=path.file,
                row=int(path.row[missed[0]]),
                column="x y z rx ry rz",
                allowed="a pose of the tool within reach and joint limits",
            )
        )
    return solution.q
