"""What of a campaign is fitted: rows with a ``reference`` as differences or as they were read, each reading once.

A row with a reference and the row it subtracts are two readings.  Fitted as a *difference*, geometry drops out of
it: what is left are compliances, and the unloaded readings that were subtracted are not fitted beside their
differences, for that would count them twice.  Fitted *as read*, both are positions of an arm whose geometry is
unknown too, and nothing is subtracted.  The two say the same of the compliances when geometry is free, so

    as read        when geometry is asked for, or when the frame of the setup is not stated and plainly is not the world
                   (a difference is read along its axes, and a frame is found from positions only)
    differences    otherwise

The parts of a `Resolved` campaign remember which unloaded reading each row has in it, so that differences which share
one keep their covariance (`stiffarm.identify.noise`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.observe import expected, given_frame
from stiffarm.measure.references import Resolved, resolve_references, unloaded_rows
from stiffarm.measure.subset import with_readings
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import Robot

Data = Campaign | Resolved
FRAME_TURNED = 0.2
"""A turn (rad) between world and readings beyond which a setup's axes are not those of the world; a marker that is not
where the robot file says turns the readings by less."""


def resolved_of(data: Data) -> Resolved:
    """Data as rows that remember their source."""
    if isinstance(data, Resolved):
        return data
    rows = len(data.readings)
    return Resolved(data, data, np.arange(rows), np.full(rows, -1, dtype=np.int64))


def campaign_of(data: Data) -> Campaign:
    """The rows to be fitted or judged."""
    return data.campaign if isinstance(data, Resolved) else data


def part_of(data: Data, rows: NDArray[np.bool_]) -> Resolved:
    """Some of the rows."""
    whole = resolved_of(data)
    return Resolved(with_readings(whole.campaign, rows), whole.source, whole.origin[rows], whole.subtracted[rows])


def fitted_rows(robot: Robot, campaign: Campaign, options: Options) -> Resolved:
    """The rows of a campaign as an identification takes them; a warning of the campaign says what was done."""
    loaded = int(np.count_nonzero(campaign.readings.reference >= 0))
    if not loaded:
        return resolved_of(campaign)
    subtracted = unloaded_rows(campaign)
    why = _why_as_read(robot, campaign, options, subtracted)
    if why is not None:
        return resolved_of(_said(_without_references(campaign), f"{loaded} rows with a reference are fitted {why}"))
    unloaded = len(np.unique(subtracted[subtracted >= 0]))
    note = (
        f"{loaded} rows with a reference are fitted as deflections; the {unloaded} unloaded readings in them are not "
        "fitted once more (--geometry offsets or full fits all of them as the positions that were read)"
    )
    return resolve_references(_said(campaign, note), keep_unloaded=False)


def _why_as_read(robot: Robot, campaign: Campaign, options: Options, subtracted: NDArray[np.int64]) -> str | None:
    if options.geometry in ("offsets", "full"):
        return "as they were read, beside the unloaded ones: geometry is asked for"
    loaded = np.flatnonzero(subtracted >= 0)
    world = expected(ArmModel.of(robot).at(), campaign, None, options.loads).world
    for setup in np.unique(campaign.readings.setup[loaded]):
        if given_frame(campaign.setups[setup]) is not None:
            continue
        rows = np.unique(subtracted[loaded[campaign.readings.setup[loaded] == setup]])
        if _turn_between(world[:, rows], campaign.readings.value[:3, rows]) > FRAME_TURNED:
            name = campaign.setups[setup].name
            return (
                f"as they were read: the axes of setup {name!r} are not those of the world and [setup.{name}] does "
                "not state them"
            )
    return None


def _turn_between(here: NDArray[np.float64], there: NDArray[np.float64]) -> float:
    """Angle (rad) of the rotation that best takes points (3, n) to others; 0 when they do not span a plane."""
    whole = np.isfinite(there).all(axis=0)
    a = here[:, whole] - here[:, whole].mean(axis=1, keepdims=True) if whole.any() else np.zeros((3, 1))
    b = there[:, whole] - there[:, whole].mean(axis=1, keepdims=True) if whole.any() else np.zeros((3, 1))
    u, size, vt = np.linalg.svd(b @ a.T)
    if size[1] <= 1e-3 * size[0]:
        return 0.0
    rotation = u @ np.diag([1.0, 1.0, np.linalg.det(u) * np.linalg.det(vt)]) @ vt
    return float(np.arccos(np.clip((np.trace(rotation) - 1.0) / 2.0, -1.0, 1.0)))


def _without_references(campaign: Campaign) -> Campaign:
    none = np.full_like(campaign.readings.reference, -1)
    return replace(campaign, readings=replace(campaign.readings, reference=none))


def _said(campaign: Campaign, sentence: str) -> Campaign:
    return replace(campaign, warnings=(*campaign.warnings, sentence))
