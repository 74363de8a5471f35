"""`stiffarm validate`: a model judged on data it was not fitted to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from stiffarm.cli.common import AsJson, Output, Quiet, Seed, answer, warn_all


def validate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file of identify.")],
    campaigns: Annotated[list[Path], typer.Argument(metavar="CAMPAIGN", help="Campaign files, not fitted.")],
    refit: Annotated[
        Literal["none", "frame", "tool"],
        typer.Option(help="Fit on these rows: frames of unknown setups; tool adds markers and tool rotation."),
    ] = "frame",
    loads: Annotated[Literal["model", "torque", "none"], typer.Option(help="What bends the arm.")] = "torque",
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
    found = validate_model(estimate, campaign, refit=refit, loads=loads, files=campaigns)
    warn_all((*campaign.warnings, *found.notes))
    document = {
        "rows": found.rows,
        "rms[m]": found.rms_m,
        "rms[rad]": found.rms_rad,
        "max[m]": found.max_m,
        "nominal_rms[m]": found.nominal_rms_m,
        "refit": found.refit,
        "by_setup": dict(found.by_setup),
        "verdict": {"usable": found.verdict.usable, "reasons": list(found.verdict.reasons)},
    }
    lines = ["USABLE" if found.verdict.usable else "NOT USABLE", *(f"  - {r}" for r in found.verdict.reasons)]
    lines += [f"{found.rows} readings; largest error {(found.max_m or 0) * 1e3:.3g} mm; refitted: {found.refit}"]
    lines += [f"  setup {name}: {error * 1e3:.4g} mm" for name, error in found.by_setup.items()]
    answer(document, "\n".join(lines), as_json, output)
    return 0 if found.verdict.usable else 1
