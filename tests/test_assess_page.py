"""The picture of an assessment in a real browser: no error, nothing fetched, nothing wider than the window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from browser import open_page
from stiffarm.identifiability.assessment import assess
from stiffarm.identifiability.question import Question
from stiffarm.measure.campaign import Isotropic
from stiffarm.report.assess_page import assess_page, links_figure, places_figure, states
from stiffarm.report.chart import Points
from stiffarm.report.scene import Scene
from stiffarm.robot.reading import read_robot
from virtual_plans import ROBOT, plan_of


def test_page_at_two_widths(tmp_path: Path) -> None:
    n = 12
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection", instrument=Isotropic(30e-6))
    asked = {
        "links": assess(read_robot("kr270"), None, Question(elastic="links", load="vertical")),
        "plan": assess(replace(ROBOT, links=()), plan, Question(elastic="joints")),
    }
    with open_page() as tab:
        for name, found in asked.items():
            file = tmp_path / f"{name}.html"
            file.write_text(assess_page(found), encoding="utf-8")
            for width in (1280, 390):
                tab.open(file.as_uri(), width=width)
                tab.wait_for("document.documentElement.dataset.drawn !== undefined")
                assert tab.errors == []
                assert all(address.startswith(("file:", "data:")) for address in tab.requests)
                assert tab.evaluate("document.documentElement.scrollWidth") == width
                marks = "document.querySelectorAll('#places .plot .points path, #links .plot .points path').length"
                assert tab.evaluate(marks) == len(found.groups.names)


def test_every_parameter_has_its_mark_in_its_place() -> None:
    found = assess(read_robot("kr270"), None, Question(elastic="links", load="vertical"))
    links = links_figure(found)
    assert links is not None
    state = states(found)
    seen: dict[str, str] = {}
    for panel in (*places_figure(found).panels, *links.panels):
        assert not isinstance(panel, Scene)
        for mark in panel.marks:
            assert isinstance(mark, Points)
            for x, y in zip(mark.x, mark.y, strict=True):
                column, row = panel.x.names[int(x)], panel.y.names[int(y)]
                inside = f"{panel.title}.compliance[{row},{column}]"
                name = inside if panel.title else next(n for n in (f"{row}.{column}", f"{column}.{row}") if n in state)
                seen[name] = mark.name
    assert set(seen) == set(state)
    ends = {"alone": "(G1)", "told": "combination (G3)", "merged": "such a combination (G3)", "nothing": "(G2)"}
    for name, words in seen.items():
        assert words.endswith(ends[state[name]])
