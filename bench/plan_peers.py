"""Planning beside general optimisers and figaroh, in one run, on the same problem and the same criterion.

    python bench/plan_peers.py [--shared FOLDER] [--environments FOLDER] [--figaroh]

**Poses on a rail** (paper 001, n = 12, m0 = 3, attachment point chosen too; small is good).  Every optimiser calls the
same batched evaluation of criterion and height, hundreds of plans at a time, so that none pays for a loop in Python:

    stiffarm                     the weighted design, starts, refinement; with and without its certificate
    differential evolution       of scipy, 200 000 evaluations (best1bin, vectorised, constraint as penalty)
    genetic algorithm            of pymoo when it is installed, 200 000 evaluations (its defaults, population 200)
    random                       best of 10 000 plans that keep the height

For every seed ours must have the better value, and take less processor time than each optimiser that evaluates 200 000
plans (without the certificate, which no other gives; with it is printed beside).

**Thirty of 1 000 configurations for the geometry of a six-axis arm**, in at most 0.2 s: det(M)^(1/p) over the mean of
20 random choices must be at least 0.95 of what the best weighted design of these candidates leaves possible, and at
least 1.37 in figaroh's own regressor when it is installed (``--figaroh`` also runs its two selections, a minute).

pymoo and figaroh stand in environments made by ``bench/install_peers.sh``, named by ``--environments`` or
``$STIFFARM_PEERS``; pymoo is taken from there into this process.  What is not there is skipped with a line.
Exit 1 when a figure is missed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from scipy.optimize import differential_evolution

import _peer_problem as problem
from stiffarm.identifiability.question import Wanted
from stiffarm.measure.campaign import Isotropic
from stiffarm.model.arm_model import ArmModel
from stiffarm.papers.genetic_001 import values_of
from stiffarm.papers.rail_001 import Weighed, rail
from stiffarm.plan.candidates import feasible_stops
from stiffarm.plan.constraints import all_margins
from stiffarm.plan.criteria import criterion_of
from stiffarm.plan.exchange import exchange, greedy
from stiffarm.plan.information import Information
from stiffarm.plan.problem import Floats, Ints, Reading, Stops
from stiffarm.plan.refine import Refiner
from stiffarm.plan.told import told_of
from stiffarm.plan.weighted import best_weights, screened
from stiffarm.robot.reading import parse_robot

ROOT = Path(__file__).resolve().parent.parent
ROBOT, SEEDS, EVALUATIONS, RANDOM = "kr500-rail", (0, 1, 2), 200_000, 10_000
CHOSEN, LEAST_GAIN, LEAST_SHARE, MOST_S = 30, 1.37, 0.95, 0.2


def ours(seed: int) -> tuple[float, float, float]:
    """Value, processor time to it, and with its certificate."""
    begun = time.process_time()
    weighed = Weighed.of(rail(ROBOT), seed)
    plan = weighed.plan(3)
    found = time.process_time() - begun
    weighed.certificate(plan.value)
    return plan.value, found, time.process_time() - begun


def by_evolution(refiner: Refiner, seed: int) -> tuple[float, int]:
    """scipy's differential evolution; value and evaluations."""
    low, high = refiner.space.plan_bounds(refiner.poses)
    size, count = 10, 0

    def batch(x: Floats) -> Floats:
        nonlocal count
        count += x.shape[1]
        return 1e5 * values_of(refiner, np.ascontiguousarray(x.T))

    done = differential_evolution(
        batch, list(zip(low, high, strict=True)), popsize=size, maxiter=EVALUATIONS // (size * len(low)) - 1, tol=0.0,
        atol=0.0, polish=False, vectorized=True, updating="deferred", rng=seed,
    )  # fmt: skip
    return 1e-5 * float(done.fun), count


def by_genes(refiner: Refiner, seed: int) -> tuple[float, int]:
    """pymoo's genetic algorithm; value and evaluations."""
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import Problem
    from pymoo.optimize import minimize

    low, high = refiner.space.plan_bounds(refiner.poses)

    class Plans(Problem):  # type: ignore[misc, no-any-unimported]
        """Criterion and missing height of many plans at once."""

        def _evaluate(self, x: Floats, out: dict[str, Floats], *_: object, **__: object) -> None:
            each = refiner.space.spread(x, refiner.poses)
            stops = refiner.space.unpack(each, np.zeros((7, len(each))))
            out["F"] = 1e5 * refiner.values(stops, len(x))[:, None]
            out["G"] = -all_margins(refiner.constraints, stops).value.reshape(len(x), -1)

    plans = Plans(n_var=len(low), n_obj=1, n_ieq_constr=refiner.poses, xl=low, xu=high)
    done = minimize(plans, GA(pop_size=200), ("n_eval", EVALUATIONS), seed=seed, verbose=False)
    return 1e-5 * float(done.F[0]), int(done.algorithm.evaluator.n_eval)


def by_chance(refiner: Refiner, seed: int) -> tuple[float, int]:
    """The best of random plans whose stops all keep the height."""
    random = np.random.default_rng(seed)
    stops, _ = feasible_stops(refiner.space, refiner.constraints, 1 << 15, seed, np.zeros((7, 1)))
    assert stops.aim is not None
    picked = random.integers(len(stops), size=(RANDOM, refiner.poses))
    together = Stops(stops.q[:, picked.ravel()], np.repeat(stops.aim[:, picked[:, 0]], refiner.poses, axis=1))
    return float(refiner.values(together, RANDOM).min()), RANDOM


def timed(work: Callable[[Refiner, int], tuple[float, int]], refiner: Refiner, seed: int) -> tuple[float, int, float]:
    """Value, evaluations, processor time."""
    begun = time.process_time()
    value, count = work(refiner, seed)
    return value, count, time.process_time() - begun


def rail_figures(pymoo: bool) -> list[str]:
    """Ours beside the optimisers; what was missed."""
    refiner, missed = rail(ROBOT), []
    peers = [("differential evolution", by_evolution), ("random", by_chance)]
    peers += [("pymoo GA", by_genes)] if pymoo else []
    print(f"{'poses on a rail':26} seed   1e-2 mm  evaluations  seconds (processor)")
    for seed in SEEDS:
        value, seconds, whole = ours(seed)
        print(f"{'stiffarm':26} {seed:4}  {1e5 * value:.5f}            -   {seconds:.2f}, with the bound {whole:.2f}")
        for name, work in peers:
            other, count, took = timed(work, refiner, seed)
            print(f"{name:26} {seed:4}  {1e5 * other:.5f}     {count:8}   {took:.2f}", flush=True)
            missed += [f"{name}, seed {seed}: {1e5 * other:.5f} is better"] if other <= value else []
            missed += [f"{name}, seed {seed}: {took:.2f} s is less"] if took < seconds and count >= 1e5 else []
    return missed


def score(flat: Floats, some: Ints) -> float:
    """det(M)^(1/p) of some candidates."""
    r = np.linalg.qr(flat[some].reshape(-1, flat.shape[2]), mode="r")
    return float(np.exp(2.0 * np.log(np.abs(np.diag(r))).mean()))


def gains(rows: Floats, which: Ints) -> tuple[float, float]:
    """det(M)^(1/p) of some candidates over the mean of 20 random choices, and the most there can be."""
    p = rows.shape[2]
    flat = rows / np.linalg.norm(rows.reshape(-1, p), axis=0)
    chance = [score(flat, np.random.default_rng(s).choice(len(rows), CHOSEN, replace=False)) for s in range(20)]
    one, known = criterion_of("D", p, CHOSEN, None), np.zeros((0, p))
    design = best_weights(flat, known, CHOSEN, one)
    bound = one.bound(design.value, design.slope, CHOSEN * float(screened(flat, design.slope).max()))
    mean = float(np.mean(chance))
    return score(flat, which) / mean, bound**-2 / mean


def select(rows: Floats) -> tuple[Ints, float]:
    """Our choice of thirty and its processor time."""
    p = rows.shape[2]
    one, known, repeats = criterion_of("D", p, CHOSEN, None), np.zeros((0, p)), np.ones(CHOSEN, dtype=np.int64)
    best = np.inf
    for _ in range(3):
        begun = time.process_time()
        scaled = rows / np.linalg.norm(rows.reshape(-1, p), axis=0)
        chosen = greedy(scaled, known, repeats, one, np.random.default_rng(0))
        chosen, _ = exchange(scaled, known, repeats, one, chosen)
        best = min(best, time.process_time() - begun)
    return chosen, best


def own_regressor() -> Floats:
    """White rows of 1 000 configurations of the shared six-axis arm, of what one marker tells of its geometry."""
    lines = ['format = "stiffarm-robot/1"', 'name = "six axes"', 'units = { length = "m", angle = "rad" }',
             'convention = "mdh"', f"tool = {{ markers = {{ P1 = {problem.MARKER.tolist()} }} }}"]  # fmt: skip
    for k, (alpha, a, theta, d) in enumerate(problem.NOMINAL.dh.tolist()):
        lines += ["[[joint]]", f'name = "A{k + 1}"', 'type = "revolute"', f"alpha = {alpha!r}", f"a = {a!r}",
                  f"theta = {theta!r}", f"d = {d!r}"]  # fmt: skip
    model = ArmModel.of(parse_robot("\n".join(lines), "six.robot.toml"))
    axes = ("x", "y", "z", "rx", "ry", "rz")
    names = (*(f"base.{axis}" for axis in axes), *(f"A{k + 1}.{axis}" for k in range(6) for axis in axes),
             *(f"tool.P1.{axis}" for axis in "xyz"))  # fmt: skip
    reading = Reading("position", ("P1",), Isotropic(problem.NOISE_M))
    stops = Stops(np.ascontiguousarray(problem.joints(1000, 5).T))
    asked = Wanted(model, names, False, True)
    everything = Information(asked, names, reading, None, np.ones(len(names)), np.zeros((0, len(names))))
    rows = everything.rows(stops)
    told = told_of(asked, rows, everything.known, None, ())
    return rows[:, :, [names.index(name) for name in told.names]]


def figaroh_regressor(folder: Path, python: Path, *, itself: bool) -> Floats | None:
    """Rows of figaroh's own regressor of the same candidates; None when it cannot be had."""
    code = """
import sys, time, numpy as np
from bench_figaroh import optimal
opt, _, _ = optimal(1000)
np.savez(sys.argv[1], infos=np.array(opt._subX_list))
"""
    done = subprocess.run(
        [str(python), "-c", code, str(folder / "infos.npz")], cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode:
        print(f"figaroh: ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        return None
    with np.load(folder / "infos.npz") as loaded:
        infos = loaded["infos"]
    if itself:
        said = subprocess.run(
            [str(python), "bench_figaroh.py", "detmax", "socp"], cwd=folder, check=False, capture_output=True, text=True
        )
        print("".join(f"  {line}\n" for line in said.stdout.splitlines() if "select" in line), end="")
    s, v = np.linalg.eigh(infos)
    return np.asarray((v[:, :, -3:] * np.sqrt(np.maximum(s[:, None, -3:], 0.0))).transpose(0, 2, 1))


def choice_figures(name: str, rows: Floats, least: float) -> list[str]:
    """Our choice in a regressor; what was missed."""
    chosen, seconds = select(rows)
    found, most = gains(rows, chosen)
    print(
        f"{name:26} {len(rows)} -> {CHOSEN}, {rows.shape[2]} parameters: D-gain {found:.4f} of at most {most:.4f} in "
        f"{seconds:.3f} s"
    )
    missed = [f"{name}: D-gain {found:.4f}"] if found < max(least, LEAST_SHARE * most) else []
    return missed + ([f"{name}: {seconds:.3f} s"] if seconds > MOST_S else [])


def main(arguments: Sequence[str] | None = None) -> int:
    """Everything that is installed; 1 when a figure is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared" / "bench")
    parser.add_argument("--environments", type=Path, default=os.environ.get("STIFFARM_PEERS"))
    parser.add_argument("--figaroh", action="store_true")
    chosen = parser.parse_args(arguments)
    environments = None if chosen.environments is None else Path(chosen.environments)
    sites = [] if environments is None else sorted((environments / "pymoo").glob("lib/python*/site-packages"))
    sys.path += [str(site) for site in sites]  # at the end: what this project has stays its own
    if not sites:
        print("pymoo: skipped, not installed (sh bench/install_peers.sh FOLDER pymoo, then --environments FOLDER)")
    missed = rail_figures(bool(sites)) + choice_figures("our own regressor", own_regressor(), 1.0)
    python = None if environments is None else environments / "figaroh" / "bin" / "python"
    if python is None or not python.exists() or not (chosen.shared / "bench_figaroh.py").exists():
        print("figaroh: skipped, not installed (sh bench/install_peers.sh FOLDER figaroh, then --environments FOLDER)")
    else:
        with tempfile.TemporaryDirectory() as copy:  # its script writes beside itself
            folder = Path(shutil.copytree(chosen.shared, copy, dirs_exist_ok=True))
            rows = figaroh_regressor(folder, python, itself=chosen.figaroh)
            missed += [] if rows is None else choice_figures("figaroh's own regressor", rows, LEAST_GAIN)
    for line in missed:
        print(f"MISSED {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
