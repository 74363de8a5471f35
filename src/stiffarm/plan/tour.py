"""A short way through the poses.

From one pose to the next every joint moves at once, so the time is that of the slowest,

    time(a, b) = max over joints of |q_b - q_a| / speed

with the speeds of the robot file; where it gives none, a joint's whole range counts as `RANGE_S`.  A tour begins at
home, and ends at the last pose or goes home again.  Up to `EXACT` poses the shortest is found by dynamic programming
over sets of poses; beyond, tours from several nearest-neighbour starts are improved by turning parts round (2-opt) and
by moving short parts elsewhere (or-opt) until neither helps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.plan.problem import Floats, Ints
from stiffarm.robot.arm import Robot

EXACT = 11
"""Most poses for which every order is looked at: 2^n n^2 steps."""
RANGE_S = 4.0
"""Seconds for the whole range of a joint whose speed is not known."""
TURN_S, METRE_S = 4.0, 1.0
"""For a whole turn or a metre where there are no limits either."""
LONGEST_PART = 3
"""Poses moved together."""
STARTS = 8
LEAST_GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Tour:
    """An order of poses."""

    order: Ints
    """(poses,)"""
    seconds: float
    """As the joints' speeds have it, from home on."""


def joint_times(robot: Robot) -> Floats:
    """(joints,) seconds per rad or per metre."""
    seconds = []
    for joint in robot.joints:
        if joint.speed is not None:
            seconds.append(1.0 / joint.speed)
        elif joint.limits is not None:
            seconds.append(RANGE_S / (joint.limits[1] - joint.limits[0]))
        else:
            seconds.append(TURN_S / (2.0 * np.pi) if joint.kind == "revolute" else METRE_S)
    return np.array(seconds)


def travel_times(q: Floats, seconds: Floats) -> Floats:
    """(poses, poses) seconds between poses ``q`` (joints, poses), ``seconds`` (joints,) per rad or per metre.

    >>> travel_times(np.array([[0.0, 1.0], [0.0, -3.0]]), np.array([2.0, 0.5])).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    way = np.abs(q[:, :, None] - q[:, None, :]) * seconds[:, None, None]
    return np.asarray(way.max(axis=0))


def home_of(robot: Robot) -> Floats:
    """(joints,) 0, or the nearest value within the limits."""
    return np.array([0.0 if j.limits is None else min(max(0.0, j.limits[0]), j.limits[1]) for j in robot.joints])


def short_tour(robot: Robot, q: Floats, home: Floats | None = None, *, back: bool = False) -> Tour:
    """A short way through poses ``q`` (joints, poses), from home (`home_of` by default) and, if asked, ``back``."""
    start = home_of(robot) if home is None else home
    return shortest(travel_times(np.column_stack([start, q]), joint_times(robot)), back=back)


def shortest(times: Floats, *, back: bool = False) -> Tour:
    """A short tour by a matrix of times (1 + poses, 1 + poses) whose first place is home.

    Exact up to `EXACT` poses, as good as exchanges find it beyond.
    """
    poses = len(times) - 1
    if poses <= EXACT:
        order = _exact(times, back)
    else:
        first = np.argsort(times[0, 1:], kind="stable")[:STARTS]
        found = [_improved(times, _nearest(times, int(start) + 1), back) for start in first]
        order = min(found, key=lambda tour: length(times, tour, back=back))
    return Tour(order - 1, length(times, order, back=back))


def length(times: Floats, order: Ints, *, back: bool) -> float:
    """Seconds of a tour through places 1, 2 ... in this order, from place 0."""
    places = [0, *order.tolist(), *([0] if back else [])]
    return float(times[places[:-1], places[1:]].sum())


def _exact(times: Floats, back: bool) -> Ints:
    """The best way through every set of poses to every last one of it, set by set."""
    poses = len(times) - 1
    if poses == 0:
        return np.zeros(0, dtype=np.int64)
    between, every = times[1:, 1:], np.arange(poses)
    best = np.full((1 << poses, poses), np.inf)
    before = np.zeros((1 << poses, poses), dtype=np.int64)
    best[1 << every, every] = times[0, 1:]
    for seen in range(1, 1 << poses):
        following = np.flatnonzero(~(seen >> every) & 1)
        ways = best[seen, :, None] + between[:, following]
        at, then = ways.argmin(axis=0), seen | 1 << following
        best[then, following], before[then, following] = ways[at, np.arange(len(at))], at
    whole = (1 << poses) - 1
    last_pose = int(np.argmin(best[whole] + (times[1:, 0] if back else 0.0)))
    order, seen = [last_pose], whole
    while len(order) < poses:
        order.append(int(before[seen, order[-1]]))
        seen &= ~(1 << order[-2])
    return np.array(order[::-1]) + 1


def _nearest(times: Floats, start: int) -> Ints:
    """From ``start`` always to the nearest pose not yet seen."""
    order, left = [start], np.ones(len(times), dtype=bool)
    left[[0, start]] = False
    while left.any():
        following = int(np.argmin(np.where(left, times[order[-1]], np.inf)))
        order.append(following)
        left[following] = False
    return np.array(order)


def _improved(times: Floats, order: Ints, back: bool) -> Ints:
    """Parts turned round and moved until neither helps."""
    best = length(times, order, back=back)
    while True:
        order = _turned(times, order, back)
        order = _moved(times, order, back)
        now = length(times, order, back=back)
        if now > best - LEAST_GAIN:
            return order
        best = now


def _turned(times: Floats, order: Ints, back: bool) -> Ints:
    """2-opt: the part from i to j the other way round."""
    n = len(order)
    gained = True
    while gained:
        gained = False
        for i in range(n - 1):
            before = 0 if i == 0 else order[i - 1]
            j = np.arange(i + 1, n)
            after = np.append(order[i + 2 :], 0)  # home after the last, which counts only when the tour goes back
            open_end = (j == n - 1) & (not back)
            removed = times[before, order[i]] + np.where(open_end, 0.0, times[order[j], after])
            added = times[before, order[j]] + np.where(open_end, 0.0, times[order[i], after])
            at = int(np.argmax(removed - added))
            if removed[at] - added[at] > LEAST_GAIN:
                order = np.concatenate([order[:i], order[i : j[at] + 1][::-1], order[j[at] + 1 :]])
                gained = True
    return order


def _moved(times: Floats, order: Ints, back: bool) -> Ints:
    """Or-opt: up to `LONGEST_PART` poses together to another place, either way round."""
    n, best = len(order), length(times, order, back=back)
    for size in range(1, min(LONGEST_PART, n - 1) + 1):
        for i in range(n - size + 1):
            part, rest = order[i : i + size], np.concatenate([order[:i], order[i + size :]])
            for turned in (part, part[::-1]):
                places = np.concatenate([[0], rest])
                after = np.append(rest, 0)
                last = (np.arange(len(places)) == len(rest)) & (not back)
                into = times[places, turned[0]] + np.where(last, 0.0, times[turned[-1], after] - times[places, after])
                at = int(np.argmin(into))
                trial = np.concatenate([rest[:at], turned, rest[at:]])
                now = length(times, trial, back=back)
                if now < best - LEAST_GAIN:
                    order, best = trial, now
                    break
    return order
