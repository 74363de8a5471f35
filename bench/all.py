"""Run every script of this folder in turn and end with a table; exit 1 when one missed a figure."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def scripts() -> list[Path]:
    """The benchmarks; a name with a leading underscore is a module they share."""
    return [path for path in sorted(FOLDER.glob("*.py")) if path.name != "all.py" and not path.name.startswith("_")]


def main() -> int:
    """Run them one after another, so that none disturbs the other's clock."""
    rows: list[tuple[str, float, int]] = []
    for script in scripts():
        print(f"--- {script.stem}", flush=True)
        start = time.perf_counter()
        done = subprocess.run([sys.executable, script], check=False, env={**os.environ, **ONE_THREAD})
        rows.append((script.stem, time.perf_counter() - start, done.returncode))
    print("\nbenchmark                 seconds  result")
    for name, seconds, status in rows:
        print(f"{name:24} {seconds:8.1f}  {'ok' if status == 0 else f'MISSED (exit {status})'}")
    return 1 if any(status for _, _, status in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
