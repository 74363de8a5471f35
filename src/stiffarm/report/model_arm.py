"""Where the arm stood when a picture's numbers were read: places, postures and axes from the names in a model.

The model file names experiments, setups and markers and holds the joint values of the experiments; places are worked
out here, unloaded, at the model's values.  A name the file does not explain (it may come from elsewhere) has no place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.region import centre_of
from stiffarm.identify.estimate import Estimate
from stiffarm.identify.known import model_of, point_of
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import frames, world_point
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import rotation_from_vector

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShownArm:
    """An estimate's arm and where it was."""

    known: Estimate | None
    arm: Arm

    @staticmethod
    def of(estimate: Estimate) -> ShownArm:
        """The arm at the values of an estimate."""
        model = model_of(estimate)
        return ShownArm(estimate, model.at(point_of(estimate, model).values))

    @staticmethod
    def bare(arm: Arm) -> ShownArm:
        """An arm without an estimate behind it: postures, but no names of experiments."""
        return ShownArm(None, arm)

    @property
    def estimate(self) -> Estimate:
        """The estimate there is."""
        assert self.known is not None, "this arm has no estimate"
        return self.known

    @property
    def robot(self) -> Robot:
        """The robot as its file describes it."""
        return self.arm.model.robot

    @cached_property
    def q(self) -> Mapping[str, Floats]:
        """Joint values (rad, m) by experiment."""
        n = self.arm.chain.n_joints
        return {name: np.array(q) for name, q in self.estimate.configurations.items() if len(q) == n}

    def joint_values(self, experiments: Sequence[str]) -> Floats:
        """(joints, n) rad, m; NaN where not known."""
        nowhere = np.full(self.arm.chain.n_joints, np.nan)
        return np.stack([self.q.get(name, nowhere) for name in experiments], axis=1)

    def places(self, experiments: Sequence[str], markers: Sequence[str]) -> Floats:
        """(3, n) m, markers in the world; NaN where not known."""
        q = self.joint_values(experiments)
        out = np.full((3, len(experiments)), np.nan)
        known = np.isfinite(q).all(axis=0)
        for marker in dict.fromkeys(markers):
            rows = np.flatnonzero(known & np.array([one == marker for one in markers]))
            if len(rows):
                out[:, rows] = self.places_at(q[:, rows], marker if marker in self.arm.chain.points else "tool")
        return out

    def places_at(self, q: Floats, point: str) -> Floats:
        """(3, n) m, a point in the world at joint values (joints, n)."""
        at = frames(self.arm.chain, np.ascontiguousarray(q))
        return np.asarray(world_point(at, self.arm.chain.point(point)).xyz)

    def reach(self, experiments: Sequence[str], places: Floats) -> Floats:
        """(n,) m, distance of places from the first turning axis."""
        q = self.joint_values(experiments)
        centre = np.asarray(centre_of(self.arm, np.nan_to_num(q)))
        return np.asarray(np.hypot(places[0] - centre[0], places[1] - centre[1]))

    def world_from_setup(self, setup: str) -> Floats:
        """(3, 3) axes of a setup in the world; those of the world for one without a frame."""
        found = next((one for one in self.estimate.setups if one.name == setup), None)
        return np.eye(3) if found is None else np.asarray(rotation_from_vector(np.array(found.rotvec)).T)

    def skeleton(self, q: Floats, point: str) -> Floats:
        """(3, bodies + 1) m, the line through the arm's frames to a point, for one posture (joints,)."""
        at = frames(self.arm.chain, np.ascontiguousarray(q[:, None]))
        tip = world_point(at, self.arm.chain.point(point)).xyz[:, 0]
        line = np.stack([*(origin[:, 0] for origin in at.origin), tip], axis=1)
        apart = np.concatenate([[True], np.linalg.norm(np.diff(line, axis=1), axis=0) > 1e-6])
        return np.asarray(line[:, apart])
