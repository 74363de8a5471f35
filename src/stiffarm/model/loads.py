"""What pulls on an arm, and what each virtual joint feels of it.

A virtual joint (direction w through o) feels the loads of the points it moves only: with forces F at
points h and moments M of higher order than its own,

    F_o = sum F,   X_o = sum (h - o) F^T,   M_o = sum M,   N_o = sum (h - o) x F + M

sliding load = w . F_o, turning load = w . N_o.  N_o is the axial part of X_o plus M_o; X_o as a whole is
what geometric stiffness needs (`stiffarm.model.coupling`).  Sums over the loads beyond a node are suffix sums
of the loads in order of the chain, taken once about the world's origin and shifted to o.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import Chain, Point, body_order, flange_order
from stiffarm.model.kernel import Frames, WorldNode, WorldPoint, dot, world_point
from stiffarm.robot.arm import Robot, Vector3
from stiffarm.robot.placement import flange_transform

Floats = NDArray[np.float64]
Origin = Literal["external", "weight"]


@dataclass(frozen=True, eq=False)
class Load:
    """A force (3, n) in N and a moment (3, n) in N m at a point of the arm, world frame; n may be 1."""

    point: Point
    force_world: Floats
    torque_world: Floats | None = None
    origin: Origin = "external"

    @property
    def pulls(self) -> bool:
        """Whether it is anything but zero."""
        return bool(self.force_world.any() or (self.torque_world is not None and self.torque_world.any()))

    def part(self, rows: slice) -> Load:
        """The same load for some of the configurations."""
        torque = self.torque_world
        return replace(
            self,
            force_world=_part(self.force_world, rows),
            torque_world=None if torque is None else _part(torque, rows),
        )


def _part(array: Floats, rows: slice) -> Floats:
    return array if array.shape[-1] == 1 else np.ascontiguousarray(array[..., rows])


@dataclass(frozen=True, eq=False)
class State:
    """What is known of the arm at each configuration of a batch."""

    q: Floats
    """(joints, n) controller values, rad or m."""
    loads: tuple[Load, ...] = ()
    joint_torque: Floats | None = None
    """(joints, n) measured torques that replace the loads for the joints, controller sense, N m or N."""
    approach: Floats | None = None
    """(joints, n) side from which each joint came, +1 or -1."""

    def __len__(self) -> int:
        return int(self.q.shape[1])

    def part(self, rows: slice) -> State:
        """Some of the configurations."""
        return State(
            np.ascontiguousarray(self.q[:, rows]),
            tuple(load.part(rows) for load in self.loads),
            None if self.joint_torque is None else self.joint_torque[:, rows],
            None if self.approach is None else self.approach[:, rows],
        )


@dataclass(frozen=True, eq=False)
class Felt:
    """Resultant of the loads beyond a node, about its origin (components first, batch last)."""

    force: Floats
    """(3, n)"""
    virial: Floats
    """(3, 3, n): sum of (h - o) F^T."""
    couple: Floats
    """(3, n): sum of the moments M alone."""

    @cached_property
    def moment(self) -> Floats:
        """(3, n): sum of (h - o) x F + M."""
        x = self.virial
        axial = np.stack([x[1, 2] - x[2, 1], x[2, 0] - x[0, 2], x[0, 1] - x[1, 0]])
        return np.asarray(axial + self.couple)


def felt_loads(at: Frames, loads: Sequence[Load], nodes: Sequence[WorldNode]) -> tuple[Felt, ...]:
    """What each node feels of the loads on the points it moves."""
    return felt_at([world_point(at, load.point) for load in loads], loads, nodes)


def felt_at(points: Sequence[WorldPoint], loads: Sequence[Load], nodes: Sequence[WorldNode]) -> tuple[Felt, ...]:
    """The same with the points of the loads already in the world (of a bent arm, say)."""
    placed = sorted(zip(points, loads, strict=True), key=lambda pair: pair[0].order, reverse=True)
    zero = Felt(np.zeros((3, 1)), np.zeros((3, 3, 1)), np.zeros((3, 1)))
    sums: list[tuple[int, Felt]] = []
    total = zero
    for where, load in placed:
        couple = total.couple if load.torque_world is None else total.couple + load.torque_world
        virial = total.virial + where.xyz[:, None, :] * load.force_world[None, :, :]
        total = Felt(total.force + load.force_world, virial, couple)
        sums.append((where.order, total))
    return tuple(_shifted(_beyond(sums, node.order, zero), node.origin) for node in nodes)


def _beyond(sums: Sequence[tuple[int, Felt]], order: int, zero: Felt) -> Felt:
    reached = zero
    for point_order, total in sums:
        if point_order <= order:
            break
        reached = total
    return reached


def _shifted(about_world: Felt, origin: Floats) -> Felt:
    virial = about_world.virial - origin[:, None, :] * about_world.force[None, :, :]
    return Felt(about_world.force, virial, about_world.couple)


def sliding_load(directions: Floats, felt: Felt) -> Floats:
    """Generalised forces (d, n), N, along directions (d, 3, n)."""
    return dot(directions, felt.force)


def turning_load(directions: Floats, felt: Felt) -> Floats:
    """Generalised torques (d, n), N m, about directions (d, 3, n)."""
    return dot(directions, felt.moment)


def weights(robot: Robot, chain: Chain) -> tuple[Load, ...]:
    """Weights of links and tool at their centres of mass, N, world frame.

    The tool's is there even when it weighs nothing: its presence says that weights count.
    """
    gravity = np.array(robot.gravity)[:, None]
    links = tuple(
        Load(
            Point(k + 1, chain.align[k + 1].T @ np.array(joint.com), body_order(k + 1)),
            joint.mass * gravity,
            origin="weight",
        )
        for k, joint in enumerate(robot.joints)
        if joint.mass > 0.0
    )
    return (*links, payload_weight(robot, chain, robot.tool.mass, robot.tool.com))


def payload_point(robot: Robot, chain: Chain, com: Vector3) -> Point:
    """A point given in the flange frame (m)."""
    n = chain.n_joints
    last = chain.align[-1].T
    flange = flange_transform(robot)
    return Point(n, last @ flange.apply(com), flange_order(n))


def payload_weight(robot: Robot, chain: Chain, mass_kg: float, com: Vector3) -> Load:
    """Weight of a mass bolted to the flange, its centre in the flange frame (m)."""
    force = mass_kg * np.array(robot.gravity)[:, None]
    return Load(payload_point(robot, chain, com), force, origin="weight")
