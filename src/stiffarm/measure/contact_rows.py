"""Equations of touches linearised at given positions of the markers; see `stiffarm.measure.contacts`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure import touch
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.eliminate import Reflections
from stiffarm.measure.linked import heads_of, links_of

Floats = NDArray[np.float64]


class ContactRows:
    """Equations of touches at given positions: residuals, and the derivatives that positions' derivatives make.

    ``world_m`` (3, readings) are positions of the markers in the world; only those of touching readings are looked at.
    ``place`` (targets, 4) is where the targets are taken to be, by default where these positions want them best.
    """

    def __init__(self, contacts: Contacts, world_m: Floats, place: Floats | None = None) -> None:
        place = contacts.places(world_m) if place is None else place
        self.contacts, self.place = contacts, place
        self._surfaces = {i: contacts.surface(i, world_m, place[i]) for i in contacts.surfaces}
        groups = ((group, heads_of(contacts, group, world_m, place)) for group in contacts.targets.groups)
        self._groups = [(group, Reflections.of(nuisance), rest) for group, (nuisance, rest) in groups]
        positions = world_m.T[contacts.point_rows]
        at = place[contacts.points][contacts.means.block, :3]
        points = touch.residual(positions, at) * (contacts.scale_m / contacts.point_sigma)
        surfaces = {i: surface.residual[:, None] for i, surface in self._surfaces.items()}
        heads = [rest[:, None] for _, _, rest in self._groups]
        self.residual: Floats = self._tails(points[:, :, None], surfaces, heads)[:, 0]
        """(equations,) read minus expected, m."""

    def columns(self, by_parameter: Floats) -> Floats:
        """(equations, parameters) from derivatives (parameters, 3, readings) of the markers' world positions."""
        contacts = self.contacts
        weight = contacts.scale_m / contacts.point_sigma
        points = np.ascontiguousarray(by_parameter[:, :, contacts.point_rows].T) * weight[:, :, None]
        surfaces = {i: np.einsum("rj,pjr->rp", s.along, by_parameter[:, :, s.rows]) for i, s in self._surfaces.items()}
        return self._tails(points, surfaces, None)

    def _tails(self, points: Floats, surfaces: dict[int, Floats], heads: list[Floats] | None) -> Floats:
        """Rows free of every target; ``heads`` of the groups are made from the rows themselves when not given."""
        contacts = self.contacts
        count = points.shape[2]
        reflected = contacts.means(points)
        first = np.zeros(len(points), dtype=bool)
        first[contacts.point_start] = True
        out = [reflected[~first].reshape(-1, count)]
        own = {int(i): reflected[at] for i, at in zip(contacts.points, contacts.point_start, strict=True)}
        for i, rows in surfaces.items():
            reflections = self._surfaces[i].reflections
            turned = reflections(rows)
            own[i], tail = turned[: reflections.heads], turned[reflections.heads :]
            out.append(tail)
        for at, (group, reflections, _) in enumerate(self._groups):
            links = np.zeros((len(links_of(contacts.targets, group)), count))
            rows = np.concatenate([*(own[i] for i in group), links]) if heads is None else heads[at]
            out.append(reflections.tails(rows))
        return np.concatenate(out)
