"""Coordinates of a marker in the frame of the file (flange, or the link it sits on).

A coordinate slides this one marker along that axis and moves nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain, Corrections, Node, marker_frame
from stiffarm.model.effects.effect import AxisOf, Entry, Plain
from stiffarm.model.loads import State
from stiffarm.model.parameters import Parameter, Values
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MarkerOffset(Plain):
    """``tool.P1.x``, ``.y``, ``.z`` of marker P1 (m)."""

    robot: Robot
    marker: str

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Three coordinates; the file's are nominal."""
        nominal = next(p.xyz for p in self.robot.tool.markers if p.name == self.marker)
        return tuple(
            Parameter(f"tool.{self.marker}.{axis}", "m", value, scale=1e-3)
            for axis, value in zip("xyz", nominal, strict=True)
        )

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """Three slides."""
        return tuple(AxisOf(0, i, False) for i in range(3))

    def corrections(self, values: Values) -> Corrections:
        """The marker's place."""
        names = [p.name for p in self.parameters]
        if not any(name in values for name in names):
            return Corrections()
        place = np.array([values.get(p.name, p.nominal) for p in self.parameters])
        return Corrections(marker={self.marker: place})

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """The axes of the frame in which the marker is given."""
        return (self._node,)

    @cached_property
    def _node(self) -> Node:
        body, frame, order = marker_frame(self.robot, self.marker)
        return Node(body, frame.translation, np.ascontiguousarray(frame.rotation.T), order - 1)

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """Each coordinate moves this marker only."""
        return self._entries

    @cached_property
    def _entries(self) -> tuple[Entry, ...]:
        return tuple(Entry(i, i, only_point=self.marker) for i in range(3))
