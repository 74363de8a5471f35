"""Which of the arm's ways to take a pose is meant: KUKA's status and turn, ABB's configuration.

An arm of six turning joints with a wrist whose three axes meet in W takes a pose in eight ways, told apart by

    behind    W lies behind axis 1: (W - o_1) . x < 0, x the robot's own x axis turned by axis 1
    folded    d|W - o_2|^2 / dq_3 < 0: a growing axis 3 folds the arm (it is straight where this changes sign)
    negative  -180 deg <= q_5 < 0 or q_5 >= 180 deg

and each joint by whole turns.  From these

    KUKA  S = behind + 2 folded + 4 negative,      T = sum 2^(i-1) [q_i < 0]
    ABB   cfx = 4 behind + 2 (not folded) + (q_5 < 0),      cf_i = floor(q_i / 90 deg) for i = 1, 4, 6

provided that the robot file has the controller's senses, zeros and root frame.  The changes of a correction are
small, so flags that stand in a program are kept and only those are changed that a correction has made change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.axes import ControllerAxes
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import Frames, chunks, cross, dot, frames
from stiffarm.model.rotations import rotate

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

MEET_M = 2e-3
"""m by which the three axes of a wrist may miss one another."""
S_MASK = 7
"""The bits of the status that tell ways apart; a higher one (16) says that the point was taught by a robot whose
controller corrects by itself."""
TAUGHT_CORRECTED = 16


@dataclass(frozen=True, eq=False)
class Branch:
    """The way taken at some joint values; (n,) each."""

    behind: Flags
    folded: Flags
    negative: Flags

    @property
    def number(self) -> Ints:
        """0 to 7: the three bits of KUKA's status."""
        return np.asarray(self.behind + 2 * self.folded + 4 * self.negative, dtype=np.int64)


def has_branches(arm: Arm, axes: ControllerAxes) -> bool:
    """Whether the arm is one of six turning joints with a wrist that has a centre, axes 2 and 3 parallel."""
    if axes.six is None or any(axes.prismatic[i] for i in axes.six):
        return False
    q = np.full((arm.chain.n_joints, 1), 0.3)
    at = frames(arm.chain, q)
    z = [at.rotation[i + 1][2] for i in axes.six]
    if float(np.linalg.norm(cross(z[1], z[2]))) > 1e-2 or float(np.linalg.norm(cross(z[3], z[4]))) < 1e-2:
        return False
    wrist = wrist_centre(at, axes.six)
    missed = [cross(wrist - at.origin[i + 1], at.rotation[i + 1][2]) for i in axes.six[3:]]
    return max(float(np.linalg.norm(one)) for one in missed) < MEET_M


def branch_of(arm: Arm, axes: ControllerAxes, q: Floats) -> Branch:
    """The way the unloaded arm takes at joint values (joints, n)."""
    assert axes.six is not None
    flags = np.zeros((3, q.shape[1]), dtype=bool)
    for part in chunks(q.shape[1]):
        flags[:, part] = _flags(frames(arm.chain, np.ascontiguousarray(q[:, part])), axes.six, q[:, part])
    return Branch(*flags)


def _flags(at: Frames, six: tuple[int, ...], q: Floats) -> tuple[Flags, Flags, Flags]:
    one, two, three, _, five, _ = six
    wrist = wrist_centre(at, six)
    axis_1 = at.rotation[one + 1][2]
    forward = rotate(axis_1 * q[one], np.broadcast_to(at.rotation[0][0], wrist.shape))
    behind = dot(forward, wrist - at.origin[one + 1]) < 0.0
    pulled = cross(at.rotation[three + 1][2], wrist - at.origin[three + 1])
    folded = dot(wrist - at.origin[two + 1], pulled) < 0.0
    turned = (q[five] + np.pi) % (2.0 * np.pi) - np.pi
    return behind, folded, turned < 0.0


def wrist_centre(at: Frames, six: tuple[int, ...]) -> Floats:
    """The point of axis 5 that is nearest to axis 4."""
    four, five = six[3] + 1, six[4] + 1
    z4, z5 = at.rotation[four][2], at.rotation[five][2]
    normal = cross(z4, z5)
    along = dot(cross(at.origin[four] - at.origin[five], z4), normal) / dot(normal, normal)
    return np.asarray(at.origin[five] + along * z5)


def kuka_turn(axes: ControllerAxes, q: Floats) -> Ints:
    """(n,) T of joint values (joints, n), as they are when written."""
    bits = [np.zeros(q.shape[1], dtype=bool) if i is None else _written_deg(q[i]) < 0.0 for i in axes.arm]
    return np.asarray(sum(bit.astype(np.int64) << k for k, bit in enumerate(bits)), dtype=np.int64)


def _written_deg(angle: Floats) -> Floats:
    """deg, rounded as programs are: an axis that stands at 0 there is not told to be below it."""
    return np.asarray(np.round(np.degrees(angle), 6))


def abb_quadrants(axes: ControllerAxes, q: Floats) -> Ints:
    """(3, n) cf1, cf4, cf6 of joint values (joints, n)."""
    known = [axes.arm[k] for k in (0, 3, 5)]
    rows = [np.zeros(q.shape[1]) if i is None else np.floor(_written_deg(q[i]) / 90.0) for i in known]
    return np.stack(rows).astype(np.int64)


def abb_cfx(branch: Branch) -> Ints:
    """(n,) cfx."""
    return np.asarray(4 * branch.behind + 2 * ~branch.folded + branch.negative, dtype=np.int64)


def cfx_of_branch(number: int) -> int:
    """The cfx of a `Branch.number`, the other way round than `branch_of_cfx`."""
    return next(cfx for cfx in range(8) if branch_of_cfx(cfx) == number)


def branch_of_cfx(cfx: int) -> int:
    """The number of `Branch` that a cfx names.

    >>> [branch_of_cfx(cfx) for cfx in (0, 1, 2, 4)]
    [2, 6, 0, 3]
    """
    return (cfx >> 2 & 1) + 2 * (1 - (cfx >> 1 & 1)) + 4 * (cfx & 1)
