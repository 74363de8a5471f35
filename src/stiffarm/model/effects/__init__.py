"""What bends or moves in an arm, one file each; `default_effects` is the list of those every robot has."""

from __future__ import annotations

from stiffarm.model.effects.compensator import CompensatedJoint
from stiffarm.model.effects.effect import AxisOf, Effect, Entry, LoadEntry, Plain
from stiffarm.model.effects.gear import Gear
from stiffarm.model.effects.joint_compliance import JointCompliance
from stiffarm.model.effects.link_compliance import LinkCompliance
from stiffarm.model.effects.load import LoadGain, PayloadMass
from stiffarm.model.effects.marker import MarkerOffset
from stiffarm.model.effects.placement import PlacementError
from stiffarm.robot.arm import Robot

__all__ = [
    "AxisOf",
    "CompensatedJoint",
    "Effect",
    "Entry",
    "Gear",
    "JointCompliance",
    "LinkCompliance",
    "LoadEntry",
    "LoadGain",
    "MarkerOffset",
    "PayloadMass",
    "PlacementError",
    "Plain",
    "default_effects",
]


def default_effects(robot: Robot) -> tuple[Effect, ...]:
    """Every effect of a robot file: base, joints (placement, gear, compliance), links, tool, markers, loads."""
    effects: list[Effect] = [PlacementError(robot, "base")]
    for joint in robot.joints:
        effects += [PlacementError(robot, joint.name), Gear(robot, joint.name)]
    beside = {compensator.joint: compensator for compensator in robot.compensators}
    effects += [
        CompensatedJoint(robot, joint.name, compensator=beside[joint.name])
        if joint.name in beside
        else JointCompliance(robot, joint.name)
        for joint in robot.joints
    ]
    effects += [LinkCompliance(robot, link) for link in robot.links]
    effects.append(PlacementError(robot, "tool"))
    effects += [MarkerOffset(robot, marker.name) for marker in robot.tool.markers]
    effects += [LoadGain(robot), PayloadMass(robot)]
    return tuple(effects)
