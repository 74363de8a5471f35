"""What a user installs: metadata, pins, packaged files, and documents that say what is there."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import stiffarm

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "stiffarm"


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    """Version of each pinned distribution, by its canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line and not line.startswith("#"))
    return {canonicalize_name(name): number for name, number in pairs}


def unpinned(requirements: list[str], pins: dict[str, str]) -> list[str]:
    """Requirements without a pin, or with one they do not allow."""

    def allows_its_pin(need: Requirement) -> bool:
        pin = pins.get(canonicalize_name(need.name))
        return pin is not None and pin in need.specifier

    return [text for text in requirements if not allows_its_pin(Requirement(text))]


def unshipped(files: list[str], patterns: list[str]) -> list[str]:
    """Files beside the code that no pattern of the package data names, so that a wheel would lack them."""
    return [file for file in files if not any(fnmatch(file, pattern) for pattern in patterns)]


def test_version_is_the_installed_one() -> None:
    assert version("stiffarm") == stiffarm.__version__


def test_every_direct_requirement_is_pinned(pyproject: dict[str, Any], pins: dict[str, str]) -> None:
    project = pyproject["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["test"], *extras["oracle"], *pyproject["build-system"]["requires"]]
    assert unpinned(needed, pins) == []


def test_a_missing_or_too_old_pin_is_found() -> None:
    assert unpinned(["numpy>=2.0", "Jinja2>=3.1", "rich"], {"numpy": "1.26", "jinja2": "3.1.6"}) == [
        "numpy>=2.0",
        "rich",
    ]


def test_constraints_are_exact_versions() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.+]*", line)] == []


def test_every_file_beside_the_code_is_shipped(pyproject: dict[str, Any]) -> None:
    patterns = pyproject["tool"]["setuptools"]["package-data"]["stiffarm"]
    files = [path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file()]
    assert unshipped([file for file in files if not file.endswith((".py", ".pyc"))], patterns) == []


def test_a_file_that_is_not_shipped_is_found() -> None:
    assert unshipped(["robot/library/a.toml", "report/page.html", "b.dat"], ["robot/library/*.toml", "report/*"]) == [
        "b.dat"
    ]


def test_every_module_imports_and_says_what_it_is_for() -> None:
    names = [module.name for module in pkgutil.walk_packages(stiffarm.__path__, "stiffarm.")]
    undocumented = [
        name for name in names if not name.endswith("__main__") and not importlib.import_module(name).__doc__
    ]
    assert len(names) > 10
    assert undocumented == []


def test_the_command_is_installed() -> None:
    (script,) = entry_points(group="console_scripts", name="stiffarm")
    assert callable(script.load())


@pytest.mark.parametrize("module", ["scipy.stats", "plotly", "polars", "pydantic", "typer"])
def test_importing_the_package_leaves_heavy_things_alone(module: str) -> None:
    code = f"import sys, stiffarm; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_readme_names_the_targets_that_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    named = {
        name
        for path in documents
        for name in re.findall(r"(?:`|^ {4})make ([a-z]+)", path.read_text(encoding="utf-8"), re.M)
    }
    assert {"demo", "test"} <= named <= targets


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_between_documents_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = [link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link]
    assert [target for target in targets if target and not (ROOT / target).exists()] == []


@pytest.mark.parametrize("room", sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")))
def test_every_room_stands_in_the_architecture(room: str) -> None:
    assert f"`{room}/`" in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_licence_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "Version 2.0, January 2004" in text


def test_identify_is_called_again_after_its_room_was_imported() -> None:
    code = (
        "import stiffarm\n"
        "first = stiffarm.identify\n"
        "import stiffarm.identify.options as options\n"
        "assert callable(first) and callable(stiffarm.identify) and options.Options\n"
        "try:\n"
        "    stiffarm.identify('kr270', 'nowhere.campaign.csv')\n"
        "except ValueError as error:\n"
        "    assert 'nowhere' in str(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
