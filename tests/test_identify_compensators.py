"""Compensators and grouped compliances through `identify`, from Python and from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compensator_campaigns import COMPLIANCE, Q2_DEG, campaign, linear, made, robot
from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identify.api import identify
from stiffarm.identify.compensated import faults_of, warnings_of
from stiffarm.identify.estimate import Estimate
from stiffarm.identify.fit import fit
from stiffarm.identify.model_file import document, estimate_of
from stiffarm.identify.nonlinear import solve, solve_scaled
from stiffarm.identify.options import Options
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import angles_of
from stiffarm.measure.writing import write_campaign
from stiffarm.model.aggregated import aggregated
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import GasCylinder, Prior, Robot
from stiffarm.robot.writing import write_robot

Q = np.radians(Q2_DEG)
NUMBERS = {"strong gas": ("p_ref", "V_ref"), "strong spring": ("stiffness", "s0")}


def one_step(arm: Robot, kind: str, seed: int = 1, **more: object) -> Estimate:
    select = tuple(f"A2.compensator.{name}" for name in NUMBERS[kind])
    options = replace(Options(select=select, estimator="ols", folds=0), **more)  # type: ignore[arg-type]
    return identify(arm, campaign(kind, seed), options)


def stiffness_of(arm: Robot, found: Estimate) -> np.ndarray:
    numbers = {name.rsplit(".", 1)[1]: v for name, v in found.values.items() if ".compensator." in name}
    return aggregated(arm.compensators[0], 1.0 / found.values["A2.compliance"], Q, numbers).stiffness


@pytest.mark.parametrize("kind", NUMBERS)
def test_one_step_from_a_wrong_file_equals_two_steps(kind: str) -> None:
    """The safe start forgives a file whose compensator is far off, and grouped compliances give the same curve."""
    arm = robot(kind)
    element = arm.compensators[0].element
    off = {name: getattr(element, name) * factor for name, factor in zip(NUMBERS[kind], (0.2, 2.0), strict=True)}
    wrong = replace(arm, compensators=(replace(arm.compensators[0], element=replace(element, **off)),))
    grouped = identify(arm, campaign(kind, 1), Options(select=("A2.compliance[*]",), estimator="ols", folds=0))
    two = grouped.separations[0].candidate("gas" if kind == "strong gas" else "spring")
    for start in (arm, wrong):
        found = one_step(start, kind)
        np.testing.assert_allclose(stiffness_of(arm, found), two.stiffness, rtol=1e-6)
    assert two.split is not None
    for name, value, std in zip(two.split.names, two.split.values, two.split.std, strict=True):
        assert found.parameter(name).value == pytest.approx(value, rel=1e-5)
        assert found.parameter(name).std == pytest.approx(std, rel=0.02), name
    np.testing.assert_allclose(two.stiffness, linear(kind).stiffness, rtol=0.03)


def test_both_patterns_group_and_near_angles_are_one() -> None:
    arm, data = robot("strong spring"), campaign("strong spring", 3)
    q = data.experiments.q.copy()
    q[1] += np.random.default_rng(0).uniform(-2e-3, 2e-3, q.shape[1])  # what a robot reports instead of -105 deg
    data = made(arm, q, data.experiments.wrench_world, data.readings.value)
    np.testing.assert_allclose(angles_of(data, 1), Q, atol=2e-3)
    names = []
    for pattern in ("A2.compliance[*]", "A2.compliance[[]*", "A2.compliance[1]"):
        found = identify(arm, data, Options(select=(pattern,), folds=0))
        names.append([name for name in found.values if name.startswith("A2.")])
        for i, truth in enumerate(linear("strong spring").truth[:6]):
            assert found.values[f"A2.compliance[{i + 1}]"] == pytest.approx(truth, rel=0.05)
    assert names[0] == [f"A2.compliance[{i + 1}]" for i in range(6)]
    assert names[0] == names[1] == names[2]


def test_groups_of_a_joint_without_compensator_are_a_constant_or_a_curve() -> None:
    arm = replace(robot("strong spring"), compensators=())
    found = identify(arm, campaign("strong spring", 2), Options(select=("A2.compliance[*]",), folds=0))
    assert [c.kind for c in found.separations[0].candidates] == ["constant", "interpolated"]
    third = identify(arm, campaign("strong spring", 2), Options(select=("A3.compliance[*]",), folds=0))
    assert [len(s.angles) for s in third.separations] == [len(angles_of(campaign("strong spring", 2), 2))]


def test_a_compensated_joint_is_separated_without_being_asked() -> None:
    found = identify(robot("real gas"), campaign("real gas", 1), Options(folds=0))
    (one,) = found.separations
    assert (one.joint, one.chosen) == ("A2", "constant")
    assert "A2.compliance" in found.values
    assert found.values["A2.compliance"] == pytest.approx(COMPLIANCE[1], rel=0.03)


def test_joint_1_is_refused_under_vertical_loads_and_found_under_a_sideways_pull() -> None:
    kind = "real spring"
    found = identify(robot(kind), campaign(kind, 1), Options(folds=0))
    first = found.parameter("A1.compliance")
    assert (first.value, first.std, first.kind) == (None, None, "unobservable")
    why = next(d.why for d in found.dropped if d.name == "A1.compliance")
    assert "every load is vertical" in why
    assert "horizontal force with a moment" in why
    pulled = identify(robot(kind), campaign(kind, 1, side=0.5), Options(folds=0))
    assert pulled.values["A1.compliance"] == pytest.approx(COMPLIANCE[0], rel=0.05)


def test_what_runs_to_its_bound_is_held_and_said() -> None:
    """Readings that show a constant drive the spring of a compensator to zero: no fit of all of them would rest."""
    kind = "real spring"
    select = ("A2.compensator.*",)
    for seed in (1, 2):
        found = identify(robot(kind), campaign(kind, seed), Options(select=select, estimator="ols", folds=0))
        held = {d.name for d in found.dropped if "end of what is physical" in d.why}
        assert held
        assert held <= {"A2.compensator.stiffness", "A2.compensator.s0"}
        assert found.values["A2.compliance"] == pytest.approx(COMPLIANCE[1], rel=0.03)
        for name in held:
            assert found.parameter(name).std is None


def test_a_prior_keeps_it_in_the_fit() -> None:
    kind = "real spring"
    prior = (Prior("A2.compensator.stiffness", 2e4, "N/m"), Prior("A2.compensator.s0", 10.0, "mm"))
    found = identify(
        replace(robot(kind), priors=prior), campaign(kind, 1), Options(select=("A2.compensator.*",), folds=0)
    )
    stiffness = found.parameter("A2.compensator.stiffness")
    assert stiffness.value == pytest.approx(1.8e5, abs=6e4)
    assert stiffness.std == pytest.approx(2e4, rel=0.1)
    split = found.separations[0].candidate("spring").split
    assert split is not None
    assert split.std[1] == pytest.approx(2e4, rel=0.1)


def test_a_prior_of_the_drive_is_none_of_its_groups() -> None:
    arm = replace(robot("strong spring"), priors=(Prior("A2.compliance", 1e-9, "rad/(N*m)"),))
    found = identify(arm, campaign("strong spring", 1), Options(select=("A2.compliance[*]",), folds=0))
    assert len([name for name in found.values if name.startswith("A2.compliance[")]) == 6
    assert found.separations[0].candidate("spring").split is not None


def test_a_torque_out_of_scale_is_warned_of() -> None:
    found = one_step(robot("strong spring"), "strong spring")
    said = [note for note in found.notes if "out of physical scale" in note]
    assert len(said) == 1
    assert "(above 20 kN m)" in said[0]
    assert any("out of physical scale" in s for s in found.separations[0].sentences)
    quiet = identify(robot("real gas"), campaign("real gas", 1), Options(folds=0))
    assert not [note for note in quiet.notes if "physical scale" in note]


def test_a_gas_without_volume_is_a_reason_not_to_use_a_model() -> None:
    arm = robot("strong gas")
    options = Options(select=("A2.compensator.p_ref", "A2.compensator.V_ref"), estimator="ols")
    found = fit(arm, campaign("strong gas", 1), options)
    assert faults_of(found) == ()
    at = replace(found.solution.at, values={**found.at.values, "A2.compensator.V_ref": 2e-3})
    spoiled = replace(found, solution=replace(found.solution, at=at))
    assert any("no volume" in fault for fault in faults_of(spoiled))
    at = replace(found.solution.at, values={**found.at.values, "A2.compensator.p_ref": -1.0})
    negative = replace(found, solution=replace(found.solution, at=at))
    assert any("p_ref as fitted is not above 0" in sentence for sentence in warnings_of(negative))


@pytest.mark.parametrize(("p_ref", "V_ref"), [(3e7, 8e-3), (1e7, 3e-2), (3e6, 1e-2)])
def test_steps_into_a_gas_without_volume_are_taken_back(p_ref: float, V_ref: float) -> None:
    kind = "strong gas"
    system = System(ArmModel.of(robot(kind)), campaign(kind, 1), "torque")
    names = (*(f"A{i}.compliance" for i in (2, 3, 4, 5, 6)), "A2.compensator.p_ref", "A2.compensator.V_ref")
    nominal = system.model.nominal
    start = Point({**nominal, "A2.compensator.p_ref": p_ref, "A2.compensator.V_ref": V_ref}, {})
    equations = system.equations(start, names)
    full = system.moved(start, names, solve_scaled(equations.columns, equations.residual))
    with pytest.raises(InputError, match="no volume"):
        system.residual(full)
    found = solve(system, start, names, lambda rows: rows / 4e-5)
    known = one_step(robot(kind), kind).values
    for name in names:
        assert found.at.values[name] == pytest.approx(known[name], rel=1e-5), name


def test_redundant_numbers_of_a_gas_are_held() -> None:
    """Area and exponent free beside the rest: one curve, five numbers."""
    arm = robot("strong gas")
    found = identify(arm, campaign("strong gas", 1), Options(select=("A2.compensator.*",), estimator="ols", folds=0))
    gas = replace(arm.compensators[0].element, **{
        n.rsplit(".", 1)[1]: v for n, v in found.values.items() if ".compensator." in n
    })  # fmt: skip
    assert isinstance(gas, GasCylinder)
    curve = aggregated(replace(arm.compensators[0], element=gas), 1.0 / found.values["A2.compliance"], Q).stiffness
    np.testing.assert_allclose(curve, linear("strong gas").stiffness, rtol=0.04)
    assert [d.name for d in found.dropped if ".compensator." in d.name]


def test_too_many_angles_are_refused_when_groups_are_asked_for() -> None:
    arm, data = robot("real gas"), campaign("real gas", 1)
    n = 70
    q = np.tile(data.experiments.q[:, :1], (1, n))
    q[1] = np.linspace(-2.4, 0.3, n)
    wrench = np.tile(data.experiments.wrench_world[:, :, :1], (1, 1, n))
    with pytest.raises(InputError, match="A2 stands at too many angles"):
        identify(arm, made(arm, q, wrench, np.zeros((6, 3 * n))), Options(select=("A2.compliance[*]",)))


Files = Callable[[str], tuple[str, str, Path]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Robot file, campaign file, model file."""

    def write(kind: str) -> tuple[str, str, Path]:
        write_robot(robot(kind), tmp_path / "arm.robot.toml")
        write_campaign(campaign(kind, 1), tmp_path / "day.campaign.csv", units="mm,deg")
        return str(tmp_path / "arm.robot.toml"), str(tmp_path / "day.campaign.csv"), tmp_path / "arm.model.json"

    return write


def test_identify_says_it_in_words_and_in_the_model_file(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    arm, data, model = files("strong spring")
    assert main(["identify", arm, data, "--select", "A2.compliance[*]", "-o", str(model)]) in (0, 1)
    text = capsys.readouterr().out
    assert "stiffness of A2 over its angle:" in text
    assert "> spring" in text
    assert "out of physical scale" in text
    written = json.loads(model.read_text())
    (one,) = written["separation"]
    assert one["chosen"] == "spring"
    assert [m["kind"] for m in one["models"]] == ["constant", "spring", "gas", "interpolated"]
    assert document(estimate_of(written)) == written
    del written["separation"]  # a file of an earlier version
    assert estimate_of(written).separations == ()


def test_a_curve_whose_split_is_not_known_is_said(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    arm, data, _ = files("real gas")
    main(["identify", arm, data, "--json"])
    one = json.loads(capsys.readouterr().out)["separation"][0]
    gas = next(m for m in one["models"] if m["kind"] == "gas")
    assert one["chosen"] == "constant"
    assert not gas["split"]["told"]
    assert gas["curve_rms"] < 0.01
