"""A URDF as the tree it describes: links (with their masses) and the joints between them.

What the format leaves out has its default here: no origin is the identity, no axis is x, no inertial is
no mass.  What it states wrongly is collected, so that one `InputError` names every mistake of a file.
"""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from stiffarm.errors import InputError, Problem, StiffarmWarning, did_you_mean, found_text
from stiffarm.robot.arm import ZERO3, Placement, Vector3
from stiffarm.robot.urdf_xml import Element, UrdfDocument, parse_urdf

MOVING_KINDS = ("revolute", "continuous", "prismatic")
JOINT_KINDS = (*MOVING_KINDS, "fixed", "floating", "planar")
_PLAIN = re.compile(r"[-+.0-9eE\s]*", re.ASCII)
"""What numbers are written with, in every reader."""
_NO_AXIS: Vector3 = (1.0, 0.0, 0.0)
TWO_TURNS = 4.0 * math.pi
LARGEST = 1e15


@dataclass(frozen=True)
class UrdfLink:
    """A body: its mass (kg) and centre of mass (m, in the link's frame)."""

    name: str
    line: int
    mass: float = 0.0
    com: Vector3 = ZERO3


@dataclass(frozen=True)
class UrdfJoint:
    """A joint as the file states it; its child's frame is the joint frame after the motion."""

    name: str
    kind: str
    """One of `JOINT_KINDS`."""
    parent: str
    child: str
    line: int
    origin: Placement
    axis: Vector3 = _NO_AXIS
    """Of unit length."""
    limits: tuple[float, float] | None = None
    """rad or m."""
    mimics: str | None = None


@dataclass(frozen=True)
class UrdfTree:
    """Every link hangs on one joint, except the roots."""

    file: str
    name: str
    links: dict[str, UrdfLink]
    joints: tuple[UrdfJoint, ...]

    @cached_property
    def _above(self) -> dict[str, UrdfJoint]:
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def _below(self) -> dict[str, tuple[UrdfJoint, ...]]:
        below: dict[str, tuple[UrdfJoint, ...]] = {}
        for joint in self.joints:
            below[joint.parent] = (*below.get(joint.parent, ()), joint)
        return below

    def joint_above(self, link: str) -> UrdfJoint | None:
        """The joint that carries a link; None for a root."""
        return self._above.get(link)

    def joints_below(self, link: str) -> tuple[UrdfJoint, ...]:
        """The joints that a link carries, in the order of the file."""
        return self._below.get(link, ())

    def links_from(self, link: str) -> list[str]:
        """A link and everything that hangs on it."""
        found = [link]
        for name in found:
            found += [joint.child for joint in self.joints_below(name)]
        return found

    @property
    def roots(self) -> tuple[str, ...]:
        """Links that no joint carries."""
        return tuple(name for name in self.links if name not in self._above)

    def path_above(self, link: str, stop: str | None = None) -> list[UrdfJoint]:
        """Joints from ``stop`` (or the root) to a link; begins at a root when ``stop`` is not above it."""
        path: list[UrdfJoint] = []
        while link != stop and (joint := self.joint_above(link)) is not None:
            path.append(joint)
            link = joint.parent
        return path[::-1]

    def leaves_below(self, base: str) -> list[str]:
        """Links under ``base`` that carry nothing."""
        return [name for name in self.links_from(base)[1:] if not self.joints_below(name)]


def read_urdf_tree(path: Path) -> UrdfTree:
    """The tree of a URDF file; raises `InputError` with every mistake found in it."""
    document = parse_urdf(path)
    reader = _TreeReader(document.file)
    links = [link for element in document.root.every("link") if (link := reader.link(element))]
    joints = [joint for element in document.root.every("joint") if (joint := reader.joint(element))]
    if not links and not reader.problems:
        reader.refuse("the file describes no link", document.root, "robot")
    _check_names(reader, "link", document.root.every("link"))
    _check_names(reader, "joint", document.root.every("joint"))
    _check_shape(reader, [link.name for link in links], joints)
    if reader.problems:
        raise InputError(reader.problems)
    _warn_of_far_meshes(document)
    name = document.root.attributes.get("name") or path.stem
    return UrdfTree(document.file, name, {link.name: link for link in links}, tuple(joints))


def suggestion(name: str, known: Sequence[str]) -> str | None:
    """``Did you mean 'A2'?`` as a sentence of its own, when a known name is close."""
    hint = did_you_mean(name, known)
    return hint and hint[0].upper() + hint[1:]


@dataclass
class _TreeReader:
    """Turns elements into links and joints, keeping what was wrong."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def refuse(
        self,
        what: str,
        element: Element,
        column: str,
        *,
        found: str | None = None,
        allowed: str | None = None,
        next_step: str | None = None,
    ) -> None:
        self.problems.append(Problem(what, self.file, element.line, column, found, allowed, next_step))

    def link(self, element: Element) -> UrdfLink | None:
        name = self._attribute(element, "name", "link")
        if name is None:
            return None
        inertial = self._only(element, "inertial", f"link[{name}]")
        if inertial is None:
            return UrdfLink(name, element.line)
        column = f"link[{name}].inertial"
        mass = self._mass(inertial, column)
        com = self._origin(inertial, column).xyz
        return UrdfLink(name, element.line, mass, com if mass else ZERO3)

    def joint(self, element: Element) -> UrdfJoint | None:
        name = self._attribute(element, "name", "joint")
        if name is None:
            return None
        column = f"joint[{name}]"
        kind = self._attribute(element, "type", column)
        if kind is not None and kind not in JOINT_KINDS:
            hint = suggestion(kind, JOINT_KINDS)
            allowed = ", ".join(JOINT_KINDS)
            self.refuse(
                "the joint has an unknown type",
                element,
                column,
                found=found_text(kind),
                allowed=allowed,
                next_step=hint,
            )
        parent = self._end(element, "parent", column)
        child = self._end(element, "child", column)
        origin = self._origin(element, column)
        axis = self._axis(element, column) if kind in MOVING_KINDS else _NO_AXIS
        limits = self._limits(element, column) if kind in ("revolute", "prismatic") else None
        mimic = self._only(element, "mimic", column)
        if kind is None or parent is None or child is None:
            return None
        mimics = None if mimic is None else mimic.attributes.get("joint", "?")
        return UrdfJoint(name, kind, parent, child, element.line, origin, axis, limits, mimics)

    def _attribute(self, element: Element, name: str, column: str) -> str | None:
        value = element.attributes.get(name)
        if value:
            return value
        self.refuse(f"<{element.tag}> needs the attribute '{name}'", element, column)
        return None

    def _only(self, element: Element, tag: str, column: str) -> Element | None:
        found = element.every(tag)
        if len(found) > 1:
            self.refuse(f"<{tag}> stands here a second time", found[1], f"{column}.{tag}", next_step="Delete one")
        return found[0] if found else None

    def _end(self, element: Element, tag: str, column: str) -> str | None:
        end = self._only(element, tag, column)
        if end is None:
            self.refuse(f"the joint has no <{tag} link=...>", element, column)
            return None
        return self._attribute(end, "link", f"{column}.{tag}")

    def _origin(self, element: Element, column: str) -> Placement:
        origin = self._only(element, "origin", column)
        if origin is None:
            return Placement()
        xyz, rpy = (self._vector(origin, name, ZERO3, f"{column}.origin") for name in ("xyz", "rpy"))
        if max(map(abs, rpy)) > TWO_TURNS:
            what, found = "the units look wrong: an angle is beyond two turns", found_text(origin.attributes["rpy"])
            step = "Angles of a URDF are in rad"
            self.refuse(what, origin, f"{column}.origin", found=found, allowed="within 12.57 rad", next_step=step)
        return Placement(xyz, rpy)

    def _axis(self, element: Element, column: str) -> Vector3:
        axis = self._only(element, "axis", column)
        if axis is None:
            return _NO_AXIS
        x, y, z = self._vector(axis, "xyz", _NO_AXIS, f"{column}.axis")
        length = math.hypot(x, y, z)
        if length == 0.0:
            self.refuse("the axis has no direction", axis, f"{column}.axis", found=found_text(axis.attributes["xyz"]))
            return _NO_AXIS
        # An axis that is a unit vector to the last bit but one keeps the digits of the file.
        return (x, y, z) if abs(length - 1.0) <= 2.0**-52 else (x / length, y / length, z / length)

    def _limits(self, element: Element, column: str) -> tuple[float, float] | None:
        limit = self._only(element, "limit", column)
        if limit is None or not {"lower", "upper"} & limit.attributes.keys():
            return None
        lower, upper = (self._number(limit, name, 0.0, f"{column}.limit") for name in ("lower", "upper"))
        if lower > upper:
            self.refuse("the lower limit is above the upper one", limit, f"{column}.limit", found=f"{lower} > {upper}")
        if lower == upper == 0.0:  # what exporters write where nobody gave limits
            return None
        if lower == upper:
            self.refuse("the limits leave no range", limit, f"{column}.limit", found=f"{lower} = {upper}",
                        allowed="lower below upper", next_step="Make the joint fixed if it does not move")  # fmt: skip
        return lower, upper

    def _mass(self, inertial: Element, column: str) -> float:
        mass = self._only(inertial, "mass", column)
        if mass is None or self._attribute(mass, "value", f"{column}.mass") is None:
            return 0.0
        value = self._number(mass, "value", 0.0, f"{column}.mass")
        if value < 0.0:
            self.refuse("a mass cannot be negative", mass, f"{column}.mass", found=f"{value}")
        return value

    def _vector(self, element: Element, name: str, default: Vector3, column: str) -> Vector3:
        values = self._numbers(element, name, 3, column) if name in element.attributes else None
        return default if values is None else (values[0], values[1], values[2])

    def _number(self, element: Element, name: str, default: float, column: str) -> float:
        values = self._numbers(element, name, 1, column) if name in element.attributes else None
        return default if values is None else values[0]

    def _numbers(self, element: Element, name: str, count: int, column: str) -> list[float] | None:
        text = element.attributes[name]
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) == count and all(abs(value) <= LARGEST for value in values) and _PLAIN.fullmatch(text):
            return values
        wanted = "a number" if count == 1 else f"{count} numbers separated by spaces"
        self.refuse(f"'{name}' cannot be read", element, column, found=found_text(text), allowed=wanted)
        return None


def _check_names(reader: _TreeReader, tag: str, elements: Iterable[Element]) -> None:
    seen: Counter[str] = Counter()
    for element in elements:
        name = element.attributes.get("name")
        if name:
            seen[name] += 1
            if seen[name] == 2:
                reader.refuse(
                    f"a second {tag} has this name", element, f"{tag}[{name}]", next_step="Rename one of them"
                )


def _check_shape(reader: _TreeReader, links: list[str], joints: list[UrdfJoint]) -> None:
    """Every joint ends at links that exist, every link has one parent, nothing closes a loop."""
    known, carried = set(links), dict[str, UrdfJoint]()
    for joint in joints:
        place = Element("joint", {}, joint.line, 0)
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in known:
                hint = suggestion(link, links)
                reader.refuse(
                    "there is no such link",
                    place,
                    f"joint[{joint.name}].{end}",
                    found=found_text(link),
                    next_step=hint,
                )
        if joint.child in carried and carried[joint.child].name != joint.name:
            both = f"'{carried[joint.child].name}' and '{joint.name}'"
            what = f"link '{joint.child}' has two parents, by joints {both}"
            reader.refuse(
                what,
                place,
                f"joint[{joint.name}].child",
                next_step="A closed loop cannot be described: remove one of the joints",
            )
        carried.setdefault(joint.child, joint)
    _check_loops(reader, carried)


def _check_loops(reader: _TreeReader, carried: dict[str, UrdfJoint]) -> None:
    fine: set[str] = set()
    for start in carried:
        link, seen = start, dict[str, UrdfJoint]()
        while link in carried and link not in fine and link not in seen:
            seen[link] = carried[link]
            link = carried[link].parent
        if link in seen:
            joint = seen[link]
            place = Element("joint", {}, joint.line, 0)
            reader.refuse(
                "the links form a loop: this one carries itself",
                place,
                f"joint[{joint.name}]",
                found=f"link '{joint.child}'",
            )
        fine.update(seen)


def _warn_of_far_meshes(document: UrdfDocument) -> None:
    """Meshes are never opened here; one outside the file's folder is worth a word to who shares the file."""
    for element in document.root.walk():
        name = element.attributes.get("filename", "") if element.tag == "mesh" else ""
        local = name.removeprefix("file://").replace("\\", "/")
        if ".." in local.split("/") or local.startswith("/") or local[1:2] == ":":
            warnings.warn(
                f"{document.file}, row {element.line}: mesh {found_text(name)} lies outside the folder of the URDF "
                "and is ignored",
                StiffarmWarning,
                stacklevel=4,
            )
