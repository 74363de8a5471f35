"""Campaign files that cannot be used: each is refused with the row, the column and words that help."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stiffarm.errors import InputError
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.reading import read_campaign
from stiffarm.robot.arm import AxisPlacement, BodyPoint, Joint, Robot, Tool

ROBOT = Robot(
    name="arm",
    joints=(
        Joint("A1", "revolute", AxisPlacement(), limits=(-3.0, 3.0)),
        Joint("A2", "revolute", AxisPlacement()),
    ),
    tool=Tool(
        load_points=(BodyPoint("hook", (0.3, 0.0, 0.0)),),
        markers=(BodyPoint("P1", (0.1, 0.0, 0.0)), BodyPoint("P2", (0.0, 0.1, 0.0))),
    ),
)

HEADER = "experiment,repeat,q.A1[deg],q.A2[deg],marker,x[mm],y[mm],z[mm]"
GOOD = f"""{HEADER}
e1,1,10,20,P1,100,200,300
e1,2,10,20,P1,100.1,200,300
e2,1,30,-40,P2,150,250,350
"""
FORCE = "experiment,q.A1[deg],q.A2[deg],load_point,force.x[N],force.z[N],observation,marker,x[mm]"
LOADED = "\ne1,10,20,hook,0,-900,position,P1,100\n"
CABLE = (
    "experiment,q.A1[deg],q.A2[deg],load_point,cable1.x[m],cable1.y[m],cable1.z[m],"
    "cable2.x[m],cable2.y[m],cable2.z[m],force[N],observation,x[mm]"
)
KINDS = (
    "experiment,q.A1[deg],q.A2[deg],observation,marker,x[mm],y[mm],z[mm],rx[rad],ry[rad],rz[rad],"
    "target,target2,distance[mm]"
)
REFERENCE = "experiment,repeat,q.A1[deg],q.A2[deg],force.z[N],reference,observation,marker,x[mm]"


@dataclass(frozen=True)
class Bad:
    """A file, and what its message must say."""

    name: str
    text: str | bytes
    words: tuple[str, ...]
    row: int | None = None
    column: str | None = None


def change(old: str, new: str, text: str = GOOD) -> str:
    """The good file with one thing replaced; the thing must be there."""
    assert old in text
    return text.replace(old, new, 1)


BAD = [
    # the text
    Bad("empty file", "", ("empty",)),
    Bad("only blank lines", "\n\n  \n", ("empty",)),
    Bad("header only", HEADER + "\n", ("no row below",), 1),
    Bad("blank first line", "\n" + GOOD, ("first line is blank",), 1),
    Bad("binary", b"PK\x03\x04\x00\x00\x08" + GOOD.encode(), ("not text", "NUL"), 1),
    Bad("NUL in row 3", GOOD.replace("e1,2", "e1,\x002"), ("not text", "NUL"), 3),
    Bad("control character", change("P2,150", "P\x1f2,150"), ("not text",), 4),
    Bad("UTF-16", GOOD.encode("utf-16"), ("UTF-16", "CSV UTF-8"), 1),
    Bad("UTF-16 without mark", GOOD.encode("utf-16-le"), ("not text",), 1),
    Bad("Windows-1252", change("P2", "Pü").encode("cp1252"), ("not UTF-8", "0xfc", "Windows-1252"), 4, "marker"),
    Bad("Windows-1252 in the header", change("marker", "Köln,marker").encode("cp1252"), ("not UTF-8", "0xf6"), 1),
    Bad("load that is none", FORCE.replace("force.z[", "force z[") + LOADED, ("begins like 'force'",), 1, "force z[N]"),
    Bad("load in capitals", FORCE.replace("force.z[", "Force.z[") + LOADED, ("begins like 'force'",), 1, "Force.z[N]"),
    Bad("10 MB line", HEADER + "\n" + "x" * 10_000_000 + "\n", ("too long", "10000000 bytes"), 2),
    Bad("short row", change(",300\ne1,2", "\ne1,2"), ("too few", "7 fields", "8 fields"), 2),
    Bad("long row", change("100.1,", "100.1,7,"), ("too many", "9 fields", "8 fields"), 3),
    Bad("decimal comma without quotes", change("100.1", "100,1"), ("too many", "decimal comma"), 3),
    Bad("decimal comma in quotes", change("100.1", '"100,1"'), ("decimal comma", "'100,1'"), 3, "x[mm]"),
    Bad("blank line inside", change("\ne2", "\n\ne2"), ("blank line",), 4),
    Bad("line of spaces inside", change("\ne2", "\n   \ne2"), ("blank line",), 4),
    Bad("line of commas inside", change("\ne2", "\n,,,,,,,\ne2"), ("blank line",), 4, "experiment"),
    Bad("rows by semicolon, header by comma", HEADER + "\n" + "e1;1;10;20;P1;1;2;3\n", ("too few", "semicolon"), 2),
    Bad("header by semicolon, rows by comma", HEADER.replace(",", ";") + "\ne1,1,10,20,P1,1,2,3\n", ("comma",), 2),
    Bad(
        "points and commas mixed",
        GOOD.replace(",", ";").replace("100.1", "100,1").replace("150", "150.5"),
        ("mixed", "'150.5'", "'100,1'"),
        4,
        "x[mm]",
    ),
    Bad("separator told to a spreadsheet", "sep=;\n" + GOOD.replace(",", ";"), ("no header", "'sep=;'"), 1),
    Bad("the same in quotes", '"sep=,"\n' + GOOD, ("no header", "Delete the line"), 1),
    Bad(
        "separator at the end of rows",
        GOOD.replace("\n", ",\n").replace(",\n", "\n", 1),
        ("too many", "2 more such rows", "Delete the separators at the end"),
        2,
    ),
    Bad("comment above the header", "# shift 2\n" + GOOD, ("not the header", "'# shift 2'", "comments"), 1),
    Bad("comment inside", change("\ne2", "\n# shift 2\ne2"), ("too few", "1 field;"), 4),
    Bad("separated by bars", GOOD.replace(",", "|"), ("not separated", "'|'", "a comma, a semicolon or a tab"), 1),
    Bad("separated by blanks", GOOD.replace(",", " "), ("not separated", "' '"), 1),
    Bad("page of a server", "<html><body>Not found</body></html>\n", ("no row below", "<html>"), 1),
    Bad("workbook", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ("not text", "CSV UTF-8"), 1),
    Bad("UTF-32", GOOD.encode("utf-32"), ("UTF-16",), 1),
    Bad("Windows-1252 in a unit", GOOD.replace("[deg]", "[\u00b0]").encode("cp1252"), ("0xb0",), 1, "q.A1[\u00b0]"),
    Bad("open quotes", change("P2", '"P2'), ("quotes",), 4),
    Bad("text after quotes", change("P2", '"P"2'), ("quotes",), 4),
    # the header
    Bad("same header twice", change("y[mm]", "x[mm]"), ("'x' stands twice",), 1, "x[mm]"),
    Bad("same name in two units", change("y[mm]", "x[m]"), ("'x' stands twice",), 1, "x[m]"),
    Bad("cells without header", change(",z[mm]", ","), ("no header", "'300'"), 2),
    Bad("no experiment column", change("experiment", "id"), ("'experiment' is missing",), 1),
    Bad("experiment misspelt", change("experiment", "experment"), ("Rename 'experment'",), 1),
    Bad("impossible unit", change("x[mm]", "x[kg]"), ("not a length", "m mm um"), 1, "x[kg]"),
    Bad("unknown unit", change("x[mm]", "x[inch]"), ("not a length", "m mm um"), 1, "x[inch]"),
    Bad("missing unit", change("x[mm]", "x"), ("missing", "m mm um", "x[mm]"), 1, "x"),
    Bad("degree sign", change("q.A2[deg]", "q.A2[\u00b0]"), ("not an angle", "'q.A2[deg]'"), 1, "q.A2[\u00b0]"),
    Bad("micro sign", change("x[mm]", "x[\u00b5m]"), ("not a length", "'x[um]'"), 1, "x[\u00b5m]"),
    Bad("unit in capitals", change("x[mm]", "x[MM]"), ("not a length", "'x[mm]'"), 1, "x[MM]"),
    Bad("unit in words", change("q.A2[deg]", "q.A2[degrees]"), ("not an angle", "'q.A2[deg]'"), 1),
    Bad("Nm", change("repeat", "torque.z[Nm]"), ("not a torque", "'torque.z[N*m]'"), 1, "torque.z[Nm]"),
    Bad("N with a raised dot", change("repeat", "torque.z[N\u00b7m]"), ("not a torque", "'torque.z[N*m]'"), 1),
    Bad("round brackets", change("x[mm]", "x (mm)"), ("missing", "'x[mm]'"), 1, "x (mm)"),
    Bad("empty unit", change("x[mm]", "x[]"), ("not a length",), 1, "x[]"),
    Bad("joint in mm", change("q.A2[deg]", "q.A2[mm]"), ("not an angle", "rad mrad urad deg"), 1, "q.A2[mm]"),
    Bad("unit on a name", change("marker", "marker[mm]"), ("text", "no unit"), 1, "marker[mm]"),
    Bad("unit on a count", change("repeat", "repeat[s]"), ("count", "no unit"), 1, "repeat[s]"),
    Bad("missing joint", "experiment,q.A1[deg],x[mm]\n1,2,3\n", ("'q.A2' is missing", "q.A2[deg]"), 1, "q.A2"),
    Bad("no joints", "experiment,x[mm]\n1,3\n", ("'q.A1', 'q.A2' are missing",), 1, "q.A1"),
    Bad("joint written A2[deg]", change("q.A2[deg]", "A2[deg]"), ("missing", "Is it 'A2[deg]'?"), 1, "q.A2"),
    Bad("unknown joint", change("q.A2[deg]", "q.AA2[deg]"), ("'AA2' does not exist", "Did you mean 'A2'?"), 1),
    Bad("encoder of no joint", change("repeat", "encoder.A9[deg]"), ("joint 'A9'", "A1, A2"), 1, "encoder.A9[deg]"),
    Bad("force at no point", change("repeat", "force.hok.x[N]"), ("'hok'", "Did you mean 'hook'?"), 1),
    # the cells
    Bad("empty experiment", change("e2,1", ",1"), ("no experiment",), 4, "experiment"),
    Bad("empty joint", change("30,-40", "30,"), ("joint 'A2' has no value", "empty cell"), 4, "q.A2[deg]"),
    Bad("nan in a joint", change("30,-40", "30,nan"), ("not a number", "'nan'"), 4, "q.A2[deg]"),
    Bad("inf in a coordinate", change("150", "-inf"), ("not a number", "'-inf'"), 4, "x[mm]"),
    Bad("word in a coordinate", change("150", "1o0"), ("not a number", "'1o0'"), 4, "x[mm]"),
    Bad("number beyond floats", change("150", "1e999"), ("too large",), 4, "x[mm]"),
    Bad("thousands separator", change("150", "1'500.0"), ("not a number", "thousands"), 4, "x[mm]"),
    Bad("thousands by a blank", change("150", "1 500.0"), ("not a number", "thousands"), 4, "x[mm]"),
    Bad("thousands by a hard blank", change("150", "1\u00a0500.0"), ("not a number", "thousands"), 4, "x[mm]"),
    Bad("thousands in quotes", change("150", '"1,500.0"'), ("not a number", "thousands"), 4, "x[mm]"),
    Bad("typographic minus", change("-40", "\u221240"), ("not a number", "minus as '-'"), 4, "q.A2[deg]"),
    Bad("unit in the cell", change("150", "150 mm"), ("not a number", "unit stands in the header"), 4, "x[mm]"),
    Bad("formula", change("150", "=A1+1"), ("not a number", "'=A1+1'"), 4, "x[mm]"),
    Bad("error of a spreadsheet", change("150", "#DIV/0!"), ("not a number", "'#DIV/0!'"), 4, "x[mm]"),
    Bad("date", change("150", "01.05.2024"), ("not a number",), 4, "x[mm]"),
    Bad("hexadecimal", change("150", "0x10"), ("not a number",), 4, "x[mm]"),
    Bad("digits of another script", change("150", "\u0661\u0660"), ("not a number",), 4, "x[mm]"),
    Bad("two bad cells", change("P2,150,250", "P2,a,b"), ("1 more like it",), 4, "x[mm]"),
    Bad("hundreds of metres", change("x[mm]", "x[m]"), ("units look wrong", "'100.1'", "100"), 3, "x[m]"),
    Bad("degrees labelled rad", change("q.A2[deg]", "q.A2[rad]"), ("units look wrong", "'20'"), 2, "q.A2[rad]"),
    Bad("degrees in a rotation", f"{KINDS}\n1,1,2,pose,P1,1,1,1,90,0,0,,,\n", ("units look wrong",), 2, "rx[rad]"),
    Bad("repeat not whole", change("e1,2", "e1,1.5"), ("repeat", "1, 2, 3"), 3, "repeat"),
    Bad("repeat negative", change("e1,2", "e1,-2"), ("repeat",), 3, "repeat"),
    Bad("repeat a word", change("e1,2", "e1,two"), ("not a number",), 3, "repeat"),
    Bad("approach of 2", "experiment,q.A1[deg],q.A2[deg],approach.A1,x[mm]\n1,1,1,2,3\n", ("direction", "1, -1"), 2),
    Bad("sigma zero", "experiment,q.A1[deg],q.A2[deg],x[mm],sigma.x[mm]\n1,1,1,2,0\n", ("positive",), 2, "sigma.x[mm]"),
    Bad("sigma negative", "experiment,q.A1[deg],q.A2[deg],x[mm],sigma.x[um]\n1,1,1,2,-5\n", ("positive",), 2),
    Bad(
        "unknown observation", f"{KINDS}\n1,1,2,postion,P1,1,1,1,,,,,,\n", ("'postion'", "Did you mean 'position'?"), 2
    ),
    Bad("unknown marker", change("P2", "P3"), ("marker 'P3'", "P1, P2, flange, tool"), 4, "marker"),
    Bad("unknown load point", f"{FORCE}\n1,1,2,crane,5,0,deflection,P1,1\n", ("'crane'", "hook, "), 2, "load_point"),
    # what a kind of row needs
    Bad("no reading", change("150,250,350", ",,"), ("no reading",), 4, "x[mm]"),
    Bad("half a rotation", f"{KINDS}\n1,1,2,pose,P1,1,1,1,0.1,,0.2,,,\n", ("incomplete",), 2, "ry[rad]"),
    Bad("touch of nothing", f"{KINDS}\n1,1,2,touch,P1,,,,,,,,,\n", ("no target",), 2, "target"),
    Bad("distance without targets", f"{KINDS}\n1,,,distance,,,,,,,,,,50\n", ("no target",), 2, "target"),
    Bad("distance to nothing", f"{KINDS}\n1,,,distance,,,,,,,,a,,50\n", ("second target",), 2, "target2"),
    Bad("distance to itself", f"{KINDS}\n1,,,distance,,,,,,,,a,a,50\n", ("two different",), 2, "target2"),
    Bad("distance unknown", f"{KINDS}\n1,,,distance,,,,,,,,a,b,\n", ("no distance",), 2, "distance[mm]"),
    Bad("distance negative", f"{KINDS}\n1,,,distance,,,,,,,,a,b,-50\n", ("positive",), 2, "distance[mm]"),
    # between rows
    Bad("same reading twice", change("e1,2", "e1,1"), ("row 3 is the same reading as row 2",), 3, "repeat"),
    Bad("other joints", change("e1,2,10", "e1,2,11"), ("rows 2 and 3", "'e1'", "'10' as in row 2"), 3, "q.A1[deg]"),
    Bad("joints differ by one digit", change("e1,2,10", "e1,2,10.000000001"), ("rows 2 and 3",), 3, "q.A1[deg]"),
    Bad(
        "other loads",
        f"{FORCE}\n1,1,2,hook,5,0,deflection,P1,1\n1,1,2,hook,6,0,deflection,P2,1\n",
        ("rows 2 and 3", "'5' as in row 2"),
        3,
        "force.x[N]",
    ),
    Bad(
        "one row loaded",
        f"{FORCE}\n1,1,2,hook,5,0,deflection,P1,1\n1,1,2,hook,,0,deflection,P2,1\n",
        ("rows 2 and 3", "empty cell"),
        3,
        "force.x[N]",
    ),
    Bad(
        "other load point",
        f"{FORCE}\n1,1,2,hook,5,0,deflection,P1,1\n1,1,2,flange,5,0,deflection,P2,1\n",
        ("rows 2 and 3", "'hook'"),
        3,
        "load_point",
    ),
    Bad(
        "moved within a visit",
        "experiment,visit,q.A1[deg],q.A2[deg],x[mm]\na,v,1,2,3\nb,v,1,9,3\n",
        ("moved between row 2 and row 3",),
        3,
        "visit",
    ),
    Bad("cable without tension", f"{CABLE}\n1,1,2,hook,0,0,0,1,0,0,,deflection,1\n", ("tension",), 2, "force[N]"),
    Bad("tension without cable", f"{CABLE}\n1,1,2,hook,,,,,,,9,deflection,1\n", ("direction",), 2, "cable1.x[m]"),
    Bad("tension without columns", "experiment,q.A1[deg],q.A2[deg],force[N],x[mm]\n1,1,2,9,1\n", ("direction",), 2),
    Bad("half a cable", f"{CABLE}\n1,1,2,hook,0,0,0,1,,0,9,deflection,1\n", ("missing",), 2, "cable2.y[m]"),
    Bad("cable of no length", f"{CABLE}\n1,1,2,hook,1,2,3,1,2,3,9,deflection,1\n", ("the same",), 2, "cable2.x[m]"),
    Bad("cable that pushes", f"{CABLE}\n1,1,2,hook,0,0,0,1,0,0,-9,deflection,1\n", ("push",), 2, "force[N]"),
    Bad(
        "load stated twice",
        f"force.x[N],{CABLE}\n5,1,1,2,hook,0,0,0,1,0,0,9,deflection,1\n",
        ("twice",),
        2,
        "force[N]",
    ),
    Bad("reference unknown", f"{REFERENCE}\na,1,1,2,9,b,,P1,1\n", ("not an experiment", "a"), 2, "reference"),
    Bad("reference itself", f"{REFERENCE}\na,1,1,2,0,a,,P1,1\n", ("itself",), 2, "reference"),
    Bad(
        "reference loaded",
        f"{REFERENCE}\na,1,1,2,9,b,,P1,1\nb,1,1,2,9,,,P1,1\n",
        ("the reference is loaded",),
        2,
        "reference",
    ),
    Bad(
        "reference without marker",
        f"{REFERENCE}\na,1,1,2,9,b,,P1,1\nb,1,1,2,,,,P2,1\n",
        ("same marker",),
        2,
        "reference",
    ),
    Bad(
        "reference without repeat",
        f"{REFERENCE}\na,2,1,2,9,b,,P1,1\nb,1,1,2,,,,P1,1\n",
        ("repeat",),
        2,
        "reference",
    ),
    Bad(
        "deflection with reference",
        f"{REFERENCE}\na,1,1,2,9,b,deflection,P1,1\nb,1,1,2,,,,P1,1\n",
        ("only position and pose",),
        2,
        "reference",
    ),
]

BAD_SETTINGS = [
    ("not TOML", "format = [", ("valid TOML",)),
    ("no format", '[shared]\ntranslation = "0 mm"\n', ("'format' is missing",)),
    ("other format", 'format = "stiffarm-robot/1"\n', ("stiffarm-campaign/1",)),
    ("unknown table", 'format = "stiffarm-campaign/1"\n[instrment]\n', ("'instrment'", "Did you mean 'instrument'?")),
    ("unknown type", 'format = "stiffarm-campaign/1"\n[instrument]\ntype = "camera"\n', ("isotropic, tracker",)),
    (
        "sigma without unit",
        'format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = 0.03\n',
        ("row 4", "instrument.sigma", "m mm um"),
    ),
    ("no sigma", 'format = "stiffarm-campaign/1"\n[instrument]\ntype = "spherical"\n', ("needs 'sigma'",)),
    (
        "sigma zero",
        'format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = "0 mm"\n',
        ("positive",),
    ),
    (
        "sigma an angle",
        'format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = "2 mrad"\n',
        ("length",),
    ),
    (
        "tracker without angle",
        'format = "stiffarm-campaign/1"\n[instrument]\ntype = "tracker"\nrange = ["5 um", 1e-6]\n',
        ("needs 'angle'",),
    ),
    ("two numbers", 'format = "stiffarm-campaign/1"\n[setup.s]\nxyz = [1.0, 2.0]\n', ("three numbers", "row 3")),
    ("negative mass", 'format = "stiffarm-campaign/1"\n[setup.s]\npayload = { mass = -1.0 }\n', ("negative",)),
    ("shared by nobody", 'format = "stiffarm-campaign/1"\n[load]\nshared = "row"\n', ("campaign, setup, experiment",)),
    (
        "table without e2",
        'format = "stiffarm-campaign/1"\n[instrument]\ntype = "table"\ntable = { e1 = ["1 um", "1 um", "1 um"] }\n',
        ("'e2' has no standard deviations",),
    ),
    (
        "rotation in degrees",
        'format = "stiffarm-campaign/1"\n[setup.s]\nrpy = [180.0, 0.0, 0.0]\n',
        ("rpy[1]", "12.57 rad"),
    ),
    (
        "angle in length",
        'format = "stiffarm-campaign/1"\n[load]\ndirection_sigma = "2 mm"\n',
        ("an angle with its unit",),
    ),
    ("setup a text", 'format = "stiffarm-campaign/1"\nsetup = "day1"\n', ("a table", "[setup.NAME]")),
    ("instrument a text", 'format = "stiffarm-campaign/1"\ninstrument = "tracker"\n', ("a table", "[instrument]")),
    ("payload a number", 'format = "stiffarm-campaign/1"\n[setup.s]\npayload = 1.25\n', ("setup.s.payload", "a table")),
    ("payload infinite", 'format = "stiffarm-campaign/1"\n[setup.s]\npayload = { mass = inf }\n', ("payload.mass",)),
    ("gain a share", 'format = "stiffarm-campaign/1"\n[load]\ngain_sigma = "1 %"\n', ("load.gain_sigma", "a number")),
    (
        "sigma with a comma",
        'format = "stiffarm-campaign/1"\n[instrument]\ntype = "isotropic"\nsigma = "0,03 mm"\n',
        ("'0,03 mm'",),
    ),
    ("table nowhere", 'format = "stiffarm-campaign/1"\n[instrument]\ntype = "table"\n', ("needs its table",)),
]


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "bad.campaign.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name.replace(" ", "-"))
def test_a_bad_campaign_is_refused(tmp_path: Path, bad: Bad) -> None:
    path = write(tmp_path, bad.text)
    with pytest.raises(InputError) as caught:
        read_campaign(path, ROBOT)
    problem, message = caught.value.problems[0], str(caught.value)
    assert problem.file == str(path)
    for word in bad.words:
        assert word in message
    assert problem.row == bad.row
    if bad.column is not None:
        assert problem.column == bad.column
    assert re.fullmatch(r"[^\n]{10,500}", message), "one line, short enough to read"


@pytest.mark.parametrize(
    ("name", "text", "words"), BAD_SETTINGS, ids=[case[0].replace(" ", "-") for case in BAD_SETTINGS]
)
def test_bad_settings_are_refused(tmp_path: Path, name: str, text: str, words: tuple[str, ...]) -> None:
    path = write(tmp_path, GOOD)
    beside = tmp_path / "bad.campaign.toml"
    beside.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_campaign(path, ROBOT)
    assert caught.value.problems[0].file == str(beside)
    for word in words:
        assert word in str(caught.value)


def test_the_good_file_is_good(tmp_path: Path) -> None:
    assert read_campaign(write(tmp_path, GOOD), ROBOT).warnings == ()


def test_settings_that_are_a_folder_are_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "bad.campaign.toml").mkdir()
    with pytest.raises(InputError, match=r"bad\.campaign\.toml: the file cannot be read"):
        read_campaign(write(tmp_path, GOOD), ROBOT)


@pytest.mark.parametrize(
    "dress",
    [
        lambda text: "\ufeff" + text,
        lambda text: "\ufeff\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", "\r\r\n"),
        lambda text: text.replace(",", "\t"),
        lambda text: text.replace("\n", ",,\n"),
        lambda text: "\n".join(",".join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines()),
        lambda text: text.replace("x[mm]", " x [ mm ] ").replace("100,", "\u00a0100\u00a0,"),
        lambda text: text.replace(",", ";").replace("100.1", "100,1"),
    ],
    ids=["mark", "two marks", "CRLF", "CR", "CR CRLF", "tabs", "trailing", "quotes", "blanks", "decimal commas"],
)
def test_what_can_only_be_meant_one_way_is_read(tmp_path: Path, dress: Callable[[str], str]) -> None:
    plain = read_campaign(write(tmp_path, GOOD), ROBOT).readings.value
    dressed = read_campaign(write(tmp_path, dress(GOOD)), ROBOT).readings.value
    np.testing.assert_array_equal(dressed, plain)


def test_a_name_in_capitals_is_hinted_at(tmp_path: Path) -> None:
    (sentence,) = read_campaign(write(tmp_path, change("y[mm]", "X[mm]")), ROBOT).warnings
    assert "'X[mm]' (did you mean 'x'?)" in sentence


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_campaign(tmp_path / "none.campaign.csv", ROBOT)
    with pytest.raises(InputError, match="cannot be read"):
        read_campaign(tmp_path, ROBOT)


def test_every_problem_of_a_step_is_kept(tmp_path: Path) -> None:
    text = GOOD.replace("100,", "a,").replace("250", "b").replace("e1,2", "e1,c")
    with pytest.raises(InputError) as caught:
        read_campaign(write(tmp_path, text), ROBOT)
    assert [(p.row, p.column) for p in caught.value.problems] == [(2, "x[mm]"), (3, "repeat"), (4, "y[mm]")]


LONG = f"{KINDS},force.z[N],force.hook.x[kN],visit,reference,note\n" + "".join(
    f'e{i},1{i},2{i},position,P{i % 2 + 1},{i}.5,2,3,,,,,,,{i % 2 * 5},,v{i},,"n, {i}"\n' for i in range(6)
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    base=st.sampled_from([GOOD, LONG, GOOD.replace(",", ";")]),
    edits=st.lists(
        st.tuples(st.floats(0.0, 1.0), st.integers(0, 3), st.binary(min_size=0, max_size=3) | st.sampled_from(
            [b",", b"\n", b'"', b";", b"-", b"e9", b".", b"\r", b"[mm]", b"nan", b"\xc3\xa9", b"q.", b",,", b" "])),
        min_size=1, max_size=4,
    ),
)  # fmt: skip
def test_corrupt_bytes_give_a_campaign_or_a_message(
    tmp_path: Path, base: str, edits: list[tuple[float, int, bytes]]
) -> None:
    data = base.encode()
    for place, removed, inserted in edits:
        at = int(place * len(data))
        data = data[:at] + inserted + data[at + removed :]
    try:
        campaign = read_campaign(write(tmp_path, data), ROBOT)
    except InputError:
        return
    assert isinstance(campaign, Campaign)
    assert campaign.readings.value.shape == (6, len(campaign.readings))
