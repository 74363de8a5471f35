"""Where a part is worked on with the least deflection: a path shifted over a region, in every posture at each place.

The part's middle m (of the box round the wished points p_j) is put to a place g of the region and the part turned about
the vertical through it by an angle t, R = Rot_z(t):

    p_j' = g + R (p_j - m)        R_j' = R R_j        f_j' = R f_j

Forces belong to the process and turn with the part.  From every posture of the first point the path is followed point
by point, so that a placement is judged by postures the arm can hold from one end to the other; joints that stand (a
rail) stand for the whole path.  The deflection of each point is that of its own loads, to first order, the weights left
out: it is compared over thousands of postures, and at the place that is chosen solved exactly as well.  Long paths are
sampled evenly.  Placements are ordered by the root mean square of the deflection, or by its largest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.choices import Choices
from stiffarm.compensate.compensating import NEAR_SINGULAR
from stiffarm.compensate.inverting import Wished
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.region import PLACES, TURN, GridAxis, Region
from stiffarm.compensate.stiffness_map import (
    SINGULAR,
    STIFF,
    UNREACHED,
    Progress,
    Pull,
    require_elastic,
    worst_direction,
)
from stiffarm.model.evaluate import predict
from stiffarm.model.kernel import chunks
from stiffarm.model.loads import Load, State
from stiffarm.model.postures import Search, postures
from stiffarm.model.rotations import matrix_of
from stiffarm.robot.arm import Robot
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Judged = Literal["rms", "worst"]

MOST_POINTS = 48
"""Points of a path that are looked at in every placement."""
ROWS_CHUNK = 2048
LONGEST_RAD = 1.8
"""A joint that turns farther between two sampled points has gone to another posture."""


@dataclass(frozen=True, eq=False)
class Part:
    """What is done to a part: where the tool goes and what pulls, as the part stands now."""

    row: Ints
    """(k,) line of each point in the file."""
    position_world: Floats
    """(3, k) m"""
    rotation_world: Floats
    """(3 columns, 3, k)"""
    load_points: tuple[str, ...]
    wrench_world: Floats
    """(load points, 6, k) N, N m."""
    whole: int
    """Points of the path these were taken from."""
    seen: str = "tool"
    """The point whose deflection is asked about."""

    @staticmethod
    def of(wished: Wished, row: Ints, most: int = MOST_POINTS, *, seen: str = "tool") -> Part:
        """A path as it is wished, sampled when it is long; the point with the largest force stays in."""
        n = len(wished)
        wrench = np.zeros((0, 6, n)) if wished.wrench_world is None else wished.wrench_world
        kept = np.linspace(0, n - 1, min(n, most)).round().astype(np.int64)
        if n > most and wrench.size:
            kept = np.append(kept, int(np.argmax(np.linalg.norm(wrench[:, :3].sum(axis=0), axis=0))))
        kept = np.unique(kept)
        return Part(
            row[kept], wished.position_world[:, kept], wished.rotation_world[:, :, kept], wished.load_points,
            wrench[:, :, kept], n, seen,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def middle(self) -> Floats:
        """(3,) m, of the box round the points."""
        return np.asarray(0.5 * (self.position_world.min(axis=1) + self.position_world.max(axis=1)))

    @property
    def pulled(self) -> bool:
        """Whether the path states loads of its own."""
        return bool(self.wrench_world.any())


@dataclass(frozen=True, eq=False, repr=False)
class Placements(Shown):
    """Deflection over the path at every place of its part; NaN where it cannot be reached."""

    region: Region
    part: Part
    robot: Robot
    judged: Judged
    position_world: Floats
    """(3, n) m, places of the part's middle."""
    turn: Floats
    """(n,) rad, of the part about the vertical."""
    rms: Floats
    """(n,) m, root mean square over the points."""
    worst: Floats
    """(n,) m, largest of the points."""
    status: Ints
    """(n,) as in a map; one point near a singularity is enough."""
    failed_row: Ints
    """(n,) line of the point that no posture followed to; 0 where all was reached."""
    start: Floats
    """(joints, n) posture at the first point."""
    postures: Ints
    """(n,) postures that follow the whole path."""
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> Floats:
        """(n,) what placements are ordered by, m."""
        return self.rms if self.judged == "rms" else self.worst

    @property
    def best(self) -> int | None:
        """Index of the best placement, singular ones apart; None when the part is reached nowhere."""
        value = np.where(self.status == STIFF, self.value, np.nan)
        return int(np.nanargmin(value)) if np.isfinite(value).any() else None

    def summary(self) -> tuple[str, ...]:
        """How much is reached, and the best placement."""
        said = [f"{int((self.status == STIFF).sum())} of {len(self.region)} placements reached"]
        if (best := self.best) is not None:
            x, y, z = (f"{1e3 * v:.4g}" for v in self.shift[:, best])
            said.append(f"best: shifted by ({x}, {y}, {z}) mm, {1e6 * float(self.value[best]):.4g} um {self.judged}")
        return (*said, *self.notes)

    def to_polars(self) -> pl.DataFrame:
        """One row for every placement."""
        import polars as pl

        from stiffarm.compensate.map_rows import placement_columns

        return pl.DataFrame(placement_columns(self, self.robot)).with_columns(pl.selectors.float().fill_nan(None))

    @property
    def shift(self) -> Floats:
        """(3, n) m by which the part moves from where it stands now."""
        return self.position_world - self.part.middle[:, None]


def place_part(
    model: KnownModel,
    part: Part,
    region: Region,
    pull: Pull | None = None,
    *,
    free: tuple[str, ...] = (),
    standing: dict[str, float] | None = None,
    judged: Judged = "rms",
    progress: Progress | None = None,
) -> Placements:
    """Judge every placement of a part; ``pull`` stands for the loads of a path that states none."""
    require_elastic(model, model.arm())
    if not part.pulled and pull is None:
        pull = Pull()
    model.arm().chain.point(part.seen, of="marker")
    work = Placing(model, part, at_rest(region, part), pull, free, standing or {}, judged)
    done = 0
    n = len(region)
    for rows in chunks(n, max(1, ROWS_CHUNK // work.choices.alternatives)):
        work.fill(np.arange(rows.start, rows.stop))
        done = rows.stop
        if progress is not None:
            progress(done, n)
    return replace(work.result(), region=region)


def as_it_stands(part: Part) -> Region:
    """The region of one place: where the file has the part."""
    return at_rest(Region(()), part)


def at_rest(region: Region, part: Part) -> Region:
    """The region with the places it does not name: where the part stands."""
    own = [GridAxis(name, part.middle[i : i + 1]) for i, name in enumerate(PLACES) if name not in region.names]
    return Region((*region.axes, *own), region.pointing)


class Placing:
    """Placements, worked out chunk by chunk."""

    def __init__(
        self, model: KnownModel, part: Part, region: Region, pull: Pull | None, free: tuple[str, ...],
        standing: dict[str, float], judged: Judged,
    ) -> None:  # fmt: skip
        self.model, self.arm, self.part, self.region, self.judged = model, model.arm(), part, region, judged
        self.pull = None if part.pulled else pull
        self.choices = Choices(self.arm, region, free, standing)
        n = len(region)
        self.rms, self.worst = np.full(n, np.nan), np.full(n, np.nan)
        self.status, self.failed = np.full(n, UNREACHED), np.full(n, int(part.row[0]))
        self.start, self.postures = np.full((self.arm.chain.n_joints, n), np.nan), np.zeros(n, dtype=np.int64)
        self.turn = region.column(TURN) if TURN in region.names else np.zeros(n)

    def poses(self, rows: Ints, point: int) -> Floats:
        """(6, rows x alternatives) wished poses of one point of the path."""
        vertical = np.zeros((3, len(rows)))
        vertical[2] = self.turn[rows]
        turned = matrix_of(vertical)
        lever = self.part.position_world[:, point] - self.part.middle
        position = self.region.position()[:, rows] + np.einsum("cin,c->in", turned, lever)
        axes = np.einsum("kin,jk->jin", turned, self.part.rotation_world[:, :, point])
        return self.choices.poses(position, axes)

    def follow(self, rows: Ints) -> tuple[Ints, Floats, list[Floats], Floats]:
        """Postures that hold from end to end: whose, starts (joints, m), all points, least spread (m,)."""
        held = self.choices.held(rows)
        kept = self.choices.kept_turns
        found = postures(self.arm, self.poses(rows, 0), held=held, kept_turns=kept)
        index, path, spread = found.pose, [found.q], found.spread
        self.failed[rows[np.unique(index // self.choices.alternatives)]] = 0
        for point in range(1, len(self.part)):
            if not len(index):
                break
            search = Search(self.arm, self.poses(rows, point), held, kept)
            q, arrived = search.solve(path[-1], index)
            turned = np.abs(q - path[-1])[~np.array(self.arm.chain.prismatic)].max(axis=0)
            going = arrived & (turned < LONGEST_RAD)
            before = np.unique(index // self.choices.alternatives)
            index = index[going]
            lost = np.setdiff1d(before, index // self.choices.alternatives)
            self.failed[rows[lost]] = int(self.part.row[point])
            path = [one[:, going] for one in path] + [q[:, going]]
            spread = np.minimum(spread[going], search.spread(path[-1], index))
        return index, path[0], path, spread

    def fill(self, rows: Ints) -> None:
        """Judge some placements."""
        index, start, path, spread = self.follow(rows)
        whose = rows[index // self.choices.alternatives]
        self.postures[rows] = np.bincount(whose, minlength=len(self.region))[rows]
        if not len(whose):
            return
        sizes = np.stack([np.linalg.norm(self.moved(q, whose, i), axis=0) for i, q in enumerate(path)])
        rms, worst = np.sqrt(np.mean(sizes**2, axis=0)), sizes.max(axis=0)
        status = np.where(spread < NEAR_SINGULAR, SINGULAR, STIFF)
        order = np.lexsort((rms if self.judged == "rms" else worst, status, whose))
        first = order[np.unique(whose[order], return_index=True)[1]]
        at = whose[first]
        self.rms[at], self.worst[at], self.status[at] = rms[first], worst[first], status[first]
        self.start[:, at] = start[:, first]

    def forces(self, q: Floats, whose: Ints, point: int) -> list[Load]:
        """What pulls at one point of the path, the part turned."""
        chain = self.arm.chain
        if self.pull is not None:
            compliance = self._compliance(q, self.pull)
            direction = worst_direction(compliance) if self.pull.direction is None else self._turned(
                np.array(self.pull.direction), whose
            )  # fmt: skip
            return [Load(chain.point(self.pull.load_point), self.pull.force_n * direction)]
        return [
            Load(chain.point(name), self._turned(wrench[:3, point], whose), self._turned(wrench[3:, point], whose))
            for name, wrench in zip(self.part.load_points, self.part.wrench_world, strict=True)
            if wrench.any()
        ]

    def _turned(self, vector: Floats, whose: Ints) -> Floats:
        vertical = np.zeros((3, len(whose)))
        vertical[2] = self.turn[whose]
        return np.asarray(np.einsum("cin,c->in", matrix_of(vertical), vector))

    def moved(self, q: Floats, whose: Ints, point: int) -> Floats:
        """(3, m) m, first order."""
        loads = tuple(self.forces(q, whose, point))
        return predict(self.arm, State(np.ascontiguousarray(q), loads), self.part.seen).deflection

    def _compliance(self, q: Floats, pull: Pull) -> Floats:
        """(3, 3, m) m/N of the seen point by force at the load point, first order."""
        at = self.arm.chain.point(pull.load_point)
        unit = [Load(at, np.repeat(axis[:, None], q.shape[1], axis=1)) for axis in np.eye(3)]
        state = np.ascontiguousarray(q)
        return np.stack([predict(self.arm, State(state, (load,)), self.part.seen).deflection for load in unit], axis=1)

    def result(self) -> Placements:
        """Everything together."""
        notes = list(self.choices.notes())
        if self.part.whole > len(self.part):
            notes.append(f"{len(self.part)} of the path's {self.part.whole} points were looked at in every placement")
        return Placements(
            self.region, self.part, self.model.robot, self.judged, self.region.position(), self.turn, self.rms,
            self.worst, self.status, self.failed, self.start, self.postures, tuple(notes),
        )  # fmt: skip


__all__ = ["Part", "Placements", "Placing", "as_it_stands", "at_rest", "place_part"]
