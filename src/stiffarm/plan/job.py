"""A planning job: everything options and robot decide before the search begins, or the reasons why there is no plan.

Order: what pulls, what is read, what is asked for; candidates that keep every constraint; of the parameters those
that can be told from them; whether the poses are enough; where the work is done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.question import Wanted
from stiffarm.model.arm_model import Arm
from stiffarm.plan.asked import asked_of, limits_of, must_be_told, pull_of, reading_of
from stiffarm.plan.before import known_before
from stiffarm.plan.candidate_file import Candidates, read_candidates
from stiffarm.plan.candidates import Pool, feasible_stops
from stiffarm.plan.constraints import CableLength, LineOfSight, ToolBox, kept
from stiffarm.plan.criteria import Criterion, criterion_of
from stiffarm.plan.information import Information
from stiffarm.plan.keeping import room_constraints
from stiffarm.plan.options import Box, PlanOptions
from stiffarm.plan.problem import Cable, Constraint, Flags, Floats, PlanProblem, Pull, Reading, Stops
from stiffarm.plan.refine import Refiner
from stiffarm.plan.told import ENOUGH, refuse_too_few, spread_out, told_of
from stiffarm.plan.uses import TestPoses, read_test_poses, spread_poses, target_of
from stiffarm.plan.variables import Space
from stiffarm.robot.arm import Robot

CANDIDATES = 1024
MOST_CANDIDATES = 16384
LOADED, PLACED = 12, 30
"""Experiments when nobody says how many: of compliances, and of geometry."""


@dataclass(frozen=True, eq=False)
class Job:
    """What the search needs."""

    problem: PlanProblem
    refiner: Refiner
    pool: Pool
    fixed: bool
    """Whether stops are taken from the candidates as they are."""
    held: Mapping[str, str]
    """Parameters that are held, and why."""
    use: TestPoses | None
    target: Floats | None
    """L (functions, parameters), SI; None for criteria that have none."""
    notes: tuple[str, ...]

    @property
    def criterion(self) -> Criterion:
        """What a plan is judged by."""
        return self.refiner.criterion


def job_of(robot: Robot, options: PlanOptions) -> Job:
    """The job of some options; `InputError` when no plan can be."""
    own = None if options.candidates is None else read_candidates(options.candidates, robot)
    pull = pull_of(robot, options)
    directed = pull is None and own is not None and own.pull is not None and options.direction != "none"
    if directed and own is not None:
        pull = own.pull
    asked, markers, kind = asked_of(robot, options, pull)
    reading, notes = reading_of(options, markers, kind)
    experiments, poses = _counts(options, asked)
    low, high, free = limits_of(robot)
    arm = asked.model.at()
    room, unlooked = room_constraints(arm, options.room, pull, reading, low, high)
    constraints = (*constraints_of(arm, options, pull, reading), *room)
    space = Space(low, high, pull, _held(robot, options, own))
    values = held_values(robot, options, own)
    stops, fixed = _stops(space, constraints, options, own if own is None or directed else _plain(own), values)
    size = asked.size
    scale = np.array([size[name] for name in asked.names])
    known, told_before = known_before(asked, scale, options.add, reading)
    everything = Information(asked, asked.names, reading, pull, scale, known)
    told = told_of(asked, everything.rows(spread_out(stops, ENOUGH)), known, pull, must_be_told(asked, options, pull))
    at = [asked.names.index(name) for name in told.names]
    information = Information(asked, told.names, reading, pull, scale[at], known[:, at])
    planned = Wanted(asked.model, told.names, asked.elastic, asked.geometric)
    use, target = use_of(robot, options, planned, pull, reading, low, high)
    criterion = criterion_of(options.criterion, len(at), experiments, None if target is None else target * scale[at])
    pool = Pool.of(information, stops, values)
    random = np.random.default_rng([options.seed, 1])
    refuse_too_few(information, pool, space, poses, random)
    problem = PlanProblem(
        robot, asked, reading, pull, experiments, poses, constraints, options.min_distance_m, low, high, options.seed
    )
    refiner = Refiner(information, criterion, space, constraints, arm, problem.repeats(), options.min_distance_m)
    warned = (*(() if own is None else own.warnings), *(() if use is None else use.warnings))
    said = (*notes, *free, *unlooked, *told_before, *warned)
    return Job(problem, refiner, pool, fixed, told.held, use, target, said)


def _counts(options: PlanOptions, asked: Wanted) -> tuple[int, int]:
    usual = PLACED if asked.geometric else LOADED
    experiments = options.experiments or options.poses or usual
    poses = options.poses or experiments
    if min(experiments, poses) < 1 or poses > experiments:
        raise InputError(
            Problem(
                "every pose is measured at least once",
                column="--poses",
                found=f"{poses} poses, {experiments} experiments",
                allowed="1 or more, not more than --experiments",
            )
        )
    return experiments, poses


def constraints_of(arm: Arm, options: PlanOptions, pull: Pull | None, reading: Reading) -> tuple[Constraint, ...]:
    """What every stop must keep."""
    found: list[Constraint] = []
    if options.tool_box is not None:
        found.append(ToolBox(arm, options.tool_box.low_m, options.tool_box.high_m))
    if isinstance(pull, Cable):
        found.append(CableLength(arm, pull.load_point))
    sight = options.sight_m is not None or options.facing is not None
    if sight and reading.station_m is None:
        raise InputError(
            Problem(
                "the line of sight ends at a station, which is not stated",
                column="--station",
                found="nothing",
                allowed='the tracker in the world, such as "-4,0,1[m]"',
            )
        )
    if sight and reading.station_m is not None:
        near, far = options.sight_m or (0.0, 1e3)
        wide = np.pi if options.widest_rad is None else options.widest_rad
        found.append(LineOfSight(arm, reading.markers, reading.station_m, far, near, options.facing, wide))
    return tuple(found)


def _held(robot: Robot, options: PlanOptions, own: Candidates | None) -> Flags:
    """(joints,) which keep the values they come with."""
    return np.array([own is not None or name in options.angles for name in robot.joint_names])


def _plain(own: Candidates) -> Candidates:
    """Candidates without the forces of their file."""
    return Candidates(own.q, None, None, own.warnings)


def _stops(
    space: Space, constraints: tuple[Constraint, ...], options: PlanOptions, own: Candidates | None, values: Floats
) -> tuple[Stops, bool]:
    """Candidates that keep everything, and whether they are the only ones."""
    if own is not None and (own.direction is not None or not (space.turns or space.shared)):
        stops = Stops(own.q, own.direction)
        if isinstance(space.pull, Cable):
            stops = stops.aimed(np.array(space.pull.low_m))
        good = kept(constraints, stops)
        broken = {c.name: float(1.0 - kept([c], stops).mean()) for c in constraints}
        if not good.any():
            raise _infeasible(broken, len(stops))
        return stops.take(good), True
    count = CANDIDATES if own is None else int(np.clip(2 * own.q.shape[1], CANDIDATES, MOST_CANDIDATES))
    stops, broken = feasible_stops(space, constraints, count, options.seed, values)
    if not len(stops):
        raise _infeasible(broken, count)
    return stops, False


def held_values(robot: Robot, options: PlanOptions, own: Candidates | None) -> Floats:
    """(joints, choices) that joints which are held may have together."""
    if own is not None:
        return own.q
    values = np.zeros((len(robot.joints), 1))
    for joint, angles in options.angles.items():
        values = np.repeat(values, len(angles), axis=1)
        values[robot.joint_index(joint)] = np.tile(angles, values.shape[1] // len(angles))
    return values


def _infeasible(broken: dict[str, float], count: int) -> InputError:
    """Nothing keeps everything: which constraint stands in the way of how many."""
    shares = "; ".join(
        f"{name} breaks {share:.0%} of them" for name, share in sorted(broken.items(), key=lambda one: -one[1])
    )
    return InputError(
        Problem(
            f"no pose keeps everything: none of {count} candidates does, nor could be moved to",
            found=shares,
            allowed="constraints that leave room",
            column="--tool-box, --station, --cable-box, --cell",
        )
    )


def use_of(
    robot: Robot, options: PlanOptions, asked: Wanted, pull: Pull | None, reading: Reading, low: Floats, high: Floats
) -> tuple[TestPoses | None, Floats | None]:
    """Where the work is done, and L; only the criterion ``test`` asks."""
    if options.criterion != "test":
        return None, None
    markers = reading.markers
    if options.test_pose is not None and not isinstance(options.test_pose, Box):
        poses = read_test_poses(options.test_pose, robot, markers)
    else:
        box = options.test_pose or options.tool_box
        named = "the region" if options.test_pose else "the tool box" if box else "all the arm reaches"
        poses = spread_poses(asked.model.at(), low, high, box, pull, markers, named)
    target = target_of(asked, poses, deflection=reading.kind == "deflection")
    if not target.any():
        what = "nothing at the test poses depends on what is asked for"
        what += "" if poses.loaded else ": nothing pulls there"
        raise InputError(
            Problem(
                what,
                column="--test-pose",
                found=poses.words,
                allowed="rows with force.x[N] force.y[N] force.z[N]",
            )
        )
    return poses, target
