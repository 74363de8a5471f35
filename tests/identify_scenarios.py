"""Simulated campaigns in the layout of paper 003, with their truth, for the tests and the coverage bench.

A heavy serial robot (nominal KR 270-2 lengths) carries 265 kg at a load point; three markers of the tool are read in
three axes in fifteen configurations, six times.  The deflection of a marker is linear in the joint compliances,

    dp = sum_j c_j(p) (c_j(h) . W) k_j,          c_j(p) = a_j x (p - o_j),

so a design matrix is a table of lever arms.  Lengths here are m, forces N, compliances 1e-6 rad/(N m), deflections um,
angles of shared rotations urad.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.problem import LinearProblem, rigid_effects

Array = NDArray[np.float64]
DATA = Path(__file__).parent / "data"
REPEATS = 6
PUBLISHED_OLS = np.array([0.297, 0.287, 0.315, 0.302, 0.251, 0.396, 3.017, 3.294, 2.248])
"""Compliances of paper 003, Table 3, column OLS: k21..k25, k3..k6 in 1e-6 rad/(N m); used here as the truth."""

TABLE_2_DEG = np.array([
    [79.20, -0.01, -5.57, 51.00, -97.52, -91.67],
    [63.00, -0.01, -12.22, -56.49, 41.42, 150.55],
    [63.00, -0.01, -47.98, -70.04, -61.55, 177.16],
    [95.00, -25.24, 33.00, 129.69, -98.10, 90.57],
    [95.00, -25.24, -107.01, 109.95, -61.19, 174.21],
    [105.00, -25.24, 14.30, 55.21, 41.26, -152.97],
    [56.60, -56.9, 44.54, -55.11, 41.90, 152.06],
    [56.60, -56.9, 64.73, -129.65, -98.260, -90.55],
    [144.80, -56.9, 104.49, -69.41, 61.67, -6.33],
    [-41.00, -99.85, -91.68, 55.12, 41.53, -152.48],
    [-143.00, -99.85, -32.64, 110.31, -61.47, -6.29],
    [-143.00, -99.85, -72.01, 129.65, -98.09, 90.82],
    [133.00, -140, 147.68, 129.64, -97.90, 90.99],
    [-60.00, -140, 7.59, -110.09, -61.36, -174.09],
    [-60.00, -140, -52.00, -124.89, -41.62, 27.78],
])  # fmt: skip
AXES = ("-z", "y", "y", "-x", "y", "-x")
OFFSETS_M = np.array([[0, 0, 0.75], [0.35, 0, 0], [1.25, 0, 0], [1.1, 0, -0.055], [0, 0, 0], [0, 0, 0]])
FLANGE_M = np.array([0.23, 0, 0])
LOAD_M = FLANGE_M + np.array([0.30, 0.05, -0.25])
MARKERS_M = FLANGE_M + np.array([[0.28, -0.08, -0.20], [0.28, 0.23, 0.05], [0.28, -0.10, 0.20]])
WEIGHT_N = np.array([0, 0, -265 * 9.81])


@dataclass(frozen=True)
class Geometry:
    """Design of one visit of every configuration: rows run configuration, marker, axis."""

    design: Array
    """(configurations * markers * 3, parameters), um per 1e-6 rad/(N m)."""
    point: Array
    """Marker of each row relative to any fixed point of its configuration, world axes, m."""
    truth: Array


def _turn(axis: str, angle: float) -> Array:
    unit = np.zeros(3)
    unit["xyz".index(axis[-1])] = -1.0 if axis[0] == "-" else 1.0
    cross = np.array([[0, -unit[2], unit[1]], [unit[2], 0, -unit[0]], [-unit[1], unit[0], 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def visit_design(q: Array) -> tuple[Array, Array]:
    """Columns of the six joint compliances at the markers (9 x 6) and the marker of each row, for one configuration."""
    rotation, origin, origins, axes = np.eye(3), np.zeros(3), [], []
    for name, offset, angle in zip(AXES, OFFSETS_M, q, strict=True):
        origin = origin + rotation @ offset
        sign = -1.0 if name[0] == "-" else 1.0
        axes.append(sign * rotation[:, "xyz".index(name[-1])])
        origins.append(origin)
        rotation = rotation @ _turn(name, angle)
    points = origin + MARKERS_M @ rotation.T
    load = origin + rotation @ LOAD_M
    torque = [np.dot(np.cross(a, load - o), WEIGHT_N) for a, o in zip(axes, origins, strict=True)]
    columns = [np.cross(a, points - o).ravel() * t for a, o, t in zip(axes, origins, torque, strict=True)]
    return np.array(columns).T, np.repeat(points, 3, axis=0)


def paper_geometry() -> Geometry:
    """Table 2 of paper 003: five groups of q2, three configurations each; k2 is one parameter per group."""
    visits = [visit_design(np.deg2rad(q)) for q in TABLE_2_DEG]
    design = np.zeros((135, 9))
    for number, (columns, _) in enumerate(visits):
        rows = slice(9 * number, 9 * number + 9)
        design[rows, number // 3] = columns[:, 1]
        design[rows, 5:] = columns[:, 2:]
    return Geometry(design, np.vstack([p for _, p in visits]), PUBLISHED_OLS)


def scattered_geometry(seed: int = 5) -> Geometry:
    """Fifteen configurations drawn at random, one k2 for all: five parameters, every configuration informs all."""
    rng = np.random.default_rng(seed)
    low = np.deg2rad([-150, -120, -60, -150, -110, -150])
    visits = [visit_design(rng.uniform(low, np.abs(low) * [1, 0, 2, 1, 1, 1])) for _ in range(15)]
    design = np.vstack([columns[:, 1:] for columns, _ in visits])
    return Geometry(design, np.vstack([p for _, p in visits]), np.array([0.29, 0.396, 3.017, 3.294, 2.248]))


def table_1() -> Array:
    """Standard deviation of a row in um, (15 configurations, 3 axes)."""
    table = np.loadtxt(DATA / "003_table1.csv", delimiter=",", skiprows=2)
    return np.asarray(table[:, 1:])


@dataclass(frozen=True)
class Scenario:
    """What is wrong with the readings; standard deviations in um and urad."""

    name: str
    cell_sigma: Array
    """(15, 3) standard deviation of the independent part per configuration and axis."""
    translation: float = 0.0
    rotation: float = 0.0
    """Shared by all rows of a configuration."""
    visit_translation: float = 0.0
    visit_rotation: float = 0.0
    """Shared by the rows of one visit (one of the six repeats) of a configuration."""
    outlier_share: float = 0.0
    """Share of the rows whose independent error is ten times larger."""


def scenarios() -> tuple[Scenario, ...]:
    """The error scenarios of the coverage table: five of increasing dependence, and one with outliers."""
    even, table = np.full((15, 3), 30.0), table_1()
    return (
        Scenario("independent", even),
        Scenario("cells", table),
        Scenario("shared translation", even, translation=50.0),
        Scenario("cells + shared motion", table, translation=50.0, rotation=50.0),
        Scenario("shared by visit", even, visit_translation=50.0, visit_rotation=50.0),
        Scenario("outliers 5 %", even, outlier_share=0.05),
    )


def problem_of(geometry: Geometry, repeats: int = REPEATS) -> LinearProblem:
    """The regression problem with its labels and shared effects, observations zero."""
    rows = len(geometry.design) * repeats
    configuration = np.tile(np.repeat(np.arange(15), 9), repeats)
    axis = np.tile(np.arange(3), rows // 3)
    visit = configuration * repeats + np.repeat(np.arange(repeats), 135)
    direction, point = np.eye(3)[axis], np.tile(geometry.point, (repeats, 1))
    shared = rigid_effects("configuration", direction, point, configuration)
    if repeats > 1:
        shared += rigid_effects("visit", direction, point, visit)
    return LinearProblem(
        A=np.tile(geometry.design, (repeats, 1)),
        y=np.zeros(rows),
        configuration=configuration,
        axis=axis,
        replicate=np.tile(np.arange(135), repeats),
        shared=shared,
    )


def row_sigma(scenario: Scenario, problem: LinearProblem) -> Array:
    """Standard deviation of the independent part of each row, um."""
    assert problem.configuration is not None
    assert problem.axis is not None
    return np.asarray(scenario.cell_sigma[problem.configuration, problem.axis])


def simulate(problem: LinearProblem, truth: Array, scenario: Scenario, rng: np.random.Generator) -> LinearProblem:
    """The problem with simulated observations."""
    noise = row_sigma(scenario, problem) * rng.standard_normal(problem.rows)
    if scenario.outlier_share:
        noise *= np.where(rng.random(problem.rows) < scenario.outlier_share, 10.0, 1.0)
    size = {
        "configuration translation": scenario.translation,
        "configuration rotation": scenario.rotation,
        "visit translation": scenario.visit_translation,
        "visit rotation": scenario.visit_rotation,
    }
    for effect in problem.shared:
        drawn = size[effect.name] * rng.standard_normal((int(effect.group.max()) + 1, 3))
        noise = noise + np.einsum("ij,ij->i", effect.columns, drawn[effect.group])
    return replace(problem, y=problem.A @ truth + noise)
