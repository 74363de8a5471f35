"""Joint values that bring the tool to given poses: damped Newton steps for a batch, neighbours as starts.

The error of a pose is e = (position, L rotation vector), in metres with a length L of the size of the arm, and
joint values are measured in metres as well (angles times L), so that J has no units.  A step

    dy = V diag(s / (s^2 + lambda)) U' e,      J = U diag(s) V',      lambda = |e|^2 / 2 + small

is Newton's near a solution (lambda falls with the square of the error) and a short one far from it or at a
singularity.  Values are held within the joints' limits.

A path is solved from coarse to fine: some knots one after the other, each from the one before; then all points
between them at once, from the straight line between their knots.  What did not arrive, or arrived on another
branch, is taken up again from its predecessor, and last from many starts, of which the solution nearest to the
predecessor is kept.  No randomness: starts are the points of a Kronecker sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import chunks, cross, frames, world_point, world_vectors
from stiffarm.model.rotations import matrix_of, vector_of

Floats = NDArray[np.float64]

REACHED_M = 1e-7
REACHED_RAD = 1e-7
_ENOUGH = 1e-11
"""m: no further step is taken below this error."""
_MOST_STEPS, _FEW_STEPS = 80, 12
_LONGEST_STEP = 0.6
"""rad, or as much of a stroke as a turn of this size moves the tool."""
_BRANCH = 0.5
"""rad: a point between two knots that lies farther from their line is on another branch."""
_KNOTS = 65
_MANY = 256
"""Poses from which steps are taken by normal equations; fewer are knots and points in trouble."""
_STARTS, _ROUNDS = 8, 8


def _few_steps(jacobian: Floats, error: Floats, damping: Floats) -> Floats:
    """(joints, n) scaled steps by singular values, right to rounding at singularities too."""
    u, s, v = np.linalg.svd(jacobian, full_matrices=False)
    damped = s / (s**2 + (damping + 1e-20)[:, None])
    return np.asarray(np.einsum("nsj,ns,nis,in->jn", v, damped, u, error))


def _many_steps(jacobian: Floats, error: Floats, damping: Floats) -> Floats:
    """The same as J' (J J' + lambda)^-1 e, several times as quick; what is singular to 1e-7 is damped more."""
    across = np.swapaxes(jacobian, 1, 2)
    gram = jacobian @ across
    gram[:, range(gram.shape[1]), range(gram.shape[1])] += (damping + 1e-14)[:, None]
    return np.asarray((across @ np.linalg.solve(gram, error.T[:, :, None]))[:, :, 0].T)


@dataclass(frozen=True, eq=False)
class Inverse:
    """Joint values for poses, and how far from them they lead."""

    q: Floats
    """(joints, n) controller values, rad or m."""
    position_error_m: Floats
    """(n,)"""
    rotation_error_rad: Floats
    """(n,)"""

    @property
    def reached(self) -> NDArray[np.bool_]:
        """Which poses are reached."""
        return np.asarray((self.position_error_m < REACHED_M) & (self.rotation_error_rad < REACHED_RAD))


def inverse_kinematics(
    arm: Arm, pose_world: Floats, start: Floats | None = None, held: Floats | None = None
) -> Inverse:
    """Joint values (of the unloaded arm) for tool poses (6, n): position (m) and rotation vector (rad), world.

    ``start`` (joints,) are values near the first pose; without them the first solution is the one nearest to
    the middle of the joints' limits, and every next one continues the path.  ``held`` (joints, n) are values at which
    joints (rails) stand, NaN for those that may move.
    """
    solver = _Solver(arm, pose_world, held)
    q = solver.path(start)
    error = solver.error(q, np.arange(q.shape[1]))[0]
    return Inverse(q, np.linalg.norm(error[:3], axis=0), np.linalg.norm(error[3:], axis=0) / solver.length)


def inverse_from(arm: Arm, pose_world: Floats, start: Floats, held: Floats | None = None) -> Inverse:
    """Joint values near ``start`` (joints, n) for tool poses (6, n), a few steps from it; ``held`` as above."""
    solver = _Solver(arm, pose_world, held, _FEW_STEPS)
    q, _ = solver.solve(start, np.arange(start.shape[1]))
    error = solver.error(q, np.arange(q.shape[1]))[0]
    return Inverse(q, np.linalg.norm(error[:3], axis=0), np.linalg.norm(error[3:], axis=0) / solver.length)


@dataclass(frozen=True, eq=False)
class _Solver:
    """One arm and the poses asked of it; the methods address poses by index."""

    arm: Arm
    pose_world: Floats
    held: Floats | None = None
    """(joints, n) values at which joints stand, NaN for those that may move."""
    most_steps: int = _MOST_STEPS

    @cached_property
    def length(self) -> float:
        """L, m: half of the sum of the arm's lengths."""
        chain = self.arm.chain
        steps = sum(float(np.linalg.norm(fixed.translation)) for fixed in chain.fixed)
        return max(0.05, 0.5 * (steps + float(np.linalg.norm(chain.tool.translation))))

    @cached_property
    def unit(self) -> Floats:
        """(joints, 1): a joint value of 1 m of scaled value."""
        return np.array([1.0 if slides else 1.0 / self.length for slides in self.arm.chain.prismatic])[:, None]

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """(joints, 1) lowest and highest values."""
        given = [joint.limits or (-np.inf, np.inf) for joint in self.arm.robot.joints]
        low, high = np.array(given).T[:, :, None]
        return low, high

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """(joints, 1) bounds of the starts: limits, at most half a turn (or 2 m) each way where there are none."""
        half = np.where(self.arm.chain.prismatic, 2.0, np.pi)[:, None]
        low, high = self.limits
        middle = np.where(np.isfinite(low + high), 0.5 * (low + high), 0.0)
        return np.maximum(low, middle - half), np.minimum(high, middle + half)

    @cached_property
    def target(self) -> Floats:
        """(3 columns, 3, n) rotations asked for."""
        return matrix_of(self.pose_world[3:])

    def stand(self, q: Floats, index: NDArray[np.int64]) -> Floats:
        """The values with the held joints where they are held."""
        if self.held is None:
            return q
        held = self.held[:, index]
        return np.where(np.isnan(held), q, held)

    def error(self, q: Floats, index: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Scaled errors (6, n) at joint values for the poses of these indices, and their Jacobian (n, 6, joints)."""
        chain = self.arm.chain
        at = frames(chain, np.ascontiguousarray(q))
        tool = world_point(at, chain.point("tool")).xyz
        turned = world_vectors(at.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))
        back = np.einsum("cin,cjn->jin", self.target[:, :, index], turned)
        error = np.concatenate([self.pose_world[:3, index] - tool, self.length * vector_of(back)])
        columns = np.zeros((chain.n_joints, 6, q.shape[1]))
        for k, slides in enumerate(chain.prismatic):
            axis = at.rotation[k + 1][2]
            columns[k, :3] = axis if slides else cross(axis, tool - at.origin[k + 1])
            columns[k, 3:] = 0.0 if slides else self.length * axis
        jacobian = np.einsum("kin,kj->nij", columns, chain.mix) * self.unit[:, 0]
        if self.held is not None:
            jacobian = jacobian * np.isnan(self.held[:, index]).T[:, None, :]
        return error, jacobian

    def solve(self, q: Floats, index: NDArray[np.int64]) -> tuple[Floats, NDArray[np.bool_]]:
        """Newton from starts (joints, n) towards the poses of these indices; which of them arrived."""
        q = np.array(self.stand(q, index))
        arrived = np.zeros(len(index), dtype=bool)
        for part in chunks(len(index)):
            q[:, part], arrived[part] = self._solve(q[:, part], index[part])
        return q, arrived

    def _solve(self, q: Floats, index: NDArray[np.int64]) -> tuple[Floats, NDArray[np.bool_]]:
        left = np.arange(len(index))
        arrived = np.zeros(len(index), dtype=bool)
        for _ in range(self.most_steps):
            error, jacobian = self.error(q[:, left], index[left])
            norm = np.linalg.norm(error, axis=0)
            arrived[left] = norm < min(REACHED_M, REACHED_RAD * self.length)
            going = norm > _ENOUGH
            left, error, jacobian, norm = left[going], error[:, going], jacobian[going], norm[going]
            if not left.size:
                break
            q[:, left] = self.stand(self._step(q[:, left], error, jacobian, norm), index[left])
        return q, arrived

    def _step(self, q: Floats, error: Floats, jacobian: Floats, norm: Floats) -> Floats:
        damping = 0.5 * np.minimum(norm, self.length) ** 2
        step = (_many_steps if len(norm) > _MANY else _few_steps)(jacobian, error, damping) * self.unit
        longest = (_LONGEST_STEP * self.length) * self.unit
        step *= np.minimum(1.0, 1.0 / np.maximum(np.abs(step / longest).max(axis=0), 1e-300))
        return np.asarray(np.clip(q + step, *self.limits))

    def path(self, start: Floats | None) -> Floats:
        """Solutions for every pose in turn, continuing one another where they can."""
        n = self.pose_world.shape[1]
        q = np.zeros((self.arm.chain.n_joints, n))
        if not n:
            return q
        low, high = self.box
        middle = 0.5 * (low + high)[:, 0]
        q[:, 0] = self.continued(middle if start is None else np.asarray(start), 0, fresh=start is None)
        knots = np.unique(np.linspace(0, n - 1, min(n, _KNOTS)).round().astype(np.int64))
        for before, knot in pairwise(knots):
            q[:, knot] = self.continued(q[:, before], int(knot))
        between = np.setdiff1d(np.arange(n), knots)
        if not between.size:
            return q
        line = np.stack([np.interp(between, knots, row[knots]) for row in q])
        q[:, between], arrived = self.solve(line, between)
        strayed = np.abs((q[:, between] - self.stand(line, between)) / self.unit).max(axis=0) > _BRANCH * self.length
        for index in between[strayed | ~arrived]:
            q[:, index] = self.continued(q[:, index - 1], int(index))
        return q

    def continued(self, before: Floats, index: int, *, fresh: bool = False) -> Floats:
        """The solution (joints,) of one pose nearest to the values before it; ``fresh``: look around first."""
        here = np.array([index])
        best = np.asarray(np.clip(before[:, None], *self.limits))
        if not fresh:
            found, arrived = self.solve(best, here)
            best = found
            if arrived[0]:
                return np.asarray(self.unwound(found, before)[:, 0])
        for starts in self.starts():
            found, arrived = self.solve(starts, np.full(starts.shape[1], index))
            if arrived.any():
                near = self.unwound(found[:, arrived], before)
                distance = np.linalg.norm((near - before[:, None]) / self.unit, axis=0)
                return np.asarray(near[:, int(np.argmin(distance))])
        return np.asarray(best[:, 0])

    def starts(self) -> list[Floats]:
        """Rounds of starts (joints, starts), spread evenly over the box."""
        n = self.arm.chain.n_joints
        root = 2.0
        for _ in range(40):
            root = (1.0 + root) ** (1.0 / (n + 1))
        step = (1.0 / root) ** np.arange(1, n + 1)
        low, high = self.box
        spread = (0.5 + step[:, None] * np.arange(1, _STARTS * _ROUNDS + 1)) % 1.0
        return np.split(low + (high - low) * spread, _ROUNDS, axis=1)

    def unwound(self, q: Floats, before: Floats) -> Floats:
        """The same poses with whole turns taken out, towards the values before, as far as the limits allow."""
        chain = self.arm.chain
        alone = (chain.mix - np.diag(np.diag(chain.mix)) == 0.0).all(axis=0) & (np.diag(chain.mix) == 1.0)
        turns = np.where((alone & ~np.array(chain.prismatic))[:, None], 2.0 * np.pi, 0.0)
        moved = q + turns * np.round((before[:, None] - q) / (2.0 * np.pi))
        low, high = self.limits
        return np.asarray(np.where((moved >= low) & (moved <= high), moved, q))
