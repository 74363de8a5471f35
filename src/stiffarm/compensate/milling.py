"""Mean forces of milling on the tool, from feed, engagement and specific force.

The tool moves along f, its axis points along a from the holder to the tip, f' is the part of f across a, and
n = a x f' / |f'|.  A tooth at the angle phi stands at r u(phi) from the axis and moves along t(phi),

    u = -n cos(phi) + f sin(phi),        t = a x u = n sin(phi) + f cos(phi),

so that it cuts a chip of thickness h = c sin(phi), c = feed per tooth times |f'|, between phi_1 and phi_2:

    up       phi_1 = 0, cos(phi_2) = 1 - 2 a_e / D          the work lies on the side of -n
    down     phi_2 = pi, cos(phi_1) = 2 a_e / D - 1         the work lies on the side of +n

With the depth a_p along the axis and the specific force k_c, each tooth feels k_c a_p h against t, ``radial`` times
that towards the axis (-u) and ``axial`` times that along a (positive: it is pulled out of its holder).  The mean over
a turn, z teeth, whatever their helix, is

    F = (z a_p c k_c / 2 pi) [ -(S_2 n + S_c f) - radial (S_2 f - S_c n) + axial S_1 a ],
    T = -(z a_p c k_c / 2 pi) r S_1 a,

S_1, S_2, S_c the integrals of sin, sin^2 and sin cos from phi_1 to phi_2.  T times the turning speed is k_c times the
volume cut per time, as it must be.  k_c may fall with the mean chip thickness h_m = c a_e / (r (phi_2 - phi_1)):
k_c = k_1 (h_m / 1 mm)^-m.  A tool that turns the other way is the mirror image: n and T change their signs.

What this leaves out: edge forces, runout, wear, vibration, that bending changes the chip, ploughing where the tool
dives along its own axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.model.kernel import cross, dot

Floats = NDArray[np.float64]

Side = Literal["up", "down"]
Turning = Literal["right", "left"]
THICKNESS_M = 1e-3
"""m: the chip thickness at which ``specific_force_pa`` holds when it depends on it."""
STEEPEST = np.cos(np.radians(30.0))
"""Share of the feed across the axis below which a point is said to dive."""


@dataclass(frozen=True)
class Milling:
    """A cutter at work; SI."""

    specific_force_pa: float
    """k_c, Pa; with an exponent that at a mean chip of 1 mm."""
    depth_m: float
    """a_p, along the axis."""
    width_m: float
    """a_e, across axis and feed; at most the diameter."""
    diameter_m: float
    teeth: int
    feed_per_tooth_m: float | None = None
    speed_hz: float | None = None
    """Turns per second; with it the chip follows the feed of the path."""
    side: Side = "down"
    turning: Turning = "right"
    """``right``: clockwise seen from the holder."""
    radial: float = 0.3
    """Radial over tangential force."""
    axial: float = 0.0
    """Axial over tangential force; positive pulls the tool out of its holder."""
    exponent: float = 0.0
    axis_tool: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """From the holder to the tip, in the tool's frame; of unit length."""
    load_point: str = "tool"

    @property
    def engaged(self) -> tuple[float, float]:
        """First and last angle of a tooth in the work, rad.

        >>> half = Milling(8e8, 1e-3, 5e-3, 10e-3, 2, 1e-4, side="up")
        >>> [round(angle, 6) for angle in half.engaged]
        [0.0, 1.570796]
        """
        open_angle = float(np.arccos(1.0 - 2.0 * self.width_m / self.diameter_m))
        return (0.0, open_angle) if self.side == "up" else (np.pi - open_angle, np.pi)


@dataclass(frozen=True, eq=False)
class Cut:
    """Mean loads of milling along a path; the batch axis is last."""

    wrench_world: Floats
    """(6, n) N and N m at the load point; zero where nothing is cut."""
    chip_m: Floats
    """(n,) feed per tooth across the axis, m."""
    diving: NDArray[np.bool_]
    """(n,) where the tool moves steeply along its own axis, which the formula does not hold for."""

    def warnings(self, row: NDArray[np.int64]) -> tuple[str, ...]:
        """Sentences about points for which the formula says little; ``row`` are their lines in the file."""
        said = []
        idle = self.chip_m == 0.0
        for which, what in (
            (idle & ~self.diving, "nothing is cut, so no force is taken"),
            (self.diving, "the tool dives along its axis, where the milling force is too small"),
        ):
            if which.any():
                said.append(f"{what}: {int(which.sum())} rows, the first is row {int(row[np.argmax(which)])}")
        return tuple(said)


def mean_force(cut: Milling, chip_m: Floats) -> Floats:
    """(4, n): force along f, n and a (N), torque about a (N m), of the tool for chips (n,) in m."""
    low, high = cut.engaged
    first = np.cos(low) - np.cos(high)
    squared = 0.5 * (high - low) - 0.25 * (np.sin(2.0 * high) - np.sin(2.0 * low))
    mixed = 0.5 * (np.sin(high) ** 2 - np.sin(low) ** 2)
    mean = chip_m * (first / (high - low))
    falls = np.power(np.maximum(mean, 1e-12) / THICKNESS_M, -cut.exponent)
    scale = cut.teeth * cut.depth_m * chip_m * (cut.specific_force_pa * falls) / (2.0 * np.pi)
    along = np.array(
        [
            -mixed - cut.radial * squared,
            -squared + cut.radial * mixed,
            cut.axial * first,
            -0.5 * cut.diameter_m * first,
        ]
    )
    return np.asarray(along[:, None] * scale)


def milled(cut: Milling, position_world: Floats, rotation_world: Floats, feed_m_s: Floats | None = None) -> Cut:
    """Loads along a path of the tool: position (3, n) m, axes (3 columns, 3, n), feed (n,) m/s.

    The direction of feed at a point is that from its neighbour before to the one after.  A point without motion, or
    with an empty cell in the column of feeds, cuts nothing.
    """
    n = position_world.shape[1]
    axis = np.einsum("cin,c->in", rotation_world, np.array(cut.axis_tool))
    feed, moves = _directions(position_world)
    across = feed - dot(feed, axis) * axis
    share = np.sqrt(dot(across, across))
    diving = moves & (share < STEEPEST)
    forward = np.divide(across, share, out=np.zeros((3, n)), where=share > 1e-9)
    chip = np.where(moves & (share > 1e-9), _feed_per_tooth(cut, feed_m_s) * share, 0.0)
    size = mean_force(cut, np.nan_to_num(chip))
    mirrored = 1.0 if cut.turning == "right" else -1.0
    side = mirrored * cross(axis, forward)
    force = size[0] * forward + size[1] * side + size[2] * axis
    return Cut(np.concatenate([force, mirrored * size[3] * axis]), np.nan_to_num(chip), diving)


def _feed_per_tooth(cut: Milling, feed_m_s: Floats | None) -> Floats | float:
    """m, one for all points or (n,)."""
    if cut.speed_hz is None:
        assert cut.feed_per_tooth_m is not None, "a cutter has a feed per tooth or a speed"
        return cut.feed_per_tooth_m if feed_m_s is None else np.where(feed_m_s > 0.0, cut.feed_per_tooth_m, 0.0)
    if feed_m_s is None:
        raise InputError(
            Problem(
                "the milling file states a speed of the spindle and the path no feed",
                found="no column 'feed'",
                allowed="a column such as feed[mm/min] in the path, or feed_per_tooth in the milling file",
            )
        )
    return np.asarray(np.nan_to_num(feed_m_s) / (cut.speed_hz * cut.teeth))


def _directions(position: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """Unit directions (3, n) of the motion, and where there is any."""
    n = position.shape[1]
    before, after = np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n) + 1, n - 1)
    step = position[:, after] - position[:, before]
    length = np.sqrt(dot(step, step))
    moves = length > 1e-9
    return np.divide(step, length, out=np.zeros_like(step), where=moves), moves
