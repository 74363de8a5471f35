"""Exact equilibria of an arm with seven elastic links, its weights and 3.5 kN at the tool; exit 1 beyond 10 s.

Six joints and seven links (6x6, symmetric): 48 elastic coordinates, moved by finite transforms.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.equilibrium import ACCEPTED, equilibrium
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import Link
from stiffarm.robot.reading import read_robot

CONFIGURATIONS = 100_000
FORCE_N = 3500.0
MOST_SECONDS = 10.0


def elastic_arm() -> Arm:
    """The packaged robot with its joint compliances and masses and a full symmetric spring at every link."""
    rng = np.random.default_rng(1)
    robot = read_robot("kr270")
    links = []
    for after in ("base", *robot.joint_names):
        root = rng.normal(size=(6, 6)) * 0.3 + np.eye(6)
        size = np.array([3e-5] * 3 + [3e-4] * 3)  # squared: 1e-9 m/N, 1e-7 rad/(N m)
        matrix = (root @ root.T) * size[:, None] * size[None, :]
        links.append(Link(after, "symmetric", compliance=tuple(map(tuple, matrix.tolist()))))
    return ArmModel.of(replace(robot, links=tuple(links), compensators=())).at()


def main() -> int:
    """Print seconds and the largest residual."""
    rng = np.random.default_rng(0)
    arm = elastic_arm()
    low, high = np.array([joint.limits for joint in arm.robot.joints], dtype=float).T
    q = rng.uniform(low[:, None], high[:, None], (len(low), CONFIGURATIONS))
    direction = rng.normal(size=(3, CONFIGURATIONS))
    direction /= np.linalg.norm(direction, axis=0)
    state = State(q, (Load(arm.chain.point("tool"), FORCE_N * direction), *arm.weights()))
    start = time.perf_counter()
    found = equilibrium(arm, state)
    seconds = time.perf_counter() - start
    links = sum(len(twist) == 6 for twist in found.theta.values())
    worst, steps = found.residual.max(), found.iterations.mean()
    print(f"{CONFIGURATIONS} configurations, {links} links, {len(found.theta)} elastic nodes")
    print(f"reached {found.reached.mean():.2%}; residual at most {worst:.1e}; {steps:.1f} steps on average")
    print(f"equilibrium: {seconds:.2f} s on one core (at most {MOST_SECONDS:.0f} s)")
    return 0 if seconds <= MOST_SECONDS and found.reached.all() and worst <= ACCEPTED else 1


if __name__ == "__main__":
    sys.exit(main())
