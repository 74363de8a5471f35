"""`stiffarm papers`: each printed figure beside ours, with verdict and reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from stiffarm.cli.common import AsJson, Output, Quiet, Seed, answer

if TYPE_CHECKING:
    from rich.console import Group

    from stiffarm.papers.items import PaperItem
    from stiffarm.papers.registry import Paper


def papers(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="000, 001, ...; all by default.")] = None,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    output: Output = None,
) -> None:
    """Printed figures of papers beside ours, with verdicts.

    `-o FILE.html` writes a page with the plots of the papers drawn from our numbers.
    """
    from dataclasses import asdict

    from stiffarm.papers.registry import papers_named

    found = [(paper, paper.items()) for paper in papers_named(names or ())]
    document = {"items": [asdict(item) for _, items in found for item in items]}
    if output is not None and output.suffix.lower() in (".html", ".htm"):
        from stiffarm.cli.common import write_text
        from stiffarm.papers.page import page_of
        from stiffarm.report.page import page_html

        write_text(output, page_html(page_of(found)))
        output = None
    answer(document, _page(found), as_json, output)


def _page(found: list[tuple[Paper, tuple[PaperItem, ...]]]) -> Group:
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    colours = {"reproduced": "green", "not reproducible": "yellow", "wrong": "red"}
    parts: list[Text | Table | Padding] = []
    for paper, items in found:
        table = Table(box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("", justify="right")
        table.add_column("figure")
        table.add_column("published", justify="right")
        table.add_column("ours", justify="right")
        table.add_column("verdict", no_wrap=True)
        for number, item in enumerate(items, start=1):
            verdict = Text(item.verdict, style=colours[item.verdict])
            table.add_row(str(number), _figure(item), _shown(item.published), _shown(item.ours), verdict)
        parts += [Text(f"{paper.name}  {paper.title}", style="bold"), table]
        reasons: dict[str, list[int]] = {}
        for number, item in enumerate(items, start=1):
            reasons.setdefault(item.why, []).append(number)
        for why, numbers in reasons.items():
            parts.append(Padding(Text(f"{', '.join(map(str, numbers))}: {why}."), (0, 0, 0, 1)))
        parts.append(Text(""))
    return Group(*parts)


def _figure(item: PaperItem) -> str:
    return item.item if item.unit == "1" else f"{item.item} ({item.unit})"


def _shown(value: float | str | None) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.5g}"
