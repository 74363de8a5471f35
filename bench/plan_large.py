"""Thirty poses out of 100 000 candidates for 42 parameters: time and memory of the whole request.

A file of 100 000 configurations of a six-axis arm, poses read by a tracker, geometry, gears and joint compliances under
a slanting force: 42 numbers that can be told.  In a process of its own each, for the criteria D and test, everything
is counted: reading the file, columns of all candidates, the weighted design, the choice, the bound.  Must keep

    at most 30 s by the clock (or 20 s of processor time on a busy machine) and 2 GB of memory at its largest
    42 parameters, 30 poses, an efficiency of at least 0.93

Exit 1 when a figure is missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

ROBOT = "kr270"
CANDIDATES, POSES, PARAMETERS = 100_000, 30, 42
MOST_S, MOST_PROCESSOR_S, MOST_GB = 30.0, 20.0, 2.0
LEAST_EFFICIENCY = {"D": 0.96, "test": 0.93}


def write_candidates(path: Path, count: int) -> None:
    """Configurations spread evenly within the joints' limits, tool above the floor or not."""
    from stiffarm.robot.reading import read_robot

    robot = read_robot(ROBOT)
    low, high = np.degrees(np.array([joint.limits for joint in robot.joints])).T
    q = np.random.default_rng(0).uniform(low, high, (count, len(low)))
    head = ",".join(["experiment", *(f"q.{name}[deg]" for name in robot.joint_names)])
    lines = [head, *(f"{i + 1}," + ",".join(f"{v:.4f}" for v in row) for i, row in enumerate(q.tolist()))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def work(path: str, criterion: str) -> None:
    """One request; what it took on stdout."""
    import resource

    from stiffarm.plan.api import plan
    from stiffarm.plan.options import PlanOptions

    options = PlanOptions(
        experiments=POSES, poses=POSES, criterion=criterion, geometry="full", elastic="joints",  # type: ignore[arg-type]
        select=("A?.gain",), observe="pose", markers=("P1",), sigma_m=3e-5, sigma_rad=1e-4,
        force_world=(600.0, 300.0, -2000.0), load_point="hook", candidates=path, curve=False,
    )  # fmt: skip
    clock, processor = time.perf_counter(), time.process_time()
    made = plan(ROBOT, options)
    assert made.certificate is not None
    told = {
        "clock": time.perf_counter() - clock, "processor": time.process_time() - processor,
        "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, "value": made.value,
        "efficiency": made.certificate.efficiency, "parameters": len(made.predicted_std), "poses": len(made.stops),
    }  # fmt: skip
    print(json.dumps(told))


def main() -> int:
    """Both criteria; 1 when a figure is missed."""
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "many.plan.csv"
        write_candidates(path, CANDIDATES)
        print(f"{path.stat().st_size / 1e6:.1f} MB of candidates")
        for criterion, least in LEAST_EFFICIENCY.items():
            done = subprocess.run(
                [sys.executable, __file__, str(path), criterion], check=True, stdout=subprocess.PIPE, text=True
            )
            told = json.loads(done.stdout.splitlines()[-1])
            print(
                f"{criterion:5} {CANDIDATES} candidates, {told['parameters']} parameters, {told['poses']} poses: "
                f"{told['clock']:.1f} s ({told['processor']:.1f} s of processor time), {told['gb']:.2f} GB, "
                f"efficiency {told['efficiency']:.4f}",
                flush=True,
            )
            slow = told["clock"] > MOST_S and told["processor"] > 0.8 * told["clock"]
            missed += [f"{criterion}: time"] if slow or told["processor"] > MOST_PROCESSOR_S else []
            missed += [f"{criterion}: memory"] if told["gb"] > MOST_GB else []
            missed += [f"{criterion}: size"] if (told["parameters"], told["poses"]) != (PARAMETERS, POSES) else []
            missed += [f"{criterion}: efficiency"] if told["efficiency"] < least else []
    for line in missed:
        print(f"MISSED {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    if len(sys.argv) == 3:
        work(sys.argv[1], sys.argv[2])
    else:
        sys.exit(main())
