"""What the demo measures: configurations in which the markers stand clear of the floor, and what pulls in them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from stiffarm.model.arm_model import Arm

POINT = "hook"
VERTICAL, SIDEWAYS = 10, 5
"""Experiments of each kind."""
WEIGHT_N, PULL_N = 2600.0, 3500.0
LOWEST_M = 0.3
"""No marker of the plan stands lower."""


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
