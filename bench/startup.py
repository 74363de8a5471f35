"""How long a newcomer waits: `import stiffarm` at most 0.6 s, `stiffarm --help` at most 0.4 s.

Each figure is the whole life of a process, interpreter start included, best of five; what stands first on the
disk or in a cache is not what is measured.  scipy.stats alone costs more than the rest of the package together,
so that it must not have been imported by either.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

RUNS = 5
IMPORT_LIMIT_S = 0.6
HELP_LIMIT_S = 0.4

IMPORT = "import stiffarm"
HELP = """import importlib.metadata, sys
sys.argv = ["stiffarm", "--help"]
(entry,) = importlib.metadata.entry_points(group="console_scripts", name="stiffarm")
try:
    entry.load()()
except SystemExit as end:
    assert not end.code, end.code"""
HAS_STATS = "import sys; print('scipy.stats' in sys.modules, file=sys.stderr)"

PYTHON = [sys.executable, "-c"]
COMMAND = str(Path(sys.executable).with_name("stiffarm.exe" if os.name == "nt" else "stiffarm"))


def run(command: list[str]) -> tuple[float, str]:
    """Seconds and standard error of a fresh process."""
    start = time.perf_counter()
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return seconds, done.stderr


def best_seconds(command: list[str]) -> float:
    """Best of `RUNS` after one run that fills the caches."""
    run(command)
    return min(run(command)[0] for _ in range(RUNS))


def main() -> int:
    """Measure, print, and say by the exit status whether every limit was kept."""
    print(f"{'bare interpreter':18} {best_seconds([*PYTHON, 'pass']):6.3f} s")
    kept = True
    for name, command, code, limit_s in (
        ("import stiffarm", [*PYTHON, IMPORT], IMPORT, IMPORT_LIMIT_S),
        ("stiffarm --help", [COMMAND, "--help"], HELP, HELP_LIMIT_S),
    ):
        seconds = best_seconds(command)
        has_stats = run([*PYTHON, f"{code}\n{HAS_STATS}"])[1].split()[-1] == "True"
        kept = kept and seconds <= limit_s and not has_stats
        print(
            f"{name:18} {seconds:6.3f} s  (at most {limit_s} s)  scipy.stats imported: {'yes' if has_stats else 'no'}"
        )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
