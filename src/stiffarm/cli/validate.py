"""`stiffarm validate`: a model judged on data it was not fitted to, and the poses to take them at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stiffarm.cli.common import AsJson, Exactly, Output, Quiet, Seed, answer, warn_all

if TYPE_CHECKING:
    from stiffarm.compensate.conformity import Conformity
    from stiffarm.identify.validation import Validation


def validate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Model file of identify; for --poses also a robot.")],
    campaigns: Annotated[
        list[Path] | None, typer.Argument(metavar="CAMPAIGN", help="Campaign files, not fitted.", show_default=False)
    ] = None,
    refit: Annotated[
        Literal["none", "frame", "tool"],
        typer.Option(help="Fit on these rows: frames of unknown setups; tool adds markers and tool rotation."),
    ] = "frame",
    loads: Annotated[Literal["model", "torque", "none"], typer.Option(help="What bends the arm.")] = "torque",
    exact: Exactly = False,
    requirement: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Largest error allowed along --over, e.g. 0.1mm.")
    ] = None,
    over: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The .path.csv that must keep it, run corrected.")
    ] = None,
    risk: Annotated[float, typer.Option(help="Of saying yes though it is not kept.")] = 0.05,
    poses: Annotated[
        Literal["iso9283"] | None, typer.Option(help="Write the plan of the standard's test poses instead (-o).")
    ] = None,
    cycles: Annotated[int, typer.Option(min=2, max=1000, help="Of --poses.")] = 30,
    tool: Annotated[str, typer.Option(metavar="DIRECTION", help="Of --poses: down, out, RX,RY,RZ[deg].")] = "down",
    within: Annotated[
        str | None, typer.Option(metavar="REGION", help='Of --poses: where the cube may be, "z=0.2..2[m]".')
    ] = None,
    output: Output = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Judge a model on a campaign it was not fitted to."""
    given = campaigns or []
    _check(given, requirement, over, poses)
    if poses is not None:
        return _poses(model, cycles, tool, within, output, as_json)
    from stiffarm.identify.known import model_of
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.identify.validation import validate_model
    from stiffarm.measure.merging import read_campaigns

    estimate = read_estimate(model)
    campaign = read_campaigns(given, model_of(estimate, Path(model).parent).robot)
    found = validate_model(estimate, campaign, refit=refit, loads=loads, files=given, exact=exact)
    warn_all((*campaign.warnings, *found.notes))
    path = None
    if requirement is not None and over is not None:
        path = _conformity(model, found, requirement, over, risk, seed)
    document = _document(found) | {"requirement": None if path is None else _conformity_document(path, found, over)}
    answer(document, "\n".join(_lines(found, path)), as_json, output)
    return 0 if found.verdict.usable and (path is None or path.conforms) else 1


def _check(campaigns: list[Path], requirement: str | None, over: Path | None, poses: str | None) -> None:
    """Options that need one another."""
    from stiffarm.errors import InputError, Problem

    if poses is not None:
        if campaigns or requirement is not None or over is not None:
            raise InputError(Problem("test poses are planned before anything is read", None, None, "--poses"))
        return
    if not campaigns:
        step = "Readings that were not fitted judge a model; --poses iso9283 plans where to take them"
        raise InputError(Problem("no campaign is named", None, None, "CAMPAIGN", next_step=step))
    if (requirement is None) != (over is None):
        missing = "--over" if over is None else "--requirement"
        raise InputError(
            Problem("a requirement holds over a path", None, None, missing, allowed="--requirement 0.1mm --over PATH")
        )


def _poses(model: str, cycles: int, tool: str, within: str | None, output: Path | None, as_json: bool) -> int:
    from stiffarm.cli.iso_text import cube_document, cube_lines
    from stiffarm.compensate.iso_cube import iso_campaign, iso_cube, read_within
    from stiffarm.compensate.model_file import read_model
    from stiffarm.compensate.region import read_pointing
    from stiffarm.measure.writing import write_campaign

    known = read_model(model)
    cube = iso_cube(known.nominal(), read_pointing(tool), read_within(within or "", known.robot))
    plan = iso_campaign(known.robot, cube, cycles)
    if output is not None:
        write_campaign(plan, output, units="mm,deg")
    lines = cube_lines(known.robot, cube, cycles)
    lines += [f"wrote {output}: {len(plan.readings)} rows"] if output else ["-o FILE.plan.csv writes the plan"]
    document = {"model": model, "plan": None if output is None else str(output)}
    answer(document | cube_document(known.robot, cube, cycles, len(plan.readings)), "\n".join(lines), as_json)
    return 0


def _conformity(model: str, found: Validation, requirement: str, over: Path, risk: float, seed: int) -> Conformity:
    from stiffarm.compensate.asked import read_asked
    from stiffarm.compensate.conformity import conformity
    from stiffarm.compensate.model_file import read_model
    from stiffarm.units import parse_quantity

    limit = parse_quantity(requirement, "length", key="--requirement")
    known = read_model(model)
    asked = read_asked(over, known.nominal())
    warn_all((*asked.warnings, *asked.leaving(known.domain, known.robot)))
    return conformity(known, asked, found, limit, risk=risk, seed=seed)


def _document(found: Validation) -> dict[str, Any]:
    from stiffarm.cli.iso_text import iso_document

    return {
        "rows": found.rows,
        "rms[m]": found.rms_m,
        "rms[rad]": found.rms_rad,
        "max[m]": found.max_m,
        "nominal_rms[m]": found.nominal_rms_m,
        "geometry_rms[m]": found.geometry_rms_m,
        "refit": found.refit,
        "by_setup": dict(found.by_setup),
        "verdict": {"usable": found.verdict.usable, "reasons": list(found.verdict.reasons)},
        "configurations": found.configurations,
        "fitted_before": {"readings": found.seen.fitted, "compared": found.seen.compared},
        "iso9283": None if found.iso9283 is None else iso_document(found.iso9283),
        "notes": list(found.notes),
    }


def _conformity_document(path: Conformity, found: Validation, over: Path | None) -> dict[str, Any]:
    return {
        "limit[m]": path.limit_m,
        "over": str(over),
        "risk": path.risk,
        "conforms": path.conforms and found.verdict.usable,
        "probability": path.probability,
        "expected[m]": path.expected_m,
        "kept[m]": path.kept_m,
        "guard_band[m]": path.guard_m,
        "acceptance_limit[m]": path.limit_m - path.guard_m,
        "parameters[m]": path.parameters_m,
        "lack_of_fit[m]": path.scatter.expected_m,
        "repeatability[m]": path.scatter.visit_m,
        "configurations": path.scatter.configurations,
        "setup": path.setup,
        "worst_row": path.worst_row,
        "points": path.points,
        "draws": path.draws,
        "seed": path.seed,
        "notes": list(path.notes),
    }


def _lines(found: Validation, path: Conformity | None) -> list[str]:
    from stiffarm.cli.iso_text import iso_lines

    lines = ["USABLE" if found.verdict.usable else "NOT USABLE", *_reasons(found)]
    lines += [f"{found.rows} readings; largest error {(found.max_m or 0) * 1e3:.3g} mm; refitted: {found.refit}"]
    lines += [f"  setup {name}: {error * 1e3:.4g} mm" for name, error in found.by_setup.items()]
    if found.iso9283 is not None:
        lines += iso_lines(found.iso9283)
    return lines if path is None else [*lines, "", *_conformity_lines(path, found)]


def _reasons(found: Validation) -> list[str]:
    import textwrap

    why = found.verdict.reasons
    return [part for r in why for part in textwrap.wrap(r, 78, initial_indent="  - ", subsequent_indent="    ")]


def _conformity_lines(path: Conformity, found: Validation) -> list[str]:
    import textwrap

    verdict = "CONFORMS" if path.conforms and found.verdict.usable else "DOES NOT CONFORM"
    why = "" if found.verdict.usable else " (the model itself is not usable)"
    lines = [f"{verdict}{why}", *textwrap.wrap(path.sentence(), 78, initial_indent="  ", subsequent_indent="  ")]
    lines += [f"  1 sigma: parameters {1e6 * path.parameters_m:.3g} um in space; along each axis lack of fit"]
    lines += [f"  {1e6 * path.scatter.expected_m:.3g} um, repeatability {1e6 * path.scatter.visit_m:.3g} um"]
    where = "the world" if path.setup is None else f"setup {path.setup}"
    lines += [f"  part located in {where}; largest most often at row {path.worst_row} of the path"]
    return lines + [
        part for note in path.notes for part in textwrap.wrap(note, 78, initial_indent="  ", subsequent_indent="  ")
    ]
