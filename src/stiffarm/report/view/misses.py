"""Where a campaign found its markers, beside where the model says they are.

For a reading r of a point whose predicted value is r^, in the frame T of its setup, the miss in the world is
R^T (r - r^); the measured marker is drawn at p + m R^T (r - r^) from the predicted one at p, m the magnification.  A
deflection is drawn at the place the model gives its point.  Setups that neither the model nor the campaign's settings
place have their six numbers fitted on their own rows, as `stiffarm validate` does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.model_file import KnownModel
from stiffarm.identify.data import fitted_rows
from stiffarm.identify.judge import with_frames
from stiffarm.identify.options import Options
from stiffarm.identify.system import Point, System
from stiffarm.measure.campaign import OBSERVATIONS, Campaign
from stiffarm.measure.observe import DIRECT, residual
from stiffarm.measure.points import row_frames, seen_points

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Misses:
    """Readings of points; the batch axis is last."""

    experiment: tuple[str, ...]
    marker: tuple[str, ...]
    predicted: Floats
    """(3, readings) m, world."""
    miss: Floats
    """(3, readings) measured minus predicted, m, world; a coordinate that was not read counts as met."""
    left_out: int
    """Rows that are no readings of a place: touches and distances."""
    fitted: tuple[str, ...]
    """Setups whose frame was fitted on these very rows."""

    def __len__(self) -> int:
        return len(self.experiment)

    @property
    def rms_m(self) -> float:
        """Root mean square of the lengths, m."""
        return float(np.sqrt(np.mean(np.sum(self.miss**2, axis=0)))) if len(self) else 0.0

    @property
    def max_m(self) -> float:
        """The longest, m."""
        return float(np.sqrt(np.sum(self.miss**2, axis=0).max(initial=0.0)))

    def measured(self, magnification: float) -> Floats:
        """(3, readings) where the measured markers are drawn, m, world."""
        return np.asarray(self.predicted + magnification * self.miss)


def misses(known: KnownModel, campaign: Campaign) -> Misses:
    """Measured beside predicted for every position, pose and deflection of a campaign."""
    model = known.model
    system = System(model, fitted_rows(model.robot, campaign, Options()).campaign)
    frames = {setup.name: setup.frame for setup in known.setups}
    at = with_frames(system, Point({**model.nominal, **known.values}, frames))
    rows = system.campaign
    arm = system.arm(at)
    direct = np.isin(rows.readings.kind, [OBSERVATIONS.index(kind) for kind in DIRECT])
    rest = residual(rows, system.observer.expected(arm, at.frames).value)[:3]
    used = np.flatnonzero(direct & np.isfinite(rest).any(axis=0))
    turn = row_frames(rows, at.frames)[0][:, :, used]
    places = seen_points(arm, rows, at.frames).world[:, used]
    marker = rows.readings.marker[used]
    unknown = [rows.setups[i].name for i in system.unknown_frames]
    return Misses(
        tuple(rows.experiments.names[i] for i in rows.readings.experiment[used]),
        tuple("tool" if i < 0 else rows.markers[i] for i in marker),
        places,
        np.einsum("jir,jr->ir", turn, np.nan_to_num(rest[:, used])),
        len(rows.readings) - len(used),
        tuple(name for name in unknown if name not in frames),
    )
