"""One fit of a campaign: begin, keep what can be told, solve, and state how well it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.selection import Selection
from stiffarm.identify.choose import Dropped, choose
from stiffarm.identify.data import Data, campaign_of, fitted_rows, resolved_of
from stiffarm.identify.linearised import (
    UNLABELLED,
    linear_problem,
    rows_of_problem,
    run_estimator,
    unlabelled_problem,
)
from stiffarm.identify.noise import RowNoise, adapted, adapts, settled
from stiffarm.identify.nonlinear import SHORTEST_M, STEP_DONE, PriorRows, Solution, solve
from stiffarm.identify.nuisance import Nuisance, carry, nuisance_of
from stiffarm.identify.options import Options
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import LinearProblem
from stiffarm.identify.scale import Scale, with_scale
from stiffarm.identify.system import Equations, Point, System
from stiffarm.identify.unknowns import Asked, ask
from stiffarm.measure.campaign import Campaign
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
LARGE = 30_000
"""Scalars above which repeats are not compared row by row when no estimator is asked for."""

MOST_ADAPTIONS = 6
"""Times a fit is repeated with the errors its own result implies."""

SCATTER_SETTLED = 0.05
"""Relative change of the scatter of touches that is not worth another fit."""
LEAST_SCATTER_M = 1e-6
"""Nobody touches better than this."""


@dataclass(frozen=True, eq=False)
class Fit:
    """What one fit found."""

    system: System
    asked: Asked
    names: tuple[str, ...]
    """Parameters that were fitted."""
    solution: Solution
    estimate: LinearEstimate
    """Of the fitted parameters and frames, as corrections at the solution."""
    noise: RowNoise
    selection: Selection
    dropped: tuple[Dropped, ...]
    rank: int
    priors: PriorRows
    errors: Nuisance
    """Errors of the load that were carried into the intervals."""
    scale: Floats
    """(parameters and frames, same) the part of the covariance that is due to them and to a scale that is held."""
    cost_ratio: float | None = None
    """Residual of a fit kept positive definite over that of the free one; None when it was not asked for."""
    held_scale: Scale | None = None
    """Of the lengths, when nothing measured tells it."""

    @cached_property
    def problem(self) -> LinearProblem:
        """Linearised where the estimate was made, with the labels of its rows."""
        return linear_problem(self.system, self.solution, self.names, self.noise, self.priors)

    @property
    def at(self) -> Point:
        """Values and frames found."""
        return self.solution.at


def fit(robot: Robot, campaign: Campaign, options: Options) -> Fit:
    """Fit a campaign as the options say; raises InputError when it cannot be done at all."""
    data = fitted_rows(robot, campaign, options)
    return fit_asked(ask(robot, data.campaign, options), data, options)


def fit_asked(asked: Asked, data: Data, options: Options) -> Fit:
    """Fit the parameters asked for (and the frames of the setups)."""
    campaign, resolved = campaign_of(data), resolved_of(data)
    system = System(asked.model, campaign, options.loads, resolved)
    if len(system) == 0:
        raise InputError(
            Problem("the campaign has no readings to fit", file=campaign.name, next_step="Fill in x, y, z columns")
        )
    everything = asked
    for _ in range(MOST_ADAPTIONS):
        # what can be told is judged to first order: what only the second tells is too weak to rest on
        linear = replace(system, campaign=replace(campaign, exact=False)) if campaign.exact else system
        begun = choose(linear, everything)
        asked, names, unknowns = begun.asked, begun.chosen.names, begun.equations.columns.shape[1]
        if not unknowns:
            raise InputError(Problem("nothing that was asked for can be told from these readings", file=campaign.name))
        _require_enough(system, unknowns, asked)
        priors = priors_of(asked, names, begun.chosen.scale)
        first = system.equations(begun.start, names) if campaign.exact else begun.equations
        solution, noise = _solve(system, begun.start, names, begun.noise, priors, first)
        touch_m = touch_scatter(system, solution, unknowns)
        if abs(np.log(touch_m / system.touch_m)) < SCATTER_SETTLED:
            break
        system = replace(system, touch_m=touch_m)
    estimator = options.estimator or ("honest" if len(system) <= LARGE else "wls")
    run = partial(run_estimator, estimator=estimator, options=options, known=noise.known)
    iterations = solution.iterations
    for _ in range(6):
        if estimator in UNLABELLED:
            problem = unlabelled_problem(solution, names, noise, priors)
        else:
            problem = linear_problem(system, solution, names, noise, priors)
        errors = nuisance_of(system, solution.at, names)
        carried = carry(problem, rows_of_problem(noise, errors.columns), errors.names, estimator, run)
        estimate = carried.estimate
        moved = np.linalg.norm(problem.A @ estimate.values / problem.row_scale)
        scatter = np.sqrt(np.mean((problem.y / problem.row_scale) ** 2))
        shortest = SHORTEST_M * np.linalg.norm(1.0 / problem.row_scale)
        if moved <= max(STEP_DONE * scatter, shortest):
            break
        at = system.moved(solution.at, names, estimate.values)
        iterations += 1
        solution = Solution(at, system.equations(at, names), iterations, solution.converged)
    chosen, told, scale = begun.chosen, unknowns, carried.scale
    if chosen.scale is not None:
        estimate, unseen = with_scale(estimate, problem, chosen.scale)
        told, scale = unknowns - 1, scale + unseen
    found = Fit(
        system, everything, names, solution, estimate, noise, chosen.selection, chosen.dropped, told, priors, errors,
        scale, held_scale=chosen.scale,
    )  # fmt: skip
    if asked.neglect or asked.use:
        from stiffarm.identify.smaller import without_swamped

        found = without_swamped(found, data, replace(options, definite=False))
    if options.definite:
        from stiffarm.identify.positive import made_definite

        found = made_definite(found)
    return found


def touch_scatter(system: System, solution: Solution, unknowns: int) -> float:
    """Standard deviation (m) of touches beside known distances: as their equations were left, where none is stated."""
    contacts, touching = system.contacts, system.touching
    if contacts.stated or not any(np.isfinite(link.sigma_m) for link in contacts.targets.links):
        return system.touch_m
    share = 1.0 - min(unknowns / len(system), 0.95)
    return max(float(np.sqrt(np.mean(solution.equations.residual[touching] ** 2) / share)), LEAST_SCATTER_M)


def _require_enough(system: System, unknowns: int, asked: Asked) -> None:
    """More scalars than unknowns, and configurations that differ."""
    have = len(system) + len(asked.priors)
    if have <= unknowns:
        used = len(np.unique(system.campaign.readings.experiment))
        raise InputError(
            Problem(
                "too few readings for what is asked",
                file=system.campaign.name,
                found=f"{len(system)} coordinates in {used} configurations",
                allowed=f"more than {unknowns} (unknowns that these readings touch)",
                next_step="Measure more configurations, or ask for less (--geometry offsets, --fix)",
            )
        )


def priors_of(asked: Asked, names: Sequence[str], scale: Scale | None = None) -> PriorRows:
    """What is known before the data of the parameters that are fitted, and the scale that is held."""
    chosen = [name for name in names if name in asked.priors]
    mean = np.array([asked.model.nominal[name] for name in chosen])
    sigma = np.array([asked.priors[name] for name in chosen])
    return PriorRows(tuple(list(names).index(name) for name in chosen), mean, sigma, scale)


def _solve(
    system: System, start: Point, names: Sequence[str], noise: RowNoise, priors: PriorRows, first: Equations
) -> tuple[Solution, RowNoise]:
    """Least squares, repeated while what is assumed of the errors still changes with the fit."""
    noise = adapted(noise, system, start, first.residual)
    solution = solve(system, start, names, noise.whiten, _at_scale(priors, noise, first.residual), first)
    iterations = solution.iterations
    for _ in range(MOST_ADAPTIONS if adapts(noise, system) else 0):
        before = noise
        residual = solution.equations.residual
        noise = adapted(noise, system, solution.at, residual, solution.equations.columns.shape[1])
        if settled(before, noise):
            break
        prior = _at_scale(priors, noise, residual)
        solution = solve(system, solution.at, names, noise.whiten, prior, solution.equations)
        iterations += solution.iterations
    return replace(solution, iterations=iterations), noise


def _at_scale(priors: PriorRows, noise: RowNoise, residual: Floats) -> PriorRows | None:
    """Prior rows beside readings of unknown scale are weighed by that scale as it stands."""
    if noise.known or not priors.index:
        return priors
    scale = max(float(np.sqrt(np.mean(noise.whiten(residual) ** 2))), 1e-12)
    return replace(priors, sigma=priors.sigma / scale)
