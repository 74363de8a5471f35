"""What is chosen, as plain numbers: joints and aims of stops in a box of the size of one.

A joint value is measured in parts of its range, an attachment point in parts of its box, and the direction of a free
force by three numbers of which only the direction counts.  The variables of a plan are those of its stops one after
the other; with a cable the attachment point stands once, at the end, and is that of every stop.

A joint may be *held*: then every stop keeps the value it came with (a joint whose compliance is grouped by its angle,
or all joints of a user's own candidates).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stiffarm.plan.problem import Cable, Flags, Floats, FreeForce, Pull, Stops


@dataclass(frozen=True, eq=False)
class Space:
    """Boxes of the joints and of the attachment point."""

    low: Floats
    """(joints,) rad or m."""
    high: Floats
    pull: Pull | None
    held: Flags
    """(joints,)"""

    @cached_property
    def free(self) -> Flags:
        """(joints,) which are chosen."""
        return np.asarray(~self.held & (self.high > self.low))

    @cached_property
    def joints(self) -> int:
        """Number of joints that are chosen."""
        return int(self.free.sum())

    @cached_property
    def span(self) -> Floats:
        """(chosen joints, 1) ranges."""
        return np.asarray((self.high - self.low)[self.free, None])

    @property
    def cable(self) -> Cable | None:
        """The cable, if it is one that pulls."""
        return self.pull if isinstance(self.pull, Cable) else None

    @property
    def turns(self) -> bool:
        """Whether every stop chooses the direction of its force."""
        return isinstance(self.pull, FreeForce)

    @cached_property
    def shared(self) -> int:
        """Number of coordinates of the attachment point that are chosen."""
        return 0 if self.cable is None else int(self.cable.free.sum())

    @property
    def own(self) -> int:
        """Variables of one stop without the attachment point."""
        return self.joints + (3 if self.turns else 0)

    def pack(self, stops: Stops) -> Floats:
        """(n, own + shared)"""
        parts = [(stops.q[self.free] - self.low[self.free, None]) / self.span]
        if self.turns:
            assert stops.aim is not None, "a free force has a direction"
            parts.append(stops.aim / np.linalg.norm(stops.aim, axis=0))
        if self.shared:
            assert stops.aim is not None, "a cable has an attachment point"
            assert self.cable is not None, "only a cable is shared"
            low, high = np.array(self.cable.low_m)[:, None], np.array(self.cable.high_m)[:, None]
            parts.append(((stops.aim - low) / np.where(high > low, high - low, 1.0))[self.cable.free])
        return np.ascontiguousarray(np.concatenate(parts).T)

    def unpack(self, x: Floats, like: Floats) -> Stops:
        """Stops of variables (n, own + shared); held joints as in ``like`` (joints, n)."""
        q = np.array(like)
        q[self.free] = self.low[self.free, None] + self.span * x[:, : self.joints].T
        if self.turns:
            direction = x[:, self.joints : self.joints + 3].T
            return Stops(q, direction / np.maximum(np.linalg.norm(direction, axis=0), 1e-12))
        if self.cable is None:
            return Stops(q)
        low, high = np.array(self.cable.low_m)[:, None], np.array(self.cable.high_m)[:, None]
        aim = np.repeat(low, len(x), axis=1)
        if self.shared:
            free = self.cable.free
            aim[free] += (high - low)[free] * x[:, self.own :].T
        return Stops(q, aim)

    def chained(self, x: Floats, by_q: Floats, by_aim: Floats) -> Floats:
        """Gradients (n, own + shared) of those by joints (joints, n) and aim (3, n)."""
        parts = [by_q[self.free] * self.span]
        if self.turns:
            direction = x[:, self.joints : self.joints + 3].T
            length = np.maximum(np.linalg.norm(direction, axis=0), 1e-12)
            u = direction / length
            parts.append((by_aim - u * (u * by_aim).sum(axis=0)) / length)
        if self.shared:
            assert self.cable is not None, "only a cable is shared"
            span = np.array(self.cable.high_m)[:, None] - np.array(self.cable.low_m)[:, None]
            parts.append((by_aim * span)[self.cable.free])
        return np.ascontiguousarray(np.concatenate(parts).T)

    def bounds(self) -> tuple[Floats, Floats]:
        """Of the variables of one stop, attachment point last."""
        turn = 3 if self.turns else 0
        low = np.concatenate([np.zeros(self.joints), np.full(turn, -2.0), np.zeros(self.shared)])
        high = np.concatenate([np.ones(self.joints), np.full(turn, 2.0), np.ones(self.shared)])
        return low, high

    def plan_bounds(self, poses: int) -> tuple[Floats, Floats]:
        """Of the variables of a plan."""
        low, high = self.bounds()
        return tuple(np.concatenate([np.tile(b[: self.own], poses), b[self.own :]]) for b in (low, high))  # type: ignore[return-value]

    def pack_plan(self, stops: Stops) -> Floats:
        """(variables,) of a plan; the attachment point is that of its first stop."""
        each = self.pack(stops)
        return np.concatenate([each[:, : self.own].ravel(), each[0, self.own :]])

    def spread(self, x: Floats, poses: int) -> Floats:
        """(plans * poses, own + shared) variables of the stops of plans (plans, variables)."""
        own = x[:, : poses * self.own].reshape(-1, self.own)
        return np.concatenate([own, np.repeat(x[:, poses * self.own :], poses, axis=0)], axis=1)

    def gathered(self, gradient: Floats, poses: int) -> Floats:
        """(plans, variables) from gradients (plans * poses, own + shared) by the variables of the stops."""
        plans = len(gradient) // poses
        own = gradient[:, : self.own].reshape(plans, -1)
        return np.concatenate([own, gradient[:, self.own :].reshape(plans, poses, -1).sum(axis=1)], axis=1)
