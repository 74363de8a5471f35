"""What a fit says of the errors that no parameter carries, each once.

A reading of a configuration misses its prediction by

    own error of the reading + where this visit came to rest + what the model misses at this configuration.

*Own error*: as the campaign states it, else the scatter the fit found.  *Stop*: as ``[shared]`` states it, else the
random effects of visits.  *Configuration*: the random effects of configurations; when no configuration was visited
twice they hold the stop as well, for then nothing tells the two apart.  Where a test found neither (its F is in the
model file) they are zero beside the scatter.  When the own error is stated and readings scatter by more than that,

    excess^2 = scatter^2 - stated^2,      taken when  scatter^2/stated^2 - 1 > 2 sqrt(2/(n - p)),

is something the model misses, differently at every reading.  Random effects of configurations that were found beside a
stated own error are brought down until both together are what readings show: without repeats an effect of the size of
its own uncertainty stands in every fit, and a budget that adds it to the stated error would count one scatter twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.estimate import ErrorModel, SharedErrors
from stiffarm.identify.fit import Fit
from stiffarm.measure.campaign import DEFAULT_MARKER, SharedError

Floats = NDArray[np.float64]
SIGNIFICANT = 2.0
"""Standard deviations by which a ratio of variances must exceed 1 to be taken for one that does."""


def errors_of(found: Fit) -> ErrorModel:
    """The errors beside the parameters of a fit."""
    campaign = found.system.campaign
    scatter, stated, excess = _own(found)
    read = np.unique(campaign.readings.marker)
    load = campaign.load_uncertainty
    return ErrorModel(
        reading_m=stated if stated is not None else scatter,
        reading_source="scatter" if stated is None else "stated",
        stop=_stop(found),
        configuration=_configuration(found, excess),
        excess_m=excess,
        load_gain_sigma=load.gain_sigma,
        load_direction_sigma_rad=load.direction_sigma_rad,
        markers=tuple(campaign.markers[m] if m >= 0 else DEFAULT_MARKER for m in read),
        difference=bool(campaign.kind("deflection").all()),
    )


def _own(found: Fit) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None, tuple[float, ...] | None]:
    """Standard deviations (m) of one reading along each axis: found, stated, and by what the first is larger."""
    component, row = found.system.take
    if not (component < 3).any():
        return None, None, None
    resolved = found.system.rows
    twice = resolved.source.kind("deflection")[resolved.origin][row]
    readings = np.where(twice, 2.0, 1.0)  # a deflection that was not made from two rows is two readings
    stated = _by_axis(found.noise.sigma**2 / readings, component) if found.noise.known else None
    variance = _scatter(found)
    if variance is None:
        return None, stated, None
    scatter = _by_axis(variance / readings, component)
    if stated is None:
        return scatter, None, None
    lengths = component < 3
    ratio = float(np.mean((variance / found.noise.sigma**2)[lengths]))
    dof = max(found.problem.rows - found.problem.parameters, 1)
    more = ratio - 1.0 > SIGNIFICANT * np.sqrt(2.0 / dof)
    excess = tuple(float(np.sqrt(max(a**2 - b**2, 0.0))) if more else 0.0 for a, b in zip(scatter, stated, strict=True))
    return scatter, stated, excess


def _scatter(found: Fit) -> Floats | None:
    """(scalars,) variance of each row's own error as the fit found it, m^2 (rad^2)."""
    sigma, problem = found.estimate.details.row_sigma, found.problem
    if sigma is None:
        return None
    factor = 1.0
    if np.array_equal(sigma, problem.row_scale):  # taken as stated: let the residuals speak
        white = found.estimate.residuals / problem.row_scale
        factor = float(white @ white) / max(problem.rows - problem.parameters, 1)
    return np.asarray(factor * (sigma * (found.noise.sigma if found.noise.whitening.mixes else 1.0)) ** 2)


def _by_axis(variance: Floats, component: NDArray[np.int64]) -> tuple[float, ...]:
    """Standard deviation along x, y, z; an axis that was not read has the mean of the others."""
    overall = float(np.mean(variance[component < 3]))
    found = (float(np.mean(variance[component == c])) if (component == c).any() else overall for c in range(3))
    return tuple(float(np.sqrt(v)) for v in found)


def _effects(found: Fit, kind: str) -> tuple[float, float] | None:
    """Translation (m) and rotation (rad) of the random effects of a kind; None when they are not in the model."""
    details = found.estimate.details
    sigma = {c.name: c.sigma for c in details.variance_components if c.name in details.shared_effects}
    names = (f"{kind} translation", f"{kind} rotation")
    if not any(name in sigma for name in names):
        return None
    return sigma.get(names[0], 0.0), sigma.get(names[1], 0.0)


def _stop(found: Fit) -> SharedErrors | None:
    shared, details = found.system.campaign.shared, found.estimate.details
    if shared != SharedError():
        return SharedErrors(shared.translation_m, shared.rotation_rad, "stated")
    if (visits := _effects(found, "visit")) is not None:
        return SharedErrors(*visits, "visits")
    if details.visit_effect is not None:
        return SharedErrors(0.0, 0.0, "tested")
    tested = details.lack_of_fit is not None and _effects(found, "configuration") is None
    return SharedErrors(0.0, 0.0, "tested") if tested else None


def _configuration(found: Fit, excess: tuple[float, ...] | None) -> SharedErrors | None:
    if (effects := _effects(found, "configuration")) is not None:
        shrink = float(np.sqrt(_share_beside_stated(found)))
        return SharedErrors(shrink * effects[0], shrink * effects[1], "configurations")
    if found.estimate.details.lack_of_fit is not None:
        return SharedErrors(0.0, 0.0, "tested")
    return None if excess is None else SharedErrors(0.0, 0.0, "excess")


def _share_beside_stated(found: Fit) -> float:
    """Share of the variance of configuration effects that the stated own errors leave; 1 when nothing is stated."""
    sigma, problem, details = found.estimate.details.row_sigma, found.problem, found.estimate.details
    if not found.noise.known or sigma is None:
        return 1.0
    variance = {c.name: c.variance for c in details.variance_components}
    own = float(np.mean((sigma / problem.row_scale) ** 2))
    effects = [e for e in problem.shared if e.name.startswith("configuration") and e.name in details.shared_effects]
    each = (variance[e.name] * (e.columns**2).sum(axis=1) / problem.row_scale**2 for e in effects)
    shared = float(np.mean(sum(each, np.zeros(problem.rows))))
    return float(np.clip((own + shared - 1.0) / shared, 0.0, 1.0)) if shared > 0.0 else 1.0
