"""Figures as files of their own: SVG, drawn here, and PNG of the same drawings by a browser that is installed.

SVG opens in every browser, word processor and drawing program and is sharp at every size.  Making PNG of it takes
letters and a painter, which the packages stiffarm needs do not bring: Chrome, Chromium or Edge do it without a window.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from html import escape
from pathlib import Path

from stiffarm.errors import InputError, Problem
from stiffarm.measure.writing import replace_file
from stiffarm.report.chart import NARROW, Chart
from stiffarm.report.chart_svg import chart_svg, svg_height
from stiffarm.report.drawing import FONT
from stiffarm.report.palette import LIGHT
from stiffarm.report.parts import Figure, Page, figures_of
from stiffarm.report.scene import Scene
from stiffarm.report.scene_views import views

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Microsoft/Edge/Application/msedge.exe",
)
OPTIONS = (
    "--headless=new", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--force-device-scale-factor=2",
)  # fmt: skip
ROW = 3
"""Panels beside each other."""
GAP, TITLE = 14.0, 22.0
PATIENCE_S = 60.0


def figure_svg(figure: Figure) -> tuple[str, float, float]:
    """A figure as an SVG file of its own with its width and height: title over the panels, in rows."""
    charts: list[Chart] = []
    for panel in figure.panels:
        charts += views(panel) if isinstance(panel, Scene) else [panel]
    beside = 2 if any(chart.width > NARROW for chart in charts) else ROW
    rows = [charts[i : i + beside] for i in range(0, len(charts), beside)]
    width = max(sum(chart.width for chart in row) + GAP * (len(row) - 1) for row in rows)
    parts, top = [], TITLE + 4.0
    label = f"{figure.title}. {figure.reading}"
    for row in rows:
        left = 0.0
        for chart in row:
            if chart.title:
                parts.append(_words(left + 2.0, top + 13.0, chart.title, 12.5))
            parts.append(chart_svg(chart, chart.title or figure.title, themed=False, inside=(left, top + TITLE)))
            left += chart.width + GAP
        top += TITLE + max(svg_height(chart) for chart in row) + GAP
    title = _words(2.0, 16.0, figure.title, 14.0)
    text = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{top:g}" viewBox="0 0 {width:g} {top:g}" '
        f'role="img" aria-label="{escape(label)}" font-family="{FONT}"><title>{escape(figure.title)}</title>'
        f'<desc>{escape(figure.reading)}</desc><rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>{title}'
        f"{''.join(parts)}</svg>\n"
    )
    return text, width, top


def _words(x: float, y: float, words: str, size: float) -> str:
    look = f'font-size="{size:g}" font-weight="600" fill="{LIGHT["ink"]}"'
    return f'<text x="{x:g}" y="{y:g}" {look}>{escape(words)}</text>'


def prepared_folder(folder: Path | None, png: bool) -> Path:
    """The folder, made when it is not there; `InputError` where it cannot be, or nothing there can make PNG."""
    if folder is None:
        what = "PNG of the figures has no folder to go to"
        raise InputError(Problem(what, column="--png", next_step="Name one: --figures FOLDER --png"))
    if png and browser_program() is None:
        what = "PNG needs Chrome, Chromium or Edge, and none is found here"
        step = "Leave out --png for SVG alone, or use 'Save as PNG' under a figure of the page"
        raise InputError(Problem(what, column="--png", next_step=step))
    try:
        folder.mkdir(exist_ok=True)
    except (OSError, ValueError) as error:
        found = str(getattr(error, "strerror", None) or error).lower()
        what, allowed = "this folder cannot be made", "a folder in one that exists"
        raise InputError(Problem(what, str(folder), column="--figures", found=found, allowed=allowed)) from None
    return folder


def figure_files(page: Page, *, png: bool = False) -> dict[str, bytes]:
    """Contents of the files by name, ``SLUG.svg`` and, when asked for, ``SLUG.png`` (two pixels a unit)."""
    found: dict[str, bytes] = {}
    for figure in figures_of(page):
        text, width, height = figure_svg(figure)
        found[f"{figure.slug}.svg"] = text.encode()
        if png:
            found[f"{figure.slug}.png"] = png_of(text, width, height)
    return found


def write_figures(drawn: Mapping[str, bytes], folder: Path) -> list[Path]:
    """Write the files into a folder, each whole or not at all."""
    for name, content in drawn.items():
        replace_file(folder / name, content)
    return [folder / name for name in drawn]


def browser_program() -> str | None:
    """A browser that paints without a window, if there is one."""
    return next((found for name in (*BROWSERS, *PLACES) if (found := shutil.which(name))), None)


def png_of(svg: str, width: float, height: float) -> bytes:
    """An SVG as PNG, by a browser."""
    program = browser_program()
    assert program is not None, "prepared_folder has looked for one"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / "a.svg").write_text(svg, encoding="utf-8")
        size = f"--window-size={round(width)},{round(height)}"
        # a container often runs as root, where the browser's own fence does not work; the file is our own drawing
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        own = [f"--user-data-dir={folder / 'profile'}", f"--screenshot={folder / 'a.png'}"]
        command = [program, *OPTIONS, *root, *own, size, (folder / "a.svg").as_uri()]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(command, check=False, capture_output=True, timeout=PATIENCE_S)
        if not (folder / "a.png").is_file():
            what, step = "the browser made no PNG", "Leave out --png for SVG alone"
            raise InputError(Problem(what, column="--png", found=program, next_step=step))
        return (folder / "a.png").read_bytes()
