"""A campaign from arrays, for those who have their readings in memory and no file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Readings, Setup
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]


def campaign_of_positions(
    robot: Robot, q: Floats, position_m: Floats, *, marker: str | None = None, setup: str = "arrays"
) -> Campaign:
    """One position for each configuration, in the frame of an instrument that stands anywhere.

    ``q`` (n, joints) are controller values in rad or m, ``position_m`` (n, 3); ``marker`` is one of the robot's
    markers, by default the tool point.  Repeats are equal rows of ``q``.

    >>> from stiffarm.robot.reading import read_robot
    >>> readings = campaign_of_positions(read_robot("ur5"), np.zeros((4, 6)), np.ones((4, 3)))
    >>> len(readings.readings), len(readings.experiments)
    (4, 4)
    """
    q, position_m = np.asarray(q, dtype=float), np.asarray(position_m, dtype=float)
    _check(robot, q, position_m, marker)
    n = len(q)
    nowhere, empty, first = np.full(n, -1), np.full(n, np.nan), np.zeros(n, dtype=np.int64)
    kind = np.full(n, OBSERVATIONS.index("position"))
    return Campaign(
        name=setup,
        joints=robot.joint_names,
        joint_kinds=tuple(joint.kind for joint in robot.joints),
        experiments=Experiments(tuple(str(i + 1) for i in range(n)), np.ascontiguousarray(q.T)),
        readings=Readings(
            experiment=np.arange(n),
            repeat=first + 1,
            setup=first,
            kind=kind,
            marker=nowhere if marker is None else first,
            value=np.concatenate([position_m.T, np.full((3, n), np.nan)]),
            sigma=np.full((6, n), np.nan),
            reference=nowhere,
            target=nowhere,
            target2=nowhere,
            distance_m=empty,
            sigma_distance_m=empty,
            radius_m=empty,
            visit=nowhere,
            sequence=empty,
            time_s=empty,
            row=np.arange(n) + 1,
        ),
        markers=() if marker is None else (marker,),
        setups=(Setup(setup),),
    )


def _check(robot: Robot, q: Floats, position_m: Floats, marker: str | None) -> None:
    if q.ndim != 2 or q.shape[1] != len(robot.joints) or position_m.shape != (len(q), 3):
        raise InputError(
            Problem(
                "joints and positions do not fit",
                found=f"{q.shape} and {position_m.shape}",
                allowed=f"(n, {len(robot.joints)}) and (n, 3)",
            )
        )
    if not (np.isfinite(q).all() and np.isfinite(position_m).all()):
        raise InputError(Problem("a joint or a position is not a finite number"))
    if marker is not None and marker not in robot.marker_names:
        raise InputError(
            Problem(f"marker {marker!r} does not exist", allowed=" ".join(robot.marker_names) or "none, give none")
        )
