"""`stiffarm map`: where the arm is stiff, and where a part is best put."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stiffarm.cli.common import AsJson, Quiet, Seed, answer, warn_all, write_text
from stiffarm.cli.pulls import ForceFrame, MillingFile

if TYPE_CHECKING:
    from stiffarm.cli.map_answers import Answer
    from stiffarm.compensate.model_file import KnownModel
    from stiffarm.compensate.placing import Part
    from stiffarm.compensate.stiffness_map import Pull

DEFAULT_FORCE_N = 1000.0


def map(
    model: Annotated[str, typer.Argument(help="A model file, a robot file or a packaged robot.")],
    over: Annotated[
        str | None,
        typer.Option(
            metavar="REGION", help='"x=1..2/11,y=0,z=0.5..1/6[m]" or "A2=-90..-30/13[deg]"; default: upright section.'
        ),
    ] = None,
    tool: Annotated[
        str | None, typer.Option(metavar="DIRECTION", help="down (default), out, or a rotation vector RX,RY,RZ[deg].")
    ] = None,
    force: Annotated[
        str | None, typer.Option(metavar="F", help="1000N: the worst direction; or X,Y,Z[N]. Default 1000N.")
    ] = None,
    force_frame: ForceFrame = "world",
    load_point: Annotated[str, typer.Option(metavar="NAME", help="Where the force acts.")] = "tool",
    marker: Annotated[str, typer.Option(metavar="NAME", help="The point whose deflection is asked about.")] = "tool",
    free: Annotated[
        list[str], typer.Option(metavar="NAME", help="A rail, or a turn of the tool (rx ry rz), that may be chosen.")
    ] = [],  # noqa: B006
    hold: Annotated[
        list[str], typer.Option(metavar="JOINT=VALUE", help="A joint that stands still, e.g. E1=2m, A4=0deg.")
    ] = [],  # noqa: B006
    part: Annotated[
        Path | None, typer.Option(metavar="PATH", help="A .path.csv, shifted over the region with its loads.")
    ] = None,
    milling: MillingFile = None,
    by: Annotated[Literal["rms", "worst"], typer.Option(help="What a placement of a part is judged by.")] = "rms",
    best: Annotated[bool, typer.Option("--best", help="Say where; status 1 when nowhere.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="CSV", help="Write the rows.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="HTML", help="Write the map as a page.")] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """How much the tool gives way to a force, place by place.

    Every posture that reaches a place within the limits is compared and the stiffest away from singularities taken.
    With --part a path is put to every place and judged as a whole.
    """
    from stiffarm.compensate.model_file import read_model
    from stiffarm.compensate.pulling import Asking

    known = read_model(model)
    if known.unusable is not None:
        warn_all([f"{known.file}: this model failed its validation: {known.unusable}"])
    worst = force is None or "," not in force
    if part is None:
        if milling is not None:
            raise _refused("--milling", "milling forces follow a path", "--part PATH beside it")
        pull = _pull(force, force_frame, load_point, marker)
        found = _map(known, over, tool or "down", pull, tuple(free), _standing(known, hold), quiet)
    else:
        if tool is not None:
            raise _refused("--tool", "a path says itself how the tool is turned", "--tool without --part")
        asking = None
        if not worst or milling is not None:
            asking = Asking.of(force_frame, force, None, None if load_point == "tool" else load_point, milling)
        asked, pull = _part(known, part, asking, marker), None
        if not asked.pulled:
            pull = _pull(force, force_frame, load_point, marker)
        elif worst and force is not None:
            raise _refused("--force", "the path states its loads, and so does '--force'", "one of the two")
        elif worst and load_point != "tool":
            raise _refused("--load-point", "a load point needs a load", "--force beside it")
        found = _place(known, asked, over, pull, tuple(free), _standing(known, hold), by, quiet)
    warn_all(found.warnings)
    if output is not None:
        from stiffarm.measure.writing import write_table

        write_table(output, list(found.columns), list(found.columns.values()))
    if picture is not None:
        write_text(picture, found.page())
    document: dict[str, Any] = {"model": model, "part": None if part is None else str(part), **found.document}
    answer(document, found.best_text if best else found.text, as_json)
    return 0 if found.reached or not best else 1


def _refused(option: str, what: str, allowed: str, found: str | None = None) -> Exception:
    from stiffarm.errors import InputError, Problem, found_text

    return InputError(Problem(what, None, None, option, None if found is None else found_text(found), allowed))


def _pull(force: str | None, frame: Literal["world", "tool"], load_point: str, marker: str) -> Pull:
    """A size, in the worst direction, or three components."""
    from stiffarm.compensate.pulling import vector
    from stiffarm.compensate.stiffness_map import Pull
    from stiffarm.units import parse_quantity

    if force is None:
        return Pull(DEFAULT_FORCE_N, None, frame, load_point, marker)
    if "," not in force:
        size = parse_quantity(force, "force", key="--force")
        if size <= 0.0:
            raise _refused("--force", "a force has a size", "more than 0 N", force)
        return Pull(size, None, frame, load_point, marker)
    x, y, z = vector(force, "force", "--force")
    size = (x * x + y * y + z * z) ** 0.5
    if size == 0.0:
        raise _refused("--force", "a force has a size", "more than 0 N", force)
    return Pull(size, (x / size, y / size, z / size), frame, load_point, marker)


def _standing(known: KnownModel, hold: list[str]) -> dict[str, float]:
    """Values of joints that stand still, rad or m."""
    from stiffarm.units import parse_quantity

    found = {}
    for text in hold:
        name, equals, value = text.partition("=")
        kinds = {joint.name: joint.kind for joint in known.robot.joints}
        if not equals or name not in kinds:
            raise _refused("--hold", "this is no joint with its value", f"such as {next(iter(kinds))}=0deg", text)
        found[name] = parse_quantity(value, "angle" if kinds[name] == "revolute" else "length", key="--hold")
    return found


def _map(
    known: KnownModel, over: str | None, tool: str, pull: Pull, free: tuple[str, ...], standing: dict[str, float],
    quiet: bool,
) -> Answer:  # fmt: skip
    from dataclasses import replace

    from stiffarm.cli.map_answers import map_answer
    from stiffarm.cli.progress import Progress
    from stiffarm.compensate.choices import standing_joints
    from stiffarm.compensate.region import read_pointing, read_region, section_of
    from stiffarm.compensate.stiffness_map import deflection_map

    if over is None:
        arm = known.arm()
        region = replace(section_of(arm, standing_joints(arm, True, free, standing)), pointing=read_pointing(tool))
    else:
        region = read_region(over, known.robot, tool)
    with Progress("places", quiet) as progress:
        found = deflection_map(known, region, pull, free=free, standing=standing, progress=progress.tell)
    return map_answer(known, found)


def _part(known: KnownModel, path: Path, asking: Any, marker: str) -> Part:
    from stiffarm.compensate.placing import Part
    from stiffarm.compensate.pulling import Asking
    from stiffarm.compensate.wishing import wish_of
    from stiffarm.measure.paths import read_path

    source = read_path(path, known.robot)
    wish = wish_of(source, known.nominal()).under(asking or Asking(), source, known.robot)
    warn_all(source.warnings)
    return Part.of(wish.wished, source.row, seen=marker)


def _place(
    known: KnownModel, part: Part, over: str | None, pull: Pull | None, free: tuple[str, ...],
    standing: dict[str, float], by: Literal["rms", "worst"], quiet: bool,
) -> Answer:  # fmt: skip
    from stiffarm.cli.map_answers import part_answer
    from stiffarm.cli.progress import Progress
    from stiffarm.compensate.placed import placed_path
    from stiffarm.compensate.placing import as_it_stands, place_part
    from stiffarm.compensate.region import read_region

    if over is None:
        allowed = 'such as "x=1..2/11,y=-1..1/9[m]": places of its middle; what is not named stays'
        raise _refused("--over", "where the part may stand is not said", allowed)
    region = read_region(over, known.robot, needs=())
    with Progress("placements", quiet) as progress:
        found = place_part(known, part, region, pull, free=free, standing=standing, judged=by, progress=progress.tell)
    here = place_part(known, part, as_it_stands(part), pull, free=free, standing=standing, judged=by)
    path = None if found.best is None else placed_path(known, found, found.best, pull, free=free, standing=standing)
    return part_answer(known, found, path, here)
