"""The linear problem an estimator sees at a solution: rows, labels of errors that belong together, shared effects.

When the errors of rows are known to be correlated (`stiffarm.identify.whitening`), the rows handed over are white
ones of unit variance.  Labels follow: configurations that share an error become one, for estimators take them for
independent; rows that repeated one reading stay repeats as long as their whitened design is the same; and random
effects are whitened like any column, so that a group becomes what it is spread over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.linear import ols, wls
from stiffarm.identify.noise import RowNoise
from stiffarm.identify.nonlinear import PriorRows, Solution
from stiffarm.identify.options import EstimatorName, Options
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import LinearProblem, Prior, SharedEffect, rigid_effects
from stiffarm.identify.system import System

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEAST_SPREAD = 1e-15
"""Of white rows that fit exactly."""
TOUCH_AXIS = 6
"""Stands for the axis of rows of touches, which are of none."""
SAME_DESIGN = 1e-3
"""Relative difference up to which two whitened rows count as repeats: repeats may differ slightly in their joints."""


UNLABELLED: tuple[EstimatorName, ...] = ("ols", "wls")
"""Estimators that take every white row by itself and never ask which belong together."""


def unlabelled_problem(solution: Solution, names: Sequence[str], noise: RowNoise, priors: PriorRows) -> LinearProblem:
    """The problem linearised at a solution without the labels of its rows, for the `UNLABELLED` estimators."""
    design, right, sigma = solution.equations.columns, solution.equations.residual, noise.sigma
    if noise.whitening.mixes:
        design, right, sigma = noise.whiten(design), noise.whiten(right), np.ones(len(right))
    spread = 1.0 if priors.scale is None else _spread(noise, solution)
    prior = _prior(solution, names, priors, design / (sigma * spread)[:, None])
    return LinearProblem(design, right, sigma * spread, prior=prior)


def linear_problem(
    system: System, solution: Solution, names: Sequence[str], noise: RowNoise, priors: PriorRows
) -> LinearProblem:
    """The problem linearised at a solution, with the labels of its rows."""
    component, row = system.take
    readings = system.campaign.readings
    configuration = readings.experiment[row] * (len(system.campaign.setups) + 1) + readings.setup[row]
    same = np.stack([configuration, readings.marker[row], readings.kind[row], component])
    replicate = np.unique(same, axis=1, return_inverse=True)[1].reshape(-1)
    touching = system.touching
    if touching.any():  # rows of independent errors, of no one configuration or axis
        own = np.arange(np.count_nonzero(touching))
        replicate[touching] = replicate.max() + 1 + own
        configuration[touching] = configuration.max() + 1 + own
        component = np.where(touching, TOUCH_AXIS, component)
    design = solution.equations.columns
    # a held scale is firm beside the rows, which therefore stand at their own size
    spread = 1.0 if priors.scale is None else _spread(noise, solution)
    prior = _prior(solution, names, priors, noise.whiten(design) / spread)
    labels = (*names, *system.frame_names)
    shared = () if touching.all() else _shared(system, component, row, configuration)
    if not noise.whitening.mixes:
        return LinearProblem(
            A=design,
            y=solution.equations.residual,
            sigma=noise.sigma * spread,
            configuration=None if touching.all() else configuration,
            axis=component,
            replicate=replicate,
            shared=shared,
            prior=prior,
            names=labels,
        )
    white = noise.whiten(design)
    joined = noise.whitening.joined(configuration)
    return LinearProblem(
        A=white,
        y=noise.whiten(solution.equations.residual),
        sigma=np.full(len(white), spread),
        configuration=joined,
        axis=component,
        replicate=_still_repeats(replicate, white),
        shared=tuple(_whitened(effect, noise, joined) for effect in shared),
        prior=prior,
        names=labels,
    )


def rows_of_problem(noise: RowNoise, columns: Floats) -> Floats:
    """Further columns (scalars, k) as the rows of `linear_problem` see them."""
    return noise.whiten(columns) if noise.whitening.mixes else columns


def _spread(noise: RowNoise, solution: Solution) -> float:
    """Standard deviation of white rows: one when it was stated, else as they were left."""
    if noise.known:
        return 1.0
    return max(float(np.sqrt(np.mean(noise.whiten(solution.equations.residual) ** 2))), LEAST_SPREAD)


def _prior(solution: Solution, names: Sequence[str], priors: PriorRows, white: Floats) -> Prior | None:
    """What is known before the data, as corrections at the solution; a scale that is held stays where it is."""
    parameters = white.shape[1]
    mean = np.zeros(parameters)
    factor = np.zeros((len(priors.index), parameters))
    if priors.index:
        factor[range(len(priors.index)), priors.index] = 1.0 / priors.sigma
        here = np.array([solution.at.values[names[i]] for i in priors.index])
        mean[list(priors.index)] = priors.mean - here
    if priors.scale is not None:
        factor = np.vstack([factor, priors.scale.held_row(white)])
        lengths = priors.scale.row != 0.0  # whose corrections are zero by nature
        mean[: len(names)][lengths] = [
            -solution.at.values[name] for name, is_one in zip(names, lengths, strict=True) if is_one
        ]
    return Prior(mean, factor) if len(factor) else None


def _still_repeats(replicate: Ints, white: Floats) -> Ints:
    """Labels of repeats, with a label of its own for a row whose whitened design differs from the first's."""
    first = np.unique(replicate, return_index=True)[1][replicate]
    apart = np.linalg.norm(white - white[first], axis=1) > SAME_DESIGN * np.linalg.norm(white[first], axis=1)
    own = int(replicate.max(initial=0)) + 1 + np.arange(len(replicate))
    return np.where(apart, own, replicate)


def _whitened(effect: SharedEffect, noise: RowNoise, joined: Ints) -> SharedEffect:
    """A random effect as white rows see it; its groups spread when rows of several are mixed."""
    group = noise.whitening.joined(effect.group)
    if int(group.max(initial=-1)) == int(effect.group.max(initial=-1)):
        return SharedEffect(effect.name, effect.group, noise.whiten(effect.columns))
    place = np.zeros(int(effect.group.max()) + 1, dtype=np.int64)  # which of the groups of its set a group is
    pairs = np.unique(np.stack([group, effect.group]), axis=1)
    start = np.flatnonzero(np.diff(pairs[0], prepend=-1))
    place[pairs[1]] = np.arange(pairs.shape[1]) - np.repeat(start, np.diff([*start, pairs.shape[1]]))
    k = effect.columns.shape[1]
    spread = np.zeros((len(group), int(place.max()) + 1, k))
    spread[np.arange(len(group)), place[effect.group]] = effect.columns
    return SharedEffect(effect.name, group, noise.whiten(spread.reshape(len(group), -1)))


def _shared(system: System, component: Ints, row: Ints, configuration: Ints) -> tuple[SharedEffect, ...]:
    """Translation and rotation of the tool common to all lengths of a configuration; none when angles are read."""
    direction = np.vstack([np.eye(3), np.zeros((TOUCH_AXIS - 2, 3))])[component]
    if ((component >= 3) & (component < TOUCH_AXIS)).any():
        return ()
    readings = system.campaign.readings
    where = np.nan_to_num(readings.value[:3, row].T)
    if system.campaign.kind("deflection").any():
        _unloaded_places(system, row, where)
    effects = rigid_effects("configuration", direction, where, configuration)
    if (readings.visit >= 0).any():
        visit = configuration * (len(system.campaign.visits) + 1) + readings.visit[row] + 1
        effects = (*effects, *rigid_effects("visit", direction, where, visit))
    return effects


def _unloaded_places(system: System, row: Ints, where: Floats) -> None:
    """Fill in the places (scalars, 3) of points whose readings, being differences, do not say them."""
    from stiffarm.measure.observe import groups, state_of
    from stiffarm.model.evaluate import predict

    arm = system.model.at()
    for group in groups(system.campaign, ("deflection",)):
        place = predict(arm, state_of(arm, system.campaign, group, "none"), group.point).position
        lookup = np.full(len(system.campaign.readings), -1)
        lookup[group.rows] = group.member
        mine = np.flatnonzero(lookup[row] >= 0)
        where[mine] = place[:, lookup[row[mine]]].T


def run_estimator(problem: LinearProblem, estimator: EstimatorName, options: Options, known: bool) -> LinearEstimate:
    """The estimator asked for, on the linearised problem; ``known``: the rows' standard deviations are."""
    from stiffarm.identify.weights import own_residual_messages

    found = _estimated(problem, estimator, options, known)
    said = own_residual_messages(problem)
    return replace(found, details=replace(found.details, messages=(*found.details.messages, *said))) if said else found


def _estimated(problem: LinearProblem, estimator: EstimatorName, options: Options, known: bool) -> LinearEstimate:
    if estimator == "ols":
        return ols(problem)
    if estimator == "wls":
        return wls(problem, known=known)
    if estimator == "cells":
        from stiffarm.identify.weights import cells

        return cells(problem, lambda_=options.lambda_, sigma0=options.sigma0_m, iterations=options.iterations)
    if estimator == "robust":
        from stiffarm.identify.robust import robust

        return robust(problem)
    if estimator == "bootstrap":
        from stiffarm.identify.bootstrap import bootstrap

        return bootstrap(problem, seed=options.seed, level=options.level)
    from stiffarm.identify.honest import honest

    return honest(problem)
