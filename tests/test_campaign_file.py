"""Campaign, plan and path files: what is read, what is merged, and that writing loses nothing."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from stiffarm.errors import InputError
from stiffarm.measure.campaign import (
    OBSERVATIONS,
    Campaign,
    Experiments,
    Isotropic,
    LoadUncertainty,
    Payload,
    Readings,
    Setup,
    SharedError,
    SigmaTable,
    Spherical,
    Tracker,
)
from stiffarm.measure.loads import pull_of_cable
from stiffarm.measure.merging import read_campaigns
from stiffarm.measure.paths import PathFile, read_path, read_plan_or_path
from stiffarm.measure.reading import read_campaign, read_plan
from stiffarm.measure.table import read_table
from stiffarm.measure.writing import _exact_inverse, write_campaign, write_table
from stiffarm.robot.arm import AxisPlacement, BodyPoint, Joint, Placement, Robot, Tool
from stiffarm.robot.reading import read_robot
from stiffarm.units import UNITS

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
ROBOT = Robot(
    name="arm on a rail",
    joints=(
        Joint("rail", "prismatic", AxisPlacement()),
        Joint("A1", "revolute", AxisPlacement(), limits=(-3.0, 3.0)),
    ),
    tool=Tool(
        load_points=(BodyPoint("hook", (0.3, 0.0, 0.0)), BodyPoint("arm.end", (0.3, 0.0, 0.0))),
        markers=(BodyPoint("P1", (0.1, 0.0, 0.0)), BodyPoint("P2", (0.0, 0.1, 0.0))),
    ),
)
PLAIN = """experiment,q.rail[mm],q.A1[deg],marker,x[mm],y[mm],z[mm]
e1,100,20,P1,100,200,300
e1,100,20,P2,110,200,
e2,150,-40,,150,250,350
"""


def write(folder: Path, text: str | bytes, name: str = "day.campaign.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


# ------------------------------------------------------------------------------------------------- reading


def test_a_plain_campaign(tmp_path: Path) -> None:
    campaign = read_campaign(write(tmp_path, PLAIN), ROBOT)
    assert campaign.name == "day"
    assert campaign.joints == ("rail", "A1")
    assert campaign.joint_kinds == ("prismatic", "revolute")
    assert campaign.experiments.names == ("e1", "e2")
    np.testing.assert_array_equal(campaign.experiments.q, [[0.1, 0.15], np.array([20.0, -40.0]) * (np.pi / 180.0)])
    assert campaign.markers == ("P1", "P2", "tool")
    assert campaign.setups == (Setup("day"),)
    readings = campaign.readings
    assert readings.marker.tolist() == [0, 1, 2]
    assert readings.experiment.tolist() == [0, 0, 1]
    assert readings.repeat.tolist() == [1, 1, 1]
    assert readings.row.tolist() == [2, 3, 4]
    assert campaign.kind("position").all()
    np.testing.assert_array_equal(
        readings.value[:3], np.array([[100, 110, 150], [200, 200, 250], [300, np.nan, 350]]) * 1e-3
    )
    assert np.isnan(readings.value[3:]).all()
    assert campaign.experiments.load_points == ()
    assert campaign.experiments.wrench_world.shape == (0, 6, 2)
    assert campaign.warnings == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: "\ufeff" + text,
        lambda text: text + "\n\n  \n,,,,,,\n",
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", ",\n"),
        lambda text: text.replace(",", " , "),
        lambda text: text.replace("P1", '"P1"').replace("100,200", '"100","200"'),
        lambda text: text.replace(",", ";"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace("x[mm]", " x [ mm ] "),
    ],
    ids=[
        "CRLF",
        "CR",
        "BOM",
        "blank end",
        "no last line feed",
        "empty column",
        "spaces",
        "quotes",
        ";",
        "tab",
        "header",
    ],
)
def test_the_same_campaign_in_other_clothes(tmp_path: Path, change: object) -> None:
    plain = read_campaign(write(tmp_path, PLAIN), ROBOT)
    other = read_campaign(write(tmp_path, change(PLAIN), "day.csv"), ROBOT)  # type: ignore[operator]
    assert_same(plain, other)


def test_german_export(tmp_path: Path) -> None:
    text = PLAIN.replace("100,200,300", "100,2,200,-300").replace("100,2,", "100.25,").replace(",", ";")
    campaign = read_campaign(write(tmp_path, text.replace(".", ",").replace("q,", "q.")), ROBOT)
    assert campaign.readings.value[:3, 0].tolist() == [100.25 * 1e-3, 0.2, -0.3]
    assert len(campaign.warnings) == 1
    assert "semicolon" in campaign.warnings[0]
    assert "decimal comma" in campaign.warnings[0]


def test_row_numbers_with_line_feeds_in_quotes(tmp_path: Path) -> None:
    text = PLAIN.replace("x[mm]", "note,x[mm]").replace("P1,", 'P1,"two\nlines, one cell",').replace("P2,", "P2,,")
    text = text.replace("-40,,", "-40,,,")
    campaign = read_campaign(write(tmp_path, text), ROBOT)
    assert campaign.readings.row.tolist() == [2, 4, 5]
    assert campaign.extra == {"note": ("two lines, one cell", "", "")}
    with pytest.raises(InputError, match="row 5, column q"):
        read_campaign(write(tmp_path, text.replace("-40", "x")), ROBOT)


def test_unknown_columns_in_one_warning(tmp_path: Path) -> None:
    text = PLAIN.replace("z[mm]", "z[mm],colour,temprature.room[degC]").replace("\ne", ",,\ne").rstrip() + ",red,20\n"
    text = text.replace("degC],,", "degC]")
    campaign = read_campaign(write(tmp_path, text), ROBOT)
    assert campaign.extra == {"colour": ("", "", "red"), "temprature.room[degC]": ("", "", "20")}
    (warning,) = campaign.warnings
    assert "'colour'" in warning
    assert "did you mean 'temperature.room'?" in warning


def test_without_a_robot_the_columns_say_the_joints(tmp_path: Path) -> None:
    campaign = read_campaign(write(tmp_path, PLAIN))
    assert campaign.joints == ("rail", "A1")
    assert campaign.joint_kinds == ("prismatic", "revolute")


def test_the_robot_orders_the_joints(tmp_path: Path) -> None:
    text = "q.A1[deg],experiment,q.rail[m],x[mm]\n90,a,0.5,1\n"
    assert read_campaign(write(tmp_path, text), ROBOT).experiments.q.tolist() == [[0.5], [90 * (np.pi / 180)]]


def test_repetitions_are_counted_without_a_column(tmp_path: Path) -> None:
    rows = ["a,0,1,P1,1", "a,0,1,P2,1", "a,0,1,P1,2", "b,0,2,P1,2", "a,0,1,P1,3"]
    campaign = read_campaign(write(tmp_path, "experiment,q.rail[m],q.A1[deg],marker,x[mm]\n" + "\n".join(rows)), ROBOT)
    assert campaign.readings.repeat.tolist() == [1, 1, 2, 1, 3]


def test_states_of_an_experiment(tmp_path: Path) -> None:
    text = """experiment,repeat,q.rail[m],q.A1[deg],encoder.A1[deg],approach.A1,temperature.hall[degC],\
joint_torque.rail[N],joint_torque.A1[N*m],sigma.q.A1[deg],sigma.force[N],x[mm],sigma.x[um],time[s],sequence
a,1,0,90,90.5,-1,20,5,7,0.01,2,1,5,10,1
a,2,0,90,90.5,-1,21,5,7,0.01,2,1,,20,2
b,1,1,90,,,,,,,,1,6,30,3
"""
    campaign = read_campaign(write(tmp_path, text), ROBOT)
    e = campaign.experiments
    deg = np.pi / 180.0
    np.testing.assert_array_equal(e.encoder, [[np.nan, np.nan], [90.5 * deg, np.nan]])
    np.testing.assert_array_equal(e.approach, [[np.nan, np.nan], [-1.0, np.nan]])
    np.testing.assert_array_equal(e.temperature["hall"], [20.5, np.nan])
    np.testing.assert_array_equal(e.joint_torque, [[5.0, np.nan], [7.0, np.nan]])
    np.testing.assert_array_equal(e.sigma_q, [[np.nan, np.nan], [0.01 * deg, np.nan]])
    np.testing.assert_array_equal(e.sigma_force_n, [2.0, np.nan])
    np.testing.assert_array_equal(campaign.readings.sigma[0], [5.0 * 1e-6, np.nan, 6.0 * 1e-6])
    assert campaign.readings.time_s.tolist() == [10.0, 20.0, 30.0]
    assert campaign.readings.sequence.tolist() == [1.0, 2.0, 3.0]
    assert [w for w in campaign.warnings if "temperature.hall differs" in w]


def test_loads_by_components(tmp_path: Path) -> None:
    text = """experiment,q.rail[m],q.A1[deg],observation,load_point,force.x[N],force.z[kN],torque.y[N*mm],\
force.arm.end.y[N],x[mm]
a,0,1,deflection,hook,5,-1,2000,,1
b,0,1,deflection,,7,,,3,1
c,0,1,deflection,,,,,,1
d,0,1,deflection,hook,,,,,1
"""
    e = read_campaign(write(tmp_path, text), ROBOT).experiments
    wrench = dict(zip(e.load_points, e.wrench_world, strict=True))
    assert set(wrench) == {"hook", "tool", "arm.end"}
    np.testing.assert_array_equal(wrench["hook"].T, [[5, 0, -1000, 0, 2, 0], [0] * 6, [0] * 6, [0] * 6])
    np.testing.assert_array_equal(wrench["tool"].T, [[0] * 6, [7, 0, 0, 0, 0, 0], [0] * 6, [0] * 6])
    np.testing.assert_array_equal(wrench["arm.end"].T, [[0] * 6, [0, 3, 0, 0, 0, 0], [0] * 6, [0] * 6])


def test_loads_by_cable(tmp_path: Path) -> None:
    text = """experiment,q.rail[m],q.A1[deg],observation,load_point,cable1.x[mm],cable1.y[mm],cable1.z[mm],\
cable2.x[mm],cable2.y[mm],cable2.z[mm],force[kN],x[mm]
a,0,1,deflection,hook,1000,0,500,4000,0,4500,2.5,1
b,0,1,deflection,hook,,,,,,,,1
"""
    e = read_campaign(write(tmp_path, text), ROBOT).experiments
    assert e.load_points == ("hook",)
    np.testing.assert_allclose(e.wrench_world[0, :, 0], [1500.0, 0.0, 2000.0, 0.0, 0.0, 0.0], rtol=1e-15)
    np.testing.assert_array_equal(e.wrench_world[0, :, 1], np.zeros(6))
    np.testing.assert_array_equal(e.tension_n, [2500.0, np.nan])
    np.testing.assert_array_equal(e.cable_to_m, [[4.0, np.nan], [0.0, np.nan], [4.5, np.nan]])


def test_touches_and_distances(tmp_path: Path) -> None:
    text = """experiment,q.rail[m],q.A1[deg],observation,marker,target,target2,distance[mm],\
sigma.distance[um],radius[mm]
a,0,1,touch,P1,left,,,,
b,0,2,touch,P1,right,,,,
c,0,3,sphere,,ball,,,,12.5
d,,,distance,,left,right,50,5,
d,,,distance,,left,ball,70,5,
"""
    campaign = read_campaign(write(tmp_path, text), ROBOT)
    r = campaign.readings
    assert [OBSERVATIONS[k] for k in r.kind] == ["touch", "touch", "sphere", "distance", "distance"]
    assert campaign.targets == ("left", "right", "ball")
    assert r.target.tolist() == [0, 1, 2, 0, 0]
    assert r.target2.tolist() == [-1, -1, -1, 1, 2]
    assert r.marker.tolist() == [0, 0, 1, -1, -1]
    np.testing.assert_array_equal(r.distance_m, [np.nan, np.nan, np.nan, 0.05, 0.07])
    np.testing.assert_array_equal(r.radius_m, [np.nan, np.nan, 0.0125, np.nan, np.nan])
    assert np.isnan(campaign.experiments.q[:, 3]).all()
    assert campaign.warnings == ()


def test_a_distance_needs_nothing_but_targets(tmp_path: Path) -> None:
    text = "experiment,observation,target,target2,distance[mm]\na,distance,p,q,50\n"
    campaign = read_campaign(write(tmp_path, text), ROBOT)
    assert np.isnan(campaign.experiments.q).all()
    assert "no row touches" in campaign.warnings[0]


def test_references(tmp_path: Path) -> None:
    text = """experiment,repeat,setup,q.rail[m],q.A1[deg],force.z[N],reference,x[mm]
loaded,1,a,0,10,-50,free,1
loaded,2,b,0,10,-50,free,1
free,1,a,0,10,0,,1
free,2,a,0,10,0,,1
away,1,a,0,11,-50,free,1
"""
    campaign = read_campaign(write(tmp_path, text), ROBOT)
    assert campaign.readings.reference.tolist() == [1, 1, -1, -1, 1]
    setup, joints = campaign.warnings
    assert "another setup than its row: 1 row (first: row 3)" in setup
    assert "other joint values than its row: 1 row (first: row 6)" in joints


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PLAIN.replace("-40", "-172"), "q.A1 is beyond its limits in 1 row (first: row 4)"),
        (PLAIN.replace("z[mm]", "rz[rad]").replace("300", "0.1").replace("350", "0.2"), "rz of position rows"),
    ],
    ids=["limits", "rotations"],
)
def test_odd_but_usable(tmp_path: Path, text: str, words: str) -> None:
    (warning,) = read_campaign(write(tmp_path, text), ROBOT).warnings
    assert words in warning


def test_radians_labelled_as_degrees(tmp_path: Path) -> None:
    header = "experiment," + ",".join(f"q.J{k}[deg]" for k in range(6)) + ",x[mm]\n"
    warned = read_campaign(write(tmp_path, header + "a,0.1,-1.57,1.57,0,3.1,0.2,1\n")).warnings
    assert "may be radians" in warned[0]
    assert read_campaign(write(tmp_path, header + "a,0.1,-90,90,0,3.1,0.2,1\n")).warnings == ()
    assert read_campaign(write(tmp_path, header + "a,0,0,0,0,0,0,1\n")).warnings == ()


# ------------------------------------------------------------------------------------------------ settings

SETTINGS = """format = "stiffarm-campaign/1"
[instrument]
type = "tracker"
sigma = "0.03 mm"
range = ["5 um", 1e-6]
angle = "2 urad"
[shared]
translation = "0.01 mm"
rotation = "0 mrad"
[load]
gain_sigma = 0.01
direction_sigma = "2 mrad"
shared = "campaign"
[setup.day]
xyz = [1000.0, 0, "0.5 m"]
rpy = [0.0, 0.0, 0.1]
station = [0.0, 2000.0, 0.0]
payload = { mass = 1.25, com = [0.0, 0.0, 50.0], mass_sigma = 0.0 }
[setup.other]
"""


def test_settings_beside_the_campaign(tmp_path: Path) -> None:
    write(tmp_path, SETTINGS, "day.campaign.toml")
    campaign = read_campaign(write(tmp_path, PLAIN), ROBOT)
    assert campaign.instrument == Tracker(5 * 1e-6, 1e-6, 2e-6)
    assert campaign.shared == SharedError(1e-5, 0.0)
    assert campaign.load_uncertainty == LoadUncertainty(0.01, 2e-3, "campaign")
    payload = Payload(1.25, (0.0, 0.0, 0.05), 0.0)
    placement = Placement((1.0, 0.0, 0.5), (0.0, 0.0, 0.1))
    assert campaign.setups == (Setup("day", placement, (0.0, 2.0, 0.0), payload),)
    assert len(campaign.warnings) == 2
    assert "does not use 'sigma'" in campaign.warnings[0]
    assert "no row belongs to setup 'other'" in campaign.warnings[1]


# ------------------------------------------------------------------------------------------------- merging


def test_files_are_merged(tmp_path: Path) -> None:
    one = write(tmp_path, "experiment,visit,setup,q.rail[m],q.A1[deg],marker,force.x[N],x[mm],a\n"
                "1,v,s,0,1,P1,5,1,red\n2,w,s,0,2,P1,,1,\n")  # fmt: skip
    two = write(tmp_path, "experiment,visit,setup,q.rail[m],q.A1[deg],temperature.t[degC],reference,"
                "force.hook.x[N],x[mm]\n2,v,s,0,3,20,,,1\n3,,,0,3,20,2,6,1\n", "two.campaign.csv")  # fmt: skip
    write(tmp_path, 'format = "stiffarm-campaign/1"\n[setup.s]\nstation = [1, 2, 3]\n', "two.campaign.toml")
    merged = read_campaigns([one, two], ROBOT)
    e, r = merged.experiments, merged.readings
    assert e.names == ("1", "day/2", "two/2", "3")
    assert merged.visits == ("day/v", "w", "two/v")
    assert r.visit.tolist() == [0, 1, 2, -1]
    assert [s.name for s in merged.setups] == ["s", "two"]
    assert merged.setups[0].station_m == (0.001, 0.002, 0.003)
    assert r.setup.tolist() == [0, 0, 0, 1]
    assert merged.markers == ("P1", "tool")
    assert r.marker.tolist() == [0, 0, 1, 1]
    assert r.experiment.tolist() == [0, 1, 2, 3]
    assert r.reference.tolist() == [-1, -1, -1, 2]
    assert e.load_points == ("tool", "hook")
    np.testing.assert_array_equal(e.wrench_world[:, 0], [[5, 0, 0, 0], [0, 0, 0, 6]])
    np.testing.assert_array_equal(e.temperature["t"], [np.nan, np.nan, 20, 20])
    assert merged.extra == {"a": ("red", "", "", "")}
    assert merged.files == (str(one), str(two))
    assert_same(read_campaigns([one], ROBOT), read_campaign(one, ROBOT))


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("[instrument]\ntype='isotropic'\nsigma='2 um'\n", "differ in the instrument"),
        ("[shared]\ntranslation='2 um'\n", "differ in the error shared"),
        ("[setup.s]\nstation=[1.0, 2, 3]\n", "station of setup 's' differs"),
    ],
)
def test_files_that_contradict(tmp_path: Path, second: str, words: str) -> None:
    first = (
        "[instrument]\ntype='isotropic'\nsigma='1 um'\n[shared]\ntranslation='1 um'\n[setup.s]\nstation=[1.0, 2, 4]\n"
    )
    text = PLAIN.replace("marker", "setup,marker").replace(",P", ",s,P").replace("-40,", "-40,s,")
    paths = [write(tmp_path, text, f"{name}.campaign.csv") for name in "ab"]
    for name, toml in (("a", first), ("b", second)):
        write(tmp_path, 'format = "stiffarm-campaign/1"\n' + toml, f"{name}.campaign.toml")
    with pytest.raises(InputError, match=words):
        read_campaigns(paths, ROBOT)


def test_what_cannot_be_merged(tmp_path: Path) -> None:
    one = write(tmp_path, PLAIN)
    two = write(tmp_path, PLAIN.replace("A1", "A2"), "two.csv")
    for paths, words in (([], "no campaign"), ([one, one], "twice"), ([one, two], "different joints")):
        with pytest.raises(InputError, match=words):
            read_campaigns(paths)


# ------------------------------------------------------------------------------------------- plans, paths


def test_a_plan_needs_no_readings(tmp_path: Path) -> None:
    text = "experiment,q.rail[m],q.A1[deg],load_point,force.z[N]\na,0,1,hook,-100\nb,0,2,hook,-100\n"
    path = write(tmp_path, text, "next.plan.csv")
    plan = read_plan(path, ROBOT)
    assert plan.name == "next"
    assert np.isnan(plan.readings.value).all()
    assert plan.markers == ("tool",)
    assert plan.experiments.wrench_world[0, 2].tolist() == [-100.0, -100.0]
    assert isinstance(read_plan_or_path(path, ROBOT), Campaign)
    with pytest.raises(InputError, match="no reading"):
        read_campaign(path, ROBOT)


def test_a_path_of_joints(tmp_path: Path) -> None:
    text = "time[s],q.rail[mm],q.A1[deg],force.x[N],load_point,weight,speed\n0,1,2,5,hook,2,9\n1,2,3,,,,9\n"
    path = read_plan_or_path(write(tmp_path, text, "cut.csv"), ROBOT)
    assert isinstance(path, PathFile)
    assert path.joints == ("rail", "A1")
    np.testing.assert_array_equal(path.q, [[0.001, 0.002], np.array([2.0, 3.0]) * (np.pi / 180)])
    assert path.pose_world is None
    assert path.load_points == ("hook",)
    assert path.wrench_world[0, 0].tolist() == [5.0, 0.0]
    assert path.weight.tolist() == [2.0, 1.0]
    assert path.headers == tuple(text.split("\n")[0].split(","))
    assert path.text["speed"].to_list() == ["9", "9"]
    assert "'speed'" in path.warnings[0]


def test_a_path_of_poses(tmp_path: Path) -> None:
    text = "x[mm],y[mm],z[mm],rx[deg],ry[deg],rz[deg]\n1,2,3,0,90,0\n"
    path = read_path(write(tmp_path, text, "cut.path.csv"), ROBOT)
    assert path.q is None
    np.testing.assert_array_equal(path.pose_world, [[0.001], [0.002], [0.003], [0], [90 * (np.pi / 180)], [0]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time[s]\n1\n", "neither joints nor poses"),
        ("q.A1[deg]\n1\n", "'q.rail' is missing"),
        ("x[mm],y[mm],z[mm],rx[rad],ry[rad]\n1,2,3,0,0\n", "'rz' is missing"),
        ("x[mm],y[mm],z[mm],rx[rad],ry[rad],rz[rad]\n1,2,3,0,,0\n", "row 2, column ry.rad.: the pose is incomplete"),
        ("q.rail[m],q.A1[deg]\n1,\n", "row 2, column q.A1.*no value"),
        ("q.rail[m],q.A1[deg],time[s]\n1,1,5\n1,1,4\n", "row 3, column time.*backwards"),
        ("q.rail[m],q.A1[deg],load_point\n1,1,hoo\n", "Did you mean 'hook'"),
        ("q.rail[m],q.A1[deg],weight\n1,1,-1\n", "cannot be negative"),
    ],
)
def test_bad_paths(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_path(write(tmp_path, text, "cut.path.csv"), ROBOT)


# ------------------------------------------------------------------------------------------------- writing

turns = st.floats(-12.5, 12.5, allow_nan=False)
finite = st.floats(-99.0, 99.0, allow_nan=False, allow_subnormal=True)
names = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="\x1f"), min_size=1, max_size=6
)


def assert_bits(ours: NDArray[np.generic], theirs: NDArray[np.generic]) -> None:
    assert ours.shape == theirs.shape
    np.testing.assert_array_equal(ours, theirs, strict=True)


def assert_same(one: Campaign, other: Campaign, *, files: bool = False) -> None:
    """Everything equal to the last bit, but for lines, warnings and the order of load points."""
    for name in ("name", "joints", "markers", "setups", "visits", "targets", "extra", "joint_kinds",
                 "instrument", "shared", "load_uncertainty", *(["files"] if files else [])):  # fmt: skip
        assert getattr(one, name) == getattr(other, name), name
    for field in fields(Readings):
        if field.name != "row":
            assert_bits(getattr(one.readings, field.name), getattr(other.readings, field.name))
    for field in fields(Experiments):
        ours, theirs = getattr(one.experiments, field.name), getattr(other.experiments, field.name)
        if field.name == "temperature":
            assert list(ours) == list(theirs)
            for key in ours:
                assert_bits(ours[key], theirs[key])
        elif field.name == "load_points":
            assert set(ours) == set(theirs)
        elif field.name == "wrench_world":
            order = [other.experiments.load_points.index(name) for name in one.experiments.load_points]
            assert_bits(ours, theirs[order])
        elif isinstance(ours, np.ndarray):
            assert_bits(ours, theirs)
        else:
            assert ours == theirs


def array(data: st.DataObject, *shape: int, low: float = -99.0, holes: bool = False) -> NDArray[np.float64]:
    numbers = st.floats(low, 12.0, allow_nan=False, exclude_min=low == 0.0)
    size = int(np.prod(shape))
    cells = data.draw(st.lists(st.one_of(numbers, st.just(np.nan)) if holes else numbers, min_size=size, max_size=size))
    return np.array(cells, dtype=np.float64).reshape(shape)


def by_appearance(codes: NDArray[np.int64], all_names: list[str]) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes renumbered in the order they appear, as a reader numbers them."""
    order = list(dict.fromkeys(code for code in codes.tolist() if code >= 0))
    renumbered = np.array([order.index(code) if code >= 0 else -1 for code in codes.tolist()], dtype=np.int64)
    return renumbered, tuple(all_names[code] for code in order)


def optional(data: st.DataObject, values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """The column, or None; a column of empty cells is no column."""
    return values if data.draw(st.booleans()) and np.isfinite(values).any() else None


def draw_loads(data: st.DataObject, n: int) -> dict[str, object]:
    """Components at two points for some experiments, a cable at one of them for others."""
    wrench = array(data, 2, 6, n)
    cable = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    start, end = array(data, 3, n), array(data, 3, n)
    end[0] = start[0] + 1.0
    tension = array(data, n, low=0.0) + 1.0
    start[:, ~cable], end[:, ~cable], tension[~cable] = np.nan, np.nan, np.nan
    wrench[:, :, cable] = 0.0
    wrench[0, :3] += pull_of_cable(start, end, tension)
    keep = np.any(wrench != 0.0, axis=(1, 2))
    columns = (start, end, tension) if cable.any() else (None, None, None)
    return {
        "load_points": tuple(np.array(["hook", "arm.end"])[keep]),
        "wrench_world": wrench[keep],
        **dict(zip(("cable_from_m", "cable_to_m", "tension_n"), columns, strict=True)),
    }


@st.composite
def campaigns(draw: st.DrawFn) -> Campaign:
    """Any campaign a file can state, numbered as a reader numbers it."""
    data = draw(st.data())
    experiment_names = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    n = len(experiment_names)
    experiment = np.repeat(np.arange(n), [draw(st.integers(1, 3)) for _ in range(n)])
    rows = experiment.size

    def codes(count: int, low: int = 0) -> NDArray[np.int64]:
        return np.array(draw(st.lists(st.integers(low, count - 1), min_size=rows, max_size=rows)), dtype=np.int64)

    kind = codes(3)
    marker, markers = by_appearance(codes(3), ["P1", "P2", "tool"])
    setup, setups = by_appearance(codes(2), ["monday", "tuesday"])
    visit_of = np.array([draw(st.integers(-1, 50)) for _ in range(n)], dtype=np.int64)
    visit, visits = by_appearance(visit_of[experiment], [f"v{i}" for i in range(51)])
    q = np.clip(array(data, 2, n), -9.0, 12.0)
    q[:, :] = q[:, np.unique(visit_of, return_index=True)[1][np.unique(visit_of, return_inverse=True)[1]]]
    value = array(data, 6, rows, holes=True)
    value[3:] = np.where(np.isfinite(value[3:]).all(axis=0), np.clip(value[3:], -12, 12), np.nan)
    value[0] = np.where(np.isfinite(value).any(axis=0), value[0], 1.0)
    temperature = array(data, n)
    return Campaign(
        name="written",
        joints=("rail", "A1"),
        joint_kinds=("prismatic", "revolute"),
        experiments=Experiments(
            names=tuple(experiment_names),
            q=q,
            **draw_loads(data, n),  # type: ignore[arg-type]
            joint_torque=optional(data, array(data, 2, n, holes=True)),
            encoder=optional(data, np.clip(array(data, 2, n, holes=True), -12, 12)),
            approach=optional(data, np.sign(array(data, 2, n, low=0.0, holes=True))),
            temperature={"hall": temperature} if draw(st.booleans()) else {},
            sigma_q=optional(data, array(data, 2, n, low=0.0, holes=True)),
            sigma_force_n=optional(data, array(data, n, low=0.0, holes=True)),
        ),
        readings=Readings(
            experiment=experiment,
            repeat=np.arange(1, rows + 1),
            setup=setup,
            kind=kind,
            marker=marker,
            value=value,
            sigma=array(data, 6, rows, low=0.0, holes=True),
            reference=np.full(rows, -1),
            target=np.full(rows, -1),
            target2=np.full(rows, -1),
            distance_m=array(data, rows, low=0.0, holes=True),
            sigma_distance_m=array(data, rows, low=0.0, holes=True),
            radius_m=array(data, rows, low=0.0, holes=True),
            visit=visit,
            sequence=array(data, rows, holes=True),
            time_s=array(data, rows, holes=True),
            row=np.arange(rows) + 2,
        ),
        markers=markers,
        setups=tuple(Setup(name, draw(placements), draw(points)) for name in setups),
        visits=visits,
        instrument=draw(instruments(experiment_names)),
        shared=SharedError(abs(draw(finite)), abs(draw(finite))),
        load_uncertainty=LoadUncertainty(0.01, abs(draw(finite)), draw(st.sampled_from(["campaign", "setup"]))),
        extra={"note": tuple(draw(st.lists(names, min_size=rows, max_size=rows)))} if draw(st.booleans()) else {},
    )


points = st.one_of(st.none(), st.tuples(finite, finite, finite))
placements = st.one_of(
    st.none(), st.builds(Placement, st.tuples(finite, finite, finite), st.tuples(turns, turns, turns))
)
sigmas = st.floats(1e-9, 1.0)


def instruments(experiments: list[str]) -> st.SearchStrategy[object]:
    table = st.tuples(*[st.tuples(sigmas, sigmas, sigmas) for _ in experiments])
    return st.one_of(
        st.none(),
        st.builds(Isotropic, sigmas, st.one_of(st.none(), sigmas)),
        st.builds(Spherical, sigmas),
        st.builds(Tracker, sigmas, sigmas, sigmas),
        table.map(lambda rows: SigmaTable(tuple(experiments), rows)),
    )


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(campaign=campaigns(), units=st.sampled_from(["m,rad", "mm,deg", "um,kN,N*mm"]))
def test_written_and_read_again_to_the_last_bit(tmp_path: Path, campaign: Campaign, units: str) -> None:
    (tmp_path / "written.campaign.toml").unlink(missing_ok=True)
    write_campaign(campaign, tmp_path / "written.campaign.csv", units=units)
    assert_same(campaign, read_campaign(tmp_path / "written.campaign.csv", ROBOT))


def test_units_are_used_where_they_are_exact(tmp_path: Path) -> None:
    campaign = read_campaign(write(tmp_path, PLAIN), ROBOT)
    write_campaign(campaign, tmp_path / "again.campaign.csv", units="mm,deg")
    table = read_table(tmp_path / "again.campaign.csv")
    assert table.cells("x[mm]").to_list() == ["100.0", "110.0", "150.0"]
    assert table.cells("q.A1[deg]").to_list() == ["20.0", "20.0", "-40.0"]
    write_campaign(campaign, tmp_path / "again.campaign.csv")
    assert read_table(tmp_path / "again.campaign.csv").cells("x[m]").to_list() == ["0.1", "0.11", "0.15"]
    with pytest.raises(InputError, match="'inch'"):
        write_campaign(campaign, tmp_path / "again.campaign.csv", units="inch")


def test_coordinates_of_one_kind_share_their_unit(tmp_path: Path) -> None:
    campaign = read_campaign(write(tmp_path, PLAIN), ROBOT)
    value = campaign.readings.value.copy()
    beyond = 0.2 + 2.0**-55 * np.arange(99)
    value[1, 0] = next(v for v in beyond if _exact_inverse(np.array([v]), 1e-3) is None)
    campaign = replace(campaign, readings=replace(campaign.readings, value=value))
    write_campaign(campaign, tmp_path / "again.campaign.csv", units="mm,deg")
    headers = read_table(tmp_path / "again.campaign.csv").headers
    assert {"x[m]", "y[m]", "z[m]", "q.rail[mm]", "q.A1[deg]"} <= set(headers)
    again = read_campaign(tmp_path / "again.campaign.csv", ROBOT)
    assert_same(campaign, replace(again, name=campaign.name))


@given(
    in_file=st.lists(st.floats(-9999.0, 9999.0), min_size=1), unit=st.sampled_from(["mm", "um", "deg", "mrad", "kN"])
)
def test_what_came_from_a_unit_goes_back_in_it(in_file: list[float], unit: str) -> None:
    values = np.array(in_file) * UNITS[unit].factor
    again = _exact_inverse(values, UNITS[unit].factor)
    assert again is not None
    assert_bits(again * UNITS[unit].factor, values)


@given(hundredths=st.lists(st.integers(-36000, 36000), min_size=1), unit=st.sampled_from(["mm", "deg", "um"]))
def test_short_numbers_stay_short(hundredths: list[int], unit: str) -> None:
    short = np.array(hundredths) / 100.0
    again = _exact_inverse(short * UNITS[unit].factor, UNITS[unit].factor)
    assert again is not None
    assert again.tolist() == short.tolist()


def test_one_load_point_is_written_as_people_write_it(tmp_path: Path) -> None:
    rows = "e1,1,2,hook,-100,7,1\ne2,1,2,,,8,2\n"
    text = f"experiment,q.rail[mm],q.A1[deg],load_point,force.z[N],sequence,x[mm]\n{rows}"
    campaign = read_campaign(write(tmp_path, text), ROBOT)
    write_campaign(campaign, tmp_path / "again.campaign.csv", units="mm,deg")
    table = read_table(tmp_path / "again.campaign.csv")
    assert table.cells("load_point").to_list() == ["hook", ""]
    assert table.cells("force.z[N]").to_list() == ["-100.0", ""]
    assert table.cells("sequence").to_list() == ["7", "8"]
    again = read_campaign(tmp_path / "again.campaign.csv", ROBOT)
    assert_same(campaign, replace(again, name=campaign.name))


def test_touches_and_references_are_written(tmp_path: Path) -> None:
    text = """experiment,repeat,q.rail[m],q.A1[deg],observation,marker,target,target2,distance[mm],reference,x[mm]
a,1,0,1,touch,P1,left,,,,
b,1,0,2,touch,P1,right,,,,
c,1,,,distance,,left,right,50,,
f,1,0,2,,P1,,,,d,5
d,1,0,2,,P1,,,,,5
"""
    campaign = replace(read_campaign(write(tmp_path, text), ROBOT))
    write_campaign(campaign, tmp_path / "sub.csv")
    assert_same(campaign, replace(read_campaign(tmp_path / "sub.csv", ROBOT), name="day"))


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = write(tmp_path, "old", "out.csv")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(InputError, match="cannot be written"):
        write_table(target, ["a"], [np.array([1.0])])
    assert target.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    with pytest.raises(InputError, match="cannot be written"):
        write_table(tmp_path / "no" / "out.csv", ["a"], [np.array([1.0])])


def test_a_table_of_answers(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    write_table(path, ["a", "b", "c"], [np.array([1.5, np.nan]), ["x, y", ""], pl.Series([1, 2])])
    assert path.read_bytes() == b'a,b,c\n1.5,"x, y",1\n,,2\n'


# --------------------------------------------------------------------------------------------- real files


@pytest.mark.skipif(not DATA.is_dir(), reason="the real campaigns are not beside this checkout")
@pytest.mark.parametrize(
    "file", sorted(DATA.glob("*/*.campaign.csv")), ids=lambda file: f"{file.parent.name}-{file.name}"
)
def test_real_campaigns_are_read(file: Path) -> None:
    robot = read_robot(next(file.parent.glob("*.robot.toml")))
    campaign = read_campaign(file, robot)
    assert len(campaign.readings) == len(file.read_text(encoding="utf-8").splitlines()) - 1
    joints = campaign.experiments.q[:, campaign.readings.experiment[~campaign.kind("distance")]]
    assert np.isfinite(joints).all()
    assert all("unknown column" in warning for warning in campaign.warnings)
