"""Lines, words and shapes collected into an SVG drawing.

In a page colours are variables of its style, so that a drawing follows light and dark; in a file of its own they are
those of paper.  Every mark may say what it is when pointed at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Literal

from stiffarm.report.chart import Dash, Shape
from stiffarm.report.palette import LIGHT, Role

Anchor = Literal["start", "middle", "end"]
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Consolas, monospace"
_DASHES: dict[Dash, str] = {"solid": "", "dash": ' stroke-dasharray="8 4"', "dot": ' stroke-dasharray="2 3"'}
_CORNERS: dict[Shape, tuple[tuple[float, float], ...]] = {
    "circle": (),
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0, -1.2), (1.2, 1), (-1.2, 1)),
    "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
}


@dataclass
class Drawing:
    """Marks collected into one drawing."""

    themed: bool = True
    """Colours as variables of the page; else those of paper."""
    parts: list[str] = field(default_factory=list)

    def colour(self, colour: Role | str) -> str:
        """A role's colour as it is written, or a colour itself."""
        if colour.startswith("#") or colour == "none":
            return colour
        return f"var(--{colour})" if self.themed else LIGHT[colour]  # type: ignore[index]

    def line(
        self, x1: float, y1: float, x2: float, y2: float, colour: Role, width: float = 1.0, dash: Dash = "solid",
        title: str = "",
    ) -> None:  # fmt: skip
        """A straight line."""
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{self.colour(colour)}" '
            f'stroke-width="{width:g}"{_DASHES[dash]}>{_title(title)}</line>'
        )

    def path(
        self, points: Iterable[tuple[float, float]], colour: Role | str, width: float = 2.0, dash: Dash = "solid",
        title: str = "", mark: str = "", *, closed: bool = False, opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """A line through points, or the area they enclose."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        name = "polygon" if closed else "polyline"
        paint = self.colour(colour)
        look = (
            f'fill="{paint}" fill-opacity="{opacity:g}" stroke="{paint}"' if closed else f'fill="none" stroke="{paint}"'
        )
        own = f' class="{mark}"' if mark else ""
        self.parts.append(
            f'<{name}{own} points="{places}" {look} stroke-width="{width:g}" stroke-linejoin="round"{_DASHES[dash]}>'
            f"{_title(title)}</{name}>"
        )

    def text(
        self, x: float, y: float, words: str, colour: Role = "soft", anchor: Anchor = "start", size: float = 12.0, *,
        mono: bool = False, bold: bool = False, turn: float = 0.0,
    ) -> None:  # fmt: skip
        """Words at a place, turned counterclockwise by degrees."""
        turned = f' transform="rotate({-turn:g} {x:.1f} {y:.1f})"' if turn else ""
        look = f' font-family="{MONO}"' if mono else ""
        look += ' font-weight="600"' if bold else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{self.colour(colour)}" text-anchor="{anchor}"'
            f"{look}{turned}>{escape(words)}</text>"
        )

    def box(
        self, x: float, y: float, width: float, height: float, colour: Role | str, title: str = "", mark: str = "",
        opacity: float = 1.0,
    ) -> None:  # fmt: skip
        """A filled rectangle."""
        own = f' class="{mark}"' if mark else ""
        seen = f' fill-opacity="{opacity:.3g}"' if opacity != 1.0 else ""
        self.parts.append(
            f'<rect{own} x="{x:.1f}" y="{y:.1f}" width="{max(width, 1.0):.1f}" height="{max(height, 0.5):.1f}" '
            f'fill="{self.colour(colour)}"{seen}>{_title(title)}</rect>'
        )

    def dot(
        self, x: float, y: float, shape: Shape, colour: Role | str, title: str = "", *, ringed: bool = False,
        edge: bool = False, size: float = 3.4,
    ) -> None:  # fmt: skip
        """A mark of a shape."""
        look = f'class="mark" fill="{self.colour(colour)}"'
        if ringed:
            look += f' stroke="{self.colour("no")}" stroke-width="2.5"'
        elif edge:
            look += f' stroke="{self.colour("ink")}" stroke-width="0.6"'
        if shape == "circle":
            self.parts.append(f'<circle {look} cx="{x:.1f}" cy="{y:.1f}" r="{size:g}">{_title(title)}</circle>')
            return
        places = " ".join(f"{x + size * a:.1f},{y + size * b:.1f}" for a, b in _CORNERS[shape])
        self.parts.append(f'<polygon {look} points="{places}">{_title(title)}</polygon>')

    def dots(self, points: Iterable[tuple[float, float]], shape: Shape, colour: Role | str, size: float = 2.6) -> None:
        """Very many marks of one colour, as one path; none says what it is."""
        paint = self.colour(colour)
        if shape == "circle":
            path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in points)
            look = f'fill="none" stroke="{paint}" stroke-width="{2 * size:g}" stroke-linecap="round"'
        else:
            (a, b), *rest = _CORNERS[shape]
            ends = zip(rest, [(a, b), *rest], strict=False)
            steps = "".join(f"l{size * (c - e):.1f} {size * (d - f):.1f}" for (c, d), (e, f) in ends)
            path = "".join(f"M{x + size * a:.1f} {y + size * b:.1f}{steps}z" for x, y in points)
            look = f'fill="{paint}"'
        self.parts.append(f'<path class="marks" d="{path}" {look}/>')

    def boxes(
        self, corners: Iterable[tuple[float, float]], width: float, height: float, colour: Role | str, opacity: float
    ) -> None:
        """Very many rectangles of one size and colour, as one path."""
        one = f"h{width:.1f}v{height:.1f}h{-width:.1f}z"
        path = "".join(f"M{x:.1f} {y:.1f}{one}" for x, y in corners)
        self.parts.append(f'<path class="cells" d="{path}" fill="{self.colour(colour)}" fill-opacity="{opacity:.3g}"/>')

    def svg(self, width: float, height: float, label: str, *, inside: tuple[float, float] | None = None) -> str:
        """The drawing; ``inside`` places it in another one."""
        at = f'x="{inside[0]:g}" y="{inside[1]:g}" width="{width:g}" height="{height:g}" ' if inside else ""
        alone = "" if self.themed else f'<rect width="{width:g}" height="{height:g}" fill="{LIGHT["paper"]}"/>'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {at}viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="{escape(label)}" font-family="{FONT}">{alone}{"".join(self.parts)}</svg>'
        )


def _title(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""


def shortened(name: str, most: int = 26) -> str:
    """A name that fits beside an axis.

    >>> shortened("link1.compliance[rx,rz]", 12)
    'link1.compl…'
    """
    return name if len(name) <= most else name[: most - 1] + "…"


def widest(words: Sequence[str], per_letter: float = 6.6) -> float:
    """About how wide the longest of some words is at the usual size."""
    return per_letter * max((len(one) for one in words), default=0)
