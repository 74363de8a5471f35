"""Solves theta = f(tau(theta)) for a chunk of configurations.

First by iterating the equation itself: an industrial arm gives way so little that tau hardly changes and every
step gains two digits.  Configurations for which it is slow or diverges (soft arms, loads near buckling) go to
Newton with the exact tangent, (I - k T) step = f(tau(theta)) - theta, from no load at once and, when that does not
lead to a near and stable equilibrium, along a load that rises in steps, so that the branch is the one which a
loaded arm would follow.

The residual is measured as a length, turns at the arm's reach, relative to the deflection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.loads import Load, State
from stiffarm.model.posture import Posture
from stiffarm.model.stability import softening, softening_bound, solved, tangent
from stiffarm.model.stages import Unbent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EQUILIBRIUM, NO_EQUILIBRIUM, BUCKLED = 0, 1, 2

ACCEPTED = 1e-10
"""Largest relative residual of an equilibrium."""
WANTED = 1e-12
"""Where iterations stop."""
LEAST_DEFLECTION = 1e-6
"""m; smaller deflections are as good as this one, their loads are rounding of larger ones."""
SLOW = 0.2
"""A plain step that leaves more than this share of the residual is given up for Newton."""
PLAIN_STEPS = 16
NEWTON_STEPS = 20
LARGEST_TURN = 0.5 * np.pi
"""rad; a spring that turns further is none of an arm."""
LOAD_STEPS = ((1, 0.2), (8, LARGEST_TURN), (64, LARGEST_TURN))
"""Load steps to try in turn, and the largest turn of a node (rad) believed of each: Newton at once may jump to an
equilibrium far away."""
HOPELESS = 2.0
"""Softening of the unbent arm under its load beyond which none is looked for."""
LARGEST_STEP = 0.3
"""rad, of a node in one Newton step."""
HARD_CHUNK = 64
"""Configurations at a time where matrices of all pairs of axes are needed."""


@dataclass(frozen=True, eq=False)
class Solved:
    """Elastic coordinates of a chunk and what is known of them."""

    theta: Floats
    """(coordinates, n)"""
    residual: Floats
    iterations: Ints
    softening: Floats
    """(n,) largest eigenvalue of k T, or a bound on it that is below 1."""
    status: Ints


def bending_effects(arm: Arm, state: State) -> tuple[int, ...]:
    """Effects that give way at the arm's values."""
    found = []
    for index in arm.model.bending:
        effect = arm.model.effects[index]
        twist = effect.twist(arm.values, state, np.ones((len(effect.axes), len(state))))
        soft = any(p.elastic and arm.values[p.name] != 0.0 for p in effect.parameters)
        if twist is not None and (soft or twist.any()):
            found.append(index)
    return tuple(found)


def solve(
    arm: Arm, state: State, effects: Sequence[int], start: Floats | None = None, wanted: float = WANTED
) -> Solved:
    """Equilibria of a chunk of configurations; none where a number is missing.

    ``start`` (coordinates, n) is where to begin, ``wanted`` the relative residual to stop at; one that is larger than
    what is accepted of an equilibrium leaves the question of stability open where the plain iteration got there.
    """
    plain = _plain(Unbent(arm, state, effects), start, wanted)
    _settle(arm, state, effects, plain, np.flatnonzero((plain.status == NO_EQUILIBRIUM) & np.isfinite(plain.residual)))
    doubtful = np.flatnonzero((plain.softening >= 1.0) & (plain.status == EQUILIBRIUM))
    for rows in _parts(doubtful):
        at = Posture(Unbent(arm, rows_of(state, rows), effects), plain.theta[:, rows])
        plain.softening[rows] = softening(at)
        plain.status[rows] = np.where(plain.softening[rows] < 1.0, EQUILIBRIUM, BUCKLED)
    return plain


def _plain(unbent: Unbent, start: Floats | None, wanted: float) -> Solved:
    """Plain iteration; rows in which it is slow stay at zero with their residual."""
    accepted = max(ACCEPTED, wanted)
    theta = np.zeros((unbent.size, unbent.n)) if start is None else start
    slow = np.zeros(unbent.n, dtype=bool)
    iterations = np.zeros(unbent.n, dtype=np.int64)
    before = np.full(unbent.n, np.inf)
    for step in range(PLAIN_STEPS):
        posture = Posture(unbent, theta)
        new = unbent.give(posture.torque)
        residual = relative_residual(unbent, theta, new)
        slow |= ~(residual <= SLOW * before) & ~(residual <= accepted)  # also where something is not a number
        done = (residual <= wanted) | ((residual <= ACCEPTED) & (residual > SLOW * before))
        iterations[~done & ~slow] = step + 1
        if (done | slow).all() or step == PLAIN_STEPS - 1:
            break
        theta = np.where(slow, 0.0, new)
        before = residual
    theta = np.where(slow, 0.0, theta)
    found = (residual <= accepted) & (_largest_turn(posture) <= LARGEST_TURN)
    status = np.where(found, EQUILIBRIUM, NO_EQUILIBRIUM)
    bound = softening_bound(posture) if accepted == ACCEPTED else np.zeros(unbent.n)
    return Solved(theta, residual, iterations, bound, status)


def relative_residual(unbent: Unbent, theta: Floats, given: Floats) -> Floats:
    """(n,) |theta - f(tau(theta))| as a length over the deflection."""
    return np.asarray(unbent.length(theta - given) / np.maximum(unbent.length(given), LEAST_DEFLECTION))


def _settle(arm: Arm, state: State, effects: Sequence[int], out: Solved, hard: Ints) -> None:
    """Newton for the rows that need it; writes into ``out``."""
    for rows in _parts(hard):
        unbent = Unbent(arm, rows_of(state, rows), effects)
        at_rest = softening(Posture(unbent, np.zeros((unbent.size, unbent.n))))
        out.softening[rows] = at_rest
        out.status[rows] = np.where(at_rest >= 1.0, BUCKLED, NO_EQUILIBRIUM)
        left = rows[at_rest < HOPELESS]
        for steps, most in LOAD_STEPS:
            if not len(left):
                break
            left = left[~_tried(arm, state, effects, out, left, steps, most)]
            if steps > 1:  # who could not carry the load unbent either has fallen
                left = left[out.status[left] != BUCKLED]


def _tried(
    arm: Arm, state: State, effects: Sequence[int], out: Solved, rows: Ints, steps: int, most: float
) -> NDArray[np.bool_]:
    """Which of the rows find their equilibrium when the load rises in so many steps; writes those."""
    unbent = Unbent(arm, rows_of(state, rows), effects)
    theta, residual, iterations = _ramp(unbent, steps)
    posture = Posture(unbent, theta)
    found = (residual <= ACCEPTED) & (_largest_turn(posture) <= most)
    top = softening(posture)
    stays = found & (top < 1.0)
    fell = found & (top >= 1.0)
    out.iterations[rows] += iterations
    for array, new in ((out.theta.T, theta.T), (out.residual, residual), (out.softening, top)):
        array[rows[found]] = new[found]
    out.status[rows[stays]], out.status[rows[fell]] = EQUILIBRIUM, BUCKLED
    return stays


def _ramp(unbent: Unbent, steps: int) -> tuple[Floats, Floats, Ints]:
    """Newton under a load that rises to the full one; rows that lose their branch on the way stay where they are."""
    theta = np.zeros((unbent.size, unbent.n))
    total = np.zeros(unbent.n, dtype=np.int64)
    lost = np.zeros(unbent.n, dtype=bool)
    for step in range(1, steps + 1):
        new, residual, iterations = _newton(unbent, theta, step / steps)
        total += np.where(lost, 0, iterations)
        lost |= (residual > ACCEPTED) | (_largest_turn(Posture(unbent, new)) > LARGEST_TURN)
        if lost.all():
            break
        theta = np.where(lost, theta, new)
    return theta, np.where(lost, np.inf, residual), total


def _newton(unbent: Unbent, theta: Floats, share: float) -> tuple[Floats, Floats, Ints]:
    """Newton under a share of the load, from ``theta``."""
    iterations = np.zeros(unbent.n, dtype=np.int64)
    for step in range(NEWTON_STEPS):
        posture = Posture(unbent, theta)
        given = unbent.give(share * posture.torque)
        residual = relative_residual(unbent, theta, given)
        moving = residual > WANTED
        if not moving.any() or step == NEWTON_STEPS - 1:
            break
        change = solved(tangent(posture, share), (given - theta)[:, None])[:, 0]
        turn = _largest_turn(Posture(unbent, change))
        theta = theta + np.where(moving, np.minimum(1.0, LARGEST_STEP / np.maximum(turn, LARGEST_STEP)), 0.0) * change
        iterations[moving] += 1
    return theta, residual, iterations


def _largest_turn(posture: Posture) -> Floats:
    """(n,) rad, of any one node."""
    return np.asarray(np.sqrt(np.max(np.sum(posture.turned**2, axis=1), axis=0, initial=0.0)))


def _parts(rows: Ints) -> list[Ints]:
    return [rows[start : start + HARD_CHUNK] for start in range(0, len(rows), HARD_CHUNK)]


def rows_of(state: State, rows: Ints) -> State:
    """Some configurations of a state, by their numbers."""
    torque, approach = state.joint_torque, state.approach
    return State(
        np.ascontiguousarray(state.q[:, rows]),
        tuple(_load_rows(load, rows) for load in state.loads),
        None if torque is None else torque[:, rows],
        None if approach is None else approach[:, rows],
    )


def _load_rows(load: Load, rows: Ints) -> Load:
    force, torque = load.force_world, load.torque_world
    return replace(
        load,
        force_world=force if force.shape[-1] == 1 else force[:, rows],
        torque_world=torque if torque is None or torque.shape[-1] == 1 else torque[:, rows],
    )
