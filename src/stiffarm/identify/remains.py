"""What the fit leaves of every marker in every configuration, and how errors of judged readings are spread.

The pictures of a model need no more than this, so it travels with the model and the campaign does not: one root mean
square of the 3-D residual per experiment, setup and marker, and quantiles of the errors on readings that were not
fitted.  Of a large campaign every n-th group is kept, and with it the largest ones, which are what one looks for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.estimate import Remains
from stiffarm.identify.fit import Fit
from stiffarm.measure.campaign import DEFAULT_MARKER

Floats = NDArray[np.float64]
MOST = 600
"""Groups kept."""
LARGEST = 50
"""Of these, the largest, whatever their number."""
SHARES = tuple(i / 20 for i in range(21))
"""At which quantiles are kept."""


def remains_of(found: Fit) -> Remains | None:
    """Residuals of a fit by experiment, setup and marker; None without lengths."""
    component, row = found.system.take
    campaign = found.system.campaign
    lengths = component < 3
    if not lengths.any():
        return None
    readings = campaign.readings
    key = np.stack([readings.experiment, readings.setup, readings.marker])[:, row[lengths]]
    groups, member = np.unique(key, axis=1, return_inverse=True)
    member = member.reshape(-1)
    squares = np.bincount(member, found.solution.equations.residual[lengths] ** 2)
    pairs = np.unique(np.stack([member, row[lengths]]), axis=1)[0]
    rms = np.sqrt(squares / np.bincount(pairs))
    kept = _kept(rms)
    chosen = groups[:, kept]
    return Remains(
        experiment=tuple(campaign.experiments.names[i] for i in chosen[0]),
        setup=tuple(campaign.setups[i].name for i in chosen[1]),
        marker=tuple(campaign.markers[i] if i >= 0 else DEFAULT_MARKER for i in chosen[2]),
        rms_m=tuple(map(float, rms[kept])),
        of=len(rms),
    )


def _kept(rms: Floats) -> NDArray[np.int64]:
    if len(rms) <= MOST:
        return np.arange(len(rms))
    largest = np.argsort(-rms, kind="stable")[:LARGEST]
    spread = np.linspace(0, len(rms) - 1, MOST - LARGEST).astype(np.int64)
    return np.asarray(np.union1d(largest, spread), dtype=np.int64)


def quantiles(errors: Floats) -> tuple[float, ...]:
    """Quantiles of errors (m) at `SHARES`.

    >>> quantiles(np.array([0.0, 1.0, 2.0]))[::10]
    (0.0, 1.0, 2.0)
    """
    return tuple(map(float, np.quantile(errors, SHARES)))
