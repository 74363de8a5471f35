"""Campaigns with known errors, their models, and the errors at points never seen over the stated uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.budget import Budget, budget_file
from stiffarm.compensate.model_file import read_model
from stiffarm.compensate.predicting import predict_file
from stiffarm.identify.assemble import assemble
from stiffarm.identify.estimate import Estimate, Verdict
from stiffarm.identify.fit import fit
from stiffarm.identify.model_file import write_estimate
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign, Instrument, Isotropic, LoadUncertainty, Setup, SharedError
from stiffarm.measure.virtual import simulate
from stiffarm.measure.writing import write_campaign
from stiffarm.robot.placement import Rigid, rotation_from_vector
from virtual_plans import MODEL, ROBOT, plan_of

Array = NDArray[np.float64]
NONE = SharedError()


@dataclass(frozen=True)
class Scenario:
    """What is wrong in truth, what is stated of it, and what is asked for."""

    kind: Literal["deflection", "position"] = "deflection"
    experiments: int = 12
    visits: int = 1
    repeats: int = 1
    sigma_m: float = 2e-5
    instrument: Instrument | None = None
    """As the campaign states it."""
    shared: SharedError = NONE
    """In truth."""
    shared_stated: bool = False
    gain: float = 0.0
    """Standard deviation of the load's gain in the calibration, in truth and as stated."""
    gain_in_use: float = 0.0
    turn_in_use: float = 0.0
    unseen: int = 6
    gears_rad: float = 0.0
    """Eccentricity of every joint that the model does not have."""
    of: Literal["reading", "place"] = "reading"
    options: Options = field(default_factory=lambda: Options(folds=0))
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further options of the budget."""

    @property
    def setup(self) -> str | None:
        """Positions are known in the frame of their setup."""
        return "day" if self.kind == "position" else None


def plan(scenario: Scenario, experiments: int, visits: int, repeats: int, seed: int) -> Campaign:
    """Every experiment ``visits`` times, three markers read ``repeats`` times each time."""
    per = 3 * visits * repeats
    row = np.arange(experiments * per)
    experiment, stop = row // per, row // (3 * repeats)
    columns = {"experiment": experiment, "repeat": row % per // 3 + 1, "visit": stop}
    return plan_of(
        experiments, columns, kind=scenario.kind, setups=(Setup("day"),), visits=int(stop[-1]) + 1, seed=seed
    )


def pulled(campaign: Campaign, run: int, gain: float, turn: float = 0.0) -> Campaign:
    """The campaign under the loads that really pull.

    One error common to a whole campaign is one draw a run: a standard deviation of either sign in turn has the
    variance of many draws in few runs.
    """
    wrench = campaign.experiments.wrench_world.copy()
    signs = np.array([1 - 2 * (run >> bit & 1) for bit in range(4)])
    rotation = rotation_from_vector(turn * signs[1:])
    wrench[:, :3] = (1.0 + gain * signs[0]) * np.einsum("ij,ljn->lin", rotation, wrench[:, :3])
    return replace(campaign, experiments=replace(campaign.experiments, wrench_world=wrench))


def truth(scenario: Scenario, random: np.random.Generator) -> tuple[dict[str, float], dict[str, Rigid]]:
    """Values and frames: compliances 10 % off, placements off by half a millimetre."""
    values = {p.name: p.nominal * (1 + 0.1 * random.normal()) for p in MODEL.parameters if ".compliance" in p.name}
    if scenario.gears_rad:
        gears = [n for n in MODEL.nominal if n.endswith((".sin", ".cos"))]
        values |= {name: scenario.gears_rad * random.normal() for name in gears}
    if scenario.kind == "deflection":
        return values, {}
    places = [f"{joint}.{axis}" for joint in ROBOT.joint_names for axis in ("x", "y", "z", "rx", "ry", "rz")]
    values |= {name: 5e-4 * random.normal() for name in places}
    return values, {"day": Rigid(rotation_from_vector(random.normal(size=3)), random.uniform(-3.0, 3.0, 3))}


def calibrated(scenario: Scenario, seed: int) -> tuple[Estimate, dict[str, float], dict[str, Rigid]]:
    """A model from a campaign of its own, and the truth behind it."""
    random = np.random.default_rng([11, seed])
    values, frames = truth(scenario, random)
    asked = plan(scenario, scenario.experiments, scenario.visits, scenario.repeats, seed=3)
    real = replace(pulled(asked, seed, scenario.gain), shared=scenario.shared)
    read = simulate(MODEL.at(values), real, seed=seed, sigma_m=scenario.sigma_m, frames=frames).campaign
    stated = replace(
        asked,
        readings=read.readings,
        instrument=scenario.instrument,
        shared=scenario.shared if scenario.shared_stated else NONE,
        load_uncertainty=LoadUncertainty(gain_sigma=scenario.gain),
    )
    found = fit(ROBOT, stated, scenario.options)
    return assemble(found, scenario.options, holdout=None, verdict=Verdict(False, ())), values, frames


def one(scenario: Scenario, seed: int, folder: Path) -> tuple[Budget, Array, Array]:
    """The budget of unseen points, the prediction there, and what is read there (3, rows)."""
    estimate, values, frames = calibrated(scenario, seed)
    unseen = plan(scenario, scenario.unseen, 1, 1, seed=99)
    model_file, plan_file = folder / "m.model.json", folder / "u.plan.csv"
    write_estimate(estimate, model_file)
    if not plan_file.exists():
        write_campaign(replace(unseen, shared=NONE), plan_file, units="m,rad")
    model = read_model(model_file)
    real = pulled(unseen, seed >> 1, scenario.gain_in_use, scenario.turn_in_use)
    real = replace(real, shared=scenario.shared)
    sigma = scenario.sigma_m if scenario.of == "reading" else 0.0
    there = simulate(MODEL.at(values), real, seed=1000 + seed, sigma_m=sigma or None, frames=frames).campaign
    found = budget_file(model, plan_file, setup=scenario.setup, measurand=scenario.of, **scenario.more)
    predicted = predict_file(model, plan_file, setup=scenario.setup)
    place = predicted.elastic if scenario.kind == "deflection" else predicted.pose[:3]
    return found, place, there.readings.value[:3]


def deviations(scenario: Scenario, runs: int, folder: Path) -> Array:
    """(runs, 3, rows) error over combined standard uncertainty."""
    own = folder / str(abs(hash(repr(scenario))))
    own.mkdir()
    z = []
    for seed in range(runs):
        found, place, real = one(scenario, seed, own)
        z.append((real - place) / found.combined)
    return np.array(z)


STOPS = SharedError(3e-5, 5e-5)
EXACT = {"gain_sigma": 0.0}
SCENARIOS = {
    "scatter alone, readings": Scenario(more=EXACT),
    "scatter alone, places": Scenario(of="place", visits=2, repeats=2, instrument=Isotropic(2e-5), more=EXACT),
    "instrument stated": Scenario(instrument=Isotropic(2e-5), more=EXACT),
    "stops found from visits, readings": Scenario(shared=STOPS, visits=4, more=EXACT),
    "stops found from visits, places": Scenario(shared=STOPS, visits=4, of="place", more=EXACT),
    "stops stated": Scenario(shared=STOPS, shared_stated=True, instrument=Isotropic(2e-5), more=EXACT),
    "load gain 2 % in the calibration": Scenario(
        gain=0.02, repeats=3, instrument=Isotropic(2e-5), of="place", more=EXACT
    ),
    "load gain and turn in use": Scenario(
        gain_in_use=0.02, turn_in_use=0.01, of="place", repeats=3, instrument=Isotropic(2e-5),
        more={"gain_sigma": 0.02, "direction_sigma_rad": 0.01},
    ),
    "everything at once": Scenario(
        shared=STOPS, visits=4, gain=0.02, gain_in_use=0.01, more={"gain_sigma": 0.01}
    ),
    "gears the model does not have": Scenario(
        "position", experiments=60, repeats=3, sigma_m=1e-5, gears_rad=1e-4, unseen=60, more=EXACT
    ),
    "positions, geometry and compliances, readings": Scenario("position", experiments=30, more=EXACT),
    "positions, geometry and compliances, places": Scenario(
        "position", experiments=30, instrument=Isotropic(2e-5), of="place", more=EXACT
    ),
}  # fmt: skip
"""Named, each with what its budget is told."""
