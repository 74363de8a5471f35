"""Least squares in parameters and frames: Gauss-Newton on whitened rows, with a trust region when it is needed.

With whitened residuals r and derivatives A of what is expected, prior rows L (m - x) appended, a step is the
least-squares solution of A s = r by QR with columns scaled to unit length.  Calibration problems are nearly linear
once frames and markers are started well (`stiffarm.identify.start`), so the full step is right and three or four
suffice; when a step does not lower the criterion, scipy's trust-region solver takes over with the same exact
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.identify.scale import Scale
from stiffarm.identify.system import Equations, Point, System

Floats = NDArray[np.float64]
Whiten = Callable[[Floats], Floats]
"""Takes scalar rows (rows,) or (rows, columns) to rows of independent unit errors."""

STEP_DONE = 1e-3
"""A step is the last when it moves all white readings together by less than this share of the scatter of one: then it
moves no unknown by more than this share of its standard deviation."""
SHORTEST_M = 1e-11
"""Steps that move the readings by less, root mean square, are rounding."""
SAFETY = 10.0
"""Steps of a problem that is nearly linear shorten quadratically, s3 = s2 (s2/s1)^2; one that would still be short
enough if it were this many times longer need not be taken."""
LONGEST = {"m": 0.02, "rad": 0.02}
"""A step that moves a length or an angle of the arm by more is held back: no arm is that far off its drawing."""
MOST_STEPS = 25
IMPOSSIBLE = 1e6
"""What residuals count for, in those of the start, where the model cannot be evaluated."""


@dataclass(frozen=True, eq=False)
class PriorRows:
    """What is known of some unknowns before the data: (x - mean) / sigma."""

    index: tuple[int, ...]
    mean: Floats
    sigma: Floats
    scale: Scale | None = None
    """A scale of lengths that stays where it starts."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the least squares ended."""

    at: Point
    equations: Equations
    """Not whitened: residuals at ``at``, columns there or one last, short step before."""
    iterations: int
    converged: bool


def solve_scaled(rows: Floats, right: Floats) -> Floats:
    """Least squares by QR with columns scaled to unit length; rows must have full column rank."""
    length = np.sqrt(np.einsum("ij,ij->j", rows, rows))
    # the right side as one more column: its part of the triangle is Q^T right
    r = np.asarray(np.linalg.qr(np.column_stack([rows / length, right]), mode="r"))
    p = len(length)
    return np.asarray(np.linalg.solve(r[:p, :p], r[:p, p]) / length)


def damping(system: System, names: Sequence[str], step: Floats, scatter: float) -> Floats | None:
    """Rows (lengths and angles, unknowns) that hold a step back which is too long to be believed; None for others.

    A direction that only loads tell, by what they do to a bent arm, is so weak that second-order remainders of the
    start send it metres away.  Rows s/LONGEST, weighed like the residuals of now, keep such directions where they are
    until the others have settled; at the solution they are nothing beside what the readings say of it.
    """
    unit = {p.name: p.unit for p in system.model.parameters}
    longest = np.array([LONGEST.get(unit[name], np.inf) for name in names])
    if not np.any(np.abs(step[: len(names)]) > longest):
        return None
    return np.asarray(np.eye(len(names), len(step))[np.isfinite(longest)] * scatter / min(LONGEST.values()))


def solve(
    system: System,
    start: Point,
    names: Sequence[str],
    whiten: Whiten,
    priors: PriorRows | None = None,
    first: Equations | None = None,
) -> Solution:
    """Least squares from a start; ``first`` are the equations there when they are known already."""
    at, equations = start, first or system.equations(start, names)
    cost, before = _cost(equations, whiten, priors, at, names), np.inf
    shortest = SHORTEST_M * float(np.linalg.norm(whiten(np.ones(len(equations.residual)))))
    for iteration in range(1, MOST_STEPS + 1):
        rows, right = _augmented(equations, whiten, priors, at, names)
        step = solve_scaled(rows, right)
        held = damping(system, names, step, float(np.sqrt(np.mean(right**2))))
        if held is not None:
            step = solve_scaled(np.vstack([rows, held]), np.concatenate([right, np.zeros(len(held))]))
        size = float(np.linalg.norm(rows @ step))
        scatter = np.sqrt(max(cost - size**2, 0.0) / len(right))
        done = max(STEP_DONE * scatter, shortest)
        last = size < done or (iteration > 1 and SAFETY * size * (size / before) ** 2 < done)
        last = last and held is None
        candidate = system.moved(at, names, step)
        # a last step is too short to change the columns
        try:
            trial = (
                Equations(system.residual(candidate), equations.columns) if last else system.equations(candidate, names)
            )
        except InputError:  # the step left what can be (a gas without volume): shorter ones do not
            return _trust_region(system, at, names, whiten, priors)
        trial_cost = _cost(trial, whiten, priors, candidate, names)
        if not trial_cost <= cost * (1.0 + 1e-9):
            return _trust_region(system, at, names, whiten, priors)
        at, equations, cost, before = candidate, trial, trial_cost, size
        if last:
            return Solution(at, equations, iteration, True)
    return Solution(at, equations, MOST_STEPS, False)


def _augmented(
    equations: Equations, whiten: Whiten, priors: PriorRows | None, at: Point, names: Sequence[str]
) -> tuple[Floats, Floats]:
    rows, right = whiten(equations.columns), whiten(equations.residual)
    if priors is not None and priors.scale is not None:  # a step that keeps the scale keeps the criterion
        rows, right = np.vstack([rows, priors.scale.held_row(rows)]), np.append(right, 0.0)
    if priors is None or not len(priors.index):
        return rows, right
    extra = np.zeros((len(priors.index), rows.shape[1]))
    extra[range(len(priors.index)), priors.index] = 1.0 / priors.sigma
    return np.vstack([rows, extra]), np.concatenate([right, _prior_residual(priors, at, names)])


def _prior_residual(priors: PriorRows, at: Point, names: Sequence[str]) -> Floats:
    here = np.array([at.values[names[i]] for i in priors.index])
    return np.asarray((priors.mean - here) / priors.sigma)


def _cost(equations: Equations, whiten: Whiten, priors: PriorRows | None, at: Point, names: Sequence[str]) -> float:
    right = whiten(equations.residual)
    total = float(right @ right)
    if priors is not None and len(priors.index):
        rest = _prior_residual(priors, at, names)
        total += float(rest @ rest)
    return total


def _trust_region(
    system: System, start: Point, names: Sequence[str], whiten: Whiten, priors: PriorRows | None
) -> Solution:
    """scipy's trust region reflective from a point where plain steps fail."""
    from scipy.optimize import least_squares

    def unknowns(x: Floats) -> tuple[Floats, Floats]:
        at = system.moved(start, names, x)
        rows, right = _augmented(system.equations(at, names), whiten, priors, at, names)
        return rows, right

    def rest(x: Floats) -> Floats:
        try:
            return -unknowns(x)[1]
        except InputError:
            return IMPOSSIBLE * begun

    def derivative(x: Floats) -> Floats:
        return unknowns(x)[0]

    zero = np.zeros(len(names) + 6 * len(system.unknown_frames))
    begun = unknowns(zero)[1]
    found = least_squares(
        rest,
        zero,
        jac=derivative,
        x_scale="jac",
        xtol=1e-14,
        ftol=1e-14,
        gtol=1e-14,
        max_nfev=200,
    )
    at = system.moved(start, names, found.x)
    return Solution(at, system.equations(at, names), int(found.nfev), bool(found.status > 0))
