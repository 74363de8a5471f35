"""Rooms that can be called.

Some rooms have the name of a function of the package's face: `stiffarm.identify` is both.  Importing any module of such
a room puts the room itself in the place of that name, so the room is called like the function it is named after.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A module that is called like the function of its own name, which stands in its module ``api``."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        function = getattr(import_module(f"{self.__name__}.api"), self.__name__.rpartition(".")[2])
        return function(*arguments, **options)


def make_callable(room: str) -> None:
    """Let a room be called; ``room`` is its ``__name__``."""
    sys.modules[room].__class__ = _Room
