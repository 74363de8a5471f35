"""The core installs without a compiler on Windows and macOS: every requirement has a wheel there.

pip evaluates `sys_platform` for the machine it runs on, so that what is needed on Windows only is named here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON_VERSION = "3.11"
PLATFORMS = {
    "Windows x86-64": ("win_amd64", ("colorama",)),
    "macOS 12, Apple silicon": ("macosx_12_0_arm64", ()),
    "macOS 14, Apple silicon": ("macosx_14_0_arm64", ()),
    "macOS 14, Intel": ("macosx_14_0_x86_64", ()),
}
"""Platform tag of pip (for macOS it covers older ones too) and the requirements that only exist there."""


def core_requirements() -> list[str]:
    """The dependencies without extras, as pyproject.toml states them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    return [str(requirement) for requirement in project["dependencies"]]


def download(platform: str, requirements: list[str]) -> tuple[int, str]:
    """Number of wheels downloaded and pip's complaint (empty when all were found)."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-qq", "--disable-pip-version-check"]
        command += ["--only-binary=:all:", "--platform", platform, "--python-version", PYTHON_VERSION]
        command += ["--constraint", str(ROOT / "constraints.txt"), "--dest", folder, *requirements]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        return len(list(Path(folder).glob("*.whl"))), done.stderr.strip() if done.returncode else ""


def main() -> int:
    """Try every platform, print, and say by the exit status whether all have what they need."""
    complete = True
    for name, (platform, only_there) in PLATFORMS.items():
        count, complaint = download(platform, [*core_requirements(), *only_there])
        complete = complete and not complaint
        print(f"{name:24} {platform:20} {complaint or f'ok, {count} wheels'}", flush=True)
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
