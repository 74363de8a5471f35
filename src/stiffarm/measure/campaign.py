"""A campaign: what the robot was told to do, what pulled on it, and what the instrument reported.

Columns of numbers, not lists of objects: *experiments* (one per configuration and load) and *readings*
(one per row of the file, pointing at its experiment).  Everything is SI; the batch axis is last.  What
was not read is NaN; an index that points nowhere is -1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.robot.arm import JointKind, Placement, Vector3
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OBSERVATIONS = ("position", "deflection", "pose", "distance", "touch", "plane", "sphere")
"""What a row reports, in the order of the codes in `Readings.kind`."""

DEFAULT_MARKER = "tool"
"""The tool point, when a row names no marker."""


@dataclass(frozen=True)
class Isotropic:
    """The same independent error on every coordinate of every reading."""

    sigma_m: float
    sigma_rad: float | None = None


@dataclass(frozen=True)
class Tracker:
    """A laser tracker: error along the beam and across it; needs the station of each setup."""

    range_m: float
    range_per_m: float
    angle_rad: float


@dataclass(frozen=True)
class SigmaTable:
    """Standard deviation by configuration and axis (paper 003, Table 1)."""

    experiments: tuple[str, ...]
    sigma_m: tuple[Vector3, ...]


@dataclass(frozen=True)
class Spherical:
    """Random direction with a normal length: covariance sigma^2 diag(1/4, 1/4, 1/2) (paper 001, eq. 18)."""

    sigma_m: float


Instrument = Isotropic | Tracker | SigmaTable | Spherical


@dataclass(frozen=True)
class SharedError:
    """Standard deviations of what all readings of one visit (or configuration) share."""

    translation_m: float = 0.0
    rotation_rad: float = 0.0


@dataclass(frozen=True)
class LoadUncertainty:
    """How well the load is known, and which rows share its error."""

    gain_sigma: float = 0.0
    direction_sigma_rad: float = 0.0
    shared: Literal["campaign", "setup", "experiment"] = "campaign"


@dataclass(frozen=True)
class Payload:
    """A mass bolted to the flange for a setup."""

    mass_kg: float
    com_m: Vector3 = (0.0, 0.0, 0.0)
    """In the flange frame."""
    mass_sigma_kg: float = 0.0


@dataclass(frozen=True)
class Setup:
    """A day, a mounting or a tracker station: what of it is known."""

    name: str
    placement: Placement | None = None
    """Setup from world, when given in the campaign file."""
    station_m: Vector3 | None = None
    """The tracker, in the setup's frame."""
    payload: Payload | None = None


@dataclass(frozen=True, eq=False)
class Experiments:
    """One column per experiment (a configuration with its loads)."""

    names: tuple[str, ...]
    q: Floats
    """(joints, experiments) controller values, rad or m; NaN only for rows that need no joints."""
    load_points: tuple[str, ...] = ()
    """Names of the points at which something pulls anywhere in this campaign."""
    wrench_world: Floats = field(default_factory=lambda: np.zeros((0, 6, 0)))
    """(load points, 6, experiments): force (N) and torque (N m) in the world frame; 0 = none."""
    cable_from_m: Floats | None = None
    """(3, experiments) robot-side point of a pulling cable; the force at the load point is already in
    `wrench_world`."""
    cable_to_m: Floats | None = None
    tension_n: Floats | None = None
    """(experiments,)"""
    joint_torque: Floats | None = None
    """(joints, experiments) measured torque of the load, N m (N for a prismatic joint)."""
    encoder: Floats | None = None
    """(joints, experiments) link-side joint values, rad or m."""
    approach: Floats | None = None
    """(joints, experiments) +1 or -1; NaN = unknown."""
    temperature: Mapping[str, Floats] = field(default_factory=dict)
    """degC by name, (experiments,)"""
    sigma_q: Floats | None = None
    """(joints, experiments)"""
    sigma_force_n: Floats | None = None
    """(experiments,)"""

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Readings:
    """One column per reading (row of the file)."""

    experiment: Ints
    """Index into `Experiments.names`."""
    repeat: Ints
    """Repetition number, 1 when the file has none."""
    setup: Ints
    """Index into `Campaign.setups`."""
    kind: Ints
    """Index into `OBSERVATIONS`."""
    marker: Ints
    """Index into `Campaign.markers`; -1 for rows without one."""
    value: Floats
    """(6, rows): x y z (m), rotation vector (rad); NaN = not read."""
    sigma: Floats
    """(6, rows) standard deviations of the same numbers; NaN = not given."""
    reference: Ints
    """Index of the unloaded experiment subtracted from this row, or -1."""
    target: Ints
    """Index into `Campaign.targets`, or -1."""
    target2: Ints
    distance_m: Floats
    sigma_distance_m: Floats
    radius_m: Floats
    visit: Ints
    """Index into `Campaign.visits` (one physical stop), or -1."""
    sequence: Floats
    time_s: Floats
    row: Ints
    """Line in the file (the header is row 1)."""

    def __len__(self) -> int:
        return int(self.experiment.shape[0])


@dataclass(frozen=True, eq=False, repr=False)
class Campaign(Shown):
    """Experiments and readings of one or several campaign files, with the instrument's noise model."""

    name: str
    joints: tuple[str, ...]
    experiments: Experiments
    readings: Readings
    markers: tuple[str, ...] = ()
    """Names of the markers that were read."""
    setups: tuple[Setup, ...] = ()
    visits: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    instrument: Instrument | None = None
    shared: SharedError = SharedError()
    load_uncertainty: LoadUncertainty = LoadUncertainty()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Unknown columns, kept as text, by header."""
    files: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    joint_kinds: tuple[JointKind, ...] = ()
    """Kind of every joint (from the robot, else from the units of the file); empty = all revolute."""
    exact: bool = False
    """Whether readings are held against the equilibrium on true transforms instead of first order
    (`stiffarm.measure.observe`)."""

    def kind(self, name: str) -> NDArray[np.bool_]:
        """Which readings are of the named observation kind."""
        return np.asarray(self.readings.kind == OBSERVATIONS.index(name))

    @property
    def placed(self) -> NDArray[np.bool_]:
        """Which readings say where a marker is in the frame of their setup: positions and poses."""
        return self.kind("position") | self.kind("pose")

    def summary(self) -> tuple[str, ...]:
        """How much was read of what."""
        count, kinds = len(self.readings), [name for name in OBSERVATIONS if self.kind(name).any()]
        read = f"{count} readings ({', '.join(kinds)}) of {len(self.experiments)} experiments"
        where = f"joints {' '.join(self.joints)}; markers {', '.join(self.markers) or 'none'}"
        return (f"campaign '{self.name}': {read}", where, f"setups {', '.join(s.name for s in self.setups)}")

    def to_polars(self, units: str = "mm,deg") -> pl.DataFrame:
        """The rows of its file, in these units where they keep every bit, else in SI."""
        from stiffarm.measure.writing import campaign_frame

        return campaign_frame(self, units)
