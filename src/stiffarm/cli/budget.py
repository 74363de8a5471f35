"""`stiffarm budget`: how uncertain a place under load is, line by line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from stiffarm.cli.common import WIDTH, AsJson, Quiet, Seed, answer, warn_all

if TYPE_CHECKING:
    from stiffarm.compensate.budget import Budget, Question

MOST_SHOWN = 20
MOST_INPUTS = 8
"""Inputs of one line shown to people."""
TITLES = {
    "instrument": "instr.",
    "load": "load",
    "repeatability": "repeat.",
    "parameters": "params",
    "lack_of_fit": "lack fit",
    "scale": "scale",
}


def budget(
    model: Annotated[str, typer.Argument(help="A model file.")],
    plan: Annotated[Path, typer.Argument(metavar="PLAN|PATH", help="A .plan.csv, .campaign.csv or .path.csv.")],
    of: Annotated[
        Literal["reading", "place"] | None,
        typer.Option("--of", help="What is measured; default: a reading for a plan, the place for a path."),
    ] = None,
    setup: Annotated[str | None, typer.Option(metavar="NAME", help="Answer in the frame of this setup.")] = None,
    marker: Annotated[str | None, typer.Option(metavar="NAME", help="Ask about this point in every row.")] = None,
    gain_sigma: Annotated[
        float | None, typer.Option("--gain-sigma", min=0.0, help="Of the load of these points, e.g. 0.01; 0: exact.")
    ] = None,
    direction_sigma: Annotated[
        str | None, typer.Option("--direction-sigma", metavar="ANGLE", help="The same of its direction, 2mrad.")
    ] = None,
    coverage: Annotated[float, typer.Option("--k", min=0.1, help="Coverage factor of the expanded uncertainty.")] = 2.0,
    inputs: Annotated[bool, typer.Option("--inputs", help="Every row with all inputs and sensitivities.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="CSV", help="Write the rows.")] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """How uncertain a place under load is, by cause (JCGM 100).

    Per axis and in space. Every row gets instrument, load, repeatability, parameters, lack of fit and scale, combined
    and expanded. What is not known is said and left out of the sum.
    """
    from stiffarm.compensate.budget import LINES, ask, budget_of
    from stiffarm.compensate.model_file import read_model
    from stiffarm.units import parse_quantity

    turn = None if direction_sigma is None else parse_quantity(direction_sigma, "angle", key="--direction-sigma")
    known = read_model(model)
    question = ask(known, plan, marker=marker, setup=setup, gain_sigma=gain_sigma, direction_sigma_rad=turn)
    what: Literal["reading", "place"] = of or ("place" if question.use.plan is None else "reading")
    found = budget_of(question, what, coverage)
    warn_all((*found.asked.warnings, *found.asked.leaving(known.domain, known.robot)))
    if known.unusable is not None:
        warn_all([f"{known.file}: this model failed its validation: {known.unusable}"])
    if output is not None:
        found.write(output)
    document: dict[str, Any] = {
        "model": model,
        "plan": str(plan),
        "measurand": found.measurand,
        "frame": found.frame,
        "k": coverage,
        "lines": [
            {
                "name": name,
                "known": found.known(name),
                "within": found.within.get(name),
                "included": name in found.included,
                "source": text,
            }
            for name, text in found.sources.items()
        ],
        "complete": not found.missing,
        "missing": list(found.missing),
        "notes": list(found.notes),
        "rows": found.rows() if as_json else [],
    }
    if inputs and as_json:
        for row, made_of in enumerate(_inputs(question, len(found.asked))):
            document["rows"][row]["inputs"] = made_of
    assert set(found.sources) == set(LINES)
    answer(document, _text(found, question), as_json)


def _inputs(question: Question, rows: int) -> list[list[dict[str, Any]]]:
    """Of every row: name, line, unit, standard uncertainty, sensitivities and contributions."""
    from stiffarm.compensate.budget import every_part

    out: list[list[dict[str, Any]]] = [[] for _ in range(rows)]
    for numbers, made_of in every_part(question):
        for line, parts in made_of.items():
            for part in parts or ():
                for i, (name, unit) in enumerate(zip(part.names, part.units, strict=True)):
                    for j, row in enumerate(numbers):
                        c = part.columns[i, :, j]
                        u = float(part.u[i, j])
                        own = {"line": line, "name": name, "unit": unit, "u": u, "sensitivity_unit": f"m/({unit})"}
                        three = [float(one) for one in c]
                        out[row].append(own | {"sensitivity": three, "contribution[m]": [one * u for one in three]})
    return out


def _text(found: Budget, question: Question) -> str:
    import numpy as np

    size = np.sqrt((found.combined**2).sum(axis=0))
    if not np.isfinite(size).any():
        return "no line of the budget is known for any row\n"
    worst = int(np.nanargmax(size))
    lines = [
        _folded(
            f"{Path(found.asked.file).name}, frame '{found.frame}', uncertainty of a {found.measurand}; um, "
            f"root of the summed variances of x, y, z; U = {found.coverage:g} times the combined one"
        ),
        "",
        *_summary(found),
        "",
        *_worst(found, question, worst),
        "",
        "where the lines come from",
        *(_folded(f"  {name.replace('_', ' ')}: {text}") for name, text in found.sources.items()),
    ]
    if found.missing:
        named = ", ".join(name.replace("_", " ") for name in found.missing)
        lines += ["", _folded(f"not complete: {named} not known in every row and left out of the sum there")]
    lines += [_folded(f"note: {note}") for note in found.notes]
    return "\n".join(lines) + "\n"


def _summary(found: Budget) -> list[str]:
    """One line a row, the first of them."""
    import numpy as np

    asked, shown = found.asked, min(len(found.asked), MOST_SHOWN)
    head = [TITLES[name] if name in found.included else "(instr.)" for name in found.u]
    lines = [f"{'row':>4} {'point':<6}" + "".join(f"{name:>10}" for name in head) + f"{'U':>9}"]
    expanded = found.coverage * np.sqrt((found.combined**2).sum(axis=0))
    for i in range(shown):
        cells = "".join(f"{_cell(found, name, i):>10}" for name in found.u)
        point = asked.markers[asked.marker[i]]
        lines.append(f"{asked.row[i]:>4} {point[:6]:<6}{cells}{_um(float(expanded[i])):>9}")
    if shown < len(asked):
        lines.append(f"the first {shown} of {len(asked)} rows; -o FILE writes all of them")
    return lines


def _worst(found: Budget, question: Question, row: int) -> list[str]:
    """The whole table of the row with the largest uncertainty."""
    import numpy as np

    from stiffarm.compensate.budget import every_part

    lines = [
        f"row {found.asked.row[row]}, the most uncertain one, by input",
        f"{'input':<24}{'u':>10} {'unit':<11}{'|c| m/unit':>10}{'x um':>8}{'y um':>8}{'z um':>8}",
    ]
    for _, made_of in every_part(question, np.array([row])):
        for name, parts in made_of.items():
            if name in found.included:
                lines += _line(name.replace("_", " "), parts, found.within.get(name))
    total = found.combined[:, row]
    lines.append(f"{'combined':<56}" + "".join(f"{_um(float(u)):>8}" for u in total))
    lines.append(
        f"{f'expanded (k = {found.coverage:g})':<56}" + "".join(f"{_um(found.coverage * float(u)):>8}" for u in total)
    )
    return lines


def _cell(found: Budget, line: str, row: int) -> str:
    """A line of one row, root of the summed variances; a dash when another line holds it."""
    if line in found.within:
        return "-"
    return _um(float((found.u[line][:, row] ** 2).sum()) ** 0.5)


def _line(title: str, parts: Any, holder: str | None) -> list[str]:
    """A line of the budget and its largest inputs."""
    import numpy as np

    if parts is None:
        return [f"{title:<24}{'not known' if holder is None else 'in ' + holder.replace('_', ' ')}"]
    total = np.sqrt(np.sum([part.variance[:, 0] for part in parts], axis=0)) if parts else np.zeros(3)
    out = [f"{title:<56}" + "".join(f"{_um(float(u)):>8}" for u in total)]
    every = [(part, i) for part in parts for i in range(len(part.names))]
    every.sort(key=lambda one: -float(np.linalg.norm(one[0].contributions[one[1], :, 0])))
    used = [(part, i) for part, i in every if part.contributions[i, :, 0].any()]
    for part, i in used[:MOST_INPUTS]:
        c, u = part.columns[i, :, 0], float(part.u[i, 0])
        cells = "".join(f"{1e6 * float(one) * u:>8.1f}" for one in c)
        out.append(f"  {part.names[i][:21]:<22}{u:>10.3g} {part.units[i]:<11}{np.linalg.norm(c):>10.3g}{cells}")
    if len(used) > MOST_INPUTS:
        out.append(f"  and {len(used) - MOST_INPUTS} smaller ones")
    if any(part.correlation is not None for part in parts) and used:
        out[0] = f"{f'{title} (inputs correlated)':<56}" + "".join(f"{_um(float(u)):>8}" for u in total)
    return out


def _um(metres: float) -> str:
    return f"{1e6 * metres:.1f}" if metres == metres else "?"


def _folded(text: str) -> str:
    from textwrap import fill

    own = text[: len(text) - len(text.lstrip())]
    return fill(text.strip(), WIDTH, initial_indent=own, subsequent_indent=own + "    ")
