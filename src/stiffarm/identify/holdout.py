"""Which readings are fitted and which are judged: hold-out rules and folds.

A configuration (equal joint values) is never split: two repeats of one configuration say nothing new about the
model, and a model judged on a repeat of what it was fitted to is judged on its own training data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.measure.campaign import Campaign

Mask = NDArray[np.bool_]
RULES = "experiment:SHARE setup:NAME load:max target:GLOB column:NAME=VALUE"


@dataclass(frozen=True, eq=False)
class Split:
    """Readings to judge; the others are fitted."""

    rule: str
    judged: Mask


def configurations(campaign: Campaign) -> NDArray[np.int64]:
    """Configuration of each reading: experiments with equal joint values are one."""
    q = np.nan_to_num(campaign.experiments.q, nan=1e9)
    code = np.unique(np.round(q, 12), axis=1, return_inverse=True)[1].reshape(-1)
    return np.asarray(code[campaign.readings.experiment], dtype=np.int64)


def split(campaign: Campaign, rule: str, seed: int) -> Split:
    """The readings a rule of ``--holdout`` keeps back."""
    kind, _, value = rule.partition(":")
    chosen = {
        "experiment": _share,
        "setup": _setup,
        "load": _largest_load,
        "target": _target,
        "column": _column,
    }.get(kind)
    if chosen is None or not value:
        raise InputError(Problem("unknown hold-out rule", column="--holdout", found=repr(rule), allowed=RULES))
    mask = chosen(campaign, value, seed)
    code = configurations(campaign)
    whole = np.isin(code, np.unique(code[mask])) if kind in ("load", "column") else mask
    _require_both(campaign, rule, whole)
    return Split(rule, whole)


def folds(campaign: Campaign, number: int | str, seed: int) -> Iterator[Split]:
    """Random folds of configurations; ``each`` leaves one configuration out at a time.

    Known distances are what a fit goes by and nothing to judge it by: they are never left out.
    """
    code = np.where(campaign.kind("distance"), -1, configurations(campaign))
    distinct = np.setdiff1d(code, [-1])
    shuffled = np.random.default_rng(seed).permutation(distinct)
    count = len(distinct) if number == "each" else min(int(number), len(distinct))
    if count < 2:
        return
    for i, members in enumerate(np.array_split(shuffled, count)):
        yield Split(f"fold {i + 1} of {count}", np.isin(code, members))


def _share(campaign: Campaign, value: str, seed: int) -> Mask:
    try:
        share = float(value)
    except ValueError:
        share = 0.0
    if not 0.0 < share < 1.0:
        raise InputError(
            Problem("the share to hold out is not between 0 and 1", column="--holdout", found=value, allowed="0.3")
        )
    code = np.where(campaign.kind("distance"), -1, configurations(campaign))
    distinct = np.random.default_rng(seed).permutation(np.setdiff1d(code, [-1]))
    return np.isin(code, distinct[: max(1, round(share * len(distinct)))])


def _setup(campaign: Campaign, value: str, seed: int) -> Mask:
    names = [setup.name for setup in campaign.setups]
    if value not in names:
        raise InputError(
            Problem(
                f"setup {value!r} does not exist",
                column="--holdout",
                allowed=" ".join(names),
                next_step=did_you_mean(value, names),
            )
        )
    return np.asarray(campaign.readings.setup == names.index(value))


def _largest_load(campaign: Campaign, value: str, seed: int) -> Mask:
    if value != "max":
        raise InputError(Problem("unknown hold-out rule", column="--holdout", found=value, allowed="load:max"))
    force = np.linalg.norm(campaign.experiments.wrench_world[:, :3].sum(axis=0), axis=0)
    if not force.any():
        raise InputError(Problem("no external force to hold out by", column="--holdout", found="load:max"))
    return np.asarray((force >= force.max() * (1 - 1e-9))[campaign.readings.experiment])


def _target(campaign: Campaign, value: str, seed: int) -> Mask:
    hits = [i for i, name in enumerate(campaign.targets) if fnmatchcase(name, value)]
    if not hits:
        raise InputError(
            Problem(f"no target matches {value!r}", column="--holdout", allowed=" ".join(campaign.targets[:20]))
        )
    readings = campaign.readings
    return np.isin(readings.target, hits) | np.isin(readings.target2, hits)


def _column(campaign: Campaign, value: str, seed: int) -> Mask:
    name, _, wanted = value.partition("=")
    known = {header.split("[")[0].strip(): column for header, column in campaign.extra.items()}
    if name not in known:
        raise InputError(
            Problem(
                f"column {name!r} is not among the campaign's further columns",
                column="--holdout",
                allowed=" ".join(known) or "none",
                next_step=did_you_mean(name, list(known)),
            )
        )
    return np.array([text.strip() == wanted.strip() for text in known[name]])


def _require_both(campaign: Campaign, rule: str, mask: Mask) -> None:
    if mask.all() or not mask.any():
        left = "every reading" if mask.all() else "no reading"
        raise InputError(
            Problem(
                f"the hold-out rule takes {left}",
                file=campaign.name,
                column="--holdout",
                found=rule,
                next_step="Both some readings to fit and some to judge must remain",
            )
        )
