"""Which parameters a design tells alone (G1), not at all (G2), or only together with others (G3).

Every solution of ``A x = b`` is one of them plus any vector of the null space of A.  With N an orthonormal basis of
that null space (columns equilibrated) and the projector P = N N',

    G2   the column of A is zero: the parameter may take any value,
    G1   P_ii = 0: the parameter is the same in every solution,
    G3   the rest.  i and j belong to the same subgroup when P_ij differs from zero, or a chain of such pairs joins
         them: the null space is the direct sum of those of the subgroups, so that each can be treated by itself.

A subgroup of m members with a null space of dimension k tells m - k combinations.  Going through its members in
an order of preference and keeping those independent of the ones kept before gives *base parameters*; a member j
that is left out has the column ``a_j = sum c_ij a_i`` over the kept i, so that what is found for i is

    x_i + sum over j of c_ij x_j        in the parameters' own units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from stiffarm.identifiability.selection import Dependence, select_columns
from stiffarm.identifiability.spectrum import Spectrum, spectrum

Floats = NDArray[np.float64]

TOUCHED = 1e-7
"""A diagonal entry of the projector above this (its parameter has a share of 3e-4) is not zero."""
JOINED = 1e-6
"""An off-diagonal entry of the projector above this joins two parameters."""


@dataclass(frozen=True)
class Combination:
    """What can be told instead of a base parameter: ``name + sum coefficient * other``."""

    name: str
    others: tuple[str, ...] = ()
    coefficients: tuple[float, ...] = ()
    """SI: unit of ``name`` per unit of the other."""

    def of(self, values: Mapping[str, float]) -> float:
        """Value of the combination for given values of the parameters."""
        return values[self.name] + sum(c * values[o] for o, c in zip(self.others, self.coefficients, strict=True))


@dataclass(frozen=True)
class Together:
    """A subgroup of G3: parameters that only combinations of which can be told."""

    members: tuple[str, ...]
    """In order of preference."""
    rank: int
    """How many independent combinations of them can be told."""
    told: tuple[Combination, ...]
    """One per base parameter."""

    @property
    def merged(self) -> tuple[str, ...]:
        """Members that are no base parameter: held at a value, the others take over what they do."""
        kept = {combination.name for combination in self.told}
        return tuple(name for name in self.members if name not in kept)


@dataclass(frozen=True, eq=False)
class Groups:
    """The parameters of a design by what can be told of them."""

    names: tuple[str, ...]
    alone: tuple[str, ...]
    """G1."""
    nothing: tuple[str, ...]
    """G2."""
    together: tuple[Together, ...]
    """G3, larger subgroups first."""
    spectrum: Spectrum

    @property
    def rank(self) -> int:
        """How many independent numbers can be told."""
        return self.spectrum.rank

    @property
    def gap(self) -> float:
        """How clear-cut the rank is: last singular value kept over first dropped."""
        return self.spectrum.gap

    @property
    def base(self) -> tuple[Combination, ...]:
        """Base parameters in the order of ``names``: all of G1 and the kept ones of G3."""
        told = {c.name: c for group in self.together for c in group.told}
        told |= {name: Combination(name) for name in self.alone}
        return tuple(told[name] for name in self.names if name in told)

    @property
    def merged(self) -> tuple[str, ...]:
        """Members of G3 that are no base parameters."""
        return tuple(name for group in self.together for name in group.merged)

    @property
    def clear(self) -> bool:
        """Whether choosing base parameters one by one and the singular values agree on the rank."""
        return len(self.base) == self.rank


def find_groups(
    rows: Floats, names: Sequence[str], *, sizes: Floats | None = None, priority: Sequence[int] | None = None
) -> Groups:
    """Groups of the parameters of whitened rows (readings, parameters).

    ``sizes`` are typical sizes of the parameters; ``priority`` lists columns, those to be kept first in front.

    >>> rows = np.array([[1.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [1.0, 2.0, 0.0, 1.0]])
    >>> found = find_groups(rows, ("a", "b", "c", "d"))
    >>> found.alone, found.nothing, found.together[0].members
    (('d',), ('c',), ('a', 'b'))
    >>> round(found.base[0].of({"a": 1.0, "b": 10.0}), 9)
    21.0
    """
    names = tuple(names)
    order = list(range(len(names)) if priority is None else priority)
    seen = spectrum(rows, sizes)
    projector = seen.projector
    joined = np.diag(projector) > TOUCHED
    chosen = select_columns(rows if sizes is None else rows * sizes, order)
    combinations = _combinations(chosen.dependent, names, sizes)
    kept = {names[i] for i in chosen.kept}
    together = []
    for members in _components(projector, joined, order):
        named = tuple(names[i] for i in members)
        nullity = round(float(np.trace(projector[np.ix_(members, members)])))
        told = tuple(combinations.get(name, Combination(name)) for name in named if name in kept)
        together.append(Together(named, len(named) - nullity, told))
    together.sort(key=lambda group: -len(group.members))
    alone = tuple(name for i, name in enumerate(names) if seen.seen[i] and not joined[i])
    nothing = tuple(name for i, name in enumerate(names) if not seen.seen[i])
    return Groups(names, alone, nothing, tuple(together), seen)


def _components(projector: Floats, joined: NDArray[np.bool_], order: Sequence[int]) -> list[list[int]]:
    """Connected components of the parameters touched by the null space, each in order of preference."""
    inside = [i for i in order if joined[i]]
    if not inside:
        return []
    linked = (np.abs(projector[np.ix_(inside, inside)]) > JOINED).astype(np.int8)
    count, label = connected_components(linked, directed=False)
    return [[i for i, own in zip(inside, label, strict=True) if own == k] for k in range(count)]


def _combinations(
    dependent: Sequence[Dependence], names: Sequence[str], sizes: Floats | None
) -> dict[str, Combination]:
    """By base parameter, what is merged into it, coefficients in the parameters' own units."""
    size = np.ones(len(names)) if sizes is None else sizes
    others: dict[str, list[tuple[str, float]]] = {}
    for one in dependent:
        for base, coefficient in zip(one.on, one.coefficients, strict=True):
            own = coefficient * float(size[base] / size[one.column])
            others.setdefault(names[base], []).append((names[one.column], own))
    return {
        base: Combination(base, tuple(name for name, _ in pairs), tuple(c for _, c in pairs))
        for base, pairs in others.items()
    }
