"""Whether an arm under load stays where it is.

At an equilibrium theta = f(tau(theta)) with tangent compliance k and load tangent T = d tau / d theta (for forces
T = -K_G, the geometric stiffness) a small disturbance meets the stiffness k^-1 - T, restricted to what is
compliant.  It is positive definite as long as every eigenvalue of k T, the *softening*, is below 1; where the
largest reaches 1 the tangent I - k T is singular and the arm buckles.  For one spring K under a force P along a
link of length L that is P = K / L.

Eigenvalues are dear and mostly far from 1, so a bound is asked first.  In coordinates that are lengths (turns
times the arm's reach l), the block of T between two nodes, the later of which feels F, X, M, N, is at most

    gamma = (|X - tr X + [M]| + |N|) / l^2 + |F| / l,

and not more than sqrt(gamma_a gamma_b) when gamma is made to fall along the chain; hence the spectral radius of
k T is at most the sum over nodes of |k_a| gamma_a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.loads import Felt
from stiffarm.model.posture import Posture
from stiffarm.model.stages import Unbent, reach

Floats = NDArray[np.float64]


def softening_bound(posture: Posture) -> Floats:
    """(n,) no eigenvalue of k T is larger in magnitude than this."""
    unbent = posture.unbent
    length = reach(unbent.arm.chain)
    gamma, total = np.zeros(unbent.n), np.zeros(unbent.n)
    compliance = {i: _size(unbent, i, one) for i, one in unbent.tangents(posture.torque).items()}
    for stage, felt in zip(reversed(unbent.stages), reversed(posture.felt[1::2]), strict=True):
        # a node's slides feel the same as its turns
        turning = (_norm(_turning_block(felt)) + _norm(felt.moment)) / length**2
        gamma = np.maximum(gamma, turning + _norm(felt.force) / length)
        total += gamma * compliance.get(stage.effect, 0.0)
    return total


def _turning_block(felt: Felt) -> Floats:
    """X - tr X + [M], flat (9, n)."""
    x, m = felt.virial, np.broadcast_to(felt.couple, felt.virial.shape[1:])
    return np.stack(
        [
            *(-x[1, 1] - x[2, 2], x[0, 1] - m[2], x[0, 2] + m[1]),
            *(x[1, 0] + m[2], -x[0, 0] - x[2, 2], x[1, 2] - m[0]),
            *(x[2, 0] - m[1], x[2, 1] + m[0], -x[0, 0] - x[1, 1]),
        ]
    )


def _size(unbent: Unbent, index: int, tangent: Floats) -> Floats:
    """(n,) or (1,): norm of an effect's compliance in coordinates that are lengths, m/N; by each of its nodes."""
    lever = unbent.lever[unbent.rows[index], 0]
    scaled = tangent * lever[:, None, None] * lever[None, :, None]
    return _norm(scaled.reshape(len(lever) ** 2, scaled.shape[2]))


def _norm(a: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("in,in->n", a, a)))


def tangent(posture: Posture, share: float = 1.0) -> Floats:
    """I - k T under a share of the loads: (n, coordinates, coordinates)."""
    unbent = posture.unbent
    followed = unbent.follow(unbent.tangents(share * posture.torque), share * posture.load_tangent())
    matrix = -np.ascontiguousarray(np.moveaxis(followed, -1, 0))
    matrix[:, range(unbent.size), range(unbent.size)] += 1.0
    return matrix


def solved(matrix: Floats, right: Floats) -> Floats:
    """Solutions (coordinates, p, n) for matrices (n, ., .); the shortest where one is singular."""
    columns = np.ascontiguousarray(np.moveaxis(right, -1, 0))
    try:
        found = np.linalg.solve(matrix, columns)
    except np.linalg.LinAlgError:
        found = np.linalg.pinv(matrix) @ columns
    return np.ascontiguousarray(np.moveaxis(found, 0, -1))


def softening(posture: Posture) -> Floats:
    """(n,) largest real part of the eigenvalues of k T; below 1 the arm stays."""
    if posture.unbent.size == 0:
        return np.zeros(posture.unbent.n)
    lever = posture.unbent.lever[:, 0]
    balanced = tangent(posture) * (lever[:, None] / lever[None, :])
    return np.asarray(1.0 - np.min(np.linalg.eigvals(balanced).real, axis=1))
