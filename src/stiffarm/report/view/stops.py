"""The poses of a plan, a campaign or a path, one after the other, with what pulls in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.asked import Asked as AskedRows
from stiffarm.compensate.asked import read_asked
from stiffarm.compensate.model_file import KnownModel
from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import OBSERVATIONS, Campaign
from stiffarm.measure.frames import TableLike, source_of
from stiffarm.measure.paths import read_plan_or_path
from stiffarm.report.view.scene import Asked, Pull
from stiffarm.robot.arm import Vector3

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stops:
    """Where the arm stands, one after the other; the batch axis is last."""

    file: str
    names: tuple[str, ...]
    q: Floats
    """(joints, stops) controller values, rad or m."""
    load_points: tuple[str, ...]
    wrench_world: Floats
    """(load points, 6, stops) N and N m."""
    attachment: Floats | None
    """(3, stops) where a pulling cable is fastened, m, world; NaN where there is none."""
    weights: NDArray[np.bool_]
    """(stops,) False where only deflections are read, which feel the external load alone."""
    payload: tuple[tuple[float, Vector3] | None, ...]

    def __len__(self) -> int:
        return len(self.names)

    def pulls(self, i: int) -> tuple[Pull, ...]:
        """What pulls at one stop."""
        return tuple(
            Pull(name, wrench[:3, i], wrench[3:, i])
            for name, wrench in zip(self.load_points, self.wrench_world, strict=True)
            if wrench[:, i].any()
        )

    def asked(self, i: int) -> Asked:
        """One stop as it is planned."""
        return Asked(np.ascontiguousarray(self.q[:, i]), self.pulls(i), bool(self.weights[i]), self.payload[i])


def stops_from(given: Campaign | TableLike, known: KnownModel) -> Stops:
    """The stops of a plan, campaign or path, as an object, file or table; `InputError` when none has joint values."""
    stops = _stops_from(given, known)
    if not len(stops):
        raise InputError(Problem("no row says where the joints are", file=stops.file))
    return stops


def _stops_from(given: Campaign | TableLike, known: KnownModel) -> Stops:
    if isinstance(given, Campaign):
        return stops_of(given)
    source = source_of(given)
    found = read_plan_or_path(source, known.robot)
    return stops_of(found) if isinstance(found, Campaign) else _of_path(read_asked(source, known.nominal()))


def stops_of(campaign: Campaign) -> Stops:
    """One stop for every experiment with joint values."""
    e, readings = campaign.experiments, campaign.readings
    keep = np.flatnonzero(np.isfinite(e.q).all(axis=0))
    deflection = readings.kind == OBSERVATIONS.index("deflection")
    weights = np.zeros(len(e), dtype=bool)
    np.logical_or.at(weights, readings.experiment, ~deflection)
    setup = np.full(len(e), -1, dtype=np.int64)
    setup[readings.experiment] = readings.setup
    payloads = [campaign.setups[s].payload if s >= 0 else None for s in setup[keep]]
    return Stops(
        campaign.files[0] if campaign.files else campaign.name,
        tuple(e.names[i] for i in keep),
        e.q[:, keep],
        e.load_points,
        e.wrench_world[:, :, keep],
        None if e.cable_to_m is None else e.cable_to_m[:, keep],
        weights[keep],
        tuple(None if p is None else (p.mass_kg, p.com_m) for p in payloads),
    )


def _of_path(rows: AskedRows) -> Stops:
    names = tuple(f"row {row}" for row in rows.row)
    weighs = np.ones(len(rows), dtype=bool)
    return Stops(rows.file, names, rows.q, rows.load_points, rows.wrench_world, None, weighs, (None,) * len(names))
