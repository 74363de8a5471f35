"""Criterion 16 for designs in the paper's layout: each group's own information, or the information of all readings.

The extended unknowns are k_21 ... k_2m, one for each angle of joint 2, and k3 ... k6, which all groups share (k1 is not
seen by a hanging load).  Eq. 16 takes the sum over groups j of tr(A0 M_j^-1 A0') with M_j the information on
(k_2j, k3 ... k6) of the readings of group j alone.  But the readings of all groups tell k3 ... k6, so that the variance
of the test pose is tr(A0 C_j A0') with C_j the block of the inverse of the whole information; each test pose has its
own k_2j.  Plans are found under either by the same search (`stiffarm.papers.grouped_002`) and judged by the second.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import elastic_columns
from stiffarm.model.loads import Load, State
from stiffarm.papers.grouped_002 import Grouped
from stiffarm.papers.items import PaperItem
from stiffarm.robot.arm import BodyPoint, Robot
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

PAPER = "002"
ROBOT = "kr120"
Q2_DEG = (-125.0, -105.0, -80.0, -55.0, -30.0, -5.0)
"""Six angles between the joint's limits; the paper's are unpublished."""
FORCE_N = 120.0 * 9.81
MARKERS = ((0.10, 0.05, 0.28), (-0.08, 0.23, 0.20), (0.12, -0.20, 0.15))
HOOK = (-0.15, 0.05, 0.30)
"""m, flange frame; ours, the paper's are unpublished."""
TEST = (0.3, -1.2, 1.6, 0.4, 0.7, 0.2)
"""rad; the typical machining pose, ours."""
COMPLIANCES = (1.13e-6, 0.32e-6, 0.43e-6, 0.95e-6, 3.82e-6, 4.01e-6)
"""rad/(N m): Table 1."""
EXPERIMENTS, SEED = 31, 0


def arm() -> Robot:
    """The robot with our tool."""
    robot = read_robot(ROBOT)
    joints = tuple(replace(joint, compliance=k) for joint, k in zip(robot.joints, COMPLIANCES, strict=True))
    markers = tuple(BodyPoint(f"P{i + 1}", xyz) for i, xyz in enumerate(MARKERS))
    return replace(
        robot, joints=joints, tool=replace(robot.tool, markers=markers, load_points=(BodyPoint("hook", HOOK),))
    )


def columns(robot: Robot, q: Floats, names: tuple[str, ...]) -> Floats:
    """(n, 9, names) m per rad/(N m) of the three markers under the hanging load."""
    at = ArmModel.of(robot).grouped("A2", np.radians(Q2_DEG)).at()
    load = Load(at.chain.point("hook"), np.array([[0.0], [0.0], [-FORCE_N]]))
    parts = [elastic_columns(at, State(q, (load,)), f"P{m + 1}", names) for m in range(len(MARKERS))]
    return np.concatenate(parts, axis=1).transpose(2, 1, 0)


def problem() -> Grouped:
    """Both criteria in our layout."""
    return Grouped.of(arm(), np.radians(Q2_DEG), np.array(TEST), FORCE_N, EXPERIMENTS)


def items() -> tuple[PaperItem, ...]:
    """What eq. 16 predicts and leads to, and what a hanging load says of joint 1."""
    both = problem()
    (by_all, one), (by_group, _) = both.plan(both.full, SEED), both.plan(both.alone, SEED)
    true = both.full.value(by_group.stops)
    over, worse = (by_group.value / true) ** 2, (true / by_all.value) ** 2 - 1.0
    ours = "31 of our configurations of a KR 120 (theirs are unpublished), six angles, three markers, 120 kg hanging"
    return (
        PaperItem(PAPER, "eq. 16: variance at the test pose over the true one", 1.0, over, "1", "wrong",
                  f"it inverts the information of each group alone although all groups tell k3 to k6; {ours}"),
        PaperItem(PAPER, "eq. 17: excess variance of its design over the best", 0.0, 100.0 * worse, "%", "wrong",
                  f"both found by the same search from the same candidates and judged by the full information; {ours}"),
        PaperItem(PAPER, "eq. 17: root mean square error of the best plan at the test poses", None,
                  1e6 * by_all.value, "um", "reproduced",
                  f"none is printed; per marker, 0.03 mm of noise in every deflection, {100.0 * one.efficiency:.1f} % "
                  f"of a numerical lower bound, each test pose with its own k_2j; {ours}"),
        PaperItem(PAPER, "column of k1 under 120 kg, over that of k2", None, hanging_column(both), "1",
                  "not reproducible",
                  "1.13 is printed, but loads that only hang have no moment about a vertical axis: its column is "
                  "exactly zero, and the directions of any other loads are unpublished"),
    )  # fmt: skip


def hanging_column(both: Grouped) -> float:
    """Largest column of k1 over the largest of k2 in our candidates."""
    q = both.candidates(both.full, SEED).q
    return float(
        np.abs(columns(arm(), q, ("A1.compliance",))).max() / np.abs(columns(arm(), q, ("A2.compliance[1]",))).max()
    )
