"""How a plan is driven and how it was checked, in words and as parts of the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stiffarm.plan.problem import Plan

if TYPE_CHECKING:
    from stiffarm.plan.verify import Compared, Verification


def shift_document(plan: Plan) -> dict[str, Any]:
    """Order and visits, SI."""
    shift = plan.shift
    if shift is None:
        return {}
    sided: list[bool] = np.isfinite(shift.side).all(axis=0).tolist()  # type: ignore[assignment]
    visits = [
        {
            "stop": int(stop),
            "repeat": int(repeat),
            "reference": bool(reference),
            "approach": [int(s) for s in shift.side[:, v]] if sided[v] else None,
            "before": shift.before[:, v].tolist() if sided[v] else None,
        }
        for v, (stop, repeat, reference) in enumerate(zip(shift.stop, shift.repeat, shift.reference, strict=True))
    ]
    return {"order": shift.order, "driving_s": shift.driving_s, "visits": visits}


def verify_document(found: Verification) -> dict[str, Any]:
    """The comparisons, SI."""
    return {
        "draws": found.draws,
        "seed": found.seed,
        "agrees": found.agrees,
        "at_use": None if found.at_use is None else _compared(found.at_use),
        "parameters": {one.name: _compared(one) for one in found.parameters},
        "bias": found.bias,
        "bias_limit": found.bias_limit,
        "deflections": [
            {
                "where": d.where,
                "mean": d.mean,
                "by_marker": d.by_marker,
                "predicted": d.promised,
                "independent": d.alone,
            }
            for d in found.deflections
        ],
    }


def _compared(one: Compared) -> dict[str, Any]:
    return {
        "predicted": one.predicted, "empirical": one.empirical, "ratio": one.ratio, "low": one.low, "high": one.high,
        "agrees": one.agrees,
    }  # fmt: skip


def shift_words(plan: Plan) -> list[str]:
    """In which order, from which sides."""
    shift = plan.shift
    if shift is None:
        return []
    rounds = int(shift.repeat[~shift.reference].max(initial=1))
    if shift.order == "tour":
        how = "in rounds of a short tour, every second one backwards" if rounds > 1 else "in a short tour"
    else:
        how = "in rounds of random order" if rounds > 1 else "in random order"
    known = all(joint.speed is not None for joint in plan.problem.robot.joints)
    words = f"Driven {how}" + (f": {duration(shift.driving_s)} at full speed." if known else ".")
    if shift.sided:
        words += " Stops are approached from both sides in turn."
    if returns := int(shift.reference.sum()):
        words += f" {returns} returns to the first stop show drift."
    return [words]


def duration(seconds: float) -> str:
    """A time for people.

    >>> duration(42.3), duration(1000.0)
    ('42 s', '17 min')
    """
    return f"{seconds:.0f} s" if seconds < 100.0 else f"{seconds / 60.0:.0f} min"


def verify_words(found: Verification) -> list[str]:
    """The verdict and what it rests on."""
    ratios = [one.ratio for one in found.parameters]
    wrong = [one.name for one in found.parameters if not one.agrees]
    words = (
        f"{found.draws} virtual campaigns, identified: deviations came out at {min(ratios):.2f} to {max(ratios):.2f} "
    )
    words += f"times the predicted ones (chance alone: {found.parameters[0].low:.2f} to {found.parameters[0].high:.2f})"
    if found.at_use is not None:
        one = found.at_use
        words += f", the error at the test poses at {one.ratio:.3f} times ({one.low:.2f} to {one.high:.2f})"
    said = [words + f"; largest bias {found.bias:.1f} standard errors (up to {found.bias_limit:.1f} is chance)."]
    if found.deflections:
        parts = [f"{100.0 * d.mean:.2g} % {d.where}" for d in found.deflections]
        said.append(f"Deflections predicted with the estimates are off by {' and '.join(parts)} (mean over markers).")
    if found.agrees:
        return [*said, "The plan keeps what it promises."]
    what = f" of {', '.join(wrong[:6])}" if wrong else ""
    return [*said, f"NOT as predicted{what}: what was assumed to be linear or small is not."]
