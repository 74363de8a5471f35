"""Campaigns and tables back to files, so that reading them again gives the same bits.

A float is written as the shortest decimal that reads back to it, in SI by default.  Another unit is used
for columns of one kind (x y z, say) only when every value of them survives the way to the file and back exactly:
v -> x near v / f in the file, with as few decimals as will do -> x f = v when read.  About half of all floats have no
such x; `as_written` moves them by their last bit to one that has, for values that are made here and may as well be made
so.  A file appears whole or not at all: it is written under a temporary name in the same folder and moved into place.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_POSE_DIMENSIONS = ("length",) * 3 + ("angle",) * 3
FEW_DECIMALS = (1, 3, 6, 9)
LARGEST_COUNT = 2**53
_SI = {"length": "m", "angle": "rad", "force": "N", "torque": "N*m", "time": "s", "temperature": "degC"}


def write_campaign(campaign: Campaign, path: str | Path, *, units: str = "m,rad") -> None:
    """Write a campaign file, and its settings beside it when there is something to say.

    ``units`` names the units wished for, e.g. ``"mm,deg"``; a column that would not read back exactly stays in SI.
    """
    write_frame(path, campaign_frame(campaign, units))
    text = settings_text(campaign)
    if text:
        replace_file(settings_path(path), text.encode())


def campaign_frame(campaign: Campaign, units: str = "m,rad") -> pl.DataFrame:
    """The columns of a campaign file; null where a cell is empty."""
    found = _columns(campaign, _wished_units(units))
    columns = {name: cells for name, cells in found.items() if cells is not None}
    return pl.DataFrame([_cells(column).alias(header) for header, column in columns.items()])


def write_table(path: str | Path, headers: Sequence[str], columns: Sequence[Cells]) -> None:
    """Write a CSV file; NaN and empty text become empty cells."""
    write_frame(
        path, pl.DataFrame([_cells(column).alias(header) for header, column in zip(headers, columns, strict=True)])
    )


def write_frame(path: str | Path, frame: pl.DataFrame) -> None:
    """Write a frame as a CSV file; null becomes an empty cell."""
    buffer = io.BytesIO()
    frame.write_csv(buffer, null_value="", quote_style="necessary")
    replace_file(path, buffer.getvalue())


def replace_file(path: str | Path, content: bytes) -> None:
    """Write a file under a temporary name and move it into place; into a pipe or a device as it is.

    A device must not be moved away: as root, an answer sent to the null device would take its place.
    """
    target = Path(path)
    temporary: str | None = None
    try:
        if target.exists() and not target.is_file() and not target.is_dir():
            target.write_bytes(content)
            return
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
            step = "Close the file where it is open (a spreadsheet locks it), or choose another name"
            busy = isinstance(error, PermissionError)
            raise InputError(Problem(what, file=str(path), next_step=step if busy else None)) from None
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

    def count(self, name: str, values: Floats | None) -> None:
        """A column of numbers without a unit; left out when every cell is empty."""
        if values is None or not np.isfinite(values).any():
            return
        whole = bool(np.all(np.isnan(values) | (values == np.rint(values))))
        cells = pl.Series(values).fill_nan(None)
        self[name] = cells.cast(pl.Int64) if whole and np.nanmax(np.abs(values)) < LARGEST_COUNT else values

    def number(self, name: str, values: Floats | None, dimension: str) -> None:
        """A column of SI numbers; left out when every cell is empty."""
        self.numbers([(name, values, dimension)])

    def numbers(self, columns: Iterable[tuple[str, Floats | None, str]]) -> None:
        """Columns of one family (name, SI values, dimension), without the empty ones.

        Those of one dimension share their unit: the wished one if every value of all of them survives in it.
        """
        known = [(name, v, d) for name, v, d in columns if v is not None and np.isfinite(v).any()]
        in_file = {name: _exact_inverse(v, UNITS[self.units[d]].factor) for name, v, d in known}
        lost = {dimension for name, _, dimension in known if in_file[name] is None}
        for name, values, dimension in known:
            survived = None if dimension in lost else in_file[name]
            unit = _SI[dimension] if survived is None else self.units[dimension]
            self[f"{name}[{unit}]"] = values if survived is None else survived


def as_written(campaign: Campaign, units: str) -> Campaign:
    """The campaign with its readings moved to the nearest ones that a file in these units can hold."""
    wished = _wished_units(units)
    length, angle = UNITS[wished["length"]].factor, UNITS[wished["angle"]].factor
    factor = np.repeat([length, angle], 3)[:, None]
    value = campaign.readings.value / factor * factor
    return replace(campaign, readings=replace(campaign.readings, value=value))


def _exact_inverse(values: Floats, factor: float) -> Floats | None:
    """``x`` with ``x * factor == values`` exactly, or None when one of them has no such ``x``.

    >>> float(_exact_inverse(np.array([-62.21 * UNITS["deg"].factor]), UNITS["deg"].factor)[0])
    -62.21
    """
    if factor == 1.0:
        return values
    quotient = values / factor
    best, missing = np.full_like(values, np.nan), np.isfinite(values)
    for candidate in _near(quotient):
        found = missing & (candidate * factor == values)
        best[found] = candidate[found]
        missing &= ~found
        if not missing.any():
            return best
    return None


def _near(quotient: Floats) -> Iterator[Floats]:
    """Numbers with few decimals first, then the two neighbours on either side."""
    yield from (np.round(quotient, decimals) for decimals in FEW_DECIMALS)
    yield quotient
    for side in (-np.inf, np.inf):
        neighbour = np.nextafter(quotient, side)
        yield neighbour
        yield np.nextafter(neighbour, side)


def _columns(campaign: Campaign, units: Mapping[str, str]) -> dict[str, Cells | None]:
    """Columns of a campaign file by header, in the order people read them."""
    readings = campaign.readings
    out = _Builder(units)
    out.text("experiment", campaign.experiments.names, readings.experiment)
    out["repeat"] = readings.repeat
    out.text("visit", campaign.visits, readings.visit)
    out.count("sequence", readings.sequence)
    out.number("time", readings.time_s, "time")
    out.text("setup", [setup.name for setup in campaign.setups], readings.setup)
    _add_joints(out, campaign)
    _add_loads(out, campaign)
    out.text("reference", campaign.experiments.names, readings.reference)
    out.text("observation", OBSERVATIONS, readings.kind)
    out.text("marker", campaign.markers, readings.marker)
    out.numbers(zip(POSE, readings.value, _POSE_DIMENSIONS, strict=True))
    out.text("target", campaign.targets, readings.target)
    out.text("target2", campaign.targets, readings.target2)
    out.number("distance", readings.distance_m, "length")
    out.number("radius", readings.radius_m, "length")
    out.numbers(zip((f"sigma.{name}" for name in POSE), readings.sigma, _POSE_DIMENSIONS, strict=True))
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
        ("sigma.q", experiments.sigma_q, ("angle", "length")),
        ("joint_torque", experiments.joint_torque, ("torque", "force")),
    )
    for family, values, dimensions in families:
        if values is not None:
            own = [dimensions[kind == "prismatic"] for kind in kinds]
            out.numbers(zip((f"{family}.{joint}" for joint in campaign.joints), values[:, at], own, strict=True))
    if experiments.approach is not None:
        for joint, side in zip(campaign.joints, experiments.approach[:, at], strict=True):
            out.count(f"approach.{joint}", side)
    for name, degrees in experiments.temperature.items():
        out.number(f"temperature.{name}", degrees[at], "temperature")
    if experiments.sigma_force_n is not None:
        out.number("sigma.force", experiments.sigma_force_n[at], "force")


def _add_loads(out: _Builder, campaign: Campaign) -> None:
    """Cables as they were measured, every other load by its components, at named points unless there is but one."""
    experiments, at = campaign.experiments, campaign.readings.experiment
    point = _cable_points(campaign)
    cables = experiments.cable_from_m, experiments.cable_to_m, experiments.tension_n
    alone = len(experiments.load_points) == 1 and all(cable is None for cable in cables)
    if alone:
        loaded = experiments.wrench_world[0].any(axis=0)
        out.text("load_point", experiments.load_points, np.where(loaded, 0, -1)[at])
    for index, name in enumerate(experiments.load_points):
        wrench = experiments.wrench_world[index]
        wrench = np.where((point == index) | (wrench == 0.0), np.nan, wrench)
        names = (c if alone else c.replace(".", f".{name}.") for c in WRENCH)
        out.numbers(zip(names, wrench[:, at], ("force",) * 3 + ("torque",) * 3, strict=True))
    start, end, tension = cables
    if start is None or end is None or tension is None:
        return
    cable = np.where(point >= -1, np.concatenate([start, end]), np.nan)
    out.numbers((name, values[at], "length") for name, values in zip(CABLE, cable, strict=True))
    out.number("force", np.where(point >= -1, tension, np.nan)[at], "force")
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
