"""Simulated campaigns of a heavy arm with beams for links, fitted by models of every size; for tests and bench."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.design import Design, design_columns, generic_loads, random_configurations
from stiffarm.identifiability.groups import find_groups
from stiffarm.identifiability.in_use import keep_for_use
from stiffarm.identifiability.practical import estimate_of, swamped
from stiffarm.identifiability.question import Question, Wanted, wanted
from stiffarm.identifiability.reductions import beam, regroup, symmetrise, with_shape
from stiffarm.model.chain import AXES
from stiffarm.model.parameters import ParameterSet
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

ARM: Robot = read_robot("kr270")
MARKERS = ("P1", "P2", "P3")
FORCE_N, MOMENT_NM = 2500.0, 1000.0
SIGMA_M = 0.03e-3 * 2**0.5
"""Of a coordinate of a deflection."""
TUBES = ((0.40, 0.50, 0.03), (0.50, 0.45, 0.03), (1.25, 0.35, 0.02), (0.20, 0.30, 0.02), (1.10, 0.22, 0.02),
         (0.115, 0.20, 0.02), (0.115, 0.15, 0.02))  # fmt: skip
"""Length, diameter, wall (m) of a steel tube for every link."""


def tube(length: float, diameter: float, wall: float) -> Floats:
    """6x6 compliance of a steel tube along x, clamped at one end, at the other (Timoshenko)."""
    young, shear = 2.1e11, 8.0e10
    area = np.pi * diameter * wall
    second = area * diameter**2 / 8.0
    bend = length**3 / (3.0 * young * second) + 2.0 * length / (shear * area)
    turn, mixed = length / (young * second), length**2 / (2.0 * young * second)
    k = np.diag([length / (young * area), bend, bend, length / (2.0 * shear * second), turn, turn])
    k[1, 5] = k[5, 1] = mixed
    k[2, 4] = k[4, 2] = -mixed
    return np.asarray(k)


@dataclass(frozen=True, eq=False)
class Model:
    """A reduced model ready for fitting."""

    parameters: ParameterSet
    rows: Floats
    """White."""
    there: Floats
    """(numbers, unknowns) where it is used, m."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """A campaign of ``configurations`` and what is predicted with it."""

    configurations: int = 60
    seed: int = 1

    @cached_property
    def asked(self) -> Wanted:
        """All 258 compliances."""
        return wanted(ARM, Question(elastic="links", template="full"), MARKERS)

    @cached_property
    def full(self) -> ParameterSet:
        """Every compliance free."""
        names = set(self.asked.names)
        return ParameterSet.of([p for p in self.asked.model.parameters if p.name in names])

    @cached_property
    def truth(self) -> dict[str, float]:
        """Joints of the file, tubes for links."""
        values = {f"{joint.name}.compliance": joint.compliance or 0.0 for joint in ARM.joints}
        for link, size in enumerate(TUBES):
            k = tube(*size)
            values |= {
                f"link{link}.compliance[{a},{b}]": k[i, j] for i, a in enumerate(AXES) for j, b in enumerate(AXES)
            }
        return {p.name: float(values[p.name]) for p in self.full.full}

    def columns(self, seed: int, count: int) -> Floats:
        """(numbers, 258) at random configurations and loads."""
        random = np.random.default_rng([seed, 0])
        q = random_configurations(ARM, count, random)
        force, torque = generic_loads("any", count, random)
        design = Design(q, FORCE_N / 1e3 * force, MOMENT_NM / 1e3 * torque, "hook", MARKERS, False)
        return design_columns(design, self.asked.model, self.asked.names, deflection=True)

    @cached_property
    def measured(self) -> Floats:
        """Columns of the campaign."""
        return self.columns(self.seed, self.configurations)

    @cached_property
    def used(self) -> Floats:
        """Columns at unseen configurations and loads."""
        return self.columns(self.seed + 1000, 150)

    @cached_property
    def models(self) -> dict[str, Model]:
        """Full, M1 and M2, each regrouped to what can be told."""
        symmetric = symmetrise(self.full)
        sets = {"full": self.full, "M1": symmetric, "M2": with_shape(symmetric, beam("x"))}
        return {name: self._model(one) for name, one in sets.items()}

    def _model(self, parameters: ParameterSet) -> Model:
        rows = parameters.columns(self.measured) / SIGMA_M
        regrouped = regroup(parameters, find_groups(rows, parameters.names, sizes=sizes_of(parameters)))
        return Model(regrouped, regrouped.columns(self.measured) / SIGMA_M, regrouped.columns(self.used))

    def readings(self, seed: int) -> Floats:
        """White readings of one campaign."""
        truth = np.array(list(self.truth.values()))
        return np.asarray(
            self.measured @ truth / SIGMA_M + np.random.default_rng(seed).standard_normal(len(self.measured))
        )

    @cached_property
    def true_deflection(self) -> Floats:
        """Where the model is used, m."""
        return np.asarray(self.used @ np.array(list(self.truth.values())))

    def error(self, there: Floats, values: Floats) -> float:
        """Root mean square length (m) of the error of prediction."""
        return float(np.sqrt(3.0 * np.mean((there @ values - self.true_deflection) ** 2)))


def sizes_of(parameters: ParameterSet) -> Floats:
    """Typical sizes of the unknowns of a set."""
    share = np.abs(parameters.matrix)
    return np.asarray(share.T @ np.array([p.scale for p in parameters.full]) / share.sum(axis=0))


def errors(scenario: Scenario, seeds: range) -> dict[str, Floats]:
    """Errors of prediction (m) by method, one per campaign."""
    out: dict[str, list[float]] = {}
    solvers = {name: solver(model.rows) for name, model in scenario.models.items()}
    ridge = Ridge.of(scenario)
    for seed in seeds:
        y = scenario.readings(seed)
        for name, model in scenario.models.items():
            x, covariance = solvers[name](y)
            out.setdefault(name, []).append(scenario.error(model.there, x))
            if name == "full":
                continue
            label = "" if name == "M2" else f"{name} then "
            out.setdefault(f"{label}M3", []).append(scenario.error(model.there, swamped(x, covariance)[1]))
            chosen = keep_for_use(x, covariance, model.there).values
            out.setdefault(f"{label}prediction-focused", []).append(scenario.error(model.there, chosen))
        out.setdefault("ridge", []).append(scenario.error(ridge.there, ridge.fit(y)))
    return {name: np.array(values) for name, values in out.items()}


def solver(rows: Floats) -> Callable[[Floats], tuple[Floats, Floats]]:
    """Least squares with one design for many readings."""
    length = np.linalg.norm(rows, axis=0)
    inverse = np.linalg.pinv(rows / length) / length[:, None]
    covariance = estimate_of(rows, np.zeros(len(rows)))[1]
    return lambda y: (inverse @ y, covariance)


@dataclass(frozen=True, eq=False)
class Ridge:
    """Plain ridge regression of the symmetric model, unknowns in typical sizes, its strength by cross validation."""

    left: Floats
    values: Floats
    right: Floats
    there: Floats

    @staticmethod
    def of(scenario: Scenario) -> Ridge:
        """For one scenario."""
        symmetric = symmetrise(scenario.full)
        sizes = sizes_of(symmetric)
        left, values, right = np.linalg.svd(symmetric.columns(scenario.measured) / SIGMA_M * sizes, full_matrices=False)
        return Ridge(left, values, sizes[:, None] * right.T, symmetric.columns(scenario.used))

    def fit(self, y: Floats) -> Floats:
        """The fit of least generalised cross validation."""
        along = self.left.T @ y
        rest = float(y @ y - along @ along)
        strengths = np.logspace(-6, 6, 73)[:, None]
        shrink = self.values**2 / (self.values**2 + strengths)
        left_over = rest + np.sum(((1.0 - shrink) * along) ** 2, axis=1)
        best = int(np.argmin(left_over / (len(y) - shrink.sum(axis=1)) ** 2))
        scaled = np.where(self.values > 1e-12 * self.values[0], self.values, np.inf)
        return np.asarray(self.right @ (shrink[best] / scaled * along))
