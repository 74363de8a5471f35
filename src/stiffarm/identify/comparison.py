"""`stiffarm compare`: which parameters differ between two models by more than their noise.

For independent campaigns the difference of two estimates has variance s1^2 + s2^2.  With many parameters some
differ by chance: p-values are corrected by Holm's step-down rule, so that with nothing changed at all a report of
any change comes with the stated probability only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stiffarm.identify.estimate import Estimate


@dataclass(frozen=True)
class Change:
    """One parameter in two models (SI)."""

    name: str
    difference: float
    """Second minus first."""
    std: float
    p: float
    """Two-sided, corrected for the number of parameters compared."""


@dataclass(frozen=True)
class Comparison:
    """Two models side by side."""

    changed: tuple[Change, ...]
    """Corrected p below the significance, strongest first."""
    compared: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]


def compare(first: Estimate, second: Estimate, *, significance: float = 0.05) -> Comparison:
    """Parameters that changed beyond noise from the first model to the second."""
    from scipy.special import ndtr

    a = {p.name: p for p in first.parameters if p.std is not None and p.value is not None}
    b = {p.name: p for p in second.parameters if p.std is not None and p.value is not None}
    both = [name for name in a if name in b]
    rows = []
    for name in both:
        one, two = a[name], b[name]
        assert one.value is not None
        assert two.value is not None
        std = float(np.hypot(one.std or 0.0, two.std or 0.0))
        difference = two.value - one.value
        p = float(2.0 * ndtr(-abs(difference) / std)) if std > 0 else float(difference == 0.0)
        rows.append(Change(name, difference, std, p))
    changed = [c for c in _holm(rows) if c.p < significance]
    return Comparison(
        tuple(changed),
        len(both),
        tuple(name for name in a if name not in b),
        tuple(name for name in b if name not in a),
    )


def _holm(changes: Sequence[Change]) -> list[Change]:
    ordered = sorted(changes, key=lambda c: c.p)
    corrected, largest = [], 0.0
    for i, c in enumerate(ordered):
        largest = max(largest, min(1.0, c.p * (len(ordered) - i)))
        corrected.append(Change(c.name, c.difference, c.std, largest))
    return corrected
