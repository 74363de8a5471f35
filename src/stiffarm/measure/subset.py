"""Parts of a campaign: some of its readings, with the experiments and names left as they are."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Campaign, Readings


def with_readings(campaign: Campaign, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Campaign:
    """The campaign with only the given readings (mask or indices)."""
    chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    readings = campaign.readings
    parts = {f.name: getattr(readings, f.name)[..., chosen] for f in fields(Readings)}
    extra = {header: tuple(column[i] for i in chosen) for header, column in campaign.extra.items()}
    return replace(campaign, readings=Readings(**parts), extra=extra)
