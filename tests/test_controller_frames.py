"""Frames, zeros and DH tables of calibrated arms: against published tables, planted errors and another minimiser."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from chains import placed, reference_fk
from stiffarm.cli.main import main
from stiffarm.compensate.controller_frames import controller_frames
from stiffarm.compensate.conventions import frame_of
from stiffarm.compensate.dh_table import (
    LEVER_M,
    arm_poses,
    errors,
    moved,
    nearest_table,
    residual,
    rows_as_dh,
    table_of,
)
from stiffarm.compensate.model_file import KnownModel
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]


def known(name: str, values: dict[str, float]) -> KnownModel:
    return KnownModel("model", ArmModel.of(read_robot(name)), values)


@pytest.mark.parametrize("name", ["kr270", "kr500-rail", "ur5", "irb120", "iiwa7", "panda"])
def test_every_arm_is_a_table(name: str) -> None:
    robot = read_robot(name)
    table = table_of(ArmModel.of(robot).at())
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (len(robot.joints), 20))
    found = table.poses(q)
    truth = np.array([reference_fk(robot, one) for one in q.T])
    assert np.abs(found.position.T - truth[:, :3, 3]).max() < 1e-12
    assert np.abs(np.moveaxis(found.rotation, -1, 0) - truth[:, :3, :3]).max() < 1e-12


def test_tables_are_the_published_ones() -> None:
    """KR 270 after Khalil, UR5 after Denavit and Hartenberg; signs of a and d are the table's own."""
    rows = table_of(ArmModel.of(read_robot("kr270")).at()).rows
    assert [round(1e3 * abs(row.a), 6) for row in rows] == [0, 350, 1250, 55, 0, 0]
    assert [round(1e3 * abs(row.d), 6) for row in rows] == [750, 0, 0, 1100, 0, 115]
    assert [round(math.degrees(abs(row.alpha)), 6) for row in rows] == [180, 90, 0, 90, 90, 90]
    frame, rows = rows_as_dh(table_of(ArmModel.of(read_robot("ur5")).at()))
    assert np.array_equal(frame.translation, np.zeros(3))
    assert [round(1e3 * abs(row.a), 6) for row in rows] == [0, 425, 392.25, 0, 0, 0]
    # d4 stands where the third of three parallel axes ends
    assert [round(1e3 * abs(row.d), 6) for row in rows] == [89.159, 0, 0, 109.15, 94.65, 82.3]
    assert [round(math.degrees(abs(row.alpha)), 6) for row in rows] == [90, 0, 0, 90, 90, 0]


def test_base_and_tool_are_found_and_told_in_the_flange_of_the_controller() -> None:
    values = {"base.x": 2e-3, "base.ry": 1e-3, "tool.rx": 3e-3}
    found = controller_frames(known("kr270", values), seed=3)
    level = found.levels[0]
    assert found.nominal.max_m > 1e-3
    assert level.apart.max_m < 1e-9
    assert level.apart.max_rad < 1e-9
    robot = read_robot("kr270")
    arm = ArmModel.of(robot).at(values)
    # what the controller then computes: base, its own nominal arm, tool in its own flange frame
    q = np.deg2rad([[10.0, -70, 80, 30, 50, -20]]).T
    hand = placed(robot.controller.tool0)
    stated = frame_of(tuple(found.numbers(level.tool, "kuka").values()), "kuka")
    tool, base = np.eye(4), np.eye(4)
    tool[:3, :3], tool[:3, 3] = stated.rotation, stated.translation
    base[:3, :3], base[:3, 3] = level.base.rotation, level.base.translation
    here = base @ reference_fk(robot, q[:, 0]) @ hand @ tool
    wanted = arm_poses(arm, q)
    assert np.abs(here[:3, 3] - wanted.position[:, 0]).max() < 1e-9
    assert np.abs(here[:3, :3] - wanted.rotation[:, :, 0]).max() < 1e-9


def test_zeros_are_what_the_axes_show_too_little() -> None:
    planted = {"A2.offset": 1e-3, "A3.offset": -2e-3, "A4.offset": 3e-3, "A5.offset": -1e-3}
    level = controller_frames(known("kr270", planted), seed=1).levels[1]
    assert level.apart.max_m < 1e-9
    assert level.zeros is not None
    assert level.zeros[1:5] == pytest.approx([1e-3, -2e-3, 3e-3, -1e-3], abs=1e-8)


def test_a_tilt_between_parallel_axes_has_no_number_in_a_table_with_its_d() -> None:
    model = known("kr270", {"A3.rz": math.radians(0.05), "A4.y": 4e-4, "A5.rz": 1e-3})
    found = controller_frames(model, seed=2)
    told = {level.name: level for level in found.levels}
    # what is minimised falls from level to level, here on joint values that were not fitted
    sizes = [math.hypot(one.rms_m, LEVER_M * one.rms_rad) for one in (found.nominal, *(x.apart for x in found.levels))]
    assert all(after < before for before, after in pairwise(sizes))
    assert told["table"].apart.max_m > 2e-5
    assert told["exact table"].apart.max_m < 1e-9
    exact, held = told["exact table"].table, told["table"].table
    assert exact is not None
    assert held is not None
    assert max(abs(row.d) for row in exact.rows) > 5.0
    assert held.rows[2].d == 0.0


def test_the_nearest_table_is_the_minimum_another_minimiser_finds() -> None:
    model = known("irb120", {"J3.rx": 2e-3, "J2.ry": 1e-3, "J5.x": 3e-4})
    start = table_of(model.nominal())
    q = np.random.default_rng(4).uniform(-1.5, 1.5, (6, 25))
    wanted = arm_poses(model.arm(), q)
    found = nearest_table(start, q, wanted)
    own = float((errors(found.poses(q), wanted) ** 2).sum())

    def cost(values: Floats) -> Floats:
        rows = tuple(
            replace(r, alpha=r.alpha + v[0], a=r.a + v[1], d=r.d + (0.0 if held else v[2]), theta=r.theta + v[3])
            for r, v, held in zip(start.rows, values[:24].reshape(6, 4), start.held, strict=True)
        )
        base, end = moved(start.base, values[24:30]), moved(start.end, values[30:])
        return errors(replace(start, rows=rows, base=base, end=end).poses(q), wanted).ravel()

    other = least_squares(cost, np.zeros(36), method="trf", xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=15)
    assert own <= 2.0 * other.cost * (1.0 + 1e-6)
    assert own > 1e-9
    assert LEVER_M * residual(found.poses(q), wanted).rms_rad > 0.0


def test_the_command_says_it_in_the_numbers_of_the_controller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["robot", "frames", "ur5", "--convention", "dh"]) == 0
    text = capsys.readouterr().out
    assert "rx" in text
    assert "$BASE" not in text
    assert "89.1590" in text
    assert max(map(len, text.splitlines())) <= 80
    out = tmp_path / "frames.json"
    assert main(["robot", "frames", "kr270", "--to", "abb", "--json", "-o", str(out)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads(out.read_text())
    assert [level["told"] for level in document["levels"]] == ["base and tool", "zeros", "table", "exact table"]
    tool = document["levels"][0]["tool"]["abb"]
    assert list(tool) == ["x[mm]", "y[mm]", "z[mm]", "q1", "q2", "q3", "q4"]
    assert [tool[key] for key in ("q1", "q3")] == pytest.approx([math.sqrt(0.5), -math.sqrt(0.5)])
    assert document["levels"][2]["held"] == ["A3"]
    assert main(["robot", "frames", "r2000ic-165f"]) == 0
    assert "no DH table" in capsys.readouterr().out
