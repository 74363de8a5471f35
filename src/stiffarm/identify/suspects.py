"""Readings, markers and configurations that the rest of a campaign contradicts, by the names of the campaign.

What `stiffarm.identify.outliers` finds among rows is told here in words a person can act on.  Nothing is removed.
"""

from __future__ import annotations

import numpy as np

from stiffarm.errors import InputError
from stiffarm.identify.estimate import Outlier
from stiffarm.identify.fit import Fit
from stiffarm.identify.outliers import Outlier as RowOutlier
from stiffarm.identify.outliers import outliers
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign

_COORDINATE = ("x", "y", "z", "rx", "ry", "rz")


def find_suspects(found: Fit, *, level: float = 0.01) -> tuple[Outlier, ...]:
    """Suspects of a fit, most significant first; none when the fit leaves too little to judge by."""
    component, row = found.system.take
    campaign = found.system.campaign
    marker = campaign.readings.marker[row]
    several = len(np.unique(marker)) > 1
    try:
        listed = outliers(found.problem, groups={"marker": marker} if several else None, level=level)
    except (InputError, np.linalg.LinAlgError):
        return ()
    return tuple(_named(one, campaign, component, row) for one in listed)


def _named(one: RowOutlier, campaign: Campaign, component: np.ndarray, row: np.ndarray) -> Outlier:
    reading = int(row[one.rows[0]])
    readings = campaign.readings
    experiment = campaign.experiments.names[readings.experiment[reading]]
    m = int(readings.marker[reading])
    marker = DEFAULT_MARKER if m < 0 else campaign.markers[m]
    unit, factor = ("mrad", 1e3) if component[one.rows[0]] >= 3 else ("mm", 1e3)
    size = f"{abs(one.shift) * factor:.3g} {unit}"
    odds = f"p = {one.p_value:.1g} after Bonferroni"
    if one.kind == "reading":
        axis = _COORDINATE[component[one.rows[0]]]
        where = f"{axis} of repeat {readings.repeat[reading]} (row {readings.row[reading]})"
        return Outlier(experiment, marker, f"{where} is off by {size}, t = {one.statistic:.1f}, {odds}")
    if one.kind == "configuration":
        return Outlier(experiment, "", f"the whole configuration is off by {size}, F = {one.statistic:.1f}, {odds}")
    return Outlier("", marker, f"the marker scatters {one.statistic:.1f} times as much as the others, {odds}")
