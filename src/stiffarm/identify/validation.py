"""`stiffarm validate`: a model judged on a campaign it was not fitted to.

A setup the model knows keeps its frame; another has only its six numbers fitted on its rows.  The nominal robot
is judged with its frames and tool fitted on the same rows, so that it is not blamed for what nobody told it.
A campaign whose file was fitted cannot pass: its hash stands in the model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identify.data import fitted_rows
from stiffarm.identify.estimate import Estimate, Verdict
from stiffarm.identify.fit import fit_asked
from stiffarm.identify.judge import WORTH, rms, with_frames
from stiffarm.identify.known import model_of, point_of
from stiffarm.identify.nonlinear import solve
from stiffarm.identify.options import LoadsChoice, Options
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import ask
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.observe import expected, residual

Floats = NDArray[np.float64]
Refit = Literal["none", "frame", "tool"]


@dataclass(frozen=True)
class Validation:
    """Errors of a model on a campaign (SI)."""

    rows: int
    rms_m: float | None
    rms_rad: float | None
    max_m: float | None
    nominal_rms_m: float | None
    refit: Refit
    by_setup: Mapping[str, float]
    """Root mean square of the 3-D position error of each setup, m."""
    verdict: Verdict
    notes: tuple[str, ...] = ()


def validate_model(
    estimate: Estimate,
    campaign: Campaign,
    *,
    refit: Refit = "frame",
    loads: LoadsChoice = "torque",
    files: Sequence[str | Path] = (),
) -> Validation:
    """Judge an estimate on a campaign."""
    model = model_of(estimate)
    campaign = fitted_rows(model.robot, campaign, Options(loads=loads)).campaign
    system = System(model, campaign, loads)
    if len(system) == 0:
        raise InputError(Problem("the campaign has no readings to judge by", file=campaign.name))
    at = _placed(system, point_of(estimate, model), refit)
    rest = residual(campaign, expected(system.arm(at), campaign, at.frames, loads).value)
    errors, setups = _lengths(rest, campaign)
    angles = rest[3:][:, np.isfinite(rest[3:]).all(axis=0) & campaign.kind("pose")]
    nominal = _nominal_rms(system, campaign, loads)
    by_setup = {campaign.setups[i].name: rms(errors[setups == i]) for i in np.unique(setups)}
    error = rms(errors) if len(errors) else None
    seen = _fitted_files(estimate, files)
    return Validation(
        len(errors),
        error,
        float(np.sqrt(np.mean(np.sum(angles**2, axis=0)))) if angles.size else None,
        float(errors.max()) if len(errors) else None,
        nominal,
        refit,
        by_setup,
        _verdict(error, nominal, seen),
        _outside(estimate, campaign),
    )


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
    names = [
        n for n in ask(system.model.robot, system.campaign, Options(elastic="none")).names if n.startswith("tool.")
    ]
    start = Point(at.values, at.frames)
    return solve(system, start, names, lambda rows: rows).at if names else at


def _nominal_rms(system: System, campaign: Campaign, loads: LoadsChoice) -> float | None:
    """The nominal robot with frames and tool fitted on the same rows."""
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
    rest = residual(campaign, expected(plain.arm(at), campaign, at.frames, loads).value)
    errors, _ = _lengths(rest, campaign)
    return rms(errors) if len(errors) else None


def _fitted_files(estimate: Estimate, files: Sequence[str | Path]) -> list[str]:
    known = {digest for digest in estimate.provenance.files.values() if digest}
    paths = [Path(file) for file in files]
    return [p.name for p in paths if p.is_file() and hashlib.sha256(p.read_bytes()).hexdigest() in known]


def _verdict(error: float | None, nominal: float | None, seen: Sequence[str]) -> Verdict:
    if seen:
        return Verdict(False, (f"{seen[0]} was fitted: a model cannot be judged on what it learned from",))
    if error is None:
        return Verdict(False, ("no positions to judge by",))
    if nominal is None:
        return Verdict(True, (f"{error * 1e3:.3g} mm; too few rows to say what the nominal robot does",))
    both = f"{error * 1e3:.3g} mm, nominal {nominal * 1e3:.3g} mm"
    if error > WORTH * nominal:
        return Verdict(False, (f"no better than the nominal robot: {both}",))
    return Verdict(True, (both,))


def _outside(estimate: Estimate, campaign: Campaign) -> tuple[str, ...]:
    """Joints and forces beyond what the model was learned on, with the factor."""
    notes = []
    used = np.unique(campaign.readings.experiment)
    for name, q in zip(campaign.joints, campaign.experiments.q[:, used], strict=True):
        known = estimate.domain.joints.get(name)
        if known is None or not np.isfinite(q).any():
            continue
        span = max(known[1] - known[0], 1e-9)
        beyond = max(known[0] - float(np.nanmin(q)), float(np.nanmax(q)) - known[1], 0.0) / span
        if beyond > 0.05:
            notes.append(f"{name} goes {beyond:.0%} of its learned range beyond it")
    force = np.linalg.norm(campaign.experiments.wrench_world[:, :3].sum(axis=0), axis=0)[used].max(initial=0.0)
    learned = estimate.domain.force[1] if estimate.domain.force else 0.0
    if force > 1.05 * learned and force > 0:
        factor = f"{force / learned:.2g} times" if learned else "a force where the model saw none:"
        notes.append(f"force {factor} what was learned ({force:.0f} N against {learned:.0f} N)")
    return tuple(notes)
