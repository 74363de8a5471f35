"""Whether a compensator is one that can be built: the torque it gives over the limits of its joint.

An industrial arm of 1000 kg that reaches 3 m hangs on its second joint with some 10 kN m, and no compensator gives more
than twice that.  A compensator fitted to nothing but a curve of stiffness easily holds an order of magnitude more.
"""

from __future__ import annotations

import numpy as np

from stiffarm.model.compensator_law import CompensatorLaw
from stiffarm.robot.arm import Joint, Robot

TORQUE_SCALE = 20e3
"""N m: more than any gravity compensator of an industrial arm gives."""
STEPS = 361


def largest_torque(law: CompensatorLaw, joint: Joint) -> float:
    """Largest |M_c| (N m) over the joint's limits, at 0 when it has none; `InputError` for a gas without volume.

    >>> from stiffarm.robot.reading import read_robot
    >>> robot = read_robot("kr270")
    >>> round(largest_torque(CompensatorLaw.of(robot.compensators[0]), robot.joints[1]))
    8913
    """
    low, high = joint.limits or (0.0, 0.0)
    return float(np.abs(law.torque(np.linspace(low, high, STEPS))[0]).max())


def scale_warnings(robot: Robot) -> tuple[str, ...]:
    """A sentence for each compensator of a robot file that no arm carries."""
    out = []
    for compensator in robot.compensators:
        joint = robot.joints[robot.joint_index(compensator.joint)]
        largest = largest_torque(CompensatorLaw.of(compensator), joint)
        if largest > TORQUE_SCALE:
            out.append(
                f"the compensator of {joint.name} {out_of_scale(largest)}; check stiffness, area, pressure, lengths"
            )
    return tuple(out)


def out_of_scale(torque: float) -> str:
    """What to say of a torque (N m) beyond what is built.

    >>> out_of_scale(344e3)
    'gives 344 kN m, out of physical scale (above 20 kN m)'
    """
    return f"gives {torque / 1e3:.3g} kN m, out of physical scale (above {TORQUE_SCALE / 1e3:.0f} kN m)"
