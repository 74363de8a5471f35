"""What a plan or a path asks about: configurations, loads and points, row by row, and the columns it carries.

A row of a plan stands for a reading, one of a path for a place of the tool.  Both come down to joint values,
loads and a point of the arm; where a path states poses, the nominal robot's joint values for them are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stiffarm.compensate.pulling import Asking, Points
from stiffarm.compensate.wishing import tool_of
from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.identify.domain import leaving
from stiffarm.identify.estimate import Domain
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign, Payload
from stiffarm.measure.columns import markers_of, meaning_of
from stiffarm.measure.frames import Source
from stiffarm.measure.paths import PathFile, read_plan_or_path
from stiffarm.measure.sheet import carried, table_at
from stiffarm.model.arm_model import Arm
from stiffarm.model.inverse import inverse_kinematics
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import Robot
from stiffarm.units import split_header

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Asked:
    """Rows of a plan or a path; the batch axis is last."""

    file: str
    text: Mapping[str, pl.Series]
    """Columns as they stand in the file, by header."""
    row: Ints
    """Line of each row in the file."""
    q: Floats
    """(joints, rows) controller values, rad or m."""
    markers: tuple[str, ...]
    marker: Ints
    """(rows,) index into `markers`."""
    load_points: tuple[str, ...]
    wrench_world: Floats
    """(load points, 6, rows)"""
    difference: NDArray[np.bool_]
    """(rows,) whether the row is a deflection: loaded minus unloaded."""
    payloads: tuple[Payload | None, ...] = (None,)
    payload: Ints | None = None
    """(rows,) index into `payloads`; None: all have the first."""
    joint_torque: Floats | None = None
    """(joints, rows) measured torques that replace the loads, N m or N."""
    warnings: tuple[str, ...] = ()
    feed_m_s: Floats | None = None
    """(rows,) m/s, when a path states feeds."""

    def __len__(self) -> int:
        return int(self.row.shape[0])

    def pulled(self, asking: Asking, nominal: Arm) -> Asked:
        """The same rows under loads that options ask for; directions are those of the nominal robot's tool."""
        if asking == Asking():
            return self
        position, rotation = tool_of(nominal, np.nan_to_num(self.q))
        points = Points(
            self.file, self.row, position, rotation, self.load_points, self.wrench_world, feed_m_s=self.feed_m_s
        )
        found = asking.along(points, nominal.robot)
        warnings = (*self.warnings, *found.warnings)
        return replace(self, load_points=found.load_points, wrench_world=found.wrench_world, warnings=warnings)

    def at_marker(self, name: str, robot: Robot) -> Asked:
        """The same rows asked about one marker."""
        known = markers_of(robot)
        if name not in known:
            hint = did_you_mean(name, known)
            step = hint and hint[0].upper() + hint[1:]
            what = f"marker '{name}' does not exist for {robot.name}"
            raise InputError(Problem(what, allowed=", ".join(known), next_step=step))
        return replace(self, markers=(name,), marker=np.zeros(len(self), dtype=np.int64))

    def state(self, arm: Arm, rows: Ints, payload: Payload | None, *, weights: bool = True) -> State:
        """Configurations and loads of some rows, with or without the weights of the arm."""
        q = np.ascontiguousarray(self.q[:, rows])
        if self.joint_torque is not None and weights:
            return State(q, joint_torque=np.ascontiguousarray(self.joint_torque[:, rows]))
        external = tuple(
            Load(arm.chain.point(name, of="load point"), wrench[:3, rows], wrench[3:, rows])
            for name, wrench in zip(self.load_points, self.wrench_world, strict=True)
            if wrench[:, rows].any()
        )
        if not weights:
            return State(q, external)
        bolted = None if payload is None else (payload.mass_kg, payload.com_m)
        return State(q, (*external, *arm.weights(bolted)))

    def leaving(self, domain: Domain | None, robot: Robot) -> tuple[str, ...]:
        """Sentences about rows beyond what a model was learned on."""
        return leaving(domain, robot.joint_names, self.q, self.wrench_world, self.row, self.joint_torque)

    def cells(self, header: str) -> list[float | str | None]:
        """A column for people and machines: numbers where the name means numbers, None where empty."""
        meaning = meaning_of(split_header(header)[0])
        cells = self.text[header].to_list()
        if meaning is None or not meaning.dimensions:
            return [cell or None for cell in cells]
        counts = meaning.dimensions == ("number",)
        return [_number(cell, counts=counts) if cell else None for cell in cells]


def _number(cell: str, *, counts: bool) -> float | str:
    try:
        value = float(cell.replace(",", "."))
        return int(value) if counts and value.is_integer() else value
    except ValueError:  # a known name in a file that uses it for something else was refused before
        return cell


def read_asked(path: Source, nominal: Arm) -> Asked:
    """Read a plan or a path for an arm; `InputError` for poses the nominal arm cannot take."""
    found = read_plan_or_path(path, nominal.robot)
    return _of_campaign(found, path) if isinstance(found, Campaign) else _of_path(found, nominal)


def _of_campaign(plan: Campaign, path: Source) -> Asked:
    table = table_at(path)
    at = plan.readings.experiment
    experiments = plan.experiments
    payloads = tuple(dict.fromkeys(setup.payload for setup in plan.setups)) or (None,)
    own = np.array([payloads.index(setup.payload) for setup in plan.setups], dtype=np.int64)
    torque = experiments.joint_torque
    return Asked(
        file=table.file,
        text=carried(table),
        row=plan.readings.row,
        q=experiments.q[:, at],
        markers=(*plan.markers, DEFAULT_MARKER),
        marker=np.where(plan.readings.marker < 0, len(plan.markers), plan.readings.marker),
        load_points=experiments.load_points,
        wrench_world=experiments.wrench_world[:, :, at],
        difference=plan.kind("deflection"),
        payloads=payloads,
        payload=own[plan.readings.setup] if len(own) else None,
        joint_torque=None if torque is None else torque[:, at],
        warnings=plan.warnings,
    )


def _of_path(path: PathFile, nominal: Arm) -> Asked:
    return Asked(
        file=path.file,
        text=path.text,
        row=path.row,
        q=path.q if path.q is not None else _joints_of_poses(path, nominal),
        markers=path.markers,
        marker=path.marker,
        load_points=path.load_points,
        wrench_world=path.wrench_world,
        difference=np.zeros(len(path), dtype=bool),
        warnings=path.warnings,
        feed_m_s=path.feed_m_s,
    )


def _joints_of_poses(path: PathFile, nominal: Arm) -> Floats:
    assert path.pose_world is not None, "a path has joints or poses"
    solution = inverse_kinematics(nominal, path.pose_world)
    missed = np.flatnonzero(~solution.reached)
    if missed.size:
        worst = [(solution.position_error_m[i], solution.rotation_error_rad[i], int(path.row[i])) for i in missed]
        problems = [
            Problem(
                "the nominal robot cannot take this pose",
                file=path.file,
                row=row,
                column="x y z rx ry rz",
                found=f"{1e3 * metres:.3g} mm and {radians:.3g} rad away at the nearest",
                allowed="a pose of the tool within reach and joint limits (rx ry rz is a rotation vector)",
            )
            for metres, radians, row in worst
        ]
        raise InputError(problems)
    return solution.q
