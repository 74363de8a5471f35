"""Do the intervals cover? Every estimator against simulated truth in the layout of paper 003.

    python bench/coverage_003.py [--runs 2000] [--seed 1]

Two geometries (Table 2 of the paper, nine parameters; fifteen scattered configurations, five parameters) and six
error scenarios (``tests/identify_scenarios.py``), half of the runs each.  Printed per scenario and estimator: coverage
of nominal 95 % and 99.73 % intervals pooled over parameters and geometries, the worst parameter of each, and the true
gain, root mean square error of least squares over that of the estimator (median over parameters).

Exit 1 when an estimator leaves 93 to 97 % in a scenario it is made for (marked *).  The scheme with one weight per
equation is shown in the paper's own situation, Table 1 with independent rows.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from identify_scenarios import (
    Geometry,
    Scenario,
    paper_geometry,
    problem_of,
    row_sigma,
    scattered_geometry,
    scenarios,
    simulate,
    table_1,
)
from stiffarm.identify.bootstrap import bootstrap
from stiffarm.identify.honest import honest, honest_design
from stiffarm.identify.linear import ols, wls
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import Array, LinearProblem
from stiffarm.identify.robust import robust
from stiffarm.identify.weights import cells, gain_bound, per_equation

Estimator = Callable[[LinearProblem], LinearEstimate]
LEVELS = (0.95, 0.9973)
WANTED = (0.93, 0.97)
INDEPENDENT = {"independent"}
HETEROSCEDASTIC = {"independent", "cells"}
EVERYWHERE = {s.name for s in scenarios()}
MADE_FOR = {
    "ols": INDEPENDENT,
    "wls": HETEROSCEDASTIC,
    "cells": HETEROSCEDASTIC,
    "honest": EVERYWHERE,
    "robust": EVERYWHERE,
    "bootstrap": EVERYWHERE,
    "per equation": set(),
}


@dataclass(frozen=True, eq=False)
class Score:
    """Outcome of one estimator in one geometry: arrays run first, parameter last."""

    hit: Array
    """(runs, 2 levels, parameters)."""
    error: Array
    claimed: Array
    """(runs, parameters) claimed gain, zeros where none is claimed."""


def estimators(geometry_design: LinearProblem, scenario: Scenario, seed: int) -> dict[str, Estimator]:
    """The estimators, what they may know given to them."""
    design, sigma = honest_design(geometry_design), row_sigma(scenario, geometry_design)
    table: dict[str, Estimator] = {
        "ols": ols,
        "wls": lambda p: wls(replace(p, sigma=sigma)),
        "cells": cells,
        "honest": lambda p: honest(p, design=design),
        "robust": robust,
        "bootstrap": lambda p: bootstrap(p, seed=seed, draws=1000),
    }
    if scenario.name == "cells":
        table["per equation"] = per_equation
    return table


def run(geometry: Geometry, scenario: Scenario, runs: int, seed: int) -> dict[str, Score]:
    """Every estimator on the same simulated campaigns."""
    base, rng = problem_of(geometry), np.random.default_rng(seed)
    table = estimators(base, scenario, seed)
    hits: dict[str, list[Array]] = {name: [] for name in table}
    errors: dict[str, list[Array]] = {name: [] for name in table}
    claims: dict[str, list[Array]] = {name: [] for name in table}
    for _ in range(runs):
        data = simulate(base, geometry.truth, scenario, rng)
        for name, estimator in table.items():
            found = estimator(data)
            miss = np.abs(found.values - geometry.truth)
            half = np.stack([np.diff(found.intervals(level), axis=1)[:, 0] / 2 for level in LEVELS])
            hits[name].append(miss <= half)
            errors[name].append(miss)
            claims[name].append(np.zeros_like(miss) if found.claimed_gain is None else found.claimed_gain)
    return {n: Score(np.array(hits[n], dtype=float), np.array(errors[n]), np.array(claims[n])) for n in table}


def rms(score: Score) -> Array:
    """Root mean square error of each parameter."""
    return np.asarray(np.sqrt(np.mean(score.error**2, axis=0)))


def report(scenario: Scenario, results: Sequence[dict[str, Score]]) -> list[str]:
    """Print one scenario; return what failed."""
    failures = []
    print(f"\n{scenario.name}")
    print(f"  {'estimator':13s} {'95 %':>8s} {'worst':>7s} {'99.73 %':>8s} {'worst':>7s} {'true gain':>10s}")
    for name in results[0]:
        pooled = np.concatenate([r[name].hit.transpose(0, 2, 1).reshape(-1, 2) for r in results]).mean(axis=0)
        by_parameter = np.concatenate([r[name].hit.mean(axis=0) for r in results], axis=1)
        worst = by_parameter.min(axis=1)
        gain = np.median(np.concatenate([rms(r["ols"]) / rms(r[name]) for r in results]))
        made = scenario.name in MADE_FOR[name]
        failed = made and not WANTED[0] <= pooled[0] <= WANTED[1]
        failures += [f"{name} in '{scenario.name}': {pooled[0]:.1%}"] if failed else []
        print(
            f"{'*' if made else ' '} {name:13s} {pooled[0]:8.2%} {worst[0]:7.1%} {pooled[1]:8.2%} {worst[1]:7.1%} "
            f"{gain:10.2f}{'   <-- outside 93-97 %' if failed else ''}",
            flush=True,
        )
    return failures


def per_equation_report(results: Sequence[dict[str, Score]]) -> None:
    """What the per-equation scheme claims and gives, with Table 1 and independent rows."""
    score, plain, cell = (results[0][name] for name in ("per equation", "ols", "cells"))
    claimed = np.median(score.claimed, axis=0)
    true, weighted = rms(plain) / rms(score), rms(plain) / rms(cell)
    print("\nPaper 003 with Table 1, its own geometry")
    print(f"  largest gain that independent rows of Table 1 allow, any design: {gain_bound(table_1()):.2f}")
    print(f"  cells: true gain {weighted.min():.2f} to {weighted.max():.2f}, median {np.median(weighted):.2f}")
    print(
        f"  one weight per equation: claims {claimed.min():.0f} to {claimed.max():.0f}, true gain "
        f"{np.median(true):.2f}, nominal 99.73 % covers {score.hit[:, 1].mean():.1%}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="simulated campaigns per scenario (default 2000)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    started, failures = time.perf_counter(), []
    for number, scenario in enumerate(scenarios()):
        half = max(options.runs // 2, 1)
        seeds = [options.seed + 100 * number + g for g in range(2)]
        geometries = (paper_geometry(), scattered_geometry())
        results = [run(g, scenario, half, s) for g, s in zip(geometries, seeds, strict=True)]
        failures += report(scenario, results)
        if scenario.name == "cells":
            per_equation_report(results)
    print(
        f"\n{options.runs} runs per scenario, seed {options.seed}, {time.perf_counter() - started:.0f} s, "
        f"{time.process_time():.0f} s of processor time"
    )
    for failure in failures:
        print(f"outside 93-97 %: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
