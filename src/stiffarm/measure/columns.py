"""Which columns a campaign, a plan or a path may have, and which units each of them allows.

A header is ``name[unit]``.  A name is either fixed (``x``), or a family and a member (``q.A1``,
``force.hook.x``).  `meaning_of` says what a name stands for; `understand` holds a whole header against
it and hands back the known columns with their factors to SI, and the names it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.robot.arm import RESERVED_POINTS, JointKind, Robot
from stiffarm.units import UNITS, nearest_unit, split_header, units_of

AXES = ("x", "y", "z")
POSE = ("x", "y", "z", "rx", "ry", "rz")
TEXTS = ("experiment", "visit", "setup", "load_point", "reference", "observation", "marker", "target", "target2")
COUNTS = ("repeat", "sequence", "weight")

_DIMENSIONS: dict[str, str] = {
    "time": "time",
    "feed": "speed",
    "force": "force",
    "distance": "length",
    "radius": "length",
    "residual": "length",
    "sigma.distance": "length",
    "sigma.force": "force",
    **{f"{cable}.{axis}": "length" for cable in ("cable1", "cable2") for axis in AXES},
    **{f"{prefix}{axis}": "length" for prefix in ("", "sigma.") for axis in AXES},
    **{f"{prefix}r{axis}": "angle" for prefix in ("", "sigma.") for axis in AXES},
}
_JOINT_FAMILIES = ("sigma.q", "q", "encoder", "approach", "before", "joint_torque")
_WRENCH_FAMILIES = ("force", "torque")


@dataclass(frozen=True)
class Meaning:
    """What a column name stands for."""

    dimensions: tuple[str, ...]
    """Dimensions its unit may have; ``("number",)`` for counts, empty for text."""
    joint: str | None = None
    load_point: str | None = None


@dataclass(frozen=True)
class Column:
    """A known column of a file."""

    name: str
    header: str
    meaning: Meaning
    factor: float
    """SI value of one unit of the file."""

    @property
    def dimension(self) -> str:
        """What the unit of the file measures (``text`` for text)."""
        unit = split_header(self.header)[1]
        return UNITS[unit].dimension if unit in UNITS else (*self.meaning.dimensions, "text")[0]


@dataclass(frozen=True)
class Layout:
    """A header once understood."""

    columns: Mapping[str, Column]
    """Known columns by name, in the order of the file."""
    unknown: tuple[str, ...]
    """Headers nobody knows."""
    joints: tuple[str, ...]
    """The robot's joints, or those of the ``q.`` columns."""
    joint_kinds: tuple[JointKind, ...]

    def family(self, prefix: str) -> dict[str, Column]:
        """Columns ``prefix.member`` by member."""
        return {name.removeprefix(f"{prefix}."): c for name, c in self.columns.items() if name.startswith(f"{prefix}.")}


def meaning_of(name: str, robot: Robot | None = None) -> Meaning | None:
    """What a column name stands for, or None when nobody knows it.

    >>> meaning_of("x").dimensions, meaning_of("q.A1").dimensions, meaning_of("colour")
    (('length',), ('angle', 'length'), None)
    """
    if name in TEXTS:
        return Meaning(())
    if name in COUNTS:
        return Meaning(("number",))
    if name in _DIMENSIONS:
        return Meaning((_DIMENSIONS[name],))
    family, _, member = name.partition(".")
    if family == "temperature" and member:
        return Meaning(("temperature",))
    if family in _WRENCH_FAMILIES:
        point, _, axis = member.rpartition(".")
        return Meaning((family,), load_point=point or None) if axis in AXES and point != "." else None
    for prefix in _JOINT_FAMILIES:
        joint = name.removeprefix(f"{prefix}.")
        if joint and joint != name:
            return Meaning(_joint_dimensions(prefix, joint, robot), joint=joint)
    return None


def described() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Every column name, families by their form, with the dimensions its unit may have (none for text).

    >>> dict(described())["q.<joint>"]
    ('angle', 'length')
    """
    names = [*TEXTS, *COUNTS, *_DIMENSIONS, *(f"{family}.<joint>" for family in _JOINT_FAMILIES)]
    names += [
        f"{family}{point}.{axis}" for family in _WRENCH_FAMILIES for point in ("", ".<load point>") for axis in AXES
    ]
    found = ((name, meaning_of(name)) for name in (*names, "temperature.<name>"))
    return tuple((name, meaning.dimensions) for name, meaning in found if meaning is not None)


def _joint_dimensions(family: str, joint: str, robot: Robot | None) -> tuple[str, ...]:
    if family == "approach":
        return ("number",)
    both = ("torque", "force") if family == "joint_torque" else ("angle", "length")
    kinds = {} if robot is None else {j.name: j.kind for j in robot.joints}
    return both if joint not in kinds else both[:1] if kinds[joint] == "revolute" else both[1:]


def understand(headers: Sequence[str], robot: Robot | None, file: str) -> Layout:
    """Hold a header against the known names; raise `InputError` for units, joints and load points that cannot be."""
    columns: dict[str, Column] = {}
    unknown: list[str] = []
    problems: list[Problem] = []
    for header in headers:
        name, unit = split_header(header)
        meaning = meaning_of(name, robot)
        if meaning is None:
            near = _nearly(header, name, unit, file) or _in_round_brackets(header, name, unit, file)
            problems += near
            unknown += [] if near else [header]
            continue
        problem = _unit_problem(header, name, unit, meaning, file)
        if problem is not None:
            problems.append(problem)
            continue
        columns[name] = Column(name, header, meaning, UNITS[unit].factor if unit in UNITS else 1.0)
    joints, kinds = _joints(columns, robot)
    problems += [p for c in columns.values() for p in _name_problems(c, joints, robot, file)]
    if problems:
        raise InputError(problems)
    return Layout(columns, tuple(unknown), joints, kinds)


def _joints(columns: Mapping[str, Column], robot: Robot | None) -> tuple[tuple[str, ...], tuple[JointKind, ...]]:
    if robot is not None:
        return robot.joint_names, tuple(joint.kind for joint in robot.joints)
    stated = {name[2:]: column.dimension for name, column in columns.items() if name.startswith("q.")}
    return tuple(stated), tuple("prismatic" if dimension == "length" else "revolute" for dimension in stated.values())


_FORMS = {
    "force": "force.x force.y force.z, or force.<load point>.x",
    "torque": "torque.x torque.y torque.z, or torque.<load point>.x",
    "joint_torque": "joint_torque.<joint>",
    "q": "q.<joint>",
    "encoder": "encoder.<joint>",
    "cable1": "cable1.x cable1.y cable1.z",
    "cable2": "cable2.x cable2.y cable2.z",
    "sigma": "sigma.x, sigma.rx, sigma.force, sigma.distance, sigma.q.<joint>",
}
_ROUND = re.compile(r"(.*?)\s*\((.*)\)")
_FAMILY = re.compile(rf"^(?P<family>{'|'.join(_FORMS)})(?=[^A-Za-z0-9])", re.IGNORECASE)


def _nearly(header: str, name: str, unit: str | None, file: str) -> list[Problem]:
    """A number that begins like a load or a joint but is none: kept as text it would be lost without a trace.

    >>> [p.allowed for p in _nearly("force.hook,z[N]", "force.hook,z", "N", "a.csv")]
    ['force.x force.y force.z, or force.<load point>.x']
    """
    found = _FAMILY.match(name)
    if found is None or unit is None:
        return []
    what = f"column '{header}' begins like '{found['family'].lower()}' but is none"
    step = "Correct its name, or drop the unit to keep it as text"
    allowed = _FORMS[found["family"].lower()]
    return [Problem(what, file=file, row=1, column=header, found=found_text(name), allowed=allowed, next_step=step)]


def _in_round_brackets(header: str, name: str, unit: str | None, file: str) -> list[Problem]:
    """``x (mm)``: a known number whose unit stands in the wrong brackets."""
    bare = _ROUND.fullmatch(name) if unit is None else None
    meaning = None if bare is None else meaning_of(bare[1])
    if meaning is None or not meaning.dimensions:
        return []
    problem = _unit_problem(header, name, None, meaning, file)
    return [] if problem is None else [problem]


def _unit_problem(header: str, name: str, unit: str | None, meaning: Meaning, file: str) -> Problem | None:
    if meaning.dimensions in ((), ("number",)):
        if unit is None or (unit == "1" and meaning.dimensions):
            return None
        kind = "a count" if meaning.dimensions else "text"
        what = f"column '{name}' is {kind} and carries no unit"
        return Problem(what, file=file, row=1, column=header, found=found_text(unit), allowed=name)
    dimension = None if unit is None else UNITS[unit].dimension if unit in UNITS else "nothing known"
    if dimension in meaning.dimensions:
        return None
    allowed = units_of(*meaning.dimensions)
    words = " or ".join(f"{'an' if d[0] in 'aeiou' else 'a'} {d}" for d in meaning.dimensions)
    return Problem(
        f"the unit of column '{header}' is " + ("missing" if unit is None else f"not {words}"),
        file=file,
        row=1,
        column=header,
        found=None if unit is None else found_text(unit),
        allowed=" ".join(allowed),
        next_step=f"Write for instance '{_with_unit(name, unit, allowed)}'",
    )


def _with_unit(name: str, unit: str | None, allowed: Sequence[str]) -> str:
    """The header as it should be; a unit in round brackets, ``x (mm)``, is understood here."""
    bare = _ROUND.fullmatch(name) if unit is None else None
    return f"{name if bare is None else bare[1]}[{nearest_unit(unit if bare is None else bare[2], allowed)}]"


def _name_problems(column: Column, joints: tuple[str, ...], robot: Robot | None, file: str) -> list[Problem]:
    """Joint and load point of a column must exist."""
    problems = []
    joint, point = column.meaning.joint, column.meaning.load_point
    if joint is not None and joint not in joints:
        problems.append(("joint", joint, joints))
    if point is not None and robot is not None and point not in load_points_of(robot):
        problems.append(("load point", point, load_points_of(robot)))
    return [
        Problem(
            f"{what} '{name}' does not exist",
            file=file,
            row=1,
            column=column.header,
            found=found_text(name),
            allowed=", ".join(known) or "none: there are no q. columns",
            next_step=_capital(did_you_mean(name, known)),
        )
        for what, name, known in problems
    ]


def _capital(hint: str | None) -> str | None:
    return None if hint is None else hint[0].upper() + hint[1:]


def load_points_of(robot: Robot) -> tuple[str, ...]:
    """Names a load point may have."""
    return (*robot.load_point_names, *RESERVED_POINTS)


def markers_of(robot: Robot) -> tuple[str, ...]:
    """Names a marker may have."""
    return (*robot.marker_names, *RESERVED_POINTS)


def known_names(joints: Sequence[str], kind: Literal["campaign", "path"] = "campaign") -> tuple[str, ...]:
    """Names a column may have, for hints."""
    texts = TEXTS if kind == "campaign" else ("load_point", "marker")
    families = _JOINT_FAMILIES if kind == "campaign" else ("q",)
    wrench = [f"{family}.{axis}" for family in _WRENCH_FAMILIES for axis in AXES]
    members = [f"{family}.{joint}" for family in families for joint in joints]
    return (*texts, *COUNTS, *_DIMENSIONS, *wrench, *members, "temperature.room")


def unknown_warning(layout: Layout, file: str) -> tuple[str, ...]:
    """One sentence that names every column nobody knows (none when there is none)."""
    if not layout.unknown:
        return ()
    known = known_names(layout.joints)
    names = []
    for header in layout.unknown:
        name = split_header(header)[0]
        hint = did_you_mean(name, known) or did_you_mean(name.lower(), [one for one in known if one == name.lower()])
        names.append(f"'{header}'" + (f" ({hint})" if hint else ""))
    plural = "columns" if len(names) > 1 else "column"
    return (f"{file}: unknown {plural} kept as text: {', '.join(names)}.",)
