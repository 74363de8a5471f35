"""The file that is filled in: read again, simulated, identified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stiffarm.identify.api import identify
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.reading import read_campaign, read_plan
from stiffarm.measure.virtual import simulate
from stiffarm.measure.writing import as_written, write_campaign
from stiffarm.model.arm_model import ArmModel
from stiffarm.plan.driven import driven, to_fill
from stiffarm.plan.problem import Floats, Shift, Stops
from stiffarm.plan.shift import Manner, shift_of
from stiffarm.robot.reading import read_robot

ROBOT = read_robot("kr270")
LOW, HIGH = np.array([joint.limits for joint in ROBOT.joints]).T
MARKERS = ("P1", "P2", "P3")
STOPS = 6


def configurations() -> Floats:
    share = np.random.default_rng(2).uniform(0.15, 0.85, (6, STOPS))
    return np.round(np.degrees(LOW[:, None] + share * (HIGH - LOW)[:, None]), 3)


def planned(tmp_path: Path, kind: str, load: str = "force") -> Campaign:
    """A plan file of as many stops, twice each."""
    random = np.random.default_rng(3)
    pulls = {"force": "force.x[N],force.y[N],force.z[N],load_point,", "none": "", "cable": "cable1.x[mm],cable1.y[mm],"
             "cable1.z[mm],cable2.x[mm],cable2.y[mm],cable2.z[mm],force[N],load_point,"}  # fmt: skip
    lines = [f"experiment,repeat,{','.join(f'q.{j}[deg]' for j in ROBOT.joint_names)},{pulls[load]}observation,marker,"
             "sigma.x[mm],sigma.y[mm],sigma.z[mm]"]  # fmt: skip
    for i, q in enumerate(configurations().T):
        three = ",".join(map(str, np.round(random.uniform(-1500, 1500, 3))))
        pull = {"none": "", "force": f"{three},hook,", "cable": f"{three},2000,1500,-500,1800,hook,"}[load]
        lines += [f"e{i},{r},{','.join(map(str, q))},{pull}{kind},{m},0.03,0.03,0.03" for r in (1, 2) for m in MARKERS]
    path = tmp_path / "a.plan.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_plan(path, ROBOT)


def shift(**manner: object) -> Shift:
    stops = Stops(np.radians(configurations()))
    return shift_of(ROBOT, stops, np.full(STOPS, 2), Manner(**manner))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["position", "deflection"])
def test_the_file_reads_back_as_what_is_to_be_driven(tmp_path: Path, kind: str) -> None:
    plan, order = planned(tmp_path, kind), shift(both_sides=True, reference_every=5)
    campaign = driven(plan, order)
    path = tmp_path / "day.campaign.csv"
    write_campaign(to_fill(campaign, order, kind), path, units="mm,deg")
    read = read_plan(path, ROBOT)
    assert read.warnings == ()
    each = 2 * len(MARKERS) if kind == "deflection" else len(MARKERS)
    assert len(read.readings) == each * len(order)
    visit = np.repeat(np.arange(len(order)), each)
    np.testing.assert_array_equal(read.readings.visit, visit)
    np.testing.assert_array_equal(read.readings.sequence, visit + 1)
    q = read.experiments.q[:, read.readings.experiment]
    np.testing.assert_allclose(q, plan.experiments.q[:, order.stop[visit]])
    assert read.experiments.approach is not None
    np.testing.assert_array_equal(read.experiments.approach[:, read.readings.experiment], order.side[:, visit])
    before = np.radians([[float(v) for v in read.extra[f"before.{j}[deg]"]] for j in ROBOT.joint_names])
    np.testing.assert_allclose(before, order.before[:, visit], atol=1e-8)
    header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
    assert header[-4:] == ["time[s]", "x[mm]", "y[mm]", "z[mm]"]
    assert not np.isfinite(read.readings.value).any()
    names = read.experiments.names
    assert "ref" in names
    assert sum(name.startswith("e3") and not name.endswith("unloaded") for name in names) == 2


def test_deflections_are_read_unloaded_and_loaded_at_one_stop(tmp_path: Path) -> None:
    plan, order = planned(tmp_path, "deflection", "cable"), shift()
    read = driven(plan, order)
    loaded = read.readings.reference >= 0
    assert loaded.sum() == len(plan.readings)
    other = read.readings.reference[loaded]
    assert not read.experiments.wrench_world[..., other].any()
    assert read.experiments.tension_n is not None
    assert np.isnan(read.experiments.tension_n[other]).all()
    np.testing.assert_array_equal(read.experiments.q[:, other], read.experiments.q[:, read.readings.experiment[loaded]])
    np.testing.assert_allclose(read.readings.sigma[:3] * np.sqrt(2.0), 3e-5)
    first = np.flatnonzero(read.readings.visit == 0)
    assert (read.readings.reference[first] >= 0).tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize("load", ["force", "cable"])
def test_filled_in_it_is_identified(tmp_path: Path, load: str) -> None:
    plan, order = planned(tmp_path, "deflection", load), shift(order="random", both_sides=True, reference_every=4)
    path = tmp_path / "day.campaign.csv"
    write_campaign(to_fill(driven(plan, order), order, "deflection"), path, units="mm,deg")
    arm = ArmModel.of(ROBOT).at()
    filled = simulate(arm, read_plan(path, ROBOT), seed=5).campaign
    write_campaign(as_written(filled, "mm,deg"), path, units="mm,deg")
    estimate = identify(ROBOT, read_campaign(path, ROBOT), Options(estimator="wls", folds=2))
    found = {p.name: p for p in estimate.parameters if p.std is not None}
    told = [f"{j}.compliance" for j in ROBOT.joint_names if f"{j}.compliance" in found]
    assert len(told) == 6
    for name in told:
        p = found[name]
        assert p.value is not None
        assert p.std is not None
        assert abs(p.value - arm.values[name]) < 5.0 * p.std
        assert p.std < 0.2 * arm.values[name]


def test_positions_without_a_load_stay_positions(tmp_path: Path) -> None:
    plan, order = planned(tmp_path, "position", "none"), shift(reference_every=12)
    campaign = driven(plan, order)
    assert campaign.kind("position").all()
    assert (campaign.readings.reference == -1).all()
    assert campaign.experiments.approach is None
    assert len(campaign.readings) == len(MARKERS) * (2 * STOPS + 2)
