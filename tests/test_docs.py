"""The documentation says what the package does: its examples are read, its commands run, its lists are complete."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from pydantic import BaseModel

from stiffarm.cli.main import app, main
from stiffarm.compensate.milling_file import MillingTable, read_milling
from stiffarm.identify.model_file import document, read_estimate
from stiffarm.measure import columns, settings
from stiffarm.measure.reading import read_campaign
from stiffarm.robot import schema
from stiffarm.robot.reading import read_robot

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(?P<kind>\w+) ?(?P<name>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<target>[^)#]+)(?:#[^)]*)?\)")


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(name: str, kind: str) -> list[str]:
    return [found["text"] for found in BLOCK.finditer(text_of(name)) if found["kind"] == kind]


def commands(group: object, prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Every command with its long options."""
    for name, command in getattr(group, "commands").items():  # noqa: B009  (typer brings its own click)
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix}{name} ")
        else:
            options = [o for p in command.params for o in p.opts if o.startswith("--")]
            yield f"{prefix}{name}", options


@pytest.mark.parametrize("name", sorted(path.name for path in DOCS.glob("*.md")))
def test_links_lead_somewhere(name: str) -> None:
    for target in LINK.findall(text_of(name)):
        if "://" not in target:
            assert (DOCS / target).exists(), target


def test_every_command_and_option_is_described() -> None:
    text = text_of("commands.md")
    sections = {part.splitlines()[0]: part for part in text.split("\n## ")[1:]}
    common = text.split("\n## ")[0]
    found = dict(commands(typer.main.get_command(app)))
    assert "identify" in found
    missing = []
    for name, options in found.items():
        own = [part for title, part in sections.items() if re.search(rf"stiffarm {name.split()[0]}\b", title)]
        if not own:
            missing.append(name)
            continue
        described = set(re.findall(r"--[a-z0-9-]+", own[0] + common))
        missing += [f"{name} {option}" for option in options if option not in described]
    assert missing == [], "docs/commands.md"


def test_nothing_is_described_that_is_not_there() -> None:
    known = {option for _, options in commands(typer.main.get_command(app)) for option in options}
    known |= {"--help", "--version", "--no-open"}
    for name in ("commands.md", "methods.md", "tutorial.md", "parameters.md"):
        assert set(re.findall(r"--[a-z][a-z0-9-]+", text_of(name))) <= known, name


def test_every_key_of_a_robot_file_is_described() -> None:
    text = text_of("robot-file.md")
    tables = [t for t in vars(schema).values() if isinstance(t, type) and issubclass(t, BaseModel)]
    keys = {key for table in tables for key in table.model_fields}
    assert len(keys) > 40
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", text)] == []


def test_every_key_of_the_settings_is_described() -> None:
    text = text_of("campaign-file.md")
    tables = [t for t in vars(settings).values() if isinstance(t, type) and issubclass(t, BaseModel)]
    keys = {key for table in tables for key in table.model_fields}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", text)] == []


def test_every_column_of_a_campaign_is_described() -> None:
    text = text_of("campaign-file.md")
    assert [name for name in (*columns.TEXTS, *columns.COUNTS) if f"`{name}`" not in text] == []
    families = ("q", "encoder", "approach", "joint_torque", "temperature", "force", "torque", "sigma", "cable1")
    assert [family for family in families if f"`{family}." not in text] == []


def test_the_example_robot_is_one(tmp_path: Path) -> None:
    (example,) = blocks("robot-file.md", "toml")
    path = tmp_path / "example.robot.toml"
    path.write_text(example, encoding="utf-8")
    robot = read_robot(path)
    assert robot.joint_names == ("A1", "A2")
    assert robot.marker_names == ("P1", "P2", "P3")


def test_the_example_campaign_is_one(tmp_path: Path) -> None:
    (robot,), (rows,) = blocks("robot-file.md", "toml"), blocks("campaign-file.md", "csv")
    (known,) = [text for text in blocks("campaign-file.md", "toml") if "stiffarm-campaign" in text]
    for name, text in {"a.robot.toml": robot, "a.campaign.csv": rows, "a.campaign.toml": known}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    campaign = read_campaign(tmp_path / "a.campaign.csv", read_robot(tmp_path / "a.robot.toml"))
    assert len(campaign.readings) == 3
    assert campaign.load_uncertainty.gain_sigma == 0.01


def test_the_example_cutter_is_one(tmp_path: Path) -> None:
    (example,) = [text for text in blocks("campaign-file.md", "toml") if "stiffarm-milling" in text]
    path = tmp_path / "example.milling.toml"
    path.write_text(example, encoding="utf-8")
    assert read_milling(path).teeth == 3
    assert [key for key in MillingTable.model_fields if not re.search(rf"^{key} =", example, re.MULTILINE)] == ["speed"]


def test_the_first_hour_works_as_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    said: dict[str, str] = {}
    for found in BLOCK.finditer(text_of("tutorial.md")):
        if found["kind"] == "csv":
            Path(found["name"]).write_text(found["text"], encoding="utf-8")
            continue
        for line in found["text"].splitlines():
            words = shlex.split(line)
            assert words[0] == "stiffarm"
            assert main(words[1:]) == 0, line
            said[line] = capsys.readouterr().out
    assess = [text for line, text in said.items() if "assess" in line]
    assert "Vertical loads cannot tell A1" in assess[0]
    assert "cannot tell A1" not in assess[1]
    assert "USABLE" in next(text for line, text in said.items() if "validate" in line)
    keys = document(read_estimate("arm.model.json"))
    described = set(re.findall(r"`([a-z_\[\]]+)`", text_of("model-file.md")))
    assert set(keys) <= described
    assert {key for part in ("fit", "holdout", "verdict", "provenance") for key in keys[part]} <= described
