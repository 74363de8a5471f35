"""Targets between which distances are known: one small problem of heads and distances for each group.

Unknown are the numbers that say where the targets of a group are: three for a point, three or four for a sphere; for
parallel planes the two turns of their common normal and a distance each.  Each target enters by its heads, which hold
all its touches say of it (`stiffarm.measure.eliminate`), each distance by a row of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure import distance, plane, sphere, touch
from stiffarm.measure.targets import Link, Target, Targets

if TYPE_CHECKING:
    from stiffarm.measure.contacts import Contacts

Floats = NDArray[np.float64]
Group = tuple[int, ...]
_MOST_STEPS = 30
_SETTLED_M = 1e-14


def planes_with(targets: Targets, index: int) -> Group:
    """Planes that share a normal with a plane, itself among them."""
    group = next((g for g in targets.groups if index in g), (index,))
    return tuple(i for i in group if targets.targets[i].shape == "plane")


def links_of(targets: Targets, group: Group) -> tuple[Link, ...]:
    """The distances between the targets of a group."""
    return tuple(link for link in targets.links if link.first in group)


def columns_of(targets: Targets, group: Group) -> dict[int, list[int]]:
    """Which unknowns of a group are those of each target; planes share the first two."""
    found: dict[int, list[int]] = {}
    planes = targets.targets[group[0]].shape == "plane"
    at = 2 if planes else 0
    for i in group:
        own = 1 if planes else targets.targets[i].unknowns
        found[i] = [*(range(2) if planes else ()), *range(at, at + own)]
        at += own
    return found


def unknowns_of(targets: Targets, group: Group) -> int:
    """Number of unknowns of a group."""
    return 1 + max(max(columns) for columns in columns_of(targets, group).values())


def settle(contacts: Contacts, group: Group, world_m: Floats, place: Floats) -> None:
    """Move linked targets, in ``place``, to where touches and distances together want them."""
    columns = columns_of(contacts.targets, group)
    for _ in range(_MOST_STEPS):
        nuisance, right = heads_of(contacts, group, world_m, place)
        step: Floats = np.asarray(np.linalg.lstsq(nuisance, right, rcond=1e-13)[0])
        for i, own in columns.items():
            place[i] = _moved(contacts.targets.targets[i], place[i], step[own])
        if np.abs(step).max(initial=0.0) <= _SETTLED_M:
            break


def _moved(target: Target, place: Floats, step: Floats) -> Floats:
    if target.shape == "plane":
        return plane.moved(place, step)
    return sphere.moved(place, step)  # a point moves as a centre does


def heads_of(contacts: Contacts, group: Group, world_m: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Derivatives and residuals of what a group says of where its targets are: heads, then distances."""
    targets = contacts.targets
    columns, count = columns_of(targets, group), unknowns_of(targets, group)
    nuisance, right = [], []
    for i in group:
        triangle, rest = _head(contacts, i, world_m, place[i])
        wide = np.zeros((len(triangle), count))
        wide[:, columns[i]] = triangle
        nuisance.append(wide)
        right.append(rest)
    for link in links_of(targets, group):
        rest_m, by_first, by_second = _link(targets, link, place)
        row = np.zeros((1, count))
        row[0, columns[link.first]] += by_first
        row[0, columns[link.second]] += by_second
        weight = contacts.scale_m / link.sigma_m if np.isfinite(link.sigma_m) else 1.0
        nuisance.append(weight * row)
        right.append(np.array([weight * rest_m]))
    return np.concatenate(nuisance), np.concatenate(right)


def _head(contacts: Contacts, index: int, world_m: Floats, place: Floats) -> tuple[Floats, Floats]:
    target = contacts.targets.targets[index]
    if target.shape != "touch":
        surface = contacts.surface(index, world_m, place)
        reflections = surface.reflections
        return reflections.triangle, reflections(surface.residual[:, None])[: reflections.heads, 0]
    weight = contacts.scale_m / contacts.sigma_m[:, target.rows].T
    best = touch.best_points(world_m.T[target.rows], weight, np.array([0]))[0]
    size = np.sqrt(np.sum(weight**2, axis=0))
    return np.diag(size), size * (best - place[:3])


def _link(targets: Targets, link: Link, place: Floats) -> tuple[float, Floats, Floats]:
    """Read minus expected, and the derivatives of what is expected by the unknowns of both targets."""
    first, second = targets.targets[link.first], targets.targets[link.second]
    if first.shape == "plane":
        rest, sign = distance.between_planes(place[link.first, 3], place[link.second, 3], link.distance_m)
        return rest, np.array([0.0, 0.0, -sign]), np.array([0.0, 0.0, sign])
    rest, along = distance.between_points(place[link.first, :3], place[link.second, :3], link.distance_m)
    by_first, by_second = (np.concatenate([along, np.zeros(t.unknowns - 3)]) for t in (first, second))
    return rest, -by_first, by_second
