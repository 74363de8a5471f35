"""A plan's campaign in the order of a shift: the file that is filled in and identified.

Every visit is a stop of its own with a number (`sequence`).  Visits of one stop from other sides are other experiments
(rows of an experiment share their state), and returns to the reference are experiments of their own, so that they are
fitted like every other stop and can be compared.

A deflection is read as two positions, unloaded and loaded, without moving in between; the loaded row names the unloaded
one as its ``reference``, and `stiffarm identify` subtracts.  Each of the two then has 1/sqrt(2) of the deviation that
the plan states of a deflection.
"""

from __future__ import annotations

import string
from dataclasses import dataclass, replace

import numpy as np

from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Floats, Ints
from stiffarm.measure.columns import POSE
from stiffarm.measure.subset import with_readings
from stiffarm.plan.problem import Shift
from stiffarm.units import UNITS

UNLOADED = ".unloaded"
REFERENCE = "ref"
TO_FILL = {"position": "mm mm mm", "deflection": "mm mm mm", "pose": "mm mm mm rad rad rad"}
DECIMALS = 6


@dataclass(frozen=True, eq=False)
class _Visited:
    """Experiments of the new campaign: which of the plan each is, how it is named and approached."""

    of: Ints
    names: tuple[str, ...]
    side: Floats
    at: Ints
    """(visits,) experiment of every visit."""
    repeat: Ints
    """(visits,) which visit of its experiment it is, from 1."""


def driven(planned: Campaign, shift: Shift, *, pairs: bool = True) -> Campaign:
    """The planned campaign, one row a marker and reading, visit by visit; joint values and loads are the plan's.

    ``planned`` has one experiment a stop of the shift, in the same order.  ``pairs``: deflections are read as two
    positions.
    """
    visited = _visited(planned, shift)
    source = [_rows_of(planned, s) for s in shift.stop]
    rows, visit = np.concatenate(source), np.repeat(np.arange(len(shift)), [len(part) for part in source])
    base = with_readings(replace(planned, extra={}), rows)
    readings = replace(
        base.readings,
        experiment=visited.at[visit],
        repeat=visited.repeat[visit],
        visit=visit,
        sequence=visit.astype(np.float64) + 1.0,
        value=np.full_like(base.readings.value, np.nan),
    )
    experiments = _experiments(planned.experiments, visited)
    visits = tuple(f"v{v + 1:0{max(2, len(str(len(shift))))}d}" for v in range(len(shift)))
    campaign = replace(base, experiments=experiments, readings=readings, visits=visits)
    if pairs and base.kind("deflection").any():
        campaign = _as_pairs(campaign)
    rows = np.arange(len(campaign.readings)) + 2
    return replace(campaign, readings=replace(campaign.readings, row=rows), files=(), warnings=())


def _rows_of(planned: Campaign, stop: int) -> Ints:
    """Rows of the first repeat of a stop."""
    readings = planned.readings
    mine = np.flatnonzero(readings.experiment == stop)
    return np.asarray(mine[readings.repeat[mine] == readings.repeat[mine].min()])


def _visited(planned: Campaign, shift: Shift) -> _Visited:
    """Visits of one stop from one side are one experiment."""
    known: dict[tuple[int, bool, bytes], int] = {}
    letters: dict[tuple[int, bool], int] = {}
    of: list[int] = []
    names: list[str] = []
    side: list[Floats] = []
    at: list[int] = []
    repeat: list[int] = []
    sided = bool(np.isfinite(shift.side).any())
    count: dict[int, int] = {}
    for v, stop in enumerate(shift.stop.tolist()):
        reference = bool(shift.reference[v])
        key = (stop, reference, np.nan_to_num(shift.side[:, v]).tobytes())
        if key not in known:
            known[key] = len(of)
            letter = letters.setdefault((stop, reference), -1) + 1
            letters[stop, reference] = letter
            name = REFERENCE if reference else planned.experiments.names[stop]
            names.append(name + (string.ascii_lowercase[letter] if sided and not reference else ""))
            of.append(stop)
            side.append(shift.side[:, v])
        at.append(known[key])
        count[at[-1]] = count.get(at[-1], 0) + 1
        repeat.append(count[at[-1]])
    return _Visited(np.array(of), tuple(names), np.array(side).T, np.array(at), np.array(repeat))


def _experiments(planned: Experiments, visited: _Visited) -> Experiments:
    """Those of the plan, some several times."""
    side = visited.side if np.isfinite(visited.side).any() else None
    return replace(taken(planned, visited.of), names=visited.names, approach=side)


def taken(experiments: Experiments, which: Ints) -> Experiments:
    """Some of the experiments, names included."""

    def some(values: Floats | None) -> Floats | None:
        return None if values is None else values[..., which]

    return replace(
        experiments,
        names=tuple(experiments.names[i] for i in which),
        q=experiments.q[:, which],
        wrench_world=experiments.wrench_world[..., which] if experiments.load_points else np.zeros((0, 6, len(which))),
        cable_from_m=some(experiments.cable_from_m),
        cable_to_m=some(experiments.cable_to_m),
        tension_n=some(experiments.tension_n),
        joint_torque=some(experiments.joint_torque),
        encoder=some(experiments.encoder),
        approach=some(experiments.approach),
        temperature={name: values[which] for name, values in experiments.temperature.items()},
        sigma_q=some(experiments.sigma_q),
        sigma_force_n=some(experiments.sigma_force_n),
    )


def _as_pairs(campaign: Campaign) -> Campaign:
    """Every deflection as an unloaded and a loaded position, all unloaded ones of a visit first."""
    n, count, visit = len(campaign.readings), len(campaign.experiments), campaign.readings.visit
    order = np.argsort(np.concatenate([2 * visit, 2 * visit + 1]), kind="stable")
    unloaded = order < n
    base = with_readings(campaign, order % n)
    experiment = base.readings.experiment
    changed = replace(
        base.readings,
        experiment=np.where(unloaded, experiment + count, experiment),
        kind=np.full(2 * n, OBSERVATIONS.index("position")),
        reference=np.where(unloaded, -1, experiment + count),
        sigma=base.readings.sigma / np.sqrt(2.0),
    )
    return replace(base, experiments=_doubled(campaign.experiments), readings=changed)


def _doubled(experiments: Experiments) -> Experiments:
    """Every experiment, then every one again without its load."""
    count = len(experiments)
    whole = taken(experiments, np.arange(2 * count) % count)
    off = np.arange(2 * count) >= count

    def loaded(values: Floats | None) -> Floats | None:
        return None if values is None else np.where(off, np.nan, values)

    return replace(
        whole,
        names=(*experiments.names, *(name + UNLOADED for name in experiments.names)),
        wrench_world=np.where(off, 0.0, whole.wrench_world),
        cable_from_m=loaded(whole.cable_from_m),
        cable_to_m=loaded(whole.cable_to_m),
        tension_n=loaded(whole.tension_n),
    )


def to_fill(campaign: Campaign, shift: Shift, kind: str) -> Campaign:
    """The campaign with empty columns for what is read at last; ``kind`` is that of the plan's readings.

    Where sides matter, columns ``before.<joint>`` say where to wait.
    """
    blank = ("",) * len(campaign.readings)
    headers = [f"{name}[{unit}]" for name, unit in zip(POSE, TO_FILL[kind].split(), strict=False)]
    return replace(campaign, extra={**waiting(campaign, shift), "time[s]": blank, **dict.fromkeys(headers, blank)})


def waiting(campaign: Campaign, shift: Shift) -> dict[str, tuple[str, ...]]:
    """Where to wait, in degrees and millimetres, by header; nothing when no side matters."""
    if not np.isfinite(shift.side).any():
        return {}
    columns = {}
    for j, (joint, kind) in enumerate(zip(campaign.joints, campaign.joint_kinds, strict=True)):
        unit = "deg" if kind == "revolute" else "mm"
        values = shift.before[j, campaign.readings.visit] / UNITS[unit].factor
        shown = np.round(values, DECIMALS) + 0.0
        columns[f"before.{joint}[{unit}]"] = tuple(np.format_float_positional(v, trim="-") for v in shown)
    return columns
