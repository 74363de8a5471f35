"""The command line: what it says first, exit statuses, the purity of its standard output, files left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stiffarm.robot.library
from stiffarm import __version__
from stiffarm.cli.common import json_text
from stiffarm.cli.main import app, main
from stiffarm.errors import InputError, Problem, StiffarmWarning
from stiffarm.robot.arm import Prior
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot

Output = pytest.CaptureFixture[str]
BAD_ROBOT = Path(__file__).parent / "bad_robots"


def registered() -> list[list[str]]:
    """Every command there is, as one types it."""

    def name(command: Any) -> str:
        return str(command.name or command.callback.__name__)

    groups = [group.typer_instance for group in app.registered_groups if group.typer_instance]
    inside = [[str(group.info.name), name(c)] for group in groups for c in group.registered_commands]
    return [*([name(c)] for c in app.registered_commands), *([str(group.info.name)] for group in groups), *inside]


COMMANDS = registered()


def raising(error: BaseException) -> Any:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_without_arguments_it_says_what_to_do_first(capsys: Output) -> None:
    assert main([]) == 0
    out = capsys.readouterr().out
    first = out[: out.index("Usage")]
    for command in ("stiffarm demo", "stiffarm robot list", "stiffarm robot check"):
        assert command in first
    for command in (c[0] for c in COMMANDS if len(c) == 1):
        assert f"\n  {command} " in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help_in_eighty_columns(command: list[str], capsys: Output) -> None:
    assert main([*command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: stiffarm {' '.join(command)}")
    assert max(map(len, out.splitlines())) <= 80
    assert "......" not in out


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != ["robot"]], ids=" ".join)
def test_every_command_has_the_common_options(command: list[str], capsys: Output) -> None:
    main([*command, "--help"])
    out = capsys.readouterr().out
    assert all(option in out for option in ("--json", "--seed", "--quiet", "-o, --output"))


def test_there_are_the_commands_that_are_promised() -> None:
    promised = (
        *(["robot", one] for one in ("list", "show", "check", "convert")),
        *([one] for one in ("assess", "simulate", "identify", "validate", "predict", "compensate", "compare")),
        *([one] for one in ("papers", "demo")),
    )
    assert [command for command in promised if command not in COMMANDS] == []


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_letters_that_a_console_cannot_show_are_spelt(encoding: str, tmp_path: Path) -> None:
    """Names of robots and files come from all over the world; Windows redirects in a code page of its own."""
    path = tmp_path / "\u673a\u5668\u4eba.robot.toml"
    text = stiffarm.robot.library.find_robot_file("kr60").content.decode()
    path.write_text(text.replace('name = "KUKA', 'name = "\u673a\u5668\u4eba \u2500'), encoding="utf-8")
    where = {**os.environ, "PYTHONIOENCODING": encoding}
    for arguments in (["check", str(path)], ["show", str(path)], ["show", str(path) + "x"]):
        command = [sys.executable, "-m", "stiffarm", "robot", *arguments]
        done = subprocess.run(command, env=where, capture_output=True, check=False)
        assert done.returncode == (2 if arguments[1].endswith("x") else 0)
        shown = (done.stdout + done.stderr).decode(encoding)
        assert ("\u673a" if encoding == "utf-8" else "\\u673a") in shown
        assert "fault" not in shown


def test_version(capsys: Output) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"stiffarm {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [["--nonsense"], ["nonsense"], ["robot", "show"], ["robot", "convert", "kr270"], ["predict", "kr270"],
     ["demo", "--seed", "x"], ["demo", "--seed", "-1"], ["robot"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_exits_with_2_and_touches_nothing(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err or arguments == ["robot"]
    assert "Traceback" not in captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [["robot", "show", "kr271"], ["robot", "show", "missing.robot.toml"], ["predict", "kr270", "missing.plan.csv"],
     ["predict", "missing.model.json", "missing.plan.csv"], ["papers", "999"],
     ["robot", "convert", "kr270", "-o", "a.txt"], ["robot", "list", "-o", "missing/a.txt"]],
    ids=" ".join,
)  # fmt: skip
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_bad_input_is_one_message_on_stderr(
    arguments: list[str], as_json: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, *as_json]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_many_problems_are_listed_up_to_a_point(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    problems = [Problem(f"wrong {i}") for i in range(40)]
    monkeypatch.setattr(stiffarm.robot.library, "packaged_robots", raising(InputError(problems)))
    assert main(["robot", "list"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: wrong 0."
    assert lines[-1] == "error: 10 more like these."


def test_interruption_exits_with_130(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setattr(stiffarm.robot.library, "packaged_robots", raising(KeyboardInterrupt()))
    assert main(["robot", "list"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_fault_of_ours_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    monkeypatch.setattr(stiffarm.robot.library, "packaged_robots", raising(RuntimeError("out\nof luck")))
    monkeypatch.delenv("STIFFARM_DEBUG", raising=False)
    assert main(["robot", "list"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "fault of stiffarm" in captured.err
    monkeypatch.setenv("STIFFARM_DEBUG", "1")
    assert main(["robot", "list"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_warnings_are_lines_on_stderr_and_quiet_hides_them(tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "a.urdf"
    assert main(["robot", "convert", "kr270", "-o", str(out), "--json"]) == 0
    loud = capsys.readouterr()
    assert loud.err.startswith("warning: ")
    assert json.loads(loud.out)["file"] == str(out)
    assert main(["robot", "convert", "kr270", "-o", str(out), "--json", "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    assert quiet.out == loud.out


def test_the_filters_of_warnings_are_put_back() -> None:
    before = list(warnings.filters), warnings.showwarning
    main(["robot", "list", "--quiet"])
    assert (list(warnings.filters), warnings.showwarning) == before
    with pytest.raises(StiffarmWarning):
        warnings.warn("still an error in tests", StiffarmWarning, stacklevel=1)


@pytest.mark.parametrize(
    "arguments", [["robot", "list"], ["robot", "show", "kr270"], ["robot", "check", "ur10"], ["papers", "000"]],
    ids=" ".join,
)  # fmt: skip
def test_json_is_one_object_and_nothing_else(arguments: list[str], capsys: Output) -> None:
    assert main([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert isinstance(json.loads(captured.out), dict)
    assert captured.err == ""


def test_what_is_not_finite_is_null() -> None:
    import numpy as np

    text = json_text({"a": np.array([1.0, np.nan]), "b": float("inf"), "c": np.float64(2.0), "d": (None, True, "µ")})
    assert json.loads(text) == {"a": [1.0, None], "b": None, "c": 2.0, "d": [None, True, "µ"]}
    assert text.isascii()


def test_list_names_every_packaged_robot(capsys: Output) -> None:
    names = stiffarm.robot.library.packaged_robots()
    main(["robot", "list"])
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in names)
    main(["robot", "list", "--json"])
    assert tuple(robot["name"] for robot in json.loads(capsys.readouterr().out)["robots"]) == names


def test_check_lists_every_problem(capsys: Output) -> None:
    bad = sorted(path for path in BAD_ROBOT.glob("*.toml") if not path.name.startswith("good"))
    assert bad
    for path in bad:
        assert main(["robot", "check", str(path)]) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("error: ")
        assert main(["robot", "check", str(path), "--json"]) == 2
        document = json.loads(capsys.readouterr().out)
        assert not document["ok"]
        assert len(document["problems"]) == captured.err.count("\n")


def test_check_of_a_good_robot(capsys: Output) -> None:
    assert main(["robot", "check", "kr270"]) == 0
    out = capsys.readouterr().out
    assert "no problems found" in out
    assert len(out.splitlines()) == 6


def test_an_output_of_show_is_the_text_or_the_object(tmp_path: Path, capsys: Output) -> None:
    for name in ("a.txt", "a.json"):
        assert main(["robot", "show", "kr270", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == capsys.readouterr().out[
        : (tmp_path / "a.txt").stat().st_size
    ]
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["title"] == "KUKA KR 270-2"


def test_a_converted_robot_reads_back(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "a.robot.toml"
    assert main(["robot", "convert", "kr500-rail", "-o", str(path), "--convention", "frames"]) == 0
    assert "wrote" in capsys.readouterr().out
    assert main(["robot", "check", str(path)]) == 0


def test_a_failed_conversion_leaves_the_old_file(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "a.robot.toml"
    path.write_text("mine", encoding="utf-8")
    assert main(["robot", "convert", "kr270", "-o", str(path), "--convention", "mdh"]) == 2
    assert "error: " in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "mine"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.robot.toml"]


def test_demo_tells_the_story_and_names_its_files(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / "d"
    assert main(["demo", "-o", str(folder)]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    written, first = lines.index("Written:"), lines.index("Open first:")
    named = [line.strip() for line in lines[written + 1 : first]]
    assert {line.split("  ")[1] for line in lines[first + 1 :]} < set(named)
    assert written <= 18
    assert sorted(named) == sorted(str(path) for path in folder.iterdir())
    assert max(map(len, lines[: lines.index("Written:")])) <= 80
    assert captured.err == ""


def test_demo_is_the_same_for_the_same_seed(tmp_path: Path, capsys: Output) -> None:
    told = []
    for folder, seed in (("a", "4"), ("b", "4"), ("c", "5")):
        assert main(["demo", "-o", str(tmp_path / folder), "--seed", seed, "--json", "--quiet"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    contents = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "abc"]
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]
    # 3-D deflections scatter by sqrt(6) readings of 0.03 mm; the file's springs are a fifth off
    assert told[0]["true_rms[m]"] == pytest.approx(0.03e-3 * 6**0.5, rel=0.25)
    assert told[0]["nominal_rms[m]"] > 3 * told[0]["true_rms[m]"]
    assert told[0]["unseen_rms[m]"] < 0.7 * told[0]["unseen_nominal_rms[m]"]
    assert told[0]["worn_found"] == 1.0
    assert all(one["corrected_rms[m]"] < 0.02 * one["path_rms[m]"] for one in told)
    assert told[0]["report"] == told[0]["files"][-1]
    assert 0.97 * told[0]["plan[m]"] < told[0]["bound[m]"] <= told[0]["plan[m]"]
    assert (told[0]["told_by_weight"], told[0]["told_by_cable"]) == (5.0, 6.0)


def test_demo_where_no_folder_can_be(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert main(["demo", "-o", str(tmp_path / "file")]) == 2
    assert "-o DIR" in capsys.readouterr().err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_as_a_process_it_starts_answers_and_respects_no_colour() -> None:
    environment = os.environ | {"NO_COLOR": "1", "FORCE_COLOR": "1", "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-m", "stiffarm", "papers", "000"], check=False, capture_output=True, env=environment
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.decode()
    assert "reproduced" in text
    assert "\x1b[3" not in text


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from stiffarm.cli.main import main; main(['--help']);"
        "print([m for m in ('numpy', 'scipy', 'polars', 'pydantic', 'plotly', 'rich') if m in sys.modules],"
        " file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr.strip() == "[]"


def test_check_knows_what_a_prior_may_be_about(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "arm.robot.toml"
    write_robot(replace(read_robot("kr270"), priors=(Prior("A2.*", 0.5, "mm"),)), path)
    assert main(["robot", "check", str(path)]) == 0
    for prior, place in ((Prior("A9.*", 0.5, "mm"), "prior[1].parameter"), (Prior("A2.*", 1.0, "kg"), "prior[1].unit")):
        write_robot(replace(read_robot("kr270"), priors=(prior,)), path)
        capsys.readouterr()
        assert main(["robot", "check", str(path)]) == 2
        error = capsys.readouterr().err
        row = path.read_text(encoding="utf-8").split("\n").index("[[prior]]") + 1
        assert error.startswith(f"error: {path}, row {row}, column {place}: ")
        assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["kr270", "--original", "a.urdf"], "--original: a URDF can only be corrected by a model"),
        (["m.json", "--base", "a"], "--base: base and tip choose the arm in a URDF"),
        (["m.json", "--original", "a.urdf", "--convention", "dh"], "has no convention to choose"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["robot", "convert", *options, "-o", "new.urdf"]) == 2
    assert words in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
