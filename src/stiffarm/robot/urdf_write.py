"""Writes URDF: a new file from any robot, or the user's own file with calibrated origins.

A calibrated file is the user's file: robot packages, comments, meshes and the layout someone chose stay
byte for byte, only numbers in ``<origin>`` change.  The correction of a joint stands in the joint's own
frame before its motion, so it multiplies the origin from the right,

    origin_new = origin * Trans(xyz) * Rot(rotation vector),

and that remains right when fixed joints stand before it on the chain: F * origin_new = (F * origin) * correction.
The ``<calibration>`` element of the format has another meaning (reference positions) and is not touched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.robot.arm import ZERO3, AxisPlacement, Joint, Placement, Robot, Vector3
from stiffarm.robot.placement import (
    JointTransform,
    Rigid,
    chain_transforms,
    flange_transform,
    rotation_from_vector,
)
from stiffarm.robot.urdf import USUAL_TIP, placement_of, vector3
from stiffarm.robot.urdf_tree import read_urdf_tree, suggestion
from stiffarm.robot.urdf_xml import Element, UrdfDocument, parse_urdf

_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")
_TAG_NAME = re.compile(r"<[^\s/>]+")
_SPACE = re.compile(r"\s*")
_INERTIA = 1e-6
"""kg m^2 about each axis: a robot file knows no inertia, and readers refuse a body without."""


@dataclass(frozen=True)
class _Edit:
    """Bytes ``start`` to ``end`` of the file become ``text``."""

    start: int
    end: int
    text: str


def write_calibrated_urdf(original: Path, corrections: Mapping[str, tuple[Vector3, Vector3]], output: Path) -> None:
    """The file ``original`` with corrected joint origins and every other byte as it was.

    ``corrections`` maps a joint (moving or fixed) to a translation (m) and a rotation vector (rad) in its own
    frame before its motion.  A zero translation or rotation leaves the numbers it would change untouched.
    """
    tree, document = read_urdf_tree(original), parse_urdf(original)
    origins = {joint.name: joint.origin for joint in tree.joints}
    _check_corrections(str(original), list(origins), corrections)
    if output.exists() and output.samefile(original):
        next_step = (
            "Choose another name: a file corrected twice is wrong, and the original is what was measured against"
        )
        raise InputError(Problem("the output is the original file", file=str(output), next_step=next_step))
    edits: list[_Edit] = []
    for element in document.root.every("joint"):
        name = element.attributes["name"]
        if name in corrections:
            xyz, rotvec = corrections[name]
            edits += _origin_edits(document, element, _changed_origin(origins[name], xyz, rotvec))
    _write_whole(output, _apply(document, edits))


def write_urdf(robot: Robot, path: Path) -> None:
    """A plain URDF of a robot in any convention, without meshes.

    Links are named ``<joint>_link``, ``flange``, ``tool0`` and by their markers; a controller's sense is folded
    into the axis.  Raises `InputError` for what a URDF cannot say: coupled joints, a prismatic joint without limits.
    """
    _check_expressible(robot, str(path))
    root = ElementTree.Element("robot", name=robot.name)
    root.append(
        ElementTree.Comment(" effort and velocity limits and inertias are not known: set them before simulating ")
    )
    tree = _UrdfBuilder(root, robot.joint_names)
    if robot.base == Placement():
        link = tree.link("base_link")
    else:
        world, link = tree.link("world"), tree.link("base_link")
        tree.fixed(world, link, robot.base)
    carriers: dict[str | None, str] = {}
    for joint, transform in zip(robot.joints, chain_transforms(robot), strict=True):
        link = carriers[joint.name] = tree.moving(link, joint, transform)
    carriers[None] = link = tree.fixed(link, tree.link("flange", robot.tool.mass, robot.tool.com), _flange(robot))
    tree.fixed(link, tree.link(USUAL_TIP), robot.tool.placement)
    for marker in robot.tool.markers:
        tree.fixed(carriers[marker.on], tree.link(marker.name), Placement(marker.xyz))
    ElementTree.indent(root)
    _write_whole(path, ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _check_corrections(file: str, joints: list[str], corrections: Mapping[str, tuple[Vector3, Vector3]]) -> None:
    problems = []
    for name, values in corrections.items():
        if name not in joints:
            hint = suggestion(name, joints)
            what, allowed = f"there is no joint {found_text(name)} to correct", ", ".join(joints)
            problems.append(Problem(what, file=file, allowed=allowed, next_step=hint))
        elif not np.all(np.isfinite(values)):
            problems.append(
                Problem("the correction is not finite", file=file, column=f"joint[{name}]", found=f"{values}")
            )
    if problems:
        raise InputError(problems)


def _changed_origin(origin: Placement, xyz: Vector3, rotvec: Vector3) -> dict[str, Vector3]:
    """The attributes of an origin that a correction changes, with their new values."""
    old = Rigid.of(origin)
    new = placement_of(old @ Rigid(rotation_from_vector(rotvec), np.array(xyz)))
    changed: dict[str, Vector3] = {}
    if any(xyz):
        changed["xyz"] = new.xyz
    if any(rotvec):
        changed["rpy"] = new.rpy
    return changed


def _origin_edits(document: UrdfDocument, joint: Element, changed: dict[str, Vector3]) -> list[_Edit]:
    origins = joint.every("origin")
    if origins:
        return _attribute_edits(document, origins[0], changed)
    if not changed:
        return []
    text = _text_from(document, joint)
    end = _start_tag_end(text)
    space = _match(_SPACE, text, end).group()
    attributes = "".join(f' {name}="{_numbers(value)}"' for name, value in changed.items())
    place = joint.start + _byte_length(document, text[:end])
    return [_Edit(place, place, f"{space}<origin{attributes}/>")]


def _attribute_edits(document: UrdfDocument, element: Element, changed: dict[str, Vector3]) -> list[_Edit]:
    """Values replaced between the quotes they have; missing attributes added behind the tag's name."""
    text = _text_from(document, element)
    spans = {}
    position = name_end = _match(_TAG_NAME, text, 0).end()
    while attribute := _ATTRIBUTE.match(text, position):
        spans[attribute[1]] = (attribute.start(2) + 1, attribute.end(2) - 1)
        position = attribute.end()
    edits = []
    for name, value in changed.items():
        start, end = spans.get(name, (name_end, name_end))
        words = _numbers(value) if name in spans else f' {name}="{_numbers(value)}"'
        edits.append(
            _Edit(
                element.start + _byte_length(document, text[:start]),
                element.start + _byte_length(document, text[:end]),
                words,
            )
        )
    return edits


def _start_tag_end(text: str) -> int:
    position = _match(_TAG_NAME, text, 0).end()
    while attribute := _ATTRIBUTE.match(text, position):
        position = attribute.end()
    return text.index(">", position) + 1


def _match(pattern: re.Pattern[str], text: str, position: int) -> re.Match[str]:
    match = pattern.match(text, position)
    assert match is not None, "expat has accepted this tag"
    return match


def _text_from(document: UrdfDocument, element: Element) -> str:
    return document.data[element.start :].decode(document.encoding)


def _byte_length(document: UrdfDocument, text: str) -> int:
    return len(text.encode(document.encoding))


def _apply(document: UrdfDocument, edits: list[_Edit]) -> bytes:
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        pieces += [document.data[done : edit.start], edit.text.encode(document.encoding)]
        done = edit.end
    return b"".join([*pieces, document.data[done:]])


def _numbers(values: Vector3) -> str:
    """Shortest digits that give back the same floats."""
    return " ".join(repr(float(value)) for value in values)


def _write_whole(path: Path, data: bytes) -> None:
    """All of a file or none of it."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_bytes(data)
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise InputError(Problem(f"the file cannot be written ({error.strerror})", file=str(path))) from None


def _check_expressible(robot: Robot, file: str) -> None:
    problems = []
    for joint in robot.joints:
        column = f"joint[{joint.name}]"
        if joint.couples_to is not None:
            next_step = "Remove couples_to if the controller reports decoupled angles, or keep the robot file"
            what = f"a URDF cannot say that the joint moves with joint '{joint.couples_to.joint}' as well"
            problems.append(Problem(what, file, column=column, next_step=next_step))
        if joint.kind == "prismatic" and joint.limits is None:
            what = "a prismatic joint of a URDF needs limits"
            problems.append(Problem(what, file, column=column, next_step="Give the joint its limits in the robot file"))
    if problems:
        raise InputError(problems)


def _flange(robot: Robot) -> Placement:
    return robot.flange if robot.convention != "dh" else placement_of(flange_transform(robot))


def _origin(joint: Joint, transform: JointTransform) -> Placement:
    """The joint's fixed transform; with the digits of the file when it states one."""
    geometry = joint.geometry
    if isinstance(geometry, AxisPlacement) and geometry.offset == 0.0:
        return geometry.origin
    return placement_of(transform.fixed)


class _UrdfBuilder:
    """Appends links and joints to a ``<robot>``, giving each a name of its own."""

    def __init__(self, root: ElementTree.Element, moving_joints: Iterable[str]) -> None:
        self._root = root
        self._taken = set(moving_joints)

    def link(self, name: str, mass: float = 0.0, com: Vector3 = ZERO3) -> str:
        """Appends a link; returns the name it got."""
        element = ElementTree.SubElement(self._root, "link", name=self._free(name))
        if mass:
            inertial = ElementTree.SubElement(element, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=_numbers(com), rpy="0 0 0")
            ElementTree.SubElement(inertial, "mass", value=repr(float(mass)))
            moments = dict.fromkeys(("ixx", "iyy", "izz"), repr(_INERTIA))
            ElementTree.SubElement(inertial, "inertia", moments | dict.fromkeys(("ixy", "ixz", "iyz"), "0"))
        return element.attrib["name"]

    def fixed(self, parent: str, child: str, placement: Placement) -> str:
        """Fixes a link to its parent; returns the child."""
        self._joint(self._free(f"{child}_joint"), "fixed", parent, child, placement)
        return child

    def moving(self, parent: str, joint: Joint, transform: JointTransform) -> str:
        """Appends a moving joint and its link; returns the link."""
        child = self.link(f"{joint.name}_link", joint.mass, joint.com)
        kind = "continuous" if joint.limits is None else joint.kind
        element = self._joint(joint.name, kind, parent, child, _origin(joint, transform))
        ElementTree.SubElement(element, "axis", xyz=_numbers(vector3(transform.axis)))
        if joint.limits is not None:
            lower, upper = (repr(float(limit)) for limit in joint.limits)
            ElementTree.SubElement(element, "limit", lower=lower, upper=upper, effort="0", velocity="0")
        return child

    def _joint(self, name: str, kind: str, parent: str, child: str, placement: Placement) -> ElementTree.Element:
        element = ElementTree.SubElement(self._root, "joint", name=name, type=kind)
        ElementTree.SubElement(element, "parent", link=parent)
        ElementTree.SubElement(element, "child", link=child)
        ElementTree.SubElement(element, "origin", xyz=_numbers(placement.xyz), rpy=_numbers(placement.rpy))
        return element

    def _free(self, name: str) -> str:
        """``name``, or ``name_2`` and so on: readers look links and joints up in one table of frames."""
        free, count = name, 1
        while free in self._taken:
            count += 1
            free = f"{name}_{count}"
        self._taken.add(free)
        return free
