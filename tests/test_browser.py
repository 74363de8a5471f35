"""The driver of the browser tells what it must: errors of a page, its size, the theme, what it draws."""

from __future__ import annotations

from pathlib import Path

from browser import open_page

PAGE = """<!doctype html><meta name="viewport" content="width=device-width"><title>a</title>
<button onclick="document.title='pressed'">b</button>
<script>console.error("first"); setTimeout(() => { throw new Error("second") }, 0);</script>"""


def test_errors_sizes_themes_and_keys(tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(PAGE, encoding="utf-8")
    with open_page() as page:
        page.open(file.as_uri(), width=390, dark=True)
        assert page.evaluate("new Promise(done => setTimeout(() => done(innerWidth), 20))") == 390
        assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        assert page.errors[0] == "first"
        assert "second" in page.errors[1]
        page.press("Tab", 9)
        page.press(" ", 32)
        page.wait_for("document.title == 'pressed'")
        page.print(tmp_path / "a.pdf")
        page.screenshot(tmp_path / "a.png")
        assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
        page.open("about:blank")
        assert page.errors == []
