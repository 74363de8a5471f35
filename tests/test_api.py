"""The functions of the package: tables in the place of files, answers that show themselves, the same numbers."""

from __future__ import annotations

import doctest
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stiffarm
from stiffarm.measure.frames import FrameFile, is_table, listed
from stiffarm.measure.reading import read_campaign

ROOT = Path(__file__).resolve().parent.parent
JOINTS = {f"q.A{i + 1}[deg]": [v, v + 3.0] for i, v in enumerate((5.0, -60.0, 80.0, 20.0, 40.0, 10.0))}
PATH = {**JOINTS, "force.z[N]": [-900.0, None]}


class OtherFrame:
    """Named columns and nothing else, as pandas has them."""

    def __init__(self, cells: dict[str, list[object]]) -> None:
        self.cells, self.columns = cells, list(cells)

    def __getitem__(self, name: str) -> list[object]:
        return self.cells[name]


@pytest.mark.parametrize(("name", "least"), [("python.md", 15), ("extending.md", 10)])
def test_the_examples_of_a_page_run(name: str, least: int) -> None:
    done = doctest.testfile(str(ROOT / "docs" / name), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted > least
    assert done.failed == 0


@pytest.mark.parametrize("given", [PATH, pl.DataFrame(PATH), OtherFrame(PATH), stiffarm.table(PATH, "job")])
def test_every_kind_of_table_is_the_file(given: object, tmp_path: Path) -> None:
    file = tmp_path / "job.path.csv"
    pl.DataFrame(PATH).write_csv(file)
    np.testing.assert_array_equal(stiffarm.predict("kr270", given).pose, stiffarm.predict("kr270", file).pose)


@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=5))
@settings(max_examples=50, deadline=None)
def test_a_number_reads_back_to_itself(values: list[float]) -> None:
    columns = {f"q.A{i}[rad]": values for i in range(1, 7)}
    columns |= {"experiment": [f"E{i}" for i in range(len(values))], "x[m]": values, "y[m]": values, "z[m]": values}
    found = read_campaign(FrameFile.of(columns))
    np.testing.assert_array_equal(found.readings.value[:3], np.tile(values, (3, 1)))
    again = read_campaign(FrameFile.of(found.to_polars("m,rad")))
    np.testing.assert_array_equal(again.experiments.q, found.experiments.q)


def test_empty_cells_of_every_kind_are_empty() -> None:
    cells = [None, float("nan"), np.nan, " ", ""]
    text = FrameFile.of({"a": cells, "b": range(5)}).table()
    assert text.cells("a").to_list() == [""] * 5
    assert text.cells("b").to_list() == list("01234")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "the table is empty"),
        ({"a": []}, "the table is empty"),
        ({"a": [1], "b": [1, 2]}, "different lengths"),
        (7, "this is no table"),
    ],
)
def test_what_is_no_table_is_refused(wrong: object, words: str) -> None:
    with pytest.raises(stiffarm.InputError, match=words):
        stiffarm.predict("kr270", wrong)


def test_rows_of_tables_count_from_0() -> None:
    with pytest.raises(stiffarm.InputError, match=r"job \(rows from 0\), row 1, column force\.z\[N\]"):
        stiffarm.predict("kr270", stiffarm.table({**JOINTS, "force.z[N]": [1.0, "x"]}, "job"))


def test_settings_come_with_a_table_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "any.toml"
    file.write_text('format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = "0.02 mm"\n')
    columns = {**JOINTS, "experiment": ["a", "b"], "x[mm]": [1.0, 2.0], "y[mm]": [1.0, 2.0], "z[mm]": [1.0, 2.0]}
    assert read_campaign(FrameFile.of(columns)).instrument is None
    assert read_campaign(FrameFile.of(columns, settings=file)).instrument is not None
    with pytest.raises(stiffarm.InputError, match="does not exist"):
        read_campaign(FrameFile.of(columns, settings=tmp_path / "none.toml"))


def test_several_tables_are_one_campaign_and_frames_give_the_estimate_of_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    low, high = np.radians([-90, -100, 0, -150, -90, -150]), np.radians([90, -30, 110, 150, 90, 150])
    columns = dict(zip((f"q.A{i}[rad]" for i in range(1, 7)), rng.uniform(low, high, (24, 6)).T, strict=True))
    plan = {**columns, "experiment": [f"E{i}" for i in range(24)], "force.x[N]": rng.uniform(-1e3, 1e3, 24),
            "force.z[N]": rng.uniform(-3e3, 0, 24), "marker": ["P1", "P2", "P3"] * 8,
            "observation": ["deflection"] * 24}  # fmt: skip
    read = stiffarm.simulate("kr270", plan, sigma_m=3e-5, seed=2, spread=["*.compliance=10 %"])
    assert read.truth["A2.compliance"] != stiffarm.read_model("kr270").model.nominal["A2.compliance"]
    stiffarm.write_campaign(read.campaign, tmp_path / "table.campaign.csv")
    from_file = stiffarm.identify("kr270", tmp_path / "table.campaign.csv", folds=0)
    from_frame = stiffarm.identify("kr270", read.campaign.to_polars("m,rad"), folds=0)
    assert from_file.values == pytest.approx(from_frame.values, rel=1e-9)
    half = read.to_polars()
    both = stiffarm.identify("kr270", [stiffarm.table(half[:12], "a"), stiffarm.table(half[12:], "b")], folds=0)
    assert both.fit.n_rows == from_file.fit.n_rows
    changed = stiffarm.compare(from_file, from_frame)
    assert changed.to_polars().height == changed.compared


def test_answers_show_themselves_in_few_lines() -> None:
    found = stiffarm.predict("kr270", PATH)
    for one in (found, stiffarm.read_robot("kr270"), stiffarm.assess("kr270", elastic="joints", load="vertical")):
        assert len(repr(one)) < 1500
        assert one._repr_html_().startswith("<p><b>")
    assert found.to_polars()["force.z[N]"].to_list() == [-900.0, None]


def test_what_a_name_says_is_escaped_in_notebooks() -> None:
    html = stiffarm.predict("kr270", {**PATH, "<script>": ["a", "<b>"]})._repr_html_()
    assert "<script>" not in html
    assert "<b>'" not in html


def test_a_room_is_called_like_its_function() -> None:
    import stiffarm.compensate.wishing
    import stiffarm.identify.fit

    with pytest.raises(stiffarm.InputError, match="does not exist"):
        stiffarm.identify("kr270", "nowhere.campaign.csv")
    with pytest.raises(stiffarm.InputError, match="does not exist"):
        stiffarm.compensate("kr270", "nowhere.path.csv")


def test_one_thing_or_several() -> None:
    frame = pl.DataFrame({"a": [1]})
    assert listed(frame) == [frame]
    assert listed((frame, "b.csv"))[1] == "b.csv"
    assert is_table(OtherFrame({"a": [1]}))
    assert not is_table(3)
