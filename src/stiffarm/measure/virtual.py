"""Virtual experiments: a plan read by an instrument off an arm whose truth is stated.

    reading = expected reading of the true arm + rigid motion shared by its stop + error of the instrument

The shared motion is a true one: every point of the stop is turned by Exp(w) about the mean of the stop's points and
shifted by t, and a read rotation turns with it.  The instrument's error has the covariance of
`stiffarm.measure.instruments`, so a deflection, being a difference of two readings, scatters with twice the variance
of one: standard deviations are those of *readings*, unless a row states its own.  A spherical instrument's error
is drawn as it is defined, a random direction with a normal length, and is not normal itself.  An outlier is a reading
moved by 10 to 50 of its standard deviations in a random direction.

Touches are read as joint values, which are moved so that the true arm touches (`stiffarm.measure.virtual_touch`).

Loads that the plan's settings state with an uncertainty differ from what is stated (`stiffarm.measure.departures`).

Truth, instrument, shared motions, outliers and loads have random streams of their own, so that asking for outliers
leaves the other errors as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import Campaign, Instrument, Isotropic, SharedError, Spherical
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.covariance import cholesky3, group_centres, shared_groups
from stiffarm.measure.departures import Departure, as_it_was
from stiffarm.measure.instruments import Covariance, reading_covariance
from stiffarm.measure.observe import expected, setup_frames
from stiffarm.measure.points import SeenPoints, seen_points
from stiffarm.measure.virtual_touch import touching
from stiffarm.model.arm_model import Arm
from stiffarm.model.rotations import matrix_of, rotate, vector_of
from stiffarm.robot.placement import Rigid
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

OUTLIER_SIGMAS = (10.0, 50.0)
"""Least and largest size of an outlier in standard deviations of its reading."""
_STREAMS = ("truth", "instrument", "shared", "outliers", "loads", "touches")


@dataclass(frozen=True, eq=False, repr=False)
class VirtualCampaign(Shown):
    """A campaign with simulated readings, and what is true of it."""

    campaign: Campaign
    frames: dict[str, Rigid]
    """Setup from world, true."""
    outliers: Ints
    """Rows that are outliers, rising."""
    outlier_sigmas: Floats
    """By how many of their standard deviations they were moved."""
    seed: int
    departures: tuple[Departure, ...] = ()
    truth: Mapping[str, float] = field(default_factory=dict)
    """Values of the true arm, SI, by parameter; empty when only the arm was given."""

    def summary(self) -> tuple[str, ...]:
        """How much was read, with which seed."""
        spoiled = f", {len(self.outliers)} of them outliers" if len(self.outliers) else ""
        return (*self.campaign.summary(), f"simulated with seed {self.seed}{spoiled}")

    def to_polars(self) -> pl.DataFrame:
        """The rows of the campaign's file."""
        return self.campaign.to_polars()


def stream(seed: int, purpose: str) -> np.random.Generator:
    """The generator of one purpose (``truth``, ``instrument``, ``shared``, ``outliers`` ...) under a seed."""
    return np.random.default_rng([seed, _STREAMS.index(purpose)])


def simulate(
    arm_truth: Arm,
    plan: Campaign,
    *,
    seed: int,
    frames: Mapping[str, Rigid] | None = None,
    sigma_m: float | None = None,
    sigma_rad: float | None = None,
    shared_translation_m: float | None = None,
    shared_rotation_rad: float | None = None,
    outlier_share: float = 0.0,
    instrument: Instrument | None = None,
    loads: str = "model",
    exact: bool = False,
) -> VirtualCampaign:
    """Fill the readings of a plan with what an instrument would report of ``arm_truth``.

    ``sigma_m`` and ``sigma_rad`` are those of a reading and make an isotropic instrument; without them ``instrument``
    or the plan's own is used, and without any there is no scatter.  Shared errors not given are the plan's.
    ``loads`` says what bends the arm: the stated loads (``model``), measured joint torques (``torque``) or nothing
    (``none``); with ``exact`` it stands at its equilibrium on true transforms instead of first order.  A row of the
    plan that has readings keeps its pattern of read cells; measured torques are kept.
    """
    used = _instrument(plan, instrument, sigma_m, sigma_rad)
    shared = SharedError(
        plan.shared.translation_m if shared_translation_m is None else shared_translation_m,
        plan.shared.rotation_rad if shared_rotation_rad is None else shared_rotation_rad,
    )
    prepared = replace(plan, instrument=used, shared=shared, exact=exact)
    loaded, departures = as_it_was(prepared, stream(seed, "loads"))
    there = touching(arm_truth, loaded, Contacts(prepared).stated_sigma_m, stream(seed, "touches"), loads)
    # what the controller says moves with the arm; what it says wrongly stays as wrong
    said = prepared.experiments.q + (there.experiments.q - loaded.experiments.q)
    prepared = replace(prepared, experiments=replace(prepared.experiments, q=said), readings=there.readings)
    loaded = there
    points = seen_points(arm_truth, loaded, frames, loads)
    covariance = reading_covariance(prepared, points=points)
    value = expected(arm_truth, loaded, frames, loads).value
    value = moved_together(prepared, value, points, stream(seed, "shared"))
    value = _with_errors(prepared, value, _errors(prepared, covariance, stream(seed, "instrument")))
    asked = _asked_cells(prepared, covariance)
    outliers, sigmas, shift = _outliers(prepared, covariance, asked, outlier_share, stream(seed, "outliers"))
    value[:3, outliers] += shift
    readings = replace(prepared.readings, value=np.where(asked, value, np.nan))
    names = [setup.name for setup in plan.setups]
    true_frames = dict(zip(names, setup_frames(plan, frames), strict=True))
    return VirtualCampaign(replace(prepared, readings=readings), true_frames, outliers, sigmas, seed, departures)


def _instrument(
    plan: Campaign, instrument: Instrument | None, sigma_m: float | None, sigma_rad: float | None
) -> Instrument | None:
    """The instrument that reads; None when nothing scatters."""
    own = instrument or plan.instrument
    if sigma_m is None and sigma_rad is None:
        return own
    if sigma_m is None and isinstance(own, Isotropic):
        sigma_m = own.sigma_m
    if sigma_m:
        return Isotropic(sigma_m, sigma_rad)
    if sigma_rad:
        what = "a standard deviation of rotations belongs to an instrument that has one of positions as well"
        raise InputError(Problem(what, column="--sigma-rotation", next_step="Give --sigma, for instance 0.03mm"))
    return None


def moved_together(campaign: Campaign, value: Floats, points: SeenPoints, random: np.random.Generator) -> Floats:
    """Readings (6, rows) after every stop was turned about its centre and shifted (``campaign.shared``)."""
    error = campaign.shared
    if error == SharedError():
        return value
    group = shared_groups(campaign)
    groups = int(group.max(initial=-1)) + 1
    shift = error.translation_m * random.standard_normal((3, groups))[:, group]
    turn = error.rotation_rad * random.standard_normal((3, groups))[:, group]
    lever = points.world - group_centres(points.world, group, ~campaign.kind("distance"))
    displacement = shift + rotate(turn, lever) - lever
    out = value.copy()
    out[:3] += np.einsum("ijr,jr->ir", points.turn, displacement)
    return _turned(campaign, out, np.einsum("ijr,jr->ir", points.turn, turn))


def _turned(campaign: Campaign, value: Floats, turn_setup: Floats) -> Floats:
    """Readings with their rotations turned from the left by rotation vectors (3, rows) in the setup's frame."""
    out = value.copy()
    known = np.isfinite(value[3:]).all(axis=0)
    turning = known & (campaign.kind("pose") | campaign.kind("deflection")) & turn_setup.any(axis=0)
    if turning.any():
        out[3:, turning] = vector_of(rotate(turn_setup[:, turning], matrix_of(value[3:, turning])))
    return out


def _errors(campaign: Campaign, covariance: Covariance, random: np.random.Generator) -> Floats:
    """Errors (6, rows) of the instrument in the frame of the setup; none where nothing is known."""
    rows = len(campaign.readings)
    white = random.standard_normal((6, rows))
    out = np.empty((6, rows))
    out[:3] = np.einsum("ijr,jr->ir", cholesky3(np.nan_to_num(covariance.position)), white[:3])
    out[3:] = np.einsum("ijr,jr->ir", cholesky3(np.nan_to_num(covariance.rotation)), white[3:])
    if isinstance(campaign.instrument, Spherical):
        drawn = spherical_errors(campaign.instrument, rows, random)
        second = spherical_errors(campaign.instrument, rows, random)
        drawn -= np.where(campaign.kind("deflection"), second, 0.0)
        out[:3] = np.where(np.isfinite(campaign.readings.sigma[:3]), out[:3], drawn)
    return out


def spherical_errors(instrument: Spherical, count: int, random: np.random.Generator) -> Floats:
    """Errors (3, count) of single readings, m: normal length, polar angle uniform in [0, pi/2], azimuth uniform."""
    length = instrument.sigma_m * random.standard_normal(count)
    polar = random.uniform(0.0, np.pi / 2, count)
    azimuth = random.uniform(-np.pi, np.pi, count)
    return np.asarray(
        length * np.stack([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)])
    )


def _with_errors(campaign: Campaign, value: Floats, errors: Floats) -> Floats:
    out = value.copy()
    out[:3] += errors[:3]
    return _turned(campaign, out, errors[3:])


def _asked_cells(campaign: Campaign, covariance: Covariance) -> Flags:
    """(6, rows) cells that get a reading: those the plan had; in rows without any, what its kind reads.

    A deflection's rotation is read when the instrument or the row has a standard deviation for it.
    """
    has = np.isfinite(campaign.readings.value)
    turning = np.isfinite(covariance.rotation[0, 0])
    new = np.zeros_like(has)
    direct = campaign.kind("position") | campaign.kind("deflection") | campaign.kind("pose")
    new[:3] = direct
    new[3:] = campaign.kind("pose") | (campaign.kind("deflection") & turning)
    positions = campaign.kind("position")
    has[3:] &= ~positions
    return np.asarray(np.where(has.any(axis=0), has, new))


def _outliers(
    campaign: Campaign, covariance: Covariance, asked: Flags, share: float, random: np.random.Generator
) -> tuple[Ints, Floats, Floats]:
    """Rows, sizes in standard deviations, and shifts (3, outliers) in m."""
    candidates = np.flatnonzero(asked[:3].any(axis=0))
    count = round(share * len(candidates))
    rows = np.sort(random.choice(candidates, count, replace=False)).astype(np.int64)
    sigmas = random.uniform(*OUTLIER_SIGMAS, count)
    direction = random.standard_normal((3, count)) * asked[:3, rows]
    direction /= np.linalg.norm(direction, axis=0)
    scatter = np.sqrt(np.einsum("iir->r", np.nan_to_num(covariance.position[:, :, rows])) / 3.0)
    if count and not scatter.all():
        raise InputError(
            Problem(
                "an outlier is so many standard deviations away, and these readings have none",
                row=int(campaign.readings.row[rows[int(np.argmin(scatter))]]),
                allowed="a standard deviation of readings above 0",
                next_step="Give --sigma, an instrument in the plan's settings, or columns sigma.x, sigma.y, sigma.z",
            )
        )
    return rows, sigmas, direction * (sigmas * scatter)
