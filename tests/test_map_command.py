"""`stiffarm map` as it is typed: the object, the rows, the page in a browser, what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stiffarm
from browser import open_page
from stiffarm.cli.main import main

Output = pytest.CaptureFixture[str]
REGION = "x=1.2..2/3,y=-0.4..0.4/4,z=0.8[m]"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys: Output, *arguments: str, status: int = 0) -> dict[str, Any]:
    assert main(["map", *arguments, "--json", "--quiet"]) == status
    out = capsys.readouterr()
    assert out.err == ""
    return dict(json.loads(out.out))


def part(path: Path, force: str = ",force.z[N]", value: str = ",-500") -> Path:
    header = "x[mm],y[mm],z[mm],rx[deg],ry[deg],rz[deg]"
    rows = [f"{x},{y},900,180,0,0{value}" for x, y in ((1600, 0), (1800, 0), (1800, 200), (1600, 200))]
    path.write_text("\n".join([header + force, *rows]) + "\n", encoding="utf-8")
    return path


def test_object_rows_and_sentences_say_the_same(capsys: Output, folder: Path) -> None:
    found = asked(capsys, "kr270", "--over", REGION, "--force", "1.5kN", "-o", "map.csv")
    assert found["shape"] == [3, 4, 1]
    assert found["places"] == found["reached"] == 12
    assert found["direction"] == "worst"
    assert found["force[N]"] == 1500.0
    assert [axis["name"] for axis in found["axes"]] == ["x", "y", "z"]
    deflection = np.array(found["deflection[m]"])
    assert found["best"]["deflection[m]"] == deflection.min()
    assert found["worst"]["deflection[m]"] == deflection.max()
    assert found["best"]["stiffness[N/m]"] == pytest.approx(1500.0 / deflection.min())
    assert found["best"]["exact[m]"] == pytest.approx(deflection.min(), rel=0.01)
    with (folder / "map.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    np.testing.assert_array_equal([float(row["deflection[m]"]) for row in rows], deflection)
    best = rows[int(np.argmin(deflection))]
    assert float(best["x[m]"]) == found["best"]["place"]["x[m]"]
    assert best["status"] == "ok"
    assert float(best["q.A2[rad]"]) == found["best"]["joints"]["q.A2[rad]"]
    assert main(["map", "kr270", "--over", REGION, "--force", "1.5kN", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert f"{1e6 * deflection.min():.4g} um" in text
    assert max(map(len, text.splitlines())) <= 80
    assert main(["map", "kr270", "--over", REGION, "--best", "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("stiffest: x ")


def test_a_force_with_a_direction_and_a_tool_that_points_outwards(capsys: Output) -> None:
    found = asked(capsys, "kr270", "--over", "x=1.7,y=0.3,z=1[m]", "--force", "0,300,-400N", "--tool", "out")
    assert found["tool"] == "out"
    assert found["force[N]"] == pytest.approx(500.0)
    assert found["best"]["force[N]"] == pytest.approx([0.0, 300.0, -400.0])
    held = asked(capsys, "kr270", "--over", "A2=-90..-60/2[deg]", "--hold", "A5=40deg", "--hold", "A1=0.5rad")
    assert held["best"]["joints"]["q.A5[rad]"] == pytest.approx(np.radians(40.0))
    assert held["best"]["joints"]["q.A1[rad]"] == 0.5


def test_best_placement_of_a_part_and_no_place_at_all(capsys: Output, folder: Path) -> None:
    path = str(part(folder / "job.path.csv"))
    found = asked(capsys, "kr270", "--part", path, "--over", "x=1.3..2.1/5,turn=0..90/2[deg]".replace("/5,", "/5[m],"))
    rms = np.array(found["rms[m]"])
    assert found["best"]["rms[m]"] == rms.min() < found["here"]["rms[m]"]
    assert found["best"]["exact_rms[m]"] == pytest.approx(rms.min(), rel=0.01)
    place = int(np.argmin(rms)) // 2
    assert found["best"]["shift[m]"] == pytest.approx([1.3 + 0.2 * place - 1.7, 0.0, 0.0])
    nowhere = asked(capsys, "kr270", "--part", path, "--over", "x=8..9/2[m]", "--best", status=1)
    assert nowhere["best"] is None
    assert nowhere["failed_row"] == [2, 2]
    assert asked(capsys, "kr270", "--over", "x=8,y=0,z=1[m]")["best"] is None


def test_loads_of_a_part_come_from_one_side(capsys: Output, folder: Path) -> None:
    bare = str(part(folder / "bare.path.csv", "", ""))
    region = ("--over", "x=1.7[m]")
    down = asked(capsys, "kr270", "--part", bare, *region, "--force", "0,0,-500N")
    own = asked(capsys, "kr270", "--part", str(part(folder / "own.path.csv")), *region)
    assert down["here"]["rms[m]"] == own["here"]["rms[m]"]
    worst = asked(capsys, "kr270", "--part", bare, *region, "--force", "500N")
    assert worst["here"]["rms[m]"] > down["here"]["rms[m]"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--force", "0N"], "more than 0 N"),
        (["--force", "5"], "a force with its unit"),
        (["--milling", "a.toml"], "--part PATH"),
        (["--part", "job.path.csv"], "where the part may stand"),
        (["--part", "job.path.csv", "--over", "x=1[m]", "--force", "5N"], "one of the two"),
        (["--part", "job.path.csv", "--over", "x=1[m]", "--force", "0,0,5N"], "Leave out --force"),
        (["--part", "job.path.csv", "--over", "x=1[m]", "--tool", "down"], "says itself how the tool"),
        (["--part", "job.path.csv", "--over", "x=1[m]", "--load-point", "hook"], "needs a load"),
        (["--load-point", "nix"], "point 'nix' does not exist"),
        (["--hold", "A9=0deg"], "no joint with its value"),
        (["--hold", "A4"], "no joint with its value"),
        (["--free", "A9"], "cannot be offered"),
        (["--over", "x=1..2[m]"], "y is missing"),
        (["--tool", "up"], "no direction of the tool"),
        (["--over", REGION, "--picture", "no/such/folder.html"], "folder of this file does not exist"),
    ],
)
def test_what_cannot_be_answered_is_refused_and_nothing_written(
    capsys: Output, folder: Path, arguments: list[str], said: str
) -> None:
    part(folder / "job.path.csv")
    before = sorted(folder.iterdir())
    assert main(["map", "kr270", *arguments, "-o", "out.csv"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert "Traceback" not in err
    assert sorted(folder.iterdir()) == before


def test_the_page_is_whole_at_every_width_light_and_dark(capsys: Output, folder: Path) -> None:
    calls = {
        "section": ["--over", "x=1..2.4/6,y=0,z=0.2..1.6/5[m]"],
        "slices": ["--over", "x=1..2.4/5,y=-0.5..0.5/4,z=0.4..1.2/3[m]"],
        "curve": ["--over", "x=1..2.4/9,y=0,z=1[m]"],
        "joints": ["--over", "A2=-100..-40/4,A3=0..90/5[deg]"],
        "one": ["--over", "x=1.5,y=0,z=1[m]"],
    }
    for name, arguments in calls.items():
        assert main(["map", "kr270", *arguments, "--picture", f"{name}.html", "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "stiffest" in text
    with open_page() as page:
        for name in calls:
            for width in (1280, 390):
                page.open((folder / f"{name}.html").as_uri(), width=width, dark=width == 390)
                assert page.errors == []
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert all(url.startswith("file:") for url in page.requests)
            drawings = {"slices": 3, "one": 0}.get(name, 1)
            assert page.evaluate("document.querySelectorAll('svg').length") == drawings
            words = page.evaluate("document.body.textContent")
            assert ("best" in words) == (name != "one")
            assert "Stiffest: " in words
            assert "<script" not in (folder / f"{name}.html").read_text(encoding="utf-8")


def test_the_functions_answer_as_the_command_does(capsys: Output, folder: Path) -> None:
    told = asked(capsys, "kr270", "--over", REGION, "--force", "1.5kN")
    found = stiffarm.map("kr270", REGION, force_n=1500.0)
    np.testing.assert_array_equal(found.to_polars()["deflection[m]"], told["deflection[m]"])
    assert "12 of 12 places reached" in repr(found)
    assert found.best is not None
    assert f"{1e6 * found.deflection[found.best]:.4g} um" in repr(found)
    given = stiffarm.map("kr270", "x=1.7,y=0.3,z=1[m]", force_n=(0, 300, -400))
    np.testing.assert_allclose(given.force_world[:, 0], [0.0, 300.0, -400.0])
    path = part(folder / "job.path.csv")
    placed = stiffarm.place("kr270", path, "x=1.5..1.9/3[m]")
    told = asked(capsys, "kr270", "--part", str(path), "--over", "x=1.5..1.9/3[m]")
    np.testing.assert_array_equal(placed.to_polars()["rms[m]"], told["rms[m]"])
    assert "best: shifted by" in repr(placed)
    with pytest.raises(stiffarm.InputError, match="no force"):
        stiffarm.map("kr270", REGION, force_n=(1.0, 2.0))
