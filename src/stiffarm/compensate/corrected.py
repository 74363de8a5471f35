"""A path as the controller is to be told it, so that the loaded arm follows the wished one.

Joint values are what the drives are commanded.  A controller that is told poses inverts kinematics of its own, so
the pose it is told is not the wished one but where *its* kinematics put the tool at those joint values,

    T_told = T_controller(q),      T_loaded arm(q) = T_wished,

with T_controller that of the robot file (``nominal``) or of the identified geometry without load (``model``).
Writers of programs take either: joint targets from ``q``, pose targets from ``pose_world``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Kinematics = Literal["nominal", "model"]
"""Whose kinematics the controller inverts when it is told a pose."""


@dataclass(frozen=True)
class Refused:
    """A point of the path that is not commanded, and why."""

    row: int
    """Line in the path's file; the header is line 1."""
    reason: str
    """One sentence without a full stop; names the joint, where one is to blame."""


@dataclass(frozen=True, eq=False)
class CorrectedPath:
    """Targets for a controller, in the path's order; the batch axis is last.

    Points that are ``refused`` have NaN in ``q`` and ``pose_world``: a program must not be written from such a path.

    >>> path = CorrectedPath(("A1",), np.zeros((1, 2)), np.zeros((6, 2)), np.array([2, 3]))
    >>> len(path), path.complete
    (2, True)
    """

    joints: tuple[str, ...]
    """Names of the joints, in the robot's order, external axes (rails) among them."""
    q: Floats
    """(joints, n) controller values to command, rad or m."""
    pose_world: Floats
    """(6, n) position (m) and rotation vector (rad) of the tool in the world, as the controller is to be told."""
    row: Ints
    """(n,) line of each point in the path's file."""
    kinematics: Kinematics = "nominal"
    """Whose kinematics ``pose_world`` is meant for."""
    refused: tuple[Refused, ...] = ()
    time_s: Floats | None = None
    """(n,) s, when the path states times."""
    feed_m_s: Floats | None = None
    """(n,) m/s of the tool towards each point, when the path states feeds; NaN where a cell is empty."""
    notes: tuple[str, ...] = ()
    """Sentences that belong into the header of whatever is written: model, loads, what was allowed by option."""
    against_advice: tuple[str, ...] = ()
    """Those of the notes that must stand even where a header has little room: what was allowed against advice."""

    def __len__(self) -> int:
        return int(self.q.shape[1])

    @property
    def complete(self) -> bool:
        """Whether every point may be commanded."""
        return not self.refused

    def points(self) -> Iterator[tuple[int, Floats, Floats]]:
        """Line, joint values (joints,) and told pose (6,) of every point in turn."""
        for i in range(len(self)):
            yield int(self.row[i]), self.q[:, i], self.pose_world[:, i]
