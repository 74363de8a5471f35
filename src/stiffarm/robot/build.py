"""From the tables of a robot file, in its units, to the robot in SI."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from stiffarm.robot.arm import (
    AxisPlacement,
    BodyPoint,
    Capsule,
    Compensator,
    Controller,
    Coupling,
    DenavitHartenberg,
    FileUnits,
    GasCylinder,
    Joint,
    JointKind,
    Link,
    Placement,
    Prior,
    Robot,
    Spring,
    Tool,
    UrdfSource,
    Vector3,
)
from stiffarm.robot.schema import (
    CapsuleTable,
    CouplingTable,
    DhJointTable,
    DhRobotTable,
    EmbeddedUrdfRobotTable,
    FramesJointTable,
    FramesRobotTable,
    GasTable,
    LinkTable,
    PlacementTable,
    PointTable,
    RobotTable,
    SpringTable,
    ToolTable,
    UnitsTable,
    UrdfJointTable,
    UrdfRobotTable,
)
from stiffarm.units import UNITS

UNIT_NORM = 1e-12
"""An axis this close to length 1 keeps its digits."""


@dataclass(frozen=True)
class _Scale:
    """Turns numbers of a file into SI."""

    units: UnitsTable

    def length(self, value: float) -> float:
        return UNITS[self.units.length].to_si(value)

    def angle(self, value: float) -> float:
        return UNITS[self.units.angle].to_si(value)

    def motion(self, kind: JointKind, value: float) -> float:
        return self.angle(value) if kind == "revolute" else self.length(value)

    def point(self, xyz: Vector3) -> Vector3:
        x, y, z = xyz
        return self.length(x), self.length(y), self.length(z)

    def placement(self, table: PlacementTable | FramesJointTable) -> Placement:
        return Placement(self.point(table.xyz), self.angles(table.rpy))

    def angles(self, rpy: Vector3) -> Vector3:
        roll, pitch, yaw = rpy
        return self.angle(roll), self.angle(pitch), self.angle(yaw)

    def limits(self, kind: JointKind, limits: tuple[float, float] | None) -> tuple[float, float] | None:
        return None if limits is None else (self.motion(kind, limits[0]), self.motion(kind, limits[1]))

    def optional(self, value: float | None) -> float | None:
        return None if value is None else self.length(value)


def build_robot(table: RobotTable, chain: Robot | None = None) -> Robot:
    """The robot of a checked file; ``chain`` is the arm read from the URDF it refers to."""
    scale = _Scale(table.units)
    return Robot(
        name=table.name,
        joints=_joints(scale, table, chain),
        convention=table.convention,
        units=FileUnits(table.units.length, table.units.angle),
        gravity=table.gravity,
        controller=Controller(
            table.controller.brand, table.controller.absolute_accuracy, scale.placement(table.controller.tool0)
        ),
        base=scale.placement(table.base),
        flange=scale.placement(table.flange) if chain is None else chain.flange,
        tool=_tool(scale, table.tool),
        links=tuple(_link(scale, link) for link in table.link),
        compensators=tuple(_compensator(scale, compensator) for compensator in table.compensator),
        capsules=tuple(_capsule(scale, capsule) for capsule in table.capsule),
        priors=tuple(Prior(prior.parameter, prior.sigma, prior.unit) for prior in table.prior),
        source=_source(table, chain),
        notes=tuple(([table.source] if table.source is not None else []) + table.notes),
    )


def _source(table: RobotTable, chain: Robot | None) -> UrdfSource | None:
    if chain is not None:
        return chain.source
    if isinstance(table, EmbeddedUrdfRobotTable):
        return UrdfSource(table.urdf.file, table.urdf.base or "", table.urdf.tip or "")
    return None


def _joints(scale: _Scale, table: RobotTable, chain: Robot | None) -> tuple[Joint, ...]:
    if isinstance(table, DhRobotTable):
        return tuple(_dh_joint(scale, joint) for joint in table.joint)
    if isinstance(table, FramesRobotTable | EmbeddedUrdfRobotTable):
        return tuple(_frames_joint(scale, joint) for joint in table.joint)
    assert isinstance(table, UrdfRobotTable), "a file of unknown convention is refused before"
    assert chain is not None, "the URDF is read before the robot is built"
    added = {joint.name: joint for joint in table.joint}
    return tuple(_with_added(scale, joint, added.get(joint.name)) for joint in chain.joints)


def _dh_joint(scale: _Scale, table: DhJointTable) -> Joint:
    row = DenavitHartenberg(
        scale.angle(table.alpha), scale.length(table.a), scale.length(table.d), scale.angle(table.theta)
    )
    return _joint(scale, table, row)


def _frames_joint(scale: _Scale, table: FramesJointTable) -> Joint:
    offset = scale.motion(table.type, table.offset)
    return _joint(scale, table, AxisPlacement(scale.placement(table), unit_axis(table.axis), offset))


def _joint(scale: _Scale, table: DhJointTable | FramesJointTable, geometry: DenavitHartenberg | AxisPlacement) -> Joint:
    return Joint(
        name=table.name,
        kind=table.type,
        geometry=geometry,
        sign=table.sign,
        limits=scale.limits(table.type, table.limits),
        speed=None if table.speed is None else scale.motion(table.type, table.speed),
        compliance=table.compliance,
        couples_to=_coupling(table.couples_to),
        mass=table.mass,
        com=scale.point(table.com),
    )


def _with_added(scale: _Scale, joint: Joint, table: UrdfJointTable | None) -> Joint:
    """A joint of the URDF with what the robot file adds to it."""
    if table is None:
        return joint
    geometry = joint.geometry
    if table.offset is not None and isinstance(geometry, AxisPlacement):
        geometry = replace(geometry, offset=scale.motion(joint.kind, table.offset))
    return replace(
        joint,
        geometry=geometry,
        sign=joint.sign if table.sign is None else table.sign,
        limits=joint.limits if table.limits is None else scale.limits(joint.kind, table.limits),
        speed=joint.speed if table.speed is None else scale.motion(joint.kind, table.speed),
        compliance=joint.compliance if table.compliance is None else table.compliance,
        couples_to=joint.couples_to if table.couples_to is None else _coupling(table.couples_to),
        mass=joint.mass if table.mass is None else table.mass,
        com=joint.com if table.com is None else scale.point(table.com),
    )


def unit_axis(axis: Vector3) -> Vector3:
    """An axis brought to length 1; one that has it to `UNIT_NORM` keeps its digits."""
    x, y, z = axis
    norm = math.hypot(x, y, z)
    return axis if abs(norm - 1.0) <= UNIT_NORM else (x / norm, y / norm, z / norm)


def _coupling(table: CouplingTable | None) -> Coupling | None:
    return None if table is None else Coupling(table.joint, table.gain)


def _capsule(scale: _Scale, table: CapsuleTable) -> Capsule:
    start, end = (None if xyz is None else scale.point(xyz) for xyz in (table.start, table.end))
    return Capsule(table.on, scale.length(table.radius), start, end)


def _link(scale: _Scale, table: LinkTable) -> Link:
    xyz = None if table.xyz is None else scale.point(table.xyz)
    return Link(table.after, table.template, xyz, scale.angles(table.rpy), table.compliance)


def _compensator(scale: _Scale, table: SpringTable | GasTable) -> Compensator:
    element: Spring | GasCylinder
    if isinstance(table, SpringTable):
        element = Spring(table.stiffness, scale.length(table.s0))
    else:
        element = GasCylinder(
            side=table.side,
            exponent=table.exponent,
            area=table.area,
            s0=scale.optional(table.s0),
            sv=scale.optional(table.sv),
            p_ref=table.p_ref,
            V_ref=table.V_ref,
            s_ref=scale.optional(table.s_ref),
        )
    return Compensator(table.joint, scale.length(table.L), scale.length(table.a), scale.angle(table.alpha), element)


def _tool(scale: _Scale, table: ToolTable) -> Tool:
    def points(group: dict[str, PointTable]) -> tuple[BodyPoint, ...]:
        return tuple(BodyPoint(name, scale.point(point.xyz), point.on) for name, point in group.items())

    return Tool(
        placement=scale.placement(table),
        load_points=points(table.load_points),
        markers=points(table.markers),
        mass=table.mass,
        com=scale.point(table.com),
    )
