"""How much the tool gives way to a force, place by place: the map of a robot's stiffness.

At the equilibrium of a posture under its weights a point p gives way to a force f at a point h by

    u = C f,        C = J_p (I - k T)^-1 k J_h^T        (`stiffarm.model.cartesian`, its part of places and forces)

so for a force of size F whose direction is given |u| = |C f|, and for the worst direction |u| = s F with s the largest
singular value of C, in the direction of its right singular vector.  Which posture brings the tool to a place is chosen:
all of them (`stiffarm.model.postures`), with what is offered besides (a rail, the turn of a spindle), are compared, and
the stiffest that is not near a singularity is taken.

With the covariance of the parameters v the length |u| has the variance a' Cov a, a = (u/|u|) . du/dv; for the worst
direction the same holds, for there the length does not change with the direction.  This is the first order of the
force alone; what the parameters do to the weights' own softening is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.choices import Choices
from stiffarm.compensate.compensating import NEAR_SINGULAR
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.region import TURN, Region, axes_of_tool, centre_of
from stiffarm.errors import InputError, Problem
from stiffarm.identify.domain import INSIDE, force_factor, joint_factor
from stiffarm.model.arm_model import Arm
from stiffarm.model.cartesian import cartesian_compliance
from stiffarm.model.equilibrium import equilibrium
from stiffarm.model.evaluate import sensitivity
from stiffarm.model.kernel import chunks, frames, world_vectors
from stiffarm.model.loads import Load, State
from stiffarm.model.postures import Postures, postures
from stiffarm.robot.arm import Robot
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]
ForceFrame = Literal["world", "tool"]

STIFF, SINGULAR, UNREACHED, LOST = range(4)
STATUS = ("ok", "near singular", "out of reach", "no equilibrium")
"""In words, by code: a posture; only postures near a singularity; none within the limits; none under the weights."""
PLACES_CHUNK = 4096


@dataclass(frozen=True)
class Pull:
    """A force whose effect is mapped."""

    force_n: float = 1000.0
    direction: tuple[float, float, float] | None = None
    """Unit vector; None: the worst direction of each place."""
    frame: ForceFrame = "world"
    """Axes of ``direction``; tool: those of the tool as it stands."""
    load_point: str = "tool"
    seen: str = "tool"
    """The point whose motion is mapped."""


@dataclass(frozen=True, eq=False, repr=False)
class DeflectionMap(Shown):
    """Deflection at every place of a region; NaN where there is none."""

    region: Region
    pull: Pull
    robot: Robot
    q: Floats
    """(joints, n) the posture taken."""
    status: Ints
    """(n,) index into `STATUS`."""
    compliance: Floats
    """(3, 3, n) m/N, motion of the seen point in the world by force at the load point."""
    force_world: Floats
    """(3, n) N."""
    moved_world: Floats
    """(3, n) m."""
    sigma: Floats | None
    """(n,) standard deviation of the deflection's size, m; None when the model knows no covariance."""
    spread: Floats
    """(n,) tool motion per joint motion (0 at a singularity)."""
    postures: Ints
    """(n,) how many postures were compared."""
    notes: tuple[str, ...] = ()

    @property
    def deflection(self) -> Floats:
        """(n,) m, size of the motion."""
        return np.asarray(np.linalg.norm(self.moved_world, axis=0))

    @property
    def stiffness(self) -> Floats:
        """(n,) N/m, force over deflection."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.pull.force_n / self.deflection)

    def summary(self) -> tuple[str, ...]:
        """How much is reached, the least and the largest deflection."""
        reached = int((self.status == STIFF).sum())
        said = [f"{reached} of {len(self.region)} places reached"]
        for word, index in (("stiffest", self.best), ("softest", self.worst)):
            if index is not None:
                where = ", ".join(f"{name} {self.region.column(name)[index]:.4g}" for name in self.region.names)
                said.append(f"{word}: {1e6 * float(self.deflection[index]):.4g} um at {where}")
        return (*said, *self.notes)

    def to_polars(self) -> pl.DataFrame:
        """One row for every place."""
        import polars as pl

        from stiffarm.compensate.map_rows import map_columns

        return pl.DataFrame(map_columns(self, self.robot)).with_columns(pl.selectors.float().fill_nan(None))

    def grid(self, values: Floats) -> Floats:
        """Values (n,) in the shape of the region."""
        return np.asarray(values).reshape(self.region.shape)

    @property
    def best(self) -> int | None:
        """Index of the stiffest place, singular ones apart; None when no place is reached."""
        return _least(np.where(self.status == STIFF, self.deflection, np.nan))

    @property
    def worst(self) -> int | None:
        """Index of the softest."""
        return _least(-np.where(self.status == STIFF, self.deflection, np.nan))


def _least(values: Floats) -> int | None:
    return int(np.nanargmin(values)) if np.isfinite(values).any() else None


def deflection_map(
    model: KnownModel,
    region: Region,
    pull: Pull | None = None,
    *,
    free: tuple[str, ...] = (),
    standing: dict[str, float] | None = None,
    progress: Progress | None = None,
) -> DeflectionMap:
    """Deflection of the seen point under a force at every place of a region.

    ``free`` offers joints (a rail) and turns of the tool (rx, ry, rz); ``standing`` are values (rad, m) of joints that
    the region does not name: for a grid of joints all others, for places of the tool those that stand still.
    """
    pull = pull or Pull()
    arm = model.arm()
    require_elastic(model, arm)
    ask = _Ask(model, arm, region, pull, Choices(arm, region, free, standing or {}))
    found = ask.empty()
    done = 0
    for rows in chunks(len(region), max(1, PLACES_CHUNK // ask.choices.alternatives)):
        ask.fill(found, np.arange(rows.start, rows.stop))
        done = rows.stop
        if progress is not None:
            progress(done, len(region))
    return DeflectionMap(
        region, pull, model.robot, found.q, found.status, found.compliance, found.force, found.moved, found.sigma,
        found.spread, found.postures, ask.notes(found),
    )  # fmt: skip


def require_elastic(model: KnownModel, arm: Arm) -> None:
    """Raise `InputError` for an arm that does not bend."""
    if not any(p.elastic and p.name in arm.values and arm.values[p.name] for p in arm.model.parameters):
        raise InputError(
            Problem(
                "this robot has no compliances, so nothing in it gives way",
                file=model.file,
                next_step="Identify them from loaded readings, or state them in the robot file (compliance = ...)",
            )
        )


class _Found:
    """Results of all places, filled chunk by chunk."""

    def __init__(self, joints: int, n: int, known: bool) -> None:
        self.q, self.status = np.full((joints, n), np.nan), np.full(n, UNREACHED)
        self.compliance = np.full((3, 3, n), np.nan)
        self.force, self.moved = np.full((3, n), np.nan), np.full((3, n), np.nan)
        self.sigma = np.full(n, np.nan) if known else None
        self.spread, self.postures = np.full(n, np.nan), np.zeros(n, dtype=np.int64)


class _Ask:
    """A region, what may be chosen at each place, and how the chosen is judged."""

    def __init__(self, model: KnownModel, arm: Arm, region: Region, pull: Pull, choices: Choices) -> None:
        self.model, self.arm, self.region, self.pull, self.choices = model, arm, region, pull, choices
        for name in (pull.load_point, pull.seen):
            arm.chain.point(name, of="point")

    def empty(self) -> _Found:
        """Nothing found yet."""
        return _Found(self.arm.chain.n_joints, len(self.region), bool(self.model.covariance_names))

    def fill(self, out: _Found, rows: Ints) -> None:
        """Work out some places."""
        taken = self._postures(rows)
        whose = rows[taken.pose // self.choices.alternatives]
        out.postures[rows] = np.bincount(whose, minlength=len(self.region))[rows]
        if not len(whose):
            return
        compliance, force, moved = self._judged(taken.q)
        size = np.linalg.norm(moved, axis=0)
        lost, wild = ~np.isfinite(size), taken.spread < NEAR_SINGULAR
        status = np.where(lost, LOST, np.where(wild, SINGULAR, STIFF))
        order = np.lexsort((np.nan_to_num(size, nan=np.inf), status, whose))
        first = order[np.unique(whose[order], return_index=True)[1]]
        at = whose[first]
        out.q[:, at], out.status[at], out.spread[at] = taken.q[:, first], status[first], taken.spread[first]
        out.compliance[..., at], out.force[:, at], out.moved[:, at] = (
            compliance[..., first],
            force[:, first],
            moved[:, first],
        )
        if out.sigma is not None:
            out.sigma[at] = self._sigma(taken.q[:, first], force[:, first], moved[:, first])

    def _postures(self, rows: Ints) -> Postures:
        """Postures for every alternative of some places; an index counts places and, within them, alternatives."""
        held = self.choices.held(rows)
        if not self.region.cartesian:
            return Postures(np.arange(len(rows)), held, np.ones(len(rows)))
        position = self.region.position()[:, rows]
        every = np.repeat(position, self.choices.alternatives, axis=1)
        turn = self.region.column(TURN)[rows] if TURN in self.region.names else np.zeros(len(rows))
        turn = np.repeat(turn, self.choices.alternatives)
        axes = axes_of_tool(self.region.pointing, every, centre_of(self.arm, held), turn)
        pose = self.choices.poses(position, axes)
        return postures(self.arm, pose, held=held, kept_turns=self.choices.kept_turns)

    def _judged(self, q: Floats) -> tuple[Floats, Floats, Floats]:
        """Compliance (3, 3, m), force and motion (3, m) at joint values."""
        state = State(np.ascontiguousarray(q), self.arm.weights())
        same = self.pull.seen == self.pull.load_point
        found = equilibrium(self.arm, state)
        pulled = None if same else self.pull.load_point
        whole = cartesian_compliance(self.arm, state, self.pull.seen, pulled=pulled, found=found)
        compliance = whole[:3, :3]
        direction = self._direction(q, compliance)
        force = self.pull.force_n * direction
        return compliance, force, np.einsum("ijn,jn->in", compliance, force)

    def _direction(self, q: Floats, compliance: Floats) -> Floats:
        """(3, m) unit vectors of the force."""
        if self.pull.direction is None:
            return worst_direction(compliance)
        direction = np.repeat(np.array(self.pull.direction)[:, None], q.shape[1], axis=1)
        if self.pull.frame == "tool":
            chain = self.arm.chain
            at = frames(chain, np.ascontiguousarray(q))
            axes = world_vectors(at.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))
            direction = np.einsum("cin,cn->in", axes, direction)
        return direction

    def _sigma(self, q: Floats, force: Floats, moved: Floats) -> Floats:
        """(m,) standard deviation of the size of the motion, m."""
        names = self.model.covariance_names
        load = Load(self.arm.chain.point(self.pull.load_point), np.ascontiguousarray(force))
        state = State(np.ascontiguousarray(q), (load,))
        out = np.zeros(q.shape[1])
        for rows in chunks(q.shape[1], 1024):
            columns = sensitivity(self.arm, state.part(rows), self.pull.seen, names, deflection=True)[1]
            along = np.einsum("pcn,cn->pn", columns, moved[:, rows])
            size = np.maximum(np.linalg.norm(moved[:, rows], axis=0), 1e-300)
            variance = np.einsum("pn,pn->n", along, self.model.covariance @ along)
            out[rows] = np.sqrt(np.maximum(variance, 0.0)) / size
        return out

    def notes(self, found: _Found) -> tuple[str, ...]:
        """What was chosen without being asked for, and what lies beyond the calibration."""
        return (*self.choices.notes(), *self._beyond(found))

    def _beyond(self, found: _Found) -> list[str]:
        domain, known = self.model.domain, np.isfinite(found.q).all(axis=0)
        said = []
        pulls = np.zeros((1, 6, 1))
        pulls[0, 0] = self.pull.force_n
        factor = float(force_factor(domain, pulls)[0])
        if factor > INSIDE:
            said.append(f"the force is {factor:.3g} times the largest calibrated")
        joints = joint_factor(domain, self.model.robot.joint_names, found.q[:, known])
        beyond = int((joints > INSIDE).any(axis=0).sum()) if known.any() else 0
        if beyond:
            said.append(f"{beyond} of {int(known.sum())} places need joints beyond their calibrated range")
        return said


def worst_direction(compliance: Floats) -> Floats:
    """(3, m) unit force that moves the point farthest, for compliances (3, 3, m); NaN where one is.

    >>> worst_direction(np.diag([1.0, 3.0, 2.0])[:, :, None])[:, 0].tolist()
    [0.0, 1.0, 0.0]
    """
    stacked = np.ascontiguousarray(np.moveaxis(compliance, -1, 0))
    known = np.isfinite(stacked).all(axis=(1, 2))
    out = np.full((3, len(stacked)), np.nan)
    right = np.linalg.svd(stacked[known])[2][:, 0]
    largest = np.argmax(np.abs(right), axis=1)
    sign = np.where(right[np.arange(len(right)), largest] < 0.0, -1.0, 1.0)  # either sense is as bad
    out[:, known] = (right * sign[:, None]).T + 0.0
    return out
