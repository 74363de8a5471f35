"""From numbers to places along one side of a drawing, and the round numbers written there."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """A number's place, linear or logarithmic."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Place of a number.

        >>> Scale(0.0, 10.0, 100.0, 200.0)(5.0), Scale(1.0, 100.0, 0.0, 10.0, log=True)(10.0)
        (150.0, 5.0)
        """
        low, high, at = self.low, self.high, value
        if self.log:
            low, high, at = math.log(low), math.log(high), math.log(max(value, low))
        return self.begin + (self.end - self.begin) * (at - low) / ((high - low) or 1.0)

    def inside(self, value: float) -> float:
        """Place of a number, or the nearer end of the side."""
        return self(min(max(value, self.low), self.high))

    def ticks(self, about: int = 5) -> list[float]:
        """Round numbers along the side.

        >>> Scale(0.0, 9.0, 0.0, 1.0).ticks()
        [0.0, 2.0, 4.0, 6.0, 8.0]
        >>> Scale(0.02, 3.0, 0.0, 1.0, log=True).ticks()
        [0.1, 1.0]
        """
        if self.log:
            return self._decades()
        step = _round_step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        return [i * step + 0.0 for i in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _decades(self) -> list[float]:
        low, high = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        found = [10.0**i for i in range(low, high + 1)]
        if len(found) >= 2:
            return found
        between = [m * 10.0**i for i in range(low - 1, high + 2) for m in (1, 2, 5)]
        return [v for v in between if self.low * (1 - 1e-9) <= v <= self.high * (1 + 1e-9)]


def _round_step(raw: float) -> float:
    if raw <= 0.0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= raw * (1 - 1e-9))


def number(value: float) -> str:
    """A tick's number.

    >>> number(0.1), number(2000.0), number(-0.0), number(1e-9)
    ('0.1', '2000', '0', '1e-09')
    """
    return f"{value + 0.0:.4g}"
