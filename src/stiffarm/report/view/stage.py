"""A scene put into viser: handles made once, moved when the scene changes.

Every carrier is a node with its parts below it, once for the unloaded and once for the bent arm, so that a new posture
sends a few transforms and no surface.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiffarm.report.view.parts import Part
from stiffarm.report.view.scene import STILL_M, Posed, magnified
from stiffarm.report.view.shapes import image_of_sphere, sphere
from stiffarm.report.view.subject import Subject
from stiffarm.report.view.words import BLUE, DARK, GREEN, GREY, ORANGE, PURPLE, RED
from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]
NOWHERE = np.zeros((1, 2, 3))
"""An arrow or line of no length, for a handle that must not be empty."""
FEW_READINGS = 60
"""Beyond these, points are drawn smaller."""
STANDING = (150, 160, 140)
COLOURS = {"base": DARK, "joint": (104, 112, 126), "link": GREY, "tool": (140, 146, 158), "mesh": GREY}


@dataclass(frozen=True)
class Switches:
    """What of a scene is shown, and how far apart."""

    magnification: float
    misses_magnification: float = 1.0
    bent: bool = True
    compliance: bool = True
    loads: bool = True
    names: bool = False
    track: bool = True


def quaternion(rotation: Floats) -> Floats:
    """(w, x, y, z) of a rotation matrix.

    >>> quaternion(np.diag([1.0, -1.0, -1.0])).tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    r = rotation
    squares = np.array(
        [1 + r[0, 0] + r[1, 1] + r[2, 2], 1 + r[0, 0] - r[1, 1] - r[2, 2],
         1 - r[0, 0] + r[1, 1] - r[2, 2], 1 - r[0, 0] - r[1, 1] + r[2, 2]]
    )  # fmt: skip
    products = np.array(
        [[0.0, r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
         [r[2, 1] - r[1, 2], 0.0, r[1, 0] + r[0, 1], r[0, 2] + r[2, 0]],
         [r[0, 2] - r[2, 0], r[1, 0] + r[0, 1], 0.0, r[2, 1] + r[1, 2]],
         [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[2, 1] + r[1, 2], 0.0]]
    )  # fmt: skip
    k = int(np.argmax(squares))  # the largest, so that nothing small is divided by
    out = products[k]
    out[k] = squares[k]
    return np.asarray(out / np.linalg.norm(out))


class Stage:
    """The handles of one server's scene."""

    def __init__(self, server: Any, subject: Subject) -> None:
        self.scene, self.subject = server.scene, subject
        size = subject.reach_m
        self.scene.set_up_direction("+z")
        # without shadows and mirrored surroundings it is drawn by machines without a graphics card as well
        self.scene.configure_default_lights(cast_shadow=False)
        self.scene.configure_environment_map(None)
        self.scene.add_light_hemisphere(
            "/light/sky", sky_color=(255, 255, 255), ground_color=(150, 146, 140), intensity=2.2
        )
        self.scene.add_light_directional("/light/side", color=(255, 255, 255), intensity=1.4, position=(1.0, -3.0, 1.5))
        self.scene.add_grid("/floor", width=3.0 * size, height=3.0 * size, cell_size=0.25, section_size=1.0)
        self.scene.world_axes.axes_length, self.scene.world_axes.axes_radius = 0.1 * size, 0.003 * size
        self.scene.world_axes.visible = True
        self.rest = self._arm("/arm", subject.parts, None)
        self.bent = self._arm("/bent", subject.bent_parts, 0.45)
        for i, mesh in enumerate(subject.obstacles):
            vertices = mesh.vertices.astype(np.float32)
            self.scene.add_mesh_simple(f"/cell/{i}", vertices, mesh.faces, color=STANDING, opacity=0.35)
        unit = sphere()
        self.ellipsoid = self.scene.add_mesh_simple(
            "/compliance", unit.vertices.astype(np.float32), unit.faces, color=GREEN, opacity=0.45, side="double"
        )
        thin = 0.006 * size
        self.arrows = self.scene.add_arrows(
            "/loads", NOWHERE, PURPLE, shaft_radius=thin, head_radius=2.4 * thin, head_length=5.0 * thin
        )
        self.cable = self.scene.add_line_segments("/cable", NOWHERE, DARK, thickness=0.5 * thin)
        self.labels = [self.scene.add_label(f"/names/{i}", name) for i, name in enumerate(subject.arm.chain.points)]
        self._add_track(thin)
        self._add_misses(thin)

    def _arm(self, root: str, parts: tuple[Part, ...], opacity: float | None) -> list[Any]:
        """A node for every carrier, with its parts."""
        carriers = self.subject.arm.chain.n_joints + 2
        nodes = [self.scene.add_frame(f"{root}/{k}", show_axes=False) for k in range(carriers)]
        for i, part in enumerate(parts):
            self.scene.add_mesh_simple(
                f"{root}/{part.carrier}/{i}",
                part.mesh.vertices.astype(np.float32),
                part.mesh.faces.astype(np.uint32),
                color=COLOURS[part.role] if opacity is None else ORANGE,
                opacity=opacity,
                side="double" if part.role == "mesh" else "front",
            )
        return nodes

    def _add_track(self, thin: float) -> None:
        self.track = None
        if self.subject.track.shape[1]:
            points = self.subject.track.T.astype(np.float32)
            self.track = self.scene.add_point_cloud(
                "/poses", points, DARK, point_size=1.4 * thin, point_shape="circle", precision="float32"
            )

    def _add_misses(self, thin: float) -> None:
        self.misses: tuple[Any, ...] = ()
        missed = self.subject.misses
        if missed is None or not len(missed):
            return
        size = 1.6 * thin * min(1.0, (FEW_READINGS / len(missed)) ** (1.0 / 3.0))
        style = {"point_size": size, "point_shape": "circle", "precision": "float32"}
        at = missed.predicted.T.astype(np.float32)
        self.scene.add_point_cloud("/predicted", at, BLUE, **style)
        self.misses = (
            self.scene.add_point_cloud("/measured", at, RED, **style),
            self.scene.add_line_segments("/apart", np.stack([at, at], axis=1), RED, thickness=0.3 * size),
        )

    def show(self, found: Posed, switches: Switches, attachment: Floats | None) -> None:
        """Bring everything to where it is now."""
        for node, at in zip(self.rest, found.rest, strict=True):
            _move(node, at)
        bent = found.bent if switches.bent and found.bends else None
        for k, node in enumerate(self.bent):
            node.visible = bent is not None and _apart(found.rest[k], bent[k])
            if bent is not None:
                _move(node, magnified(found.rest[k], bent[k], switches.magnification))
        self._show_compliance(found, visible=switches.compliance)
        self._show_loads(found, attachment, visible=switches.loads)
        shift = switches.magnification if bent is not None else 0.0
        for label, (name, place) in zip(self.labels, found.points.items(), strict=True):
            label.visible = switches.names
            label.position = place + shift * found.moved[name]
        if self.track is not None:
            self.track.visible = switches.track
        self._show_misses(switches.misses_magnification)

    def _show_compliance(self, found: Posed, *, visible: bool) -> None:
        shown = visible and found.compliance is not None and bool(found.compliance.any())
        self.ellipsoid.visible = shown
        if shown and found.compliance is not None:
            surface = image_of_sphere(self.subject.compliance_scale * found.compliance)
            self.ellipsoid.vertices = surface.vertices.astype(np.float32)
            self.ellipsoid.position = found.points["tool"]

    def _show_loads(self, found: Posed, attachment: Floats | None, *, visible: bool) -> None:
        ends = [(a.at, a.at + a.force_world / self.subject.newtons_per_m) for a in found.arrows]
        self.arrows.visible = visible and bool(ends)
        if ends:
            self.arrows.points = np.array(ends, dtype=np.float32)
        pulled = attachment is not None and bool(np.isfinite(attachment).all())
        self.cable.visible = visible and pulled
        if pulled and attachment is not None:
            from_point = next((a.at for a in found.arrows if not a.weight), found.points["tool"])
            self.cable.points = np.array([(from_point, attachment)], dtype=np.float32)

    def _show_misses(self, magnification: float) -> None:
        missed = self.subject.misses
        if missed is None or not self.misses:
            return
        cloud, lines = self.misses
        measured = missed.measured(magnification).T.astype(np.float32)
        cloud.points = measured
        lines.points = np.stack([missed.predicted.T.astype(np.float32), measured], axis=1)


def _apart(rest: Rigid, bent: Rigid) -> bool:
    """Whether a carrier bends at all: one before the first spring would only cover what it stands on."""
    turned = np.abs(rest.rotation - bent.rotation).max()
    return bool(max(turned, np.abs(rest.translation - bent.translation).max()) > STILL_M)


def _move(node: Any, at: Rigid) -> None:
    node.position = at.translation
    node.wxyz = quaternion(at.rotation)
