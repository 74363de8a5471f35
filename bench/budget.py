"""Does the budget of uncertainty cover?  Calibrate, ask for the budget of unseen points, look at what is read there.

Every scenario draws campaigns with their errors anew (instrument, stops, the load's gain, a model that misses
something), identifies each, and divides the errors at points never seen by the standard uncertainty the budget states
there: their root mean square z must be between 0.9 and 1.1, for readings and for places.  Exits 1 when one is not.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from budget_scenarios import SCENARIOS, deviations

RUNS = 32
LOW, HIGH = 0.9, 1.1


def main() -> int:
    """Print rms z of every scenario."""
    missed = 0
    print(f"{RUNS} campaigns each; rms of error over stated standard uncertainty, and share within U (k = 2)")
    with tempfile.TemporaryDirectory() as folder:
        for name, scenario in SCENARIOS.items():
            z = deviations(scenario, RUNS, Path(folder))
            rms, inside = float(np.sqrt(np.mean(z**2))), float(np.mean(np.abs(z) <= 2.0))
            ok = LOW <= rms <= HIGH
            missed += not ok
            print(f"  {name:44} {rms:6.3f} {inside:8.1%}{'' if ok else '  MISSED'}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
