"""Campaigns taken in pieces against the same held in memory, and what cannot be taken apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import stiffarm.identify.big as big
from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identify.api import identify
from stiffarm.identify.estimate import Estimate
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.reading import read_campaign
from stiffarm.measure.spool import EntangledError, cut, fingerprints, spooled
from stiffarm.robot.reading import read_robot
from test_identify_command import Bench

PIECE = 8_000


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    from test_identify_command import ROBOT

    text = ROBOT.replace("limits", "compliance = 1e-6, limits")
    (tmp_path / "six.robot.toml").write_text(text, encoding="utf-8")
    return Bench(tmp_path)


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Estimate]:
    """Identify in small pieces."""
    monkeypatch.setattr("stiffarm.measure.spool.cut.__defaults__", (PIECE,))

    def run(robot: str, paths: list[str], options: Options) -> Estimate:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(big, "BIG_BYTES", 0)
            return identify(robot, paths, options)

    return run


def loaded(bench: Bench, *, settings: str = "", force: bool = True) -> str:
    plan = bench.plan("a.plan.csv", 60, 1, markers=["P1", "P2"], force=force)
    path = bench.campaign(
        "a.campaign.csv", plan, "--sigma", "0.03mm", "--spread", "*.compliance=20 %", "--spread", "A?.r?=0.5mrad"
    )
    Path(path).with_suffix(".toml").unlink(missing_ok=True)
    if settings:
        Path(path).with_suffix(".toml").write_text('format = "stiffarm-campaign/1"\n' + settings, encoding="utf-8")
    return path


def compare(whole: Estimate, pieces: Estimate, share: float = 0.02) -> None:
    """The same parameters, with values that differ by little of their deviation and the same deviations."""
    assert [p.name for p in whole.parameters if p.std] == [p.name for p in pieces.parameters if p.std]
    assert [(d.name, d.why) for d in whole.dropped] == [(d.name, d.why) for d in pieces.dropped]
    for a, b in zip(whole.parameters, pieces.parameters, strict=True):
        if a.std is None or b.std is None:
            continue
        assert a.value is not None
        assert b.value is not None
        assert abs(a.value - b.value) < share * a.std, a.name
        assert b.std == pytest.approx(a.std, rel=1e-3), a.name
        assert b.low == pytest.approx(a.low, abs=share * a.std)
    assert pieces.fit.rms_m == pytest.approx(whole.fit.rms_m, rel=1e-4)
    assert (pieces.fit.n_rows, pieces.fit.rank, pieces.fit.dof) == (whole.fit.n_rows, whole.fit.rank, whole.fit.dof)
    assert pieces.domain == whole.domain
    for a, b in zip(whole.setups, pieces.setups, strict=True):
        np.testing.assert_allclose(b.xyz, a.xyz, atol=2e-5)
        assert (a.covariance is None) == (b.covariance is None)
        if a.covariance is not None:
            np.testing.assert_allclose(b.covariance, a.covariance, rtol=0.02, atol=1e-14)


@pytest.mark.parametrize(
    ("settings", "estimator"),
    [
        ("", "wls"),
        ("", "ols"),
        ('[instrument]\ntype = "isotropic"\nsigma = "0.03 mm"\n', "wls"),
        ('[load]\ngain_sigma = 0.02\n[instrument]\ntype = "isotropic"\nsigma = "0.03 mm"\n', "wls"),
    ],
    ids=["unknown noise", "alike", "stated noise", "uncertain load"],
)
def test_pieces_say_what_the_whole_says(
    bench: Bench, in_pieces: Callable[..., Estimate], settings: str, estimator: str
) -> None:
    path = loaded(bench, settings=settings)
    options = Options(estimator=estimator, folds=0, gears="none")  # type: ignore[arg-type]
    whole, pieces = identify(bench.robot, path, options), in_pieces(bench.robot, [path], options)
    assert any("pieces" in note for note in pieces.notes)
    compare(whole, pieces)


@pytest.mark.parametrize("holdout", ["setup:two", "load:max", "column:shift=b", "experiment:0.3", None])
def test_what_is_judged_was_not_fitted(bench: Bench, in_pieces: Callable[..., Estimate], holdout: str | None) -> None:
    """The same rule takes the same rows (random ones as many), and leaves about the same error."""
    path = Path(loaded(bench))
    header, *rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    at = header.index("setup")
    for i, row in enumerate(rows):
        row[at], shift = ("two", "b") if i % 10 < 4 else ("one", "a")
        row.append(shift)
    text = "\n".join(",".join(row) for row in [[*header, "shift"], *rows])
    path.write_text(text + "\n", encoding="utf-8")
    options = Options(estimator="wls", holdout=holdout, gears="none")
    whole, pieces = identify(bench.robot, path, options), in_pieces(bench.robot, [str(path)], options)
    assert whole.holdout is not None
    assert pieces.holdout is not None
    assert pieces.holdout.rule == whole.holdout.rule
    random = holdout in (None, "experiment:0.3")
    if holdout != "experiment:0.3":
        assert pieces.holdout.rows == whole.holdout.rows
    for name in ("rms_m", "nominal_rms_m", "geometry_rms_m"):
        ours, theirs = getattr(pieces.holdout, name), getattr(whole.holdout, name)
        assert ours == pytest.approx(theirs, rel=0.4 if random else 0.02), name
    assert pieces.verdict.usable == whole.verdict.usable


def test_a_file_is_cut_at_line_ends_and_put_together_again(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [f"e{i},{'x' * (i % 17)}" for i in range(500)]
    path.write_bytes(b"head,b\r\n" + "\n".join(lines).encode() + b"\n")
    found = list(cut(path, 300))
    assert all(header == b"head,b" for header, _, _ in found)
    assert b"\n".join(body for _, body, _ in found).decode().split("\n") == lines
    assert [skipped for _, _, skipped in found] == np.cumsum([0, *(b.count(b"\n") + 1 for _, b, _ in found)])[
        :-1
    ].tolist()


def test_a_wrong_cell_is_named_by_its_row_in_the_file(bench: Bench, in_pieces: Callable[..., Estimate]) -> None:
    path = Path(loaded(bench))
    lines = path.read_text(encoding="utf-8").splitlines()
    lines[100] = lines[100].rsplit(",", 1)[0] + ",nonsense"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as raised:
        in_pieces(bench.robot, [str(path)], Options())
    assert raised.value.problems[0].row == 101


def test_rows_of_one_experiment_in_two_pieces_must_agree(bench: Bench) -> None:
    path = Path(loaded(bench))
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    at = header.split(",").index("q.A1[deg]")
    moved = [",".join(cell if i != at else "1.25" for i, cell in enumerate(line.split(","))) for line in lines[:1]]
    path.write_text("\n".join([header, *lines, *moved]) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stiffarm.measure.spool.cut.__defaults__", (PIECE,))
        with pytest.raises(InputError, match="far apart in the file"), spooled([path], read_robot(bench.robot)):
            pass


def test_rows_that_refer_to_others_are_read_as_a_whole(bench: Bench, in_pieces: Callable[..., Estimate]) -> None:
    path = Path(loaded(bench, force=False))
    lines = path.read_text(encoding="utf-8").splitlines()
    refers = ["reference", *("" if line.startswith("e0,") else "e0" for line in lines[1:])]
    path.write_text("\n".join(f"{a},{b}" for a, b in zip(lines, refers, strict=True)) + "\n", encoding="utf-8")
    with pytest.raises(EntangledError), spooled([path], read_robot(bench.robot)):
        pass
    options = Options(folds=0, geometry="full", gears="none")
    assert in_pieces(bench.robot, [str(path)], options).values == identify(bench.robot, path, options).values


def test_every_row_is_in_one_piece_and_the_sample_has_every_marker(bench: Bench) -> None:
    path = loaded(bench)
    robot = read_robot(bench.robot)
    whole: Campaign = read_campaign(path, robot)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stiffarm.measure.spool.cut.__defaults__", (PIECE,))
        with spooled([path], robot) as spool:
            parts = list(spool)
            assert spool.count == 3
            assert set(spool.sample.markers) == set(whole.markers)
    value = np.concatenate([part.readings.value for part in parts], axis=1)
    np.testing.assert_array_equal(value, whole.readings.value)
    np.testing.assert_array_equal(np.concatenate([part.readings.row for part in parts]), whole.readings.row)


def test_fingerprints_are_those_of_the_numbers() -> None:
    columns = np.random.default_rng(1).uniform(-3, 3, (6, 4000))
    found = fingerprints(columns)
    assert len(np.unique(found)) == 4000
    np.testing.assert_array_equal(fingerprints(columns[:, ::-1]), found[::-1])
    np.testing.assert_array_equal(fingerprints(np.array([[0.0], [1.0]])), fingerprints(np.array([[-0.0], [1.0]])))
    bits = (found[:, None] >> np.arange(20, 51, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.04


def test_the_command_takes_pieces_and_writes_the_model(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(big, "BIG_BYTES", 0)
    path, model = loaded(bench), bench.folder / "a.model.json"
    assert main(["identify", bench.robot, path, "-o", str(model), "--quiet", "--gears", "none"]) == 0
    answer = json.loads(model.read_text(encoding="utf-8"))
    assert answer["fit"]["estimator"] == "wls"
    assert answer["holdout"]["rule"] == "folds:5"
    assert answer["verdict"]["usable"]
