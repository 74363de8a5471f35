"""What an identification answers: numbers with their intervals, what was held and why, and whether to use it.

An `Estimate` is the model file (`stiffarm-model/1`) as an object: immutable, SI, and equal to itself after writing
and reading.  Parameters that could not be told are listed with their class and without a standard deviation; an
elastic one that nothing bends has no value either, so that nobody takes the file's number for a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stiffarm.identify.separated import Separation
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Class = Literal["identifiable", "uncertain", "negligible", "merged", "unobservable"]
Numbers = tuple[float, ...]
Range = tuple[float, float]


@dataclass(frozen=True)
class ParameterEstimate:
    """One parameter that was asked for (SI)."""

    name: str
    unit: str
    value: float | None
    nominal: float
    std: float | None
    low: float | None
    high: float | None
    level: float | None
    nu: float | None
    """|value|/std for elastic parameters, |value - nominal|/std for the others."""
    kind: Class
    merged: tuple[str, ...] = ()
    """For a fitted parameter those it stands for; for a held one those that stand for it."""


@dataclass(frozen=True)
class Held:
    """A parameter that was asked for and not fitted."""

    name: str
    why: str


@dataclass(frozen=True)
class SetupEstimate:
    """Frame of a setup (setup from world) and the tool as seen in it."""

    name: str
    xyz: Numbers
    rotvec: Numbers
    markers: tuple[tuple[str, Numbers], ...] = ()
    tool_rotvec: Numbers | None = None
    covariance: tuple[Numbers, ...] | None = None
    """(6, 6) translation (m), then rotation from the left (rad); None for a frame that was given."""
    cross: tuple[Numbers, ...] | None = None
    """(6, parameters) covariance of the same six with the parameters that were fitted."""
    scale: tuple[Numbers, ...] | None = None
    """The part of ``covariance`` that is due to loads which are not exactly known; None when that was not stated."""
    scale_cross: tuple[Numbers, ...] | None = None
    """The same part of ``cross``."""


@dataclass(frozen=True)
class TargetEstimate:
    """A touched point, plane or sphere where the model has it (world, SI)."""

    name: str
    shape: Literal["touch", "plane", "sphere"]
    xyz: Numbers
    """The point, the centre, or the plane's unit normal."""
    size: float | None
    """Radius of a sphere, distance of a plane from the world's origin along its normal; None for a point."""
    touches: int
    rms: float
    """Scatter of its touches about it, m."""


@dataclass(frozen=True)
class Outlier:
    """A reading, marker or configuration that does not fit the rest."""

    experiment: str
    marker: str
    evidence: str
    action: str = "kept"


@dataclass(frozen=True)
class FitSummary:
    """How the fit went."""

    n_rows: int
    dof: float | None
    """Least degrees of freedom of a parameter's standard deviation; None when the noise is known."""
    rms_m: float | None
    """Root mean square of the 3-D position residual, m; None without positions."""
    estimator: str
    lack_of_fit: Mapping[str, float] | None
    rank: int
    gap: float | None
    iterations: int
    reading_m: float | None = None
    """Standard deviation of the 3-D error of one reading, m."""
    shared_errors: Mapping[str, float] = field(default_factory=dict)
    """Standard deviations (m, rad) of the translations and rotations that readings share, by name."""
    scale_sigma: float | None = None
    """Standard deviation of the scale of all lengths when nothing measured tells it and it is held; else None."""


@dataclass(frozen=True)
class Domain:
    """Where the model was learned; leaving it is warned of."""

    joints: Mapping[str, Range] = field(default_factory=dict)
    torque: Mapping[str, Range] = field(default_factory=dict)
    force: Range | None = None
    temperature: Mapping[str, Range] = field(default_factory=dict)


@dataclass(frozen=True)
class GeometryAlone:
    """The best model without elasticity on the same readings, to be judged beside."""

    values: Mapping[str, float]
    frames: tuple[tuple[str, Numbers, Numbers], ...]
    """Name, place (m) and rotation vector of every setup."""


Source = Literal["stated", "visits", "configurations", "tested", "excess", "scatter"]


@dataclass(frozen=True)
class SharedErrors:
    """Errors that several readings have in common, and how that is known."""

    translation_m: float
    """Standard deviation of each component."""
    rotation_rad: float
    """The same, about the mean of the markers."""
    source: Source


@dataclass(frozen=True)
class ErrorModel:
    """What no parameter carries: how readings scatter, where the arm comes to rest, what the model misses.

    None stands for what was neither stated nor can be told from the readings.
    """

    reading_m: Numbers | None
    """Standard deviation of one reading along x, y, z of its setup."""
    reading_source: Source
    """``stated``: by the campaign; ``scatter``: what the fit leaves, with all that is not told apart from it."""
    stop: SharedErrors | None
    """Shared by the readings of one visit of a configuration: repeatability."""
    configuration: SharedErrors | None
    """The same at every visit of a configuration: lack of fit."""
    excess_m: Numbers | None
    """Along x, y, z, by what a reading scatters more than was stated; None when nothing was stated."""
    load_gain_sigma: float
    load_direction_sigma_rad: float
    markers: tuple[str, ...]
    """The points that were read; errors of rotation are about their mean."""
    difference: bool
    """Whether all of this was found from deflections."""


@dataclass(frozen=True)
class Remains:
    """What the fit left, one number per experiment, setup and marker (of a large campaign a part of them)."""

    experiment: tuple[str, ...]
    setup: tuple[str, ...]
    marker: tuple[str, ...]
    rms_m: Numbers
    """Root mean square of the 3-D residual."""
    of: int
    """How many there were."""
    mean_m: tuple[Numbers | None, ...] = ()
    """Mean residual, read less expected, along x, y, z of the setup; None where one of them was not read."""


@dataclass(frozen=True)
class UnseenErrors:
    """Errors on readings that were not fitted, one number per experiment, setup and marker (of many a part of them)."""

    experiment: tuple[str, ...]
    setup: tuple[str, ...]
    marker: tuple[str, ...]
    errors_m: Mapping[str, Numbers]
    """Root mean squares of the 3-D error of ``model``, ``nominal`` and ``geometry``."""
    of: int
    """How many there were."""


@dataclass(frozen=True)
class Holdout:
    """Errors on readings that were not fitted (root mean square of the 3-D position error, m)."""

    rule: str
    rows: int
    rms_m: float | None
    nominal_rms_m: float | None
    geometry_rms_m: float | None = None
    max_m: float | None = None
    quantiles: Mapping[str, Numbers] = field(default_factory=dict)
    """Errors of ``model``, ``nominal`` and ``geometry`` at shares 0, 0.05 ... 1 of the readings, m."""
    unseen: UnseenErrors | None = None
    """The errors themselves, for pictures; None in files that do not say."""


@dataclass(frozen=True)
class Verdict:
    """Whether to use the model, and why."""

    usable: bool
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Provenance:
    """Where the model comes from."""

    versions: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 by file name."""
    command: str = ""
    readings: tuple[str, ...] = ()
    """Fingerprints of the readings that were fitted (`stiffarm.identify.seen`)."""


@dataclass(frozen=True)
class RobotText:
    """The robot file the model belongs to, carried whole."""

    file: str
    text: str
    groups: Mapping[str, Numbers] = field(default_factory=dict)
    """Joint values (rad, m) of grouped compliances, by joint."""


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
    """An identified model."""

    robot: RobotText
    parameters: tuple[ParameterEstimate, ...]
    covariance_names: tuple[str, ...]
    covariance: tuple[Numbers, ...]
    dropped: tuple[Held, ...]
    setups: tuple[SetupEstimate, ...]
    outliers: tuple[Outlier, ...]
    fit: FitSummary
    domain: Domain
    holdout: Holdout | None
    verdict: Verdict
    provenance: Provenance
    scale_covariance: tuple[Numbers, ...] = ()
    """The part of `covariance` that is due to loads which are not exactly known and to a scale of lengths that is held;
    empty when there is neither."""
    notes: tuple[str, ...] = ()
    """What the user should know of this fit, in sentences."""
    errors: ErrorModel | None = None
    """What no parameter carries; None in files that do not say."""
    remains: Remains | None = None
    """Residuals for pictures; None in files that do not say."""
    geometry_alone: GeometryAlone | None = None
    """None when the model has no compliances, or nothing else."""
    separations: tuple[Separation, ...] = ()
    """Drive and compensator of the joints that have one or whose compliances were grouped by their angles."""
    targets: tuple[TargetEstimate, ...] = ()
    """What was touched."""
    configurations: Mapping[str, Numbers] = field(default_factory=dict)
    """Controller's joint values (rad, m; in the robot's order) of the experiments named in pictures."""

    def parameter(self, name: str) -> ParameterEstimate:
        """One parameter by name."""
        return next(p for p in self.parameters if p.name == name)

    @property
    def values(self) -> dict[str, float]:
        """Values (SI) of every parameter that has one."""
        return {p.name: p.value for p in self.parameters if p.value is not None}

    def summary(self) -> tuple[str, ...]:
        """Verdict, reasons, what was fitted."""
        told = sum(p.std is not None for p in self.parameters)
        fit = f"{told} parameters told from {self.fit.n_rows} readings ({self.fit.estimator})"
        held = f", {len(self.dropped)} held" if self.dropped else ""
        return ("usable" if self.verdict.usable else "not usable", *self.verdict.reasons, fit + held)

    def to_polars(self) -> pl.DataFrame:
        """The parameters, one a row, SI."""
        import polars as pl

        every = self.parameters
        return pl.DataFrame(
            {
                "name": [p.name for p in every],
                "unit": [p.unit for p in every],
                "value": pl.Series([p.value for p in every], dtype=pl.Float64),
                "nominal": pl.Series([p.nominal for p in every], dtype=pl.Float64),
                "std": pl.Series([p.std for p in every], dtype=pl.Float64),
                "low": pl.Series([p.low for p in every], dtype=pl.Float64),
                "high": pl.Series([p.high for p in every], dtype=pl.Float64),
                "class": [p.kind for p in every],
            }
        )

    def write(self, path: str | Path) -> None:
        """As a model file, `NAME.model.json`."""
        from stiffarm.identify.model_file import write_estimate

        write_estimate(self, Path(path))
