"""Measurement poses for a robot on a rail: the published design under its own criterion.

Three markers read n loaded deflections of a cable that pulls with 4 kN from the load point to a point on the
floor.  With A_i the derivatives of the markers' positions by the seven compliances in experiment i,

    criterion = sigma sqrt( trace(A_0 M^-1 A_0') / markers ),      M = sum_i A_i' A_i,

the root mean square error, per marker, of the deflection predicted at the test pose.  M is never formed: with R the
triangular factor of the stacked A_i, trace = |A_0 R^-1|^2.  Columns are equilibrated first.

Markers and load point are unpublished; here they are those of effector E100: hook 0.10 m beside and 0.10 m
before the flange, markers at 0, 120 and 240 deg on a circle of 0.10 m, 0.05 m before it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import elastic_columns, predict
from stiffarm.model.loads import Load, State
from stiffarm.papers import plans_001, stiffness_001
from stiffarm.papers.items import PaperItem
from stiffarm.papers.rail_001 import (
    ATTACHMENT_M,
    POSES,
    PULL_N,
    REPEATS,
    ROBOTS,
    SIGMA_M,
    TABLE_2,
    TEST_FORCE_N,
    TEST_POSE,
    joints_si,
)
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

PAPER = "001"


def items() -> tuple[PaperItem, ...]:
    """The published design, Table II and the plans behind it, the identified stiffnesses."""
    arms = {reading: ArmModel.of(read_robot(name)).at() for reading, name in ROBOTS.items()}
    found: list[PaperItem] = []
    for reading, arm in arms.items():
        found += _flange(reading, arm)
        found.append(_height(reading, arm))
    found += [_criterion(reading, arm) for reading, arm in arms.items()]
    return (*found, _scaling(), *plans_001.items(), *stiffness_001.items())


def _flange(reading: str, arm: Arm) -> list[PaperItem]:
    place = predict(arm, State(joints_si(TEST_POSE)), "flange").position[:, 0]
    why = "the paper prints no position; this one follows from Table I and eq. 12 and serves as a check of the reading"
    return [
        PaperItem(PAPER, f"flange at the test pose, {axis}, {reading}", None, round(float(value), 9), "m", "reproduced",
                  why)
        for axis, value in zip("xyz", place, strict=True)
    ]  # fmt: skip


def _height(reading: str, arm: Arm) -> PaperItem:
    """The optimum has to keep frame 7 above 0.5 m (eq. 9)."""
    lowest = float(predict(arm, State(joints_si(*POSES)), "flange").position[2].min())
    return PaperItem(
        PAPER, f"lowest flange of the published design, {reading}", "at least 0.5", lowest, "m",
        "reproduced" if lowest >= 0.5 else "wrong",
        "the design must keep its own constraint z7 >= 0.5 m, which tells the two readings of theta 4 apart",
    )  # fmt: skip


def published_criterion(arm: Arm) -> float:
    """Root mean square error (m) per marker at the test pose with the published design, n = 12."""
    q = joints_si(TEST_POSE, *POSES)
    hook = predict(arm, State(q), "hook").position
    pull = np.array(ATTACHMENT_M)[:, None] - hook
    force = PULL_N * pull / np.linalg.norm(pull, axis=0)
    force[:, 0] = TEST_FORCE_N
    state = State(q, (Load(arm.chain.point("hook", of="load point"), force, None),))
    names = [f"{joint}.compliance" for joint in arm.robot.joint_names]
    markers = arm.robot.marker_names
    rows = np.concatenate([elastic_columns(arm, state, marker, names) for marker in markers], axis=1)
    test, design = rows[:, :, 0].T, math.sqrt(REPEATS) * rows[:, :, 1:].reshape(len(names), -1).T
    scale = np.linalg.norm(design, axis=0)
    r = np.asarray(np.linalg.qr(design / scale, mode="r"))
    spread = np.linalg.solve(r.T, (test / scale).T)
    return SIGMA_M * float(np.linalg.norm(spread)) / math.sqrt(len(markers))


def _criterion(reading: str, arm: Arm) -> PaperItem:
    return PaperItem(
        PAPER, f"criterion of the published design, n = 12, m0 = 3, {reading}", 0.990, 1e5 * published_criterion(arm),
        "1e-2 mm", "not reproducible",
        "markers and load point are unpublished (ours are effector E100), and the scale of the printed values is open",
    )  # fmt: skip


def _scaling() -> PaperItem:
    scaled = [TABLE_2[n, 3] * math.sqrt(n) for n in (3, 6, 12)]
    spread = 100.0 * (max(scaled) / min(scaled) - 1.0)
    return PaperItem(
        PAPER, "Table II, m0 = 3: largest deviation from 1/sqrt(n)", None, spread, "%",
        "reproduced" if spread < 0.1 else "wrong",
        "repeats at the same poses multiply M, so the criterion falls as 1/sqrt(n): the printed values are the square "
        "root of eq. 8, which as printed would fall as 1/n",
    )  # fmt: skip
