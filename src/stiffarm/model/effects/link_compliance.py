"""Elastic links: a 6x6 spring at a frame after a joint (or after the base).

    twist_a = sum over b of k_ab load_b,   a, b of x y z rx ry rz

A template says which k_ab are unknowns of their own: `full` all 36, `symmetric` the 21 of the upper triangle,
`beam` the eight of a beam along x (the diagonal, [y,rz] and [z,ry]), `diagonal` six.  In all but `full` an
off-diagonal name k[a,b] stands for both k_ab and k_ba.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.chain import AXES, Chain, Node, link_order
from stiffarm.model.effects.effect import AxisOf, Entry, Plain
from stiffarm.model.effects.placement import SIX_AXES
from stiffarm.model.loads import State
from stiffarm.model.parameters import Parameter, Values
from stiffarm.robot.arm import Link, Robot, Template
from stiffarm.robot.placement import Rigid, base_transform, chain_transforms, flange_transform, rotation_from_rpy

Floats = NDArray[np.float64]
Pairs = tuple[tuple[int, int], ...]

_DIAGONAL: Pairs = tuple((i, i) for i in range(6))
TEMPLATES: dict[Template, Pairs] = {
    "full": tuple((i, j) for i in range(6) for j in range(6)),
    "symmetric": tuple((i, j) for i in range(6) for j in range(i, 6)),
    "beam": tuple(sorted((*_DIAGONAL, (1, 5), (2, 4)))),
    "diagonal": _DIAGONAL,
}
"""Positions (row, column) of the unknowns of each template, in order of their names."""


def compliance_unit(row: int, column: int) -> str:
    """Unit of k[row, column]."""
    return {0: "m/N", 1: "rad/N", 2: "rad/(N*m)"}[(row > 2) + (column > 2)]


@dataclass(frozen=True)
class LinkCompliance(Plain):
    """The 6x6 compliance of one link."""

    robot: Robot
    link: Link

    @cached_property
    def joints_before(self) -> int:
        """K of ``linkK``: the number of joints before the link."""
        return 0 if self.link.after == "base" else self.robot.joint_index(self.link.after) + 1

    @cached_property
    def pairs(self) -> Pairs:
        """Positions of the unknowns."""
        return TEMPLATES[self.link.template]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """``linkK.compliance[a,b]``."""
        known = self.link.compliance
        return tuple(
            Parameter(
                f"link{self.joints_before}.compliance[{AXES[i]},{AXES[j]}]",
                compliance_unit(i, j),
                0.0 if known is None else known[i][j],
                scale=(1e-8, 1e-7, 1e-6)[(i > 2) + (j > 2)],
                elastic=True,
            )
            for i, j in self.pairs
        )

    @property
    def axes(self) -> tuple[AxisOf, ...]:
        """Three slides, three turns."""
        return SIX_AXES

    @cached_property
    def frame(self) -> Rigid:
        """Spring frame in the file's frame of the body before it (base: the chain's first frame)."""
        k = self.joints_before
        turned = rotation_from_rpy(self.link.rpy)
        if self.link.xyz is not None:
            own = Rigid(turned, np.array(self.link.xyz))
            return base_transform(self.robot).inverse() @ own if k == 0 else own
        joints = chain_transforms(self.robot)
        end = joints[k].fixed if k < len(joints) else flange_transform(self.robot)
        if k == 0:  # parallel to the world when nothing else is said
            turned = base_transform(self.robot).rotation.T @ turned
        return Rigid(turned, end.translation)

    def nodes(self, chain: Chain, values: Values) -> tuple[Node, ...]:
        """The spring frame's three directions, for slides and for turns."""
        node = chain.node(self.joints_before, self.frame, link_order(self.joints_before))
        return (Node(node.body, node.origin, np.concatenate([node.directions, node.directions]), node.order),)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(p.name for p in self.parameters)

    def matrix(self, values: Values) -> Floats:
        """The 6x6 compliance (SI)."""
        k = np.zeros((6, 6))
        for (i, j), name in zip(self.pairs, self._names, strict=True):
            k[i, j] = values[name]
            if self.link.template != "full":
                k[j, i] = k[i, j]
        return k

    def entries(self, values: Values, state: State, torque: Floats) -> Sequence[Entry]:
        """k[a,b] moves axis a by the load on b, and b by the load on a."""
        entries = []
        for index, (i, j) in enumerate(self.pairs):
            entries.append(Entry(i, index, torque[j]))
            if i != j and self.link.template != "full":
                entries.append(Entry(j, index, torque[i]))
        return entries

    def twist(self, values: Values, state: State, torque: Floats) -> Floats | None:
        """K torque."""
        k = self.matrix(values)
        return k @ torque if k.any() else None

    def tangent(self, values: Values, state: State, torque: Floats | None = None) -> Floats | None:
        """K."""
        k = self.matrix(values)
        return k[:, :, None] if k.any() else None
