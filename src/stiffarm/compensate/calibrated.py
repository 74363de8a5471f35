"""The calibrated robot as a robot file or a URDF: corrections where every reader honours them.

A placement error D of joint k and an offset o about its axis a belong to the fixed transform before the motion,

    P_k  ->  P_k D Exp(a o),

that is to the `origin` of a URDF joint (its `calibration` element is read by hardly anyone).  Gear eccentricities
and gains are no fixed transform: a robot file and a URDF cannot say them, and a model that needs them is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.effects import JointCompliance, LinkCompliance
from stiffarm.model.effects.compensator import compensator_parameters
from stiffarm.model.effects.placement import twist_of
from stiffarm.robot.arm import AxisPlacement, Compensator, Robot, Vector3
from stiffarm.robot.placement import (
    Rigid,
    base_transform,
    chain_transforms,
    flange_transform,
    rotation_from_vector,
    tool_transform,
    vector_from_rotation,
)
from stiffarm.robot.urdf import placement_of, read_urdf_chain, vector3
from stiffarm.robot.urdf_tree import read_urdf_tree
from stiffarm.robot.urdf_write import write_calibrated_urdf

Values = Mapping[str, float]
SAME = 1e-9
"""m or rad by which two statements of one joint may differ."""
UNSAYABLE = (".gain", ".sin", ".cos", ".coupling[")


def joint_corrections(model: ArmModel, values: Values) -> dict[str, Rigid]:
    """What each joint's fixed transform is multiplied with, in the joint's own frame before its motion."""
    _refuse_gears(values)
    corrections = {}
    for joint, transform in zip(model.robot.joints, chain_transforms(model.robot), strict=True):
        offset = values.get(f"{joint.name}.offset", 0.0)
        motion = (
            Rigid(np.eye(3), offset * transform.axis)
            if transform.prismatic
            else Rigid(rotation_from_vector(offset * transform.axis), np.zeros(3))
        )
        corrections[joint.name] = twist_of(joint.name, values).rigid() @ motion
    return corrections


def calibrated_robot(model: ArmModel, values: Values) -> Robot:
    """The robot with a model's values as its own: geometry, compliances, markers, tool and base."""
    robot, full = model.robot, model.nominal | dict(values)
    _refuse_groups(model)
    corrections = joint_corrections(model, full)
    joints = tuple(
        replace(
            joint,
            geometry=AxisPlacement(
                placement_of(transform.fixed @ corrections[joint.name]),
                vector3(joint.sign * transform.axis),
            ),
            compliance=_spring(joint.compliance, full.get(f"{joint.name}.compliance")),
        )
        for joint, transform in zip(robot.joints, chain_transforms(robot), strict=True)
    )
    links = tuple(
        replace(effect.link, compliance=tuple(tuple(map(float, row)) for row in effect.matrix(full)))
        for effect in model.effects
        if isinstance(effect, LinkCompliance)
    )
    markers = tuple(
        replace(marker, xyz=vector3(np.array([full[f"tool.{marker.name}.{axis}"] for axis in "xyz"])))
        for marker in robot.tool.markers
    )
    tool = tool_transform(robot) @ twist_of("tool", full).rigid()
    return replace(
        robot,
        joints=joints,
        convention="frames",
        source=None,
        base=placement_of(base_transform(robot) @ twist_of("base", full).rigid()),
        flange=placement_of(flange_transform(robot)),
        links=links,
        compensators=tuple(_compensator(one, full) for one in robot.compensators),
        tool=replace(robot.tool, placement=placement_of(tool), markers=markers),
        notes=(*robot.notes, "Geometry and compliances are those of an identified model."),
    )


def _compensator(of_file: Compensator, values: Values) -> Compensator:
    """The compensator with the numbers that were found."""
    numbers = {p.name: p.name.rsplit(".", 1)[1] for p in compensator_parameters(of_file)}
    found: dict[str, Any] = {field: values[name] for name, field in numbers.items() if name in values}
    return replace(of_file, element=replace(of_file.element, **found))


def _refuse_groups(model: ArmModel) -> None:
    named = [e.joint for e in model.effects if isinstance(e, JointCompliance) and e.groups]
    if named:
        raise InputError(
            Problem(
                "the model has a compliance for each angle of a joint, which a robot file cannot say",
                found=", ".join(f"{joint}.compliance[...]" for joint in named),
                next_step="Identify without the groups (with the compensator's numbers, if it has one) to hand it over",
            )
        )


def _spring(of_file: float | None, found: float | None) -> float | None:
    """The compliance found; that of the file where nothing, or no spring, was found."""
    return of_file if not found or found < 0.0 else found


def no_springs(values: Values) -> tuple[str, ...]:
    """Compliances of joints that came out negative: what is too small to be seen may fall on either side of zero."""
    return tuple(name for name, value in values.items() if value < 0.0 and name.endswith(".compliance"))


def write_calibrated_original(model: ArmModel, values: Values, original: Path, output: Path) -> None:
    """The user's own URDF with corrected joint origins and every other byte as it was.

    Raises `InputError` when its joints stand otherwise than those of the model's robot: a correction is stated in
    the joint's own frame and would be wrong in another.
    """
    _refuse_another_arm(model.robot, original)
    corrections: dict[str, tuple[Vector3, Vector3]] = {}
    for name, change in joint_corrections(model, model.nominal | dict(values)).items():
        turn = vector_from_rotation(change.rotation)
        if change.translation.any() or turn.any():
            x, y, z = map(float, change.translation)
            u, v, w = map(float, turn)
            corrections[name] = ((x, y, z), (u, v, w))
    write_calibrated_urdf(original, corrections, output)


def _refuse_another_arm(robot: Robot, original: Path) -> None:
    """The frames after the joints' motions must be those of the robot; where its first joint stands is free."""
    tree = read_urdf_tree(original)
    above = {joint.name: joint for joint in tree.joints}
    missing = [name for name in robot.joint_names if name not in above]
    if missing:
        hint = did_you_mean(missing[0], list(above))
        raise InputError(
            Problem(
                "the URDF has not the joints of the model's robot",
                file=str(original),
                found=", ".join(joint.name for joint in tree.joints if joint.kind != "fixed"),
                allowed=", ".join(robot.joint_names),
                next_step=hint and hint[0].upper() + hint[1:],
            )
        )
    first, last = above[robot.joint_names[0]], above[robot.joint_names[-1]]
    found, _ = read_urdf_chain(original, first.parent, last.child)
    of_file = chain_transforms(Robot(tree.name, found, convention="urdf"))
    problems = []
    for i, (joint, own, other) in enumerate(zip(robot.joints, chain_transforms(robot), of_file, strict=False)):
        apart = np.abs(joint.sign * own.axis - other.axis).max()
        if i > 0:
            apart = max(apart, np.abs(own.fixed.rotation - other.fixed.rotation).max())
            apart = max(apart, np.abs(own.fixed.translation - other.fixed.translation).max())
        if apart > SAME or joint.name != found[i].name:
            problems.append(
                Problem(
                    "the joint stands otherwise in this URDF than in the model's robot",
                    file=str(original),
                    row=above[found[i].name].line,
                    column=f"joint[{found[i].name}]",
                    found=f"{apart:.3g} (m, rad) away" if joint.name == found[i].name else found_text(found[i].name),
                    allowed="the URDF that the robot was read from" if joint.name == found[i].name else joint.name,
                    next_step="Identify with this URDF as the robot, or convert without --original",
                )
            )
    if problems:
        raise InputError(problems)


def _refuse_gears(values: Values) -> None:
    named = [
        name
        for name, value in values.items()
        if value and not name.startswith("load.") and any(part in name for part in UNSAYABLE)
    ]
    if named:
        raise InputError(
            Problem(
                "the model has errors of gears, which a robot file or a URDF cannot say",
                found=" ".join(named[:6]),
                next_step="Identify with --gears none (without *.gain, *.coupling), or correct paths by compensate",
            )
        )
