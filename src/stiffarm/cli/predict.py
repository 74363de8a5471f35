"""`stiffarm predict`: where the tool is under load, how much of that is bending, how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from stiffarm.cli.common import AsJson, Quiet, Seed, answer, tell, warn_all
from stiffarm.cli.pulls import ConstantForce, ConstantTorque, ForceFrame, LoadPoint, MillingFile

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from stiffarm.compensate.predicting import Predicted

MOST_SHOWN = 20


def predict(
    model: Annotated[str, typer.Argument(help="A model file, a robot file or a packaged robot.")],
    plan: Annotated[Path, typer.Argument(metavar="PLAN|PATH", help="A .plan.csv, .campaign.csv or .path.csv.")],
    exact: Annotated[bool, typer.Option("--exact", help="Solve the equilibrium instead of first order.")] = False,
    setup: Annotated[str | None, typer.Option(metavar="NAME", help="Answer in the frame of this setup.")] = None,
    marker: Annotated[str | None, typer.Option(metavar="NAME", help="Ask about this point in every row.")] = None,
    cartesian: Annotated[
        Literal["stiffness", "compliance"] | None,
        typer.Option(help="Add the 6x6 of the asked point at the loaded equilibrium: K.x.x .. K.rz.rz, or C."),
    ] = None,
    force_frame: ForceFrame = "world",
    force: ConstantForce = None,
    torque: ConstantTorque = None,
    load_point: LoadPoint = None,
    milling: MillingFile = None,
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
    from stiffarm.compensate.predicting import ask, predict_asked
    from stiffarm.compensate.pulling import Asking

    asking = Asking.of(force_frame, force, torque, load_point, milling)
    known = read_model(model)
    at = None if setup is None else known.setup(setup)
    asked = ask(known, plan, marker=marker, asking=asking)
    predicted = predict_asked(known, asked, at, exact=exact)
    warn_all((*predicted.asked.warnings, *predicted.asked.leaving(known.domain, known.robot)))
    if known.unusable is not None:
        warn_all([f"{known.file}: this model failed its validation: {known.unusable}"])
    if cartesian is not None:
        from dataclasses import replace

        from stiffarm.compensate.cartesian_rows import cartesian_columns

        predicted = replace(predicted, more=cartesian_columns(known, predicted.asked, at, cartesian))
    if output is not None:
        predicted.write(output)
    beside = _beside_first_order(predicted, predict_asked(known, asked, at)) if exact else {}
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
    answer(document, _tables(predicted, setup or "world", cartesian), as_json)


def _beside_first_order(exact: Predicted, linear: Predicted) -> dict[str, float]:
    """How far first order is from the equilibrium, m, over the rows."""
    import numpy as np

    apart = np.linalg.norm(exact.pose[:3] - linear.pose[:3], axis=0)
    known = apart[np.isfinite(apart)]
    return {"max[m]": float(known.max(initial=0.0)), "rms[m]": float(np.sqrt(np.mean(known**2))) if known.size else 0.0}


def _tables(predicted: Predicted, frame: str, cartesian: str | None) -> RenderableType:
    from rich.console import Group

    table = _table(predicted, frame)
    return table if cartesian is None else Group(table, _cartesian_table(predicted, frame, cartesian))


def _cartesian_table(predicted: Predicted, frame: str, kind: str) -> Table:
    """The diagonal of what was asked for; the file and the object have all 36 numbers."""
    from rich import box
    from rich.table import Table

    letter, factors = ("K", (1e-6, 1.0)) if kind == "stiffness" else ("C", (1e6, 1e6))
    units = ("N/um", "N m/rad") if kind == "stiffness" else ("um/N", "urad/(N m)")
    table = Table(
        title=f"{kind} at the loaded equilibrium, frame '{frame}': {units[0]} and {units[1]}",
        caption="the diagonal; --json and -o give all 36 numbers",
        box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    axes = ("x", "y", "z", "rx", "ry", "rz")
    for name in ("row", *(f"{letter} {axis}" for axis in axes)):
        table.add_column(name, justify="right", no_wrap=True)
    diagonal = [next(v for h, v in predicted.more.items() if h.startswith(f"{letter}.{a}.{a}[")) for a in axes]
    for i in range(min(len(predicted.asked), MOST_SHOWN)):
        cells = [f"{factors[j > 2] * float(values[i]):.4g}" for j, values in enumerate(diagonal)]
        table.add_row(str(predicted.asked.row[i]), *cells)
    return table


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
