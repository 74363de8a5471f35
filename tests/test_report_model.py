"""The pictures of a model hold true numbers: places, patterns, ellipsoids, and stay small however much was measured."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from budget_scenarios import MODEL, ROBOT, plan
from budget_scenarios import Scenario as Campaigns
from stiffarm.identify.api import identify
from stiffarm.identify.estimate import Estimate, ParameterEstimate, Remains, RobotText, UnseenErrors
from stiffarm.identify.options import Options
from stiffarm.measure.virtual import simulate
from stiffarm.model.evaluate import predict
from stiffarm.model.kernel import frames
from stiffarm.model.loads import Load, State
from stiffarm.report.chart import Heat, Points
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.model_page import model_page, page
from stiffarm.report.model_parameters import correlation
from stiffarm.report.model_patterns import patterns, residuals_of
from stiffarm.report.model_stiffness import FORCE_N, deflection_figure, ellipsoid_figure
from stiffarm.report.parts import Figure, figures_of
from stiffarm.report.scene import Ellipsoid, Scene

MOST_BYTES = 6_000_000


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    truth = {name: 1.2 * value for name, value in MODEL.nominal.items() if name.endswith(".compliance")}
    asked = plan(Campaigns("position"), 16, 1, 1, seed=3)
    campaign = simulate(MODEL.at(truth | {"A2.offset": 1e-3}), asked, seed=1, sigma_m=2e-5).campaign
    return identify(ROBOT, campaign, Options(geometry="offsets", estimator="wls", folds=4))


@pytest.fixture(scope="module")
def figures(estimate: Estimate) -> dict[str, Figure]:
    return {figure.slug: figure for figure in figures_of(model_page(estimate))}


def test_every_figure_is_there_with_its_sentence_units_and_numbers(figures: dict[str, Figure]) -> None:
    wanted = {"before-after", "spread", "workspace", "reach", "correlation", "residuals", "residual-map", "joints",
              "ellipsoids", "domain"}  # fmt: skip
    assert wanted <= set(figures)
    for figure in figures.values():
        assert figure.reading.endswith((".", ")"))
        assert figure.table is not None or figure.slug.startswith("parameters-")  # these stand in the table of all
        for panel in figure.panels:
            if not isinstance(panel, Scene):
                units = [axis.title for axis in (panel.x, panel.y) if not axis.names]
                assert all("," in title or "%" in title or "configuration" in title or title for title in units)


def test_unseen_errors_are_those_of_the_verdict(estimate: Estimate) -> None:
    holdout = estimate.holdout
    assert holdout is not None
    assert holdout.unseen is not None
    unseen = holdout.unseen
    assert len(unseen.experiment) == unseen.of == holdout.rows == 48
    assert holdout.rms_m == pytest.approx(np.sqrt(np.mean(np.square(unseen.errors_m["model"]))), abs=2e-8)
    assert holdout.nominal_rms_m == pytest.approx(np.sqrt(np.mean(np.square(unseen.errors_m["nominal"]))), abs=2e-8)


def test_marks_stand_where_the_markers_were(estimate: Estimate, figures: dict[str, Figure]) -> None:
    """Reach and height of every mark against the kinematics of the robot, row by row."""
    assert estimate.holdout is not None
    assert estimate.holdout.unseen is not None
    shown, unseen = ShownArm.of(estimate), estimate.holdout.unseen
    (panel,) = figures["workspace"].panels[1:]
    assert not isinstance(panel, Scene)
    (points,) = panel.marks
    assert isinstance(points, Points)
    for i in range(0, 48, 7):
        q = np.array(estimate.configurations[unseen.experiment[i]])[:, None]
        at = predict(shown.arm, State(q), unseen.marker[i]).position[:, 0]
        centre = frames(shown.arm.chain, q).origin[1][:2, 0]
        assert points.x[i] == pytest.approx(1e3 * np.hypot(*(at[:2] - centre)), abs=1e-6)
        assert points.y[i] == pytest.approx(1e3 * at[2], abs=1e-6)
        assert points.values[i] == pytest.approx(1e3 * unseen.errors_m["model"][i])


def test_mean_residuals_are_turned_into_the_world(estimate: Estimate) -> None:
    shown = ShownArm.of(estimate)
    residuals = residuals_of(shown)
    assert residuals is not None
    assert estimate.remains is not None
    length = np.linalg.norm(residuals.world, axis=0)
    assert length == pytest.approx(np.array(estimate.remains.rms_m), abs=3e-8)  # one repeat: mean and rms agree
    setup = estimate.setups[0]
    one = np.array(estimate.remains.mean_m[5])
    about = np.array(setup.rotvec)
    angle = np.linalg.norm(about)
    k = -about / angle
    back = one * np.cos(angle) + np.cross(k, one) * np.sin(angle) + k * (k @ one) * (1 - np.cos(angle))  # Rodrigues
    assert residuals.world[:, 5] == pytest.approx(back, abs=1e-12)


def test_a_planted_pattern_is_found_and_noise_is_not(estimate: Estimate) -> None:
    shown = ShownArm.of(estimate)
    rng = np.random.default_rng(11)
    n, wrong = 40, 0
    for _ in range(200):
        q = rng.uniform(-2.0, 2.0, (6, n))
        wrong += patterns(shown, q, rng.normal(size=(3, n)))[0].p < 0.05
    assert wrong <= 20  # at most 5 % of 200 pages, plus four standard deviations
    mean = rng.normal(size=(3, n))
    mean[1] += 1.5 * np.sin(q[3] + 0.4)
    best = patterns(shown, q, mean)[0]
    assert (best.joint, best.axis) == (ROBOT.joint_names[3], "y")
    assert best.p < 1e-4
    assert patterns(shown, q[:, :5], mean[:, :5]) == []


def test_ellipsoids_are_what_a_kilonewton_does(estimate: Estimate, figures: dict[str, Figure]) -> None:
    """The softest direction and its motion against the deflection under that very force."""
    shown = ShownArm.of(estimate)
    table = figures["ellipsoids"].table
    assert table is not None
    (panel,) = figures["ellipsoids"].panels
    assert isinstance(panel, Scene)
    balls = [thing for thing in panel.things if isinstance(thing, Ellipsoid)]
    ratios = []
    for row, ball in zip(table.rows, balls, strict=True):
        q = np.array(estimate.configurations[row[0]])[:, None]
        axes = np.array(ball.axes)
        for axis, motion in zip(axes, map(float, row[4:7]), strict=True):
            ratios.append(np.linalg.norm(axis) / motion)
        # a force along the image's preimage: C symmetric for one point, so axes are eigenvectors
        force = FORCE_N * axes[0] / np.linalg.norm(axes[0])
        point = shown.arm.chain.point("tool")
        moved = predict(shown.arm, State(q, (Load(point, force[:, None]),)), "tool").deflection[:, 0]
        assert 1e3 * np.linalg.norm(moved) == pytest.approx(float(row[4]), rel=0.03)
    assert max(ratios) / min(ratios) < 1.02  # all drawn at one scale, three digits in the table


def test_a_model_without_a_fit_has_a_map(estimate: Estimate) -> None:
    robot = RobotText("kr270", "")
    bare = replace(estimate, robot=robot, parameters=(), covariance_names=(), covariance=(), configurations={})
    figure = deflection_figure(ShownArm.of(replace(bare, scale_covariance=(), setups=())))
    assert figure is not None
    assert "tool pointing down" in figure.reading
    panel = figure.panels[0]
    assert not isinstance(panel, Scene)
    (cells,) = [mark for mark in panel.marks if isinstance(mark, Heat)]
    known = np.array(cells.values)[np.isfinite(cells.values)]
    assert len(known) > 100
    assert 0.1 < known.min() < known.max() < 10.0  # mm under 1 kN


def test_correlations_are_those_of_the_covariance(estimate: Estimate, figures: dict[str, Figure]) -> None:
    matrix = correlation(estimate)
    draws = np.random.default_rng(5).multivariate_normal(
        np.zeros(len(matrix)), np.array(estimate.covariance) * 1e9, 200_000
    )
    assert np.corrcoef(draws.T) == pytest.approx(matrix, abs=0.02)
    panel = figures["correlation"].panels[0]
    assert not isinstance(panel, Scene)
    (heat,) = panel.marks
    assert isinstance(heat, Heat)
    assert np.array(heat.values) == pytest.approx(matrix, abs=1e-3)


def test_the_largest_page_stays_under_its_size(estimate: Estimate) -> None:
    """As many residuals and parameters as a page ever holds, names of 20 letters."""
    rng = np.random.default_rng(2)
    n, p = 600, 120
    names = tuple(f"a long experiment {i:04d}" for i in range(n))
    markers = tuple(f"marker {i % 4}" for i in range(n))
    size, mean = tuple(rng.uniform(0, 1e-4, n)), tuple(map(tuple, rng.normal(0, 1e-4, (n, 3))))
    remains = Remains(names, ("day",) * n, markers, size, n, mean)
    errors = {key: tuple(map(float, rng.uniform(0, 1e-3, n))) for key in ("model", "nominal", "geometry")}
    assert estimate.holdout is not None
    holdout = replace(estimate.holdout, unseen=UnseenErrors(names, ("day",) * n, markers, errors, n))
    real = [name for name in MODEL.nominal if not name.startswith("link")][:p]
    found = tuple(ParameterEstimate(name, "m", 1e-4, 0.0, 1e-5, 0.0, 2e-4, 0.95, 9.0, "identifiable") for name in real)
    big = replace(
        estimate,
        remains=remains,
        holdout=holdout,
        parameters=found,
        covariance_names=tuple(f"a parameter's name {i}" for i in range(p)),
        covariance=tuple(map(tuple, (np.eye(p) + 0.3).tolist())),
        scale_covariance=(),
        configurations={name: tuple(map(float, rng.uniform(-2, 2, 6))) for name in names},
        outliers=(),
    )
    text = page(replace(big, robot=estimate.robot))
    assert len(text.encode()) < MOST_BYTES


def test_what_a_file_says_wrongly_of_pictures_does_no_harm(estimate: Estimate) -> None:
    """Joint values of another robot, markers nobody knows, experiments without joint values."""
    assert estimate.remains is not None
    strange = replace(
        estimate,
        configurations={name: (*q, 0.0) for name, q in estimate.configurations.items()},
        remains=replace(estimate.remains, marker=("nobody",) * 48),
    )
    slugs = {figure.slug for figure in figures_of(model_page(strange))}
    assert "workspace" not in slugs
    assert {"before-after", "residual-map"} <= slugs
    older = replace(estimate, configurations={}, remains=replace(estimate.remains, mean_m=()))
    assert "residual-map" not in {figure.slug for figure in figures_of(model_page(older))}
    rigid = replace(estimate, parameters=tuple(replace(p, value=0.0) for p in estimate.parameters))
    assert ellipsoid_figure(ShownArm.of(rigid)) is None
