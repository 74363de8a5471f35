"""Files a command writes are never files it reads, and are known to be writable before the work begins.

An hour of fitting that ends in a folder which does not exist, or a prediction written over the campaign it was
asked about, are told at once and by the name of the option.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

from stiffarm.errors import InputError, Problem

OUTPUTS = ("output", "report", "truth_out", "sheet", "picture")
"""Parameters of commands that name a file to be written."""


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command, which checks what it writes against what it reads before it does anything."""

    shape = signature(command)

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        given = shape.bind(*arguments, **options).arguments
        written = {name: Path(given[name]) for name in OUTPUTS if given.get(name) is not None}
        check_outputs(written, _texts(value for name, value in given.items() if name not in OUTPUTS))
        return command(*arguments, **options)

    return run


def check_outputs(written: Mapping[str, Path], read: Iterable[str]) -> None:
    """Raise `InputError` when a file cannot be written, is read as well, or would be written twice."""
    inputs = [text for text in read if text and _is_file(text)]
    seen: dict[Path, str] = {}
    for name, path in written.items():
        option = f"--{name.replace('_', '-')}"
        if problem := _unwritable(path):
            raise InputError(Problem(problem, str(path), column=option, allowed="a file name in a folder that exists"))
        if any(path.exists() and path.samefile(one) for one in inputs):
            what = "this file is read by the command and would be overwritten"
            raise InputError(Problem(what, str(path), column=option, allowed="another name"))
        place = path.absolute().resolve()
        if place in seen:
            what = f"{seen[place]} and {option} name the same file"
            raise InputError(Problem(what, str(path), column=option, allowed="another name"))
        seen[place] = option


def _texts(values: Iterable[Any]) -> list[str]:
    """Whatever may be the name of a file among the values of a command."""
    found: list[str] = []
    for value in values:
        if isinstance(value, str | Path):
            found.append(str(value))
        elif isinstance(value, list | tuple):
            found += _texts(value)
    return found


def _is_file(text: str) -> bool:
    try:
        return os.path.isfile(text)
    except ValueError:  # a name no file system would take
        return False


def _unwritable(path: Path) -> str | None:
    """Why a file cannot be written there; None when nothing speaks against it."""
    try:
        folder = path.absolute().parent
        if path.is_dir():
            return "this is a folder"
        if not folder.is_dir():
            return "the folder of this file does not exist"
        return None if os.access(folder, os.W_OK) else "nothing may be written in the folder of this file"
    except (OSError, ValueError) as error:
        return f"no file can have this name ({getattr(error, 'strerror', None) or error})"
