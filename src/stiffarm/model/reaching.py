"""Postures in which a point of the arm stands where it is wanted, turned however it comes.

Three equations for more joints: a step is the shortest one that would bring the point there,

    dq = J' (J J' + lambda^2)^-1 e,         lambda = |e| / 5 + small,

damped as long as it is far off, joint values measured in metres (angles times the arm's length) and held within the
joints' limits.  From random starts the postures come out as different as the starts are, with every orientation that
the arm can give there: what somebody does who touches one and the same point again and again.  From given starts they
stay as near to them as they can.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import jacobian

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

REACHED_M = 1e-12
"""A point nearer than this (relative to 1 m) is where it is wanted."""
_CLOSE_ENOUGH = 1e-9
_MOST_STEPS = 60
_LONGEST_RAD = 0.4
_TRIES = 12
FREE_TURN_RAD = np.pi
FREE_SLIDE_M = 1.0


@dataclass(frozen=True, eq=False)
class Reached:
    """Joint values, and whether they bring the point where it is wanted."""

    q: Floats
    """(joints, n) controller values, rad or m."""
    there: Flags
    """(n,)"""


def joint_ranges(arm: Arm) -> tuple[Floats, Floats]:
    """Lowest and highest controller values (joints,); a joint without limits turns by +-180 deg or slides 1 m."""
    free = np.where(arm.chain.prismatic, FREE_SLIDE_M, FREE_TURN_RAD)
    given = [joint.limits or (-f, f) for joint, f in zip(arm.robot.joints, free, strict=True)]
    low, high = np.array(given).T
    return low, high


def stand_at(arm: Arm, point: str, wanted_world: Floats, start: Floats) -> Reached:
    """Joint values near ``start`` (joints, n) that bring the unloaded arm's point to (3, n) m in the world.

    >>> from stiffarm.robot.reading import read_robot
    >>> from stiffarm.model.arm_model import ArmModel
    >>> arm = ArmModel.of(read_robot("ur5")).at()
    >>> start = np.array([[0.3], [-1.2], [1.4], [0.2], [0.9], [0.0]])
    >>> there = jacobian(arm.chain, start, arm.chain.point("tool"))[0]
    >>> stand_at(arm, "tool", there + 0.01, start).there.tolist()
    [True]
    """
    named = arm.chain.point(point)
    limits = [joint.limits or (-np.inf, np.inf) for joint in arm.robot.joints]
    low, high = np.array(limits).T[:, :, None]
    length = max(0.1, float(np.abs(wanted_world).max(initial=0.0)))
    unit = np.where(arm.chain.prismatic, 1.0, 1.0 / length)[:, None]
    q = np.clip(start, low, high)
    for _ in range(_MOST_STEPS):
        position, columns = jacobian(arm.chain, q, named)
        error = wanted_world - position
        if (np.linalg.norm(error, axis=0) <= REACHED_M).all():
            break
        by_controller = np.einsum("kin,kj->nij", columns, arm.chain.mix) * unit[:, 0]
        q = np.clip(q + _step(by_controller, error, q, low, high, unit), low, high)
    off = np.linalg.norm(wanted_world - jacobian(arm.chain, q, named)[0], axis=0)
    return Reached(q, np.asarray(off <= _CLOSE_ENOUGH))


def _step(columns: Floats, error: Floats, q: Floats, low: Floats, high: Floats, unit: Floats) -> Floats:
    """The damped shortest step (joints, n); joints that would leave their limits stay out of it."""
    damping = 0.04 * np.sum(error**2, axis=0) + 1e-20
    step = _shortest(columns, error, damping)
    scaled = step * unit
    stuck = ((q <= low) & (scaled < 0.0)) | ((q >= high) & (scaled > 0.0))
    if stuck.any():
        scaled = _shortest(np.where(stuck.T[:, None, :], 0.0, columns), error, damping) * unit
    longest = _LONGEST_RAD * np.where(unit == 1.0, 1.0 / unit.min(), 1.0)
    shrink = np.minimum(1.0, 1.0 / np.maximum(np.abs(scaled / longest).max(axis=0), 1e-300))
    return np.asarray(scaled * shrink)


def _shortest(columns: Floats, error: Floats, damping: Floats) -> Floats:
    square = columns @ columns.transpose(0, 2, 1) + (damping + 1e-16)[:, None, None] * np.eye(3)
    return np.asarray(np.einsum("nij,ni->jn", columns, np.linalg.solve(square, error.T[:, :, None])[:, :, 0]))


def touch_again(arm: Arm, point: str, wanted_world: Floats, random: np.random.Generator) -> Reached:
    """Joint values from random starts within the limits that bring the point to (3, n) m in the world.

    What is not reached from one start is tried from others.
    """
    low, high = joint_ranges(arm)
    n = wanted_world.shape[1]
    q = np.zeros((len(low), n))
    there = np.zeros(n, dtype=bool)
    for _ in range(_TRIES):
        left = np.flatnonzero(~there)
        if not len(left):
            break
        start = random.uniform(low[:, None], high[:, None], (len(low), len(left)))
        found = stand_at(arm, point, np.ascontiguousarray(wanted_world[:, left]), start)
        q[:, left], there[left] = found.q, found.there
    return Reached(q, there)
