"""Generic touches: targets within reach, touched in postures as different as the arm allows.

A target stands where a random posture brings the marker; points of a plane lie around it, those of a sphere on a ball
about it.  Which postures touch them is left to chance (`stiffarm.model.reaching`), so that what they cannot tell no
touches of such targets can.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.identifiability.design import FEWEST, MOST, ROWS_PER_PARAMETER, generic_loads, load_kind
from stiffarm.identifiability.question import Question, Wanted, load_point_of, markers_of
from stiffarm.measure.campaign import Campaign, Experiments, Readings
from stiffarm.measure.targets import Shape
from stiffarm.measure.touch_plan import KnownDistance, Pull, Touching, plan_of_touches
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import jacobian
from stiffarm.model.reaching import joint_ranges, stand_at, touch_again

Floats = NDArray[np.float64]

TARGETS: dict[Shape, int] = {"touch": 3, "plane": 2, "sphere": 2}
NUMBERS: dict[Shape, int] = {"touch": 3, "plane": 1, "sphere": 1}
"""Read in every touch."""
PATCH, BALL, GAP = 0.25, 0.1, 0.1
"""Half width of a plane, radius of a ball, gap of parallel planes, relative to the height of the workspace."""
FURTHER_M = 0.1
"""How far away a second target is put when a plan has only one."""
TRIES = 40


def generic_touches(arm: Arm, question: Question, asked: Wanted) -> Campaign:
    """A plan that touches the targets asked for; with ``known_length`` something of them has a known size."""
    shape: Shape = question.observe  # type: ignore[assignment]
    marker = markers_of(arm.robot, question)[0]
    random = np.random.default_rng([question.seed, 2])
    wanted = ROWS_PER_PARAMETER * len(asked.names) // (NUMBERS[shape] * TARGETS[shape]) + 1
    count = int(np.clip(wanted, FEWEST // TARGETS[shape], MOST))
    targets = [_target(arm, marker, shape, f"{shape} {i + 1}", count, random) for i in range(TARGETS[shape])]
    n = sum(t.q.shape[1] for t in targets)
    force, torque = generic_loads(load_kind(question, asked), n, np.random.default_rng([question.seed, 1]))
    pull = Pull(load_point_of(arm.robot, question), force, torque) if force.any() else None
    plan = plan_of_touches(arm.robot.joint_names, targets, pull=pull, marker=marker)
    return with_known_length(plan, arm)[1] if question.known_length else plan


def _target(arm: Arm, marker: str, shape: Shape, name: str, count: int, random: np.random.Generator) -> Touching:
    """One target that can be touched often enough."""
    low, high = joint_ranges(arm)
    for _ in range(TRIES):
        middle = jacobian(arm.chain, random.uniform(low, high)[:, None], arm.chain.point(marker))[0]
        places = _places(shape, middle, 2 * count, _size(arm), random)
        found = touch_again(arm, marker, places, random)
        if found.there.sum() >= count:
            return Touching(name, shape, np.ascontiguousarray(found.q[:, found.there][:, :count]))
    raise InputError(
        Problem(
            "no target is found that this arm can touch often enough in different postures",
            column="--observe",
            found=shape,
            allowed="an arm with at least four joints and limits that leave it room",
            next_step="Ask about poses or positions, or hand over a plan",
        )
    )


def _size(arm: Arm) -> float:
    return float(sum(np.linalg.norm(fixed.translation) for fixed in arm.chain.fixed))


def _places(shape: Shape, middle: Floats, count: int, size: float, random: np.random.Generator) -> Floats:
    """(3, count) points of a target."""
    if shape == "touch":
        return np.repeat(middle, count, axis=1)
    axes = np.linalg.qr(random.standard_normal((3, 3)))[0]
    if shape == "plane":
        return np.asarray(middle + axes[:, :2] @ random.uniform(-PATCH * size, PATCH * size, (2, count)))
    away = random.standard_normal((3, count))
    return np.asarray(middle + BALL * size * away / np.linalg.norm(away, axis=0))


def with_known_length(plan: Campaign, arm: Arm) -> tuple[str, Campaign]:
    """The plan with one length more that is known, and the words for it."""
    readings = plan.readings
    spheres = plan.kind("sphere") & ~np.isfinite(readings.radius_m)
    if spheres.any():
        mine = spheres & (readings.target == readings.target[np.flatnonzero(spheres)[0]])
        radius = np.where(mine, _radius(plan, arm, mine), readings.radius_m)
        return "a sphere of known radius", replace(plan, readings=replace(readings, radius_m=radius))
    centred = plan.kind("touch") | plan.kind("sphere")
    names = list(dict.fromkeys(readings.target[centred].tolist()))
    if len(names) > 1:
        return "a known distance between two of the points", with_distance(plan, names[0], names[1])
    second = shifted(plan, arm, names[0] if names else int(readings.target[0]))
    last = len(second.targets) - 1
    first = names[0] if names else int(readings.target[0])
    words = "a second point at a known distance" if names else "a second plane, parallel at a known gap"
    return words, with_distance(second, first, last)


def _radius(plan: Campaign, arm: Arm, rows: NDArray[np.bool_]) -> float:
    from stiffarm.measure.sphere import best_sphere

    at = np.flatnonzero(rows)
    name = plan.markers[plan.readings.marker[at[0]]] if plan.readings.marker[at[0]] >= 0 else "tool"
    q = np.ascontiguousarray(plan.experiments.q[:, plan.readings.experiment[at]])
    world = jacobian(arm.chain, q, arm.chain.point(name))[0]
    return float(best_sphere(world.T, np.ones(len(at)), None)[3])


def with_distance(plan: Campaign, first: int, second: int) -> Campaign:
    """A plan with a distance row between two of its targets; its length follows from the postures."""
    names = plan.targets
    extra = plan_of_touches(plan.joints, (), (KnownDistance(names[first], names[second], np.nan),))
    row = replace(extra.readings, target=np.array([first]), target2=np.array([second]))
    return joined(plan, extra.experiments, row)


def shifted(plan: Campaign, arm: Arm, target: int) -> Campaign:
    """A plan that touches, beside one of its targets, another like it a little farther along x + y + z."""
    rows = np.flatnonzero((plan.readings.target == target) & ~plan.kind("distance"))
    name = plan.markers[plan.readings.marker[rows[0]]] if plan.readings.marker[rows[0]] >= 0 else "tool"
    q = np.ascontiguousarray(plan.experiments.q[:, plan.readings.experiment[rows]])
    away = np.full((3, 1), FURTHER_M / np.sqrt(3.0))
    there = stand_at(arm, name, jacobian(arm.chain, q, arm.chain.point(name))[0] + away, q)
    again = repeated(plan, rows[there.there], there.q[:, there.there])
    new = len(plan.targets)
    moved = np.where(np.arange(len(again.readings)) >= len(plan.readings), new, again.readings.target)
    return replace(again, readings=replace(again.readings, target=moved), targets=(*plan.targets, "another"))


def repeated(plan: Campaign, rows: NDArray[np.int64], q: Floats, wrench: Floats | None = None) -> Campaign:
    """A plan with some of its touches once more, in given postures and under another load (points, 6, rows)."""
    experiments, readings = plan.experiments, plan.readings
    at = readings.experiment[rows]
    own = replace(
        experiments,
        names=tuple(f"{experiments.names[i]}'" for i in at),
        q=q,
        wrench_world=experiments.wrench_world[:, :, at] if wrench is None else wrench,
    )
    again = Readings(**{name: getattr(readings, name)[..., rows] for name in vars(readings)})
    return joined(plan, own, replace(again, experiment=np.arange(len(rows))))


def also_under(plan: Campaign, point: str, force_world: Floats, torque_world: Floats) -> Campaign:
    """A plan with every touch once more, another load (3, touches) pulling at a point instead of its own."""
    rows = np.flatnonzero(~plan.kind("distance"))
    experiments = plan.experiments
    points = tuple(dict.fromkeys((*experiments.load_points, point)))
    wide = np.zeros((len(points), 6, len(experiments)))
    wide[: len(experiments.load_points)] = experiments.wrench_world
    plan = replace(plan, experiments=replace(experiments, load_points=points, wrench_world=wide))
    wrench = np.zeros((len(points), 6, len(rows)))
    wrench[points.index(point)] = np.concatenate([force_world, torque_world])
    q = np.ascontiguousarray(experiments.q[:, plan.readings.experiment[rows]])
    return repeated(plan, rows, q, wrench)


def joined(plan: Campaign, experiments: Experiments, readings: Readings) -> Campaign:
    """A plan with further experiments and readings; only names, joints and loads of the experiments are kept."""
    own = plan.experiments
    points = len(own.load_points)
    wrench = np.zeros((points, 6, len(experiments)))
    if experiments.wrench_world.shape[0] == points:
        wrench = experiments.wrench_world
    parts = {
        name: np.concatenate([getattr(plan.readings, name), getattr(readings, name)], axis=-1)
        for name in vars(readings)
        if name != "experiment"
    }
    return replace(
        plan,
        experiments=Experiments(
            (*own.names, *experiments.names),
            np.concatenate([own.q, experiments.q], axis=1),
            load_points=own.load_points,
            wrench_world=np.concatenate([own.wrench_world, wrench], axis=2),
        ),
        readings=Readings(
            experiment=np.concatenate([plan.readings.experiment, readings.experiment + len(own)]), **parts
        ),
        extra={},
    )
