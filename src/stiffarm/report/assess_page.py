"""The page of an assessment: every parameter a mark in its place, how well each is told, and what can be told at all.

Parameters of joints, markers and the base stand in rows of their owner, those of a 6x6 link in its matrix.  Four shapes
and colours say the group: told alone, told in combination with others, merged into such a combination, not seen.
"""

from __future__ import annotations

import re

from stiffarm.identifiability.assessment import Assessment
from stiffarm.identifiability.words import cautions, combination_text, sentences
from stiffarm.model.chain import AXES
from stiffarm.report.chart import NARROW, WIDE, Axis, Chart, Mark, Points, Rule, Shape, Spans
from stiffarm.report.model_parameters import CLASSES
from stiffarm.report.page import page_html
from stiffarm.report.palette import Role
from stiffarm.report.parts import Answer, Facts, Figure, Page, Part, Section, Table, Words

GROUPS: dict[str, tuple[str, Role, Shape]] = {
    "alone": ("told alone (G1)", "model", "circle"),
    "told": ("told together with others, as a combination (G3)", "geometry", "diamond"),
    "merged": ("merged into such a combination (G3)", "second", "square"),
    "nothing": ("not seen at all (G2)", "nominal", "triangle"),
}
LEAST_NU, MOST_NU = 0.1, 1000.0
_PAIR = re.compile(r"^(link\d+)\.compliance\[(\w+),(\w+)\]$")


def assess_page(assessment: Assessment) -> str:
    """The assessment as one HTML page."""
    a = assessment
    said = sentences(a)
    warned = tuple(Words(f"{one[0].upper()}{one[1:]}.", "caution") for one in cautions(a))
    unseen = len(a.groups.nothing) + len(a.groups.merged)
    count = len(a.groups.names)
    words = "Everything can be told" if not unseen else "Not everything can be told"
    parts: list[Part] = [*warned, places_figure(a)]
    links = links_figure(a)
    sure = sureness_figure(a)
    parts += [figure for figure in (links, sure) if figure is not None]
    sections = (
        Section("every", "Every parameter", tuple(parts), "Parameters"),
        Section("told", "What can be told", (_table(a),), "Table"),
        Section("asked", "What was asked", (Facts(_circumstances(a)),), "Question"),
    )
    facts = (
        ("parameters asked for", str(count)), ("numbers that can be told", str(len(a.groups.base))),
        ("told alone", str(len(a.groups.alone))), ("not seen", str(len(a.groups.nothing))),
    )  # fmt: skip
    answer = Answer(not unseen, words, tuple(said))
    return page_html(Page(f"What can be told of {a.robot.name}", "Assessment", sections, answer, "", facts))


def _circumstances(a: Assessment) -> tuple[tuple[str, str], ...]:
    rows = [("read", f"{a.readings} of {', '.join(a.markers)}"), ("load", str(a.load))]
    rows += [("configurations", str(a.configurations)), ("gap behind the last number told", f"{a.groups.gap:.1e}")]
    return tuple(rows if a.planned else [*rows, ("seed", str(a.question.seed))])


def states(a: Assessment) -> dict[str, str]:
    """``alone``, ``told``, ``merged`` or ``nothing`` for every parameter."""
    told = {c.name for group in a.groups.together for c in group.told}
    merged, alone = set(a.groups.merged), set(a.groups.alone)
    return {
        name: "alone" if name in alone else "told" if name in told else "merged" if name in merged else "nothing"
        for name in a.groups.names
    }


def places_figure(a: Assessment) -> Figure:
    """Everything that is no 6x6 link: owners down, what of them across."""
    state = {name: group for name, group in states(a).items() if not _PAIR.match(name)}
    cells = {name: _cell(name) for name in state}
    owners, kinds = (tuple(dict.fromkeys(cell[i] for cell in cells.values())) for i in (0, 1))
    titles = _titles(a)
    across, down = (kinds, owners) if len(kinds) > len(owners) else (owners, kinds)
    order = 1 if len(kinds) > len(owners) else 0
    rows = [(across.index(c[order]), down.index(c[1 - order]), state[n], titles[n]) for n, c in cells.items()]
    axes = Axis("", names=across, code=True), Axis("", names=down, code=True)
    chart = Chart(*axes, _marks(rows), height=70.0 + 30.0 * len(down), width=960.0 if len(across) > 8 else WIDE)
    seen = sum(group in ("alone", "told") for group in state.values())
    reading = f"{seen} of {len(state)} parameters of joints, tool and base carry a number that can be told."
    return Figure("places", "Joints, tool and base", reading, (chart,), wide=len(across) > 8)


def _cell(name: str) -> tuple[str, str]:
    """Owner of a parameter and what of it: row and column.

    >>> _cell("A2.offset"), _cell("tool.P1.x"), _cell("A2.compensator.s0"), _cell("load.gain")
    (('A2', 'offset'), ('tool.P1', 'x'), ('A2', 'compensator.s0'), ('load', 'gain'))
    """
    owner, mark, rest = name.partition(".compensator.")
    if mark:
        return owner, f"compensator.{rest}"
    owner, _, kind = name.rpartition(".")
    return owner, kind


def links_figure(a: Assessment) -> Figure | None:
    """Every 6x6 link as its matrix."""
    state, titles = states(a), _titles(a)
    links = sorted({m[1] for name in state if (m := _PAIR.match(name))}, key=lambda link: int(link[4:]))
    if not links:
        return None
    panels = []
    axes = tuple(AXES)
    for link in links:
        rows = []
        for name, group in state.items():
            m = _PAIR.match(name)
            if m and m[1] == link:
                rows.append((axes.index(m[3]), axes.index(m[2]), group, titles[name]))
        names = Axis("", names=axes, code=True)
        panels.append(Chart(names, names, _marks(rows), link, 240.0, NARROW))
    seen = sum(group in ("alone", "told") for name, group in state.items() if _PAIR.match(name))
    count = sum(bool(_PAIR.match(name)) for name in state)
    reading = (
        f"{seen} of {count} entries carry a number that can be told. Row: motion; column: load; a place without a "
    )
    reading += "mark stands for its mirror image."
    return Figure("links", "Compliances of the links", reading, tuple(panels), wide=True)


def _marks(rows: list[tuple[int, int, str, str]]) -> tuple[Mark, ...]:
    """Points by group, so that each has its shape and legend."""
    found = []
    for group, (words, colour, shape) in GROUPS.items():
        own = [row for row in rows if row[2] == group]
        if own:
            x, y = (tuple(float(row[i]) for row in own) for i in (0, 1))
            found.append(Points(x, y, colour, shape, words, tuple(row[3] for row in own)))
    return tuple(found)


def sureness_figure(a: Assessment) -> Figure | None:
    """How well: |value| / std of every number that is told, when noise is known."""
    judged = [p for p in a.practical if p.nu is not None]
    if not judged:
        return None
    low, high = a.question.nu
    marks: list[Mark] = []
    for kind, _, colour, _ in CLASSES:
        own = [(i, p) for i, p in enumerate(judged) if p.kind == kind]
        if own:
            ends = tuple(min(max(p.nu or 0.0, LEAST_NU), MOST_NU) for _, p in own)
            texts = tuple(f"{p.name}: {p.nu:.3g}, std {p.sigma:.2g} (SI)" for _, p in own)
            at = tuple(float(i) for i, _ in own)
            marks.append(Spans(at, (LEAST_NU,) * len(own), ends, colour, 0.7, kind, texts))
    marks += [Rule(low, "x", "ink", words=f"{low:g}"), Rule(high, "x", "ink", words=f"{high:g}")]
    axis = Axis("size / standard deviation", LEAST_NU, MOST_NU, log=True)
    names = Axis("", names=tuple(p.name for p in judged), code=True)
    chart = Chart(axis, names, tuple(marks), height=70.0 + 18.0 * len(judged))
    sure = sum(p.kind == "identifiable" for p in judged)
    reading = f"{sure} of {len(judged)} are identifiable (beyond {high:g}); below {low:g} a number is negligible."
    rows = tuple((p.name, f"{p.sigma:.2e}", f"{p.nu:.3g}", p.kind) for p in judged)
    heads = ("parameter", "std (SI)", "size / std", "class")
    table = Table("How well each is told", heads, rows, frozenset({1, 2}), frozenset({0}))
    return Figure("sureness", "How well", reading, (chart,), table)


def _titles(a: Assessment) -> dict[str, str]:
    """What a mark says when pointed at."""
    told = {c.name: c for c in a.groups.base}
    practical = {p.name: p for p in a.practical}
    titles = {}
    for name, state in states(a).items():
        text = combination_text(told[name]) if state == "told" else f"{name}: {GROUPS[state][0]}"
        p = practical.get(name)
        if p is not None and p.nu is not None:
            text += f"; {p.kind}, size / std {p.nu:.2g}"
        titles[name] = text
    return titles


def _table(a: Assessment) -> Table:
    practical = {p.name: p for p in a.practical}
    rows = []
    for c in a.groups.base:
        text = combination_text(c) if c.others else "itself"
        p = practical.get(c.name)
        known = ("", "", "") if p is None or p.nu is None else (f"{p.sigma:.2e}", f"{p.nu:.2f}", p.kind)
        rows.append((c.name, text, *(known if practical else ())))
    heads = ("parameter", "what can be told", *(("std (SI)", "size / std", "class") if practical else ()))
    return Table("What can be told", heads, tuple(rows), frozenset({2, 3}), frozenset({0}), hidden=True)
