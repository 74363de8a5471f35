"""Parameters by name: patterns, priors and their units, and the maps from reduced to full sets."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.model.parameters import Parameter, ParameterSet, glob_match, select, with_priors
from stiffarm.robot.arm import Link, Prior
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

KR270 = replace(
    read_robot("kr270"),
    compensators=(),
    priors=(),
    links=(Link("base", "beam"), Link("A2", "symmetric"), Link("A3", "diagonal")),
)
MODEL = ArmModel.of(KR270).grouped("A2", (-0.5, -1.0, -2.0))


def names_of(parameters: tuple[Parameter, ...]) -> list[str]:
    return [p.name for p in parameters]


# --- patterns ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("A2.compliance", "A2.compliance", True),
        ("A2.compliance", "A2.compliance[1]", False),
        ("A2.compliance[1]", "A2.compliance[1]", True),
        ("A2.compliance[1]", "A2.compliance1", False),  # brackets are not a set of characters
        ("A2.compliance[12]", "A2.compliance[1]", False),
        ("A2.compliance[*]", "A2.compliance[12]", True),
        ("A2.compliance[?]", "A2.compliance[12]", False),
        ("link?.compliance[x,*]", "link3.compliance[x,rz]", True),
        ("link?.compliance[x,*]", "link3.compliance[y,rz]", False),
        ("link3.compliance[x,rz]", "link3.compliance[x,rz]", True),
        ("*.coupling[A4]", "A5.coupling[A4]", True),
        ("*.coupling[A4]", "A4.coupling[A5]", False),
        ("a2.*", "A2.x", False),
        ("*", "load.gain", True),
        ("A2.*]", "A2.coupling[A1]", True),
        ("[!A]*", "B1.x", False),
    ],
)
def test_patterns_are_globs_in_which_brackets_stand_for_themselves(pattern: str, name: str, matches: bool) -> None:
    assert glob_match(name, pattern) is matches


@given(st.sampled_from(names_of(MODEL.parameters)), st.sampled_from(names_of(MODEL.parameters)))
def test_a_name_is_a_pattern_of_itself_alone(name: str, other: str) -> None:
    assert glob_match(other, name) == (other == name)


def test_selection_keeps_the_order_of_the_model_and_takes_nothing_twice() -> None:
    found = names_of(select(MODEL.parameters, ["A3.compliance", "A2.compliance[*]", "*.compliance"]))
    expected = ["A1", "A2[1]", "A2[2]", "A2[3]", "A3", "A4", "A5", "A6"]
    assert [name.replace(".compliance", "") for name in found] == expected


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("link0.*", ["[x,x]", "[y,y]", "[y,rz]", "[z,z]", "[z,ry]", "[rx,rx]", "[ry,ry]", "[rz,rz]"]),
        ("link3.*", [f"[{a},{a}]" for a in ("x", "y", "z", "rx", "ry", "rz")]),
    ],
)
def test_links_have_the_unknowns_of_their_template(pattern: str, names: list[str]) -> None:
    found = names_of(select(MODEL.parameters, [pattern]))
    assert sorted(name.split("compliance")[1] for name in found) == sorted(names)
    assert len(select(MODEL.parameters, ["link2.*"])) == 21


def test_a_pattern_without_a_hit_names_what_there_is() -> None:
    with pytest.raises(InputError) as caught:
        select(MODEL.parameters, ["A1.x", "A2.complience[1]"])
    (problem,) = caught.value.problems
    assert problem.found == "'A2.complience[1]'"
    assert problem.next_step == "did you mean 'A2.compliance[1]'?"
    assert problem.allowed is not None
    assert {"A6", "link2", "tool", ".compliance", ".offset"} <= set(problem.allowed.split())


def test_a_value_of_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(InputError, match=r"'A2\.compliance' does not exist.*did you mean 'A\d\.compliance"):
        MODEL.at({"A2.compliance": 1e-6})  # it has groups


def test_names_are_unique_and_nominal_values_are_the_files() -> None:
    names = names_of(MODEL.parameters)
    assert len(set(names)) == len(names)
    assert MODEL.nominal["A2.compliance[3]"] == KR270.joints[1].compliance
    assert MODEL.nominal["tool.P1.x"] == KR270.tool.markers[0].xyz[0]
    assert MODEL.nominal["load.gain"] == 1.0
    assert {p.unit for p in MODEL.parameters if p.name.startswith("link2")} == {"m/N", "rad/N", "rad/(N*m)"}


# --- priors ------------------------------------------------------------------------------------------------


def sigma(priors: list[tuple[str, float, str]], name: str) -> float | None:
    return next(p.sigma for p in with_priors(MODEL.parameters, priors) if p.name == name)


@pytest.mark.parametrize(
    ("pattern", "number", "unit", "name", "expected"),
    [
        ("A2.x", 0.5, "mm", "A2.x", 0.5e-3),
        ("A2.x", 0.5, "m", "A2.x", 0.5),
        ("base.r?", 0.1, "deg", "base.rz", math.radians(0.1)),
        ("base.r?", 2.0, "mrad", "base.rx", 2e-3),
        ("*.compliance", 3e-7, "rad/(N*m)", "A3.compliance", 3e-7),
        ("A2.compliance[*]", 3e-7, "rad/(N*m)", "A2.compliance[2]", 3e-7),
        ("link2.compliance[x,ry]", 1e-8, "rad/N", "link2.compliance[x,ry]", 1e-8),
        ("load.gain", 0.01, "1", "load.gain", 0.01),
        ("payload.mass", 0.2, "kg", "payload.mass", 0.2),
    ],
)
def test_priors_are_converted_to_si(pattern: str, number: float, unit: str, name: str, expected: float) -> None:
    assert sigma([(pattern, number, unit)], name) == pytest.approx(expected, rel=1e-15)


def test_what_no_prior_names_stays_unknown_and_later_patterns_win() -> None:
    priors = [("A?.x", 0.5, "mm"), ("A2.*", 2.0, "um")]
    assert sigma(priors, "A2.x") == pytest.approx(2e-6)
    assert sigma(priors, "A2.z") == pytest.approx(2e-6)
    assert sigma(priors, "A2.rx") is None, "a length says nothing of an angle"
    assert sigma(priors, "A2.compliance[1]") is None
    assert sigma(priors, "A3.x") == pytest.approx(0.5e-3)
    assert sigma(priors, "A3.y") is None


@pytest.mark.parametrize(
    ("pattern", "unit", "allowed"),
    [
        ("A2.x", "deg", "m mm um"),
        ("A2.rx", "mm", "rad mrad urad deg"),
        ("A2.x", "furlong", "m mm um"),
        ("A3.compliance", "mm", "rad/(N*m)"),
        ("A3.compliance", "rad", "rad/(N*m)"),
        ("load.gain", "kg", "1"),
    ],
)
def test_a_prior_in_an_impossible_unit_lists_the_possible_ones(pattern: str, unit: str, allowed: str) -> None:
    with pytest.raises(InputError) as caught:
        with_priors(MODEL.parameters, [(pattern, 1.0, unit)])
    (problem,) = caught.value.problems
    assert (problem.found, problem.allowed, problem.column) == (unit, allowed, "prior[1].unit")
    assert pattern in problem.what


def test_a_prior_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"names no parameter of this robot.*'A9\.x'"):
        with_priors(MODEL.parameters, [("A9.x", 1.0, "mm")])


def test_priors_of_the_robot_file_reach_the_parameters() -> None:
    model = ArmModel.of(replace(KR270, priors=(Prior("A2.x", 0.5, "mm"), Prior("tool.P?.z", 2.0, "mm"))))
    found = {p.name: p.sigma for p in model.parameters if p.sigma is not None}
    assert found == pytest.approx({"A2.x": 5e-4, "tool.P1.z": 2e-3, "tool.P2.z": 2e-3, "tool.P3.z": 2e-3})


# --- reductions --------------------------------------------------------------------------------------------

FULL = tuple(
    Parameter(name, "m", nominal=nominal, scale=scale)
    for name, nominal, scale in [
        ("a.x", 1.0, 1e-3),
        ("a.y", 2.0, 1e-3),
        ("b.x", 3.0, 1.0),
        ("b.y", -1.0, 1.0),
        ("c[1]", 0.5, 1.0),
        ("c[2]", 0.7, 1.0),
    ]
)


def measured(full: Floats) -> Floats:
    """Something that depends on every full parameter, and not linearly."""
    weights = np.random.default_rng(0).normal(size=(4, len(full)))
    return np.sin(weights @ full) + (weights @ full) ** 2


def measured_columns(full: Floats) -> Floats:
    weights = np.random.default_rng(0).normal(size=(4, len(full)))
    return (np.cos(weights @ full) + 2 * weights @ full)[:, None] * weights


def reductions() -> dict[str, ParameterSet]:
    free = ParameterSet.of(FULL)
    mixing = np.random.default_rng(1).normal(size=(6, 2))
    return {
        "free": free,
        "fixed": free.fix(["a.*", "c[1]"]),
        "fixed elsewhere": free.fix(["b.x"], {"b.x": 7.0}),
        "tied": free.tie([("b.x", "a.x"), ("c[1]", "c[2]")]),
        "mixed": free.reduce(["u", "v"], mixing, np.arange(6.0)),
        "tied then fixed": free.tie([("a.x", "a.y")]).fix(["a.x", "b.?"], {"a.x": 1.4}),
        "fixed then tied then mixed": free.fix(["a.y"], {"a.y": -2.0})
        .tie([("c[1]", "c[2]"), ("a.x", "b.x", "b.y")])
        .reduce(["u"], np.array([[2.0], [-1.0]]), np.array([0.1, 0.2])),
        "all fixed": free.fix(["*"]),
    }


@pytest.mark.parametrize("name", reductions())
def test_columns_are_the_derivatives_of_what_expand_gives(name: str) -> None:
    chosen = reductions()[name]
    at = np.random.default_rng(2).normal(size=len(chosen))
    found = chosen.columns(measured_columns(chosen.expand(at)))
    assert found.shape == (4, len(chosen))
    h = 1e-5
    for i in range(len(chosen)):
        step = h * np.eye(len(chosen))[i]
        truth = (measured(chosen.expand(at + step)) - measured(chosen.expand(at - step))) / (2 * h)
        np.testing.assert_allclose(found[:, i], truth, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", reductions())
def test_expanded_values_carry_the_full_names(name: str) -> None:
    chosen = reductions()[name]
    at = np.random.default_rng(3).normal(size=len(chosen))
    assert list(chosen.values(at)) == names_of(FULL)
    assert list(chosen.values(at).values()) == chosen.expand(at).tolist()


def test_everything_free_is_the_identity() -> None:
    free = ParameterSet.of(FULL)
    assert free.names == tuple(names_of(FULL))
    np.testing.assert_allclose(free.nominal(), [p.nominal for p in FULL], rtol=1e-15)
    np.testing.assert_array_equal(free.expand(np.arange(6.0)), np.arange(6.0))


def test_what_is_fixed_stays_at_its_nominal_or_given_value() -> None:
    free = ParameterSet.of(FULL)
    held = free.fix(["a.*", "c[1]"])
    assert held.names == ("b.x", "b.y", "c[2]")
    np.testing.assert_allclose(held.expand(np.array([9.0, 8.0, 7.0])), [1.0, 2.0, 9.0, 8.0, 0.5, 7.0], rtol=1e-15)
    np.testing.assert_allclose(held.nominal(), [3.0, -1.0, 0.7], rtol=1e-14)
    given_value = free.fix(["b.x"], {"b.x": 7.0})
    assert given_value.expand(np.zeros(5))[2] == 7.0
    assert len(free.fix(["*"])) == 0
    np.testing.assert_allclose(free.fix(["*"]).expand(np.zeros(0)), [p.nominal for p in FULL], rtol=1e-15)


def test_tied_parameters_are_one_value_under_the_first_name() -> None:
    tied = ParameterSet.of(FULL).tie([("b.x", "a.x"), ("c[1]", "c[2]")])
    assert tied.names == ("a.y", "b.x", "b.y", "c[1]")
    values = tied.values(np.array([10.0, 20.0, 30.0, 40.0]))
    assert values == {"a.x": 20.0, "a.y": 10.0, "b.x": 20.0, "b.y": 30.0, "c[1]": 40.0, "c[2]": 40.0}


def test_nominal_of_a_tie_lies_between_its_members_by_their_scales() -> None:
    tied = ParameterSet.of(FULL).tie([("c[1]", "c[2]")])
    nominal = dict(zip(tied.names, tied.nominal(), strict=True))
    assert nominal["c[1]"] == pytest.approx(0.6)
    uneven = ParameterSet.of(FULL).tie([("a.x", "b.x")])  # a.x is known a thousand times better
    assert uneven.nominal()[0] == pytest.approx(1.0, abs=1e-5)


def test_what_a_reduction_cannot_name_is_refused() -> None:
    free = ParameterSet.of(FULL)
    with pytest.raises(InputError, match="no parameter matches"):
        free.fix(["d.*"])
    with pytest.raises(InputError, match="no parameter matches"):
        free.fix(["a.x"]).fix(["a.x"])  # it is no unknown any more
    with pytest.raises(InputError, match="a tie names what is not an unknown"):
        free.tie([("a.x", "d.x")])


def test_a_model_takes_the_values_of_a_reduced_set() -> None:
    """Three groups of A2 tied together are one joint compliance again."""
    groups = [f"A2.compliance[{i}]" for i in (1, 2, 3)]
    chosen = ParameterSet.of(select(MODEL.parameters, ["A2.compliance[*]"])).tie([groups])
    assert chosen.names == (groups[0],)
    q = np.random.default_rng(4).uniform(-1.5, 1.5, (6, 10))
    moved = []
    for model, values in (
        (MODEL, chosen.values(np.array([4e-7]))),
        (ArmModel.of(KR270), {"A2.compliance": 4e-7}),
    ):
        arm = model.at(values)
        load = Load(arm.chain.point("hook"), np.array([[500.0], [-200.0], [-2600.0]]))
        moved.append(predict(arm, State(q, (load,)), "P1").deflection)
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-13)
