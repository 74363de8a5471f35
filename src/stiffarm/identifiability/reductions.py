"""Smaller models as maps: full = M reduced + fixed (`stiffarm.model.parameters.ParameterSet`).

    M1 symmetrise   k[a,b] and k[b,a] of a link are one unknown: a compliance has an energy
    M2 template     only the entries a shape can have, in the shape's own axes: with k' the 6x6 in a frame turned by
                    R from the spring's, k = diag(R, R) k' diag(R, R)'
    M3 neglect      what noise would swamp is held at zero
    regroup         what cannot be separated is held at a value, its base parameters take over what it does

Each takes a set and gives a set, so that they can follow one another in any order, and whoever solves, plans or
predicts needs `columns`, `expand` and `names` only.  After M3 a compliance is singular: nothing may invert it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.groups import Groups
from stiffarm.model.chain import AXES
from stiffarm.model.effects.link_compliance import TEMPLATES, Pairs
from stiffarm.model.parameters import ParameterSet, Values, glob_match

Floats = NDArray[np.float64]

_PAIR = re.compile(r"^(?P<link>link\d+)\.compliance\[(?P<a>\w+),(?P<b>\w+)\]$")
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Shape:
    """What entries the compliance of a link can have, in axes of its own."""

    name: str
    pairs: Pairs
    """(row, column) of the unknowns, on or above the diagonal."""
    rotation: Floats | None = None
    """(3, 3) spring frame from the shape's axes; None: the same."""

    def basis(self) -> Floats:
        """(pairs, 6, 6) compliance per unit of every unknown, in the spring's frame."""
        out = np.zeros((len(self.pairs), 6, 6))
        for n, (i, j) in enumerate(self.pairs):
            out[n, i, j] = out[n, j, i] = 1.0
        if self.rotation is None:
            return out
        turn = np.kron(np.eye(2), self.rotation)
        return np.asarray(turn @ out @ turn.T)


def beam(axis: str | Sequence[float] = "x") -> Shape:
    """A straight beam along an axis of the spring frame, or along any direction: eight unknowns.

    >>> beam("z").pairs[:3]
    ((0, 0), (0, 4), (1, 1))
    """
    if isinstance(axis, str):
        along = "xyz".index(_axis(axis))
        first, second = (along + 1) % 3, (along + 2) % 3
        bending = (tuple(sorted((first, second + 3))), tuple(sorted((second, first + 3))))
        pairs = tuple(sorted((*TEMPLATES["diagonal"], *((a, b) for a, b in bending))))
        return Shape(f"beam along {axis}", pairs)
    return Shape("beam", TEMPLATES["beam"], _frame_of(axis))


def one_plane(normal: str | Sequence[float] = "y") -> Shape:
    """A link whose shape is its own mirror image in one plane: twelve unknowns.

    Sliding in the plane and turning about its normal are even under the reflection, the other three odd; even and
    odd do not couple.

    >>> len(one_plane("y").pairs)
    12
    """
    n = "xyz".index(_axis(normal)) if isinstance(normal, str) else 0
    even = {(n + 1) % 3, (n + 2) % 3, n + 3}
    pairs = tuple((i, j) for i in range(6) for j in range(i, 6) if (i in even) == (j in even))
    return Shape("plane of symmetry", pairs, None if isinstance(normal, str) else _frame_of(normal))


def diagonal() -> Shape:
    """Six springs that know nothing of each other."""
    return Shape("diagonal", TEMPLATES["diagonal"])


def own(pairs: Iterable[tuple[str, str]]) -> Shape:
    """A pattern of one's own, by names of axes.

    >>> own([("x", "x"), ("rz", "y")]).pairs
    ((0, 0), (1, 5))
    """
    found = []
    for a, b in pairs:
        for name in (a, b):
            if name not in AXES:
                raise InputError(Problem("there is no such axis", found=repr(name), allowed=" ".join(AXES)))
        found.append((min(AXES.index(a), AXES.index(b)), max(AXES.index(a), AXES.index(b))))
    return Shape("own pattern", tuple(sorted(set(found))))


def symmetrise(parameters: ParameterSet, links: str = "link*") -> ParameterSet:
    """M1: entries of a link that mirror each other become one unknown, named as above the diagonal."""
    names = set(parameters.names)
    groups = []
    for name in parameters.names:
        at = _PAIR.match(name)
        if at is None or not glob_match(at["link"], links) or AXES.index(at["a"]) >= AXES.index(at["b"]):
            continue
        mirror = f"{at['link']}.compliance[{at['b']},{at['a']}]"
        if mirror in names:
            groups.append((name, mirror))
    return parameters.tie(groups)


def with_shape(parameters: ParameterSet, shape: Shape, links: str = "link*") -> ParameterSet:
    """M2: the compliance of every matching link has a shape; its entries must all be unknowns still."""
    for link in dict.fromkeys(m["link"] for name in parameters.names if (m := _PAIR.match(name))):
        if glob_match(link, links):
            parameters = _shaped(parameters, shape, link)
    return parameters


def neglect(parameters: ParameterSet, names: Iterable[str]) -> ParameterSet:
    """M3: unknowns held at zero."""
    dropped = set(names)
    keep = [i for i, name in enumerate(parameters.names) if name not in dropped]
    return ParameterSet(
        parameters.full, tuple(parameters.names[i] for i in keep), parameters.matrix[:, keep], parameters.fixed
    )


def regroup(parameters: ParameterSet, groups: Groups, values: Values | None = None) -> ParameterSet:
    """The base parameters of ``groups`` as the only unknowns; all others held (default: at zero).

    An unknown of the result is what can be told in the place of its parameter (`regrouped_values`).
    """
    held = dict(values or {})
    kept = {combination.name for combination in groups.base}
    shift = np.array([0.0 if name in kept else held.get(name, 0.0) for name in parameters.names])
    keep = [i for i, name in enumerate(parameters.names) if name in kept]
    return parameters.reduce([parameters.names[i] for i in keep], np.eye(len(parameters.names))[:, keep], shift)


def regrouped_values(groups: Groups, values: Values, held: Values | None = None) -> dict[str, float]:
    """Values of the base parameters that stand for full values, the merged ones being held (default: at zero)."""
    away: Mapping[str, float] = {name: values[name] - (held or {}).get(name, 0.0) for name in groups.merged}
    return {
        c.name: values[c.name] + sum(k * away[o] for o, k in zip(c.others, c.coefficients, strict=True))
        for c in groups.base
    }


def _shaped(parameters: ParameterSet, shape: Shape, link: str) -> ParameterSet:
    at = {name: i for i, name in enumerate(parameters.names)}
    mine = {
        (AXES.index(m["a"]), AXES.index(m["b"])): name for name in at if (m := _PAIR.match(name)) and m["link"] == link
    }
    basis = shape.basis()
    _require_entries(link, shape, basis, mine)
    plain = shape.rotation is None
    new = [_name(link, i, j, None if plain else shape.name) for i, j in shape.pairs]
    rest = [name for name in parameters.names if name not in set(mine.values())]
    first = min(at[name] for name in mine.values())
    before = sum(at[name] < first for name in rest)
    names = [*rest[:before], *new, *rest[before:]]
    matrix = np.zeros((len(parameters.names), len(names)))
    for name in rest:
        matrix[at[name], names.index(name)] = 1.0
    for (i, j), name in mine.items():
        matrix[at[name], before : before + len(new)] = np.where(np.abs(basis[:, i, j]) > TINY, basis[:, i, j], 0.0)
    return parameters.reduce(names, matrix)


def _name(link: str, i: int, j: int, shape: str | None) -> str:
    """In axes of its own a shape's entry is not the spring frame's of the same letters, and is named apart."""
    return f"{link}.compliance{'' if shape is None else '.' + shape.split()[0]}[{AXES[i]},{AXES[j]}]"


def _require_entries(link: str, shape: Shape, basis: Floats, mine: Mapping[tuple[int, int], str]) -> None:
    """Every entry the shape uses must be an unknown, itself or its mirror image."""
    used = np.argwhere(np.abs(basis).max(axis=0) > TINY)
    missing = [(i, j) for i, j in used.tolist() if (i, j) not in mine and (j, i) not in mine]
    if missing:
        i, j = missing[0]
        raise InputError(
            Problem(
                f"{shape.name} needs entries of {link} that are no unknowns",
                found=f"{link}.compliance[{AXES[i]},{AXES[j]}] is held or left out",
                allowed="a link of template symmetric or full",
                next_step='Give the link template = "symmetric" and reduce it here',
            )
        )


def _axis(name: str) -> str:
    if name not in ("x", "y", "z"):
        raise InputError(Problem("an axis of the spring frame is needed", found=repr(name), allowed="x y z"))
    return name


def _frame_of(axis: Sequence[float]) -> Floats:
    """Spring frame from axes whose x is the given direction."""
    x = np.asarray(axis, dtype=float)
    if x.shape != (3,) or not np.linalg.norm(x) > 0.0:
        raise InputError(Problem("a direction is three numbers, not all zero", found=str(list(axis))))
    x = x / np.linalg.norm(x)
    z = np.cross(x, np.eye(3)[int(np.argmin(np.abs(x)))])
    z /= np.linalg.norm(z)
    return np.stack([x, np.cross(z, x), z], axis=1)
