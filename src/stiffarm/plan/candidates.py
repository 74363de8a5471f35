"""Candidates: stops spread evenly over what is allowed, or the user's own.

Sobol points fill the joints' ranges and the box of the attachment point; directions of a free force are spread over
the sphere.  A candidate that breaks a constraint is moved towards keeping it by damped Newton steps on the broken
margins (for the box of the tool that is inverse kinematics into the box) and dropped when it does not arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from stiffarm.plan.constraints import all_margins, kept
from stiffarm.plan.information import Information
from stiffarm.plan.problem import Cable, Constraint, Floats, Stops
from stiffarm.plan.variables import Space

REPAIRS = 8
SLACK = 1e-5


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates and what they tell."""

    stops: Stops
    rows: Floats
    """(n, numbers, parameters) white, typical sizes."""
    held_values: Floats
    """(joints, choices) the values that held joints may have together."""

    @staticmethod
    def of(information: Information, stops: Stops, held_values: Floats) -> Pool:
        """With the rows of the stops."""
        return Pool(stops, information.rows(stops), held_values)


def sobol_stops(space: Space, count: int, seed: int, held_values: Floats) -> Stops:
    """Evenly spread stops; joints that are held take the given choices in turn."""
    size = space.own + space.shared
    like = held_values[:, np.arange(count) % held_values.shape[1]]
    if size == 0:
        return space.unpack(np.zeros((count, 0)), like)
    drawn = qmc.Sobol(size, rng=np.random.default_rng(seed)).random_base2(max(0, int(np.ceil(np.log2(count)))))[:count]
    if space.turns:
        drawn[:, space.joints : space.joints + 3] = _sphere(drawn[:, space.joints : space.joints + 2])
    return space.unpack(drawn, like)


def _sphere(square: Floats) -> Floats:
    """(n, 3) directions of points of the unit square, keeping areas."""
    height, angle = 2.0 * square[:, 0] - 1.0, 2.0 * np.pi * square[:, 1]
    width = np.sqrt(1.0 - height**2)
    return np.stack([width * np.cos(angle), width * np.sin(angle), height], axis=1)


def feasible_stops(
    space: Space, constraints: Sequence[Constraint], count: int, seed: int, held_values: Floats
) -> tuple[Stops, dict[str, float]]:
    """Up to ``count`` stops that keep everything, and by constraint the share of all drawn that broke it at first."""
    drawn = sobol_stops(space, count, seed, held_values)
    broken = {c.name: float(1.0 - kept([c], drawn).mean()) for c in constraints}
    if not any(broken.values()):
        return drawn, broken
    moved = repaired(space, constraints, drawn)
    return moved.take(kept(constraints, moved)), broken


def repaired(space: Space, constraints: Sequence[Constraint], stops: Stops) -> Stops:
    """Stops moved towards keeping the constraints."""
    x, like = space.pack(stops), stops.q
    low, high = space.bounds()
    for _ in range(REPAIRS):
        left = np.flatnonzero(~kept(constraints, stops, -SLACK))
        if not left.size:
            break
        part = stops.take(left)
        margins = all_margins(constraints, part)
        short = np.minimum(0.0, margins.value - 2.0 * SLACK)
        rows = np.stack(
            [space.chained(x[left], q, aim) for q, aim in zip(margins.by_q, margins.by_aim, strict=True)], axis=1
        ) * (short < 0.0).T[:, :, None]  # fmt: skip
        # the least change that mends all broken margins at once
        square = rows @ rows.transpose(0, 2, 1) + 1e-9 * np.eye(rows.shape[1])
        step = np.einsum("ncx,nc->nx", rows, np.linalg.solve(square, -1.05 * short.T[:, :, None])[..., 0])
        reach = np.abs(step).max(axis=1, keepdims=True)
        x[left] = np.clip(x[left] + step * np.minimum(1.0, 0.3 / np.maximum(reach, 1e-12)), low, high)
        stops = space.unpack(x, like)
    return stops


def aimed_at(stops: Stops, space: Space, aim_m: Floats) -> Stops:
    """The same configurations with one attachment point; as they are without a cable."""
    return stops if not isinstance(space.pull, Cable) else stops.aimed(aim_m)
