"""Whether the gears' eccentricities join a geometric model: decided by readings that were not fitted.

A gear that is off centre turns its joint by s sin q + c cos q, which no placement error can say.  Two numbers a joint
cost precision where the gears are good and buy accuracy where they are not, so they are tried when geometry is free
and are kept when they clearly predict better.  With e the error of a reading in a fold that did not fit it,

    d_c = mean over the readings of configuration c of (e without)^2 - (e with)^2,

the configurations are independent, and the eccentricities join when the mean of d_c is more than `CLEARLY` of its
standard errors above 0 (unknowns that say nothing make it negative) and the root-mean-square error falls by
`WORTHWHILE` at least.  Only readings to be fitted take part: those held out are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.identify.data import Data, campaign_of, part_of
from stiffarm.identify.fit import fit_asked
from stiffarm.identify.holdout import Split, configurations, folds
from stiffarm.identify.judge import judged_rows, position_errors
from stiffarm.identify.options import Options
from stiffarm.identify.unknowns import Asked, ask
from stiffarm.model.parameters import glob_match
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
FOLDS, FEW = 5, 40
"""Folds; up to so many configurations, each is left out once."""
LEAST = 5
"""Configurations under which nothing is tried."""
CLEARLY = 1.0
WORTHWHILE = 0.02
MOST_READINGS = 30_000
"""Readings above which nothing is tried."""


@dataclass(frozen=True)
class Trial:
    """What was asked for in the end, and a sentence when eccentricities joined."""

    options: Options
    asked: Asked
    note: str | None = None


def with_eccentricities(robot: Robot, asked: Asked, data: Data, options: Options) -> Trial:
    """Ask for eccentricities too when they clearly lower the error of readings left out of the fit."""
    plain = Trial(options, asked)
    wanted = _patterns(robot, asked, options)
    if not wanted or not _can_be_judged(data, options):
        return plain
    more = replace(options, select=(*options.select, *wanted))
    campaign = campaign_of(data)
    asked_more = ask(robot, campaign, more)
    count = len(np.unique(configurations(campaign)))
    splits = list(folds(campaign, FOLDS if count > FEW else "each", options.seed))
    try:
        without, configuration = _errors(asked, data, options, splits)
        with_them, _ = _errors(asked_more, data, more, splits)
    except InputError:  # too few configurations for a fold to be fitted
        return plain
    before, after = _rms(without), _rms(with_them)
    if not clearly_better(without, with_them, configuration):
        return plain
    joints = ", ".join(dict.fromkeys(name.split(".")[0] for name in wanted))
    note = (
        f"eccentricities of the gears of {joints} were added: on readings left out of the fit the error falls from "
        f"{1e3 * before:.3g} to {1e3 * after:.3g} mm (--gears none leaves them out)"
    )
    return Trial(more, asked_more, note)


def clearly_better(without: Floats, with_them: Floats, configuration: NDArray[np.int64]) -> bool:
    """Whether errors (readings,) fell beyond chance, readings of one configuration being one piece of evidence.

    >>> one = np.arange(8)
    >>> clearly_better(np.full(8, 2.0), np.full(8, 1.0), one), clearly_better(np.full(8, 2.0), np.full(8, 1.99), one)
    (True, False)
    """
    code = np.unique(configuration, return_inverse=True)[1].reshape(-1)
    gain = np.bincount(code, without**2 - with_them**2) / np.bincount(code)
    error = np.std(gain, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    return bool(gain.mean() > CLEARLY * error and _rms(with_them) < (1.0 - WORTHWHILE) * _rms(without))


def _patterns(robot: Robot, asked: Asked, options: Options) -> tuple[str, ...]:
    """Eccentricities of the turning joints, when geometry is free and nobody asked for one of them."""
    names = [f"{joint.name}.{part}" for joint in robot.joints if joint.kind == "revolute" for part in ("sin", "cos")]
    free = any(f"{joint.name}.rx" in asked.names for joint in robot.joints)
    if options.gears == "none" or not free or set(names) & set(asked.names):
        return ()
    return tuple(name for name in names if not any(glob_match(name, pattern) for pattern in options.fix))


def _can_be_judged(data: Data, options: Options) -> bool:
    campaign = campaign_of(data)
    direct = ~campaign.kind("deflection")
    judged = options.holdout is not None or options.folds != 0
    judged = judged and len(np.unique(configurations(campaign))) >= LEAST
    return judged and bool(direct.all()) and len(campaign.readings) <= MOST_READINGS


def _errors(asked: Asked, data: Data, options: Options, splits: Sequence[Split]) -> tuple[Floats, NDArray[np.int64]]:
    """Errors (m) of readings that were not fitted, and the configuration of each."""
    quick = replace(options, estimator="wls" if options.estimator != "robust" else "robust")
    code = configurations(campaign_of(data))
    errors, codes = [], []
    for split in splits:
        training = part_of(data, ~split.judged)
        found = fit_asked(asked, training, quick)
        judged = part_of(data, split.judged).campaign
        errors.append(position_errors(found.at, asked, judged, options, training.campaign))
        codes.append(code[split.judged][judged_rows(judged)])
    return np.concatenate(errors), np.concatenate(codes)


def _rms(errors: Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))
