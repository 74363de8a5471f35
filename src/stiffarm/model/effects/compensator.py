"""A joint whose drive shares its load with a gravity compensator.

Drive (compliance k) and compensator (energy U of the joint's angle, `stiffarm.model.compensator_law`) are in parallel
between the same two links, so a load torque tau turns the joint by theta against both,

    theta / k = tau - U'(q + theta),          to first order   theta = k T,   T = (tau - U'(q)) / (1 + k K_c(q)),

K_c = U'' and T what the drive carries.  With theta so linear in the load, its derivatives by the load, by the
compliance and by a number v of the compensator are

    k / (1 + k K_c),          T / (1 + k K_c),          -k (dU'/dv + theta dK_c/dv) / (1 + k K_c).

`CompensatedJoint.exact` solves the first equation as it stands; then U' and K_c are those at q + theta and the last
derivative has no second term.

The compensator's own torque bends the joint wherever weights do: in positions, poses and touches.  In a deflection,
loaded minus unloaded, it is in both readings and only its stiffness remains: U' and dU'/dv are left out above.

Compliances grouped by the joint's angle are those of both together, 1/k_2j = 1/k + K_c(q_2j): the serial model, in
which K_c is left out above.  A measured joint torque is what the drive carries already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.model.compensator_law import CompensatorLaw
from stiffarm.model.effects.effect import Entry
from stiffarm.model.effects.joint_compliance import JointCompliance
from stiffarm.model.effects.load import weights_count
from stiffarm.model.loads import State
from stiffarm.model.parameters import Parameter, Values
from stiffarm.robot.arm import Compensator, Spring

Floats = NDArray[np.float64]

UNITS_OF = {"stiffness": "N/m", "s0": "m", "sv": "m", "area": "m^2", "p_ref": "Pa", "V_ref": "m^3", "exponent": "1"}
STEPS = 20
"""More steps than Newton's method needs for a joint that stays where it is."""
ROUNDING = 1e-15
"""rad"""
LEAST_SHARE = 1e-3
"""A drive of which the compensator leaves less than this share of stiffness does not hold its joint."""


@dataclass(frozen=True)
class CompensatedJoint(JointCompliance):
    """One joint's compliance with a compensator beside it."""

    compensator: Compensator = field(kw_only=True)
    solved: bool = field(default=False, kw_only=True)
    """Whether the balance is solved; else it is that of the tangents at the commanded angle."""

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """``J.compliance`` (or one per group), then ``J.compensator.stiffness``, ``.s0`` ..."""
        return (*self.compliances, *compensator_parameters(self.compensator))

    @cached_property
    def _own(self) -> tuple[str, ...]:
        return tuple(p.name for p in compensator_parameters(self.compensator))

    def law(self, values: Values) -> CompensatorLaw:
        """The compensator at some values of its parameters."""
        return CompensatorLaw.of(self.compensator, {n.rsplit(".", 1)[1]: values[n] for n in self._own if n in values})

    def exact(self) -> CompensatedJoint:
        """The joint at the angle where the torques balance, not where their tangents do."""
        return self if self.solved else replace(self, solved=True)

    def twist(self, values: Values, state: State, torque: Floats) -> Floats | None:
        """The angle at which drive and compensator carry the load together."""
        if state.joint_torque is not None:
            return super().twist(values, state, torque)
        return self._balance(values, state, torque).theta[None, :]

    def tangent(self, values: Values, state: State, torque: Floats | None = None) -> Floats | None:
        """k / (1 + k K_c)."""
        if state.joint_torque is not None:
            return None
        at = self._balance(values, state, np.zeros((1, len(state))) if torque is None else torque)
        return (self.compliance(values, state) / at.share)[None, None, :]

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """By the compliances of the drive, then by the compensator's numbers."""
        if state.joint_torque is not None:
            return super().entries(values, state, torque)
        at, k = self._balance(values, state, torque), self.compliance(values, state)
        mine = [Entry(0, i, member * at.carried / at.share) for i, member in enumerate(self._members(state))]
        by_torque, by_stiffness = self.law(values).by_parameter(at.q)
        change = np.zeros_like(by_torque)
        if weights_count(state.loads):
            change += by_torque
        if not (self.groups or at.solved):
            change += by_stiffness * at.theta
        return [*mine, *(Entry(0, len(mine) + i, -k * row / at.share) for i, row in enumerate(change))]

    def _balance(self, values: Values, state: State, torque: Floats) -> _Balance:
        q, k = state.q[self._index], self.compliance(values, state)
        law, felt = self.law(values), np.broadcast_to(torque[0], (len(state),))
        own, stiffness, _ = law.torque(q)
        if not weights_count(state.loads):
            own = np.zeros_like(q)
        share = np.ones_like(q) if self.groups else self._share(k, stiffness, q)
        carried = (felt - own) / share
        first = _Balance(q, k * carried, carried, share)
        if self.solved and weights_count(state.loads) and not self.groups:
            return self._solved(law, k, felt, first)
        return first

    def _solved(self, law: CompensatorLaw, k: Floats, felt: Floats, first: _Balance) -> _Balance:
        """Newton's method from the first-order angle."""
        q, theta = first.q, first.theta
        for _ in range(STEPS):
            own, stiffness, _ = law.torque(q + theta)
            share = self._share(k, stiffness, q + theta)
            step = (k * (felt - own) - theta) / share
            theta = theta + step
            if np.abs(step).max(initial=0.0) <= ROUNDING:
                break
        own, stiffness, _ = law.torque(q + theta)
        return _Balance(q + theta, theta, felt - own, self._share(k, stiffness, q + theta), solved=True)

    def _share(self, k: Floats, stiffness: Floats, q: Floats) -> Floats:
        """1 + k K_c; `InputError` where the compensator pushes the joint away more than its drive holds it."""
        share = 1.0 + k * stiffness
        worst = int(np.argmin(share)) if len(share) else 0
        if len(share) and share[worst] < LEAST_SHARE:
            raise InputError(
                Problem(
                    f"the compensator of {self.joint} pushes it away more than its drive holds it",
                    found=f"{stiffness[worst]:.3g} N m/rad beside {1.0 / k[worst]:.3g} at {q[worst]:.4g} rad",
                    allowed="a sum above 0",
                    next_step="Check the compensator's numbers and the compliance, or give them a prior",
                )
            )
        return share


@dataclass(frozen=True, eq=False)
class _Balance:
    """Drive and compensator under a load, each (n,)."""

    q: Floats
    """rad, where the compensator's law is taken."""
    theta: Floats
    """rad"""
    carried: Floats
    """N m, theta / k: what the drive carries."""
    share: Floats
    """1 + k K_c."""
    solved: bool = False


def compensator_parameters(compensator: Compensator) -> tuple[Parameter, ...]:
    """``J.compensator.*`` with the values of the robot file."""
    element = compensator.element
    if isinstance(element, Spring):
        known = {"stiffness": element.stiffness, "s0": element.s0}
    else:
        numbers = {"s0": element.s0, "sv": element.sv, "p_ref": element.p_ref, "V_ref": element.V_ref}
        known = {name: value for name, value in numbers.items() if value is not None}
        known |= {"area": element.area, "exponent": element.exponent}
    return tuple(
        Parameter(
            f"{compensator.joint}.compensator.{name}",
            UNITS_OF[name],
            value,
            scale=1e-2 if UNITS_OF[name] == "m" else 0.1 * value,
            elastic=True,
        )
        for name, value in known.items()
    )
