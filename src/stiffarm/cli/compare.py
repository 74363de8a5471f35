"""`stiffarm compare`: what changed between two models beyond noise."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Annotated

import typer

from stiffarm.cli.common import WIDTH, AsJson, Output, Quiet, Seed, answer


def compare(
    first: Annotated[Path, typer.Argument(metavar="MODEL1", help="The earlier model.")],
    second: Annotated[Path, typer.Argument(metavar="MODEL2", help="The later model.")],
    same_load: Annotated[
        bool, typer.Option("--same-load", help="One load cell measured both: its error cancels.")
    ] = False,
    significance: Annotated[
        float, typer.Option(min=1e-9, max=0.5, help="Chance of naming any change when there is none.")
    ] = 0.05,
    output: Output = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """What changed between two models beyond noise: wear, a crash."""
    from stiffarm.identify.comparison import compare as run
    from stiffarm.identify.model_file import read_estimate
    from stiffarm.identify.words import shown_unit

    models = read_estimate(first), read_estimate(second)
    found = run(*models, significance=significance, same_load=same_load)
    changed = {c.name for c in found.changed}
    document = {
        "changed": [{"name": c.name, "difference": c.difference, "std": c.std, "p": c.p} for c in found.changed],
        "compared": found.compared,
        "p_together": found.p_together,
        "parameters": [{"name": c.name, "difference": c.difference, "std": c.std, "p": c.p} for c in found.every],
        "not_compared": [{"name": n.name, "why": n.why} for n in found.not_compared],
        "notes": list(found.notes),
    }
    units = {p.name: p.unit for p in models[0].parameters}
    lines = [
        f"{len(changed)} of {found.compared} parameters changed beyond noise"
        if found.compared
        else "nothing could be compared: both models must tell a parameter, each with its uncertainty"
    ]
    for c in found.changed:
        factor, unit = shown_unit(units[c.name])
        lines.append(f"  {c.name}: {factor * c.difference:+.4g} +- {factor * c.std:.2g} {unit}, p = {c.p:.2g}")
    if found.p_together is not None:
        lines.append(f"all together: p = {found.p_together:.2g} of no change at all")
    reasons: dict[str, list[str]] = {}
    for n in found.not_compared:
        reasons.setdefault(n.why, []).append(n.name)
    lines += [f"not compared: {' '.join(names)} ({why})" for why, names in reasons.items()]
    lines += [f"note: {note}" for note in found.notes]
    lines = [part for line in lines for part in textwrap.wrap(line, WIDTH, subsequent_indent="    ")]
    answer(document, "\n".join(lines), as_json, output)
    return 0
