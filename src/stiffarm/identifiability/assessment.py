"""The whole answer to "what can this robot, these loads and these markers ever tell?".

Groups come from a plan's own rows or from generic configurations; what would help is found by adding rows of other
loads, of orientations or of further markers at the same configurations and grouping again; how many configurations
it takes by grouping the first few only.

Rank is decided on the geometry of the file.  Redundancy of elastic elements rests on exact right angles and
intersections; a misalignment of a few micrometres or microradians lifts it just above rounding, and parameters
count as told that no load and no patience would tell.  How far it would is computed and said.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.advice import Help, helps, other_directions
from stiffarm.identifiability.design import Design, design_columns, generic_design, load_kind, stiff
from stiffarm.identifiability.groups import Groups, find_groups
from stiffarm.identifiability.in_use import keep_for_use
from stiffarm.identifiability.planned import PlanRows, plan_rows, unknown_frames
from stiffarm.identifiability.practical import Practical, covariance_of, estimate_of, practical_classes
from stiffarm.identifiability.question import (
    Circumstances,
    ObserveKind,
    Question,
    Wanted,
    load_point_of,
    markers_of,
    priority,
    wanted,
)
from stiffarm.identifiability.spectrum import WEAK, spectrum
from stiffarm.identifiability.stands_for import Reduced, cost_of_reduction
from stiffarm.identifiability.touch_advice import TouchFacts, touch_facts, touch_helps
from stiffarm.identifiability.touch_design import generic_touches
from stiffarm.identifiability.touched_rows import touching
from stiffarm.identifiability.use_design import Use, design_of_plan, design_of_use
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.measure.targets import NAMES, TOUCHED
from stiffarm.measure.touch_checks import checked_touches
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.chain import AXES
from stiffarm.model.parameters import Parameter
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import rotation_from_rpy, rotation_from_vector, rpy_from_rotation
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]

MISALIGNMENT = 1e-5
"""m and rad."""
NO_USE = "the use was left aside: what matters there is judged for a plan of deflections whose noise is stated"
ON_PAPER = 1e-9
"""Relative singular values above this count as told when nobody asks for noise."""


@dataclass(frozen=True)
class UseEffect:
    """What one base parameter does where the model is used."""

    name: str
    effect_m: float
    """Root mean square change of the predicted deflection when it is held at zero and the others follow."""
    matters: bool
    """Whether predictions get better by keeping it (`stiffarm.identifiability.in_use`)."""


@dataclass(frozen=True)
class Misaligned:
    """What a misalignment would make of the rank."""

    on_paper: int
    """Rank at a relative singular value of `ON_PAPER`."""
    against_noise: int
    """Rank at `WEAK`."""


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Shown):
    """What can be told, how well, and what would help."""

    robot: Robot
    question: Question
    model_parameters: dict[str, Parameter]
    design: Design | None
    """Generic configurations, or the plan's loads and markers in that form; None when the plan has no loads."""
    planned: bool
    readings: str
    """``deflections``, ``positions``, ``poses`` or a plan's kinds."""
    load: str
    markers: tuple[str, ...]
    configurations: int
    enough: int
    """The least number of the configurations, first to last, that reach the rank."""
    groups: Groups
    practical: tuple[Practical, ...]
    """Empty without noise."""
    in_use: tuple[UseEffect, ...]
    """What matters where the model is used; empty when no use was stated or without noise."""
    help: tuple[Help, ...]
    misaligned: Misaligned | None
    """None when no elastic parameter is redundant."""
    warnings: tuple[str, ...]
    touches: TouchFacts | None = None
    """None when something else than touches is read as well, or nothing is touched."""
    reduced: Reduced | None = None
    """None when no reduction was asked for."""

    def summary(self) -> tuple[str, ...]:
        """In words."""
        from stiffarm.identifiability.words import sentences

        return tuple(sentences(self))

    def to_polars(self) -> pl.DataFrame:
        """What can be told, one combination a row; with a plan how well, SI."""
        import polars as pl

        from stiffarm.identifiability.words import table_rows

        return pl.DataFrame(table_rows(self), infer_schema_length=None)


def assess(
    robot: Robot, plan: Campaign | None = None, question: Question | None = None, use: Use | None = None
) -> Assessment:
    """Assess a robot on a plan or, without one, on generic configurations.

    ``use`` holds the configurations, loads and points of use; it is judged for plans of deflections.
    """
    asked_for = question or Question()
    found = _assessed(robot, plan, asked_for, use)
    if use is None or found.in_use or (plan is not None and found.reduced is not None):
        return found
    return replace(found, warnings=(*found.warnings, NO_USE))


def _assessed(robot: Robot, plan: Campaign | None, question: Question, use: Use | None) -> Assessment:
    if plan is None:
        return _generic_touches(robot, question) if question.observe in TOUCHED else _generic(robot, question)
    return _touches(robot, plan, question) if _only_touches(plan) else _planned(robot, plan, question, use)


def _generic(robot: Robot, question: Question) -> Assessment:
    asked = wanted(robot, question, markers_of(robot, question))
    design = generic_design(robot, question, asked)
    deflection = not asked.geometric
    rows = design_columns(design, asked.model, asked.names, deflection=deflection)
    sizes = _sizes(asked, asked.names)
    order = priority(robot, asked.names)
    groups = find_groups(rows, asked.names, sizes=sizes, priority=order)
    load = load_kind(question, asked)
    readings = "deflections" if deflection else "poses" if design.pose else "positions"
    return Assessment(
        robot,
        question,
        {p.name: p for p in asked.model.parameters},
        design,
        False,
        readings,
        load,
        design.markers,
        len(design),
        _enough(rows, sizes, design.numbers_per_configuration, groups.rank),
        groups,
        (),
        (),
        helps(asked, design, rows, sizes, groups, load, deflection),
        _misaligned(asked, design, groups, deflection),
        _warnings(groups, deflection),
        reduced=_reduced(asked, question, None, None),
    )


def _only_touches(plan: Campaign) -> bool:
    return bool((touching(plan) | plan.kind("distance")).all())


def _generic_touches(robot: Robot, question: Question) -> Assessment:
    asked = wanted(robot, question, markers_of(robot, question), Circumstances(frames=True))
    plan = generic_touches(stiff(asked.model), question, asked)
    return replace(_touches(robot, plan, question), planned=False, load=load_kind(question, asked))


def _touches(robot: Robot, plan: Campaign, question: Question) -> Assessment:
    """A plan whose rows touch things of unknown place, and know distances between them."""
    markers = _markers_of_plan(plan)
    load = _load_words(robot, plan, False)
    odd = checked_touches(ArmModel.of(robot).at(), plan)
    asked = wanted(robot, replace(question, observe="position"), markers, Circumstances(False, load != "none", True))
    found = plan_rows(plan, asked)
    groups = find_groups(found.rows, found.names, sizes=found.sizes, priority=priority(robot, found.names))
    points = plan.experiments.load_points
    facts = touch_facts(plan, asked, found, groups)
    return Assessment(
        robot,
        question,
        {p.name: p for p in asked.model.parameters},
        None,
        True,
        f"touched {' and '.join(facts.shapes)}",
        load,
        markers,
        int(touching(plan).sum()),
        int(touching(plan).sum()),
        groups,
        _practical(asked, found, groups, question, False),
        (),
        touch_helps(plan, asked, found, groups, load, points[0] if points else load_point_of(robot, question)),
        None,
        (*odd, *_warnings(groups, False)),
        touches=facts,
    )


def _markers_of_plan(plan: Campaign) -> tuple[str, ...]:
    codes = np.unique(plan.readings.marker[~plan.kind("distance")]).tolist()
    return tuple(dict.fromkeys(plan.markers[m] if m >= 0 else DEFAULT_MARKER for m in codes))


def _planned(robot: Robot, plan: Campaign, question: Question, use: Use | None) -> Assessment:
    kinds = [kind for kind in ("position", "deflection", "pose") if plan.kind(kind).any()]
    touched = [f"touched {NAMES[shape]}s" for shape in TOUCHED if plan.kind(shape).any()]
    markers = _markers_of_plan(plan)
    observe: ObserveKind = "pose" if "pose" in kinds else "position"
    load = _load_words(robot, plan, kinds == ["deflection"])
    seen = Circumstances(kinds == ["deflection"] and not touched, load != "none", bool(unknown_frames(plan)))
    asked = wanted(robot, replace(question, observe=observe), markers, seen)
    found = plan_rows(plan, asked)
    deflection = found.deflections
    order = priority(robot, found.names)
    groups = find_groups(found.rows, found.names, sizes=found.sizes, priority=order)
    design = design_of_plan(robot, plan, question, markers, "pose" in kinds)
    used = len(np.unique(plan.readings.experiment))
    practical = _practical(asked, found, groups, question, deflection)
    framed = len(found.names) > len(asked.names)
    return Assessment(
        robot,
        question,
        {p.name: p for p in asked.model.parameters},
        design,
        True,
        "deflections" if deflection else " and ".join([*(f"{kind}s" for kind in kinds), *touched]),
        load,
        markers,
        used,
        used,
        groups,
        other_directions(asked, design, found, groups, practical) if deflection else practical,
        _in_use(robot, asked, found, groups, practical, question, use) if deflection and use is not None else (),
        () if touched or framed else helps(asked, design, found.rows, found.sizes, groups, "", deflection),
        _misaligned(asked, design, groups, deflection),
        _warnings(groups, deflection),
        reduced=_reduced(asked, question, use if use is None else design_of_use(robot, use, question), found.sigma_m),
    )


def _reduced(asked: Wanted, question: Question, use: Design | None, sigma_m: float | None) -> Reduced | None:
    if asked.model.reduction is None or not question.reduce:
        return None
    return cost_of_reduction(asked.model, question.reduce, use, sigma_m)


def _sizes(asked: Wanted, names: tuple[str, ...]) -> Floats:
    size = {p.name: p.scale for p in asked.model.parameters}
    return np.array([size[name] for name in names])


def _enough(rows: Floats, sizes: Floats, per: int, rank: int) -> int:
    """Fewest first configurations that reach the rank, by bisection."""
    low, high = max(1, rank // per), len(rows) // per
    while low < high:
        middle = (low + high) // 2
        if spectrum(rows[: middle * per], sizes).rank < rank:
            low = middle + 1
        else:
            high = middle
    return low


def _load_words(robot: Robot, plan: Campaign, deflection: bool) -> str:
    """What bends the arm in a plan: none, weights, joint torques, vertical, horizontal or any."""
    wrench = plan.experiments.wrench_world
    if not wrench.any():
        if plan.experiments.joint_torque is not None and not deflection:
            return "joint torques"
        weighs = robot.tool.mass > 0.0 or any(joint.mass > 0.0 for joint in robot.joints)
        weighs = weighs or any(setup.payload is not None for setup in plan.setups)
        return "weights" if weighs and not deflection else "none"
    if np.abs(wrench[:, 3:]).max() > 0.0:
        return "any"
    least = 1e-6 * np.abs(wrench[:, :3]).max()
    across, up = np.linalg.norm(wrench[:, :2], axis=1).max(), np.abs(wrench[:, 2]).max()
    if across < least:
        return "vertical"
    return "horizontal" if up < least else "vertical and horizontal"


def _practical(
    asked: Wanted, found: PlanRows, groups: Groups, question: Question, deflection: bool
) -> tuple[Practical, ...]:
    """Classes, when the noise is stated or, for measured deflections, seen in what a fit leaves."""
    at = [found.names.index(c.name) for c in groups.base]
    parameters = {p.name: p for p in asked.model.parameters}
    rows, estimated = found.rows, None
    spare = len(rows) - len(at)
    if found.right is not None and deflection and at and spare > 0:
        step, _ = estimate_of(rows[:, at], found.right)
        nominal = {name: parameters[name].nominal for name in asked.names}
        estimated = {c.name: c.of(nominal) + float(s) for c, s in zip(groups.base, step, strict=True)}
        if not found.noise_known:
            rest = found.right - rows[:, at] @ step
            rows = rows / np.sqrt(rest @ rest / spare)
    elif not found.noise_known:
        return ()
    return practical_classes(groups, rows, parameters, estimated=estimated, bounds=question.nu)


def _in_use(
    robot: Robot,
    asked: Wanted,
    found: PlanRows,
    groups: Groups,
    practical: tuple[Practical, ...],
    question: Question,
    use: Use,
) -> tuple[UseEffect, ...]:
    """What every base parameter does in use, judged by the value and the noise of its class."""
    judged = {p.name: p for p in practical}
    base = [c.name for c in groups.base]
    if not practical or not base:
        return ()
    at = [found.names.index(name) for name in base]
    values = np.array([judged[name].value or 0.0 for name in base])
    design = design_of_use(robot, use, question)
    rows = design_columns(design, asked.model, tuple(base), deflection=True)
    noise = np.sqrt(covariance_of(found.rows[:, at])[0, 0]) / (judged[base[0]].sigma or 1.0)
    chosen = keep_for_use(values, covariance_of(found.rows[:, at]) / noise**2, rows)
    kept = set(chosen.kept)
    effect = chosen.effect * np.sqrt(3.0)  # of three coordinates together
    return tuple(UseEffect(name, float(effect[i]), i in kept) for i, name in enumerate(base))


def _misaligned(asked: Wanted, design: Design, groups: Groups, deflection: bool) -> Misaligned | None:
    """The rank if every joint and spring were off by `MISALIGNMENT`; only where links are redundant."""
    redundant = [name for name in groups.merged if name.startswith("link")]
    if not redundant or not deflection or not design.force_world.any():
        return None
    random = np.random.default_rng(1)
    off = {
        f"{joint}.{axis}": MISALIGNMENT * float(random.standard_normal())
        for joint in asked.model.robot.joint_names
        for axis in AXES
    }
    names = tuple(name for name in groups.names if name in asked.names)
    kept = [groups.names.index(name) for name in names]
    length, seen, sizes = groups.spectrum.length[kept], groups.spectrum.seen[kept], _sizes(asked, names)
    # columns that were zero are measured by what others move, not by themselves
    length = np.where(seen, length, np.median((length * sizes)[seen]) / sizes)
    rows = design_columns(design, _springs_off(asked.model, random), names, deflection=True, off=off) / length
    nominal = design_columns(design, asked.model, names, deflection=True) / length
    values = np.linalg.svd(rows, compute_uv=False) / np.linalg.norm(nominal, 2)
    return Misaligned(int(np.sum(values > ON_PAPER)), int(np.sum(values > WEAK)))


def _springs_off(model: ArmModel, random: np.random.Generator) -> ArmModel:
    """The model with every spring's frame turned by about `MISALIGNMENT`."""
    links = tuple(
        replace(
            link,
            rpy=rpy_from_rotation(
                rotation_from_rpy(link.rpy) @ rotation_from_vector(MISALIGNMENT * random.standard_normal(3))
            ),
        )
        for link in model.robot.links
    )
    return ArmModel.of(replace(model.robot, links=links)).like(model)


def _warnings(groups: Groups, deflection: bool) -> tuple[str, ...]:
    out = []
    if weak := groups.spectrum.weak:
        out.append(
            f"{weak} of the {groups.rank} numbers {'is' if weak == 1 else 'are'} told more than {1 / WEAK:g} times "
            "weaker than the strongest: a geometry that was calibrated, or a design too poor; judge on nominal "
            f"geometry or against noise, where {groups.rank - weak} remain"
        )
    if not groups.clear:
        out.append(
            f"the rank is not clear-cut: {groups.rank} by singular values, {len(groups.base)} by choosing one by one"
        )
    return tuple(out)
