"""Compensated joints of a fit: their block of compliances, their separation, a safe start, and what to warn of.

The block comes from the fit itself where the joint's compliances were grouped by its angles, else from one more fit in
which they are.  A measured joint torque is what the drive alone carries, so that it shows no compensator.

Where weights act, readings show the compensator's torque U'(q) beside its stiffness U''(q), and a wrong torque would be
taken for a change of stiffness: there the block is looked at only when the compensator's numbers were fitted beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from stiffarm.errors import InputError
from stiffarm.identify.data import Data, campaign_of
from stiffarm.identify.fit import Fit, fit_asked
from stiffarm.identify.options import Options
from stiffarm.identify.separated import Separation
from stiffarm.identify.separation import Block, separate
from stiffarm.identify.unknowns import ask, weights_act
from stiffarm.measure.observe import use_measured_torque
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.compensator_law import CompensatorLaw
from stiffarm.model.compensator_scale import TORQUE_SCALE, largest_torque, out_of_scale, scale_warnings
from stiffarm.model.effects import CompensatedJoint, JointCompliance
from stiffarm.robot.arm import Joint, Robot

LEAST_ANGLES, MOST_ANGLES = 3, 20
"""Angles of a joint between which its stiffness is looked at as a curve."""
MOST_SCALARS = 30_000
EXACT = 1e-9
"""Relative standard deviation below which no compliance is known."""


def separations(found: Fit, data: Data, options: Options) -> tuple[Separation, ...]:
    """Drive and compensator of every joint that has a compensator or whose compliances were grouped."""
    campaign = campaign_of(data)
    if use_measured_torque(campaign, options.loads) or len(found.system) > MOST_SCALARS:
        return ()
    out = []
    torque_shows = weights_act(found.asked.model.robot, campaign)
    for effect in found.asked.model.effects:
        if not isinstance(effect, JointCompliance) or not (effect.groups or isinstance(effect, CompensatedJoint)):
            continue
        if torque_shows and isinstance(effect, CompensatedJoint) and not (effect.groups and _fitted(found, effect)):
            continue
        grouped = found if effect.groups else _grouped_fit(found, effect.joint, data, options)
        block = None if grouped is None else block_of(grouped, effect.joint)
        if block is not None:
            beside = effect.compensator if isinstance(effect, CompensatedJoint) else None
            out.append(separate(block, beside))
    return tuple(out)


def _fitted(found: Fit, effect: CompensatedJoint) -> bool:
    """Whether numbers of a compensator were fitted."""
    return any(name.startswith(f"{effect.joint}.compensator.") for name in found.names)


def _grouped_fit(found: Fit, joint: str, data: Data, options: Options) -> Fit | None:
    """The same fit with the joint's compliances grouped and its compensator as in the file; None when that is moot."""
    if f"{joint}.compliance" not in found.names:
        return None
    without = replace(
        options,
        select=(*(p for p in options.select if not p.startswith(f"{joint}.")), f"{joint}.compliance[*]"),
        fix=(*options.fix, f"{joint}.compensator.*"),
    )
    try:
        asked = ask(found.asked.model.robot, campaign_of(data), without)
        groups = next(e.groups for e in asked.model.effects if isinstance(e, JointCompliance) and e.joint == joint)
        if not LEAST_ANGLES <= len(groups) <= MOST_ANGLES:
            return None
        return fit_asked(asked, data, without)
    except InputError:  # of a fit nobody asked for
        return None


def block_of(found: Fit, joint: str) -> Block | None:
    """The grouped compliances of a joint that were fitted; None with fewer than three."""
    model = found.asked.model
    effect = next(e for e in model.effects if isinstance(e, JointCompliance) and e.joint == joint)
    pairs = [(angle, p.name) for angle, p in zip(effect.groups, effect.compliances, strict=True)]
    pairs = [(angle, name) for angle, name in pairs if name in found.names and found.at.values[name] > 0.0]
    if len(pairs) < LEAST_ANGLES:
        return None
    index = [found.names.index(name) for _, name in pairs]
    compliance = np.array([found.at.values[name] for _, name in pairs])
    exact = np.diag((EXACT * compliance) ** 2)  # of readings without errors
    return Block(
        joint=model.robot.joints[model.robot.joint_index(joint)],
        angles=np.array([angle for angle, _ in pairs]),
        compliance=compliance,
        covariance=found.estimate.covariance[np.ix_(index, index)] + exact,
        rows=len(found.system),
        priors=priors_of(model.robot, joint),
    )


def priors_of(robot: Robot, joint: str) -> dict[str, tuple[float, float]]:
    """Mean and deviation of the drive's compliance and of the compensator's numbers that have a prior."""
    mine = (f"{joint}.compliance", f"{joint}.compensator.")
    return {
        p.name.removeprefix(f"{joint}."): (p.nominal, p.sigma)
        for p in ArmModel.of(robot).parameters
        if p.sigma is not None and p.name.startswith(mine)
    }


def warnings_of(found: Fit) -> tuple[str, ...]:
    """What is to be said of compensators: those of the file that no arm carries, and fitted ones likewise."""
    fitted = list(_fitted_laws(found))
    names = {joint.name for joint, _ in fitted}
    kept = tuple(c for c in found.asked.model.robot.compensators if c.joint not in names)
    of_file = scale_warnings(replace(found.asked.model.robot, compensators=kept))
    of_file = (*of_file, *_rests_on_torque(found))
    return (*of_file, *(sentence for joint, law in fitted for sentence in _warnings(found, joint, law)))


def _rests_on_torque(found: Fit) -> Iterator[str]:
    if not weights_act(found.asked.model.robot, found.system.campaign):
        return
    for effect in found.asked.model.effects:
        if isinstance(effect, CompensatedJoint) and effect.groups and not _fitted(found, effect):
            yield (
                f"compliances of {effect.joint} by angle take the torque of its compensator, which bends it wherever "
                f"weights do, from the robot file; --select '{effect.joint}.compensator.*' finds it beside them"
            )


def faults_of(found: Fit) -> tuple[str, ...]:
    """Reasons not to use a model: a gas that would have no volume within the limits of its joint."""
    out = []
    for joint, law in _fitted_laws(found):
        try:
            largest_torque(law, joint)
        except InputError as error:
            out.append(
                f"the compensator of {joint.name} as fitted is impossible: {error.problems[0].found} is no volume"
            )
    return tuple(out)


def _fitted_laws(found: Fit) -> Iterator[tuple[Joint, CompensatorLaw]]:
    robot = found.asked.model.robot
    for effect in found.asked.model.effects:
        if not isinstance(effect, CompensatedJoint):
            continue
        if _fitted(found, effect):
            yield robot.joints[robot.joint_index(effect.joint)], effect.law(found.at.values)


def _warnings(found: Fit, joint: Joint, law: CompensatorLaw) -> Iterator[str]:
    try:
        largest = largest_torque(law, joint)
    except InputError:  # a fault
        return
    if largest > TORQUE_SCALE:
        curve = "a curve for the joint's stiffness, not a part"
        yield f"the compensator of {joint.name} as fitted {out_of_scale(largest)}: {curve}"
    for name in _negative(found, joint.name):
        yield f"{name} as fitted is not above 0: the readings do not tell it; give it a [[prior]] or --fix it"


def _negative(found: Fit, joint: str) -> Sequence[str]:
    positive = ("stiffness", "area", "p_ref", "V_ref", "exponent")
    names = [f"{joint}.compensator.{name}" for name in positive]
    return [name for name in names if name in found.names and found.at.values[name] <= 0.0]
