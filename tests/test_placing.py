"""Placements of a part: against every placement worked out alone by the exact model, forces that turn, the rail."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.compensate.inverting import Wished
from stiffarm.compensate.model_file import KnownModel, read_model
from stiffarm.compensate.placed import placed_path
from stiffarm.compensate.placing import Part, as_it_stands, place_part
from stiffarm.compensate.region import Region, read_region
from stiffarm.compensate.stiffness_map import STIFF, UNREACHED, Pull
from stiffarm.errors import InputError
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.model.postures import postures
from stiffarm.model.rotations import matrix_of, vector_of

Array = NDArray[np.float64]


def pocket(n: int = 12, middle: tuple[float, float, float] = (1.7, 0.1, 0.9), force: float = 800.0) -> Part:
    """A round of an ellipse with a force along its way and one downwards."""
    t = np.linspace(0.0, 2.0 * np.pi, n, endpoint=False)
    position = np.array(middle)[:, None] + np.stack([0.2 * np.cos(t), 0.1 * np.sin(t), 0 * t])
    down = matrix_of(np.repeat(np.array([[np.pi], [0.0], [0.0]]), n, axis=1))
    wrench = np.zeros((1, 6, n))
    wrench[0, 0], wrench[0, 1], wrench[0, 2] = -force * np.sin(t), force * np.cos(t), -0.5 * force
    wished = Wished(np.zeros((6, n)), position, down, ("hook",), wrench if force else None)
    return Part.of(wished, np.arange(n) + 2)


def region(model: KnownModel, text: str) -> Region:
    return read_region(text, model.robot, needs=())


def alone(model: KnownModel, part: Part, middle: Array, turn: float) -> tuple[float, float]:
    """Least rms, and its largest deflection, of one placement: the best posture of every point, no path followed."""
    arm = model.arm()
    c, s = np.cos(turn), np.sin(turn)
    turned = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    position = middle[:, None] + turned @ (part.position_world - part.middle[:, None])
    axes = np.einsum("ij,cjn->cin", turned, part.rotation_world)
    found = postures(arm, np.concatenate([position, vector_of(axes)]))
    best = []
    for i in range(len(part)):
        q = np.ascontiguousarray(found.q[:, (found.pose == i) & (found.spread > 0.03)])
        load = Load(arm.chain.point("hook"), (turned @ part.wrench_world[0, :3, i])[:, None])
        best.append(np.linalg.norm(predict(arm, State(q, (load,)), "tool").deflection, axis=0).min())
    return float(np.sqrt(np.mean(np.square(best)))), float(np.max(best))


def test_every_placement_is_what_it_is_alone() -> None:
    model = read_model("kr270")
    part = pocket()
    asked = region(model, "x=1.4..2.2/3,z=0.6..1.2/2,turn=0..60/2[deg]".replace("1.2/2,", "1.2/2[m],"))
    found = place_part(model, part, asked)
    assert found.region.shape == (3, 2, 2)
    assert (found.status == STIFF).all()
    np.testing.assert_allclose(found.shift[1], 0.0, atol=1e-15)  # y was not named: it stays
    for i in range(len(asked)):
        rms, worst = alone(model, part, found.position_world[:, i], float(found.turn[i]))
        # a path keeps to one posture, so it cannot be better than the best of every point
        assert found.rms[i] >= rms * (1 - 1e-6)
        assert found.rms[i] == pytest.approx(rms, rel=0.05)
        assert found.worst[i] >= worst * (1 - 1e-6)
    best = found.best
    assert best is not None
    assert found.rms[best] == found.rms.min()
    by_worst = place_part(model, part, asked, judged="worst")
    assert by_worst.best is not None
    assert by_worst.worst[by_worst.best] == by_worst.worst.min()
    assert (by_worst.worst <= found.worst * (1 + 1e-9)).all()


def test_the_chosen_place_is_solved_exactly_and_says_how_sure_it_is() -> None:
    plain = read_model("kr270")
    names = ("A1.compliance", "A2.compliance", "A3.compliance")
    nominal = np.array([plain.model.nominal[name] for name in names])
    model = replace(plain, covariance_names=names, covariance=np.diag((0.03 * nominal) ** 2))
    part = pocket()
    found = place_part(model, part, region(model, "x=1.5..2.1/3[m]"))
    assert found.best is not None
    path = placed_path(model, found, found.best)
    assert np.sqrt(np.mean(path.deflection**2)) == pytest.approx(float(found.rms[found.best]), rel=1e-9)
    np.testing.assert_allclose(path.exact, path.deflection, rtol=0.01)
    assert (path.exact != path.deflection).all()
    arm, drawn = plain.arm(), []
    for v in nominal * (1 + 0.03 * np.random.default_rng(2).normal(size=(300, 3))):
        own = plain.model.at(dict(zip(names, v, strict=True)))
        load = Load(arm.chain.point("hook"), part.wrench_world[0, :3])
        moved = predict(own, State(path.q, (load,)), "tool").deflection
        drawn.append(np.sqrt(np.mean(np.sum(moved**2, axis=0))))
    assert path.sigma_rms == pytest.approx(float(np.std(drawn)), rel=0.13)
    assert placed_path(plain, found, found.best).sigma_rms is None


def test_the_path_is_followed_in_one_posture() -> None:
    model = read_model("kr270")
    found = place_part(model, pocket(40), region(model, "x=1.7[m]"))
    path = placed_path(model, found, 0)
    assert np.abs(np.diff(path.q, axis=1)).max() < 0.3
    np.testing.assert_allclose(found.start[:, 0], path.q[:, 0], atol=1e-9)


def test_where_the_file_has_it_is_a_placement_like_any_other() -> None:
    model = read_model("kr270")
    part = pocket()
    here = place_part(model, part, as_it_stands(part))
    found = place_part(model, part, region(model, "x=1.5..1.9/3[m]"))
    np.testing.assert_allclose(found.rms[1], here.rms[0], rtol=1e-6)
    np.testing.assert_allclose(found.shift[:, 1], 0.0, atol=1e-12)
    # far away nothing is reached, and the first point that is not is named
    far = place_part(model, part, region(model, "x=2.75..9/2[m]"))
    assert far.status.tolist() == [UNREACHED, UNREACHED]
    assert far.best is None
    assert far.failed_row[1] == part.row[0]
    assert far.failed_row[0] > 0
    with pytest.raises(InputError, match="not reached"):
        placed_path(model, far, 1)


def test_a_part_that_turns_with_the_arm_bends_it_alike() -> None:
    """Turned about the first axis with its place: the same arm, the same forces seen from it."""
    model = read_model("kr270")
    part = pocket()
    turn = 0.6
    c, s = np.cos(turn), np.sin(turn)
    x, y, z = part.middle
    text = f"x={c * x - s * y},y={s * x + c * y}[m],turn={np.degrees(turn)}[deg]"
    here, there = place_part(model, part, as_it_stands(part)), place_part(model, part, region(model, text))
    assert there.rms[0] == pytest.approx(float(here.rms[0]), rel=1e-4)
    assert z == there.position_world[2, 0]


def test_along_the_rail_the_best_is_beside_the_part() -> None:
    model = read_model("kr500-rail")
    wished = pocket(8, (2.4, 5.0, 1.0))
    found = place_part(model, wished, region(model, "E1=3..7/9[m]"))
    assert found.best is not None
    assert abs(found.region.column("E1")[found.best] - 5.0) <= 1.0
    np.testing.assert_allclose(found.shift, 0.0, atol=1e-12)
    moved = place_part(model, pocket(8, (2.4, 6.0, 1.0)), region(model, "E1=4..8/9[m]"))
    np.testing.assert_allclose(moved.rms, found.rms, rtol=1e-6)


def test_loads_that_the_path_does_not_state() -> None:
    model = read_model("kr270")
    part = pocket(6, force=0.0)
    asked = region(model, "x=1.6..2/2[m]")
    worst = place_part(model, part, asked)  # 1 kN in the worst direction of each point
    for direction in np.eye(3):
        given = place_part(model, part, asked, Pull(1000.0, tuple(direction)))
        assert (given.rms <= worst.rms * (1 + 1e-9)).all()
    path = placed_path(model, worst, 0)
    np.testing.assert_allclose(path.exact, path.deflection, rtol=0.01)
    # a force given in world axes turns with the part
    turned = place_part(model, part, region(model, "turn=0..90/2[deg]"), Pull(1000.0, (1.0, 0.0, 0.0)))
    assert turned.rms[0] != pytest.approx(float(turned.rms[1]), rel=1e-3)


def test_long_paths_are_sampled_with_their_largest_force() -> None:
    n = 500
    part = pocket(n)
    assert len(part) <= 49
    assert part.whole == n
    wrench = np.zeros((1, 6, n))
    wrench[0, 0, 333] = 100.0
    wished = Wished(np.zeros((6, n)), np.zeros((3, n)), np.zeros((3, 3, n)), ("tool",), wrench)
    assert 335 in Part.of(wished, np.arange(n) + 2).row


def test_a_marker_that_is_not_there(tmp_path: Path) -> None:
    model = read_model("kr270")
    with pytest.raises(InputError, match="marker 'nix' does not exist"):
        place_part(model, replace(pocket(), seen="nix"), region(model, "x=1.7[m]"))
