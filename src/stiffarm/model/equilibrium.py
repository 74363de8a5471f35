"""Equilibria of a batch of configurations: where every elastic node stands, and whether the arm stays there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import chunks
from stiffarm.model.loads import State
from stiffarm.model.newton import (
    ACCEPTED,
    BUCKLED,
    EQUILIBRIUM,
    NO_EQUILIBRIUM,
    WANTED,
    Solved,
    bending_effects,
    solve,
)
from stiffarm.model.posture import Posture
from stiffarm.model.stages import Unbent

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SOLVED_TOGETHER = 4096
"""Configurations at a time: the largest arrays still fit the processor's cache."""

__all__ = ["ACCEPTED", "BUCKLED", "EQUILIBRIUM", "NO_EQUILIBRIUM", "REASONS", "Equilibrium", "equilibrium"]

REASONS = ("equilibrium", "no equilibrium", "buckled")
"""In words, in the order of the codes in `Equilibrium.status`."""

_SENTENCES = {
    NO_EQUILIBRIUM: "the arm finds no equilibrium under its loads",
    BUCKLED: "the arm buckles under its loads",
}


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """The arm under its loads; what is not an equilibrium says so in ``status``."""

    arm: Arm
    state: State
    theta: Mapping[int, Floats]
    """Elastic coordinates (axes, n), m and rad, by effect (its index in the model); the others are zero."""
    residual: Floats
    """(n,) |theta - f(tau(theta))| over |theta|, turns as lengths at the arm's reach."""
    iterations: Ints
    softening: Floats
    """(n,) largest eigenvalue of k T (`stiffarm.model.stability`), or a bound on it below 1; buckled from 1."""
    status: Ints
    """(n,) index into `REASONS`."""

    @property
    def reached(self) -> NDArray[np.bool_]:
        """(n,) where there is an equilibrium and the arm stays in it."""
        return np.asarray(self.status == EQUILIBRIUM)

    def reason(self, configuration: int) -> str:
        """``equilibrium``, ``no equilibrium`` or ``buckled``."""
        return REASONS[self.status[configuration]]

    def problem(self, names: Sequence[str] | None = None) -> Problem | None:
        """What to say about the first configuration without equilibrium; ``names`` are its experiments."""
        lost = np.flatnonzero(~self.reached)
        if not len(lost):
            return None
        first = int(lost[0])
        where = f"configuration {first + 1}" if names is None else f"experiment {names[first]!r}"
        return Problem(
            _SENTENCES[int(self.status[first])],
            found=where + (f" and {len(lost) - 1} more of {len(self.status)}" if len(lost) > 1 else ""),
            next_step="Check the loads, the masses and the units of the compliances",
        )

    def require(self, names: Sequence[str] | None = None) -> None:
        """Raise `InputError` unless every configuration has its equilibrium."""
        problem = self.problem(names)
        if problem is not None:
            raise InputError(problem)

    def posture(self, rows: slice = slice(None), effects: Sequence[int] = ()) -> Posture:
        """The bent arm at some configurations: places of bodies, points and axes.

        Further elastic ``effects`` may take part, at zero.
        """
        taking_part = sorted({*self.theta, *effects})
        unbent = Unbent(self.arm, self.state.part(rows), taking_part)
        theta = np.zeros((unbent.size, unbent.n))
        for effect, twist in self.theta.items():
            theta[unbent.rows[effect]] = twist[:, rows]
        return Posture(unbent, theta)


def equilibrium(
    arm: Arm, state: State, *, start: Mapping[int, Floats] | None = None, wanted: float = WANTED
) -> Equilibrium:
    """Equilibrium of every configuration of a state under its loads (forces and couples fixed in the world).

    Effects that first order linearises (compensators) take part with their true laws.  Measured joint torques,
    when the state has them, fix what their joints give way by.  ``start`` are elastic coordinates of a state near by,
    as `Equilibrium.theta`.  With a relative residual ``wanted`` that is larger than usual the answer is a step on the
    way: where it was quick nobody asked whether the arm stays there.

    >>> from stiffarm.model.arm_model import ArmModel
    >>> from stiffarm.model.loads import Load
    >>> from stiffarm.robot.arm import AxisPlacement, Joint, Placement, Robot
    >>> joint = Joint("J", "revolute", AxisPlacement(axis=(0.0, 1.0, 0.0)), compliance=1e-3)
    >>> arm = ArmModel.of(Robot("column", (joint,), flange=Placement((0.0, 0.0, 1.0)))).at()
    >>> press = Load(arm.chain.point("tool"), np.array([[0.0, 0.0], [0.0, 0.0], [-999.0, -1001.0]]))
    >>> found = equilibrium(arm, State(np.zeros((1, 2)), (press,)))
    >>> found.reason(0), found.reason(1)
    ('equilibrium', 'buckled')
    """
    arm = arm.exact
    effects = bending_effects(arm, state)
    parts = list(chunks(len(state), SOLVED_TOGETHER)) or [slice(0)]
    known = effects and start is not None and all(effect in start for effect in effects)
    near = np.concatenate([start[effect] for effect in effects]) if known and start is not None else None
    solutions = [
        solve(arm, state.part(rows), effects, None if near is None else near[:, rows], wanted) for rows in parts
    ]
    return _assembled(arm, state, effects, solutions)


def _assembled(arm: Arm, state: State, effects: Sequence[int], parts: Sequence[Solved]) -> Equilibrium:
    theta: dict[int, Floats] = {}
    start = 0
    for effect in effects:
        end = start + len(arm.model.effects[effect].axes)
        theta[effect] = np.concatenate([part.theta[start:end] for part in parts], axis=1)
        start = end
    return Equilibrium(
        arm,
        state,
        theta,
        np.concatenate([part.residual for part in parts]),
        np.concatenate([part.iterations for part in parts]),
        np.concatenate([part.softening for part in parts]),
        np.concatenate([part.status for part in parts]),
    )
