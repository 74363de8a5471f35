"""`stiffarm robot`: the library, a robot in words, the errors of a file, one format into another."""

from __future__ import annotations

import textwrap
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stiffarm.cli.common import WIDTH, AsJson, Output, Quiet, Seed, answer, show_problems, warn_all
from stiffarm.cli.robot_frames import robot_frames

if TYPE_CHECKING:
    from stiffarm.errors import Problem
    from stiffarm.robot.arm import Robot
    from stiffarm.robot.convert import Target

robot_app = typer.Typer(
    name="robot",
    help="List, show, check and convert robots; frames for their controllers.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
RobotName = Annotated[str, typer.Argument(metavar="ROBOT", help="A packaged name, a .robot.toml or a .urdf.")]


class Convention(StrEnum):
    """How a robot file may state its joints."""

    DH = "dh"
    MDH = "mdh"
    FRAMES = "frames"


@robot_app.command("list")
def list_robots(as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False, output: Output = None) -> None:
    """The robots that come along."""
    from stiffarm.robot.library import packaged_robots
    from stiffarm.robot.reading import read_robot

    robots = {name: read_robot(name) for name in packaged_robots()}
    width = max(map(len, robots))
    hanging = " " * (width + 4)
    lines = [
        textwrap.fill(f"  {name:{width}}  {robot.name} ({_kinds(robot)})", WIDTH, subsequent_indent=hanging)
        for name, robot in robots.items()
    ]
    text = "Robots that come along; a name stands wherever a robot file may:\n" + "\n".join(lines)
    document = {"robots": [{"name": name, **_summary(robot)} for name, robot in robots.items()]}
    answer(document, f"{text}\nOne of them in words: stiffarm robot show NAME", as_json, output)


@robot_app.command()
def show(
    robot: RobotName, as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False, output: Output = None
) -> None:
    """A robot in words: its joints, what bends, what it carries."""
    from dataclasses import asdict

    from stiffarm.robot.describe import describe
    from stiffarm.robot.reading import read_robot

    found = read_robot(robot)
    answer({**_summary(found), "description": asdict(found)}, describe(found), as_json, output)


@robot_app.command()
def check(
    file: RobotName, as_json: AsJson = False, seed: Seed = 0, quiet: Quiet = False, output: Output = None
) -> None:
    """Every error of a robot file, with its place."""
    from stiffarm.errors import InputError
    from stiffarm.robot.reading import read_robot

    try:
        robot = read_robot(file)
        _check_priors(robot, file)
    except InputError as error:
        show_problems(error)
        if as_json:
            answer({"file": file, "ok": False, "problems": [_problem(one) for one in error.problems]}, "", as_json)
        raise typer.Exit(2) from None
    from stiffarm.model.compensator_scale import scale_warnings

    warn_all(scale_warnings(robot))
    document = {"file": file, "ok": True, "problems": [], **_summary(robot)}
    answer(document, f"{file}: no problems found\n{_five_lines(robot)}", as_json, output)


@robot_app.command()
def convert(
    robot: RobotName,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="A .robot.toml or a .urdf.")],
    convention: Annotated[Convention | None, typer.Option(help="How the joints are stated in a robot file.")] = None,
    base: Annotated[str | None, typer.Option(metavar="LINK", help="First link of the arm in a URDF.")] = None,
    tip: Annotated[str | None, typer.Option(metavar="LINK", help="Last link of the arm in a URDF.")] = None,
    original: Annotated[
        Path | None, typer.Option(metavar="URDF", help="Of a model: correct the joint origins of this URDF.")
    ] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Robot file, URDF, DH; or a model, calibrated."""
    from stiffarm.robot.convert import convert_robot

    stated: Target | None = None if convention is None else convention.value
    _refuse_unused(robot, original=original, stated=stated, base=base, tip=tip)
    if robot.lower().endswith(".json"):
        _convert_model(robot, output, original, stated, as_json)
        return
    written = convert_robot(robot, output, stated, base=base, tip=tip)
    document = {"file": str(output), **_summary(written)}
    answer(document, f"wrote {output}: {written.name}, {_kinds(written)}", as_json)


def _refuse_unused(
    robot: str, *, original: Path | None, stated: Target | None, base: str | None, tip: str | None
) -> None:
    """An option that would change nothing is a misunderstanding, and is said."""
    from stiffarm.errors import InputError, Problem

    is_model = robot.lower().endswith(".json")
    if original is not None and not is_model:
        what = "a URDF can only be corrected by a model"
        raise InputError(Problem(what, robot, column="--original", allowed="a model file, MODEL.json"))
    if original is not None and stated is not None:
        what = "the corrected URDF is a URDF and has no convention to choose"
        raise InputError(Problem(what, str(original), column="--convention", found=stated))
    for option, value in (("--base", base), ("--tip", tip)):
        if is_model and value is not None:
            what = "base and tip choose the arm in a URDF; a model has its robot already"
            raise InputError(Problem(what, robot, column=option, found=value))


def _convert_model(model: str, output: Path, original: Path | None, stated: Target | None, as_json: bool) -> None:
    """The calibrated robot of a model file: a new file, or the user's own URDF with corrected origins."""
    from stiffarm.compensate.calibrated import calibrated_robot, no_springs, write_calibrated_original
    from stiffarm.compensate.model_file import read_model
    from stiffarm.robot.convert import convert_robot

    known = read_model(model)
    robot = calibrated_robot(known.model, known.values)
    if original is None:
        convert_robot(robot, output, stated)
        if negative := no_springs(known.values):
            warn_all([f"{output}: no springs, left as they were in the robot file: {', '.join(negative)} (negative)"])
    else:
        write_calibrated_original(known.model, known.values, original, output)
    answer({"file": str(output), **_summary(robot)}, f"wrote {output}: the calibrated {robot.name}", as_json)


def _check_priors(robot: Robot, file: str) -> None:
    """A prior is about parameters, which only the model of the robot knows."""
    import re
    from dataclasses import replace

    from stiffarm.errors import InputError
    from stiffarm.model.arm_model import ArmModel
    from stiffarm.robot.library import find_robot_file
    from stiffarm.robot.toml_source import toml_source

    try:
        _ = ArmModel.of(robot).parameters
    except InputError as error:
        source = toml_source(find_robot_file(file).content, file)
        problems = []
        for problem in error.problems:
            number = re.match(r"prior\[(\d+)\]", problem.column or "")
            row = source.row(("prior", int(number[1]) - 1)) if number else None
            problems.append(replace(problem, file=file, row=row))
        raise InputError(problems) from None


def _kinds(robot: Robot) -> str:
    kinds = [joint.kind for joint in robot.joints]
    named = [f"{kinds.count(kind)} {kind}" for kind in ("revolute", "prismatic") if kind in kinds]
    return f"{' + '.join(named)}, {robot.convention}"


def _five_lines(robot: Robot) -> str:
    from stiffarm.robot.arm import RESERVED_POINTS

    springs = [joint.name for joint in robot.joints if joint.compliance is not None]
    loose = [joint.name for joint in robot.joints if joint.limits is None]
    weight = sum(joint.mass for joint in robot.joints) + robot.tool.mass
    rows = {
        "robot": f"{robot.name} ({_kinds(robot)})",
        "joints": ", ".join(robot.joint_names) + (f"; no limits: {', '.join(loose)}" if loose else ""),
        "elastic": f"joints {', '.join(springs) or 'none'}; {len(robot.links)} link{'s' * (len(robot.links) != 1)}; "
        + (f"{weight:g} kg of weights" if weight else "no weights given"),
        "markers": ", ".join(robot.marker_names) or "none",
        "loads at": ", ".join((*robot.load_point_names, *RESERVED_POINTS)),
    }
    return "\n".join(f"  {name:8} {text}" for name, text in rows.items())


def _summary(robot: Robot) -> dict[str, Any]:
    return {
        "title": robot.name,
        "convention": robot.convention,
        "joints": [
            {"name": joint.name, "type": joint.kind, "limits": joint.limits, "compliance": joint.compliance}
            for joint in robot.joints
        ],
        "links": [link.after for link in robot.links],
        "markers": robot.marker_names,
        "load_points": robot.load_point_names,
    }


def _problem(problem: Problem) -> dict[str, Any]:
    from dataclasses import asdict

    return {**asdict(problem), "message": str(problem)}


robot_app.command("frames")(robot_frames)
