"""What an instrument's numbers scatter by: the covariance of every row, in the frame of the row's setup.

    isotropic   sigma^2 I
    tracker     s_r^2 u u' + s_a^2 (I - u u'),   u the beam from the station to the point, d its length,
                s_r = constant + per_m d along the beam, s_a = angle d across it: to first order the error is
                u e_r + d (w x u) with a small turn w of the beam, and w x u has the covariance angle^2 (I - u u')
    table       diag(sigma_x^2, sigma_y^2, sigma_z^2) of the row's experiment
    spherical   sigma^2 diag(1/4, 1/4, 1/2): the error is r (sin t cos f, sin t sin f, cos t) with r normal (0, sigma),
                t uniform in [0, pi/2] and f in [-pi, pi]; E sin^2 t = E cos^2 t = E cos^2 f = 1/2, and the mixed
                moments vanish with E cos f, E sin f, E sin f cos f.  The polar axis is z of the setup's frame, which
                is z of the world for a setup that stands level.

A deflection is the difference of two readings of the instrument, so its covariance is twice the above.  A standard
deviation stated in the row itself (``sigma.x`` ...) is that of the number in the cell: it is taken as it stands, for
a deflection too, and makes its coordinate independent of the others.  Rotations are independent of positions; theirs
are known from ``sigma_rad`` of an isotropic instrument or from the row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.measure.campaign import (
    Campaign,
    Instrument,
    Isotropic,
    SigmaTable,
    Spherical,
    Tracker,
)
from stiffarm.measure.points import SeenPoints, read_points

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SPHERICAL_SHARES = (0.25, 0.25, 0.5)
"""Parts of sigma^2 that random directions of the upper half space give x, y and z."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """Covariance of the numbers of each row, in the frame of its setup; NaN where nothing is known."""

    position: Floats
    """(3, 3, rows) m^2, of x y z."""
    rotation: Floats
    """(3, 3, rows) rad^2, of the small rotation that, applied from the left, is the error of rx ry rz."""


def reading_covariance(
    campaign: Campaign, instrument: Instrument | None = None, points: SeenPoints | None = None
) -> Covariance:
    """Covariance of the numbers of every row as its instrument, or the row itself, states it.

    ``instrument`` defaults to the campaign's.  ``points`` says where the points are; only a tracker needs it,
    and then only for rows that do not report their position (default: as read).
    """
    instrument = instrument or campaign.instrument
    position, rotation = _of_instrument(campaign, instrument, points)
    factor = np.where(campaign.kind("deflection"), 2.0, 1.0)
    sigma = campaign.readings.sigma
    return Covariance(_overridden(factor * position, sigma[:3]), _overridden(factor * rotation, sigma[3:]))


def _of_instrument(
    campaign: Campaign, instrument: Instrument | None, points: SeenPoints | None
) -> tuple[Floats, Floats]:
    """Covariances (3, 3, rows) of one reading each."""
    rows = len(campaign.readings)
    rotation = np.full((3, 3, rows), np.nan)
    match instrument:
        case None:
            position = np.full((3, 3, rows), np.nan)
        case Isotropic(sigma_m, sigma_rad):
            position = _diagonal(np.full((3, rows), sigma_m**2))
            if sigma_rad is not None:
                rotation = _diagonal(np.full((3, rows), sigma_rad**2))
        case Spherical(sigma_m):
            position = _diagonal(np.outer(SPHERICAL_SHARES, np.full(rows, sigma_m**2)))
        case SigmaTable():
            position = _diagonal(_table_sigma(campaign, instrument) ** 2)
        case Tracker():
            position = _tracker_covariance(campaign, instrument, points or read_points(campaign))
    position[:, :, campaign.kind("distance")] = np.nan
    return position, rotation


def _diagonal(variances: Floats) -> Floats:
    """(3, 3, rows) from (3, rows)."""
    return np.asarray(np.eye(3)[:, :, None] * variances)


def _table_sigma(campaign: Campaign, table: SigmaTable) -> Floats:
    """(3, rows) standard deviations; NaN for experiments the table does not name."""
    known = dict(zip(table.experiments, table.sigma_m, strict=True))
    unknown = (np.nan, np.nan, np.nan)
    by_experiment = np.array([known.get(name, unknown) for name in campaign.experiments.names]).reshape(-1, 3)
    return np.asarray(by_experiment[campaign.readings.experiment].T)


def _tracker_covariance(campaign: Campaign, tracker: Tracker, points: SeenPoints) -> Floats:
    stations = np.array([setup.station_m or (np.nan,) * 3 for setup in campaign.setups]).reshape(-1, 3)
    _check_stations(campaign)
    return beam_covariance(tracker, points.setup - stations[campaign.readings.setup].T)


def beam_covariance(tracker: Tracker, beam_m: Floats) -> Floats:
    """Covariance (3, 3, n), m^2, of points read along beams (3, n) from the station, m.

    >>> beam_covariance(Tracker(1e-5, 0.0, 2e-6), np.array([[3.0], [0.0], [0.0]]))[:, :, 0].diagonal().round(18)
    array([1.0e-10, 3.6e-11, 3.6e-11])
    """
    distance = np.sqrt((beam_m**2).sum(axis=0))
    direction = np.divide(beam_m, distance, out=np.zeros_like(beam_m), where=distance != 0.0)
    along = direction[:, None, :] * direction[None, :, :]
    range_variance = (tracker.range_m + tracker.range_per_m * distance) ** 2
    across_variance = (tracker.angle_rad * distance) ** 2
    return np.asarray(range_variance * along + across_variance * (np.eye(3)[:, :, None] - along))


def _check_stations(campaign: Campaign) -> None:
    """Every setup of a row that relies on the tracker says where the tracker stands."""
    readings = campaign.readings
    relying = ~campaign.kind("distance") & ~np.isfinite(readings.sigma[:3]).all(axis=0)
    for index in np.unique(readings.setup[relying]):
        setup = campaign.setups[index]
        if setup.station_m is None:
            raise InputError(
                Problem(
                    "a tracker's errors follow its beam, and this setup does not say where the tracker stood",
                    column=f"setup.{setup.name}.station",
                    found="nothing",
                    allowed="station = [x, y, z] in the frame of the setup, mm",
                    next_step=f"Add station to [setup.{setup.name}] of the campaign's settings",
                )
            )


def _overridden(covariance: Floats, sigma: Floats) -> Floats:
    """The covariance with the standard deviations stated in the rows in the place of the instrument's."""
    stated = np.isfinite(sigma)
    if not stated.any():
        return covariance
    touched = stated[:, None, :] | stated[None, :, :]
    own = _diagonal(np.where(stated, np.nan_to_num(sigma), 0.0) ** 2)
    return np.where(touched, own, covariance)


def read_cells(campaign: Campaign) -> Flags:
    """(6, rows) which numbers are readings: rotations count in poses and deflections only."""
    read = np.isfinite(campaign.readings.value)
    turning = campaign.kind("pose") | campaign.kind("deflection")
    read[3:] &= turning
    return np.asarray(read & (turning | campaign.kind("position")))


def check_known(campaign: Campaign, covariance: Covariance) -> None:
    """Raise `InputError` for the first number that is read and whose standard deviation is unknown or zero."""
    variance = np.concatenate([_variances(covariance.position), _variances(covariance.rotation)])
    unknown = read_cells(campaign) & ~(variance > 0.0)
    if not unknown.any():
        return
    row = int(np.argmax(unknown.any(axis=0)))
    name = ("x", "y", "z", "rx", "ry", "rz")[int(np.argmax(unknown[:, row]))]
    raise InputError(
        Problem(
            "the standard deviation of a reading is not known",
            file=campaign.files[0] if len(campaign.files) == 1 else None,
            row=int(campaign.readings.row[row]),
            column=name,
            found=found_text("zero" if variance[:, row].min() == 0.0 else "nothing"),
            allowed=f"an instrument in the campaign's settings, or a column sigma.{name}",
        )
    )


def _variances(covariance: Floats) -> Floats:
    """(3, rows) from (3, 3, rows)."""
    return np.asarray(covariance[np.arange(3), np.arange(3)])
