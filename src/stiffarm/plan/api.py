"""`stiffarm.plan`: the measurements that are best for a use, with how much better any others could be.

Interrupted, it answers the best plan so far, whose certificate still is one: the weighted design that was reached is
a design, and any design gives a bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.plan.bound import Design, certificate
from stiffarm.plan.clearance import HIDDEN
from stiffarm.plan.constraints import LineOfSight
from stiffarm.plan.curve import curve_of
from stiffarm.plan.information import triangle
from stiffarm.plan.job import Job, job_of
from stiffarm.plan.marker_choice import best_markers
from stiffarm.plan.options import PlanOptions
from stiffarm.plan.plan_file import as_typed
from stiffarm.plan.problem import Certificate, Plan
from stiffarm.plan.scale import load_notes, with_scale
from stiffarm.plan.search import Effort, Found, Search, weighted_design
from stiffarm.plan.shift import Manner, in_order, shift_of
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot

FRESH_SEED = 1_000_003
"""Added to the seed for the last search of the maximum."""


def plan(
    robot: Robot | str | Path,
    options: PlanOptions | None = None,
    *,
    tell: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
    **asked: Any,
) -> Plan:
    """Plan measurements of a robot.

    ``robot`` is an object, a file or a packaged name; ``asked`` are fields of `stiffarm.PlanOptions`: ``poses=6``,
    ``force_n=4000.0``, ``test_pose=`` a file or table ...  ``tell`` hears of progress; as soon as ``stop`` says yes the
    best plan so far is answered.  Raises `InputError` when there can be no such plan, saying what stands in the way.

    >>> made = plan("kr270", poses=3, force_n=2600.0, criterion="D", curve=False)
    >>> bool(made.certificate.bound <= made.value), len(made.predicted_std), made.campaign.markers
    (True, 6, ('P1', 'P2', 'P3'))
    """
    options = replace(options or PlanOptions(), **asked)
    with np.errstate(divide="ignore", invalid="ignore"):  # of plans that tell too little, which are worth infinity
        return _planned(robot, options, tell, stop)


def _planned(
    robot: Robot | str | Path, options: PlanOptions, tell: Callable[[str], None], stop: Callable[[], bool]
) -> Plan:
    begun = time.monotonic()
    arm = robot if isinstance(robot, Robot) else read_robot(robot)
    tell("candidates")
    job = job_of(arm, options)
    if options.best_markers is not None:
        job = job_of(arm, replace(options, markers=best_markers(job, options.best_markers)))
    search = Search(
        job.refiner, job.pool, np.random.default_rng(options.seed), Effort(refined=not job.fixed), stop, tell
    )
    design = weighted_design(search, job.problem.experiments, fixed=job.fixed)
    found = search.run(design)
    if found is None:
        raise _nothing(job, stop())
    found = _typed(job, search, found)
    one = _certified(job, design, found, options.seed)
    made = _answer(job, found, one, time.monotonic() - begun, finished=not stop())
    made = with_scale(job, driven_by(job, made, options.manner))
    if options.verify is not None and made.finished:
        made = _verified(job, made, options.verify, options.seed, tell, stop)
    if options.curve and made.finished:
        made = replace(made, curve=curve_of(job, made, design, tell, stop))
    return replace(made, seconds=time.monotonic() - begun, notes=(*made.notes, *load_notes(job)))


def driven_by(job: Job, made: Plan, manner: Manner) -> Plan:
    """The plan with its stops in the order in which they are driven, and how that is done."""
    order = in_order(job.problem.robot, made.stops, manner)
    stops, repeats = made.stops.take(order), made.repeats[order]
    needed = [one for one in job.problem.constraints if not isinstance(one, LineOfSight) and one.name != HIDDEN]
    shift = shift_of(job.problem.robot, stops, repeats, manner, needed)
    return replace(made, stops=stops, repeats=repeats, shift=shift, notes=(*made.notes, *shift.notes))


def _verified(
    job: Job, made: Plan, draws: int, seed: int, tell: Callable[[str], None], stop: Callable[[], bool]
) -> Plan:
    from stiffarm.plan.verify import verify

    return replace(made, verification=verify(job, made, draws, seed=seed, tell=tell, stop=stop))


def _typed(job: Job, search: Search, found: Found) -> Found:
    """The plan with numbers that can be typed, when it still keeps everything."""
    if job.fixed:
        return found
    stops = as_typed(found.stops, job.problem.robot, job.problem.pull)
    return Found(stops, job.refiner.value(stops)) if search.keeps(stops) else found


def _certified(job: Job, design: Design, found: Found, seed: int) -> Certificate | None:
    return certificate(
        job.refiner,
        design,
        found.value,
        job.problem.experiments,
        seed + FRESH_SEED,
        lambda: False,
        job.pool,
        fixed=job.fixed,
    )


def _answer(job: Job, found: Found, one: Certificate | None, seconds: float, *, finished: bool) -> Plan:
    use = None if job.use is None else job.use.words
    return Plan(
        job.problem,
        found.stops,
        job.problem.repeats(),
        job.criterion.name,
        found.value,
        one,
        predicted_std(job, found),
        job.problem.seed,
        seconds,
        finished,
        job.notes,
        job.held,
        use=use,
    )


def predicted_std(job: Job, found: Found) -> dict[str, float]:
    """Standard deviation of every parameter after the plan, SI."""
    information = job.refiner.information
    root = np.sqrt(job.refiner.repeats.astype(float))[:, None, None]
    rows = (information.rows(found.stops) * root).reshape(-1, information.size)
    inverse = np.linalg.inv(triangle(np.concatenate([information.known, rows])))
    sigma = information.scale * np.linalg.norm(inverse, axis=1)
    return dict(zip(information.names, sigma.tolist(), strict=True))


def _nothing(job: Job, interrupted: bool) -> BaseException:
    if interrupted:
        return KeyboardInterrupt()
    apart, poses, count = job.problem.min_distance_m, job.problem.poses, len(job.pool.stops)
    if apart > 0.0:
        what = f"no {poses} poses that far from one another were found among {count} candidates"
        step = "Lower it or the number of poses, or widen the tool box"
        return InputError(Problem(what, column="--min-distance", found=f"{apart:g} m", next_step=step))
    what = f"no {poses} poses that keep everything were found among {count} candidates"
    return InputError(Problem(what, column="--poses", found=str(poses), next_step="Widen the tool box or the cable's"))
