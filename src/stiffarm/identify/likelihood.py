"""The restricted likelihood of a linear model with variances, and its derivatives.

Model: y ~ N(X b, V), V = sum_i theta_i V_i, V_i = F_i F_i', theta_i >= 0 (a variance per group of rows, one per shared
effect).  Integrating b out of the likelihood leaves the likelihood of the error contrasts alone,

    -2 l(theta) = log|V| + log|X' V^-1 X| + y' P y + const,     P = V^-1 - V^-1 X Phi X' V^-1,  Phi = (X' V^-1 X)^-1,

(a prior joins as further rows of X of known variance).  From dV^-1 = -V^-1 V_i V^-1 and dP = -P V_i P follow

    score_i = (y' P V_i P y - tr(P V_i)) / 2,       information_ij = tr(P V_i P V_j) / 2,
    -d2 l / dtheta_i dtheta_j = y' P V_i P V_j P y - information_ij,

and pure error of group i (sum of squares s on d degrees of freedom, from `reduction`) adds
-d/(2 theta) + s/(2 theta^2), d/(2 theta^2) and s/theta^3 - d/(2 theta^2).

All of it comes from one Cholesky factor per block, V = L L'.  With Fw = L^-1 F and Q R = QR of L^-1 X (prior rows
below), blocks stacked, G = Fw' Fw holds F_a' V^-1 F_c, H = Q' Fw holds F_a' V^-1 X R^-1, and per pair of columns

    tr(P V_i P V_j) = sum_{a in i, c in j} (G_ac^2 - 2 G_ac (H'H)_ac) + tr(M_i M_j),     M_i = sum_{a in i} H_a H_a'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.identify.problem import Array, LinearProblem
from stiffarm.identify.reduction import Reduction


@dataclass(frozen=True, eq=False)
class LikelihoodPoint:
    """Likelihood, its derivatives and the factors at one theta."""

    loglik: float
    score: Array
    information: Array
    observed: Array
    """Negative second derivatives."""
    root: Array
    """(p, p) R^-1."""
    values: Array
    gram: Array
    """G, (blocks, f, f)."""
    image: Array
    """H, (blocks, p, f)."""
    moments: Array
    """M, (components, p, p)."""


class Likelihood:
    """The restricted likelihood of one compressed data set as a function of theta."""

    def __init__(self, problem: LinearProblem, reduction: Reduction) -> None:
        self.reduction = reduction
        self.y, self.pure = reduction.project(problem.y)
        rows, self.prior_values = problem.prior_rows
        self.prior_rows = rows / reduction.column_scale
        # One bincount over these codes sums all column pairs of all blocks by their pair of owners.
        self.width = reduction.components + 1
        owner = reduction.owner
        self.pair = (owner[:, :, None] * self.width + owner[:, None, :]).ravel()
        order = np.argsort(owner.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(owner.ravel(), minlength=self.width))
        self.owned = [order[a:b] for a, b in zip(np.r_[0, ends[:-2]], ends[:-1], strict=True)]
        """Columns (flat over blocks) of each component."""
        code = (np.arange(len(owner))[:, None] * self.width + owner).ravel()
        self.by_block = np.argsort(code, kind="stable")
        found, first = np.unique(code[self.by_block], return_index=True)
        self.runs = (first, found // self.width, found % self.width)
        """Runs of columns of one owner within one block: first (in the order ``by_block``), block, owner."""

    def at(self, theta: Array) -> LikelihoodPoint:
        """Everything at once: likelihood, score, information, parameters."""
        r = self.reduction
        blocks, m, p = r.design.shape
        variance = np.append(theta, 1.0)[r.owner]
        shared = r.features[:, :, m:]
        V = (shared * variance[:, None, m:]) @ shared.transpose(0, 2, 1)
        V[:, np.arange(m), np.arange(m)] += variance[:, :m]
        L = np.linalg.cholesky(V)
        inverse = np.linalg.inv(L)
        white = inverse @ np.concatenate([r.design, self.y[:, :, None], shared], axis=2)
        stacked = np.vstack([white[:, :, :p].reshape(blocks * m, p), self.prior_rows])
        right = np.concatenate([white[:, :, p].ravel(), self.prior_values])
        basis, triangle = np.linalg.qr(stacked)
        root = np.linalg.inv(triangle)
        along = basis.T @ right
        rest = right - basis @ along
        Fw = np.concatenate([inverse, white[:, :, p + 1 :]], axis=2)
        gram = Fw.transpose(0, 2, 1) @ Fw
        image = basis[: blocks * m].reshape(blocks, m, p).transpose(0, 2, 1) @ Fw
        pull = (Fw.transpose(0, 2, 1) @ rest[: blocks * m].reshape(blocks, m, 1))[:, :, 0]
        score, information, moments = self._derivatives(theta, gram, image, pull)
        observed = self._observed(theta, Fw, pull, basis[: blocks * m]) - information
        log_det = 2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum() + 2.0 * np.log(np.abs(np.diag(triangle))).sum()
        groups = theta[: r.groups]
        pure = float(np.sum(r.pure_dof * np.log(groups) + self.pure / groups))
        loglik = -0.5 * (float(log_det) + float(rest @ rest) + pure)
        return LikelihoodPoint(loglik, score, information, observed, root, root @ along, gram, image, moments)

    def _derivatives(self, theta: Array, gram: Array, image: Array, pull: Array) -> tuple[Array, Array, Array]:
        r, k = self.reduction, self.reduction.components
        p = image.shape[1]
        trace = np.diagonal(gram, axis1=1, axis2=2) - (image * image).sum(axis=1)
        score = 0.5 * np.bincount(r.owner.ravel(), (pull * pull - trace).ravel(), minlength=self.width)[:k]
        inner = image.transpose(0, 2, 1) @ image
        pairs = np.bincount(self.pair, (gram * (gram - 2.0 * inner)).ravel(), minlength=self.width**2)
        columns = image.transpose(0, 2, 1).reshape(-1, p)
        moments = np.empty((k, p, p))
        for i, mine in enumerate(self.owned):
            moments[i] = columns[mine].T @ columns[mine]
        flat = moments.reshape(k, p * p)
        information = 0.5 * (pairs.reshape(self.width, self.width)[:k, :k] + flat @ flat.T)
        groups = theta[: r.groups]
        score[: r.groups] += 0.5 * (self.pure / groups - r.pure_dof) / groups
        at = np.arange(r.groups)
        information[at, at] += 0.5 * r.pure_dof / groups**2
        return np.asarray(score, dtype=float), information, moments

    def _observed(self, theta: Array, Fw: Array, pull: Array, basis: Array) -> Array:
        """y' P V_i P V_j P y and its counterpart of pure error."""
        r = self.reduction
        blocks, m, f = Fw.shape
        pulled = (Fw * pull[:, None, :]).transpose(0, 2, 1).reshape(blocks * f, m)
        applied = np.zeros((blocks, r.components + 1, m))
        first, block, owner = self.runs
        applied[block, owner] = np.add.reduceat(pulled[self.by_block], first, axis=0)
        applied = applied[:, :-1].transpose(0, 2, 1)
        flat = applied.reshape(blocks * m, r.components)
        along = basis.T @ flat
        found = flat.T @ flat - along.T @ along
        groups, at = theta[: r.groups], np.arange(r.groups)
        found[at, at] += self.pure / groups**3
        return np.asarray(found)


def scaled_solve(matrix: Array, right: Array) -> Array:
    """Solve a symmetric system after scaling its diagonal to one."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    ridged = matrix * scale[:, None] * scale + 1e-12 * np.eye(len(matrix))
    return np.asarray(scale * np.linalg.solve(ridged, scale * right))


def scaled_inverse(matrix: Array) -> Array:
    """Inverse of a symmetric matrix after scaling its diagonal to one."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    return np.asarray(np.linalg.inv(matrix * scale[:, None] * scale) * scale[:, None] * scale)
