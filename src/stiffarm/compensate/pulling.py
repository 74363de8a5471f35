"""What pulls on the tool along a path when its file does not say: a constant force, or that of milling.

A constant force stands in world axes or in the tool's, where it turns with the tool that is wished at each point.
A file that states forces of its own is not given a second set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.milling import milled
from stiffarm.compensate.milling_file import read_milling
from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.measure.columns import load_points_of
from stiffarm.robot.arm import Robot, Vector3
from stiffarm.units import parse_quantity, units_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ForceFrame = Literal["world", "tool"]
_BRACKETS = re.compile(r"\[(?P<unit>[^\[\]]+)\]\s*$")


@dataclass(frozen=True, eq=False)
class Points:
    """Where the tool goes, as far as loads follow from it; the batch axis is last."""

    file: str
    row: Ints
    position_world: Floats
    """(3, n) m"""
    rotation_world: Floats
    """(3 columns, 3, n)"""
    load_points: tuple[str, ...]
    wrench_stated: Floats
    """(load points, 6, n) as it stands in the file."""
    feed_m_s: Floats | None = None


@dataclass(frozen=True, eq=False)
class Pulled:
    """Loads along a path."""

    load_points: tuple[str, ...]
    wrench_world: Floats
    """(load points, 6, n) N and N m."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asking:
    """What was asked for by options; nothing: what the file states."""

    frame: ForceFrame = "world"
    """Axes of the forces, those of the file or of the option."""
    force_n: Vector3 | None = None
    torque_nm: Vector3 | None = None
    load_point: str = "tool"
    milling: Path | None = None

    @classmethod
    def of(
        cls,
        frame: ForceFrame = "world",
        force: str | None = None,
        torque: str | None = None,
        load_point: str | None = None,
        milling: Path | None = None,
    ) -> Asking:
        """From the texts of options.

        >>> Asking.of(force="0,0,-1.5kN", load_point="hook").force_n
        (0.0, 0.0, -1500.0)
        """
        return cls.checked(
            frame,
            None if force is None else vector(force, "force", "--force"),
            None if torque is None else vector(torque, "torque", "--torque"),
            load_point,
            milling,
        )

    @classmethod
    def checked(
        cls,
        frame: ForceFrame = "world",
        force_n: Vector3 | None = None,
        torque_nm: Vector3 | None = None,
        load_point: str | None = None,
        milling: Path | None = None,
    ) -> Asking:
        """From numbers; `InputError` where two of them say the same, or one says nothing."""
        given = {"--force": force_n, "--torque": torque_nm, "--load-point": load_point}
        twice = [option for option, value in given.items() if value is not None]
        if milling is not None and twice:
            what = f"'{twice[0]}' and '--milling' both say what pulls"
            step = "Name the load point in the milling file" if twice[0] == "--load-point" else None
            raise InputError(Problem(what, column=twice[0], allowed="one of the two", next_step=step))
        if milling is not None and frame != "world":
            raise InputError(Problem("milling forces follow the path", column="--force-frame", allowed="world"))
        if twice == ["--load-point"]:
            raise InputError(
                Problem(
                    "a load point needs a load",
                    column="--load-point",
                    allowed="--force or --torque beside it",
                    next_step="The file's own loads name theirs in the column load_point",
                )
            )
        return cls(frame, force_n, torque_nm, load_point or "tool", milling)

    def along(self, points: Points, robot: Robot) -> Pulled:
        """The loads of every point; `InputError` for a load that is stated twice or a point that is not there."""
        given = self.force_n is not None or self.torque_nm is not None
        if not given and self.milling is None:
            return Pulled(points.load_points, in_world(points.wrench_stated, points.rotation_world, self.frame))
        _refuse_twice(points, "--force" if given else "--milling")
        if self.milling is not None:
            cut = read_milling(self.milling)
            _check_point(cut.load_point, robot, str(self.milling))
            found = milled(cut, points.position_world, points.rotation_world, points.feed_m_s)
            return Pulled((cut.load_point,), found.wrench_world[None], found.warnings(points.row))
        _check_point(self.load_point, robot, None)
        zero = (0.0, 0.0, 0.0)
        constant = np.array([*(self.force_n or zero), *(self.torque_nm or zero)])[None, :, None]
        wrench = np.repeat(constant, len(points.row), axis=2)
        return Pulled((self.load_point,), in_world(wrench, points.rotation_world, self.frame))


def _refuse_twice(points: Points, option: str) -> None:
    stated = np.asarray(points.wrench_stated.any(axis=(0, 1)))
    if stated.any():
        raise InputError(
            Problem(
                f"the path states its loads, and so does '{option}'",
                file=points.file,
                row=int(points.row[np.argmax(stated)]),
                allowed="one of the two",
                next_step=f"Leave out {option}, or the columns force.* and torque.*",
            )
        )


def _check_point(name: str, robot: Robot, file: str | None) -> None:
    known = load_points_of(robot)
    if name not in known:
        hint = did_you_mean(name, known)
        what, place = f"load point '{name}' does not exist for {robot.name}", "load_point" if file else "--load-point"
        step = hint and hint[0].upper() + hint[1:]
        raise InputError(Problem(what, file=file, column=place, allowed=", ".join(known), next_step=step))


def vector(text: str, dimension: str, option: str) -> Vector3:
    """Three components with one unit: ``0,0,-1500N`` or ``0,0,-1.5[kN]``, in SI.

    >>> vector("0, 10, -2[kN]", "force", "--force")
    (0.0, 10000.0, -2000.0)
    """
    plain = _BRACKETS.sub(lambda found: f" {found['unit']}", text.strip())
    parts = [part.strip() for part in plain.split(",")]
    unit = re.sub(r"^[-+.\deE]*\s*", "", parts[-1])
    try:
        if len(parts) != 3:
            raise ValueError
        one, two, three = (
            parse_quantity(part if i == 2 else f"{float(part)!r} {unit}", dimension) for i, part in enumerate(parts)
        )
    except (InputError, ValueError):
        raise InputError(
            Problem(
                f"three components of a {dimension} with a unit are needed",
                column=option,
                found=found_text(text),
                allowed=f"such as 0,0,-100{units_of(dimension)[0]}; units {' '.join(units_of(dimension))}",
            )
        ) from None
    return one, two, three


def in_world(wrench: Floats, rotation_world: Floats, frame: ForceFrame) -> Floats:
    """Wrenches (load points, 6, n) in world axes; ``rotation_world`` (3 columns, 3, n) is that of the wished tool."""
    if frame == "world":
        return wrench
    turned = [np.einsum("cin,pcn->pin", rotation_world, part) for part in (wrench[:, :3], wrench[:, 3:])]
    return np.concatenate(turned, axis=1)
