"""Simulated campaigns of geometry, frame, markers and compliances at once, with their truth, for intervals that cover.

A six-axis arm with three markers is pulled at a hook.  What can be told (27 numbers of geometry and markers, six of the
frame, six compliances) is drawn anew in every run around the drawing; readings come from the arm at that truth.
*Deflections* of the same arm make the linear case.  Errors are independent, or most of them is a shift and a turn of
the tool common to the markers of a configuration; the force may be off by a gain that is only known to 2 %.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fit_problems import angles, anywhere, arm, plan
from stiffarm.identify.fit import Fit, fit_asked
from stiffarm.identify.options import EstimatorName, Options
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import Asked, ask
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Isotropic, LoadUncertainty, Setup
from stiffarm.robot.arm import BodyPoint, Robot
from stiffarm.robot.placement import Rigid, vector_from_rotation

Floats = NDArray[np.float64]
NOISE_M = 30e-6
SHARED_M, SHARED_RAD = 40e-6, 100e-6
GAIN_SIGMA = 0.02
CONFIGURATIONS = 24
MARKERS = ((0.12, 0.06, 0.25), (-0.1, 0.15, 0.1), (0.02, -0.18, 0.2))
HOOK = BodyPoint("hook", (0.2, -0.1, 0.4))
PLAIN = Options(estimator="ols", folds=0)
COMPLIANCE = np.array([4e-7, 6e-7, 8e-7, 2e-6, 2.5e-6, 3e-6])


@dataclass(frozen=True)
class Scenario:
    """What is read, and how readings err."""

    name: str
    kind: str = "position"
    shared: bool = False
    gain: bool = False
    known: bool = False
    """Whether the deviation of a reading is stated."""
    repeats: int = 2
    """Readings of each marker at a configuration."""


SCENARIOS = (
    Scenario("independent"),
    Scenario("stated", known=True),
    Scenario("shared by a configuration", shared=True),
    Scenario("uncertain gain", gain=True, known=True),
    Scenario("shared, uncertain gain", shared=True, gain=True),
    Scenario("deflections", kind="deflection"),
    Scenario("deflections, uncertain gain", kind="deflection", gain=True, known=True),
    Scenario("six repeats", repeats=6),
    Scenario("deflections, six repeats", kind="deflection", repeats=6),
)
CORRELATED = ("shared by a configuration", "shared, uncertain gain")
EVERY = tuple(scenario.name for scenario in SCENARIOS if scenario.repeats == 2)
MADE_FOR: dict[EstimatorName, tuple[str, ...]] = {
    "ols": tuple(name for name in EVERY if name not in CORRELATED),
    "wls": tuple(name for name in EVERY if name not in CORRELATED),
    "cells": ("six repeats", "deflections, six repeats"),
    "honest": EVERY,
    "robust": EVERY,
    "bootstrap": EVERY,
}
"""Scenarios in which an estimator's intervals must cover; weights by cell need cells as large as the paper's (18)."""


def robot(*, compliant: bool = True) -> Robot:
    """The arm with a hook and joints that give way, or whose file says nothing of it."""
    plain = arm(*MARKERS)
    if not compliant:
        return replace(plain, tool=replace(plain.tool, load_points=(HOOK,)))
    joints = tuple(replace(j, compliance=float(k)) for j, k in zip(plain.joints, COMPLIANCE, strict=True))
    return replace(plain, joints=joints, tool=replace(plain.tool, load_points=(HOOK,)))


@dataclass(frozen=True, eq=False)
class Study:
    """One scenario, ready to be drawn from."""

    scenario: Scenario

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign without readings."""
        random = np.random.default_rng(8)
        n, repeats = CONFIGURATIONS, self.scenario.repeats
        wrench = np.zeros((1, 6, n))
        wrench[0, :3] = random.uniform(-2000.0, 2000.0, (3, n))
        experiments = Experiments(
            tuple(f"e{i}" for i in range(n)), angles(n, 9), load_points=("hook",), wrench_world=wrench
        )
        experiment = np.repeat(np.arange(n), len(MARKERS) * repeats)
        rows = len(experiment)
        made = plan(
            experiments,
            experiment=experiment,
            marker=np.tile(np.repeat(np.arange(len(MARKERS)), repeats), n),
            repeat=np.tile(np.arange(repeats) + 1, n * len(MARKERS)),
            kind=np.full(rows, OBSERVATIONS.index(self.scenario.kind)),
            value=np.vstack([np.zeros((3, rows)), np.full((3, rows), np.nan)]),
            markers=("P1", "P2", "P3"),
            setups=(Setup("day"),),
        )
        noise = NOISE_M * (np.sqrt(2.0) if self.scenario.kind == "deflection" else 1.0)
        uncertain = LoadUncertainty(gain_sigma=GAIN_SIGMA if self.scenario.gain else 0.0)
        instrument = Isotropic(noise / (np.sqrt(2.0) if self.scenario.kind == "deflection" else 1.0))
        return replace(made, instrument=instrument if self.scenario.known else None, load_uncertainty=uncertain)

    @cached_property
    def asked(self) -> Asked:
        """What is asked for, always in the same order."""
        return ask(robot(), self.campaign, Options())

    @cached_property
    def told(self) -> tuple[str, ...]:
        """What can be told of an arm that does not bend by itself: only that differs from the drawing.

        Then there is one truth: what repeats these parameters but for a load is as drawn.
        """
        stiff = ask(robot(compliant=False), self.campaign, Options())
        random = np.random.default_rng(0)
        return fit_asked(stiff, self.read(Point(dict(self.asked.model.nominal), self.frames), random), PLAIN).names

    @cached_property
    def frames(self) -> dict[str, Rigid]:
        """Where the setup stands."""
        return {} if self.scenario.kind == "deflection" else {"day": anywhere(5)}

    def truth(self, random: np.random.Generator) -> Point:
        """An arm half a millimetre and half a milliradian off, its compliances a fifth."""
        values = dict(self.asked.model.nominal)
        for name in self.told:
            elastic = name.endswith(".compliance")
            values[name] += float(random.normal()) * (0.2 * values[name] if elastic else 5e-4)
        return Point(values, self.frames)

    def read(self, truth: Point, random: np.random.Generator) -> Campaign:
        """Readings of an arm, with their errors."""
        campaign = self.campaign
        if self.scenario.gain:
            gain = 1.0 + GAIN_SIGMA * float(random.normal())
            pulled = replace(campaign.experiments, wrench_world=gain * campaign.experiments.wrench_world)
            campaign = replace(campaign, experiments=pulled)
        system = System(self.asked.model, campaign)
        value = -system.residual(truth).reshape(-1, 3).T  # nothing was read yet: what is expected
        noise = NOISE_M * (np.sqrt(2.0) if self.scenario.kind == "deflection" else 1.0)
        value = value + noise * random.normal(size=value.shape)
        if self.scenario.shared:
            value = value + self._shared(value, random)
        full = np.vstack([value, np.full_like(value, np.nan)])
        return replace(self.campaign, readings=replace(self.campaign.readings, value=full))

    def _shared(self, value: Floats, random: np.random.Generator) -> Floats:
        """A shift and a turn about the markers' centre, the same for all readings of a configuration."""
        group = self.campaign.readings.experiment
        shift = SHARED_M * random.normal(size=(3, CONFIGURATIONS))
        turn = SHARED_RAD * random.normal(size=(3, CONFIGURATIONS))
        centre = np.stack([np.bincount(group, row) / np.bincount(group) for row in value])
        lever = value - centre[:, group]
        return np.asarray(shift[:, group] + np.cross(turn[:, group], lever, axis=0))

    def hits(self, estimator: EstimatorName, seed: int, level: float = 0.95) -> Floats:
        """Which intervals hold the truth: of every parameter told and of the six coordinates of the frame."""
        random = np.random.default_rng(seed)
        truth = self.truth(random)
        found = fit_asked(self.asked, self.read(truth, random), Options(estimator=estimator, seed=seed, level=level))
        off = [truth.values[name] - found.at.values[name] for name in found.names]
        missed = np.concatenate([off, frame_error(found, truth)])
        ends = found.estimate.intervals(level)
        return np.asarray((ends[:, 0] <= missed) & (missed <= ends[:, 1]), dtype=float)


def frame_error(found: Fit, truth: Point) -> Floats:
    """(6 per frame) shift and turn, about the centre of the readings, that take the frame found to the true one."""
    parts = [np.zeros(0)]
    for setup in found.system.unknown_frames:
        name = found.system.campaign.setups[setup].name
        ours, true, centre = found.at.frames[name], truth.frames[name], found.system.centres[:, setup]
        turn = vector_from_rotation(true.rotation @ ours.rotation.T)
        parts += [true.apply(ours.inverse().apply(centre)) - centre, turn]
    return np.concatenate(parts)
