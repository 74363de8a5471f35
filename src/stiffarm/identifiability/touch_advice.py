"""What touches alone leave open: the scale, and what another load would tell.

Touches say that the marker came back to something, never how large anything is: every length of the arm may grow by
a common factor, the targets with it.  Whether a design is blind to that is found by giving it one known length; when
one number more can be told then, it is the scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stiffarm.identifiability.advice import LOAD_WORDS, SEED, Help, gained
from stiffarm.identifiability.design import generic_loads, stiff
from stiffarm.identifiability.groups import Groups
from stiffarm.identifiability.planned import PlanRows
from stiffarm.identifiability.question import Wanted
from stiffarm.identifiability.touch_design import also_under, with_known_length
from stiffarm.identifiability.touched_rows import touched_part, touched_rows, touching
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.targets import NAMES, TOUCHED
from stiffarm.robot.arm import Joint


@dataclass(frozen=True)
class TouchFacts:
    """What is to be known of a plan that touches things and reads nothing else."""

    shapes: tuple[str, ...]
    """``points``, ``planes``, ``spheres``."""
    known: int
    """Distances and radii that are known."""
    scale_lost: bool
    artefact: str
    """Words for what would give the scale."""
    rank_with: int
    """How many numbers could be told with it."""


def touch_facts(plan: Campaign, asked: Wanted, found: PlanRows, groups: Groups) -> TouchFacts:
    """Whether the scale is lost, and what would give it."""
    part = touched_part(plan)
    shapes = tuple(f"{NAMES[shape]}s" for shape in TOUCHED if part.kind(shape).any())
    radii = part.kind("sphere") & np.isfinite(part.readings.radius_m)
    known = int(part.kind("distance").sum()) + len(np.unique(part.readings.target[radii]))
    words, more = with_known_length(part, stiff(asked.model))
    rank = gained(words, touched_rows(more, asked).rows, found.sizes, groups).rank
    return TouchFacts(shapes, known, rank > groups.rank, words, rank)


def touch_helps(
    plan: Campaign, asked: Wanted, found: PlanRows, groups: Groups, load: str, load_point: str
) -> tuple[Help, ...]:
    """Loads that would tell more, in addition to the plan's own touches."""
    if not asked.elastic or len(groups.alone) == len(groups.names):
        return ()
    helps = []
    count = int(touching(plan).sum())
    for kind, words in LOAD_WORDS:
        if kind == load or load == "any":
            continue
        force, torque = generic_loads(kind, count, np.random.default_rng([SEED, 1]))
        more = also_under(touched_part(plan), load_point, force, torque)
        help_ = gained(words, touched_rows(more, asked).rows, found.sizes, groups)
        if help_.rank > groups.rank:
            helps.append(help_)
    return tuple(helps)


def stands_still(groups: Groups, joints: tuple[Joint, ...]) -> tuple[str, ...]:
    """Parameters that place the whole arm in the world and are not seen."""
    first = tuple(f"{joints[0].name}.{axis}" for axis in ("x", "y", "z", "rx", "ry", "rz", "offset"))
    return tuple(name for name in groups.nothing if name in first or name.startswith("base."))
