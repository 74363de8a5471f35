"""What is shown, in words: lines for the terminal, a few lines for the panel beside the picture."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

import numpy as np
from numpy.typing import NDArray

from stiffarm.report.view.misses import Misses
from stiffarm.report.view.scene import Posed
from stiffarm.report.view.subject import Subject

Floats = NDArray[np.float64]

GREY, ORANGE, GREEN, PURPLE = (176, 182, 192), (230, 140, 0), (0, 158, 115), (126, 47, 142)
BLUE, RED, DARK = (0, 92, 175), (205, 52, 22), (70, 76, 88)
"""Told apart by eyes that do not see red or green; every one is named in the panel."""
FAR_M = 0.01
"""Root mean square beyond which it is the place of the markers that is not known."""
DRAWN = {"meshes": "the meshes of its URDF", "capsules": "the capsules of its file", "rods": "rods along its axes"}


def described(subject: Subject) -> list[str]:
    """What is shown, one sentence a line, for people who read it."""
    return list(_lines(subject))


def _lines(subject: Subject) -> Iterator[str]:
    robot, arm = subject.known.robot, subject.arm
    yield f"{robot.name}: {len(robot.joints)} joints, drawn by {DRAWN[subject.drawn]}."
    if arm.model.bending and any(arm.values.get(p.name, 0.0) for p in arm.model.parameters if p.elastic):
        yield f"Grey: unloaded. Orange: at its equilibrium, deflections x {subject.magnification:g}."
        yield "Green about the tool: where it goes under 1 N of any direction."
    else:
        yield "It has no compliances, so nothing bends."
    if subject.pulled:
        yield f"Purple arrows: loads, {subject.newtons_per_m:.3g} N drawn as 1 m."
    if subject.stops is not None:
        cable = " and the cable" if subject.stops.attachment is not None else ""
        yield f"{len(subject.stops)} poses of {subject.stops.file}{cable}, chosen by a slider."
    if subject.obstacles:
        yield f"{len(subject.obstacles)} obstacles of the cell."
    if subject.misses is not None:
        yield from _of_readings(subject.misses, subject.misses_magnification)
    yield from subject.notes


def _of_readings(missed: Misses, magnification: float) -> Iterator[str]:
    if len(missed):
        apart = f"{length(missed.rms_m)} apart (rms), x {magnification:g}"
        yield f"{len(missed)} readings: predicted blue, measured red, {apart}."
    if missed.fitted:
        yield f"Frames fitted on these readings: {', '.join(missed.fitted)}."
    if missed.rms_m > FAR_M:
        yield "So far apart, markers sit elsewhere than is known here: identify, then view the model."
    if missed.left_out:
        yield f"{missed.left_out} rows are no readings of a place and are not shown."


def panel_html(subject: Subject, asked_name: str, found: Posed) -> str:
    """The state of the picture for the panel: pose, tool, deflection, compliance, with the colours' names."""
    tool, moved = found.points["tool"], found.moved["tool"]
    rows = [
        (None, escape(asked_name)),
        (GREY, f"tool at {_mm(tool)} mm"),
    ]
    if found.trouble is not None:
        rows.append((ORANGE, f"not shown: {escape(found.trouble)}"))
    elif not found.bends:
        rows.append((ORANGE, "nothing bends here"))
    else:
        rows.append((ORANGE, f"bends by {length(float(np.linalg.norm(moved)))}: {_mm(moved, 3)} mm"))
    if found.compliance is not None and (axes := half_axes(found.compliance)) is not None:
        low, high = axes
        rows.append((GREEN, f"gives way by {high:.3g} µm/N at most, {low:.3g} at least"))
    if subject.misses is not None and len(subject.misses):
        rows += [(BLUE, "predicted markers"), (RED, f"measured, {length(subject.misses.rms_m)} rms")]
    lines = "".join(f"<div>{_dot(colour)}{words}</div>" for colour, words in rows)
    style = "font-size:0.8em;line-height:1.5;padding:0 0.75em"
    return f'<div class="stiffarm-state" role="status" style="{style}">{lines}</div>'


def half_axes(compliance: Floats) -> tuple[float, float] | None:
    """Least and largest way under 1 N, um/N; None for an arm that does not give way."""
    values = 1e6 * np.linalg.svd(compliance, compute_uv=False)
    return None if values[0] < 1e-9 else (float(values[-1]), float(values[0]))


def length(metres: float) -> str:
    """A small length as people say it.

    >>> length(0.00234), length(2.5e-5)
    ('2.34 mm', '25 um')
    """
    return f"{1e3 * metres:.3g} mm" if metres >= 1e-4 else f"{1e6 * metres:.3g} um"


def joint_value(value: float, *, prismatic: bool) -> float:
    """A joint's value as it is shown: deg, or mm."""
    return round(1e3 * value if prismatic else math.degrees(value), 6)


def _mm(vector: Floats, digits: int = 1) -> str:
    return ", ".join(f"{round(1e3 * float(v), digits) + 0.0:.{digits}f}" for v in vector)


def _dot(colour: tuple[int, int, int] | None) -> str:
    if colour is None:
        return ""
    return f'<span style="color:rgb{colour}" aria-hidden="true">&#9679;</span> '
