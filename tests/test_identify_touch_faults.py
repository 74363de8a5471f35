"""Bad touches through the real command: a message and nothing written, or a verdict that says no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stiffarm.cli.main import main
from stiffarm.papers.paper_004 import POINTS_M
from touch_files import TouchFile, postures


def identified(folder: Path, file: TouchFile, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, Any]:
    """Exit status, messages, and the model when there is one."""
    robot, path = file.write(folder)
    out = folder / "arm.model.json"
    status = main(["identify", robot, path, "--json", "-o", str(out)])
    printed = capsys.readouterr()
    assert out.exists() == (status < 2)
    return status, " ".join(printed.err.split()), json.loads(printed.out) if status < 2 else None


def test_good_touches_say_what_holds_the_scale_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = postures()
    status, _, model = identified(tmp_path, TouchFile().touch("a", a).touch("b", b).touch("c", c), capsys)
    assert status == 0
    assert "scale" in model["verdict"]["reasons"][0]
    assert model["holdout"]["rms[m]"] < 0.1 * model["holdout"]["nominal_rms[m]"]


def test_a_known_distance_takes_the_sentence_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = postures()
    apart = 1e3 * float(np.linalg.norm(POINTS_M[0] - POINTS_M[1]))
    file = TouchFile().touch("a", a).touch("b", b).touch("c", c).distance("a", "b", apart)
    status, _, model = identified(tmp_path, file, capsys)
    assert status == 0
    assert not any("scale of all lengths" in reason for reason in model["verdict"]["reasons"])


def test_a_point_touched_once_is_named_and_the_rest_is_fitted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, c = postures()
    file = TouchFile().touch("a", a).touch("b", b).touch("once", c[:, :1])
    status, err, _ = identified(tmp_path, file, capsys)
    assert status == 0
    assert "target 'once' says nothing" in err


@pytest.mark.parametrize("kind", ["plane", "sphere"])
def test_surfaces_touched_too_seldom_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    a, b, c = postures()
    file = TouchFile().touch("a", a).touch("b", b).touch("few", c[:, :3], kind)
    status, err, _ = identified(tmp_path, file, capsys)
    assert status == 0
    assert f"target 'few' says nothing: a {kind} needs" in err


def test_one_orientation_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, _, _ = postures()
    status, err, _ = identified(tmp_path, TouchFile().touch("a", np.repeat(a[:, :1], 18, axis=1)), capsys)
    assert status == 2
    assert "the tool keeps one orientation in all touches of every point" in err


def test_everything_touched_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, _ = postures()
    status, err, _ = identified(tmp_path, TouchFile().touch("a", a[:, :1]).touch("b", b[:, :1]), capsys)
    assert status == 2
    assert "no target is touched often enough to say anything" in err


def test_a_distance_to_what_nobody_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b, _ = postures()
    file = TouchFile().touch("a", a).touch("b", b).distance("a", "zz", 500.0)
    status, err, _ = identified(tmp_path, file, capsys)
    assert status == 2
    assert "row 38, column target2: a distance to a target that no row touches says nothing; found: 'zz'" in err


@pytest.mark.parametrize("apart_m", [2.0, 0.1, 0.01, 0.002])
def test_one_name_at_two_places(tmp_path: Path, capsys: pytest.CaptureFixture[str], apart_m: float) -> None:
    """Far apart it is refused; nearer than what the nominal arm misses by, the verdict of the fit says it."""
    places = np.vstack([POINTS_M, POINTS_M[0] + [0.0, 0.0, apart_m] if apart_m < 1.0 else POINTS_M[1]])
    a, b, c, other = postures(places)
    file = TouchFile().touch("a", a).touch("a", other).touch("b", b).touch("c", c)
    status, err, model = identified(tmp_path, file, capsys)
    if apart_m > 0.05:
        assert status == 2
        said = err
    else:
        assert status == 1
        assert model["verdict"]["usable"] is False
        said = model["verdict"]["reasons"][0]
    assert "target 'a' (point) is touched at two places" in said
    assert "experiments 1, 2, 3, 4 and 14 more and experiments 19, 20, 21, 22 and 14 more" in said
