"""Several campaign files as one campaign.

Names meet in two ways.  Experiments and visits belong to their file: a name that two files use becomes
``file/name`` in each.  Setups, markers, load points and targets are things in the cell: the same name is
the same thing, and what two files say of it must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.measure.campaign import (
    Campaign,
    Experiments,
    Floats,
    Instrument,
    Ints,
    LoadUncertainty,
    Readings,
    Setup,
    SharedError,
    SigmaTable,
)
from stiffarm.measure.frames import FrameFile, Source
from stiffarm.measure.reading import read_campaign
from stiffarm.robot.arm import Robot

T = TypeVar("T")


def read_campaigns(paths: Sequence[Source], robot: Robot | None = None) -> Campaign:
    """Read several campaign files and merge them."""
    if not paths:
        raise InputError(Problem("no campaign file is given", allowed="one or more NAME.campaign.csv"))
    resolved = [path if isinstance(path, FrameFile) else Path(path).resolve() for path in paths]
    for path, same in Counter(resolved).items():
        if same > 1:
            raise InputError(Problem("the file is given twice", file=str(paths[resolved.index(path)])))
    return merge_campaigns([read_campaign(path, robot) for path in paths])


def merge_campaigns(campaigns: Sequence[Campaign]) -> Campaign:
    """One campaign from several of the same joints."""
    if len(campaigns) == 1:
        return campaigns[0]
    _check_joints(campaigns)
    prefixes = _prefixes(campaigns)
    experiment_names = _own_names([c.experiments.names for c in campaigns], prefixes)
    visit_names = _own_names([c.visits for c in campaigns], prefixes)
    renamed = [
        replace(
            c,
            experiments=replace(c.experiments, names=names),
            visits=visits,
            instrument=_renamed_table(c, dict(zip(c.experiments.names, names, strict=True))),
        )
        for c, names, visits in zip(campaigns, experiment_names, visit_names, strict=True)
    ]
    setups = _setups(renamed)
    markers, targets = _union([c.markers for c in renamed]), _union([c.targets for c in renamed])
    warnings = [sentence for c in renamed for sentence in c.warnings]
    return Campaign(
        name="+".join(c.name for c in renamed),
        joints=max((c.joints for c in renamed), key=len),
        experiments=_experiments(renamed),
        readings=_readings(renamed, tuple(s.name for s in setups), markers, targets),
        markers=markers,
        setups=setups,
        visits=tuple(name for c in renamed for name in c.visits),
        targets=targets,
        instrument=_instrument(renamed, warnings),
        shared=_agreed(renamed, "shared", SharedError(), warnings),
        load_uncertainty=_agreed(renamed, "load_uncertainty", LoadUncertainty(), warnings),
        extra=_extra(renamed),
        files=tuple(file for c in renamed for file in c.files),
        warnings=tuple(warnings),
        joint_kinds=max((c.joint_kinds for c in renamed), key=len),
    )


def _check_joints(campaigns: Sequence[Campaign]) -> None:
    for other in campaigns[1:]:
        if other.joints != campaigns[0].joints and other.joints and campaigns[0].joints:
            raise InputError(
                Problem(
                    "the files have different joints",
                    file=_file(other),
                    found=", ".join(other.joints),
                    allowed=f"{', '.join(campaigns[0].joints)} as in {_file(campaigns[0])}",
                )
            )


def _file(campaign: Campaign) -> str:
    return campaign.files[0] if campaign.files else campaign.name


def _prefixes(campaigns: Sequence[Campaign]) -> list[str]:
    """Distinct short names of the files."""
    count = Counter(c.name for c in campaigns)
    seen: Counter[str] = Counter()
    prefixes = []
    for campaign in campaigns:
        seen[campaign.name] += 1
        number = f"#{seen[campaign.name]}" if count[campaign.name] > 1 else ""
        prefixes.append(campaign.name + number)
    return prefixes


def _own_names(names: Sequence[tuple[str, ...]], prefixes: Sequence[str]) -> list[tuple[str, ...]]:
    """Names that belong to their file: ``file/name`` where two files use one."""
    count = Counter(name for own in names for name in own)
    if max(count.values(), default=0) < 2:
        return list(names)
    distinct = [
        tuple(f"{prefix}/{name}" if count[name] > 1 else name for name in own)
        for own, prefix in zip(names, prefixes, strict=True)
    ]
    return _own_names(distinct, prefixes)


def _union(names: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for own in names for name in own))


def _setups(campaigns: Sequence[Campaign]) -> tuple[Setup, ...]:
    """Setups by name; what is given of one in two files must be equal."""
    merged: dict[str, Setup] = {}
    for campaign in campaigns:
        for setup in campaign.setups:
            known = merged.get(setup.name, Setup(setup.name))
            for field in ("placement", "station_m", "payload"):
                ours, theirs = getattr(known, field), getattr(setup, field)
                if ours is not None and theirs is not None and ours != theirs:
                    what = f"the {field.removesuffix('_m')} of setup '{setup.name}' differs between files"
                    raise InputError(Problem(what, file=_file(campaign), found=found_text(theirs), allowed=repr(ours)))
                if ours is None:
                    known = replace(known, **{field: theirs})
            merged[setup.name] = known
    return tuple(merged.values())


def _agreed(campaigns: Sequence[Campaign], field: str, silent: T, warnings: list[str]) -> T:
    """What the files that say something say of ``field``; two that differ are refused."""
    saying = [c for c in campaigns if getattr(c, field) != silent]
    if not saying:
        return silent
    first: T = getattr(saying[0], field)
    words = _WORDS[field]
    for other in saying[1:]:
        if getattr(other, field) != first:
            raise InputError(
                Problem(
                    f"the files differ in {words}",
                    file=_file(other),
                    found=str(getattr(other, field)),
                    allowed=f"{first} as in {_file(saying[0])}",
                    next_step="Write the same settings beside every file",
                )
            )
    if len(saying) < len(campaigns):
        warnings.append(f"{words} of {_file(saying[0])} is taken for the files that do not say it.")
    return first


_WORDS = {
    "instrument": "the instrument",
    "shared": "the error shared between readings",
    "load_uncertainty": "the uncertainty of the load",
}


def _renamed_table(campaign: Campaign, names: dict[str, str]) -> Instrument | None:
    """The instrument, its table under the new names of the experiments."""
    table = campaign.instrument
    if not isinstance(table, SigmaTable):
        return table
    return SigmaTable(tuple(names.get(name, name) for name in table.experiments), table.sigma_m)


def _instrument(campaigns: Sequence[Campaign], warnings: list[str]) -> Instrument | None:
    """The one instrument of all files; tables of single experiments are joined."""
    tables = [c.instrument for c in campaigns if isinstance(c.instrument, SigmaTable)]
    if len(tables) < len(campaigns):
        return _agreed(campaigns, "instrument", None, warnings)
    return SigmaTable(
        tuple(name for table in tables for name in table.experiments),
        tuple(sigma for table in tables for sigma in table.sigma_m),
    )


def _experiments(campaigns: Sequence[Campaign]) -> Experiments:
    joints = max(len(c.joints) for c in campaigns)
    points = _union([c.experiments.load_points for c in campaigns])
    temperatures = dict.fromkeys(name for c in campaigns for name in c.experiments.temperature)

    def joined(field: str, shape: tuple[int, ...]) -> Floats | None:
        parts = [getattr(c.experiments, field) for c in campaigns]
        if all(part is None for part in parts):
            return None
        return _joined(parts, [len(c.experiments) for c in campaigns], shape)

    return Experiments(
        names=tuple(name for c in campaigns for name in c.experiments.names),
        q=_joined(
            [c.experiments.q if c.joints else None for c in campaigns],
            [len(c.experiments) for c in campaigns],
            (joints,),
        ),
        load_points=points,
        wrench_world=np.concatenate([_wrench_at(c.experiments, points) for c in campaigns], axis=2),
        cable_from_m=joined("cable_from_m", (3,)),
        cable_to_m=joined("cable_to_m", (3,)),
        tension_n=joined("tension_n", ()),
        joint_torque=joined("joint_torque", (joints,)),
        encoder=joined("encoder", (joints,)),
        approach=joined("approach", (joints,)),
        temperature={
            name: _joined(
                [c.experiments.temperature.get(name) for c in campaigns], [len(c.experiments) for c in campaigns], ()
            )
            for name in temperatures
        },
        sigma_q=joined("sigma_q", (joints,)),
        sigma_force_n=joined("sigma_force_n", ()),
    )


def _joined(parts: Sequence[Floats | None], counts: Sequence[int], shape: tuple[int, ...]) -> Floats:
    """Parts side by side; NaN where a file does not have the column."""
    filled = [np.full((*shape, n), np.nan) if part is None else part for part, n in zip(parts, counts, strict=True)]
    return np.concatenate(filled, axis=-1)


def _wrench_at(experiments: Experiments, points: tuple[str, ...]) -> Floats:
    """(points, 6, experiments) wrench at the points of all files."""
    wrench = np.zeros((len(points), 6, len(experiments)))
    for own, point in enumerate(experiments.load_points):
        wrench[points.index(point)] = experiments.wrench_world[own]
    return wrench


def _readings(
    campaigns: Sequence[Campaign], setups: tuple[str, ...], markers: tuple[str, ...], targets: tuple[str, ...]
) -> Readings:
    """Readings one after another, their indices turned to the merged names."""
    parts: list[Readings] = []
    experiments = visits = 0
    for c in campaigns:
        own = c.readings
        target = _translation(c.targets, targets)
        parts.append(
            replace(
                own,
                experiment=own.experiment + experiments,
                reference=np.where(own.reference >= 0, own.reference + experiments, -1),
                visit=np.where(own.visit >= 0, own.visit + visits, -1),
                setup=_translation(tuple(s.name for s in c.setups), setups)[own.setup],
                marker=_translation(c.markers, markers)[own.marker],
                target=target[own.target],
                target2=target[own.target2],
            )
        )
        experiments += len(c.experiments)
        visits += len(c.visits)
    return Readings(**{f.name: np.concatenate([getattr(p, f.name) for p in parts], axis=-1) for f in fields(Readings)})


def _translation(own: tuple[str, ...], merged: tuple[str, ...]) -> Ints:
    """Merged index of every own index; the last entry keeps -1 what it is."""
    index = {name: i for i, name in enumerate(merged)}
    return np.array([*(index[name] for name in own), -1], dtype=np.int64)


def _extra(campaigns: Sequence[Campaign]) -> dict[str, tuple[str, ...]]:
    headers = dict.fromkeys(header for c in campaigns for header in c.extra)
    return {
        header: tuple(cell for c in campaigns for cell in c.extra.get(header, ("",) * len(c.readings)))
        for header in headers
    }
