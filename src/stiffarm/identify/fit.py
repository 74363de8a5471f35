"""One fit of a campaign: begin, keep what can be told, solve, and state how well it is known.

Redundancy is judged at the starting point, where geometry is nominal and only frames, markers and tool have been
found: there a redundant direction is redundant to rounding, while at the calibrated point small misalignments
lift it just above (`stiffarm.identifiability.selection`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.selection import Dependence, Selection, select_columns
from stiffarm.identify.begin import begin
from stiffarm.identify.linear import ols, wls
from stiffarm.identify.noise import RowNoise, assumed_noise, rescaled
from stiffarm.identify.nonlinear import PriorRows, Solution, solve
from stiffarm.identify.options import EstimatorName, Options
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import LinearProblem, Prior, rigid_effects
from stiffarm.identify.system import Equations, Point, System
from stiffarm.identify.unknowns import Asked, ask
from stiffarm.measure.campaign import Campaign
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
LARGE = 30_000
"""Scalars above which repeats are not compared row by row when no estimator is asked for."""

PLAUSIBLE = {"m": 0.02, "rad": 0.02}
"""A length or angle that would be known no better than this is not told: no arm is that far off its drawing."""


@dataclass(frozen=True)
class Dropped:
    """A parameter that was asked for and held at nominal."""

    name: str
    why: str
    merged_into: tuple[str, ...] = ()


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
    problem: LinearProblem
    """Linearised where the estimate was made."""

    @property
    def at(self) -> Point:
        """Values and frames found."""
        return self.solution.at


def fit(robot: Robot, campaign: Campaign, options: Options) -> Fit:
    """Fit a campaign as the options say; raises InputError when it cannot be done at all."""
    return fit_asked(ask(robot, campaign, options), campaign, options)


def fit_asked(asked: Asked, campaign: Campaign, options: Options) -> Fit:
    """Fit the parameters asked for (and the frames of the setups)."""
    system = System(asked.model, campaign, options.loads)
    if len(system) == 0:
        raise InputError(
            Problem("the campaign has no readings to fit", file=campaign.name, next_step="Fill in x, y, z columns")
        )
    noise = assumed_noise(system)
    start = begin(system, asked.names)
    first = system.equations(start, asked.names)
    selection, names, dropped = _keep(system, asked, first, noise)
    columns = [*(asked.names.index(name) for name in names), *range(len(asked.names), first.columns.shape[1])]
    first = Equations(first.residual, first.columns[:, columns])
    if not columns:
        raise InputError(Problem("nothing that was asked for can be told from these readings", file=campaign.name))
    _require_enough(system, len(columns), asked)
    priors = _priors(asked, names)
    solution, noise = _solve(system, start, names, noise, priors, first)
    estimator = options.estimator or ("honest" if len(system) <= LARGE else "wls")
    estimate = LinearEstimate("none", np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0))
    iterations = solution.iterations
    problem = linear_problem(system, solution, names, noise, priors)
    for _ in range(6):
        estimate = run_estimator(problem, estimator, options, noise)
        moved = np.sqrt(np.mean((problem.A @ estimate.values / problem.row_scale) ** 2))
        scale = np.sqrt(np.mean((problem.y / problem.row_scale) ** 2))
        if moved <= 1e-6 * max(scale, 1e-300):
            break
        at = system.moved(solution.at, names, estimate.values)
        iterations += 1
        solution = Solution(at, system.equations(at, names), iterations, solution.converged)
        problem = linear_problem(system, solution, names, noise, priors)
    return Fit(system, asked, names, solution, estimate, noise, selection, dropped, len(columns), problem)


def _keep(
    system: System, asked: Asked, first: Equations, noise: RowNoise
) -> tuple[Selection, tuple[str, ...], tuple[Dropped, ...]]:
    """Columns that can be told apart, frames first, then parameters in order of preference."""
    n = len(asked.names)
    rows = first.columns / noise.sigma[:, None]
    scale = {p.name: p.scale for p in asked.model.parameters}
    reference = np.array([*(scale[name] for name in asked.names), *np.ones(rows.shape[1] - n)])
    prior = np.zeros((len(asked.priors), rows.shape[1]))
    for i, (name, sigma) in enumerate(asked.priors.items()):
        prior[i, asked.names.index(name)] = 1.0 / sigma
    rows = np.vstack([rows, prior]) * reference
    right = np.concatenate([first.residual / noise.sigma, np.zeros(len(prior))])
    frames = range(n, rows.shape[1])
    unit = {p.name: p.unit for p in asked.model.parameters}
    plausible = np.array([PLAUSIBLE.get(unit[name], np.inf) for name in asked.names] + [np.inf] * len(frames))
    spread = 1.0 if noise.known else _scatter(rows, right)
    selection = select_columns(rows, [*frames, *range(n)], plausible=plausible / reference / max(spread, 1e-300))
    label = [*asked.names, *(f"frame of {name}" for name in system.frame_names)]
    kept = set(selection.kept)
    names = tuple(name for i, name in enumerate(asked.names) if i in kept)
    unseen = [Dropped(label[i], _why_unseen(label[i])) for i in selection.unseen if i < n]
    merged = []
    for d in selection.dependent:
        on = tuple(dict.fromkeys(_short(label[i]) for i in d.on))
        merged.append(Dropped(label[d.column], _why_merged(d, label[d.column], on, reference, spread), on))
    return selection, names, (*unseen, *merged)


def _scatter(rows: Floats, right: Floats) -> float:
    """Root mean square of what a linear fit of everything leaves."""
    rest = right - rows @ np.linalg.lstsq(rows, right, rcond=1e-10)[0]
    return float(np.sqrt(rest @ rest / max(len(right) - rows.shape[1], 1)))


def _why_merged(d: Dependence, name: str, on: Sequence[str], reference: Floats, spread: float) -> str:
    if not np.isfinite(d.sigma):
        return f"cannot be told from {', '.join(on)}; held at nominal"
    size = d.sigma * float(reference[d.column]) * spread
    beside = f" beside {', '.join(on)}" if on else ""
    return f"too weakly seen{beside}: its standard deviation would be {size:.2g} (SI); held at nominal"


def _short(label: str) -> str:
    """Frames are named by their setup only."""
    return label.rsplit(".", 1)[0] if label.startswith("frame of ") else label


def _why_unseen(name: str) -> str:
    if ".compliance" in name:
        return "no load of this campaign bends it in a way the readings show; held at nominal"
    return "no reading moves with it; held at nominal"


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


def _priors(asked: Asked, names: Sequence[str]) -> PriorRows:
    chosen = [name for name in names if name in asked.priors]
    mean = np.array([asked.model.nominal[name] for name in chosen])
    sigma = np.array([asked.priors[name] for name in chosen])
    return PriorRows(tuple(list(names).index(name) for name in chosen), mean, sigma)


def _solve(
    system: System, start: Point, names: Sequence[str], noise: RowNoise, priors: PriorRows, first: Equations
) -> tuple[Solution, RowNoise]:
    """Least squares, repeated while the ratio of lengths to angles still changes."""
    mixed = not noise.known and noise.angular.any() and not noise.angular.all()
    if mixed:  # a first ratio from the start itself
        noise = rescaled(noise, first.residual)
    solution = solve(system, start, names, _by_sigma(noise), _at_scale(priors, noise, first.residual), first)
    iterations = solution.iterations
    for _ in range(4 if mixed else 0):
        before, noise = noise, rescaled(noise, solution.equations.residual)
        change = np.abs(np.log(noise.sigma / before.sigma))
        if np.ptp(np.log(noise.sigma / before.sigma)) < 0.05 and change.max() < 0.5:
            break
        solution = solve(
            system,
            solution.at,
            names,
            _by_sigma(noise),
            _at_scale(priors, noise, solution.equations.residual),
            solution.equations,
        )
        iterations += solution.iterations
    return replace(solution, iterations=iterations), noise


def _by_sigma(noise: RowNoise):  # type: ignore[no-untyped-def]
    def whiten(rows: Floats) -> Floats:
        return np.asarray(rows / (noise.sigma if rows.ndim == 1 else noise.sigma[:, None]))

    return whiten


def _at_scale(priors: PriorRows, noise: RowNoise, residual: Floats) -> PriorRows | None:
    """Prior rows beside readings of unknown scale are weighed by that scale as it stands."""
    if not priors.index:
        return None
    if noise.known:
        return priors
    scale = max(float(np.sqrt(np.mean((residual / noise.sigma) ** 2))), 1e-12)
    return PriorRows(priors.index, priors.mean, priors.sigma / scale)


def linear_problem(
    system: System, solution: Solution, names: Sequence[str], noise: RowNoise, priors: PriorRows
) -> LinearProblem:
    """The problem linearised at a solution, with the labels that say which errors belong together."""
    component, row = system.take
    campaign = system.campaign
    readings = campaign.readings
    setup = readings.setup[row]
    configuration = readings.experiment[row] * (len(campaign.setups) + 1) + setup
    same = np.stack([configuration, readings.marker[row], readings.kind[row], component])
    replicate = np.unique(same, axis=1, return_inverse=True)[1].reshape(-1)
    p = solution.equations.columns.shape[1]
    prior = None
    if priors.index:
        factor = np.zeros((len(priors.index), p))
        factor[range(len(priors.index)), priors.index] = 1.0 / priors.sigma
        mean = np.zeros(p)
        here = np.array([solution.at.values[names[i]] for i in priors.index])
        mean[list(priors.index)] = priors.mean - here
        prior = Prior(mean, factor)
    labels = (*names, *system.frame_names)
    return LinearProblem(
        A=solution.equations.columns,
        y=solution.equations.residual,
        sigma=noise.sigma,
        configuration=configuration,
        axis=component,
        replicate=replicate,
        shared=_shared(system, component, row, configuration),
        prior=prior,
        names=labels,
    )


def _shared(system: System, component: NDArray[np.int64], row: NDArray[np.int64], configuration: NDArray[np.int64]):  # type: ignore[no-untyped-def]
    """Translation and rotation of the tool common to all lengths of a configuration; none when angles are read."""
    if (component >= 3).any():
        return ()
    readings = system.campaign.readings
    where = np.nan_to_num(readings.value[:3, row].T)
    if system.campaign.kind("deflection").any():
        from stiffarm.measure.observe import groups, state_of
        from stiffarm.model.evaluate import predict

        arm = system.model.at()
        for group in groups(system.campaign, ("deflection",)):
            place = predict(arm, state_of(arm, system.campaign, group, "none"), group.point).position
            lookup = np.full(len(readings), -1)
            lookup[group.rows] = group.member
            mine = np.flatnonzero(lookup[row] >= 0)
            where[mine] = place[:, lookup[row[mine]]].T
    effects = rigid_effects("configuration", np.eye(3)[component], where, configuration)
    if (readings.visit >= 0).any():
        visit = configuration * (len(system.campaign.visits) + 1) + readings.visit[row] + 1
        effects = (*effects, *rigid_effects("visit", np.eye(3)[component], where, visit))
    return effects


def run_estimator(
    problem: LinearProblem, estimator: EstimatorName, options: Options, noise: RowNoise
) -> LinearEstimate:
    """The estimator asked for, on the linearised problem."""
    if estimator == "ols":
        return ols(problem)
    if estimator == "wls":
        return wls(problem, known=noise.known)
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
