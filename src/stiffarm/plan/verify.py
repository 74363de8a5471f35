"""Whether a plan keeps what it promises: measured many times virtually, identified, and compared.

Every draw is a virtual campaign of the plan (`stiffarm.measure.virtual`) off the arm as the model has it, estimated by
the weighted least squares of `stiffarm.identify`, with its equations, its noise and its solver; of the planner's own
algebra nothing is used.  What is known before the plan (priors, campaigns measured anyway) is drawn about the truth
with each draw.  With s the deviation of N estimates and sigma the promised one

    (N - 1) s^2 / sigma^2                     is chi-square with N - 1 degrees of freedom
    N sum |L e|^2 / tr(L C L')                nearly, with N tr^2/tr((L C L')^2): the error e at the test poses
    sqrt(N) mean(e) / sigma                   is normal: no bias

and all limits together are left by chance once in `CHANCE`^-1 checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from stiffarm.identify.linear import wls
from stiffarm.identify.linearised import unlabelled_problem
from stiffarm.identify.noise import assumed_noise
from stiffarm.identify.nonlinear import PriorRows, Solution
from stiffarm.identify.problem import LinearProblem
from stiffarm.identify.system import Equations, Point, System
from stiffarm.measure.campaign import Campaign, LoadUncertainty
from stiffarm.measure.subset import with_readings
from stiffarm.measure.virtual import simulate
from stiffarm.plan.deflected import Deflected, deflections, planned_for
from stiffarm.plan.driven import driven, taken
from stiffarm.plan.job import Job
from stiffarm.plan.plan_file import campaign_of
from stiffarm.plan.problem import Floats, Plan
from stiffarm.plan.scale import gain_of
from stiffarm.plan.shift import Manner, shift_of
from stiffarm.plan.uses import target_of
from stiffarm.robot.arm import Placement

CHANCE = 0.01
"""Of any of the comparisons to fail although everything is as promised."""
FEWEST = 2
AT_ONCE = 50
"""Virtual campaigns simulated together."""
PURPOSE = 11


@dataclass(frozen=True)
class Compared:
    """One promised deviation beside the one that came out."""

    name: str
    predicted: float
    empirical: float
    low: float
    high: float
    """Limits of their ratio."""

    @property
    def ratio(self) -> float:
        """What came out over what was promised."""
        return self.empirical / self.predicted

    @property
    def agrees(self) -> bool:
        """Whether the ratio is within its limits."""
        return self.low <= self.ratio <= self.high


@dataclass(frozen=True)
class Verification:
    """All comparisons."""

    draws: int
    seed: int
    parameters: tuple[Compared, ...]
    at_use: Compared | None
    """Of the error at the test poses; None for other criteria."""
    bias: float
    """Largest mean error of a parameter, in its standard errors."""
    bias_limit: float
    deflections: tuple[Deflected, ...] = ()

    @property
    def agrees(self) -> bool:
        """Whether everything came out as promised."""
        every = (*self.parameters, *(() if self.at_use is None else (self.at_use,)))
        return all(one.agrees for one in every) and self.bias <= self.bias_limit


def verify(
    job: Job, plan: Plan, draws: int, *, seed: int, tell: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Verification | None:  # fmt: skip
    """Measure a plan virtually so many times; None when it was interrupted before `FEWEST` draws."""
    errors = drawn_errors(job, plan, draws, seed=seed, tell=tell, stop=stop)
    return None if len(errors) < FEWEST else compared(job, plan, errors, seed)


def compared(job: Job, plan: Plan, errors: Floats, seed: int) -> Verification:
    """Errors (draws, parameters) of estimates, SI, beside what the plan promises of them."""
    information, count = job.refiner.information, len(errors)
    promised = np.array([plan.predicted_std[name] for name in information.names])
    checks = 2 * len(promised) + (1 if job.use is not None else 0)
    low, high = _limits(count - 1, CHANCE / checks)
    found = errors.std(axis=0, ddof=1)
    parameters = tuple(
        Compared(name, float(p), float(s), low, high)
        for name, p, s in zip(information.names, promised, found, strict=True)
    )
    at_use = _at_use(job, plan, errors, CHANCE / checks) if job.use is not None else None
    bias = float((np.abs(errors.mean(axis=0)) * np.sqrt(count) / promised).max())
    limit = float(stats.norm.isf(0.5 * CHANCE / checks))
    deflected = deflections(job, plan, errors, covariance_of(job, plan))
    return Verification(count, seed, parameters, at_use, bias, limit, deflected)


def drawn_errors(
    job: Job, plan: Plan, draws: int, *, seed: int, tell: Callable[[str], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> Floats:  # fmt: skip
    """(draws, parameters) estimates less truth, SI, of as many virtual campaigns; fewer when interrupted."""
    information, model = job.refiner.information, plan.problem.asked.model
    names, truth = information.names, model.at()
    planned = campaign_to_measure(job, plan)
    known = information.known / information.scale
    at, nothing = Point(dict(truth.values), {}), PriorRows((), np.zeros(0), np.zeros(0))
    system = System(model, simulate(truth, planned, seed=seed, loads="model").campaign, "model")
    noise, columns = assumed_noise(system, at), system.equations(at, names).columns
    out: list[Floats] = []
    while len(out) < draws and not stop():
        tell(f"virtual campaigns: {len(out)} of {draws}")
        count, random = min(AT_ONCE, draws - len(out)), np.random.default_rng([seed, PURPOSE, len(out)])
        drawn = simulate(truth, several(planned, count), seed=int(random.integers(2**31)), loads="model").campaign
        for residual in System(model, drawn, "model").residual(at).reshape(count, -1):
            equations = Equations(residual, columns)
            problem = unlabelled_problem(Solution(at, equations, 0, True), names, noise, nothing)
            out.append(wls(_beside(problem, known, random)).values)
    return np.array(out).reshape(len(out), len(names))


def several(campaign: Campaign, count: int) -> Campaign:
    """Copies of a campaign side by side, each with experiments, visits and setups of its own, so that nothing is
    shared between them."""
    experiments, readings = campaign.experiments, campaign.readings
    copy = np.repeat(np.arange(count), len(readings))
    base = with_readings(replace(campaign, extra={}), np.tile(np.arange(len(readings)), count))

    def own(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(f"{name}/{k}" for k in range(count) for name in names)

    rows = replace(
        base.readings,
        experiment=base.readings.experiment + copy * len(experiments),
        visit=base.readings.visit + copy * len(campaign.visits),
        setup=base.readings.setup + copy * len(campaign.setups),
    )
    every = taken(experiments, np.tile(np.arange(len(experiments)), count))
    setups = tuple(replace(setup, name=f"{setup.name}/{k}") for k in range(count) for setup in campaign.setups)
    named = replace(every, names=own(experiments.names))
    return replace(base, experiments=named, readings=rows, visits=own(campaign.visits), setups=setups)


def _beside(problem: LinearProblem, known: Floats, random: np.random.Generator) -> LinearProblem:
    """The problem with what is known before as further rows of unit variance, as it might have come out."""
    if not len(known):
        return problem
    assert problem.sigma is not None
    return LinearProblem(
        np.concatenate([problem.A, known]),
        np.concatenate([problem.y, random.standard_normal(len(known))]),
        np.concatenate([problem.sigma, np.ones(len(known))]),
    )


def campaign_to_measure(job: Job, plan: Plan) -> Campaign:
    """The plan as it is driven, every repeat a stop of its own, read in the world.

    Of what is uncertain of the load it has what the plan's figures count, the gain that all readings share.
    """
    load = LoadUncertainty(gain_sigma=gain_of(job), shared="setup")
    planned = replace(campaign_of(plan), load_uncertainty=load)
    setups = tuple(replace(setup, placement=Placement()) for setup in planned.setups)
    shift = shift_of(plan.problem.robot, plan.stops, plan.repeats, Manner("random", seed=plan.seed))
    return driven(replace(planned, setups=setups), shift, pairs=False)


def _limits(freedom: float, chance: float) -> tuple[float, float]:
    """Limits of s/sigma."""
    ends = np.asarray(stats.chi2.ppf([0.5 * chance, 1.0 - 0.5 * chance], freedom))
    low, high = np.sqrt(ends / freedom).tolist()
    return low, high


def covariance_of(job: Job, plan: Plan) -> Floats:
    """(parameters, parameters) promised, SI."""
    information = job.refiner.information
    root = np.sqrt(plan.repeats.astype(float))[:, None, None]
    rows = (information.rows(plan.stops) * root).reshape(-1, information.size)
    inverse = np.linalg.pinv(np.concatenate([information.known, rows])) * information.scale[:, None]
    nominal = plan.problem.asked.model.nominal
    by_gain = gain_of(job) * np.array([nominal[name] for name in information.names]) if gain_of(job) else 0.0
    return np.asarray(inverse @ inverse.T + np.multiply.outer(by_gain, by_gain))


def _at_use(job: Job, plan: Plan, errors: Floats, chance: float) -> Compared:
    """Root mean square error at the test poses."""
    assert job.use is not None
    deflection = plan.problem.reading.kind == "deflection"
    target = target_of(planned_for(job), job.use, deflection=deflection)
    spread = target @ covariance_of(job, plan) @ target.T
    freedom = len(errors) * float(np.trace(spread)) ** 2 / float((spread**2).sum())
    found = float(np.sqrt(((errors @ target.T) ** 2).sum(axis=1).mean()))
    return Compared(job.use.words, plan.value, found, *_limits(freedom, chance))
