"""Candidate touches: places within reach, each touched in postures as different as the arm allows.

Every touch of a place puts the marker on the same unknown point u, whatever the posture:

    p_i(x) - u = noise,        white rows  B_i = L^-1 A_i,   A_i the marker's columns.

What k touches of one place say of x once u is taken out are the rows B_i less their mean: the information is that of
their scatter, k Cov(B).  Postures stand exactly where they touch (`stiffarm.model.reaching`), for rows of a marker that
misses tell what no data will.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.model.kernel import jacobian
from stiffarm.model.reaching import touch_again
from stiffarm.plan.candidates import sobol_stops
from stiffarm.plan.constraints import kept
from stiffarm.plan.information import Information
from stiffarm.plan.problem import Constraint, Floats, Ints, Stops
from stiffarm.plan.variables import Space

PLACES, POSTURES = 24, 48
"""Places that are tried, and postures at each."""
FEWEST = 8
"""Postures without which a place is none."""


@dataclass(frozen=True, eq=False)
class TouchPool:
    """Touches to choose from."""

    q: Floats
    """(joints, n) rad or m."""
    place: Ints
    """(n,) which place each touches."""
    at_m: Floats
    """(places, 3) world."""
    rows: Floats
    """(n, 3, parameters) white, typical sizes; as if the place were known."""

    def of(self, place: int) -> Ints:
        """Touches of a place."""
        return np.flatnonzero(self.place == place)

    def centred(self) -> Floats:
        """(n, 3, parameters) rows less the mean of their place: what touches can say at all."""
        out = np.array(self.rows)
        for place in range(len(self.at_m)):
            mine = self.of(place)
            out[mine] -= out[mine].mean(axis=0)
        return out


def touch_postures(
    information: Information, space: Space, constraints: tuple[Constraint, ...], marker: str, seed: int
) -> tuple[Floats, Ints, Floats]:
    """Joint values (joints, n), the place of each (n,), and the places (places, 3) in the world, m."""
    arm = information.asked.model.at()
    random = np.random.default_rng([seed, 3])
    drawn = sobol_stops(space, 8 * PLACES, seed, np.zeros((len(space.low), 1)))
    good = np.flatnonzero(kept(constraints, drawn))
    at = jacobian(arm.chain, np.ascontiguousarray(drawn.q[:, good]), arm.chain.point(marker))[0]
    found_q: list[Floats] = []
    found_place: list[Ints] = []
    found_at: list[Floats] = []
    for i in range(at.shape[1]):
        if len(found_at) == PLACES:
            break
        found = touch_again(arm, marker, np.repeat(at[:, [i]], POSTURES, axis=1), random)
        q = np.ascontiguousarray(found.q[:, found.there])
        q = q[:, kept(constraints, Stops(q))]
        if q.shape[1] >= FEWEST:
            found_q.append(q)
            found_place.append(np.full(q.shape[1], len(found_at)))
            found_at.append(at[:, i])
    if not found_at:
        raise InputError(
            Problem(
                f"no place is found that '{marker}' can touch in {FEWEST} different postures",
                column="--observe",
                found="touch",
                allowed="limits and a tool box that leave room to turn about a point",
                next_step="Widen --tool-box, or read positions instead",
            )
        )
    return np.concatenate(found_q, axis=1), np.concatenate(found_place), np.array(found_at)
