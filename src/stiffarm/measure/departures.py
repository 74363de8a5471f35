"""What pulls in truth, and where the joints stand, when a campaign states them with an uncertainty.

    true wrench = (1 + gain_sigma g) Exp(direction_sigma r) stated wrench,       g, r: standard normal numbers

drawn once for the campaign, for every setup or for every experiment, as ``[load] shared`` says.  Every payload weighs
its stated mass plus ``mass_sigma`` times one more; a force with a ``sigma.force`` of its own differs by that, and so do
joint values with a ``sigma.q``.  The campaign goes on stating what its file says: the error is what identification
has to reckon with.
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
class Departure:
    """By what the state of a campaign, a setup, an experiment or a payload differs from what is stated."""

    of: str
    """``campaign``, or the name of the setup or experiment, or ``payload of`` a setup."""
    gain: float = 1.0
    turn_rad: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rotation vector in the world."""
    mass_kg: float = 0.0
    """Added to the stated mass of a payload."""
    joints: tuple[float, ...] = ()
    """Added to the stated joint values, rad or m."""


def as_it_was(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[Departure, ...]]:
    """The campaign as it really stood and was loaded, and by what that differs from what it states."""
    found: list[Departure] = []
    for change in (_true_wrenches, _true_payloads, _true_forces, _true_joints):
        campaign, more = change(campaign, random)
        found += more
    return campaign, tuple(found)


def own_force_sigma(campaign: Campaign) -> Floats:
    """(experiments,) the deviation that an experiment states of its force, as a share of the force; 0 = none."""
    experiments = campaign.experiments
    sigma = experiments.sigma_force_n
    size = np.linalg.norm(experiments.wrench_world[:, :3].sum(axis=0), axis=0) if len(experiments) else np.zeros(0)
    if sigma is None or not size.any():
        return np.zeros(len(experiments))
    return np.asarray(np.divide(np.nan_to_num(sigma), size, out=np.zeros_like(size), where=size > 0.0))


def _true_wrenches(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[Departure, ...]]:
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
        Departure(name, float(g), (float(x), float(y), float(z)))
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


def _true_forces(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[Departure, ...]]:
    share, experiments = own_force_sigma(campaign), campaign.experiments
    if not share.any():
        return campaign, ()
    gain = 1.0 + share * random.standard_normal(len(share))
    errors = [Departure(name, float(g)) for name, g, s in zip(experiments.names, gain, share, strict=True) if s > 0.0]
    return replace(campaign, experiments=replace(experiments, wrench_world=gain * experiments.wrench_world)), tuple(
        errors
    )


def _true_joints(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[Departure, ...]]:
    experiments = campaign.experiments
    if experiments.sigma_q is None:
        return campaign, ()
    more = np.nan_to_num(experiments.sigma_q) * random.standard_normal(experiments.q.shape)
    errors = [
        Departure(name, joints=tuple(map(float, moved)))
        for name, moved in zip(experiments.names, more.T, strict=True)
        if moved.any()
    ]
    return replace(campaign, experiments=replace(experiments, q=experiments.q + more)), tuple(errors)


def _true_payloads(campaign: Campaign, random: np.random.Generator) -> tuple[Campaign, tuple[Departure, ...]]:
    """Setups that carry the same payload carry the same error of it."""
    true: dict[Payload, Payload] = {}
    errors = []
    for setup in campaign.setups:
        payload = setup.payload
        if payload is None or payload in true or payload.mass_sigma_kg == 0.0:
            continue
        more = max(payload.mass_sigma_kg * float(random.standard_normal()), -payload.mass_kg)
        true[payload] = replace(payload, mass_kg=payload.mass_kg + more)
        errors.append(Departure(f"payload of {setup.name}", mass_kg=more))
    if not true:
        return campaign, ()
    setups = tuple(
        setup if setup.payload is None else replace(setup, payload=true.get(setup.payload, setup.payload))
        for setup in campaign.setups
    )
    return replace(campaign, setups=setups), tuple(errors)
