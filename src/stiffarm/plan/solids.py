"""What takes up room in a cell: the arm's bodies as capsules, obstacles as capsules and boxes, cables and beams as
segments without thickness.

A segment has two ends, and an end is fixed to a body of the arm, to the world, or stands on the cable, drawn back from
the attachment point x by b so that the cable may begin on what it is fastened to:

    e = x - b u,   u = (x - h)/|x - h|,      de/dh = (b/|x - h|) (I - u u'),      de/dx = I - de/dh
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stiffarm.model.arm_model import Arm
from stiffarm.model.chain import Chain, Point, body_order, drawing, flange_order, joint_order
from stiffarm.model.kernel import Frames, cross, frames, world_point
from stiffarm.plan.problem import Floats, Stops
from stiffarm.robot.arm import Capsule, Robot, Vector3
from stiffarm.robot.placement import Rigid

BASE = 0
"""Body of what does not move with the arm."""


@dataclass(frozen=True, eq=False)
class CableEnd:
    """A point of the cable, ``back_m`` before the attachment point."""

    hook: Point
    back_m: float


End = Point | Vector3 | CableEnd
"""Fixed to a body, to the world (m), or on the cable."""


@dataclass(frozen=True, eq=False)
class Rod:
    """A segment with round ends."""

    name: str
    body: int
    """0: it does not move; else that of the joint counted from 1."""
    start: End
    end: End
    radius_m: float = 0.0


@dataclass(frozen=True, eq=False)
class Box:
    """A box that stands in the world."""

    name: str
    frame: Rigid
    """Its centre and directions in the world."""
    half_m: Vector3
    """Half its edges."""


@dataclass(frozen=True, eq=False)
class Cell:
    """What stands around the arm, in the world."""

    rods: tuple[Rod, ...] = ()
    boxes: tuple[Box, ...] = ()

    def __len__(self) -> int:
        return len(self.rods) + len(self.boxes)


@dataclass(frozen=True, eq=False)
class Placed:
    """Ends of segments in the world (ends, 3, n), with derivatives when they were asked for."""

    xyz: Floats
    by_q: Floats | None = None
    """(ends, joints, 3, n) by the controller values."""
    by_aim: Floats | None = None
    """(ends, 3 components, 3, n) by the attachment point."""


def arm_rods(arm: Arm) -> tuple[Rod, ...]:
    """The capsules of the robot file, each fixed to its body."""
    return tuple(_rod(arm, i, capsule) for i, capsule in enumerate(arm.robot.capsules))


def _rod(arm: Arm, index: int, capsule: Capsule) -> Rod:
    robot, chain = arm.robot, arm.chain
    name = f"{capsule.on} ({index + 1})" if _several(robot, capsule.on) else capsule.on
    if capsule.on == "base":
        first = chain.base.translation, chain.base.apply(chain.fixed[0].translation)
        start, end = (
            tuple(map(float, default if given is None else given))
            for given, default in zip((capsule.start, capsule.end), first, strict=True)
        )
        return Rod(name, BASE, start, end, capsule.radius)  # type: ignore[arg-type]
    body, turn, order = _carrier(chain, robot, capsule.on)
    ends = capsule.start, capsule.end
    defaults = turn.translation, _next_origin(chain, capsule.on, body)
    points = (
        Point(body, default if given is None else turn.apply(np.array(given)), order)
        for given, default in zip(ends, defaults, strict=True)
    )
    return Rod(name, body, next(points), next(points), capsule.radius)


def _several(robot: Robot, on: str) -> bool:
    return sum(capsule.on == on for capsule in robot.capsules) > 1


def _carrier(chain: Chain, robot: Robot, on: str) -> tuple[int, Rigid, int]:
    """Body, the frame that coordinates are given in (in the aligned frame of the body), and order."""
    if on == "flange":
        return chain.n_joints, chain.flange, flange_order(chain.n_joints)
    body = robot.joint_index(on) + 1
    return body, Rigid(drawing(robot).align[body].T, np.zeros(3)), body_order(body)


def _next_origin(chain: Chain, on: str, body: int) -> Floats:
    """Where the next joint, the flange or the tool point is, in the aligned frame of the body."""
    if on == "flange":
        return np.asarray(chain.tool.translation)
    last = body == chain.n_joints
    return np.asarray(chain.flange.translation if last else chain.fixed[body].translation)


def place(arm: Arm, stops: Stops, ends: Sequence[End], *, derivatives: bool) -> Placed:
    """Ends of segments at some stops."""
    at = frames(arm.chain, np.ascontiguousarray(stops.q))
    n, joints = len(stops), arm.chain.n_joints
    xyz = np.empty((len(ends), 3, n))
    by_q = np.zeros((len(ends), joints, 3, n)) if derivatives else None
    by_aim = np.zeros((len(ends), 3, 3, n)) if derivatives else None
    for i, end in enumerate(ends):
        if isinstance(end, tuple):
            xyz[i] = np.array(end)[:, None]
            continue
        point = end.hook if isinstance(end, CableEnd) else end
        p = world_point(at, point).xyz
        xyz[i] = p
        if by_q is not None and by_aim is not None:
            by_q[i] = _moved(arm.chain, at, point, p)
        if isinstance(end, CableEnd):
            assert stops.aim is not None, "a cable has an attachment point"
            along = stops.aim - p
            length = np.sqrt((along**2).sum(axis=0))
            u = along / length
            xyz[i] = stops.aim - end.back_m * u
            if by_q is not None and by_aim is not None:
                by_hook = (end.back_m / length) * (np.eye(3)[:, :, None] - u[:, None] * u[None])
                by_q[i] = np.einsum("ckn,jkn->jcn", by_hook, by_q[i])
                by_aim[i] = np.eye(3)[:, :, None] - by_hook
    return Placed(xyz, by_q, by_aim)


def _moved(chain: Chain, at: Frames, point: Point, p: Floats) -> Floats:
    """(joints, 3, n) motion of a point by the controller values."""
    out = np.zeros((chain.n_joints, *p.shape))
    for k in range(chain.n_joints):
        if joint_order(k) < point.order:
            z = at.rotation[k + 1][2]
            out[k] = z if chain.prismatic[k] else cross(z, p - at.origin[k + 1])
    return np.asarray(np.einsum("jin,jk->kin", out, chain.mix))
