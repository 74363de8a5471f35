"""No command writes over what it reads, or works first and finds out later that it cannot write."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from stiffarm.cli.main import main
from stiffarm.cli.outputs import check_outputs
from stiffarm.errors import InputError
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import write_robot

Output = pytest.CaptureFixture[str]
HEADER = "experiment," + ",".join(f"q.A{k}[deg]" for k in range(1, 7))
ROWS = f"{HEADER},force.z[N],x[mm],y[mm],z[mm]\ne1,0,-90,90,0,0,0,-500,1,2,3\n"
READ = ["arm.robot.toml", "day.campaign.csv"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_robot(read_robot("kr270"), READ[0])
    Path(READ[1]).write_text(ROWS, encoding="utf-8")
    Path("folder").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [["predict", *READ, "-o"], ["simulate", *READ, "-o"], ["identify", *READ, "-o"],
     ["simulate", *READ, "-o", "new.campaign.csv", "--truth-out"], ["identify", *READ, "-o", "m.json", "--report"],
     ["compensate", READ[0], READ[1], "-o"], ["robot", "convert", READ[0], "-o"], ["robot", "show", READ[0], "-o"],
     ["robot", "check", READ[0], "-o"], ["assess", *READ, "-o"]],
    ids=lambda command: "-".join(word for word in command if "." not in word),
)  # fmt: skip
@pytest.mark.parametrize(
    ("output", "words"),
    [
        (READ[0], "would be overwritten"),
        (f"folder/../{READ[0]}", "would be overwritten"),
        ("folder", "this is a folder"),
        ("nowhere/new.csv", "the folder of this file does not exist"),
        (f"{'a' * 300}.csv", "annot be written|no file can have this name"),
    ],
)
def test_what_cannot_be_written_is_said_first(
    command: list[str], output: str, words: str, folder: Path, capsys: Output
) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert main([*command, output, "--quiet"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1, error
    assert output in error
    assert any(word in error for word in words.split("|")), error
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_two_outputs_are_two_files(folder: Path) -> None:
    with pytest.raises(InputError, match="--output and --report name the same file"):
        check_outputs({"output": Path("m.json"), "report": Path("folder/../m.json")}, [])
    check_outputs({"output": Path("m.json"), "report": Path("m.html")}, [packaged_robots()[0]])


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there that users seldom have")
def test_a_link_to_an_input_is_that_input(folder: Path) -> None:
    Path("link.csv").symlink_to(READ[1])
    with pytest.raises(InputError, match="would be overwritten"):
        check_outputs({"output": Path("link.csv")}, READ)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_or_a_device_is_written_into_and_stays(folder: Path) -> None:
    os.mkfifo("pipe")
    end = os.open("pipe", os.O_RDWR)  # holds the pipe open, so that writing does not wait
    try:
        assert main(["robot", "show", READ[0], "-o", "pipe"]) == 0
        assert b"KR 270" in os.read(end, 65536)
    finally:
        os.close(end)
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)
