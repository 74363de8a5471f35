"""Covariance that only trusts configurations to be independent, corrected for how few they are.

Let Q (rows x p) be the orthonormal basis of the whitened design, e the residuals, g a cluster (configuration) of rows,
H_g = Q_g' Q_g its share of the p directions.  Residuals of a cluster that informs the fit much are too small,
cov(e_g) = I - Q_g Q_g' for unit noise; the adjusted ones are (I - Q_g Q_g')^-1/2 e_g ("CR2", Bell and McCaffrey), and
since (I - Q_g Q_g')^-1/2 commutes with Q_g through its singular values, only p x p matrices are needed:

    s_g = (I - H_g)^-1/2 Q_g' e_g,         cov = D (sum_g s_g s_g') D',      D = scaled R^-1.

Unbiased when rows are independent with one variance, consistent under any dependence within clusters.  The variance
of a parameter, sum_g (d' s_g)^2, is a quadratic form c' Gamma c in as many normal variables as clusters, with

    Gamma_gh = d'(I-H_g)^-1/2 (delta_gh H_g - H_g H_h) (I-H_h)^-1/2 d,        dof = (tr Gamma)^2 / tr Gamma^2.

A parameter informed by three of fifteen configurations gets two or three degrees of freedom, and deserves no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.identify.linear import WhitenedSolution
from stiffarm.identify.problem import Array, Codes, LinearProblem
from stiffarm.identify.reduction import members

SATURATED = 1e-8
"""Directions known from one cluster alone (1 - H_g singular) carry no residual and are left out."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """What clusters of rows do to a whitened least-squares design."""

    share: Array
    """(clusters, p, p) H_g."""
    adjust: Array
    """(clusters, p, p) (I - H_g)^-1/2."""
    rows: tuple[Codes, ...]
    root: Array
    basis: Array

    def scores(self, residuals: Array) -> Array:
        """(clusters, p) adjusted scores s_g of whitened residuals."""
        raw = np.stack([self.basis[rows].T @ residuals[rows] for rows in self.rows])
        return np.asarray(np.einsum("gij,gj->gi", self.adjust, raw))

    def covariance(self, residuals: Array) -> Array:
        """Covariance of the parameters from the adjusted scores and, with a prior, its own rows."""
        scores = self.scores(residuals)
        known = np.eye(self.basis.shape[1]) - self.share.sum(axis=0)
        return np.asarray(self.root @ (scores.T @ scores + known) @ self.root.T)

    def dof(self) -> Array:
        """(p,) degrees of freedom of each variance."""
        halved = np.einsum("gij,jk->gik", self.adjust, self.root.T)
        images = np.einsum("gij,gjk->gik", self.share, halved)
        own = np.einsum("gik,gik->kg", halved, images)
        loss = np.einsum("gik,gik->kg", images, images)
        # Gamma = diag(own) - images images', so its square needs p x p products only, never clusters x clusters.
        products = images.transpose(2, 1, 0) @ images.transpose(2, 0, 1)
        square = np.sum(own**2 - 2.0 * own * loss, axis=1) + np.sum(products**2, axis=(1, 2))
        trace = np.sum(own - loss, axis=1)
        return np.asarray(np.maximum(trace**2 / np.maximum(square, 1e-300), 1.0))


def clusters_of(problem: LinearProblem, solution: WhitenedSolution) -> Clusters:
    """Clusters by configuration, or every row by itself when the problem has no configurations."""
    label = np.arange(problem.rows, dtype=np.intp) if problem.configuration is None else problem.configuration
    rows = tuple(members(label))
    share = np.stack([solution.basis[r].T @ solution.basis[r] for r in rows])
    values, vectors = np.linalg.eigh(np.eye(share.shape[1]) - share)
    power = np.where(values > SATURATED, np.maximum(values, SATURATED) ** -0.5, 0.0)
    adjust = (vectors * power[:, None, :]) @ vectors.transpose(0, 2, 1)
    return Clusters(share, adjust, rows, solution.root, solution.basis)
