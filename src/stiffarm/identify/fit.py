"""One fit of a campaign: begin, keep what can be told, solve, and state how well it is known.

Redundancy is judged at the starting point, where geometry is nominal and only frames, markers and tool have been
found: there a redundant direction is redundant to rounding, while at the calibrated point small misalignments
lift it just above (`stiffarm.identifiability.selection`).  What a load does to a bent arm lifts it as well, by a
hundred thousandth of the columns: what is redundant on the arm unbent comes last and stays only when it is told well,
as the tilt of a base is by which side the load pulls.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.selection import Dependence, Selection, select_columns
from stiffarm.identify.begin import begin, weighed
from stiffarm.identify.compensator_start import compensator_start
from stiffarm.identify.data import Data, campaign_of, fitted_rows, resolved_of
from stiffarm.identify.linearised import (
    UNLABELLED,
    linear_problem,
    rows_of_problem,
    run_estimator,
    unlabelled_problem,
)
from stiffarm.identify.noise import RowNoise, adapted, adapts, assumed_noise, settled
from stiffarm.identify.nonlinear import SHORTEST_M, STEP_DONE, PriorRows, Solution, solve
from stiffarm.identify.nuisance import Nuisance, carry, nuisance_of
from stiffarm.identify.options import Options
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import LinearProblem
from stiffarm.identify.system import Equations, Point, System
from stiffarm.identify.unknowns import Asked, ask, without
from stiffarm.measure.campaign import Campaign
from stiffarm.model.parameters import Parameter
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
LARGE = 30_000
"""Scalars above which repeats are not compared row by row when no estimator is asked for."""

MOST_ADAPTIONS = 6
"""Times a fit is repeated with the errors its own result implies."""

PLAUSIBLE = {"m": 0.02, "rad": 0.02}
"""A length or angle that would be known no better than this is not told: no arm is that far off its drawing."""


BY_LOAD = 0.002
"""The same (m or rad) for what nothing but a load can tell: a drawing knows it as well as that."""

WHY_UNTOLD = (
    "goes to the end of what is physical, so these readings do not tell it; held at nominal; give it a [[prior]]"
)


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
    priors: PriorRows
    errors: Nuisance
    """Errors of the load that were carried into the intervals."""
    scale: Floats
    """(parameters and frames, same) the part of the covariance that is due to them."""
    cost_ratio: float | None = None
    """Residual of a fit kept positive definite over that of the free one; None when it was not asked for."""

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
    everything, plain = asked, begin(system, asked.names)
    for point in (weighed(system, asked.names, plain), plain):
        noise = assumed_noise(system, point)
        start, asked, first, selection, names, dropped = _begun(system, point, everything, noise)
        if point is plain or "payload.mass" in names:  # a mass that is held is held at nominal
            break
    columns = [*(asked.names.index(name) for name in names), *range(len(asked.names), first.columns.shape[1])]
    first = Equations(first.residual, first.columns[:, columns])
    if not columns:
        raise InputError(Problem("nothing that was asked for can be told from these readings", file=campaign.name))
    _require_enough(system, len(columns), asked)
    priors = priors_of(asked, names)
    solution, noise = _solve(system, start, names, noise, priors, first)
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
    told, scale = len(columns), carried.scale
    found = Fit(system, everything, names, solution, estimate, noise, selection, dropped, told, priors, errors, scale)
    if asked.neglect or asked.use:
        from stiffarm.identify.smaller import without_swamped

        found = without_swamped(found, data, replace(options, definite=False))
    if options.definite:
        from stiffarm.identify.positive import made_definite

        found = made_definite(found)
    return found


def _begun(
    system: System, begun: Point, asked: Asked, noise: RowNoise
) -> tuple[Point, Asked, Equations, Selection, tuple[str, ...], tuple[Dropped, ...]]:
    """Start and selection, again without those numbers of compensators that turn out not to be told."""
    held: tuple[Dropped, ...] = ()
    while True:
        start, untold = compensator_start(system, begun, asked, noise)
        held = (*held, *(Dropped(name, WHY_UNTOLD) for name in untold))
        asked = without(asked, untold)
        first = system.equations(start, asked.names)
        late = told_by_load(system, asked, start, first)
        selection, names, dropped = keep(system, asked, first, noise, late)
        lost = [d for d in dropped if ".compensator." in d.name]
        if not lost:
            return start, asked, first, selection, names, (*dropped, *held)
        held = (*held, *lost)
        asked = without(asked, [d.name for d in lost])


def told_by_load(system: System, asked: Asked, start: Point, first: Equations) -> frozenset[str]:
    """Geometric parameters that repeat others on an arm that does not bend: only a load may tell them, and weakly."""
    elastic = {p.name for p in asked.model.parameters if p.elastic}
    values = {name: 0.0 if name in elastic and ".compliance" in name else v for name, v in start.values.items()}
    if values == dict(start.values):
        return frozenset()
    n = len(asked.names)
    columns = system.equations(Point(values, start.frames), asked.names).columns
    for i, name in enumerate(asked.names):
        if name in elastic or name.startswith(("load.", "payload.")):
            columns[:, i] = first.columns[:, i]
    found = select_columns(columns, [*range(n, columns.shape[1]), *range(n)])
    return frozenset(asked.names[d.column] for d in found.dependent if d.column < n) - elastic


def keep(
    system: System,
    asked: Asked,
    first: Equations,
    noise: RowNoise,
    late: Collection[str] = (),
    weight: float = 1.0,
) -> tuple[Selection, tuple[str, ...], tuple[Dropped, ...]]:
    """Columns that can be told apart, frames first, then parameters in order of preference, then ``late`` ones.

    Each row may stand for ``weight`` rows like it.
    """
    n = len(asked.names)
    rows = noise.whiten(first.columns)
    scale = {p.name: p.scale for p in asked.model.parameters}
    reference = np.array([*(scale[name] for name in asked.names), *np.ones(rows.shape[1] - n)])
    prior = np.zeros((len(asked.priors), rows.shape[1]))
    for i, (name, sigma) in enumerate(asked.priors.items()):
        prior[i, asked.names.index(name)] = 1.0 / sigma
    rows = np.vstack([rows, prior]) * reference
    right = np.concatenate([noise.whiten(first.residual), np.zeros(len(prior))])
    frames = range(n, rows.shape[1])
    order = [*frames, *sorted(range(n), key=lambda i: asked.names[i] in late)]
    triangle = np.asarray(np.linalg.qr(np.column_stack([rows[:, order], right]), mode="r"))
    known = {p.name: p for p in asked.model.parameters}
    most = [min(_plausible(known[name]), BY_LOAD if name in late else np.inf) for name in asked.names]
    plausible = np.array([*most, *[np.inf] * len(frames)])
    spread = (1.0 if noise.known else _scatter(triangle, len(right))) / np.sqrt(weight)
    rows = np.zeros((len(triangle), len(order)))
    rows[:, order] = triangle[:, :-1]
    selection = select_columns(rows, order, plausible=plausible / reference / max(spread, 1e-300))
    label = [*asked.names, *(f"frame of {name}" for name in system.frame_names)]
    kept = set(selection.kept)
    names = tuple(name for i, name in enumerate(asked.names) if i in kept)
    unseen = [Dropped(label[i], _why_unseen(label[i], system)) for i in selection.unseen if i < n]
    merged = []
    for d in selection.dependent:
        on = tuple(dict.fromkeys(_short(label[i]) for i in d.on))
        merged.append(Dropped(label[d.column], _why_merged(d, label[d.column], on, reference, spread), on))
    return selection, names, (*unseen, *merged)


def _plausible(parameter: Parameter) -> float:
    """Standard deviation from which a parameter counts as not told; a compensator's number: its own size."""
    if ".compensator." in parameter.name:
        return abs(parameter.nominal) or np.inf
    return PLAUSIBLE.get(parameter.unit, np.inf)


def _scatter(triangle: Floats, rows: int) -> float:
    """Root mean square of what a linear fit of all columns leaves of the right side, the triangle's last column.

    A column that depends on others takes one direction of the rows like any other, so that their number counts.
    """
    columns = triangle.shape[1] - 1
    if rows > columns:
        return float(abs(triangle[columns, columns]) / np.sqrt(rows - columns))
    rest = triangle[:, -1] - triangle[:, :-1] @ np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=1e-10)[0]
    return float(np.linalg.norm(rest))


def _why_merged(d: Dependence, name: str, on: Sequence[str], reference: Floats, spread: float) -> str:
    if not np.isfinite(d.sigma):
        return f"cannot be told from {', '.join(on)}; held at nominal"
    size = d.sigma * float(reference[d.column]) * spread
    beside = f" beside {', '.join(on)}" if on else ""
    return f"too weakly seen{beside}: its standard deviation would be {size:.2g} (SI); held at nominal"


def _short(label: str) -> str:
    """Frames are named by their setup only."""
    return label.rsplit(".", 1)[0] if label.startswith("frame of ") else label


def _why_unseen(name: str, system: System) -> str:
    if ".compliance" in name:
        why = "no load of this campaign bends it in a way the readings show"
        if not name.startswith("link") and _all_vertical(system):
            why += ": every load is vertical, and a horizontal force with a moment about its axis is needed"
        return f"{why}; held at nominal"
    return "no reading moves with it; held at nominal"


def _all_vertical(system: System) -> bool:
    """Whether nothing but vertical forces pulls on the arm."""
    wrench = system.campaign.experiments.wrench_world
    along = np.array(system.model.robot.gravity)
    size = float(np.linalg.norm(along))
    force = wrench[:, :3]
    if not force.any() or wrench[:, 3:].any() or size == 0.0:
        return False
    sideways = force - (along / size)[:, None] * np.einsum("i,lin->ln", along / size, force)[:, None, :]
    return bool(np.abs(sideways).max() <= 1e-9 * np.abs(force).max())


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


def priors_of(asked: Asked, names: Sequence[str]) -> PriorRows:
    """What is known before the data of the parameters that are fitted."""
    chosen = [name for name in names if name in asked.priors]
    mean = np.array([asked.model.nominal[name] for name in chosen])
    sigma = np.array([asked.priors[name] for name in chosen])
    return PriorRows(tuple(list(names).index(name) for name in chosen), mean, sigma)


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
    if not priors.index:
        return None
    if noise.known:
        return priors
    scale = max(float(np.sqrt(np.mean(noise.whiten(residual) ** 2))), 1e-12)
    return PriorRows(priors.index, priors.mean, priors.sigma / scale)
