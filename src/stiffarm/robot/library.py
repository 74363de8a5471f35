"""Where robots are found: files the user names, and the packaged ones."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.robot.toml_source import MAX_BYTES

SUFFIX = ".robot.toml"


@dataclass(frozen=True)
class FoundFile:
    """A robot file's bytes and where they came from."""

    file: str
    """As the user should read it in a message."""
    content: bytes
    folder: Path | None
    """What a path inside the file is relative to; None for a packaged robot."""


def packaged_robots() -> tuple[str, ...]:
    """Names of the robots that come with stiffarm, sorted."""
    names = (entry.name for entry in _library().iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


def _library() -> Traversable:
    return files("stiffarm.robot").joinpath("library")


def is_path(path_or_name: str | Path) -> bool:
    """Whether a robot is meant as a file: it is there, or is written as one."""
    path = Path(path_or_name)
    return isinstance(path_or_name, Path) or path.suffix in (".toml", ".urdf") or len(path.parts) > 1 or _exists(path)


def _exists(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name no file system would take
        return False


def find_robot_file(path_or_name: str | Path) -> FoundFile:
    """The bytes of a robot file, named by path or by packaged name; `InputError` when there is none."""
    if is_path(path_or_name):
        path = Path(path_or_name)
        return FoundFile(str(path), _bytes_of(path), path.parent)
    name = str(path_or_name)
    if name in packaged_robots():
        entry = _library().joinpath(name + SUFFIX)
        return FoundFile(f"{name}{SUFFIX} (packaged)", entry.read_bytes(), None)
    raise InputError(_no_such_robot(name))


def _no_such_robot(name: str) -> Problem:
    known = packaged_robots()
    hint = did_you_mean(name.lower(), known)
    return Problem(
        "there is no such robot",
        found=found_text(name),
        allowed=f"a file NAME{SUFFIX}, a URDF, or one of: {', '.join(known)}",
        next_step=hint[0].upper() + hint[1:] if hint else "List the packaged ones with: stiffarm robot list",
    )


def _bytes_of(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = Problem(
            "the robot file cannot be read",
            file=str(path),
            found=reason.lower(),
            allowed=f"a file NAME{SUFFIX} or a URDF",
            next_step="Check the path; packaged robots are named without one (stiffarm robot list)",
        )
        raise InputError(problem) from None
