"""What pulls in truth when the loads that a campaign states are not exactly known.

    true wrench = (1 + gain_sigma g) Exp(direction_sigma r) stated wrench,       g, r: standard normal numbers

drawn once for the campaign, for every setup or for every experiment, as ``[load] shared`` says; and every payload
weighs its stated mass plus ``mass_sigma`` times one more.  The campaign goes on stating what its file says: the
error is what identification has to reckon with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Campaign, LoadUncertainty, Payload
from stiffarm.model.rotations import rotate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LoadError:
    """By what the loads of a campaign, a setup, an experiment or a payload differ from what is stated."""

    of: str
    """``campaign``, or the name of the setup or experiment, or ``payload of`` a setup."""
    gain: float = 1.0
    turn_rad: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rotation vector in the world."""
    mass_kg: float = 0.0
    """Added to the stated mass of a payload."""


def with_true_loads(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[LoadError, ...]]:
    """The campaign as it really was loaded, and by what that differs from what it states."""
    loaded, errors = _true_wrenches(campaign, random)
    weighed, masses = _true_payloads(loaded, random)
    return weighed, (*errors, *masses)


def _true_wrenches(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[LoadError, ...]]:
    stated = campaign.load_uncertainty
    if (stated.gain_sigma, stated.direction_sigma_rad) == (0.0, 0.0) or not len(campaign.experiments):
        return campaign, ()
    group, names = load_groups(campaign, stated)
    gain = 1.0 + stated.gain_sigma * random.standard_normal(len(names))
    turn = stated.direction_sigma_rad * random.standard_normal((3, len(names)))
    wrench = campaign.experiments.wrench_world.copy()
    for at_point in wrench:
        for part in (at_point[:3], at_point[3:]):
            part[:] = gain[group] * rotate(turn[:, group], part)
    errors = [
        LoadError(name, float(g), (float(x), float(y), float(z)))
        for name, g, (x, y, z) in zip(names, gain, turn.T, strict=True)
    ]
    return replace(campaign, experiments=replace(campaign.experiments, wrench_world=wrench)), tuple(errors)


def load_groups(campaign: Campaign, stated: LoadUncertainty) -> tuple[Ints, tuple[str, ...]]:
    """(experiments,) which of the named groups shares the error of an experiment's load."""
    count = len(campaign.experiments)
    if stated.shared == "experiment":
        return np.arange(count), campaign.experiments.names
    if stated.shared == "campaign":
        return np.zeros(count, dtype=np.int64), ("campaign",)
    setup = np.zeros(count, dtype=np.int64)
    setup[campaign.readings.experiment] = campaign.readings.setup
    return setup, tuple(one.name for one in campaign.setups)


def _true_payloads(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[LoadError, ...]]:
    """Setups that carry the same payload carry the same error of it."""
    true: dict[Payload, Payload] = {}
    errors = []
    for setup in campaign.setups:
        payload = setup.payload
        if payload is None or payload in true or payload.mass_sigma_kg == 0.0:
            continue
        more = max(payload.mass_sigma_kg * float(random.standard_normal()), -payload.mass_kg)
        true[payload] = replace(payload, mass_kg=payload.mass_kg + more)
        errors.append(LoadError(f"payload of {setup.name}", mass_kg=more))
    if not true:
        return campaign, ()
    setups = tuple(
        setup if setup.payload is None else replace(setup, payload=true.get(setup.payload, setup.payload))
        for setup in campaign.setups
    )
    return replace(campaign, setups=setups), tuple(errors)
