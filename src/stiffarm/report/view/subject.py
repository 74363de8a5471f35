"""What a view is about, settled before anything is shown: the arm, its shapes, its poses, scales that fit both.

Scales are chosen once, so that what is compared by eye is drawn alike: with L the reach, the largest deflection is
drawn as about L/8, the largest miss as about L/12, the largest force as L/4 and the longest axis of the compliance at
the first pose as L/8.  Magnifications are round numbers, 1, 2 or 5 times a power of ten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.given import campaign_of
from stiffarm.compensate.model_file import KnownModel
from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.frames import TableLike
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import jacobian
from stiffarm.model.stages import reach
from stiffarm.plan.cell_file import read_cell
from stiffarm.report.view.misses import Misses, misses
from stiffarm.report.view.parts import Part, cell_parts, drawn_parts
from stiffarm.report.view.scene import Asked, Posed, Pull, posed
from stiffarm.report.view.shapes import Mesh
from stiffarm.report.view.stops import Stops, stops_from, stops_of
from stiffarm.report.view.urdf_shapes import urdf_shapes

Floats = NDArray[np.float64]

SMALL_ARM_M = 1.5
SMALL_PULL_N, LARGE_PULL_N = 100.0, 1000.0
"""What pulls down at the tool when nobody says: on arms that reach less than `SMALL_ARM_M`, and on others."""
TURN = math.pi
SLIDE_M = 1.0
"""Either way, for joints without limits."""
FEW = 2
SWELL = 1.06
MOST_TRIED = 200
"""Poses looked at for the largest deflection."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is looked at."""

    known: KnownModel
    arm: Arm
    parts: tuple[Part, ...]
    """Of the unloaded arm."""
    bent_parts: tuple[Part, ...]
    """Of the bent arm: without the base, which does not move, and thicker, so that it is seen where both are."""
    reach_m: float
    ranges: tuple[tuple[float, float], ...]
    """Of every joint, rad or m."""
    start: Asked
    stops: Stops | None
    track: Floats
    """(3, stops) the tool at every stop, unloaded, m, world."""
    misses: Misses | None
    magnification: float
    """Of deflections."""
    misses_magnification: float
    newtons_per_m: float
    """Of force arrows."""
    pulled: bool
    """Whether anything pulls anywhere."""
    compliance_scale: float
    """Drawn m per m/N."""
    notes: tuple[str, ...]
    """What could not be shown."""
    obstacles: tuple[Mesh, ...] = ()
    """What stands around the arm, m, world."""

    @property
    def drawn(self) -> Literal["meshes", "capsules", "rods"]:
        """By the shapes of its URDF, by those its file states, or by none but its axes."""
        if any(part.role == "mesh" for part in self.parts):
            return "meshes"
        return "capsules" if self.known.robot.capsules else "rods"


def subject_of(
    known: KnownModel,
    *,
    plan: Campaign | TableLike | None = None,
    campaign: Campaign | TableLike | None = None,
    cell: str | Path | None = None,
    force: Pull | None = None,
) -> Subject:
    """Read and settle everything; raises `InputError` for files that cannot be used.

    ``force`` takes the place of what a plan pulls with.
    """
    arm, robot = known.arm(), known.robot
    obstacles = () if cell is None else tuple(cell_parts(read_cell(cell)))
    read = None if campaign is None else campaign_of(campaign, robot)
    stops = stops_from(plan, known) if plan is not None else None if read is None else stops_of(read)
    if stops is not None and force is not None:
        stops = _pulled(stops, force)
    size = reach(arm.chain)
    start = _start(known, stops, size, force)
    first = posed(arm, start)
    missed = None if read is None else misses(known, read)
    pull = _largest_force(stops, first)
    urdf = urdf_shapes(arm)
    warnings = tuple(read.warnings) if read is not None else ()
    return Subject(
        known,
        arm,
        urdf.parts or drawn_parts(arm),
        tuple(part for part in urdf.parts or drawn_parts(arm, SWELL) if part.carrier > 0),
        size,
        _ranges(known, stops),
        start,
        stops,
        np.zeros((3, 0)) if stops is None else _track(arm, stops),
        missed,
        rounded(size / 8.0, _largest_deflection(arm, stops, first)),
        rounded(size / 12.0, 0.0 if missed is None else missed.max_m),
        4.0 * (pull or usual_pull(size)) / size,
        pull > 0.0,
        _ratio(size / 8.0, 0.0 if first.compliance is None else float(np.linalg.norm(first.compliance, 2))),
        (*_few(urdf.missing), *warnings),
        obstacles,
    )


def rounded(wished: float, real: float) -> float:
    """About wished / real as 1, 2 or 5 times a power of ten, at least 1.

    >>> rounded(0.25, 0.0009), rounded(0.25, 0.0), rounded(0.1, 3.0)
    (200.0, 1.0, 1.0)
    """
    ratio = _ratio(wished, real)
    if ratio <= 1.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(ratio))
    return next(power * m for m in (5.0, 2.0, 1.0) if power * m <= ratio * (1.0 + 1e-9))


def _few(sentences: tuple[str, ...]) -> tuple[str, ...]:
    """The first of many."""
    if len(sentences) <= FEW:
        return sentences
    return (*sentences[:FEW], f"and {len(sentences) - FEW} more of its shapes are left out")


def _ratio(wished: float, real: float) -> float:
    return wished / real if real > 1e-15 else 1.0


def known_point(arm: Arm, name: str, option: str) -> str:
    """A load point by name, or `InputError` naming those there are."""
    known = list(arm.chain.points)
    if name in known:
        return name
    hint = did_you_mean(name, known)
    step = hint and hint[0].upper() + hint[1:]
    what = f"point '{name}' does not exist for {arm.robot.name}"
    raise InputError(Problem(what, column=option, allowed=", ".join(known), next_step=step))


def usual_pull(size_m: float) -> float:
    """What pulls on an arm of this reach when nobody says, N."""
    return SMALL_PULL_N if size_m < SMALL_ARM_M else LARGE_PULL_N


def _start(known: KnownModel, stops: Stops | None, size: float, force: Pull | None) -> Asked:
    """The first pose; else the middle of every joint with a downward pull at the tool."""
    if stops is not None:
        return stops.asked(0)
    middle = np.array([0.5 * (low + high) for low, high in _ranges(known, None)])
    learned = known.domain.force[1] if known.domain is not None and known.domain.force is not None else 0.0
    newtons = learned if learned > 0.0 else usual_pull(size)
    down = Pull("tool", np.array([0.0, 0.0, -newtons]), np.zeros(3))
    return Asked(middle, (force or down,))


def _pulled(stops: Stops, force: Pull) -> Stops:
    wrench = np.concatenate([force.force_world, force.torque_world])
    everywhere = np.repeat(wrench[None, :, None], len(stops), axis=2)
    return replace(stops, load_points=(force.point,), wrench_world=everywhere, attachment=None)


def _ranges(known: KnownModel, stops: Stops | None) -> tuple[tuple[float, float], ...]:
    """Limits of every joint, wide enough for every stop."""
    found = []
    for k, joint in enumerate(known.robot.joints):
        free = SLIDE_M if joint.kind == "prismatic" else TURN
        low, high = joint.limits or (-free, free)
        if not math.isfinite(low) or not math.isfinite(high) or high <= low:
            low, high = -free, free
        if stops is not None:
            low, high = min(low, float(stops.q[k].min())), max(high, float(stops.q[k].max()))
        found.append((low, high))
    return tuple(found)


def _track(arm: Arm, stops: Stops) -> Floats:
    return jacobian(arm.chain, np.ascontiguousarray(stops.q), arm.chain.point("tool"))[0]


def _largest_deflection(arm: Arm, stops: Stops | None, first: Posed) -> float:
    """Over the stops (some of them when there are many), m."""
    found = [first] if stops is None else [posed(arm, stops.asked(i)) for i in _some(len(stops))]
    return max((float(np.linalg.norm(d)) for one in found for d in one.moved.values()), default=0.0)


def _some(n: int) -> list[int]:
    step = max(1, math.ceil(n / MOST_TRIED))
    return list(range(0, n, step))


def _largest_force(stops: Stops | None, first: Posed) -> float:
    """Of what pulls anywhere and of the weights, N."""
    forces = [float(np.linalg.norm(arrow.force_world)) for arrow in first.arrows]
    if stops is not None and stops.wrench_world.size:
        forces.append(float(np.linalg.norm(stops.wrench_world[:, :3], axis=1).max()))
    return max(forces, default=0.0)
