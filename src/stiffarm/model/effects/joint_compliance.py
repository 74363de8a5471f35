"""Elastic joints: a joint gives way by compliance * torque (rad per N m, m per N) in the controller's sense.

Grouped compliances stand for a joint whose stiffness changes with its own angle (a gravity compensator does
that): one number per distinct angle, `J.compliance[1]`, `[2]` ... by rising value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain, Node
from stiffarm.model.effects.effect import AxisOf, Entry, Plain
from stiffarm.model.loads import State
from stiffarm.model.parameters import Parameter, Values
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class JointCompliance(Plain):
    """One joint's compliance, a constant or one number per group of its angles."""

    robot: Robot
    joint: str
    groups: tuple[float, ...] = ()
    """Rising joint values (rad or m) of the groups; a configuration belongs to the nearest."""

    @cached_property
    def _index(self) -> int:
        return self.robot.joint_index(self.joint)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """``J.compliance``, or one per group."""
        return self.compliances

    @cached_property
    def compliances(self) -> tuple[Parameter, ...]:
        """The same, without what stands beside the drive."""
        joint = self.robot.joints[self._index]
        unit = "m/N" if joint.kind == "prismatic" else "rad/(N*m)"
        scale = 1e-8 if joint.kind == "prismatic" else 1e-6
        marks = [f"[{i + 1}]" for i in range(len(self.groups))] or [""]
        name, nominal = f"{self.joint}.compliance", joint.compliance or 0.0
        return tuple(Parameter(f"{name}{mark}", unit, nominal, scale=scale, elastic=True) for mark in marks)

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """The joint's own axis."""
        return (AxisOf(0, 0, self.robot.joints[self._index].kind == "revolute"),)

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """The joint's own axis."""
        return (chain.joint_node(self._index),)

    def _torque(self, state: State, torque: Floats) -> Floats:
        """Measured torque of the joint when there is one, else what the loads make it feel: (n,)."""
        felt = torque[0] if state.joint_torque is None else state.joint_torque[self._index]
        return np.broadcast_to(felt, (len(state),))

    def _members(self, state: State) -> list[Floats]:
        if not self.groups:
            return [np.ones(len(state))]
        nearest = np.argmin(np.abs(state.q[self._index][None, :] - np.array(self.groups)[:, None]), axis=0)
        return [(nearest == i).astype(float) for i in range(len(self.groups))]

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """Each compliance moves the axis by the torque of its own configurations."""
        felt = self._torque(state, torque)
        if not self.groups:
            return (Entry(0, 0, felt),)
        return tuple(Entry(0, i, member * felt) for i, member in enumerate(self._members(state)))

    def compliance(self, values: Values, state: State) -> Floats:
        """Compliance at each configuration, (n,)."""
        numbers = [values[p.name] for p in self.compliances]
        return np.asarray(sum(c * member for c, member in zip(numbers, self._members(state), strict=True)))

    def twist(self, values: Values, state: State, torque: Floats) -> Floats | None:
        """compliance * torque."""
        if not any(values[p.name] for p in self.compliances):
            return None
        return (self.compliance(values, state) * self._torque(state, torque))[None, :]

    def tangent(self, values: Values, state: State, torque: Floats | None = None) -> Floats | None:
        """The compliance; none when the torque is measured and so follows no load."""
        if state.joint_torque is not None:
            return None
        return self.compliance(values, state)[None, None, :]
