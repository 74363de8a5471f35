"""What every estimator of a linear problem hands back.

An interval is value +- t(level, dof_j) * sqrt(cov_jj): each parameter has degrees of freedom of its own, because a
parameter informed by three noisy configurations knows its own standard deviation less well than one informed by all.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.intervals import t_quantile

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LackOfFit:
    """F test: does the model miss by more than repeated readings scatter?"""

    F: float
    dof_lack: float
    dof_pure: float
    p_value: float


@dataclass(frozen=True)
class VarianceComponent:
    """An estimated variance: of the rows of a cell group, or of a shared effect."""

    name: str
    variance: float
    standard_error: float
    """0 when the variance is known, or held at its bound 0."""

    @property
    def sigma(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.variance))


@dataclass(frozen=True, eq=False)
class FitDetails:
    """How a fit came about."""

    iterations: int = 0
    converged: bool = True
    row_sigma: Array | None = None
    """(rows,) standard deviation of the independent part of each row the fit ended with."""
    weights: Array | None = None
    """(rows,) factors the rows were multiplied with."""
    variance_components: tuple[VarianceComponent, ...] = ()
    lack_of_fit: LackOfFit | None = None
    visit_effect: LackOfFit | None = None
    """The same kind of test for errors shared by the rows of one visit."""
    shared_effects: tuple[str, ...] = ()
    """Names of the random effects in the model."""
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class LinearEstimate:
    """Parameters of a `LinearProblem` with the uncertainty an estimator stands for."""

    estimator: str
    values: Array
    covariance: Array
    dof: Array
    """(parameters,) degrees of freedom of each standard deviation; ``inf`` when the noise is known."""
    residuals: Array
    """(rows,) y - A values, not whitened."""
    names: tuple[str, ...] = ()
    details: FitDetails = field(default_factory=FitDetails)
    claimed_gain: Array | None = None
    """(parameters,) standard deviation of ordinary least squares over the one stated here."""
    claimed_gain_bound: float | None = None
    """Largest gain over ordinary least squares that the row variances assumed allow for any design; None when
    rows are not taken as independent, where there is no such bound."""
    studentised: Array | None = None
    """(draws, parameters) sorted |t| of bootstrap draws; their quantiles take the place of those of t."""

    @property
    def sigma(self) -> Array:
        """Standard deviation of each parameter."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def intervals(self, level: float = 0.95) -> Array:
        """(parameters, 2) lower and upper end at the given level.

        >>> estimate = LinearEstimate("ols", np.ones(1), np.eye(1), np.array([np.inf]), np.zeros(3))
        >>> estimate.intervals(0.95).round(2).tolist()
        [[-0.96, 2.96]]
        """
        if self.studentised is not None:
            factor: Array = np.quantile(self.studentised, level, axis=0, method="higher")
        else:
            factor = t_quantile(level, self.dof)
        half = factor * self.sigma
        return np.stack([self.values - half, self.values + half], axis=1)
