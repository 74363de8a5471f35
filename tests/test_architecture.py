"""The shape of the source, held by reading it: who may import whom, and how long things may get.

Every rule is a function from a source tree to a list of offences.  It is applied twice: to the package,
where the list must be empty, and to a tiny tree that breaks it, where it must not be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "stiffarm"

ROOMS = (
    "robot",
    "model",
    "measure",
    "identifiability",
    "identify",
    "plan",
    "compensate",
    "report",
    "papers",
    "cli",
)
"""In the direction data flows: a room imports itself and the rooms before it."""

FOUNDATION = ("calling", "errors", "showing", "units")
"""Modules beside the rooms that every room may import; they import only one another."""

FACE = ("__init__", "__main__")
"""The package's own front; it may import everything and lends nothing but its version."""

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 80

ROBOT_NAME = re.compile(
    r"(?<![a-z0-9])"
    r"(kr[ _-]?\d{2,4}|ur[ _-]?(3|5|10|16|20|30)e?|iiwa[ _-]?\d*|irb[ _-]?\d+|r-?2000i[a-z]?|meca500|panda)"
    r"(?![a-z0-9])",
    re.IGNORECASE,
)

# A bracketed letter keeps a pattern from matching its own text.
FORBIDDEN_TEXT = re.compile(
    r"\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b"
    r"|(?<![\w.])/(?:wor[k]|roo[t]|hom[e]|User[s])/|\b[A-Z]:\\User[s]\b"
    r"|pypi\.or[g]|pythonhosted\.or[g]|files\.pythonhoste[d]|--(?:extra-)?index-ur[l]|--find-link[s]"
)
TEXT_SUFFIXES = {".py", ".toml", ".md", ".html", ".css", ".js", ".txt", ".yml", ".yaml", ".sh"}


@dataclass(frozen=True)
class Source:
    """One Python file of the package."""

    name: str
    """Path inside the package, with forward slashes."""
    text: str
    tree: ast.Module

    @property
    def room(self) -> str:
        """The room it stands in, or its own name when it stands beside the rooms."""
        return self.name.split("/")[0].removesuffix(".py")


def sources(package: Path) -> Iterator[Source]:
    """Every Python file under a package directory, in a fixed order."""
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield Source(path.relative_to(package).as_posix(), text, ast.parse(text))


def imported_modules(source: Source) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything imported, wherever it stands in the file; relative imports resolved."""
    package = ["stiffarm", *source.name.split("/")[:-1]]
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield node.lineno, f"{base}.{alias.name}"
        elif isinstance(node, ast.Call) and called_name(node) in ("import_module", "__import__"):
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    yield node.lineno, argument.value


def called_name(call: ast.Call) -> str | None:
    """``f`` for ``f(...)`` and for ``module.f(...)``."""
    if isinstance(call.func, ast.Name):
        return call.func.id
    return call.func.attr if isinstance(call.func, ast.Attribute) else None


def may_import(room: str) -> set[str]:
    """First parts of ``stiffarm.<part>`` a file of this room may import."""
    if room in FACE:
        return {*FOUNDATION, *ROOMS}
    before = ROOMS[: ROOMS.index(room) + 1] if room in ROOMS else ()
    return {*FOUNDATION, *before, "__version__"}


def wrong_imports(package: Path) -> list[str]:
    """Files outside every known room, and imports against the direction of the rooms."""
    offences = []
    for source in sources(package):
        if source.room not in (*ROOMS, *FOUNDATION, *FACE):
            offences.append(f"{source.name}: neither in a room nor listed as foundation")
            continue
        for line, module in imported_modules(source):
            parts = module.split(".")
            if parts[0] == "stiffarm" and (len(parts) == 1 or parts[1] not in may_import(source.room)):
                offences.append(f"{source.name}:{line}: {source.room} imports {module}")
    return offences


def docstrings(tree: ast.Module) -> set[int]:
    """Identities of the constants that are documentation: a statement made of nothing but a text.

    This covers the docstrings of modules, classes and functions and those under a field.
    """
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def words_of_code(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every identifier and every text constant that is not documentation."""
    documentation = docstrings(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in documentation:
                yield node.lineno, text
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text):
                yield node.lineno, text
            case ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text) | ast.ClassDef(name=text):
                yield node.lineno, text
            case ast.keyword(arg=str(text)):
                yield node.value.lineno, text


def robots_by_name(package: Path) -> list[str]:
    """Names of robot models in code that must work for every robot.

    Robots live in the library's TOML files.  Code (identifiers, texts, file names) names none, except in
    papers/ and cli/demo, which are about given robots.  Documentation and comments may, as an example, and
    so may a text under cli/ that shows the user a command line (it contains ``stiffarm ``).
    """
    offences = []
    for source in sources(package):
        if source.room == "papers" or source.name.startswith("cli/demo"):
            continue
        if ROBOT_NAME.search(source.name):
            offences.append(f"{source.name}: file named after a robot")
        for line, text in words_of_code(source.tree):
            shows_command = source.room == "cli" and "stiffarm " in text
            if ROBOT_NAME.search(text) and not shows_command:
                offences.append(f"{source.name}:{line}: {text!r}")
    return offences


def long_files(package: Path) -> list[str]:
    """Files longer than one reads in a sitting."""
    lengths = ((source.name, len(source.text.splitlines())) for source in sources(package))
    return [f"{name}: {length} lines" for name, length in lengths if length > MAX_FILE_LINES]


def long_functions(package: Path) -> list[str]:
    """Functions longer than one reads at a glance, documentation included."""
    offences = []
    for source in sources(package):
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
                length = node.end_lineno - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    offences.append(f"{source.name}:{node.lineno}: {node.name} has {length} lines")
    return offences


def prints(package: Path) -> list[str]:
    """Calls of print outside cli/: a library answers with values, and ``--json`` owns the standard output."""
    return [
        f"{source.name}:{node.lineno}: print"
        for source in sources(package)
        if source.room != "cli"
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]


def forbidden_text(tree: Path) -> list[str]:
    """Marks of unfinished work, paths of somebody's machine, addresses of package registries."""
    offences = []
    for path in sorted(tree.rglob("*")):
        if path.suffix not in TEXT_SUFFIXES or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if found := FORBIDDEN_TEXT.search(line):
                offences.append(f"{path.relative_to(tree).as_posix()}:{number}: {found[0]}")
    return offences


Rule = Callable[[Path], list[str]]
RULES: tuple[Rule, ...] = (
    wrong_imports,
    robots_by_name,
    long_files,
    long_functions,
    prints,
    forbidden_text,
)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule) -> None:
    assert rule(PACKAGE) == []


@pytest.mark.parametrize("folder", ["tests", "bench", "docs", ".ci"])
def test_forbidden_text_stands_nowhere_else_either(folder: str) -> None:
    assert forbidden_text(ROOT / folder) == []


@pytest.mark.parametrize(
    "path", [*sorted(ROOT.glob("*.md")), ROOT / "Makefile", ROOT / ".ci" / "run"], ids=lambda path: path.name
)
def test_forbidden_text_stands_in_no_document(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is not part of this distribution")
    assert not FORBIDDEN_TEXT.search(path.read_text(encoding="utf-8"))


def test_every_room_exists() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS)


def tree_of(folder: Path, files: dict[str, str]) -> Path:
    """A package directory with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("robot/a.py", "from stiffarm.model import kernel"),
        ("robot/a.py", "import stiffarm.model.kernel"),
        ("robot/a.py", "from stiffarm import model"),
        ("robot/a.py", "from ..model import kernel"),
        ("robot/a.py", "from .. import model"),
        ("robot/sub/a.py", "from ...model import kernel"),
        ("robot/a.py", "def f():\n    from stiffarm.cli import main"),
        ("robot/a.py", "import importlib\nimportlib.import_module('stiffarm.plan')"),
        ("robot/a.py", "import stiffarm"),
        ("robot/a.py", "from stiffarm import read_robot"),
        ("identifiability/a.py", "from stiffarm.identify import solve"),
        ("papers/a.py", "from stiffarm.cli import main"),
        ("errors.py", "from stiffarm.robot import arm"),
        ("attic/a.py", ""),
        ("helpers.py", ""),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert wrong_imports(tree_of(tmp_path, {name: text}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("robot/a.py", "from stiffarm.errors import InputError\nimport numpy"),
        ("robot/a.py", "from stiffarm.robot.arm import Robot\nfrom . import arm"),
        ("plan/a.py", "from stiffarm import __version__\nfrom stiffarm.identify import solve"),
        ("cli/a.py", "from stiffarm.papers import cases"),
        ("units.py", "from stiffarm.errors import Problem"),
        ("__init__.py", "from stiffarm.robot.arm import Robot"),
    ],
)
def test_a_right_import_is_left_alone(tmp_path: Path, name: str, text: str) -> None:
    assert wrong_imports(tree_of(tmp_path, {name: text})) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model/a.py", "if robot.name == 'kr270': pass"),
        ("model/a.py", "default = 'KUKA KR 270-2'"),
        ("model/a.py", "def ur10_base(): pass"),
        ("model/a.py", "PANDA_LIMITS = 1"),
        ("model/a.py", "f(iiwa7=1)"),
        ("model/kr500.py", ""),
        ("cli/robot.py", "DEFAULT = 'ur5'"),
    ],
)
def test_a_robot_by_name_is_found(tmp_path: Path, name: str, text: str) -> None:
    assert robots_by_name(tree_of(tmp_path, {name: text}))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model/a.py", '"""For instance kr270."""\n# as on a ur10'),
        ("model/a.py", "import pandas\nour5 = spur10 = kr1 = 0"),
        ("model/a.py", "brand = 'kuka'"),
        ("papers/a.py", "ROBOT = 'kr270'"),
        ("cli/demo.py", "ROBOT = 'kr270'"),
        ("cli/main.py", "FIRST = 'look at a robot: stiffarm robot show kr270'"),
        ("robot/library/kr270.robot.toml", "name = 'KUKA KR 270-2'"),
    ],
)
def test_a_robot_as_an_example_is_left_alone(tmp_path: Path, name: str, text: str) -> None:
    assert robots_by_name(tree_of(tmp_path, {name: text})) == []


def test_a_long_file_is_found(tmp_path: Path) -> None:
    tree_of(tmp_path, {"most.py": "pass\n" * MAX_FILE_LINES, "more.py": "pass\n" * (MAX_FILE_LINES + 1)})
    assert long_files(tmp_path) == [f"more.py: {MAX_FILE_LINES + 1} lines"]


def test_a_long_function_is_found(tmp_path: Path) -> None:
    most = "def most():\n" + "    pass\n" * (MAX_FUNCTION_LINES - 1)
    more = "class A:\n    async def more(self):\n" + "        pass\n" * MAX_FUNCTION_LINES
    tree_of(tmp_path, {"a.py": most + more})
    assert [offence.split(": ")[1] for offence in long_functions(tmp_path)] == [
        f"more has {MAX_FUNCTION_LINES + 1} lines"
    ]


def test_a_print_is_found_outside_the_command_line(tmp_path: Path) -> None:
    tree_of(tmp_path, {"cli/a.py": "print(1)", "model/a.py": '"""print(1)"""\nprint(1)'})
    assert prints(tmp_path) == ["model/a.py:2: print"]


@pytest.mark.parametrize(
    "words",
    [
        ("# TO", "DO"),
        ("# FIX", "ME: later"),
        ("x = 1  # XX", "X"),
        ("path = '/wor", "k/data'"),
        ("path = '/roo", "t/.venv'"),
        ("path = '/hom", "e/somebody/robot.toml'"),
        ("see https://pyp", "i.org/project/stiffarm"),
        ("pip install --index-ur", "l somewhere"),
    ],
    ids=lambda words: words[0],
)
def test_forbidden_text_is_found(tmp_path: Path, words: tuple[str, str]) -> None:
    assert forbidden_text(tree_of(tmp_path, {"a.py": "".join(words)}))


def test_ordinary_text_is_left_alone(tmp_path: Path) -> None:
    text = "# the rest of the network/work/rest, torque m*N/rad, see the workspace\nhome = '/opt'"
    assert forbidden_text(tree_of(tmp_path, {"a.py": text})) == []
