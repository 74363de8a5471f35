"""What is known before a plan is measured: priors of the robot file, and campaigns that are or will be measured.

Both are white rows in typical sizes of the parameters.  A prior of deviation sigma is the row s / sigma, s the typical
size.  Of a campaign the rows are those of `stiffarm.identifiability.planned`; the frames of its setups are unknowns
of its own: with F their columns and [F A] = Q R, the rows of R behind the frames are what it says about the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.planned import plan_rows
from stiffarm.identifiability.question import Wanted
from stiffarm.identifiability.selection import triangle
from stiffarm.measure.campaign import Campaign, Isotropic
from stiffarm.measure.frames import TableLike, name_of, source_of
from stiffarm.measure.reading import read_plan
from stiffarm.plan.problem import Floats, Reading


def known_before(
    asked: Wanted, scale: Floats, files: Sequence[TableLike], reading: Reading
) -> tuple[Floats, tuple[str, ...]]:
    """(rows, parameters) of priors and campaigns, and warnings."""
    rows, warnings = [_priors(asked, scale)], []
    for file in files:
        source = source_of(file)
        campaign = read_plan(source, asked.model.robot)
        warnings += list(campaign.warnings)
        rows.append(_measured(asked, scale, campaign, reading, name_of(source)))
    known = np.concatenate(rows)
    return (triangle(known) if len(known) > known.shape[1] else known), tuple(warnings)


def _priors(asked: Wanted, scale: Floats) -> Floats:
    sigma = {p.name: p.sigma for p in asked.model.parameters if p.sigma is not None}
    rows = [np.eye(len(asked.names))[i] * scale[i] / sigma[name] for i, name in enumerate(asked.names) if name in sigma]
    return np.array(rows).reshape(-1, len(asked.names))


def _measured(asked: Wanted, scale: Floats, campaign: Campaign, reading: Reading, file: str) -> Floats:
    found = plan_rows(campaign, asked)
    if not found.noise_known:
        found = plan_rows(_as_noisy(campaign, reading), asked)
    if not found.noise_known:
        raise InputError(
            Problem(
                "how well this campaign is read is not known",
                file,
                allowed="sigma columns, or an [instrument] in the settings beside it",
            )
        )
    frames = len(found.names) - len(asked.names)
    sizes = np.concatenate([scale, found.sizes[len(asked.names) :]])
    order = np.concatenate([np.arange(len(asked.names), len(found.names)), np.arange(len(asked.names))])
    return triangle((found.rows * sizes)[:, order])[frames:, frames:]


def _as_noisy(campaign: Campaign, reading: Reading) -> Campaign:
    """The campaign read as the plan will be."""
    instrument = reading.instrument
    if not reading.own_sigma or not isinstance(instrument, Isotropic):
        return replace(campaign, instrument=campaign.instrument or instrument)
    sigma = np.full_like(campaign.readings.sigma, np.nan)
    sigma[:3] = instrument.sigma_m
    if instrument.sigma_rad is not None:
        sigma[3:, campaign.kind("pose")] = instrument.sigma_rad
    stated = campaign.readings.sigma
    return replace(campaign, readings=replace(campaign.readings, sigma=np.where(np.isfinite(stated), stated, sigma)))
