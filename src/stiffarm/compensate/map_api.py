"""`stiffarm.map`, `.place` and `.conforms`: where an arm is stiff, where a part goes, what a path keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from stiffarm.compensate.given import ModelLike, estimate_of, model_of
from stiffarm.measure.frames import TableLike, source_of

if TYPE_CHECKING:
    from pathlib import Path

    from stiffarm.compensate.conformity import Conformity
    from stiffarm.compensate.placing import Judged, Placements
    from stiffarm.compensate.stiffness_map import DeflectionMap, Pull
    from stiffarm.identify.estimate import Estimate
    from stiffarm.measure.campaign import Campaign


def map(
    model: ModelLike,
    over: str | None = None,
    *,
    tool: str = "down",
    force_n: float | Sequence[float] = 1000.0,
    force_frame: Literal["world", "tool"] = "world",
    load_point: str = "tool",
    marker: str = "tool",
    free: Sequence[str] = (),
    hold: Mapping[str, float] | None = None,
) -> DeflectionMap:
    """How far the tool gives way at every place of a region: ``over="x=1..2/11,y=0,z=0.5..1/6[m]"``.

    ``force_n`` is a size, taken in the worst direction of each place, or three components; ``hold`` has values (rad, m)
    of joints that stand still.
    """
    from dataclasses import replace

    from stiffarm.compensate.choices import standing_joints
    from stiffarm.compensate.region import read_pointing, read_region, section_of
    from stiffarm.compensate.stiffness_map import deflection_map

    known, standing = model_of(model), dict(hold or {})
    if over is None:
        arm = known.arm()
        region = replace(section_of(arm, standing_joints(arm, True, free, standing)), pointing=read_pointing(tool))
    else:
        region = read_region(over, known.robot, tool)
    pull = _pull(force_n, force_frame, load_point, marker)
    return deflection_map(known, region, pull, free=tuple(free), standing=standing)


def place(
    model: ModelLike,
    path: TableLike,
    over: str,
    *,
    force_n: float | Sequence[float] | None = None,
    free: Sequence[str] = (),
    hold: Mapping[str, float] | None = None,
    by: Judged = "rms",
) -> Placements:
    """A path put to every place of a region and judged as a whole; ``.best`` is the index of the best placement.

    Its loads are those of the path; ``force_n`` stands for them where it states none.
    """
    from stiffarm.compensate.placing import Part, place_part
    from stiffarm.compensate.region import read_region
    from stiffarm.compensate.wishing import wish_of
    from stiffarm.measure.paths import read_path

    known = model_of(model)
    source = read_path(source_of(path), known.robot)
    part = Part.of(wish_of(source, known.nominal()).wished, source.row)
    pull = None if force_n is None else _pull(force_n, "world", "tool", "tool")
    region = read_region(over, known.robot, needs=())
    return place_part(known, part, region, pull, free=tuple(free), standing=dict(hold or {}), judged=by)


def conforms(
    model: Estimate | str | Path,
    campaign: Campaign | TableLike | Sequence[TableLike],
    path: TableLike,
    limit_m: float,
    *,
    risk: float = 0.05,
    seed: int = 0,
) -> Conformity:
    """Whether a path, run corrected, keeps a limit: judged on readings that were not fitted (JCGM 106)."""
    from stiffarm.compensate.api import validate
    from stiffarm.compensate.asked import read_asked
    from stiffarm.compensate.conformity import conformity

    told = validate(model, campaign)
    known = model_of(estimate_of(model))
    return conformity(known, read_asked(source_of(path), known.nominal()), told, limit_m, risk=risk, seed=seed)


def _pull(force_n: float | Sequence[float], frame: Literal["world", "tool"], load_point: str, marker: str) -> Pull:
    """A size, or three components."""
    from stiffarm.compensate.stiffness_map import Pull
    from stiffarm.errors import InputError, Problem

    values = (float(force_n),) if isinstance(force_n, int | float) else tuple(float(f) for f in force_n)
    size = sum(f * f for f in values) ** 0.5
    if len(values) not in (1, 3) or not 0.0 < size < float("inf") or (len(values) == 1 and values[0] < 0.0):
        allowed = "a size in N, or three components"
        raise InputError(Problem("this is no force", column="force_n", found=repr(force_n), allowed=allowed))
    if len(values) == 1:
        return Pull(size, None, frame, load_point, marker)
    x, y, z = (f / size for f in values)
    return Pull(size, (x, y, z), frame, load_point, marker)
