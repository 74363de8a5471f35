"""The model file `NAME.model.json`: an `Estimate` as JSON, and back to an equal object.

Keys are those of the format; what carries a unit carries it in the key (`rms[m]`).  Numbers that are not finite
are null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.identify.estimate import (
    Class,
    Domain,
    ErrorModel,
    Estimate,
    FitSummary,
    GeometryAlone,
    Held,
    Holdout,
    Outlier,
    ParameterEstimate,
    Provenance,
    RobotText,
    SetupEstimate,
    SharedErrors,
    TargetEstimate,
    Verdict,
)
from stiffarm.identify.json_file import read_json
from stiffarm.identify.pictures_file import remains_document, remains_of, uneven, unseen_document, unseen_of
from stiffarm.identify.separated_file import separation_document, separation_of
from stiffarm.identify.typed import misfit
from stiffarm.measure.writing import replace_file
from stiffarm.robot.arm import ZERO3

FORMAT = "stiffarm-model/1"


def document(estimate: Estimate) -> dict[str, Any]:
    """The estimate as plain dicts and lists."""
    e, holdout = estimate, estimate.holdout
    return {
        "format": FORMAT,
        "robot": {"file": e.robot.file, "text": e.robot.text, "groups": _lists(e.robot.groups)},
        "parameters": [_parameter(p) for p in e.parameters],
        "covariance": {
            "names": list(e.covariance_names),
            "values": [_plain(row) for row in e.covariance],
            "scale": [_plain(row) for row in e.scale_covariance],
        },
        "dropped": [{"name": d.name, "why": d.why} for d in e.dropped],
        "setups": [_setup(s) for s in e.setups],
        "targets": [_target(t) for t in e.targets],
        "outliers": [
            {"experiment": o.experiment, "marker": o.marker, "evidence": o.evidence, "action": o.action}
            for o in e.outliers
        ],
        "fit": {
            "n_rows": e.fit.n_rows,
            "dof": _finite(e.fit.dof),
            "rms[m]": _finite(e.fit.rms_m),
            "estimator": e.fit.estimator,
            "lack_of_fit": None if e.fit.lack_of_fit is None else dict(e.fit.lack_of_fit),
            "rank": e.fit.rank,
            "gap": _finite(e.fit.gap),
            "iterations": e.fit.iterations,
            "reading[m]": _finite(e.fit.reading_m),
            "scale_sigma": _finite(e.fit.scale_sigma),
            "shared_errors": dict(e.fit.shared_errors),
        },
        "domain": {
            "joints": _lists(e.domain.joints),
            "torque": _lists(e.domain.torque),
            "force": None if e.domain.force is None else list(e.domain.force),
            "temperature": _lists(e.domain.temperature),
        },
        "holdout": None
        if holdout is None
        else {
            "rule": holdout.rule,
            "rows": holdout.rows,
            "rms[m]": _finite(holdout.rms_m),
            "nominal_rms[m]": _finite(holdout.nominal_rms_m),
            "geometry_rms[m]": _finite(holdout.geometry_rms_m),
            "max[m]": _finite(holdout.max_m),
            "quantiles": _lists(holdout.quantiles),
            "unseen": None if holdout.unseen is None else unseen_document(holdout.unseen),
        },
        "verdict": {"usable": e.verdict.usable, "reasons": list(e.verdict.reasons)},
        "provenance": {
            "versions": dict(e.provenance.versions),
            "seed": e.provenance.seed,
            "files": dict(e.provenance.files),
            "command": e.provenance.command,
            "readings": list(e.provenance.readings),
        },
        "notes": list(e.notes),
        "errors": None if e.errors is None else _errors(e.errors),
        "remains": None if e.remains is None else remains_document(e.remains),
        "geometry_alone": None if e.geometry_alone is None else _alone(e.geometry_alone),
        "separation": [separation_document(one) for one in e.separations],
        "configurations": _lists(e.configurations),
    }


def write_estimate(estimate: Estimate, path: Path) -> None:
    """Write the model file, whole or not at all."""
    replace_file(path, (json.dumps(document(estimate), indent=1, allow_nan=False) + "\n").encode())


def read_estimate(path: str | Path) -> Estimate:
    """Read a model file; InputError says what is wrong with it."""
    file = str(path)
    data = read_json(Path(path))
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else data
        raise InputError(
            Problem("this is not a model file", file, column="format", found=found_text(found), allowed=FORMAT)
        )
    try:
        return checked(estimate_of(data))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            Problem(
                "the model file is damaged",
                file,
                found=f"{type(error).__name__}: {error}"[:80],
                next_step="Write it again with stiffarm identify",
            )
        ) from None


def checked(estimate: Estimate) -> Estimate:
    """The estimate, when its parts are of the types and sizes they must have; ValueError otherwise."""
    size = len(estimate.covariance_names)
    sizes = [("covariance", estimate.covariance, (size, size))]
    if estimate.scale_covariance:
        sizes.append(("covariance.scale", estimate.scale_covariance, (size, size)))
    said = misfit(estimate, Estimate)
    for setup in () if said else estimate.setups:
        rows = (("xyz", (setup.xyz,)), ("rotvec", (setup.rotvec,)), ("tool_rotvec", (setup.tool_rotvec or ZERO3,)))
        sizes += [(f"setups[{setup.name}].{key}", value, (1, 3)) for key, value in rows]
        places = tuple(place for _, place in setup.markers)
        sizes.append((f"setups[{setup.name}].markers", places, (len(places), 3)))
        for key, wide in (("covariance", 6), ("scale", 6), ("cross", size), ("scale_cross", size)):
            matrix = getattr(setup, key)
            sizes += [] if matrix is None else [(f"setups[{setup.name}].{key}", matrix, (6, wide))]
    for key, value, (tall, wide) in () if said else sizes:
        if len(value) != tall or any(len(row) != wide for row in value):
            said = said or f"{key} is not of size {tall} by {wide}"
    said = said or uneven(estimate)
    if said:
        raise ValueError(said)
    return estimate


def estimate_of(data: Mapping[str, Any]) -> Estimate:
    """The estimate a document stands for."""
    robot = data["robot"]
    text = RobotText(robot, "") if isinstance(robot, str) else _robot(robot)
    fit, holdout, domain, origin = data["fit"], data.get("holdout"), data["domain"], data["provenance"]
    return Estimate(
        robot=text,
        parameters=tuple(_parameter_of(p) for p in data["parameters"]),
        covariance_names=tuple(data["covariance"]["names"]),
        covariance=tuple(_numbers(row) for row in data["covariance"]["values"]),
        dropped=tuple(Held(d["name"], d["why"]) for d in data["dropped"]),
        setups=tuple(_setup_of(s) for s in data["setups"]),
        outliers=tuple(
            Outlier(o["experiment"], o["marker"], str(o["evidence"]), o["action"]) for o in data["outliers"]
        ),
        fit=FitSummary(
            fit.get("n_rows", 0),
            fit.get("dof"),
            fit.get("rms[m]"),
            fit.get("estimator", "none"),
            fit.get("lack_of_fit"),
            fit.get("rank", 0),
            fit.get("gap"),
            fit.get("iterations", 0),
            fit.get("reading[m]"),
            fit.get("shared_errors", {}),
            fit.get("scale_sigma"),
        ),
        domain=Domain(
            _ranges(domain.get("joints")),
            _ranges(domain.get("torque")),
            _range(domain.get("force")),
            _ranges(domain.get("temperature")),
        ),
        holdout=None if holdout is None else _holdout_of(holdout),
        verdict=Verdict(bool(data["verdict"]["usable"]), tuple(data["verdict"]["reasons"])),
        provenance=Provenance(
            origin.get("versions", {}),
            origin.get("seed", 0),
            origin.get("files", {}),
            origin.get("command", ""),
            tuple(origin.get("readings", ())),
        ),
        scale_covariance=tuple(_numbers(row) for row in data["covariance"].get("scale", ())),
        notes=tuple(data.get("notes", ())),
        errors=None if data.get("errors") is None else errors_of(data["errors"]),
        remains=None if data.get("remains") is None else remains_of(data["remains"]),
        geometry_alone=None if data.get("geometry_alone") is None else _alone_of(data["geometry_alone"]),
        separations=tuple(separation_of(one) for one in data.get("separation", ())),
        targets=tuple(_target_of(t) for t in data.get("targets", ())),
        configurations={name: _numbers(q) for name, q in data.get("configurations", {}).items()},
    )


def _target(target: TargetEstimate) -> dict[str, Any]:
    """Position of a point or centre, or a plane's normal, by the keys of its kind."""
    keys = {"touch": ("xyz", ""), "plane": ("normal", "distance[m]"), "sphere": ("xyz", "radius[m]")}[target.shape]
    own: dict[str, Any] = {key: x for key, x in zip(keys, (list(target.xyz), target.size), strict=True) if key}
    return {"name": target.name, "kind": target.shape, **own, "touches": target.touches, "rms[m]": target.rms}


def _target_of(data: Mapping[str, Any]) -> TargetEstimate:
    size = data.get("distance[m]", data.get("radius[m]"))
    place = _numbers(data["normal"] if data["kind"] == "plane" else data["xyz"])
    return TargetEstimate(data["name"], data["kind"], place, size, data["touches"], data["rms[m]"])


def _robot(robot: Mapping[str, Any]) -> RobotText:
    return RobotText(robot["file"], robot["text"], {k: _numbers(v) for k, v in robot.get("groups", {}).items()})


def _holdout_of(holdout: Mapping[str, Any]) -> Holdout:
    return Holdout(
        holdout["rule"],
        holdout["rows"],
        holdout["rms[m]"],
        holdout["nominal_rms[m]"],
        holdout.get("geometry_rms[m]"),
        holdout.get("max[m]"),
        {key: _numbers(values) for key, values in holdout.get("quantiles", {}).items()},
        None if holdout.get("unseen") is None else unseen_of(holdout["unseen"]),
    )


def _parameter(p: ParameterEstimate) -> dict[str, Any]:
    numbers = {key: _finite(getattr(p, key)) for key in ("std", "low", "high", "level", "nu")}
    own = {"name": p.name, "unit": p.unit, "value": _finite(p.value), "nominal": p.nominal}
    return {**own, **numbers, "class": p.kind, "merged": list(p.merged)}


def _parameter_of(p: Mapping[str, Any]) -> ParameterEstimate:
    numbers = (p["std"], p["low"], p["high"], p["level"], p["nu"])
    kind: Class = p["class"] or "identifiable"
    return ParameterEstimate(p["name"], p["unit"], p["value"], p["nominal"], *numbers, kind, tuple(p["merged"] or ()))


def _setup(s: SetupEstimate) -> dict[str, Any]:
    return {
        "name": s.name,
        "xyz": list(s.xyz),
        "rotvec": list(s.rotvec),
        "markers": {name: list(place) for name, place in s.markers},
        "tool_rotvec": None if s.tool_rotvec is None else list(s.tool_rotvec),
        **{key: _matrix(getattr(s, key)) for key in ("covariance", "cross", "scale", "scale_cross")},
    }


def _setup_of(s: Mapping[str, Any]) -> SetupEstimate:
    tool = s.get("tool_rotvec")
    return SetupEstimate(
        s["name"],
        _numbers(s["xyz"]),
        _numbers(s["rotvec"]),
        tuple((name, _numbers(place)) for name, place in s.get("markers", {}).items()),
        None if tool is None else _numbers(tool),
        *(_matrix_of(s.get(key)) for key in ("covariance", "cross", "scale", "scale_cross")),
    )


def _matrix(rows: Sequence[Sequence[float]] | None) -> list[list[float]] | None:
    return None if rows is None else [list(row) for row in rows]


def _matrix_of(rows: Sequence[Sequence[float]] | None) -> tuple[tuple[float, ...], ...] | None:
    return None if rows is None else tuple(_numbers(row) for row in rows)


def _errors(e: ErrorModel) -> dict[str, Any]:
    return {
        "reading[m]": None if e.reading_m is None else list(e.reading_m),
        "reading_source": e.reading_source,
        "stop": None if e.stop is None else _shared(e.stop),
        "configuration": None if e.configuration is None else _shared(e.configuration),
        "excess[m]": None if e.excess_m is None else list(e.excess_m),
        "load": {"gain_sigma": e.load_gain_sigma, "direction_sigma[rad]": e.load_direction_sigma_rad},
        "markers": list(e.markers),
        "difference": e.difference,
    }


def errors_of(e: Mapping[str, Any]) -> ErrorModel:
    """What a document says of the errors that no parameter carries."""
    reading, excess, load = e["reading[m]"], e["excess[m]"], e["load"]
    return ErrorModel(
        None if reading is None else _numbers(reading),
        e["reading_source"],
        _shared_of(e["stop"]),
        _shared_of(e["configuration"]),
        None if excess is None else _numbers(excess),
        load["gain_sigma"],
        load["direction_sigma[rad]"],
        tuple(e["markers"]),
        e["difference"],
    )


def _shared(shared: SharedErrors) -> dict[str, Any]:
    return {
        "translation[m]": shared.translation_m,
        "rotation[rad]": shared.rotation_rad,
        "source": shared.source,
    }


def _shared_of(shared: Mapping[str, Any] | None) -> SharedErrors | None:
    if shared is None:
        return None
    return SharedErrors(shared["translation[m]"], shared["rotation[rad]"], shared["source"])


def _alone(alone: GeometryAlone) -> dict[str, Any]:
    setups = [{"name": name, "xyz": list(xyz), "rotvec": list(rotvec)} for name, xyz, rotvec in alone.frames]
    return {"values": dict(alone.values), "setups": setups}


def _alone_of(alone: Mapping[str, Any]) -> GeometryAlone:
    frames = tuple((s["name"], _numbers(s["xyz"]), _numbers(s["rotvec"])) for s in alone["setups"])
    return GeometryAlone({name: float(value) for name, value in alone["values"].items()}, frames)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def _plain(values: Sequence[float]) -> list[float | None]:
    return [_finite(v) for v in values]


def _lists(table: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    return {key: list(values) for key, values in table.items()}


def _range(values: Sequence[float] | None) -> tuple[float, float] | None:
    return None if values is None else (float(values[0]), float(values[1]))


def _ranges(table: Mapping[str, Sequence[float] | None] | None) -> dict[str, tuple[float, float]]:
    found = {key: _range(values) for key, values in (table or {}).items()}
    return {key: values for key, values in found.items() if values is not None}
