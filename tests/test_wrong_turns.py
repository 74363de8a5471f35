"""What somebody who has never seen the tool gets wrong: one message that says what it is and what to do instead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stiffarm.cli.main import main

Output = pytest.CaptureFixture[str]
PATH = "q.A1[deg];q.A2[deg];q.A3[deg];q.A4[deg];q.A5[deg];q.A6[deg]\n0,5;-90;90;0;60;0\n"
PLAN = (
    "experiment,q.A1[deg],q.A2[deg],q.A3[deg],q.A4[deg],q.A5[deg],q.A6[deg],force.z[N],load_point,observation,marker,"
    "sigma.x[mm],sigma.y[mm],sigma.z[mm]\n"
    "e1,10,-90,90,10,60,10,-1000,hook,deflection,P1,{0},{0},{0}\n"
    "e1,10,-90,90,10,60,10,-1000,hook,deflection,P2,,,\n"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.path.csv").write_text(PATH, encoding="utf-8")


def refused(capsys: Output, *arguments: str) -> str:
    """The one message of a command that must not work."""
    assert main(list(arguments)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("error:") == 1
    return said.err


@pytest.mark.parametrize(("arguments", "found", "step"), [
    (("predict", "job.path.csv", "kr270"), "row 1", "the robot or model comes first"),
    (("report", "job.path.csv"), "row 1", "allowed: a model file, which identify writes"),
    (("report", "nothing.json"), "no such file", "allowed: a model file, which identify writes"),
    (("plan", "kr270", "--force", "1,5kN"), "'1,5kN'", '"1.5kN"'),
    (("plan", "kr270", "--force", "1500"), "'1500'", '"1500 N"'),
    (("plan", "kr270", "--force", "1kN", "--sigma", "0,03mm"), "'0,03mm'", '"0.03mm"'),
    (("plan", "kr270", "--force", "1kN", "--sigma", "0.03"), "'0.03'", '"0.03 mm"'),
    (("plan", "kr270", "--force", "1kN", "--cable-box", "x=2000..4000,y=3000,z=-500[m]"), "x = 2000 m", "its unit"),
    (("plan", "kr270", "--force", "1kN", "--tool-box", "z>=500[m]"), "z = 500 m", "its unit"),
    (("plan", "kr270", "--force", "1kN", "--load", "vertical"), "A1.compliance", "leave it out: --fix"),
])  # fmt: skip
def test_a_wrong_turn_is_told_with_the_way_out(
    capsys: Output, arguments: tuple[str, ...], found: str, step: str
) -> None:
    said = refused(capsys, *arguments)
    assert found in said
    assert step in said


def test_a_missing_unit_is_suggested_as_it_is_usual(capsys: Output) -> None:
    header = "experiment,q.A1,q.A2,q.A3,q.A4,q.A5,q.A6,x,y,z,marker\n"
    Path("day.csv").write_text(header + "e1,0,-90,90,0,60,0,1500,0,1700,P1\n", encoding="utf-8")
    assert main(["identify", "kr270", "day.csv"]) == 2
    said = capsys.readouterr().err
    assert "'x[mm]'" in said
    assert "'q.A6[deg]'" in said


@pytest.mark.parametrize(("right", "wrong", "step"), [
    ('convention = "frames"', 'convention = "Frames"', "Did you mean 'frames'?"),
    ("\nlimits = ", "\nspeed = 105,5\nlimits = ", "With a decimal point: speed = 105.5"),
])  # fmt: skip
def test_a_robot_file_is_mended_by_what_is_said(capsys: Output, right: str, wrong: str, step: str) -> None:
    assert main(["robot", "convert", "kr270", "-o", "my.robot.toml"]) == 0
    capsys.readouterr()
    file = Path("my.robot.toml")
    text = file.read_text(encoding="utf-8")
    assert right in text
    file.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    assert step in refused(capsys, "robot", "check", "my.robot.toml")


@pytest.mark.parametrize(("stated", "asked", "kept"), [
    ("0.03", "0.3mm", True), ("0.03", "0mm", True), ("0.03", "0.03mm", False), ("0.0424264", "0.03mm", False),
])  # fmt: skip
def test_rows_that_state_their_scatter_keep_it_and_that_is_said(
    capsys: Output, stated: str, asked: str, kept: bool
) -> None:
    Path("day.plan.csv").write_text(PLAN.format(stated), encoding="utf-8")
    assert main(["simulate", "kr270", "day.plan.csv", "-o", "day.campaign.csv", "--sigma", asked]) == 0
    said = capsys.readouterr().err
    assert ("1 of 2 rows keep the scatter they state themselves" in said) == kept
    assert (f"{stated} mm in row 2), which --sigma {asked} does not change" in said) == kept


@pytest.mark.parametrize(("language", "other"), [("src", "krl"), ("mod", "rapid")])
def test_a_program_that_was_corrected_is_not_corrected_again_in_silence(
    capsys: Output, language: str, other: str
) -> None:
    first = ["compensate", "kr270", "job.path.csv", "-o", f"job.{language}", "--allow-absolute-accuracy"]
    assert main([*first, "--to", other, "--force", "0,0,-1000N"]) == 0
    assert "already" not in capsys.readouterr().err
    Path("again").mkdir()
    again = ["compensate", "kr270", f"job.{language}", "-o", f"again/job.{language}", "--allow-absolute-accuracy"]
    assert main(again) == 0
    said = capsys.readouterr().err
    assert re.search(r"was corrected with \S.* already: its points would be corrected twice", said)


def test_one_round_is_not_told_as_several(capsys: Output) -> None:
    plan = ["plan", "kr270", "--force", "1kN", "--poses", "2", "--no-curve", "--experiments"]
    assert main([*plan, "2"]) == 0
    assert "Driven in a short tour." in capsys.readouterr().out
    assert main([*plan, "4"]) == 0
    assert "every second one backwards" in capsys.readouterr().out


def test_the_list_of_robots_fits_a_terminal(capsys: Output) -> None:
    assert main(["robot", "list"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


@pytest.mark.parametrize(("option", "value", "says"), [
    ("--experiments", "abc", "it should be a valid integer; found: 'abc'."),
    ("--experiments", "0", "it should be greater than or equal to 1; found: '0'."),
    ("--criterion", "Q", "'Q' is not one of 'test', 'A'"),
])  # fmt: skip
def test_an_option_that_cannot_be_read_says_what_was_found(capsys: Output, option: str, value: str, says: str) -> None:
    assert main(["plan", "kr270", option, value]) == 2
    said = capsys.readouterr().err
    assert f"'{option}': {says}" in said
    assert "Value error" not in said
