"""The view in a real browser: it is drawn, its sliders move the arm, it asks nobody outside; and by command."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from numpy.typing import NDArray

import stiffarm
from browser import PATIENCE_S, Page, open_page
from budget_scenarios import MODEL, Scenario, plan, truth
from stiffarm.cli.main import main
from stiffarm.compensate.model_file import KnownModel
from stiffarm.errors import InputError
from stiffarm.measure.virtual import simulate
from stiffarm.measure.writing import write_campaign
from stiffarm.report.view.scene import posed
from stiffarm.report.view.serving import View, free_port, on_show
from stiffarm.report.view.subject import subject_of

Pixels = NDArray[np.int16]
Output = pytest.CaptureFixture[str]
HARMLESS = ("THREE.Clock: This module has been deprecated", "GL Driver Message")
"""What the drawing library and a software renderer say of themselves."""


pytest.importorskip("viser", reason="viser is not installed (extra 'view')")


@contextmanager
def running(view: View) -> Iterator[View]:
    thread = threading.Thread(target=view.run)
    thread.start()
    try:
        yield view
    finally:
        view.end()
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    """A campaign of six poses with its readings."""
    scenario = Scenario("position")
    values, frames = truth(scenario, np.random.default_rng(2))
    read = simulate(MODEL.at(values), plan(scenario, 6, 1, 1, seed=3), seed=1, sigma_m=3e-5, frames=frames).campaign
    file = tmp_path_factory.mktemp("view") / "a.campaign.csv"
    write_campaign(read, file, units="m,rad")
    subject = subject_of(KnownModel("m", MODEL, values), campaign=file)
    with on_show(subject, port=0) as shown, running(shown):
        yield shown


def picture(page: Page, file: Path) -> Pixels:
    """(height, width, 3) of the window."""
    from PIL import Image  # comes with viser

    page.screenshot(file)
    with Image.open(file) as image:
        return np.asarray(image.convert("RGB"), dtype=np.int16)


def drawn(page: Page, file: Path, unlike: Pixels | None = None) -> Pixels:
    """The window once its picture is there: neither blank nor, where the panel is not, equal to another."""
    end = time.monotonic() + PATIENCE_S
    while True:
        pixels = picture(page, file)
        free = pixels[:, : pixels.shape[1] * 2 // 3] if pixels.shape[1] > 600 else pixels[: pixels.shape[0] // 3]
        other = free if unlike is None else unlike[: free.shape[0], : free.shape[1]]
        coloured = np.ptp(free, axis=2) > 40
        changed = np.abs(free - other).max(axis=2) > 30
        if coloured.sum() > 300 and (unlike is None or changed.sum() > 300):
            return pixels
        assert time.monotonic() < end, f"{coloured.sum()} coloured and {changed.sum()} changed pixels"
        time.sleep(0.1)


def told(page: Page) -> str:
    return str(page.evaluate("document.querySelector('.stiffarm-state').innerText"))


def tool_words(view: View) -> str:
    """What the panel must say of the tool, worked out from the joints that were asked for."""
    tool = posed(view.subject.arm, view.shown[0].asked).points["tool"]
    return "tool at " + ", ".join(f"{1e3 * v:.1f}" for v in tool) + " mm"


def test_drawn_and_moved_by_the_keyboard(view: View, tmp_path: Path) -> None:
    with open_page() as page:
        page.open(view.url, width=1280, height=600)
        page.wait_for("!!document.querySelector('.stiffarm-state') && !!document.querySelector('canvas')")
        first = drawn(page, tmp_path / "1280.png")
        assert tool_words(view) in told(page)
        assert "pose 1: " in told(page)
        labels = page.evaluate("[...document.querySelectorAll('[role=slider]')].length")
        assert labels == 1 + 6 + 2, "poses, joints, two magnifications"
        # the first slider steps through the poses
        before = view.shown[0].asked.q
        page.evaluate("document.querySelectorAll('[role=slider]')[0].focus()")
        page.press("ArrowRight", 39)
        page.wait_for("document.querySelector('.stiffarm-state').innerText.includes('pose 2: ')")
        assert view.subject.stops is not None
        assert np.array_equal(view.shown[0].asked.q, view.subject.stops.q[:, 1])
        second = drawn(page, tmp_path / "pose2.png", unlike=first)
        # the second turns the first joint
        page.evaluate("document.querySelectorAll('[role=slider]')[1].focus()")
        page.press("Home", 36)
        page.wait_for("document.querySelector('.stiffarm-state').innerText.includes('joints by hand')")
        after = view.shown[0].asked.q
        assert after[0] == pytest.approx(view.subject.ranges[0][0], abs=2e-3)
        assert np.abs(after[1:] - view.subject.stops.q[1:, 1]).max() < 1e-3
        assert not np.array_equal(before, after)
        assert tool_words(view) in told(page)
        drawn(page, tmp_path / "turned.png", unlike=second)
        page.send("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
        page.wait_for("innerWidth == 390 && document.querySelector('canvas').clientWidth <= 390")
        drawn(page, tmp_path / "390.png")
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert [e for e in page.errors if not e.startswith(HARMLESS)] == []
        outside = [r for r in page.requests if not r.startswith((view.url, "data:", "blob:"))]
        assert outside == []


HEARS = (
    "-c",
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from stiffarm.cli.main import main; sys.exit(main(sys.argv[1:]))",
)
"""The command, which hears Ctrl-C even where the tests run in the background of a shell that lets nothing hear it."""


def command(*arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    words = [sys.executable, *HEARS, "view", *arguments]
    group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if sys.platform == "win32" else {}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(words, text=True, **pipes, **group)  # type: ignore[call-overload, no-any-return]


def answer_of(process: subprocess.Popen[str]) -> dict[str, object]:
    """The object on the standard output, which ends before the command does."""
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line == "}\n":
            return dict(json.loads(text))
    raise AssertionError(text + (process.stderr.read() if process.stderr else ""))


def test_one_object_then_served_until_interrupted() -> None:
    process = command("kr270", "--json", "--port", "0", "--force", "0,0,-2[kN]", "--load-point", "hook")
    try:
        found = answer_of(process)
        url = str(found["url"])
        assert url.startswith("http://127.0.0.1:")
        with urlopen(url, timeout=PATIENCE_S) as page:
            assert page.read().startswith(b"<!doctype html>")
        with socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1])), timeout=PATIENCE_S):
            pass  # who looks in and says nothing is no reason for a message
        assert found["drawn"] == "rods"
        assert found["poses"] == found["readings"] == 0
        process.send_signal(signal.CTRL_BREAK_EVENT if os.name == "nt" else signal.SIGINT)
        rest, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
        assert rest == ""
        assert said == "closed.\n"
    finally:
        process.kill()
        process.wait()


def test_in_words_and_ending_by_itself(capsys: Output) -> None:
    assert main(["view", "kr270", "--port", "0", "--no-open", "--seconds", "0"]) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0].startswith("http://127.0.0.1:")
    assert lines[1].startswith("KUKA KR 270-2: 6 joints, drawn by rods")
    assert "Ctrl-C" in lines[-1]
    assert max(map(len, lines)) <= 80
    assert said.err == ""


def test_the_picture_as_a_file_and_the_answer_as_another(tmp_path: Path, capsys: Output) -> None:
    page, document = tmp_path / "a.html", tmp_path / "a.json"
    for file in (page, document):
        assert main(["view", "kr270", "--port", "0", "--no-open", "--seconds", "0", "-o", str(file)]) == 0
    capsys.readouterr()
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert 500_000 < len(text) < 6_000_000
    assert json.loads(document.read_text(encoding="utf-8"))["robot"] == "KUKA KR 270-2"


def test_as_a_function_beside_other_work(tmp_path: Path) -> None:
    plan = {f"q.A{i + 1}[deg]": [v, v + 5.0] for i, v in enumerate((5.0, -60.0, 80.0, 20.0, 40.0, 10.0))}
    with stiffarm.view("kr270", plan={**plan, "experiment": ["a", "b"]}, force_n=(0.0, 300.0, 0.0), port=0) as shown:
        assert shown.subject.stops is not None
        assert shown.subject.stops.names == ("a", "b")
        assert f'src="{shown.url}"' in shown._repr_html_()
        assert repr(shown).startswith(f"{shown.url}\nKUKA KR 270-2: 6 joints")
        with urlopen(shown.url, timeout=PATIENCE_S) as page:
            assert page.status == 200
        shown.write(tmp_path / "a.html")
    assert (tmp_path / "a.html").stat().st_size > 500_000
    with pytest.raises(OSError, match=r"refused|111|61|10061"):
        urlopen(shown.url, timeout=PATIENCE_S)


def test_a_used_port_is_said_and_passed_over() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} is in use.*Leave --port out"):
            free_port("127.0.0.1", port)
        assert free_port("127.0.0.1", 0) == 0
        assert free_port("127.0.0.1", None) != port
    with pytest.raises(InputError, match=r"'no\.such\.host\.invalid' is no address of this machine"):
        free_port("no.such.host.invalid", None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "nowhere"),
        (["kr270", "--plan", "nowhere.plan.csv"], "nowhere.plan.csv"),
        (["kr270", "--campaign", "nowhere.campaign.csv"], "nowhere.campaign.csv"),
        (["kr270", "--force", "much"], "--force: this is no force; found: 'much'; allowed: X,Y,Z[N]"),
        (["kr270", "--force", "1,2[N]"], "this is no force"),
        (["kr270", "--force", "nan[N]"], "this is no force"),
        (["kr270", "--load-point", "hok"], "--load-point: point 'hok' does not exist"),
        (["kr270", "--host", "203.0.113.1"], "'203.0.113.1' is no address of this machine"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(arguments: list[str], words: str, capsys: Output) -> None:
    assert main(["view", *arguments, "--no-open", "--seconds", "0"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert words in said.err
    assert said.err.count("\n") == 1
