"""Reads a serial arm out of a URDF.

A URDF is a tree; an arm is one path in it.  Along the path from ``base`` to ``tip`` the fixed transforms
that follow one another are multiplied into the origin of the next joint that moves,

    origin_k = F_1 F_2 ... F_m O_k          (F: fixed joints since the joint before, O_k: its own origin)

and what is left after the last moving joint is the flange.  Links that hang together by fixed joints are
one body, on the path or beside it: with masses m_i and centres c_i, all seen from the frame after the
motion of the joint that carries them, the body has m = sum m_i and its centre at sum m_i c_i / m.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from stiffarm.errors import InputError, Problem, StiffarmWarning, found_text
from stiffarm.robot.arm import AxisPlacement, Joint, Placement, Robot, UrdfSource, Vector3
from stiffarm.robot.placement import Rigid, rotation_about
from stiffarm.robot.urdf_tree import MOVING_KINDS, UrdfJoint, UrdfTree, read_urdf_tree, suggestion

USUAL_TIP = "tool0"
"""The name ROS-Industrial gives to the tool frame of an arm."""


def read_urdf(path: Path | str, base: str | None = None, tip: str | None = None) -> Robot:
    """The arm between two links of a URDF file.

    ``base`` defaults to the root; ``tip`` to the link farthest from it (most moving joints, then
    `USUAL_TIP`, then most joints).  Raises `InputError` when the file cannot be used or the choice is open.
    """
    tree = read_urdf_tree(Path(path))
    base = _choose_base(tree) if base is None else _known_link(tree, "base", base)
    tip = _choose_tip(tree, base) if tip is None else _known_link(tree, "tip", tip)
    joints, flange = _chain(tree, base, tip)
    source = UrdfSource(tree.file, base, tip)
    return Robot(tree.name, joints, convention="urdf", flange=flange, source=source)


def read_urdf_chain(path: Path, base: str, tip: str) -> tuple[tuple[Joint, ...], Placement]:
    """The moving joints from link ``base`` to link ``tip``, and the tip seen from the last one's frame."""
    tree = read_urdf_tree(path)
    return _chain(tree, _known_link(tree, "base", base), _known_link(tree, "tip", tip))


def placement_of(transform: Rigid) -> Placement:
    """``xyz`` and ``rpy`` of a transform, good to rounding at every orientation.

    With pitch near a quarter turn, roll and yaw are each ill-determined and only their combination is
    not: so yaw is taken first, turned back, and roll is read from what remains.

    >>> placement_of(Rigid.of(Placement((1.0, 2.0, 3.0), (0.0, 0.5, 0.0))))
    Placement(xyz=(1.0, 2.0, 3.0), rpy=(0.0, 0.5, 0.0))
    """
    r = transform.rotation + 0.0  # without negative zeros, which would turn pi into -pi
    locked = math.hypot(r[0, 0], r[1, 0]) < 4e-16
    yaw = 0.0 if locked else math.atan2(r[1, 0], r[0, 0])
    rest = rotation_about("z", -yaw) @ r + 0.0
    pitch = math.atan2(0.0 - rest[2, 0], rest[0, 0])
    roll = math.atan2(0.0 - rest[1, 2], rest[1, 1])
    return Placement(vector3(transform.translation), (roll + 0.0, pitch + 0.0, yaw + 0.0))


def vector3(values: Iterable[float]) -> Vector3:
    """Three plain floats, without negative zeros."""
    x, y, z = (float(value) + 0.0 for value in values)
    return x, y, z


def _known_link(tree: UrdfTree, role: str, name: str) -> str:
    if name in tree.links:
        return name
    hint = suggestion(name, list(tree.links))
    raise InputError(
        Problem(
            f"there is no link of this name to be the {role}",
            file=tree.file,
            found=found_text(name),
            allowed=_listing(tree.links),
            next_step=hint,
        )
    )


def _listing(names: Iterable[str], limit: int = 20) -> str:
    known = list(names)
    more = len(known) - limit
    return ", ".join(known[:limit]) + (f" and {more} more" if more > 0 else "")


def _choose_base(tree: UrdfTree) -> str:
    if len(tree.roots) == 1:
        return tree.roots[0]
    what = f"{len(tree.roots)} links have no parent, so the base is not clear"
    raise InputError(Problem(what, file=tree.file, allowed=_listing(tree.roots), next_step="Name the base"))


def _choose_tip(tree: UrdfTree, base: str) -> str:
    """The farthest leaf; a choice between equals is left to the user, a choice by length is said."""
    paths = {leaf: tree.path_above(leaf, base) for leaf in tree.leaves_below(base)}
    moving = {leaf: sum(joint.kind != "fixed" for joint in path) for leaf, path in paths.items()}
    most = max(moving.values(), default=0)
    far = [leaf for leaf in paths if moving[leaf] == most]
    if most == 0:
        raise InputError(Problem(f"no joint moves beyond link '{base}'", file=tree.file))
    if len(far) == 1 or USUAL_TIP in far:
        return USUAL_TIP if USUAL_TIP in far else far[0]
    length = max(len(paths[leaf]) for leaf in far)
    longest = [leaf for leaf in far if len(paths[leaf]) == length]
    if len(longest) > 1:
        what = "several links are equally far from the base, so the tip is not clear"
        raise InputError(Problem(what, file=tree.file, allowed=_listing(far), next_step="Name the tip"))
    others = _listing(leaf for leaf in far if leaf != longest[0])
    _warn(f"{tree.file}: link '{longest[0]}' is taken as the tip; name the tip if it is one of: {others}")
    return longest[0]


def _chain(tree: UrdfTree, base: str, tip: str) -> tuple[tuple[Joint, ...], Placement]:
    path = _path(tree, base, tip)
    joints: list[Joint] = []
    fixed: list[UrdfJoint] = []
    for joint in path:
        if joint.kind == "fixed":
            fixed.append(joint)
        else:
            joints.append(_moving_joint(tree, joint, _fold([*fixed, joint])))
            fixed = []
    _warn_of_loose_masses(tree, path)
    return tuple(joints), _fold(fixed)


def _path(tree: UrdfTree, base: str, tip: str) -> list[UrdfJoint]:
    path = tree.path_above(tip, base)
    if not path or path[0].parent != base:
        above = [joint.parent for joint in path]
        what = f"link '{base}' does not carry link '{tip}'"
        allowed = f"a base above the tip: {_listing(above)}" if above else "a tip that hangs on another link"
        raise InputError(Problem(what, file=tree.file, allowed=allowed))
    problems = [
        Problem(
            f"a joint of type '{joint.kind}' cannot be part of an arm",
            file=tree.file,
            row=joint.line,
            column=f"joint[{joint.name}]",
            allowed=", ".join((*MOVING_KINDS, "fixed")),
            next_step="Choose base and tip so that it is not between them",
        )
        for joint in path
        if joint.kind not in (*MOVING_KINDS, "fixed")
    ]
    if not problems and all(joint.kind == "fixed" for joint in path):
        problems = [Problem(f"no joint moves between link '{base}' and link '{tip}'", file=tree.file)]
    if problems:
        raise InputError(problems)
    return path


def _fold(joints: Sequence[UrdfJoint]) -> Placement:
    """Consecutive origins as one; a single one keeps the digits of the file."""
    if len(joints) == 1:
        return joints[0].origin
    transform = Rigid.identity()
    for joint in joints:
        transform = transform @ Rigid.of(joint.origin)
    return placement_of(transform)


def _moving_joint(tree: UrdfTree, joint: UrdfJoint, origin: Placement) -> Joint:
    place = f"{tree.file}, row {joint.line}, joint[{joint.name}]"
    if joint.mimics is not None:
        _warn(f"{place}: <mimic> is ignored, the joint counts as one of its own")
    if joint.limits is None and joint.kind != "continuous":
        _warn(f"{place}: the file gives no limits")
    mass, com = _body(tree, joint.child)
    return Joint(
        joint.name,
        "prismatic" if joint.kind == "prismatic" else "revolute",
        AxisPlacement(origin, joint.axis),
        limits=joint.limits,
        mass=mass,
        com=com,
    )


def _rigidly_attached(tree: UrdfTree, link: str) -> list[tuple[str, Rigid]]:
    """A link and all that fixed joints hang on it, each with its pose in the link's frame."""
    attached = [(link, Rigid.identity())]
    for name, pose in attached:
        fixed = (joint for joint in tree.joints_below(name) if joint.kind == "fixed")
        attached += [(joint.child, pose @ Rigid.of(joint.origin)) for joint in fixed]
    return attached


def _body(tree: UrdfTree, link: str) -> tuple[float, Vector3]:
    """Mass and centre of everything rigidly attached to a link, in that link's frame."""
    parts = [(tree.links[name], pose) for name, pose in _rigidly_attached(tree, link)]
    total = sum(part.mass for part, _ in parts)
    if total == tree.links[link].mass:
        return total, tree.links[link].com
    moment = sum((part.mass * pose.apply(part.com) for part, pose in parts), np.zeros(3))
    return total, vector3(moment / total)


def _warn_of_loose_masses(tree: UrdfTree, path: Sequence[UrdfJoint]) -> None:
    """Masses that move against the arm (fingers, a linkage) have no place in a serial chain."""
    bodies = {name for joint in path if joint.kind != "fixed" for name, _ in _rigidly_attached(tree, joint.child)}
    beside = [joint for joint in tree.joints if joint.parent in bodies and joint.kind != "fixed" and joint not in path]
    loose = [joint.name for joint in beside if any(tree.links[link].mass for link in tree.links_from(joint.child))]
    if loose:
        _warn(f"{tree.file}: what moves with joint {_listing(loose)} is not part of the arm; its mass is left out")


def _warn(message: str) -> None:
    warnings.warn(message, StiffarmWarning, stacklevel=2)
