"""Where a fit begins: nominal geometry, with frames, markers and tool rotation found from the readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.plausible import require_belonging
from stiffarm.identify.start import Cloud, find_start
from stiffarm.identify.system import Point, System
from stiffarm.measure.campaign import DEFAULT_MARKER
from stiffarm.measure.observe import Observer, given_frame
from stiffarm.model.chain import marker_frame
from stiffarm.model.kernel import frames, world_vectors
from stiffarm.model.rotations import matrix_of
from stiffarm.robot.placement import vector_from_rotation

Floats = NDArray[np.float64]
MOST_TRIED = 300
"""Readings with which likely mistakes in the joints are tried."""
CENTRE = ("payload.x", "payload.y", "payload.z")
LEAST_MASS_KG = 1.0
_MOST_STEPS = 4
_NEAR_M = 1e-4


def begin(system: System, names: Sequence[str]) -> Point:
    """A first point: frames of the setups, and those markers and tool rotations that are among the unknowns."""
    campaign = system.campaign
    given = ((setup.name, given_frame(setup)) for setup in campaign.setups)
    frames_now = {name: frame for name, frame in given if frame is not None}
    values = dict(system.model.nominal)
    placed = np.flatnonzero(campaign.placed & np.isfinite(campaign.readings.value[:3]).all(axis=0))
    placed = placed[np.isin(campaign.readings.setup[placed], system.unknown_frames)]
    if not len(placed):
        return _with_tool(system, Point(values, frames_now), names)
    free = [name for name in campaign.markers if f"tool.{name}.x" in set(names)]
    cloud = _cloud(system, placed, free, campaign.experiments.q)
    start = find_start(cloud)

    def misfit(q: Floats) -> float:
        some = placed[:: max(1, len(placed) // MOST_TRIED)]
        return find_start(_cloud(system, some, free, q)).rms_m

    require_belonging(cloud, start.rms_m, campaign.experiments.q, campaign.joints, misfit)
    for setup, frame in start.frames.items():
        frames_now[campaign.setups[setup].name] = frame
    for marker, place in start.markers.items():
        for axis, number in zip("xyz", place, strict=True):
            values[f"tool.{free[marker]}.{axis}"] = float(number)
    if start.tool is not None and "tool.rx" in set(names):
        for axis, number in zip(("rx", "ry", "rz"), vector_from_rotation(start.tool), strict=True):
            values[f"tool.{axis}"] = float(number)
    return Point(values, frames_now)


def weighed(system: System, names: Sequence[str], start: Point) -> Point:
    """The first point with a first mass of an unknown payload, without which nothing moves with its centre.

    The mass that explains the readings best, beside everything else that is asked for and linear about the start.
    """
    centre = [name for name in CENTRE if name in names]
    if not centre or "payload.mass" not in names or start.values.get("payload.mass", 0.0) != 0.0:
        return start
    others = [name for name in names if name not in centre]
    first = system.equations(start, others)
    length = np.linalg.norm(first.columns, axis=0)
    scaled = first.columns / np.where(length > 0.0, length, 1.0)
    found = np.linalg.lstsq(scaled, first.residual, rcond=1e-10)[0]
    at = others.index("payload.mass")
    mass = float(found[at] / length[at]) if length[at] > 0.0 else 0.0
    return Point({**start.values, "payload.mass": max(abs(mass), LEAST_MASS_KG)}, start.frames)


def _with_tool(system: System, start: Point, names: Sequence[str]) -> Point:
    """The point with the tool where nominal geometry makes touches scatter least; its place enters linearly."""
    tool = [n for n in names if n.startswith("tool.") and n.endswith((".x", ".y", ".z"))]
    if not tool or not len(system.contacts):
        return start
    for _ in range(_MOST_STEPS):
        equations = system.equations(start, tool)
        rows, right = equations.columns, equations.residual
        step: Floats = np.asarray(np.linalg.lstsq(rows, right, rcond=1e-6)[0])
        start = system.moved(start, tool, step)
        if np.abs(step).max() < _NEAR_M:
            break
    return start


def _cloud(system: System, rows: NDArray[np.int64], free: Sequence[str], q: Floats) -> Cloud:
    """Nominal placements at ``q`` beside the readings; a marker that is known goes in as its own position."""
    campaign, chain = system.campaign, system.model.at().chain
    readings = campaign.readings
    experiments, member = np.unique(readings.experiment[rows], return_inverse=True)
    at = frames(chain, np.ascontiguousarray(q[:, experiments]))
    names = [campaign.markers[m] if m >= 0 else DEFAULT_MARKER for m in readings.marker[rows]]
    number = {name: i for i, name in enumerate(free)}
    marker = np.array([number.get(name, -1) for name in names])
    position = np.zeros((3, len(rows)))
    if (marker < 0).any():
        observer = system.observer
        if q is not campaign.experiments.q:
            there = replace(campaign, experiments=replace(campaign.experiments, q=q))
            observer = Observer(there, system.loads)
        position = observer.expected(system.model.at()).world[:, rows]
    rotation = np.zeros((3, 3, len(rows)))
    for m in np.unique(marker[marker >= 0]):
        mine = marker == m
        body, frame, _ = marker_frame(system.model.robot, free[m])
        turned = world_vectors(at.rotation[body], np.ascontiguousarray(frame.rotation.T))
        shift = world_vectors(at.rotation[body], frame.translation[None, :])[0]
        rotation[:, :, mine] = turned[:, :, member[mine]]
        position[:, mine] = (at.origin[body] + shift)[:, member[mine]]
    if not campaign.kind("pose").any():
        return Cloud(position, rotation, readings.value[:3, rows], readings.setup[rows], marker)
    tool = world_vectors(at.rotation[chain.n_joints], np.ascontiguousarray(chain.tool.rotation.T))[:, :, member]
    read = matrix_of(readings.value[3:, rows])
    read[:, :, ~campaign.kind("pose")[rows]] = np.nan
    return Cloud(position, rotation, readings.value[:3, rows], readings.setup[rows], marker, read, tool)
