"""Model files that cannot be used: each is one message with its place, and nothing is written."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from stiffarm.cli.main import main
from stiffarm.errors import InputError
from stiffarm.identify.model_file import read_estimate

Output = pytest.CaptureFixture[str]
OFFSET = {"name": "A1.offset", "unit": "rad", "value": 0.001}
MODEL: dict[str, Any] = {
    "format": "stiffarm-model/1",
    "robot": "kr270",
    "parameters": [OFFSET],
    "covariance": {"names": ["A1.offset"], "values": [[1e-10]]},
    "setups": [],
    "verdict": {"usable": True, "reasons": []},
}
PATH = ",".join(f"q.A{k}[deg]" for k in range(1, 7)) + "\n0,-90,90,0,0,0\n"


def changed(**keys: Any) -> str:
    return json.dumps({**MODEL, **keys})


def valued(value: Any) -> str:
    return changed(parameters=[{**OFFSET, "value": value}])


BAD = {
    "empty": (b"", "not JSON"),
    "cut short": (changed().encode()[:60], "row 1, column character 50: this is not JSON"),
    "binary": (bytes(range(128, 256)), "not text in UTF-8"),
    "a list": (b"[1]", "not a model file of a known version"),
    "another format": (changed(format="stiffarm-model/9"), "format: .*'stiffarm-model/9'"),
    "brackets": ("[" * 100_000, "nested too deeply"),
    "digits": ('{"format": ' + "9" * 5_000 + "}", "not a model file"),
    "not a number": (valued(float("nan")), "NaN is no number of JSON"),
    "infinite": (valued(float("inf")), "Infinity is no number of JSON"),
    "no robot": (json.dumps({k: v for k, v in MODEL.items() if k != "robot"}), "robot: this key is missing"),
    "robot a number": (changed(robot=3), "robot.*: a text is needed here; found: 3"),
    "robot unknown": (changed(robot="kr271"), "no such robot; found: 'kr271'"),
    "robot elsewhere": (changed(robot="none.robot.toml"), "none.robot.toml: the robot file cannot be read"),
    "no parameters": (changed(parameters=None), "parameters: a list is needed here"),
    "parameters by name": (changed(parameters={"A1.offset": 0.1}), "parameters: a list is needed here"),
    "parameter a number": (changed(parameters=[1]), r"parameters\[0\]: an object is needed here; found: 1"),
    "parameter without name": (changed(parameters=[{"value": 1}]), r"parameters\[0\].name: this key is missing"),
    "parameter twice": (changed(parameters=[OFFSET, OFFSET]), "parameters: parameter 'A1.offset' stands twice"),
    "parameter of another arm": (changed(parameters=[{**OFFSET, "name": "A9.offset"}]), "'A9.offset' does not exist"),
    "value a text": (valued("0.001"), r"parameters\[0\].value: a number within .* found: '0.001'"),
    "value a flag": (valued(True), r"parameters\[0\].value: a number within"),
    "value a list": (valued([1.0]), r"parameters\[0\].value: a number within"),
    "value too large": (valued(1e300), r"parameters\[0\].value: a number within .* found: 1e\+300"),
    "covariance a text": (changed(covariance="x"), "covariance: an object is needed here"),
    "covariance too large": (
        changed(covariance={"names": ["A1.offset"], "values": [[1, 2], [3, 4]]}),
        "covariance.values: the covariance has another size",
    ),
    "variance negative": (
        changed(covariance={"names": ["A1.offset"], "values": [[-1.0]]}),
        r"covariance.values\[0\]\[0\]: a variance is negative; found: -1",
    ),
    "covariance of nobody": (changed(covariance={"names": ["A9.x"], "values": [[1.0]]}), "'A9.x' does not exist"),
    "setup a number": (changed(setups=[1]), r"setups\[0\]: an object is needed here"),
    "setup on a plane": (
        changed(setups=[{"name": "s", "xyz": [0, 0], "rotvec": [0, 0, 0]}]),
        r"setups\[0\].xyz\[2\]: this key is missing",
    ),
    "verdict a text": (changed(verdict="no"), "verdict: an object is needed here; found: 'no'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_model_is_one_message(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    content, words = BAD[name]
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    Path("a.path.csv").write_text(PATH, encoding="utf-8")
    assert main(["predict", "m.json", "a.path.csv", "-o", "out.csv", "--json"]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert re.match(f"error: .*{words}", error), error
    assert len(error) < 800
    assert not Path("out.csv").exists()


def test_the_good_model_is_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.json").write_text(changed(), encoding="utf-8")
    Path("a.path.csv").write_text(PATH, encoding="utf-8")
    assert main(["predict", "m.json", "a.path.csv", "--quiet"]) == 0


@pytest.mark.parametrize("sigma", ["0.03", "nan mm", "1e999mm", "0,03mm", "mm", "0.03 deg", ""])
def test_a_quantity_that_is_none_is_refused(
    sigma: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.plan.csv").write_text("experiment," + PATH.replace("\n0", "\ne1,0"), encoding="utf-8")
    assert main(["simulate", "kr270", "a.plan.csv", "-o", "a.campaign.csv", "--sigma", sigma]) == 2
    assert "--sigma: a length with its unit is needed" in capsys.readouterr().err
    assert not Path("a.campaign.csv").exists()


DAMAGED = (
    ("parameters", 0, "value"),
    ("parameters", 0, "std"),
    ("parameters", 0, "level"),
    ("covariance", "values"),
    ("covariance", "values", 0),
    ("setups", 0, "xyz"),
    ("setups", 0, "covariance"),
    ("holdout", "rule"),
    ("holdout", "rms[m]"),
    ("domain", "joints", "A1"),
    ("verdict", "reasons", 0),
)
ESTIMATE: dict[str, Any] = {
    **MODEL,
    "parameters": [
        {**OFFSET, "nominal": 0.0, "std": 1e-5, "low": 0.0, "high": 0.002, "level": 0.95, "nu": 100.0,
         "class": "identifiable", "merged": []}
    ],
    "dropped": [{"name": "A2.x", "why": "cannot be told"}],
    "setups": [{"name": "s", "xyz": [0.0, 0.0, 0.0], "rotvec": [0.0, 0.0, 0.0], "markers": {"P1": [0.1, 0.0, 0.0]},
                "tool_rotvec": None, "covariance": [[1e-12] * 6] * 6}],
    "outliers": [],
    "fit": {},
    "domain": {"joints": {"A1": [-1.0, 1.0]}, "force": None},
    "holdout": {"rule": "folds:5", "rows": 10, "rms[m]": 1e-4, "nominal_rms[m]": 1e-3},
    "verdict": {"usable": True, "reasons": ["0.1 mm"]},
    "provenance": {},
}  # fmt: skip


def test_the_good_estimate_is_good(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text(json.dumps(ESTIMATE), encoding="utf-8")
    assert read_estimate(path).parameters[0].value == 0.001


FITTING = {
    "value": 7,
    "std": 7,
    "level": 7,
    "rms[m]": 7,
    "rule": "x",
    0: "x",
}
"""What may stand at the last step of a place."""
DAMAGES = [
    (place, junk)
    for place in DAMAGED
    for junk in ("x", [], {}, True, 7)
    if isinstance(junk, bool) or place[:2] == ("covariance", "values") or FITTING.get(place[-1]) != junk
]


@pytest.mark.parametrize(("place", "junk"), DAMAGES, ids=str)
def test_a_damaged_estimate_is_told_when_it_is_read(place: tuple[Any, ...], junk: Any, tmp_path: Path) -> None:
    damaged = json.loads(json.dumps(ESTIMATE))
    inner = damaged
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = junk
    path = tmp_path / "m.json"
    path.write_text(json.dumps(damaged), encoding="utf-8")
    with pytest.raises(InputError, match=r"m\.json"):
        read_estimate(path)
