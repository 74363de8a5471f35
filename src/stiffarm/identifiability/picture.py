"""The picture of an assessment: every parameter a square, its colour the group, its mark how well it is told.

One self-contained page without scripts: the sentences, squares of joints, links (six by six) and placements, bars of
how well each number is told beside its noise (when that is known), and the table of what can be told.  A square names
its parameter when pointed at; a mark repeats the colour for eyes and printers that see none: filled dot told alone,
ring told in combination, dash merged into another, cross not seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html import escape

from stiffarm.identifiability.assessment import Assessment
from stiffarm.identifiability.groups import Combination
from stiffarm.identifiability.words import cautions, combination_text, sentences
from stiffarm.model.chain import AXES

CELL = 18
GAP = 28
PER_ROW = 4
COLOURS = {"alone": "#2b8a5a", "told": "#e0a030", "merged": "#f3dcae", "nothing": "#b9bdc4"}
MARKS = {"alone": "&#9679;", "told": "&#9675;", "merged": "&#8211;", "nothing": "&#215;"}
MEANINGS = {
    "alone": "told alone (G1)",
    "told": "told together with others, as a combination (G3)",
    "merged": "merged into such a combination (G3)",
    "nothing": "not seen at all (G2)",
}
CLASS_COLOURS = {"identifiable": "#2b8a5a", "uncertain": "#e0a030", "negligible": "#b9bdc4"}
WIDTH, LABEL, LINE = 760, 210, 16
LEAST_NU, MOST_NU = 0.1, 1000.0
_PAIR = re.compile(r"^(link\d+)\.compliance\[(\w+),(\w+)\]$")

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
svg text { font: 11px system-ui, sans-serif; } svg .mark { font-size: 13px; text-anchor: middle; }
table { border-collapse: collapse; font-size: 13px; } td, th { padding: 2px 10px 2px 0; text-align: left;
  border-bottom: 1px solid #dde1e6; vertical-align: top; } td.n { text-align: right; }
.caution { background: #fff4d6; padding: .4rem .8rem; } .legend > span { display: inline-block; margin-right: 1.4rem; }
figure { margin: 0; overflow-x: auto; } svg { max-width: 100%; min-width: 560px; height: auto; }
.wide { overflow-x: auto; } body { background: #fff; } p { overflow-wrap: anywhere; }
td:first-child, td.n { white-space: nowrap; }
.swatch { display: inline-block; width: 14px; text-align: center; margin-right: .4em; }
"""


def page(assessment: Assessment) -> str:
    """The assessment as one HTML page."""
    title = escape(f"What can be told of {assessment.robot.name}")
    words = "".join(f"<p>{escape(s)}</p>" for s in sentences(assessment))
    warned = "".join(f'<p class="caution">{escape(s[0].upper() + s[1:])}.</p>' for s in cautions(assessment))
    legend = "".join(
        f'<span><span class="swatch" style="background:{COLOURS[k]}">{MARKS[k]}</span>{MEANINGS[k]}</span>'
        for k in MEANINGS
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body><h1>{title}</h1>'
        f"{words}{warned}<p>{_circumstances(assessment)}</p><h2>Every parameter</h2>"
        f'<p class="legend">{legend}</p><figure>{_squares(assessment)}</figure>{_bars(assessment)}'
        f'<h2>What can be told</h2><div class="wide">{_table(assessment)}</div>'
        "</body></html>\n"
    )


def _circumstances(a: Assessment) -> str:
    text = f"{a.readings} of {', '.join(a.markers)}; load: {a.load}; {a.configurations} configurations; "
    text += f"gap behind the last number told: {a.groups.gap:.1e}"
    return escape(text if a.planned else f"{text}; seed {a.question.seed}")


def states(a: Assessment) -> dict[str, str]:
    """``alone``, ``told``, ``merged`` or ``nothing`` for every parameter."""
    told = {c.name for group in a.groups.together for c in group.told}
    merged = set(a.groups.merged)
    alone = set(a.groups.alone)
    return {
        name: "alone" if name in alone else "told" if name in told else "merged" if name in merged else "nothing"
        for name in a.groups.names
    }


def _squares(a: Assessment) -> str:
    """SVG: links as matrices, everything else in rows of its owner."""
    state = states(a)
    titles = _titles(a)
    links = sorted({m[1] for name in state if (m := _PAIR.match(name))}, key=lambda link: int(link[4:]))
    parts: list[str] = []
    y = 6
    for owner, names in _rows(state):
        parts.append(f'<text x="0" y="{y + 13}">{escape(owner)}</text>')
        for i, name in enumerate(names):
            label = name.rpartition(".")[2] if not name.endswith(".compliance") else "k"
            x = 110 + i * 64
            parts.append(_square(x, y, state[name], titles[name]))
            parts.append(f'<text x="{x + CELL + 4}" y="{y + 13}">{escape(label)}</text>')
        y += CELL + 4
    y += GAP
    for start in range(0, len(links), PER_ROW):
        for column, link in enumerate(links[start : start + PER_ROW]):
            parts.append(_matrix(link, 34 + column * (6 * CELL + 2 * GAP), y, state, titles))
        y += 6 * CELL + 2 * GAP
    return _svg(y - GAP if not links else y - 2 * GAP + 8, parts, "Every parameter and its group")


def _svg(height: float, parts: list[str], title: str) -> str:
    """A drawing that shrinks with a narrow window."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" '
        f'viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{title}">{"".join(parts)}</svg>'
    )


def _bars(a: Assessment) -> str:
    """How well: a bar of |value| / std for every number that is told, on a logarithmic scale."""
    judged = [p for p in a.practical if p.nu is not None]
    if not judged:
        return ""
    bottom = LINE * len(judged) + 22
    parts = []
    for bound in a.question.nu:
        x = _along(bound)
        parts.append(f'<line x1="{x:.1f}" y1="14" x2="{x:.1f}" y2="{bottom}" stroke="#1b1f24" stroke-dasharray="3 3"/>')
        parts.append(f'<text x="{x:.1f}" y="10" text-anchor="middle">{bound:g}</text>')
    for i, p in enumerate(judged):
        assert p.nu is not None
        y = 20 + LINE * i
        width = max(_along(p.nu) - LABEL, 2.0)
        parts.append(
            f'<g><title>{escape(p.name)}: {p.kind}, nu = {p.nu:.2g}</title><text x="{LABEL - 8}" y="{y + 10}" '
            f'text-anchor="end">{escape(p.name)}</text><rect x="{LABEL}" y="{y}" width="{width:.1f}" '
            f'height="{LINE - 4}" fill="{CLASS_COLOURS.get(p.kind, "#b9bdc4")}"/>'
            f'<text x="{LABEL + width + 6:.1f}" y="{y + 10}">{_ratio(p.nu)}</text></g>'
        )
    low, high = a.question.nu
    words = f"Size over standard deviation (nu): identifiable above {high:g}, negligible below {low:g}."
    return f"<h2>How well</h2><p>{words}</p><figure>{_svg(bottom, parts, 'How well each number is told')}</figure>"


def _ratio(nu: float) -> str:
    return f"{nu:.0f}" if nu >= 100.0 else f"{nu:.2g}"


def _along(nu: float) -> float:
    """Place of a ratio on the scale."""
    share = math.log(min(max(nu, LEAST_NU), MOST_NU) / LEAST_NU) / math.log(MOST_NU / LEAST_NU)
    return LABEL + share * (WIDTH - LABEL - 60)


def _rows(state: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    """Owner and names of everything that is no 6x6 link, at most ten a row."""
    owners: dict[str, list[str]] = {}
    for name in state:
        if not _PAIR.match(name):
            owners.setdefault(name.split(".compensator")[0].rpartition(".")[0] or name, []).append(name)
    for owner, names in owners.items():
        for start in range(0, len(names), 10):
            yield owner, names[start : start + 10]


def _matrix(link: str, x: int, y: int, state: dict[str, str], titles: dict[str, str]) -> str:
    """One 6x6 link; a square below the diagonal that stands for its mirror image is left out."""
    parts = [f'<text x="{x}" y="{y - 16}">{link}</text>']
    for i, axis in enumerate(AXES):
        parts.append(f'<text x="{x + i * CELL + 3}" y="{y - 3}">{axis}</text>')
        parts.append(f'<text x="{x - 16}" y="{y + i * CELL + 13}">{axis}</text>')
        for j, other in enumerate(AXES):
            name = f"{link}.compliance[{axis},{other}]"
            if name in state:
                parts.append(_square(x + j * CELL, y + i * CELL, state[name], titles[name]))
    return "".join(parts)


def _square(x: int, y: int, state: str, title: str) -> str:
    return (
        f'<g><title>{escape(title)}</title><rect x="{x}" y="{y}" width="{CELL - 1}" height="{CELL - 1}" '
        f'fill="{COLOURS[state]}"/><text class="mark" x="{x + CELL / 2 - 0.5}" y="{y + 13}">{MARKS[state]}</text></g>'
    )


def _titles(a: Assessment) -> dict[str, str]:
    """What a square says when pointed at."""
    told = {c.name: c for c in a.groups.base}
    practical = {p.name: p for p in a.practical}
    titles = {}
    for name, state in states(a).items():
        text = combination_text(told[name]) if state == "told" else f"{name}: {MEANINGS[state]}"
        p = practical.get(name)
        if p is not None and p.nu is not None:
            text += f"; {p.kind}, nu = {p.nu:.2g}, std {p.sigma:.2g} (SI)"
        titles[name] = text
    return titles


def _table(a: Assessment) -> str:
    practical = {p.name: p for p in a.practical}
    head = "<tr><th>parameter</th><th>what can be told</th>"
    head += "<th>std (SI)</th><th>nu</th><th>class</th></tr>" if practical else "</tr>"
    return f"<table>{head}{''.join(_line(c, a) for c in a.groups.base)}</table>"


def _line(combination: Combination, a: Assessment) -> str:
    text = combination_text(combination) if combination.others else "itself"
    cells = f"<td>{escape(combination.name)}</td><td>{escape(text)}</td>"
    p = next((p for p in a.practical if p.name == combination.name), None)
    if p is not None and p.nu is not None:
        cells += f'<td class="n">{p.sigma:.2e}</td><td class="n">{p.nu:.2f}</td><td>{p.kind}</td>'
    return f"<tr>{cells}</tr>"
