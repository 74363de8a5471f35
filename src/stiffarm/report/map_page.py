"""The page of a map: where the arm is stiff or a part is best put, in a picture and in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stiffarm.report.map_figures import Drawn, map_figure
from stiffarm.report.parts import Answer, Bullets, Facts, Page, Part, Section


@dataclass(frozen=True, eq=False)
class MapText:
    """What a page says beside its picture."""

    title: str
    answer: Answer
    lead: str
    facts: Sequence[tuple[str, str]]
    """Few large numbers."""
    rows: Sequence[tuple[str, str]]
    """Best and worst place, how it was asked."""
    notes: Sequence[str]


def map_page(drawn: Drawn, text: MapText) -> Page:
    """The map as a page."""
    figure = map_figure(drawn)
    parts: list[Part] = [] if figure is None else [figure]
    parts.append(Facts(tuple(text.rows), "In numbers"))
    if text.notes:
        parts.append(Bullets(tuple(note[0].upper() + note[1:] for note in text.notes)))
    section = Section("region", "Over the region", tuple(parts))
    return Page(text.title, "Stiffness map", (section,), text.answer, text.lead, tuple(text.facts))
