"""Studies of touches against truth: the robot of paper 004, fitted as any campaign is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.fit import Fit, fit
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.touch_plan import Pull, Touching, plan_of_touches
from stiffarm.model.arm_model import Arm
from stiffarm.model.evaluate import predict, sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.papers.paper_004 import POINTS_M, TIMES, known_distances, true_numbers, use_postures
from stiffarm.papers.touching import Numbers, Weight, nominal_numbers, paper_robot, touch_points

Floats = NDArray[np.float64]
FRAMES = Options(geometry="full", elastic="joints", folds=0, estimator="wls")
"""Six corrections of every joint and the compliances; no validation, which these studies do against truth."""


@dataclass(frozen=True, eq=False)
class Study:
    """A true arm and what a fit of its touches found."""

    truth: Arm
    fit: Fit
    weight: Weight

    def errors(self, q: Floats | None = None) -> Floats:
        """(3, n) m: loaded tool point of the fitted arm less that of the true one."""
        q = use_postures() if q is None else q
        return self.position(self.fit.system.model.at(self.fit.at.values), q) - self.position(self.truth, q)

    def position(self, arm: Arm, q: Floats) -> Floats:
        """(3, n) of the loaded tool point."""
        return predict(arm, self._state(arm, q), "tool").position

    def deviations(self, q: Floats | None = None) -> Floats:
        """(3, n) m: standard deviations the fit states for the same points."""
        q = use_postures() if q is None else q
        arm, names = self.fit.system.model.at(self.fit.at.values), self.fit.names
        columns = sensitivity(arm, self._state(arm, q), "tool", names)[1]
        covariance = self.fit.estimate.covariance[: len(names), : len(names)]
        return np.sqrt(np.einsum("pin,pr,rin->in", columns, covariance, columns))

    def rms(self) -> float:
        """Root mean square error (m) of the tool point in use."""
        return rms_between(self.fit.system.model.at(self.fit.at.values), self.truth, self.weight)

    def _state(self, arm: Arm, q: Floats) -> State:
        return State(q, (Load(arm.chain.point(self.weight.point), self.weight.force_world),))


def campaign(q: Floats, weight: Weight, distances: int, sigma_m: float, random: np.random.Generator) -> Campaign:
    """The touches of the points with their load, and known distances."""
    touched = [Touching(f"P{i + 1}", "touch", part) for i, part in enumerate(np.split(q, len(POINTS_M), axis=1))]
    pull = Pull(weight.point, weight.force_world)
    names = paper_robot().joint_names
    return plan_of_touches(names, touched, known_distances(distances, random), pull=pull, sigma_m=sigma_m)


def random_numbers(random: np.random.Generator, length_m: float = 0.5e-3, angle_rad: float = 1e-3) -> Numbers:
    """The nominal robot off by independent errors, where the base stands left out, with compliances."""
    nominal = nominal_numbers()
    off = random.standard_normal((6, 4)) * [angle_rad, length_m, length_m, angle_rad]
    off[0, [0, 2]] = 0.0
    return Numbers(nominal.table + off, true_numbers().compliance * random.uniform(0.7, 1.3, 6), nominal.tool)


def study(
    seed: int,
    weight: Weight,
    *,
    sigma_m: float,
    distances: int,
    truth: Numbers | None = None,
    options: Options = FRAMES,
) -> Study:
    """One robot touches and is fitted."""
    random = np.random.default_rng([seed, 4])
    numbers = truth or true_numbers()
    q = touch_points(numbers, POINTS_M, TIMES, weight, random, sigma_m)
    found = fit(paper_robot(), campaign(q, weight, distances, sigma_m, random), FRAMES)
    return Study(numbers.arm, found, weight)


@dataclass(frozen=True, eq=False)
class TiltedNumbers(Numbers):
    """A robot whose axis 3 is turned by 0.05 deg out of parallel, about the link's y, which its table cannot say."""

    tilt_rad: float = float(np.radians(0.05))

    @property
    def arm(self) -> Arm:  # type: ignore[override]
        """The robot with the tilt."""
        straight = Numbers(self.table, self.compliance, self.tool).arm
        return straight.model.at({"A3.rx": self.tilt_rad})


def tilted() -> TiltedNumbers:
    """The paper's robot with the tilt."""
    numbers = true_numbers()
    return TiltedNumbers(numbers.table, numbers.compliance, numbers.tool)


def rms_between(found: Arm, truth: Arm, weight: Weight) -> float:
    """Root mean square difference (m) of two arms' loaded tool points in use."""
    q = use_postures()
    at = [
        predict(arm, State(q, (Load(arm.chain.point(weight.point), weight.force_world),)), "tool").position
        for arm in (found, truth)
    ]
    return float(np.sqrt(np.mean(np.sum((at[0] - at[1]) ** 2, axis=0))))


def scale_error(one: Study) -> float:
    """By how much the fitted arm sees the touched points too far apart, relative."""
    campaign = one.fit.system.campaign
    touched = ~campaign.kind("distance")
    world = one.position(one.fit.system.model.at(one.fit.at.values), campaign.experiments.q[:, touched])
    points = [world[:, campaign.readings.target[touched] == i].mean(axis=1) for i in range(len(POINTS_M))]
    pairs = ((0, 1), (0, 2), (1, 2))
    seen = sum(np.linalg.norm(points[a] - points[b]) for a, b in pairs)
    return float(seen / sum(np.linalg.norm(POINTS_M[a] - POINTS_M[b]) for a, b in pairs)) - 1.0
