"""Do the intervals of a whole calibration cover? Geometry, frame, markers and compliances at once, against the truth.

    python bench/coverage_nonlinear.py [--runs 2000] [--seed 1]

Scenarios of ``tests/nonlinear_scenarios.py``: positions (nonlinear) and deflections (linear), errors independent or
shared by a configuration, deviations stated or not, the force exact or off by a gain known to 2 %.  In every run a new
arm is drawn, read and identified; counted are the 95 % intervals that hold the truth, over all parameters told and the
six numbers of the frame.  ``--runs`` is the number for each estimator, shared among the scenarios it is made for.

Exit 1 when an estimator leaves 93 to 97 %, pooled over its scenarios or, beyond what its number of runs explains, in
one of them.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from nonlinear_scenarios import MADE_FOR, SCENARIOS, Study
from stiffarm.identify.options import EstimatorName

WANTED = (0.93, 0.97)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, identify, count, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="runs of each estimator (default 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--estimator", choices=[*MADE_FOR], action="append", help="only these")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    studies = {scenario.name: Study(scenario) for scenario in SCENARIOS}
    missed, started = [], time.process_time()
    chosen: Sequence[EstimatorName] = options.estimator or tuple(MADE_FOR)
    print(f"{'estimator':10} {'scenario':30} {'runs':>5} {'95 %':>8} {'worst':>7}")
    for estimator in chosen:
        pooled, runs = [], -(-options.runs // len(MADE_FOR[estimator]))
        for number, name in enumerate(MADE_FOR[estimator]):
            seeds = options.seed * 1_000_000 + number * 10_000 + np.arange(runs)
            hits = np.array([studies[name].hits(estimator, int(seed)) for seed in seeds])
            share, by_run = hits.mean(), hits.mean(axis=1)
            slack = 2.6 * by_run.std() / np.sqrt(runs)
            out = share < WANTED[0] - slack or share > WANTED[1] + slack
            missed += [f"{estimator} in '{name}': {share:.1%}"] if out else []
            pooled.append(share)
            print(
                f"{estimator:10} {name:30} {runs:5d} {share:8.2%} {hits.mean(axis=0).min():7.1%}"
                f"{'   <-- outside 93-97 %' if out else ''}",
                flush=True,
            )
        total = float(np.mean(pooled))
        out = not WANTED[0] <= total <= WANTED[1]
        missed += [f"{estimator}, pooled: {total:.2%}"] if out else []
        print(f"{estimator:10} {'pooled':30} {runs * len(pooled):5d} {total:8.2%}{'   <-- outside' if out else ''}")
    print(f"seed {options.seed}, {time.process_time() - started:.0f} s of processor time")
    for line in missed:
        print(f"outside 93-97 %: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
