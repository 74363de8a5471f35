"""How much the core puts on a disk: site-packages without pip and setuptools at most 550 MB (1 MB = 10^6 bytes).

The package is built and installed as a user would install it, into a fresh environment without any extra.
Every one of its modules is then imported there, which shows that none leans on a package of the tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LIMIT_MB = 550.0
ROOT = Path(__file__).resolve().parent.parent
INSTALLERS = ("pip", "setuptools", "_distutils_hack", "distutils-precedence.pth", "pkg_resources")

IMPORT_ALL = """
import importlib, pkgutil, stiffarm
names = [module.name for module in pkgutil.walk_packages(stiffarm.__path__, "stiffarm.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""


def bytes_under(path: Path) -> int:
    """Sum of file sizes."""
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())


def is_installer(path: Path) -> bool:
    """Whether a directory of site-packages belongs to pip or setuptools."""
    return path.name in INSTALLERS or path.name.startswith(("pip-", "setuptools-"))


def install_core(folder: Path) -> Path:
    """A fresh environment with the core; the source is copied first, since a build writes beside it."""
    source = folder / "source"
    source.mkdir()
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = next(path for path in (environment / "bin/python", environment / "Scripts/python.exe") if path.exists())
    install = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*install, "-c", str(ROOT / "constraints.txt"), str(source)], check=True)
    return python


def main() -> int:
    """Install, import, weigh, print, and say by the exit status whether the limit was kept."""
    with tempfile.TemporaryDirectory() as name:
        python = install_core(Path(name))
        imported = subprocess.run([python, "-c", IMPORT_ALL], check=False, capture_output=True, text=True, cwd=name)
        complaint = imported.stderr.strip().splitlines()[-1] if imported.returncode else ""
        print(f"modules imported with the core alone: {complaint or imported.stdout.strip()}")
        where = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('platlib'))"]
        packages = Path(subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip())
        sizes_mb = {path.name: bytes_under(path) / 1e6 for path in packages.iterdir() if not is_installer(path)}
    for package, size_mb in sorted(sizes_mb.items(), key=lambda item: -item[1])[:8]:
        print(f"{package:24} {size_mb:7.1f} MB")
    total_mb = sum(sizes_mb.values())
    print(f"{'site-packages':24} {total_mb:7.1f} MB  (at most {LIMIT_MB:.0f} MB)")
    return 0 if total_mb <= LIMIT_MB and not complaint else 1


if __name__ == "__main__":
    sys.exit(main())
