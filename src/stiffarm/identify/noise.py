"""What is assumed of the error of each scalar reading before anything is fitted.

A standard deviation written in the campaign wins, then the instrument's.  Without either, lengths and angles start
at a ratio of one metre and are brought to one scale by their own residuals: two variances, found together with the
parameters by repeating the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.system import System
from stiffarm.measure.campaign import Isotropic

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowNoise:
    """Standard deviation of each scalar, and whether it is known or only relative."""

    sigma: Floats
    known: bool
    angular: NDArray[np.bool_]
    """(scalars,) whether the scalar is an angle."""


def assumed_noise(system: System) -> RowNoise:
    """Standard deviations from the campaign's own columns and instrument; ones when there are none."""
    component, row = system.take
    campaign = system.campaign
    stated = campaign.readings.sigma[component, row]
    angular = component >= 3
    instrument = np.full(len(row), np.nan)
    if isinstance(campaign.instrument, Isotropic):
        instrument[~angular] = campaign.instrument.sigma_m
        if campaign.instrument.sigma_rad is not None:
            instrument[angular] = campaign.instrument.sigma_rad
        # a deflection is the difference of two readings
        instrument[campaign.kind("deflection")[row]] *= np.sqrt(2.0)
    sigma = np.where(np.isfinite(stated), stated, instrument)
    known = bool(np.isfinite(sigma).all())
    return RowNoise(sigma if known else np.ones(len(row)), known, angular)


def rescaled(noise: RowNoise, residual: Floats) -> RowNoise:
    """Lengths and angles each at the root mean square of their own residuals; unchanged when noise is known."""
    if noise.known or not noise.angular.any() or noise.angular.all():
        return noise
    sigma = noise.sigma.copy()
    for part in (noise.angular, ~noise.angular):
        sigma[part] = max(float(np.sqrt(np.mean(residual[part] ** 2))), 1e-12)
    return RowNoise(sigma, False, noise.angular)
