"""The frame of every page: what it allows, how it reads, that its drawings and its script show the same."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from browser import Page as Tab
from browser import open_page
from stiffarm.report.chart import Axis, Band, Chart, ColourScale, Heat, Line, Points, Rule, Spans
from stiffarm.report.chart_plotly import chart_plotly
from stiffarm.report.chart_svg import chart_svg, frame_of
from stiffarm.report.page import page_html
from stiffarm.report.palette import DARK, LIGHT, SERIES, Role, contrast
from stiffarm.report.parts import (
    Answer,
    Beside,
    Bullets,
    Facts,
    Figure,
    Folded,
    Page,
    Section,
    Table,
    Words,
    figures_of,
)
from stiffarm.report.scene import ArmLine, Cloud, Ellipsoid, Scene
from stiffarm.report.scene_views import shadow

NASTY = "</script><script>document.title='owned'</script><b>x</b> %{x} & \"q\" '"
SVG = "{http://www.w3.org/2000/svg}"
DRAWN = "document.documentElement.dataset.drawn !== undefined"


def chart(name: str = "a") -> Chart:
    marks = (
        Band((0.0, 5.0, 10.0), (0.0, 0.1, 0.2), (0.3, 0.4, 0.6), name="band"),
        Line((0.0, 5.0, 10.0), (0.1, 0.2, 0.4), name=name, texts=(name,) * 3),
        Points((1.0, math.nan, 3.0), (0.1, 0.2, 0.3), "third", "diamond", "dots", (name,) * 3, (), (True, False, True)),
        Rule(0.25, words="limit"),
    )  # fmt: skip
    return Chart(Axis("angle, deg"), Axis("error, mm", 0.0), marks, "left")


def heat(name: str = "a") -> Chart:
    names = (name, "second", "third")
    cells = Heat(((1.0, -0.5, math.nan), (-0.5, 1.0, 0.2), (math.nan, 0.2, 1.0)), unit="mm")
    colours = ColourScale("mm", -1.0, 1.0, signed=True)
    return Chart(Axis("", names=names), Axis("", names=names), (cells,), "right", 300.0, colours=colours)


def spans() -> Chart:
    bars = Spans((0.0, 1.0), (0.0, 0.0), (2.0, 1.0), thick=0.6, texts=("a", "b"), words=("2 mm", "1 mm"))
    thin = Spans((0.0, 1.0), (0.5, 0.5), (1.5, 9.0), "geometry", texts=("a", "b"))
    return Chart(Axis("error, mm", 0.0, 2.5), Axis("", names=("before", "after")), (bars, thin), height=140.0)


def scene(name: str = "a") -> Scene:
    ball = Ellipsoid((1000.0, 0.0, 1200.0), ((200.0, 0.0, 0.0), (0.0, 60.0, 0.0), (0.0, 0.0, 100.0)), text=name)
    cloud = Cloud(((900.0, 100.0, 800.0), (800.0, -100.0, 700.0)), (0.1, 0.4), (name, name))
    arm = ArmLine(((0.0, 0.0, 0.0), (0.0, 0.0, 700.0), (1000.0, 0.0, 1200.0)), name="arm")
    return Scene((arm, ball, cloud), "", ColourScale("mm", 0.0, 0.5))


def whole_page(name: str = "a", *, space: bool = False) -> Page:
    table = Table("numbers", ("name", "mm"), ((name, "1"),), frozenset({1}), frozenset({0}))
    pair = Figure("pair", f"Two of {name}", "Both show the same.", (chart(name), heat(name)), table)
    parts = (
        Words(name),
        Words(name, "caution"),
        Bullets((name,)),
        Facts(((name, name),), name),
        table,
        Beside((Figure("bars", "Bars", "Less is better.", (spans(),)), pair)),
        *((Figure("space", "In space", "It gives way along x.", (scene(name),), wide=True),) if space else ()),
        Folded(name, (Words(name), Figure("inner", "Inner", "Small.", (spans(),)))),
    )
    sections = tuple(Section(f"s{i}", name, parts if i == 0 else (Words("b"),)) for i in range(4))
    return Page(name, name, sections, Answer(False, "Not usable", (name,)), name, ((name, name),))


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with open_page() as tab:
        yield tab


class Tags(HTMLParser):
    """Start tags of a page in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)


def test_names_change_no_tag() -> None:
    """The page of nasty names has the very tags of the page of a plain one."""
    plain, nasty = (Tags(page_html(whole_page(name), script=False)).found for name in ("a", NASTY))
    assert nasty == plain


def test_names_run_nothing(browser: Tab, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(page_html(whole_page(NASTY)), encoding="utf-8")
    browser.open(file.as_uri())
    browser.wait_for(DRAWN)
    assert browser.errors == []
    assert browser.evaluate("document.title").startswith("</script>")
    assert browser.evaluate("document.querySelectorAll('b').length") == 0
    shown = browser.evaluate("document.querySelector('#pair .plot').textContent")
    assert "<b>x</b>" in shown  # as it stands in the file, in plotly's words too


def test_what_slips_in_cannot_run(browser: Tab, tmp_path: Path) -> None:
    """The policy stops a script that is not the page's own, and every address."""
    text = page_html(whole_page())
    evil = "<script>document.title='owned'</script><img src='http://192.0.2.1/a.png'><b onclick='1'>"
    file = tmp_path / "a.html"
    file.write_text(text.replace("</main>", evil + "</main>"), encoding="utf-8")
    browser.open(file.as_uri())
    browser.wait_for(DRAWN)
    assert browser.evaluate("document.title").startswith("a")
    assert any("Content Security Policy" in one for one in browser.errors)
    assert browser.evaluate("[...document.images].every(i => !i.naturalWidth)")


def test_figures_are_drawn_by_the_script_and_can_be_used_by_keyboard(browser: Tab, tmp_path: Path) -> None:
    page = whole_page(space=True)
    file = tmp_path / "a.html"
    file.write_text(page_html(page), encoding="utf-8")
    panels = sum(len(figure.panels) for figure in figures_of(page))
    for width in (1280, 390):
        browser.open(file.as_uri(), width=width)
        browser.wait_for(DRAWN)
        assert browser.errors == []
        assert browser.evaluate("+document.documentElement.dataset.drawn") == panels == 5
        assert browser.evaluate("document.documentElement.scrollWidth") == width
    before = browser.evaluate("getComputedStyle(document.querySelector('#bars .plot .xtick text')).fill")
    browser.theme(dark=True)
    changed = f"getComputedStyle(document.querySelector('#bars .plot .xtick text')).fill != '{before}'"
    browser.wait_for(changed)
    browser.press("Tab", 9)
    assert browser.evaluate("document.activeElement.className") == "skip"
    assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    reached = set()
    for _ in range(24):
        browser.press("Tab", 9)
        reached.add(browser.evaluate("document.activeElement.tagName + '.' + document.activeElement.className"))
        if "BODY." in reached:
            break
        assert browser.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert {"A.", "DIV.scroll", "SUMMARY.", "BUTTON.save"} <= reached
    eye = "JSON.stringify(document.querySelector('#space .plot').layout.scene.camera.eye)"
    before = browser.evaluate(eye)
    browser.evaluate("document.querySelector('#space .plot').focus()")
    browser.press("ArrowLeft", 37)
    browser.wait_for(f"{eye} != '{before}'")
    browser.evaluate("Plotly.downloadImage = (shown, how) => { window.saved = [shown.layout.paper_bgcolor, how] }; 0")
    browser.evaluate("document.querySelector('#bars .save').focus()")
    browser.press(" ", 32)
    ground, how = browser.evaluate("window.saved")
    assert ground == DARK["paper"]  # not the letters of a dark page on nothing
    assert (how["format"], how["filename"]) == ("png", "bars")
    labels = browser.evaluate("[...document.querySelectorAll('.plot, svg[role=img]')].map(p => p.ariaLabel)")
    assert all(len(label) > 10 for label in labels)


def test_paper_gets_the_drawings(browser: Tab, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(page_html(whole_page()), encoding="utf-8")
    browser.open(file.as_uri(), dark=True)
    browser.wait_for(DRAWN)
    media = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.send("Emulation.setEmulatedMedia", media="print", features=media)
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.evaluate("[...document.querySelectorAll('.plot')].every(p => p.clientHeight == 0)")
    assert browser.evaluate(
        "[...document.querySelectorAll('.panel svg[role=img]')].filter(s => !s.closest('.plot'))"
        ".filter(s => !s.closest('details')).every(s => s.clientHeight > 40)"
    )
    browser.print(tmp_path / "a.pdf")
    assert (tmp_path / "a.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_words_and_marks_stand_out(theme: dict[Role, str]) -> None:
    words: tuple[Role, ...] = ("ink", "soft", "yes", "no", "focus")
    marks: tuple[Role, ...] = (*SERIES, "minus", "plus", "caution", "no")
    for ground in (theme["paper"], theme["panel"]):
        assert [role for role in words if contrast(theme[role], ground) < 4.5] == []
        assert [role for role in marks if contrast(theme[role], ground) < 3.0] == []


def test_words_stand_out_in_the_page_as_it_is_drawn(browser: Tab, tmp_path: Path) -> None:
    """Every word's colour against the first ground behind it, as the browser computes both."""
    file = tmp_path / "a.html"
    file.write_text(page_html(whole_page()), encoding="utf-8")
    script = """[...document.querySelectorAll('main *')].filter(e => e.getClientRects().length &&
      e.tagName !== 'title' &&
      [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())).map(e => {
      let ground = e;
      const of = g => getComputedStyle(g).backgroundColor;
      while (ground && of(ground) === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
      const style = getComputedStyle(e), seen = e instanceof SVGElement ? style.fill : style.color;
      return [seen, of(ground || document.body), e.textContent.slice(0, 20)];
    })"""

    def hexed(colour: str) -> str:
        return "#" + "".join(f"{int(v):02x}" for v in re.findall(r"\d+", colour)[:3])

    for dark in (False, True):
        browser.open(file.as_uri(), dark=dark)
        browser.wait_for(DRAWN)
        found = browser.evaluate(script)
        assert len(found) > 60
        assert [one for one in found if contrast(hexed(one[0]), hexed(one[1])) < 4.5] == []


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_series_stay_apart_for_eyes_without_red_or_green(theme: dict[Role, str]) -> None:
    """Colours as seen without one kind of cones (Vienot 1999, in linear RGB) differ clearly."""
    missing = {
        "red": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
        "green": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
    }

    def linear(colour: str) -> np.ndarray:
        v = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)

    for seen in missing.values():
        for one, other in combinations(("model", "geometry", "nominal"), 2):
            a, b = (np.cbrt(np.clip(seen @ linear(theme[role]), 0.0, 1.0)) for role in (one, other))
            assert np.linalg.norm(a - b) > 0.15, (one, other)


def test_a_drawing_and_the_script_are_given_the_same_numbers() -> None:
    one = chart()
    drawn = ElementTree.fromstring(chart_svg(one, "label", themed=False))
    data = chart_plotly(one)["data"]
    frame = frame_of(one)
    (points,) = [trace for trace in data if trace.get("mode") == "markers"]
    marks = [mark for mark in drawn.iter(f"{SVG}polygon") if mark.get("class") == "mark" and len(mark)]
    assert points["x"] == [1.0, None, 3.0]
    assert len(marks) == 2  # what is not a number is not drawn
    top = marks[0].get("points").split()[0].split(",")
    assert float(top[0]) == pytest.approx(frame.x(1.0), abs=0.06)
    assert float(top[1]) < frame.y(0.1) < float(top[1]) + 10.0
    boxes = ElementTree.fromstring(chart_svg(heat(), "label")).iter(f"{SVG}rect")
    assert sum(box.get("class") == "cell" for box in boxes) == 7
    assert [v for row in chart_plotly(heat())["data"][0]["z"] for v in row].count(None) == 2
    json.dumps(chart_plotly(heat()), allow_nan=False)


def test_a_drawing_of_its_own_needs_no_page() -> None:
    text = chart_svg(heat(NASTY), NASTY, themed=False)
    ElementTree.fromstring(text)
    assert "var(--" not in text


def test_a_shadow_is_that_of_the_ellipsoid() -> None:
    """Support function of the shadow against brute force over points of the skin."""
    rng = np.random.default_rng(3)
    axes = rng.normal(size=(3, 3))
    unit = rng.normal(size=(3, 200_000))
    skin = axes @ (unit / np.linalg.norm(unit, axis=0))
    edge = shadow(axes, 0, 2)
    for angle in np.linspace(0.0, np.pi, 7):
        to = np.array([np.cos(angle), np.sin(angle)])
        assert (to @ edge).max() == pytest.approx((to @ skin[[0, 2]]).max(), rel=5e-3)
