"""Where the points are that a campaign's rows read, in the frame of their setup and in the world.

Two errors depend on the place of a point and not only on its reading: a tracker's beam runs from the station
to the point, and a small turn of the tool moves a point by its lever.  A deflection does not say where its
point is, so the places come from an arm (`seen_points`); positions say it themselves (`read_points`).

    p_setup = T_setup p_world,      T_setup found or given; for deflections given, else identity
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import OBSERVATIONS, Campaign
from stiffarm.measure.observe import expected, setup_frames
from stiffarm.model.arm_model import Arm
from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SeenPoints:
    """The point of every row; NaN where it is not known."""

    setup: Floats
    """(3, rows) m, in the frame of the row's setup."""
    world: Floats
    """(3, rows) m."""
    turn: Floats
    """(3, 3, rows) rotation, setup from world."""


def seen_points(
    arm: Arm, campaign: Campaign, frames: Mapping[str, Rigid] | None = None, loads: str = "model"
) -> SeenPoints:
    """The places an arm brings the points to; rows of distances have none."""
    kind = campaign.readings.kind
    as_positions = np.where(campaign.kind("distance"), kind, OBSERVATIONS.index("position"))
    shown = replace(campaign, readings=replace(campaign.readings, kind=as_positions))
    world = expected(arm, shown, frames, loads).world
    turn, shift = row_frames(campaign, frames)
    return SeenPoints(np.einsum("ijr,jr->ir", turn, world) + shift, world, turn)


def read_points(campaign: Campaign, frames: Mapping[str, Rigid] | None = None) -> SeenPoints:
    """The places that position and pose rows report; NaN for every other row and for cells not read."""
    turn, shift = row_frames(campaign, frames)
    direct = campaign.kind("position") | campaign.kind("pose")
    setup = np.where(direct, campaign.readings.value[:3], np.nan)
    return SeenPoints(setup, np.einsum("jir,jr->ir", turn, setup - shift), turn)


def row_frames(campaign: Campaign, frames: Mapping[str, Rigid] | None = None) -> tuple[Floats, Floats]:
    """Rotation (3, 3, rows) and translation (3, rows) that take the world to the frame of each row's setup."""
    deflection = campaign.kind("deflection")
    turn, shift = _of_rows(campaign, setup_frames(campaign, frames))
    given_turn, given_shift = _of_rows(campaign, setup_frames(campaign))
    return np.where(deflection, given_turn, turn), np.where(deflection, given_shift, shift)


def _of_rows(campaign: Campaign, frames: list[Rigid]) -> tuple[Floats, Floats]:
    setup = campaign.readings.setup
    rotation = np.array([frame.rotation for frame in frames]).reshape(-1, 3, 3)
    translation = np.array([frame.translation for frame in frames]).reshape(-1, 3)
    return np.ascontiguousarray(np.moveaxis(rotation[setup], 0, -1)), np.ascontiguousarray(translation[setup].T)
