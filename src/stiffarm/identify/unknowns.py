"""Which parameters an identification asks for, in the order in which they are kept when several say the same.

Compliances of joints come first, then markers and tool, then each joint's own axis (its zero), then the remaining
placement errors from the base outwards, then links, base and loads: what an engineer would rather read a number for
is kept, and what only repeats it is held at nominal and said so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.design import Design
from stiffarm.identifiability.question import Question, robot_with_links
from stiffarm.identifiability.rules import NEGLECT, USE, reduced_model
from stiffarm.identifiability.use_design import design_of_use
from stiffarm.identify.nuisance import load_sigmas
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.measure.observe import use_measured_torque
from stiffarm.measure.paths import read_plan_or_path
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.chain import AXES
from stiffarm.model.parameters import glob_match, select
from stiffarm.robot.arm import AxisPlacement, Robot

_GROUPED = re.compile(r"^(?P<joint>[^.*?]+)\.compliance\[")
SAME = 0.01
"""rad or m: a stiffness that changes with the joint's angle changes by less than the readings show within it."""
MOST_ANGLES = 60


@dataclass(frozen=True, eq=False)
class Asked:
    """A model and the parameters asked for, most wanted first."""

    model: ArmModel
    names: tuple[str, ...]
    priors: dict[str, float]
    """Standard deviation (SI) of those with a prior."""
    neglect: bool = False
    """Whether compliances that noise swamps are left out and the others fitted again (M3)."""
    use: tuple[Design, ...] = ()
    """Where the model is used: compliances that predict it no better are left out (M3 for a use)."""


def without(asked: Asked, names: Collection[str]) -> Asked:
    """The same with fewer unknowns."""
    if not names:
        return asked
    kept = tuple(name for name in asked.names if name not in names)
    return replace(asked, names=kept, priors={name: sigma for name, sigma in asked.priors.items() if name in kept})


def ask(robot: Robot, campaign: Campaign, options: Options) -> Asked:
    """The model and the unknowns that the options and the campaign call for."""
    model = _reduced(_grouped(ArmModel.of(_with_links(robot, options)), campaign, options), options)
    wanted = [*_elastic(model, campaign, options), *_geometry(model, campaign, options)]
    if options.select:
        wanted += [p.name for p in select(model.parameters, options.select)]
    held = {p.name for p in select(model.parameters, options.fix)} if options.fix else set()
    names = _by_priority(robot, [name for name in dict.fromkeys(wanted) if name not in held])
    sigma = {p.name: p.sigma for p in model.parameters if p.sigma is not None and p.name in set(names)}
    if campaign.load_uncertainty.shared == "campaign":  # of other loads every setup or experiment has its own
        stated = load_sigmas(campaign.load_uncertainty, ())
        sigma = {name: stated[name] for name in names if name in stated} | sigma
    return Asked(model, names, sigma, NEGLECT in options.reduce, _uses(robot, options))


def _uses(robot: Robot, options: Options) -> tuple[Design, ...]:
    files = [rule.removeprefix(USE) for rule in options.reduce if rule.startswith(USE)]
    return tuple(design_of_use(robot, read_plan_or_path(file, robot), Question()) for file in files)


def _with_links(robot: Robot, options: Options) -> Robot:
    """Every link elastic when links are asked for."""
    if options.elastic != "links":
        return robot
    return robot_with_links(robot, Question(template=options.template, links=options.links))


def _reduced(model: ArmModel, options: Options) -> ArmModel:
    model = reduced_model(model, options.reduce)
    return model if options.reduction is None else model.reduced(options.reduction)


def angles_of(campaign: Campaign, joint: int) -> tuple[float, ...]:
    """Rising values (rad, m) at which a joint stood while it was read; what lies within `SAME` counts as one."""
    used = np.unique(campaign.readings.experiment)
    groups: list[list[float]] = []
    for value in np.unique(np.round(campaign.experiments.q[joint, used], 9)):
        if not groups or value - groups[-1][0] > SAME:
            groups.append([])
        groups[-1].append(float(value))
    return tuple(group[0] if len(group) == 1 else float(np.mean(group)) for group in groups)


def _grouped(model: ArmModel, campaign: Campaign, options: Options) -> ArmModel:
    """Group a joint's compliance by its angles when a pattern names its groups (``A2.compliance[*]``)."""
    for pattern in options.select:
        found = _GROUPED.match(pattern)
        if found is None or found["joint"] not in model.robot.joint_names:
            continue
        angles = angles_of(campaign, model.robot.joint_index(found["joint"]))
        if len(angles) > MOST_ANGLES:
            raise InputError(
                Problem(
                    f"{found['joint']} stands at too many angles to give each a compliance of its own",
                    found=str(len(angles)),
                    allowed=f"at most {MOST_ANGLES}",
                    next_step=f"Ask for {found['joint']}.compliance, or measure at a few angles of that joint",
                )
            )
        model = model.grouped(found["joint"], angles)
    return model


def _pulls(campaign: Campaign) -> bool:
    return bool(np.asarray(campaign.experiments.wrench_world).any())


def has_loads(robot: Robot, campaign: Campaign, options: Options) -> bool:
    """Whether anything bends the arm in a way that was stated or measured."""
    if options.loads == "none":
        return False
    return _pulls(campaign) or use_measured_torque(campaign, options.loads) or weights_act(robot, campaign)


def weights_act(robot: Robot, campaign: Campaign) -> bool:
    """Whether readings show the arm bent by weights: positions, poses or touches of an arm that has some."""
    weighs = robot.tool.mass > 0 or any(joint.mass > 0 for joint in robot.joints)
    weighs = weighs or any(setup.payload is not None for setup in campaign.setups)
    return weighs and bool((~campaign.kind("deflection")).any())


def _elastic(model: ArmModel, campaign: Campaign, options: Options) -> list[str]:
    choice = options.elastic or ("joints" if has_loads(model.robot, campaign, options) else "none")
    if choice == "none":
        return []
    if not has_loads(model.robot, campaign, options):
        raise InputError(
            Problem(
                "compliances are asked for but nothing pulls on the arm",
                found="no force, no joint torque, no mass in the robot file",
                next_step="Add force columns to the campaign or masses to the robot file, or use --elastic none",
            )
        )
    springs = [p.name for p in model.parameters if p.elastic and ".compliance" in p.name]
    joints = [name for name in springs if not name.startswith("link")]
    links = [name for name in springs if name.startswith("link")]
    return joints + (links if choice == "links" else [])


def _geometry(model: ArmModel, campaign: Campaign, options: Options) -> list[str]:
    placed = ~(campaign.kind("deflection") | campaign.kind("distance"))
    choice = options.geometry or ("full" if placed.any() else "none")
    if choice == "none":
        return []
    markers = {campaign.markers[m] if m >= 0 else DEFAULT_MARKER for m in np.unique(campaign.readings.marker[placed])}
    known = set(model.robot.marker_names)
    names = [f"tool.{marker}.{axis}" for marker in sorted(markers & known) for axis in "xyz"]
    if DEFAULT_MARKER in markers:
        names += [f"tool.{axis}" for axis in "xyz"]
    if campaign.kind("pose").any():
        names += [f"tool.{axis}" for axis in ("rx", "ry", "rz")]
    if choice == "offsets":
        return names + [f"{joint}.offset" for joint in model.robot.joint_names]
    return names + [f"{joint}.{axis}" for joint in model.robot.joint_names for axis in AXES]


def _by_priority(robot: Robot, names: Sequence[str]) -> tuple[str, ...]:
    own = own_axis_names(robot)

    def rank(name: str) -> int:
        if name.startswith("link"):
            return 5
        if ".compliance" in name:
            return 0
        if ".compensator." in name:
            return 1
        if glob_match(name, "tool.*") and not name.startswith("tool.r"):
            return 1
        if name.startswith("tool.r"):
            return 2
        if name in own:
            return 3
        return 6 if name.startswith(("base.", "load.", "payload.")) else 4

    return tuple(sorted(names, key=rank))  # stable: the model's order within a rank


def own_axis_names(robot: Robot) -> frozenset[str]:
    """The parameter of each joint that moves its own zero: ``J.offset`` or the placement error along its axis."""
    names = {f"{joint.name}.offset" for joint in robot.joints}
    for joint in robot.joints:
        axis = joint.geometry.axis if isinstance(joint.geometry, AxisPlacement) else (0.0, 0.0, 1.0)
        main = int(np.argmax(np.abs(axis)))
        names.add(f"{joint.name}.{AXES[main + (3 if joint.kind == 'revolute' else 0)]}")
    return frozenset(names)
