"""The shapes a URDF gives its links, hung on the carriers of an arm.

Every link rigidly attached to a body is drawn with it: its <visual> origin seen from the link, the link seen from the
frame after the motion of the joint that carries it, that frame aligned with the joint's axis by A_k^T.  Meshes are read
from files beside the URDF: a name is relative to the URDF's folder, and ``package://NAME/rest`` is looked for in the
folder of the URDF, the one above it, and those above that are called NAME or hold one.  What is missing or cannot be
read is said and left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stiffarm.model.arm_model import Arm
from stiffarm.report.view.parts import Part
from stiffarm.report.view.shapes import Mesh, box, cylinder, joined, sphere
from stiffarm.robot.arm import Placement, Robot
from stiffarm.robot.placement import Rigid
from stiffarm.robot.urdf_tree import UrdfTree, read_urdf_tree
from stiffarm.robot.urdf_xml import Element, parse_urdf

FOLDERS_UP = 5
MOST_FACES = 2_000_000
"""Triangles of one file beyond which it is left out."""


@dataclass(frozen=True, eq=False)
class UrdfShapes:
    """Parts from a URDF, and what could not be drawn."""

    parts: tuple[Part, ...]
    missing: tuple[str, ...]
    """Sentences."""


def urdf_shapes(arm: Arm) -> UrdfShapes:
    """Shapes of the URDF an arm was read from; none when it has no URDF or that is no longer there."""
    source = arm.robot.source
    if source is None or not Path(source.file).is_file():
        return UrdfShapes((), ())
    path = Path(source.file)
    tree = read_urdf_tree(path)
    visuals = {link.attributes.get("name", ""): link.every("visual") for link in parse_urdf(path).root.every("link")}
    parts, missing = [], []
    for carrier, frame, link in _carried(arm.robot, tree, source.base):
        meshes = []
        for visual in visuals.get(link, []):
            found = _shape(visual, path.absolute().parent)
            if isinstance(found, str):
                missing.append(f"link '{link}': {found}")
            elif found is not None:
                meshes.append(found)
        if meshes:
            aligned = Rigid(arm.chain.align[carrier].T, np.zeros(3)) @ frame
            parts.append(Part(carrier, "mesh", joined(meshes).placed(aligned)))
    return UrdfShapes(tuple(parts), tuple(missing))


def _carried(robot: Robot, tree: UrdfTree, base: str) -> Iterator[tuple[int, Rigid, str]]:
    """Body, pose in that body's frame, and name of every link that moves with the arm."""
    above = {joint.name: joint for joint in tree.joints}
    roots = [base, *(above[name].child for name in robot.joint_names if name in above)]
    if len(roots) != len(robot.joints) + 1:
        return
    for body, root in enumerate(roots):
        waiting = [(root, Rigid.identity())]
        while waiting:
            link, pose = waiting.pop()
            yield body, pose, link
            fixed = (joint for joint in tree.joints_below(link) if joint.kind == "fixed")
            waiting += [(joint.child, pose @ Rigid.of(joint.origin)) for joint in fixed]


def _shape(visual: Element, folder: Path) -> Mesh | str | None:
    """A <visual> in the frame of its link, or why there is none."""
    geometry = next(iter(visual.every("geometry")), None)
    kind = next(iter(geometry.children), None) if geometry is not None else None
    if kind is None:
        return None
    try:
        mesh = _mesh_of(kind, folder)
        if isinstance(mesh, str):
            return mesh
        origin = next(iter(visual.every("origin")), None)
        return mesh.placed(Rigid.of(_placement(origin)))
    except (ValueError, IndexError, KeyError):
        return f"row {kind.line}: <{kind.tag}> has a damaged number"


def _mesh_of(kind: Element, folder: Path) -> Mesh | str:
    said = kind.attributes
    match kind.tag:
        case "box":
            return box(_numbers(said["size"], 3))
        case "sphere":
            return sphere(float(said["radius"]))
        case "cylinder":
            return cylinder(np.zeros(3), (0.0, 0.0, 1.0), float(said["radius"]), float(said["length"]))
        case "mesh":
            scale = _numbers(said.get("scale", "1 1 1"), 3)
            return _file_mesh(said["filename"], folder, scale)
    return f"row {kind.line}: <{kind.tag}> is not drawn"


def _numbers(text: str, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.array([float(word) for word in text.split()])
    if values.shape != (count,) or not np.isfinite(values).all():
        raise ValueError(text)
    return values


def _placement(origin: Element | None) -> Placement:
    said = {} if origin is None else origin.attributes
    x, y, z = (float(v) for v in _numbers(said.get("xyz", "0 0 0"), 3))
    roll, pitch, yaw = (float(v) for v in _numbers(said.get("rpy", "0 0 0"), 3))
    return Placement((x, y, z), (roll, pitch, yaw))


def _file_mesh(name: str, folder: Path, scale: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Mesh | str:
    path = mesh_path(name, folder)
    if path is None:
        return f"mesh {name!r} is not there"
    try:
        import trimesh

        loaded = trimesh.load_mesh(path)
        metres = trimesh.units.unit_conversion(loaded.units, "meters") if loaded.units else 1.0  # COLLADA states them
        vertices = metres * np.asarray(loaded.vertices, dtype=float)
        faces = np.asarray(loaded.faces, dtype=np.int64)
    except Exception as error:  # a reader of some twenty formats raises anything
        return f"mesh {name!r} cannot be read ({type(error).__name__})"
    if not len(faces) or not np.isfinite(vertices).all():
        return f"mesh {name!r} has no triangles"
    if len(faces) > MOST_FACES:
        return f"mesh {name!r} has {len(faces)} triangles, more than {MOST_FACES}"
    return Mesh(vertices * scale, faces if np.prod(scale) > 0.0 else faces[:, ::-1])


def mesh_path(name: str, folder: Path) -> Path | None:
    """The file of a mesh; None when there is none, or it would lie outside the folders of the URDF's package."""
    local = name.removeprefix("file://").replace("\\", "/")
    package = local.startswith("package://")
    parts = [part for part in local.removeprefix("package://").split("/") if part]
    if ".." in parts or not parts or (not package and (local.startswith("/") or local[1:2] == ":")):
        return None
    candidates = [folder.joinpath(*parts)]
    if package:
        above = [folder, *folder.parents][: FOLDERS_UP + 1]
        candidates += [one.joinpath(*parts) for one in above]
        # its own folder, which may have been given another name when it was copied
        candidates += [one.joinpath(*parts[1:]) for i, one in enumerate(above) if i < 2 or one.name == parts[0]]
    return next((path for path in candidates if path.is_file()), None)
