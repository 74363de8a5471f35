"""Nothing touches: the arm itself, obstacles, the cable and the tracker's beams, as margins with exact derivatives.

    margin of a pair = distance of the axes - radii - clearance              (`stiffarm.plan.distances`)

and with the ends of the axes moving by the joints and the attachment point (`stiffarm.plan.solids`) its derivatives
follow by the chain rule.  A stop has as many margins as are worth following, the `NEAREST` smallest ones of all pairs:
where two pairs change places the set stays the same.

Pairs that cannot tell anything are left out: bodies of the arm next to each other, which a joint holds together, and
those that touch in every posture of the arm (the capsules of a wrist whose axes meet); the body that a cable pulls or
that carries a marker that is looked at, and its neighbours when the cable or the beam always begins in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.stats import qmc

from stiffarm.model.arm_model import Arm
from stiffarm.plan.distances import Apart, between_segments, to_box
from stiffarm.plan.problem import Floats, Ints, Margins, Stops
from stiffarm.plan.solids import BASE, Box, CableEnd, Cell, End, Placed, Rod, arm_rods, place
from stiffarm.robot.arm import Vector3

NEAREST = 4
"""Margins of a stop."""
POSTURES = 512
"""Spread over the joints' ranges, by which it is seen which bodies always touch."""
CHUNK = 2048
"""Stops at a time."""
DRAWN_BACK_M = 0.3
"""What is near the end of the cable, less than this from its attachment point, is not looked at."""
CABLE_CLEARANCE_M = 0.05
HIDDEN = "hidden markers"


@dataclass(frozen=True, eq=False)
class Clearance:
    """Pairs of rods, and of rods and boxes, that stay apart."""

    arm: Arm
    rods: tuple[Rod, ...]
    pairs: tuple[tuple[int, int], ...]
    """Of rods."""
    boxes: tuple[Box, ...] = ()
    box_pairs: tuple[tuple[int, int], ...] = ()
    """Of a rod and a box."""
    clearance_m: float = 0.0
    name: str = field(default="collision")

    def __len__(self) -> int:
        return len(self.pairs) + len(self.box_pairs)

    @property
    def rows(self) -> int:
        """Margins of a stop."""
        return min(NEAREST, len(self))

    def margins(self, stops: Stops) -> Floats:
        """(margins, n) m, the smallest first."""
        parts = [self.all(stops.take(slice(i, i + CHUNK))) for i in range(0, len(stops), CHUNK)]
        value = np.concatenate(parts, axis=1) if parts else np.zeros((len(self), 0))
        return np.asarray(np.sort(value, axis=0)[: self.rows])

    def all(self, stops: Stops) -> Floats:
        """(pairs, n) margins of all pairs, pairs of rods first."""
        return self._apart(place(self.arm, stops, self._ends, derivatives=False)).value

    def words(self, pair: int) -> str:
        """A pair by the names of what is compared."""
        if pair < len(self.pairs):
            first, second = (self.rods[i].name for i in self.pairs[pair])
        else:
            rod, box = self.box_pairs[pair - len(self.pairs)]
            first, second = self.rods[rod].name, self.boxes[box].name
        return f"{first} and {second}"

    def derivatives(self, stops: Stops) -> Margins:
        """Of the smallest margins."""
        placed = place(self.arm, stops, self._ends, derivatives=True)
        assert placed.by_q is not None
        assert placed.by_aim is not None
        apart, at = self._apart(placed), self._of_pairs
        slopes = (apart.by_start, apart.by_end, apart.by_other_start, apart.by_other_end)
        order = np.argsort(apart.value, axis=0, kind="stable")[: self.rows]
        value = np.take_along_axis(apart.value, order, axis=0)
        by_q, by_aim = np.zeros((len(self), *stops.q.shape)), np.zeros((len(self), 3, len(stops)))
        for ends, slope in zip(at, slopes, strict=True):
            some = slice(0, len(ends))  # boxes have no ends that move, and their pairs stand last
            by_q[some] += np.einsum("pcn,pjcn->pjn", slope[some], placed.by_q[ends])
            by_aim[some] += np.einsum("pcn,pckn->pkn", slope[some], placed.by_aim[ends])
        picked = order[:, None]
        return Margins(value, np.take_along_axis(by_q, picked, axis=0), np.take_along_axis(by_aim, picked, axis=0))

    @cached_property
    def _ends(self) -> list[End]:
        return [end for rod in self.rods for end in (rod.start, rod.end)]

    @cached_property
    def _of_pairs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Ends of the first of each pair (rods and boxes), and of the second (rods alone)."""
        first = np.array([i for i, _ in (*self.pairs, *self.box_pairs)], dtype=np.int64)
        second = np.array([j for _, j in self.pairs], dtype=np.int64)
        return 2 * first, 2 * first + 1, 2 * second, 2 * second + 1

    @cached_property
    def _apart_by(self) -> Floats:
        """(pairs, 1) what is taken off every distance."""
        radius = [rod.radius_m for rod in self.rods]
        both = [radius[i] + radius[j] for i, j in self.pairs] + [radius[i] for i, _ in self.box_pairs]
        return np.array(both)[:, None] + self.clearance_m

    def _apart(self, placed: Placed) -> Apart:
        """Margins of all pairs with their slopes by the ends, world."""
        start, end, other_start, other_end = self._of_pairs
        count, xyz = len(self.pairs), placed.xyz
        parts = [between_segments(xyz[start[:count]], xyz[end[:count]], xyz[other_start], xyz[other_end])]
        if self.boxes:
            which = np.array([box for _, box in self.box_pairs], dtype=np.int64)
            turn = np.array([box.frame.rotation for box in self.boxes])[which]
            centre = np.array([box.frame.translation for box in self.boxes])[which][:, :, None]
            half = np.array([box.half_m for box in self.boxes])[which]
            local = [np.einsum("pji,pjn->pin", turn, xyz[ends[count:]] - centre) for ends in (start, end)]
            apart = to_box(local[0], local[1], half)
            back = [np.einsum("pij,pjn->pin", turn, slope) for slope in (apart.by_start, apart.by_end)]
            parts.append(replace(apart, by_start=back[0], by_end=back[1]))
        joined = [np.concatenate([getattr(p, k) for p in parts]) for k in Apart.__dataclass_fields__]
        value, *slopes = joined
        return Apart(value - self._apart_by, *slopes)


def self_clearance(arm: Arm, low: Floats, high: Floats, clearance_m: float = 0.0) -> Clearance | None:
    """The arm does not touch itself; None without capsules of bodies that could.

    ``low`` and ``high`` (joints,) are the ranges over which it is seen which bodies always touch.
    """
    rods = arm_rods(arm)
    pairs = tuple(
        (i, j) for i in range(len(rods)) for j in range(i + 1, len(rods)) if abs(rods[i].body - rods[j].body) > 1
    )
    if not pairs:
        return None
    whole = Clearance(arm, rods, pairs, name="self-collision")
    spread = qmc.Sobol(len(low), scramble=False).random_base2(int(np.log2(POSTURES)))
    largest = whole.all(Stops(low[:, None] + (high - low)[:, None] * spread.T)).max(axis=1)
    chosen = tuple(pair for pair, apart in zip(pairs, largest, strict=True) if apart > 0.0)
    return replace(whole, pairs=chosen, clearance_m=clearance_m) if chosen else None


def cell_clearance(arm: Arm, cell: Cell, clearance_m: float = 0.0) -> Clearance | None:
    """The moving bodies of the arm do not touch obstacles; None without either."""
    rods = tuple(rod for rod in arm_rods(arm) if rod.body != BASE)
    if not rods or not len(cell):
        return None
    count = len(rods)
    pairs = tuple((i, count + j) for i in range(count) for j in range(len(cell.rods)))
    boxes = tuple((i, j) for i in range(count) for j in range(len(cell.boxes)))
    return Clearance(arm, (*rods, *cell.rods), pairs, cell.boxes, boxes, clearance_m, "obstacles")


def cable_clearance(arm: Arm, load_point: str, cell: Cell, clearance_m: float = CABLE_CLEARANCE_M) -> Clearance | None:
    """The cable stays clear of the arm (but for the body that it pulls) and of obstacles."""
    hook = arm.chain.point(load_point, of="load point")
    cable = Rod("cable", hook.body, hook, CableEnd(hook, DRAWN_BACK_M))
    return _seen_clear(arm, [cable], cell, clearance_m, "cable clearance")


def sight_clearance(
    arm: Arm, markers: Sequence[str], station_m: Vector3, cell: Cell, clearance_m: float = 0.0
) -> Clearance | None:
    """Neither the arm (but for the body with the marker) nor an obstacle stands between a marker and the station."""
    beams = []
    for marker in markers:
        point = arm.chain.point(marker, of="marker")
        beams.append(Rod(f"beam to {marker}", point.body, point, station_m))
    return _seen_clear(arm, beams, cell, clearance_m, HIDDEN)


def _held_near(arm: Arm, line: Rod, rod: Rod, clearance_m: float) -> bool:
    """Whether a neighbouring body is at the beginning of a line in every posture."""
    if abs(rod.body - line.body) > 2 or rod.body == BASE:
        return False
    beginning = replace(line, end=line.start)
    near = Clearance(arm, (beginning, rod), ((0, 1),), clearance_m=clearance_m)
    turns = np.linspace(-np.pi, np.pi, 16, endpoint=False)
    postures = np.zeros((arm.chain.n_joints, 256))
    between = range(min(line.body, rod.body), max(line.body, rod.body))
    for k, values in zip(between, (np.tile(turns, 16), np.repeat(turns, 16)), strict=False):
        postures[k] = values
    return bool((near.all(Stops(postures)) < 0.0).all())


def _seen_clear(arm: Arm, lines: Sequence[Rod], cell: Cell, clearance_m: float, name: str) -> Clearance | None:
    """Lines that begin at a body stay clear of all other bodies and of the cell."""
    bodies = (*arm_rods(arm), *cell.rods)
    count = len(lines)
    pairs = tuple(
        (i, count + j)
        for i, line in enumerate(lines)
        for j, rod in enumerate(bodies)
        if rod.body != line.body and not _held_near(arm, line, rod, clearance_m)
    )
    boxes = tuple((i, j) for i in range(count) for j in range(len(cell.boxes)))
    if not pairs and not boxes:
        return None
    return Clearance(arm, (*lines, *bodies), pairs, cell.boxes, boxes, clearance_m, name)
