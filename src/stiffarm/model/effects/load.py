"""Loads that are not exactly known: gain and direction common to all external wrenches, a payload's mass and centre.

    external wrench = load.gain * Exp(r) stated wrench,      r = (load.rx, load.ry, load.rz) in the world
    payload: weight payload.mass * g at (payload.x, payload.y, payload.z) of the flange frame

The derivative of the loads by each of these is itself a load: the turned wrench; for a turn about e, since
d Exp(r) = [J_l(r) e] x Exp(r), the couple and force (J_l e) x wrench (of a turn about the force itself nothing is
left of the force); g at the centre; and, since moving a force F by a flange axis e only changes its moment, e x F.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain
from stiffarm.model.effects.effect import LoadEntry, Plain
from stiffarm.model.kernel import cross
from stiffarm.model.loads import Load, payload_point
from stiffarm.model.parameters import Parameter, Values
from stiffarm.model.rotations import left_jacobian, rotate
from stiffarm.robot.arm import Robot, Vector3

Floats = NDArray[np.float64]
TURN = ("load.rx", "load.ry", "load.rz")


@dataclass(frozen=True)
class LoadGain(Plain):
    """``load.gain`` (1 when the load is known) and ``load.rx`` .. ``.rz``: what scales and turns external wrenches."""

    robot: Robot

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The gain, then the turn (rad, world axes)."""
        turn = tuple(Parameter(name, "rad", scale=1e-2) for name in TURN)
        return (Parameter("load.gain", "1", 1.0, scale=1e-2), *turn)

    def loads(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> tuple[Load, ...]:
        """External wrenches turned, times the gain."""
        gain, turn = values.get("load.gain", 1.0), _turn(values)
        if gain == 1.0 and not turn.any():
            return loads
        return tuple(
            _mapped(load, lambda v: gain * rotate(turn, v)) if load.origin == "external" else load for load in loads
        )

    def load_entries(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> Sequence[LoadEntry]:
        """The turned external wrenches, and what they change by when they are turned further."""
        gain, turn = values.get("load.gain", 1.0), _turn(values)
        turned = tuple(_mapped(load, lambda v: rotate(turn, v)) for load in loads if load.origin == "external")
        entries = [LoadEntry(0, turned)]
        for i, axis in enumerate(np.eye(3)):
            about = gain * left_jacobian(turn, axis[:, None])
            entries.append(LoadEntry(i + 1, tuple(_mapped(load, partial(cross, about)) for load in turned)))
        return entries


def _turn(values: Values) -> Floats:
    """(3, 1) rad."""
    return np.array([values.get(name, 0.0) for name in TURN])[:, None]


def _mapped(load: Load, linear: Callable[[Floats], Floats]) -> Load:
    """The load with its vectors (3, n) taken through a linear map."""
    torque = load.torque_world
    return replace(load, force_world=linear(load.force_world), torque_world=None if torque is None else linear(torque))


@dataclass(frozen=True)
class PayloadMass(Plain):
    """``payload.mass`` and ``payload.x`` .. ``.z``: an unknown mass bolted to the flange.

    It counts where weights count: for positions, poses and touches, not for deflections.
    """

    robot: Robot

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Mass (kg) and centre (m, flange frame)."""
        centre = tuple(Parameter(f"payload.{axis}", "m", scale=1e-2) for axis in "xyz")
        return (Parameter("payload.mass", "kg", scale=1.0), *centre)

    def _centre(self, values: Values) -> Vector3:
        return (values.get("payload.x", 0.0), values.get("payload.y", 0.0), values.get("payload.z", 0.0))

    def loads(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> tuple[Load, ...]:
        """Adds the payload's weight."""
        mass = values.get("payload.mass", 0.0)
        if mass == 0.0 or not weights_count(loads):
            return loads
        force = mass * np.array(self.robot.gravity)[:, None]
        return (*loads, Load(payload_point(self.robot, chain, self._centre(values)), force, origin="weight"))

    def load_entries(self, chain: Chain, values: Values, loads: tuple[Load, ...]) -> Sequence[LoadEntry]:
        """g at the centre; for the centre's coordinates, the difference of two opposite weights 1 m apart."""
        if not weights_count(loads):
            return ()
        centre = np.array(self._centre(values))
        gravity = np.array(self.robot.gravity)[:, None]
        mass = values.get("payload.mass", 0.0)
        here = Load(payload_point(self.robot, chain, tuple(centre)), gravity, origin="weight")
        entries = [LoadEntry(0, (here,))]
        for i in range(3):
            moved = payload_point(self.robot, chain, tuple(centre + np.eye(3)[i]))
            pair = (
                Load(moved, mass * gravity, origin="weight"),
                Load(here.point, -mass * gravity, origin="weight"),
            )
            entries.append(LoadEntry(i + 1, pair))
        return entries


def weights_count(loads: tuple[Load, ...]) -> bool:
    """Whether the state is one in which weights bend the arm (it then carries at least one, perhaps zero)."""
    return any(load.origin == "weight" for load in loads)
