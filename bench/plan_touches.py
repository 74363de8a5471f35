"""Plans of touches: efficiency among the places and postures offered, and processor time; at most 10 s each.

No efficiency is asked for: the bound is for the candidates and loose where a length is known.
"""

from __future__ import annotations

import sys
import time

from stiffarm.plan.options import Box, PlanOptions
from stiffarm.plan.touches import plan_touches

MOST_S = 10.0
HEAVY = Box((0.8, -1.2, 0.3), (2.2, 1.2, 1.6))
LIGHT = Box((0.2, -0.6, 0.1), (0.7, 0.6, 0.7))
CASES = (
    ("kr270, 54 touches of 4 points", "kr270", PlanOptions(poses=4, tool_box=HEAVY, sigma_m=5e-5)),
    ("the same, one length known", "kr270", PlanOptions(poses=4, tool_box=HEAVY, sigma_m=5e-5, known_length=True)),
    (
        "ur5, 45 touches of 3 points, one length known",
        "ur5",
        PlanOptions(experiments=45, poses=3, geometry="full", elastic="none", tool_box=LIGHT, known_length=True),
    ),
)


def main() -> int:
    """Plan each case."""
    missed = 0
    for words, robot, options in CASES:
        begun = time.process_time()
        plan = plan_touches(robot, options)
        seconds = time.process_time() - begun
        assert plan.bound is not None
        print(f"{words:46} {1e3 * plan.value:8.4f} mm, efficiency {plan.bound / plan.value:.2f}, {seconds:.1f} s")
        missed += seconds > MOST_S
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
