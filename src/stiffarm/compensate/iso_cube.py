"""The test poses of ISO 9283: five on a diagonal plane of the largest cube in the working space, visited in cycles.

The cube's edges are parallel to the base's axes and its middle lies in front of the base (its +x).  With the half edge
h and the middle m the plane goes through the two edges along y that lie near and above, far and below; P1 is m, and
P2 .. P5 lie on the diagonals of that rectangle, a tenth of their length from its corners:

    P2 = m + 0.8 (-h, -h, h)    P3 = m + 0.8 (-h, h, h)    P4 = m + 0.8 (h, h, -h)    P5 = m + 0.8 (h, -h, -h)

so P2 and P4, between which distances are judged, are opposite.  A cycle goes P5, P4, P3, P2, P1, each approached from
the one before; the standard asks for 30 cycles at the load and speed the robot is rated by.

What the tool reaches, pointing as it is told with its x away from the first axis, depends on the distance from that
axis and the height alone: one section is solved, and a cube fits where a lattice in it falls into reached cells.  The
five poses are then solved in one posture all along the way between them; a cube in which that fails is made smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.choices import Choices, standing_joints
from stiffarm.compensate.compensating import NEAR_SINGULAR
from stiffarm.compensate.region import PLACES, Pointing, Region, axes_of_tool, centre_of, read_region, section_of
from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign, Experiments, Readings, Setup
from stiffarm.model.arm_model import Arm
from stiffarm.model.postures import Postures, Search, postures
from stiffarm.robot.arm import Robot, Vector3
from stiffarm.units import UNITS

Floats = NDArray[np.float64]

CYCLES = 30
CORNERS = np.array([[0, 0, 0], [-1, -1, 1], [-1, 1, 1], [1, 1, -1], [1, -1, -1]], dtype=float)
"""Of the plane, in half edges, in the order of the poses; the first is the middle."""
SHARE = 0.8
ORDER = (4, 3, 2, 1, 0)
"""Of a cycle."""
NAMES = ("P1", "P2", "P3", "P4", "P5")
_CELLS = 31
_EDGES, _LATTICE = 40, 7
_BETWEEN = 8
_SMALLER, _TRIES = 0.93, 30


@dataclass(frozen=True, eq=False)
class IsoCube:
    """A cube and its five poses."""

    middle_world: Floats
    """(3,) m"""
    edge_m: float
    position_world: Floats
    """(3, 5) m, P1 .. P5."""
    q: Floats
    """(joints, 5) rad or m, all in one posture."""


Box = tuple[Floats, Floats]
"""(3,) lowest and highest corner in the world, m."""
ANYWHERE: Box = (np.full(3, -np.inf), np.full(3, np.inf))


def read_within(text: str, robot: Robot) -> Box:
    """Where a cube may be, from ``"x=1..2,z=0.2..2[m]"``; everywhere when nothing is said.

    >>> from stiffarm.robot.reading import read_robot
    >>> read_within("z=200..900[mm]", read_robot("ur5"))[1].tolist()
    [inf, inf, 0.9]
    """
    low, high = (corner.copy() for corner in ANYWHERE)
    try:
        axes = read_region(text, robot, needs=()).axes if text else ()
    except InputError as error:
        allowed = 'such as "x=1..2,z=0.2..1.5[m]"'
        raise InputError([replace(one, column="--within", allowed=allowed) for one in error.problems]) from None
    for axis in axes:
        if axis.name not in PLACES:
            raise InputError(Problem(f"a cube is not limited by {axis.name}", column="--within", allowed="x, y, z"))
        i = PLACES.index(axis.name)
        low[i], high[i] = axis.values[0], axis.values[-1]
    return low, high


def iso_cube(arm: Arm, pointing: Pointing | Vector3 = "down", within: Box = ANYWHERE) -> IsoCube:
    """The largest cube in the working space and its test poses; `InputError` when there is none."""
    standing = standing_joints(arm)
    section = section_of(arm, standing, _CELLS)
    solve = _Poses(arm, section, pointing)
    reached = np.zeros(len(section), dtype=bool)
    found = solve.postures(section.position())
    reached[found.pose[found.spread >= NEAR_SINGULAR]] = True
    centre = centre_of(arm, np.nan_to_num(standing)[:, None])[:, 0]
    across = section.axes[0].values - centre[0]
    height = section.axes[2].values
    yaw = float(np.arctan2(arm.chain.base.rotation[1, 0], arm.chain.base.rotation[0, 0]))
    axes = np.array([[np.cos(yaw), -np.sin(yaw), 0.0], [np.sin(yaw), np.cos(yaw), 0.0], [0.0, 0.0, 1.0]])
    fit = _largest(across, height, reached.reshape(_CELLS, _CELLS), (axes, centre, within))
    if fit is not None:
        x, z, edge = fit
        middle = np.array([*centre[:2], 0.0]) + axes @ np.array([x, 0.0, z])
        for _ in range(_TRIES):
            places = middle[:, None] + axes @ (SHARE * 0.5 * edge * CORNERS.T)
            q = solve.along(places)
            if q is not None:
                return IsoCube(middle, edge, places, _rounded(arm, q))
            edge *= _SMALLER
    raise InputError(
        Problem(
            "no cube of test poses is reached in one posture",
            found=f"the tool pointing {pointing if isinstance(pointing, str) else 'as told'}",
            next_step="Turn the tool with --tool out, or another direction",
        )
    )


def _largest(
    across: Floats, height: Floats, reached: NDArray[np.bool_], world: tuple[Floats, Floats, Box]
) -> tuple[float, float, float] | None:
    """Distance of the middle from the axis, its height, and the edge of the largest cube; None when none fits.

    ``world``: axes of the cube, the first axis of the arm, and the box the cube must stay in.
    """
    axes, centre, (low, high) = world
    step_r, step_z = across[1] - across[0], height[1] - height[0]
    t = np.linspace(-0.5, 0.5, _LATTICE)
    lattice = np.stack(np.meshgrid(t, t, t, indexing="ij")).reshape(3, -1)
    middle = np.stack(np.meshgrid(across, height, indexing="ij")).reshape(2, -1)
    longest = min(float(across[-1] - across[0]), float(height[-1] - height[0]))
    for edge in np.linspace(longest, longest / _EDGES, _EDGES):
        x, y, z = edge * lattice[:, :, None]
        r = np.hypot(middle[0] + x, y)
        i = np.rint((r - across[0]) / step_r).astype(np.int64)
        j = np.rint((middle[1] + z - height[0]) / step_z).astype(np.int64)
        inside = (i >= 0) & (i < len(across)) & (j >= 0) & (j < len(height)) & (middle[0] + x > 0.0)
        place = np.einsum(
            "ij,jln->iln", axes, np.stack(np.broadcast_arrays(middle[0] + x, y, middle[1] + z - centre[2]))
        )
        place += centre[:, None, None]
        inside &= ((place >= low[:, None, None]) & (place <= high[:, None, None])).all(axis=0)
        fits = (inside & reached[np.clip(i, 0, len(across) - 1), np.clip(j, 0, len(height) - 1)]).all(axis=0)
        if fits.any():
            held = np.flatnonzero(fits)
            mean = middle[:, held].mean(axis=1, keepdims=True)
            best = held[int(np.argmin(np.linalg.norm(middle[:, held] - mean, axis=0)))]
            return float(middle[0, best]), float(middle[1, best]), float(edge)
    return None


def _rounded(arm: Arm, q: Floats) -> Floats:
    """Values that a controller and a table show in full: whole 1e-4 deg and um."""
    slides = np.array(arm.chain.prismatic)[:, None]
    return np.asarray(np.where(slides, np.round(1e3 * q, 3) * 1e-3, np.round(np.degrees(q), 4) * UNITS["deg"].factor))


class _Poses:
    """Postures of one arm with its tool pointing as told."""

    def __init__(self, arm: Arm, section: Region, pointing: Pointing | Vector3) -> None:
        self.arm, self.pointing = arm, pointing
        self.choices = Choices(arm, section, (), {})
        self.standing = self.choices.held(np.zeros(1, dtype=np.int64))

    def poses(self, position: Floats) -> tuple[Floats, Floats]:
        """Tool poses (6, n) and joints that stand (joints, n)."""
        n = position.shape[1]
        held = np.repeat(self.standing, n, axis=1)
        axes = axes_of_tool(self.pointing, position, centre_of(self.arm, held), np.zeros(n))
        return self.choices.poses(position, axes), held

    def postures(self, position: Floats) -> Postures:
        """All of them."""
        pose, held = self.poses(position)
        return postures(self.arm, pose, held=held, kept_turns=self.choices.kept_turns)

    def along(self, places: Floats) -> Floats | None:
        """(joints, 5) at the places in one posture all along the way through them; None when there is none."""
        corners = [*range(places.shape[1]), 0]
        share = np.arange(1, _BETWEEN + 1) / _BETWEEN
        way = [places[:, :1]]
        way += [places[:, a : a + 1] * (1 - share) + places[:, b : b + 1] * share for a, b in pairwise(corners)]
        pose, held = self.poses(np.concatenate(way, axis=1))
        first = postures(self.arm, pose[:, :1], held=held[:, :1], kept_turns=self.choices.kept_turns)
        q, spread = first.q, first.spread
        path = [q]
        search = Search(self.arm, pose, held, self.choices.kept_turns)
        for step in range(1, pose.shape[1]):
            index = np.full(q.shape[1], step)
            moved, arrived = search.solve(q, index)
            near = np.abs(moved - q)[~np.array(self.arm.chain.prismatic)].max(axis=0, initial=0.0) < 1.0
            going = arrived & near
            path = [one[:, going] for one in path] + [moved[:, going]]
            q, spread = moved[:, going], np.minimum(spread[going], search.spread(moved[:, going], index[going]))
        if not q.shape[1] or spread.max(initial=0.0) < NEAR_SINGULAR:
            return None
        best = int(np.argmax(spread))
        return np.stack([path[_BETWEEN * i][:, best] for i in range(places.shape[1])], axis=1)


def iso_campaign(robot: Robot, cube: IsoCube, cycles: int = CYCLES, name: str = "iso9283") -> Campaign:
    """The plan of the test: every marker read at every pose of every cycle, one stop each."""
    markers = robot.marker_names or (DEFAULT_MARKER,)
    stops, m = cycles * len(ORDER), len(markers)
    rows = stops * m
    pose = np.tile(np.repeat(ORDER, m), cycles)
    stop = np.repeat(np.arange(stops), m)
    nothing = np.full(rows, -1, dtype=np.int64)
    empty = np.full(rows, np.nan)
    readings = Readings(
        experiment=pose,
        repeat=np.repeat(np.arange(1, cycles + 1), len(ORDER) * m),
        setup=np.zeros(rows, dtype=np.int64),
        kind=np.zeros(rows, dtype=np.int64),
        marker=np.tile(np.arange(m), stops),
        value=np.full((6, rows), np.nan),
        sigma=np.full((6, rows), np.nan),
        reference=nothing,
        target=nothing,
        target2=nothing,
        distance_m=empty,
        sigma_distance_m=empty,
        radius_m=empty,
        visit=stop,
        sequence=stop.astype(float) + 1.0,
        time_s=empty,
        row=np.arange(rows) + 2,
    )
    visits = tuple(f"{cycle + 1}-{NAMES[i]}" for cycle in range(cycles) for i in ORDER)
    return Campaign(
        name=name,
        joints=robot.joint_names,
        experiments=Experiments(NAMES, cube.q, (), np.zeros((0, 6, len(NAMES)))),
        readings=readings,
        markers=markers,
        setups=(Setup(name),),
        visits=visits,
        joint_kinds=tuple(joint.kind for joint in robot.joints),
    )
