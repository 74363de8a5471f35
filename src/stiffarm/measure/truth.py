"""The truth of a virtual experiment: drawn at random around a model, and written down.

A spread is a standard deviation for every parameter that matches a pattern: ``A*.offset=0.1 mrad`` in a unit, or
``*.compliance=20 %`` of the value.  In a unit it is for those that have its dimension: ``A*.*=0.1 mm`` is for lengths.
Compliances that cannot be negative are reflected at zero; where patterns overlap, the last one wins.  The draw of a
parameter depends on the seed and its place in the model only, so that spreading one parameter more leaves the others
where they were.

The truth is written in the format of a model file, with every parameter of the robot, no covariance, the outliers
that were planted and by what the loads differed from what is stated, so that whatever reads a model reads a truth.
"""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from stiffarm import __version__
from stiffarm.errors import InputError, Problem, found_text
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.measure.virtual import VirtualCampaign, stream
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.parameters import Parameter, Values, select
from stiffarm.robot.placement import Rigid, vector_from_rotation
from stiffarm.units import UNITS, units_of

FORMAT = "stiffarm-model/1"
PERCENT = "%"
_SPREAD = re.compile(r"^\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)\s*$")
_PAIR = re.compile(r"\[(\w+),(\w+)\]$")


@dataclass(frozen=True)
class Spread:
    """Standard deviation of the truth about its centre, for the parameters that match a pattern."""

    pattern: str
    sigma: float
    """In ``unit``."""
    unit: str
    """A unit of files, the parameter's own unit, or ``%`` of the value."""

    @staticmethod
    def parse(text: str) -> Spread:
        """From ``PATTERN=SIGMA``.

        >>> Spread.parse("A*.offset=0.1 mrad"), Spread.parse("*.compliance=20%")
        (Spread(pattern='A*.offset', sigma=0.1, unit='mrad'), Spread(pattern='*.compliance', sigma=20.0, unit='%'))
        """
        pattern, equals, sigma = text.partition("=")
        match = _SPREAD.match(sigma)
        if not equals or not pattern.strip() or match is None or not 0.0 <= float(match[1]) < math.inf:
            raise InputError(
                Problem(
                    "a spread is a pattern of parameter names and a standard deviation",
                    column="--spread",
                    found=found_text(text),
                    allowed="PATTERN=SIGMA, SIGMA a number, not negative, with a unit or %",
                    next_step='Write for instance --spread "*.compliance=20 %"',
                )
            )
        return Spread(pattern.strip(), float(match[1]), match[2] or "1")


def random_truth(
    model: ArmModel, spreads: Iterable[Spread | tuple[str, float]], seed: int, centre: Values | None = None
) -> dict[str, float]:
    """Values of every parameter: normal draws about ``centre`` (default: nominal) for those that match a spread.

    A pair (pattern, sigma) is in SI.
    """
    values = {**model.nominal, **(centre or {})}
    draws = dict(zip(values, stream(seed, "truth").standard_normal(len(values)), strict=True))
    drawn: dict[str, float] = {}
    for spread in spreads:
        matching = select(model.parameters, [spread.pattern if isinstance(spread, Spread) else spread[0]])
        sigmas = {p: sigma for p in matching if (sigma := _sigma(p, spread, values[p.name])) is not None}
        if isinstance(spread, Spread):
            _check(spread, matching, tuple(sigmas.values()))
        for parameter, sigma in sigmas.items():
            value = values[parameter.name] + sigma * float(draws[parameter.name])
            drawn[parameter.name] = abs(value) if _never_negative(parameter) else value
    return values | drawn


def _sigma(parameter: Parameter, spread: Spread | tuple[str, float], value: float) -> float | None:
    """Standard deviation in SI; None for a parameter of another dimension."""
    if not isinstance(spread, Spread):
        return spread[1]
    if spread.unit == PERCENT:
        return spread.sigma / 100.0 * abs(value)
    if spread.unit == parameter.unit:
        return spread.sigma
    given, own = UNITS.get(spread.unit), UNITS.get(parameter.unit)
    return given.to_si(spread.sigma) if given and own and given.dimension == own.dimension else None


def _check(spread: Spread, matching: tuple[Parameter, ...], sigmas: tuple[float, ...]) -> None:
    """A spread must be for one parameter at least, and change one unless it is zero."""
    if not sigmas:
        dimensions = {UNITS[p.unit].dimension for p in matching if p.unit in UNITS}
        allowed = dict.fromkeys([*(p.unit for p in matching), *units_of(*dimensions), PERCENT])
        raise InputError(
            Problem(
                f"the spread of {spread.pattern} has an impossible unit",
                column="--spread",
                found=found_text(f"{spread.pattern}={spread.sigma:g} {spread.unit}"),
                allowed=" ".join(allowed),
            )
        )
    if spread.unit == PERCENT and spread.sigma and not any(sigmas):
        raise InputError(_nothing_to_scale(spread, matching))


def _nothing_to_scale(spread: Spread, matching: tuple[Parameter, ...]) -> Problem:
    return Problem(
        "a share of zero is zero: every parameter that matches has the value 0",
        column="--spread",
        found=found_text(f"{spread.pattern}={spread.sigma:g} %"),
        allowed=f"a standard deviation in {matching[0].unit}, or parameters with a value",
    )


def _never_negative(parameter: Parameter) -> bool:
    """Compliances of joints and on the diagonal of links; masses."""
    if parameter.unit == "kg":
        return True
    pair = _PAIR.search(parameter.name)
    return parameter.elastic and (pair is None or pair[1] == pair[2])


def truth_document(
    virtual: VirtualCampaign, model: ArmModel, values: Values, *, robot: str | Mapping[str, Any], command: str = ""
) -> dict[str, Any]:
    """The truth as the object of a model file; ``robot`` names its file or the packaged robot, or is the file."""
    full = {**model.nominal, **values}
    return {
        "format": FORMAT,
        "robot": robot if isinstance(robot, str) else dict(robot),
        "parameters": [_parameter_entry(p, full[p.name]) for p in model.parameters],
        "covariance": {"names": [], "values": []},
        "dropped": [],
        "setups": [_setup_entry(name, frame, model, full) for name, frame in virtual.frames.items()],
        "outliers": _outlier_entries(virtual),
        "departures": [asdict(error) for error in virtual.departures],
        "fit": {},
        "domain": _domain(virtual.campaign),
        "holdout": None,
        "verdict": {"usable": True, "reasons": ["truth of a simulation"]},
        "provenance": {
            "seed": virtual.seed,
            "versions": {"stiffarm": __version__, "numpy": np.__version__, "python": platform.python_version()},
            "command": command,
        },
    }


def _parameter_entry(parameter: Parameter, value: float) -> dict[str, Any]:
    unknown = dict.fromkeys(("std", "low", "high", "level", "nu", "class", "merged"))
    own = {"name": parameter.name, "unit": parameter.unit, "value": value, "nominal": parameter.nominal}
    return {**own, **unknown}


def _setup_entry(name: str, frame: Rigid, model: ArmModel, values: Values) -> dict[str, Any]:
    markers = {m: [values[f"tool.{m}.{axis}"] for axis in "xyz"] for m in model.robot.marker_names}
    return {
        "name": name,
        "xyz": frame.translation.tolist(),
        "rotvec": vector_from_rotation(frame.rotation).tolist(),
        "markers": markers,
        "tool_rotvec": [values[f"tool.{axis}"] for axis in ("rx", "ry", "rz")],
        "covariance": None,
    }


def _outlier_entries(virtual: VirtualCampaign) -> list[dict[str, Any]]:
    campaign, readings = virtual.campaign, virtual.campaign.readings
    return [
        {
            "experiment": campaign.experiments.names[readings.experiment[row]],
            "marker": DEFAULT_MARKER if readings.marker[row] < 0 else campaign.markers[readings.marker[row]],
            "evidence": float(sigmas),
            "action": "moved",
            "repeat": int(readings.repeat[row]),
            "row": int(readings.row[row]),
        }
        for row, sigmas in zip(virtual.outliers, virtual.outlier_sigmas, strict=True)
    ]


def _domain(campaign: Campaign) -> dict[str, Any]:
    """Ranges of joints and external force over the experiments."""
    experiments = campaign.experiments
    force = np.linalg.norm(experiments.wrench_world[:, :3].sum(axis=0), axis=0) if len(experiments) else np.zeros(0)
    return {
        "joints": {name: _range(q) for name, q in zip(campaign.joints, experiments.q, strict=True)},
        "force": _range(force),
        "temperature": {name: _range(values) for name, values in experiments.temperature.items()},
    }


def _range(values: Any) -> list[float] | None:
    known = values[np.isfinite(values)]
    return [float(known.min()), float(known.max())] if known.size else None
