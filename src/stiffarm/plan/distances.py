"""Distances of straight segments from one another and from boxes, with what they change by.

Two segments a0 + s (a1 - a0) and b0 + t (b1 - b0), s and t in [0, 1]: the squared distance is a convex quadratic in
(s, t), least at the point of the two lines, or with one of the two at an end and the other the best for it.  With u
the unit vector from the second nearest point to the first, the distance d changes by

    dd = u . ((1 - s) da0 + s da1 - (1 - t) db0 - t db1)

because moving s or t changes nothing to first order (or cannot happen, at an end).

A segment and a box (half edges h, about its centre, in its own frame): the signed distance of a point p,

    f(p) = |max(|p| - h, 0)| + min(0, max(|p| - h))

is convex, so its least value along the segment is found by narrowing the interval by the golden ratio, and in the end
where the tangents from both sides meet.  Where two faces are equally near at the least point, their slopes count in
the shares that leave nothing along the segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.model.kernel import cross, dot
from stiffarm.plan.problem import Floats

TINY = 1e-12
"""m^2 or a share of the lengths: below it a segment is a point, or two are parallel."""
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
NARROWINGS = 38
ASIDE = 1e-7
"""Part of a segment by which the slopes on both sides of its nearest point are asked for."""


@dataclass(frozen=True, eq=False)
class Apart:
    """Distances (..., n) and how they change with the ends of the segments, each (..., 3, n)."""

    value: Floats
    by_start: Floats
    by_end: Floats
    by_other_start: Floats
    by_other_end: Floats


def between_segments(start: Floats, end: Floats, other_start: Floats, other_end: Floats) -> Apart:
    """Distances of segments from others, all (..., 3, n) in m.

    >>> point = lambda *xyz: np.array(xyz, dtype=float)[:, None]
    >>> crossed = between_segments(point(-1, 0, 0), point(1, 0, 0), point(0, -1, 2), point(0, 1, 2))
    >>> crossed.value.tolist(), crossed.by_start[:, 0].tolist()
    ([2.0], [0.0, 0.0, -0.5])
    """
    along, other, step = end - start, other_end - other_start, start - other_start
    a, e, b = dot(along, along), dot(other, other), dot(along, other)
    c, f = dot(along, step), dot(other, step)
    square = a * e - b * b
    crossing = square > TINY * a * e
    s = np.where(crossing, np.clip((b * f - c * e) / np.where(crossing, square, 1.0), 0.0, 1.0), 0.0)
    t = np.where(e > TINY, np.clip((b * s + f) / np.maximum(e, TINY), 0.0, 1.0), 0.0)
    s = np.where(a > TINY, np.clip((b * t - c) / np.maximum(a, TINY), 0.0, 1.0), 0.0)
    s, t = s[..., None, :], t[..., None, :]
    gap = step + s * along - t * other
    d = np.sqrt(dot(gap, gap))
    touching = d < np.sqrt(TINY)
    normal = cross(along, other)  # of segments that cross each other, either side will do
    u = np.where(touching[..., None, :], normal, gap)
    u = u / np.maximum(np.sqrt(dot(u, u)), TINY)[..., None, :]
    return Apart(d, (1.0 - s) * u, s * u, -(1.0 - t) * u, -t * u)


def to_box(start: Floats, end: Floats, half: Floats) -> Apart:
    """Signed distances of segments (..., 3, n) from boxes with half edges ``half`` (..., 3), all in the boxes' frames.

    Negative inside, where it is the depth to the nearest face.

    >>> point = lambda *xyz: np.array(xyz, dtype=float)[:, None]
    >>> to_box(point(-3, 0, 2), point(3, 0, 3), np.array([1.0, 1.0, 1.0])).value.round(12).tolist()
    [1.315191898443]
    """
    along, h = end - start, np.asarray(half)[..., None]
    low, high = np.zeros_like(along[..., 0, :]), np.ones_like(along[..., 0, :])

    def at(t: Floats) -> Floats:
        return _box_distance(start + t[..., None, :] * along, h)

    left, right = high - GOLDEN, low + GOLDEN
    f_left, f_right = at(left), at(right)
    for _ in range(NARROWINGS):
        nearer = f_left <= f_right
        low, high = np.where(nearer, low, left), np.where(nearer, right, high)
        left, right = (
            np.where(nearer, high - GOLDEN * (high - low), right),
            np.where(nearer, left, low + GOLDEN * (high - low)),
        )
        asked = at(np.where(nearer, left, right))
        f_left, f_right = np.where(nearer, asked, f_right), np.where(nearer, f_left, asked)
    t = 0.5 * (low + high)
    ends = np.stack([at(np.zeros_like(t)), at(t), at(np.ones_like(t))])
    which = np.argmin(ends, axis=0)
    t = np.where(which == 0, 0.0, np.where(which == 2, 1.0, t))
    before, after = np.maximum(t - ASIDE, 0.0), np.minimum(t + ASIDE, 1.0)
    u_before, u_after = (_box_slope(start + x[..., None, :] * along, h) for x in (before, after))
    falls, rises = np.minimum(dot(u_before, along), 0.0), np.maximum(dot(u_after, along), 0.0)
    inner = (which == 1) & (rises - falls > TINY)
    share = np.where(inner, rises / np.where(inner, rises - falls, 1.0), np.where(which == 2, 1.0, 0.0))[..., None, :]
    u = share * u_before + (1.0 - share) * u_after
    f_before = at(before)
    crossed = f_before + falls * (at(after) - f_before - rises * (after - before)) / np.where(
        inner, falls - rises, 1.0
    )  # where the tangents of both sides meet
    t = t[..., None, :]
    return Apart(np.where(inner, crossed, ends.min(axis=0)), (1.0 - t) * u, t * u, np.zeros_like(u), np.zeros_like(u))


def _box_distance(p: Floats, half: Floats) -> Floats:
    """(..., n) of points (..., 3, n)."""
    over = np.abs(p) - half
    outside = np.maximum(over, 0.0)
    return np.asarray(np.sqrt(dot(outside, outside)) + np.minimum(over.max(axis=-2), 0.0))


def _box_slope(p: Floats, half: Floats) -> Floats:
    """(..., 3, n) derivative of the distance by the point."""
    over = np.abs(p) - half
    outside = np.maximum(over, 0.0)
    d = np.sqrt(dot(outside, outside))[..., None, :]
    nearest = over == over.max(axis=-2, keepdims=True)
    inside = nearest / nearest.sum(axis=-2, keepdims=True)
    return np.asarray(np.sign(p) * np.where(d > 0.0, outside / np.where(d > 0.0, d, 1.0), inside))
