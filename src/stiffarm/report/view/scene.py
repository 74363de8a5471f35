"""What is shown where: the unloaded arm, the bent one, loads and compliance, for one posture.

With p the place of a thing on the unloaded arm and p' its place at the equilibrium under the loads, it is drawn at

    p + m (p' - p),      and turned by the rotation vector m log(R' R^T),

m the magnification: at m = 1 as it is, and in its straight line from there.  The surface about the tool is the image
of the unit sphere under the compliance C (3x3, m/N) of the loaded arm: where the tool goes under 1 N of any direction,
on a scale that does not change while joints move, so that postures can be compared.

Everything here is a function of the arm and of what is asked; nothing knows how it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.model.arm_model import Arm
from stiffarm.model.cartesian import cartesian_compliance
from stiffarm.model.equilibrium import Equilibrium, equilibrium
from stiffarm.model.kernel import Frames, frames, world_point
from stiffarm.model.loads import Load, State
from stiffarm.model.posture import Posture
from stiffarm.report.view.parts import carrier_body, carrier_orders
from stiffarm.robot.arm import Vector3
from stiffarm.robot.placement import Rigid, rotation_from_vector, vector_from_rotation

Floats = NDArray[np.float64]

STILL_M = 1e-12


@dataclass(frozen=True, eq=False)
class Pull:
    """A force (N) and a couple (N m) at a named point, world frame."""

    point: str
    force_world: Floats
    """(3,)"""
    torque_world: Floats
    """(3,)"""


@dataclass(frozen=True, eq=False)
class Asked:
    """One posture with its loads."""

    q: Floats
    """(joints,) controller values, rad or m."""
    pulls: tuple[Pull, ...] = ()
    weights: bool = True
    """Whether links, tool and payload weigh."""
    payload: tuple[float, Vector3] | None = None
    """kg, centre in the flange frame in m."""


@dataclass(frozen=True, eq=False)
class Arrow:
    """A force at the point it acts on, on the unloaded arm."""

    at: Floats
    """(3,) m, world."""
    force_world: Floats
    """(3,) N."""
    weight: bool


@dataclass(frozen=True, eq=False)
class Posed:
    """One posture of the arm, unloaded and at its equilibrium."""

    rest: tuple[Rigid, ...]
    """Carriers in the world."""
    bent: tuple[Rigid, ...] | None
    """The same at equilibrium; None where there is none."""
    points: dict[str, Floats]
    """Named points of the unloaded arm, (3,) m, world."""
    moved: dict[str, Floats]
    """How far each goes under the loads, (3,) m; zero where there is no equilibrium."""
    arrows: tuple[Arrow, ...]
    compliance: Floats | None
    """(3, 3) m/N of the tool point under a further force."""
    trouble: str | None
    """Why there is no equilibrium, in words."""

    @property
    def bends(self) -> bool:
        """Whether any point goes anywhere under the loads."""
        return any(np.abs(d).max() > STILL_M for d in self.moved.values())


def posed(arm: Arm, asked: Asked) -> Posed:
    """The arm in one posture: exact equilibrium under the loads, and what the tool gives way there."""
    state = state_of(arm, asked)
    at = frames(arm.chain, state.q)
    rest = _placed(arm, at)
    unloaded = _points(arm, at)
    arrows = _arrows(at, state.loads)
    try:
        found = equilibrium(arm, state)
        problem = found.problem()
    except InputError as error:
        return Posed(rest, None, unloaded, _still(unloaded), arrows, None, error.problems[0].what)
    if problem is not None:
        return Posed(rest, None, unloaded, _still(unloaded), arrows, None, problem.what)
    posture = found.posture()
    moved = {name: posture.point(point).xyz[:, 0] - unloaded[name] for name, point in arm.chain.points.items()}
    return Posed(rest, _bent(arm, posture), unloaded, moved, arrows, _compliance(arm, state, found), None)


def state_of(arm: Arm, asked: Asked) -> State:
    """Configuration and loads as the kernel takes them."""
    pulls = tuple(
        Load(arm.chain.point(pull.point, of="load point"), pull.force_world[:, None], pull.torque_world[:, None])
        for pull in asked.pulls
        if pull.force_world.any() or pull.torque_world.any()
    )
    weights = arm.weights(asked.payload) if asked.weights else ()
    return State(np.ascontiguousarray(asked.q[:, None]), (*pulls, *weights))


def magnified(rest: Rigid, bent: Rigid, magnification: float) -> Rigid:
    """A frame so many times as far from where it was."""
    turn = vector_from_rotation(bent.rotation @ rest.rotation.T)
    return Rigid(
        rotation_from_vector(magnification * turn) @ rest.rotation,
        rest.translation + magnification * (bent.translation - rest.translation),
    )


def _placed(arm: Arm, at: Frames) -> tuple[Rigid, ...]:
    bodies = [carrier_body(arm.chain, k) for k in range(len(carrier_orders(arm.chain)))]
    return tuple(Rigid(at.rotation[body][:, :, -1].T.copy(), at.origin[body][:, -1].copy()) for body in bodies)


def _bent(arm: Arm, posture: Posture) -> tuple[Rigid, ...]:
    """Carriers moved by what bends before them."""
    rest = posture.unbent.at
    out = []
    for carrier, order in enumerate(carrier_orders(arm.chain)):
        body, motion = carrier_body(arm.chain, carrier), posture.beyond(order)
        columns, origin = motion.turn(rest.rotation[body]), motion.move(rest.origin[body])
        out.append(Rigid(columns[:, :, -1].T.copy(), origin[:, -1].copy()))
    return tuple(out)


def _points(arm: Arm, at: Frames) -> dict[str, Floats]:
    return {name: world_point(at, point).xyz[:, -1].copy() for name, point in arm.chain.points.items()}


def _still(points: dict[str, Floats]) -> dict[str, Floats]:
    return {name: np.zeros(3) for name in points}


def _arrows(at: Frames, loads: tuple[Load, ...]) -> tuple[Arrow, ...]:
    return tuple(
        Arrow(world_point(at, load.point).xyz[:, -1].copy(), load.force_world[:, -1].copy(), load.origin == "weight")
        for load in loads
        if load.force_world.any()
    )


def _compliance(arm: Arm, state: State, found: Equilibrium) -> Floats:
    return np.ascontiguousarray(cartesian_compliance(found.arm, state, "tool", found=found)[:3, :3, 0])
