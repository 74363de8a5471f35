"""A model handed over as a robot: forward kinematics of what was written is that of the model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stiffarm.cli.main import main
from stiffarm.compensate.calibrated import calibrated_robot, write_calibrated_original
from stiffarm.errors import InputError
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import predict
from stiffarm.model.loads import Load, State
from stiffarm.robot.reading import read_robot
from stiffarm.robot.urdf_write import write_urdf

SKIPPED = (".gain", ".sin", ".cos", ".coupling", "load.", "payload.", "base.", "link", "compensator")


def random_values(model: ArmModel, seed: int) -> dict[str, float]:
    rng = np.random.default_rng(seed)
    return {
        p.name: abs(p.nominal + p.scale * rng.normal()) if p.elastic else p.nominal + p.scale * rng.normal()
        for p in model.parameters
        if not any(part in p.name for part in SKIPPED)
    }


@pytest.mark.parametrize("name", ["kr270", "kr500-rail", "ur10", "iiwa7"])
def test_a_calibrated_robot_is_where_its_model_is(name: str) -> None:
    model = ArmModel.of(read_robot(name))
    values = random_values(model, 1)
    arm, written = model.at(values), ArmModel.of(calibrated_robot(model, values)).at()
    q = np.random.default_rng(2).uniform(-1.5, 1.5, (arm.chain.n_joints, 20))
    force = np.array([[300.0], [-200.0], [-900.0]])
    for point in ("tool", "flange", *model.robot.marker_names):
        one = predict(arm, State(q, (Load(arm.chain.point("flange"), force),)), point)
        two = predict(written, State(q, (Load(written.chain.point("flange"), force),)), point)
        np.testing.assert_allclose(two.position, one.position, atol=1e-12)
        np.testing.assert_allclose(two.rotation, one.rotation, atol=1e-12)


def test_the_original_urdf_moves_as_the_model_does(tmp_path: Path) -> None:
    original, output = tmp_path / "arm.urdf", tmp_path / "calibrated.urdf"
    write_urdf(read_robot("ur10"), original)
    model = ArmModel.of(read_robot(str(original)))
    values = {n: v for n, v in random_values(model, 3).items() if not n.startswith("tool") and "compliance" not in n}
    write_calibrated_original(model, values, original, output)
    arm, read = model.at(values), ArmModel.of(read_robot(str(output))).at()
    q = np.random.default_rng(4).uniform(-1.5, 1.5, (6, 20))
    np.testing.assert_allclose(
        predict(read, State(q), "flange").position, predict(arm, State(q), "flange").position, atol=1e-12
    )
    # origins changed, nothing else: the lines without an origin are the same
    before, after = original.read_text("utf-8").splitlines(), output.read_text("utf-8").splitlines()
    assert len(before) == len(after)
    assert all("origin" in a for a, b in zip(before, after, strict=True) if a != b)
    assert before != after


def test_gear_errors_are_refused_by_name() -> None:
    model = ArmModel.of(read_robot("ur10"))
    with pytest.raises(InputError, match=r"J2\.sin"):
        calibrated_robot(model, {"J2.sin": 1e-3})


def test_convert_takes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, output = tmp_path / "m.model.json", tmp_path / "c.robot.toml"
    document = {"format": "stiffarm-model/1", "robot": "ur10", "parameters": [{"name": "J2.offset", "value": 0.01}]}
    model.write_text(json.dumps(document), encoding="utf-8")
    assert main(["robot", "convert", str(model), "-o", str(output), "--json"]) == 0
    written = ArmModel.of(read_robot(output)).at()
    truth = ArmModel.of(read_robot("ur10")).at({"J2.offset": 0.01})
    q = np.random.default_rng(5).uniform(-1.5, 1.5, (6, 5))
    np.testing.assert_allclose(
        predict(written, State(q), "flange").position, predict(truth, State(q), "flange").position, atol=1e-12
    )


def test_the_urdf_of_another_arm_is_not_corrected(tmp_path: Path) -> None:
    original, output = tmp_path / "arm.urdf", tmp_path / "calibrated.urdf"
    write_urdf(read_robot("ur10"), original)
    model = ArmModel.of(read_robot(str(original)))
    values = {"J2.offset": 0.01, "J3.x": 1e-3}
    moved = tmp_path / "moved.urdf"
    text = original.read_text("utf-8")
    moved.write_text(text.replace('xyz="-0.612 ', 'xyz="-0.622 '), encoding="utf-8")
    assert moved.read_text("utf-8") != text
    with pytest.raises(
        InputError, match=r"moved.urdf, row \d+, column joint\[J3\]: the joint stands otherwise .* 0.01"
    ):
        write_calibrated_original(model, values, moved, output)
    moved.write_text(text.replace('"J4"', '"wrist"'), encoding="utf-8")
    with pytest.raises(InputError, match=r"has not the joints of the model's robot; .*wrist"):
        write_calibrated_original(model, values, moved, output)
    assert not output.exists()
    stand = 'xyz="0.0 0.0 0.1273"'
    assert stand in text
    moved.write_text(text.replace(stand, 'xyz="0.5 0.0 0.1273"', 1), encoding="utf-8")
    write_calibrated_original(model, values, moved, output)  # where the arm is bolted is the cell's affair


@pytest.mark.parametrize("convention", ["frames", "urdf"])
def test_a_robot_file_made_of_a_urdf_leads_back_to_it(convention: str, tmp_path: Path) -> None:
    original, output = tmp_path / "arm.urdf", tmp_path / "calibrated.urdf"
    write_urdf(read_robot("iiwa7"), original)
    path = tmp_path / "arm.robot.toml"
    if convention == "frames":
        assert main(["robot", "convert", str(original), "-o", str(path), "--convention", "frames"]) == 0
    else:
        path.write_text(
            'format = "stiffarm-robot/1"\nname = "arm"\nunits = { length = "m", angle = "rad" }\n'
            'convention = "urdf"\nurdf = { file = "arm.urdf", base = "base_link", tip = "tool0" }\n',
            encoding="utf-8",
        )
    first = read_robot(path).joint_names[0]
    entry = {"name": f"{first}.rx", "value": 0.002}
    model = tmp_path / "m.model.json"
    document = {"format": "stiffarm-model/1", "robot": "arm.robot.toml", "parameters": [entry]}
    model.write_text(json.dumps(document), encoding="utf-8")
    assert main(["robot", "convert", str(model), "-o", str(output), "--original", str(original)]) == 0
    truth = ArmModel.of(read_robot(path)).at({f"{first}.rx": 0.002})
    read = ArmModel.of(read_robot(str(output))).at()
    q = np.random.default_rng(5).uniform(-1.5, 1.5, (7, 5))
    np.testing.assert_allclose(
        predict(read, State(q), "flange").position, predict(truth, State(q), "flange").position, atol=1e-12
    )


def test_a_compliance_below_zero_is_no_spring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, output = tmp_path / "m.model.json", tmp_path / "c.robot.toml"
    entries = [{"name": "A2.compliance", "value": -3e-7}, {"name": "A3.compliance", "value": 5e-7}]
    document = {"format": "stiffarm-model/1", "robot": "kr270", "parameters": entries}
    model.write_text(json.dumps(document), encoding="utf-8")
    assert main(["robot", "convert", str(model), "-o", str(output)]) == 0
    assert "A2.compliance (negative)" in capsys.readouterr().err
    found = {joint.name: joint.compliance for joint in read_robot(output).joints}
    assert found["A2"] == {joint.name: joint.compliance for joint in read_robot("kr270").joints}["A2"]
    assert found["A3"] == 5e-7
