"""Campaigns and tables back to files, so that reading them again gives the same bits.

A float is written as the shortest decimal that reads back to it, in SI by default.  Another unit is used
for a column only when every value of it survives the way to the file and back exactly: v -> v / f in the
file -> (v / f) f when read; columns that belong together (x y z, a force) share one unit.  About half of all
floats have no such inverse; `as_written` moves them by their last bit to one that has, for values that are
made here and may as well be made so.  A file appears whole or not at all: it is written under a temporary name
in the same folder and moved into place.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Floats, Ints
from stiffarm.measure.columns import POSE
from stiffarm.measure.loads import CABLE, WRENCH, pull_of_cable
from stiffarm.measure.settings import settings_path
from stiffarm.measure.settings_text import settings_text
from stiffarm.units import UNITS

Cells = Floats | Ints | Sequence[str] | pl.Series
_SI = {"length": "m", "angle": "rad", "force": "N", "torque": "N*m", "time": "s", "temperature": "degC"}


def write_campaign(campaign: Campaign, path: str | Path, *, units: str = "m,rad") -> None:
    """Write a campaign file, and its settings beside it when there is something to say.

    ``units`` names the units wished for, e.g. ``"mm,deg"``; a column that would not read back exactly stays in SI.
    """
    wished = _wished_units(units)
    columns = {name: cells for name, cells in _columns(campaign, wished).items() if cells is not None}
    write_table(path, list(columns), list(columns.values()))
    text = settings_text(campaign)
    if text:
        replace_file(settings_path(path), text.encode())


def write_table(path: str | Path, headers: Sequence[str], columns: Sequence[Cells]) -> None:
    """Write a CSV file; NaN and empty text become empty cells."""
    frame = pl.DataFrame([_cells(column).alias(header) for header, column in zip(headers, columns, strict=True)])
    buffer = io.BytesIO()
    frame.write_csv(buffer, null_value="", quote_style="necessary")
    replace_file(path, buffer.getvalue())


def replace_file(path: str | Path, content: bytes) -> None:
    """Write a file under a temporary name and move it into place."""
    target = Path(path)
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        if isinstance(error, OSError):
            what = f"the file cannot be written ({error.strerror})"
            raise InputError(Problem(what, file=str(path))) from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cells(column: Cells) -> pl.Series:
    series = column if isinstance(column, pl.Series) else pl.Series(column)
    if series.dtype == pl.String:
        return series.replace("", None)
    return series.fill_nan(None) if series.dtype == pl.Float64 else series


def _wished_units(units: str) -> dict[str, str]:
    """Unit of every dimension."""
    wished = dict(_SI)
    for symbol in filter(None, units.replace(" ", "").split(",")):
        if symbol not in UNITS:
            raise InputError(Problem(f"unit '{symbol}' is not known", allowed=" ".join(UNITS)))
        wished[UNITS[symbol].dimension] = symbol
    return wished


class _Builder(dict[str, Cells | None]):
    """Columns by header; numbers choose the unit in which they survive."""

    def __init__(self, units: Mapping[str, str]) -> None:
        super().__init__()
        self.units = units

    def text(self, name: str, names: Sequence[str], codes: Ints) -> None:
        """A column of names; left out when every cell is empty."""
        if (codes >= 0).any():
            self[name] = pl.Series([*names, ""], dtype=pl.String).gather(np.where(codes < 0, len(names), codes))

    def number(self, name: str, values: Floats | None, dimension: str | None = None) -> None:
        """A column of SI numbers; left out when every cell is empty."""
        if values is None or not np.isfinite(values).any():
            return
        if dimension is None:
            self[name] = values
        else:
            self.numbers((name,), values[None], dimension)

    def numbers(self, names: Sequence[str], values: Floats, dimension: str) -> None:
        """Columns (columns, rows) of SI numbers in one unit; those left out in which every cell is empty."""
        for unit in (self.units[dimension], _SI[dimension]):
            factor = UNITS[unit].factor
            in_file = values if factor == 1.0 else _nearest_inverse(values, factor)
            if in_file is not None:
                columns = zip(names, in_file, strict=True)
                self.update({f"{name}[{unit}]": column for name, column in columns if np.isfinite(column).any()})
                return


def as_written(campaign: Campaign, units: str) -> Campaign:
    """The campaign with its readings moved to the nearest ones that a file in these units can hold."""
    wished = _wished_units(units)
    length, angle = UNITS[wished["length"]].factor, UNITS[wished["angle"]].factor
    factor = np.repeat([length, angle], 3)[:, None]
    value = campaign.readings.value / factor * factor
    return replace(campaign, readings=replace(campaign.readings, value=value))


def _nearest_inverse(values: Floats, factor: float) -> Floats | None:
    """``x`` with ``x * factor == values`` exactly, or None when one of them has no such ``x``."""
    quotient = values / factor
    best = np.full_like(values, np.nan)
    for step in (quotient, np.nextafter(quotient, -np.inf), np.nextafter(quotient, np.inf)):
        best = np.where(np.isnan(best) & (step * factor == values), step, best)
    return best if np.array_equal(np.isnan(best), np.isnan(values)) else None


def _columns(campaign: Campaign, units: Mapping[str, str]) -> dict[str, Cells | None]:
    """Columns of a campaign file by header, in the order people read them."""
    readings = campaign.readings
    out = _Builder(units)
    out.text("experiment", campaign.experiments.names, readings.experiment)
    out["repeat"] = readings.repeat
    out.text("visit", campaign.visits, readings.visit)
    out.number("sequence", readings.sequence)
    out.number("time", readings.time_s, "time")
    out.text("setup", [setup.name for setup in campaign.setups], readings.setup)
    _add_joints(out, campaign)
    _add_loads(out, campaign)
    out.text("reference", campaign.experiments.names, readings.reference)
    out.text("observation", OBSERVATIONS, readings.kind)
    out.text("marker", campaign.markers, readings.marker)
    out.numbers(POSE[:3], readings.value[:3], "length")
    out.numbers(POSE[3:], readings.value[3:], "angle")
    out.text("target", campaign.targets, readings.target)
    out.text("target2", campaign.targets, readings.target2)
    out.number("distance", readings.distance_m, "length")
    out.number("radius", readings.radius_m, "length")
    sigmas = [f"sigma.{name}" for name in POSE]
    out.numbers(sigmas[:3], readings.sigma[:3], "length")
    out.numbers(sigmas[3:], readings.sigma[3:], "angle")
    out.number("sigma.distance", readings.sigma_distance_m, "length")
    out.update({header: pl.Series(cells, dtype=pl.String) for header, cells in campaign.extra.items()})
    return out


def _add_joints(out: _Builder, campaign: Campaign) -> None:
    """Joint values and states of the experiments, repeated in each of their rows."""
    experiments, at = campaign.experiments, campaign.readings.experiment
    kinds = campaign.joint_kinds or ("revolute",) * len(campaign.joints)
    families = (
        ("q", experiments.q, ("angle", "length")),
        ("encoder", experiments.encoder, ("angle", "length")),
        ("approach", experiments.approach, ()),
        ("sigma.q", experiments.sigma_q, ("angle", "length")),
        ("joint_torque", experiments.joint_torque, ("torque", "force")),
    )
    for family, values, dimensions in families:
        for index, (joint, kind) in enumerate(zip(campaign.joints, kinds, strict=True)):
            if values is None:
                continue
            dimension = dimensions[kind == "prismatic"] if dimensions else None
            out.number(f"{family}.{joint}", values[index][at], dimension)
    for name, degrees in experiments.temperature.items():
        out.number(f"temperature.{name}", degrees[at], "temperature")
    if experiments.sigma_force_n is not None:
        out.number("sigma.force", experiments.sigma_force_n[at], "force")


def _add_loads(out: _Builder, campaign: Campaign) -> None:
    """Cables as they were measured, every other load by its components at named points."""
    experiments, at = campaign.experiments, campaign.readings.experiment
    point = _cable_points(campaign)
    for index, name in enumerate(experiments.load_points):
        wrench = np.where((point == index) | (experiments.wrench_world[index] == 0.0), np.nan,
                          experiments.wrench_world[index])  # fmt: skip
        headers = [component.replace(".", f".{name}.") for component in WRENCH]
        out.numbers(headers[:3], wrench[:3, at], "force")
        out.numbers(headers[3:], wrench[3:, at], "torque")
    if experiments.cable_from_m is None or experiments.cable_to_m is None or experiments.tension_n is None:
        return
    cable = np.where(point >= -1, np.concatenate([experiments.cable_from_m, experiments.cable_to_m]), np.nan)
    out.numbers(CABLE, cable[:, at], "length")
    out.number("force", np.where(point >= -1, experiments.tension_n, np.nan)[at], "force")
    out.text("load_point", experiments.load_points, np.maximum(point, -1)[at])


def _cable_points(campaign: Campaign) -> Ints:
    """Load point of each experiment's cable; -1: it pulls nowhere, -2: it is not what the wrench says."""
    experiments = campaign.experiments
    nowhere = np.full(len(experiments), -2)
    if experiments.cable_from_m is None or experiments.cable_to_m is None or experiments.tension_n is None:
        return nowhere
    pull = np.zeros((6, len(experiments)))
    pull[:3] = pull_of_cable(experiments.cable_from_m, experiments.cable_to_m, experiments.tension_n)
    loaded = np.any(experiments.wrench_world != 0.0, axis=1)
    measured = np.isfinite(experiments.tension_n)
    point = np.where(measured & ~loaded.any(axis=0) & ~pull.any(axis=0), -1, nowhere)
    for index in range(len(experiments.load_points)):
        same = np.all(experiments.wrench_world[index] == pull, axis=0) & pull.any(axis=0)
        point = np.where(same & (loaded.sum(axis=0) == 1), index, point)
    return point.astype(np.int64)
