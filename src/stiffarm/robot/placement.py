"""Rigid transforms of a robot file as rotation matrices and vectors.

Every convention is brought to one form.  Joint k is a fixed transform from the frame after joint k-1's
motion (the base for the first joint), then a motion by the controller value along or about a unit axis:

    mdh     RotX(alpha) TransX(a) RotZ(theta) TransZ(d), then the motion about or along z
    dh      RotZ(theta) TransZ(d), then the motion; TransX(a) RotX(alpha) belongs to the next transform
    frames  xyz, rpy and the offset along or about the axis, then the motion

RotZ and TransZ commute, so the part along z may stand before the motion.  The controller's sign is folded
into the axis: model value = sign * q + offset turns about z exactly as q turns about sign * z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiffarm.robot.arm import AxisPlacement, DenavitHartenberg, Placement, Robot, Vector3

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rigid:
    """A rigid transform: x -> rotation @ x + translation (m)."""

    rotation: Matrix
    translation: Matrix

    @staticmethod
    def identity() -> Rigid:
        """The transform that moves nothing."""
        return Rigid(np.eye(3), np.zeros(3))

    @staticmethod
    def of(placement: Placement) -> Rigid:
        """From ``xyz`` and ``rpy`` of a file."""
        return Rigid(rotation_from_rpy(placement.rpy), np.array(placement.xyz, dtype=float))

    def __matmul__(self, other: Rigid) -> Rigid:
        return Rigid(self.rotation @ other.rotation, self.rotation @ other.translation + self.translation)

    def inverse(self) -> Rigid:
        """The transform that undoes this one."""
        return Rigid(self.rotation.T.copy(), -self.rotation.T @ self.translation)

    def apply(self, point: ArrayLike) -> Matrix:
        """A point (3,) in m, or points (3, n)."""
        p = np.asarray(point, dtype=float)
        shift = self.translation if p.ndim == 1 else self.translation[:, None]
        return np.asarray(self.rotation @ p + shift)


@dataclass(frozen=True, eq=False)
class JointTransform:
    """Fixed transform before a joint's motion, and the axis (unit, controller sense) of the motion."""

    fixed: Rigid
    axis: Matrix
    prismatic: bool


def skew(v: ArrayLike) -> Matrix:
    """The matrix of ``v x``."""
    x, y, z = np.asarray(v, dtype=float)
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotation_from_vector(vector: ArrayLike) -> Matrix:
    """Rotation by ``|vector|`` rad about ``vector`` (Rodrigues).

    >>> rotation_from_vector((0.0, 0.0, 0.0)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    x, y, z = np.asarray(vector, dtype=float).tolist()
    angle = math.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        return np.eye(3)
    # I + s [v] + c [v]^2 by components; (1 - cos x)/x^2 through the half angle, which loses no digits near zero
    s, c = math.sin(angle) / angle, 0.5 * (math.sin(0.5 * angle) / (0.5 * angle)) ** 2
    return np.array(
        [
            [1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y],
            [c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x],
            [c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y)],
        ]
    )


def vector_from_rotation(rotation: ArrayLike) -> Matrix:
    """Rotation vector (rad, length at most pi) of a rotation matrix."""
    r = np.asarray(rotation, dtype=float)
    w = 0.5 * np.array([r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]])
    sine, cosine = float(np.linalg.norm(w)), 0.5 * (float(np.trace(r)) - 1.0)
    angle = math.atan2(sine, cosine)
    if sine > 1e-6:
        return np.asarray(w * (angle / sine))
    if cosine > 0.0:
        return np.asarray(w)
    # near a half turn the antisymmetric part vanishes: the axis is the largest column of R + I
    sym = 0.5 * (r + r.T) + np.eye(3)
    axis = sym[:, int(np.argmax(np.diag(sym)))]
    axis = axis / np.linalg.norm(axis)
    return np.asarray(axis * (angle if float(axis @ w) >= 0.0 else -angle))


def rotation_from_rpy(rpy: ArrayLike) -> Matrix:
    """Rz(yaw) Ry(pitch) Rx(roll): rotations about the fixed axes x, y, z (rad), as in URDF."""
    roll, pitch, yaw = np.asarray(rpy, dtype=float)
    return rotation_about("z", yaw) @ rotation_about("y", pitch) @ rotation_about("x", roll)


def rpy_from_rotation(rotation: ArrayLike) -> Vector3:
    """Fixed-axis angles of a rotation; at gimbal lock roll is 0."""
    r = np.asarray(rotation, dtype=float)
    horizontal = math.hypot(r[0, 0], r[1, 0])
    pitch = math.atan2(-r[2, 0], horizontal)
    if horizontal < 1e-12:
        return (0.0, pitch, math.atan2(-r[0, 1], r[1, 1]))
    return (math.atan2(r[2, 1], r[2, 2]), pitch, math.atan2(r[1, 0], r[0, 0]))


def rotation_about(axis: str, angle: float) -> Matrix:
    """Rotation by ``angle`` rad about ``x``, ``y`` or ``z``; quarter turns are exact.

    >>> rotation_about("z", math.pi / 2)[0].tolist()
    [0.0, -1.0, 0.0]
    """
    c, s = _exact(math.cos(angle)), _exact(math.sin(angle))
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    matrix = np.eye(3)
    matrix[j, j] = matrix[k, k] = c
    matrix[j, k], matrix[k, j] = -s, s
    return matrix


def _exact(number: float) -> float:
    """0 or +-1 for the sine or cosine of a quarter turn, which pi in floating point misses by some 1e-16."""
    nearest = round(number)
    return float(nearest) if abs(number - nearest) < 5e-16 else number


def rotation_to_axis(axis: ArrayLike) -> Matrix:
    """A rotation that takes z to the unit vector ``axis`` (a half turn about x for -z)."""
    u = np.asarray(axis, dtype=float)
    if abs(u[2]) == 1.0:
        return np.diag([1.0, u[2], u[2]])
    side = np.cross((0.0, 0.0, 1.0), u)
    side /= np.linalg.norm(side)
    return np.column_stack([side, np.cross(u, side), u])


def _dh_head(row: DenavitHartenberg) -> Rigid:
    """RotZ(theta) TransZ(d)."""
    return Rigid(rotation_about("z", row.theta), np.array([0.0, 0.0, row.d]))


def _dh_tail(row: DenavitHartenberg) -> Rigid:
    """TransX(a) RotX(alpha)."""
    return Rigid(rotation_about("x", row.alpha), np.array([row.a, 0.0, 0.0]))


def _offset_motion(geometry: AxisPlacement, axis: Matrix, prismatic: bool) -> Rigid:
    if prismatic:
        return Rigid(np.eye(3), geometry.offset * axis)
    return Rigid(rotation_from_vector(geometry.offset * axis), np.zeros(3))


def chain_transforms(robot: Robot) -> tuple[JointTransform, ...]:
    """Fixed transform and axis of every joint, from the base outwards."""
    transforms: list[JointTransform] = []
    tail = Rigid.identity()
    for joint in robot.joints:
        prismatic = joint.kind == "prismatic"
        if isinstance(joint.geometry, AxisPlacement):
            axis = np.array(joint.geometry.axis, dtype=float)
            axis = axis / np.linalg.norm(axis)
            fixed = Rigid.of(joint.geometry.origin) @ _offset_motion(joint.geometry, axis, prismatic)
        else:
            axis = np.array([0.0, 0.0, 1.0])
            before = tail if robot.convention == "dh" else _mdh_tail(joint.geometry)
            fixed = before @ _dh_head(joint.geometry)
            tail = _dh_tail(joint.geometry)
        transforms.append(JointTransform(fixed, joint.sign * axis, prismatic))
    return tuple(transforms)


def _mdh_tail(row: DenavitHartenberg) -> Rigid:
    """RotX(alpha) TransX(a): both about and along x, so the translation is not turned."""
    return Rigid(rotation_about("x", row.alpha), np.array([row.a, 0.0, 0.0]))


def flange_transform(robot: Robot) -> Rigid:
    """The flange seen from the frame after the last joint's motion."""
    last = robot.joints[-1].geometry
    if robot.convention == "dh" and isinstance(last, DenavitHartenberg):
        return _dh_tail(last) @ Rigid.of(robot.flange)
    return Rigid.of(robot.flange)


def tool_transform(robot: Robot) -> Rigid:
    """The tool seen from the flange."""
    return Rigid.of(robot.tool.placement)


def base_transform(robot: Robot) -> Rigid:
    """The chain's first frame in the world."""
    return Rigid.of(robot.base)
