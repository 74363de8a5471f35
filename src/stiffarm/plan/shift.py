"""The order in which stops are driven, so that drift and backlash cannot hide.

Repeats are driven in rounds, every round through all poses that are still to be measured:

    tour     the short way, every second round backwards.  Two rounds together visit all poses at the same mean time,
             so that a drift that grows evenly shifts them all alike
    random   every round in an order of its own, drawn from the seed: whatever changes with time is noise to the poses

Gears stand on the flank from which they came.  When asked for, a stop is approached from *before* it, with every joint
moving up (+1) or every joint moving down (-1) by a few degrees; the sides take turns over the stops of a round and
over the rounds of a stop.  Where a joint's limits, the arm itself or the cell do not allow a side, another is taken.

Every so many visits the arm returns to one stop, the reference, always from the same side: what changes there is drift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from stiffarm.plan.constraints import all_margins, kept
from stiffarm.plan.problem import Constraint, Flags, Floats, Ints, Shift, Stops
from stiffarm.plan.tour import home_of, joint_times, short_tour, travel_times
from stiffarm.robot.arm import Robot

OrderName = Literal["tour", "random"]
BEFORE_RAD, BEFORE_M = np.radians(2.0), 0.02
"""How far before a stop a joint waits to approach it."""
SHORTER = (1.0, 0.5, 0.25)
"""Parts of it that are tried where there is little room."""
SLACK = 1e-5


@dataclass(frozen=True)
class Manner:
    """How stops are driven."""

    order: OrderName = "tour"
    both_sides: bool = False
    reference_every: int | None = None
    """Visits between two returns to the reference; None: there is none."""
    seed: int = 0


def in_order(robot: Robot, stops: Stops, manner: Manner) -> Ints:
    """Stops in the order of the first round."""
    if manner.order == "random":
        return np.random.default_rng([manner.seed, 7]).permutation(len(stops))
    return tour_order(robot, stops)


def tour_order(robot: Robot, stops: Stops) -> Ints:
    """Stops in the order of a short tour from home."""
    return short_tour(robot, stops.q).order


def shift_of(
    robot: Robot, stops: Stops, repeats: Ints, manner: Manner, constraints: Sequence[Constraint] = ()
) -> Shift:
    """The visits of stops, each so many times measured; ``constraints`` are kept where the arm waits as well."""
    stop, repeat, reference = _with_references(*_rounds(robot, stops, repeats, manner), manner.reference_every)
    sides = _Sides(robot, constraints)
    wished = np.where(reference, 1.0, np.where((_ranks(stop, len(stops)) + repeat) % 2 == 1, 1.0, -1.0))
    side, before = np.full((len(stops.q), len(stop)), np.nan), stops.q[:, stop].copy()
    notes: tuple[str, ...] = ()
    if manner.both_sides:
        for v, s in enumerate(stop):
            side[:, v], before[:, v] = sides.of(stops.take(np.array([s])), float(wished[v]))
        notes = _said(side, stop, reference, wished, repeats)
    return Shift(stop, repeat, reference, side, before, _driving(robot, stops, stop, before), manner.order, notes)


def _rounds(robot: Robot, stops: Stops, repeats: Ints, manner: Manner) -> tuple[Ints, Ints]:
    """Stops and repeats, round by round."""
    random = np.random.default_rng([manner.seed, 7])
    tour = tour_order(robot, stops) if manner.order == "tour" else np.arange(len(stops))
    visits: list[tuple[int, int]] = []
    for turn in range(int(repeats.max(initial=0))):
        order = random.permutation(len(stops)) if manner.order == "random" else tour[:: -1 if turn % 2 else 1]
        visits += [(int(s), turn + 1) for s in order if repeats[s] > turn]
    pairs = np.array(visits, dtype=np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _ranks(stop: Ints, count: int) -> Ints:
    """(visits,) place of every visit's stop in the first round."""
    seen = list(dict.fromkeys(stop.tolist()))
    rank = np.zeros(count, dtype=np.int64)
    rank[seen] = np.arange(len(seen))
    return np.asarray(rank[stop])


def _with_references(stop: Ints, repeat: Ints, every: int | None) -> tuple[Ints, Ints, Flags]:
    """The first stop of all is the reference: before the first visit, after every so many, after the last."""
    if every is None or not len(stop):
        return stop, repeat, np.zeros(len(stop), dtype=bool)
    at = [*range(0, len(stop), every), len(stop)]
    out_stop, out_repeat = np.insert(stop, at, stop[0]), np.insert(repeat, at, np.arange(len(at)) + 1)
    return out_stop, out_repeat, np.insert(np.zeros(len(stop), dtype=bool), at, True)


@dataclass(frozen=True, eq=False)
class _Sides:
    """From which side a stop can be approached."""

    robot: Robot
    constraints: Sequence[Constraint]

    def of(self, stop: Stops, wished: float) -> tuple[Floats, Floats]:
        """Side and place before one stop; NaN and the stop itself when there is room on no side."""
        joints = len(stop.q)
        for side in (np.full(joints, wished), np.full(joints, -wished), self._roomy(stop)):
            inside = self._within_limits(stop.q[:, 0], side)
            for part in SHORTER:
                before = stop.q[:, 0] - part * inside * self._lengths
                if kept(self.constraints, Stops(before[:, None], stop.aim), SLACK).all():
                    return inside, before
        return np.full(joints, np.nan), stop.q[:, 0].copy()

    @property
    def _lengths(self) -> Floats:
        return np.array([BEFORE_RAD if joint.kind == "revolute" else BEFORE_M for joint in self.robot.joints])

    def _within_limits(self, q: Floats, side: Floats) -> Floats:
        """The side, the other one for joints that would wait beyond a limit."""
        limits = [joint.limits or (-np.inf, np.inf) for joint in self.robot.joints]
        low, high = np.array(limits).T
        before = q - side * self._lengths
        return np.where((before < low) | (before > high), -side, side)

    def _roomy(self, stop: Stops) -> Floats:
        """Every joint waits where what is tightest has more room."""
        margins = all_margins(self.constraints, stop)
        if not len(margins.value):
            return np.ones(len(stop.q))
        slope = margins.by_q[int(np.argmin(margins.value[:, 0])), :, 0]
        return np.where(slope > 0.0, -1.0, 1.0)


def _said(side: Floats, stop: Ints, reference: Flags, wished: Floats, repeats: Ints) -> tuple[str, ...]:
    """Stops that could not be approached as they should, counted."""
    own = ~reference
    nowhere = np.unique(stop[own & np.isnan(side).all(axis=0)])
    other = np.unique(stop[own & ~np.isnan(side).all(axis=0) & (side != wished).any(axis=0)])
    notes = []
    if len(nowhere):
        notes.append(f"poses with no room to be approached from a stated side: {len(nowhere)}")
    if len(other):
        notes.append(
            f"poses that some joints approach from the other side than is their turn, for a limit or what must be kept "
            f"is near: {len(other)}"
        )
    if int(repeats.max(initial=0)) == 1:
        notes.append("every stop is measured once, hence from one side; --experiments above --poses gives both")
    return tuple(notes)


def _driving(robot: Robot, stops: Stops, stop: Ints, before: Floats) -> float:
    """Seconds from home to where it waits, to the stop, to where it waits for the next one ..."""
    seconds, here, total = joint_times(robot), home_of(robot), 0.0
    for v, s in enumerate(stop):
        way = np.column_stack([here, before[:, v], stops.q[:, s]])
        times = travel_times(way, seconds)
        total += float(times[0, 1] + times[1, 2])
        here = stops.q[:, s]
    return total
