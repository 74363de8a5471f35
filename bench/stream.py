"""A million rows and fifty parameters through `stiffarm identify`, from the file to the model; exit 1 beyond 600 MB.

    python bench/stream.py [--rows 1000000] [--folder FOLDER]

A virtual campaign of a six-axis arm with three markers, two tracker stations and weights on a hook is written as CSV.
Its truth differs from the drawing in every placement, in gear eccentricities and gains, and in all compliances.  Then
the command is run as a user runs it, in a process of its own, whose peak of memory the system reports when it ends.
The model must have told at least 50 parameters, and found them: how many 95 % intervals of compliances and gears hold
the truth (no fewer than chance allows once in a hundred), and the error on configurations never measured, are printed
and judged.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.stats import binom

from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import BodyPoint, Robot
from stiffarm.robot.placement import Rigid, rotation_from_vector
from stiffarm.robot.reading import read_robot
from stiffarm.robot.writing import robot_text

Floats = NDArray[np.float64]
MOST_MEGABYTES = 600.0
LEAST_PARAMETERS = 50
NOISE_M = 30e-6
MARKERS = ("P1", "P2", "P3")
SETUPS = ("north", "south")
BLOCK = 20_000
"""Configurations written at a time."""
MORE = ("A*.sin", "A*.cos", "A*.gain")


def robot_of() -> Robot:
    """The packaged KR 270 without compensator and links, so that joints alone bend."""
    robot = read_robot("kr270")
    hook = tuple(point for point in robot.tool.load_points if point.name == "hook") or (
        BodyPoint("hook", (0.35, 0.1, -0.2)),
    )
    return replace(robot, links=(), compensators=(), priors=(), tool=replace(robot.tool, load_points=hook))


def truth_of(model: ArmModel, seed: int) -> Arm:
    """Placements off by half a millimetre or milliradian, gears by a tenth of that, compliances by a fifth.

    The first joint's placement is left as drawn: it turns the loads against the arm, which no station can tell.
    """
    random = np.random.default_rng(seed)
    first, values = model.robot.joint_names[0], {}
    for p in model.parameters:
        joint, _, what = p.name.partition(".")
        if p.elastic and what == "compliance":
            values[p.name] = max(p.nominal, 3e-7) * float(random.uniform(0.8, 1.2))
        elif joint in model.robot.joint_names and joint != first and what in ("x", "y", "z", "rx", "ry", "rz"):
            values[p.name] = float(random.normal() * 5e-4)
        elif joint in model.robot.joint_names and what in ("sin", "cos", "gain"):
            values[p.name] = float(random.normal() * 1e-4)
    return model.at(values)


def frames_of() -> dict[str, Rigid]:
    """Where the two stations stand: setup from world."""
    return {
        "north": Rigid(rotation_from_vector((0.1, -0.2, 1.3)), np.array([4.0, -1.0, 0.3])),
        "south": Rigid(rotation_from_vector((-0.05, 0.1, -2.0)), np.array([-3.0, 2.0, 0.8])),
    }


def positions(arm: Arm, q: Floats, force: Floats, marker: str) -> Floats:
    """(3, n) marker in the world, m."""
    state = State(q, (Load(arm.chain.point("hook"), force), *arm.weights()))
    return predict(arm, state, marker).position


def draw(robot: Robot, n: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Joints (joints, n) rad within their limits and a pull (3, n) N."""
    limits = np.array([joint.limits for joint in robot.joints], dtype=float)
    q = random.uniform(0.9 * limits[:, :1], 0.9 * limits[:, 1:], (len(limits), n))
    return q, random.uniform(-2500.0, 2500.0, (3, n))


def write(path: Path, robot: Robot, arm: Arm, rows: int, seed: int) -> None:
    """Every marker at every configuration, from either station in turn."""
    random, frames = np.random.default_rng(seed), frames_of()
    experiments, done = -(-rows // len(MARKERS)), 0
    with path.open("wb") as stream:
        while done < experiments:
            n = min(BLOCK, experiments - done)
            q, force = draw(robot, n, random)
            station = (done + np.arange(n)) % 2
            table: dict[str, object] = {"experiment": [f"e{i}" for i in range(done, done + n)]}
            table["setup"] = [SETUPS[s] for s in station]
            table |= {f"q.{j.name}[rad]": v for j, v in zip(robot.joints, q, strict=True)}
            table["load_point"] = ["hook"] * n
            table |= {f"force.{a}[N]": v for a, v in zip("xyz", force, strict=True)}
            parts = []
            for marker in MARKERS:
                world = positions(arm, q, force, marker)
                read = np.empty_like(world)
                for s, name in enumerate(SETUPS):
                    read[:, station == s] = frames[name].apply(world[:, station == s])
                read += NOISE_M * random.normal(size=read.shape)
                own = {"marker": [marker] * n, **{f"{a}[mm]": 1e3 * v for a, v in zip("xyz", read, strict=True)}}
                parts.append(pl.DataFrame({"at": np.arange(n), **table, **own}))
            frame = pl.concat(parts).sort("at", maintain_order=True).drop("at")
            frame = frame.head(rows - done * len(MARKERS))
            frame.write_csv(stream, include_header=done == 0)
            done += n


def measured(command: Sequence[str], environment: dict[str, str]) -> tuple[int, str, str, float, float]:
    """Status, both outputs, seconds and peak megabytes of a command."""
    import resource

    start = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit / 1e6
    return done.returncode, done.stdout, done.stderr, time.perf_counter() - start, peak


def unseen_mm(arm: Arm, robot: Robot, model: dict[str, float]) -> float:
    """Root mean square error of marker P1 at configurations never measured, once both frames are laid together."""
    q, force = draw(robot, 1000, np.random.default_rng(99))
    ours, truth = positions(arm.model.at(model), q, force, "P1"), positions(arm, q, force, "P1")
    a, b = ours - ours.mean(axis=1, keepdims=True), truth - truth.mean(axis=1, keepdims=True)
    u, _, vt = np.linalg.svd(b @ a.T)
    turned = u @ np.diag([1.0, 1.0, np.linalg.det(u @ vt)]) @ vt @ a
    return 1e3 * float(np.sqrt(np.mean(np.sum((turned - b) ** 2, axis=0))))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, run, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        robot = robot_of()
        arm = truth_of(ArmModel.of(robot), 3)
        (folder / "arm.robot.toml").write_text(robot_text(robot), encoding="utf-8")
        path, model = folder / "big.campaign.csv", folder / "big.model.json"
        write(path, robot, arm, chosen.rows, 4)
        print(f"{chosen.rows} rows, {path.stat().st_size / 1e6:.0f} MB", flush=True)
        command = [sys.executable, "-m", "stiffarm", "identify", str(folder / "arm.robot.toml"), str(path)]
        command += [word for pattern in MORE for word in ("--select", pattern)] + ["-o", str(model), "--json"]
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
        status, _, said, seconds, peak = measured(command, {**os.environ, **threads})
        if not model.exists():
            print(said)
            return 1
        answer = json.loads(model.read_text(encoding="utf-8"))
    told = [p for p in answer["parameters"] if p["std"] is not None]
    own = [p for p in told if p["name"].split(".")[-1] in ("compliance", "sin", "cos", "gain")]
    inside = [p["low"] <= arm.values[p["name"]] <= p["high"] for p in own]
    least = int(binom.ppf(0.01, len(inside), 0.95))
    error = unseen_mm(arm, robot, {p["name"]: p["value"] for p in answer["parameters"] if p["value"] is not None})
    print("\n".join(said.splitlines()[-6:]))
    print(f"told {len(told)} parameters (at least {LEAST_PARAMETERS}), rank {answer['fit']['rank']}, status {status}")
    print(f"compliances and gears within their 95 % intervals: {sum(inside)} of {len(inside)} (at least {least})")
    print(f"error on 1 000 configurations never measured: {error:.5f} mm; {answer['verdict']['reasons'][0]}")
    print(f"{seconds:.0f} s, peak {peak:.0f} MB (at most {MOST_MEGABYTES:.0f})")
    noise_limit_mm = 1e3 * NOISE_M * 4 * float(np.sqrt(len(told) / chosen.rows)) + 1e-4
    good = status == 0 and len(told) >= LEAST_PARAMETERS and error <= noise_limit_mm
    return 0 if good and sum(inside) >= least and peak <= MOST_MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
