"""Compliances that keep their physics: positive definite 6x6 matrices, checked, and fitted as k = L L'.

A compliance stores energy, so that k is symmetric and positive definite; an entry that noise swamps can make an
estimate indefinite.  Definiteness does not depend on units (k -> D k D keeps the signs of the eigenvalues); sizes are
compared after scaling the diagonal to one.

The constrained fit writes every 6x6 as L L' with L lower triangular and minimises |A x(L) - b| over the entries of L
and the other unknowns.  L keeps the blocks of the template: where the pattern of k falls into sets of axes that do not
couple, so does L, and every entry the template leaves out stays zero.  Where the constraint binds, the best L L' is
singular; a millionth of the diagonal is added so that k can be inverted: k = L L' + 1e-6 D.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.sparse.csgraph import connected_components

from stiffarm.errors import InputError, Problem
from stiffarm.model.chain import AXES

Floats = NDArray[np.float64]

_PAIR = re.compile(r"^(?P<link>link\d+)\.compliance\[(?P<a>\w+),(?P<b>\w+)\]$")
LEAST = 1e-6
"""Smallest eigenvalue, relative to a diagonal of ones, of a constrained fit."""


@dataclass(frozen=True)
class Definite:
    """Whether one link's compliance can be one."""

    link: str
    symmetric: bool
    positive: bool
    least: float
    """Smallest eigenvalue of the symmetric part with its diagonal scaled to one (to the largest entry when some
    diagonal entry is not positive)."""

    def __str__(self) -> str:
        if self.symmetric and self.positive:
            return f"{self.link}: positive definite (smallest eigenvalue {self.least:.2g})"
        why = [] if self.symmetric else ["not symmetric"]
        why += [] if self.positive else [f"not positive definite (smallest eigenvalue {self.least:.2g})"]
        return f"{self.link}: {' and '.join(why)}: no compliance; reduce the model or fit k = L L'"


def matrices(values: Mapping[str, float]) -> dict[str, Floats]:
    """6x6 matrices by link; an entry whose mirror image is no parameter stands for both."""
    out: dict[str, Floats] = {}
    for name, value in values.items():
        at = _PAIR.match(name)
        if at is None:
            continue
        i, j = AXES.index(at["a"]), AXES.index(at["b"])
        k = out.setdefault(at["link"], np.zeros((6, 6)))
        k[i, j] = value
        if f"{at['link']}.compliance[{at['b']},{at['a']}]" not in values:
            k[j, i] = value
    return out


def check_definite(values: Mapping[str, float]) -> tuple[Definite, ...]:
    """The verdict on every link with values.

    >>> check_definite({"link1.compliance[x,x]": 1e-8, "link1.compliance[y,y]": -1e-9})[0].positive
    False
    """
    return tuple(_verdict(link, k) for link, k in matrices(values).items())


def _verdict(link: str, k: Floats) -> Definite:
    used = np.flatnonzero(np.abs(k).sum(axis=0) + np.abs(k).sum(axis=1))
    own = k[np.ix_(used, used)]
    size = np.sqrt(np.abs(np.diag(own)))
    size[size == 0.0] = np.sqrt(np.abs(own).max(initial=1.0))
    scaled = own / np.outer(size, size)
    symmetric = bool(np.allclose(scaled, scaled.T, atol=1e-9))
    least = float(np.linalg.eigvalsh((scaled + scaled.T) / 2.0).min(initial=1.0))
    return Definite(link, symmetric, least > 0.0 and len(used) == 6, least)


@dataclass(frozen=True, eq=False)
class DefiniteFit:
    """A fit whose links are positive definite."""

    values: dict[str, float]
    free: dict[str, float]
    """The unconstrained fit."""
    checks: tuple[Definite, ...]
    cost_ratio: float
    """Root of the sum of squares left over, constrained over free: near 1 when the constraint costs nothing."""


def fit_definite(rows: Floats, right: Floats, names: Sequence[str]) -> DefiniteFit:
    """Least squares of white rows with every link's compliance kept positive definite.

    The unknowns must be linearly independent; links must be symmetric (M1), with at most one unknown per entry.
    """
    _require_symmetric(names)
    length = np.linalg.norm(rows, axis=0)
    free = np.linalg.lstsq(rows / length, right, rcond=None)[0] / length
    blocks = tuple(_blocks(names, free))
    inside = {i for block in blocks for i in block.entries}
    outside = [i for i in range(len(names)) if i not in inside]
    size = 1.0 / length
    start = np.concatenate([free[outside] / size[outside], *(block.start for block in blocks)])

    def expand(z: Floats) -> Floats:
        x = np.zeros(len(names))
        x[outside] = z[: len(outside)] * size[outside]
        at = len(outside)
        for block in blocks:
            x[list(block.entries)] = block.values(z[at : at + block.count])
            at += block.count
        return x

    def jacobian(z: Floats) -> Floats:
        columns = [rows[:, outside] * size[outside]]
        at = len(outside)
        for block in blocks:
            columns.append(rows[:, list(block.entries)] @ block.derivative(z[at : at + block.count]))
            at += block.count
        return np.concatenate(columns, axis=1)

    def residual(z: Floats) -> Floats:
        return np.asarray(rows @ expand(z) - right)

    found = least_squares(residual, start, jac=jacobian, x_scale="jac", method="trf")
    x = expand(np.asarray(found.x))
    values = dict(zip(names, x.tolist(), strict=True))
    left = float(np.linalg.norm(rows @ free - right))
    ratio = float(np.linalg.norm(rows @ x - right)) / left if left > 0.0 else 1.0
    return DefiniteFit(values, dict(zip(names, free.tolist(), strict=True)), check_definite(values), ratio)


@dataclass(frozen=True, eq=False)
class _Block:
    """Axes of one link that couple: k = S (L L' + 1e-6) S, S the roots of the diagonal's sizes."""

    size: Floats
    """(n,)"""
    at: NDArray[np.intp]
    """(n, n) position among ``entries`` of each element of k."""
    entries: tuple[int, ...]
    """Positions of the unknowns among all names."""
    start: Floats
    """Entries of L of the free fit, its eigenvalues raised above `LEAST`."""

    @property
    def count(self) -> int:
        """Number of entries of L."""
        return len(self.start)

    def factor(self, z: Floats) -> Floats:
        """S L."""
        lower = np.zeros_like(self.at, dtype=float)
        lower[np.tril_indices(len(lower))] = z
        return np.asarray(self.size[:, None] * lower)

    def values(self, z: Floats) -> Floats:
        """The unknowns."""
        lower = self.factor(z)
        out = np.zeros(len(self.entries))
        out[self.at] = lower @ lower.T + LEAST * np.diag(self.size**2)
        return out

    def derivative(self, z: Floats) -> Floats:
        """(unknowns, entries of L)."""
        lower = self.factor(z)
        out = np.zeros((len(self.entries), self.count))
        for column, (i, j) in enumerate(zip(*np.tril_indices(len(lower)), strict=True)):
            change = np.zeros_like(lower)
            change[i] += self.size[i] * lower[:, j]
            change[:, i] += self.size[i] * lower[:, j]
            out[self.at, column] = change
        return out


def _blocks(names: Sequence[str], free: Floats) -> Iterator[_Block]:
    """Coupled sets of axes of every link; each must have all its entries."""
    found: dict[str, dict[tuple[int, int], int]] = {}
    for position, name in enumerate(names):
        if at := _PAIR.match(name):
            i, j = AXES.index(at["a"]), AXES.index(at["b"])
            found.setdefault(at["link"], {})[(i, j)] = position
    for link, entries in found.items():
        pattern = np.zeros((6, 6), dtype=np.int8)
        for i, j in entries:
            pattern[i, j] = pattern[j, i] = 1
        _, label = connected_components(pattern, directed=False)
        for k in np.unique(label[pattern.any(axis=0)]):
            yield _block(link, tuple(np.flatnonzero(label == k).tolist()), entries, free)


def _block(link: str, axes: tuple[int, ...], entries: Mapping[tuple[int, int], int], free: Floats) -> _Block:
    at = np.zeros((len(axes), len(axes)), dtype=np.intp)
    used: list[int] = []
    for m, i in enumerate(axes):
        for n, j in enumerate(axes[: m + 1]):
            position = entries.get((i, j), entries.get((j, i)))
            if position is None:
                raise InputError(
                    Problem(
                        f"k = L L' needs every entry among axes of {link} that couple",
                        found=f"{link}.compliance[{AXES[j]},{AXES[i]}] is no unknown",
                        allowed="a template whose coupled axes have all their entries: symmetric, beam, one plane, "
                        "diagonal",
                    )
                )
            at[m, n] = at[n, m] = len(used)
            used.append(position)
    k = free[used][at]
    diagonal = np.diag(k)
    size = np.sqrt(np.where(diagonal > 0.0, diagonal, np.abs(k).max(initial=0.0) or 1.0))
    values, vectors = np.linalg.eigh(k / np.outer(size, size))
    raised = (vectors * (np.maximum(values, 2.0 * LEAST) - LEAST)) @ vectors.T
    return _Block(size, at, tuple(used), np.linalg.cholesky(raised)[np.tril_indices(len(axes))])


def _require_symmetric(names: Sequence[str]) -> None:
    known = set(names)
    for name in names:
        at = _PAIR.match(name)
        if at and at["a"] != at["b"] and f"{at['link']}.compliance[{at['b']},{at['a']}]" in known:
            raise InputError(
                Problem(
                    "a full 6x6 is not symmetric by itself", found=name, next_step="Symmetrise the model first (M1)"
                )
            )
