"""An arm drawn from its chain alone: rods along its fixed steps, drums about its axes.

The link of body k goes from its own joint to the next one.  That joint's axis z' is known in the frame of body k, so
the step t splits into a part across and a part along it,

    t = (t - (t . z') z') + (t . z') z',

and the rod is drawn first across, then along: an offset along an axis looks like the housing it is.  A sliding joint
has its rail along its axis between its limits.  Thickness goes down along the arm with the reach that is left.

*Carriers* are what parts hang on: bodies 0 .. N (body 0 the base, body k moved by joint k), then the flange, which
moves against body N when the last link bends.

Bodies whose size the robot file states (``[[capsule]]``) are drawn as large as that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm
from stiffarm.model.chain import Chain, Point, body_order, flange_order
from stiffarm.model.stages import reach
from stiffarm.plan.solids import Cell, End, arm_rods
from stiffarm.report.view.shapes import Mesh, box, capsule, cylinder, joined
from stiffarm.robot.arm import Vector3
from stiffarm.robot.placement import Rigid, rotation_to_axis

Floats = NDArray[np.float64]
Role = Literal["base", "link", "joint", "tool", "mesh"]

THICK, THIN = 0.042, 0.016
"""Radius of a rod at the base and at the flange, over the reach."""
UNLIMITED_RAIL_M = 1.0


@dataclass(frozen=True, eq=False)
class Part:
    """A surface that one carrier carries."""

    carrier: int
    role: Role
    mesh: Mesh
    """In the aligned frame of the carrier's body (`stiffarm.model.chain`), m."""


def carrier_orders(chain: Chain) -> tuple[int, ...]:
    """Order along the chain of every carrier."""
    return (*(body_order(k) for k in range(chain.n_joints + 1)), flange_order(chain.n_joints))


def carrier_body(chain: Chain, carrier: int) -> int:
    """The body in whose frame a carrier's parts are given."""
    return min(carrier, chain.n_joints)


def drawn_parts(arm: Arm, swell: float = 1.0) -> tuple[Part, ...]:
    """Base, links, joints and tool of an arm as rods and drums, ``swell`` times as thick."""
    chain = arm.chain
    radius = swell * _radii(chain)
    parts = [_foot(chain, radius[0])]
    for k, fixed in enumerate(chain.fixed):
        axis = np.ascontiguousarray(fixed.rotation[:, 2])
        rods = _rods(fixed.translation, axis, radius[k])
        if rods is not None:
            parts.append(Part(k, "base" if k == 0 else "link", rods))
        if chain.prismatic[k]:
            parts.append(Part(k, "base", _rail(arm, k, radius[k])))
        drum = cylinder(np.zeros(3), (0.0, 0.0, 1.0), 1.35 * radius[k + 1], 2.9 * radius[k + 1])
        parts.append(Part(k + 1, "joint", drum))
    stated = _stated(arm, swell)
    sized = {part.carrier for part in stated}
    drawn = (part for part in (*parts, *_tool(chain, radius[-1])) if part.role == "joint" or part.carrier not in sized)
    return (*stated, *drawn)


def _stated(arm: Arm, swell: float) -> list[Part]:
    """The capsules of the robot file."""
    found = []
    for rod in arm_rods(arm):
        (carrier, start), (_, end) = (_fixed(arm.chain, one) for one in (rod.start, rod.end))
        role: Role = "base" if carrier == 0 else "tool" if carrier > arm.chain.n_joints else "link"
        found.append(Part(carrier, role, capsule(start, end, swell * rod.radius_m)))
    return found


def _fixed(chain: Chain, end: End) -> tuple[int, Floats]:
    """Carrier of an end of a capsule, and its place in the frame of the carrier's body; what stands is the base's."""
    if isinstance(end, Point):
        return end.body + (end.order >= flange_order(chain.n_joints)), end.xyz
    return 0, chain.base.inverse().apply(_place(end))


def _place(end: End) -> Vector3:
    """An end that stands in the world; nothing but a cable, which is no body, has other ones."""
    assert isinstance(end, tuple)
    return end


def _radii(chain: Chain) -> Floats:
    """(bodies,) radius of the rods of every body, m."""
    steps = [0.0, *(float(np.linalg.norm(fixed.translation)) for fixed in chain.fixed)]
    passed = np.cumsum(steps) / (sum(steps) or 1.0)
    return np.asarray(reach(chain) * (THICK + (THIN - THICK) * passed))


def _rods(step: Floats, axis: Floats, radius: float) -> Mesh | None:
    """From the origin across the axis, then along it; None when there is nothing to bridge."""
    elbow = step - (step @ axis) * axis
    rods = [
        capsule(begin, end, radius)
        for begin, end in ((np.zeros(3), elbow), (elbow, step))
        if np.linalg.norm(end - begin) > 0.2 * radius
    ]
    return joined(rods) if rods else None


def _foot(chain: Chain, radius: float) -> Part:
    """What the base stands on, about the vertical of the first step."""
    return Part(0, "base", cylinder((0.0, 0.0, 0.25 * radius), (0.0, 0.0, 1.0), 2.4 * radius, 0.5 * radius))


def _rail(arm: Arm, k: int, radius: float) -> Mesh:
    """Where a sliding joint goes, in the frame of the body before it."""
    low, high = arm.robot.joints[k].limits or (-UNLIMITED_RAIL_M, UNLIMITED_RAIL_M)
    fixed = arm.chain.fixed[k]
    middle = fixed.apply((0.0, 0.0, 0.5 * (low + high)))
    along = np.ascontiguousarray(fixed.rotation[:, 2])
    bar = box((1.6 * radius, 0.8 * radius, high - low + 4.0 * radius))
    return bar.placed(Rigid(rotation_to_axis(along), middle))


def _tool(chain: Chain, radius: float) -> list[Part]:
    """The last link to the flange, and what is bolted to the flange."""
    flange, tool, last = chain.flange, chain.tool.translation, chain.n_joints
    parts = []
    if np.linalg.norm(flange.translation) > 0.2 * radius:
        parts.append(Part(last, "link", capsule(np.zeros(3), flange.translation, radius)))
    face = cylinder(flange.translation, flange.rotation[:, 2], 1.2 * radius, 0.4 * radius)
    parts.append(Part(last + 1, "tool", face))
    held = [point.xyz for point in chain.points.values() if point.body == last and point.order >= flange_order(last)]
    far = (xyz for xyz in (tool, *held) if np.linalg.norm(xyz - flange.translation) > 0.2 * radius)
    return [*parts, *(Part(last + 1, "tool", capsule(flange.translation, xyz, 0.22 * radius)) for xyz in far)]


def cell_parts(cell: Cell) -> list[Mesh]:
    """What stands around the arm, in the world; a cell file's rods stand still, so their ends are places."""
    rods = [capsule(_place(rod.start), _place(rod.end), rod.radius_m) for rod in cell.rods]
    return [*rods, *(box(2.0 * np.array(one.half_m)).placed(one.frame) for one in cell.boxes)]
