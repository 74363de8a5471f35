"""One chunk of configurations: frames, loads felt, elastic twists and what they do to the observed point.

Each is worked out once, when it is first asked for.  An arm on which nothing pulls is not asked what it feels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.coupling import AxisTable
from stiffarm.model.effects import AxisOf, Effect
from stiffarm.model.kernel import (
    Frames,
    WorldNode,
    WorldPoint,
    frames,
    turning_columns,
    world_node,
    world_point,
    world_vectors,
)
from stiffarm.model.loads import Felt, Load, State, felt_loads, sliding_load, turning_load
from stiffarm.model.rotations import rotate

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prediction:
    """Position and orientation at a point, world frame."""

    position: Floats
    """(3, n) m, under load."""
    deflection: Floats
    """(3, n) m, the elastic part of it."""
    rotation: Floats
    """(3 columns, 3, n) of the tool, under load."""
    deflection_rotation: Floats
    """(3, n) rad, the elastic part as a rotation vector in the world."""


class Chunk:
    """Everything evaluated for one chunk of configurations."""

    def __init__(self, arm: Arm, state: State, point: str) -> None:
        self.arm, self.state, self.point_name = arm, state, point
        self.n = len(state)
        self.effects: tuple[Effect, ...] = arm.model.effects
        self.at: Frames = frames(arm.chain, state.q)
        self.point: WorldPoint = world_point(self.at, arm.chain.point(point))
        self.tool_order = arm.chain.points["tool"].order
        self.loads: tuple[Load, ...] = state.loads
        for effect in self.effects:
            self.loads = effect.loads(arm.chain, arm.values, self.loads)
        self.loaded = bool(self.loads) or state.joint_torque is not None
        self._nodes: dict[int, tuple[WorldNode, ...]] = {}
        self._turned: dict[tuple[int, int], Floats] = {}

    def nodes(self, index: int) -> tuple[WorldNode, ...]:
        """World nodes of one effect."""
        if index not in self._nodes:
            self._nodes[index] = tuple(world_node(self.at, node) for node in self.arm.nodes(index))
        return self._nodes[index]

    @cached_property
    def felt(self) -> dict[int, tuple[Felt, ...]]:
        """Resultants by bending effect and node."""
        return self.felt_of(self.loads, self.arm.model.bending)

    def felt_of(self, loads: tuple[Load, ...], effects: tuple[int, ...]) -> dict[int, tuple[Felt, ...]]:
        """Resultants of some loads at the nodes of some effects."""
        flat = felt_loads(self.at, loads, [node for i in effects for node in self.nodes(i)])
        ends = np.cumsum([0, *(len(self.nodes(i)) for i in effects)])
        return {i: flat[a:b] for i, (a, b) in zip(effects, pairwise(ends), strict=True)}

    def torque(self, index: int, felt: tuple[Felt, ...]) -> Floats:
        """Loads (axes, n) that the axes of one effect feel, given the resultants at its nodes."""
        axes, nodes = self.effects[index].axes, self.nodes(index)
        out = np.empty((len(axes), self.n))
        for i, axis in enumerate(axes):
            direction = nodes[axis.node].directions[axis.row]
            out[i] = (turning_load if axis.turning else sliding_load)(direction, felt[axis.node])
        return out

    @cached_property
    def torques(self) -> dict[int, Floats]:
        """Loads felt by the bending effects; the others feel nothing."""
        if not any(load.pulls for load in self.loads):
            return {i: np.zeros((len(self.effects[i].axes), self.n)) for i in self.arm.model.bending}
        return {i: self.torque(i, self.felt[i]) for i in self.arm.model.bending}

    @cached_property
    def twists(self) -> dict[int, Floats]:
        """Motions of the elastic axes, by effect that bends."""
        if not self.loaded:
            return {}
        found = {i: self.effects[i].twist(self.arm.values, self.state, self.torques[i]) for i in self.arm.model.bending}
        return {i: twist for i, twist in found.items() if twist is not None}

    def column(self, index: int, axis: AxisOf) -> Floats | None:
        """Column (3, n) of one axis at the observed point; None when the axis does not move it."""
        node = self.nodes(index)[axis.node]
        if node.order >= self.point.order:
            return None
        if not axis.turning:
            return np.asarray(node.directions[axis.row])
        key = (index, axis.node)
        if key not in self._turned:
            self._turned[key] = turning_columns(node, self.point)
        return np.asarray(self._turned[key][axis.row])

    def turn(self, index: int, axis: AxisOf) -> Floats | None:
        """Rotation (3, n) of the tool per unit motion of one axis; None when there is none."""
        node = self.nodes(index)[axis.node]
        return np.asarray(node.directions[axis.row]) if axis.turning and node.order < self.tool_order else None

    @cached_property
    def deflections(self) -> tuple[Floats, Floats]:
        """Elastic displacement (m) and rotation (rad), (3, n) each."""
        moved, turned = np.zeros((3, self.n)), np.zeros((3, self.n))
        for index, twist in self.twists.items():
            for axis, angle in zip(self.effects[index].axes, twist, strict=True):
                column, turn = self.column(index, axis), self.turn(index, axis)
                if column is not None:
                    moved += column * angle
                if turn is not None:
                    turned += turn * angle
        return moved, turned

    def prediction(self) -> Prediction:
        """Position and orientation under load."""
        moved, turned = self.deflections
        chain = self.arm.chain
        tool = world_vectors(self.at.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))
        rotation = rotate(turned, np.broadcast_to(tool, (3, 3, self.n))) if turned.any() else tool
        return Prediction(self.point.xyz + moved, moved, np.broadcast_to(rotation, (3, 3, self.n)), turned)

    def table(self, axes: list[tuple[int, AxisOf]], *, felt: bool = True) -> AxisTable:
        """Axes stacked, with the loads they feel when asked for."""
        by_effect = self.felt_of(self.loads, tuple(dict.fromkeys(i for i, _ in axes))) if felt else {}
        runs = [list(run) for _, run in groupby(axes, key=lambda one: (one[0], one[1].node))]
        return AxisTable.of_nodes(
            [(self.nodes(run[0][0])[run[0][1].node], [axis.row for _, axis in run]) for run in runs],
            [axis.turning for _, axis in axes],
            [by_effect[i][axis.node] for i, axis in axes] if felt else [],
        )
