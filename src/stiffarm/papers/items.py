"""One printed figure of a paper beside ours, and what is to be thought of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["reproduced", "not reproducible", "wrong"]
"""``reproduced``: ours is the printed figure; ``not reproducible``: inputs it needs are unpublished;
``wrong``: it contradicts its own inputs."""


@dataclass(frozen=True)
class PaperItem:
    """A figure, published and ours."""

    paper: str
    item: str
    published: float | str | None
    """As printed; text where it is not one number; None where the paper prints none."""
    ours: float | str | None
    unit: str
    verdict: Verdict
    why: str
    """Reason of the verdict, with the conditions under which it holds, in one sentence."""


def verdict_of(published: float, ours: float, tolerance: float) -> Verdict:
    """``reproduced`` within a relative tolerance (rounding of the print), else ``wrong``.

    >>> verdict_of(0.144, 0.137, 0.01), verdict_of(4.5, 4.56, 0.02)
    ('wrong', 'reproduced')
    """
    return "reproduced" if abs(ours - published) <= tolerance * abs(published) else "wrong"
