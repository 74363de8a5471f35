"""What every command shares: its common options, how it answers, how it tells what went wrong.

The answer goes to the standard output: one JSON object with ``--json``, text for people otherwise.  Everything
else (warnings, progress, problems) goes to the standard error.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stiffarm.errors import InputError, StiffarmWarning

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 80
MOST_PROBLEMS = 30


def _quieten(quiet: bool) -> bool:
    """Silence our warnings for this run (`main` restores the filters)."""
    if quiet:
        warnings.simplefilter("ignore", StiffarmWarning)
    return quiet


AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on the standard output, values SI.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of everything random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=_quieten, help="No warnings, no progress.")]
REDUCE_HELP = (
    "symmetric, beam:AXIS, plane:NORMAL, diagonal, own:a,b;a,b, zero:PATTERN, tie:NAME,NAME, neglect, use:FILE."
)
Exactly = Annotated[
    bool, typer.Option("--exact", help="Equilibria on true transforms, weights at work, instead of first order.")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the answer to a file.")]


def answer(document: Mapping[str, Any], text: RenderableType, as_json: bool, output: Path | None = None) -> None:
    """Give the answer: the document with ``--json``, the text otherwise; also into a file when one is named.

    A file whose name ends in ``.json`` gets the document, any other the text.
    """
    encoded = json_text(document) if as_json or _is_json(output) else ""
    if output is not None:
        write_text(output, encoded if _is_json(output) else plain_text(text))
    if as_json:
        sys.stdout.write(encoded)
    elif isinstance(text, str):
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    else:
        from rich.console import Console

        Console(highlight=False, markup=False, emoji=False).print(text)


def _is_json(output: Path | None) -> bool:
    return output is not None and output.suffix.lower() == ".json"


def json_text(document: Mapping[str, Any]) -> str:
    """A document as JSON in ASCII, numbers that are not finite as null."""
    return json.dumps(jsonable(document), indent=1, allow_nan=False) + "\n"


def jsonable(value: Any) -> Any:
    """Plain dicts, lists, numbers and texts of dataclass-free data with arrays in it.

    >>> jsonable({"rms[m]": float("nan"), "rows": (1, 2.5)})
    {'rms[m]': None, 'rows': [1, 2.5]}
    """
    if isinstance(value, Mapping):
        return {str(key): jsonable(one) for key, one in value.items()}
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        return jsonable(value.tolist())
    if isinstance(value, Iterable):
        return [jsonable(one) for one in value]
    return str(value)


def plain_text(text: RenderableType) -> str:
    """Text as it is printed to a file: 80 columns, no colours."""
    if isinstance(text, str):
        return text if text.endswith("\n") else text + "\n"
    import io

    from rich.console import Console

    page = io.StringIO()
    Console(file=page, width=WIDTH, no_color=True, highlight=False, markup=False, emoji=False).print(text)
    return page.getvalue()


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    from stiffarm.measure.writing import replace_file

    replace_file(path, text.encode())


def tell(text: str, quiet: bool = False) -> None:
    """A line for people that is no part of the answer."""
    if not quiet:
        print(text, file=sys.stderr)


def warn_all(sentences: Iterable[str]) -> None:
    """Show sentences as warnings."""
    for sentence in sentences:
        warnings.warn(sentence, StiffarmWarning, stacklevel=2)


def show_problems(error: InputError) -> None:
    """Every problem of an input on the standard error, one a line."""
    for problem in error.problems[:MOST_PROBLEMS]:
        print(f"error: {problem}", file=sys.stderr)
    if (more := len(error.problems) - MOST_PROBLEMS) > 0:
        print(f"error: {more} more like these.", file=sys.stderr)
