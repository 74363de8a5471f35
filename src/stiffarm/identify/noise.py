"""What is assumed of the errors of the scalar readings before anything is fitted.

*Known*: every number has a standard deviation, from its own ``sigma`` column or from the instrument.  Then the
covariance of all rows is the one of `stiffarm.measure.covariance`: a tracker's 3x3 along and across its beam, twice a
reading's variance for a deflection, the unloaded reading that several differences share, and the translation and
rotation of a stop when ``[shared]`` states them.  A load uncertain by experiment adds its columns
(`stiffarm.identify.nuisance`), which depend on the compliances and so follow the fit.

*Unknown*: lengths and angles start at a ratio of one metre and are brought to one scale by their own residuals, found
together with the parameters by repeating the fit.  Differences still share their unloaded reading: that part of the
covariance is relative.  Shared errors and loads that are stated are absolute: they count for more as the scale falls.
With w the white residuals of n rows and p unknowns the scale s goes to s sqrt(w'w / (n - p)) until w'w = n - p.

Touches have a scale of their own, stated or not, beside whatever an instrument read (`stiffarm.measure.contacts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.nuisance import experiment_loads, experiment_sigmas
from stiffarm.identify.system import Point, System
from stiffarm.identify.whitening import OwnBlocks, Whitening, shared_blocks
from stiffarm.measure.campaign import Isotropic, SharedError, Tracker
from stiffarm.measure.covariance import Noise, SharedNoise, noise_of
from stiffarm.measure.points import SeenPoints, read_points, seen_points
from stiffarm.measure.references import Resolved

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
STATED, LENGTH, ANGLE, TOUCH = -1, 0, 1, 2
"""What the standard deviation of a scalar goes with."""
UNIT = Isotropic(1.0, 1.0)
"""Stands for an instrument nobody stated: what matters is what readings have in common."""


@dataclass(frozen=True, eq=False)
class RowNoise:
    """Errors of the scalars, and whether they are known or only relative."""

    sigma: Floats
    """(scalars,) own standard deviation."""
    known: bool
    scale: Ints
    """(scalars,) what its standard deviation goes with: `STATED`, or the residuals of lengths, angles or touches."""
    angular: NDArray[np.bool_]
    """(scalars,) whether the scalar is an angle."""
    own: tuple[OwnBlocks, ...] = ()
    relative: csr_array | None = None
    """(scalars, errors) columns of shared errors that scale with ``sigma``, in units of it."""
    absolute: csr_array | None = None
    """(scalars, errors) columns of shared errors of known size, m or rad."""
    load: csr_array | None = None
    """The same of loads and joints that err by experiment, at the compliances of now."""

    @cached_property
    def whitening(self) -> Whitening:
        """What takes rows to rows of independent unit errors."""
        plain = Whitening(self.sigma, self.own)
        parts = [self.relative] if self.relative is not None else []
        parts += [_rows_by(plain, part) for part in (self.absolute, self.load) if part is not None]
        if not parts:
            return plain
        from scipy.sparse import csr_array, hstack

        return replace(plain, shared=shared_blocks(csr_array(hstack(parts))))

    def whiten(self, rows: Floats) -> Floats:
        """White residuals (scalars,) or columns (scalars, columns)."""
        return self.whitening(rows)

    @property
    def mixed(self) -> bool:
        """Whether the ratio of lengths, angles and touches is still to be found."""
        return not self.known and bool(np.ptp(self.scale) > 0)

    @property
    def unsettled(self) -> bool:
        """Whether the scale of the readings has to be found beside errors of known size."""
        return not self.known and (self.absolute is not None or self.load is not None)


def assumed_noise(system: System, at: Point) -> RowNoise:
    """What the campaign states of its errors, seen from a first point; ones when it states nothing."""
    read = _assumed_of_read(system, at)
    contacts, n = system.contacts, len(system) - len(system.read[0])
    if not n:
        return read
    own = contacts.scale_m if contacts.stated else 1.0
    code = STATED if contacts.stated else TOUCH
    known = contacts.stated and (read.known or not len(read.sigma))
    sigma, scale = np.append(read.sigma, np.full(n, own)), np.append(read.scale, np.full(n, code))
    both = replace(read, sigma=sigma, known=known, scale=scale, angular=np.append(read.angular, np.zeros(n, bool)))
    return replace(both, relative=_longer(read.relative, n), absolute=_longer(read.absolute, n))


def _longer(columns: csr_array | None, rows: int) -> csr_array | None:
    """The same columns with further rows that they do not enter."""
    if columns is None:
        return None
    from scipy.sparse import csr_array

    shape = (columns.shape[0] + rows, columns.shape[1])
    return csr_array((columns.data, columns.indices, np.append(columns.indptr, [columns.nnz] * rows)), shape=shape)


def _assumed_of_read(system: System, at: Point) -> RowNoise:
    """The noise of what an instrument read, touches left out."""
    component, row = system.read
    campaign = system.campaign
    scale = np.where(component >= 3, ANGLE, LENGTH)
    resolved = system.rows
    plain = RowNoise(np.ones(len(row)), False, scale, component >= 3)
    if not len(row):
        return plain
    subtracts = bool((resolved.subtracted >= 0).any())
    stated = campaign.instrument is not None or bool(np.isfinite(campaign.readings.sigma).any())
    if not (stated or subtracts or campaign.shared != SharedError()):
        return plain
    points = _points(system, at, resolved)
    noise = noise_of(resolved, points)
    diagonal = np.concatenate([noise.own.position[range(3), range(3)], noise.own.rotation[range(3), range(3)]])
    variance = diagonal[component, row]
    if np.all(variance > 0):
        own = _own_blocks(system, noise)
        stated_all = np.full_like(scale, STATED)
        return RowNoise(
            np.sqrt(variance), True, stated_all, component >= 3, own, absolute=_columns(system, noise.shared)
        )
    unloaded = _relative(system, resolved, points) if subtracts else None
    stops = tuple(effect for effect in noise.shared if effect.name in ("translation", "rotation"))
    return replace(plain, relative=unloaded, absolute=_columns(system, stops))


def rescaled(noise: RowNoise, residual: Floats, unknowns: int = 0) -> RowNoise:
    """Lengths, angles and touches each at the scale of their own residuals; unchanged when nothing depends on it."""
    if not (noise.mixed or noise.unsettled):
        return noise
    lost = unknowns / len(residual) if noise.unsettled else 0.0
    white = noise.whiten(residual)
    sigma = noise.sigma.copy()
    for code in (LENGTH, ANGLE, TOUCH):
        part = noise.scale == code
        if part.any():
            factor = float(np.sqrt(np.mean(white[part] ** 2) / max(1.0 - lost, 0.05)))
            sigma[part] = np.maximum(sigma[part] * factor, 1e-12)
    return replace(noise, sigma=sigma)


def adapts(noise: RowNoise, system: System) -> bool:
    """Whether what is assumed of the errors depends on the fit."""
    return noise.mixed or noise.unsettled or bool(experiment_sigmas(system.campaign))


def adapted(noise: RowNoise, system: System, at: Point, residual: Floats, unknowns: int = 0) -> RowNoise:
    """The noise with what a fit says of it: scales of unknown errors, effects of loads on the arm as found."""
    if not adapts(noise, system):
        return noise
    return rescaled(replace(noise, load=experiment_loads(system, at)), residual, unknowns)


def settled(before: RowNoise, after: RowNoise) -> bool:
    """Whether another fit would change nothing worth it."""
    change = np.log(after.sigma / before.sigma)
    if np.ptp(change) >= 0.05 or np.abs(change).max() >= (0.02 if after.unsettled else 0.5):
        return False
    if before.load is None or after.load is None:
        return before.load is after.load
    size = float(np.sqrt(after.load.power(2).sum()))
    return float(np.sqrt((after.load - before.load).power(2).sum())) <= 0.02 * size


def _points(system: System, at: Point, resolved: Resolved) -> SeenPoints:
    """Where the points of the source are: as read, else as the arm has them; only some errors depend on it."""
    source = resolved.source
    read = read_points(source, at.frames)
    if not isinstance(source.instrument, Tracker) and source.shared == SharedError():
        return read
    seen = seen_points(system.arm(at), source, at.frames, system.loads)
    setup = np.where(np.isfinite(read.setup), read.setup, seen.setup)
    return SeenPoints(setup, seen.world, seen.turn)


def _own_blocks(system: System, noise: Noise) -> tuple[OwnBlocks, ...]:
    """Blocks of the readings whose coordinates scatter together (a tracker's)."""
    covariance = noise.own.position
    aslant = np.zeros(covariance.shape[2], dtype=bool)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        aslant |= np.nan_to_num(covariance[i, j]) != 0.0
    if not aslant.any():
        return ()
    number = scalar_numbers(system)[:3]
    count = (number >= 0).sum(axis=0)
    blocks = []
    for size in (2, 3):
        rows = np.flatnonzero(aslant & (count == size))
        if not len(rows):
            continue
        which = np.sort(np.argsort(number[:, rows] < 0, axis=0, kind="stable")[:size], axis=0).T
        part = covariance[which[:, :, None], which[:, None, :], rows[:, None, None]]
        blocks.append(OwnBlocks.of(number[which, rows[:, None]], part))
    return tuple(blocks)


def scalar_numbers(system: System) -> Ints:
    """(6, readings) place of each number an instrument read among the scalars, -1 when it was not read."""
    component, row = system.read
    number = np.full((6, len(system.campaign.readings)), -1, dtype=np.int64)
    number[component, row] = np.arange(len(row))
    return number


def _columns(system: System, shared: Sequence[SharedNoise]) -> csr_array | None:
    """(scalars, errors) of shared errors, one column for every component of every group."""
    if not shared:
        return None
    from scipy.sparse import csr_array

    number = scalar_numbers(system)
    rows, errors, values, start = [], [], [], 0
    for effect in shared:
        k = len(effect.columns)
        at = np.broadcast_to(number[:, effect.row], effect.columns.shape)
        into = start + k * effect.group[None, None, :] + np.arange(k)[:, None, None]
        used = (at >= 0) & (effect.columns != 0.0)
        rows.append(at[used])
        errors.append(np.broadcast_to(into, at.shape)[used])
        values.append(effect.sigma * effect.columns[used])
        start += k * (int(effect.group.max(initial=-1)) + 1)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(errors)))
    return csr_array(entries, shape=(len(system.read[0]), start))


def _relative(system: System, resolved: Resolved, points: SeenPoints) -> csr_array | None:
    """Unloaded readings that rows share when every reading scatters by one."""
    source = resolved.source
    none = np.full_like(source.readings.sigma, np.nan)
    alike = replace(source, readings=replace(source.readings, sigma=none), shared=SharedError())
    return _columns(system, noise_of(replace(resolved, source=alike), points, UNIT).shared)


def _rows_by(plain: Whitening, columns: csr_array) -> csr_array:
    """Sparse columns with every row divided by its own scatter."""
    from scipy.sparse import coo_array, csr_array

    n = len(plain.sigma)
    alone = np.ones(n, dtype=bool)
    for block in plain.own:
        alone[block.rows] = False
    down, across, values = [np.flatnonzero(alone)], [np.flatnonzero(alone)], [1.0 / plain.sigma[alone]]
    for block in plain.own:
        down.append(np.broadcast_to(block.rows[:, :, None], block.root.shape).ravel())
        across.append(np.broadcast_to(block.rows[:, None, :], block.root.shape).ravel())
        values.append(block.root.ravel())
    at = (np.concatenate(down), np.concatenate(across))
    divide = csr_array(coo_array((np.concatenate(values), at), shape=(n, n)))
    return csr_array(divide @ columns)
