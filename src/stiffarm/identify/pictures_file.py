"""The parts of a model file that its pictures are drawn from: residuals, errors on readings that were not fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stiffarm.identify.estimate import Estimate, Remains, UnseenErrors


def remains_document(r: Remains) -> dict[str, Any]:
    """Residuals as plain lists."""
    columns = {"experiment": list(r.experiment), "setup": list(r.setup), "marker": list(r.marker)}
    means = [None if one is None else list(one) for one in r.mean_m]
    return {**columns, "rms[m]": list(r.rms_m), "mean[m]": means, "of": r.of}


def remains_of(r: Mapping[str, Any]) -> Remains:
    """Residuals of a document; older files have no means."""
    names = (tuple(r["experiment"]), tuple(r["setup"]), tuple(r["marker"]))
    means = tuple(None if one is None else _numbers(one) for one in r.get("mean[m]", ()))
    return Remains(*names, _numbers(r["rms[m]"]), r["of"], means)


def unseen_document(u: UnseenErrors) -> dict[str, Any]:
    """Errors on readings that were not fitted as plain lists."""
    columns = {"experiment": list(u.experiment), "setup": list(u.setup), "marker": list(u.marker)}
    return {**columns, "errors[m]": {key: list(values) for key, values in u.errors_m.items()}, "of": u.of}


def unseen_of(u: Mapping[str, Any]) -> UnseenErrors:
    """Errors on readings that were not fitted, of a document."""
    errors = {key: _numbers(values) for key, values in u["errors[m]"].items()}
    return UnseenErrors(tuple(u["experiment"]), tuple(u["setup"]), tuple(u["marker"]), errors, u["of"])


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(v) for v in values)


def uneven(estimate: Estimate) -> str | None:
    """What pictures are made of, when it does not fit together."""
    r, unseen = estimate.remains, None if estimate.holdout is None else estimate.holdout.unseen
    if r is not None:
        lengths = {len(r.experiment), len(r.setup), len(r.marker), len(r.rms_m), len(r.mean_m) or len(r.rms_m)}
        if len(lengths) > 1:
            return "remains: its lists are not of one length"
        if any(one is not None and len(one) != 3 for one in r.mean_m):
            return "remains: a mean residual has not three numbers"
    if unseen is not None:
        columns = (unseen.experiment, unseen.setup, unseen.marker, *unseen.errors_m.values())
        if len({len(column) for column in columns}) > 1:
            return "holdout.unseen: its lists are not of one length"
    return None if len({len(q) for q in estimate.configurations.values()}) < 2 else "configurations: not of one length"
