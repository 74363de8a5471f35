"""What a map and the placements of a part answer: rows for a table, one object for machines, best and worst."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.placed import PlacedPath
from stiffarm.compensate.placing import Placements
from stiffarm.compensate.region import PLACES, TURN, Region
from stiffarm.compensate.stiffness_map import STATUS, STIFF, DeflectionMap
from stiffarm.measure.writing import Cells
from stiffarm.model.equilibrium import equilibrium
from stiffarm.model.loads import Load, State
from stiffarm.model.statics import predict_exact
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]


def unit_of(name: str, robot: Robot) -> str:
    """SI unit of an axis of a region.

    >>> from stiffarm.robot.reading import read_robot
    >>> rail = read_robot("kr500-rail")
    >>> [unit_of(name, rail) for name in ("x", "turn", rail.joint_names[0], rail.joint_names[1])]
    ['m', 'rad', 'm', 'rad']
    """
    if name in PLACES:
        return "m"
    return "rad" if name == TURN or robot.joints[robot.joint_index(name)].kind == "revolute" else "m"


def place(region: Region, robot: Robot, index: int) -> dict[str, float]:
    """Values of every axis at a place, by header, SI."""
    return {f"{name}[{unit_of(name, robot)}]": float(region.column(name)[index]) for name in region.names}


def joints(q: Floats, robot: Robot) -> dict[str, float]:
    """Joint values by header, SI."""
    return {f"q.{name}[{unit_of(name, robot)}]": float(v) for name, v in zip(robot.joint_names, q, strict=True)}


def at_edge(region: Region, index: int) -> tuple[str, ...]:
    """Axes at whose end a place lies: it may be better beyond."""
    where = np.unravel_index(index, region.shape)
    ends = zip(region.axes, where, region.shape, strict=True)
    return tuple(axis.name for axis, i, n in ends if n > 1 and int(i) in (0, n - 1))


def exact_deflection(model: KnownModel, found: DeflectionMap, index: int) -> float:
    """m, loaded minus unloaded at exact equilibrium under the whole force."""
    arm, q = model.arm(), np.ascontiguousarray(found.q[:, index : index + 1])
    force = np.ascontiguousarray(found.force_world[:, index : index + 1])
    pull = Load(arm.chain.point(found.pull.load_point), force)
    ends = []
    for loads in ((pull, *arm.weights()), arm.weights()):
        state = State(q, loads)
        ends.append(predict_exact(arm, state, found.pull.seen, found=equilibrium(arm, state)).position)
    return float(np.linalg.norm(ends[0] - ends[1]))


def map_columns(found: DeflectionMap, robot: Robot) -> dict[str, Cells]:
    """One row for every place."""
    region = found.region
    columns: dict[str, Cells] = {f"{n}[{unit_of(n, robot)}]": region.column(n) for n in region.names}
    columns |= {"deflection[m]": found.deflection, "stiffness[N/m]": found.stiffness}
    if found.sigma is not None:
        columns["sigma[m]"] = found.sigma
    columns |= dict(zip(("dx[m]", "dy[m]", "dz[m]"), found.moved_world, strict=True))
    columns |= dict(zip(("force.x[N]", "force.y[N]", "force.z[N]"), found.force_world, strict=True))
    own = {f"q.{name}[{unit_of(name, robot)}]": q for name, q in zip(robot.joint_names, found.q, strict=True)}
    columns |= own | {"spread": found.spread, "postures": found.postures}
    return columns | {"status": [STATUS[i] for i in found.status]}


def map_place(model: KnownModel, found: DeflectionMap, index: int) -> dict[str, Any]:
    """One place in full."""
    sigma = None if found.sigma is None else float(found.sigma[index])
    return {
        "place": place(found.region, model.robot, index),
        "deflection[m]": float(found.deflection[index]),
        "sigma[m]": sigma,
        "exact[m]": exact_deflection(model, found, index),
        "stiffness[N/m]": float(found.stiffness[index]),
        "force[N]": [float(f) for f in found.force_world[:, index]],
        "joints": joints(found.q[:, index], model.robot),
        "at_edge": list(at_edge(found.region, index)),
    }


def map_document(model: KnownModel, found: DeflectionMap) -> dict[str, Any]:
    """The whole map, SI; lists have one entry for every place, the first axis varying slowest."""
    region, best, worst = found.region, found.best, found.worst
    return {
        **_asked(region, model.robot),
        "tool": region.pointing if isinstance(region.pointing, str) else list(region.pointing),
        "force[N]": found.pull.force_n,
        "direction": "worst" if found.pull.direction is None else list(found.pull.direction),
        "force_frame": found.pull.frame,
        "load_point": found.pull.load_point,
        "marker": found.pull.seen,
        **_counts(found.status),
        "deflection[m]": found.deflection,
        "sigma[m]": found.sigma,
        "status": [STATUS[i] for i in found.status],
        "best": None if best is None else map_place(model, found, best),
        "worst": None if worst is None else map_place(model, found, worst),
        "notes": list(found.notes),
    }


def _asked(region: Region, robot: Robot) -> dict[str, Any]:
    axes = [{"name": a.name, "unit": unit_of(a.name, robot), "values": a.values} for a in region.axes]
    return {"axes": axes, "shape": list(region.shape), "places": len(region)}


def _counts(status: NDArray[np.int64]) -> dict[str, int]:
    count = np.bincount(status, minlength=len(STATUS))
    return {"reached": int(count[STIFF]), **{w.replace(" ", "_"): int(count[i]) for i, w in enumerate(STATUS) if i}}


def placement_columns(found: Placements, robot: Robot) -> dict[str, Cells]:
    """One row for every placement."""
    region = found.region
    columns: dict[str, Cells] = {f"{n}[{unit_of(n, robot)}]": region.column(n) for n in region.names}
    columns |= dict(zip(("shift.x[m]", "shift.y[m]", "shift.z[m]"), found.shift, strict=True))
    columns |= {"rms[m]": found.rms, "worst[m]": found.worst, "postures": found.postures}
    return columns | {"status": [STATUS[i] for i in found.status], "failed_row": found.failed_row}


def placement(model: KnownModel, found: Placements, index: int, path: PlacedPath | None) -> dict[str, Any]:
    """One placement in full; ``path`` is what the arm does there."""
    more: dict[str, Any] = {}
    if path is not None:
        squares = path.exact**2
        more = {
            "exact_rms[m]": float(np.sqrt(np.mean(squares))),
            "exact_worst[m]": float(path.exact.max()),
            "sigma_rms[m]": path.sigma_rms,
            "joints": joints(path.q[:, 0], model.robot),
        }
    return {
        "place": place(found.region, model.robot, index),
        "middle[m]": [float(v) for v in found.position_world[:, index]],
        "shift[m]": [float(v) for v in found.shift[:, index]],
        "turn[rad]": float(found.turn[index]),
        "rms[m]": float(found.rms[index]),
        "worst[m]": float(found.worst[index]),
        "status": STATUS[int(found.status[index])],
        **more,
        "at_edge": list(at_edge(found.region, index)),
    }


def placement_document(
    model: KnownModel, found: Placements, path: PlacedPath | None, here: Placements
) -> dict[str, Any]:
    """All placements, SI, in the order of the region's places; ``here`` is the part where the file has it."""
    best = found.best
    return {
        **_asked(found.region, model.robot),
        "judged": found.judged,
        "points": len(found.part),
        "points_of_path": found.part.whole,
        **_counts(found.status),
        "rms[m]": found.rms,
        "worst[m]": found.worst,
        "status": [STATUS[i] for i in found.status],
        "failed_row": found.failed_row,
        "here": placement(model, here, 0, None),
        "best": None if best is None else placement(model, found, best, path),
        "notes": list(found.notes),
    }
