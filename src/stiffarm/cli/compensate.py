"""`stiffarm compensate`: a path so corrected that the loaded arm follows the wished one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stiffarm.cli.common import WIDTH, AsJson, Quiet, Seed, answer, tell, warn_all
from stiffarm.cli.handover import AllowAbsoluteAccuracy, Base, Blend, MostPoints, Speed, Targets, Tool, cell_of
from stiffarm.cli.pulls import ConstantForce, ConstantTorque, ForceFrame, LoadPoint, MillingFile

if TYPE_CHECKING:
    from stiffarm.compensate.cell import Cell
    from stiffarm.compensate.compensating import Compensation
    from stiffarm.compensate.languages import Handover, Language
    from stiffarm.compensate.model_file import KnownModel
    from stiffarm.compensate.programs.placing import Placed
    from stiffarm.compensate.wishing import Wish
    from stiffarm.measure.paths import PathFile

MOST_SHOWN = 10


def compensate(
    model: Annotated[str, typer.Argument(help="A model file, a robot file or a packaged robot.")],
    path: Annotated[
        Path, typer.Argument(metavar="PATH", help="A .path.csv (joints or poses, forces) or a program (.src, .mod).")
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it.")] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="LANGUAGE", help="csv, krl, rapid. [default: by the ending of -o]")
    ] = None,
    controller: Annotated[
        Literal["nominal", "model"], typer.Option(help="Whose kinematics the controller inverts when told a pose.")
    ] = "nominal",
    force_frame: ForceFrame = "world",
    force: ConstantForce = None,
    torque: ConstantTorque = None,
    load_point: LoadPoint = None,
    milling: MillingFile = None,
    free: Annotated[
        list[str], typer.Option(metavar="NAME", help="A rail, or a turn of the tool (rx ry rz), that may be chosen.")
    ] = [],  # noqa: B006
    allow_unusable: Annotated[
        bool, typer.Option("--allow-unusable", help="Use a model whose verdict is no; the output says so.")
    ] = False,
    allow_absolute_accuracy: AllowAbsoluteAccuracy = False,
    targets: Targets = None,
    base: Base = [],  # noqa: B006
    tool: Tool = [],  # noqa: B006
    speed: Speed = None,
    blend: Blend = None,
    most_points: MostPoints = 5000,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Threads.")] = 2,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Correct a path so that the bent tool goes where it was sent.

    Joints: the tool shall be where the nominal robot has it at them. Poses: it shall be there. A program of a
    controller is corrected in place: its points change, every other byte stays.
    """
    from stiffarm.cli.progress import Progress
    from stiffarm.compensate.compensating import How
    from stiffarm.compensate.compensating import compensate as run
    from stiffarm.compensate.languages import Handover
    from stiffarm.compensate.model_file import read_model
    from stiffarm.compensate.pulling import Asking

    cell = cell_of(targets, base, tool, speed, blend, most_points)
    asking = Asking.of(force_frame, force, torque, load_point, milling)
    known = read_model(model)
    allowed = _allowed(known, allow_unusable)
    job = _opened(path, known, cell, to, output)
    if output is not None:
        allowed += _accuracy(known, job.writer, allow_absolute_accuracy)
        job.writer.refuse(output, len(job.source), cell)
    wish = job.wish.under(asking, job.source, known.robot)
    with Progress("points", quiet) as progress:
        found = run(known, job.source, wish, How(controller, tuple(free), workers), progress.tell)
    warn_all((*allowed, *job.warnings, *found.warnings))
    found = job.named(found).saying(_notes(known, found, wish), allowed)
    handover = Handover(known, job.source, found.remarks(), allow_absolute_accuracy, cell)
    written = _write(job.writer, handover, found, output)
    document = _document(found, model, path, job.writer.name, written) | job.document
    answer(document, _text(found, written), as_json)
    return 0 if found.path.complete else 1


@dataclass(frozen=True)
class _Job:
    """What is corrected, and how it is written."""

    writer: Language
    source: PathFile
    wish: Wish
    program: Placed | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        if self.program is None:
            return ()
        from stiffarm.compensate.programs.correcting import told_warnings

        return told_warnings(self.program)

    def named(self, found: Compensation) -> Compensation:
        """Refused points by the names a program gives them."""
        if self.program is None:
            return found
        from stiffarm.compensate.programs.correcting import named

        return named(found, self.program)

    @property
    def document(self) -> dict[str, Any]:
        if self.program is None:
            return {}
        left = [{"point": one.name, "row": one.row, "why": one.why} for one in self.program.left]
        return {"corrected": [point.name for point in self.program.points], "left": left}


def _opened(path: Path, model: KnownModel, cell: Cell, to: str | None, output: Path | None) -> _Job:
    """A path file, or a program that is corrected in place."""
    from stiffarm.compensate.programs.parts import is_program

    if is_program(path):
        from stiffarm.compensate.programs.correcting import language_of_program, opened

        program = opened(path, model, cell, to, output)
        return _Job(language_of_program(program), program.source, program.wish, program)
    from stiffarm.compensate.languages import language_of
    from stiffarm.compensate.wishing import wish_of
    from stiffarm.measure.paths import read_path

    writer = language_of(to, output)
    source = read_path(path, model.robot)
    return _Job(writer, source, wish_of(source, model.nominal()))


def _allowed(model: KnownModel, allow: bool) -> tuple[str, ...]:
    from stiffarm.errors import InputError, Problem

    if model.unusable is None:
        return ()
    if not allow:
        raise InputError(
            Problem(
                "this model failed its validation, so nothing is corrected with it",
                file=model.file,
                found=model.unusable,
                next_step="Measure more, or say --allow-unusable; the output will carry the reason",
            )
        )
    return (f"MODEL NOT USABLE, allowed by option: {model.unusable}",)


def _accuracy(model: KnownModel, writer: Language, allow: bool) -> tuple[str, ...]:
    from stiffarm.compensate.handing_over import absolute_accuracy_notes

    return absolute_accuracy_notes(model.robot, allowed=allow, program=not writer.partial, file=model.file)


def _notes(model: KnownModel, found: Compensation, wish: Wish) -> tuple[str, ...]:
    from stiffarm.compensate.handing_over import loads_note

    kinematics = "the robot file" if found.path.kinematics == "nominal" else "the model"
    return (
        f"corrected with {Path(model.file).name}; poses are told to a controller that inverts {kinematics}",
        loads_note(wish.wished, model.robot),
    )


def _write(writer: Language, handover: Handover, found: Compensation, output: Path | None) -> list[str]:
    if output is None:
        return []
    if not found.path.complete and not writer.partial:
        tell(f"{output} is not written: a program must not leave points out")
        return []
    return [str(one) for one in writer.writer()(found.path, handover, output)]


def _document(found: Compensation, model: str, path: Path, to: str, written: list[str]) -> dict[str, Any]:
    row = found.path.row
    return {
        "model": model,
        "path": str(path),
        "points": len(found.path),
        "iterations": found.iterations,
        "max_residual[m]": found.max_residual_m,
        "removed": found.removed,
        "removed_elastic": found.removed_elastic,
        "before[m]": found.before_m,
        "left[m]": found.left_m,
        "worst": None if found.worst is None else {"row": found.worst[0], "left[m]": found.worst[1]},
        "refused": [{"row": one.row, "reason": one.reason} for one in found.path.refused],
        "near_singular": [{"row": int(row[i]), "spread": float(found.spread[i])} for i in found.near_singular],
        "warnings": list(found.warnings),
        "controller": found.path.kinematics,
        "language": to,
        "written": written,
    }


def _text(found: Compensation, written: list[str]) -> str:
    import textwrap

    n, refused = len(found.path), found.path.refused
    lines = [f"{n - len(refused)} of {n} points corrected in {found.iterations} steps"]
    if found.max_residual_m is not None:
        lines.append(f"the model's own residual: at most {1e9 * found.max_residual_m:.3g} nm")
    if found.removed is not None and found.before_m is not None and found.left_m is not None:
        lines.append(
            f"error of the tool (rms): {1e3 * found.before_m:.4g} mm before, {1e3 * found.left_m:.4g} mm after"
        )
        lines.append(f"  {100 * found.removed:.2f} % removed")
    if found.removed_elastic is not None:
        lines.append(f"  {100 * found.removed_elastic:.2f} % of the bending alone")
    if found.worst is not None:
        lines.append(f"  least certain: row {found.worst[0]}, {1e3 * found.worst[1]:.3g} mm")
        lines.append("  after: by the intervals of the parameters; stiffarm budget adds the rest")
    if found.sigma is None:
        lines.append("no uncertainty is stated: what is left is what the numbers are wrong by")
    lines += [
        f"row {found.path.row[i]} is near a singularity: the tool moves {found.spread[i]:.2g} of its joints"
        for i in found.near_singular[:MOST_SHOWN]
    ]
    if len(found.near_singular) > MOST_SHOWN:
        lines.append(f"and {len(found.near_singular) - MOST_SHOWN} more near a singularity")
    lines += [f"REFUSED row {one.row}: {one.reason}" for one in refused[:MOST_SHOWN]]
    if len(refused) > MOST_SHOWN:
        lines.append(f"and {len(refused) - MOST_SHOWN} more refused")
    wrapped = [textwrap.fill(line, WIDTH, subsequent_indent="    ") for line in lines]
    return "\n".join([*wrapped, *(f"wrote {one}" for one in written)])
