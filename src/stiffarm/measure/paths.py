"""Path files: where the tool goes and what pulls on it, point by point.

A path row is either joint values or a pose of the tool in the world (``x y z rx ry rz``), or both; loads
are stated as in a campaign.  All columns are kept as text so that an answer can carry them along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from stiffarm.errors import InputError, Problem
from stiffarm.measure import checks
from stiffarm.measure.campaign import DEFAULT_MARKER, Campaign
from stiffarm.measure.columns import POSE, markers_of
from stiffarm.measure.frames import FrameFile, Source
from stiffarm.measure.loads import loads_of
from stiffarm.measure.reading import read_plan
from stiffarm.measure.sheet import Floats, Ints, Sheet, carried, raise_if, read_sheet, unknown_names
from stiffarm.robot.arm import Robot


@dataclass(frozen=True, eq=False)
class PathFile:
    """Points of a path in SI; the batch axis is last."""

    file: str
    headers: tuple[str, ...]
    text: Mapping[str, pl.Series]
    """Every column of the file as it stands, by header; decimal commas of numbers are points."""
    joints: tuple[str, ...]
    q: Floats | None
    """(joints, points) controller values, rad or m."""
    pose_world: Floats | None
    """(6, points) position (m) and rotation vector (rad) of the tool in the world."""
    load_points: tuple[str, ...]
    wrench_world: Floats
    """(load points, 6, points) force (N) and torque (N m)."""
    markers: tuple[str, ...]
    marker: Ints
    """(points,) index into `markers`."""
    time_s: Floats | None
    weight: Floats
    """(points,) 1 when the file has none."""
    row: Ints
    warnings: tuple[str, ...] = ()
    feed_m_s: Floats | None = None
    """(points,) m/s of the tool towards each point, NaN where a cell is empty; None without such a column."""

    def __len__(self) -> int:
        return int(self.row.shape[0])


def read_path(path: Source, robot: Robot | None = None) -> PathFile:
    """Read `NAME.path.csv`; raise `InputError` with file, row and column of what is wrong."""
    sheet = read_sheet(path, robot)
    joints = sheet.layout.joints
    everywhere = np.ones(len(sheet), dtype=bool)
    q = _joints(sheet, robot)
    pose = _pose(sheet, required=q is None)
    if q is None and pose is None:
        raise InputError(
            Problem(
                "the path has neither joints nor poses",
                file=sheet.table.file,
                row=1,
                found=", ".join(sheet.table.headers[:8]),
                allowed="q.<joint>[deg] for every joint, or x[mm] y[mm] z[mm] rx[rad] ry[rad] rz[rad]",
            )
        )
    problems = [] if q is None else checks.joint_problems(sheet, q, everywhere, robot)
    time = sheet.number("time") if sheet.has("time") else None
    if time is not None:
        problems += sheet.first(np.isnan(time), "time", "the point has no time", allowed="a number in every row")
        back = np.concatenate([[False], np.diff(time) < 0.0])
        problems += sheet.first(back, "time", "time runs backwards", allowed="times that rise")
    feed = sheet.number("feed") if sheet.has("feed") else None
    if feed is not None:
        problems += sheet.first(feed < 0.0, "feed", "a feed cannot be negative", allowed="0 or more, or empty")
    weight = np.nan_to_num(sheet.number("weight"), nan=1.0)
    problems += sheet.first(weight < 0.0, "weight", "a weight cannot be negative", allowed="0 or more")
    markers, marker = sheet.codes("marker", DEFAULT_MARKER)
    if robot is not None:
        problems += unknown_names(sheet, "marker", markers, marker, markers_of(robot), "marker")
    raise_if(problems)
    loads = loads_of(sheet, np.arange(len(sheet)), robot)
    limits = [] if q is None else checks.limit_warnings(sheet, q, robot)
    headers = sheet.table.headers
    return PathFile(
        file=sheet.table.file,
        headers=headers,
        text=carried(sheet.table),
        joints=joints,
        q=q,
        pose_world=pose,
        load_points=loads.points,
        wrench_world=loads.wrench_world,
        markers=markers,
        marker=marker,
        time_s=time,
        weight=weight,
        row=sheet.table.row,
        warnings=(*sheet.warnings, *limits),
        feed_m_s=feed,
    )


def read_plan_or_path(path: Source, robot: Robot | None = None) -> Campaign | PathFile:
    """Read a plan or campaign, or a path: decided by the file's suffix, else by a column 'experiment'."""
    name = path.name if isinstance(path, FrameFile) else Path(path).name
    if name.endswith(".path.csv"):
        return read_path(path, robot)
    if name.endswith((".plan.csv", ".campaign.csv")) or read_sheet(path, robot).has("experiment"):
        return read_plan(path, robot)
    return read_path(path, robot)


def _joints(sheet: Sheet, robot: Robot | None) -> Floats | None:
    """(joints, points); None when the file states no joints at all."""
    names = [f"q.{joint}" for joint in sheet.layout.joints]
    missing = [name for name in names if not sheet.has(name)]
    if len(missing) == len(names):
        return None
    if missing:
        expected = ", ".join(names)
        what = f"the joint column '{missing[0]}' is missing"
        raise InputError(Problem(what, file=sheet.table.file, row=1, column=missing[0], allowed=expected))
    return sheet.block(names)


def _pose(sheet: Sheet, *, required: bool) -> Floats | None:
    """(6, points); None when the file states no pose, or only a part that joints make needless."""
    missing = [name for name in POSE if not sheet.has(name)]
    if len(missing) == len(POSE) or (missing and not required):
        return None
    if missing:
        what = f"the pose column '{missing[0]}' is missing"
        step = "A pose needs its position and its rotation vector"
        place = {"file": sheet.table.file, "column": missing[0]}
        raise InputError(Problem(what, row=1, allowed=", ".join(POSE), next_step=step, **place))
    pose = sheet.block(POSE)
    empty = [sheet.first(np.isnan(row), name, "the pose is incomplete") for name, row in zip(POSE, pose, strict=True)]
    raise_if([problem for problems in empty for problem in problems])
    return pose
