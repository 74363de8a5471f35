"""What a campaign knows of instrument, shared errors, loads and setups, as the text of a settings file.

Every number is written so that it reads back exactly: quantities in SI (``"3e-05 m"``), coordinates in mm
where that is exact and as a quantity in m otherwise.
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


def settings_text(campaign: Campaign) -> str:
    """Text of `NAME.campaign.toml`; empty when there is nothing to say."""
    blocks = []
    if campaign.instrument is not None:
        blocks.append(["[instrument]", *_instrument(campaign.instrument)])
    if campaign.shared != SharedError():
        shared = campaign.shared
        rows = [f'translation = "{shared.translation_m!r} m"', f'rotation = "{shared.rotation_rad!r} rad"']
        blocks.append(["[shared]", *rows])
    if campaign.load_uncertainty != LoadUncertainty():
        load = campaign.load_uncertainty
        direction = f'direction_sigma = "{load.direction_sigma_rad!r} rad"'
        blocks.append(["[load]", f"gain_sigma = {load.gain_sigma!r}", direction, f'shared = "{load.shared}"'])
    blocks += [_setup(setup) for setup in campaign.setups if setup != Setup(setup.name)]
    if not blocks:
        return ""
    return "\n\n".join("\n".join(block) for block in ([f'format = "{FORMAT}"'], *blocks)) + "\n"


def _instrument(instrument: Instrument) -> list[str]:
    match instrument:
        case Isotropic(sigma, rotation):
            rows = ['type = "isotropic"', f'sigma = "{sigma!r} m"']
            return rows if rotation is None else [*rows, f'sigma_rotation = "{rotation!r} rad"']
        case Spherical(sigma):
            return ['type = "spherical"', f'sigma = "{sigma!r} m"']
        case Tracker(constant, per_metre, angle):
            return ['type = "tracker"', f'range = ["{constant!r} m", {per_metre!r}]', f'angle = "{angle!r} rad"']
        case SigmaTable(experiments, sigmas):
            rows = [f"{_key(name)} = [{_metres(sigma)}]" for name, sigma in zip(experiments, sigmas, strict=True)]
            return ['type = "table"', "", "[instrument.table]", *rows]


def _metres(values: Sequence[float]) -> str:
    return ", ".join(f'"{value!r} m"' for value in values)


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
        texts.append(repr(millimetres) if exact else f'"{metres!r} m"')
    return f"[{', '.join(texts)}]"


def _key(name: str) -> str:
    """A name as a quoted TOML key."""
    return json.dumps(name, ensure_ascii=False)
