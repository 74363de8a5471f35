"""A page as one HTML file: nothing is fetched, every word is escaped, every figure is there without a script too.

The file brings its style, its figures as drawings, and (unless it shall be small) plotly's script with the same
figures as data, which replaces the drawings on a screen.  On paper, without a script, and where a picture in space
cannot be turned, the drawings stay.  The page's policy allows no address and no script but the two it came with, named
by their hashes: what slips into a page from a file can do nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files

from stiffarm.report.chart import Chart
from stiffarm.report.chart_plotly import chart_plotly
from stiffarm.report.chart_svg import chart_svg
from stiffarm.report.palette import variables
from stiffarm.report.parts import Figure, Page, Panel, figures_of
from stiffarm.report.scene import Scene
from stiffarm.report.scene_plotly import scene_plotly
from stiffarm.report.scene_views import views


@dataclass(frozen=True)
class DrawnPanel:
    """A panel as it stands in the page."""

    title: str
    label: str
    svgs: tuple[str, ...]
    data: str
    """JSON for the script; empty without one."""


def page_html(page: Page, *, script: bool = True) -> str:
    """The page as the text of one HTML file.

    ``script``: figures that can be pointed at, zoomed and turned, for about 5 MB; without, the same figures as
    drawings in a file of some 100 kB.
    """
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_own("page.html"))
    figures = figures_of(page)
    script = script and bool(figures)
    scripts = (_library(), _own("page.js")) if script else ()
    return template.render(
        page=page,
        drawn={figure.slug: [_drawn(figure, panel, script) for panel in figure.panels] for figure in figures},
        style=variables() + "\n" + _own("page.css"),
        policy=_policy(scripts),
        library=scripts[0] if scripts else "",
        script=scripts[1] if scripts else "",
    )


def _own(name: str) -> str:
    return (files("stiffarm.report") / name).read_text(encoding="utf-8")


def _library() -> str:
    """Plotly's script."""
    return (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def _policy(scripts: tuple[str, ...]) -> str:
    """What the page may do: run its own scripts, and nothing from elsewhere."""
    sums = (base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts)
    allowed = " ".join(f"'sha256-{one}'" for one in sums) or "'none'"
    return f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:"


def _drawn(figure: Figure, panel: Panel, script: bool) -> DrawnPanel:
    label = f"{figure.title}{': ' + panel.title if panel.title else ''}. {figure.reading}"
    own = views(panel) if isinstance(panel, Scene) else (panel,)
    svgs = tuple(chart_svg(one, label if one is panel else f"{label} Seen {one.title}.") for one in own)
    return DrawnPanel(panel.title, label, svgs, _data(panel) if script else "")


def _data(panel: Panel) -> str:
    """JSON that cannot end its script."""
    if isinstance(panel, Chart):
        found = chart_plotly(panel) | {"ratio": round(panel.height / panel.width, 4)}
    else:
        found = scene_plotly(panel) | {"ratio": 0.72}
    text = json.dumps(found, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
