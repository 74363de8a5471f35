"""A plan of touches in words and as a document."""

from __future__ import annotations

from typing import Any

import numpy as np

from stiffarm.plan.problem import FixedForce
from stiffarm.plan.touches import TouchPlan
from stiffarm.plan.words import value_text

OFFERED = "of the places and postures that were tried; numerical"


def document_of(plan: TouchPlan) -> dict[str, Any]:
    """The answer as JSON, SI."""
    pull = plan.pull if isinstance(plan.pull, FixedForce) else None
    force = [0.0, 0.0, 0.0] if pull is None else list(pull.force_world)
    return {
        "criterion": plan.criterion,
        "value": plan.value,
        "bound": plan.bound,
        "efficiency": None if plan.bound is None else plan.bound / plan.value,
        "joints": list(plan.robot.joint_names),
        "experiments": [
            {
                "q": q.tolist(),
                "force": force,
                "load_point": None if pull is None else pull.load_point,
                "markers": [plan.marker],
                "repeats": 1,
                "target": f"T{i + 1}",
            }
            for i, own in enumerate(plan.q)
            for q in own.T
        ],
        "attachment": None,
        "places[m]": plan.places_m.tolist(),
        "known_length": plan.length_known,
        "predicted_std": dict(plan.predicted_std),
        "held": dict(plan.held),
        "curve": [{"points": points, "value": value} for points, value in plan.curve.items()],
        "observe": "touch",
        "use": plan.use,
        "finished": plan.finished,
        "notes": list(plan.notes),
        "seed": plan.seed,
        "seconds": plan.seconds,
    }


def sentences(plan: TouchPlan) -> list[str]:
    """Where to touch, how often, how good that is."""
    each = ", ".join(str(one.shape[1]) for one in plan.q)
    said = [
        f"{plan.touches} touches by '{plan.marker}' of {len(plan.q)} points ({each} times), each in another posture. "
        "Fix the points about here (world, m; they need not be measured): "
        + "; ".join(f"T{i + 1} {_place(at)}" for i, at in enumerate(plan.places_m))
        + "."
    ]
    if plan.length_known:
        said.append("Measure the distance between T1 and T2 and write it into the plan's distance row.")
    if not plan.finished:
        said.append("Interrupted: this is the best plan so far, not the end of the search.")
    worth = f"{value_text(plan.value, plan.criterion)}"
    if plan.criterion == "test":
        said.append(f"With what they tell, the tool is expected {worth} off (root mean square) at {plan.use}.")
    else:
        said.append(f"Criterion {plan.criterion}: {worth}, parameters in their typical sizes.")
    if plan.bound is not None:
        said.append(
            f"No {plan.touches} touches get under {value_text(plan.bound, plan.criterion)} ({OFFERED}): efficiency "
            f"{plan.bound / plan.value:.0%}."
        )
    if len(plan.curve) > 1:
        points = ", ".join(f"{n}: {value_text(value, plan.criterion)}" for n, value in plan.curve.items())
        said.append(f"As many touches of other numbers of points: {points}.")
    if plan.held:
        said.append(f"Held at nominal, touches tell them not at all or only with others: {len(plan.held)} parameters.")
    return said


def _place(at: np.ndarray) -> str:
    return " ".join(f"{value:.2f}" for value in at)
