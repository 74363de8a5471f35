"""How good plans of fewer poses are: the criterion against the number of poses, the number of experiments unchanged.

The bound is the same for all of them, for the best weighted design is free to use as many stops as it likes.  Plans of
the curve come from searches much shorter than that of the plan itself: their values are values of plans that exist,
so "so many poses are enough" is true, but fewer might do as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from stiffarm.plan.bound import Design
from stiffarm.plan.job import Job
from stiffarm.plan.problem import CurvePoint, Plan
from stiffarm.plan.search import Effort, Search
from stiffarm.plan.told import poses_needed

QUICK = Effort(starts=6, aims=2, steps=40, polished=1)
MOST_POINTS = 5


def curve_of(
    job: Job, plan: Plan, design: Design, tell: Callable[[str], None], stop: Callable[[], bool]
) -> tuple[CurvePoint, ...]:
    """Points by rising number of poses, the plan's own among them."""
    own = job.problem.poses
    points = {own: _point(own, plan.value, plan)}
    for poses in sizes(job):
        if stop():
            break
        tell(f"plans of {poses} poses")
        problem = replace(job.problem, poses=poses)
        refiner = replace(job.refiner, repeats=problem.repeats())
        effort = replace(QUICK, refined=not job.fixed)
        found = Search(refiner, job.pool, np.random.default_rng([plan.seed, poses]), effort, stop).run(design)
        if found is not None and not stop():
            points[poses] = _point(poses, float(np.hypot(found.value, plan.scale_part)), plan)
    return tuple(points[poses] for poses in sorted(points))


def sizes(job: Job) -> list[int]:
    """Numbers of poses to be tried: from the least that can tell everything, and a few more than the plan's."""
    own, most = job.problem.poses, job.problem.experiments
    random = np.random.default_rng([job.problem.seed, 2])
    least = poses_needed(job.refiner.information, job.pool, job.refiner.space, own, random)[0]
    below = list(range(least, own))
    if len(below) > MOST_POINTS:
        below = sorted({int(p) for p in np.rint(np.linspace(least, own - 1, MOST_POINTS))})
    return [*below, *dict.fromkeys(p for p in (own + 1, own + 2, 2 * own) if p <= most)]


def _point(poses: int, value: float, plan: Plan) -> CurvePoint:
    bound = None if plan.certificate is None else plan.certificate.bound
    return CurvePoint(poses, value, None if bound is None else bound / value)
