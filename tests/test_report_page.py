"""The page of a model: what it says, that it opens anywhere, and that its pictures are those of the numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from browser import Page as Tab
from browser import open_page
from budget_scenarios import MODEL, ROBOT, plan
from budget_scenarios import Scenario as Campaigns
from stiffarm.cli.main import main
from stiffarm.identify.api import identify
from stiffarm.identify.estimate import Estimate, Held, Outlier
from stiffarm.identify.fit import fit
from stiffarm.identify.model_file import document, write_estimate
from stiffarm.identify.options import Options
from stiffarm.identify.remains import MOST, SHARES, remains_of
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.virtual import simulate
from stiffarm.report.model_page import model_page, page
from stiffarm.report.parts import figures_of

MOST_BYTES = 6_000_000
DRAWN = "document.documentElement.dataset.drawn !== undefined"
NASTY = "<script>alert('x')</script> & \"quotes\""


def readings(experiments: int = 16, kind: str = "position") -> Campaign:
    scenario = Campaigns("position" if kind == "position" else "deflection")
    asked = plan(scenario, experiments, 1, 1, seed=3)
    truth = {name: 1.2 * value for name, value in MODEL.nominal.items() if name.endswith(".compliance")}
    truth |= {"A2.offset": 1e-3, "A3.offset": 5e-4}
    return simulate(MODEL.at(truth), asked, seed=1, sigma_m=2e-5).campaign


@pytest.fixture(scope="module")
def browser() -> Iterator[Tab]:
    with open_page() as tab:
        yield tab


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    return identify(
        ROBOT, readings(), Options(geometry="offsets", estimator="wls", folds=4), command="stiffarm identify <me>"
    )


def test_quantiles_and_residuals_are_those_of_the_fit(estimate: Estimate) -> None:
    holdout, remains = estimate.holdout, estimate.remains
    assert holdout is not None
    assert remains is not None
    assert set(holdout.quantiles) == {"model", "nominal", "geometry"}
    for values in holdout.quantiles.values():
        assert len(values) == len(SHARES)
        assert list(values) == sorted(values)
    assert holdout.quantiles["model"][-1] == holdout.max_m
    assert estimate.fit.rms_m == pytest.approx(np.sqrt(np.mean(np.square(remains.rms_m))))
    assert len(remains.rms_m) == remains.of == 48


def test_of_many_residuals_the_largest_are_kept() -> None:
    found = fit(ROBOT, readings(400, "deflection"), Options(estimator="wls", folds=0))
    remains = remains_of(found)
    assert remains is not None
    assert remains.of == 1200
    assert len(remains.rms_m) <= MOST
    component, row = found.system.take
    squares = np.bincount(row, found.solution.equations.residual**2)
    assert max(remains.rms_m) == pytest.approx(np.sqrt(squares.max()))
    assert set(component) == {0, 1, 2}


def test_the_page_opens_everywhere_and_shows_every_number(browser: Tab, estimate: Estimate, tmp_path: Path) -> None:
    holdout = estimate.holdout
    assert holdout is not None
    file = tmp_path / "m.html"
    file.write_text(page(estimate), encoding="utf-8")
    assert file.stat().st_size < MOST_BYTES
    told = [p for p in estimate.parameters if p.std is not None]
    panels = sum(len(figure.panels) for figure in figures_of(model_page(estimate)))
    for width in (1280, 390):
        browser.open(file.as_uri(), width=width)
        browser.wait_for(DRAWN)
        assert browser.errors == []
        assert [one for one in browser.requests if not one.startswith("data:")] == [file.as_uri()]
        assert browser.evaluate("document.documentElement.scrollWidth") == width
        assert browser.evaluate("+document.documentElement.dataset.drawn") == panels
        assert browser.evaluate("document.querySelectorAll('.panel.drawn').length") == panels
        assert browser.evaluate("[...document.querySelectorAll('.plot')].every(p => p.clientHeight > 40)")
        assert browser.evaluate("document.querySelector('h2').innerText") == "✓ Usable"
        dots = browser.evaluate("document.querySelectorAll('#residuals .plot .points path').length")
        assert dots == 48
        marks = browser.evaluate("document.querySelectorAll('[id^=parameters-] .plot .points path').length")
        files = sum(".compliance" in p.name for p in told)
        assert marks == len(told) + files  # elastic ones have the file's value beside them
    browser.open(file.as_uri(), dark=True)
    light = browser.evaluate("getComputedStyle(document.body).color")
    assert min(int(v) for v in re.findall(r"\d+", light)) > 150


def test_without_a_script_the_drawings_show_the_same(browser: Tab, estimate: Estimate, tmp_path: Path) -> None:
    file = tmp_path / "m.html"
    file.write_text(page(estimate, script=False), encoding="utf-8")
    assert file.stat().st_size < 400_000
    told = [p for p in estimate.parameters if p.std is not None]
    holdout = estimate.holdout
    assert holdout is not None
    for width in (1280, 390):
        browser.open(file.as_uri(), width=width)
        assert browser.errors == []
        assert browser.requests == [file.as_uri()]
        assert browser.evaluate("document.documentElement.scrollWidth") == width
        assert browser.evaluate("[...document.querySelectorAll('svg')].every(s => s.clientHeight > 40)")
        curves = browser.evaluate("document.querySelectorAll('#spread .curve').length")
        assert curves == len(holdout.quantiles)
        assert browser.evaluate("document.querySelectorAll('#residuals .mark title').length") == 48
        files = sum(".compliance" in p.name for p in told)
        drawn = browser.evaluate("document.querySelectorAll('[id^=parameters-] .mark title').length")
        assert drawn == len(told) + files
        inside = browser.evaluate(
            "[...document.querySelectorAll('svg .curve, svg .mark, svg .cell, svg text')].every(m => {"
            "const a = m.getBoundingClientRect(), b = m.ownerSVGElement.getBoundingClientRect();"
            "return a.left > b.left - 1 && a.right < b.right + 1 && a.top > b.top - 1 && a.bottom < b.bottom + 1})"
        )
        assert inside


def test_names_from_files_stay_text(estimate: Estimate) -> None:
    assert estimate.remains is not None
    nasty = replace(
        estimate,
        dropped=(Held(NASTY, NASTY),),
        outliers=(Outlier(NASTY, NASTY, NASTY),),
        notes=(NASTY,),
        remains=replace(estimate.remains, marker=tuple(NASTY for _ in estimate.remains.marker)),
    )
    text = page(nasty, script=False)
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 5
    whole = page(nasty)
    assert whole.count("<script") == page(estimate).count("<script")
    assert "alert('x')</script>" not in whole


def test_a_model_nobody_judged_says_so_first(estimate: Estimate) -> None:
    bare = replace(
        estimate,
        holdout=None,
        errors=None,
        remains=None,
        setups=(),
        verdict=replace(estimate.verdict, usable=False, reasons=("no readings were kept back",)),
    )
    text = page(bare)
    assert text.index("Not usable") < text.index("no readings were kept back") < text.index("What was found")
    assert "Nothing says how well it predicts" in text


def test_by_command(estimate: Estimate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "arm.model.json"
    write_estimate(estimate, model)
    assert main(["report", str(model), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert Path(found["file"]) == tmp_path / "arm.report.html"
    assert (tmp_path / "arm.report.html").read_text(encoding="utf-8") == page(estimate)
    assert found["verdict"]["usable"]
    assert main(["report", str(model), "--static", "--quiet", "-o", str(tmp_path / "small.html")]) == 0
    assert (tmp_path / "small.html").read_text(encoding="utf-8") == page(estimate, script=False)
    capsys.readouterr()
    out = tmp_path / "other.html"
    damaged = tmp_path / "damaged.model.json"
    damaged.write_text(json.dumps(document(estimate) | {"parameters": 3}), encoding="utf-8")
    assert main(["report", str(damaged), "-o", str(out)]) == 2
    assert not out.exists()


def test_a_truth_has_a_page_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model file of `simulate --truth-out` has no fit behind it."""
    asked = tmp_path / "a.plan.csv"
    header = ",".join(f"q.A{i}[deg]" for i in range(1, 7))
    asked.write_text(f"experiment,{header},marker\ne1,0,-60,80,10,30,0,P1\n", encoding="utf-8")
    truth = tmp_path / "t.model.json"
    command = ["simulate", "kr270", str(asked), "--sigma", "0.03mm", "--truth-out", str(truth), "--quiet"]
    assert main([*command, "-o", str(tmp_path / "a.campaign.csv")]) == 0
    assert main(["report", str(truth)]) == 0
    assert (tmp_path / "t.report.html").exists()
    capsys.readouterr()
