"""Every posture in which an arm brings its tool to given poses, for many poses at once.

A six-axis arm reaches a pose in up to sixteen ways (shoulder, elbow, wrist), and which one is taken changes how much
it bends.  Some poses spread over those asked about, the *seeds*, are solved from many starts, so that each of them
shows the ways there are; every other pose starts from the ways of the nearest seed.  The step is the damped one of

    dy = J' (J J' + mu)^-1 e,      mu = |e|^2 / 2 + small,      e = (position, L turn about the axes that are kept),

joint values and turns as lengths.  Joints may be held at given values (a rail), and turns about axes of the tool may
be free (a spindle's own).  An arm with more joints than conditions has a continuum of postures: these are a sample.

The *spread* of a posture is the smallest singular value of J: tool motion per joint motion, 0 at a singularity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import chunks, cross, dot, frames, world_point, world_vectors
from stiffarm.model.reaching import joint_ranges
from stiffarm.model.rotations import matrix_of, vector_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ARRIVED_M = 1e-7
"""m (turns as lengths): a larger error is no solution."""
_ENOUGH = 1e-10
_MOST_STEPS = 40
_LONGEST_RAD = 0.6
_SMALL = 1e-14
_SEEDS, _STARTS = 48, 40
_APART = 0.05
"""rad, or as much of a stroke as such a turn moves the tool: nearer postures are one."""
MOST_WAYS = 16


@dataclass(frozen=True, eq=False)
class Postures:
    """Postures found, in any number for each pose; the batch axis is last."""

    pose: Ints
    """(m,) index of the pose each belongs to."""
    q: Floats
    """(joints, m) controller values, rad or m, within the limits."""
    spread: Floats
    """(m,) smallest tool motion per joint motion, both as lengths."""


def postures(
    arm: Arm, pose_world: Floats, *, held: Floats | None = None, kept_turns: tuple[int, ...] = (0, 1, 2)
) -> Postures:
    """Postures of the unloaded arm for tool poses (6, n): position (m) and rotation vector (rad) in the world.

    ``held`` (joints, n) has the values of joints that stand still and NaN for those that move; ``kept_turns`` are the
    axes of the tool (0 x, 1 y, 2 z) about which it must be turned as asked.
    """
    n = pose_world.shape[1]
    search = Search(arm, pose_world, np.full((arm.chain.n_joints, n), np.nan) if held is None else held, kept_turns)
    seeds = np.unique(np.linspace(0, n - 1, min(n, _SEEDS)).round().astype(np.int64)) if n else np.zeros(0, np.int64)
    ways = search.from_many_starts(seeds)
    first = [(seed, q) for seed, found in zip(seeds, ways, strict=True) for q in found]
    known = search.from_neighbours(np.setdiff1d(np.arange(n), seeds), seeds, ways)
    index = np.concatenate([np.array([seed for seed, _ in first], dtype=np.int64), known[0]])
    q = np.concatenate([np.array([q for _, q in first]).reshape(-1, arm.chain.n_joints).T, known[1]], axis=1)
    index, q = distinct(index, q)
    return Postures(index, q, search.spread(q, index))


def distinct(index: Ints, q: Floats) -> tuple[Ints, Floats]:
    """Without the same posture of the same pose twice, in order of the poses."""
    key = np.concatenate([index[None, :], np.round(q / 1e-4).astype(np.int64)])
    rows = np.unique(key, axis=1, return_index=True)[1]
    return index[rows], np.ascontiguousarray(q[:, rows])


class Search:
    """One arm and the poses asked of it; the methods address poses by index."""

    def __init__(self, arm: Arm, pose_world: Floats, held: Floats, kept_turns: tuple[int, ...] = (0, 1, 2)) -> None:
        self.arm, self.pose_world, self.held, self.kept = arm, pose_world, held, list(kept_turns)
        steps = sum(float(np.linalg.norm(fixed.translation)) for fixed in arm.chain.fixed)
        self.length = max(0.05, 0.5 * (steps + float(np.linalg.norm(arm.chain.tool.translation))))
        self.unit = np.where(arm.chain.prismatic, 1.0, 1.0 / self.length)[:, None]
        given = [joint.limits or (-np.inf, np.inf) for joint in arm.robot.joints]
        self.low, self.high = np.array(given).T[:, :, None]

    @cached_property
    def target(self) -> Floats:
        """(3 columns, 3, n) rotations asked for."""
        return matrix_of(self.pose_world[3:])

    def error(self, q: Floats, index: Ints) -> tuple[Floats, Floats]:
        """Scaled errors (conditions, m) at joint values for poses by index, and J (m, conditions, joints)."""
        chain = self.arm.chain
        at = frames(chain, np.ascontiguousarray(q))
        tool = world_point(at, chain.point("tool")).xyz
        target = self.target[:, :, index]
        turned = world_vectors(at.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))
        axes = target[self.kept]
        error = np.empty((3 + len(self.kept), q.shape[1]))
        error[:3] = self.pose_world[:3, index] - tool
        columns = np.zeros((chain.n_joints, *error.shape))
        if len(self.kept) == 3:
            error[3:] = self.length * dot(axes, vector_of(np.einsum("cin,cjn->jin", target, turned))[None])
        elif self.kept:
            free = next(i for i in range(3) if i not in self.kept)
            error[3:] = self.length * dot(axes, _tilt(turned[free], target[free])[None])
        for k, slides in enumerate(chain.prismatic):
            axis = at.rotation[k + 1][2]
            columns[k, :3] = axis if slides else cross(axis, tool - at.origin[k + 1])
            if not slides and self.kept:
                columns[k, 3:] = self.length * dot(axes, axis[None])
        jacobian = np.einsum("kin,kj->nij", columns, chain.mix) * self.unit[:, 0]
        return error, jacobian * np.isnan(self.held[:, index]).T[:, None, :]

    def solve(self, q: Floats, index: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Newton from starts (joints, m) towards the poses of these indices; which of them arrived."""
        q, arrived = np.array(q), np.zeros(len(index), dtype=bool)
        for part in chunks(len(index)):
            q[:, part], arrived[part] = self._solve(q[:, part], index[part])
        return q, arrived

    def _solve(self, q: Floats, index: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        stands = self.held[:, index]
        q = np.where(np.isnan(stands), np.clip(q, self.low, self.high), stands)
        left, arrived = np.arange(len(index)), np.zeros(len(index), dtype=bool)
        for _ in range(_MOST_STEPS):
            error, jacobian = self.error(q[:, left], index[left])
            norm = np.linalg.norm(error, axis=0)
            arrived[left] = norm < ARRIVED_M
            going = norm > _ENOUGH
            left, error, jacobian, norm = left[going], error[:, going], jacobian[going], norm[going]
            if not left.size:
                break
            step = _damped(jacobian, error, 0.5 * np.minimum(norm, self.length) ** 2) * self.unit
            longest = _LONGEST_RAD * self.length * self.unit
            step *= np.minimum(1.0, 1.0 / np.maximum(np.abs(step / longest).max(axis=0), 1e-300))
            moved = np.clip(q[:, left] + step, self.low, self.high)
            q[:, left] = np.where(np.isnan(stands[:, left]), moved, stands[:, left])
        arrived &= ((q >= self.low - 1e-12) & (q <= self.high + 1e-12)).all(axis=0)
        return q, arrived

    def from_many_starts(self, index: Ints) -> list[list[Floats]]:
        """The ways (joints,) to each of some poses."""
        starts = self.starts()
        n = starts.shape[1]
        q, arrived = self.solve(np.tile(starts, len(index)), np.repeat(index, n))
        q = self.unwound(q)
        return [self._apart(q[:, i * n : (i + 1) * n][:, arrived[i * n : (i + 1) * n]]) for i in range(len(index))]

    def from_neighbours(self, index: Ints, seeds: Ints, ways: list[list[Floats]]) -> tuple[Ints, Floats]:
        """Postures (joints, m) of some poses from the ways of the seeds next to them, and whose each is."""
        from scipy.spatial import cKDTree

        usable = [i for i, found in enumerate(ways) if found]
        found_index, found_q = [np.zeros(0, np.int64)], [np.zeros((len(self.unit), 0))]
        missing = index
        if usable and index.size:
            near = cKDTree(self._place(seeds[usable])).query(self._place(index), k=min(3, len(usable)))[1]
            near = near.reshape(len(index), -1)
            for rank in range(near.shape[1]):
                chosen = np.isin(index, missing)
                pairs = [
                    (i, q) for i, s in zip(index[chosen], near[chosen, rank], strict=True) for q in ways[usable[s]]
                ]
                whose = np.array([i for i, _ in pairs], dtype=np.int64)
                q, arrived = self.solve(np.array([q for _, q in pairs]).reshape(-1, len(self.unit)).T, whose)
                found_index.append(whose[arrived])
                found_q.append(self.unwound(q)[:, arrived])
                missing = np.setdiff1d(missing, whose[arrived])
                if not missing.size:
                    break
        return np.concatenate(found_index), np.concatenate(found_q, axis=1)

    def _place(self, index: Ints) -> Floats:
        """(m, 12 + joints) where a pose is, all as lengths: position, axes of the tool, joints that are held."""
        turned = 0.3 * self.length * self.target[:, :, index].reshape(9, -1)
        stands = np.nan_to_num(self.held[:, index]) / self.unit
        return np.concatenate([self.pose_world[:3, index], turned, stands]).T

    def _apart(self, q: Floats) -> list[Floats]:
        """Postures (joints,) no two of which are the same."""
        kept: list[Floats] = []
        for one in q.T:
            if len(kept) < MOST_WAYS and all(
                np.abs((one - other) / self.unit[:, 0]).max() > _APART * self.length for other in kept
            ):
                kept.append(one)
        return kept

    def starts(self) -> Floats:
        """(joints, starts) spread evenly over the joints' ranges (points of a Kronecker sequence)."""
        low, high = joint_ranges(self.arm)
        middle, half = 0.5 * (low + high), np.minimum(0.5 * (high - low), np.pi)
        n, root = len(low), 2.0
        for _ in range(40):
            root = (1.0 + root) ** (1.0 / (n + 1))
        step = (1.0 / root) ** np.arange(1, n + 1)
        spread = (0.5 + step[:, None] * np.arange(1, _STARTS + 1)) % 1.0
        return np.asarray(middle[:, None] + half[:, None] * (2.0 * spread - 1.0))

    def unwound(self, q: Floats) -> Floats:
        """The same postures with whole turns taken out, towards the middle of the limits."""
        chain = self.arm.chain
        alone = (chain.mix - np.diag(np.diag(chain.mix)) == 0.0).all(axis=0) & (np.diag(chain.mix) == 1.0)
        turns = np.where((alone & ~np.array(chain.prismatic))[:, None], 2.0 * np.pi, 0.0)
        limited = np.isfinite(self.low) & np.isfinite(self.high)
        middle = np.where(
            limited, 0.5 * np.where(limited, self.low, 0.0) + 0.5 * np.where(limited, self.high, 0.0), 0.0
        )
        moved = q + turns * np.round((middle - q) / (2.0 * np.pi))
        return np.asarray(np.where((moved >= self.low) & (moved <= self.high), moved, q))

    def spread(self, q: Floats, index: Ints) -> Floats:
        """(m,) smallest singular value of J."""
        out = np.zeros(len(index))
        for part in chunks(len(index)):
            jacobian = self.error(q[:, part], index[part])[1]
            gram = jacobian @ np.swapaxes(jacobian, 1, 2)
            out[part] = np.sqrt(np.maximum(np.linalg.eigvalsh(gram)[:, 0], 0.0))
        return out


def _damped(jacobian: Floats, error: Floats, damping: Floats) -> Floats:
    """(joints, m) steps J' (J J' + mu)^-1 e."""
    across = np.swapaxes(jacobian, 1, 2)
    gram = jacobian @ across
    gram[:, range(gram.shape[1]), range(gram.shape[1])] += (damping + _SMALL)[:, None]
    return np.ascontiguousarray((across @ np.linalg.solve(gram, error.T[:, :, None]))[:, :, 0].T)


def _tilt(axis: Floats, wished: Floats) -> Floats:
    """(3, m) rotation vector of the shortest turn that takes one unit vector to another, rad."""
    across = cross(axis, wished)
    sine, cosine = np.sqrt(dot(across, across)), dot(axis, wished)
    angle = np.arctan2(sine, cosine)
    return np.asarray(across * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-300), 1.0))
