"""Pictures as SVG without scripts: a frame with ticks, and marks put into it.

A figure is drawn in a box 480 wide whose text stays readable on a phone (at 360 pixels by a factor 0.75) and on a desk.
Colours are CSS variables of the page, so a picture follows light and dark.  Every mark says what it is when pointed at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

WIDTH = 480
SHAPES = ("circle", "square", "triangle", "diamond")


@dataclass(frozen=True)
class Axis:
    """From numbers to places along one side of a figure."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Place of a number.

        >>> Axis(0.0, 10.0, 100.0, 200.0)(5.0), Axis(1.0, 100.0, 0.0, 10.0, log=True)(10.0)
        (150.0, 5.0)
        """
        low, high, at = (math.log(v) for v in (self.low, self.high, max(value, self.low))) if self.log else (
            self.low, self.high, value,
        )  # fmt: skip
        return self.begin + (self.end - self.begin) * (at - low) / ((high - low) or 1.0)

    def ticks(self) -> list[float]:
        """Round numbers along the axis.

        >>> Axis(0.0, 9.0, 0.0, 1.0).ticks()
        [0.0, 2.0, 4.0, 6.0, 8.0]
        >>> Axis(0.02, 3.0, 0.0, 1.0, log=True).ticks()
        [0.1, 1.0]
        """
        if self.log:
            return self._decades()
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step + 0.0 for i in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _decades(self) -> list[float]:
        low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        found = [10.0**i for i in range(low, high + 1)]
        if len(found) >= 2:
            return found
        between = [m * 10.0**i for i in range(low - 1, high + 2) for m in (1, 2, 5)]
        return [v for v in between if self.low * (1 - 1e-9) <= v <= self.high * (1 + 1e-9)]


def _round_step(raw: float) -> float:
    if raw <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * (1 - 1e-9))


@dataclass
class Figure:
    """Marks collected into one picture."""

    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str, title: str = "") -> None:
        """A straight line of a CSS class."""
        told = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}">{told}</line>')

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """Words at a place."""
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str, title: str = "") -> None:
        """A rectangle."""
        self.parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1.0):.1f}" height="{height:.1f}">'
            f"<title>{escape(title)}</title></rect>"
        )

    def curve(self, points: Sequence[tuple[float, float]], kind: str, title: str) -> None:
        """A line through points."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="{kind}" points="{path}"><title>{escape(title)}</title></polyline>')

    def dot(self, x: float, y: float, shape: str, kind: str, title: str = "") -> None:
        """A mark of a shape."""
        told, r = f"<title>{escape(title)}</title>", 3.4
        if shape == "circle":
            self.parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{r}">{told}</circle>')
            return
        corners = {
            "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
            "triangle": ((0, -1.2), (1.2, 1), (-1.2, 1)),
            "diamond": ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0)),
        }[shape]
        path = " ".join(f"{x + r * a:.1f},{y + r * b:.1f}" for a, b in corners)
        self.parts.append(f'<polygon class="{kind}" points="{path}">{told}</polygon>')

    def frame(self, x: Axis, y: Axis, x_words: str, y_words: str, *, x_ticks: bool = True) -> None:
        """Ticks, grid and words of both axes."""
        for value in y.ticks():
            self.line(x.begin, y(value), x.end, y(value), "grid")
            self.text(x.begin - 6, y(value) + 4, number(value), "tick", "end")
        for value in x.ticks() if x_ticks else ():
            self.line(x(value), y.begin, x(value), y.end, "grid")
            self.text(x(value), y.begin + 16, number(value), "tick", "middle")
        self.text((x.begin + x.end) / 2, y.begin + 34, x_words, "axis", "middle")
        self.text(x.begin - 40, y.end - 10, y_words, "axis")

    def svg(self) -> str:
        """The picture."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height:.0f}" role="img" aria-label="{escape(self.title)}">'
            f"{''.join(self.parts)}</svg>"
        )


def number(value: float) -> str:
    """A tick's number.

    >>> number(0.1), number(2000.0), number(-0.0), number(1e-9)
    ('0.1', '2000', '0', '1e-09')
    """
    return f"{value + 0.0:.4g}"
