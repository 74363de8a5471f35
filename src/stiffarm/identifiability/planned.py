"""The rows of a plan or campaign: what its readings say about every parameter, as white as its noise allows.

Rows whose reading is still empty count as they will be read.  With K = I + sum C_g C_g' the covariance of the rows
after each was whitened by its own scatter (C_g: an error that the rows of a group share), rows are independent with
variance 1 after division by the Cholesky factor of K, block by block of rows that share anything.

The frame of every setup that is not given is unknown and listed as `setup.NAME.x` .. `.rz`: small motions of the
readings about the middle of the setup.  What was touched is taken out of its rows first
(`stiffarm.identifiability.touched_rows`).  Without any noise model lengths (m) and angles (rad) count alike and
nothing can be said of practical classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from stiffarm.identifiability.design import second_order, stiff
from stiffarm.identifiability.question import FRAME, Wanted
from stiffarm.identifiability.touched_rows import touched_rows
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.covariance import Noise, SharedNoise, Whitener, noise_of, whitener
from stiffarm.measure.observe import DIRECT, expected, expected_with_columns, given_frame, residual
from stiffarm.measure.points import seen_points
from stiffarm.measure.references import Resolved, resolve_references
from stiffarm.measure.subset import with_readings
from stiffarm.model.chain import AXES
from stiffarm.model.kernel import cross

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PlanRows:
    """White rows of a plan."""

    names: tuple[str, ...]
    """Parameters, then the unknown frames of setups."""
    sizes: Floats
    """(names,) typical sizes."""
    rows: Floats
    """(numbers, names)"""
    noise_known: bool
    right: Floats | None
    """(numbers,) white readings less those of the arm of the file; None when something was not read yet."""
    deflections: bool
    """Whether every row is a deflection, stated or made from a reference."""
    sigma_m: float | None = None
    """Standard deviation of a coordinate that is read, root mean square; None without a noise model or lengths."""


def plan_rows(campaign: Campaign, asked: Wanted, loads: str = "torque") -> PlanRows:
    """Rows of a plan, or of a campaign that was measured."""
    direct = np.any([campaign.kind(kind) for kind in DIRECT], axis=0)
    if direct.all():
        return _direct_rows(campaign, asked, loads)
    touched = touched_rows(campaign, asked, loads)
    if not direct.any():
        sizes = np.array([asked.size[name] for name in asked.names])
        return PlanRows(asked.names, sizes, touched.rows, touched.stated, None, False)
    seen = _direct_rows(with_readings(campaign, direct), asked, loads)
    wide = np.zeros((len(touched.rows), len(seen.names)))
    wide[:, : len(asked.names)] = touched.rows
    known = seen.noise_known and touched.stated
    return replace(seen, rows=np.vstack([seen.rows, wide]), noise_known=known, right=None, deflections=False)


def _direct_rows(campaign: Campaign, asked: Wanted, loads: str) -> PlanRows:
    """Rows of positions, poses and deflections."""
    resolved = _resolved(campaign, asked)
    plan = resolved.campaign
    cells = _cells(plan, resolved)
    filled = _with_values(plan, np.where(cells, np.nan_to_num(plan.readings.value), np.nan))
    columns = _columns(filled, asked, loads)
    frames, frame_columns = _frames(filled, asked, loads)
    names = (*asked.names, *frames)
    sizes = np.array([asked.size.get(name, 1e-3) for name in names])
    noise = _noise(replace(resolved, campaign=filled), asked, cells)
    every = np.where(cells, np.concatenate([columns, frame_columns]), 0.0)
    measured = bool(np.isfinite(plan.readings.value[cells]).all())
    if measured:
        rest = residual(plan, expected(asked.model.at(), plan, None, loads).value)
        every = np.concatenate([every, np.where(cells, rest, 0.0)[None]])
    white = _white(every, cells, noise, filled)
    right = white[:, -1] if measured else None
    deflections = bool(plan.kind("deflection").all())
    return PlanRows(names, sizes, white[:, : len(names)], noise is not None, right, deflections, _sigma(noise, cells))


def _sigma(noise: Noise | None, cells: Flags) -> float | None:
    at = np.arange(3)
    variance = None if noise is None else noise.own.position[at, at][cells[:3]]
    return None if variance is None or not len(variance) else float(np.sqrt(variance.mean()))


def _resolved(campaign: Campaign, asked: Wanted) -> Resolved:
    """References subtracted when only bending is asked for; else both readings stand for themselves."""
    if not asked.geometric:
        return resolve_references(campaign, keep_unloaded=False)
    rows = len(campaign.readings)
    return Resolved(campaign, campaign, np.arange(rows), np.full(rows, -1))


def _cells(campaign: Campaign, resolved: Resolved) -> Flags:
    """(6, rows) numbers that are or will be read."""
    has = np.isfinite(campaign.readings.value)
    has[3:] &= ~campaign.kind("position")
    stated = np.isfinite(campaign.readings.sigma[3]) | (
        getattr(resolved.source.instrument, "sigma_rad", None) is not None
    )
    new = np.zeros_like(has)
    new[:3] = True
    new[3:] = campaign.kind("pose") | (campaign.kind("deflection") & stated)
    return np.asarray(np.where(has.any(axis=0), has, new))


def _with_values(campaign: Campaign, value: Floats) -> Campaign:
    return replace(campaign, readings=replace(campaign.readings, value=value))


def _columns(campaign: Campaign, asked: Wanted, loads: str) -> Floats:
    """(parameters, 6, rows), to first order in the elasticity (`stiffarm.identifiability.design`)."""
    out = np.zeros((len(asked.names), 6, len(campaign.readings)))
    bent = [name for name in asked.names if second_order(name)]
    first = [name for name in asked.names if not second_order(name)]
    for arm, part in ((stiff(asked.model), first), (asked.model.at(), bent)):
        if part:
            at = [asked.names.index(name) for name in part]
            out[at] = expected_with_columns(arm, campaign, part, None, loads)[1]
    return out


def unknown_frames(campaign: Campaign) -> list[int]:
    """Setups with positions or poses whose frame the campaign does not state; deflections and touches need none."""
    placed = campaign.kind("position") | campaign.kind("pose")
    return [i for i in np.unique(campaign.readings.setup[placed]).tolist() if given_frame(campaign.setups[i]) is None]


def _frames(campaign: Campaign, asked: Wanted, loads: str) -> tuple[tuple[str, ...], Floats]:
    """Names and columns (6 per setup, 6, rows) of the frames to be found."""
    readings, placed = campaign.readings, ~campaign.kind("deflection")
    unknown = unknown_frames(campaign)
    value = expected(stiff(asked.model), campaign, None, loads).value
    columns = np.zeros((6 * len(unknown), 6, len(readings)))
    for k, setup in enumerate(unknown):
        rows = np.flatnonzero((readings.setup == setup) & placed)
        arm = value[:3, rows] - value[:3, rows].mean(axis=1, keepdims=True)
        for a in range(3):
            axis = np.eye(3)[a][:, None]
            columns[6 * k + a, a, rows] = 1.0
            columns[6 * k + 3 + a, :3, rows] = cross(np.broadcast_to(axis, arm.shape), arm).T
            columns[6 * k + 3 + a, 3 + a, rows] = 1.0
    return tuple(f"{FRAME}{campaign.setups[i].name}.{axis}" for i in unknown for axis in AXES), columns


def _noise(resolved: Resolved, asked: Wanted, cells: Flags) -> Noise | None:
    """The noise of the rows; None when the standard deviation of anything read is not known."""
    has_table = np.isfinite(resolved.source.readings.sigma).any()
    if resolved.source.instrument is None and not has_table:
        return None
    noise = noise_of(resolved, seen_points(asked.model.at(), resolved.source))
    at = np.arange(3)
    variance = np.concatenate([noise.own.position[at, at], noise.own.rotation[at, at]])
    return noise if bool((variance[cells] > 0.0).all()) else None


def _white(columns: Floats, cells: Flags, noise: Noise | None, campaign: Campaign) -> Floats:
    """(numbers, columns) of columns (columns, 6, rows)."""
    if noise is None:
        return np.ascontiguousarray(columns.transpose(0, 2, 1)[:, cells.T].T)
    by_row = whitener(campaign, noise.own)
    out = np.ascontiguousarray(by_row(columns).transpose(0, 2, 1)[:, cells.T].T)
    return out if not noise.shared else _decorrelated(out, _shared_columns(noise.shared, by_row, cells))


def _shared_columns(shared: Sequence[SharedNoise], by_row: Whitener, cells: Flags) -> csr_array:
    """(numbers, directions of all groups) of the white shared errors."""
    number = np.full(cells.T.shape, -1)
    number[cells.T] = np.arange(int(cells.sum()))
    rows, columns, values, start = [], [], [], 0
    for effect in shared:
        white = by_row.shared(effect).columns * effect.sigma
        k = white.shape[0]
        at = np.broadcast_to(number[effect.row].T[None], white.shape)
        into = start + k * effect.group[None, None, :] + np.arange(k)[:, None, None]
        used = (at >= 0) & (white != 0.0)
        rows.append(at[used])
        columns.append(np.broadcast_to(into, white.shape)[used])
        values.append(white[used])
        start += k * (int(effect.group.max(initial=-1)) + 1)
    entries_of = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return csr_array(entries_of, shape=(int(cells.sum()), max(start, 1)))


def _decorrelated(rows: Floats, shared: csr_array) -> Floats:
    """Rows divided by the Cholesky factor of I + C C', block by block of rows that share an error."""
    covariance = csr_array(shared @ shared.T)
    _, block = connected_components(covariance, directed=False)
    out = rows.copy()
    order = np.argsort(block, kind="stable")
    ends = np.flatnonzero(np.diff(block[order])) + 1
    for members in np.split(order, ends):
        dense = covariance[members][:, members].toarray()
        if dense.any():
            out[members] = np.linalg.solve(np.linalg.cholesky(np.eye(len(members)) + dense), rows[members])
    return out
