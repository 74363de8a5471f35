"""A nominal geometry that is a little off its drawing must not decide what touches tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from paper_004 import MODEL, ROBOT, touches
from stiffarm.identify.choose import BY_TOUCH, told_by_misalignment
from stiffarm.identify.fit import fit
from stiffarm.identify.options import Options
from stiffarm.identify.unknowns import ask
from stiffarm.robot.reading import parse_robot
from stiffarm.robot.writing import robot_text

ASKED = ask(ROBOT, touches(MODEL.at(), load_point=None), Options(elastic="none"))


def test_a_short_column_is_told_by_misalignment_and_a_zero_one_by_nothing() -> None:
    white = np.ones((50, len(ASKED.names)))
    index = {name: i for i, name in enumerate(ASKED.names)}
    white[:, index["A2.y"]] = 0.002
    white[:, index["A3.rx"]] = 0.01
    white[:, index["A1.z"]] = 0.0
    white[:, index["tool.tip.x"]] = 0.002
    assert told_by_misalignment(ASKED, white) == {"A2.y", "A3.rx"}


def test_a_file_off_by_a_milliradian_lets_no_length_run_away() -> None:
    """The height of the second joint is nothing to touches; a first axis 1 mrad off makes it seem something."""
    text = robot_text(ROBOT)
    first = text.index("alpha = ")
    line = text[first : text.index("\n", first)]
    angle = float(line.split("=")[1])
    robot = parse_robot(text.replace(line, f"alpha = {angle + 0.0573}", 1), "off.robot.toml", Path())
    random = np.random.default_rng(3)
    truth = {f"A{k}.{a}": float(1e-3 * random.normal()) for k in range(2, 7) for a in ("x", "y", "z", "rx", "ry", "rz")}
    measured = touches(MODEL.at(truth), per_point=60, sigma_m=4e-5, seed=1, distances=True, load_point=None)
    found = fit(robot, measured, Options(elastic="none", folds=0))
    arm = [i for i, name in enumerate(found.names) if not name.startswith("tool.")]
    assert np.abs([found.at.values[found.names[i]] for i in arm]).max() < 0.02
    assert found.estimate.sigma[arm].max() < BY_TOUCH
    assert found.solution.iterations <= 10
