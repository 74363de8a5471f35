"""The covariance of all readings together: each row's own scatter, and errors that rows share.

    Cov = R + sum over effects of sigma^2 sum over groups g of C_g C_g'

R is block diagonal, one 6x6 block a row (`stiffarm.measure.instruments`).  A shared error is a random vector of
k directions common to the rows of a group, and C_g are its columns, as every small motion of a point is a column:

    translation t of the tool    e_a                  in world axes, turned into the frame of the row's setup
    rotation w of the tool       e_a x (p - c), e_a   c the mean of the group's points, e_a for read rotations
    an unloaded reading          -L, with L L' its own covariance, for every row that subtracted it

Rows share translation and rotation when they belong to one visit; rows without a visit, when they belong to one
experiment in one setup.  The standard deviations of a shared error are those of what stands in the rows: for
a deflection, of what moved the tool between its two readings.  A deflection made from a ``reference`` carries the
error of the loaded stop minus that of the unloaded one; at one and the same stop they cancel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Campaign, Instrument
from stiffarm.measure.instruments import Covariance, check_known, read_cells, reading_covariance
from stiffarm.measure.points import SeenPoints
from stiffarm.measure.references import Resolved
from stiffarm.model.kernel import cross

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SharedNoise:
    """A random vector per group, seen by the rows of the group through its columns."""

    name: str
    sigma: float
    """Standard deviation of every component (m, rad, or 1 when the columns carry it)."""
    row: Ints
    """(entries,) row of each entry; a row that subtracts another has one entry for each."""
    group: Ints
    """(entries,) group of each entry, 0, 1, 2 ..."""
    columns: Floats
    """(k, 6, entries) change of x y z rx ry rz, frame of the row's setup, by each component."""

    def by_group(self, rows: int) -> Floats:
        """Dense columns (groups, k, 6, rows) times sigma; for tests and small campaigns."""
        out = np.zeros((int(self.group.max(initial=-1)) + 1, *self.columns.shape[:2], rows))
        for entry, (row, group) in enumerate(zip(self.row, self.group, strict=True)):
            out[group, :, :, row] += self.sigma * self.columns[:, :, entry]
        return out


@dataclass(frozen=True, eq=False)
class Noise:
    """What is known of the errors of a campaign's rows."""

    own: Covariance
    shared: tuple[SharedNoise, ...] = ()

    def dense(self) -> Floats:
        """Covariance of all numbers (6, rows, 6, rows); for tests and small campaigns."""
        rows = self.own.position.shape[2]
        total = np.zeros((6, rows, 6, rows))
        at = np.arange(rows)
        total[:3, at, :3, at] = np.moveaxis(self.own.position, -1, 0)
        total[3:, at, 3:, at] = np.moveaxis(self.own.rotation, -1, 0)
        for effect in self.shared:
            columns = effect.by_group(rows)
            total += np.einsum("gkir,gkjs->irjs", columns, columns, optimize=True)
        return total


def noise_of(resolved: Resolved, points: SeenPoints, instrument: Instrument | None = None) -> Noise:
    """The noise of the rows of ``resolved.campaign``.

    ``points`` are those of ``resolved.source`` (`stiffarm.measure.points.seen_points`).
    """
    read = reading_covariance(resolved.source, instrument, points)
    own = Covariance(read.position[:, :, resolved.origin], read.rotation[:, :, resolved.origin])
    shared = shared_errors(resolved, points)
    if (resolved.subtracted >= 0).any():
        shared = (*shared, _unloaded_readings(resolved, read))
    return Noise(own, shared)


def shared_groups(campaign: Campaign) -> Ints:
    """(rows,) codes of what shares the errors of a stop: the visit, else experiment and setup."""
    readings = campaign.readings
    stop = readings.experiment * max(len(campaign.setups), 1) + readings.setup
    code = np.where(readings.visit >= 0, readings.visit, len(campaign.visits) + stop)
    return np.unique(code, return_inverse=True)[1].reshape(-1).astype(np.int64)


def shared_errors(resolved: Resolved, points: SeenPoints) -> tuple[SharedNoise, ...]:
    """The campaign's shared translation and rotation, where it states them."""
    campaign, error = resolved.source, resolved.source.shared
    group = shared_groups(campaign)
    effects = []
    if error.translation_m > 0.0:
        effects.append(_shared("translation", error.translation_m, resolved, group, translation_columns(points)))
    if error.rotation_rad > 0.0:
        centre = group_centres(points.world, group, ~campaign.kind("distance"))
        columns = rotation_columns(points, centre)
        effects.append(_shared("rotation", error.rotation_rad, resolved, group, columns))
    return tuple(effects)


def _shared(name: str, sigma: float, resolved: Resolved, group: Ints, columns: Floats) -> SharedNoise:
    """Entries of the resolved rows, and with the opposite sign of the rows they subtract."""
    own = np.flatnonzero(~resolved.source.kind("distance")[resolved.origin])
    minus = np.flatnonzero(resolved.subtracted >= 0)
    here, there = resolved.origin[own], resolved.subtracted[minus]
    return SharedNoise(
        name,
        sigma,
        np.concatenate([own, minus]),
        np.unique(np.concatenate([group[here], group[there]]), return_inverse=True)[1].reshape(-1).astype(np.int64),
        np.concatenate([columns[:, :, here], -columns[:, :, there]], axis=2),
    )


def translation_columns(points: SeenPoints) -> Floats:
    """(3, 6, rows) of a shared translation along the axes of the world."""
    columns = np.zeros((3, 6, points.world.shape[1]))
    columns[:, :3] = points.turn.transpose(1, 0, 2)
    return columns


def rotation_columns(points: SeenPoints, centre_world: Floats) -> Floats:
    """(3, 6, rows) of a shared rotation about the axes of the world through centres (3, rows)."""
    axes = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, points.world.shape[1]))
    columns = np.zeros((3, 6, points.world.shape[1]))
    columns[:, :3] = np.einsum("ijr,ajr->air", points.turn, cross(axes, points.world - centre_world))
    columns[:, 3:] = points.turn.transpose(1, 0, 2)
    return columns


def group_centres(points_world: Floats, group: Ints, counted: Flags) -> Floats:
    """(3, rows) mean of the points of each row's group."""
    count = np.maximum(np.bincount(group[counted], minlength=int(group.max(initial=-1)) + 1), 1)
    sums = [np.bincount(group[counted], weights=axis[counted], minlength=len(count)) for axis in points_world]
    return np.asarray((np.array(sums) / count)[:, group])


def _unloaded_readings(resolved: Resolved, read: Covariance) -> SharedNoise:
    """One group per unloaded reading, its columns the factor of its own covariance."""
    row = np.flatnonzero(resolved.subtracted >= 0)
    unloaded, group = np.unique(resolved.subtracted[row], return_inverse=True)
    group = group.reshape(-1).astype(np.int64)
    columns = np.zeros((6, 6, len(row)))
    for start, block in ((0, read.position), (3, read.rotation)):
        factor = cholesky3(np.nan_to_num(block[:, :, unloaded]))
        columns[start : start + 3, start : start + 3] = -factor.transpose(1, 0, 2)[:, :, group]
    return SharedNoise("unloaded reading", 1.0, row, group, columns)


@dataclass(frozen=True, eq=False)
class Whitener:
    """Rows scaled so that their own errors are independent with variance 1; numbers not read become 0."""

    position: Floats
    """(3, 3, rows) inverse factor."""
    rotation: Floats
    read: Flags
    """(6, rows)"""

    def __call__(self, values: Floats) -> Floats:
        """White residuals or columns (..., 6, rows)."""
        return self._apply(values, np.arange(values.shape[-1]))

    def shared(self, effect: SharedNoise) -> SharedNoise:
        """A shared error as the white rows see it."""
        return replace(effect, columns=self._apply(effect.columns, effect.row))

    def _apply(self, values: Floats, rows: Ints) -> Floats:
        clean = np.where(self.read[:, rows], values, 0.0)
        out = np.empty_like(clean)
        np.einsum("ijr,...jr->...ir", self.position[:, :, rows], clean[..., :3, :], out=out[..., :3, :])
        np.einsum("ijr,...jr->...ir", self.rotation[:, :, rows], clean[..., 3:, :], out=out[..., 3:, :])
        return out


def whitener(campaign: Campaign, own: Covariance) -> Whitener:
    """The whitener of a campaign's rows; `InputError` when a number is read whose deviation is not known.

    With L L' = covariance of the coordinates that were read, white = L^-1 residual.
    """
    check_known(campaign, own)
    read = read_cells(campaign)
    return Whitener(_inverse_factor(own.position, read[:3]), _inverse_factor(own.rotation, read[3:]), read)


def _inverse_factor(covariance: Floats, read: Flags) -> Floats:
    """L^-1 (3, 3, rows) of the read coordinates; rows and columns of the others are zero."""
    both = read[:, None, :] & read[None, :, :]
    # a unit variance in the place of what was not read leaves the factor of the rest as it is
    unread = np.eye(3)[:, :, None] * ~read
    inverse = inverse_lower3(cholesky3(np.where(both, covariance, unread)))
    return np.asarray(np.where(both, inverse, 0.0))


def cholesky3(covariance: Floats) -> Floats:
    """Lower factors (3, 3, n) of positive semi-definite matrices (3, 3, n); no scatter gives zeros."""
    lower = np.zeros_like(covariance)
    for j in range(3):
        pivot = covariance[j, j] - (lower[j, :j] ** 2).sum(axis=0)
        lower[j, j] = np.sqrt(np.maximum(pivot, 0.0))
        for i in range(j + 1, 3):
            rest = covariance[i, j] - (lower[i, :j] * lower[j, :j]).sum(axis=0)
            np.divide(rest, lower[j, j], out=lower[i, j], where=lower[j, j] > 0.0)
    return lower


def inverse_lower3(lower: Floats) -> Floats:
    """Inverses (3, 3, n) of lower triangular matrices (3, 3, n), by forward substitution."""
    inverse = np.zeros_like(lower)
    for j in range(3):
        inverse[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, 3):
            inverse[i, j] = -(lower[i, j:i] * inverse[j:i, j]).sum(axis=0) / lower[i, i]
    return inverse
