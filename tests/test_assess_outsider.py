"""A robot file written from the published lengths alone, assessed by the command: counts and ranks must come out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stiffarm.cli.main import main

JOINTS = (
    ("J1", (0.0, 0.0, 0.40), (0, 0, -1), (-180, 180)),
    ("J2", (0.350, 0.0, 0.350), (0, 1, 0), (-140, -5)),
    ("J3", (1.250, 0.0, 0.0), (0, 1, 0), (-115, 150)),
    ("J4", (0.0, 0.0, -0.055), (-1, 0, 0), (-300, 300)),
    ("J5", (1.100, 0.0, 0.0), (0, 1, 0), (-120, 120)),
    ("J6", (0.115, 0.0, 0.0), (-1, 0, 0), (-300, 300)),
)
"""Name, place in the frame before (m, zero pose with the arm along x), axis, limits (deg)."""
REFERENCE = (0.35, 0.10, -0.20)
ENDS = (("base", (0.0, 0.0, 0.40), False), ("J1", (0.350, 0.0, 0.350), False), ("J2", (1.250, 0.0, 0.0), True),
        ("J3", (0.0, 0.0, -0.055), False), ("J4", (1.100, 0.0, 0.0), True), ("J5", (0.115, 0.0, 0.0), True),
        ("J6", (0.115, 0.0, 0.0), True))  # fmt: skip
"""Owner of every link, place of its spring, whether the template's x lies along the arm (else vertical)."""
AT_TOOL = tuple(np.add((0.115, 0.0, 0.0), REFERENCE).tolist())


def robot_file(
    folder: Path,
    *,
    unit: str = "m",
    template: str | None = None,
    last: tuple[float, ...] | None = None,
    seed: int | None = None,
) -> str:
    """Path of a robot file in some unit of length, with links when ``template`` is given."""
    scale = {"m": 1.0, "mm": 1000.0}[unit]

    def lengths(xyz: tuple[float, ...]) -> str:
        return f"[{', '.join(repr(scale * v) for v in xyz)}]"

    lines = ['format = "stiffarm-robot/1"', 'name = "outsider"', 'convention = "frames"',
             f'units = {{ length = "{unit}", angle = "deg" }}']  # fmt: skip
    for name, xyz, axis, limits in JOINTS:
        lines += ["[[joint]]", f'name = "{name}"', 'type = "revolute"', f"xyz = {lengths(xyz)}",
                  f"axis = {[float(v) for v in axis]}", f"limits = {[float(v) for v in limits]}"]  # fmt: skip
    random = np.random.default_rng(seed)
    for after, xyz, along in ENDS if template else ():
        rpy = [0.0, 0.0 if along else -90.0, 0.0] if seed is None else random.uniform(-60.0, 60.0, 3).tolist()
        place = last if last is not None and after == "J6" else xyz
        lines += ["[[link]]", f'after = "{after}"', f'template = "{template}"', f"xyz = {lengths(place)}",
                  f"rpy = {rpy}"]  # fmt: skip
    lines += ["[flange]", f"xyz = {lengths((0.115, 0.0, 0.0))}", "[tool]", f"xyz = {lengths(REFERENCE)}",
              f"load_points = {{ ref = {lengths(REFERENCE)} }}",
              f"markers = {{ P1 = {lengths((0.15, 0.0, 0.05))}, P2 = {lengths((-0.075, 0.13, 0.05))}, "
              f"P3 = {lengths((-0.075, -0.13, 0.05))} }}"]  # fmt: skip
    path = folder / f"outsider-{unit}.robot.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


def asked(capsys: pytest.CaptureFixture[str], robot: str, *options: str) -> dict[str, object]:
    capsys.readouterr()
    question = ("assess", robot, "--geometry", "none", "--elastic", "links", *options, "--json", "--quiet")
    assert main([*question]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize("unit", ["m", "mm"])
@pytest.mark.parametrize(
    ("template", "count", "pose", "vertical"),
    [("full", 258, 180, 124), ("symmetric", 153, 105, 89), ("beam", 62, 33, 28)],
)
def test_counts_and_ranks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, unit: str, template: str, count: int, pose: int, vertical: int
) -> None:
    robot = robot_file(tmp_path, unit=unit, template=template)
    any_load = asked(capsys, robot, "--load", "any", "--observe", "pose")
    assert (any_load["parameters"], any_load["rank"]) == (count, pose)
    assert float(any_load["gap"]) > 1e10  # type: ignore[arg-type]
    down = asked(capsys, robot, "--load", "vertical", "--observe", "position")
    assert (down["parameters"], down["rank"]) == (count, vertical)
    assert "J1.compliance" in down["G2"]  # type: ignore[operator]


def test_where_template_frames_stand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    at_tool = robot_file(tmp_path, template="beam", last=AT_TOOL)
    assert asked(capsys, at_tool, "--load", "any", "--observe", "pose")["rank"] == 36
    general = robot_file(tmp_path, template="beam", seed=3)
    assert asked(capsys, general, "--load", "any", "--observe", "pose")["rank"] == 56


def test_templates_of_links_the_file_does_not_describe(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    robot = robot_file(tmp_path)
    for template, count, rank in (("full", 258, 180), ("symmetric", 153, 105)):
        found = asked(capsys, robot, "--load", "any", "--observe", "pose", "--template", template)
        assert (found["parameters"], found["rank"]) == (count, rank)
    without = asked(capsys, robot, "--load", "any", "--template", "beam", "--links", "none")
    assert without["parameters"] == 6 + 6 * 8


def test_groups_do_not_depend_on_the_unit_of_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = [
        asked(capsys, robot_file(tmp_path, unit=unit, template="beam"), "--load", "vertical", "--observe", "position")
        for unit in ("m", "mm")
    ]
    for key in ("names", "rank", "G1", "G2", "G3", "enough"):
        assert found[0][key] == found[1][key]
    for one, other in zip(found[0]["base"], found[1]["base"], strict=True):  # type: ignore[call-overload]
        assert one["others"].keys() == other["others"].keys()
        assert list(one["others"].values()) == pytest.approx(list(other["others"].values()), rel=1e-6, abs=1e-9)
