"""Robot files: what they say is read, what they may not say is refused, what is written reads back."""

from __future__ import annotations

import math
import os
import re
import tomllib
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stiffarm.errors import InputError, Problem, StiffarmWarning
from stiffarm.robot.arm import (
    AxisPlacement,
    BodyPoint,
    Capsule,
    Compensator,
    Controller,
    Coupling,
    DenavitHartenberg,
    FileUnits,
    GasCylinder,
    Joint,
    Link,
    Placement,
    Prior,
    Robot,
    Spring,
    Tool,
    UrdfSource,
)
from stiffarm.robot.build import unit_axis
from stiffarm.robot.check import check_file, gas_volume, length_range
from stiffarm.robot.describe import describe
from stiffarm.robot.library import packaged_robots
from stiffarm.robot.reading import parse_robot, read_robot
from stiffarm.robot.writing import robot_text, to_file, write_robot
from stiffarm.units import UNITS

FOLDER = Path(__file__).parent / "bad_robots"
GOOD = {name: (FOLDER / f"{name}.robot.toml").read_text(encoding="utf-8") for name in ("good_mdh", "good_frames")}
CASES = tomllib.loads((FOLDER / "cases.toml").read_text(encoding="utf-8"))["case"]


# --- reading -------------------------------------------------------------------------------------


def test_every_section_arrives_in_si() -> None:
    robot = read_robot(FOLDER / "good_mdh.robot.toml")
    a1, a2, a3 = robot.joints
    assert robot.joint_names == ("A1", "A2", "A3")
    assert a1.geometry == DenavitHartenberg(pytest.approx(math.pi), 0.0, pytest.approx(-0.75), 0.0)
    assert a1.limits == pytest.approx((-math.radians(185), math.radians(185)))
    assert (a1.compliance, a1.mass, a1.com) == (0.3e-6, 350.0, pytest.approx((0.01, 0.0, -0.2)))
    assert a2.limits == pytest.approx((-math.radians(140), -math.radians(5)))
    assert (a3.sign, a3.couples_to) == (-1, Coupling("A2", -1.0))
    assert [link.after for link in robot.links] == ["base", "A2"]
    assert robot.links[0] == Link("base", "diagonal")
    assert robot.links[1].rpy == pytest.approx((0, 0, math.pi / 2))
    assert robot.links[1].compliance is not None
    assert robot.links[1].compliance[2] == (0, 0, 3e-8, 0, -4e-8, 0)
    spring, gas = robot.compensators
    assert (spring.L, spring.a, spring.alpha) == pytest.approx((0.1847, 0.6969, math.radians(79.81)))
    assert spring.element == Spring(250000.0, pytest.approx(0.47))
    assert gas.element == GasCylinder("push", 1.4, 5e-3, s0=pytest.approx(0.7), sv=pytest.approx(0.35))
    assert robot.priors == (Prior("A2.*", 0.5, "mm"),)
    assert robot.base.xyz == pytest.approx((0, 0, 0.1))
    assert robot.flange.rpy == pytest.approx((0, math.pi / 2, 0))
    assert robot.marker_names == ("P1", "P2", "elbow")
    assert robot.tool.markers[2] == BodyPoint("elbow", pytest.approx((0, 0.1, 0)), "A3")
    assert robot.tool.load_points == (BodyPoint("hook", pytest.approx((0.35, 0.1, -0.2))),)
    assert (robot.tool.mass, robot.tool.placement.xyz) == (12.5, pytest.approx((0, 0, 0.15)))
    assert robot.controller == Controller("kuka", "off")
    assert robot.notes == ("An invented robot.", "Its springs are invented too.")
    assert robot.units == FileUnits("mm", "deg")
    assert robot.capsules == (
        Capsule("A2", 0.22),
        Capsule("flange", 0.09, pytest.approx((0, 0, 0.02)), pytest.approx((0.35, 0, 0.15))),
    )


def test_frames_and_gas_by_reference_state() -> None:
    robot = parse_robot(GOOD["good_frames"], "r.toml")
    rail, a1 = robot.joints
    assert rail == Joint("E1", "prismatic", AxisPlacement(Placement((0, 0, 0.5)), (1, 0, 0)), 1, (0, 6), 1e-8)
    assert a1.geometry == AxisPlacement(Placement((0, 0, 0.7)), (0, 0, -1), math.pi / 2)
    assert robot.compensators[0].element == GasCylinder("pull", 1.2, 2e-3, p_ref=9e6, V_ref=3e-3, s_ref=0.75)


@pytest.mark.parametrize(("length", "scale"), [("m", 1.0), ("mm", 1e-3), ("um", 1e-6)])
@pytest.mark.parametrize(("angle", "turn"), [("rad", 1.0), ("mrad", 1e-3), ("deg", math.pi / 180)])
def test_units_reach_every_length_and_angle_and_nothing_else(
    length: str, scale: float, angle: str, turn: float
) -> None:
    text = GOOD["good_frames"].replace('"m"', f'"{length}"').replace('"rad"', f'"{angle}"')
    for key in ("xyz", "limits"):  # keep the robot's size credible in um and mm
        text = re.sub(rf"{key} = \[(.*)\]", lambda m: m[0].replace(m[1], _times(m[1], 1 / scale)), text)
    text = re.sub(r"(?m)^(s_ref|L|a) = (.*)", lambda m: f"{m[1]} = {float(m[2]) / scale!r}", text)
    rail, a1 = (robot := parse_robot(text, "r.toml")).joints
    assert isinstance(a1.geometry, AxisPlacement)
    assert a1.geometry.origin.xyz == pytest.approx((0, 0, 0.7))
    assert rail.limits == pytest.approx((0, 6))
    assert rail.compliance == 1e-8
    assert a1.geometry.offset == pytest.approx(math.pi / 2 * turn)
    assert robot.compensators[0].alpha == pytest.approx(0.5 * turn)
    assert robot.compensators[0].element.V_ref == 3e-3  # type: ignore[union-attr]


def _times(numbers: str, factor: float) -> str:
    return ", ".join(repr(float(number) * factor) for number in numbers.split(","))


@pytest.mark.parametrize("dress", [lambda b: b"\xef\xbb\xbf" + b, lambda b: b.replace(b"\n", b"\r\n")])
def test_bom_and_crlf_are_read(dress, tmp_path: Path) -> None:
    file = tmp_path / "r.robot.toml"
    file.write_bytes(dress(GOOD["good_mdh"].encode()))
    assert read_robot(file) == parse_robot(GOOD["good_mdh"], "r.toml")


def test_axis_of_another_length_is_normalised_with_a_warning() -> None:
    text = GOOD["good_frames"].replace("[1.0, 0.0, 0.0]", "[3.0, 4.0, 0.0]")
    with pytest.warns(StiffarmWarning, match=r"row 11, column joint\[1\].axis: the axis has length 5"):
        robot = parse_robot(text, "r.toml")
    assert robot.joints[0].geometry.axis == (0.6, 0.8, 0.0)  # type: ignore[union-attr]
    parse_robot(GOOD["good_frames"].replace("[1.0, 0.0, 0.0]", "[0.6, 0.8, 1e-7]"), "r.toml")  # no warning


def test_joints_may_stand_in_inline_tables() -> None:
    rows = '{ name = "A", type = "revolute", a = 500 },\n  { name = "B", type = "revolute", a = "x" }'
    text = GOOD["good_mdh"].split("[[joint]]")[0] + f"joint = [\n  {rows}\n]\n"
    (problem,) = _problems(text)
    assert (problem.row, problem.column) == (12, "joint[2].a")


# --- refusing ------------------------------------------------------------------------------------


def _problems(content: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as refused:
        parse_robot(content, "bad.robot.toml")
    return refused.value.problems


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_bad_robot(case: dict[str, Any]) -> None:
    good = GOOD[case.get("base", "good_mdh")]
    assert case["replace"] in good, "the edit must hit"
    (problem,) = _problems(good.replace(case["replace"], case["with"], 1))
    assert problem.file == "bad.robot.toml"
    assert (problem.column, problem.row) == (case.get("key"), case.get("row"))
    assert case["what"] in problem.what
    assert problem.found is not None
    assert case["found"] in problem.found
    assert problem.allowed is not None
    assert case["allowed"] in problem.allowed
    assert len(str(problem)) < 400
    assert "\n" not in str(problem)


def test_the_corpus_is_large_and_its_ids_differ() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 85


def test_no_joints_is_one_clear_message() -> None:
    text = GOOD["good_frames"].split("[[joint]]")[0]
    (problem,) = _problems(text)
    assert (problem.what, problem.column) == ("the robot has no joints", "joint")


def test_all_problems_of_a_file_come_at_once_in_order() -> None:
    text = GOOD["good_mdh"].replace("sign = -1", "sign = 3").replace('after = "A2"', 'after = "A9"')
    text = text.replace("d = -750.0", "dd = 1").replace("exponent = 1.4", "exponent = 9")
    problems = _problems(text)
    assert [p.column for p in problems] == ["joint[1].dd", "joint[3].sign", "link[2].after", "compensator[2].exponent"]
    assert [p.row for p in problems] == sorted(p.row for p in problems)


def test_hints_name_the_probable_key() -> None:
    (problem,) = _problems(GOOD["good_mdh"].replace("theta = -90.0", "tetta = -90.0"))
    assert problem.next_step == "Did you mean 'theta'?"
    (problem,) = _problems(GOOD["good_frames"].replace("rpy = [0.0, 0.0, 0.0]", "quat = [0, 0, 0, 1]"))
    assert "rpy" in problem.next_step


@pytest.mark.parametrize(("unit", "scale", "allowed"), [("mm", 1e-3, "20 mm"), ("m", 1e3, "100 m")])
def test_units_wrong_by_a_thousand(unit: str, scale: float, allowed: str) -> None:
    other = {"mm": "good_frames", "m": "good_mdh"}[unit]
    text = re.sub(r"length = \"\w+\"", f'length = "{unit}"', GOOD[other]).split("[[compensator]]")[0]
    text = re.sub(r"\[\[link\]\].*", "", text, flags=re.DOTALL)
    (problem,) = _problems(text)
    assert "units look wrong by 1000" in problem.what
    assert (problem.row, problem.column) == (3, "units.length")
    assert allowed in problem.allowed
    assert problem.next_step


@pytest.mark.parametrize(
    ("old", "new", "column", "words"),
    [
        ("compliance = 0.3e-6", "compliance = 3e6", "joint[1].compliance", "write its reciprocal"),
        ("mass = 350.0", "mass = 1e12", "joint[1].mass", "kg in every file"),
        ("com = [10.0", "com = [1e9", "joint[1].com", "units.length"),
        ("P1 = [150.0", "P1 = [150e9", "tool.markers.P1", "units.length"),
        ("area = 5e-3", "area = 5000.0", "compensator[2].area", "m^2 in every file"),
        ("stiffness = 250000.0", "stiffness = 2.5e11", "compensator[1].stiffness", "N/m in every file"),
    ],
)
def test_numbers_of_another_unit_are_refused(old: str, new: str, column: str, words: str) -> None:
    text = GOOD["good_mdh"]
    assert old in text
    (problem,) = _problems(text.replace(old, new))
    assert "units look wrong" in problem.what
    assert problem.column == column
    assert problem.row == text[: text.index(old)].count("\n") + 1
    assert words in str(problem)


def test_degrees_read_as_radians_are_refused() -> None:
    text = GOOD["good_mdh"].replace('angle = "deg"', 'angle = "rad"').split("[[compensator]]")[0]
    (problem,) = _problems(text)
    assert (problem.row, problem.column) == (3, "units.angle")
    assert "every joint are beyond two turns" in problem.what


def test_lines_that_end_with_carriage_returns_are_read() -> None:
    assert parse_robot(GOOD["good_mdh"].replace("\n", "\r").encode(), "r.toml").name == "Example 3R"


def test_an_integer_beyond_floats_is_refused() -> None:
    (problem,) = _problems(GOOD["good_mdh"].replace("a = 350.0", "a = 1" + "0" * 400))
    assert (problem.row, problem.column) == (26, "joint[2].a")
    assert len(str(problem)) < 300


CONTENTS = {
    "empty": (b"", "empty"),
    "blank": (b" \r\n\n", "empty"),
    "cp1252": (GOOD["good_mdh"].replace("Example", "Pr\xfcfling").encode("cp1252"), "not UTF-8"),
    "utf-16": (GOOD["good_mdh"].encode("utf-16"), "not UTF-8"),
    "binary": (bytes(range(256)), "not a text file"),
    "long line": (b"name = '" + b"x" * 10_000_000 + b"'", "too big"),
    "json": (b'{"format": "stiffarm-robot/1"}', "not valid TOML"),
    "csv": (b"experiment,q.A1[deg]\n1,2\n", "not valid TOML"),
    "brackets": (b"x = " + b"[" * 50_000, "nested too deeply"),
    "digits": (b"x = " + b"9" * 5_000, "not valid TOML"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_files_that_are_no_toml_give_one_message(name: str, tmp_path: Path) -> None:
    content, what = CONTENTS[name]
    file = tmp_path / "r.robot.toml"
    file.write_bytes(content)
    (problem,) = check_file(file)
    assert what in problem.what
    assert problem.file == str(file)
    assert problem.found
    assert problem.allowed
    assert len(str(problem)) < 500


def test_encoding_and_syntax_problems_name_the_row() -> None:
    (problem,) = _problems(CONTENTS["cp1252"][0])
    assert (problem.row, problem.found) == (2, "byte 0xfc ('ü' in Windows-1252)")
    (problem,) = _problems(GOOD["good_mdh"].replace("theta = 0.0", "theta = 0,0"))
    assert problem.row == 16
    assert "theta = 0,0" in problem.found


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.robot.toml", tmp_path, "a/b", "none.toml", "nul\0.toml"):
        (problem,) = check_file(path)
        assert "cannot be read" in problem.what
        assert problem.next_step
    (problem,) = check_file("no-such-robot")
    assert problem.what == "there is no such robot"


def test_packaged_robots_are_found_by_name() -> None:
    names = packaged_robots()
    assert list(names) == sorted(names)
    for name in names:
        assert check_file(name) == []


def _outcome(content: bytes) -> Robot | tuple[Problem, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StiffarmWarning)
        try:
            return parse_robot(content, "r.toml")
        except InputError as error:
            return error.problems


@given(st.data())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_corrupted_file_is_a_robot_or_an_input_error(data: st.DataObject) -> None:
    content = bytearray(GOOD[data.draw(st.sampled_from(sorted(GOOD)))].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        kind = data.draw(st.sampled_from(("change", "delete", "insert", "swap")))
        if kind == "change":
            content[at] = data.draw(st.integers(0, 255))
        elif kind == "delete":
            del content[at : at + data.draw(st.integers(1, 40))]
        elif kind == "insert":
            content[at:at] = data.draw(st.sampled_from((b"9", b"-", b"e99", b"\n", b'"', b"[", b"nan", b".", b" = ")))
        else:
            lines = bytes(content).split(b"\n")
            i, j = (data.draw(st.integers(0, len(lines) - 1)) for _ in range(2))
            lines[i], lines[j] = lines[j], lines[i]
            content = bytearray(b"\n".join(lines))
    outcome = _outcome(bytes(content))
    if not isinstance(outcome, Robot):
        assert outcome
        assert all(problem.file == "r.toml" and problem.found is not None for problem in outcome)


JUNK = st.recursive(
    st.one_of(st.none().map(lambda _: "x"), st.booleans(), st.integers(), st.floats(), st.text(max_size=3)),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.sampled_from(("xyz", "on", "a")), inner, max_size=2),
    max_leaves=8,
)


@given(junk=JUNK, where=st.integers(0, 200))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_any_value_at_any_key_is_a_robot_or_an_input_error(junk: object, where: int) -> None:
    from stiffarm.robot.toml_text import value_text

    lines = GOOD["good_mdh"].replace("[\n", "[").split("\n")
    keys = [i for i, line in enumerate(lines) if " = " in line and line.count("[") == line.count("]")]
    at = keys[where % len(keys)]
    lines[at] = f"{lines[at].split(' = ')[0]} = {value_text(junk)}"  # type: ignore[arg-type]
    assert _outcome("\n".join(lines).encode("utf-8", "surrogatepass"))


# --- compensator geometry against brute force -----------------------------------------------------


@given(
    L=st.floats(0.05, 1.0), a=st.floats(0.05, 1.0), alpha=st.floats(-7.0, 7.0),
    low=st.floats(-7.0, 6.9), width=st.floats(0.01, 9.0),
)  # fmt: skip
@settings(max_examples=60, deadline=None, derandomize=True)
def test_length_range_of_a_compensator(L: float, a: float, alpha: float, low: float, width: float) -> None:
    joint = Joint("A", "revolute", DenavitHartenberg(), limits=(low, low + width))
    shortest, longest = length_range(Compensator("A", L, a, alpha, Spring(1.0, 1.0)), joint)
    q = np.linspace(low, low + width, 20001)
    s = np.abs(a + L * np.exp(1j * (alpha - q)))
    # a grid misses a turning point by half a step, to first order in the distance from zero
    assert shortest <= s.min() + 1e-12
    assert shortest == pytest.approx(s.min(), abs=1e-3)
    assert longest >= s.max() - 1e-12
    assert longest == pytest.approx(s.max(), abs=1e-3)


def test_gas_volume_grows_with_the_length_for_a_push_cylinder() -> None:
    push = GasCylinder("push", 1.4, 5e-3, s0=0.7, sv=0.35)
    assert gas_volume(push, 0.8) == pytest.approx(5e-3 * 0.45)
    pull = GasCylinder("pull", 1.4, 5e-3, p_ref=1e6, V_ref=2e-3, s_ref=0.7)
    assert gas_volume(pull, 0.8) == pytest.approx(2e-3 - 5e-3 * 0.1)


# --- writing -------------------------------------------------------------------------------------

LENGTH = st.floats(-2.0, 2.0) | st.sampled_from((0.0, 0.35, 1.25, 0.1847, 0.1 + 0.2, 1e-7))
ANGLE = st.floats(-6.0, 6.0) | st.sampled_from((0.0, math.pi, math.pi / 2, math.radians(79.81)))
POINT = st.tuples(LENGTH, LENGTH, LENGTH)
TURN = st.tuples(ANGLE, ANGLE, ANGLE)
PLACEMENT = st.builds(Placement, POINT, TURN)
SMALL = st.floats(0.0, 1e-5)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12).filter(str.strip)
AXIS = POINT.filter(lambda axis: math.hypot(*axis) > 1e-3).map(unit_axis)


@st.composite
def _limits(draw: st.DrawFn) -> tuple[float, float] | None:
    low, width = draw(ANGLE), draw(st.floats(0.1, 3.0))
    return draw(st.sampled_from((None, (low, low + width))))


@st.composite
def _joint(draw: st.DrawFn, name: str, others: list[str], dh: bool, kind: str) -> Joint:
    row = st.builds(DenavitHartenberg, ANGLE, LENGTH, LENGTH, ANGLE)
    other = draw(st.sampled_from([None, *others]))
    return Joint(
        name,
        kind,  # type: ignore[arg-type]
        draw(row if dh else st.builds(AxisPlacement, PLACEMENT, AXIS, ANGLE)),
        draw(st.sampled_from((1, -1))),
        draw(_limits()),
        draw(st.none() | SMALL),
        other and Coupling(other, draw(LENGTH)),
        draw(SMALL),
        draw(POINT),
        draw(st.none() | st.floats(0.01, 10.0)),
    )


@st.composite
def _capsule(draw: st.DrawFn, names: list[str]) -> Capsule:
    on = draw(st.sampled_from((*names, "base", "flange")))
    return Capsule(on, draw(st.floats(1e-3, 2.0)), draw(st.none() | POINT), draw(st.none() | POINT))


@st.composite
def _link(draw: st.DrawFn, after: str) -> Link:
    root = np.array(draw(st.lists(st.floats(-1, 1), min_size=36, max_size=36))).reshape(6, 6)
    matrix = tuple(map(tuple, (root @ root.T * 1e-7 + np.eye(6) * 1e-9).tolist()))
    symmetric = tuple(tuple(matrix[min(i, j)][max(i, j)] for j in range(6)) for i in range(6))
    compliance = draw(st.sampled_from((None, symmetric)))
    return Link(after, "symmetric", draw(st.none() | POINT), draw(TURN), compliance)


@st.composite
def _compensators(draw: st.DrawFn, joints: list[Joint]) -> tuple[Compensator, ...]:
    turning = [joint.name for joint in joints if joint.kind == "revolute"][:2]
    spring = st.builds(Spring, st.floats(1.0, 1e6), st.floats(0.1, 2.0))
    state = st.builds(GasCylinder, st.just("pull"), st.floats(1.0, 1.7), st.just(1e-3), p_ref=st.floats(1e4, 1e7),
                      V_ref=st.floats(0.1, 0.2), s_ref=st.floats(0.1, 1.0))  # fmt: skip
    lengths = st.builds(GasCylinder, st.just("push"), st.floats(1.0, 1.7), st.floats(1e-4, 1e-2),
                        s0=st.floats(0.5, 1.0), sv=st.floats(-0.5, 0.05))  # fmt: skip
    return tuple(
        Compensator(
            name, draw(st.floats(0.2, 0.4)), draw(st.floats(0.5, 0.9)), draw(ANGLE), draw(spring | state | lengths)
        )
        for name in turning
    )


@st.composite
def robots(draw: st.DrawFn) -> Robot:
    convention = draw(st.sampled_from(("dh", "mdh", "frames", "urdf")))
    dh = convention in ("dh", "mdh")
    names = [f"A{i + 1}" for i in range(draw(st.integers(1, 4)))]
    kinds = [draw(st.sampled_from(("revolute", "prismatic"))) for _ in names]
    joints = [draw(_joint(name, names[:i], dh, kinds[i])) for i, name in enumerate(names)]
    points = [
        BodyPoint(f"P{i}", draw(POINT), draw(st.sampled_from((None, *names)))) for i in range(draw(st.integers(0, 2)))
    ]
    return Robot(
        draw(TEXT),
        tuple(joints),
        convention,  # type: ignore[arg-type]
        FileUnits(draw(st.sampled_from(("m", "um", "mm"))), draw(st.sampled_from(("rad", "mrad", "deg")))),
        draw(st.sampled_from(((0.0, 0.0, -9.80665), (0.0, 0.0, 0.0), (0.1, -9.81, 0.3)))),
        Controller(draw(st.none() | TEXT), draw(st.sampled_from(("on", "off", "unknown")))),
        draw(PLACEMENT),
        draw(PLACEMENT),
        Tool(
            draw(PLACEMENT), tuple(points[:1]), (*points, BodyPoint("far", (0.5, 0.0, 0.0))), draw(SMALL), draw(POINT)
        ),
        tuple(draw(_link(after)) for after in draw(st.lists(st.sampled_from(["base", *names]), unique=True))),
        draw(_compensators(joints)),
        draw(st.sampled_from(((), (Prior("A*.x", 0.5, "mm"), Prior("*", 1.0, "mrad"))))),
        UrdfSource("some folder/arm.urdf", "base_link", "tool0") if convention == "urdf" else None,
        tuple(draw(st.lists(TEXT, max_size=2))),
        tuple(draw(st.lists(_capsule(names), max_size=2))),
    )


@given(robot=robots())
@settings(max_examples=120, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_reads_back_bit_for_bit(robot: Robot) -> None:
    text = robot_text(robot)
    read = parse_robot(text, "r.toml")
    assert replace(read, units=robot.units) == robot
    assert robot_text(read) == text
    assert describe(robot)
    assert max(map(len, describe(robot).split("\n"))) <= 80


@given(y=st.floats(-1e4, 1e4), symbol=st.sampled_from(("mm", "deg", "um", "mrad")))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_number_that_came_from_a_file_goes_back_in_its_unit(y: float, symbol: str) -> None:
    unit = UNITS[symbol]
    back = to_file(unit.to_si(y), unit)
    assert back is not None
    assert unit.to_si(back) == unit.to_si(y)


def test_units_are_kept_when_possible_and_si_otherwise() -> None:
    robot = parse_robot(GOOD["good_mdh"], "r.toml")
    assert 'units = { length = "mm", angle = "deg" }' in robot_text(robot)
    assert "alpha = 79.81\n" in robot_text(robot)
    impossible = next(x for x in (0.1 + 2.0**-53 * i for i in range(1, 200)) if to_file(x, UNITS["mm"]) is None)
    moved = replace(robot, base=Placement((impossible, 0.0, 0.0)))
    text = robot_text(moved)
    assert 'units = { length = "m", angle = "deg" }' in text
    assert parse_robot(text, "r.toml").base.xyz[0] == impossible


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    robot = parse_robot(GOOD["good_mdh"], "r.toml")
    path = tmp_path / "r.robot.toml"
    write_robot(robot, path)
    assert read_robot(path) == robot
    assert os.listdir(tmp_path) == ["r.robot.toml"]
    before = path.read_bytes()
    broken = replace(robot, joints=(replace(robot.joints[0], mass=math.nan), *robot.joints[1:]))
    with pytest.raises(InputError, match=r"joint\[1\].mass"):
        write_robot(broken, path)
    with pytest.raises(InputError, match="convention 'frames'"):
        write_robot(replace(robot, convention="frames"), path)
    with pytest.raises(InputError, match="cannot be written"):
        write_robot(robot, tmp_path / "nowhere" / "r.robot.toml")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["r.robot.toml"]


def test_a_robot_that_its_file_cannot_say_is_refused(tmp_path: Path) -> None:
    robot = parse_robot(GOOD["good_mdh"], "r.toml")
    with pytest.raises(InputError, match="found: source"):
        write_robot(replace(robot, source=UrdfSource("a", "b", "c")), tmp_path / "r.robot.toml")


# --- URDF ----------------------------------------------------------------------------------------

URDF = """<robot name="two"><link name="base_link"/><link name="l1"><inertial><mass value="3"/></inertial></link>
<link name="tool0"/>
<joint name="J1" type="revolute"><parent link="base_link"/><child link="l1"/><origin xyz="0 0 0.4"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="J2" type="fixed"><parent link="l1"/><child link="tool0"/><origin xyz="0.7 0 0"/></joint></robot>"""

URDF_ROBOT = """format = "stiffarm-robot/1"
name = "two"
units = { length = "mm", angle = "deg" }
convention = "urdf"
REFERENCE
[[joint]]
name = "J1"
compliance = 1e-6
sign = -1
limits = [-90.0, 90.0]
"""
BESIDE = 'file = "arm.urdf"\nbase = "base_link"\ntip = "tool0"\n'
INSIDE = 'urdf = { file = "arm.urdf" }\n'


@pytest.mark.parametrize("reference", [BESIDE, INSIDE])
def test_elastic_data_joins_a_urdf(reference: str, tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    file = tmp_path / "arm.robot.toml"
    file.write_text(URDF_ROBOT.replace("REFERENCE\n", reference), encoding="utf-8")
    robot = read_robot(file)
    (joint,) = robot.joints
    assert joint.geometry == AxisPlacement(Placement((0.0, 0.0, 0.4)))
    assert (joint.compliance, joint.sign, joint.mass) == (1e-6, -1, 3.0)
    assert joint.limits == pytest.approx((-math.pi / 2, math.pi / 2))
    assert robot.flange.xyz == pytest.approx((0.7, 0, 0))
    assert robot.source == UrdfSource(str(tmp_path / "arm.urdf"), "base_link", "tool0")
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    write_robot(robot, copy / "arm.robot.toml")
    (tmp_path / "arm.urdf").unlink()
    assert read_robot(copy / "arm.robot.toml") == robot


def test_what_does_not_fit_the_urdf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(URDF, encoding="utf-8")
    file = tmp_path / "arm.robot.toml"
    text = URDF_ROBOT.replace("REFERENCE\n", INSIDE)
    for old, new, what, column in (
        ('"J1"', '"J7"', "no such joint", "joint[1].name"),
        ("sign = -1", 'type = "prismatic"', "another type", "joint[1].type"),
        ("arm.urdf", "leg.urdf", "cannot be read", None),
        ("[[joint]]", '[[link]]\nafter = "J2"\n[[joint]]', "does not exist", "link[1].after"),
        ("[[joint]]", "[flange]\n[[joint]]", "tip link", "flange"),
    ):
        assert old in text
        file.write_text(text.replace(old, new), encoding="utf-8")
        problems = check_file(file)
        assert any(what in p.what and p.column == column for p in problems), problems


def test_a_urdf_alone_is_a_robot(tmp_path: Path) -> None:
    file = tmp_path / "arm.urdf"
    file.write_text(URDF, encoding="utf-8")
    assert read_robot(str(file)).joint_names == ("J1",)
    file.write_text(URDF.replace("J1", "joint 1"), encoding="utf-8")
    (problem,) = check_file(file)
    assert "parameter names" in problem.what
    file.write_text(URDF.replace("0.7 0 0", "700 0 0"), encoding="utf-8")
    (problem,) = check_file(file)
    assert "units look wrong" in problem.what


# --- in words ------------------------------------------------------------------------------------


def test_description_of_a_robot() -> None:
    text = describe(parse_robot(GOOD["good_mdh"], "r.toml"))
    words = " ".join(text.split())
    for part in (
        "3 joints (3 revolute); convention mdh; file in mm and deg",
        "A1 revolute -z 0.00 0.00 850.00",
        "A3 revolute",
        "-185 .. 185 deg 3e-07 rad/(N m) q",
        "-q - 90 deg - q.A2",
        "link after A2: 6x6 beam, at 1250.00 0.00 0.00 mm, compliance given",
        "A2: spring, 250000 N/m, free length s0 470.00 mm",
        "gas cylinder (push), exponent 1.4",
        "together 362.5 kg",
        "elbow marker A3 0.00 100.00 0.00",
        "absolute accuracy is off",
        "An invented robot.",
    ):
        assert part in words, part


def test_zero_pose_of_a_rail() -> None:
    words = " ".join(describe(parse_robot(GOOD["good_frames"], "r.toml")).split())
    assert "E1 prismatic +x 0.00 0.00 500.00" in words
    assert "A1 revolute -z 0.00 0.00 1200.00" in words
    assert "0 .. 6000 mm 1e-08 m/N" in words
