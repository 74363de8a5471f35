"""Where a fit of compensators begins: at the best of a safe search, so that it needs no guess and finds no side valley.

The sum of squares over the numbers of a gas has several valleys.  Grouped by the joint's angles the same readings are
linear in one compliance for each angle; one linear step gives these with their covariance, and the search of
`stiffarm.identify.separation` finds drive and compensator from them.  What is not asked for stays at nominal.

Where weights act, readings show the compensator's torque as well as its stiffness, and far better: there the search,
which knows the stiffness alone, would look away from most of what is known, and the file's numbers are the start.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.curves import Curve, curves_of
from stiffarm.identify.noise import RowNoise
from stiffarm.identify.separation import Block, Fitted, fit_curve
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import MOST_ANGLES, Asked, angles_of, weights_act
from stiffarm.model.effects import CompensatedJoint
from stiffarm.robot.arm import Spring

Floats = NDArray[np.float64]

HELD = 1e-6
"""Standard deviation, in scales of the parameter, with which the search holds what is not asked for."""
SEEN = 1e-9
"""Directions of scaled columns that are relatively shorter than this are not seen."""


def compensator_start(system: System, start: Point, asked: Asked, noise: RowNoise) -> tuple[Point, tuple[str, ...]]:
    """The start with compensators (and the drives beside them) where a search finds them, and what it cannot tell.

    The latter are numbers without a prior that the search drives to the end of what is physical: no fit of all
    readings would come to rest, so they are to be held at nominal.
    """
    values, untold = dict(start.values), []
    if weights_act(asked.model.robot, system.campaign):
        return start, ()
    for effect in _asked_for(asked):
        angles = angles_of(system.campaign, system.model.robot.joint_index(effect.joint))
        if len(angles) > MOST_ANGLES:
            continue
        block = _block(system, start, asked, noise, effect, angles)
        if block is None:
            continue
        kind = "spring" if isinstance(effect.compensator.element, Spring) else "gas"
        curve = next(c for c in curves_of(effect.compensator, block.joint) if c.kind == kind)
        found, held = _searched(block, curve, effect)
        if found is not None:
            numbers = dict(zip(curve.names, curve.physical(found.u), strict=True))
            wanted = {f"{effect.joint}.{name}": float(value) for name, value in numbers.items()}
            held = [f"{effect.joint}.{name}" for name in held]
            values |= {name: value for name, value in wanted.items() if name in asked.names and name not in held}
            untold += held
    return Point(values, start.frames), tuple(name for name in asked.names if name in untold)


def _searched(block: Block, curve: Curve, effect: CompensatedJoint) -> tuple[Fitted | None, list[str]]:
    """The curve of a search, and the numbers held at nominal because they went to their bounds."""
    nominal = {p.name.removeprefix(f"{effect.joint}."): p for p in effect.parameters}
    held: list[str] = []
    while True:
        found = fit_curve(block, curve)
        if found is None:
            return None, held
        ends = (name for name, end in zip(curve.names, found.at_bound, strict=True) if end)
        lost = [name for name in ends if name != "compliance" and name not in block.priors]
        if not lost:
            return found, held
        held += lost
        known = {name: (nominal[name].nominal, HELD * nominal[name].scale) for name in lost}
        block = replace(block, priors={**block.priors, **known})


def _asked_for(asked: Asked) -> Iterator[CompensatedJoint]:
    """Joints of which drive and compensator are both unknown."""
    for effect in asked.model.effects:
        if not isinstance(effect, CompensatedJoint) or effect.groups or f"{effect.joint}.compliance" not in asked.names:
            continue
        if any(name.startswith(f"{effect.joint}.compensator.") for name in asked.names):
            yield effect


def _block(
    system: System, start: Point, asked: Asked, noise: RowNoise, effect: CompensatedJoint, angles: tuple[float, ...]
) -> Block | None:
    """Compliances by angle after one linear step; None when fewer than three come out above zero."""
    joint = effect.joint
    model = asked.model.grouped(joint, angles)
    groups = [f"{joint}.compliance[{i + 1}]" for i in range(len(angles))]
    names = [*groups, *(n for n in asked.names if not n.startswith((f"{joint}.compliance", f"{joint}.compensator.")))]
    at = Point(model.nominal | {n: v for n, v in start.values.items() if n in model.nominal}, start.frames)
    equations = System(model, system.campaign, system.loads, system.resolved).equations(at, names)
    step, covariance = _linear_step(noise.whiten(equations.columns), noise.whiten(equations.residual))
    m = len(groups)
    compliance = np.array([at.values[name] for name in groups]) + step[:m]
    good = (compliance > 0.0) & (np.diag(covariance)[:m] > 0.0)
    if good.sum() < 3:
        return None
    keep = np.flatnonzero(good)
    return Block(
        model.robot.joints[model.robot.joint_index(joint)],
        np.array(angles)[keep],
        compliance[keep],
        covariance[np.ix_(keep, keep)],
        len(equations.residual),
        _priors(asked, effect),
    )


def _linear_step(columns: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Least squares and its covariance; zero in directions that are not seen."""
    length = np.linalg.norm(columns, axis=0)
    length = np.where(length > 0.0, length, 1.0)
    u, size, turn = np.linalg.svd(columns / length, full_matrices=False)
    seen = size > SEEN * size.max(initial=0.0)
    half = (turn[seen].T / size[seen]) / length[:, None]
    step = half @ (u[:, seen].T @ right)
    rest = right - columns @ step
    variance = float(rest @ rest) / max(len(right) - int(seen.sum()), 1)
    least = 1e-16 * float(right @ right) / len(right)  # readings without errors
    return step, half @ half.T * max(variance, least, np.finfo(float).tiny)


def _priors(asked: Asked, effect: CompensatedJoint) -> dict[str, tuple[float, float]]:
    """Priors, and what is not asked for at its nominal value."""
    known = {}
    for p in effect.parameters:
        if p.name in asked.priors:
            known[p.name.removeprefix(f"{effect.joint}.")] = (p.nominal, asked.priors[p.name])
        elif p.name not in asked.names:
            known[p.name.removeprefix(f"{effect.joint}.")] = (p.nominal, HELD * p.scale)
    return known
