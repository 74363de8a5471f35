"""The planning problem of paper 001 (eq. 9) for the search of `stiffarm.plan`.

A plan is n experiments shared evenly by m0 poses and one attachment point with x between 2 and 6 m.  What is made
small is the root mean square error per marker at the test pose; what must be kept is z7 >= 0.5 m.  The largest height
of what one pose tells, and with it the lower bound, does not depend on m0: one weighted design serves all of Table II.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.question import Wanted
from stiffarm.measure.campaign import Instrument, Isotropic
from stiffarm.model.arm_model import ArmModel
from stiffarm.plan.bound import Design, certificate
from stiffarm.plan.candidates import Pool, feasible_stops
from stiffarm.plan.columns import makers
from stiffarm.plan.constraints import ToolBox
from stiffarm.plan.criteria import Accuracy
from stiffarm.plan.information import Information
from stiffarm.plan.problem import Cable, Certificate, FixedForce, Reading, Stops
from stiffarm.plan.refine import Refiner
from stiffarm.plan.search import Effort, Found, Search, weighted_design
from stiffarm.plan.variables import Space
from stiffarm.robot.reading import read_robot

TEST_POSE = (8.5, -10.0, 35.0, 39.0, 81.0, 22.0, -10.0)
"""Eq. 12: m, then deg."""
TEST_FORCE_N = (-124.5, -175.4, -209.1)
POSES = ((5.3, -37.3, 57.6, 80.8, 101.2, -27.0, -82.2), (14.0, 69.0, 33.9, -33.8, 107.5, 29.2, 116.0),
         (4.7, 19.0, 12.2, 75.4, 89.4, 39.7, 117.1))  # fmt: skip
"""Eq. 14-16."""
ATTACHMENT_M = (5.04, 6.0, -0.891)
ATTACHMENT_BOX = ((2.0, 6.0, -0.891), (6.0, 6.0, -0.891))
LOWEST_M = 0.5
PULL_N = 4000.0
SIGMA_M = 0.03e-3
ROBOTS = {"theta 4 + 90 deg": "kr500-rail", "theta 4 as printed": "kr500-rail-literal"}
TABLE_2 = {(3, 3): 1.980, (4, 4): 1.706, (6, 3): 1.400, (6, 6): 1.385, (12, 3): 0.990, (12, 4): 0.985, (12, 6): 0.979,
           (12, 12): 0.969}  # fmt: skip
"""(experiments, poses): criterion, 1e-2 mm."""
EXPERIMENTS, REPEATS = 12, 4
CANDIDATES = 1024


def joints_si(*poses: tuple[float, ...]) -> NDArray[np.float64]:
    """(7, poses) from rows of one length (m) and six angles (deg)."""
    q = np.array(poses).T
    q[1:] = np.radians(q[1:])
    return q


def published() -> Stops:
    """The published poses and attachment point."""
    return Stops(joints_si(*POSES)).aimed(np.array(ATTACHMENT_M))


def rail(robot: str, poses: int = 3, instrument: Instrument | None = None) -> Refiner:
    """Plans of 12 experiments; the seven compliances in parts of Table III."""
    model = ArmModel.of(read_robot(robot))
    arm = model.at()
    names = tuple(f"{joint}.compliance" for joint in arm.robot.joint_names)
    scale = np.array([arm.values[name] for name in names])
    cable = Cable("hook", PULL_N, *ATTACHMENT_BOX)
    markers = arm.robot.marker_names
    reading = Reading("deflection", markers, instrument or Isotropic(SIGMA_M))
    asked = Wanted(model, names, True, False)
    low, high = np.array([joint.limits for joint in arm.robot.joints]).T
    force = FixedForce("hook", TEST_FORCE_N)
    ((_, maker),) = makers(asked, markers, force, weights=False, pose=False)
    test = maker.at(Stops(joints_si(TEST_POSE))).columns[:, :, 0].T * scale
    return Refiner(
        Information(asked, names, reading, cable, scale, np.zeros((0, len(names)))),
        Accuracy("test", test / np.sqrt(len(markers))),
        Space(low, high, cable, np.zeros(len(low), dtype=bool)),
        (ToolBox(arm, (-np.inf, -np.inf, LOWEST_M), (np.inf, np.inf, np.inf)),),
        arm,
        np.full(poses, EXPERIMENTS // poses),
    )


@dataclass(frozen=True, eq=False)
class Weighed:
    """A problem with its candidates and its best weighted design, from which plans of any m0 follow."""

    refiner: Refiner
    pool: Pool
    design: Design
    seed: int

    @staticmethod
    def of(refiner: Refiner, seed: int) -> Weighed:
        """Everything from one seed."""
        held = np.zeros((len(refiner.space.low), 1))
        stops, _ = feasible_stops(refiner.space, refiner.constraints, CANDIDATES, seed, held)
        pool = Pool.of(refiner.information, stops, held)
        search = Search(refiner, pool, np.random.default_rng(seed))
        return Weighed(refiner, pool, weighted_design(search, EXPERIMENTS, fixed=False), seed)

    def plan(self, poses: int, effort: Effort | None = None) -> Found:
        """The best plan found over so many poses."""
        refiner = replace(self.refiner, repeats=np.full(poses, EXPERIMENTS // poses))
        search = Search(refiner, self.pool, np.random.default_rng(self.seed), effort or Effort())
        found = search.run(self.design)
        assert found is not None, "candidates keep the height"
        return found

    def certificate(self, value: float) -> Certificate:
        """The bound for 12 experiments, its maximum searched afresh under another seed."""
        found = certificate(
            self.refiner, self.design, value, EXPERIMENTS, self.seed + 1000, lambda: False, self.pool
        )  # fmt: skip
        assert found is not None, "this criterion has a bound"
        return found


def floor_of(refiner: Refiner, parameter: int, seed: int) -> float:
    """The relative deviation of one parameter that no 12 experiments get under."""
    alone = np.zeros((1, refiner.information.size))
    alone[0, parameter] = 1.0
    weighed = Weighed.of(replace(refiner, criterion=Accuracy("test", alone)), seed)
    return weighed.certificate(weighed.design.weighted.value).bound
