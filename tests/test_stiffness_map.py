"""Maps of deflection: against exact loading, brute force, energy, symmetry of the arm, Monte Carlo of the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.compensate.choices import standing_joints
from stiffarm.compensate.model_file import KnownModel, read_model
from stiffarm.compensate.region import GridAxis, Region, read_region, section_of
from stiffarm.compensate.stiffness_map import (
    LOST,
    SINGULAR,
    STIFF,
    UNREACHED,
    Pull,
    deflection_map,
    worst_direction,
)
from stiffarm.compensate.wishing import tool_of
from stiffarm.errors import InputError
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.model.statics import predict_exact

Array = NDArray[np.float64]


def region(model: KnownModel, text: str, pointing: str = "down") -> Region:
    return read_region(text, model.robot, pointing)


def pulled(model: KnownModel, q: Array, force: Array, load_point: str = "tool", seen: str = "tool") -> Array:
    """(3, n) m, how far the seen point moves at exact equilibrium when a force comes to the weights."""
    arm = model.arm()
    share = 0.01
    ends = []
    for sign in (share, -share):
        load = Load(arm.chain.point(load_point), sign * force)
        ends.append(predict_exact(arm, State(q, (*arm.weights(), load)), seen).position)
    return np.asarray((ends[0] - ends[1]) / (2 * share))


def test_deflection_is_that_of_the_exact_arm_and_no_direction_is_worse() -> None:
    model = read_model("kr270")
    found = deflection_map(model, region(model, "x=1.2..2.4/4,y=-0.3,z=0.4..1.4/3[m]"), Pull(2000.0))
    assert (found.status == STIFF).all()
    np.testing.assert_allclose(found.moved_world, pulled(model, found.q, found.force_world), rtol=0, atol=1e-8)
    random = np.random.default_rng(0)
    for _ in range(40):
        other = random.normal(size=3)
        other *= 2000.0 / np.linalg.norm(other)
        moved = np.einsum("ijn,j->in", found.compliance, other)
        assert (np.linalg.norm(moved, axis=0) <= found.deflection * (1 + 1e-12)).all()
    np.testing.assert_allclose(np.linalg.norm(found.force_world, axis=0), 2000.0)
    np.testing.assert_allclose(found.stiffness, 2000.0 / found.deflection)
    # and the tool is where the grid says, pointing down
    place, axes = tool_of(model.arm(), found.q)
    np.testing.assert_allclose(place, found.region.position(), rtol=0, atol=2e-7)
    np.testing.assert_allclose(axes[2], np.array([[0.0], [0.0], [-1.0]]) + 0 * axes[2], rtol=0, atol=2e-6)


def test_load_and_motion_may_be_at_two_points() -> None:
    model = read_model("kr270")
    pull = Pull(1500.0, (0.0, 0.6, -0.8), load_point="hook", seen="P1")
    found = deflection_map(model, region(model, "x=1.5..2/3,y=0.2,z=0.9[m]"), pull)
    np.testing.assert_allclose(found.force_world, np.array([[0.0], [900.0], [-1200.0]]) + np.zeros((3, 3)))
    np.testing.assert_allclose(
        found.moved_world, pulled(model, found.q, found.force_world, "hook", "P1"), rtol=0, atol=1e-8
    )
    tool = deflection_map(model, found.region, replace(pull, direction=(0.0, 0.0, 1.0), frame="tool"))
    np.testing.assert_allclose(tool.force_world, np.array([[0.0], [0.0], [-1500.0]]) + np.zeros((3, 3)), atol=1e-2)


def test_twice_the_energy_of_the_joints_is_force_times_motion() -> None:
    model = read_model("kr500-rail")
    found = deflection_map(model, region(model, "x=1.8..2.8/5,y=7,z=0.6..1.4/3[m]"), Pull(1000.0))
    assert (found.status == STIFF).all()
    arm, step = model.arm(), 1e-6
    energy = np.zeros(len(found.region))
    for k, joint in enumerate(model.robot.joints):
        moved = np.zeros((7, 1))
        moved[k] = step
        slope = (tool_of(arm, found.q + moved)[0] - tool_of(arm, found.q - moved)[0]) / (2 * step)
        energy += (joint.compliance or 0.0) * np.sum(slope * found.force_world, axis=0) ** 2
    np.testing.assert_allclose(np.sum(found.force_world * found.moved_world, axis=0), energy, rtol=1e-6)
    np.testing.assert_allclose(found.compliance, np.swapaxes(found.compliance, 0, 1), rtol=0, atol=1e-16)


def test_an_arm_turned_about_its_first_axis_gives_the_same_map() -> None:
    model = read_model("kr270")
    radius, height, turns = np.linspace(1.2, 2.4, 4), 0.8, np.array([0.0, 0.7, -1.3])
    maps = []
    for turn in turns:
        places = [(r * np.cos(turn), r * np.sin(turn)) for r in radius]
        one = [
            deflection_map(
                model, Region(tuple(GridAxis(n, np.array([v])) for n, v in zip("xyz", (*p, height), strict=True)))
            )
            for p in places
        ]
        maps.append(np.concatenate([m.deflection for m in one]))
    np.testing.assert_allclose(maps[1], maps[0], rtol=1e-6)
    np.testing.assert_allclose(maps[2], maps[0], rtol=1e-6)


def test_a_rail_carries_the_map_along() -> None:
    model = read_model("kr500-rail")
    here = deflection_map(model, region(model, "x=2..3/4,y=3..4/3,z=1,E1=2[m]"))
    there = deflection_map(model, region(model, "x=2..3/4,y=8..9/3,z=1,E1=7[m]"))
    assert (here.status == STIFF).sum() >= 6
    np.testing.assert_array_equal(here.status, there.status)
    np.testing.assert_allclose(there.deflection, here.deflection, rtol=1e-6)
    # a rail that is offered is stiffer than one that stands anywhere, and the answer says where it stands
    free = deflection_map(model, region(model, "x=2..3/4,y=3..4/3,z=1[m]"), free=("E1",))
    assert (free.deflection <= here.deflection * (1 + 1e-9))[here.status == STIFF].mean() > 0.7
    assert (free.postures > here.postures).all()


def test_a_free_turn_of_the_tool_is_never_worse() -> None:
    model = read_model("kr270")
    pull = Pull(1000.0, (0.0, 1.0, 0.0), load_point="hook")
    asked = region(model, "x=1.4..2/3,y=0.5,z=0.9[m]")
    fixed, free = (deflection_map(model, asked, pull, free=offered) for offered in ((), ("rz",)))
    assert (free.deflection <= fixed.deflection * (1 + 1e-9)).all()
    assert (free.deflection < 0.99 * fixed.deflection).any()


def test_a_grid_of_joints_needs_no_inverse() -> None:
    model = read_model("kr270")
    found = deflection_map(model, region(model, "A2=-100..-40/3,A3=0..100/4[deg]"), Pull(1000.0, (0.0, 0.0, -1.0)))
    assert found.grid(found.deflection).shape == (3, 4)
    np.testing.assert_allclose(np.degrees(found.q[:3, 5]), [0.0, -70.0, 100.0 / 3.0], atol=1e-9)
    np.testing.assert_allclose(found.moved_world, pulled(model, found.q, found.force_world), rtol=0, atol=1e-8)
    assert "A1 at 0 deg" in found.notes[0]
    other = deflection_map(model, found.region, Pull(1000.0, (0.0, 0.0, -1.0)), standing={"A5": 0.5})
    assert (other.q[4] == 0.5).all()
    assert not np.allclose(other.deflection, found.deflection)


def test_deviation_of_the_deflection_against_drawn_models() -> None:
    plain = read_model("kr270")
    names = ("A1.compliance", "A2.compliance", "A3.compliance", "A5.compliance", "A3.offset")
    nominal = np.array([plain.model.nominal[name] for name in names])
    factor = np.random.default_rng(3).normal(size=(5, 5)) * (np.append(0.02 * nominal[:4], 1e-4))[:, None]
    covariance = factor @ factor.T
    model = replace(plain, covariance_names=names, covariance=covariance)
    asked = region(model, "x=1.4..2.2/3,y=0.1,z=0.6..1.2/2[m]")
    found = deflection_map(model, asked, Pull(1000.0))
    assert found.sigma is not None
    arm, random = plain.arm(), np.random.default_rng(4)
    draws = []
    for v in nominal + random.multivariate_normal(np.zeros(5), covariance, 400):
        drawn = model.model.at(dict(zip(names, v, strict=True)))
        state = State(found.q, (Load(arm.chain.point("tool"), found.force_world),))
        draws.append(np.linalg.norm(predict(drawn, state, "tool").deflection, axis=0))
    np.testing.assert_allclose(np.std(draws, axis=0), found.sigma, rtol=0.12)  # 400 draws: 3.5 % each
    assert deflection_map(plain, asked).sigma is None


def test_reach_limits_and_singular_places_are_told_apart() -> None:
    model = read_model("kr270")
    asked = section_of(model.arm(), standing_joints(model.arm()), 21)
    found = deflection_map(model, asked)
    counts = np.bincount(found.status, minlength=4)
    assert counts[STIFF] > 150
    assert counts[UNREACHED] > 50
    assert counts[LOST] == 0
    assert np.isnan(found.deflection[found.status == UNREACHED]).all()
    assert np.isfinite(found.deflection[found.status <= SINGULAR]).all()
    assert (found.spread[found.status == STIFF] >= 0.03).all()
    best, worst = found.best, found.worst
    assert best is not None
    assert worst is not None
    assert found.status[best] == found.status[worst] == STIFF
    assert found.deflection[best] == np.nanmin(found.deflection[found.status == STIFF])
    assert found.deflection[worst] == np.nanmax(found.deflection[found.status == STIFF])
    nothing = deflection_map(model, region(model, "x=9,y=0,z=1[m]"))
    assert nothing.best is None
    assert nothing.worst is None


def test_worst_direction_has_no_sense() -> None:
    random = np.random.default_rng(5)
    compliance = random.normal(size=(3, 3, 20))
    compliance = np.einsum("ijn,kjn->ikn", compliance, compliance)
    direction = worst_direction(compliance)
    np.testing.assert_allclose(np.linalg.norm(direction, axis=0), 1.0)
    assert (np.abs(direction).max(axis=0) == direction.max(axis=0)).all()
    largest = np.linalg.eigvalsh(np.moveaxis(compliance, -1, 0))[:, -1]
    np.testing.assert_allclose(np.linalg.norm(np.einsum("ijn,jn->in", compliance, direction), axis=0), largest)
    compliance[:, :, 3] = np.nan
    assert np.isnan(worst_direction(compliance)[:, 3]).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nothing is asked"),
        ("x=1..2,y=0[m]", "z is missing"),
        ("x=1..2,y=0,z=1", "x needs a unit"),
        ("x=2..1,y=0,z=1[m]", "x runs backwards"),
        ("x=1..2/1,y=0,z=1[m]", "at least two"),
        ("x=1..2,y=0,z=1,x=1[m]", "'x' stands twice"),
        ("A2=-900..0[deg]", "A2 leaves its limits"),
        ("A22=0[deg]", "neither x, y, z, turn nor a joint"),
        ("A2=0..1[mm]", "A2 needs a unit: .rad."),
        ("x=1..2/1000,y=0..1/1000,z=1[m]", "more than"),
        ("nonsense", "not NAME=VALUE"),
        ("x=a,y=0,z=1[m]", "not NAME=VALUE"),
    ],
)
def test_a_region_that_cannot_be_read_is_refused_in_words(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        region(read_model("kr270"), text)


def test_units_reach_back_and_counts_have_defaults() -> None:
    model = read_model("kr500-rail")
    found = region(model, "x=1..2,y=0,z=500[mm],E1=0..4/5[m],A1=-10..10/3[deg]")
    assert found.shape == (13, 1, 1, 5, 3)
    assert found.column("x").max() == 2e-3
    assert found.column("E1").max() == 4.0
    assert found.column("A1").max() == pytest.approx(np.radians(10.0))
    assert len(region(model, "x=1..2,y=0,z=1[m]")) == 41
    with pytest.raises(InputError, match="no direction of the tool"):
        region(model, "x=1,y=0,z=1[m]", "sideways")


def test_a_rigid_arm_has_no_map() -> None:
    model = read_model("ur5")
    with pytest.raises(InputError, match="no compliances"):
        deflection_map(model, region(model, "x=0.3,y=0,z=0.3[m]"))


def test_the_tool_points_as_asked() -> None:
    model = read_model("kr270")
    for pointing, z in (("out", np.array([0.8, 0.6, 0.0])), ("0,90,0[deg]", np.array([1.0, 0.0, 0.0]))):
        found = deflection_map(model, region(model, "x=1.6,y=1.2,z=1[m]", pointing))
        assert found.status[0] == STIFF
        np.testing.assert_allclose(tool_of(model.arm(), found.q)[1][2][:, 0], z, rtol=0, atol=1e-6)
