"""Cell files: what they say is read, what they may not say is refused with its place."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stiffarm.errors import InputError
from stiffarm.plan import cell_file
from stiffarm.plan.cell_file import read_cell

TEXT = (Path(__file__).parent.parent / "docs" / "cell-file.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.cell.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_arrives_in_si(tmp_path: Path) -> None:
    cell = read_cell(written(tmp_path, EXAMPLE))
    (rod,), (box,) = cell.rods, cell.boxes
    assert (rod.name, rod.radius_m, box.name) == ("column", 0.15, "floor")
    assert rod.start == pytest.approx((1.4, -1.2, 0.0))
    assert rod.end == pytest.approx((1.4, -1.2, 2.0))
    assert box.half_m == (10.0, 10.0, 0.5)
    np.testing.assert_allclose(box.frame.translation, (0.0, 0.0, -0.5))
    assert len(cell) == 2


def test_a_capsule_without_an_end_is_a_ball_and_boxes_are_turned(tmp_path: Path) -> None:
    text = EXAMPLE.replace("end = [1400.0, -1200.0, 2000.0]\n", "").replace("rpy = [0.0, 0.0, 0.0]", "rpy = [0, 0, 90]")
    cell = read_cell(written(tmp_path, text))
    assert cell.rods[0].start == cell.rods[0].end
    np.testing.assert_allclose(cell.boxes[0].frame.rotation[:, 0], (0.0, 1.0, 0.0), atol=1e-15)


@pytest.mark.parametrize(
    ("before", "after", "column", "what", "allowed"),
    [
        ("cell/1", "cell/2", "format", "cannot be this", "stiffarm-cell/1"),
        ('type = "capsule"', 'type = "ball"', "obstacle[1].type", "cannot be this", "capsule, box"),
        ("radius = 150.0", "radius = 0.0", "obstacle[1].radius", "positive", "more than 0"),
        ("radius = 150.0", "diameter = 150.0", "obstacle[1].diameter", "unknown key", "radius"),
        ("size = [20000.0, 20000.0, 1000.0]", "size = [1.0, 0.0, 1.0]", "obstacle[2].size", "edges", "above 0"),
        ("xyz = [0.0, 0.0, -500.0]", "xyz = [0.0, 0.0]", "obstacle[2].xyz", "three numbers", "[x, y, z]"),
        ('name = "floor"\n', "", "obstacle[2].name", "is missing", "a text"),
    ],
)
def test_what_cannot_be_is_refused(
    tmp_path: Path, before: str, after: str, column: str, what: str, allowed: str
) -> None:
    assert before in EXAMPLE
    with pytest.raises(InputError) as refused:
        read_cell(written(tmp_path, EXAMPLE.replace(before, after)))
    problems = [p for p in refused.value.problems if p.column == column]
    assert problems, [p.column for p in refused.value.problems]
    assert what in problems[0].what
    assert allowed in (problems[0].allowed or "")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.cell\.toml"):
        read_cell(tmp_path / "nowhere.cell.toml")


def test_every_key_is_described() -> None:
    tables = (cell_file.CellTable, cell_file.CapsuleObstacle, cell_file.BoxObstacle)
    keys = {key for table in tables for key in table.model_fields}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", TEXT)] == []
