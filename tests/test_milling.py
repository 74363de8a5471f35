"""Milling forces against a cutter turned step by step, against the volume cut, and through the commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import stiffarm
from stiffarm.cli.main import main
from stiffarm.compensate.milling import Milling, milled
from stiffarm.compensate.milling_file import read_milling
from stiffarm.errors import InputError

Floats = NDArray[np.float64]
CUTTER = Milling(
    specific_force_pa=8e8, depth_m=3e-3, width_m=6e-3, diameter_m=16e-3, teeth=3, feed_per_tooth_m=1e-4,
    radial=0.35, axial=0.2,
)  # fmt: skip


def turned_step_by_step(cut: Milling, feed: Floats, axis: Floats, chip_m: float) -> tuple[Floats, Floats]:
    """Mean force and torque of a cutter turned through a full turn, its teeth looked at one by one."""
    spin = axis if cut.turning == "right" else -axis
    radius = 0.5 * cut.diameter_m
    start = np.cross(axis, feed)
    force, torque = np.zeros(3), np.zeros(3)
    angles = (np.arange(7200) + 0.5) * 2.0 * np.pi / 7200
    for angle in angles:
        out = Rotation.from_rotvec(angle * spin).apply(start)
        motion = np.cross(spin, out)
        ahead = out @ feed
        # the work's wall is where a tooth moves along the feed (up) or against it (down)
        wall = -np.cross(spin, feed) if cut.side == "up" else np.cross(spin, feed)
        deep = radius * (out @ wall) >= radius - cut.width_m
        if ahead <= 0.0 or not deep:
            continue
        cutting = cut.specific_force_pa * cut.depth_m * chip_m * ahead
        tooth = -cutting * motion - cut.radial * cutting * out
        force += tooth + cut.axial * cutting * axis
        torque += axis * (np.cross(radius * out, tooth) @ axis)
    return cut.teeth * force / len(angles), cut.teeth * torque / len(angles)


@pytest.mark.parametrize("side", ["up", "down"])
@pytest.mark.parametrize("turning", ["right", "left"])
@pytest.mark.parametrize("width_m", [2e-3, 11e-3, 16e-3])
def test_mean_force_is_that_of_a_cutter_turned_step_by_step(side: Any, turning: Any, width_m: float) -> None:
    cut = replace(CUTTER, side=side, turning=turning, width_m=width_m)
    frame = Rotation.from_rotvec([0.3, -1.1, 0.4]).as_matrix()
    feed = frame @ [np.cos(0.7), np.sin(0.7), 0.0]
    found = milled(cut, np.outer(feed, [0.0, 1e-3, 2e-3]), np.repeat(frame.T[:, :, None], 3, axis=2))
    force, torque = turned_step_by_step(cut, feed, frame[:, 2], 1e-4)
    assert np.linalg.norm(force) > 20.0
    assert found.wrench_world[:3, 1] == pytest.approx(force, abs=2e-3 * np.linalg.norm(force))
    assert found.wrench_world[3:, 1] == pytest.approx(torque, abs=2e-3 * np.linalg.norm(torque))


@pytest.mark.parametrize("exponent", [0.0, 0.26])
def test_power_is_specific_force_times_volume_cut(exponent: float) -> None:
    speed, feed_m_s = 100.0, 0.03
    cut = replace(CUTTER, feed_per_tooth_m=None, speed_hz=speed, exponent=exponent)
    axes = np.repeat(np.eye(3)[:, :, None], 2, axis=2)
    found = milled(cut, np.array([[0.0, 0.01], [0.0, 0.0], [0.0, 0.0]]), axes, np.full(2, feed_m_s))
    power = -2.0 * np.pi * speed * found.wrench_world[5]
    low, high = cut.engaged
    chip = feed_m_s / (speed * 3) * (cut.width_m / (0.5 * cut.diameter_m)) / (high - low)
    specific = cut.specific_force_pa * (chip / 1e-3) ** -exponent
    assert power == pytest.approx(np.full(2, specific * cut.depth_m * cut.width_m * feed_m_s), rel=1e-9)
    assert found.chip_m == pytest.approx(np.full(2, 1e-4))


def test_a_ramp_cuts_less_and_a_dive_is_named() -> None:
    slope = np.array([0.0, np.radians(20.0), np.radians(90.0)])
    for angle in slope:
        step = np.array([np.cos(angle), 0.0, np.sin(angle)])
        path = np.outer(step, [0.0, 1e-3, 2e-3])
        found = milled(CUTTER, path, np.repeat(np.eye(3)[:, :, None], 3, axis=2))
        assert found.chip_m == pytest.approx(np.full(3, 1e-4 * np.cos(angle)), abs=1e-12)
        assert found.diving.tolist() == [angle > 1.0] * 3
        assert np.isfinite(found.wrench_world).all()
        said = found.warnings(np.array([2, 3, 4]))
        assert len(said) == (1 if angle > 1.0 else 0)


def test_without_feed_nothing_is_cut() -> None:
    axes = np.repeat(np.eye(3)[:, :, None], 4, axis=2)
    path = np.array([[0.0, 1e-3, 2e-3, 3e-3], [0.0] * 4, [0.0] * 4])
    found = milled(CUTTER, path, axes, np.array([0.01, np.nan, 0.0, 0.01]))
    assert (found.wrench_world[0] != 0.0).tolist() == [True, False, False, True]
    assert "first is row 3" in found.warnings(np.array([2, 3, 4, 5]))[0]
    assert not milled(CUTTER, np.zeros((3, 4)), axes).wrench_world.any()


FILE = """format = "stiffarm-milling/1"
specific_force = "800 N/mm^2"
depth = "3 mm"
width = "6 mm"
diameter = "16 mm"
teeth = 3
feed_per_tooth = "0.1 mm"
radial = 0.35
axial = 0.2
"""


def test_the_file_says_what_the_cutter_is(tmp_path: Path) -> None:
    path = tmp_path / "a.milling.toml"
    path.write_text(FILE, encoding="utf-8")
    assert read_milling(path) == CUTTER


@pytest.mark.parametrize(
    ("before", "after", "row", "says"),
    [
        ('"3 mm"', "3", 3, "with its unit"),
        ('"3 mm"', '"-3 mm"', 3, "more than 0"),
        ('"6 mm"', '"17 mm"', 4, "at most 16 mm"),
        ("teeth = 3", "teeth = 0", 6, "whole number"),
        ("teeth = 3", "teeths = 3", 6, "did you mean 'teeth'"),
        ("radial = 0.35", 'radial = 0.35\naxis = "w"', 9, "from the holder to the tip"),
        ("radial = 0.35", "exponent = 1.5", 8, "less than 1"),
        ("radial = 0.35", 'speed = "9000 1/min"', 8, "one of the two"),
    ],
)
def test_what_is_wrong_in_the_file_is_said_with_its_row(
    tmp_path: Path, before: str, after: str, row: int, says: str
) -> None:
    path = tmp_path / "a.milling.toml"
    path.write_text(FILE.replace(before, after), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_milling(path)
    text = " ".join(map(str, caught.value.problems))
    assert says.lower() in text.lower()
    assert any(problem.row == row for problem in caught.value.problems)


ARM = ",".join(f"q.A{i}[deg]" for i in range(1, 7))
JOINTS = ["0,-70,80,10,40,0", "1,-70,80,10,40,0", "2,-70,80,10,40,0", "3,-69,80,10,40,0"]


def path_of(folder: Path, header: str, rows: list[str], name: str = "a.path.csv") -> Path:
    path = folder / name
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def rows_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[dict[str, Any]]:
    assert main(["predict", *map(str, arguments), "--json"]) == 0
    rows: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rows"]
    return rows


def bending(row: dict[str, Any]) -> Floats:
    return np.array([row[f"d{axis}[m]"] for axis in "xyz"])


def test_options_say_the_same_as_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ",force.x[N],force.y[N],force.z[N],torque.z[N*m],load_point"
    stated = path_of(tmp_path, ARM + more, [f"{row},100,0,-1500,20,hook" for row in JOINTS], "s.path.csv")
    plain = path_of(tmp_path, ARM, JOINTS)
    options = ["--force", "100,0,-1500N", "--torque", "0,0,20[N*m]", "--load-point", "hook"]
    for one, other in zip(rows_of(capsys, "kr270", stated), rows_of(capsys, "kr270", plain, *options), strict=True):
        assert bending(one) == pytest.approx(bending(other), abs=1e-15)
    assert main(["compensate", "kr270", str(stated), "-o", str(tmp_path / "one.csv")]) == 0
    assert main(["compensate", "kr270", str(plain), "-o", str(tmp_path / "other.csv"), *options]) == 0
    one, two = pl.read_csv(tmp_path / "one.csv"), pl.read_csv(tmp_path / "other.csv")
    assert np.array_equal(one.select("^q.*$").to_numpy(), two.select("^q.*$").to_numpy())


def test_a_force_in_the_tool_is_turned_by_predict_as_by_compensate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = path_of(tmp_path, ARM, JOINTS)
    world = rows_of(capsys, "kr270", plain)
    tool = rows_of(capsys, "kr270", plain, "--force", "0,0,900N", "--force-frame", "tool")
    stated = []
    for row, text in zip(world, JOINTS, strict=True):
        bare = rows_of(capsys, "kr270", path_of(tmp_path, ARM, [text], "b.path.csv"), "--force", "0,0,0.000001N")[0]
        axis = Rotation.from_rotvec([bare[f"r{a}[rad]"] for a in "xyz"]).apply([0.0, 0.0, 900.0])
        stated.append(f"{text}," + ",".join(f"{value:.12f}" for value in axis))
        assert row["x[m]"] == pytest.approx(bare["x[m]"], abs=1e-9)
    by_columns = rows_of(
        capsys, "kr270", path_of(tmp_path, ARM + ",force.x[N],force.y[N],force.z[N]", stated, "c.path.csv")
    )
    for one, other in zip(tool, by_columns, strict=True):
        # the file's axes are those of the bent tool, some mrad away from the unbent one's
        assert bending(one) == pytest.approx(bending(other), rel=0.02, abs=2e-6)
    assert np.linalg.norm(bending(tool[0]) - bending(world[0])) > 1e-4


def test_milling_bends_the_path_and_is_corrected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = path_of(tmp_path, ARM + ",feed[mm/min]", [f"{row},1800" for row in JOINTS])
    cutter = tmp_path / "a.milling.toml"
    cutter.write_text(FILE.replace('feed_per_tooth = "0.1 mm"', 'speed = "6000 1/min"'), encoding="utf-8")
    bent, bare = rows_of(capsys, "kr270", plain, "--milling", cutter), rows_of(capsys, "kr270", plain)
    moved = [np.linalg.norm(bending(one) - bending(other)) for one, other in zip(bent, bare, strict=True)]
    assert min(moved) > 1e-5
    arguments = ["compensate", "kr270", str(plain), "--milling", str(cutter), "--json"]
    assert main([*arguments, "-o", str(tmp_path / "out.csv")]) == 0
    assert json.loads(capsys.readouterr().out)["max_residual[m]"] < 1e-6
    assert "feed[mm/min]" in pl.read_csv(tmp_path / "out.csv").columns
    # a corrected path keeps its feeds; without them the chip is not known
    bare_path = path_of(tmp_path, ARM, JOINTS, "n.path.csv")
    assert main(["compensate", "kr270", str(bare_path), "--milling", str(cutter)]) == 2
    assert "feed[mm/min]" in capsys.readouterr().err


def test_calls_take_what_commands_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain, cutter = path_of(tmp_path, ARM, JOINTS), tmp_path / "a.milling.toml"
    cutter.write_text(FILE, encoding="utf-8")
    for options, asked in (
        (
            ["--force", "100,0,-1500N", "--force-frame", "tool"],
            {"force_n": (100.0, 0.0, -1500.0), "force_frame": "tool"},
        ),
        (["--milling", str(cutter)], {"milling": cutter}),
    ):
        given: dict[str, Any] = dict(asked)
        rows = rows_of(capsys, "kr270", plain, *options)
        assert pytest.approx(np.array([*map(bending, rows)])) == stiffarm.predict("kr270", plain, **given).elastic.T
        assert main(["compensate", "kr270", str(plain), "-o", str(tmp_path / "b.csv"), "-q", *options]) == 0
        capsys.readouterr()
        written = np.radians(pl.read_csv(tmp_path / "b.csv").select("^q.*$").to_numpy().T)
        assert stiffarm.compensate("kr270", plain, **given).path.q == pytest.approx(written, abs=1e-12)
    with pytest.raises(InputError, match="both say what pulls"):
        stiffarm.compensate("kr270", plain, force_n=(0.0, 0.0, 1.0), milling=cutter)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--force", "0,0,-10"], "three components"),
        (["--force", "0,-10N"], "three components"),
        (["--force", "0,0,-10mm"], "units N kN"),
        (["--force", "0,0,-10N", "--load-point", "hok"], "hook"),
        (["--load-point", "hook"], "needs a load"),
        (["--force", "0,0,-10N", "--milling", "a.milling.toml"], "both say what pulls"),
        (["--milling", "nowhere.milling.toml"], "cannot be read"),
    ],
)
def test_options_that_cannot_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    plain = path_of(tmp_path, ARM, JOINTS)
    for command in ("compensate", "predict"):
        assert main([command, "kr270", str(plain), *options]) == 2
        assert says in capsys.readouterr().err


def test_a_load_stated_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stated = path_of(tmp_path, ARM + ",force.x[N]", [f"{row},{5 * i}" for i, row in enumerate(JOINTS)])
    assert main(["compensate", "kr270", str(stated), "--force", "0,0,-10N"]) == 2
    told = capsys.readouterr().err
    assert "row 3" in told
    assert "--force" in told
