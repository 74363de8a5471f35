"""What a plan is asked for, and what a plan is.

A *stop* is one configuration of the arm together with what pulls there.  A plan is a few stops, each measured once or
several times; a `PlanProblem` says what may be chosen, what must be kept and what the measurements are for.

What pulls is one of

    Cable          from the load point towards an attachment point on the floor, of known tension; the point is the
                   same for all stops and may itself be chosen within a box
    FixedForce     the same force in the world at every stop, such as a weight that hangs
    FreeForce      a force of known size whose direction is chosen for every stop

so that besides its joints a stop has an *aim*: the attachment point (m), or the direction, in the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.question import Wanted
from stiffarm.measure.campaign import Instrument, LoadUncertainty, SharedError
from stiffarm.robot.arm import Robot, Vector3
from stiffarm.showing import Shown

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from stiffarm.measure.campaign import Campaign
    from stiffarm.plan.verify import Verification

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
WITHIN = 0.05
"""So much over the bound a plan is good enough."""
ReadKind = Literal["deflection", "position", "pose"]


@dataclass(frozen=True, eq=False)
class Stops:
    """Configurations and what pulls towards where; the batch axis is last."""

    q: Floats
    """(joints, n) controller values, rad or m."""
    aim: Floats | None = None
    """(3, n) attachment point of the cable (m) or direction of the free force, world; None: neither is there."""

    def __len__(self) -> int:
        return int(self.q.shape[1])

    def take(self, which: Ints | Flags | slice) -> Stops:
        """Some of the stops.

        >>> len(Stops(np.zeros((6, 4))).take(slice(1, 3)))
        2
        """
        return Stops(np.ascontiguousarray(self.q[:, which]), None if self.aim is None else self.aim[:, which])

    def join(self, *others: Stops) -> Stops:
        """These stops, then the others."""
        parts = (self, *others)
        aims = [part.aim for part in parts if part.aim is not None]
        return Stops(np.concatenate([part.q for part in parts], axis=1), np.concatenate(aims, axis=1) if aims else None)

    def aimed(self, aim_m: Floats) -> Stops:
        """The same configurations with one attachment point (3,) for all."""
        return replace(self, aim=np.repeat(np.asarray(aim_m, dtype=float)[:, None], len(self), axis=1))


@dataclass(frozen=True)
class Cable:
    """A cable under tension from the load point towards a point of a box (a single point when low is high)."""

    load_point: str
    force_n: float
    low_m: Vector3
    high_m: Vector3

    @property
    def free(self) -> Flags:
        """(3,) which coordinates of the attachment point are chosen."""
        return np.array(self.low_m) < np.array(self.high_m)


@dataclass(frozen=True)
class FixedForce:
    """The same force (N, world) at every stop."""

    load_point: str
    force_world: Vector3


@dataclass(frozen=True)
class FreeForce:
    """A force of one size whose direction every stop chooses."""

    load_point: str
    force_n: float


Pull = Cable | FixedForce | FreeForce


@dataclass(frozen=True, eq=False)
class Margins:
    """How far stops are inside what must be kept: a margin of 0 or more keeps it."""

    value: Floats
    """(margins, n) m or rad."""
    by_q: Floats
    """(margins, joints, n) derivatives, 1/rad or 1/m; zero where a margin changes its mind (a corner)."""
    by_aim: Floats
    """(margins, 3, n)"""


class Constraint(Protocol):
    """Something that every stop must keep."""

    @property
    def name(self) -> str:
        """What it is, in the words of a message: ``tool box``, ``line of sight`` ..."""
        ...

    def margins(self, stops: Stops) -> Floats:
        """(margins, n): 0 or more where the stop keeps it."""
        ...

    def derivatives(self, stops: Stops) -> Margins:
        """The same with exact derivatives."""
        ...


@dataclass(frozen=True, eq=False)
class Reading:
    """What is read at every stop, and how well."""

    kind: ReadKind
    markers: tuple[str, ...]
    instrument: Instrument
    own_sigma: bool = True
    """Whether ``instrument`` states the scatter of the number read; else a deflection, being two readings, has twice
    the variance."""
    shared: SharedError = field(default_factory=SharedError)
    """Errors common to the readings of one stop; every repeat is a stop of its own."""
    station_m: Vector3 | None = None
    """The tracker in the world."""
    load: LoadUncertainty = field(default_factory=LoadUncertainty)
    """How well the load is known."""


@dataclass(frozen=True, eq=False)
class PlanProblem:
    """What may be chosen, what must be kept, and what is read."""

    robot: Robot
    asked: Wanted
    """The model and the parameters to be found."""
    reading: Reading
    pull: Pull | None
    experiments: int
    """Stops counted with their repeats."""
    poses: int
    """Distinct stops."""
    constraints: tuple[Constraint, ...] = ()
    min_distance_m: float = 0.0
    """Between the tool points of any two stops."""
    low: Floats = field(default_factory=lambda: np.zeros(0))
    """(joints,) lowest controller values, rad or m."""
    high: Floats = field(default_factory=lambda: np.zeros(0))
    seed: int = 0

    @property
    def load_point(self) -> str | None:
        """Where it pulls."""
        return None if self.pull is None else self.pull.load_point

    def repeats(self) -> Ints:
        """(poses,) how often each stop is measured: as evenly as possible, the first ones more often.

        12 experiments over 5 poses are 3, 3, 2, 2, 2.
        """
        few, more = divmod(self.experiments, self.poses)
        return np.full(self.poses, few, dtype=np.int64) + (np.arange(self.poses) < more)


@dataclass(frozen=True, eq=False)
class Certificate:
    """How much better any other plan of the same size could be; numerical, not rigorous."""

    bound: float
    """No plan of this size is better, as far as the search for the maximum went; unit of the value."""
    efficiency: float
    """bound / value."""
    support: int
    """Stops that carry weight in the best weighted design."""
    starts: int
    """Fresh starting points of the last search for the maximum."""
    seed: int
    """Of that search."""


@dataclass(frozen=True)
class CurvePoint:
    """What a plan of so many poses, and as many experiments as the plan itself, reaches."""

    poses: int
    value: float
    efficiency: float | None
    """bound / value; None for criteria without a bound."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Visits in the order in which they are driven (`stiffarm.plan.shift`)."""

    stop: Ints
    """(visits,) index of the stop."""
    repeat: Ints
    """(visits,) which time it is measured, from 1; of a reference its own count."""
    reference: Flags
    """(visits,) a return to the reference, which is no repeat of its stop."""
    side: Floats
    """(joints, visits) +1 or -1, the direction of the last motion; NaN: as it comes."""
    before: Floats
    """(joints, visits) where it waits before; the stop itself where the side does not matter."""
    driving_s: float
    """From home through all visits, as the joints' speeds have it."""
    order: str = "tour"
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.stop)

    @property
    def sided(self) -> bool:
        """Whether it matters from which side stops are approached."""
        return bool(np.isfinite(self.side).any())


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Shown):
    """Stops to be measured, how good they are, and how good any could be."""

    problem: PlanProblem
    stops: Stops
    """The distinct stops, in the order in which they are driven."""
    repeats: Ints
    """(poses,)"""
    criterion: str
    value: float
    """Small is good; metres for test poses."""
    certificate: Certificate | None
    predicted_std: dict[str, float]
    """By parameter, SI."""
    seed: int
    seconds: float
    finished: bool = True
    """False when the search was interrupted: the best so far."""
    notes: tuple[str, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)
    """Parameters that are not planned for, and why."""
    curve: tuple[CurvePoint, ...] = ()
    """By rising number of poses; of quick searches, so that better plans of as many poses may exist."""
    use: str | None = None
    """Where the work is done, in words."""
    scale_part: float = 0.0
    """Part of value and bound (the root of a part of their squares) that no measurement lowers: the load's gain."""
    shift: Shift | None = None
    """How the stops are driven."""
    verification: Verification | None = None
    """What came out of virtual campaigns, when they were asked for."""

    @property
    def enough_poses(self) -> int | None:
        """The smallest number of poses found to be within `WITHIN` of the bound; None when there is none."""
        close = [p.poses for p in self.curve if p.efficiency is not None and p.efficiency >= 1.0 / (1.0 + WITHIN)]
        return min(close, default=None)

    @property
    def attachment_m(self) -> Floats | None:
        """(3,) attachment point of the cable in the world; None without a cable."""
        if not isinstance(self.problem.pull, Cable) or self.stops.aim is None:
            return None
        return np.asarray(self.stops.aim[:, 0])

    @property
    def campaign(self) -> Campaign:
        """The plan as a campaign whose readings are still to come."""
        from stiffarm.plan.plan_file import campaign_of

        return campaign_of(self)

    def summary(self) -> tuple[str, ...]:
        """In words."""
        from stiffarm.plan.words import sentences

        return tuple(sentences(self))

    def to_polars(self) -> pl.DataFrame:
        """The rows of its file."""
        return self.campaign.to_polars()

    def write(self, path: str | Path) -> None:
        """Write the plan file, and what is known of the instrument beside it."""
        from stiffarm.plan.plan_file import write_plan

        write_plan(self, path)
