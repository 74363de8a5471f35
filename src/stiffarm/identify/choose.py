"""What of all that was asked for is fitted, and where a fit begins.

Redundancy is judged at the starting point, where geometry is nominal and only frames, markers and tool have been
found: there a redundant direction is redundant to rounding, while at the calibrated point small misalignments
lift it just above (`stiffarm.identifiability.selection`).  What a load does to a bent arm lifts it as well, by a
hundred thousandth of the columns: what is redundant on the arm unbent comes last and stays only when it is told well,
as the tilt of a base is by which side the load pulls.

Touches of a nominal arm are not consistent, so theirs are judged where they are (`stiffarm.identify.consistent`); a
scale of lengths that nothing tells is held (`stiffarm.identify.scale`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.selection import ZERO_COLUMN, Dependence, Selection, select_columns
from stiffarm.identify.begin import begin, weighed
from stiffarm.identify.compensator_start import compensator_start
from stiffarm.identify.consistent import consistent
from stiffarm.identify.noise import RowNoise, assumed_noise
from stiffarm.identify.scale import Scale, tells_scale
from stiffarm.identify.system import Equations, Point, System
from stiffarm.identify.unknowns import Asked, without
from stiffarm.model.parameters import Parameter

Floats = NDArray[np.float64]

PLAUSIBLE = {"m": 0.02, "rad": 0.02}
"""A length or angle that would be known no better than this is not told: no arm is that far off its drawing."""

BY_TOUCH = 0.005
"""The same of the arm for touches: they leave whole groups of wrist lengths and angles nearly alike, each of which
looks better known than it will be once the others are fitted too."""

BY_LOAD = 0.002
"""The same (m or rad) for what nothing but a load or a misalignment can tell: a drawing knows it as well as that."""

FAINT = 0.05
"""Columns shorter than this share of the longest of their kind are there by misalignment."""

WHY_UNTOLD = (
    "goes to the end of what is physical, so these readings do not tell it; held at nominal; give it a [[prior]]"
)


@dataclass(frozen=True)
class Dropped:
    """A parameter that was asked for and held at nominal."""

    name: str
    why: str
    merged_into: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Chosen:
    """What is fitted of what was asked for."""

    selection: Selection
    names: tuple[str, ...]
    dropped: tuple[Dropped, ...]
    scale: Scale | None
    """Of the lengths, when nothing tells it and it is held."""


@dataclass(frozen=True, eq=False)
class Begun:
    """Where a fit begins, with the equations there of what is fitted."""

    start: Point
    noise: RowNoise
    asked: Asked
    """Less what of compensators is not told."""
    chosen: Chosen
    equations: Equations


def choose(system: System, asked: Asked) -> Begun:
    """Where to begin and what to fit."""
    plain = begin(system, asked.names)
    for point in (weighed(system, asked.names, plain), plain):
        noise = assumed_noise(system, point)
        begun = _begun(system, point, asked, noise)
        if point is plain or "payload.mass" in begun.chosen.names:  # a mass that is held is held at nominal
            break
    return begun


def _begun(system: System, point: Point, asked: Asked, noise: RowNoise) -> Begun:
    """Start and selection, again without those numbers of compensators that turn out not to be told."""
    held: tuple[Dropped, ...] = ()
    while True:
        start, untold = compensator_start(system, point, asked, noise)
        held = (*held, *(Dropped(name, WHY_UNTOLD) for name in untold))
        asked = without(asked, untold)
        first = system.equations(start, asked.names)
        chosen, columns = _choose_at(system, asked, start, noise, first)
        lost = [d for d in chosen.dropped if ".compensator." in d.name]
        if not lost:
            chosen = replace(chosen, dropped=(*chosen.dropped, *held))
            return Begun(start, noise, asked, chosen, Equations(first.residual, first.columns[:, columns]))
        held = (*held, *lost)
        asked = without(asked, [d.name for d in lost])


def _choose_at(
    system: System, asked: Asked, start: Point, noise: RowNoise, first: Equations
) -> tuple[Chosen, list[int]]:
    """What is fitted, and its columns among those of everything asked for and the frames."""
    if not len(system.contacts):
        late = told_by_load(system, asked, start, first)
        selection, names, dropped = keep(system, asked, first, noise, late)
        return (
            Chosen(selection, names, dropped, None),
            [*(asked.names.index(name) for name in names), *range(len(asked.names), first.columns.shape[1])],
        )
    measured = np.column_stack([noise.whiten(first.columns), noise.whiten(first.residual)])
    spread = 1.0 if noise.known else _scatter(np.asarray(np.linalg.qr(measured, mode="r")), len(measured))
    ground = consistent(system, start)
    there = ground.equations(start, asked.names)
    own = assumed_noise(ground, start)
    white = own.whiten(there.columns)
    scale = None if tells_scale(system) else Scale.of(asked.model, asked.names, asked.priors, white)
    late = told_by_load(ground, asked, start, there) | told_by_misalignment(asked, white)
    selection, names, dropped = keep(system, asked, there, own, late, scale=scale, spread=spread, most=BY_TOUCH)
    chosen = Chosen(selection, names, dropped, scale)
    kept = [*(asked.names.index(name) for name in chosen.names), *range(len(asked.names), white.shape[1])]
    if scale is not None:
        scale = Scale.of(asked.model, chosen.names, asked.priors, white[:, kept])
        if scale is not None and scale.seen_sigma(white[:, kept]) * spread < scale.sigma:
            scale = None
    return replace(chosen, scale=scale), kept


def told_by_load(system: System, asked: Asked, start: Point, first: Equations) -> frozenset[str]:
    """Geometric parameters that repeat others on an arm that does not bend: only a load may tell them, and weakly."""
    elastic = {p.name for p in asked.model.parameters if p.elastic}
    values = {name: 0.0 if name in elastic and ".compliance" in name else v for name, v in start.values.items()}
    if values == dict(start.values):
        return frozenset()
    n = len(asked.names)
    columns = system.equations(Point(values, start.frames), asked.names).columns
    for i, name in enumerate(asked.names):
        if name in elastic or name.startswith(("load.", "payload.")):
            columns[:, i] = first.columns[:, i]
    found = select_columns(columns, [*range(n, columns.shape[1]), *range(n)])
    return frozenset(asked.names[d.column] for d in found.dependent if d.column < n) - elastic


def told_by_misalignment(asked: Asked, white: Floats) -> frozenset[str]:
    """Geometric parameters that move no touch but for a nominal geometry that is a little off its drawing.

    A height of the base is nothing to touches of unknown points when the first axis is upright, and a thousandth of
    any other length when the file has it a milliradian off.  Taken for a length that is told, it goes metres away to
    stand for one that is.
    """
    unit = {p.name: p.unit for p in asked.model.parameters if not p.elastic}
    size = np.sqrt(np.einsum("ij,ij->j", white, white))[: len(asked.names)]
    found: set[str] = set()
    for kind in PLAUSIBLE:
        own = [i for i, name in enumerate(asked.names) if unit.get(name) == kind and not name.startswith("tool.")]
        most = max((size[i] for i in own), default=0.0)
        found.update(asked.names[i] for i in own if 0.0 < size[i] < FAINT * most)
    return frozenset(found)


def keep(
    system: System,
    asked: Asked,
    first: Equations,
    noise: RowNoise,
    late: Collection[str] = (),
    weight: float = 1.0,
    scale: Scale | None = None,
    spread: float | None = None,
    most: float = np.inf,
) -> tuple[Selection, tuple[str, ...], tuple[Dropped, ...]]:
    """Columns that can be told apart, frames first, then parameters in order of preference, then ``late`` ones.

    Each row may stand for ``weight`` rows like it.  A ``scale`` is held; ``spread`` is the standard deviation of white
    rows, by default one where it is stated, else what a linear fit leaves.  ``most`` (m or rad) is the deviation from
    which a length or angle of the arm counts as not told, where that is less than `PLAUSIBLE`.
    """
    rows, right = noise.whiten(first.columns), noise.whiten(first.residual)
    n = len(asked.names)
    typical = {p.name: p.scale for p in asked.model.parameters}
    reference = np.array([*(typical[name] for name in asked.names), *np.ones(rows.shape[1] - n)])
    prior = np.zeros((len(asked.priors), rows.shape[1]))
    for i, (name, sigma) in enumerate(asked.priors.items()):
        prior[i, asked.names.index(name)] = 1.0 / sigma
    if scale is not None:
        prior = np.vstack([prior, scale.held_row(rows)])
    moving = np.sqrt(np.einsum("ij,ij->j", rows, rows)) * reference
    prior[:, moving <= ZERO_COLUMN * moving.max(initial=0.0)] = 0.0  # a prior alone is no reason to fit
    rows, right = np.vstack([rows, prior]) * reference, np.append(right, np.zeros(len(prior)))
    frames = range(n, rows.shape[1])
    order = [*frames, *sorted(range(n), key=lambda i: asked.names[i] in late)]
    triangle = np.asarray(np.linalg.qr(np.column_stack([rows[:, order], right]), mode="r"))
    known = {p.name: p for p in asked.model.parameters}
    bound = [min(_plausible(known[name], most), BY_LOAD if name in late else np.inf) for name in asked.names]
    plausible = np.array([*bound, *[np.inf] * len(frames)])
    if spread is None:
        spread = 1.0 if noise.known else _scatter(triangle, len(right))
    spread = spread / np.sqrt(weight)
    rows = np.zeros((len(triangle), len(order)))
    rows[:, order] = triangle[:, :-1]
    selection = select_columns(rows, order, plausible=plausible / reference / max(spread, 1e-300))
    label = [*asked.names, *(f"frame of {name}" for name in system.frame_names)]
    kept = set(selection.kept)
    names = tuple(name for i, name in enumerate(asked.names) if i in kept)
    unseen = [Dropped(label[i], _why_unseen(system, label[i])) for i in selection.unseen if i < n]
    merged = []
    for d in selection.dependent:
        on = tuple(dict.fromkeys(_short(label[i]) for i in d.on))
        merged.append(Dropped(label[d.column], _why_merged(d, label[d.column], on, reference, spread), on))
    return selection, names, (*unseen, *merged)


def _plausible(parameter: Parameter, most: float) -> float:
    """Standard deviation from which a parameter counts as not told; a compensator's number: its own size."""
    if ".compensator." in parameter.name:
        return abs(parameter.nominal) or np.inf
    bound = PLAUSIBLE.get(parameter.unit, np.inf)
    of_arm = np.isfinite(bound) and not parameter.name.startswith(("tool.", "payload."))
    return min(bound, most) if of_arm else bound


def _scatter(triangle: Floats, rows: int) -> float:
    """Root mean square of what a linear fit of all columns leaves of the right side, the triangle's last column.

    A column that depends on others takes one direction of the rows like any other, so that their number counts.
    """
    columns = triangle.shape[1] - 1
    if rows > columns:
        return float(abs(triangle[columns, columns]) / np.sqrt(rows - columns))
    rest = triangle[:, -1] - triangle[:, :-1] @ np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=1e-10)[0]
    return float(np.linalg.norm(rest))


def _why_merged(d: Dependence, name: str, on: Sequence[str], reference: Floats, spread: float) -> str:
    if not np.isfinite(d.sigma):
        return f"cannot be told from {', '.join(on)}; held at nominal"
    size = d.sigma * float(reference[d.column]) * spread
    beside = f" beside {', '.join(on)}" if on else ""
    return f"too weakly seen{beside}: its standard deviation would be {size:.2g} (SI); held at nominal"


def _short(label: str) -> str:
    """Frames are named by their setup only."""
    return label.rsplit(".", 1)[0] if label.startswith("frame of ") else label


def _why_unseen(system: System, name: str) -> str:
    if ".compliance" in name:
        why = "no load of this campaign bends it in a way the readings show"
        if not name.startswith("link") and _all_vertical(system):
            why += ": every load is vertical, and a horizontal force with a moment about its axis is needed"
        return f"{why}; held at nominal"
    if not len(system.read[0]) and name.split(".")[0] in ("base", system.model.robot.joint_names[0]):
        return "touches alone do not show where the robot stands; held at nominal"
    return "no reading moves with it; held at nominal"


def _all_vertical(system: System) -> bool:
    """Whether nothing but vertical forces pulls on the arm."""
    wrench = system.campaign.experiments.wrench_world
    along = np.array(system.model.robot.gravity)
    size = float(np.linalg.norm(along))
    force = wrench[:, :3]
    if not force.any() or wrench[:, 3:].any() or size == 0.0:
        return False
    sideways = force - (along / size)[:, None] * np.einsum("i,lin->ln", along / size, force)[:, None, :]
    return bool(np.abs(sideways).max() <= 1e-9 * np.abs(force).max())
