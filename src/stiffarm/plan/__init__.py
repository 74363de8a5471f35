"""Which experiments to do next: criteria, candidates, exchange, and the bound they are held against.

`stiffarm.plan` is this room and the function of the same name (`stiffarm.plan.api`): importing any module of the
room puts the room itself in the place of that name, so the room can be called.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A module that is called like the function it is named after."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from stiffarm.plan.api import plan

        return plan(*arguments, **options)


sys.modules[__name__].__class__ = _Room
