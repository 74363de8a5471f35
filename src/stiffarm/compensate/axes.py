"""Which axis of a controller each joint of the robot is: six of the arm and six external ones.

Controllers know the arm's axes by their place (A1 ... A6, rax_1 ... rax_6) and rails or turntables as external axes
(E1 ... E6, eax_a ... eax_f).  Joints that carry such names are those axes; otherwise the turning joints are the arm's
in their order and slides are external.  Values are in deg or mm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
SLOTS = 6
_ARM = re.compile(r"(?:A|J|RAX_|AXIS_?|JOINT_?(?:A)?)([1-6])$", re.IGNORECASE)
_EXTERNAL = re.compile(r"E([1-6])$", re.IGNORECASE)
_EAX = re.compile(r"EAX_([A-F])$", re.IGNORECASE)


@dataclass(frozen=True)
class ControllerAxes:
    """For each axis of the controller the joint that it moves, None where the robot has none."""

    arm: tuple[int | None, ...]
    """Six, by index of the robot's joints."""
    external: tuple[int | None, ...]
    """Six."""
    prismatic: tuple[bool, ...]
    """By joint."""

    @property
    def six(self) -> tuple[int, ...] | None:
        """The joints of a six-axis arm in order; None when it has fewer."""
        known = tuple(joint for joint in self.arm if joint is not None)
        return known if len(known) == SLOTS else None

    def of_joint(self, joint: int) -> tuple[bool, int]:
        """Whether a joint is external, and its place (0 to 5)."""
        external = joint in self.external
        return external, (self.external if external else self.arm).index(joint)

    def values(self, q: Floats) -> tuple[list[float | None], list[float | None]]:
        """Joint values (joints,) SI as the controller's: six of the arm and six external ones, deg or mm."""
        out = [1e3 * value if slides else np.degrees(value) for value, slides in zip(q, self.prismatic, strict=True)]
        return [None if i is None else float(out[i]) for i in self.arm], [
            None if i is None else float(out[i]) for i in self.external
        ]

    def si(self, joint: int, value: float) -> float:
        """A number of the controller (deg or mm) as a joint value."""
        return 1e-3 * value if self.prismatic[joint] else float(np.radians(value))


def axes_of(robot: Robot) -> ControllerAxes:
    """The robot's joints as axes of a controller; `InputError` when it has more than a controller knows.

    >>> from stiffarm.robot.reading import read_robot
    >>> axes_of(read_robot("kr500-rail")).external[:2], axes_of(read_robot("ur5")).six
    ((0, None), (0, 1, 2, 3, 4, 5))
    """
    slides = tuple(joint.kind == "prismatic" for joint in robot.joints)
    named = _by_name(robot.joint_names)
    if named is None:
        turning = [i for i, one in enumerate(slides) if not one]
        sliding = [i for i, one in enumerate(slides) if one]
        named = {(False, k): i for k, i in enumerate(turning)} | {(True, k): i for k, i in enumerate(sliding)}
    if any(place >= SLOTS for _, place in named):
        raise InputError(
            Problem(
                "a controller's program has six axes for the arm and six external ones",
                file=robot.name,
                found=f"{sum(not one for one in slides)} turning joints, {sum(slides)} slides",
                allowed="at most 6 of each",
                next_step="Write a table (--to csv)",
            )
        )
    arm, external = (tuple(named.get((outside, place)) for place in range(SLOTS)) for outside in (False, True))
    return ControllerAxes(arm, external, slides)


def _by_name(names: tuple[str, ...]) -> dict[tuple[bool, int], int] | None:
    """Joints by (external, place) when every name says which axis it is."""
    found: dict[tuple[bool, int], int] = {}
    for i, name in enumerate(names):
        if match := _ARM.match(name):
            key = (False, int(match[1]) - 1)
        elif match := _EXTERNAL.match(name):
            key = (True, int(match[1]) - 1)
        elif match := _EAX.match(name):
            key = (True, "abcdef".index(match[1].lower()))
        else:
            return None
        if key in found:
            return None
        found[key] = i
    return found
