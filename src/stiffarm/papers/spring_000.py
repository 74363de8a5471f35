"""Table 1 of the identified robot: its compliances, and what its spring would be.

A spring of stiffness 1/k_c and free length s0 in the triangle of joint 2 pulls with (s - s0) / k_c and gives the torque
of `stiffarm.model.compensator_law`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stiffarm.model.compensator_law import CompensatorLaw
from stiffarm.model.compensator_scale import largest_torque
from stiffarm.papers.items import PaperItem
from stiffarm.robot.arm import Spring
from stiffarm.robot.check import length_range
from stiffarm.robot.reading import read_robot

ROBOT = "kr270"
K_C, S0_MM = 0.144, 458.0
"""1e-6 m/N and mm."""
COMPLIANCES = {"k2": 0.302, "k3": 0.406, "k4": 3.002, "k5": 3.303, "k6": 2.365}
"""1e-6 rad/(N m)."""


def published_spring() -> tuple[float, float]:
    """Largest force (N) and torque (N m) of Table 1's spring over the limits of joint 2."""
    robot = read_robot(ROBOT)
    spring = Spring(1.0 / (K_C * 1e-6), S0_MM * 1e-3)
    law, joint = CompensatorLaw.of(replace(robot.compensators[0], element=spring)), robot.joints[1]
    lengths = np.array(length_range(robot.compensators[0], joint))
    return float(np.abs(law.law.tension(lengths)[0]).max()), largest_torque(law, joint)


def table_1(paper: str, missing: str) -> tuple[PaperItem, ...]:
    """Its rows, none of which can be had again, and the spring, which cannot be."""
    force, torque = published_spring()
    unit = "its unit rad um/N means 1e-6 rad/(N m)"
    joints = tuple(
        PaperItem(paper, f"table 1, {name}", value * 1e-6, None, "rad/(N m)", "not reproducible", f"{unit}; {missing}")
        for name, value in COMPLIANCES.items()
    )
    curve = "a curve for K_2(q2), not a part: the weights of such an arm hang on joint 2 with some 10 kN m"
    return (
        *joints,
        PaperItem(paper, "table 1, k1", None, None, "rad/(N m)", "not reproducible",
                  f"the table leaves it out: hanging loads do not show it; {missing}"),
        PaperItem(paper, "table 1, unit of k_c", "rad um/N", "1e-6 m/N", "1", "wrong",
                  "it is the compliance of a spring between two points, a length per force"),
        PaperItem(paper, "table 1, largest force in its spring", None, 1e-6 * force, "MN", "wrong", curve),
        PaperItem(paper, "table 1, largest torque of its spring", None, 1e-3 * torque, "kN m", "wrong", curve),
    )  # fmt: skip
