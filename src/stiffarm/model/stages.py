"""The elastic nodes of an arm in the unloaded world, ready to be moved by finite amounts.

An elastic node stands at o with unit directions d.  Its coordinates are slides s = sum theta_i d_i and a rotation
vector r = sum theta_j d_j (for a link: the six axes of its spring frame), and it moves everything beyond it by

    T = Trans(o + s) Exp(r) Trans(-o).

Motions nearer to the base act last, so what stands beyond nodes 1 .. i is carried from its unloaded to its bent
place by G_i = T_1 T_2 ... T_i.  The unloaded arm is evaluated once, here; bending it is a product of motions
(`stiffarm.model.posture`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.chain import Chain
from stiffarm.model.kernel import Frames, WorldNode, dot, frames, world_node, world_point
from stiffarm.model.loads import Load, State

Floats = NDArray[np.float64]

FINE = 64
"""Places between two orders of the chain: slides and turns of one node follow one another there."""


@dataclass(frozen=True, eq=False)
class Stage:
    """One elastic node in the unloaded world; its coordinates are rows of the deflection."""

    effect: int
    order: int
    place: int
    """Fine order of its slides; its turns follow at once."""
    origin: Floats
    """(3, n) m"""
    slide_rows: list[int]
    slides: Floats
    """(len(slide_rows), 3, n)"""
    turn_rows: list[int]
    turns: Floats
    """(len(turn_rows), 3, n)"""


@dataclass(frozen=True, eq=False)
class Motion:
    """A rigid motion of the world, one per configuration: x -> rotation x + shift."""

    rotation: Floats
    """(3 columns, 3, n)"""
    shift: Floats
    """(3, n) m"""

    def turn(self, v: Floats) -> Floats:
        """Vectors (..., 3, n) turned."""
        r = self.rotation
        return np.asarray(r[0] * v[..., 0:1, :] + r[1] * v[..., 1:2, :] + r[2] * v[..., 2:3, :])

    def turn_back(self, v: Floats) -> Floats:
        """Vectors (3, n) turned by the inverse."""
        r = self.rotation
        return np.asarray(np.stack([dot(r[0], v), dot(r[1], v), dot(r[2], v)]))

    def move(self, xyz: Floats) -> Floats:
        """Points (3, n) moved."""
        return self.turn(xyz) + self.shift


REST = Motion(np.eye(3)[:, :, None], np.zeros((3, 1)))
"""Moves nothing."""


class Unbent:
    """An arm without deflection for a chunk of configurations: what every posture starts from."""

    def __init__(self, arm: Arm, state: State, effects: Sequence[int]) -> None:
        self.arm, self.state = arm, state
        self.n = len(state)
        self.at: Frames = frames(arm.chain, state.q)
        self.rows: dict[int, slice] = {}
        self.size = 0
        for effect in effects:
            axes = len(arm.model.effects[effect].axes)
            self.rows[effect] = slice(self.size, self.size + axes)
            self.size += axes
        self.stages: tuple[Stage, ...] = self._staged(effects)
        self.loads: tuple[Load, ...] = state.loads
        for one in arm.model.effects:
            self.loads = one.loads(arm.chain, arm.values, self.loads)
        self.load_points = [world_point(self.at, load.point) for load in self.loads]

    def _staged(self, effects: Sequence[int]) -> tuple[Stage, ...]:
        found = [
            (node.order, effect, number, world_node(self.at, node))
            for effect in effects
            for number, node in enumerate(self.arm.nodes(effect))
        ]
        found.sort(key=lambda one: one[:3])
        stages: list[Stage] = []
        for order, effect, number, node in found:
            before = sum(stage.order == order for stage in stages)
            stages.append(self._stage(effect, number, node, FINE * order + 2 * before))
        return tuple(stages)

    def _stage(self, effect: int, number: int, node: WorldNode, place: int) -> Stage:
        axes = list(enumerate(self.arm.model.effects[effect].axes, self.rows[effect].start))
        own = [(row, axis) for row, axis in axes if axis.node == number]
        return Stage(
            effect,
            node.order,
            place,
            node.origin,
            [row for row, axis in own if not axis.turning],
            node.directions[[axis.row for _, axis in own if not axis.turning]],
            [row for row, axis in own if axis.turning],
            node.directions[[axis.row for _, axis in own if axis.turning]],
        )

    def give(self, torque: Floats) -> Floats:
        """Elastic coordinates (coordinates, n) that the effects take under generalised loads of that shape."""
        theta = np.zeros((self.size, self.n))
        for index, rows in self.rows.items():
            twist = self.arm.model.effects[index].twist(self.arm.values, self.state, torque[rows])
            if twist is not None:
                theta[rows] = twist
        return theta

    def tangents(self, torque: Floats) -> dict[int, Floats]:
        """Tangent compliance (axes, axes, n or 1), under those loads, of every effect that follows them."""
        found = {}
        for index, rows in self.rows.items():
            tangent = self.arm.model.effects[index].tangent(self.arm.values, self.state, torque[rows])
            if tangent is not None:
                found[index] = tangent
        return found

    def follow(self, tangents: Mapping[int, Floats], torque_change: Floats) -> Floats:
        """Changes (coordinates, p, n) of the elastic coordinates under p small changes of their loads."""
        out = np.zeros(torque_change.shape)
        for index, tangent in tangents.items():
            change = torque_change[self.rows[index]]
            if tangent.shape[2] == 1:
                flat = change.reshape(len(change), change[0].size)
                out[self.rows[index]] = np.reshape(tangent[:, :, 0] @ flat, change.shape)
            else:
                out[self.rows[index]] = np.einsum("abn,bpn->apn", tangent, change)
        return out

    @cached_property
    def lever(self) -> Floats:
        """(coordinates, 1): makes lengths of coordinates, 1 for slides and the arm's reach (m) for turns."""
        out = np.ones((self.size, 1))
        for stage in self.stages:
            out[stage.turn_rows] = reach(self.arm.chain)
        return out

    def length(self, theta: Floats) -> Floats:
        """(n,) m: the largest of the coordinates, turns seen at the arm's reach."""
        return np.asarray(np.max(np.abs(theta) * self.lever, axis=0, initial=0.0))


def reach(chain: Chain) -> float:
    """A length of the arm (m): all its fixed steps and the tool, end to end."""
    steps = [*(fixed.translation for fixed in chain.fixed), chain.tool.translation]
    return float(sum(np.linalg.norm(step) for step in steps)) or 1.0
