"""What may move to correct a path, and what of the tool's pose need not be kept.

Six conditions (position and orientation of the tool) take six joints.  A rail or a seventh axis, and the turn of a
spindle about its own axis, are *freedom*: with it the smallest correction is taken, limits and singularities are
passed round, and nothing is used that was not offered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.robot.arm import Robot

TURNS = ("rx", "ry", "rz")
"""Axes of the tool about which its turn may be left free."""
CONDITIONS = 6


@dataclass(frozen=True)
class Freedom:
    """Joints that take part, and turns of the tool that must be as wished."""

    moving: tuple[bool, ...]
    """By joint."""
    kept_turns: tuple[int, ...] = (0, 1, 2)
    """Axes of the tool (0 x, 1 y, 2 z) about which the orientation is kept."""

    @property
    def redundant(self) -> bool:
        """Whether more joints move than conditions are to be met."""
        return sum(self.moving) > 3 + len(self.kept_turns)

    @property
    def lacking(self) -> bool:
        """Whether fewer do: the position is kept, the orientation as well as it can be."""
        return sum(self.moving) < 3 + len(self.kept_turns)


def freedom_of(robot: Robot, free: Sequence[str] = ()) -> Freedom:
    """What moves when the named joints (rails) and turns of the tool (``rx``, ``ry``, ``rz``) are offered.

    Without an offer slides beyond six axes stand where the path has them; a redundant arm of turning joints takes
    the smallest correction of all its joints.

    >>> from stiffarm.robot.reading import read_robot
    >>> rail = read_robot("kr500-rail")
    >>> sum(freedom_of(rail).moving), sum(freedom_of(rail, [rail.joint_names[0]]).moving)
    (6, 7)
    """
    known = [*robot.joint_names, *TURNS]
    for name in free:
        if name not in known:
            hint = did_you_mean(name, known)
            raise InputError(
                Problem(
                    f"'{name}' cannot be offered",
                    column="--free",
                    allowed=f"a joint ({', '.join(robot.joint_names)}) or a turn of the tool (rx, ry, rz)",
                    next_step=None if hint is None else hint[0].upper() + hint[1:],
                )
            )
    turns = tuple(i for i, name in enumerate(TURNS) if name not in free)
    if len(turns) == 1:
        raise InputError(
            Problem(
                "two free turns keep no direction of the tool",
                column="--free",
                found=" ".join(name for name in free if name in TURNS),
                allowed="one turn (a spindle's own axis) or all three (position alone)",
            )
        )
    slides = [joint.kind == "prismatic" for joint in robot.joints]
    held = slides if len(slides) - sum(slides) >= CONDITIONS else [False] * len(slides)
    moving = (not stands or name in free for stands, name in zip(held, robot.joint_names, strict=True))
    return Freedom(tuple(moving), turns)
