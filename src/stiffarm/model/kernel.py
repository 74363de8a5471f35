"""The one kernel: frames and columns of a chain for a batch of configurations.

Joint k turns about its own z by v_k (or slides along it), so its columns X, Y, Z and origin o follow from
those of body k-1 by the constant transform (R, t) and a plane rotation:

    [X' Y' Z' d] = [X Y Z] [R | t],   o_k = o_{k-1} + d,   X = c X' + s Y',   Y = c Y' - s X',   Z = Z'

A virtual joint with unit direction w through a point o moves a point p of a later body by one column

    sliding: c = w            turning: c = w x (p - o)

and its generalised load under forces F at points h (and torques M) is c(h) . F + w . M, summed over the
points it moves.  Everything else in stiffarm combines these.

Arrays are structures of arrays with the batch axis last: a body's rotation is (3 columns, 3 components, n).
The code uses the array API of its input, so NumPy runs it at once and other array libraries may compile it.
The base does not move: its arrays have n = 1 and broadcast.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain, Node, Point, joint_order

Floats = NDArray[np.float64]

CHUNK = 2048
"""Configurations at a time: intermediate arrays stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Frames:
    """World placements of every body of a chain."""

    rotation: tuple[Floats, ...]
    """By body: (3 columns, 3, n)."""
    origin: tuple[Floats, ...]
    """By body: (3, n), m."""


@dataclass(frozen=True, eq=False)
class WorldNode:
    """A node in the world: directions (d, 3, n) through ``origin`` (3, n)."""

    directions: Floats
    origin: Floats
    order: int


@dataclass(frozen=True, eq=False)
class WorldPoint:
    """A point in the world, (3, n), and its order along the chain."""

    xyz: Floats
    order: int


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Consecutive slices covering 0 .. n."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def joint_values(chain: Chain, q: Floats) -> Floats:
    """Model values (joints, n) of controller values, still in controller sense (rad, m)."""
    if chain.nominal_values:
        return q
    xp: Any = q.__array_namespace__()
    value = xp.asarray(chain.mix) @ q + xp.asarray(chain.offset)[:, None]
    if chain.sine.any() or chain.cosine.any():
        sine, cosine = xp.asarray(chain.sine)[:, None], xp.asarray(chain.cosine)[:, None]
        value = value + sine * xp.sin(q) + cosine * xp.cos(q)
    out: Floats = value
    return out


def frames(chain: Chain, q: Floats) -> Frames:
    """World frames of every body for controller values ``q`` (joints, n)."""
    xp: Any = q.__array_namespace__()
    value = joint_values(chain, q)
    sine, cosine = xp.sin(value), xp.cos(value)
    n = q.shape[1]
    rotation = xp.asarray(chain.base.rotation.T)[:, :, None]
    origin = xp.asarray(chain.base.translation)[:, None]
    rotations, origins = [rotation], [origin]
    for k, fixed in enumerate(chain.fixed):
        # rows: the three new columns and the step of the origin, as combinations of the old columns
        step = xp.concat([xp.asarray(fixed.rotation.T), xp.asarray(fixed.translation)[None, :]])
        moved = xp.reshape(step @ xp.reshape(rotation, (3, -1)), (4, 3, -1))
        origin = origin + moved[3]
        if chain.prismatic[k]:
            rotation = xp.broadcast_to(moved[:3], (3, 3, n))
            origin = origin + moved[2] * value[k]
        else:
            x, y = moved[0], moved[1]
            c, s = cosine[k], sine[k]
            z = moved[2] if moved.shape[2] == n else xp.broadcast_to(moved[2], (3, n))
            rotation = xp.stack([c * x + s * y, c * y - s * x, z])
        rotations.append(rotation)
        origins.append(origin)
    return Frames(tuple(rotations), tuple(origins))


def world_vectors(rotation: Floats, local: Floats) -> Floats:
    """Vectors (m, 3) fixed to a body, in the world: (m, 3, n)."""
    xp: Any = rotation.__array_namespace__()
    flat = xp.reshape(rotation, (3, -1))
    out: Floats = xp.reshape(xp.asarray(local) @ flat, (local.shape[0], 3, -1))
    return out


def world_point(at: Frames, point: Point) -> WorldPoint:
    """A point fixed to a body, in the world."""
    turned = world_vectors(at.rotation[point.body], point.xyz[None, :])[0]
    return WorldPoint(at.origin[point.body] + turned, point.order)


def world_node(at: Frames, node: Node) -> WorldNode:
    """A node's directions and origin in the world."""
    rotation, origin = at.rotation[node.body], at.origin[node.body]
    if node.directions.shape[0] == 1 and not node.origin.any() and node.directions[0, 2] == 1.0:
        return WorldNode(rotation[2:3], origin, node.order)  # a joint's axis is its body's z
    local = np.concatenate([node.directions, node.origin[None, :]])
    turned = world_vectors(rotation, local)
    return WorldNode(turned[:-1], origin + turned[-1], node.order)


def cross(a: Floats, b: Floats) -> Floats:
    """Vector product along the second-last axis; the batch axis is last."""
    xp: Any = b.__array_namespace__()
    ax, ay, az = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    bx, by, bz = b[..., 0, :], b[..., 1, :], b[..., 2, :]
    out: Floats = xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-2)
    return out


def dot(a: Floats, b: Floats) -> Floats:
    """Scalar product along the second-last axis; the batch axis is last."""
    out: Floats = a[..., 0, :] * b[..., 0, :] + a[..., 1, :] * b[..., 1, :] + a[..., 2, :] * b[..., 2, :]
    return out


def turning_columns(node: WorldNode, p: WorldPoint) -> Floats:
    """Motion of p (m/rad) when turning about each direction of the node: (d, 3, n)."""
    return cross(node.directions, p.xyz - node.origin)


def jacobian(chain: Chain, q: Floats, point: Point) -> tuple[Floats, Floats]:
    """Position (3, n) of a point and its derivatives by the joint values (joints, 3, n), world frame.

    The derivatives are by the model values of the joints in controller sense, so they are those by the
    controller values unless the joints have gains or couplings.  Works through the batch in chunks.
    """
    n = q.shape[1]
    position, columns = np.empty((3, n)), np.zeros((chain.n_joints, 3, n))
    for part in chunks(n):
        at = frames(chain, np.ascontiguousarray(q[:, part]))
        p = world_point(at, point)
        position[:, part] = p.xyz
        for k in range(chain.n_joints):
            if joint_order(k) >= point.order:
                continue
            z = at.rotation[k + 1][2]
            columns[k, :, part] = z if chain.prismatic[k] else cross(z, p.xyz - at.origin[k + 1])
    return position, columns
