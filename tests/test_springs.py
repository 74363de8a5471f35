"""Springs that cannot be are said."""

from __future__ import annotations

import numpy as np
import pytest

import stiffarm
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.reading import read_robot


def campaign(sign: float) -> stiffarm.Estimate:
    random = np.random.default_rng(1)
    robot = read_robot("kr270")
    q = random.uniform(np.radians([-90, -100, 0, -150, -90, -150]), np.radians([90, -30, 110, 150, 90, 150]), (24, 6))
    plan = {f"q.A{i + 1}[rad]": q[:, i] for i in range(6)}
    plan |= {"experiment": [f"E{i}" for i in range(24)], "force.x[N]": random.uniform(-1e3, 1e3, 24),
             "force.z[N]": random.uniform(-3e3, 0.0, 24), "marker": ["P1", "P2", "P3"] * 8,
             "observation": ["deflection"] * 24}  # fmt: skip
    from stiffarm.measure.frames import FrameFile
    from stiffarm.measure.reading import read_plan
    from stiffarm.measure.virtual import simulate

    model = ArmModel.of(robot)
    truth = {"A5.compliance": sign * model.nominal["A5.compliance"]}
    read = simulate(model.at(truth), read_plan(FrameFile.of(plan), robot), seed=2, sigma_m=3e-5).campaign
    return stiffarm.identify(robot, read, folds=0)


@pytest.mark.parametrize(("sign", "said"), [(-1.0, True), (1.0, False)])
def test_a_spring_that_gives_way_against_its_load_is_named(sign: float, said: bool) -> None:
    notes = [note for note in campaign(sign).notes if "negative" in note]
    assert bool(notes) is said
    assert all("A5.compliance" in note and "--fix 'A5.compliance'" in note for note in notes)
