"""What a campaign knows of instrument, shared errors, loads and setups, as the text of a settings file.

Every number is written so that it reads back exactly, in a unit that suits it (``"0.03 mm"``); coordinates
are bare numbers in mm where that is exact and quantities otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from stiffarm.measure.campaign import (
    Campaign,
    Instrument,
    Isotropic,
    LoadUncertainty,
    Setup,
    SharedError,
    SigmaTable,
    Spherical,
    Tracker,
)
from stiffarm.measure.settings import FORMAT, MILLIMETRE
from stiffarm.units import UNITS


def settings_text(campaign: Campaign) -> str:
    """Text of `NAME.campaign.toml`; empty when there is nothing to say."""
    blocks = []
    if campaign.instrument is not None:
        blocks.append(["[instrument]", *_instrument(campaign.instrument)])
    if campaign.shared != SharedError():
        shared = campaign.shared
        rows = [f"translation = {_length(shared.translation_m)}", f"rotation = {_angle(shared.rotation_rad)}"]
        blocks.append(["[shared]", *rows])
    if campaign.load_uncertainty != LoadUncertainty():
        load = campaign.load_uncertainty
        direction = f"direction_sigma = {_angle(load.direction_sigma_rad)}"
        blocks.append(["[load]", f"gain_sigma = {load.gain_sigma!r}", direction, f'shared = "{load.shared}"'])
    blocks += [_setup(setup) for setup in campaign.setups if setup != Setup(setup.name)]
    if not blocks:
        return ""
    return "\n\n".join("\n".join(block) for block in ([f'format = "{FORMAT}"'], *blocks)) + "\n"


def _instrument(instrument: Instrument) -> list[str]:
    match instrument:
        case Isotropic(sigma, rotation):
            rows = ['type = "isotropic"', f"sigma = {_length(sigma)}"]
            return rows if rotation is None else [*rows, f"sigma_rotation = {_angle(rotation)}"]
        case Spherical(sigma):
            return ['type = "spherical"', f"sigma = {_length(sigma)}"]
        case Tracker(constant, per_metre, angle):
            return ['type = "tracker"', f"range = [{_length(constant)}, {per_metre!r}]", f"angle = {_angle(angle)}"]
        case SigmaTable(experiments, sigmas):
            rows = [
                f"{_key(name)} = [{', '.join(map(_length, sigma))}]"
                for name, sigma in zip(experiments, sigmas, strict=True)
            ]
            return ['type = "table"', "", "[instrument.table]", *rows]


def _length(metres: float) -> str:
    """A length in quotes, in the first unit in which it is a plain decimal that reads back exactly.

    >>> _length(3e-05), _length(0.25)
    ('"0.03 mm"', '"250 mm"')
    """
    return _quantity(metres, ("mm", "um", "m"))


def _angle(radians: float) -> str:
    return _quantity(radians, ("mrad", "urad", "rad"))


def _quantity(si: float, units: Sequence[str]) -> str:
    for unit in units:
        number = float(f"{si / UNITS[unit].factor:.15g}")
        if UNITS[unit].to_si(number) == si and "e" not in repr(number):
            return f'"{repr(number).removesuffix(".0")} {unit}"'
    return f'"{si!r} {units[-1]}"'


def _setup(setup: Setup) -> list[str]:
    rows = [f"[setup.{_key(setup.name)}]"]
    if setup.placement is not None:
        rows += [f"xyz = {_point(setup.placement.xyz)}", f"rpy = {list(setup.placement.rpy)!r}"]
    if setup.station_m is not None:
        rows.append(f"station = {_point(setup.station_m)}")
    if setup.payload is not None:
        payload = setup.payload
        com = _point(payload.com_m)
        rows.append(f"payload = {{ mass = {payload.mass_kg!r}, com = {com}, mass_sigma = {payload.mass_sigma_kg!r} }}")
    return rows


def _point(xyz: Sequence[float]) -> str:
    """Millimetres where they read back exactly, else a quantity in metres."""
    texts = []
    for metres in xyz:
        millimetres = round(metres / MILLIMETRE, 9)
        exact = millimetres * MILLIMETRE == metres
        texts.append(repr(millimetres) if exact else _length(metres))
    return f"[{', '.join(texts)}]"


def _key(name: str) -> str:
    """A name as a quoted TOML key."""
    return json.dumps(name, ensure_ascii=False)
