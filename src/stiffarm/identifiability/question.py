"""What is asked of a design: which parameters, under which load, seen how; and the order in which they are wanted.

Of parameters that cannot be told apart, the one an engineer would rather read a number for is kept: compliances of
joints first, then compensators, the frames of base and setups, markers and tool, each joint's own zero, the other
placement errors from the base outwards, links from the base outwards, loads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.measure.campaign import DEFAULT_MARKER
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.chain import AXES
from stiffarm.model.parameters import select
from stiffarm.robot.arm import AxisPlacement, Link, Robot, Template

GeometryChoice = Literal["none", "offsets", "full"]
ElasticChoice = Literal["none", "joints", "links"]
LinksChoice = Literal["base", "none"]
LoadKind = Literal["any", "vertical", "none"]
ObserveKind = Literal["pose", "position", "touch", "plane", "sphere"]

COMPENSATOR = ".compensator."
FRAME = "setup."


@dataclass(frozen=True)
class Question:
    """What `assess` is asked; None means: decided by the rest."""

    geometry: GeometryChoice | None = None
    """None: ``full`` when ``elastic`` is not named either, else ``none``."""
    elastic: ElasticChoice | None = None
    """None: ``joints`` when ``geometry`` is not named either, else ``none``."""
    template: Template | None = None
    """Of links the file does not describe (``symmetric``); of all links when the file describes every one."""
    links: LinksChoice = "base"
    """Whether there is a link before the first joint."""
    load: LoadKind | None = None
    """None: ``any`` when compliances are asked for."""
    observe: ObserveKind = "position"
    known_length: bool = False
    """Of generic touches: one distance between points, the gap of two parallel planes or a radius is known."""
    markers: tuple[str, ...] = ()
    """Empty: every marker of the tool for positions, the tool point for poses and touches."""
    load_point: str | None = None
    """None: the first load point of the tool, else the tool point."""
    select: tuple[str, ...] = ()
    """Patterns of further parameters."""
    reduce: tuple[str, ...] = ()
    """Rules of reduction, one after the other (`stiffarm.identifiability.rules`)."""
    nu: tuple[float, float] = (2.0, 5.0)
    """Bounds of the classes negligible | uncertain | identifiable."""
    seed: int = 0

    def __post_init__(self) -> None:
        low, high = self.nu
        if not 0.0 < low <= high:
            raise InputError(
                Problem(
                    "the bounds of the practical classes must rise",
                    column="--nu",
                    found=f"{low:g},{high:g}",
                    allowed="two positive numbers LOW,HIGH with LOW <= HIGH, such as 2,5",
                )
            )


@dataclass(frozen=True, eq=False)
class Wanted:
    """A model and the names of the parameters asked for, in the order of the model."""

    model: ArmModel
    names: tuple[str, ...]
    elastic: bool
    geometric: bool

    @property
    def size(self) -> dict[str, float]:
        """Typical size of every parameter of the model, SI."""
        return {p.name: p.scale for p in self.model.parameters}


@dataclass(frozen=True)
class Circumstances:
    """What of a plan decides what is asked for when the question does not say."""

    deflections: bool = False
    """Only bending is read."""
    loaded: bool = True
    """Something bends the arm."""
    frames: bool = False
    """Frames of setups are unknown: they stand for the placement of the base."""


def wanted(robot: Robot, question: Question, markers: Sequence[str], seen: Circumstances | None = None) -> Wanted:
    """The model and the unknowns."""
    seen = seen or Circumstances()
    geometry, elastic = _choices(question, seen)
    with_links = robot_with_links(robot, question) if elastic == "links" else robot
    model = ArmModel.of(with_links)
    if question.reduce:
        from stiffarm.identifiability.rules import reduced_model, refuse_waiting

        refuse_waiting(question.reduce)
        model = reduced_model(model, question.reduce)
    names = [*_elastic_names(model, elastic), *_geometric_names(model, geometry, question.observe, markers)]
    if seen.frames:
        names = [name for name in names if not name.startswith("base.")]
    if question.select:
        names += [p.name for p in select(model.parameters, question.select)]
    chosen = set(names)
    ordered = tuple(p.name for p in model.parameters if p.name in chosen)
    if not ordered:
        raise InputError(
            Problem(
                "nothing is asked for",
                found="geometry none, elastic none",
                allowed="--geometry offsets|full, --elastic joints|links, or --select PATTERN",
            )
        )
    bends = any(p.elastic for p in model.parameters if p.name in chosen)
    return Wanted(model, ordered, bends, any(not p.elastic for p in model.parameters if p.name in chosen))


def _choices(question: Question, seen: Circumstances) -> tuple[GeometryChoice, ElasticChoice]:
    geometry, elastic = question.geometry, question.elastic
    neither = geometry is None and elastic is None and not question.select
    if geometry is None:
        geometry = "full" if neither and not seen.deflections else "none"
    if elastic is None:
        elastic = "joints" if neither and (seen.loaded or seen.deflections) else "none"
    return geometry, elastic


def robot_with_links(robot: Robot, question: Question) -> Robot:
    """Every link elastic, with the templates that the file or the question gives them."""
    owners = [*(["base"] if question.links == "base" else []), *robot.joint_names]
    described = {link.after: link for link in robot.links}
    if question.template is not None and set(owners) <= set(described):
        described = {name: replace(link, template=question.template) for name, link in described.items()}
    template = question.template or "symmetric"
    return replace(robot, links=tuple(described.get(name, Link(name, template)) for name in owners))


def _elastic_names(model: ArmModel, elastic: ElasticChoice) -> list[str]:
    if elastic == "none":
        return []
    found = [p.name for p in model.parameters if p.elastic and COMPENSATOR not in p.name]
    return found if elastic == "links" else [name for name in found if not name.startswith("link")]


def _geometric_names(
    model: ArmModel, geometry: GeometryChoice, observe: ObserveKind, markers: Iterable[str]
) -> list[str]:
    if geometry == "none":
        return []
    known = set(model.robot.marker_names)
    names = [f"base.{axis}" for axis in AXES]
    names += [f"tool.{marker}.{axis}" for marker in markers if marker in known for axis in "xyz"]
    if DEFAULT_MARKER in markers:
        names += [f"tool.{axis}" for axis in "xyz"]
    if observe == "pose":
        names += [f"tool.{axis}" for axis in ("rx", "ry", "rz")]
    if geometry == "offsets":
        return names + [f"{joint}.offset" for joint in model.robot.joint_names]
    return names + [f"{joint}.{axis}" for joint in model.robot.joint_names for axis in AXES]


def markers_of(robot: Robot, question: Question) -> tuple[str, ...]:
    """The points that are seen, checked against the robot's."""
    known = (*robot.marker_names, "tool", "flange")
    for marker in question.markers:
        if marker not in known:
            raise InputError(
                Problem(
                    "the robot has no such marker",
                    column="--marker",
                    found=repr(marker),
                    allowed=" ".join(known),
                    next_step=did_you_mean(marker, known),
                )
            )
    if question.markers:
        return tuple(dict.fromkeys(question.markers))
    everything = question.observe == "position"
    return (robot.marker_names if everything else ()) or (DEFAULT_MARKER,)


def load_point_of(robot: Robot, question: Question) -> str:
    """The point at which the load acts."""
    known = (*robot.load_point_names, "tool", "flange")
    point = question.load_point or known[0]
    if point not in known:
        raise InputError(
            Problem(
                "the robot has no such load point", column="--load-point", found=repr(point), allowed=" ".join(known)
            )
        )
    return point


def priority(robot: Robot, names: Sequence[str]) -> list[int]:
    """Positions in ``names``, most wanted first.

    >>> from stiffarm.robot.arm import Joint
    >>> one = Robot("one", (Joint("J1", "revolute", AxisPlacement()),))
    >>> names = ("J1.x", "J1.rz", "link1.compliance[x,x]", "J1.compliance")
    >>> [names[i] for i in priority(one, names)]
    ['J1.compliance', 'J1.rz', 'J1.x', 'link1.compliance[x,x]']
    """
    own = _own_axis_names(robot)

    def rank(name: str) -> int:
        if name.startswith("link"):
            return 7
        if ".compliance" in name:
            return 0
        if COMPENSATOR in name:
            return 1
        if name.startswith((FRAME, "base.")):
            return 2
        if name.startswith("tool."):
            return 4 if name.startswith("tool.r") else 3
        if name in own:
            return 5
        return 8 if name.startswith(("load.", "payload.")) else 6

    return sorted(range(len(names)), key=lambda i: rank(names[i]))


def _own_axis_names(robot: Robot) -> frozenset[str]:
    """The parameters that move a joint's own zero."""
    names = {f"{joint.name}.offset" for joint in robot.joints}
    for joint in robot.joints:
        axis = joint.geometry.axis if isinstance(joint.geometry, AxisPlacement) else (0.0, 0.0, 1.0)
        main = int(np.argmax(np.abs(axis)))
        names.add(f"{joint.name}.{AXES[main + (3 if joint.kind == 'revolute' else 0)]}")
    return frozenset(names)
