"""All ways in which an arm with a wrist centre takes a pose, in closed form.

With z_i the axes and o_i points on them where every turning joint stands at zero (rails where they are), W_0 the wrist
centre there, and exp(z q) the turn about z, the wrist centre of the pose, W, is known: it does not move in the tool.

    axis 1        the arm moves in a plane along z_2, so  (W - o_1) . exp(z_1 q_1) z_2 = (W_0 - o_1) . z_2
    axis 3        |W' - o_2| = |a + exp(z_3 q_3) b|,  a = o_3 - o_2,  b = W_0 - o_3,  W' = exp(-z_1 q_1) W
    axis 2        turns a + exp(z_3 q_3) b into W' - o_2
    axis 5        z_4 . exp(z_5 q_5) z_6 = z_4 . M z_6,  M what is left of the orientation for the wrist
    axes 4, 6     turn  exp(z_5 q_5) z_6 into M z_6,  and  M' z_4 into exp(-z_5 q_5) z_4

A cos q + B sin q = C has two answers, and two times two times two are the eight ways.  Where a wrist misses its centre
by a little these are starts, and Newton's steps do the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.axes import ControllerAxes
from stiffarm.compensate.branches import wrist_centre
from stiffarm.model.arm_model import Arm
from stiffarm.model.inverse import inverse_from
from stiffarm.model.kernel import cross, dot, frames, world_point, world_vectors
from stiffarm.model.rotations import matrix_of, rotate

Floats = NDArray[np.float64]

WAYS = 8


@dataclass(frozen=True, eq=False)
class Ways:
    """Joint values of the eight ways for some poses."""

    q: Floats
    """(8, joints, n) controller values."""
    missed_m: Floats
    """(8, n) error of the pose there, m and rad together."""


def ways_of(arm: Arm, axes: ControllerAxes, pose_world: Floats, held: Floats) -> Ways:
    """The ways of an arm that `has_branches` for poses (6, n); ``held`` (joints, n): NaN for what may move."""
    assert axes.six is not None
    rest = np.where(np.isnan(held), 0.0, held)
    six = list(axes.six)
    found = np.repeat(rest[None], WAYS, axis=0)
    found[:, six] = _closed_form(arm, axes.six, pose_world, rest)
    found[:, six] = np.remainder(found[:, six] + np.pi, 2.0 * np.pi) - np.pi
    missed = np.empty((WAYS, pose_world.shape[1]))
    chain = arm.chain
    for way in range(WAYS):
        values = found[way] if chain.nominal_values else np.linalg.solve(chain.mix, found[way])
        polished = inverse_from(arm, pose_world, np.where(np.isnan(held), values, held), held)
        found[way] = polished.q
        missed[way] = np.where(polished.reached, 0.0, polished.position_error_m + polished.rotation_error_rad)
    return Ways(found, missed)


def _closed_form(arm: Arm, six: tuple[int, ...], pose_world: Floats, rest: Floats) -> Floats:
    """(8, 6, n) values of the turning joints."""
    chain = arm.chain
    at = frames(chain, np.ascontiguousarray(rest))
    z = [np.broadcast_to(at.rotation[i + 1][2], (3, rest.shape[1])) for i in six]
    o = [np.broadcast_to(at.origin[i + 1], (3, rest.shape[1])) for i in six]
    centre = wrist_centre(at, six)
    tool = world_point(at, chain.point("tool")).xyz
    axes = world_vectors(at.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))
    asked = matrix_of(pose_world[3:])
    inside = np.einsum("cin,in->cn", axes, np.broadcast_to(centre - tool, tool.shape))
    wanted = pose_world[:3] + np.einsum("cin,cn->in", asked, inside)
    out = np.empty((WAYS, 6, rest.shape[1]))
    for way, (side, elbow, wrist) in enumerate(product((1.0, -1.0), repeat=3)):
        q1 = _two(dot(wanted - o[0], _across(z[0], z[1])), dot(wanted - o[0], cross(z[0], z[1])),
                  dot(centre - o[0], z[1]) - dot(z[0], z[1]) * dot(wanted - o[0], z[0]), side)  # fmt: skip
        here = rotate(-z[0] * q1, wanted - o[0]) + o[0]
        a, b, c = _across(z[1], o[2] - o[1]), _across(z[1], centre - o[2]), _across(z[1], here - o[1])
        gap = 0.5 * (dot(c, c) - dot(a, a) - dot(b, b))
        q3 = _two(dot(a, b), dot(a, cross(z[2], b)), gap, elbow)
        q2 = _angle(z[1], a + rotate(z[2] * q3, b), c)
        left = _back([z[0] * q1, z[1] * q2, z[2] * q3], asked)  # columns of the tool, the first three axes undone

        def to_rest(v: Floats, left: Floats = left) -> Floats:
            """M v: what the wrist makes of a direction that is fixed to the hand."""
            return np.asarray(np.einsum("cin,cn->in", left, np.einsum("cin,in->cn", axes, v)))

        end = to_rest(z[5])
        along = dot(z[3], z[4]) * dot(z[4], z[5])
        q5 = _two(dot(z[3], z[5]) - along, dot(z[3], cross(z[4], z[5])), dot(z[3], end) - along, wrist)
        q4 = _angle(z[3], rotate(z[4] * q5, z[5]), end)
        start = np.einsum("cin,cn->in", axes, np.einsum("cin,in->cn", left, z[3]))  # M' z_4
        q6 = _angle(z[5], start, rotate(-z[4] * q5, z[3]))
        out[way] = np.stack([q1, q2, q3, q4, q5, q6])
    return out


def _two(a: Floats, b: Floats, c: Floats, side: float) -> Floats:
    """One of the two q with a cos q + b sin q = c; the nearest where there is none."""
    size = np.hypot(a, b)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(size > 0.0, np.clip(c / size, -1.0, 1.0), 0.0)
    return np.asarray(np.arctan2(b, a) + side * np.arccos(share))


def _across(axis: Floats, v: Floats) -> Floats:
    """The part of a vector that is square to an axis."""
    return np.asarray(v - dot(axis, v) * axis)


def _angle(axis: Floats, start: Floats, end: Floats) -> Floats:
    """rad by which one vector must be turned about an axis to lie over another."""
    return np.asarray(np.arctan2(dot(axis, cross(start, end)), dot(_across(axis, start), end)))


def _back(turns: list[Floats], columns: Floats) -> Floats:
    """Columns (3 columns, 3, n) with turns undone, the first of them first."""
    for turn in turns:
        columns = rotate(-turn, columns)
    return columns
