"""A corrected path as a table: the columns of the path's file with corrected values in their place.

Joint columns hold the values to command, pose columns the pose the controller is to be told, each in the unit its
header states; joint columns are added to a path of poses.  Everything else is carried as it stands.  A table has no
header but the names of its columns, so what must be said of the whole file is the name of a last, empty column.
Cells of refused points are empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.corrected import CorrectedPath
from stiffarm.compensate.languages import Handover
from stiffarm.measure.columns import POSE
from stiffarm.measure.paths import PathFile
from stiffarm.measure.writing import Cells, write_table
from stiffarm.robot.arm import Robot
from stiffarm.units import UNITS, split_header

Floats = NDArray[np.float64]


def write_csv(path: CorrectedPath, handover: Handover, output: Path) -> Sequence[Path]:
    """Write the table; its columns are those of `csv_columns`."""
    columns = csv_columns(path, handover)
    write_table(output, list(columns), list(columns.values()))
    return (output,)


def csv_columns(path: CorrectedPath, handover: Handover) -> dict[str, Cells]:
    """Columns by header, in the order of the path's file, then what is added."""
    robot = handover.model.robot
    corrected = dict(zip((f"q.{joint}" for joint in path.joints), path.q, strict=True))
    if handover.source.pose_world is not None:
        corrected |= dict(zip(POSE, path.pose_world, strict=True))
    columns: dict[str, Cells] = {}
    added = {split_header(header)[0] for header in handover.remarks}
    for header in handover.source.headers:
        name, unit = split_header(header)
        if name in added:
            continue  # of an earlier correction
        if name in corrected:
            columns[header] = in_unit(corrected.pop(name), unit)
        else:
            columns[header] = handover.source.text[header]
    for name, values in corrected.items():
        unit = _joint_unit(robot, name.removeprefix("q."), handover.source)
        columns[f"{name}[{unit}]"] = in_unit(values, unit)
    columns |= handover.remarks
    return columns | {_as_header(note): [""] * len(path) for note in path.against_advice}


def in_unit(values: Floats, unit: str | None) -> Floats:
    """SI values in a unit of a header.

    >>> in_unit(np.array([0.5]), "mm")
    array([500.])
    """
    return values if unit is None else values / UNITS[unit].factor


def _joint_unit(robot: Robot, joint: str, source: PathFile) -> str:
    """Unit of a joint column that the file did not have: the one it states lengths or turns in."""
    slides = robot.joints[robot.joint_index(joint)].kind == "prismatic"
    stated = dict(split_header(header) for header in source.headers)
    return stated.get("x" if slides else "rx") or ("m" if slides else "rad")


def _as_header(note: str) -> str:
    """A sentence that no reader takes for a name with a unit."""
    return note.replace("[", "(").replace("]", ")").replace("\n", " ")
