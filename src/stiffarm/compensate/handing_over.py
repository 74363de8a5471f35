"""What every writer of programs does alike: refuse what must not be handed over, and say in a header what it is.

A controller with absolute accuracy corrects by itself.  A program corrected here as well would be corrected twice, so
none is written when the robot file says ``on`` or does not know, unless that is allowed by option.  A table is no
program: it is refused for ``on`` and carries a warning for ``unknown``.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Collection
from pathlib import Path

import numpy as np

from stiffarm.compensate.cell import Targets
from stiffarm.compensate.corrected import CorrectedPath
from stiffarm.compensate.inverting import Wished
from stiffarm.compensate.languages import Handover
from stiffarm.errors import InputError, Problem, StiffarmWarning
from stiffarm.robot.arm import Robot

WIDTH = 100
OPTION = "--allow-absolute-accuracy"


def absolute_accuracy_notes(robot: Robot, *, allowed: bool, program: bool, file: str | None = None) -> tuple[str, ...]:
    """What must be said of a controller that may correct by itself; `InputError` when nothing may be written."""
    known = robot.controller.absolute_accuracy
    if known == "off":
        return ()
    says = {
        "on": "the robot file says that the controller corrects by itself (absolute accuracy is on)",
        "unknown": "the robot file does not say whether the controller corrects by itself",
    }[known]
    if allowed:
        return (f"MAY BE CORRECTED TWICE, allowed by option: {says}",)
    if program or known == "on":
        raise InputError(
            Problem(
                f"{says}: what is corrected here would be corrected twice",
                file=file,
                column="controller.absolute_accuracy",
                found=known,
                allowed="off",
                next_step=f"Switch it off and say so in the robot file, or say {OPTION}; the output will carry it",
            )
        )
    warnings.warn(f"{says}: if it does, these values would be corrected twice", StiffarmWarning, stacklevel=2)
    return ()


def loads_note(wished: Wished, robot: Robot) -> str:
    """What the path was corrected for, in one sentence."""
    pulls = []
    if wished.wrench_world is not None:
        for name, wrench in zip(wished.load_points, wished.wrench_world, strict=True):
            most = [float(np.linalg.norm(part, axis=0).max(initial=0.0)) for part in (wrench[:3], wrench[3:])]
            told = [f"{size:.4g} {unit}" for size, unit in zip(most, ("N", "N m"), strict=True) if size]
            if told:
                pulls.append(f"up to {' and '.join(told)} at {name}")
    weights = sum(joint.mass for joint in robot.joints) + robot.tool.mass
    if weights:
        pulls.append(f"weights of {weights:g} kg")
    return f"loads: {'; '.join(pulls) or 'none'}"


def refuse_incomplete(path: CorrectedPath, output: str) -> None:
    """A program must not leave points out."""
    if not path.complete:
        first = path.refused[0]
        raise InputError(Problem("a program must not leave points out", file=output, row=first.row, found=first.reason))


def check_name(
    output: Path, suffixes: Collection[str], name: re.Pattern[str], reserved: Collection[str], allowed: str
) -> None:
    """`InputError` unless the controller accepts the file's name, which is the module's."""
    if output.suffix.lower() not in suffixes:
        what = "the controller takes no file with this ending"
        raise InputError(Problem(what, str(output), None, "--output", output.name, " ".join(suffixes)))
    taken = output.stem.lower() in reserved
    if taken or not name.fullmatch(output.stem):
        what = "the file's name is the program's name, and the controller takes none like it"
        found = output.stem + (" (a word of the language)" if taken else "")
        raise InputError(Problem(what, str(output), None, "--output", found, allowed))


def targets_of(path: CorrectedPath, handover: Handover) -> Targets:
    """Joint or pose targets: what was asked for, else what the path itself states."""
    if handover.cell.targets is not None:
        return handover.cell.targets
    return "joints" if handover.source.pose_world is None else "poses"


def header(path: CorrectedPath, handover: Handover, rounding: str) -> list[str]:
    """Lines for the comment at the head of a program, ASCII."""
    from stiffarm import __version__

    kind = {"joints": "joint targets", "poses": "poses of the tool"}[targets_of(path, handover)]
    said = [
        f"written by stiffarm {__version__} for {handover.model.robot.name}: {len(path)} points, {kind}, "
        f"from {Path(handover.source.file).name}",
        *path.notes,
        rounding,
    ]
    return [line for one in said for line in textwrap.wrap(plain(one), WIDTH, subsequent_indent="  ")]


def plain(text: str) -> str:
    """A sentence in ASCII on one line, for comments of languages that know no other letters."""
    return " ".join(text.encode("ascii", "replace").decode("ascii").split())
