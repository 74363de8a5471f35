"""`stiffarm compare`: what changed between two models beyond noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from stiffarm.cli.common import AsJson, Output, Quiet, Seed, answer


def compare(
    first: Annotated[Path, typer.Argument(metavar="MODEL1", help="The earlier model.")],
    second: Annotated[Path, typer.Argument(metavar="MODEL2", help="The later model.")],
    output: Output = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """What changed between two models beyond noise: wear, a crash."""
    from stiffarm.identify.comparison import compare as run
    from stiffarm.identify.model_file import read_estimate

    found = run(read_estimate(first), read_estimate(second))
    document = {
        "changed": [{"name": c.name, "difference": c.difference, "std": c.std, "p": c.p} for c in found.changed],
        "compared": found.compared,
        "only_first": list(found.only_first),
        "only_second": list(found.only_second),
    }
    lines = [f"{len(found.changed)} of {found.compared} parameters changed beyond noise"]
    lines += [f"  {c.name}: {c.difference:+.4g} +- {c.std:.2g} (SI), p = {c.p:.2g}" for c in found.changed]
    for which, names in (("first", found.only_first), ("second", found.only_second)):
        if names:
            lines.append(f"only in the {which}: {' '.join(names)}")
    answer(document, "\n".join(lines), as_json, output)
    return 0
