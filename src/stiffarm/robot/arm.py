"""The robot as its file describes it: a serial chain, what is elastic in it, what it carries.

Everything here is SI and immutable; nothing here knows of measured data.  A joint's *model value* is
``sign * controller value + offset`` (the offset is `DenavitHartenberg.theta`, or ``d`` of a prismatic
joint), plus ``gain`` times another controller value when the two are coupled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from stiffarm.showing import Shown

Vector3 = tuple[float, float, float]
Matrix6 = tuple[tuple[float, ...], ...]
JointKind = Literal["revolute", "prismatic"]
Convention = Literal["dh", "mdh", "frames", "urdf"]
Template = Literal["full", "symmetric", "beam", "diagonal"]

ZERO3: Vector3 = (0.0, 0.0, 0.0)
STANDARD_GRAVITY: Vector3 = (0.0, 0.0, -9.80665)
RESERVED_POINTS = ("flange", "tool")


@dataclass(frozen=True)
class Placement:
    """A fixed transform: ``xyz`` in m, ``rpy`` in rad about the fixed axes x, y, z (as in URDF)."""

    xyz: Vector3 = ZERO3
    rpy: Vector3 = ZERO3


@dataclass(frozen=True)
class DenavitHartenberg:
    """One row of a DH or modified-DH table (m, rad).

    mdh: RotX(alpha) TransX(a) RotZ(theta + q) TransZ(d).   dh: RotZ(theta + q) TransZ(d) TransX(a) RotX(alpha).
    A prismatic joint adds its value to ``d`` instead.
    """

    alpha: float = 0.0
    a: float = 0.0
    d: float = 0.0
    theta: float = 0.0


@dataclass(frozen=True)
class AxisPlacement:
    """A joint as a URDF states it: a fixed transform, then a motion along or about ``axis``."""

    origin: Placement = Placement()
    axis: Vector3 = (0.0, 0.0, 1.0)
    offset: float = 0.0
    """Added to ``sign * controller value`` (rad or m)."""


@dataclass(frozen=True)
class Coupling:
    """Model value += ``gain`` * controller value of ``joint``."""

    joint: str
    gain: float


@dataclass(frozen=True)
class Joint:
    """One joint and the link it moves."""

    name: str
    kind: JointKind
    geometry: DenavitHartenberg | AxisPlacement
    sign: int = 1
    limits: tuple[float, float] | None = None
    """Controller values, rad or m."""
    compliance: float | None = None
    """rad/(N m), or m/N for a prismatic joint."""
    couples_to: Coupling | None = None
    mass: float = 0.0
    """kg, of the link moved by this joint."""
    com: Vector3 = ZERO3
    """Its centre of mass, m, in the frame after the joint's motion."""
    speed: float | None = None
    """Largest, rad/s or m/s of the controller value."""


@dataclass(frozen=True)
class Link:
    """A 6x6 elastic element after a joint (or after the base)."""

    after: str
    """Joint name, or ``base``."""
    template: Template = "symmetric"
    xyz: Vector3 | None = None
    """Spring frame seen from the frame after ``after``'s motion (base: world); None: at the next
    joint's origin (last link: at the flange)."""
    rpy: Vector3 = ZERO3
    """Orientation relative to the joint frame."""
    compliance: Matrix6 | None = None
    """SI, order x y z rx ry rz."""


@dataclass(frozen=True)
class Spring:
    """Coil-spring gravity compensator: F = stiffness * (s - s0)."""

    stiffness: float
    s0: float


@dataclass(frozen=True)
class GasCylinder:
    """Pneumatic gravity compensator, either by (area, s0, sv) or by (area, p_ref, V_ref, s_ref)."""

    side: Literal["push", "pull"]
    exponent: float
    area: float
    s0: float | None = None
    sv: float | None = None
    p_ref: float | None = None
    V_ref: float | None = None
    s_ref: float | None = None


@dataclass(frozen=True)
class Compensator:
    """A spring or a gas cylinder in a triangle about a joint: s^2 = a^2 + L^2 + 2 a L cos(alpha - q)."""

    joint: str
    L: float
    a: float
    alpha: float
    element: Spring | GasCylinder


@dataclass(frozen=True)
class Prior:
    """What is known of parameters before measuring: a pattern of names and a standard deviation."""

    parameter: str
    sigma: float
    """In ``unit``, as the file states it."""
    unit: str


@dataclass(frozen=True)
class BodyPoint:
    """A named point fixed to a body: to the tool side of the flange, or to the link a joint moves."""

    name: str
    xyz: Vector3
    on: str | None = None
    """Joint whose link carries it (coordinates in the frame after that joint's motion), or None: the
    flange frame."""


@dataclass(frozen=True)
class Capsule:
    """A rod with round ends that stands for a body where collisions are looked for."""

    on: str
    """Joint whose link it is, ``base`` or ``flange`` (which stands for the tool as well)."""
    radius: float
    """m"""
    start: Vector3 | None = None
    """One end of its axis, m, in the frame after the joint's motion (base: world; flange: the flange frame); None:
    the origin of that frame (base: of the chain's first frame)."""
    end: Vector3 | None = None
    """The other end; None: the origin of the next joint (last link: the flange; ``flange``: the tool point)."""


@dataclass(frozen=True)
class Tool:
    """What is bolted to the flange; every coordinate is in the flange frame."""

    placement: Placement = Placement()
    load_points: tuple[BodyPoint, ...] = ()
    markers: tuple[BodyPoint, ...] = ()
    mass: float = 0.0
    com: Vector3 = ZERO3


@dataclass(frozen=True)
class Controller:
    """The controller that will run the robot."""

    brand: str | None = None
    absolute_accuracy: Literal["on", "off", "unknown"] = "unknown"
    tool0: Placement = Placement()
    """The frame the controller sees its tools from, seen from the flange of the file."""


@dataclass(frozen=True)
class FileUnits:
    """Units of every length and angle in the file, kept so that the file can be written as it was."""

    length: str = "m"
    angle: str = "rad"


@dataclass(frozen=True)
class UrdfSource:
    """Where a chain came from when the convention is ``urdf``."""

    file: str
    base: str
    tip: str


@dataclass(frozen=True, repr=False)
class Robot(Shown):
    """A serial arm: joints in order from the base, elastic elements, compensators, tool."""

    name: str
    joints: tuple[Joint, ...]
    convention: Convention = "frames"
    units: FileUnits = FileUnits()
    gravity: Vector3 = STANDARD_GRAVITY
    """m/s^2, world frame."""
    controller: Controller = Controller()
    base: Placement = Placement()
    flange: Placement = Placement()
    tool: Tool = Tool()
    links: tuple[Link, ...] = ()
    compensators: tuple[Compensator, ...] = ()
    priors: tuple[Prior, ...] = ()
    source: UrdfSource | None = None
    notes: tuple[str, ...] = ()
    """Where the numbers come from, in sentences (``notes`` of the file)."""
    capsules: tuple[Capsule, ...] = ()
    """How large its bodies are; without any, no collision is looked for."""

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names in order from the base."""
        return tuple(joint.name for joint in self.joints)

    def joint_index(self, name: str) -> int:
        """Position of a joint in the chain (0 is nearest to the base)."""
        return self.joint_names.index(name)

    @property
    def marker_names(self) -> tuple[str, ...]:
        """Markers of the file; ``tool`` and ``flange`` are always available besides."""
        return tuple(point.name for point in self.tool.markers)

    @property
    def load_point_names(self) -> tuple[str, ...]:
        """Load points of the file; ``tool`` and ``flange`` are always available besides."""
        return tuple(point.name for point in self.tool.load_points)

    def summary(self) -> tuple[str, ...]:
        """Its joints and points."""
        points = (
            f"markers {', '.join(self.marker_names) or 'none'}; loads at {', '.join(self.load_point_names) or 'tool'}"
        )
        return (f"{self.name}: joints {' '.join(self.joint_names)}", points)
