"""What the demo measures: the plan of the first day, and on the second configurations that nobody chose."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from stiffarm.cli.demo_files import SIGMA_M

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stiffarm.model.arm_model import Arm
    from stiffarm.plan.problem import Plan

POINT = "hook"
EXPERIMENTS, POSES = 15, 5
CABLE_N = 3500.0
READ_TWICE = 2**0.5
"""A deflection is the difference of two readings."""
FLOOR_M = ((1.0, -2.5, 0.0), (4.0, 2.5, 0.0))
"""Corners of the part of the floor to which the cable may be tied."""
TOOL_LOW_M = 0.6
VERTICAL, SIDEWAYS = 10, 5
"""Experiments of each kind."""
WEIGHT_N, PULL_N = 2600.0, 3500.0
LOWEST_M = 0.3
"""No marker of the plan stands lower."""


def best_plan(robot_file: Path, seed: int) -> Plan:
    """The measurements of the first day: a cable from the hook to a point of the floor that is chosen with them."""
    from stiffarm.plan.api import plan
    from stiffarm.plan.options import Box, PlanOptions

    low, high = FLOOR_M
    options = PlanOptions(
        experiments=EXPERIMENTS, poses=POSES, force_n=CABLE_N, cable=Box(low, high), load_point=POINT,
        sigma_m=READ_TWICE * SIGMA_M, tool_box=Box((-inf, -inf, TOOL_LOW_M), (inf, inf, inf)), curve=False,
        seed=seed,
    )  # fmt: skip
    return plan(robot_file, options)


def write_plan(robot_file: Path, plan_file: Path, random: np.random.Generator) -> None:
    """A plan of deflections under hanging and sideways loads."""
    import numpy as np

    from stiffarm.measure.writing import write_table
    from stiffarm.robot.reading import read_robot

    robot = read_robot(robot_file)
    q = _configurations(robot_file, VERTICAL + SIDEWAYS, random)
    force = np.zeros((3, q.shape[1]))
    force[2, :VERTICAL] = -WEIGHT_N
    heading = random.uniform(-np.pi, np.pi, SIDEWAYS)
    force[:2, VERTICAL:] = PULL_N * np.stack([np.cos(heading), np.sin(heading)])
    markers = robot.marker_names
    row = np.repeat(np.arange(q.shape[1]), len(markers))
    columns = {
        "experiment": [f"e{number + 1:02d}" for number in row],
        **{
            f"q.{joint}[deg]": np.degrees(values)[row].round(2)
            for joint, values in zip(robot.joint_names, q, strict=True)
        },
        "load_point": [POINT] * len(row),
        **{f"force.{axis}[N]": values[row].round(1) for axis, values in zip("xyz", force, strict=True)},
        "observation": ["deflection"] * len(row),
        "marker": [*markers] * q.shape[1],
    }
    write_table(plan_file, list(columns), list(columns.values()))


def _configurations(robot: Path, count: int, random: np.random.Generator) -> NDArray[np.float64]:
    """(joints, count) values drawn within the limits such that every marker stands above the floor."""
    import numpy as np

    from stiffarm.model.evaluate import predict as positions
    from stiffarm.model.loads import State

    arm = arm_of(robot)
    limits = np.array([joint.limits for joint in arm.robot.joints])
    q = random.uniform(limits[:, :1], limits[:, 1:], (len(limits), 40 * count))
    heights = [positions(arm, State(q), name).position[2] for name in (POINT, *arm.robot.marker_names)]
    clear = np.flatnonzero(np.min(heights, axis=0) > LOWEST_M)
    return np.ascontiguousarray(q[:, clear[:count]])


def arm_of(robot: Path) -> Arm:
    """The arm of a robot file."""
    from stiffarm.model.arm_model import ArmModel
    from stiffarm.robot.reading import read_robot

    return ArmModel.of(read_robot(robot)).at()
