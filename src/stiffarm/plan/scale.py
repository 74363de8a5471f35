"""What a load of uncertain gain brings to every plan of deflections.

Force and compliance enter as a product, so that a gain of deviation s shared by all readings moves all compliances
together, by s times themselves, however much is measured (`stiffarm.identify.nuisance`):

    Cov x = Cov(x | gain) + s^2 x x',        value^2 = |L ..|^2 + s^2 |L x|^2

The second part is the same for every plan, and so is added to value and bound alike.  It is exact when everything
that bends is asked for, and otherwise too large rather than too small.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stiffarm.measure.campaign import LoadUncertainty
from stiffarm.plan.job import Job
from stiffarm.plan.problem import Plan


def gain_of(job: Job) -> float:
    """Deviation of a gain that all readings share; 0 when there is none or readings are no deflections."""
    load, kind = job.problem.reading.load, job.problem.reading.kind
    return load.gain_sigma if kind == "deflection" and load.shared != "experiment" else 0.0


def load_notes(job: Job) -> tuple[str, ...]:
    """What of the load's uncertainty is not counted."""
    load = job.problem.reading.load
    left = [] if load.direction_sigma_rad == 0.0 else ["its direction"]
    if load.gain_sigma > 0.0 and gain_of(job) == 0.0:
        left.append("its gain")
    if load == LoadUncertainty() or not left:
        return ()
    return (f"how uncertain the load is, {' and '.join(left)}, is not counted in these figures",)


def with_scale(job: Job, plan: Plan) -> Plan:
    """The plan with the part of the load's gain in its figures."""
    gain = gain_of(job)
    if gain == 0.0:
        return plan
    nominal = job.problem.asked.model.nominal
    spread = {name: float(np.hypot(std, gain * nominal[name])) for name, std in plan.predicted_std.items()}
    plan = replace(plan, predicted_std=spread)
    if job.target is None:
        return plan
    part = gain * float(np.linalg.norm(job.target @ np.array([nominal[n] for n in job.refiner.information.names])))
    one = plan.certificate
    value = float(np.hypot(plan.value, part))
    if one is not None:
        bound = float(np.hypot(one.bound, part))
        one = replace(one, bound=bound, efficiency=bound / value)
    return replace(plan, value=value, certificate=one, scale_part=part)
