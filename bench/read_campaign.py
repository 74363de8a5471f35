"""Read and check a campaign of a million rows; exit 1 beyond 5 s (best of three) or 3 GB."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stiffarm.measure.reading import read_campaign

ROWS = 1_000_000
MARKERS = 3
RUNS = 3
MOST_SECONDS = 5.0
MOST_MEGABYTES = 3_000.0


def write(path: Path) -> None:
    """Six joints, three markers at each configuration."""
    rng = np.random.default_rng(0)
    experiment = np.arange(ROWS) // MARKERS
    columns: dict[str, NDArray[np.float64] | pl.Series] = {"experiment": pl.Series(experiment).cast(pl.String)}
    for joint in range(1, 7):
        q = rng.uniform(-170.0, 170.0, experiment[-1] + 1).round(6)
        columns[f"q.A{joint}[deg]"] = q[experiment]
    columns["marker"] = pl.Series([f"P{k + 1}" for k in range(MARKERS)]).gather(np.arange(ROWS) % MARKERS)
    for axis in "xyz":
        columns[f"{axis}[mm]"] = rng.uniform(-3000.0, 3000.0, ROWS).round(6)
    pl.DataFrame(columns).write_csv(path)


def peak_megabytes() -> float:
    """Most memory this process has held; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0.0
    unit = 1.0 if sys.platform == "darwin" else 1024.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def main() -> int:
    """Print seconds and megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.campaign.csv"
        write(path)
        size, before = path.stat().st_size / 1e6, peak_megabytes()
        runs = []
        for _ in range(RUNS):
            start = time.perf_counter()
            campaign = read_campaign(path)
            runs.append(time.perf_counter() - start)
    seconds = min(runs)
    peak = peak_megabytes()
    print(f"{len(campaign.readings)} rows, {len(campaign.experiments)} experiments, {size:.0f} MB file")
    print(f"read and checked in {seconds:.2f} s, the best of {', '.join(f'{run:.2f}' for run in runs)}")
    print(f"allowed: {MOST_SECONDS:.0f} s and {MOST_MEGABYTES:.0f} MB; peak {peak:.0f} MB ({before:.0f} before)")
    return 0 if seconds <= MOST_SECONDS and peak <= MOST_MEGABYTES else 1


if __name__ == "__main__":
    sys.exit(main())
