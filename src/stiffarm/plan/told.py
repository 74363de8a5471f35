"""What stops can tell at all, decided before the search: refusals in words, and what is held.

The rows of all candidates together say which parameters do nothing to what is read, and which can be told only
together (`stiffarm.identifiability.groups`).  Redundant geometry and links are held at nominal, as an identification
would; a joint's compliance that the load cannot excite is refused, for it is what one measures for.  The rows of as
many candidates as the plan has poses, taken at random, say whether that many are enough.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.groups import Groups, find_groups
from stiffarm.identifiability.question import Wanted, priority
from stiffarm.identifiability.selection import triangle
from stiffarm.plan.candidates import Pool, aimed_at
from stiffarm.plan.information import Information
from stiffarm.plan.problem import Cable, FixedForce, Floats, Pull, Stops
from stiffarm.plan.variables import Space

ENOUGH = 400
"""Candidates whose rows stand for all."""
DRAWS = 3
WEAK = 1e-9
MOST_NAMED = 6


@dataclass(frozen=True)
class Told:
    """Parameters that are planned for, and why the others are held."""

    names: tuple[str, ...]
    held: dict[str, str]


def spread_out(stops: Stops, count: int) -> Stops:
    """At most so many of the stops, evenly out of all."""
    return stops.take(np.unique(np.linspace(0, len(stops) - 1, min(count, len(stops))).astype(np.int64)))


def told_of(asked: Wanted, rows: Floats, known: Floats, pull: Pull | None, named: Collection[str]) -> Told:
    """Parameters that can be told from rows (n, numbers, parameters) and what is known before, typical sizes.

    Those ``named`` must be told.
    """
    flat = np.concatenate([known, rows.reshape(-1, rows.shape[2])])
    order = priority(asked.model.robot, asked.names)
    groups = find_groups(triangle(flat), asked.names, priority=order)
    _refuse(groups, pull, named)
    kept = {one.name for one in groups.base}
    held = dict.fromkeys(groups.nothing, "what is read does not change with it")
    for group in groups.together:
        told = ", ".join(one.name for one in group.told[:MOST_NAMED])
        held |= dict.fromkeys(group.merged, f"told only together with {told}")
    names = tuple(name for name in asked.names if name in kept)
    return Told(names, {name: why for name, why in held.items() if name not in kept})


def _refuse(groups: Groups, pull: Pull | None, named: Collection[str]) -> None:
    wanted = [name for name in groups.nothing if name in named]
    if wanted:
        raise InputError(
            Problem(
                f"this load cannot excite {_listed(wanted)}: nothing that is read changes with "
                f"{'it' if len(wanted) == 1 else 'them'}, whatever the configuration",
                column="--force",
                found=_pull_words(pull),
                allowed=_others(pull),
                next_step=f"Choose such a load, or leave {'it' if len(wanted) == 1 else 'them'} out: "
                + " ".join(f"--fix '{name}'" for name in wanted[:MOST_NAMED]),
            )
        )
    for group in groups.together:
        lost = [name for name in group.merged if name in named]
        if lost:
            raise InputError(
                Problem(
                    f"{_listed(lost)} can be told only together with "
                    f"{_listed([n for n in group.members if n not in lost])}",
                    column="--force",
                    found=_pull_words(pull),
                    allowed=_others(pull),
                    next_step="Choose such a load or further markers, or leave it out: "
                    + " ".join(f"--fix '{name}'" for name in lost[:MOST_NAMED]),
                )
            )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} more"


def _pull_words(pull: Pull | None) -> str:
    if pull is None:
        return "no force"
    if isinstance(pull, FixedForce):
        x, y, z = pull.force_world
        return f"{x:g}, {y:g}, {z:g} N at '{pull.load_point}'"
    how = "through a cable" if isinstance(pull, Cable) else "in any direction"
    return f"{pull.force_n:g} N {how} at '{pull.load_point}'"


def _others(pull: Pull | None) -> str:
    if pull is None:
        return "a force in any direction: --force 4000N"
    if isinstance(pull, FixedForce):
        return "a force with other directions: --load any, --cable or --cable-box"
    return "another load point (--load NAME), off the axes"


def refuse_too_few(information: Information, pool: Pool, space: Space, poses: int, random: np.random.Generator) -> None:
    """Raise when so many poses leave something unknown, saying how many it takes."""
    size, numbers = information.size, information.noise.numbers
    least, found = poses_needed(information, pool, space, poses, random)
    if poses >= least:
        return
    known = "" if not len(information.known) else " beside what is known before"
    raise InputError(
        Problem(
            f"{poses} pose{'s' * (poses > 1)} of {numbers} numbers each tell {found} of {size} parameters{known}",
            column="--poses",
            found=str(poses),
            allowed=f"{least} or more",
            next_step="Or ask for less (--fix PATTERN), or state priors in the robot file",
        )
    )


def poses_needed(
    information: Information, pool: Pool, space: Space, poses: int, random: np.random.Generator
) -> tuple[int, int]:
    """The least number of poses that tells everything, and how many numbers ``poses`` of them tell."""
    size, most = information.size, len(pool.stops)
    left = size - len(information.known)
    found = 0
    for least in range(max(1, -(-left // information.noise.numbers)), most + 1):
        told = max(_rank(information, pool, space, least, random) for _ in range(DRAWS))
        if least <= poses:
            found = told
        if told >= size:
            break
    return least, found if found or poses >= most else _rank(information, pool, space, poses, random)


def _rank(information: Information, pool: Pool, space: Space, poses: int, random: np.random.Generator) -> int:
    """Independent numbers told by some candidates, all pulled towards one point."""
    stops = pool.stops.take(random.choice(len(pool.stops), poses, replace=False))
    rows = information.rows(_together(stops, space))
    flat = np.concatenate([information.known, rows.reshape(-1, information.size)])
    length = np.linalg.norm(flat, axis=0)
    s = np.linalg.svd(flat / np.where(length > 0.0, length, 1.0), compute_uv=False)
    return int((s > WEAK * s[0]).sum()) if len(s) else 0


def _together(stops: Stops, space: Space) -> Stops:
    return stops if stops.aim is None or space.shared == 0 else aimed_at(stops, space, stops.aim[:, 0])
