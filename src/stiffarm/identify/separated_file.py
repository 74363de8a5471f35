"""A separation in the model file: under the key ``separation``, one object for each joint (SI)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stiffarm.identify.separated import Candidate, Separation, Split


def separation_document(one: Separation) -> dict[str, Any]:
    """As plain dicts and lists; what follows from the rest (``sentences``, ``curve_rms``) stands there for readers."""
    return {
        "joint": one.joint,
        "angles": list(one.angles),
        "chosen": one.chosen,
        "why": one.why,
        "sentences": list(one.sentences),
        "models": [_candidate(candidate) for candidate in one.candidates],
    }


def _candidate(one: Candidate) -> dict[str, Any]:
    split = one.split
    return {
        "kind": one.kind,
        "stiffness": list(one.stiffness),
        "std": list(one.std),
        "curve_rms": one.curve_rms,
        "bic": one.bic,
        "held_out": one.held_out,
        "split": None
        if split is None
        else {
            "parameters": [
                {"name": name, "value": value, "std": std}
                for name, value, std in zip(split.names, split.values, split.std, strict=True)
            ],
            "at_bound": list(split.at_bound),
            "torque": None if split.torque is None else list(split.torque),
            "told": split.told,
        },
    }


def separation_of(data: Mapping[str, Any]) -> Separation:
    """The separation a document stands for."""
    return Separation(
        data["joint"],
        _numbers(data["angles"]),
        tuple(_candidate_of(one) for one in data["models"]),
        data["chosen"],
        data["why"],
    )


def _candidate_of(data: Mapping[str, Any]) -> Candidate:
    return Candidate(
        data["kind"],
        _numbers(data["stiffness"]),
        _numbers(data["std"]),
        data["bic"],
        data["held_out"],
        None if data["split"] is None else _split_of(data["split"]),
    )


def _split_of(data: Mapping[str, Any]) -> Split:
    numbers = data["parameters"]
    return Split(
        tuple(one["name"] for one in numbers),
        _numbers([one["value"] for one in numbers]),
        _numbers([one["std"] for one in numbers]),
        tuple(data["at_bound"]),
        None if data["torque"] is None else (data["torque"][0], data["torque"][1]),
    )


def _numbers(values: list[float]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)
