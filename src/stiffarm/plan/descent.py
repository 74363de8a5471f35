"""Many minimisations at once within boxes: projected quasi-Newton steps for a batch of starts.

Every start b has variables x_b in a box and its own inverse Hessian H_b, updated by the rule of Broyden, Fletcher,
Goldfarb and Shanno.  A variable that sits at a bound and is pushed outwards stays there for the step; the others
move along -H g, cut back to the box and to a longest step, and less far where the value does not fall enough
(Armijo).  All starts are evaluated together, and shorter steps of all that need them in one more batch, so the cost
of a step is that of two batches however many starts there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stiffarm.plan.problem import Flags, Floats, Ints

Objective = Callable[[Floats, Ints], tuple[Floats, Floats]]
"""(some starts, variables), their numbers -> values (some,) and gradients (some, variables)."""

ENOUGH = 1e-4
"""Armijo: a step must bring this share of what the slope promises."""
SHORTER = (0.4, 0.12, 0.03)
"""Parts of a step that are tried when the whole of it does not bring enough."""
CURVED = 1e-10


@dataclass(frozen=True, eq=False)
class Descended:
    """Where the starts have come to."""

    x: Floats
    value: Floats
    gradient: Floats
    evaluations: int
    """Of the batch."""


def descend(
    objective: Objective,
    x: Floats,
    low: Floats,
    high: Floats,
    *,
    steps: int,
    longest: float = 0.25,
    tolerance: float = 1e-7,
    stop: Callable[[], bool] = lambda: False,
) -> Descended:
    """Minimise from every row of ``x`` (starts, variables) within ``low`` and ``high`` (variables,) or per start.

    ``longest`` is the largest change of a variable in a step; a start rests once a step gains less than ``tolerance``.
    """
    x = np.clip(x, low, high)
    evaluations, (starts, size) = 1, x.shape
    value, gradient = objective(x, np.arange(starts))
    inverse = np.repeat(np.eye(size)[None], starts, axis=0)
    going, fresh = np.isfinite(value), np.ones(starts, dtype=bool)
    gradient = np.where(going[:, None], gradient, 0.0)
    for _ in range(steps):
        if not going.any() or stop():
            break
        free = ~(((x <= low) & (gradient > 0.0)) | ((x >= high) & (gradient < 0.0)))
        step = _direction(inverse, gradient, free, fresh, longest)
        new, new_value, new_gradient, used = _searched(objective, x, value, gradient, step, going, low, high)
        evaluations += used
        moved, change = new - x, new_gradient - gradient
        _update(inverse, moved, change, fresh)
        gained = np.where(going, value, 0.0) - np.where(going, new_value, 0.0)
        stuck = going & (gained <= tolerance * np.maximum(1.0, np.abs(value)))
        again = stuck & ~fresh  # once more along the slope alone before it rests
        inverse[again] = np.eye(size)
        going &= ~(stuck & fresh)
        fresh = again
        x, value, gradient = new, new_value, new_gradient
    return Descended(x, value, gradient, evaluations)


def _searched(
    objective: Objective, x: Floats, value: Floats, gradient: Floats, step: Floats, going: Flags, low: Floats,
    high: Floats,
) -> tuple[Floats, Floats, Floats, int]:  # fmt: skip
    """The starts moved along their steps as far as the value falls enough, with values, gradients and evaluations.

    First the whole step of every start; then all shorter ones of those that did not fall, in one batch.
    """
    new, new_value, new_gradient = x.copy(), value.copy(), gradient.copy()
    at, evaluations = np.flatnonzero(going), 0
    for shares in ((1.0,), SHORTER):
        which = np.tile(at, len(shares))
        trial = np.clip(x[which] + np.repeat(shares, len(at))[:, None] * step[which], low, high)
        found, slope = objective(trial, which)
        evaluations += 1
        fell = found <= value[which] + ENOUGH * ((trial - x[which]) * gradient[which]).sum(axis=1)
        fell = fell.reshape(len(shares), -1)
        first = np.argmax(fell, axis=0) * len(at) + np.arange(len(at))
        good = fell.any(axis=0)
        new[at[good]], new_value[at[good]] = trial[first[good]], found[first[good]]
        new_gradient[at[good]] = slope[first[good]]
        at = at[~good]
        if not at.size:
            break
    return new, new_value, new_gradient, evaluations


def _direction(inverse: Floats, gradient: Floats, free: Flags, fresh: Flags, longest: float) -> Floats:
    """-H g over the free variables, cut to the longest step; along the slope where that does not descend."""
    slope = np.where(free, gradient, 0.0)
    step = -np.where(free, np.einsum("bij,bj->bi", inverse, slope), 0.0)
    uphill = (step * slope).sum(axis=1) > -1e-12 * np.linalg.norm(slope, axis=1) * np.linalg.norm(step, axis=1)
    step[uphill] = -slope[uphill]
    reach = np.abs(step).max(axis=1, initial=0.0)
    cut = np.where(fresh | uphill, 0.2 * longest, longest)
    factor = np.where(fresh | uphill, cut / np.maximum(reach, 1e-300), np.minimum(1.0, cut / np.maximum(reach, 1e-300)))
    return np.asarray(step * np.minimum(factor, 1e12)[:, None])


def _update(inverse: Floats, s: Floats, y: Floats, fresh: Flags) -> None:
    """The inverse Hessians after moves ``s`` that changed the gradients by ``y``; in place."""
    curve = (s * y).sum(axis=1)
    good = curve > CURVED * np.sqrt((s**2).sum(axis=1) * (y**2).sum(axis=1))
    if not good.any():
        return
    s, y, curve = s[good], y[good], curve[good]
    h = inverse[good]
    first = fresh[good]
    scale = curve / np.maximum((y**2).sum(axis=1), 1e-300)
    h[first] *= scale[first, None, None]
    hy = np.einsum("bij,bj->bi", h, y)
    rho = 1.0 / curve
    factor = rho * (1.0 + rho * (y * hy).sum(axis=1))
    cross = rho[:, None, None] * hy[:, :, None] * s[:, None, :]
    h += factor[:, None, None] * s[:, :, None] * s[:, None, :] - cross - np.swapaxes(cross, 1, 2)
    inverse[good] = h
