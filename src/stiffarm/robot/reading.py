"""Reads a robot file.

The steps: bytes to TOML, the version of the format, every table by itself, the names that join them, then
the robot in SI and what its numbers must satisfy together.  The problems of all steps that could be taken
are raised at once.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path

from stiffarm.errors import InputError, Problem, StiffarmWarning, did_you_mean, found_text
from stiffarm.robot.arm import Robot
from stiffarm.robot.build import build_robot
from stiffarm.robot.check import physical_problems, reference_problems
from stiffarm.robot.library import find_robot_file, is_path
from stiffarm.robot.schema import (
    FORMAT,
    EmbeddedUrdfRobotTable,
    FramesRobotTable,
    RobotTable,
    UrdfRobotTable,
)
from stiffarm.robot.toml_source import TomlSource, toml_source
from stiffarm.robot.urdf import read_urdf
from stiffarm.robot.urdf_tree import read_urdf_tree
from stiffarm.robot.validate import validated
from stiffarm.robot.values import name_problem


def read_robot(path_or_name: str | Path) -> Robot:
    """The robot of a file (``.robot.toml`` or ``.urdf``) or of a packaged name such as ``kr270``.

    Raises `InputError` with every problem of the file.
    """
    if is_path(path_or_name) and Path(path_or_name).suffix.lower() == ".urdf":
        return _urdf_alone(Path(path_or_name))
    found = find_robot_file(path_or_name)
    return parse_robot(found.content, found.file, found.folder)


def parse_robot(content: bytes | str, file: str, folder: Path | None = None) -> Robot:
    """The robot that the text of a robot file describes.

    ``file`` names it in messages; a URDF it refers to is looked for in ``folder``.
    """
    source = toml_source(content, file)
    _refuse_other_formats(source)
    _refuse_closed_loops(source)
    table, problems = validated(source)
    chain: Robot | None = None
    if isinstance(table, UrdfRobotTable):
        chain, more = _read_chain(source, table, folder)
        problems += more
    if chain is not None or not isinstance(table, UrdfRobotTable):
        problems += reference_problems(source, chain.joint_names if chain else _joint_names(source))
    if problems or table is None:
        raise InputError(_in_order(problems))
    robot = build_robot(table, chain)
    if problems := physical_problems(source, robot):
        raise InputError(_in_order(problems))
    _warn_about_axes(source, table)
    return robot


def _in_order(problems: list[Problem]) -> list[Problem]:
    return sorted(dict.fromkeys(problems), key=lambda problem: problem.row or 0)


def _refuse_other_formats(source: TomlSource) -> None:
    """Stop at another format or version: nothing else in such a file is worth a message."""
    found = source.data.get("format")
    if found is None or found == FORMAT:
        return
    step = "Update stiffarm" if isinstance(found, str) and found.startswith("stiffarm-robot/") else None
    if step is None and isinstance(found, str):
        hint = did_you_mean(found, [FORMAT])
        step = hint and hint[0].upper() + hint[1:]
    problem = source.problem(
        ("format",), "this is not a robot file of a known version", allowed=f'"{FORMAT}"', next_step=step
    )
    raise InputError(problem)


def _refuse_closed_loops(source: TomlSource) -> None:
    joints = source.data.get("joint")
    tables = joints if isinstance(joints, list) else []
    paths = [
        ("joint", i, "passive") for i, table in enumerate(tables) if isinstance(table, dict) and "passive" in table
    ]
    places = [("loop",)] * ("loop" in source.data) + paths
    if places:
        raise InputError(
            source.problem(
                places[0],
                "closed loops and passive joints are not supported yet",
                allowed="a serial chain of driven joints",
                next_step="Eliminate the loop: describe the equivalent serial joint, with couples_to for a "
                "parallelogram's linked joints",
            )
        )


def _joint_names(source: TomlSource) -> list[str]:
    joints = source.data.get("joint")
    tables = [table for table in joints if isinstance(table, dict)] if isinstance(joints, list) else []
    return [str(table.get("name", "")) for table in tables]


def _read_chain(source: TomlSource, table: UrdfRobotTable, folder: Path | None) -> tuple[Robot | None, list[Problem]]:
    """The arm of the URDF a file refers to, and what does not fit it."""
    path = (folder or Path()) / table.urdf.file
    try:
        chain = read_urdf(path, table.urdf.base, table.urdf.tip)
    except InputError as error:
        return None, list(error.problems)
    problems = _bad_names(chain, str(path))
    kinds = {joint.name: joint.kind for joint in chain.joints}
    for i, added in enumerate(table.joint):
        if added.name not in kinds:
            hint = did_you_mean(added.name, list(kinds))
            problems.append(
                source.problem(
                    ("joint", i, "name"),
                    "the URDF has no such joint between base and tip",
                    allowed=", ".join(kinds),
                    next_step=hint and hint[0].upper() + hint[1:],
                )
            )
        elif added.type not in (None, kinds[added.name]):
            what = "the URDF gives this joint another type"
            problems.append(source.problem(("joint", i, "type"), what, allowed=kinds[added.name]))
    return chain, problems


def _urdf_alone(path: Path) -> Robot:
    robot = read_urdf(path)
    problems = _bad_names(robot, str(path)) or physical_problems(TomlSource(str(path), {}), robot)
    if problems:
        raise InputError(problems)
    return robot


def _bad_names(robot: Robot, file: str) -> list[Problem]:
    """Joint names of a URDF obey the same rule as those of a robot file."""
    refused = {name: problem for name in robot.joint_names if (problem := name_problem(name))}
    lines = {joint.name: joint.line for joint in read_urdf_tree(Path(file)).joints} if refused else {}
    step = "Rename the joint in the URDF"
    return [
        Problem(what, file, lines.get(name), f"joint[{name}]", found_text(name), allowed, step)
        for name, (what, allowed) in refused.items()
    ]


def _warn_about_axes(source: TomlSource, table: RobotTable) -> None:
    if not isinstance(table, FramesRobotTable | EmbeddedUrdfRobotTable):
        return
    for i, joint in enumerate(table.joint):
        norm = math.hypot(*joint.axis)
        if abs(norm - 1.0) > 1e-6:
            problem = source.problem(
                ("joint", i, "axis"), f"the axis has length {norm:.6g} and was normalised", allowed="a unit vector"
            )
            warnings.warn(str(problem), StiffarmWarning, stacklevel=3)
