"""Loads that are not exactly known: errors nobody asks for, with a prior, carried into every interval.

The force of a load cell is off by a gain of ``gain_sigma`` and by a small turn of ``direction_sigma``, one and the same
for the campaign, for a setup or for an experiment; a payload's mass is off by ``mass_sigma``.  To first order a reading
moves by its derivative by the gain times the error (`stiffarm.model.effects.load`).

*Shared by the campaign or a setup*, each error is an unknown n of unit variance with a column N of its own.  Force and
compliance enter as a product, so when everything bends under the uncertain force alone N is a combination of the
compliances' columns: data say nothing of n, its prior does, and

    Cov x = Cov(x | n) + G Cov(n) G',        G = dx/dn = - (A' V^-1 A)^-1 A' V^-1 N

has the *scale part* G Cov(n) G' = (gain_sigma)^2 x x' however much is measured.  Beside weights, which are known, or
between setups, data do inform n, and less is left.  Estimators that treat a prior as what it is (`ols`, `wls`,
`honest`, `robust`) solve for n together with x; the others hold n at 0 and add G G', which is never too little.

*By experiment*, the errors are many and each touches the rows of one experiment: they are columns of those rows'
covariance (`stiffarm.identify.noise`).  So are the deviations that rows state of their own force (``sigma.force``, a
gain of sigma / |force|) and of their joint values (``sigma.q.*``, an offset of that joint).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.options import EstimatorName
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import LinearProblem, Prior
from stiffarm.identify.system import Point, System
from stiffarm.measure.campaign import Campaign, LoadUncertainty
from stiffarm.measure.departures import own_force_sigma

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
JOINT: tuple[EstimatorName, ...] = ("ols", "wls", "honest", "robust")
"""Estimators that solve for errors with a prior beside the parameters."""


@dataclass(frozen=True, eq=False)
class Nuisance:
    """Errors of unit variance that many rows share."""

    names: tuple[str, ...]
    columns: Floats
    """(scalars, errors) m or rad per standard deviation of the error."""


def load_sigmas(uncertainty: LoadUncertainty, names: Sequence[str]) -> dict[str, float]:
    """Standard deviations of the gain and the turn of the load, without those asked for as parameters.

    >>> load_sigmas(LoadUncertainty(gain_sigma=0.01), ())
    {'load.gain': 0.01}
    """
    turn = dict.fromkeys(("load.rx", "load.ry", "load.rz"), uncertainty.direction_sigma_rad)
    every = {"load.gain": uncertainty.gain_sigma, **turn}
    asked = set(names) if uncertainty.shared == "campaign" else set()
    return {name: sigma for name, sigma in every.items() if sigma > 0 and name not in asked}


def nuisance_of(system: System, at: Point, names: Sequence[str]) -> Nuisance:
    """Errors of the load that the campaign or whole setups share, and of payloads, at a point.

    ``names`` are the parameters that are fitted: what is one of them is no nuisance.
    """
    campaign = system.campaign
    parts = [_payloads(system, at, names)]
    uncertainty = campaign.load_uncertainty
    if uncertainty.shared != "experiment":
        setups = uncertainty.shared == "setup"
        group = campaign.readings.setup[system.take[1]] if setups else np.zeros(len(system), dtype=np.int64)
        label = [f" of {setup.name}" for setup in campaign.setups] if setups else [""]
        parts.append(_by_group(_load_columns(system, at, load_sigmas(uncertainty, names)), group, label))
    every = [one for part in parts for one in part if one[1].any()]
    columns = np.stack([column for _, column in every], axis=1) if every else np.zeros((len(system), 0))
    return Nuisance(tuple(name for name, _ in every), columns)


def experiment_sigmas(campaign: Campaign) -> dict[str, Floats]:
    """(experiments,) standard deviations of what errs by experiment, by the parameter an error of it acts as."""
    stated, experiments = campaign.load_uncertainty, campaign.experiments
    count = len(experiments)
    by_experiment = load_sigmas(stated, ()) if stated.shared == "experiment" else {}
    found = {name: np.full(count, sigma) for name, sigma in by_experiment.items()}
    force = own_force_sigma(campaign)
    if force.any():
        found["load.gain"] = np.hypot(found.get("load.gain", np.zeros(count)), force)
    if not np.asarray(experiments.wrench_world).any():
        found = {}
    if experiments.sigma_q is not None:
        offsets = zip(campaign.joints, np.nan_to_num(experiments.sigma_q), strict=True)
        found |= {f"{joint}.offset": sigma for joint, sigma in offsets if sigma.any()}
    return found


def experiment_loads(system: System, at: Point) -> csr_array | None:
    """(scalars, errors) columns of loads and joints that err by experiment; None when none does."""
    sigmas = experiment_sigmas(system.campaign)
    if not sigmas:
        return None
    from scipy.sparse import csr_array

    columns = system.equations(at, tuple(sigmas)).columns
    experiment = system.campaign.readings.experiment[system.take[1]]
    group = np.unique(experiment, return_inverse=True)[1].reshape(-1)
    k = len(sigmas)
    row, error = np.tile(np.arange(len(system)), k), np.concatenate([k * group + i for i in range(k)])
    values = np.concatenate([sigma[experiment] * columns[:, i] for i, sigma in enumerate(sigmas.values())])
    found = csr_array((values, (row, error)), shape=(len(system), k * (int(group.max(initial=-1)) + 1)))
    found.eliminate_zeros()
    return found


def _load_columns(system: System, at: Point, sigmas: dict[str, float]) -> dict[str, Floats]:
    """(scalars,) of each error of the load, per standard deviation."""
    if not sigmas or not np.asarray(system.campaign.experiments.wrench_world).any():
        return {}
    columns = system.equations(at, tuple(sigmas)).columns
    return {name: sigma * columns[:, i] for i, (name, sigma) in enumerate(sigmas.items())}


def _by_group(columns: dict[str, Floats], group: Ints, label: Sequence[str]) -> list[tuple[str, Floats]]:
    return [
        (f"{name}{label[g]}", np.where(group == g, column, 0.0))
        for name, column in columns.items()
        for g in np.unique(group)
    ]


def _payloads(system: System, at: Point, names: Sequence[str]) -> list[tuple[str, Floats]]:
    """The masses of payloads, one error for each payload whatever the number of setups that carried it."""
    if "payload.mass" in names:
        return []
    campaign = system.campaign
    found = []
    for payload in dict.fromkeys(setup.payload for setup in campaign.setups):
        if payload is None or payload.mass_sigma_kg <= 0:
            continue
        centre = dict(zip(("payload.x", "payload.y", "payload.z"), payload.com_m, strict=True))
        there = Point(dict(at.values) | centre | {"payload.mass": 0.0}, at.frames)
        column = payload.mass_sigma_kg * system.equations(there, ("payload.mass",)).columns[:, 0]
        carried = np.array([setup.payload == payload for setup in campaign.setups])
        mine = carried[campaign.readings.setup[system.take[1]]]
        found.append((f"payload.mass {payload.mass_kg:g} kg", np.where(mine, column, 0.0)))
    return found


@dataclass(frozen=True, eq=False)
class Carried:
    """An estimate into which errors nobody asked for were carried."""

    estimate: LinearEstimate
    scale: Floats
    """(parameters, parameters) the part of the covariance that is due to them."""


def carry(
    problem: LinearProblem,
    columns: Floats,
    names: Sequence[str],
    estimator: EstimatorName,
    run: Callable[[LinearProblem], LinearEstimate],
) -> Carried:
    """Run an estimator with further errors of unit variance, (rows, errors) ``columns`` in the problem's rows."""
    p = problem.parameters
    if not columns.shape[1]:
        return Carried(run(problem), np.zeros((p, p)))
    if estimator not in JOINT:
        return _propagated(problem, columns, run(problem))
    joint = run(_with_errors(problem, columns, names))
    between = joint.covariance[:p, p:] @ np.linalg.pinv(joint.covariance[p:, p:], hermitian=True)
    return Carried(_first(joint, p), between @ joint.covariance[p:, :p])


def _with_errors(problem: LinearProblem, columns: Floats, names: Sequence[str]) -> LinearProblem:
    p, k = problem.parameters, columns.shape[1]
    rows, _ = problem.prior_rows
    factor = np.block([[rows, np.zeros((len(rows), k))], [np.zeros((k, p)), np.eye(k)]])
    mean = np.zeros(p) if problem.prior is None else problem.prior.mean
    return replace(
        problem,
        A=np.hstack([problem.A, columns]),
        prior=Prior(np.concatenate([mean, np.zeros(k)]), factor),
        names=(*problem.names, *names),
    )


def _first(joint: LinearEstimate, p: int) -> LinearEstimate:
    """The estimate of the first p unknowns."""
    return replace(
        joint,
        values=joint.values[:p],
        covariance=joint.covariance[:p, :p],
        dof=joint.dof[:p],
        names=joint.names[:p],
        claimed_gain=None if joint.claimed_gain is None else joint.claimed_gain[:p],
        studentised=None if joint.studentised is None else joint.studentised[:, :p],
    )


def _propagated(problem: LinearProblem, columns: Floats, found: LinearEstimate) -> Carried:
    """The estimate with G G' added; degrees of freedom of the sum by Welch and Satterthwaite."""
    sigma = found.details.row_sigma if found.details.row_sigma is not None else problem.row_scale
    rows = np.vstack([problem.A / sigma[:, None], problem.prior_rows[0]])
    length = np.linalg.norm(rows, axis=0)
    right = np.vstack([columns / sigma[:, None], np.zeros((len(problem.prior_rows[0]), columns.shape[1]))])
    moved = np.linalg.lstsq(rows / length, right, rcond=None)[0] / length[:, None]
    scale = moved @ moved.T
    data, total = np.diag(found.covariance), np.diag(found.covariance + scale)
    dof = found.dof * (total / data) ** 2
    return Carried(replace(found, covariance=found.covariance + scale, dof=dof), scale)
