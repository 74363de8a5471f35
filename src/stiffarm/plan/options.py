"""What a plan is asked for, in SI; the defaults answer the usual case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from stiffarm.identifiability.question import ElasticChoice, GeometryChoice, LinksChoice
from stiffarm.measure.frames import TableLike
from stiffarm.plan.criteria import CriterionName
from stiffarm.plan.problem import ReadKind
from stiffarm.plan.shift import Manner
from stiffarm.robot.arm import Template, Vector3

Direction = Literal["any", "vertical", "none"]
INFINITY = float("inf")
SIGMA_M = 3e-5
"""m: scatter of what is read when nobody says anything else."""


@dataclass(frozen=True)
class Box:
    """A box of the world, m; a point when low is high, open where infinite."""

    low_m: Vector3 = (-INFINITY, -INFINITY, -INFINITY)
    high_m: Vector3 = (INFINITY, INFINITY, INFINITY)

    @property
    def closed(self) -> bool:
        """Whether it has six finite sides.

        >>> Box().closed, Box((0.0, 0.0, 0.0), (1.0, 1.0, 0.0)).closed
        (False, True)
        """
        return all(abs(side) < INFINITY for side in (*self.low_m, *self.high_m))


@dataclass(frozen=True)
class Room:
    """What is kept clear of the arm, and which way the cable may run."""

    cell: str | Path | None = None
    """A cell file with obstacles."""
    clearance_m: float = 0.0
    """Between bodies, obstacles and beams, beyond their sizes."""
    cable_clearance_m: float = 0.05
    cable_cone: tuple[Vector3, float] | None = None
    """Axis in the world, and the angle (rad) within which of it the cable pulls."""
    steepest_rad: float | None = None
    """Of the cable against the horizontal."""


@dataclass(frozen=True)
class PlanOptions:
    """Options of ``stiffarm plan``; None means: decided by the rest."""

    experiments: int | None = None
    """Stops counted with their repeats; None: as many as poses, else 12 (30 when geometry is asked for)."""
    poses: int | None = None
    """Distinct stops; None: as many as experiments."""
    criterion: CriterionName = "test"
    test_pose: TableLike | Box | None = None
    """Where the work is done: a file or table of poses or a path, or a box of tool points.  None: poses spread over the
    tool box, or over all the arm reaches."""
    geometry: GeometryChoice | None = None
    """None: ``full`` without a load, else ``none``."""
    elastic: ElasticChoice | None = None
    """None: ``joints`` when something pulls, unless geometry alone is named."""
    template: Template | None = None
    links: LinksChoice = "base"
    select: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    angles: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """By joint: the values (rad or m) at which alone it may stand, each with a compliance of its own."""
    observe: ReadKind | Literal["touch"] | None = None
    """None: deflections when only compliances are asked for, else positions."""
    markers: tuple[str, ...] = ()
    """Empty: every marker of the tool, the tool point when it has none or for poses."""
    best_markers: int | None = None
    """So many of these markers are read, those that tell most; None: all."""
    sigma_m: float | None = None
    """Standard deviation of every number read (a deflection's own); None: as the settings say, else `SIGMA_M`."""
    sigma_rad: float | None = None
    """The same of rotations of poses."""
    settings: str | Path | None = None
    """A settings file (NAME.campaign.toml) whose instrument and shared errors count."""
    force_n: float | None = None
    """Tension of the cable or size of the force."""
    force_world: Vector3 | None = None
    """One force (N, world) at every stop."""
    direction: Direction | None = None
    """Of the force without a cable: chosen for every stop (as when nothing is said), hanging, or nothing pulls."""
    load_point: str | None = None
    """None: the first of the tool's, else the tool point."""
    cable: Box | None = None
    """Where the cable may be attached: one point for all stops."""
    tool_box: Box | None = None
    station_m: Vector3 | None = None
    sight_m: tuple[float, float] | None = None
    """Nearest and farthest distance from station to markers, m."""
    facing: Vector3 | None = None
    """Direction in which the markers look, flange frame."""
    widest_rad: float | None = None
    """Largest angle between that direction and the line to the station."""
    min_distance_m: float = 0.0
    """Between the tool points of any two stops."""
    candidates: TableLike | None = None
    """A file of configurations out of which alone stops are chosen."""
    add: tuple[TableLike, ...] = ()
    """Plans or campaigns that are or will be measured anyway."""
    known_length: bool = False
    """Touches only: the distance between the first two points will be measured."""
    curve: bool = True
    """Whether plans of fewer poses are made too, to say how many are enough."""
    room: Room = field(default_factory=Room)
    manner: Manner = field(default_factory=Manner)
    """In which order stops are driven, from which sides, with how many returns to a reference."""
    verify: int | None = None
    """Virtual campaigns by which the plan is checked."""
    seed: int = 0
