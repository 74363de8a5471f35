"""The user's own candidates: configurations of a plan, a campaign or a path, and the forces stated with them.

When the file states forces and nothing else says what pulls, each candidate keeps the direction of its own force.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.frames import TableLike, name_of, source_of
from stiffarm.measure.paths import read_plan_or_path
from stiffarm.plan.problem import Floats, FreeForce
from stiffarm.robot.arm import Robot

SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Candidates:
    """Configurations, each once."""

    q: Floats
    """(joints, n) rad or m."""
    pull: FreeForce | None
    """What the file itself says that pulls."""
    direction: Floats | None
    """(3, n) of that force."""
    warnings: tuple[str, ...]


def read_candidates(given: TableLike, robot: Robot) -> Candidates:
    """Candidates of a file."""
    source = source_of(given)
    path = name_of(source)
    found = read_plan_or_path(source, robot)
    if isinstance(found, Campaign):
        used = np.unique(found.readings.experiment)
        q: Floats | None = found.experiments.q[:, used]
        points, wrench = found.experiments.load_points, found.experiments.wrench_world[:, :, used]
    else:
        q, points, wrench = found.q, found.load_points, found.wrench_world
    if q is None:
        raise InputError(
            Problem("candidates are configurations", str(path), allowed="a column q.<joint>[deg] for every joint")
        )
    pull, direction = _forces(points, wrench, str(path))
    if direction is None:
        distinct = np.unique(np.round(q, 9), axis=1, return_index=True)[1]
        q = q[:, np.sort(distinct)]
    return Candidates(np.ascontiguousarray(q), pull, direction, found.warnings)


def _forces(points: tuple[str, ...], wrench: Floats, file: str) -> tuple[FreeForce | None, Floats | None]:
    pulled = [i for i in range(len(points)) if wrench[i].any()]
    if len(pulled) != 1 or wrench[pulled[0], 3:].any():
        return None, None
    force = wrench[pulled[0], :3]
    size = np.linalg.norm(force, axis=0)
    if size.min() <= 0.0 or np.ptp(size) > SAME * size.max():
        raise InputError(
            Problem(
                "the forces of the candidates differ in size",
                file,
                column="force",
                allowed="one size for all of them",
                found=f"{size.min():.4g} to {size.max():.4g} N",
                next_step="Leave the force columns out and state what pulls by --force",
            )
        )
    return FreeForce(points[pulled[0]], float(size.mean())), force / size
