"""The nonlinear fit, held by truths of its own: other kinematics, finite differences, other solvers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from fit_problems import Truth, angles, anywhere, arm, as_built, campaign, error_m, plan
from stiffarm.errors import InputError
from stiffarm.identifiability.selection import select_columns
from stiffarm.identify.api import identify
from stiffarm.identify.fit import fit, fit_asked
from stiffarm.identify.options import Options
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import ask
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Isotropic, Setup
from stiffarm.measure.observe import setup_frames
from stiffarm.measure.subset import with_readings
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import BodyPoint, Link, Prior, Robot

Array = NDArray[np.float64]
PLAIN = Options(estimator="ols")
MARKER = (0.12, 0.06, 0.25)
THREE = (MARKER, (-0.1, 0.15, 0.1), (0.02, -0.18, 0.2))


def one_marker(n: int = 40, **more: float) -> tuple[Robot, Truth, Campaign]:
    robot = arm(MARKER)
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    return robot, truth, campaign(truth, angles(n, 2), **more)


# --- what is found ---------------------------------------------------------------------------------------------------


def test_positions_without_noise_give_the_arm_to_rounding() -> None:
    robot, truth, readings = one_marker()
    found = fit(robot, readings, PLAIN)
    assert found.rank == 27
    assert len(found.names) == 21
    assert error_m(found, truth) < 1e-9


def test_poses_without_noise_give_the_arm_to_rounding() -> None:
    robot = arm()
    truth = Truth(as_built(robot), {"day": anywhere(3)})
    found = fit(robot, campaign(truth, angles(30, 4), pose=True), PLAIN)
    assert found.rank == 30
    assert error_m(found, truth, pose=True) < 1e-9


def test_noise_is_averaged_as_least_squares_does() -> None:
    """The root mean square of the residuals has the degrees of freedom of the rank; predictions follow suit."""
    noise = 30e-6
    robot, truth, readings = one_marker(80, noise_m=noise)
    found = fit(robot, readings, PLAIN)
    residual = found.solution.equations.residual
    assert np.sqrt(residual @ residual / (len(residual) - found.rank)) == pytest.approx(noise, rel=0.1)
    assert error_m(found, truth) < 4 * noise


@pytest.mark.parametrize("seed", range(6))
def test_frames_and_markers_are_found_from_any_start(seed: int) -> None:
    """Setups ten metres off and turned by anything, markers up to 0.3 m from where the file has them."""
    random = np.random.default_rng(seed)
    robot = arm(*THREE)
    real = as_built(robot, seed)
    moved = tuple(replace(m, xyz=tuple(np.array(m.xyz) + random.uniform(-0.3, 0.3, 3))) for m in real.tool.markers)
    truth = Truth(
        replace(real, tool=replace(real.tool, markers=moved)), {"a": anywhere(10 + seed), "b": anywhere(20 + seed)}
    )
    names = ("P1", "P2", "P3")
    found = fit(robot, campaign(truth, angles(30, 30 + seed), markers=names), PLAIN)
    assert error_m(found, truth, markers=names) < 1e-9
    for name, frame in found.at.frames.items():
        assert np.abs(frame.translation - truth.frames[name].translation).max() < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_orientation_of_a_tool_is_found_from_any_start(seed: int) -> None:
    robot = arm()
    real = as_built(robot, seed)
    turned = replace(real.tool.placement, rpy=tuple(np.random.default_rng(seed).uniform(-1.5, 1.5, 3)))
    truth = Truth(replace(real, tool=replace(real.tool, placement=turned)), {"day": anywhere(40 + seed)})
    found = fit(robot, campaign(truth, angles(25, 50 + seed), pose=True), PLAIN)
    assert error_m(found, truth, pose=True) < 1e-9


# --- derivatives -----------------------------------------------------------------------------------------------------


def elastic_arm() -> Robot:
    plain = arm(*THREE)
    masses = (60.0, 50.0, 30.0, 10.0, 8.0, 3.0)
    joints = tuple(
        replace(joint, compliance=(k + 1) * 1e-6, mass=mass, com=(0.05, -0.1, 0.02 * k))
        for k, (joint, mass) in enumerate(zip(plain.joints, masses, strict=True))
    )
    load = BodyPoint("hook", (0.2, -0.1, 0.4))
    stiff = tuple(tuple(row) for row in np.diag([1e-8] * 3 + [2e-7] * 3).tolist())
    return replace(
        plain,
        joints=joints,
        links=(Link("A2", "symmetric", compliance=stiff),),
        tool=replace(plain.tool, load_points=(load,), mass=12.0, com=(0.0, 0.02, 0.15)),
    )


def loaded(kind: str, seed: int = 5) -> Campaign:
    """Two setups, three markers (or the tool's pose), forces and couples at two points, something read everywhere."""
    random = np.random.default_rng(seed)
    n = 6
    wrench = random.uniform(-1.0, 1.0, (2, 6, n)) * np.array([900.0] * 3 + [150.0] * 3)[None, :, None]
    experiments = Experiments(
        tuple(f"e{i}" for i in range(n)), angles(n, seed), load_points=("hook", "tool"), wrench_world=wrench
    )
    pose = kind == "pose"
    experiment = np.repeat(np.arange(n), 1 if pose else 3)
    rows = len(experiment)
    return plan(
        experiments,
        experiment=experiment,
        kind=np.full(rows, OBSERVATIONS.index(kind)),
        setup=experiment % 2,
        marker=np.full(rows, -1) if pose else np.tile(np.arange(3), n),
        value=random.uniform(-1.0, 1.0, (6, rows)),
        markers=("P1", "P2", "P3"),
        setups=(Setup("a"), Setup("b")),
    )


@pytest.mark.parametrize("kind", ["position", "deflection", "pose"])
def test_equations_against_finite_differences(kind: str) -> None:
    model = ArmModel.of(elastic_arm())
    system = System(model, loaded(kind))
    random = np.random.default_rng(6)
    values = {p.name: p.nominal + 0.3 * p.scale * random.normal() for p in model.parameters}
    given = {name: anywhere(i) for i, name in enumerate(("a", "b"))}
    at = Point(values, given if kind != "deflection" else dict(zip("ab", setup_frames(system.campaign), strict=True)))
    names = tuple(p.name for p in model.parameters)
    exact = system.equations(at, names)
    assert np.abs(exact.residual - system.residual(at)).max() < 1e-15
    scale = np.array([*(p.scale for p in model.parameters), *np.full(len(system.frame_names), 1e-3)])
    rotates = system.take[0] >= 3
    assert exact.columns.shape == (len(system), len(scale))
    for i, size in enumerate(scale):
        h = 1.0 if names[i : i + 1] == ("payload.mass",) else 0.1 * size
        step = np.zeros(len(scale))
        step[i] = h
        low, high = (system.residual(system.moved(at, names, sign * step)) for sign in (-1, 1))
        slope = (low - high) / (2 * h)
        for rows in (rotates, ~rotates):
            if rows.any():
                limit = 1e-6 * np.abs(slope[rows]).max() + 2e-14 / h
                error = np.abs(exact.columns[rows, i] - slope[rows]).max()
                assert error <= limit, f"{[*names, *system.frame_names][i]}: {error:.2e} > {limit:.2e}"


# --- what can be told ------------------------------------------------------------------------------------------------


def test_redundant_parameters_are_named_with_their_reason() -> None:
    robot, _, readings = one_marker()
    asked = ask(robot, readings, PLAIN)
    found = fit_asked(asked, readings, PLAIN)
    assert len(asked.names) == 39
    assert found.rank == 27
    dropped = [d.name for d in found.dropped]
    assert sorted([*found.names, *dropped]) == sorted(asked.names)
    assert all(d.why for d in found.dropped)
    unknowns = {*found.names, *(f"frame of {setup.name}" for setup in readings.setups)}
    assert all(set(d.merged_into) <= unknowns for d in found.dropped)
    assert found.selection.gap > 1e4
    # parallel axes: that along the second and that along the third cannot both be told
    assert not {"A2.y", "A3.z"} <= set(found.names)


def test_rank_is_judged_at_the_marker_and_not_at_the_flange() -> None:
    """To a marker on its axis the last joint does not turn: two placements before it can no longer be told."""
    ranks = {}
    for name, place in (("beside", MARKER), ("on axis", (0.0, 0.0, 0.25))):
        robot = arm(place)
        truth = Truth(as_built(robot, size=0.0), {"day": anywhere(1)})
        ranks[name] = fit(robot, campaign(truth, angles(40, 2), noise_m=1e-6), PLAIN)
    assert ranks["beside"].rank == 27
    assert ranks["on axis"].rank == 25
    assert set(ranks["beside"].names) - set(ranks["on axis"].names) == {"A6.x", "A6.rx"}
    why = {d.name: d.why for d in ranks["on axis"].dropped}
    assert "A6.x" in why
    assert "A6.rx" in why


def test_three_markers_tell_what_a_pose_tells() -> None:
    robot = arm(*THREE)
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    found = fit(robot, campaign(truth, angles(30, 2), markers=("P1", "P2", "P3")), PLAIN)
    # each further marker adds its three coordinates, of which the first three directions were the joint's own
    assert found.rank == 24 + 9
    assert error_m(found, truth, markers=("P1", "P2", "P3")) < 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_columns_are_kept_as_if_taken_one_after_the_other(seed: int) -> None:
    """Brute force: a column stays when least squares on the kept ones before it leaves a rest."""
    random = np.random.default_rng(seed)
    n, p = int(random.integers(6, 30)), int(random.integers(3, 25))
    rows = random.normal(size=(n, p))
    if seed % 2:
        rows = rows[:, : max(1, p // 2)] @ random.normal(size=(max(1, p // 2), p))
    rows[:, random.integers(p)] = 2.0 * rows[:, random.integers(p)]
    if seed % 3 == 0:
        rows[:, random.integers(p)] = 0.0
    order = [int(j) for j in random.permutation(p)]
    kept: list[int] = []
    for j in order:
        length = float(np.linalg.norm(rows[:, j]))
        if length == 0.0:
            continue
        basis = rows[:, kept]
        rest = rows[:, j] - basis @ np.linalg.lstsq(basis, rows[:, j], rcond=None)[0] if kept else rows[:, j]
        if np.linalg.norm(rest) > 1e-8 * length:
            kept.append(j)
    found = select_columns(rows, order)
    assert found.kept == tuple(kept)
    for d in found.dependent:
        rebuilt = rows[:, list(d.on)] @ np.array(d.coefficients)
        assert np.abs(rebuilt - rows[:, d.column]).max() < 1e-4 * np.abs(rows[:, d.column]).max()


def test_joints_that_gravity_cannot_bend_are_not_given_numbers() -> None:
    """About a vertical first axis weights have no moment; the last joint carries a tool without mass on its axis."""
    robot = elastic_arm()
    joints = tuple(replace(j, com=(0.0, 0.0, 0.0)) if j.name == "A6" else j for j in robot.joints)
    robot = replace(robot, links=(), joints=joints, tool=replace(robot.tool, mass=0.0))
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    level = replace(campaign(truth, angles(40, 2), noise_m=1e-5), setups=(Setup("day"),))
    found = fit(robot, level, replace(PLAIN, elastic="joints"))
    why = {d.name: d.why for d in found.dropped}
    assert "A1.compliance" in why
    assert "A6.compliance" in why
    assert "bends" in why["A1.compliance"]
    assert "bends" in why["A6.compliance"]
    assert {"A2.compliance", "A3.compliance"} <= set(found.names)


# --- priors ----------------------------------------------------------------------------------------------------------


def test_priors_are_further_rows_of_least_squares() -> None:
    """The maximum a posteriori estimate is that of the readings with one more equation per prior."""
    noise = 50e-6
    priors = (Prior("A?.x", 2e-4, "m"), Prior("A?.ry", 3e-4, "rad"), Prior("tool.P1.*", 5e-4, "m"))
    robot = replace(arm(MARKER), priors=priors)
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    readings = replace(campaign(truth, angles(25, 2), noise_m=noise), instrument=Isotropic(noise))
    found = fit(robot, readings, Options(estimator="wls"))
    sigma = ask(robot, readings, PLAIN).priors
    assert len(sigma) == 15
    assert {name for name in sigma if name in found.names}
    nominal = found.system.model.nominal

    def rest(x: Array) -> Array:
        at = found.system.moved(found.at, found.names, x)
        prior = [(at.values[n] - nominal[n]) / sigma[n] for n in found.names if n in sigma]
        return np.concatenate([found.system.residual(at) / noise, prior])

    start = np.concatenate([[nominal[n] - found.at.values[n] for n in found.names], np.zeros(6)])
    other = least_squares(rest, start, x_scale=1e-3, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert np.abs(other.x / found.estimate.sigma).max() < 1e-4
    jacobian = other.jac
    sigmas = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    assert found.estimate.sigma == pytest.approx(sigmas, rel=1e-3)


def test_a_sharp_prior_holds_a_parameter() -> None:
    robot, _, readings = one_marker(noise_m=2e-5)
    held = replace(robot, priors=(Prior("A3.rz", 1e-9, "rad"),))
    found = fit(held, replace(readings, instrument=Isotropic(2e-5)), Options(estimator="wls"))
    assert abs(found.at.values["A3.rz"]) < 1e-8
    assert "A3.rz" in found.names


# --- invariance ------------------------------------------------------------------------------------------------------


def test_names_of_joints_do_not_matter() -> None:
    robot, _, readings = one_marker(noise_m=3e-5)
    names = dict(zip(robot.joint_names, ("zeta", "B", "a", "Q9", "m", "c"), strict=True))
    renamed = replace(robot, joints=tuple(replace(joint, name=names[joint.name]) for joint in robot.joints))
    here = fit(robot, readings, PLAIN)
    there = fit(renamed, replace(readings, joints=tuple(names.values())), PLAIN)
    values = {".".join([names.get(n.split(".")[0], n.split(".")[0]), *n.split(".")[1:]]): n for n in here.names}
    assert list(values) == list(there.names)
    for theirs, ours in values.items():
        assert there.at.values[theirs] == pytest.approx(here.at.values[ours], abs=1e-12)


def test_order_of_rows_does_not_matter() -> None:
    robot = arm(*THREE)
    truth = Truth(as_built(robot), {"a": anywhere(1), "b": anywhere(2)})
    readings = campaign(truth, angles(30, 3), markers=("P1", "P2", "P3"), noise_m=3e-5)
    shuffled = with_readings(readings, np.random.default_rng(0).permutation(len(readings.readings)))
    here, there = fit(robot, readings, PLAIN), fit(robot, shuffled, PLAIN)
    assert here.names == there.names
    for name, value in here.at.values.items():
        assert there.at.values[name] == pytest.approx(value, abs=1e-10)
    assert there.estimate.sigma == pytest.approx(here.estimate.sigma, rel=1e-7)


# --- readings that cannot do it --------------------------------------------------------------------------------------


def test_too_few_configurations_are_said() -> None:
    robot, _, readings = one_marker(7)
    with pytest.raises(InputError, match="too few readings"):
        fit(robot, readings, PLAIN)


def test_no_reading_is_said() -> None:
    robot, _, readings = one_marker(3)
    empty = with_readings(readings, np.zeros(3, dtype=bool))
    with pytest.raises(InputError, match="no readings"):
        fit(robot, empty, PLAIN)


def test_one_configuration_over_and_over_is_no_calibration() -> None:
    robot = arm(*THREE)
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    q = np.repeat(angles(1, 2), 20, axis=1)
    readings = campaign(truth, q, markers=("P1", "P2", "P3"), noise_m=1e-5)
    answer = identify(robot, readings)
    assert not answer.verdict.usable
    assert "nothing says how well the model predicts" in answer.verdict.reasons[0]
    fitted = {p.name for p in answer.parameters if p.std is not None}
    assert all(name.startswith("tool.") for name in fitted)


def test_markers_in_a_line_still_give_positions() -> None:
    """They tell no turn of the tool about their line; what is fitted predicts them all the same."""
    line = tuple((0.1 * i, 0.05, 0.2) for i in range(3))
    robot = arm(*line)
    truth = Truth(as_built(robot), {"day": anywhere(1)})
    names = ("P1", "P2", "P3")
    readings = campaign(truth, angles(30, 2), markers=names, noise_m=1e-5)
    found = fit(robot, readings, PLAIN)
    assert error_m(found, truth, markers=names) < 5e-5
    assert {d.name for d in found.dropped}


def test_readings_of_one_place_do_not_turn_a_frame() -> None:
    """One marker that never moved: nothing can be told but that it was there."""
    robot, _, readings = one_marker(30)
    still = replace(
        readings, readings=replace(readings.readings, value=np.repeat(readings.readings.value[:, :1], 30, axis=1))
    )
    with pytest.raises(InputError, match="all of one place while the joints moved"):
        identify(robot, still)
