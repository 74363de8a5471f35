"""Least squares of campaigns that do not fit into memory: a running R factor.

Of a block of whitened rows [A | y] only R of its QR decomposition matters to the solution: R'R equals the sums of
squares and products, without ever forming them.  Appending a block,

    [R_old; A_new | y_new] = Q R_new,

keeps p + 1 columns and p + 1 rows however many rows have passed.  With R = [R_x, c; 0, rho] the solution is
R_x^-1 c and the residual sum of squares rho^2.  Two running factors merge by stacking, so blocks may be done anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identify.outcome import FitDetails, LinearEstimate, VarianceComponent
from stiffarm.identify.problem import Array, Prior, Rank, numerical_rank

Block = tuple[Array, Array, Array | None]
"""Design (rows, p), observations (rows,), standard deviations (rows,) or None."""


@dataclass(eq=False)
class RunningQR:
    """Accumulates whitened rows in constant memory.

    >>> running = RunningQR(2)
    >>> running.add(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 3.0]))
    >>> running.add(np.array([[1.0, 2.0]]), np.array([5.0]))
    >>> running.estimate().values.round(12).tolist()
    [1.0, 2.0]
    """

    parameters: int
    rows: int = 0
    triangle: Array = field(default_factory=lambda: np.zeros((0, 0)))
    """(at most p + 1, p + 1) R of [A | y] so far."""

    def __post_init__(self) -> None:
        if not self.triangle.size:
            self.triangle = np.zeros((0, self.parameters + 1))

    def add(self, design: Array, observed: Array, sigma: Array | None = None) -> None:
        """Append rows, divided by ``sigma`` when it is given."""
        if design.ndim != 2 or design.shape[1] != self.parameters or observed.shape != (len(design),):
            raise InputError(
                Problem(
                    "a block of rows does not fit the parameters",
                    found=f"{design.shape} and {observed.shape}",
                    allowed=f"(rows, {self.parameters}) and (rows,)",
                )
            )
        block = np.column_stack([design, observed])
        if not np.all(np.isfinite(block)):
            raise InputError(Problem("a block of rows holds a number that is not finite"))
        self._absorb(block if sigma is None else block / sigma[:, None])
        self.rows += len(design)

    def merge(self, other: RunningQR) -> None:
        """Append everything another running factor has seen."""
        self._absorb(other.triangle)
        self.rows += other.rows

    def rank(self) -> Rank:
        """Rank of the design seen so far, by spectral gap."""
        return numerical_rank(self.triangle[:, : self.parameters])

    def estimate(self, *, known: bool = False, prior: Prior | None = None) -> LinearEstimate:
        """Solution so far, with s^2 from the residuals (``known``: with variance one); residuals are not kept."""
        found = self.rank()
        if prior is None and found.rank < self.parameters:
            raise InputError(
                Problem(
                    "the readings cannot tell all parameters apart",
                    found=f"rank {found.rank} of {self.parameters}, gap {found.gap:.1e}",
                    next_step="Hold or merge parameters, or give a prior",
                )
            )
        dof = self.rows - found.rank
        if not known and dof < 1:
            raise InputError(Problem("no reading is left over to tell the noise", found=f"{self.rows} rows"))
        R, p = self._padded(), self.parameters
        variance = 1.0 if known else self._residual_sum(R) / dof
        if prior is not None:
            rows = np.column_stack([prior.factor, prior.factor @ prior.mean])
            R = _triangle(np.vstack([R / np.sqrt(max(variance, 1e-300)), rows]))
        scale = np.linalg.norm(R[:p, :p], axis=0)
        root = np.linalg.inv(R[:p, :p] / scale) / scale[:, None]
        spread = 1.0 if prior is not None else variance
        return LinearEstimate(
            estimator="wls" if known else "ols",
            values=root @ R[:p, p],
            covariance=spread * root @ root.T,
            dof=np.full(p, np.inf if known else float(dof)),
            residuals=np.zeros(0),
            names=tuple(f"x{i + 1}" for i in range(p)),
            details=FitDetails(
                variance_components=() if known else (VarianceComponent("rows", variance, variance * (2 / dof) ** 0.5),)
            ),
        )

    def residual_sum(self) -> float:
        """Sum of squared whitened residuals of the least-squares fit so far."""
        return self._residual_sum(self._padded())

    def _residual_sum(self, R: Array) -> float:
        return float(np.sum(R[self.parameters :, self.parameters] ** 2))

    def _padded(self) -> Array:
        """R with at least p rows, also when fewer rows were seen."""
        missing = max(self.parameters + 1 - len(self.triangle), 0)
        return np.vstack([self.triangle, np.zeros((missing, self.parameters + 1))])

    def _absorb(self, rows: Array) -> None:
        self.triangle = _triangle(np.vstack([self.triangle, rows]))


def _triangle(rows: Array) -> Array:
    return np.asarray(np.linalg.qr(rows, mode="r"))


def stream(
    blocks: Iterable[Block],
    parameters: int,
    *,
    progress: Callable[[int], None] | None = None,
) -> RunningQR:
    """Run all blocks through one factor; ``progress`` is told the rows done after each block."""
    running = RunningQR(parameters)
    for design, observed, sigma in blocks:
        running.add(design, observed, sigma)
        if progress is not None:
            progress(running.rows)
    return running
