"""Joint values at which the loaded arm stands where it is wished: iteration on the exact model.

With T(q) the tool of the real arm at its equilibrium under weights, compensators and the loads of the point
(`stiffarm.model.equilibrium`), and T_w the wished tool, the error and the correction are

    e = (p_w - p,  L B' log(R_w R')),      q <- q + U (J U)' [ J U (J U)' + small ]^-1 e,

L a length of the arm, so that turns count as lengths, U = diag(1/L or 1) likewise for joint values, J the columns of
the joints of the unbent arm at the tool, B the axes of the wished tool about which its turn is kept.  It is the
smallest correction when more joints move than conditions are to be met.  J leaves out how the deflection d changes
with q, so the first step leaves about |d|/L of the error.  What a step dq did to e beyond J then corrects it (Broyden),

    J  <-  J - (e' - e + J dq) dq' / |dq|^2,

and a few millimetres become nanometres in three steps, also where J alone would creep, near singularities.  Equilibria
are solved only as well as the error of a step needs, from those of the step before, and fully at the end.

An arm of fewer joints keeps the position first, dq_1 = J_p^+ e_p, and with N = I - J_p^+ J_p the orientation as well
as it then can: dq_2 = N (J_r N)^+ (e_r - J_r dq_1).

Loads are fixed in the world; those given in the tool's frame were turned by the *wished* tool, at which the iteration
ends.  Nothing is damped beyond rounding: where the answer needs a joint to move much more than the tool (a
singularity) it is not taken, and the caller is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.freedom import Freedom
from stiffarm.model.arm_model import Arm
from stiffarm.model.equilibrium import equilibrium
from stiffarm.model.kernel import cross, dot, frames, world_point
from stiffarm.model.loads import Load, State
from stiffarm.model.newton import WANTED
from stiffarm.model.rotations import vector_of
from stiffarm.model.statics import predict_exact

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST_STEPS = 10
ENOUGH_M = 1e-9
"""m (turns as lengths): no further step is taken below this error."""
ARRIVED_M = 1e-7
"""m (turns as lengths): a larger error at the end is no solution."""
AMPLIFIED = 50.0
"""Joint motion over tool motion, both as lengths, beyond which a correction is not taken."""
ON_THE_WAY = (1e-6, 1e-7, 1e-9)
"""Relative residual of the equilibrium at the first steps: what the error is by then needs no more."""
LEAST_STEP_M = 1e-9
"""m: a shorter step teaches nothing."""
LEAST_ERROR_M = 1e-5
"""m: an error smaller than this is not asked how much joint motion it costs."""
_SMALL = 1e-14

UNTOUCHED, ARRIVED, LOST, SINGULAR, ASTRAY = range(5)
"""What became of a point: nothing yet; solved; no equilibrium; a joint would move too far; the error stays."""


@dataclass(frozen=True, eq=False)
class Wished:
    """Where the tool shall be and what pulls there, for some points; the batch axis is last."""

    q: Floats
    """(joints, n) values to start from: those the uncorrected program commands."""
    position_world: Floats
    """(3, n) m"""
    rotation_world: Floats
    """(3 columns, 3, n)"""
    load_points: tuple[str, ...] = ()
    wrench_world: Floats | None = None
    """(load points, 6, n) N and N m."""

    def __len__(self) -> int:
        return int(self.q.shape[1])

    def take(self, rows: NDArray[np.int64] | slice) -> Wished:
        """Some of the points."""
        wrench = None if self.wrench_world is None else self.wrench_world[:, :, rows]
        return Wished(
            np.ascontiguousarray(self.q[:, rows]),
            self.position_world[:, rows],
            self.rotation_world[:, :, rows],
            self.load_points,
            wrench,
        )

    def state(self, arm: Arm, q: Floats | None = None) -> State:
        """The arm at joint values (those it starts from by default) under the loads and its weights."""
        values = self.q if q is None else q
        if self.wrench_world is None:
            return State(values, arm.weights())
        loads = [
            Load(arm.chain.point(name, of="load point"), wrench[:3], wrench[3:])
            for name, wrench in zip(self.load_points, self.wrench_world, strict=True)
            if wrench.any()
        ]
        return State(values, (*loads, *arm.weights()))


@dataclass(frozen=True, eq=False)
class Found:
    """Joint values for wished points, and how well they do."""

    q: Floats
    status: NDArray[np.int64]
    """(n,) ARRIVED, LOST, SINGULAR or ASTRAY."""
    steps: NDArray[np.int64]
    residual: Floats
    """(2, n) error of the position (m) and of the kept orientation (rad) at ``q``."""
    before: Floats
    """(3, n) m, error of the position at the values it started from."""
    elastic: Floats
    """(3, n) m, the bending part of that."""
    spread: Floats
    """(n,) smallest tool motion per joint motion, both as lengths, at the start (for ASTRAY also where it ended, when
    that is less); 0 at a singularity."""


def invert(arm: Arm, wished: Wished, freedom: Freedom) -> Found:
    """Joint values for a chunk of points; limits are kept only where freedom is left to keep them."""
    solver = _Solver(arm, wished, freedom)
    return solver.run()


@dataclass(frozen=True, eq=False)
class _Secant:
    """Jacobians of the loaded arm: those of the unbent one, corrected by what the last steps did."""

    unbent: Floats
    """(n, conditions, joints) of lengths."""
    learned: Floats
    """Likewise: what bending adds, as far as steps have shown it."""
    error: Floats
    """(conditions, n) where they hold."""
    step: Floats | None = None
    """(n, joints, 1) the step that was taken from there."""

    @property
    def jacobian(self) -> Floats:
        """(n, conditions, joints)"""
        return self.unbent + self.learned

    @classmethod
    def of(cls, unbent: Floats, error: Floats, before: _Secant | None) -> _Secant:
        """After a step, the smallest correction of what was learned before that explains it."""
        if before is None or before.step is None:
            return cls(unbent, np.zeros_like(unbent), error)
        step = before.step
        along = 0.5 * (unbent + before.unbent) + before.learned
        missed = (error - before.error).T[:, :, None] + along @ step
        across = np.swapaxes(step, 1, 2)
        size = across @ step
        correction = np.divide(missed @ across, size, out=np.zeros_like(unbent), where=size > LEAST_STEP_M**2)
        return cls(unbent, before.learned - np.nan_to_num(correction), error)

    def moved(self, rows: Flags, step: Floats) -> _Secant:
        """For those of the points that go on, by a step (joints, n) in lengths."""
        return _Secant(self.unbent[rows], self.learned[rows], self.error[:, rows], step.T[:, :, None])


class _Solver:
    def __init__(self, arm: Arm, wished: Wished, freedom: Freedom) -> None:
        self.arm, self.wished, self.freedom = arm, wished, freedom
        self.n = len(wished)
        steps = sum(float(np.linalg.norm(fixed.translation)) for fixed in arm.chain.fixed)
        self.length = max(0.05, 0.5 * (steps + float(np.linalg.norm(arm.chain.tool.translation))))
        slides = np.array(arm.chain.prismatic)
        self.unit = np.where(slides, 1.0, 1.0 / self.length)[:, None]
        self.moving = np.array(freedom.moving, dtype=float)[:, None]
        given = [joint.limits or (-np.inf, np.inf) for joint in arm.robot.joints]
        self.low, self.high = np.array(given).T[:, :, None]
        self.theta: dict[int, Floats] = {}
        """Elastic coordinates of every point, by effect, where the last step left them."""

    def run(self) -> Found:
        """Iterate until every point has arrived or is given up."""
        n, wished = self.n, self.wished
        q = np.array(wished.q)
        status, steps = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        residual, spread = np.full((2, n), np.nan), np.zeros(n)
        before, elastic = np.full((3, n), np.nan), np.full((3, n), np.nan)
        free = np.repeat(self.moving, n, axis=1)
        first = np.zeros(n)
        left = np.arange(n)
        secant: _Secant | None = None
        for step in range(MOST_STEPS + 1):
            part = wished.take(left)
            on_the_way = step < len(ON_THE_WAY)
            error, bending, turned = self.errors(part, q[:, left], left, ON_THE_WAY[step] if on_the_way else WANTED)
            if step == 0:
                before[:, left], elastic[:, left] = -error[:3], bending
                first = np.linalg.norm(error, axis=0)
            residual[0, left] = np.linalg.norm(error[:3], axis=0)
            residual[1, left] = np.linalg.norm(error[3:], axis=0) / self.length
            size = np.linalg.norm(error, axis=0)
            lost = ~np.isfinite(size)
            status[left[lost]] = LOST
            most = AMPLIFIED * np.maximum(first[left], LEAST_ERROR_M)
            wild = np.max(np.abs(q[:, left] - wished.q[:, left]) / self.unit, axis=0) > most
            status[left[wild & ~lost]] = SINGULAR
            jacobian = self.jacobian(q[:, left], turned)
            if step == 0:
                spread = self.spread(jacobian, free)
            secant = _Secant.of(jacobian, error, secant)
            # fewer joints than conditions: a step that no longer moves anything has arrived
            change = self.step(secant.jacobian, error, free[:, left])
            rest = np.linalg.norm(change / self.unit, axis=0) if self.freedom.lacking else size
            steps[left[(rest > ENOUGH_M) & ~lost & ~wild]] = step + 1
            going = ((rest > ENOUGH_M) | on_the_way) & ~lost & ~wild
            if step == MOST_STEPS or not going.any():
                break
            left, change = left[going], change[:, going]
            there = q[:, left] + change
            there = self.within(there, free, left) if self.freedom.redundant else there
            secant = secant.moved(going, (there - q[:, left]) / self.unit)
            q[:, left] = there
        arrived = residual[0] < ARRIVED_M
        if not self.freedom.lacking:
            arrived &= residual[1] * self.length < ARRIVED_M
        status[(status == UNTOUCHED) & arrived] = ARRIVED
        status[status == UNTOUCHED] = ASTRAY
        astray = np.flatnonzero(status == ASTRAY)
        if len(astray):  # what does not settle has often been led to a singularity
            kept = wished.rotation_world[list(self.freedom.kept_turns)][:, :, astray]
            ended = self.spread(self.jacobian(q[:, astray], kept), free[:, astray])
            spread[astray] = np.minimum(spread[astray], ended)
        return Found(q, status, np.minimum(steps, MOST_STEPS), residual, before, elastic, spread)

    def errors(
        self, wished: Wished, q: Floats, rows: NDArray[np.int64], accuracy: float
    ) -> tuple[Floats, Floats, Floats]:
        """Scaled errors (3 + kept turns, n), deflection (3, n), and the kept axes of the wished tool (turns, 3, n).

        Equilibria begin where those of these ``rows`` were left.
        """
        state = wished.state(self.arm, np.ascontiguousarray(q))
        start = {effect: np.ascontiguousarray(theta[:, rows]) for effect, theta in self.theta.items()}
        at = equilibrium(self.arm, state, start=start or None, wanted=accuracy)
        for effect, theta in at.theta.items():
            self.theta.setdefault(effect, np.zeros((len(theta), self.n)))[:, rows] = np.where(at.reached, theta, 0.0)
        found = predict_exact(self.arm, state, "tool", found=at)
        kept = wished.rotation_world[list(self.freedom.kept_turns)]
        position = wished.position_world - found.position
        if not len(kept):
            return position, found.deflection, kept
        if len(kept) == 3:
            turn = vector_of(np.einsum("cin,cjn->jin", wished.rotation_world, found.rotation))
        else:
            axis = next(i for i in range(3) if i not in self.freedom.kept_turns)
            turn = tilt(found.rotation[axis], wished.rotation_world[axis])
        return np.concatenate([position, self.length * dot(kept, turn[None])]), found.deflection, kept

    def jacobian(self, q: Floats, kept: Floats) -> Floats:
        """(n, conditions, joints) of lengths: motion of the tool per scaled joint motion."""
        chain = self.arm.chain
        at = frames(chain, np.ascontiguousarray(q))
        tool = world_point(at, chain.point("tool")).xyz
        out = np.zeros((chain.n_joints, 3 + len(kept), q.shape[1]))
        for k, slides in enumerate(chain.prismatic):
            axis = at.rotation[k + 1][2]
            out[k, :3] = axis if slides else cross(axis, tool - at.origin[k + 1])
            if not slides and len(kept):
                out[k, 3:] = self.length * dot(kept, axis[None])
        by_value = np.moveaxis(out, -1, 0)
        follows = np.repeat(chain.mix[None], q.shape[1], axis=0)
        gear = chain.sine[:, None] * np.cos(q) - chain.cosine[:, None] * np.sin(q)
        follows[:, range(len(q)), range(len(q))] += gear.T
        return np.asarray(np.swapaxes(by_value, 1, 2) @ (follows * self.unit[:, 0]))

    def spread(self, jacobian: Floats, free: Floats) -> Floats:
        """(n,) smallest singular value of what moves."""
        allowed = jacobian * free.T[:, None, :]
        if self.freedom.lacking:
            allowed = allowed[:, : min(3, int(self.moving.sum()))]
        gram = allowed @ np.swapaxes(allowed, 1, 2)
        gram[~np.isfinite(gram).all(axis=(1, 2))] = 0.0
        return np.asarray(np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, 0], 0.0)))

    def step(self, jacobian: Floats, error: Floats, free: Floats) -> Floats:
        """(joints, n) change of the joint values, in their own units."""
        allowed = jacobian * free.T[:, None, :]
        wanted = np.nan_to_num(error.T)[:, :, None]
        scaled = _position_first(allowed, wanted) if self.freedom.lacking else _smallest(allowed, wanted)
        return np.ascontiguousarray(scaled[:, :, 0].T) * self.unit

    def within(self, q: Floats, free: Floats, left: NDArray[np.int64]) -> Floats:
        """Values held at the limits; a joint that reaches one stays there and the others take over."""
        inside = np.clip(q, self.low, self.high)
        free[:, left] *= inside == q
        return np.asarray(np.where(free[:, left] > 0.0, q, np.where(self.moving > 0.0, inside, q)))


def _smallest(jacobian: Floats, error: Floats) -> Floats:
    """Smallest x (n, joints, 1) with J x = error (n, conditions, 1)."""
    across = np.swapaxes(jacobian, 1, 2)
    gram = jacobian @ across
    gram[:, range(gram.shape[1]), range(gram.shape[1])] += _SMALL
    gram[~np.isfinite(gram).all(axis=(1, 2))] = np.eye(gram.shape[1])
    return np.asarray(np.nan_to_num(across @ np.linalg.solve(gram, error)))


def _position_first(jacobian: Floats, error: Floats) -> Floats:
    """The position exactly, then the orientation as well as it can be."""
    clean = np.nan_to_num(jacobian)
    place, turn = clean[:, :3], clean[:, 3:]
    back = np.linalg.pinv(place, rcond=1e-9)
    first = back @ error[:, :3]
    free = np.eye(clean.shape[2]) - back @ place
    return np.asarray(first + np.linalg.pinv(turn @ free, rcond=1e-6) @ (error[:, 3:] - turn @ first))


def tilt(axis: Floats, wished: Floats) -> Floats:
    """(3, n) rotation vector of the shortest turn that takes one unit vector (3, n) to another, rad."""
    across = cross(axis, wished)
    sine, cosine = np.sqrt(dot(across, across)), dot(axis, wished)
    angle = np.arctan2(sine, cosine)
    return np.asarray(across * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-300), 1.0))


def joint_words(names: Sequence[str], q: Floats, low: Floats, high: Floats, slides: Sequence[bool]) -> str | None:
    """Which joint leaves its limits at values (joints,), in words; None when none does."""
    over = np.maximum(low - q, q - high)
    worst = int(np.argmax(over))
    if not over[worst] > 1e-9:
        return None
    factor, unit = (1e3, "mm") if slides[worst] else (180.0 / np.pi, "deg")
    limit = low[worst] if q[worst] < low[worst] else high[worst]
    return f"{names[worst]} would have to stand at {factor * q[worst]:.3f} {unit}; its limit is {factor * limit:.6g}"
