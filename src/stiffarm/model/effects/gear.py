"""Errors of a joint's drive: the joint turns by something else than what the controller believes.

    value = q + offset + gain q + s sin q + c cos q + sum over other joints coupling q_other

in controller sense (rad, or m for a slide).  All act about or along the joint's own axis, so each column is
the joint's column times 1, q, sin q, cos q (gear eccentricity) or another joint's q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain, Corrections, Node
from stiffarm.model.effects.effect import AxisOf, Entry, Plain
from stiffarm.model.loads import State
from stiffarm.model.parameters import Parameter, Values
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gear(Plain):
    """Offset, gain, eccentricity and couplings of one joint's drive."""

    robot: Robot
    joint: str

    @cached_property
    def _prismatic(self) -> bool:
        return self.robot.joints[self.robot.joint_index(self.joint)].kind == "prismatic"

    @cached_property
    def _others(self) -> tuple[str, ...]:
        return tuple(name for name in self.robot.joint_names if name != self.joint)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Offset, gain, sin, cos, then couplings to every other joint."""
        unit = "m" if self._prismatic else "rad"
        own = [
            Parameter(f"{self.joint}.offset", unit, scale=1e-3),
            Parameter(f"{self.joint}.gain", "1", scale=1e-3),
            Parameter(f"{self.joint}.sin", unit, scale=1e-3),
            Parameter(f"{self.joint}.cos", unit, scale=1e-3),
        ]
        return (*own, *(Parameter(f"{self.joint}.coupling[{other}]", "1", scale=1e-3) for other in self._others))

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """The joint's own axis."""
        return (AxisOf(0, 0, not self._prismatic),)

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """The joint's own axis."""
        return (chain.joint_node(self.robot.joint_index(self.joint)),)

    def corrections(self, values: Values) -> Corrections:
        """The corrected joint map."""
        names = {other: p.name for other, p in zip(self._others, self.parameters[4:], strict=True)}
        return Corrections(
            offset=self._given(values, "offset"),
            gain=self._given(values, "gain"),
            sine=self._given(values, "sin"),
            cosine=self._given(values, "cos"),
            coupling={(self.joint, other): values[name] for other, name in names.items() if values.get(name)},
        )

    def _given(self, values: Values, name: str) -> dict[str, float]:
        number = values.get(f"{self.joint}.{name}")
        return {self.joint: number} if number else {}

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """Factors 1, q, sin q, cos q and the other joints' q."""
        k = self.robot.joint_index(self.joint)
        q = state.q[k]
        others = [self.robot.joint_index(name) for name in self._others]
        factors: list[float | Floats] = [1.0, q, np.sin(q), np.cos(q), *(state.q[i] for i in others)]
        return tuple(Entry(0, i, factor) for i, factor in enumerate(factors))
