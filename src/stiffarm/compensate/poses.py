"""Many poses at once, and frames before and behind them.

A controller is told where its tool frame is seen from its base frame, P.  With B the base in the world, T and T'
the tool of the robot file and that of the program, both seen from the flange,

    tool of the file in the world = B P T'^-1 T,        P = B^-1 (tool of the file) T^-1 T'.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.rotations import matrix_of, vector_of
from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Poses:
    """Positions (3, n) in m and rotations (3, 3, n), [row, column, point]."""

    position: Floats
    rotation: Floats

    @staticmethod
    def of(pose: Floats) -> Poses:
        """From (6, n): position and rotation vector."""
        return Poses(pose[:3], matrix_of(pose[3:]).swapaxes(0, 1))

    @property
    def vectors(self) -> Floats:
        """(6, n) position and rotation vector."""
        return np.concatenate([self.position, vector_of(self.rotation.swapaxes(0, 1))])

    def seen_from(self, frame: Rigid) -> Poses:
        """The same poses seen from a frame that is given where they are: frame^-1 P."""
        return self.carried_by(frame.inverse())

    def carried_by(self, frame: Rigid) -> Poses:
        """frame P."""
        position = frame.rotation @ self.position + frame.translation[:, None]
        return Poses(position, np.einsum("ij,jkn->ikn", frame.rotation, self.rotation))

    def then(self, frame: Rigid) -> Poses:
        """P frame."""
        position = self.position + np.einsum("ijn,j->in", self.rotation, frame.translation)
        return Poses(position, np.einsum("ijn,jk->ikn", self.rotation, frame.rotation))
