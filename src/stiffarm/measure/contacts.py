"""Touches as equations in the arm alone: points, planes and spheres found and taken out.

A contact says that the marker of some touches is on one and the same unknown thing of the world (`touch`, `plane`,
`sphere`); a known distance ties two of them (`distance`).  For any positions of the marker the best things are found
first (variable projection), so that what is left is orthogonal to what they could still explain; then the rows,
divided by their standard deviations and multiplied by one common ``scale_m``, are reflected
(`stiffarm.measure.eliminate`):

1. every target by itself: its few *heads* hold all it says of where the target is, its *tails* are free of it;
2. targets linked by distances: the heads of the group and the rows of its distances, once more the same way.

What comes out are independent rows of standard deviation ``scale_m`` each, as many as numbers were read less unknowns
of targets, at a cost linear in the touches (`stiffarm.measure.contact_rows`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure import plane, sphere, touch
from stiffarm.measure.campaign import Campaign, Isotropic
from stiffarm.measure.eliminate import MeanReflections, Reflections
from stiffarm.measure.linked import links_of, planes_with, settle, unknowns_of
from stiffarm.measure.targets import Target, Targets, targets_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
UNKNOWN_SCATTER_M = 1e-4
"""Standard deviation (m) of a touch before anything is known of it: what matters is its ratio to known distances."""


@dataclass(frozen=True, eq=False)
class Contacts:
    """The touches of a campaign, sorted out once for any number of arms."""

    campaign: Campaign
    unstated_m: float = UNKNOWN_SCATTER_M
    """Taken for the standard deviation of touches that state none."""

    @cached_property
    def targets(self) -> Targets:
        """What was touched, and the distances between."""
        return targets_of(self.campaign)

    @cached_property
    def stated(self) -> bool:
        """Whether every touch has a standard deviation, its own or the instrument's."""
        return bool(np.isfinite(_stated_sigma(self.campaign)[:, self.rows]).all())

    @property
    def stated_sigma_m(self) -> Floats:
        """(3, readings) what is stated of the scatter, NaN where nothing is."""
        return _stated_sigma(self.campaign)

    @cached_property
    def sigma_m(self) -> Floats:
        """(3, readings) standard deviation of the touched position along each axis of the world.

        What the readings of a stop share is part of it: a touch is a stop of its own.
        """
        found = _stated_sigma(self.campaign)
        stop = self.campaign.shared.translation_m
        return np.where(np.isfinite(found), np.sqrt(found**2 + stop**2), self.unstated_m)

    @cached_property
    def scale_m(self) -> float:
        """Standard deviation of every equation: root mean square over the touches."""
        if not len(self.targets):
            return self.unstated_m
        return float(np.sqrt(np.mean(self.sigma_m[:, self.rows] ** 2)))

    @property
    def labels(self) -> tuple[Ints, Ints]:
        """Component (0..2) and reading of each equation; what is left of linked targets bears its last rows' names."""
        component, row = self._labels
        return component, row

    def __len__(self) -> int:
        return len(self._labels[0])

    def places(self, world_m: Floats) -> Floats:
        """(targets, 4) the best things for given positions: point and 0, normal and distance, centre and radius."""
        place = np.zeros((len(self.targets), 4))
        place[self.points, :3] = touch.best_points(world_m.T[self.point_rows], self.point_sigma**-1, self.point_start)
        parallel = {i: planes_with(self.targets, i) for i in self.surfaces if self.targets.targets[i].shape == "plane"}
        for i in self.surfaces:
            target = self.targets.targets[i]
            if target.shape == "sphere":
                place[i] = sphere.best_sphere(world_m.T[target.rows], self.weight_of(target), target.radius_m)
            elif parallel[i][0] == i:
                members = [self.targets.targets[j] for j in parallel[i]]
                points = [world_m.T[member.rows] for member in members]
                place[list(parallel[i])] = plane.best_planes(points, [self.weight_of(member) for member in members])
        for group in self.targets.groups:
            settle(self, group, world_m, place)
        return place

    @cached_property
    def rows(self) -> Ints:
        """All readings that touch something, target by target."""
        every = [target.rows for target in self.targets.targets]
        return np.concatenate(every) if every else np.zeros(0, dtype=np.int64)

    def missing(self, world_m: Floats, place: Floats) -> tuple[Floats, Floats]:
        """How far each of `rows` is from what it touches, and along what it could be told.

        The first (rows, 3) is the vector (m) from the marker to the nearest point of the target; the second
        (rows, 3, 3) projects on the directions in which the contact says anything: all for a point, the normal for a
        surface.
        """
        vectors, onto = [np.zeros((0, 3))], [np.zeros((0, 3, 3))]
        for target, here in zip(self.targets.targets, place, strict=True):
            points = world_m.T[target.rows]
            if target.shape == "touch":
                vectors.append(touch.residual(points, here[:3]))
                onto.append(np.broadcast_to(np.eye(3), (len(points), 3, 3)))
                continue
            if target.shape == "plane":
                rest, along = plane.residual(points, here), plane.jacobian(points, here)[0]
            else:
                rest, along = sphere.residual(points, here), sphere.jacobian(points, here, False)[0]
            vectors.append(rest[:, None] * along)
            onto.append(along[:, :, None] * along[:, None, :])
        return np.concatenate(vectors), np.concatenate(onto)

    # -- how the rows are sorted -------------------------------------------------------------------

    @cached_property
    def points(self) -> Ints:
        """Targets that are points."""
        return np.array([i for i, t in enumerate(self.targets.targets) if t.shape == "touch"], dtype=np.int64)

    @cached_property
    def surfaces(self) -> tuple[int, ...]:
        """Targets that are planes or spheres."""
        return tuple(i for i, t in enumerate(self.targets.targets) if t.shape != "touch")

    @cached_property
    def point_rows(self) -> Ints:
        """Readings that touch points, target by target."""
        rows = [self.targets.targets[i].rows for i in self.points]
        return np.concatenate(rows) if rows else np.zeros(0, dtype=np.int64)

    @cached_property
    def point_start(self) -> Ints:
        """First of `point_rows` of each point."""
        lengths = [len(self.targets.targets[i].rows) for i in self.points]
        return np.cumsum([0, *lengths])[:-1].astype(np.int64)

    @cached_property
    def point_sigma(self) -> Floats:
        """(touches of points, 3)"""
        return np.ascontiguousarray(self.sigma_m[:, self.point_rows].T)

    @cached_property
    def means(self) -> MeanReflections:
        """What takes the points out of their touches."""
        return MeanReflections.of(self.scale_m / self.point_sigma, self.point_start)

    @cached_property
    def _labels(self) -> tuple[Ints, Ints]:
        first = np.zeros(len(self.point_rows), dtype=bool)
        first[self.point_start] = True
        free = self.point_rows[~first]
        component = [np.tile(np.arange(3), len(free))]
        row = [np.repeat(free, 3)]
        for i in self.surfaces:
            target = self.targets.targets[i]
            row.append(target.rows[target.unknowns :])
            component.append(np.zeros(len(row[-1]), dtype=np.int64))
        for group in self.targets.groups:
            names = [self._head_labels(i) for i in group]
            links = np.array([[0, link.row] for link in links_of(self.targets, group)], dtype=np.int64)
            every = np.concatenate([*names, links])[unknowns_of(self.targets, group) :]
            component.append(every[:, 0])
            row.append(every[:, 1])
        return np.concatenate(component), np.concatenate(row)

    def _head_labels(self, index: int) -> Ints:
        target = self.targets.targets[index]
        if target.shape == "touch":
            return np.array([[c, target.rows[0]] for c in range(3)], dtype=np.int64)
        rows = target.rows[: target.unknowns]
        return np.column_stack([np.zeros(len(rows), dtype=np.int64), rows])

    def weight_of(self, target: Target, along: Floats | None = None) -> Floats:
        """Reciprocal standard deviation (touches,), relative to the scale, along unit vectors (touches, 3)."""
        variance = self.sigma_m[:, target.rows].T ** 2
        mean = variance.mean(axis=1)
        if along is not None:  # a marker at the very centre of a sphere has no direction
            towards = np.sum(along**2 * variance, axis=1)
            mean = np.where(towards > 0.0, towards, mean)
        return np.asarray(self.scale_m / np.sqrt(mean))

    def surface(self, index: int, world_m: Floats, place: Floats) -> Surface:
        """A plane or sphere with its touches, weighted."""
        target = self.targets.targets[index]
        points = world_m.T[target.rows]
        if target.shape == "plane":
            rest, (along, nuisance) = plane.residual(points, place), plane.jacobian(points, place)
        else:
            rest = sphere.residual(points, place)
            along, nuisance = sphere.jacobian(points, place, target.radius_m is None)
        weight = self.weight_of(target, along)
        return Surface(target.rows, weight * rest, weight[:, None] * along, Reflections.of(weight[:, None] * nuisance))


def _stated_sigma(campaign: Campaign) -> Floats:
    """(3, readings) own standard deviation of a touch, or that of an isotropic instrument; NaN when neither says it."""
    instrument = campaign.instrument
    general = instrument.sigma_m if isinstance(instrument, Isotropic) else np.nan
    own = campaign.readings.sigma[:3]
    return np.where(np.isfinite(own), own, general)


@dataclass(frozen=True, eq=False)
class Surface:
    """The touches of a plane or sphere, weighted and ready to be reflected."""

    rows: Ints
    residual: Floats
    """(touches,)"""
    along: Floats
    """(touches, 3) derivative of what is expected by the marker's position."""
    reflections: Reflections
