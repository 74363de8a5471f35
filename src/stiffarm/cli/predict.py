"""`stiffarm predict`: where the tool is under load, how much of that is bending, how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stiffarm.cli.common import AsJson, Quiet, Seed, answer, tell, warn_all

if TYPE_CHECKING:
    from rich.table import Table

    from stiffarm.compensate.predicting import Predicted

MOST_SHOWN = 20


def predict(
    model: Annotated[str, typer.Argument(help="A model file, a robot file or a packaged robot.")],
    plan: Annotated[Path, typer.Argument(metavar="PLAN|PATH", help="A .plan.csv, .campaign.csv or .path.csv.")],
    exact: Annotated[bool, typer.Option("--exact", help="Solve the equilibrium instead of first order.")] = False,
    setup: Annotated[str | None, typer.Option(metavar="NAME", help="Answer in the frame of this setup.")] = None,
    marker: Annotated[str | None, typer.Option(metavar="NAME", help="Ask about this point in every row.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="CSV", help="Write the rows.")] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Where the tool is under load, and how much is bending.

    Positions include the weights of links and tool; dx dy dz is the elastic part. In a row that is a
    deflection, dx dy dz is what the external load alone does.
    """
    from stiffarm.compensate.model_file import read_model
    from stiffarm.compensate.predicting import predict_file

    known = read_model(model)
    predicted = predict_file(known, plan, marker=marker, setup=setup, exact=exact)
    warn_all(predicted.asked.warnings)
    if known.unusable is not None:
        warn_all([f"{known.file}: this model failed its validation: {known.unusable}"])
    if output is not None:
        predicted.write(output)
    beside = _beside_first_order(predicted, predict_file(known, plan, marker=marker, setup=setup)) if exact else {}
    if beside:
        tell(f"first order differs by at most {1e6 * beside['max[m]']:.1f} um", quiet)
    document = {
        "model": model,
        "plan": str(plan),
        "method": "exact" if exact else "first order",
        "frame": setup or "world",
        "rows": predicted.rows() if as_json else [],
        **({"first_order_difference": beside} if beside else {}),
    }
    answer(document, _table(predicted, setup or "world"), as_json)


def _beside_first_order(exact: Predicted, linear: Predicted) -> dict[str, float]:
    """How far first order is from the equilibrium, m, over the rows."""
    import numpy as np

    apart = np.linalg.norm(exact.pose[:3] - linear.pose[:3], axis=0)
    known = apart[np.isfinite(apart)]
    return {"max[m]": float(known.max(initial=0.0)), "rms[m]": float(np.sqrt(np.mean(known**2))) if known.size else 0.0}


def _table(predicted: Predicted, frame: str) -> Table:
    from rich import box
    from rich.table import Table

    asked = predicted.asked
    shown = min(len(asked), MOST_SHOWN)
    more = f"\nthe first {shown} of {len(asked)} rows; -o FILE writes all of them" if shown < len(asked) else ""
    table = Table(
        title=f"{Path(asked.file).name}, frame '{frame}'",
        caption=f"sigma: root of the summed variances{more}" if predicted.sigma is not None else more.strip() or None,
        box=box.SIMPLE,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    columns = ("row", "point", "x mm", "y mm", "z mm", "dx um", "dy um", "dz um")
    for name in columns if predicted.sigma is None else (*columns, "sigma um"):
        table.add_column(name, justify="left" if name == "point" else "right", no_wrap=True)
    for i in range(shown):
        cells = [str(asked.row[i]), asked.markers[asked.marker[i]]]
        cells += [f"{1e3 * value:.3f}" for value in predicted.pose[:3, i]]
        cells += [f"{1e6 * value:.1f}" for value in predicted.elastic[:, i]]
        if predicted.sigma is not None:
            cells.append(f"{1e6 * float((predicted.sigma[:3, i] ** 2).sum()) ** 0.5:.1f}")
        table.add_row(*cells)
    return table
