"""What estimated variances do to the covariance of the parameters, after Kenward and Roger.

*Covariance.*  Phi = (X' V^-1 X)^-1 at the estimated theta is too small twice over: the estimate of b varies more than
Phi says because the weights are estimated, and Phi(theta_hat) is itself biased low.  Each is Phi Lambda Phi to second
order, with W the covariance of theta_hat (inverse information); V is linear in theta, so no second derivatives appear:

    cov = Phi + 2 Phi {sum_ij W_ij (Q_ij - P_i Phi P_j)} Phi,
    P_i = -X' V^-1 V_i V^-1 X,    Q_ij = X' V^-1 V_i V^-1 V_j V^-1 X.

With the factors of `likelihood`, in the coordinates of R, the braces are

    sum_blocks H (G o W_owner) H' - sum_ij W_ij M_i M_j.

*Degrees of freedom.*  For one parameter Kenward and Roger's moment matching reduces to Satterthwaite's rule: the scale
is 1 and, with g_i = d Phi_jj / d theta_i = (R^-1 M_i R^-T)_jj,  dof_j = 2 Phi_jj^2 / (g' W g).  For one group of rows
this gives cov = s^2 (X'X)^-1 and rows - parameters, the classical result.

A variance of a shared effect that was estimated as 0 is taken as known.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.likelihood import Likelihood, LikelihoodPoint, scaled_inverse
from stiffarm.identify.problem import Array, Codes, LinearProblem
from stiffarm.identify.reduction import reduce_rows


def kenward_roger(point: LikelihoodPoint, W: Array, owner: NDArray[np.intp]) -> tuple[Array, Array]:
    """Inflation I + 2 Lambda in the coordinates of R, and degrees of freedom per parameter."""
    padded = np.zeros((len(W) + 1, len(W) + 1))
    padded[:-1, :-1] = W
    by_pair = point.gram * padded[owner[:, :, None], owner[:, None, :]]
    first = (point.image @ by_pair @ point.image.transpose(0, 2, 1)).sum(axis=0)
    weighted = np.tensordot(W, point.moments, axes=1)
    second = np.einsum("iab,ibc->ac", point.moments, weighted)
    gradient = np.einsum("ja,iab,jb->ij", point.root, point.moments, point.root, optimize=True)
    variance = np.sum(point.root**2, axis=1)
    spread = np.einsum("ij,ik,kj->j", gradient, W, gradient, optimize=True)
    with np.errstate(divide="ignore"):
        dof = np.where(spread > 0, 2.0 * variance**2 / np.maximum(spread, np.finfo(float).tiny), np.inf)
    inflation = np.eye(len(first)) + (first - second) + (first - second).T
    return inflation, dof


def theta_covariance(theta: Array, point: LikelihoodPoint, groups: int) -> Array:
    """Inverse information of the variances; those held at zero are taken as known."""
    free = (np.arange(len(theta)) < groups) | (theta > 0)
    covariance = np.zeros((len(theta), len(theta)))
    at = np.ix_(free, free)
    covariance[at] = scaled_inverse(point.information[at])
    return covariance


def variance_uncertainty(problem: LinearProblem, group: Codes, variances: Array) -> tuple[Array, Array]:
    """For independent rows with these variances per group: what estimating them adds to the covariance of the
    parameters (2 Phi Lambda Phi), and the covariance of the variances."""
    reduction = reduce_rows(problem, group, (), np.ones(problem.rows))
    point = Likelihood(problem, reduction).at(variances)
    covariance = theta_covariance(variances, point, reduction.groups)
    inflation, _ = kenward_roger(point, covariance, reduction.owner)
    root = point.root / reduction.column_scale[:, None]
    return root @ (inflation - np.eye(len(root))) @ root.T, covariance
