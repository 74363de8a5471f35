"""What pages are made of: sections of words, tables and figures, as data.

Nothing here is HTML.  The one template (`page.html`) writes every part and escapes every word, so that names from
files stay names; whoever makes a page states what it holds.  See `stiffarm.report.page.page_html`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from stiffarm.report.chart import Chart
from stiffarm.report.scene import Scene

Panel = Chart | Scene


@dataclass(frozen=True)
class Words:
    """A paragraph; ``tone`` is empty, ``small`` (a remark) or ``caution`` (something to beware of)."""

    text: str
    tone: str = ""
    kind: ClassVar[str] = "words"


@dataclass(frozen=True)
class Bullets:
    """Sentences of equal rank."""

    items: tuple[str, ...]
    kind: ClassVar[str] = "bullets"


@dataclass(frozen=True)
class Table:
    """Rows of words under headings."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()
    """Columns of numbers."""
    code: frozenset[int] = frozenset()
    """Columns of names from files."""
    hidden: bool = False
    """Whether the caption is only heard, where a heading says the same."""
    kind: ClassVar[str] = "table"

    @property
    def long(self) -> frozenset[int]:
        """Columns of sentences, which need room."""
        return frozenset(
            i for i in range(len(self.heads)) if i not in self.numeric and any(len(row[i]) > 32 for row in self.rows)
        )


@dataclass(frozen=True)
class Facts:
    """What is so, one line each."""

    rows: tuple[tuple[str, str], ...]
    title: str = ""
    kind: ClassVar[str] = "facts"


@dataclass(frozen=True)
class Figure:
    """A picture with what it shows, said in a sentence, and its numbers in words."""

    slug: str
    """Name of its file and anchor: letters, digits and dashes; the page's own, never a file's."""
    title: str
    reading: str
    """What this shows, in one sentence with its main number."""
    panels: tuple[Panel, ...]
    table: Table | None = None
    """The same as words, for those who do not see it."""
    wide: bool = False
    """Takes the whole width."""
    kind: ClassVar[str] = "figure"


@dataclass(frozen=True)
class Beside:
    """Parts that stand beside one another where there is room."""

    parts: tuple[Part, ...]
    kind: ClassVar[str] = "beside"


@dataclass(frozen=True)
class Folded:
    """Parts behind a line that opens them; on paper only what was opened."""

    summary: str
    parts: tuple[Part, ...]
    kind: ClassVar[str] = "folded"


Part = Words | Bullets | Table | Facts | Figure | Beside | Folded


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    slug: str
    title: str
    parts: tuple[Part, ...]
    short: str = ""
    """Its name in the list of contents; empty: the title."""


@dataclass(frozen=True)
class Answer:
    """Yes or no with its reasons: what a page says first."""

    good: bool
    words: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Page:
    """A page: what it is about, what it answers, what stands below."""

    title: str
    kicker: str
    """What kind of page it is, over the title."""
    sections: tuple[Section, ...]
    answer: Answer | None = None
    lead: str = ""
    """The page in a sentence or two."""
    facts: tuple[tuple[str, str], ...] = field(default=())
    """Few large numbers under the lead: (what, value)."""


def figures_of(page: Page) -> tuple[Figure, ...]:
    """Every figure of a page in its order."""
    return tuple(figure for section in page.sections for part in section.parts for figure in _within(part))


def _within(part: Part) -> tuple[Figure, ...]:
    if isinstance(part, Figure):
        return (part,)
    if isinstance(part, Beside | Folded):
        return tuple(figure for one in part.parts for figure in _within(one))
    return ()
