"""How far deflections are off that are worked out with identified compliances (paper 001, eq. 22).

With A the columns of a marker under a load, x the compliances and e their errors, the relative error is

    mu = |A e| / |A x|

near the test poses, under their loads, and over the whole workspace, under a force of the plan's size.  The errors are
those of whole estimates, so that what is correlated cancels as it does in use; drawing every compliance by itself
(eq. 23) is shown beside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stiffarm.identifiability.question import Wanted
from stiffarm.plan.job import Job
from stiffarm.plan.problem import Floats, Plan
from stiffarm.plan.uses import TestPoses, spread_poses, target_of

NEAR_RAD, NEAR_M = np.radians(5.0), 0.5
NEAR_ROWS = 300
MOST_DRAWS = 500
PURPOSE = 13


@dataclass(frozen=True)
class Deflected:
    """Relative errors of deflections at some poses."""

    where: str
    mean: float
    """Over markers, poses and draws."""
    by_marker: dict[str, float]
    promised: float
    """Mean of sqrt(tr(A C A'))/|A x|, which |A e|/|A x| stays a little under."""
    alone: float
    """The same with the errors of the compliances taken as independent."""


def planned_for(job: Job) -> Wanted:
    """The model with the parameters that are planned for."""
    asked = job.problem.asked
    return Wanted(asked.model, job.refiner.information.names, asked.elastic, asked.geometric)


def deflections(job: Job, plan: Plan, errors: Floats, covariance: Floats) -> tuple[Deflected, ...]:
    """Near the test poses and over the workspace, of errors (draws, parameters); none when not only compliances of
    known size are planned for, or nothing pulls."""
    asked, pull, problem = planned_for(job), plan.problem.pull, plan.problem
    parameters = {p.name: p for p in asked.model.parameters}
    size = np.array([asked.model.nominal[name] for name in asked.names])
    compliances = all(parameters[name].elastic for name in asked.names) and bool((size != 0.0).all())
    if job.use is None or pull is None or not compliances or problem.reading.kind != "deflection":
        return ()
    markers = problem.reading.markers
    spread = spread_poses(asked.model.at(), problem.low, problem.high, None, pull, markers, "workspace")
    places = [("over the workspace", spread)]
    if job.use.loaded:
        places.insert(0, ("near the test poses", _near(plan, job.use)))
    return tuple(_deflected(asked, words, poses, errors[:MOST_DRAWS], size, covariance) for words, poses in places)


def _near(plan: Plan, use: TestPoses) -> TestPoses:
    """Poses around test poses, every joint within `NEAR_RAD` or `NEAR_M`, under the same loads."""
    random = np.random.default_rng([plan.seed, PURPOSE])
    problem, rows = plan.problem, use.q.shape[1]
    at = np.tile(np.arange(rows), -(-NEAR_ROWS // rows))
    reach = [NEAR_RAD if joint.kind == "revolute" else NEAR_M for joint in problem.robot.joints]
    q = use.q[:, at] + random.uniform(-1.0, 1.0, (len(reach), len(at))) * np.array(reach)[:, None]
    q = np.clip(q, problem.low[:, None], problem.high[:, None])
    wrench = np.ascontiguousarray(use.wrench_world[:, :, at])
    return replace(use, q=q, wrench_world=wrench, marker=use.marker[at], weight=np.ones(len(at)))


def _deflected(
    asked: Wanted, where: str, poses: TestPoses, errors: Floats, size: Floats, covariance: Floats
) -> Deflected:
    """mu over poses, markers and draws."""
    even = replace(poses, weight=np.ones(len(poses.weight)))
    rows = len(even.weight)
    columns = np.sqrt(rows) * target_of(asked, even, deflection=True).reshape(3, rows, len(asked.names))
    whole = np.linalg.norm(columns @ size, axis=0)
    used = whole > 0.0
    columns, whole, marker = columns[:, used], whole[used], even.marker[used]
    off = np.sqrt(((columns @ errors.T) ** 2).sum(axis=0)).mean(axis=1) / whole
    full = np.sqrt(np.einsum("crp,pq,crq->r", columns, covariance, columns)) / whole
    alone = np.sqrt(np.einsum("crp,p,crp->r", columns, np.diag(covariance), columns)) / whole
    by_marker = {poses.markers[m]: float(off[marker == m].mean()) for m in np.unique(marker).tolist()}
    return Deflected(where, float(off.mean()), by_marker, float(full.mean()), float(alone.mean()))
