"""Colours of every page and picture, by what they stand for, light and dark.

Words reach a contrast of 4.5 on paper and panel, marks one of 3.  Series differ in lightness as well as in hue and
are also told apart by shape or dash, so that they stay apart for eyes and printers that see few colours.  Magnitudes
rise along a scale that every eye sees rise evenly (cividis); signed numbers run from orange over paper to blue.
"""

from __future__ import annotations

from typing import Literal

Role = Literal[
    "ink", "soft", "line", "paper", "panel", "yes", "no", "caution", "focus", "model", "geometry", "nominal", "second",
    "third", "minus", "plus",
]  # fmt: skip

LIGHT: dict[Role, str] = {
    "ink": "#1b1f24",
    "soft": "#535c67",
    "line": "#dde1e6",
    "paper": "#ffffff",
    "panel": "#f5f6f8",
    "yes": "#1c7248",
    "no": "#b3261e",
    "caution": "#875200",
    "focus": "#1f5fbf",
    "model": "#1f5fbf",
    "geometry": "#c06a00",
    "nominal": "#7c848f",
    "second": "#0d7f6b",
    "third": "#93236b",
    "minus": "#b85c00",
    "plus": "#1f5fbf",
}
DARK: dict[Role, str] = {
    "ink": "#e8eaed",
    "soft": "#a9b1bc",
    "line": "#353b43",
    "paper": "#14171b",
    "panel": "#1d2126",
    "yes": "#5ac58d",
    "no": "#ff8a80",
    "caution": "#f0b050",
    "focus": "#7db0ff",
    "model": "#7db0ff",
    "geometry": "#f0b050",
    "nominal": "#8d96a2",
    "second": "#4fd0b4",
    "third": "#f08fc5",
    "minus": "#f0b050",
    "plus": "#7db0ff",
}
SERIES: tuple[Role, ...] = ("model", "geometry", "second", "third", "nominal")
"""Of series in their order."""
RISING = (
    "#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838",
)  # fmt: skip
"""Of magnitudes, from none to most."""


def variables() -> str:
    """The colours as variables of a style sheet: light, dark where that is preferred, and light on paper."""
    light, dark = (" ".join(f"--{role}: {value};" for role, value in one.items()) for one in (LIGHT, DARK))
    preferred = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return f":root {{ {light} }}\n{preferred}"


def rising(share: float) -> str:
    """Colour of a magnitude between none (0) and most (1).

    >>> rising(0.0), rising(1.0), rising(0.5)
    ('#00224e', '#fee838', '#7d7c76')
    """
    at = min(max(share, 0.0), 1.0) * (len(RISING) - 1)
    i = min(int(at), len(RISING) - 2)
    low, high = ([int(RISING[k][c : c + 2], 16) for c in (1, 3, 5)] for k in (i, i + 1))
    return "#" + "".join(f"{round(a + (at - i) * (b - a)):02x}" for a, b in zip(low, high, strict=True))


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours (WCAG 2): 1 for equal ones, 21 for black on white.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    dark, light = sorted((_luminance(one), _luminance(other)))
    return round((light + 0.05) / (dark + 0.05), 2)


def _luminance(colour: str) -> float:
    parts = (int(colour[k : k + 2], 16) / 255.0 for k in (1, 3, 5))
    linear = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return sum(w * v for w, v in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
