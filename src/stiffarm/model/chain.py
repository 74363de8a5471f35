"""A robot as plain constants: bodies, the transforms between them, the points and axes fixed to them.

Body 0 is the base, body k moves with joint k.  Inside the kernel every joint turns about or slides along
its own z: with A_k a rotation that takes z to the joint's axis, the aligned body frame is B_k A_k and the
fixed transform before the motion is

    P'_k = A_{k-1}^T P_k A_k.

Corrections of geometry are part of the constants: joint k's fixed transform becomes P_k D_k with
D = Trans(x, y, z) Rot(rotation vector), the base's B D_base, the tool's T D_tool.

What moves what is one number, the *order* along the chain: a virtual joint moves exactly the points of
higher order.

    base placement -1 | base link 0 | spring of link K 8K+1 | placement of joint k 8k-5 | its axis 8k-3
    link moved by joint k 8k | flange and what is bolted to it 8N+4 | tool point 8N+5

(a marker's own coordinates stand one before the marker).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.robot.arm import RESERVED_POINTS, BodyPoint, Robot
from stiffarm.robot.placement import (
    JointTransform,
    Rigid,
    base_transform,
    chain_transforms,
    flange_transform,
    rotation_from_vector,
    rotation_to_axis,
    tool_transform,
)

Floats = NDArray[np.float64]
AXES = ("x", "y", "z", "rx", "ry", "rz")
"""Names of the six coordinates of a virtual joint, translations first."""

BASE_ORDER = -1


@dataclass(frozen=True, eq=False)
class Twist6:
    """A small placement correction: translation (m), then rotation vector (rad)."""

    translation: Floats = field(default_factory=lambda: np.zeros(3))
    rotation: Floats = field(default_factory=lambda: np.zeros(3))

    def rigid(self) -> Rigid:
        """Trans(translation) Rot(rotation)."""
        return Rigid(rotation_from_vector(self.rotation), self.translation)


@dataclass(frozen=True, eq=False)
class Corrections:
    """What the geometric parameters change in a chain; defaults change nothing."""

    placement: Mapping[str, Twist6] = field(default_factory=dict)
    """By joint name, or ``base`` or ``tool``."""
    offset: Mapping[str, float] = field(default_factory=dict)
    gain: Mapping[str, float] = field(default_factory=dict)
    sine: Mapping[str, float] = field(default_factory=dict)
    cosine: Mapping[str, float] = field(default_factory=dict)
    coupling: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(joint, other): value of ``joint`` += number * controller value of ``other``."""
    marker: Mapping[str, Floats] = field(default_factory=dict)
    """Position replacing the file's, m."""


@dataclass(frozen=True, eq=False)
class Point:
    """A point fixed to a body, in the aligned frame of that body (m)."""

    body: int
    xyz: Floats
    order: int


@dataclass(frozen=True, eq=False)
class Node:
    """Directions through a point of a body, about and along which a virtual joint moves."""

    body: int
    origin: Floats
    """(3,) in the aligned frame of the body, m."""
    directions: Floats
    """(d, 3) unit vectors in the aligned frame of the body."""
    order: int


@dataclass(frozen=True, eq=False)
class Chain:
    """Constants of a serial chain, ready for the kernel (array of joints first)."""

    names: tuple[str, ...]
    prismatic: tuple[bool, ...]
    base: Rigid
    """Body 0 in the world."""
    fixed: tuple[Rigid, ...]
    """Aligned transform before each joint's motion."""
    align: tuple[Floats, ...]
    """A_k of body k = 0 .. N."""
    offset: Floats
    sine: Floats
    cosine: Floats
    mix: Floats
    """(N, N): joint values = mix @ q + offset + sine sin(q) + cosine cos(q), controller sense."""
    nominal_values: bool
    """True when the joint values are the controller's own."""
    flange: Rigid
    """In the aligned frame of the last body."""
    tool: Rigid
    """Likewise."""
    points: Mapping[str, Point]
    """Markers, load points, ``flange`` and ``tool`` by name."""

    @property
    def n_joints(self) -> int:
        """Number of joints."""
        return len(self.names)

    def node(self, body: int, frame: Rigid, order: int) -> Node:
        """A six-axis node at a frame given in the file's frame of a body."""
        aligned = Rigid(self.align[body].T, np.zeros(3)) @ frame
        return Node(body, aligned.translation, np.ascontiguousarray(aligned.rotation.T), order)

    def joint_node(self, index: int) -> Node:
        """The axis of joint ``index`` (0 is nearest to the base)."""
        return Node(index + 1, np.zeros(3), np.array([[0.0, 0.0, 1.0]]), joint_order(index))

    def point(self, name: str, *, of: str = "point") -> Point:
        """A named point, or an InputError listing the names."""
        try:
            return self.points[name]
        except KeyError:
            raise InputError(
                Problem(
                    f"{of} {name!r} does not exist",
                    allowed=" ".join(self.points),
                    next_step=did_you_mean(name, list(self.points)),
                )
            ) from None


def joint_order(index: int) -> int:
    """Order of the axis of joint ``index`` (from 0)."""
    return 8 * (index + 1) - 3


def placement_order(index: int) -> int:
    """Order of the fixed transform of joint ``index`` (from 0)."""
    return 8 * (index + 1) - 5


def body_order(body: int) -> int:
    """Order of what is fixed to a body (0 is the base)."""
    return 8 * body


def link_order(joints_before: int) -> int:
    """Order of the spring of the link after ``joints_before`` joints."""
    return 8 * joints_before + 1


def flange_order(n_joints: int) -> int:
    """Order of the flange and of what is bolted to it."""
    return 8 * n_joints + 4


@dataclass(frozen=True, eq=False)
class Drawing:
    """The transforms that follow from the robot file alone, worked out once per robot."""

    joints: tuple[JointTransform, ...]
    align: tuple[Floats, ...]
    """A_k of body k = 0 .. N."""
    base: Rigid
    """Body 0 in the world."""
    before: tuple[Rigid, ...]
    """A_{k-1}^T P_k: the placement of each joint in the aligned frame of the body before it."""
    after: tuple[Rigid, ...]
    """A_k as a transform."""
    flange: Rigid
    """In the aligned frame of the last body."""
    tool: Rigid
    """Likewise."""


@lru_cache(maxsize=64)
def drawing(robot: Robot) -> Drawing:
    """Transforms of a robot without corrections."""
    joints = chain_transforms(robot)
    align = (np.eye(3), *(rotation_to_axis(j.axis) for j in joints))
    back = [Rigid(a.T, np.zeros(3)) for a in align]
    flange = back[-1] @ flange_transform(robot)
    return Drawing(
        joints=joints,
        align=align,
        base=base_transform(robot),
        before=tuple(turn @ joint.fixed for turn, joint in zip(back, joints, strict=False)),
        after=tuple(Rigid(a, np.zeros(3)) for a in align[1:]),
        flange=flange,
        tool=flange @ tool_transform(robot),
    )


def build_chain(robot: Robot, corrections: Corrections | None = None) -> Chain:
    """Constants of a robot with its geometric corrections."""
    c = corrections or Corrections()
    drawn = drawing(robot)
    mix, offset, sine, cosine = _joint_maps(robot, c)
    plain = not (offset.any() or sine.any() or cosine.any() or (mix != np.eye(len(mix))).any())
    fixed = (
        _corrected(before, c, name) @ after
        for name, before, after in zip(robot.joint_names, drawn.before, drawn.after, strict=True)
    )
    tool = _corrected(drawn.tool, c, "tool")
    return Chain(
        names=robot.joint_names,
        prismatic=tuple(j.prismatic for j in drawn.joints),
        base=_corrected(drawn.base, c, "base"),
        fixed=tuple(fixed),
        align=drawn.align,
        offset=offset,
        sine=sine,
        cosine=cosine,
        mix=mix,
        nominal_values=plain,
        flange=drawn.flange,
        tool=tool,
        points=_named_points(robot, c, drawn.align, drawn.flange, tool),
    )


def _corrected(placement: Rigid, corrections: Corrections, name: str) -> Rigid:
    twist = corrections.placement.get(name)
    return placement if twist is None else placement @ twist.rigid()


def _joint_maps(robot: Robot, c: Corrections) -> tuple[Floats, Floats, Floats, Floats]:
    """Couplings of the file act on the model value, hence the sign in controller sense."""
    names = robot.joint_names
    mix = np.eye(len(names))
    for k, joint in enumerate(robot.joints):
        if joint.couples_to is not None:
            mix[k, names.index(joint.couples_to.joint)] += joint.sign * joint.couples_to.gain
        mix[k, k] += c.gain.get(joint.name, 0.0)
    for (name, other), number in c.coupling.items():
        mix[names.index(name), names.index(other)] += number
    by_name = (c.offset, c.sine, c.cosine)
    offset, sine, cosine = (np.array([numbers.get(name, 0.0) for name in names]) for numbers in by_name)
    return mix, offset, sine, cosine


def _named_points(
    robot: Robot, c: Corrections, align: tuple[Floats, ...], flange: Rigid, tool: Rigid
) -> dict[str, Point]:
    n = len(robot.joints)
    points = {
        "flange": Point(n, flange.translation, flange_order(n)),
        "tool": Point(n, tool.translation, flange_order(n) + 1),
    }
    for point in (*robot.tool.load_points, *robot.tool.markers):
        points[point.name] = _body_point(robot, point, c.marker.get(point.name), align, flange)
    return points


def _body_point(robot: Robot, point: BodyPoint, xyz: Floats | None, align: tuple[Floats, ...], flange: Rigid) -> Point:
    own = np.array(point.xyz) if xyz is None else xyz
    n = len(robot.joints)
    if point.on is None:
        return Point(n, flange.rotation @ own + flange.translation, flange_order(n))
    body = robot.joint_index(point.on) + 1
    return Point(body, align[body].T @ own, body_order(body))


def marker_frame(robot: Robot, name: str) -> tuple[int, Rigid, int]:
    """Body, frame (in the aligned frame of that body) and order in which a marker's coordinates are given."""
    n, drawn = len(robot.joints), drawing(robot)
    if name in RESERVED_POINTS:
        raise InputError(Problem(f"{name!r} has no coordinates of its own", allowed=" ".join(robot.marker_names)))
    point = next(p for p in (*robot.tool.markers, *robot.tool.load_points) if p.name == name)
    if point.on is None:
        return n, drawn.flange, flange_order(n)
    body = robot.joint_index(point.on) + 1
    return body, Rigid(drawn.align[body].T, np.zeros(3)), body_order(body)
