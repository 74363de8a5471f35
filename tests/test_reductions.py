"""Reduced models: maps that keep what they promise, what they cost, and what they gain under noise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from reduction_scenarios import ARM, TUBES, Scenario, errors, sizes_of, tube
from stiffarm.errors import InputError
from stiffarm.identifiability.definite import check_definite, fit_definite, matrices
from stiffarm.identifiability.groups import find_groups
from stiffarm.identifiability.in_use import keep_for_use
from stiffarm.identifiability.reductions import (
    Shape,
    beam,
    diagonal,
    neglect,
    one_plane,
    own,
    regroup,
    regrouped_values,
    symmetrise,
    with_shape,
)
from stiffarm.identifiability.stands_for import stands_for, use_columns
from stiffarm.model.chain import AXES
from stiffarm.model.parameters import Parameter, ParameterSet
from stiffarm.robot.placement import rotation_from_rpy

Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return Scenario()


def one_link(template: str = "full") -> ParameterSet:
    pairs = [(a, b) for i, a in enumerate(AXES) for b in (AXES if template == "full" else AXES[i:])]
    return ParameterSet.of([Parameter(f"link1.compliance[{a},{b}]", "1", elastic=True) for a, b in pairs])


def matrix_of(parameters: ParameterSet, reduced: Floats) -> Floats:
    return matrices(parameters.values(reduced))["link1"]


def turned(k: Floats, rotation: Floats) -> Floats:
    both = np.kron(np.eye(2), rotation)
    return np.asarray(both @ k @ both.T)


# M1 and M2 -------------------------------------------------------------------------------------------------------


def test_counts_of_a_six_axis_arm(scenario: Scenario) -> None:
    symmetric = symmetrise(scenario.full)
    assert [len(s) for s in (scenario.full, symmetric, with_shape(symmetric, beam("x")))] == [258, 153, 62]


def test_symmetric_means_symmetric() -> None:
    reduced = symmetrise(one_link())
    k = matrix_of(reduced, np.arange(1.0, 22.0))
    assert len(reduced) == 21
    assert reduced.names[1] == "link1.compliance[x,y]"
    assert (k == k.T).all()
    assert len(np.unique(k)) == 21


@pytest.mark.parametrize("template", ["full", "symmetric"])
@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_beam_along_an_axis_holds_every_tube_along_it(axis: str, template: str) -> None:
    start = one_link(template)
    reduced = with_shape(start if template == "symmetric" else symmetrise(start), beam(axis))
    assert len(reduced) == 8
    x = {"x": (0, 0, 0), "y": (0, 0, np.pi / 2), "z": (0, -np.pi / 2, 0)}[axis]
    k = turned(tube(*TUBES[2]), rotation_from_rpy(x))
    assert_holds(reduced, k)
    assert_cannot_hold(reduced, turned(tube(*TUBES[2]), rotation_from_rpy((0.3, 0.2, 0.5))))


def test_beam_along_any_direction() -> None:
    direction = np.array([0.3, -0.5, 0.8])
    reduced = with_shape(one_link("symmetric"), beam(direction.tolist()))
    along = direction / np.linalg.norm(direction)
    yaw, pitch = np.arctan2(along[1], along[0]), -np.arcsin(along[2])
    k = turned(tube(*TUBES[4]), rotation_from_rpy((0.0, pitch, yaw)))
    assert len(reduced) == 8
    assert_holds(reduced, k)


@pytest.mark.parametrize("normal", ["x", "y", "z"])
def test_one_plane_of_symmetry_holds_what_its_reflection_leaves_alone(normal: str) -> None:
    """A twist reflected in the plane: slides change sign along the normal, turns in the plane."""
    mirror = -np.ones(3)
    mirror["xyz".index(normal)] = 1.0
    signs = np.concatenate([-mirror, mirror])
    random = np.random.default_rng(4)
    half = random.standard_normal((6, 6))
    k = half @ half.T
    k = k + np.outer(signs, signs) * k
    reduced = with_shape(one_link("symmetric"), one_plane(normal))
    assert len(reduced) == 12
    assert_holds(reduced, k)


def test_own_pattern_and_diagonal() -> None:
    assert with_shape(one_link("symmetric"), diagonal()).names == tuple(f"link1.compliance[{a},{a}]" for a in AXES)
    mine = with_shape(one_link("symmetric"), own([("x", "x"), ("rz", "y")]))
    assert mine.names == ("link1.compliance[x,x]", "link1.compliance[y,rz]")
    with pytest.raises(InputError, match="no such axis"):
        own([("x", "phi")])


def test_a_shape_needs_its_entries() -> None:
    narrow = with_shape(one_link("symmetric"), beam("x"))
    with pytest.raises(InputError, match=r"link1.compliance\[x,rz\]"):
        with_shape(narrow, beam("y"))


def assert_holds(reduced: ParameterSet, k: Floats) -> None:
    pairs = [p.name.partition("[")[2].rstrip("]").split(",") for p in reduced.full]
    target = np.array([k[AXES.index(a), AXES.index(b)] for a, b in pairs])
    found = np.linalg.lstsq(reduced.matrix, target, rcond=None)[0]
    assert np.abs(matrix_of(reduced, found) - k).max() < 1e-12 * np.abs(k).max()


def assert_cannot_hold(reduced: ParameterSet, k: Floats) -> None:
    with pytest.raises(AssertionError):
        assert_holds(reduced, k)


def test_reductions_follow_one_another_and_columns_follow_them(scenario: Scenario) -> None:
    reduced = with_shape(symmetrise(scenario.full), beam("x"))
    x = np.random.default_rng(0).standard_normal(len(reduced))
    rows = scenario.used[:30]
    assert np.allclose(reduced.columns(rows) @ x, rows @ reduced.expand(x))


# regroup and M3 --------------------------------------------------------------------------------------------------


def test_regrouped_model_predicts_unseen_configurations_like_the_full_one(scenario: Scenario) -> None:
    for parameters in (scenario.full, symmetrise(scenario.full)):
        groups = find_groups(parameters.columns(scenario.measured), parameters.names, sizes=sizes_of(parameters))
        drawn = np.random.default_rng(11).standard_normal(len(parameters)) * sizes_of(parameters)
        x = dict(zip(parameters.names, drawn.tolist(), strict=True))
        held = {name: float(sizes_of(parameters)[0]) * 0.3 for name in groups.merged[:3]}
        small = regroup(parameters, groups, held)
        values = regrouped_values(groups, x, held)
        assert len(small) == groups.rank
        full = scenario.used @ parameters.expand(np.array(list(x.values())))
        ours = scenario.used @ small.expand(np.array([values[name] for name in small.names]))
        assert np.abs(ours - full).max() < 1e-10 * np.abs(full).max()


def test_neglected_is_held_at_zero(scenario: Scenario) -> None:
    gone = neglect(scenario.full, ["link3.compliance[x,x]", "A1.compliance"])
    values = gone.values(np.ones(len(gone)))
    assert values["link3.compliance[x,x]"] == values["A1.compliance"] == 0.0
    assert len(gone) == 256
    assert (
        np.linalg.matrix_rank(matrices(neglect(one_link(), ["link1.compliance[x,x]"]).values(np.ones(35)))["link1"]) < 6
    )


# how well it stands for the full model -----------------------------------------------------------------------------


def test_what_a_reduction_costs(scenario: Scenario) -> None:
    use = scenario.used.reshape(-1, 3, 258)
    symmetric = symmetrise(scenario.full)
    exact = stands_for(with_shape(symmetric, beam("x")), scenario.truth, use, sigma_m=30e-6)
    assert exact.worst_m < 1e-9 * exact.full_rms_m
    stiff = neglect(symmetric, [n for n in symmetric.names if n.startswith("link2.")])
    cost = stands_for(stiff, scenario.truth, use, sigma_m=30e-6)
    assert cost.worst_m > cost.rms_m > 1e-6
    assert cost.over_noise == pytest.approx(cost.rms_m / (30e-6 * np.sqrt(3)))
    assert "um" in str(cost)
    # stated values: nothing is refitted, so that leaving a link out costs what it bent
    at_zero = stands_for(stiff, scenario.truth, use, values=np.array([scenario.truth[name] for name in stiff.names]))
    bent = use @ np.array([v if n.startswith("link2.") else 0.0 for n, v in scenario.truth.items()])
    assert at_zero.rms_m == pytest.approx(np.sqrt(np.mean(np.sum(bent**2, axis=1))))
    assert at_zero.rms_m >= cost.rms_m


def test_use_columns_are_deflections_over_the_workspace(scenario: Scenario) -> None:
    names = tuple(p.name for p in scenario.full.full if p.name.startswith("A"))
    columns = use_columns(scenario.asked.model, names)
    assert columns.shape[1:] == (3, 6)
    assert np.isfinite(columns).all()
    assert len(ARM.joints) == 6


# under noise -------------------------------------------------------------------------------------------------------


def test_smaller_models_predict_unseen_loads_better(scenario: Scenario) -> None:
    found = errors(scenario, range(100))
    for name in ("M1", "M2"):
        assert int(np.sum(found[name] <= found["full"])) >= 95
    for name in ("M3", "prediction-focused"):
        assert found[name].mean() < found["M2"].mean() < found["full"].mean()
        assert found[f"M1 then {name}"].mean() < found["M1"].mean()
        assert found[name].mean() < found["ridge"].mean()


def test_what_changes_no_prediction_is_left_out_however_well_it_is_known() -> None:
    values, covariance = np.array([100.0, 100.0, 1.0]), np.eye(3)
    use = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.1]])
    found = keep_for_use(values, covariance, use)
    assert found.kept == (0,)
    assert found.effect == pytest.approx(np.array([100.0, 0.0, 0.1]) / np.sqrt(2))
    assert keep_for_use(values, covariance, use, tolerance=1e3).kept == ()
    assert found.error_kept <= found.error_full


def test_parameters_that_cancel_in_use_are_judged_together() -> None:
    """Two large values whose sum alone shows and is nothing: both may go."""
    covariance = np.array([[100.0, -99.9], [-99.9, 100.0]])
    found = keep_for_use(np.array([15.0, -15.0]), covariance, np.array([[1.0, 1.0]]))
    assert found.kept == ()


# positive definite -------------------------------------------------------------------------------------------------


def link_values(k: Floats, pairs: list[tuple[int, int]]) -> dict[str, float]:
    return {f"link1.compliance[{AXES[i]},{AXES[j]}]": float(k[i, j]) for i, j in pairs}


SYMMETRIC = [(i, j) for i in range(6) for j in range(i, 6)]
BEAM = [(i, i) for i in range(6)] + [(1, 5), (2, 4)]


def noisy(pairs: list[tuple[int, int]], seed: int) -> tuple[Floats, Floats, list[str], Floats]:
    """White rows and readings of a clamped link under six unit loads, the noise of the stiffest entry's own size."""
    k = tube(0.3, 0.2, 0.004)
    sigma = np.repeat([2.0 * k[0, 0], 0.02 * k[4, 4]], 3) * 100.0
    rows = np.zeros((36, len(pairs)))
    for n, (i, j) in enumerate(pairs):
        for a, b in {(i, j), (j, i)}:
            rows[6 * b + a, n] = 100.0 / sigma[a]
    truth = np.array([k[pair] for pair in pairs])
    right = rows @ truth + np.random.default_rng(seed).standard_normal(36)
    return rows, right, list(link_values(k, pairs)), truth


@pytest.mark.parametrize("pairs", [SYMMETRIC, BEAM], ids=["symmetric", "beam"])
def test_constrained_fit_is_positive_definite_and_as_good_as_any(pairs: list[tuple[int, int]]) -> None:
    for seed in range(40):
        rows, right, names, truth = noisy(pairs, seed)
        found = fit_definite(rows, right, names)
        free = check_definite(found.free)[0]
        assert all(check.positive for check in found.checks)
        assert found.cost_ratio >= 1.0 - 1e-9
        if free.positive:
            assert found.values == pytest.approx(found.free, rel=1e-5, abs=1e-6 * float(np.abs(truth).max()))
            continue
        # no positive definite matrix nearby does better
        x = np.array([found.values[name] for name in names])
        best = np.linalg.norm(rows @ x - right)
        random = np.random.default_rng(seed)
        for _ in range(50):
            other = x + 0.05 * np.abs(x) * random.standard_normal(len(x))
            if check_definite(dict(zip(names, other.tolist(), strict=True)))[0].positive:
                assert np.linalg.norm(rows @ other - right) > best * (1.0 - 1e-4)
        return
    pytest.fail("no seed gave an indefinite free fit")


def test_the_verdict_says_why() -> None:
    k = np.diag([1e-8, 1e-8, 1e-8, 1e-6, 1e-6, 1e-6])
    assert check_definite(link_values(k, SYMMETRIC))[0].positive
    k[0, 0] = -1e-10
    bad = check_definite(link_values(k, SYMMETRIC))[0]
    assert not bad.positive
    assert "not positive definite" in str(bad)
    every = [(i, j) for i in range(6) for j in range(6)]
    k[0, 0] = 1e-8
    k[0, 1] = 1e-9
    assert "not symmetric" in str(check_definite(link_values(k, every))[0])
    # units do not matter: the same matrix in mm
    scale = np.repeat([1e3, 1.0], 3)
    assert check_definite(link_values(np.diag(np.diag(k)) * np.outer(scale, scale), SYMMETRIC))[0].positive


def test_constrained_fit_wants_a_symmetric_model() -> None:
    names = [f"link1.compliance[{a},{b}]" for a in AXES for b in AXES]
    with pytest.raises(InputError, match="Symmetrise"):
        fit_definite(np.eye(36), np.ones(36), names)
    chain = ["link1.compliance[x,x]", "link1.compliance[x,y]", "link1.compliance[y,y]", "link1.compliance[y,z]",
             "link1.compliance[z,z]"]  # fmt: skip
    with pytest.raises(InputError, match="every entry"):
        fit_definite(np.eye(5), np.ones(5), chain)


def test_shapes_have_names() -> None:
    assert isinstance(beam("y"), Shape)
    assert beam("y").name == "beam along y"
