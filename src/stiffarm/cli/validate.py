"""`stiffarm validate`: a model judged on data it was not fitted to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stiffarm.cli.common import AsJson, Exactly, Output, Quiet, Seed, answer, warn_all

if TYPE_CHECKING:
    from stiffarm.identify.iso9283 import Iso9283

MOST_POSES = 20


def validate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of identify.")],
    campaigns: Annotated[list[Path], typer.Argument(metavar="CAMPAIGN", help="Campaign files, not fitted.")],
    refit: Annotated[
        Literal["none", "frame", "tool"],
        typer.Option(help="Fit on these rows: frames of unknown setups; tool adds markers and tool rotation."),
    ] = "frame",
    loads: Annotated[Literal["model", "torque", "none"], typer.Option(help="What bends the arm.")] = "torque",
    exact: Exactly = False,
    output: Output = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Judge a model on a campaign it was not fitted to."""
    from stiffarm.identify.known import model_of
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.identify.validation import validate_model
    from stiffarm.measure.merging import read_campaigns

    estimate = read_estimate(model)
    campaign = read_campaigns(campaigns, model_of(estimate, model.parent).robot)
    found = validate_model(estimate, campaign, refit=refit, loads=loads, files=campaigns, exact=exact)
    warn_all((*campaign.warnings, *found.notes))
    document = {
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
        "iso9283": None if found.iso9283 is None else _iso_document(found.iso9283),
        "notes": list(found.notes),
    }
    lines = ["USABLE" if found.verdict.usable else "NOT USABLE", *(f"  - {r}" for r in found.verdict.reasons)]
    lines += [f"{found.rows} readings; largest error {(found.max_m or 0) * 1e3:.3g} mm; refitted: {found.refit}"]
    lines += [f"  setup {name}: {error * 1e3:.4g} mm" for name, error in found.by_setup.items()]
    if found.iso9283 is not None:
        lines += _iso_lines(found.iso9283)
    answer(document, "\n".join(lines), as_json, output)
    return 0 if found.verdict.usable else 1


def _iso_document(iso: Iso9283) -> dict[str, Any]:
    poses = [
        {
            "experiment": p.experiment,
            "setup": p.setup,
            "marker": p.marker,
            "n": p.n,
            "AP[m]": p.ap_m,
            "RP[m]": p.rp_m,
            "AP[rad]": p.ap_rad,
            "RP[rad]": p.rp_rad,
        }
        for p in iso.poses
    ]
    return {"AP[m]": iso.ap_m, "RP[m]": iso.rp_m, "poses": poses}


def _iso_lines(iso: Iso9283) -> list[str]:
    """The table of ISO 9283, the least accurate poses first."""
    from stiffarm.identify.iso9283 import ASKED_REPEATS

    fewest = min(p.n for p in iso.poses)
    few = f"; the standard asks for {ASKED_REPEATS} repeats, here as few as {fewest}" if fewest < ASKED_REPEATS else ""
    lines = ["", f"ISO 9283 (AP against the model, RP){few}"]
    lines.append(f"{'experiment':<22} {'marker':<10} {'n':>4} {'AP um':>9} {'RP um':>9}")
    ordered = sorted(iso.poses, key=lambda p: -p.ap_m)
    lines += [
        f"{p.experiment[:22]:<22} {p.marker[:10]:<10} {p.n:>4} {1e6 * p.ap_m:>9.1f} {1e6 * p.rp_m:>9.1f}"
        for p in ordered[:MOST_POSES]
    ]
    if len(ordered) > MOST_POSES:
        lines.append(f"the {MOST_POSES} least accurate of {len(ordered)}; --json has all of them")
    return lines
