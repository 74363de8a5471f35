"""How quickly the view follows a slider, and how large its picture is as one page.

A moved slider is one posture: kinematics, exact equilibrium under load and weights, compliance at the tool, and the
text and transforms handed to the browser; at most 50 ms of processor time, the median of fifty random postures.  The
picture as one page weighs at most 6 MB (1 MB = 10^6 bytes).  Needs the extra `view`.
"""

from __future__ import annotations

import statistics
import sys
import time

import numpy as np

from stiffarm.compensate.model_file import read_model
from stiffarm.report.view.serving import on_show
from stiffarm.report.view.subject import subject_of

ROBOTS = ("kr270", "kr500-rail", "ur5", "iiwa7")
POSTURES = 50
LIMIT_MS, LIMIT_MB = 50.0, 6.0


def main() -> int:
    """Measure, print, and say by the exit status whether every limit was kept."""
    kept = True
    random = np.random.default_rng(1)
    print("robot        ms per moved slider   MB as one page")
    for name in ROBOTS:
        subject = subject_of(read_model(name))
        with on_show(subject, port=0) as view:
            spent = []
            for _ in range(POSTURES):
                for handle in view.panel.joints:
                    handle.value = float(random.uniform(handle.min, handle.max))
                start = time.process_time()
                view.redraw()
                spent.append(1e3 * (time.process_time() - start))
            size = len(view.page().encode()) / 1e6
        median = statistics.median(spent)
        kept = kept and median <= LIMIT_MS and size <= LIMIT_MB
        print(f"{name:12} {median:12.1f} {size:22.2f}")
    print(f"at most {LIMIT_MS:g} ms and {LIMIT_MB:g} MB")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
