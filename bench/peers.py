"""One calibration problem, ours beside other packages: unseen accuracy and time.

    python bench/peers.py [--shared FOLDER] [--environments FOLDER]

The problem is that of `_peer_problem.py`.  Ours prints and must keep

    30 poses    at most 0.033 mm on 1 000 unseen configurations, all 27 directions fitted, at most 4 ms
    100 poses   at most 0.0155 mm, all 27 directions fitted, at most 8 ms
    100 poses under gravity, geometry and six compliances together: at most 0.0165 mm; joints that gravity does not turn
    are named with the reason and carry no number

**What is timed**: `stiffarm.identify.fit.fit(robot, campaign, options)` with ``estimator="ols"``, on a robot and a
campaign that are in memory, modules imported.  In it: which parameters to ask for, the frame of the instrument and the
place of the marker from nothing, which of 45 columns can be told apart (spectral gap and use), Gauss-Newton to the end,
and the covariance of what was found.  Not in it: reading files, folds, the search for outliers.  Processor time of
this process, the least of 40 runs in two batches: the clock of a shared machine says how busy others are.  The same
fit with the estimator ``honest`` and the whole of `stiffarm.identify` with folds are printed beside it without a limit.

Peers are the scripts ``bench_NAME.py`` of the folder ``--shared`` (default: ``../shared/bench`` beside the repository,
when it is there), each run with the python of ``--environments``/NAME (default: ``$STIFFARM_PEERS``; made by
``bench/install_peers.sh``).  A peer that is not there is skipped with a line.  Exit 1 when a figure of ours is missed.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import _peer_problem as problem
import stiffarm
from stiffarm.identify.fit import Fit, fit
from stiffarm.identify.options import Options
from stiffarm.measure.arrays import campaign_of_positions
from stiffarm.measure.observe import expected
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import parse_robot

ROOT = Path(__file__).resolve().parent.parent
REPEATS = 20
DIRECTIONS = 27
UNTURNED = {"A1", "A6"}
"""Joints of this arm that its weights do not turn: one stands upright, on the other everything hangs on the axis."""


@dataclass(frozen=True)
class Task:
    """What is asked, and what must come out."""

    name: str
    poses: int
    elastic: bool
    most_mm: float
    most_ms: float | None


TASKS = (
    Task("calib_30", 30, False, 0.033, 4.0),
    Task("calib_100", 100, False, 0.0155, 8.0),
    Task("calib_elastic_100", 100, True, 0.0165, None),
)

PEERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "pin": ("bench_pinocchio.py", ()),
    "figaroh": ("bench_figaroh.py", ("calib", "elastic")),
    "pybotics": ("bench_pybotics.py", ()),
    "rtb": ("bench_rtb.py", ()),
    "robotkinecal": ("bench_rtb.py", ()),
}
"""Script and arguments by environment."""


def robot_of(elastic: bool) -> Robot:
    """The drawing of the arm; with masses when weights matter."""
    lines = [
        'format = "stiffarm-robot/1"',
        'name = "six axes"',
        'units = { length = "m", angle = "rad" }',
        'convention = "mdh"',
        f"gravity = [0.0, 0.0, {-problem.GRAVITY}]",
        f"tool = {{ markers = {{ P1 = {problem.MARKER.tolist()} }} }}",
    ]
    for k, (alpha, a, theta, d) in enumerate(problem.NOMINAL.dh.tolist()):
        low, high = np.deg2rad(problem.LIMITS_DEG[k]).tolist()
        lines += ["[[joint]]", f'name = "A{k + 1}"', 'type = "revolute"', f"limits = [{low!r}, {high!r}]"]
        lines += [f"alpha = {alpha!r}", f"a = {a!r}", f"theta = {theta!r}", f"d = {d!r}"]
        lines += [f"mass = {problem.MASS[k]}", f"com = {problem.CENTRE[k].tolist()}"] if elastic else []
    return parse_robot("\n".join(lines), "six.robot.toml")


def unseen_mm(found: Fit, robot: Robot, elastic: bool) -> float:
    """Root mean square of the 3-D error on configurations that were not measured, against the truth."""
    q, truth = problem.unseen(elastic=elastic)
    there = campaign_of_positions(robot, q, truth, marker="P1")
    value = expected(found.system.arm(found.at), there, found.at.frames, found.system.loads).value[:3]
    return 1e3 * float(np.sqrt(np.mean(np.sum((value.T - truth) ** 2, axis=1))))


def least_ms(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """Least processor time of a call, ms, over two batches with a pause between."""
    best = np.inf
    for batch in range(2):
        time.sleep(0.2 * batch)
        for _ in range(repeats):
            start = time.process_time()
            work()
            best = min(best, time.process_time() - start)
    return 1e3 * best


def run_ours(task: Task) -> tuple[list[str], float, float]:
    """What was missed, error in mm and time in ms."""
    robot = robot_of(task.elastic)
    q, read = problem.readings(task.poses, elastic=task.elastic)
    campaign = campaign_of_positions(robot, q, read, marker="P1")
    plain = Options(estimator="ols")
    found = fit(robot, campaign, plain)
    error = unseen_mm(found, robot, task.elastic)
    seconds = least_ms(lambda: fit(robot, campaign, plain))
    honest = least_ms(lambda: fit(robot, campaign, Options(estimator="honest")), 5)
    whole = least_ms(lambda: stiffarm.identify(robot, campaign, Options(estimator="ols")), 2)
    elastic = [name for name in found.names if name.endswith(".compliance")]
    print(
        f"{task.name:18} {error:.4f} mm (at most {task.most_mm}), {found.rank} directions, "
        f"{found.solution.iterations} steps, {seconds:.2f} ms"
        + (f" (at most {task.most_ms:g})" if task.most_ms else "")
        + f"; honest {honest:.1f} ms, identify with five folds {whole:.0f} ms",
        flush=True,
    )
    missed = [f"{task.name}: {error:.4f} mm"] if error > task.most_mm else []
    missed += [f"{task.name}: {seconds:.2f} ms"] if task.most_ms and seconds > task.most_ms else []
    wanted = DIRECTIONS + len(elastic)
    missed += [f"{task.name}: {found.rank} directions, not {wanted}"] if found.rank != wanted else []
    return missed + (compliances(found, elastic) if task.elastic else []), error, seconds


def compliances(found: Fit, elastic: Sequence[str]) -> list[str]:
    """Print what was found beside the truth, and what was not; return what is wrong with it."""
    answer = stiffarm.identify(found.system.model.robot, found.system.campaign, Options(estimator="ols"))
    missed = []
    for k, stiffness in enumerate(problem.STIFFNESS):
        name = f"A{k + 1}.compliance"
        entry = answer.parameter(name)
        if name in elastic and entry.value is not None and entry.std is not None:
            off = (entry.value - 1 / stiffness) / entry.std
            print(f"  {name} {entry.value:.3e} +- {entry.std:.1e} rad/(N m), truth {1 / stiffness:.3e}: {off:+.1f} std")
            missed += [f"{name} is off by {off:.1f} deviations"] if abs(off) > 4 else []
        else:
            why = next((held.why for held in answer.dropped if held.name == name), "")
            print(f"  {name} {entry.kind}: {why}")
            missed += [f"{name} has a number or no reason"] if entry.value is not None or not why else []
    told = {name.split(".")[0] for name in elastic}
    return missed + ([f"told by gravity: {sorted(told)}"] if told & UNTURNED or len(told) != 4 else [])


def check_problem(folder: Path) -> str | None:
    """What differs between our statement of the problem and the shared one."""
    code = """
import bench_common as b, numpy as np, sys
out = {}
for e in (False, True):
    for label, (q, p) in (
        ("30", b.make_measurements(30, elastic=e)),
        ("100", b.make_measurements(100, elastic=e)),
        ("t", b.test_set(elastic=e)),
    ):
        out |= {f"q{label}{e:d}": q, f"p{label}{e:d}": p}
np.savez(sys.argv[1], **out)
"""
    subprocess.run([sys.executable, "-c", code, str(folder / "theirs.npz")], cwd=folder, check=True)
    with np.load(folder / "theirs.npz") as theirs:
        for elastic in (False, True):
            for label, ours in (
                ("30", problem.readings(30, elastic=elastic)),
                ("100", problem.readings(100, elastic=elastic)),
                ("t", problem.unseen(elastic=elastic)),
            ):
                for key, mine in zip("qp", ours, strict=True):
                    if np.abs(theirs[f"{key}{label}{elastic:d}"] - mine).max() > 1e-12:
                        return f"{key}{label}, elastic {elastic}"
    return None


def run_peers(folder: Path, environments: Path | None) -> list[dict[str, str]]:
    """Rows of the peers that are installed."""
    for name, (script, arguments) in PEERS.items():
        python = None if environments is None else environments / name / "bin" / "python"
        if python is None or not python.exists():
            print(f"{name}: skipped, not installed (sh bench/install_peers.sh FOLDER, then --environments FOLDER)")
            continue
        print(f"{name} ...", flush=True)
        done = subprocess.run(
            [str(python), script, *arguments], cwd=folder, check=False, capture_output=True, text=True, timeout=600
        )
        if done.returncode:
            print(f"{name}: ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    log = folder / "logs" / "bench.csv"
    if not log.exists():
        return []
    with log.open(newline="", encoding="utf-8") as rows:
        return [row for row in csv.DictReader(rows) if row["task"].startswith("calib")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Ours, then the peers, in one run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--environments", type=Path, default=os.environ.get("STIFFARM_PEERS"))
    chosen = parser.parse_args(arguments)
    missed: list[str] = []
    table: list[tuple[str, str, str, str]] = []
    for task in TASKS:
        failures, error, ms = run_ours(task)
        missed += failures
        table.append((task.name, "stiffarm", f"{ms / 1e3:.4f}", f"test_rms_mm={error:.4f}"))
    if (chosen.shared / "bench_common.py").exists():
        with tempfile.TemporaryDirectory() as copy:  # the scripts write beside themselves
            folder = Path(shutil.copytree(chosen.shared, copy, dirs_exist_ok=True))
            differs = check_problem(folder)
            print(f"the problem is that of {chosen.shared}: {'yes' if differs is None else f'NO, {differs}'}")
            missed += [] if differs is None else [f"another problem: {differs}"]
            rows = run_peers(folder, None if chosen.environments is None else Path(chosen.environments))
        table += [(row["task"], row["lib"], row["seconds"], row["extra"]) for row in rows]
    else:
        print("no folder of peers' scripts (--shared): ours alone")
    print(f"\n{'task':20} {'package':14} {'seconds':>9}  accuracy and what else it says")
    for name, package, seconds, extra in sorted(table):
        print(f"{name:20} {package:14} {float(seconds):9.4f}  {extra}")
    for line in missed:
        print(f"MISSED {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
