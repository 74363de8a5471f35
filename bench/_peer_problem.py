"""A calibration problem on which packages can be compared: one arm, one marker, positions with 30 um of noise.

A six-axis arm of the 2.7 m class in modified DH.  The real one differs from its drawing by normal errors (1 mrad,
0.5 mm, 2 mrad, 0.5 mm for alpha, a, theta, d), its base by 2 mm and 2 mrad, its marker by 1 mm.  Joints are drawn
evenly within their limits.  With ``elastic`` the joints give way to the weights of the links (nominal masses and
geometry) with compliances 1 / STIFFNESS.  Random numbers are drawn in a fixed order, so that everybody who follows it
solves the very same problem; `bench/peers.py` checks that when the original is at hand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

QUARTER = np.pi / 2
ALPHA = np.array([0.0, -QUARTER, 0.0, -QUARTER, QUARTER, -QUARTER])
A = np.array([0.0, 0.35, 1.15, -0.041, 0.0, 0.0])
THETA = np.array([0.0, -QUARTER, 0.0, 0.0, 0.0, 0.0])
D = np.array([0.675, 0.0, 0.0, 1.2, 0.0, 0.215])
LIMITS_DEG = np.array([[-180, 180], [-50, 85], [-120, 65], [-180, 180], [-120, 120], [-180, 180]], dtype=float)
MASS = np.array([250.0, 200.0, 160.0, 60.0, 40.0, 20.0])
CENTRE = np.array(
    [[0.1, 0.0, -0.1], [0.5, 0.0, 0.0], [0.0, -0.05, 0.1], [0.0, 0.0, -0.4], [0.0, -0.03, 0.0], [0.0, 0.0, -0.02]]
)
"""Centres of mass after each joint's motion, m."""
MARKER = np.array([0.15, 0.05, 0.20])
STIFFNESS = np.array([3e6, 1.5e6, 1.2e6, 4e5, 4e5, 3e5])
GRAVITY = 9.81
NOISE_M = 30e-6


@dataclass(frozen=True, eq=False)
class Arm:
    """Modified DH (joints, 4: alpha, a, theta, d), base placement and marker in the flange frame."""

    dh: Floats
    base_rotation: Floats
    base_m: Floats
    marker: Floats


NOMINAL = Arm(np.stack([ALPHA, A, THETA, D], axis=1), np.eye(3), np.zeros(3), MARKER)


def rodrigues(vector: Floats) -> Floats:
    """Rotation matrix of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    x, y, z = vector / max(angle, 1e-300)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


def real_arm() -> Arm:
    """The arm that the readings are of."""
    random = np.random.default_rng(7)
    errors = random.normal(size=(6, 4)) * np.array([1e-3, 0.5e-3, 2e-3, 0.5e-3])
    turn = random.normal(size=3) * 2e-3
    shift = random.normal(size=3) * 2e-3
    return Arm(NOMINAL.dh + errors, rodrigues(turn), shift, MARKER + random.normal(size=3) * 1e-3)


def joints(n: int, seed: int) -> Floats:
    """(n, 6) rad"""
    low, high = np.deg2rad(LIMITS_DEG).T
    return np.random.default_rng(seed).uniform(low, high, size=(n, 6))


def bodies(arm: Arm, q: Floats) -> tuple[list[Floats], list[Floats]]:
    """Rotations (n, 3, 3) and origins (n, 3) of the frame after each joint's motion, before its shift along z."""
    rotation = np.broadcast_to(arm.base_rotation, (len(q), 3, 3))
    origin = np.broadcast_to(arm.base_m, (len(q), 3))
    rotations, origins = [], []
    for k, (alpha, a, theta, d) in enumerate(arm.dh):
        origin = origin + rotation[:, :, 0] * a
        tilt = rodrigues(np.array([alpha, 0.0, 0.0]))
        c, s = np.cos(q[:, k] + theta), np.sin(q[:, k] + theta)
        spin = np.zeros((len(q), 3, 3))
        spin[:, 0, 0], spin[:, 0, 1], spin[:, 1, 0], spin[:, 1, 1], spin[:, 2, 2] = c, -s, s, c, 1.0
        rotation = rotation @ tilt @ spin
        rotations.append(rotation)
        origins.append(origin)
        origin = origin + rotation[:, :, 2] * d
    return rotations, [*origins, origin]


def positions(arm: Arm, q: Floats) -> Floats:
    """(n, 3) marker in the frame of the instrument, m."""
    rotations, origins = bodies(arm, q)
    return np.asarray(origins[-1] + rotations[-1] @ arm.marker)


def weight_torques(q: Floats) -> Floats:
    """(n, 6) derivative of the potential energy by each joint for the nominal arm, N m."""
    rotations, origins = bodies(NOMINAL, q)
    out = np.zeros(q.shape)
    for j in range(6):
        centre = origins[j] + rotations[j] @ (CENTRE[j] + np.array([0.0, 0.0, D[j]]))
        for i in range(j + 1):
            out[:, i] += MASS[j] * GRAVITY * np.cross(rotations[i][:, :, 2], centre - origins[i])[:, 2]
    return out


def bent(q: Floats, elastic: bool) -> Floats:
    """Joints as the links are, rad."""
    return q - weight_torques(q) / STIFFNESS if elastic else q


def readings(n: int, *, elastic: bool = False) -> tuple[Floats, Floats]:
    """Commanded joints (n, 6) and noisy positions (n, 3)."""
    q = joints(n, 1)
    noise = np.random.default_rng(1001).normal(size=(n, 3)) * NOISE_M
    return q, positions(real_arm(), bent(q, elastic)) + noise


def unseen(n: int = 1000, *, elastic: bool = False) -> tuple[Floats, Floats]:
    """Other configurations with their true positions."""
    q = joints(n, 999)
    return q, positions(real_arm(), bent(q, elastic))
