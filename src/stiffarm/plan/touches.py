"""Planning without a tracker: how many points to touch, where, and in which postures.

Touches of unknown points say nothing of the scale of all lengths, and what they cannot tell is held, as an
identification would hold it; a known length between the first two points tells the scale (`known_length`).  With no
number of points asked for, several are tried and the best is the plan; all of them stand in its curve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.question import Question, Wanted, markers_of, wanted
from stiffarm.measure.campaign import Campaign, Isotropic
from stiffarm.measure.touch_plan import KnownDistance, Touching, plan_of_touches
from stiffarm.measure.touch_plan import Pull as Pulling
from stiffarm.plan.asked import limits_of, pull_of
from stiffarm.plan.before import known_before
from stiffarm.plan.constraints import ToolBox
from stiffarm.plan.criteria import criterion_of
from stiffarm.plan.information import Information
from stiffarm.plan.job import use_of
from stiffarm.plan.options import PlanOptions
from stiffarm.plan.problem import Cable, FixedForce, Floats, FreeForce, Pull, Reading, Stops
from stiffarm.plan.told import told_of
from stiffarm.plan.touch_bound import bound_of
from stiffarm.plan.touch_pool import TouchPool, touch_postures
from stiffarm.plan.touch_search import Groups, KnownLength, TouchProblem, searched, shared_out
from stiffarm.plan.variables import Space
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

TOUCHES = 54
"""When nobody says how many: 18 of each of three points."""
POINTS = (2, 3, 4, 6, 9)
LEAST_TOUCHES = 3
"""Of a point: two say what they have in common and little more."""
SIGMA_M = 0.05e-3
STARTS = 3
LENGTH_SIGMA_M = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class TouchPlan(Shown):
    """Touches to be made, and how good they are."""

    robot: Robot
    marker: str
    q: tuple[Floats, ...]
    """By point: (joints, touches) rad or m."""
    places_m: Floats
    """(points, 3) where to put the points, world."""
    pull: Pull | None
    sigma_m: float
    length_known: bool
    """Whether the distance between the first two points will be measured."""
    criterion: str
    value: float
    bound: float | None
    """For touches of the candidates that were offered; None when the criterion has none."""
    predicted_std: Mapping[str, float]
    held: Mapping[str, str]
    curve: Mapping[int, float]
    """Criterion by number of points, the number of touches unchanged."""
    use: str | None
    seed: int
    seconds: float
    finished: bool = True
    notes: tuple[str, ...] = ()

    @property
    def touches(self) -> int:
        """Of all points."""
        return sum(one.shape[1] for one in self.q)

    @property
    def campaign(self) -> Campaign:
        """The touches as a campaign whose readings are still to come."""
        return campaign_of_touches(self)

    def summary(self) -> tuple[str, ...]:
        """In words."""
        from stiffarm.plan.touch_words import sentences

        return tuple(sentences(self))

    def to_polars(self) -> pl.DataFrame:
        """The rows of the plan's file."""
        return self.campaign.to_polars()


def plan_touches(
    robot: Robot | str | Path,
    options: PlanOptions | None = None,
    *,
    tell: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
    **asked: Any,
) -> TouchPlan:
    """Plan touches of unknown points; `InputError` when there can be no such plan.

    ``asked`` are fields of `PlanOptions`: ``experiments=54``, ``poses=3`` (points), ``known_length=True`` ...
    """
    options = replace(options or PlanOptions(), observe="touch", **asked)
    begun = time.monotonic()
    arm = robot if isinstance(robot, Robot) else read_robot(robot)
    tell("places and postures that touch them")
    task = _task(arm, options)
    total = options.experiments or TOUCHES
    plans: dict[int, tuple[Groups, float]] = {}
    for points in _points(options, total, task.problem):
        if stop() and plans:
            break
        tell(f"touches of {points} points")
        random = np.random.default_rng([options.seed, points])
        plans[points] = searched(task.problem, shared_out(total, points), random, stop)
    best = min(plans, key=lambda points: plans[points][1])
    if not stop():
        tell(f"touches of {best} points, from other starts")
        random = np.random.default_rng([options.seed, best, 1])
        again = searched(task.problem, shared_out(total, best), random, stop, STARTS)
        plans[best] = min(plans[best], again, key=lambda one: one[1])
    groups, value = plans[best]
    if not np.isfinite(value):
        raise _too_few(task, total)
    tell("how much better any touches could be")
    certified = task.problem.criterion.certified
    bound = bound_of(task.problem, groups) if certified and not stop() else None
    pool = task.problem.pool
    return TouchPlan(
        arm, task.marker, tuple(np.ascontiguousarray(pool.q[:, one]) for one in groups),
        np.array([pool.at_m[pool.place[one[0]]] for one in groups]), task.pull, task.sigma_m, options.known_length,
        task.problem.criterion.name, value, bound, _deviations(task, groups), task.held,
        {points: found for points, (_, found) in plans.items()}, task.use, options.seed, time.monotonic() - begun,
        not stop(), task.notes,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Task:
    problem: TouchProblem
    names: tuple[str, ...]
    scale: Floats
    marker: str
    pull: Pull | None
    sigma_m: float
    held: Mapping[str, str]
    use: str | None
    notes: tuple[str, ...]


def _task(robot: Robot, options: PlanOptions) -> _Task:
    pull = pull_of(robot, options)
    if isinstance(pull, Cable | FreeForce):
        raise InputError(
            Problem(
                "touches are made under weights or one steady force",
                column="--load",
                found="a cable" if isinstance(pull, Cable) else "a force of any direction",
                allowed='--load vertical --force 600N, --force "0,0,-600[N]", or none',
            )
        )
    question = Question(options.geometry, options.elastic, options.template, options.links, observe="touch",
                        known_length=options.known_length, markers=options.markers, select=options.select)  # fmt: skip
    (marker,) = markers_of(robot, question)
    loaded = pull is not None or robot.tool.mass > 0.0 or any(joint.mass > 0.0 for joint in robot.joints)
    if options.elastic is None and options.geometry is None:
        question = replace(question, geometry="full", elastic="joints" if loaded else "none")
    asked = wanted(robot, question, (marker,))
    sigma_m = SIGMA_M if options.sigma_m is None else options.sigma_m
    reading = Reading("position", (marker,), Isotropic(sigma_m))
    low, high, free = limits_of(robot)
    box = options.tool_box
    boxes = () if box is None else (ToolBox(asked.model.at(), box.low_m, box.high_m, marker),)
    scale = np.array([asked.size[name] for name in asked.names])
    everything = Information(asked, asked.names, reading, pull, scale, np.zeros((0, len(scale))))
    space = Space(low, high, None, np.zeros(len(low), dtype=bool))
    q, place, at_m = touch_postures(everything, space, boxes, marker, options.seed)
    pool = TouchPool(q, place, at_m, everything.rows(Stops(q)))
    known, said = known_before(asked, scale, options.add, reading)
    length = KnownLength(LENGTH_SIGMA_M, sigma_m) if options.known_length else None
    told = told_of(asked, _all_rows(pool, length), known, pull, set(options.select) & set(asked.names))
    at = [asked.names.index(name) for name in told.names]
    planned = Wanted(asked.model, told.names, asked.elastic, asked.geometric)
    use, target = use_of(robot, options, planned, pull, reading, low, high)
    experiments = options.experiments or TOUCHES
    criterion = criterion_of(options.criterion, len(at), experiments, None if target is None else target * scale[at])
    own = TouchPool(q, place, at_m, np.ascontiguousarray(pool.rows[:, :, at]))
    notes = (*free, *said, *_notes(options, told.held))
    return _Task(
        TouchProblem(own, criterion, known[:, at], length), told.names, scale[at], marker, pull, sigma_m, told.held,
        None if use is None else use.words, notes,
    )  # fmt: skip


def _all_rows(pool: TouchPool, length: KnownLength | None) -> Floats:
    """What all candidates together say, spread over the places so that the first ones stand for all."""
    order = np.lexsort((pool.place, np.concatenate([np.arange(np.sum(pool.place == p))
                                                    for p in range(len(pool.at_m))])))  # fmt: skip
    rows = pool.centred()[order]
    if length is None or len(pool.at_m) < 2:
        return np.asarray(rows)
    two = TouchProblem(pool, criterion_of("D", rows.shape[2], 1, None), np.zeros((0, rows.shape[2])), length)
    one = two.lengths((pool.of(0), pool.of(1)))[0]
    return np.concatenate([np.repeat(one[None], 3, axis=1) / np.sqrt(3.0), rows])


def _notes(options: PlanOptions, held: Mapping[str, str]) -> tuple[str, ...]:
    said = [] if options.sigma_m is not None else [f"no scatter was stated: {1e3 * SIGMA_M:g} mm for every touch"]
    if not options.known_length and held:
        said.append(
            "touches of unknown points do not show the scale of all lengths, which is held at nominal: measure one "
            "distance between two points (--known-length)"
        )
    return tuple(said)


def _points(options: PlanOptions, total: int, problem: TouchProblem) -> tuple[int, ...]:
    """Numbers of points that are tried."""
    most = min(len(problem.pool.at_m), total // LEAST_TOUCHES)
    least = 2 if problem.length else 1
    if options.poses is not None:
        if not least <= options.poses <= most:
            raise InputError(
                Problem(
                    f"{total} touches of {options.poses} points",
                    column="--poses",
                    found=str(options.poses),
                    allowed=f"{least} to {most} points, each touched {LEAST_TOUCHES} times or more",
                )
            )
        return (options.poses,)
    counts = tuple(points for points in POINTS if least <= points <= most)
    return counts or (max(least, most),)


def _deviations(task: _Task, groups: Groups) -> dict[str, float]:
    inverse = np.linalg.inv(task.problem.factor(groups))
    return dict(zip(task.names, (task.scale * np.linalg.norm(inverse, axis=1)).tolist(), strict=True))


def _too_few(task: _Task, total: int) -> InputError:
    return InputError(
        Problem(
            f"{total} touches do not tell {len(task.names)} parameters",
            column="--experiments",
            found=str(total),
            allowed=f"{-(-len(task.names) // 3) + 2} or more, and points enough",
            next_step="Touch more often, or ask for less (--geometry, --elastic, --fix)",
        )
    )


def campaign_of_touches(plan: TouchPlan) -> Campaign:
    """The plan as a campaign whose rows are touches, joint values where the robot of the file touches."""
    names = [f"T{i + 1}" for i in range(len(plan.q))]
    touched = [Touching(name, "touch", q) for name, q in zip(names, plan.q, strict=True)]
    known = []
    if plan.length_known:
        distance = float(np.linalg.norm(plan.places_m[0] - plan.places_m[1]))
        known = [KnownDistance(names[0], names[1], distance, LENGTH_SIGMA_M)]
    pulling = None
    if isinstance(plan.pull, FixedForce):
        pulling = Pulling(plan.pull.load_point, np.array(plan.pull.force_world)[:, None])
    return plan_of_touches(
        plan.robot.joint_names, touched, known, pull=pulling, marker=plan.marker, sigma_m=plan.sigma_m
    )
