"""The picture of an assessment in a real browser: no error, nothing fetched, nothing wider than the window."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from browser import open_page
from stiffarm.identifiability.assessment import assess
from stiffarm.identifiability.picture import page
from stiffarm.identifiability.question import Question
from stiffarm.measure.campaign import Isotropic
from stiffarm.robot.reading import read_robot
from virtual_plans import ROBOT, plan_of


def test_page_at_two_widths(tmp_path: Path) -> None:
    n = 12
    plan = plan_of(n, {"experiment": np.repeat(np.arange(n), 3)}, kind="deflection", instrument=Isotropic(30e-6))
    pages = {
        "links": page(assess(read_robot("kr270"), None, Question(elastic="links", load="vertical"))),
        "plan": page(assess(replace(ROBOT, links=()), plan, Question(elastic="joints"))),
    }
    with open_page() as tab:
        for name, text in pages.items():
            file = tmp_path / f"{name}.html"
            file.write_text(text, encoding="utf-8")
            for width in (1280, 390):
                tab.open(file.as_uri(), width=width)
                assert tab.errors == []
                assert all(address.startswith("file:") for address in tab.requests)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
                drawn = tab.evaluate(
                    "[...document.querySelectorAll('rect')].filter(r => r.getBoundingClientRect().width > 1).length"
                )
                assert drawn == {"links": 62, "plan": 12}[name]
