"""The published figures and ours as a page: verdicts first, then paper by paper the tables and the plots drawn anew.

Every plot is drawn from numbers computed here; what a paper prints stands beside them as grey marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stiffarm.papers.items import PaperItem, Verdict
from stiffarm.papers.registry import Paper
from stiffarm.report.chart import Axis, Chart, Points, Rule, Shape
from stiffarm.report.palette import Role
from stiffarm.report.parts import Figure, Page, Section, Table, Words

Computed = tuple[Paper, tuple[PaperItem, ...]]
LOOKS: dict[Verdict, tuple[Role, Shape]] = {
    "reproduced": ("yes", "circle"),
    "not reproducible": ("caution", "triangle"),
    "wrong": ("no", "diamond"),
}
MEANINGS: dict[Verdict, str] = {
    "reproduced": "computed again from what the paper states",
    "not reproducible": "inputs it needs are unpublished",
    "wrong": "contradicts its own inputs",
}


def page_of(found: Sequence[Computed]) -> Page:
    """The page of some papers."""
    items = [item for _, own in found for item in own]
    count = Counter(item.verdict for item in items)
    facts = tuple((verdict, str(count[verdict])) for verdict in LOOKS)
    meaning = "; ".join(f"{verdict}: {words}" for verdict, words in MEANINGS.items())
    return Page(
        "Printed and computed again",
        "papers",
        tuple(_section(paper, own) for paper, own in found),
        lead=f"{len(items)} figures of {len(found)} paper{'s' if len(found) > 1 else ''} beside ours. {meaning}.",
        facts=facts,
    )


def _section(paper: Paper, items: tuple[PaperItem, ...]) -> Section:
    beside = ratios(paper, items)
    drawn = (*(() if beside is None else (beside,)), *paper.figures())
    return Section(f"paper-{paper.name}", paper.title, (*drawn, _table(paper, items)), short=paper.name)


def _table(paper: Paper, items: tuple[PaperItem, ...]) -> Table | Words:
    rows = tuple(
        (item.item, shown(item.published), shown(item.ours), "" if item.unit == "1" else item.unit, item.verdict,
         item.why)
        for item in items
    )  # fmt: skip
    heads = ("figure", "published", "ours", "unit", "verdict", "why")
    return Table(f"Every figure of paper {paper.name}", heads, rows, frozenset({1, 2, 4}))


def ratios(paper: Paper, items: tuple[PaperItem, ...]) -> Figure | None:
    """Ours over the printed number, of all figures that are numbers on both sides."""
    known = [
        (item.verdict, item.item, item.ours / item.published)
        for item in items
        if isinstance(item.ours, float | int) and isinstance(item.published, float | int)
        and item.published * item.ours > 0.0
    ]  # fmt: skip
    if len(known) < 2:
        return None
    marks = []
    for verdict, (colour, shape) in LOOKS.items():
        at = [(float(i), ratio, name) for i, (own, name, ratio) in enumerate(known) if own == verdict]
        if at:
            texts = tuple(f"{name}: {ratio:.3g} times the printed one" for _, ratio, name in at)
            marks.append(Points(tuple(r for _, r, _ in at), tuple(i for i, *_ in at), colour, shape, verdict, texts))
    spread = [ratio for *_, ratio in known]
    names = tuple(name if len(name) < 46 else name[:44] + "..." for _, name, _ in known)
    chart = Chart(
        Axis("ours over the printed figure", min(0.8, 0.9 * min(spread)), max(1.25, 1.1 * max(spread)), log=True),
        Axis("", names=names),
        (Rule(1.0, "x"), *marks),
        height=60.0 + 17.0 * len(known),
    )
    near = sum(abs(ratio - 1.0) < 0.01 for ratio in spread)
    reading = f"{near} of {len(known)} printed numbers come out again within 1 %; a mark at 1 is the same number."
    rows = tuple((name, f"{ratio:.4g}", verdict) for verdict, name, ratio in known)
    table = Table("Ours over the printed figure", ("figure", "ratio", "verdict"), rows, frozenset({1}))
    return Figure(f"ratios-{paper.name}", "Printed and ours", reading, (chart,), table, wide=True)


def shown(value: float | str | None) -> str:
    """A figure as words.

    >>> shown(0.9712345), shown("9/0/27"), shown(None)
    ('0.97123', '9/0/27', '-')
    """
    if value is None:
        return "-"
    return value if isinstance(value, str) else f"{value:.5g}"
