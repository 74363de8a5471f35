"""Readings that cannot belong to the joints beside them are refused, with the cause in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from stiffarm.cli.main import main
from test_identify_command import GEOMETRY, ROBOT, Bench

Rows = list[list[str]]
Edit = Callable[[list[str], Rows], None]


def unit(header: list[str], rows: Rows) -> None:
    for i, name in enumerate(header):
        if name[:2] in ("x[", "y[", "z["):
            header[i] = f"{name[0]}[{'um' if 'mm' in name else 'mm'}]"


def exchanged(header: list[str], rows: Rows) -> None:
    a, b = header.index("q.A2[deg]"), header.index("q.A3[deg]")
    header[a], header[b] = header[b], header[a]


def other_way(header: list[str], rows: Rows) -> None:
    at = header.index("q.A1[deg]")
    for row in rows:
        row[at] = str(-float(row[at]))


def one_place(header: list[str], rows: Rows) -> None:
    for row in rows:
        for i, name in enumerate(header):
            if name[:2] in ("x[", "y[", "z["):
                row[i] = rows[0][i]


def shuffled(header: list[str], rows: Rows) -> None:
    order = np.random.default_rng(1).permutation(len(rows))
    at = [i for i, name in enumerate(header) if name[:2] in ("x[", "y[", "z[")]
    cells = [[rows[j][i] for i in at] for j in order]
    for row, own in zip(rows, cells, strict=True):
        for i, cell in zip(at, own, strict=True):
            row[i] = cell


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (unit, ("about 1000 times too small", "check the unit in the headers of x, y, z")),
        (exchanged, ("With q.A2 and q.A3 exchanged", "check the columns q.*")),
        (other_way, ("With q.A1 counted the other way",)),
        (one_place, ("all of one place while the joints moved",)),
        (shuffled, ("do not belong to the joints beside them", "rows were not shuffled")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_cause_is_named(
    edit: Edit, words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "six.robot.toml").write_text(ROBOT, encoding="utf-8")
    bench = Bench(tmp_path)
    path = Path(bench.campaign("w.campaign.csv", bench.plan("a.plan.csv", 40, 1, markers=["P1"]), *GEOMETRY))
    header, *rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    edit(header, rows)
    path.write_text("\n".join(",".join(line) for line in [header, *rows]) + "\n", encoding="utf-8")
    capsys.readouterr()
    model = tmp_path / "w.model.json"
    assert main(["identify", bench.robot, str(path), "-o", str(model), "--quiet"]) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in words), said
    assert "Traceback" not in said
    assert not model.exists()
