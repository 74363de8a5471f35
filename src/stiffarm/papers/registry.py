"""The published cases by name, each a function that computes its items when asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.papers.items import PaperItem

if TYPE_CHECKING:
    from stiffarm.report.parts import Figure


@dataclass(frozen=True)
class Paper:
    """A paper whose figures are computed afresh."""

    name: str
    title: str
    module: str
    """Where its function ``items`` stands; imported when asked for."""

    def items(self) -> tuple[PaperItem, ...]:
        """Its figures beside ours, computed once in a process."""
        return _items(self.module)

    def figures(self) -> tuple[Figure, ...]:
        """Its plots drawn anew from our numbers."""
        draw: Callable[[], tuple[Figure, ...]] = import_module(f"stiffarm.papers.figures_{self.name}").figures
        return draw()


@cache
def _items(module: str) -> tuple[PaperItem, ...]:
    compute: Callable[[], tuple[PaperItem, ...]] = import_module(module).items
    return compute()


PAPERS = (
    Paper(
        "000",
        "Practical identifiability of links (Klimchik, Caro, Pashkevich 2013)",
        "stiffarm.papers.paper_000",
    ),
    Paper(
        "001",
        "Measurement poses on a rail (Guerin, Caro, Garnier, Girin 2014)",
        "stiffarm.papers.paper_001",
    ),
    Paper(
        "002",
        "Pneumatic gravity compensator (Klimchik, Pashkevich, Caro, Furet 2017)",
        "stiffarm.papers.paper_002",
    ),
    Paper(
        "003",
        "Robust weighting in calibration (Klimchik, Wu, Abba, Garnier et al. 2013)",
        "stiffarm.papers.paper_003",
    ),
    Paper(
        "004",
        "Calibration without a tracker (Yukhimets, Gubankov 2020)",
        "stiffarm.papers.paper_004",
    ),
)


def papers_named(names: Iterable[str]) -> tuple[Paper, ...]:
    """Papers by name, all of them when none is named; `InputError` for a name nobody knows."""
    known = {paper.name: paper for paper in PAPERS}
    wanted = tuple(names) or tuple(known)
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, list(known))
            allowed = ", ".join(known)
            step = hint and hint[0].upper() + hint[1:]
            raise InputError(Problem("there is no such paper", found=found_text(name), allowed=allowed, next_step=step))
    return tuple(known[name] for name in wanted)
