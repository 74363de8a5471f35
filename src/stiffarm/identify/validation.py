"""`stiffarm validate`: a model judged on a campaign it was not fitted to.

A setup the model knows keeps its frame; another has only its six numbers fitted on its rows.  The nominal robot
is judged with its frames and tool fitted on the same rows, so that it is not blamed for what nobody told it.
Readings that were fitted cannot pass: the hash of their file and fingerprints of the readings stand in the model; nor
can readings so few that placing the unknown setup takes up what they say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identify.data import fitted_rows
from stiffarm.identify.domain import leaving
from stiffarm.identify.estimate import Estimate, Verdict
from stiffarm.identify.fit import fit_asked
from stiffarm.identify.holdout import configurations
from stiffarm.identify.iso9283 import Iso9283, iso9283
from stiffarm.identify.judge import WORTH, rms, with_frames
from stiffarm.identify.known import model_of, point_of
from stiffarm.identify.nonlinear import solve
from stiffarm.identify.options import LoadsChoice, Options
from stiffarm.identify.seen import Seen, seen_before
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import ask
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.observe import residual
from stiffarm.robot.placement import Rigid, rotation_from_vector
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
WORSE = 1.5
"""Error over that of readings kept back in the calibration beyond which it is said."""
NOT_SEEN = Seen(0, 0)
Refit = Literal["none", "frame", "tool"]


@dataclass(frozen=True, eq=False)
class Judged:
    """Readings a model was judged on."""

    campaign: Campaign
    frames: Mapping[str, Rigid]
    """Setup from world: the model's, or fitted on these readings."""
    residual: Floats
    """(6, rows) read minus expected, m and rad."""


@dataclass(frozen=True, repr=False)
class Validation(Shown):
    """Errors of a model on a campaign (SI)."""

    rows: int
    rms_m: float | None
    rms_rad: float | None
    max_m: float | None
    nominal_rms_m: float | None
    geometry_rms_m: float | None
    """Of the best model without elasticity from the calibration; None when the model has no compliances."""
    refit: Refit
    by_setup: Mapping[str, float]
    """Root mean square of the 3-D position error of each setup, m."""
    verdict: Verdict
    configurations: int = 0
    seen: Seen = NOT_SEEN
    """Readings that the model was fitted to."""
    iso9283: Iso9283 | None = None
    """None when nothing was repeated."""
    notes: tuple[str, ...] = ()
    judged: Judged | None = field(default=None, repr=False, compare=False)
    """The readings themselves and what the model leaves of them."""

    def summary(self) -> tuple[str, ...]:
        """Verdict, reasons, size."""
        largest = "" if self.max_m is None else f"; largest error {1e3 * self.max_m:.3g} mm"
        return (
            "usable" if self.verdict.usable else "not usable",
            *self.verdict.reasons,
            f"{self.rows} readings{largest}",
        )

    def to_polars(self) -> pl.DataFrame:
        """Root mean square error of each setup, m."""
        import polars as pl

        return pl.DataFrame({"setup": list(self.by_setup), "rms[m]": list(self.by_setup.values())})


def validate_model(
    estimate: Estimate,
    campaign: Campaign,
    *,
    refit: Refit = "frame",
    loads: LoadsChoice = "torque",
    files: Sequence[str | Path] = (),
    exact: bool = False,
) -> Validation:
    """Judge an estimate on a campaign, by first order or by ``exact`` equilibria."""
    model = model_of(estimate)
    as_read = campaign
    campaign = fitted_rows(model.robot, replace(campaign, exact=exact), Options(loads=loads)).campaign
    system = System(model, campaign, loads)
    if len(system) == 0:
        raise InputError(Problem("the campaign has no readings to judge by", file=campaign.name))
    known = point_of(estimate, model)
    fitted = _fitted_numbers(system, known, refit)
    at = _placed(system, known, refit)
    rest = _rest(system, at)
    errors, setups = _lengths(rest, campaign)
    angles = rest[3:][:, np.isfinite(rest[3:]).all(axis=0) & campaign.kind("pose")]
    nominal = _nominal_rest(system, campaign, loads)
    before = np.zeros(0) if nominal is None else _lengths(nominal, campaign)[0]
    found = Validation(
        rows=len(errors),
        rms_m=rms(errors) if len(errors) else None,
        rms_rad=float(np.sqrt(np.mean(np.sum(angles**2, axis=0)))) if angles.size else None,
        max_m=float(errors.max()) if len(errors) else None,
        nominal_rms_m=rms(before) if len(before) else None,
        geometry_rms_m=_geometry_rms(estimate, system, refit),
        refit=refit,
        by_setup={campaign.setups[i].name: rms(errors[setups == i]) for i in np.unique(setups)},
        verdict=Verdict(False, ()),
        configurations=len(np.unique(configurations(campaign))),
        seen=seen_before(estimate.provenance.readings, as_read),
        iso9283=iso9283(campaign, rest, nominal),
        notes=_outside(estimate, campaign),
        judged=Judged(campaign, at.frames, rest),
    )
    same_files = _fitted_files(estimate, files)
    return replace(found, verdict=_verdict(found, estimate, same_files, len(system), fitted))


def _rest(system: System, at: Point) -> Floats:
    """(6, rows) read minus expected; of a touch the way from the marker to what these touches say is there."""
    found = system.observer.expected(system.arm(at), at.frames)
    rest = residual(system.campaign, found.value)
    contacts = system.contacts
    if len(contacts.rows):
        missing, _ = contacts.missing(found.world, contacts.places(found.world))
        rest[:3, contacts.rows] = missing.T
    return rest


def _geometry_rms(estimate: Estimate, system: System, refit: Refit) -> float | None:
    """The best model without elasticity from the calibration, with the same refit."""
    alone = estimate.geometry_alone
    if alone is None:
        return None
    frames = {name: Rigid(rotation_from_vector(np.array(turn)), np.array(xyz)) for name, xyz, turn in alone.frames}
    at = Point({**system.model.nominal, **alone.values}, frames)
    errors, _ = _lengths(_rest(system, _placed(system, at, refit)), system.campaign)
    return rms(errors) if len(errors) else None


def _fitted_numbers(system: System, known: Point, refit: Refit) -> int:
    """How many numbers are fitted on the very rows that judge."""
    unknown = [system.campaign.setups[i].name for i in system.unknown_frames]
    if refit == "tool":
        return 6 * len(unknown) + len(_tool_names(system))
    return 6 * sum(name not in known.frames for name in unknown)


def _tool_names(system: System) -> list[str]:
    asked = ask(system.model.robot, system.campaign, Options(elastic="none")).names
    return [name for name in asked if name.startswith("tool.")]


def _lengths(rest: Floats, campaign: Campaign) -> tuple[Floats, NDArray[np.int64]]:
    seen = np.isfinite(rest[:3])
    used = seen.any(axis=0)
    lengths = np.sqrt(np.sum(np.where(seen, rest[:3], 0.0) ** 2, axis=0))[used]
    return np.asarray(lengths), campaign.readings.setup[used]


def _placed(system: System, at: Point, refit: Refit) -> Point:
    """Frames for the setups the model does not know and, when asked, markers and tool fitted on the rows."""
    unknown = [system.campaign.setups[i].name for i in system.unknown_frames]
    missing = [name for name in unknown if name not in at.frames]
    if missing and refit == "none":
        raise InputError(
            Problem(
                f"the model does not know where setup {missing[0]!r} stands",
                file=system.campaign.name,
                allowed=" ".join(at.frames) or "none",
                next_step="Use --refit frame to fit its six numbers on these rows",
            )
        )
    at = with_frames(system, at)
    if refit != "tool":
        return at
    # refitting the tool needs the frames free as well: both are where the tool sits in the setup
    names = _tool_names(system)
    start = Point(at.values, at.frames)
    return solve(system, start, names, lambda rows: rows).at if names else at


def _nominal_rest(system: System, campaign: Campaign, loads: LoadsChoice) -> Floats | None:
    """(6, rows) of the nominal robot with frames and tool fitted on the same rows; None when these are too few."""
    options = Options(elastic="none", loads=loads, estimator="wls", folds=0)
    asked = ask(system.model.robot, campaign, options)
    names = tuple(name for name in asked.names if name.startswith("tool."))
    asked = replace(asked, names=names, priors={})
    plain = System(asked.model, campaign, loads)
    if not names and not plain.unknown_frames:
        at = Point(asked.model.nominal, {})
    else:
        try:
            at = fit_asked(asked, campaign, options).at
        except InputError:
            return None
    return _rest(plain, at)


def _fitted_files(estimate: Estimate, files: Sequence[str | Path]) -> list[str]:
    known = {digest for digest in estimate.provenance.files.values() if digest}
    paths = [Path(file) for file in files]
    return [p.name for p in paths if p.is_file() and hashlib.sha256(p.read_bytes()).hexdigest() in known]


def _verdict(found: Validation, estimate: Estimate, same_files: Sequence[str], numbers: int, fitted: int) -> Verdict:
    """Usable or not, in words; ``fitted`` of the ``numbers`` read were needed to place what was not known."""
    if bad := _no_judge(found, same_files, numbers, fitted):
        return Verdict(False, (bad,))
    error, nominal = found.rms_m, found.nominal_rms_m
    assert error is not None
    reasons = _beside(found, estimate)
    if nominal is None:
        return Verdict(True, (f"{_mm(error)}; too few rows to say what the nominal robot does", *reasons))
    both = f"{_mm(error)} on {found.rows} readings that were not fitted, nominal {_mm(nominal)}"
    if error > WORTH * nominal:
        return Verdict(False, (f"no better than the nominal robot: {both}", *reasons))
    return Verdict(True, (both, *reasons))


def _no_judge(found: Validation, same_files: Sequence[str], numbers: int, fitted: int) -> str | None:
    """Why these readings cannot judge; None when they can."""
    if same_files:
        return f"{same_files[0]} was fitted: a model cannot be judged on what it learned from"
    if found.seen.is_training:
        share = f"{found.seen.fitted} of {found.seen.compared} readings"
        return f"{share} compared were fitted: a model cannot be judged on what it learned from"
    if found.rms_m is None:
        return "no positions to judge by"
    if fitted and (numbers < 2 * fitted or found.configurations < 3):
        return (
            f"too few readings to judge by: {fitted} numbers were fitted on {numbers} that were read in "
            f"{found.configurations} configurations"
        )
    return None


def _beside(found: Validation, estimate: Estimate) -> tuple[str, ...]:
    """What else is to be known of the error: geometry alone, what the calibration promised, repeated readings."""
    said = []
    error, holdout = found.rms_m or 0.0, estimate.holdout
    if found.geometry_rms_m is not None:
        said.append(f"geometry alone leaves {_mm(found.geometry_rms_m)}")
    if holdout is not None and holdout.rms_m and error > WORSE * holdout.rms_m:
        promised = f"the {_mm(holdout.rms_m)} that readings kept back in the calibration promised"
        said.append(f"{error / holdout.rms_m:.2g} times {promised}")
    if found.nominal_rms_m and error > 5.0 * found.nominal_rms_m and found.refit != "tool":
        said.append(
            "markers or tool seem to sit elsewhere than in the calibration: --refit tool fits them on these rows"
        )
    if found.iso9283 is not None:
        iso = found.iso9283
        both = f"pose accuracy up to {_mm(iso.ap_m)}, repeatability up to {_mm(iso.rp_m)}"
        said.append(f"{len(iso.poses)} repeated points: {both}")
    return tuple(said)


def _mm(metres: float) -> str:
    return f"{1e3 * metres:.3g} mm" if metres >= 1e-6 else f"{1e6 * metres:.3g} um"


def _outside(estimate: Estimate, campaign: Campaign) -> tuple[str, ...]:
    """Joints, forces, torques and temperatures beyond what the model was learned on, with the factor."""
    at, experiments = campaign.readings.experiment, campaign.experiments
    return leaving(
        estimate.domain,
        campaign.joints,
        experiments.q[:, at],
        experiments.wrench_world[:, :, at],
        campaign.readings.row,
        None if experiments.joint_torque is None else experiments.joint_torque[:, at],
        {name: values[at] for name, values in experiments.temperature.items()},
    )
