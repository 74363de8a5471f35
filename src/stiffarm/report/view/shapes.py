"""Closed surfaces as triangles: spheres, capsules, cylinders, boxes and the image of a sphere under a matrix.

A surface of revolution about z is a polygon (radius, height) turned in steps: a pole, rings of vertices, a pole, with
two triangles between neighbours of two rings, all seen counter-clockwise from outside.  Its volume follows from its
faces, sum v0 . (v1 x v2) / 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiffarm.robot.placement import Rigid, rotation_to_axis

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SEGMENTS = 24
"""Vertices of a ring."""
RINGS = 6
"""Rings of a half sphere."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface."""

    vertices: Floats
    """(n, 3) m."""
    faces: Ints
    """(m, 3) indices of vertices, counter-clockwise from outside."""

    def placed(self, at: Rigid) -> Mesh:
        """The same surface elsewhere."""
        return Mesh(self.vertices @ at.rotation.T + at.translation, self.faces)

    @property
    def volume(self) -> float:
        """What a closed surface encloses, m^3."""
        a, b, c = (self.vertices[self.faces[:, i]] for i in range(3))
        return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def joined(meshes: Iterable[Mesh]) -> Mesh:
    """Several surfaces as one."""
    parts = list(meshes)
    starts = np.cumsum([0, *(len(part.vertices) for part in parts)])
    faces = [part.faces + start for part, start in zip(parts, starts, strict=False)]
    return Mesh(np.concatenate([part.vertices for part in parts]), np.concatenate(faces))


def revolved(profile: ArrayLike) -> Mesh:
    """A polygon of (radius, z), m, from the lower to the upper pole (both at radius 0), turned about z."""
    points = np.asarray(profile, dtype=float)
    angle = np.linspace(0.0, 2.0 * np.pi, SEGMENTS, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(SEGMENTS)])
    rings = [radius * circle + (0.0, 0.0, height) for radius, height in points[1:-1]]
    poles = [[0.0, 0.0, points[0, 1]], [0.0, 0.0, points[-1, 1]]]
    vertices = np.concatenate([*rings, poles])
    i = np.arange(SEGMENTS)
    j, low, high = (i + 1) % SEGMENTS, len(vertices) - 2, len(vertices) - 1
    faces = [np.column_stack([np.full(SEGMENTS, low), j, i])]
    for k in range(len(rings) - 1):
        a, b = k * SEGMENTS, (k + 1) * SEGMENTS
        faces += [np.column_stack([a + i, a + j, b + j]), np.column_stack([a + i, b + j, b + i])]
    last = (len(rings) - 1) * SEGMENTS
    faces.append(np.column_stack([np.full(SEGMENTS, high), last + i, last + j]))
    return Mesh(vertices, np.concatenate(faces))


def sphere(radius: float = 1.0) -> Mesh:
    """About the origin."""
    angle = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 2 * RINGS + 1)
    return revolved(radius * np.column_stack([np.cos(angle), np.sin(angle)]))


def capsule(begin: ArrayLike, end: ArrayLike, radius: float) -> Mesh:
    """A rod between two points (m) with round ends; a sphere when they are one."""
    a, b = np.asarray(begin, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    if length < 1e-9:
        return sphere(radius).placed(Rigid(np.eye(3), a))
    angle = np.linspace(0.0, 0.5 * np.pi, RINGS + 1)
    lower = np.column_stack([np.sin(angle), -np.cos(angle)]) * radius
    upper = lower[::-1] * (1.0, -1.0) + (0.0, length)
    return revolved(np.concatenate([lower, upper])).placed(Rigid(rotation_to_axis((b - a) / length), a))


def cylinder(centre: ArrayLike, axis: ArrayLike, radius: float, length: float) -> Mesh:
    """A straight cylinder about a unit axis; its rims stand twice, so that they are shaded as edges."""
    half = 0.5 * length
    rims = [(radius, -half), (radius, -half), (radius, half), (radius, half)]
    profile = [(0.0, -half), *rims, (0.0, half)]
    return revolved(profile).placed(Rigid(rotation_to_axis(axis), np.asarray(centre, dtype=float)))


def box(size: ArrayLike) -> Mesh:
    """About the origin, along the axes; edges (x, y, z) in m."""
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    quads = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    faces = [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))]
    return Mesh(corners * np.asarray(size, dtype=float), np.array(faces, dtype=np.int64))


def image_of_sphere(matrix: Floats) -> Mesh:
    """Where a matrix (3, 3) takes the unit sphere: an ellipsoid whose half axes are its singular values."""
    unit = sphere()
    return Mesh(unit.vertices @ matrix.T, unit.faces)
