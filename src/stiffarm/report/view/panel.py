"""Sliders and switches beside the picture, and what they ask for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiffarm.report.view.scene import Asked, Posed, Pull
from stiffarm.report.view.stage import Switches
from stiffarm.report.view.subject import Subject
from stiffarm.report.view.words import joint_value, panel_html

Floats = NDArray[np.float64]
LARGEST_N = 1e7
SAME = 1e-5
"""deg or mm by which a slider may differ from what it was set to."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """What the panel asks for."""

    name: str
    """The pose in words."""
    asked: Asked
    switches: Switches
    attachment: Floats | None
    """(3,) where the cable is fastened, m, world."""


class Panel:
    """The handles of one server's panel; ``changed`` is called, in some thread, whenever one is moved."""

    def __init__(self, server: Any, subject: Subject, changed: Callable[[], None]) -> None:
        self.subject = subject
        gui = server.gui
        self.state = gui.add_html("")
        self.stop = None
        if subject.stops is not None and len(subject.stops) > 1:
            self.stop = gui.add_slider("pose", 1, len(subject.stops), 1, 1, hint="the poses of the file, in order")
        self._at, self._filed = 0, True
        with gui.add_folder("Joints"):
            self.joints = [self._joint(gui, k) for k in range(len(subject.ranges))]
        self._set = self._shown(subject.start.q)
        with gui.add_folder("Loads"):
            self._add_loads(gui)
        with gui.add_folder("Show"):
            self._add_switches(gui)
        for handle in self._inputs():
            handle.on_update(lambda _: changed())

    def _joint(self, gui: Any, k: int) -> Any:
        joint, (low, high) = self.subject.known.robot.joints[k], self.subject.ranges[k]
        slides = joint.kind == "prismatic"
        step = 1.0 if slides else 0.1
        # whole steps outside the limits, so that the ends are short numbers and every pose lies between them
        least = step * math.floor(joint_value(low, prismatic=slides) / step + SAME)
        most = step * math.ceil(joint_value(high, prismatic=slides) / step - SAME)
        now = joint_value(float(self.subject.start.q[k]), prismatic=slides)
        label = f"{joint.name} {'mm' if slides else 'deg'}"
        return gui.add_slider(label, round(least, 1), round(most, 1), step, min(max(now, least), most))

    def _add_loads(self, gui: Any) -> None:
        subject = self.subject
        pull = next(iter(subject.start.pulls), Pull("tool", np.zeros(3), np.zeros(3)))
        self.planned = None
        if subject.stops is not None:
            self.planned = gui.add_checkbox("as in the file", True, hint="loads of each pose; off: those below")
        force = tuple(float(v) for v in pull.force_world)
        ends = {"min": (-LARGEST_N,) * 3, "max": (LARGEST_N,) * 3}
        self.force = gui.add_vector3("force N", force, step=1.0, hint="in the world, z up", **ends)
        self.at = gui.add_dropdown("at", tuple(subject.arm.chain.points), initial_value=pull.point)
        self.weights = gui.add_checkbox("weights", subject.start.weights, hint="of links, tool and payload")

    def _add_switches(self, gui: Any) -> None:
        subject = self.subject
        most = 5.0 * subject.magnification
        self.magnification = gui.add_slider(
            "deflection x", 0.0, most, min(1.0, most / 100.0), subject.magnification, hint="1: as it is"
        )
        self.misses = None
        if subject.misses is not None:
            most = 5.0 * subject.misses_magnification
            self.misses = gui.add_slider(
                "errors x", 0.0, most, min(1.0, most / 100.0), subject.misses_magnification, hint="1: as they are"
            )
        self.bent = gui.add_checkbox("bent arm", True)
        self.compliance = gui.add_checkbox("compliance", True)
        self.loads = gui.add_checkbox("loads", True)
        self.names = gui.add_checkbox("names of points", False)
        self.track = gui.add_checkbox("tool at every pose", True) if subject.stops is not None else None

    def _inputs(self) -> list[Any]:
        optional = [self.stop, self.planned, self.misses, self.track]
        always = [self.force, self.at, self.weights, self.magnification, self.bent, self.compliance, self.loads]
        return [*self.joints, *always, self.names, *(one for one in optional if one is not None)]

    def _shown(self, q: Floats) -> list[float]:
        kinds = [joint.kind == "prismatic" for joint in self.subject.known.robot.joints]
        return [joint_value(float(v), prismatic=slides) for v, slides in zip(q, kinds, strict=True)]

    def wanted(self) -> Wanted:
        """What is asked for now; a newly chosen pose moves the joints' sliders first."""
        stops, at = self.subject.stops, 0 if self.stop is None else int(self.stop.value) - 1
        if stops is not None and at != self._at:
            self._at, self._set = at, self._shown(stops.q[:, at])
            for handle, value in zip(self.joints, self._set, strict=True):
                handle.value = value
            self._filed = False
        now = [float(handle.value) for handle in self.joints]
        by_hand = any(abs(a - b) > SAME for a, b in zip(now, self._set, strict=True))
        planned = stops.asked(at) if stops is not None else self.subject.start
        q = self._joints_si(now) if by_hand else planned.q
        as_planned = stops is not None and self.planned is not None and bool(self.planned.value)
        if as_planned and not self._filed:
            self._show_loads_of(planned)
        self._filed = as_planned
        pulls = planned.pulls if as_planned else self._own_pull()
        attachment = stops.attachment[:, at] if as_planned and stops and stops.attachment is not None else None
        weights = bool(self.weights.value)
        name = "joints by hand" if by_hand else "start" if stops is None else f"pose {at + 1}: {stops.names[at]}"
        return Wanted(name, Asked(q, pulls, weights, planned.payload), self._switches(), attachment)

    def _show_loads_of(self, planned: Asked) -> None:
        """The first load of a pose and whether weights count in the fields that state them."""
        pull = next(iter(planned.pulls), Pull(str(self.at.value), np.zeros(3), np.zeros(3)))
        self.force.value = tuple(float(v) for v in pull.force_world)
        self.at.value = pull.point
        self.weights.value = planned.weights

    def _joints_si(self, shown: list[float]) -> Floats:
        kinds = [joint.kind == "prismatic" for joint in self.subject.known.robot.joints]
        return np.array([1e-3 * v if slides else np.deg2rad(v) for v, slides in zip(shown, kinds, strict=True)])

    def _own_pull(self) -> tuple[Pull, ...]:
        force = np.nan_to_num(np.array(self.force.value, dtype=float), posinf=0.0, neginf=0.0)  # a field left empty
        return (Pull(str(self.at.value), force, np.zeros(3)),)

    def _switches(self) -> Switches:
        return Switches(
            magnification=float(self.magnification.value),
            misses_magnification=1.0 if self.misses is None else float(self.misses.value),
            bent=bool(self.bent.value),
            compliance=bool(self.compliance.value),
            loads=bool(self.loads.value),
            names=bool(self.names.value),
            track=self.track is None or bool(self.track.value),
        )

    def tell(self, wanted: Wanted, found: Posed) -> None:
        """Say what is shown."""
        self.state.content = panel_html(self.subject, wanted.name, found)
