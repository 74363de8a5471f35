"""From options to what is chosen, read and found: the pull, the reading, the model with its parameters.

Without a load geometry is planned for, from positions; with one, the compliances of the joints, from deflections:
what `stiffarm identify` would make of such a campaign.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.identifiability.question import Circumstances, Question, Wanted, load_point_of, markers_of, wanted
from stiffarm.measure.campaign import Isotropic, SharedError, Tracker
from stiffarm.measure.settings import Settings, read_settings
from stiffarm.model.parameters import select
from stiffarm.plan.options import SIGMA_M, PlanOptions
from stiffarm.plan.problem import Cable, FixedForce, Floats, FreeForce, Pull, Reading
from stiffarm.robot.arm import Robot

_GROUPED = re.compile(r"^(?P<joint>[^.*?\[]+)\.compliance\[")
FREE_TURN_RAD, FREE_SLIDE_M = np.pi, 1.0


def pull_of(robot: Robot, options: PlanOptions) -> Pull | None:
    """What pulls at the stops."""
    point = load_point_of(robot, Question(load_point=options.load_point))
    ways = [name for name, given in _WAYS.items() if given(options)]
    if len(ways) > 1:
        raise InputError(
            Problem(
                "the direction of the force is stated twice",
                column="--load",
                found=" and ".join(ways),
                allowed="one of them",
            )
        )
    if options.cable is not None:
        if options.force_n is None:
            raise _need("a cable pulls with a tension, which is not stated", "--force", "a force such as 4000N")
        return Cable(point, options.force_n, options.cable.low_m, options.cable.high_m)
    if options.force_world is not None:
        return FixedForce(point, options.force_world)
    if options.direction == "none":
        return None
    if options.direction == "vertical":
        if options.force_n is None:
            raise _need("a hanging load has a weight, which is not stated", "--force", "a force such as 2600N")
        return FixedForce(point, (0.0, 0.0, -options.force_n))
    return None if options.force_n is None else FreeForce(point, options.force_n)


_WAYS: dict[str, Callable[[PlanOptions], bool]] = {
    "--cable": lambda options: options.cable is not None,
    "--force X,Y,Z": lambda options: options.force_world is not None,
    "--load": lambda options: options.direction is not None,
}
"""How the direction of the force may be stated."""


def _need(what: str, option: str, allowed: str) -> InputError:
    return InputError(Problem(what, column=option, found="nothing", allowed=allowed))


def asked_of(robot: Robot, options: PlanOptions, pull: Pull | None) -> tuple[Wanted, tuple[str, ...], str]:
    """The model with the parameters asked for, the markers, and the kind of reading."""
    geometry = "full" if options.geometry is None and options.elastic == "none" else options.geometry
    bending = pull is not None and geometry in (None, "none")
    kind = options.observe or ("deflection" if bending else "position")
    question = Question(
        geometry=geometry,
        elastic=options.elastic,
        template=options.template,
        links=options.links,
        observe="pose" if kind == "pose" else "position",
        markers=options.markers,
        select=tuple(p for p in options.select if not _grouped(p, options)),
    )
    if options.select and not question.select and question.elastic is None and question.geometry is None:
        question = replace(question, elastic="joints")
    markers = markers_of(robot, question)
    weighs = kind != "deflection" and (robot.tool.mass > 0.0 or any(joint.mass > 0.0 for joint in robot.joints))
    loaded = pull is not None or weighs
    asked = wanted(robot, question, markers, Circumstances(kind == "deflection", loaded))
    asked = _with_groups(asked, options)
    if options.fix:
        held = {p.name for p in select(asked.model.parameters, options.fix)}
        asked = _named(asked, [name for name in asked.names if name not in held])
    if kind == "deflection" and asked.geometric and not asked.elastic:
        raise _need("deflections say nothing of geometry", "--observe", "position or pose")
    if asked.elastic and not loaded:
        raise InputError(
            Problem(
                "compliances are asked for and nothing pulls",
                column="--force",
                found="no force",
                allowed='--force 4000N with --load any|vertical, --cable or --cable-box; or --force "0,0,-2600[N]"',
                next_step="Say what pulls, or ask for --elastic none",
            )
        )
    return asked, markers, kind


def _grouped(pattern: str, options: PlanOptions) -> bool:
    """Whether a pattern names the groups of a joint's compliance."""
    found = _GROUPED.match(pattern)
    if found is None:
        return False
    if found["joint"] not in options.angles:
        raise InputError(
            Problem(
                f"at which angles {found['joint']} shall stand is not stated",
                column="--angles",
                found="nothing",
                allowed=f'values with their unit, such as --angles "{found["joint"]}=0,-30,-60,-90[deg]"',
            )
        )
    return True


def _with_groups(asked: Wanted, options: PlanOptions) -> Wanted:
    """Every joint that stands at given angles alone has one compliance for each."""
    names = set(asked.names)
    model = asked.model
    for joint, angles in options.angles.items():
        if joint not in model.robot.joint_names:
            known = model.robot.joint_names
            step = did_you_mean(joint, known)
            raise InputError(
                Problem(
                    "the robot has no such joint",
                    column="--angles",
                    found=repr(joint),
                    allowed=" ".join(known),
                    next_step=step,
                )
            )
        if f"{joint}.compliance" in names:
            model = model.grouped(joint, angles)
            names |= {p.name for p in model.parameters if p.name.startswith(f"{joint}.compliance[")}
    if model is asked.model:
        return asked
    return _named(replace(asked, model=model), [p.name for p in model.parameters if p.name in names])


def must_be_told(asked: Wanted, options: PlanOptions, pull: Pull | None) -> frozenset[str]:
    """Parameters without which there is no plan: compliances of joints that were asked for, and what was named.

    Where nothing but weights pulls and nobody asked for elasticity, compliances are found as far as weights tell them.
    """
    found = {name for name in asked.names if name in options.select}
    if pull is not None or options.elastic is not None:
        found |= {name for name in asked.names if ".compliance" in name and not name.startswith("link")}
    return frozenset(found)


def _named(asked: Wanted, names: list[str]) -> Wanted:
    chosen = set(names)
    if not chosen:
        raise InputError(Problem("nothing is left to be found", column="--fix", allowed="fewer patterns"))
    part = [p for p in asked.model.parameters if p.name in chosen]
    return Wanted(asked.model, tuple(names), any(p.elastic for p in part), any(not p.elastic for p in part))


def reading_of(options: PlanOptions, markers: tuple[str, ...], kind: str) -> tuple[Reading, tuple[str, ...]]:
    """What is read at every stop, how well, and what was assumed."""
    settings, notes = _settings(options)
    own = options.sigma_m is not None or settings.instrument is None
    instrument = settings.instrument
    if own:
        sigma_m = options.sigma_m
        if sigma_m is None:
            sigma_m = SIGMA_M
            notes = (*notes, f"no instrument was stated: {1e3 * SIGMA_M:g} mm for every number read")
        instrument = Isotropic(sigma_m, options.sigma_rad)
    elif isinstance(instrument, Isotropic) and options.sigma_rad is not None:
        instrument = replace(instrument, sigma_rad=options.sigma_rad)
    assert instrument is not None, "one of the two"
    station = options.station_m
    if station is None and isinstance(instrument, Tracker):
        stated = [setup.station_m for setup in settings.setups if setup.station_m is not None and not setup.placement]
        station = stated[0] if stated else None
    return Reading(kind, markers, instrument, own, settings.shared, station, settings.load_uncertainty), notes  # type: ignore[arg-type]


def _settings(options: PlanOptions) -> tuple[Settings, tuple[str, ...]]:
    if options.settings is None:
        return Settings(shared=SharedError()), ()
    if not Path(options.settings).is_file():
        raise InputError(Problem("there is no such file", str(options.settings), column="--instrument"))
    settings = read_settings(options.settings)
    if settings.instrument is None:
        raise InputError(
            Problem(
                "the settings name no instrument whose deviations are known for any configuration",
                str(options.settings),
                column="instrument",
                allowed="isotropic, tracker or spherical",
            )
        )
    return settings, settings.warnings


def limits_of(robot: Robot) -> tuple[Floats, Floats, tuple[str, ...]]:
    """Lowest and highest joint values; joints without limits turn by half a turn or slide by a metre each way."""
    low, high, free = [], [], []
    for joint in robot.joints:
        reach = FREE_TURN_RAD if joint.kind == "revolute" else FREE_SLIDE_M
        a, b = joint.limits or (-reach, reach)
        low.append(a)
        high.append(b)
        free += [] if joint.limits else [joint.name]
    notes = (f"{', '.join(free)} without limits in the robot file: half a turn or 1 m each way",) if free else ()
    return np.array(low), np.array(high), notes
