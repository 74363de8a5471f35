"""`stiffarm.assess`: what a robot, its loads and its markers can ever tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stiffarm.identifiability.assessment import Assessment
from stiffarm.identifiability.assessment import assess as run
from stiffarm.identifiability.question import Question
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.frames import TableLike, source_of
from stiffarm.measure.paths import read_plan_or_path
from stiffarm.measure.reading import read_plan
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot


def assess(
    robot: Robot | str | Path, plan: Campaign | TableLike | None = None, use: TableLike | None = None, **asked: Any
) -> Assessment:
    """What a robot, its loads and its markers can ever tell; with a plan, how well.

    ``asked`` are fields of `stiffarm.Question`: ``elastic="links"``, ``load="vertical"``, ``markers=("P1",)`` ...

    >>> found = assess("kr270", elastic="joints", load="vertical")
    >>> found.groups.rank, found.groups.nothing
    (5, ('A1.compliance',))
    """
    arm = robot if isinstance(robot, Robot) else read_robot(robot)
    planned = plan if plan is None or isinstance(plan, Campaign) else read_plan(source_of(plan), arm)
    used = None if use is None else read_plan_or_path(source_of(use), arm)
    return run(arm, planned, Question(**asked), used)
