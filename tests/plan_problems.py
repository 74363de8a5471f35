"""Small planning problems shared by the tests of planning."""

from __future__ import annotations

import numpy as np

from stiffarm.identifiability.question import Wanted
from stiffarm.measure.campaign import Isotropic
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.parameters import select
from stiffarm.plan.columns import makers
from stiffarm.plan.constraints import ToolBox
from stiffarm.plan.criteria import Accuracy
from stiffarm.plan.information import Information
from stiffarm.plan.problem import Cable, FixedForce, Floats, Pull, Reading, Stops
from stiffarm.plan.refine import Refiner
from stiffarm.plan.variables import Space
from stiffarm.robot.reading import read_robot

RAIL_TEST_POSE = np.array([8.5, *np.radians([-10.0, 35.0, 39.0, 81.0, 22.0, -10.0])])[:, None]
RAIL_TEST_FORCE = (-124.5, -175.4, -209.1)
RAIL_MARKERS = ("P1", "P2", "P3")
RAIL_POSES = np.array(
    [(5.3, -37.3, 57.6, 80.8, 101.2, -27.0, -82.2), (14.0, 69.0, 33.9, -33.8, 107.5, 29.2, 116.0),
     (4.7, 19.0, 12.2, 75.4, 89.4, 39.7, 117.1)]
).T * np.array([1.0, *[np.pi / 180.0] * 6])[:, None]  # fmt: skip
CABLE = Cable("hook", 4000.0, (2.0, 6.0, -0.891), (6.0, 6.0, -0.891))


def information(robot: str, patterns: tuple[str, ...], pull: Pull | None, reading: Reading) -> Information:
    """Of the named parameters, typical sizes those of the parameters."""
    model = ArmModel.of(read_robot(robot))
    chosen = select(model.parameters, patterns)
    names = tuple(p.name for p in chosen)
    scale = np.array([p.scale for p in chosen])
    return Information(Wanted(model, names, True, True), names, reading, pull, scale, np.zeros((0, len(names))))


def rail(poses: int = 3, repeats: int = 4, robot: str = "kr500-rail") -> Refiner:
    """Joint compliances of an arm on a rail, a cable to a floor point that is free, one test pose."""
    reading = Reading("deflection", RAIL_MARKERS, Isotropic(3e-5))
    plain = information(robot, ("*.compliance",), CABLE, reading)
    arm = plain.asked.model.at()
    low, high = np.array([joint.limits for joint in arm.robot.joints]).T
    space = Space(low, high, CABLE, np.zeros(len(low), dtype=bool))
    scale = np.array([1e-8, *[1e-6] * 6])
    info = Information(plain.asked, plain.names, reading, CABLE, scale, np.zeros((0, 7)))
    maker = makers(plain.asked, RAIL_MARKERS, FixedForce("hook", RAIL_TEST_FORCE), weights=False, pose=False)[0][1]
    target = maker.at(Stops(RAIL_TEST_POSE)).columns[:, :, 0].T * scale / np.sqrt(3.0)
    box = ToolBox(arm, (-np.inf, -np.inf, 0.5), (np.inf, np.inf, np.inf))
    return Refiner(info, Accuracy("test", target), space, (box,), arm, np.full(poses, repeats))


def published() -> Stops:
    """The published stops, cable included."""
    return Stops(RAIL_POSES).aimed(np.array([5.04, 6.0, -0.891]))


def random_stops(space: Space, count: int, seed: int) -> Stops:
    """Uniform in the box of the variables."""
    random = np.random.default_rng(seed)
    low, high = space.bounds()
    x = random.uniform(low, high, (count, len(low)))
    return space.unpack(x, np.zeros((len(space.low), count)))


def central(function: object, x: Floats, step: float) -> Floats:
    """Central differences of a function of a vector, (variables, ...)."""
    assert callable(function)
    return np.array([(function(x + e) - function(x - e)) / (2.0 * step) for e in step * np.eye(len(x))])
