"""Is the risk of a verdict kept?  Calibrate, validate, ask for a path, look at its true error; exit 1 when it is not.

At the limit said to be kept with probability 95 % a verdict is just yes: the true largest error along the path must
be beyond it in at most 5 % of the cases, in every scenario, binomial scatter of the runs apart (one sided, 1 %).  The
model may not be so careful either that its median is more than two and a half times the truth.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import binom

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from budget_scenarios import Scenario
from stiffarm.identify.options import Options
from test_conformity import GEARS, against_truth

RUNS, RISK, SURE = 40, 0.05, 0.99
MOST_CAREFUL = 2.5
FULL = Options(folds=0)
CASES = {
    "the model is right, 8 configurations": (Scenario("position", experiments=30, options=FULL), 8),
    "gears it does not have, 8": (GEARS, 8),
    "gears it does not have, 30": (GEARS, 30),
    "gears, full geometry, 10": (replace(GEARS, experiments=40, options=FULL), 10),
}


def main() -> int:
    """Print the share beyond, and how careful the median is."""
    most = int(binom.ppf(SURE, RUNS, RISK))
    missed = 0
    print(f"{RUNS} calibrations each; at most {most} beyond the limit kept at {1 - RISK:.0%}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (scenario, configurations) in CASES.items():
            said = [against_truth(scenario, seed, Path(folder), configurations, RISK) for seed in range(RUNS)]
            beyond = sum(true > one.kept_m for true, one in said)
            careful = float(np.median([one.expected_m / true for true, one in said]))
            ok = beyond <= most and careful <= MOST_CAREFUL
            missed += not ok
            note = "" if ok else "  MISSED"
            print(f"  {name:40} {beyond:3d} beyond; median said over true {careful:.2f}{note}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
