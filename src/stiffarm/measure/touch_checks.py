"""What can be wrong with touches before anything is fitted, found with the arm of the file.

    too few       a point that is touched once, a plane three times, a sphere four times say nothing
    one posture   touches of points that never turn the tool tell how well one posture repeats, and no more
    two places    one name for two things: the touches fall into two heaps (`two_heaps`), far apart for their width
    no target     a distance between things of which one is never touched

The nominal arm misses by millimetres, so only heaps that lie apart by several times that are seen here; closer ones
show once the arm is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.measure import plane, sphere
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import expected
from stiffarm.measure.targets import NAMES, TOUCHED, Target
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import frames

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_TURN_RAD = np.radians(5.0)
"""A tool that turns by less over all touches of every point keeps its orientation."""
APART, FEW = 6.0, 600.0
"""Heaps are two when their middles are ``APART + FEW / touches^2`` times their width apart; one normal heap, cut at its
widest gap, stays below that in 999 of 1000 cases."""
NOMINAL_APART_M, FITTED_APART_M = 0.05, 5e-4
"""Heaps nearer than this are one: an arm of the file bends otherwise and misses by millimetres, one way for one kind of
posture; a fitted one by what its model leaves."""
LEAST_SHARE = 0.2
"""Of a target's touches; fewer, and no place of their own but touches that went wrong."""
MOST_NAMED = 4


@dataclass(frozen=True, eq=False)
class TwoHeaps:
    """Touches of one name that lie at two places."""

    target: str
    shape: str
    first: Ints
    """Readings."""
    second: Ints
    apart_m: float
    width_m: float
    """Root mean square scatter about the middles, along the line between them."""

    def words(self, campaign: Campaign) -> str:
        """Names, distance and experiments."""
        names = campaign.experiments.names
        parts = [_some([names[i] for i in campaign.readings.experiment[rows]]) for rows in (self.first, self.second)]
        return (
            f"target '{self.target}' ({NAMES[self.shape]}) is touched at two places {self.apart_m * 1e3:.3g} mm apart, "
            f"each within {self.width_m * 1e3:.2g} mm: experiments {parts[0]} and experiments {parts[1]}"
        )


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def least_touches(target: Target) -> int:
    """Touches of a target from which on they say something of the arm."""
    return 2 if target.shape == "touch" else target.unknowns + 1


def checked_touches(arm: Arm, campaign: Campaign, loads: str = "torque") -> tuple[str, ...]:
    """Raise `InputError` for touches that the arm of the file shows to be useless; what else is odd as sentences."""
    touching = np.any([campaign.kind(kind) for kind in (*TOUCHED, "distance")], axis=0)
    if not touching.any():
        return ()
    world = expected(arm, campaign, None, loads).world
    q = np.ascontiguousarray(np.nan_to_num(campaign.experiments.q))
    turn = np.broadcast_to(frames(arm.chain, q).rotation[arm.chain.n_joints], (3, 3, q.shape[1]))
    return check_touches(campaign, world, turn[:, :, campaign.readings.experiment])


def check_touches(campaign: Campaign, world_m: Floats, turn_world: Floats) -> tuple[str, ...]:
    """Raise what makes touches useless; the rest as sentences.

    ``world_m`` (3, readings) and ``turn_world`` (3, 3, readings) are the marker and the tool as the arm of the file
    has them.
    """
    contacts = Contacts(campaign)
    targets = contacts.targets.targets
    read = any(campaign.kind(kind).any() for kind in ("position", "pose", "deflection"))
    problems = _never_touched(campaign, [t.name for t in targets])
    enough = [t for t in targets if len(t.rows) >= least_touches(t)]
    if targets and not enough and not read:
        problems.append(_too_few(campaign, targets))
    if enough and not problems and not read:
        problems += _one_orientation(campaign, enough, turn_world)
    if not problems:
        place = contacts.places(world_m)
        heaps = [two_heaps(t, place[i], world_m) for i, t in enumerate(targets) if t in enough]
        problems += [_two_places(campaign, found) for found in heaps if found is not None]
    if problems:
        raise InputError(problems)
    few = [t for t in targets if len(t.rows) < least_touches(t)]
    return tuple(
        f"target '{t.name}' says nothing: a {NAMES[t.shape]} needs {least_touches(t)} touches or more and has "
        f"{len(t.rows)}."
        for t in few
    )


def two_heaps(target: Target, place: Floats, world_m: Floats, least_m: float = NOMINAL_APART_M) -> TwoHeaps | None:
    """The touches of a target as two heaps, when they are; a few touches that miss are no heap."""
    points = world_m.T[target.rows]
    if target.shape == "plane":
        points = plane.residual(points, place)[:, None]
    elif target.shape == "sphere":
        points = sphere.residual(points, place)[:, None]
    if len(points) < 4:
        return None
    middle = points - points.mean(axis=0)
    along = middle @ np.linalg.svd(middle, full_matrices=False)[2][0]
    order = np.argsort(along)
    least = max(2, int(np.ceil(LEAST_SHARE * len(points))))
    gap = np.diff(along[order])
    cut = least + int(np.argmax(gap[least - 1 : len(gap) - least + 1]))
    parts = [order[:cut], order[cut:]]
    middles = [float(along[part].mean()) for part in parts]
    apart = middles[1] - middles[0]
    squares = sum(float(np.sum((along[part] - m) ** 2)) for part, m in zip(parts, middles, strict=True))
    width = float(np.sqrt(squares / (len(points) - 2)))
    if apart < max(least_m, (APART + FEW / len(points) ** 2) * width):
        return None
    first, second = (np.sort(target.rows[part]) for part in sorted(parts, key=lambda part: int(part.min())))
    return TwoHeaps(target.name, target.shape, first, second, apart, width)


def _file(campaign: Campaign) -> str | None:
    return campaign.files[0] if len(campaign.files) == 1 else None


def _two_places(campaign: Campaign, found: TwoHeaps) -> Problem:
    return Problem(
        found.words(campaign),
        file=_file(campaign),
        row=int(campaign.readings.row[found.second[0]]),
        column="target",
        found=found_text(found.target),
        allowed="one name for one thing",
        next_step="Give the second place a name of its own",
    )


def _never_touched(campaign: Campaign, touched: list[str]) -> list[Problem]:
    readings = campaign.readings
    problems = []
    for row in np.flatnonzero(campaign.kind("distance")):
        for column, code in (("target", readings.target[row]), ("target2", readings.target2[row])):
            name = campaign.targets[code]
            if name not in touched:
                problems.append(
                    Problem(
                        "a distance to a target that no row touches says nothing",
                        file=_file(campaign),
                        row=int(readings.row[row]),
                        column=column,
                        found=found_text(name),
                        allowed=", ".join(touched[:8]) or "the name of something that is touched",
                        next_step=did_you_mean(name, touched) or "Touch it, or leave the row out",
                    )
                )
    return problems


def _too_few(campaign: Campaign, targets: tuple[Target, ...]) -> Problem:
    return Problem(
        "no target is touched often enough to say anything",
        file=_file(campaign),
        row=int(campaign.readings.row[targets[0].rows[0]]),
        column="target",
        found=", ".join(f"'{t.name}' {len(t.rows)}x" for t in targets[:6]),
        allowed="points at least twice, planes four times, spheres five times (four with a known radius)",
        next_step="Touch each target again and again with the tool turned; 15 to 20 times is usual",
    )


def _one_orientation(campaign: Campaign, targets: list[Target], turn_world: Floats) -> list[Problem]:
    """Points whose touches never turn the tool; planes and spheres are touched at many places and need no turn."""
    if any(t.shape != "touch" for t in targets):
        return []
    largest = 0.0
    for t in targets:
        turns = turn_world[:, :, t.rows]
        trace = np.einsum("cin,ci->n", turns, turns[:, :, 0])
        largest = max(largest, float(np.arccos(np.clip((trace.min() - 1.0) / 2.0, -1.0, 1.0))))
    if largest >= LEAST_TURN_RAD:
        return []
    return [
        Problem(
            "the tool keeps one orientation in all touches of every point: they tell how well one posture repeats, and "
            "nothing of the arm",
            file=_file(campaign),
            row=int(campaign.readings.row[targets[0].rows[0]]),
            column=f"q.{campaign.joints[-1]}",
            found=f"turned by at most {np.degrees(largest):.2g} deg",
            allowed=f"turns of {np.degrees(LEAST_TURN_RAD):g} deg and more, best of tens of degrees about all axes",
            next_step="Touch each point again with the tool turned every way the arm allows",
        )
    ]
