"""Plans of paper 002 by the search of `stiffarm.plan`: eq. 16 as printed, or the information of all readings.

Joint 2 stands at m angles and has a compliance k_2j at each; k3 ... k6 are the same at all of them, k1 is not seen by
a hanging load.  With the extended unknowns x = (k_21 ... k_2m, k3 ... k6) and A_0j the columns of the test pose at the
angle j, the variance there is

    sum_j tr(A_0j C A_0j')          C the covariance of x from all readings,

while eq. 16 inverts the information M_j on (k_2j, k3 ... k6) of the readings at that angle alone.  That is the same
criterion for unknowns of which every angle has its own k3 ... k6: rows of a stop at angle j stand in the j-th block
(`EachAlone`).  So one search serves both, and both plans are judged by the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stiffarm.identifiability.question import Wanted
from stiffarm.measure.campaign import Isotropic
from stiffarm.model.arm_model import ArmModel
from stiffarm.plan.bound import certificate
from stiffarm.plan.candidates import Pool, feasible_stops
from stiffarm.plan.columns import makers
from stiffarm.plan.constraints import ToolBox
from stiffarm.plan.criteria import Accuracy
from stiffarm.plan.information import Gains, Information, Seen
from stiffarm.plan.problem import Certificate, FixedForce, Floats, Ints, Reading, Stops
from stiffarm.plan.refine import Refiner
from stiffarm.plan.search import Effort, Found, Search, weighted_design
from stiffarm.plan.variables import Space
from stiffarm.robot.arm import Robot

JOINT, AT = "A2", 1
REACH_RAD = 2.6
LOWEST_M = 0.3
"""Of the hook above the floor."""
SIGMA_M = 3e-5
CANDIDATES = 512
EFFORT = Effort(starts=6, steps=60, polished=1)


@dataclass(frozen=True, eq=False)
class EachAlone(Information):
    """What stops tell when every angle has its own k3 ... k6, as eq. 16 has it."""

    plain: Information
    angles: Floats
    """(m,) rad."""

    @property
    def size(self) -> int:
        """m blocks of (k_2j, k3 ... k6)."""
        return len(self.angles) * self.block

    @property
    def block(self) -> int:
        """Unknowns of one angle."""
        return 1 + self.plain.size - len(self.angles)

    def members(self, stops: Stops) -> tuple[Ints, Ints]:
        """(n, block) unknowns of each stop among the plain ones and among the blocks."""
        m = len(self.angles)
        group = np.abs(stops.q[AT][:, None] - self.angles).argmin(axis=1)[:, None]
        shared = np.broadcast_to(np.arange(m, self.plain.size), (len(group), self.block - 1))
        return np.concatenate([group, shared], axis=1), self.block * group + np.arange(self.block)

    def rows(self, stops: Stops) -> Floats:
        """(n, numbers, blocks) white rows."""
        return self._spread(self.plain.rows(stops), stops)

    def _spread(self, white: Floats, stops: Stops) -> Floats:
        own, blocks = self.members(stops)
        out = np.zeros((*white.shape[:2], self.size))
        n, r = np.arange(len(white))[:, None, None], np.arange(white.shape[1])[None, :, None]
        out[n, r, blocks[:, None, :]] = white[n, r, own[:, None, :]]
        return out

    def at(self, stops: Stops) -> Seen:
        """With gains by blocks."""
        return _SeenAlone(self, stops)

    def gains(self, stops: Stops, n_matrix: Floats) -> Gains:
        """Of the block of each stop."""
        return self.at(stops).gains(n_matrix)


class _SeenAlone(Seen):
    """What stops tell about the blocks."""

    def __init__(self, information: EachAlone, stops: Stops) -> None:
        self.alone, self.stops = information, stops
        self.seen = information.plain.at(stops)

    @property
    def white(self) -> Floats:
        """(n, numbers, blocks)"""
        return self.alone._spread(self.seen.white, self.stops)

    def gains(self, n_matrix: Floats) -> Gains:
        """The part of N on the block of each stop is N on its plain unknowns."""
        own, blocks = self.alone.members(self.stops)
        n = np.arange(len(self.stops))[:, None, None]
        whole = np.broadcast_to(n_matrix, (len(self.stops), *n_matrix.shape[-2:]))
        lifted = np.zeros((len(self.stops), self.alone.plain.size, self.alone.plain.size))
        lifted[n, own[:, :, None], own[:, None, :]] = whole[n, blocks[:, :, None], blocks[:, None, :]]
        return self.seen.gains(lifted)


@dataclass(frozen=True, eq=False)
class Grouped:
    """Both problems on the same arm, tool, angles and test poses."""

    full: Refiner
    alone: Refiner
    angles: Floats

    @staticmethod
    def of(robot: Robot, angles: Floats, test_q: Floats, force_n: float, experiments: int) -> Grouped:
        """A hanging load at the hook, three markers, the test pose at every angle."""
        model = ArmModel.of(robot).grouped(JOINT, angles)
        arm, m = model.at(), len(angles)
        names = (*(f"{JOINT}.compliance[{j + 1}]" for j in range(m)),
                 *(f"{name}.compliance" for name in arm.robot.joint_names[AT + 1 :]))  # fmt: skip
        scale = np.array([arm.values[name] for name in names])
        pull = FixedForce("hook", (0.0, 0.0, -force_n))
        markers = arm.robot.marker_names
        asked = Wanted(model, names, True, False)
        plain = Information(
            asked, names, Reading("deflection", markers, Isotropic(SIGMA_M)), pull, scale, np.zeros((0, len(names)))
        )
        poses = np.tile(test_q[:, None], m)
        poses[AT] = angles
        ((_, maker),) = makers(asked, markers, pull, weights=False, pose=False)
        columns = maker.at(Stops(poses)).columns.transpose(2, 1, 0) * scale
        weight = np.sqrt(m * len(markers))
        limits = np.array([joint.limits for joint in arm.robot.joints], dtype=float)
        low, high = np.maximum(limits[:, 0], -REACH_RAD), np.minimum(limits[:, 1], REACH_RAD)
        space = Space(low, high, pull, np.arange(len(low)) == AT)
        above = ToolBox(arm, (-np.inf, -np.inf, LOWEST_M), (np.inf, np.inf, np.inf), "hook", "hook above the floor")
        target = columns.reshape(-1, len(names)) / weight
        full = Refiner(plain, Accuracy("test", target), space, (above,), arm, np.ones(experiments, dtype=np.int64))
        alone = EachAlone(
            asked, names, plain.reading, pull, scale, np.zeros((0, m * (len(names) - m + 1))), plain, angles
        )
        apart = alone._spread(columns, Stops(poses)).reshape(-1, alone.size) / weight
        return Grouped(full, replace(full, information=alone, criterion=Accuracy("test", apart)), angles)

    @property
    def held(self) -> Floats:
        """(joints, m) values of joint 2."""
        values = np.zeros((len(self.full.space.low), len(self.angles)))
        values[AT] = self.angles
        return values

    def candidates(self, refiner: Refiner, seed: int) -> Stops:
        """Those that keep the hook above the floor."""
        return feasible_stops(refiner.space, refiner.constraints, CANDIDATES, seed, self.held)[0]

    def plan(self, refiner: Refiner, seed: int, effort: Effort = EFFORT) -> tuple[Found, Certificate]:
        """The best plan found for one of the two, from the same candidates for both."""
        pool = Pool.of(refiner.information, self.candidates(refiner, seed), self.held)
        search = Search(refiner, pool, np.random.default_rng(seed), effort)
        count = len(refiner.repeats)
        design = weighted_design(search, count, fixed=not effort.refined)
        found = search.run(design)
        assert found is not None, "candidates keep the height"
        one = certificate(
            refiner, design, found.value, count, seed + 1000, lambda: False, pool, fixed=not effort.refined
        )  # fmt: skip
        assert one is not None, "this criterion has a bound"
        return found, one
