"""Where a map is asked for: a grid over places of the tool in the world, or over joint values.

    x=1.2..2.4/13,y=0,z=0.5..1.5/11[m]          places of the tool; one number is one plane
    x=1.5,y=-1..1/9,z=0.8,E1=0..4/5[m]          with a rail standing at five values
    x=1.5,y=0,z=0.8[m],turn=0..90/4[deg]        turned about the vertical
    A2=-120..-20/21,A3=30..120/19[deg]          joint values, the other joints standing in the middle of their limits

A unit holds for what stands before it back to the unit before; without a number after the stroke a range has as many
points as its number of axes allows.  The tool points down (its z against the world's), outwards (its z away from the
first turning axis), or as a rotation vector says; its x points outwards, or down, so that a region turned about the
first axis is seen by the same arm.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import frames, world_point
from stiffarm.model.reaching import joint_ranges
from stiffarm.model.rotations import matrix_of
from stiffarm.robot.arm import Robot, Vector3
from stiffarm.units import UNITS, units_of

Floats = NDArray[np.float64]
Pointing = Literal["down", "out"]
PLACES = ("x", "y", "z")
TURN = "turn"
"""Axis: turn about the vertical, of the tool or of a part."""
DEFAULT_COUNTS = {1: 41, 2: 31, 3: 13}
"""Points along every range, by the number of ranges."""
FEWEST = 7
MOST_PLACES = 200_000
_SAMPLES = 2000


@dataclass(frozen=True, eq=False)
class GridAxis:
    """One axis of a grid."""

    name: str
    """x, y or z of the tool in the world, or a joint."""
    values: Floats
    """m, or rad for a turning joint."""


@dataclass(frozen=True, eq=False)
class Region:
    """A grid; the first axis varies slowest."""

    axes: tuple[GridAxis, ...]
    pointing: Pointing | Vector3 = "down"
    """Of the tool: a word, or a rotation vector in the world (rad)."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Points along every axis."""
        return tuple(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return int(np.prod(self.shape))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def cartesian(self) -> bool:
        """Whether places of the tool are asked about, not joint values alone."""
        return any(name in PLACES for name in self.names)

    @cached_property
    def _mesh(self) -> list[Floats]:
        mesh = np.meshgrid(*(axis.values for axis in self.axes), indexing="ij")
        return [np.ascontiguousarray(one.reshape(-1)) for one in mesh]

    def column(self, name: str) -> Floats:
        """(n,) values of one axis at every place."""
        return self._mesh[self.names.index(name)]

    def position(self) -> Floats:
        """(3, n) m, places of the tool in the world."""
        return np.stack([self.column(name) for name in PLACES])

    def joints(self, robot: Robot, standing: Floats) -> Floats:
        """(joints, n) joint values: those of the grid, the others as ``standing`` (joints,)."""
        out = np.repeat(np.asarray(standing, dtype=float)[:, None], len(self), axis=1)
        for name in self.names:
            if name not in (*PLACES, TURN):
                out[robot.joint_index(name)] = self.column(name)
        return out


def read_region(text: str, robot: Robot, pointing: str = "down", *, needs: Sequence[str] = PLACES) -> Region:
    """A region from a command line; `InputError` says what is allowed.

    ``needs`` are the places that must be stated as soon as one is.

    >>> from stiffarm.robot.reading import read_robot
    >>> read_region("x=0.2..0.6/3,y=0,z=300[mm]", read_robot("ur5")).column("x").tolist()
    [0.0002, 0.0004, 0.0006]
    """
    items = [item.strip() for item in text.split(",") if item.strip()]
    unit: str | None = None
    parsed: list[tuple[str, str, str | None]] = []
    for item in reversed(items):  # a unit holds for what stands before it
        match = re.fullmatch(r"(?P<name>[^=\[\]]+)=(?P<range>[^\[\]]+?)\s*(?:\[(?P<unit>[^\[\]]*)\])?", item)
        if match is None:
            raise _refused(text, f"'{item}' is not NAME=VALUE or NAME=LOW..HIGH/POINTS")
        unit = (match["unit"] or "").strip() or unit
        parsed.insert(0, (match["name"].strip(), match["range"], unit))
    if not parsed:
        raise _refused(text, "nothing is asked about")
    ranges = sum(".." in span for _, span, _ in parsed)
    count = DEFAULT_COUNTS.get(ranges, FEWEST)
    axes = tuple(_axis(text, robot, name, span, own, count) for name, span, own in parsed)
    names = [axis.name for axis in axes]
    if len(set(names)) < len(names):
        raise _refused(text, f"'{next(n for n in names if names.count(n) > 1)}' stands twice")
    missing = [name for name in needs if name not in names]
    if missing and (len(missing) < len(needs) or TURN in names):
        raise _refused(text, f"{missing[0]} is missing: a place of the tool has x, y and z")
    region = Region(axes, read_pointing(pointing))
    if len(region) > MOST_PLACES:
        raise _refused(text, f"{len(region)} places are more than {MOST_PLACES}")
    return region


def _refused(text: str, what: str, step: str | None = None) -> InputError:
    allowed = 'such as "x=1..2/11,y=0,z=0.5..1/6[m]" or "A2=-90..-30/13[deg]"'
    return InputError(Problem(what, column="--over", found=found_text(text), allowed=allowed, next_step=step))


def _axis(text: str, robot: Robot, name: str, span: str, unit: str | None, count: int) -> GridAxis:
    known = [*PLACES, TURN, *robot.joint_names]
    if name not in known:
        hint = did_you_mean(name, known)
        what = f"'{name}' is neither x, y, z, turn nor a joint ({', '.join(robot.joint_names)})"
        raise _refused(text, what, hint and hint[0].upper() + hint[1:])
    turning = name == TURN or (name not in PLACES and robot.joints[robot.joint_index(name)].kind == "revolute")
    dimension = "angle" if turning else "length"
    if unit is None or unit not in units_of(dimension):
        raise _refused(text, f"{name} needs a unit: {' '.join(f'[{one}]' for one in units_of(dimension))}")
    ends, _, points = span.partition("/")
    try:
        numbers = [float(one) for one in ends.split("..")]
        n = int(points) if points else (count if len(numbers) > 1 else 1)
    except ValueError:
        raise _refused(text, f"'{name}={span}' is not NAME=VALUE or NAME=LOW..HIGH/POINTS") from None
    if len(numbers) > 2 or not np.isfinite(numbers).all() or n < 1 or (len(numbers) == 2 and n < 2):
        raise _refused(text, f"'{name}={span}' is not a range with at least two points")
    if numbers[-1] < numbers[0]:
        raise _refused(text, f"{name} runs backwards")
    values = UNITS[unit].to_si(1.0) * np.linspace(numbers[0], numbers[-1], n)
    _check_limits(text, robot, name, values)
    return GridAxis(name, values)


def _check_limits(text: str, robot: Robot, name: str, values: Floats) -> None:
    limits = None if name in (*PLACES, TURN) else robot.joints[robot.joint_index(name)].limits
    if limits is not None and (values[0] < limits[0] - 1e-9 or values[-1] > limits[1] + 1e-9):
        low, high = (f"{limit:.6g}" for limit in limits)
        raise _refused(text, f"{name} leaves its limits, {low} to {high} (rad or m)")


def read_pointing(text: str) -> Pointing | Vector3:
    """Where the tool points: ``down``, ``out``, or a rotation vector ``RX,RY,RZ[deg]``.

    >>> read_pointing("180,0,0[deg]")
    (3.141592653589793, 0.0, 0.0)
    """
    if text == "down":
        return "down"
    if text == "out":
        return "out"
    match = re.fullmatch(r"\s*([^\[\]]+?)\s*\[(rad|mrad|deg)\]\s*", text)
    try:
        numbers = [float(one) for one in match[1].split(",")] if match else []
    except ValueError:
        numbers = []
    if match is None or len(numbers) != 3 or not np.isfinite(numbers).all():
        allowed = "down, out, or a rotation vector such as 180,0,0[deg]"
        raise InputError(Problem("this is no direction of the tool", None, None, "--tool", found_text(text), allowed))
    x, y, z = (UNITS[match[2]].to_si(one) for one in numbers)
    return x, y, z


def axes_of_tool(pointing: Pointing | Vector3, position_world: Floats, centre_world: Floats, turn: Floats) -> Floats:
    """(3 columns, 3, n) axes of the tool at places (3, n) turned about the vertical by ``turn`` (n,) rad.

    ``centre_world`` (3, n) lies on the first turning axis.
    """
    vertical = np.zeros_like(position_world)
    vertical[2] = turn
    axes = _pointing_axes(pointing, position_world, centre_world)
    return np.asarray(np.einsum("kin,jkn->jin", matrix_of(vertical), axes))


def _pointing_axes(pointing: Pointing | Vector3, position_world: Floats, centre_world: Floats) -> Floats:
    if isinstance(pointing, tuple):
        return matrix_of(np.repeat(np.array(pointing)[:, None], position_world.shape[1], axis=1))
    outwards = position_world - centre_world
    outwards[2] = 0.0
    length = np.linalg.norm(outwards, axis=0)
    outwards = np.where(length > 1e-9, outwards / np.maximum(length, 1e-300), np.array([[1.0], [0.0], [0.0]]))
    down = np.zeros_like(outwards)
    down[2] = -1.0
    x, z = (outwards, down) if pointing == "down" else (down, outwards)
    return np.stack([x, np.cross(z, x, axis=0), z])


def centre_of(arm: Arm, standing: Floats) -> Floats:
    """(3, n) m, where the first turning joint is when slides before it stand at ``standing`` (joints, n)."""
    slides = arm.chain.prismatic
    first = next((k for k, slide in enumerate(slides) if not slide), 0)
    return np.broadcast_to(frames(arm.chain, np.nan_to_num(standing)).origin[first + 1], (3, standing.shape[1]))


def section_of(arm: Arm, standing: Floats, points: int = 31) -> Region:
    """The upright section through the first turning axis, as far as the tool gets; ``standing`` (joints,)."""
    low, high = joint_ranges(arm)
    n = len(low)
    root = 2.0
    for _ in range(40):
        root = (1.0 + root) ** (1.0 / (n + 1))
    spread = (0.5 + ((1.0 / root) ** np.arange(1, n + 1))[:, None] * np.arange(1, _SAMPLES + 1)) % 1.0
    q = low[:, None] + (high - low)[:, None] * spread
    q = np.where(np.isnan(standing)[:, None], q, standing[:, None])
    tool = world_point(frames(arm.chain, q), arm.chain.point("tool")).xyz
    centre = centre_of(arm, np.nan_to_num(standing)[:, None])[:, 0]
    radius = float(np.linalg.norm((tool - centre[:, None])[:2], axis=0).max())
    return Region(
        (
            GridAxis("x", np.linspace(centre[0], centre[0] + radius, points)),
            GridAxis("y", centre[1:2].copy()),
            GridAxis("z", np.linspace(float(tool[2].min()), float(tool[2].max()), points)),
        )
    )
