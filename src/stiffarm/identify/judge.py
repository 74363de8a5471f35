"""Errors on readings that were not fitted, and the verdict they give.

A model is judged beside the nominal robot (frames and tool fitted on the same training readings) and, when it has
compliances, beside geometry alone.  Frames found in training are kept; a setup that was not in it has only its six
numbers fitted on the readings judged.  Training residuals never decide: without readings kept back the verdict is no.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.identify.data import Data, campaign_of, part_of
from stiffarm.identify.estimate import GeometryAlone, Holdout, Verdict
from stiffarm.identify.fit import Fit, fit_asked
from stiffarm.identify.holdout import Split, folds, split
from stiffarm.identify.nonlinear import solve
from stiffarm.identify.options import Options
from stiffarm.identify.remains import JudgedRows, judged_rows_of, quantiles, unseen_errors
from stiffarm.identify.scale import scale_sentence
from stiffarm.identify.start import Cloud, find_start
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import Asked
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import expected
from stiffarm.measure.subset import with_readings
from stiffarm.robot.placement import vector_from_rotation

Floats = NDArray[np.float64]
WORTH = 0.95
"""A model must leave at most this share of the nominal error to be worth using."""
OVERFIT = 2.0
"""Held-out over training error beyond which a model has learned its own noise."""
ARITHMETIC_M = 1e-9
"""Below a nanometre readings hold no noise to learn: errors are those of rounding and of where the solver stopped."""


@dataclass(frozen=True, eq=False)
class Errors:
    """3-D position errors (m) of judged readings."""

    model: Floats
    nominal: Floats
    geometry: Floats | None
    rows: JudgedRows


def validate(asked: Asked, data: Data, options: Options) -> Holdout | None:
    """Hold-out or folds as the options say; None when they say no."""
    campaign = campaign_of(data)
    if options.holdout is not None:
        splits: Iterable[Split] = [split(campaign, options.holdout, options.seed)]
        rule = options.holdout
    else:
        if options.folds == 0:
            return None
        splits = list(folds(campaign, options.folds, options.seed))
        rule = f"folds:{options.folds}"
    errors = [found for one in splits if (found := _judged(asked, data, options, one)) is not None]
    if not errors:
        return None
    model = np.concatenate([e.model for e in errors])
    geometry = [e.geometry for e in errors if e.geometry is not None]
    return Holdout(
        rule,
        len(model),
        rms(model),
        rms(np.concatenate([e.nominal for e in errors])),
        rms(np.concatenate(geometry)) if geometry else None,
        float(model.max()),
        _spread(model, np.concatenate([e.nominal for e in errors]), geometry),
        unseen_errors([e.rows for e in errors]),
    )


def _spread(model: Floats, nominal: Floats, geometry: Sequence[Floats]) -> dict[str, tuple[float, ...]]:
    """Quantiles of the errors of every model that was judged."""
    found = {"model": quantiles(model), "nominal": quantiles(nominal)}
    return found | {"geometry": quantiles(np.concatenate(geometry))} if geometry else found


def rms(errors: Floats) -> float:
    """Root mean square, m."""
    return float(np.sqrt(np.mean(errors**2)))


def _judged(asked: Asked, data: Data, options: Options, one: Split) -> Errors | None:
    train, test = part_of(data, ~one.judged), part_of(data, one.judged).campaign
    fitted = train.campaign
    plain = replace(options, estimator="wls") if options.estimator in (None, "honest", "bootstrap") else options
    try:
        found = fit_asked(asked, train, plain)
    except InputError:
        return None
    tool = tool_only(asked)
    nominal = _fit_or_start(tool, train, plain)
    geometry = None
    rigid = rigid_part(asked)
    if rigid is not None and rigid.names != tool.names:
        geometry = position_errors(fit_asked(rigid, train, plain).at, asked, test, options, fitted)
    own = position_errors(found.at, asked, test, options, fitted)
    before = position_errors(nominal, asked, test, options, fitted)
    every = {"model": own, "nominal": before} | ({} if geometry is None else {"geometry": geometry})
    return Errors(own, before, geometry, judged_rows_of(test, judged_rows(test), every))


def rigid_part(asked: Asked) -> Asked | None:
    """What is asked without elasticity and loads; None when that is nothing, or everything."""
    names = tuple(name for name in asked.names if not bends(name))
    return replace(asked, names=names, priors=_among(asked, names)) if 0 < len(names) < len(asked.names) else None


def geometry_alone(asked: Asked, data: Data, options: Options) -> GeometryAlone | None:
    """The best model without elasticity on the same readings; None when there is none."""
    rigid = rigid_part(asked)
    if rigid is None:
        return None
    at = fit_asked(rigid, data, replace(options, estimator="wls")).at
    nominal = asked.model.nominal
    frames = (
        (name, tuple(map(float, frame.translation)), tuple(map(float, vector_from_rotation(frame.rotation))))
        for name, frame in at.frames.items()
    )
    changed = {name: float(value) for name, value in at.values.items() if value != nominal[name]}
    return GeometryAlone(changed, tuple(frames))


def bends(name: str) -> bool:
    """Whether a parameter belongs to what gives way, not to geometry.

    >>> bends("A2.compensator.s0"), bends("tool.P1.x")
    (True, False)
    """
    return ".compliance" in name or ".compensator." in name or name.startswith("load.")


def tool_only(asked: Asked) -> Asked:
    """Markers and tool alone: what the nominal robot is fitted with before it is judged."""
    names = tuple(name for name in asked.names if name.startswith("tool."))
    return replace(asked, names=names, priors=_among(asked, names))


def _among(asked: Asked, names: Sequence[str]) -> dict[str, float]:
    return {name: sigma for name, sigma in asked.priors.items() if name in set(names)}


def _fit_or_start(asked: Asked, data: Data, options: Options) -> Point:
    """A fit of the tool and frames, or the nominal point when there is nothing to fit."""
    system = System(asked.model, campaign_of(data), options.loads)
    if not asked.names and not system.unknown_frames:
        from stiffarm.identify.begin import begin

        return begin(system, ())
    return fit_asked(asked, data, options).at


def position_errors(
    at: Point, asked: Asked, campaign: Campaign, options: Options, fitted: Campaign | None = None
) -> Floats:
    """3-D error (m) of each reading of a position or a deflection, and of each touch.

    Unknown setups get their own frame first.  A touch is off by its distance from what it touches: a target is where
    the touches of ``fitted`` put it, or when these do not touch it, where the touches judged do.
    """
    system = System(asked.model, campaign, options.loads)
    placed = with_frames(system, at)
    found = system.observer.expected(system.arm(placed), placed.frames)
    lengths, _ = length_errors(campaign, found.value)
    if not len(system.contacts.rows):
        return lengths
    place = system.contacts.places(found.world)
    if fitted is not None:
        before = System(asked.model, fitted, options.loads)
        known = places_by_name(before, at)
        for i, target in enumerate(system.contacts.targets.targets):
            place[i] = known.get(target.name, place[i])
    off, _ = system.contacts.missing(found.world, place)
    return np.concatenate([lengths, np.linalg.norm(off, axis=1)])


def judged_rows(campaign: Campaign) -> NDArray[np.int64]:
    """The readings whose errors `position_errors` states, in its order."""
    lengths = np.flatnonzero(np.isfinite(campaign.readings.value[:3]).any(axis=0))
    return np.concatenate([lengths, Contacts(campaign).rows])


def length_errors(campaign: Campaign, value: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Length (m) of what was read less ``value`` (6, readings) where any of x y z was read, and those readings."""
    rest = campaign.readings.value[:3] - value[:3]
    seen = np.isfinite(rest)
    used = np.flatnonzero(seen.any(axis=0))
    return np.asarray(np.sqrt(np.sum(np.where(seen, rest, 0.0) ** 2, axis=0))[used]), used


def places_by_name(system: System, at: Point) -> dict[str, Floats]:
    """Where each target of a system is for the arm at a point, as `stiffarm.measure.contacts` has it."""
    world = system.observer.expected(system.arm(at), at.frames).world
    contacts = system.contacts
    names = [target.name for target in contacts.targets.targets]
    return dict(zip(names, contacts.places(world), strict=True))


def with_frames(system: System, at: Point) -> Point:
    """The point with a frame for every setup of a campaign: unknown ones are fitted on its readings."""
    missing = [i for i in system.unknown_frames if system.campaign.setups[i].name not in at.frames]
    if not missing:
        return at
    campaign = system.campaign
    rows = np.isin(campaign.readings.setup, missing) & campaign.placed
    own = with_readings(campaign, rows)
    part = System(system.model, own, system.loads)
    world = expected(system.arm(at), own, None, system.loads).world
    whole = np.flatnonzero(np.isfinite(own.readings.value[:3]).all(axis=0))
    cloud = Cloud(
        world[:, whole],
        np.zeros((3, 3, len(whole))),
        own.readings.value[:3, whole],
        own.readings.setup[whole],
        np.full(len(whole), -1),
    )
    start = find_start(cloud)
    frames = dict(at.frames) | {campaign.setups[i].name: frame for i, frame in start.frames.items()}
    point = Point(at.values, frames)
    solution = solve(part, point, (), lambda rows: rows)
    return Point(at.values, dict(at.frames) | {n: f for n, f in solution.at.frames.items() if n not in at.frames})


def verdict(found: Fit, holdout: Holdout | None, training_rms_m: float | None) -> Verdict:
    """Usable or not, in words; what is not known of the scale stands first."""
    answer = _verdict(found, holdout, training_rms_m)
    if found.held_scale is None:
        return answer
    return Verdict(answer.usable, (scale_sentence(found.held_scale), *answer.reasons))


def _verdict(found: Fit, holdout: Holdout | None, training_rms_m: float | None) -> Verdict:
    if holdout is None:
        return Verdict(False, ("no readings were kept back, so nothing says how well the model predicts",))
    bad: list[str] = []
    error, nominal = holdout.rms_m, holdout.nominal_rms_m
    if error is None or nominal is None or not np.isfinite(error):
        return Verdict(False, ("the readings kept back give no position error",))
    if error > WORTH * nominal:
        bad.append(
            f"on readings not fitted it is no better than the nominal robot: {_mm(error)} against {_mm(nominal)}"
        )
    if training_rms_m and error > max(OVERFIT * training_rms_m, ARITHMETIC_M) and holdout.rows >= 10:
        bad.append(
            f"it fits its own readings ({_mm(training_rms_m)}) much better than others ({_mm(error)}): "
            "too many parameters for these configurations"
        )
    if not found.solution.converged:
        bad.append("the fit did not settle")
    if bad:
        return Verdict(False, tuple(bad))
    good = [f"{_mm(error)} on {holdout.rows} readings not fitted ({holdout.rule}), nominal {_mm(nominal)}"]
    if holdout.geometry_rms_m is not None:
        good.append(f"geometry alone leaves {_mm(holdout.geometry_rms_m)}")
    return Verdict(True, tuple(good))


def _mm(metres: float) -> str:
    return f"{metres * 1e3:.3g} mm" if metres >= 1e-6 else f"{metres * 1e6:.3g} um"
