"""Touches that say nothing, and one name for two things: found before anything is fitted, by the real command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from stiffarm.cli.main import main
from stiffarm.measure.targets import Target
from stiffarm.measure.touch_checks import least_touches, two_heaps
from stiffarm.papers.paper_004 import POINTS_M
from touch_files import TouchFile, postures

Floats = NDArray[np.float64]


def assessed(folder: Path, file: TouchFile, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit status and messages of `assess`; nothing is written when it fails."""
    robot, path = file.write(folder)
    out = folder / "found.json"
    status = main(["assess", robot, path, "--geometry", "full", "--json", "-o", str(out)])
    assert out.exists() == (status == 0)
    return status, " ".join(capsys.readouterr().err.split())


def test_good_touches_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = postures()
    file = TouchFile().touch("a", a).touch("b", b).touch("c", c).distance("a", "b", 2827.1)
    assert assessed(tmp_path, file, capsys) == (0, "")


def test_a_point_touched_once_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = postures()
    file = TouchFile().touch("a", a).touch("once", b[:, :1]).touch("flat", c[:, :3], "plane")
    status, err = assessed(tmp_path, file, capsys)
    assert status == 0
    assert "target 'once' says nothing: a point needs 2 touches or more and has 1" in err
    assert "target 'flat' says nothing: a plane needs 4 touches or more and has 3" in err


def test_every_point_touched_once_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, _ = postures()
    status, err = assessed(tmp_path, TouchFile().touch("a", a[:, :1]).touch("b", b[:, :1]), capsys)
    assert status == 2
    assert "touches.campaign.csv, row 2, column target: no target is touched often enough" in err
    assert "'a' 1x, 'b' 1x" in err


@pytest.mark.parametrize("scatter", [0.0, 1e-4])
def test_one_orientation_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], scatter: float) -> None:
    a, b, _ = postures()
    random = np.random.default_rng(0)
    same = [p[:, :1] + scatter * random.standard_normal((6, 15)) for p in (a, b)]
    status, err = assessed(tmp_path, TouchFile().touch("a", same[0]).touch("b", same[1]), capsys)
    assert status == 2
    assert "the tool keeps one orientation in all touches of every point" in err
    assert "Touch each point again with the tool turned" in err


def test_one_name_at_two_places_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, _, c, beside = postures(np.vstack([POINTS_M, POINTS_M[0] + [0.1, 0.0, 0.0]]))
    status, err = assessed(tmp_path, TouchFile().touch("a", a).touch("a", beside).touch("c", c), capsys)
    assert status == 2
    assert "touches.campaign.csv, row 20, column target: target 'a' (point) is touched at two places" in err
    assert "experiments 1, 2, 3, 4 and 14 more and experiments 19, 20, 21, 22 and 14 more" in err


def test_a_distance_to_nothing_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, _ = postures()
    status, err = assessed(
        tmp_path, TouchFile().touch("hole", a).touch("cone", b).distance("hole", "con", 500.0), capsys
    )
    assert status == 2
    assert "row 38, column target2: a distance to a target that no row touches says nothing; found: 'con'" in err
    assert "did you mean" in err.lower()


@pytest.mark.parametrize("radius", ["0", "-3"])
def test_a_radius_is_positive(tmp_path: Path, capsys: pytest.CaptureFixture[str], radius: str) -> None:
    a, _, _ = postures()
    status, err = assessed(tmp_path, TouchFile().touch("a", a, "sphere", radius), capsys)
    assert status == 2
    assert "row 2, column radius[mm]: a length must be positive" in err


def heaps(points: Floats, shape: str = "touch", place: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0)) -> bool:
    target = Target("a", shape, np.arange(len(points)))  # type: ignore[arg-type]
    return two_heaps(target, np.array(place), points.T, 1e-5) is not None


@pytest.mark.parametrize("count", [4, 6, 10, 18, 200])
def test_one_normal_heap_is_one(count: int) -> None:
    """At most one false alarm in some hundreds; expected is one in a thousand or less."""
    random = np.random.default_rng(count)
    alarms = sum(heaps(1e-3 * random.standard_normal((count, 3))) for _ in range(400))
    assert alarms <= 3


def test_two_heaps_are_two_and_a_few_misses_are_none() -> None:
    random = np.random.default_rng(1)
    points = 1e-4 * random.standard_normal((20, 3))
    assert not heaps(points)
    apart = points.copy()
    apart[7:] += [1.2e-3, 0.0, 0.0]
    assert heaps(apart)
    few = points.copy()
    few[3:6] += 0.1
    assert not heaps(few)
    few[6] += 0.1
    assert heaps(few)
    assert two_heaps(Target("a", "touch", np.arange(20)), np.zeros(4), apart.T) is None
    flat = np.column_stack([random.uniform(-1, 1, (20, 2)), 1e-5 * random.standard_normal(20)])
    assert not heaps(flat, "plane", (0.0, 0.0, 1.0, 0.0))
    flat[10:, 2] += 2e-3
    assert heaps(flat, "plane", (0.0, 0.0, 1.0, 1e-3))


def test_least_touches() -> None:
    rows = np.arange(3)
    kinds = [Target("a", "touch", rows), Target("a", "plane", rows), Target("a", "sphere", rows),
             Target("a", "sphere", rows, 0.1)]  # fmt: skip
    assert [least_touches(t) for t in kinds] == [2, 4, 5, 4]
