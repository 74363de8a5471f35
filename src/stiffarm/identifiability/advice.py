"""What would tell more: other loads, orientations, further markers, at the same configurations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.design import FORCE_N, Design, design_columns
from stiffarm.identifiability.groups import TOUCHED, Groups
from stiffarm.identifiability.planned import PlanRows
from stiffarm.identifiability.practical import Practical, covariance_of
from stiffarm.identifiability.question import Wanted
from stiffarm.identifiability.spectrum import spectrum
from stiffarm.measure.campaign import DEFAULT_MARKER

Floats = NDArray[np.float64]

LOAD_WORDS: tuple[tuple[str, str], ...] = (
    ("vertical", "a vertical force"),
    ("horizontal", "a horizontal force"),
    ("any", "forces and moments in any direction"),
)
SEED = 7


@dataclass(frozen=True)
class Help:
    """Something that would tell more."""

    what: str
    """``a horizontal force``, ``the tool's orientation`` ..."""
    rank: int
    """How many numbers could be told with it."""
    tells: tuple[str, ...]
    """Parameters that nothing was seen of, and that it shows."""
    alone: tuple[str, ...]
    """Parameters that could be told alone with it and cannot without."""


def helps(
    asked: Wanted, design: Design, rows: Floats, sizes: Floats, groups: Groups, load: str, deflection: bool
) -> tuple[Help, ...]:
    """What would tell more, cheapest first; nothing when everything is told alone."""
    if len(groups.alone) == len(groups.names):
        return ()
    found = []
    weight = np.linalg.norm(rows) / max(len(rows), 1)
    for words, other in _others(asked, design, load):
        added = design_columns(other, asked.model, asked.names, deflection=deflection)
        scale = weight * len(added) / max(float(np.linalg.norm(added)), 1e-300)
        help_ = gained(words, np.vstack([rows, added * scale]), sizes, groups)
        if help_.rank > groups.rank:
            found.append(help_)
    return tuple(found)


def _others(asked: Wanted, design: Design, load: str) -> Iterator[tuple[str, Design]]:
    """Designs that add something, with the words for it."""
    if asked.elastic and load != "any":
        for kind, words in LOAD_WORDS:
            if kind != load:
                yield words, design.under(kind, SEED)
    more = [m for m in (*asked.model.robot.marker_names, DEFAULT_MARKER) if m not in design.markers]
    if more and len(design.markers) < 3:
        yield "a further marker", replace(design, markers=(*design.markers, more[0]))
    if len(more) > 1 and len(design.markers) < 2:
        yield "two further markers", replace(design, markers=(*design.markers, *more[:2]))
    if not design.pose and len(design.markers) < 3:
        yield "the tool's orientation", replace(design, pose=True)


def gained(words: str, rows: Floats, sizes: Floats, before: Groups) -> Help:
    """What rows that hold those of a design and more would tell beyond it."""
    seen = spectrum(rows, sizes)
    touched = np.diag(seen.projector) > TOUCHED
    unseen = set(before.nothing)
    tells = tuple(name for name, s in zip(before.names, seen.seen, strict=True) if s and name in unseen)
    had = set(before.alone)
    alone = tuple(
        name for name, s, t in zip(before.names, seen.seen, touched, strict=True) if s and not t and name not in had
    )
    return Help(words, seen.rank, tells, alone)


def other_directions(
    asked: Wanted, design: Design, found: PlanRows, groups: Groups, practical: tuple[Practical, ...]
) -> tuple[Practical, ...]:
    """Classes of a plan of deflections, with the load that would make an uncertain parameter identifiable.

    The other load is as large as the plan's largest, at its configurations, with as many readings and their noise.
    """
    uncertain = {p.name: p for p in practical if p.kind == "uncertain" and p.name in asked.names}
    largest = float(np.linalg.norm(design.force_world, axis=0).max(initial=0.0))
    if not uncertain or largest == 0.0:
        return practical
    at = [groups.names.index(c.name) for c in groups.base]
    own = design_columns(design, asked.model, asked.names, deflection=True) * found.sizes
    noise = float(np.linalg.norm(found.rows * found.sizes) / np.linalg.norm(own))
    told: dict[str, str] = {}
    for kind, words in LOAD_WORDS:
        other = design.under(kind, SEED, largest / FORCE_N)
        rows = noise * design_columns(other, asked.model, asked.names, deflection=True)[:, at]
        if spectrum(rows, found.sizes[at]).rank < len(at):
            continue
        sigma = np.sqrt(np.diag(covariance_of(rows)))
        for combination, std in zip(groups.base, sigma, strict=True):
            p = uncertain.get(combination.name)
            if p is None or p.value is None or p.sigma is None or p.nu is None or p.load is None or p.name in told:
                continue
            nu = abs(p.value) / float(std)
            if nu > p.nu * p.load:
                told[p.name] = f"{words} of that size (nu about {nu:.2g})"
    return tuple(replace(p, direction=told.get(p.name)) for p in practical)
