"""Simulated touches touch, scatter as asked and keep stated distances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from paper_004 import DH_NAMES, MODEL, ROBOT, true_values
from stiffarm.errors import InputError
from stiffarm.identify.fit import fit
from stiffarm.identify.options import Options
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.observe import Observer
from stiffarm.measure.virtual import simulate
from stiffarm.model.arm_model import Arm
from touch_campaigns import Touched, touch_campaign


def plan(*shapes: str, count: int = 12, distance_m: float | None = None) -> Campaign:
    """Postures about one, each near enough to what it touches."""
    random = np.random.default_rng(4)
    begin = np.array([0.3, -0.4, 0.5, 0.6, 0.9, 0.2])[:, None] + 0.3 * np.arange(len(shapes)).repeat(count)
    q = begin + random.uniform(-0.15, 0.15, (6, count * len(shapes)))
    lengths = [] if distance_m is None else [("T0", "T1", distance_m)]
    touched = [Touched(f"T{i}", shape, count) for i, shape in enumerate(shapes)]
    return touch_campaign(touched, q=q, marker="tip", joints=ROBOT.joint_names, distances=lengths)


def off(arm: Arm, campaign: Campaign) -> np.ndarray:
    contacts = Contacts(campaign)
    world = Observer(campaign).expected(arm).world
    return np.linalg.norm(contacts.missing(world, contacts.places(world))[0], axis=1)


@pytest.mark.parametrize("shapes", [("touch", "touch"), ("plane",), ("sphere",)])
def test_the_true_arm_touches_and_the_nominal_does_not(shapes: tuple[str, ...]) -> None:
    true = MODEL.at(true_values())
    done = simulate(true, plan(*shapes), seed=1).campaign
    assert off(true, done).max() < 1e-9
    assert off(MODEL.at(), done).max() > 1e-5
    assert np.abs(done.experiments.q - plan(*shapes).experiments.q).max() < 1.0


def test_scatter_is_that_of_the_instrument() -> None:
    true = MODEL.at(true_values())
    done = simulate(true, plan("touch", count=300), seed=2, sigma_m=4e-5).campaign
    assert np.sqrt(np.mean(off(true, done) ** 2) / 3.0) == pytest.approx(4e-5, rel=0.1)
    again = simulate(true, plan("touch", count=300), seed=2, sigma_m=4e-5).campaign
    assert np.array_equal(done.experiments.q, again.experiments.q)


def test_stated_distances_hold_and_others_are_filled_in() -> None:
    true = MODEL.at(true_values())
    free = simulate(true, plan("touch", "touch", distance_m=np.nan), seed=1).campaign
    length_m = float(free.readings.distance_m[-1])
    held = simulate(true, plan("touch", "touch", distance_m=length_m + 0.02), seed=1).campaign
    contacts = Contacts(replace(held, readings=held.readings))
    place = contacts.places(Observer(held).expected(true).world)
    assert np.linalg.norm(place[1, :3] - place[0, :3]) == pytest.approx(length_m + 0.02, abs=1e-8)


def test_simulated_touches_are_identified() -> None:
    values = {n: 1e-4 for n in DH_NAMES if n in ("A2.x", "A2.rx", "A4.rz")}
    done = simulate(MODEL.at(values), plan("touch", "touch", count=30), seed=1).campaign
    found = fit(ROBOT, done, Options(geometry="none", elastic="none", select=("A2.rx", "A4.rz", "tool.tip.*"), folds=0))
    assert found.rank == 5


def test_a_target_out_of_reach_is_named() -> None:
    with pytest.raises(InputError, match="does not reach"):
        simulate(MODEL.at(), plan("touch", "touch", distance_m=50.0), seed=1)
