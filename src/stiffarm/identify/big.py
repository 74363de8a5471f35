"""Identification of campaigns too big to be held: fit, folds and verdict in passes over pieces of it.

What `stiffarm.identify.api` does with a campaign in memory is done here with one in pieces
(`stiffarm.measure.spool`, `stiffarm.identify.streamed`).  Estimators are `wls`, the default for so many readings, and
`ols`.  Readings kept back are chosen by their joints: a fingerprint of the joint values decides the fold, so that rows
of one configuration stay together wherever they stand in the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.identify.assemble import assemble, domain
from stiffarm.identify.begin import begin
from stiffarm.identify.data import resolved_of
from stiffarm.identify.eccentricity import with_eccentricities
from stiffarm.identify.estimate import Domain, Estimate, Holdout, Provenance
from stiffarm.identify.fit import Fit, fit_asked, priors_of
from stiffarm.identify.holdout import split
from stiffarm.identify.judge import position_errors, rigid_part, tool_only, verdict
from stiffarm.identify.noise import assumed_noise
from stiffarm.identify.nonlinear import Solution
from stiffarm.identify.nuisance import Nuisance
from stiffarm.identify.options import Options
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.streamed import FoldOf, Stream, Streamed, stream_fit
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import Asked, ask
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.spool import EntangledError, Spool, Told, fingerprints, spooled
from stiffarm.measure.subset import with_readings
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BIG_BYTES = 4_000_000
"""Size of the files together from which a campaign is taken in pieces."""
FOLDABLE = ("experiment", "setup", "load", "column")


def takes_pieces(paths: Sequence[str | Path], options: Options) -> bool:
    """Whether files are big enough to be taken in pieces, and nothing asked for needs all rows at once."""
    sizes = [Path(path).stat().st_size for path in paths if Path(path).is_file()]
    if len(sizes) < len(paths) or sum(sizes) < BIG_BYTES or len({Path(p).resolve() for p in paths}) < len(paths):
        return False
    rule = options.holdout is None or options.holdout.partition(":")[0] in FOLDABLE
    plain = options.estimator in (None, "ols", "wls") and options.folds != "each"
    plain = plain and not (options.reduce or options.reduction or options.definite)
    return plain and rule and not any(".compliance[" in pattern for pattern in options.select)


def identify_pieces(
    robot: Robot, paths: Sequence[str | Path], options: Options, provenance: Provenance, tell: Told | None = None
) -> Estimate:
    """Identify from files in pieces; raises `EntangledError` when their rows cannot be taken apart."""
    with spooled(paths, robot, tell) as spool:
        asked = ask(robot, spool.sample, options)
        if asked.neglect or any(n == "payload.mass" or ".compensator." in n for n in asked.names):
            raise EntangledError  # found in turns, each from a fit of everything before it
        trial = with_eccentricities(robot, asked, resolved_of(spool.sample), options)
        asked, options = trial.asked, trial.options
        stream = _stream(spool, asked, options, tell)
        fitted = [0] if options.holdout is not None else list(range(stream.folds))
        found = stream_fit(stream, begin(stream.system, asked.names), fitted, "model")
        judged = _judge(found, stream, options, fitted)
        fit = _as_fit(found, options)
        notes = (*spool.warnings, *([] if trial.note is None else [trial.note]), _size_note(spool, found))
        answer = verdict(fit, judged.holdout, judged.training_m)
        estimate = assemble(fit, options, holdout=judged.holdout, verdict=answer, provenance=provenance)
    dof = float(np.min(found.estimate.dof))
    summary = replace(
        estimate.fit,
        n_rows=judged.fitted_rows,
        dof=dof if np.isfinite(dof) else None,
        rms_m=judged.training_m,
        reading_m=_reading_sigma(found, fitted),
    )
    return replace(estimate, fit=summary, domain=judged.domain, notes=(*notes, *estimate.notes))


def _size_note(spool: Spool, found: Streamed) -> str:
    return (
        f"{spool.rows} readings were taken in {spool.count} pieces and {found.passes} passes: every reading counts by "
        "itself, repeats are not compared and outliers are not looked for"
    )


def _stream(spool: Spool, asked: Asked, options: Options, tell: Told | None) -> Stream:
    system = System(asked.model, spool.sample, options.loads)
    noise = assumed_noise(system, begin(system, asked.names))
    if noise.mixed:  # lengths and angles find their scales from a fit of the sample
        noise = fit_asked(asked, spool.sample, replace(options, estimator="wls", holdout=None)).noise
    fold_of, count = _folds(spool, options)
    return Stream(spool, asked, system, noise, options.estimator == "ols", fold_of, count, tell)


def _folds(spool: Spool, options: Options) -> tuple[FoldOf, int]:
    """Fold of every reading: 0 is fitted and 1 judged with a hold-out, else one fold after another is left out."""
    if options.holdout is None:
        count = max(int(options.folds), 1)
        return lambda piece: _mixed(piece, options.seed) % count, count
    kind, _, value = options.holdout.partition(":")
    if kind == "experiment":
        split(spool.sample, options.holdout, options.seed)  # refuses what is no share
        share = float(value)
        return lambda piece: (_mixed(piece, options.seed) % 1_000_000 < share * 1e6).astype(np.int64), 2
    if kind == "setup":
        split(spool.sample, options.holdout, options.seed)
        return lambda piece: np.array([s.name == value for s in piece.setups])[piece.readings.setup].astype(int), 2
    chosen = _chosen_configurations(spool, options.holdout, options.seed)
    return lambda piece: np.isin(_prints(piece), chosen).astype(np.int64), 2


def _chosen_configurations(spool: Spool, rule: str, seed: int) -> NDArray[np.uint64]:
    """Fingerprints of the configurations that a rule on columns or loads keeps back."""
    chosen: list[NDArray[np.uint64]] = []
    largest = max((_pull(piece).max(initial=0.0) for piece in spool), default=0.0)
    for piece in spool:
        if rule.startswith("load:"):
            mask = (_pull(piece) >= largest * (1 - 1e-9))[piece.readings.experiment]
        else:
            name, _, wanted = rule.partition(":")[2].partition("=")
            known = {header.split("[")[0].strip(): column for header, column in piece.extra.items()}
            mask = np.array([text.strip() == wanted.strip() for text in known.get(name, ())], dtype=bool)
        if mask.any():
            chosen.append(np.unique(_prints(piece)[mask]))
    if not chosen or (not largest and rule.startswith("load:")):
        split(spool.sample, rule, seed)  # says what is wrong with the rule
        raise InputError([])
    return np.unique(np.concatenate(chosen))


def _pull(piece: Campaign) -> Floats:
    return np.asarray(np.linalg.norm(piece.experiments.wrench_world[:, :3].sum(axis=0), axis=0))


def _prints(piece: Campaign) -> NDArray[np.uint64]:
    """Fingerprint of the configuration of each reading."""
    return np.asarray(fingerprints(np.round(piece.experiments.q, 12))[piece.readings.experiment])


def _mixed(piece: Campaign, seed: int) -> Ints:
    """Numbers as good as random, the same for readings of one configuration."""
    words = _prints(piece) ^ np.uint64((seed * 0x9E3779B97F4A7C15) % 2**64)
    words = (words ^ (words >> np.uint64(31))) * np.uint64(0xD6E8FEB86659FD93)
    return np.asarray((words >> np.uint64(20)) & np.uint64(0x7FFFFFFF), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Judged:
    """What a last pass over all pieces says."""

    holdout: Holdout | None
    training_m: float | None
    fitted_rows: int
    domain: Domain


def _judge(found: Streamed, stream: Stream, options: Options, fitted: Sequence[int]) -> _Judged:
    """Errors of the model, of the nominal robot and of geometry alone on the readings that each did not see."""
    judged = _judged_folds(options, stream.folds)
    models = {"model": {fold: found.without(fold) for fold in judged}}
    if judged:
        others = {"nominal": tool_only(stream.asked)}
        rigid = rigid_part(stream.asked)
        if rigid is not None and rigid.names != others["nominal"].names:
            others["geometry"] = rigid
        for label, asked in others.items():
            models[label] = _left_out(replace(stream, asked=asked), judged, fitted, label)
    sums: dict[str, list[float]] = {label: [0.0, 0.0, 0.0] for label in (*models, "training")}
    total = Domain()
    rows = 0
    for piece in stream.spool:
        fold = stream.fold_of(piece)
        inside = with_readings(piece, np.isin(fold, fitted))
        rows += len(inside.readings)
        if len(inside.readings):
            total = _joined(total, domain(inside))
            _add(sums["training"], position_errors(found.at, stream.asked, inside, options))
        for one in judged:
            part = with_readings(piece, fold == one)
            for label, points in models.items():
                if len(part.readings):
                    _add(sums[label], position_errors(points[one], stream.asked, part, options))
    rule = options.holdout or f"folds:{options.folds}"
    count = int(sums["model"][1])
    holdout = None
    if count:
        geometry = _rms(sums["geometry"]) if "geometry" in sums else None
        holdout = Holdout(rule, count, _rms(sums["model"]), _rms(sums["nominal"]), geometry, sums["model"][2])
    return _Judged(holdout, _rms(sums["training"]), rows, total)


def _judged_folds(options: Options, folds: int) -> list[int]:
    if options.holdout is not None:
        return [1]
    return list(range(folds)) if folds > 1 else []


def _left_out(stream: Stream, judged: Sequence[int], fitted: Sequence[int], label: str) -> dict[int, Point]:
    start = begin(stream.system, stream.asked.names)
    if not stream.asked.names and not stream.system.unknown_frames:
        return dict.fromkeys(judged, start)
    found = stream_fit(stream, start, fitted, label)
    return {fold: found.without(fold) for fold in judged}


def _add(sums: list[float], errors: Floats) -> None:
    sums[0] += float(errors @ errors)
    sums[1] += len(errors)
    sums[2] = max(sums[2], float(errors.max(initial=0.0)))


def _rms(sums: Sequence[float]) -> float | None:
    return float(np.sqrt(sums[0] / sums[1])) if sums[1] else None


def _joined(a: Domain, b: Domain) -> Domain:
    def both(x: dict[str, tuple[float, float]], y: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
        names = dict.fromkeys([*x, *y])
        return {n: _hull([r for r in (x.get(n), y.get(n)) if r is not None]) for n in names}

    force = [r for r in (a.force, b.force) if r is not None]
    return Domain(
        both(dict(a.joints), dict(b.joints)),
        both(dict(a.torque), dict(b.torque)),
        _hull(force) if force else None,
        both(dict(a.temperature), dict(b.temperature)),
    )


def _hull(ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _as_fit(found: Streamed, options: Options) -> Fit:
    """The fit as the estimate is made from it, with the sample in the place of the readings."""
    stream, n, p = found.stream, len(found.names), found.unknowns
    covariance = found.estimate.covariance
    between = covariance[:p, p:] @ np.linalg.pinv(covariance[p:, p:], hermitian=True)
    estimate = LinearEstimate(
        estimator="ols" if options.estimator == "ols" else "wls",
        values=np.zeros(p),
        covariance=covariance[:p, :p],
        dof=found.estimate.dof[:p],
        residuals=np.zeros(0),
        names=(*found.names, *stream.system.frame_names),
        details=found.estimate.details,
    )
    none = np.zeros((len(stream.system), 0))
    return Fit(
        system=stream.system,
        asked=stream.asked,
        names=found.names,
        solution=Solution(found.at, stream.system.equations(found.at, found.names), found.passes, found.converged),
        estimate=estimate,
        noise=stream.noise,
        selection=found.selection,
        dropped=found.dropped,
        rank=p if n else len(stream.system.frame_names),
        priors=priors_of(stream.asked, found.names),
        errors=Nuisance(found.errors, none),
        scale=between @ covariance[p:, :p],
    )


def _reading_sigma(found: Streamed, fitted: Sequence[int]) -> float | None:
    """Standard deviation of the 3-D error of one reading, m."""
    noise = found.stream.noise
    lengths = ~noise.angular
    if not lengths.any():
        return None
    variance = 1.0 if found.stream.known else found.variance(fitted)
    return float(np.sqrt(3.0 * variance * np.mean(noise.sigma[lengths] ** 2)))
