"""What was touched: targets by name, and the distances known between them.

A target is one physical object in the world: touches that name it, in whatever setup, file or posture, are touches of
the same point, plane or sphere.  Targets between which a distance is stated hang together; what is known of one
tells of the other, and they are eliminated together (`stiffarm.measure.contacts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.measure.campaign import OBSERVATIONS, Campaign

Ints = NDArray[np.int64]
Shape = Literal["touch", "plane", "sphere"]
TOUCHED: tuple[Shape, ...] = ("touch", "plane", "sphere")
"""Kinds of reading that say a marker was in contact, in the order of the codes below."""
NAMES = {"touch": "point", "plane": "plane", "sphere": "sphere"}


@dataclass(frozen=True, eq=False)
class Target:
    """A touched point, plane or sphere."""

    name: str
    shape: Shape
    rows: Ints
    """Readings that touch it."""
    radius_m: float | None = None
    """Of a sphere, when known."""

    @property
    def unknowns(self) -> int:
        """Numbers that say where it is."""
        return 4 if self.shape == "sphere" and self.radius_m is None else 3

    @property
    def scalars(self) -> int:
        """Numbers its touches give."""
        return len(self.rows) * (3 if self.shape == "touch" else 1)


@dataclass(frozen=True)
class Link:
    """A known distance between two targets."""

    row: int
    """Reading that states it."""
    first: int
    """Index of a target."""
    second: int
    distance_m: float
    sigma_m: float
    """NaN = not stated."""


@dataclass(frozen=True, eq=False)
class Targets:
    """Everything a campaign touched."""

    targets: tuple[Target, ...]
    links: tuple[Link, ...]
    groups: tuple[tuple[int, ...], ...]
    """Targets linked by distances, two or more in each."""

    def __len__(self) -> int:
        return len(self.targets)


def targets_of(campaign: Campaign) -> Targets:
    """The targets of a campaign in the order of their names' first appearance, and the distances between them.

    A distance to a target that no row touches says nothing and is left out.
    """
    readings = campaign.readings
    codes = [OBSERVATIONS.index(shape) for shape in TOUCHED]
    touching = np.flatnonzero(np.isin(readings.kind, codes))
    order = touching[np.argsort(readings.target[touching], kind="stable")]
    names, start = np.unique(readings.target[order], return_index=True)
    targets = tuple(
        _target(campaign, int(name), rows) for name, rows in zip(names, np.split(order, start[1:]), strict=False)
    )
    index = {int(name): i for i, name in enumerate(names)} if len(order) else {}
    links = _links(campaign, targets, index)
    return Targets(targets, links, _groups(len(targets), links))


def _target(campaign: Campaign, name: int, rows: Ints) -> Target:
    readings = campaign.readings
    kinds = np.unique(readings.kind[rows])
    if len(kinds) > 1:
        what = "one target cannot be touched as two kinds of thing"
        at = int(rows[np.argmax(readings.kind[rows] != readings.kind[rows[0]])])
        raise InputError(_problem(campaign, what, at, "observation", OBSERVATIONS[readings.kind[at]],
                                  f"{OBSERVATIONS[readings.kind[rows[0]]]} as before"))  # fmt: skip
    shape = cast(Shape, OBSERVATIONS[kinds[0]])
    stated = rows[np.isfinite(readings.radius_m[rows])]
    if shape != "sphere" or not len(stated):
        return Target(campaign.targets[name], shape, rows)
    radius = readings.radius_m[stated]
    if np.ptp(radius) > 0.0:
        at = int(stated[np.argmax(radius != radius[0])])
        raise InputError(_problem(campaign, "one sphere has two radii", at, "radius",
                                  f"{radius[radius != radius[0]][0]:g} m", f"{radius[0]:g} m as before"))  # fmt: skip
    return Target(campaign.targets[name], shape, rows, float(radius[0]))


def _links(campaign: Campaign, targets: tuple[Target, ...], index: dict[int, int]) -> tuple[Link, ...]:
    readings = campaign.readings
    links = []
    for row in np.flatnonzero(campaign.kind("distance")):
        first, second = index.get(int(readings.target[row])), index.get(int(readings.target2[row]))
        if first is None or second is None or not np.isfinite(readings.distance_m[row]):
            continue
        shapes = targets[first].shape, targets[second].shape
        if ("plane" in shapes) and shapes != ("plane", "plane"):
            what = "a distance is known between points and centres, or between parallel planes"
            allowed = "two points, a point and a sphere, two spheres, or two planes"
            raise InputError(_problem(campaign, what, int(row), "target", f"{NAMES[shapes[0]]} '{targets[first].name}' "
                                      f"and {NAMES[shapes[1]]} '{targets[second].name}'", allowed))  # fmt: skip
        length, sigma = float(readings.distance_m[row]), float(readings.sigma_distance_m[row])
        links.append(Link(int(row), first, second, length, sigma))
    return tuple(links)


def _groups(count: int, links: tuple[Link, ...]) -> tuple[tuple[int, ...], ...]:
    """Targets that hang together, by merging the ends of every link."""
    label = list(range(count))

    def root(i: int) -> int:
        while label[i] != i:
            label[i] = label[label[i]]
            i = label[i]
        return i

    for link in links:
        label[root(link.second)] = root(link.first)
    members: dict[int, list[int]] = {}
    for i in sorted({end for link in links for end in (link.first, link.second)}):
        members.setdefault(root(i), []).append(i)
    return tuple(tuple(group) for group in members.values())


def _problem(campaign: Campaign, what: str, row: int, column: str, found: str, allowed: str) -> Problem:
    return Problem(
        what,
        file=campaign.files[0] if len(campaign.files) == 1 else None,
        row=int(campaign.readings.row[row]),
        column=column,
        found=found_text(found),
        allowed=allowed,
        next_step="Give every physical object a target name of its own",
    )
