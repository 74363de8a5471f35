"""A plan in words and as a document."""

from __future__ import annotations

from typing import Any

import numpy as np

from stiffarm.plan.plan_file import forces_of
from stiffarm.plan.problem import WITHIN, Cable, FixedForce, Plan
from stiffarm.plan.said import shift_document, shift_words, verify_document, verify_words

NUMERICAL = "numerical: the largest gain was searched for from many places, not proved"


def document_of(plan: Plan) -> dict[str, Any]:
    """The answer as JSON, SI."""
    one = plan.certificate
    force = forces_of(plan)
    load_point = plan.problem.load_point
    return {
        "criterion": plan.criterion,
        "value": plan.value,
        "bound": None if one is None else one.bound,
        "efficiency": None if one is None else one.efficiency,
        "certificate": None
        if one is None
        else {"kind": "numerical", "support": one.support, "starts": one.starts, "seed": one.seed},
        "joints": list(plan.problem.robot.joint_names),
        "experiments": [
            {
                "q": q.tolist(),
                "force": f.tolist(),
                "load_point": load_point,
                "markers": list(plan.problem.reading.markers),
                "repeats": int(repeats),
            }
            for q, f, repeats in zip(plan.stops.q.T, force.T, plan.repeats, strict=True)
        ],
        "attachment": plan.attachment_m,
        "predicted_std": plan.predicted_std,
        "held": dict(plan.held),
        "curve": [{"poses": p.poses, "value": p.value, "efficiency": p.efficiency} for p in plan.curve],
        "enough_poses": plan.enough_poses,
        "observe": plan.problem.reading.kind,
        "use": plan.use,
        "load_gain_part": plan.scale_part,
        **shift_document(plan),
        **({} if plan.verification is None else {"verify": verify_document(plan.verification)}),
        "finished": plan.finished,
        "notes": list(plan.notes),
        "seed": plan.seed,
        "seconds": plan.seconds,
    }


def sentences(plan: Plan) -> list[str]:
    """What the plan is and how good it is."""
    problem = plan.problem
    readings = problem.experiments * len(problem.reading.markers)
    said = [
        f"{_count(problem.experiments, 'experiment')} at {_count(problem.poses, 'pose')}: {readings} {_kinds(plan)} of "
        f"{', '.join(problem.reading.markers)}. {_pull(plan)}"
    ]
    if not plan.finished:
        said.append("Interrupted: this is the best plan so far, not the end of the search.")
    said.append(_value(plan))
    said.append(_certificate(plan))
    if plan.curve:
        said.append(_curve(plan))
    if plan.held:
        said.append(
            f"Held at nominal, what is read tells them not at all or only with others: {len(plan.held)} parameters."
        )
    said += shift_words(plan)
    return said if plan.verification is None else said + verify_words(plan.verification)


def value_text(value: float, criterion: str) -> str:
    """A value with its unit.

    >>> value_text(4.8e-7, "test"), value_text(0.5, "D")
    ('0.00048 mm', '0.5')
    """
    return f"{1e3 * value:.4g} mm" if criterion == "test" else f"{value:.4g}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _kinds(plan: Plan) -> str:
    return {"deflection": "deflections", "position": "positions", "pose": "poses"}[plan.problem.reading.kind]


def _pull(plan: Plan) -> str:
    pull = plan.problem.pull
    if pull is None:
        return "Nothing pulls."
    if isinstance(pull, FixedForce):
        x, y, z = pull.force_world
        return f"At '{pull.load_point}' pulls {x:g}, {y:g}, {z:g} N."
    if isinstance(pull, Cable):
        x, y, z = plan.attachment_m if plan.attachment_m is not None else (np.nan,) * 3
        chosen = " (chosen)" if pull.free.any() else ""
        return f"A cable pulls '{pull.load_point}' with {pull.force_n:g} N towards {x:.4g}, {y:.4g}, {z:.4g} m{chosen}."
    return f"{pull.force_n:g} N pull at '{pull.load_point}', in a direction chosen for every pose."


def _value(plan: Plan) -> str:
    if plan.criterion == "test":
        scale = f", {value_text(plan.scale_part, 'test')} of it by the load's gain" if plan.scale_part else ""
        return (
            f"After compensation with what these measurements tell, a marker is expected "
            f"{value_text(plan.value, 'test')} off (root mean square) at {plan.use}{scale}."
        )
    return f"Criterion {plan.criterion}: {value_text(plan.value, plan.criterion)}, parameters in their typical sizes."


def _certificate(plan: Plan) -> str:
    one = plan.certificate
    if one is None:
        return f"Criterion {plan.criterion} has no lower bound: how much better another plan could be is not known."
    size = _count(plan.problem.experiments, "experiment")
    return (
        f"No plan of {size} gets under {value_text(one.bound, plan.criterion)}: "
        f"efficiency {one.efficiency:.1%} ({NUMERICAL})."
    )


def _curve(plan: Plan) -> str:
    points = ", ".join(f"{p.poses}: {value_text(p.value, plan.criterion)}" for p in plan.curve)
    text = f"The same number of experiments at other numbers of poses: {points}."
    if plan.enough_poses is not None:
        enough = "One pose is" if plan.enough_poses == 1 else f"{plan.enough_poses} poses are"
        return f"{text} {enough} enough to be within {WITHIN:.0%} of the bound."
    if plan.certificate is not None:
        return f"{text} None of them is within {WITHIN:.0%} of the bound."
    return text
