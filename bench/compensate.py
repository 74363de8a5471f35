"""Corrected paths against true arms: exactness, an identified model's share and forecast, speed and memory.

    python bench/compensate.py [--seeds 20] [--points 100000] [--long 400000]

Four parts, each judged:

1. *Exact.*  Arms with a full symmetric 6x6 spring at every link, their compensator, their weights and 3.5 kN in any
   direction: what the corrected, loaded arm leaves, solved anew, under 1 um in at most ten steps, at every point that
   is commanded.  What is refused must be near a singularity and say so.
2. *Identified.*  For every seed a true arm (compliances 30 % off), a campaign planned by `stiffarm plan` on the
   drawing, read off its true equilibria with 30 um of noise, a model identified from it, paths in other places under
   other forces.  At least 95 % of the true error has to go, on every seed; what `compensate` says will be left is held
   against what the true arm leaves.  A forecast is a standard deviation that rests on a handful of parameters, so that
   one ratio scatters: every plan is measured four times, over all campaigns the root mean squares have to agree within
   20 %, and no single one may be further off than a normal error would be.  Beside it what identification to first
   order leaves and says.
3. *Speed.*  A path file of 100 000 points to a corrected file, by the command as a user runs it: joints and poses, with
   an identified model, and with seven elastic links: 10 s each on two cores.  Memory by point from a longer path.
4. *Singular.*  A path through the wrist's singularity: every point is either commanded, and then exact, or refused
   with its row and the joint to blame; points near it are named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import chi2

from stiffarm.cli.main import main as stiffarm
from stiffarm.compensate.compensating import NEAR_SINGULAR, Compensation, How, compensate
from stiffarm.compensate.inverting import Wished
from stiffarm.compensate.model_file import KnownModel, read_model
from stiffarm.compensate.wishing import Wish, tool_of, wish_of
from stiffarm.measure.paths import PathFile
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.loads import Load, State
from stiffarm.model.rotations import vector_of
from stiffarm.model.statics import predict_exact
from stiffarm.robot.arm import Link, Robot
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import robot_text

Floats = NDArray[np.float64]

ARMS = ("kr270", "kr500-rail", "kr210-r2700", "r2000ic-165f", "irb6700-235")
FORCE_N = 3500.0
MOST_LEFT_M = 1e-6
MOST_STEPS = 10
LEAST_REMOVED = 0.95
FORECAST = 0.2
LEVEL = 0.01
"""Chance that any of honest forecasts is called wrong, were the error of each that of a single parameter."""
MEASURED = 4
"""Campaigns of each plan, that differ in their noise."""
MOST_SECONDS = 10.0
MOST_BYTES_A_POINT = 2000.0
PATHS, PATH_POINTS = 4, 150


def with_links(robot: Robot, seed: int = 1) -> Robot:
    """The robot with a full symmetric spring at every link, 1e-9 m/N and 1e-7 rad/(N m) in size.

    An arm on a rail has none at the world's origin, from which it may stand metres away.
    """
    rng = np.random.default_rng(seed)
    links = []
    rail = robot.joints[0].kind == "prismatic"
    for after in (*(() if rail else ("base",)), *robot.joint_names):
        root = rng.normal(size=(6, 6)) * 0.3 + np.eye(6)
        size = np.array([3e-5] * 3 + [3e-4] * 3)
        links.append(Link(after, "symmetric", compliance=tuple(map(tuple, ((root @ root.T) * size[:, None] * size)))))
    return replace(robot, links=tuple(links))


def configurations(robot: Robot, n: int, rng: np.random.Generator) -> Floats:
    """(joints, n) within the inner 80 % of the limits; a rail within 4 m."""
    given = np.array([joint.limits or (-np.pi, np.pi) for joint in robot.joints])
    slides = np.array([joint.kind == "prismatic" for joint in robot.joints])
    middle = given.mean(axis=1)
    half = np.where(slides, np.minimum(2.0, 0.4 * np.ptp(given, axis=1)), 0.4 * np.ptp(given, axis=1))
    return middle[:, None] + half[:, None] * rng.uniform(-1.0, 1.0, (len(half), n))


def pulls(n: int, rng: np.random.Generator, least: float = 1.0) -> Floats:
    """(1, 6, n) forces in any direction, from a share of the largest up."""
    direction = rng.normal(size=(3, n))
    direction *= FORCE_N * rng.uniform(least, 1.0, n) / np.linalg.norm(direction, axis=0)
    return np.concatenate([direction, np.zeros((3, n))])[None]


def smooth(robot: Robot, n: int, rng: np.random.Generator) -> Floats:
    """(joints, n): a line in joint space between two places clear of the wrist's singularity."""
    ends = configurations(robot, 2, rng)
    wrist = len(ends) - 2
    ends[wrist] = np.radians(rng.uniform(35.0, 90.0, 2))
    share = np.linspace(0.0, 1.0, n)
    return ends[:, :1] + 0.3 * (ends[:, 1:] - ends[:, :1]) * share


def source_of(robot: Robot, q: Floats, wrench: Floats, point: str) -> tuple[PathFile, Wish]:
    """A path without a file, and what it wishes."""
    n = q.shape[1]
    source = PathFile(
        "bench", (), {}, robot.joint_names, q, None, (point,), wrench, ("tool",), np.zeros(n, dtype=np.int64), None,
        np.ones(n), np.arange(2, n + 2),
    )  # fmt: skip
    return source, wish_of(source, ArmModel.of(robot).at())


def loaded_error(arm: Arm, q: Floats, wrench: Floats, point: str, wished: Wished) -> Floats:
    """(3, n) m from where the tool shall be to where the loaded arm has it, every equilibrium solved anew."""
    load = Load(arm.chain.point(point), wrench[0, :3], wrench[0, 3:])
    return predict_exact(arm, State(q, (load, *arm.weights())), "tool").position - wished.position_world


def exact(points: int) -> bool:
    """Part 1."""
    good = True
    print(
        "arm              links compensators  before mm  left nm  turned urad  steps  refused (singular or at a limit)"
    )
    for name in ARMS:
        robot = with_links(read_robot(name))
        rng = np.random.default_rng(1)
        point = robot.load_point_names[0] if robot.load_point_names else "tool"
        q, wrench = configurations(robot, points, rng), pulls(points, rng)
        source, wish = source_of(robot, q, wrench, point)
        found = compensate(KnownModel(name, ArmModel.of(robot), {}), source, wish)
        kept = np.isfinite(found.path.q).all(axis=0)
        arm = ArmModel.of(robot).at()
        rest = wish.wished.take(np.flatnonzero(kept))
        error = loaded_error(arm, np.ascontiguousarray(found.path.q[:, kept]), wrench[:, :, kept], point, rest)
        left = np.linalg.norm(error, axis=0).max()
        told = [one for one in found.path.refused if "singular" in one.reason or "limit" in one.reason]
        ok = left < MOST_LEFT_M and found.iterations <= MOST_STEPS and len(told) == len(found.path.refused)
        ok &= kept.mean() > 0.9
        good &= ok
        print(
            f"{name:16} {len(robot.links):5d} {len(robot.compensators):12d} {1e3 * (found.before_m or 0.0):10.2f} "
            f"{1e9 * left:8.2f} {1e6 * np.nanmax(found.residual[1]):12.2g} {found.iterations:6d}  "
            f"{len(found.path.refused)} of {points}{'' if ok else '  MISSED'}"
        )
    return good


def run_quietly(*arguments: str | Path) -> None:
    """A command as a user types it, in this process; its answer is thrown away."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        status = stiffarm([*map(str, arguments), "--quiet"])
    if status not in (0, 1):
        raise SystemExit(f"stiffarm {' '.join(map(str, arguments))} ended with {status}")


def planned(folder: Path, seed: int) -> None:
    """A plan on the drawing, the arm that is true, and a campaign that says so."""
    run_quietly(
        "plan", "kr270", "--experiments", "15", "--force", f"{FORCE_N:g}N", "--load", "hook", "--tool-box",
        "z>=0.5[m]", "--no-curve", "--seed", str(seed), "-o", folder / "a.plan.csv",
    )  # fmt: skip
    run_quietly(
        "simulate", "kr270", folder / "a.plan.csv", "--spread", "*.compliance=30 %", "--seed", str(seed),
        "--truth-out", folder / "truth.model.json", "-o", folder / "first.campaign.csv",
    )  # fmt: skip


def measured(folder: Path, seed: int) -> Path:
    """The campaign of the plan, read off the true arm once more."""
    campaign = folder / "a.campaign.csv"
    run_quietly(
        "simulate", "kr270", folder / "a.plan.csv", "--truth", folder / "truth.model.json", "--sigma", "0.03mm",
        "--exact", "--seed", str(seed), "-o", campaign,
    )  # fmt: skip
    return campaign


def model_of(campaign: Path, output: Path, *how: str) -> KnownModel:
    """What a campaign tells."""
    run_quietly("identify", "kr270", campaign, "-o", output, *how)
    return read_model(output)


def job(robot: Robot, rng: np.random.Generator) -> tuple[PathFile, Wish, Floats]:
    """Paths in places nobody measured, under forces in any direction."""
    q = np.concatenate([smooth(robot, PATH_POINTS, rng) for _ in range(PATHS)], axis=1)
    wrench = np.concatenate([np.repeat(pulls(1, rng, 0.4), PATH_POINTS, axis=2) for _ in range(PATHS)], axis=2)
    return *source_of(robot, q, wrench, "hook"), wrench


def used(model: KnownModel, truth: Arm, seed: int) -> tuple[float, float, float]:
    """Error of the true arm before and after correction, and what was said to be left: root mean squares, m."""
    source, wish, wrench = job(read_robot("kr270"), np.random.default_rng(1000 + seed))
    found = compensate(model, source, wish, How())
    good = np.isfinite(found.path.q).all(axis=0)
    rest, pull = wish.wished.take(np.flatnonzero(good)), wrench[:, :, good]
    before = loaded_error(truth, rest.q, pull, "hook", rest)
    after = loaded_error(truth, np.ascontiguousarray(found.path.q[:, good]), pull, "hook", rest)
    off, left = (float(np.sqrt(np.mean(np.sum(one**2, axis=0)))) for one in (before, after))
    return off, left, found.left_m or 0.0


def identified(seeds: int) -> tuple[bool, Path]:
    """Part 2; the last model stays for the others."""
    rows, linear = [], []
    kept = Path(tempfile.mkdtemp(prefix="stiffarm-bench-"))
    model, plain = kept / "a.model.json", kept / "linear.model.json"
    print("\nseed  before mm  removed %  left um: said, true (times measured)   first order: said, true   seconds")
    for seed in range(seeds):
        begun = time.perf_counter()
        planned(kept, seed)
        truth = read_model(kept / "truth.model.json").arm()
        again = []
        for k in range(MEASURED):
            campaign = measured(kept, 1000 * k + seed)
            again.append(used(model_of(campaign, model, "--exact"), truth, seed))
        linear.append(used(model_of(campaign, plain), truth, seed))
        rows.append(again)
        off, left, said = np.array(again).T
        pairs = "  ".join(f"{1e6 * a:.1f} {1e6 * b:.1f}" for a, b in zip(said, left, strict=True))
        print(
            f"{seed:4d} {1e3 * off[0]:10.3f} {100 * (1.0 - left / off).min():10.2f}  {pairs:40} "
            f"{1e6 * linear[-1][2]:5.1f} {1e6 * linear[-1][1]:5.1f} {time.perf_counter() - begun:10.1f}",
            flush=True,
        )
    return judged(np.array(rows), np.array(linear).T), model


def judged(rows: Floats, linear: Floats) -> bool:
    """Whether enough goes on every seed, and the forecasts are right; rows are (seeds, times measured, 3)."""
    (off, true, said), (_, beside, claimed) = np.moveaxis(rows, -1, 0), linear
    removed, ratio = 1.0 - true / off, true / said
    pooled, first = (float(np.sqrt(np.mean(a**2) / np.mean(b**2))) for a, b in ((true, said), (beside, claimed)))
    most = float(np.sqrt(chi2.isf(LEVEL / rows[..., 0].size, 1)))
    within = float(np.mean(np.abs(ratio - 1.0) <= FORECAST))
    print(f"removed: at least {100 * removed.min():.2f} %, median {100 * np.median(removed):.2f} % (95 on every seed)")
    print(
        f"left, true over said: {pooled:.3f} over all {ratio.size} campaigns (within 20 %); one by one "
        f"{ratio.min():.2f} to {ratio.max():.2f} (at most {most:.2f}), within 20 % in {100 * within:.0f} % of them"
    )
    print(
        f"identified to first order: at least {100 * (1.0 - beside / linear[0]).min():.2f} % removed, {first:.2f} times"
    )
    return bool((removed >= LEAST_REMOVED).all() and abs(pooled - 1.0) <= FORECAST and (ratio <= most).all())


def long_path(file: Path, n: int, *, poses: bool) -> None:
    """A path of a KR 270 under 3.5 kN, by joints or by poses."""
    s = np.linspace(0.0, 1.0, n)
    turn = 2.0 * np.pi * s
    q = np.array(
        [40 * np.sin(3 * turn), -70 + 15 * np.sin(7 * turn), 80 + 15 * np.cos(5 * turn),
         30 * np.sin(11 * turn), 50 + 20 * np.cos(4 * turn), 60 * np.sin(2 * turn)]
    )  # fmt: skip
    columns: dict[str, Any] = {f"q.A{k + 1}[deg]": row for k, row in enumerate(q)}
    if poses:
        position, axes = tool_of(ArmModel.of(read_robot("kr270")).at(), np.radians(q))
        columns = {f"{a}[mm]": 1e3 * row for a, row in zip("xyz", position, strict=True)}
        columns |= {f"r{a}[rad]": row for a, row in zip("xyz", vector_of(axes), strict=True)}
    force = np.array([np.sin(9 * s), 0.6 * np.cos(9 * s), np.full(n, -0.8)])
    force *= FORCE_N / np.linalg.norm(force, axis=0)
    columns |= {f"force.{a}[N]": row for a, row in zip("xyz", force, strict=True)} | {"load_point": ["hook"] * n}
    pl.DataFrame(columns).write_csv(file)


MEASURING = (
    "import json, resource, subprocess, sys; done = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], 'wb'));"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN);"
    "print(json.dumps([done.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss]))"
)
"""A small process between: a child's peak of memory begins with that of the process it comes from."""


def timed(model: Path | str, path: Path, output: Path) -> tuple[float, float, float, dict[str, Any]]:
    """Wall and processor seconds, peak megabytes, and the answer of `stiffarm compensate` in a process of its own."""
    command = [sys.executable, "-m", "stiffarm", "compensate", str(model), str(path), "-o", str(output), "--json"]
    told = output.with_suffix(".json")
    begun = time.perf_counter()
    measured = subprocess.run(
        [sys.executable, "-c", MEASURING, str(told), *command, "--quiet"], check=True, capture_output=True
    )
    seconds = time.perf_counter() - begun
    _, processor, peak = json.loads(measured.stdout)
    return seconds, processor, peak / (1e6 if sys.platform == "darwin" else 1e3), json.loads(told.read_bytes())


def speed(model: Path, points: int, more: int) -> bool:
    """Part 3."""
    good = True
    peak: dict[int, float] = {}
    print(f"\n{points} points, file to file             wall s  processor s  peak MB  left um  removed %")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        links = folder / "links.robot.toml"
        links.write_text(robot_text(with_links(read_robot("kr270"))), encoding="utf-8")
        for words, known, n, poses in (
            ("identified model, joints", model, points, False),
            ("identified model, poses", model, points, True),
            ("seven elastic links, joints", links, points, False),
            ("identified model, joints", model, more, False),
        ):
            path = folder / "a.path.csv"
            long_path(path, n, poses=poses)
            wall, processor, megabytes, answer = timed(known, path, folder / "b.csv")
            peak.setdefault(n, megabytes)
            residual = answer["max_residual[m]"]
            ok = not answer["refused"] and residual < MOST_LEFT_M and (n > points or wall <= MOST_SECONDS)
            good &= ok
            print(
                f"{words:28} {n:10d} {wall:7.1f} {processor:12.1f} {megabytes:8.0f} {1e6 * residual:8.2g} "
                f"{100 * answer['removed']:10.2f}{'' if ok else '  MISSED'}",
                flush=True,
            )
    if more > points:
        each = 1e6 * (peak[more] - peak[points]) / (more - points)
        print(
            f"memory: {each:.0f} bytes a point (at most {MOST_BYTES_A_POINT:.0f}); a point's working arrays are reused"
        )
        good &= each <= MOST_BYTES_A_POINT
    return good


def singular() -> bool:
    """Part 4."""
    robot, n = with_links(read_robot("kr270")), 401
    q = np.radians(np.array([10.0, -70.0, 80.0, 20.0, 0.0, 15.0]))[:, None] * np.ones(n)
    q[4] = np.radians(np.linspace(-20.0, 20.0, n))
    wrench = np.repeat(np.array([800.0, 1500.0, -2500.0, 0.0, 0.0, 0.0])[None, :, None], n, axis=2)
    source, wish = source_of(robot, q, wrench, "hook")
    found: Compensation = compensate(KnownModel("kr270", ArmModel.of(robot), {}), source, wish, How())
    kept = np.isfinite(found.path.q).all(axis=0)
    rest = wish.wished.take(np.flatnonzero(kept))
    arm = ArmModel.of(robot).at()
    error = loaded_error(arm, np.ascontiguousarray(found.path.q[:, kept]), wrench[:, :, kept], "hook", rest)
    left = np.linalg.norm(error, axis=0).max()
    near = np.flatnonzero(found.spread < NEAR_SINGULAR)
    named = {one.row for one in found.path.refused} | set(source.row[found.near_singular].tolist())
    ok = left < MOST_LEFT_M and set(source.row[near].tolist()) <= named and len(found.path.refused) > 0
    ok &= all("singular" in one.reason and "A" in one.reason for one in found.path.refused)
    print(
        f"\nthrough the wrist's singularity: {n} points, {len(near)} nearer than {NEAR_SINGULAR}, all named; "
        f"{len(found.path.refused)} refused, the others left at most {1e9 * left:.2f} nm"
    )
    print(f"the first refused: row {found.path.refused[0].row}: {found.path.refused[0].reason}")
    return bool(ok)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every part; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--long", type=int, default=400_000)
    asked = parser.parse_args(arguments)
    parts = [exact(500)]
    good, model = identified(asked.seeds)
    parts += [good, speed(model, asked.points, asked.long), singular()]
    return 0 if all(parts) else 1


if __name__ == "__main__":
    sys.exit(main())
