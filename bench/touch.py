"""Touches: how fast, and how the cost grows.  `python bench/touch.py`

The set-up of paper 004: 33 parameters, three points in 18 postures each, 600 N; and one target touched 1 000 to 100 000
times.  Figures are processor time.  Exits 1 when a floor is missed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from paper_004 import MODEL, PAPER_33, ROBOT, touches, true_values
from stiffarm.identify.fit import fit
from stiffarm.identify.options import Options
from stiffarm.identify.system import Point, System
from stiffarm.measure.campaign import Campaign
from touch_campaigns import Touched, touch_campaign

MOST_MS = 50.0
"""For a whole fit of 33 parameters."""
MOST_GROWTH = 1.3
"""Time per touch at 100 000 over that at 10 000."""
COUNTS = (1_000, 10_000, 100_000)


def least(work: Callable[[], object], times: int) -> float:
    """Least processor time of several runs, s."""
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def many(count: int) -> Campaign:
    """One point touched often, in any postures."""
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (6, count))
    wrench = np.zeros((6, count))
    wrench[2] = -600.0
    touched = [Touched("X", "touch", count)]
    return touch_campaign(touched, q=q, marker="tip", joints=ROBOT.joint_names, wrench_world=wrench)


def main() -> int:
    """Print the figures."""
    options = Options(geometry="none", elastic="none", select=PAPER_33, folds=0)
    campaign = touches(MODEL.at(true_values()), sigma_m=3.75e-5)
    found = fit(ROBOT, campaign, options)
    spent = 1e3 * least(lambda: fit(ROBOT, campaign, options), 7)
    print(f"33 parameters, 3 x 18 touches: {spent:.1f} ms, {found.solution.iterations} steps, rank {found.rank}")
    each = []
    for count in COUNTS:
        system = System(MODEL, many(count))
        at = Point(MODEL.nominal, {})
        names = found.names
        system.equations(at, names)
        taken = least(lambda s=system, a=at, n=names: s.equations(a, n), 3 if count < 50_000 else 2)  # type: ignore[misc]
        each.append(1e6 * taken / count)
        print(
            f"{count:7} touches: {1e3 * taken:8.1f} ms for residuals and {len(names)} columns, {each[-1]:.2f} us each"
        )
    growth = each[-1] / each[-2]
    print(f"time per touch, 100 000 over 10 000: {growth:.2f}")
    missed = [f"over {MOST_MS} ms"] if spent > MOST_MS else []
    missed += [f"grows by {growth:.2f}"] if growth > MOST_GROWTH else []
    print("; ".join(missed) or "all reached")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
