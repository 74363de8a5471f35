"""The documentation as pages: every link leads somewhere, nothing is fetched, the reference is that of the code."""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import typer.main

from stiffarm.cli.main import app
from stiffarm.measure.columns import described

ROOT = Path(__file__).resolve().parent.parent
BUILD: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "build.py"), run_name="build")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    written = BUILD["main"](tmp_path_factory.mktemp("docs"))
    return {path.name: path.read_text(encoding="utf-8") for path in written}


def leaves(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        yield from leaves(command) if hasattr(command, "commands") else (command,)


def test_every_page_is_made_and_every_link_leads_somewhere(pages: dict[str, str]) -> None:
    assert {"index.html", "reference.html", "theory.html", "errors.html", "extending.html"} <= set(pages)
    for name, text in pages.items():
        for target in re.findall(r'href="([^"]+)"', text):
            if target.startswith("http"):
                continue
            file, _, anchor = target.partition("#")
            assert (file or name) in pages, (name, target)
            assert not anchor or f'id="{anchor}"' in pages[file or name], (name, target)


def test_nothing_is_fetched(pages: dict[str, str]) -> None:
    for text in pages.values():
        assert not re.search(r"<(script|link|img|iframe)\b", text)
        assert "@import" not in text


def test_the_reference_has_every_option_key_and_column(pages: dict[str, str]) -> None:
    text = unescape(re.sub(r"<[^>]*>", "", pages["reference.html"]))
    for command in leaves(typer.main.get_command(app)):
        for parameter in command.params:
            for option in parameter.opts:
                assert option.startswith("-") is False or option in text, (command.name, option)
    for name, _ in described():
        assert name in text
    for key in ("couples_to", "load_points", "gain_sigma", "station"):
        assert key in text


def test_headings_can_be_linked_to_and_tables_reached_by_keyboard(pages: dict[str, str]) -> None:
    assert '<h2 id="motion-and-bending">' in pages["theory.html"]
    assert '<div class="scroll" tabindex="0"><table>' in pages["errors.html"]
