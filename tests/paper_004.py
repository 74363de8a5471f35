"""The set-up of paper 004: a KR 60 by its DH table, three points, 600 N downwards at the flange."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Campaign
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.reaching import reach
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import parse_robot
from touch_campaigns import Touched, touch_campaign

Floats = NDArray[np.float64]

DH = ((0, 350, 815, -90), (0, 850, 0, 0), (-90, 145, 0, 90), (0, 0, -820, -90), (0, 0, 0, 90), (0, 0, -170, 180))
"""theta deg, a mm, d mm, alpha deg"""
DEVIATIONS = (
    (0.0, 0.4, 0.0, 0.057),
    (0.0, 0.3, 0.4, -0.114),
    (0.0573, 0.3, 0.0, 0.1146),
    (-0.114, 0.2, 0.3, 0.0573),
    (0.1719, 0.3, 0.2, -0.1719),
    (0.0, 0.2, 0.3, 0.0),
)
COMPLIANCE = (1.0e-5, 0.7e-5, 1.0e-5, 1.2e-5, 1.3e-5, 1.5e-5)
"""rad/(N m): 1e-8 rad/(N mm) in the paper's units, with the missing entry as read in PAPERS 004."""
POINTS = np.array([[-0.050, 1.300, 0.900], [-0.300, -1.500, 1.200], [1.400, 0.700, 1.450]])
TOOL = (0.100, 0.0, 0.150)
FORCE_N = 600.0


def kr60(*, compliance_nominal: float = 0.0) -> Robot:
    """The nominal robot with a probe ``tip`` in the flange frame and a load point ``spindle`` off the flange's axis."""
    joints = "\n".join(
        f'[[joint]]\nname = "A{i}"\ntype = "revolute"\ntheta = {float(t)}\na = {float(a)}\nd = {float(d)}\n'
        f"alpha = {float(alpha)}\nlimits = [-185.0, 185.0]\ncompliance = {compliance_nominal}"
        for i, (t, a, d, alpha) in enumerate(DH, start=1)
    )
    text = (
        'format = "stiffarm-robot/1"\nname = "paper 004"\nunits = { length = "mm", angle = "deg" }\nconvention = "dh"\n'
        f"{joints}\n[tool]\nload_points = {{ spindle = [50.0, 0.0, 100.0] }}\n"
        "markers = { tip = [100.0, 0.0, 150.0] }\n"
    )
    return parse_robot(text, "paper-004.robot.toml", Path(tempfile.gettempdir()))


ROBOT = kr60()
MODEL = ArmModel.of(ROBOT)
AFTER = {i: (f"A{i + 1}.x", f"A{i + 1}.rx") for i in range(1, 6)}
DH_NAMES = tuple(
    name
    for i in range(1, 7)
    for name in (f"A{i}.rz", f"A{i}.z", *({2: ("A3.y", "A3.ry"), 6: ("tool.x", "tool.rx")}.get(i) or AFTER[i]))
)
"""theta, d, a, alpha of each row of the table as corrections by frames; theta_3 = -90 deg stands before the motion of
A3 and turns its x into its y."""
PAPER_33 = (
    *(f"A{i}.compliance" for i in range(1, 7)),
    *(f"tool.tip.{axis}" for axis in "xyz"),
    *DH_NAMES,
)


def true_values(*, scale: float = 1.0) -> dict[str, float]:
    """The deviations of the paper by parameter name, and its compliances."""
    values: dict[str, float] = {}
    for i, (theta, a, d, alpha) in enumerate(DEVIATIONS, start=1):
        rows = (np.deg2rad(theta), d * 1e-3, a * 1e-3, np.deg2rad(alpha))
        values |= dict(zip(DH_NAMES[4 * i - 4 : 4 * i], (scale * float(r) for r in rows), strict=True))
    return values | {f"A{i}.compliance": k for i, k in enumerate(COMPLIANCE, start=1)}


def touches(
    arm: Arm,
    *,
    per_point: int = 18,
    points: Floats = POINTS,
    sigma_m: float = 0.0,
    seed: int = 0,
    load_point: str | None = "flange",
    lateral_n: float = 0.0,
    distances: bool = False,
    sigma_distance_m: float = 1e-6,
    stated: bool = False,
    shape: str = "touch",
) -> Campaign:
    """The arm touches each point in random postures; it misses by ``sigma_m`` in every coordinate."""
    random = np.random.default_rng(seed)
    tries = 12
    n = len(points) * per_point * tries
    wrench = np.zeros((6, n))
    wrench[2] = -FORCE_N
    wrench[:2] = lateral_n * random.uniform(-1.0, 1.0, (2, n))
    q = random.uniform(-1.0, 1.0, (6, n)) * np.array([3.0, 1.2, 1.2, 2.5, 1.8, 3.0])[:, None]
    many = touch_campaign(
        [Touched(f"X{i + 1}.{k}", "touch", 1) for i in range(len(points)) for k in range(per_point * tries)],
        q=q, marker="tip", joints=ROBOT.joint_names,
        wrench_world=None if load_point is None else wrench, load_point=load_point or "flange",
    )  # fmt: skip
    where = np.repeat(points, per_point * tries, axis=0) + sigma_m * random.standard_normal((n, 3))
    order = np.array([t.rows[0] for t in Contacts(many).targets.targets])
    reached = reach(arm, many, np.column_stack([where[order], np.zeros(n)]))
    good = np.zeros(n, dtype=bool)
    good[Contacts(many).rows] = reached.missing_m < 1e-12
    good &= np.abs(reached.campaign.experiments.q).max(axis=0) < 2 * np.pi
    by_point = np.split(np.arange(n), len(points))
    chosen = np.concatenate([part[good[part]][:per_point] for part in by_point])
    assert len(chosen) == len(points) * per_point
    lengths = [(0, 1), (1, 2), (2, 0)] if distances else []
    known = [(f"X{a + 1}", f"X{b + 1}", float(np.linalg.norm(points[a] - points[b]))) for a, b in lengths]
    campaign = touch_campaign(
        [Touched(f"X{i + 1}", shape, per_point) for i in range(len(points))],
        q=reached.campaign.experiments.q[:, chosen], marker="tip", joints=ROBOT.joint_names, distances=known,
        sigma_distance_m=sigma_distance_m, wrench_world=None if load_point is None else wrench[:, chosen],
        load_point=load_point or "flange",
    )  # fmt: skip
    if not stated:
        return campaign
    sigma = np.full_like(campaign.readings.sigma, np.nan)
    sigma[:3, : len(chosen)] = sigma_m
    return replace(campaign, readings=replace(campaign.readings, sigma=sigma))
