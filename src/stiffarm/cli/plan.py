"""`stiffarm plan`: the measurements that are best for a use, with a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stiffarm.cli.common import AsJson, Quiet, Seed, answer, json_text, jsonable, tell, warn_all, write_text
from stiffarm.cli.plan_touches import plan_touches
from stiffarm.errors import InputError, Problem

if TYPE_CHECKING:
    from rich.console import Group

    from stiffarm.plan.options import Box, PlanOptions, Room
    from stiffarm.plan.problem import Plan
    from stiffarm.plan.sheet_campaign import SheetFiles
    from stiffarm.plan.shift import Manner

MOST_LINES = 40
DIRECTIONS = ("any", "vertical", "none")
Maybe = str | None
Patterns = list[str]
File = Path | None


def _text_option(metavar: str, words: str, **more: Any) -> Any:
    return typer.Option(metavar=metavar, help=words, **more)


Experiments = Annotated[int | None, _text_option("N", "Stops counted with repeats.", min=1)]
Poses = Annotated[int | None, _text_option("M", "Distinct stops; default as experiments.", min=1)]
Criterion = Annotated[
    Literal["test", "A", "D", "E", "O1", "O2", "O3", "O4", "O5"],
    typer.Option(help="What is made small; test: the error after compensation where the work is done."),
]
TestPose = Annotated[Maybe, _text_option("FILE|BOX", "Where the work is done: poses, a path, or a box.")]
Force = Annotated[Maybe, _text_option("FORCE", '4000N, or "0,0,-2600[N]".')]
LoadOption = Annotated[Patterns, _text_option("any|vertical|none|NAME", "Direction of the force; a load point.")]
Cable = Annotated[Maybe, _text_option("X,Y,Z[mm]", "Where a cable is attached.")]
CableBox = Annotated[Maybe, _text_option("BOX", 'Where it may be attached: "x=2..6,y=6,z=-0.891[m]".')]
ToolBox = Annotated[Maybe, _text_option("BOX", 'Where the tool stays: "z>=0.5[m]".')]
Geometry = Annotated[Literal["none", "offsets", "full"] | None, typer.Option(help="Default: full without a load.")]
Elastic = Annotated[Literal["none", "joints", "links"] | None, typer.Option(help="Default: joints with a load.")]
TemplateOption = Annotated[
    Literal["full", "symmetric", "beam", "diagonal"] | None, typer.Option(help="Of links, as in assess.")
]
Links = Annotated[Literal["base", "none"], typer.Option(help="Whether a link stands before the first joint.")]
Select = Annotated[Patterns, _text_option("PATTERN", "Ask for these parameters too.")]
Fix = Annotated[Patterns, _text_option("PATTERN", "Leave these out; wins.")]
Angles = Annotated[Patterns, _text_option("J=VALUES", 'Where alone a joint stands: "A2=0,-45,-90[deg]".')]
Observe = Annotated[
    Literal["deflection", "position", "pose", "touch"] | None, typer.Option(help="Default: deflection for compliances.")
]
Marker = Annotated[Patterns, _text_option("NAME", "A point that is read; repeatable.")]
BestMarkers = Annotated[int | None, _text_option("K", "Read the K markers that tell most.", min=1)]
Sigma = Annotated[Maybe, _text_option("LENGTH", "Of every number read; default 0.03mm.")]
SigmaRotation = Annotated[Maybe, _text_option("ANGLE", "Of rotations of poses.")]
InstrumentFile = Annotated[File, _text_option("FILE", "Settings (NAME.campaign.toml) of the instrument.")]
Station = Annotated[Maybe, _text_option("X,Y,Z[m]", "The tracker, world.")]
Sight = Annotated[Maybe, _text_option("NEAR..FAR[m]", "Distance from it to the markers.")]
Facing = Annotated[Maybe, _text_option("X,Y,Z", "Where markers look, flange axes.")]
SightAngle = Annotated[Maybe, _text_option("ANGLE", "Largest between that and the beam: 30deg.")]
MinDistance = Annotated[Maybe, _text_option("LENGTH", "Between the tool points of two poses.")]
CandidatesFile = Annotated[File, _text_option("FILE", "Choose out of these alone.")]
Add = Annotated[list[Path], _text_option("CAMPAIGN", "Measured anyway; repeatable.")]
NoCurve = Annotated[bool, typer.Option("--no-curve", help="Do not try other numbers of poses.")]
CellFile = Annotated[File, _text_option("FILE", "Obstacles (NAME.cell.toml) to keep clear of.")]
Clearance = Annotated[Maybe, _text_option("LENGTH", "Between bodies and obstacles; default 0.")]
CableClearance = Annotated[Maybe, _text_option("LENGTH", "Of the cable; default 50mm.")]
CableCone = Annotated[Maybe, _text_option("X,Y,Z:ANGLE", 'Where the cable pulls: "0,1,-1:40deg", world.')]
CableSteepest = Annotated[Maybe, _text_option("ANGLE", "Of the cable against the horizontal.")]
Order = Annotated[Literal["tour", "random"], typer.Option(help="In which order rounds are driven.")]
BothSides = Annotated[bool, typer.Option("--both-sides", help="Approach stops from both sides in turn.")]
ReferenceEvery = Annotated[int | None, _text_option("N", "Return to the first stop after N visits.", min=1)]
ReportFile = Annotated[File, _text_option("HTML", "The page of the plan.")]
SheetFile = Annotated[File, _text_option("FILE", "The operator's page, and a campaign to fill in.")]
KnownLength = Annotated[
    bool, typer.Option("--known-length", help="Touches: the distance of the first two points is measured.")
]
Verify = Annotated[int | None, _text_option("N", "Check by N virtual campaigns, identified.", min=2)]
PlanOutput = Annotated[File, typer.Option("--output", "-o", metavar="PLAN", help="Plan file to write.")]


def plan(
    robot: Annotated[str, typer.Argument(metavar="ROBOT", help="Robot file or packaged name.")],
    output: PlanOutput = None,
    experiments: Experiments = None,
    poses: Poses = None,
    criterion: Criterion = "test",
    test_pose: TestPose = None,
    force: Force = None,
    load: LoadOption = [],  # noqa: B006
    cable: Cable = None,
    cable_box: CableBox = None,
    tool_box: ToolBox = None,
    geometry: Geometry = None,
    elastic: Elastic = None,
    template: TemplateOption = None,
    links: Links = "base",
    select: Select = [],  # noqa: B006
    fix: Fix = [],  # noqa: B006
    angles: Angles = [],  # noqa: B006
    observe: Observe = None,
    marker: Marker = [],  # noqa: B006
    best_markers: BestMarkers = None,
    sigma: Sigma = None,
    sigma_rotation: SigmaRotation = None,
    instrument: InstrumentFile = None,
    station: Station = None,
    sight: Sight = None,
    facing: Facing = None,
    sight_angle: SightAngle = None,
    min_distance: MinDistance = None,
    candidates: CandidatesFile = None,
    add: Add = [],  # noqa: B006
    no_curve: NoCurve = False,
    cell: CellFile = None,
    clearance: Clearance = None,
    cable_clearance: CableClearance = None,
    cable_cone: CableCone = None,
    cable_steepest: CableSteepest = None,
    order: Order = "tour",
    both_sides: BothSides = False,
    reference_every: ReferenceEvery = None,
    sheet: SheetFile = None,
    report: ReportFile = None,
    verify: Verify = None,
    known_length: KnownLength = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """The measurements that are best for a use, and how much better any could be.

    With a force: compliances, from deflections. Without: geometry, from positions. Ctrl-C gives the best so far.
    """
    from stiffarm.cli.progress import Steps, interruptible
    from stiffarm.plan import texts
    from stiffarm.plan.api import plan as run
    from stiffarm.plan.options import PlanOptions

    (direction, load_point), (force_n, force_world) = _load(load), _force(force)
    options = PlanOptions(
        experiments=experiments, poses=poses, criterion=criterion, test_pose=_test_pose(test_pose),
        geometry=geometry, elastic=elastic, template=template, links=links, select=tuple(select), fix=tuple(fix),
        angles=_angles(angles, robot), observe=observe, markers=tuple(marker), best_markers=best_markers,
        sigma_m=_maybe(texts.length_of, sigma, "--sigma"), sigma_rad=_angle(sigma_rotation, "--sigma-rotation"),
        settings=instrument, force_n=force_n, force_world=force_world, direction=direction, load_point=load_point,
        cable=_cable(cable, cable_box), tool_box=_maybe(texts.box_of, tool_box, "--tool-box"),
        station_m=_maybe(texts.point_of, station, "--station"), sight_m=_maybe(texts.span_of, sight, "--sight"),
        facing=_maybe(texts.direction_of, facing, "--facing"), widest_rad=_angle(sight_angle, "--sight-angle"),
        min_distance_m=_maybe(texts.length_of, min_distance, "--min-distance") or 0.0,
        candidates=candidates, add=tuple(add), curve=not no_curve, seed=seed, verify=verify,
        room=_room(cell, clearance, cable_clearance, cable_cone, cable_steepest),
        manner=_manner(order, both_sides, reference_every, seed), known_length=known_length,
    )  # fmt: skip
    if observe == "touch":
        return plan_touches(robot, options, [sheet, report], output, as_json, quiet)
    files = _beside(sheet)
    with Steps(quiet) as steps, interruptible(quiet) as stop:
        made = run(robot, options, tell=steps.tell, stop=stop)
    written = [] if files is None else _sheet(made, files, robot, instrument)
    return _finish(made, options, output, [*written, *_report(made, report)], as_json, quiet)


def _beside(sheet: Path | None) -> SheetFiles | None:
    """The operator's page and the campaign to fill in."""
    from stiffarm.plan.sheet_campaign import sheet_files

    return None if sheet is None else sheet_files(sheet)


def _manner(order: Any, both_sides: bool, reference_every: int | None, seed: int) -> Manner:
    from stiffarm.plan.shift import Manner

    return Manner(order, both_sides, reference_every, seed)


def _room(cell: Path | None, clearance: Maybe, cable: Maybe, cone: Maybe, steepest: Maybe) -> Room:
    """What is kept clear of the arm and of the cable."""
    from stiffarm.plan import texts
    from stiffarm.plan.options import Room

    usual = Room()
    return Room(
        cell,
        usual.clearance_m if clearance is None else texts.length_of(clearance, "--clearance"),
        usual.cable_clearance_m if cable is None else texts.length_of(cable, "--cable-clearance"),
        _maybe(texts.cone_of, cone, "--cable-cone"),
        _angle(steepest, "--cable-steepest"),
    )


def _report(made: Plan, page: Path | None) -> list[Path]:
    """Write the page of the plan when it was asked for."""
    if page is None:
        return []
    from stiffarm.plan.words import document_of
    from stiffarm.report.plan_page import plan_page

    write_text(page, plan_page(jsonable(document_of(made)), made.problem.robot))
    return [page]


def _sheet(made: Plan, files: SheetFiles, robot: str, settings: Any) -> list[Path]:
    """The operator's page, and the campaign to fill in; the files that were written."""
    from stiffarm.plan.sheet_campaign import write_sheet_campaign
    from stiffarm.report.shift_page import page

    write_text(files.page, page(made, files.campaign.name, robot))
    write_sheet_campaign(made, files.campaign, settings)
    return [files.page, files.campaign]


def _finish(
    made: Plan, options: PlanOptions, output: Path | None, written: list[Path], as_json: bool, quiet: bool
) -> int:
    """Write what was asked for, then answer; 1 when the plan does not keep what it promises."""
    from stiffarm.plan.plan_file import write_plan
    from stiffarm.plan.words import document_of

    warn_all(made.notes)
    document = document_of(made)
    if output is not None and output.suffix.lower() == ".json":
        write_text(output, json_text(document))
    elif output is not None:
        write_plan(made, output, options.settings)
    answer(document, _text(made), as_json)
    for file in [] if as_json else [*([] if output is None else [output]), *written]:
        tell(f"wrote {file}", quiet)
    return 0 if made.verification is None or made.verification.agrees else 1


def _maybe(read: Any, text: str | None, option: str) -> Any:
    return None if text is None else read(text, option)


def _angle(text: str | None, option: str) -> float | None:
    from stiffarm.plan.texts import length_of

    return None if text is None else length_of(text, option, "angle")


def _load(texts: list[str]) -> tuple[Any, str | None]:
    """Direction and load point; each may be named once."""
    named = [text for text in texts if text not in DIRECTIONS]
    how = [text for text in texts if text in DIRECTIONS]
    if len(named) > 1 or len(how) > 1:
        raise InputError(
            Problem(
                "one direction and one load point can be named",
                column="--load",
                found=" ".join(texts),
                allowed="any, vertical or none; the name of a load point",
            )
        )
    return how[0] if how else None, named[0] if named else None


def _force(text: str | None) -> tuple[float | None, Any]:
    from stiffarm.plan.texts import force_of

    found = None if text is None else force_of(text, "--force")
    return (found, None) if found is None or isinstance(found, float) else (None, found)


def _cable(point: str | None, box: str | None) -> Box | None:
    from stiffarm.plan.options import Box
    from stiffarm.plan.texts import attachment_of, point_of

    if point is not None and box is not None:
        raise InputError(
            Problem(
                "a cable is attached at a point or in a box",
                column="--cable-box",
                found="--cable and --cable-box",
                allowed="one of them",
            )
        )
    if box is not None:
        return attachment_of(box, "--cable-box")
    if point is None:
        return None
    at = point_of(point, "--cable")
    return Box(at, at)


def _test_pose(text: str | None) -> Any:
    """A file, or a box of the world."""
    from stiffarm.plan.texts import box_of

    if text is None or not text.rstrip().endswith("]") or Path(text).exists():
        return text
    return box_of(text, "--test-pose")


def _angles(texts: list[str], robot: str) -> dict[str, tuple[float, ...]]:
    if not texts:
        return {}
    from stiffarm.plan.texts import angles_of
    from stiffarm.robot.reading import read_robot

    return dict(angles_of(text, "--angles", read_robot(robot)) for text in texts)


def _text(made: Plan) -> Group:
    """Words, then the table of parameters."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from stiffarm.plan.words import sentences

    table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("parameter", no_wrap=True)
    for name in ("nominal", "predicted std"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    parameters = {p.name: p for p in made.problem.asked.model.parameters}
    for name, std in list(made.predicted_std.items())[:MOST_LINES]:
        table.add_row(name, f"{parameters[name].nominal:.4g}", f"{std:.2e}", parameters[name].unit)
    parts: list[Text | Table] = [Text(sentence) for sentence in sentences(made)]
    parts.append(table)
    if (more := len(made.predicted_std) - MOST_LINES) > 0:
        parts.append(Text(f"{more} more lines: --json has all of them."))
    parts.append(Text(f"Seed {made.seed}, {made.seconds:.1f} s."))
    return Group(*parts)
