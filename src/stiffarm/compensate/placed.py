"""The path at one placement of its part: posture, deflection, its exact value, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.placing import Placements, Placing, at_rest
from stiffarm.compensate.region import GridAxis, Region
from stiffarm.compensate.stiffness_map import Pull
from stiffarm.errors import InputError, Problem
from stiffarm.model.arm_model import Arm
from stiffarm.model.equilibrium import equilibrium
from stiffarm.model.evaluate import predict, sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.model.statics import predict_exact

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlacedPath:
    """The path at one placement."""

    q: Floats
    """(joints, k)"""
    deflection: Floats
    """(k,) m, to first order."""
    exact: Floats
    """(k,) m, loaded minus unloaded at exact equilibrium, weights there; NaN where there is none."""
    sigma_rms: float | None
    """m, standard deviation of the root mean square; None when the model knows no covariance."""


def placed_path(
    model: KnownModel,
    placements: Placements,
    index: int,
    pull: Pull | None = None,
    *,
    free: tuple[str, ...] = (),
    standing: dict[str, float] | None = None,
) -> PlacedPath:
    """The path at one placement that was reached: posture, deflection, its exact value and its uncertainty."""
    if not np.isfinite(placements.start[:, index]).all():
        raise InputError(Problem(f"the part is not reached at placement {index + 1}"))
    part, region = placements.part, at_rest(placements.region, placements.part)
    if not part.pulled and pull is None:
        pull = Pull()
    one = Region(
        tuple(GridAxis(axis.name, region.column(axis.name)[index : index + 1]) for axis in region.axes), region.pointing
    )
    work = Placing(model, part, one, pull, free, standing or {}, placements.judged)
    _, start, path, _ = work.follow(np.array([0]))
    nearest = int(np.argmin(np.abs(start - placements.start[:, index : index + 1]).max(axis=0)))
    q = np.stack([points[:, nearest] for points in path], axis=1)
    whose = np.zeros(1, dtype=np.int64)
    loads = [work.forces(q[:, i : i + 1], whose, i) for i in range(len(part))]
    together = tuple(
        Load(
            same[0].point,
            np.concatenate([load.force_world for load in same], axis=1),
            None if same[0].torque_world is None else np.concatenate([_torque(load) for load in same], axis=1),
        )
        for same in zip(*loads, strict=True)
    )
    seen = part.seen
    state = State(np.ascontiguousarray(q), together)
    deflection = predict(work.arm, state, seen).deflection
    return PlacedPath(
        q, np.linalg.norm(deflection, axis=0), _exactly(work.arm, state, seen), _sigma(model, state, seen, deflection)
    )


def _torque(load: Load) -> Floats:
    return np.zeros_like(load.force_world) if load.torque_world is None else load.torque_world


def _exactly(arm: Arm, state: State, seen: str) -> Floats:
    """(k,) m, loaded minus unloaded at equilibrium."""
    weights = arm.weights()
    ends = []
    for loads in ((*state.loads, *weights), weights):
        at = State(state.q, loads)
        ends.append(predict_exact(arm, at, seen, found=equilibrium(arm, at)).position)
    return np.asarray(np.linalg.norm(ends[0] - ends[1], axis=0))


def _sigma(model: KnownModel, state: State, seen: str, moved: Floats) -> float | None:
    """m, standard deviation of rms = sqrt(mean |u|^2): its derivatives are sum u . du/dv / (k rms)."""
    names = model.covariance_names
    if not names:
        return None
    columns = sensitivity(model.arm(), state, seen, names, deflection=True)[1]
    rms = float(np.sqrt(np.mean(np.sum(moved**2, axis=0))))
    slope = np.einsum("pcn,cn->p", columns, moved) / (moved.shape[1] * max(rms, 1e-300))
    return float(np.sqrt(max(slope @ model.covariance @ slope, 0.0)))
