"""The rows of a design: what every reading of it says about every parameter.

Columns are taken to first order in the elasticity.  Those of geometry are the stiff arm's, those of compliances at
the unloaded posture and without compensators: what bending does to geometry's columns, or a compensator to those
of its joint, is of second order.  It would lift redundant parameters just above rounding, where they count as told
on paper and in no measurement.  Only what has no column of its own otherwise (numbers of compensators, loads that
are not known) is taken on the arm of the file.

Generic configurations are uniform within the joint limits.  Loads are uniform in size and, for ``any``, in the
direction of force and moment.  Readings of bending alone are deflections; as soon as geometry is asked for they are
positions or poses, which feel weights too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.question import COMPENSATOR, LoadKind, Question, Wanted, load_point_of, markers_of
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.model.parameters import Values
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]

FORCE_N = 1000.0
MOMENT_NM = 1000.0
FREE_TURN_RAD = np.pi
FREE_SLIDE_M = 1.0
ROWS_PER_PARAMETER = 3
FEWEST, MOST = 40, 600


@dataclass(frozen=True, eq=False)
class Design:
    """Configurations, loads and points, not yet measured."""

    q: Floats
    """(joints, n) controller values, rad or m."""
    force_world: Floats
    """(3, n) N, at the load point."""
    torque_world: Floats
    """(3, n) N m."""
    load_point: str
    markers: tuple[str, ...]
    pose: bool
    """Whether orientation is read as well, at the first marker."""

    def __len__(self) -> int:
        return int(self.q.shape[1])

    @property
    def numbers_per_configuration(self) -> int:
        """How many numbers are read at each configuration."""
        return 3 * len(self.markers) + (3 if self.pose else 0)

    def under(self, load: LoadKind | str, seed: int, factor: float = 1.0) -> Design:
        """The same configurations and points under another kind of load, ``factor`` times the usual size."""
        force, torque = generic_loads(load, len(self), np.random.default_rng([seed, 1]))
        return replace(self, force_world=factor * force, torque_world=factor * torque)


def generic_design(robot: Robot, question: Question, asked: Wanted) -> Design:
    """Random configurations and loads, enough of them for every parameter asked for."""
    markers, point = markers_of(robot, question), load_point_of(robot, question)
    pose = question.observe == "pose"
    per = 3 * len(markers) + (3 if pose else 0)
    count = int(np.clip(ROWS_PER_PARAMETER * len(asked.names) // per + 1, FEWEST, MOST))
    q = random_configurations(robot, count, np.random.default_rng([question.seed, 0]))
    force, torque = generic_loads(load_kind(question, asked), count, np.random.default_rng([question.seed, 1]))
    return Design(q, force, torque, point, markers, pose)


def load_kind(question: Question, asked: Wanted) -> LoadKind:
    """The load of generic configurations."""
    return question.load or ("any" if asked.elastic else "none")


def random_configurations(robot: Robot, count: int, random: np.random.Generator) -> Floats:
    """(joints, count) controller values uniform within the limits; a free joint turns by +-180 deg or slides 1 m."""
    low, high = np.array([_range(joint.limits, joint.kind == "revolute") for joint in robot.joints]).T
    return np.ascontiguousarray(random.uniform(low[:, None], high[:, None], (len(low), count)))


def _range(limits: tuple[float, float] | None, turns: bool) -> tuple[float, float]:
    free = FREE_TURN_RAD if turns else FREE_SLIDE_M
    return limits or (-free, free)


def generic_loads(kind: LoadKind | str, count: int, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Forces and moments (3, count): ``none``, ``vertical``, ``horizontal``, ``force`` (any direction) or ``any``."""
    size = random.uniform(0.2, 1.0, count)
    force, torque = np.zeros((3, count)), np.zeros((3, count))
    if kind == "vertical":
        force[2] = -FORCE_N * size
    elif kind == "horizontal":
        angle = random.uniform(-np.pi, np.pi, count)
        force[:2] = FORCE_N * size * np.stack([np.cos(angle), np.sin(angle)])
    elif kind != "none":
        force = FORCE_N * _directions(count, random) * size
        if kind == "any":
            torque = MOMENT_NM * _directions(count, random) * random.uniform(0.2, 1.0, count)
    return force, torque


def _directions(count: int, random: np.random.Generator) -> Floats:
    drawn = random.standard_normal((3, count))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=0))


def stiff(model: ArmModel, off: Values | None = None) -> Arm:
    """The arm of the file, or ``off`` by some geometric values, without compensators and with compliances at zero."""
    plain = model
    if model.robot.compensators:
        plain = ArmModel.of(replace(model.robot, compensators=())).like(model)
    return plain.at({p.name: 0.0 for p in plain.parameters if p.elastic} | dict(off or {}))


def second_order(name: str) -> bool:
    """Whether a parameter shows only on an arm that bends already."""
    return COMPENSATOR in name or name.startswith(("load.", "payload."))


def design_columns(
    design: Design, model: ArmModel, names: Sequence[str], *, deflection: bool, off: Values | None = None
) -> Floats:
    """(readings, parameters): change of every number read, m and rad, per unit of every parameter.

    Readings of a configuration stand together; ``off`` are geometric values away from nominal.
    """
    bent = [name for name in names if second_order(name)]
    first = [name for name in names if not second_order(name)]
    out = np.zeros((len(design), design.numbers_per_configuration, len(names)))
    for arm, part in ((stiff(model, off), first), (model.at(off), bent)):
        if part:
            at = [names.index(name) for name in part]
            out[:, :, at] = _columns_of(design, arm, part, deflection)
    return out.reshape(-1, len(names))


def _columns_of(design: Design, arm: Arm, names: Sequence[str], deflection: bool) -> Floats:
    external = Load(arm.chain.point(design.load_point), design.force_world, design.torque_world)
    loads = (external,) if design.force_world.any() or design.torque_world.any() else ()
    state = State(design.q, loads if deflection else (*loads, *arm.weights()))
    blocks = []
    for i, marker in enumerate(design.markers):
        turning = design.pose and i == 0
        blocks.append(sensitivity(arm, state, marker, names, rotation=turning, deflection=deflection)[1])
    return np.asarray(np.concatenate(blocks, axis=1).transpose(2, 1, 0))
