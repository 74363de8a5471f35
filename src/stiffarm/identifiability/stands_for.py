"""How well a reduced model stands for the full one: the difference of their deflections over a region of use.

With P the columns of the full parameters at the loads and configurations of use, the reduced model that stands
closest solves min |P (M r + fixed) - P x| over r, in the sum of squares over the region.  What is left is what the
reduction costs by itself, before any noise; beside the noise of a reading it says whether anyone would notice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.design import Design, design_columns, generic_design
from stiffarm.identifiability.question import COMPENSATOR, Question, Wanted
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.parameters import ParameterSet, Values

Floats = NDArray[np.float64]

SAME = 1e-9
"""A share of the deflection that is rounding."""


@dataclass(frozen=True)
class StandsFor:
    """Difference of deflections, reduced less full."""

    rms_m: float
    """Root mean square of its length over the region."""
    worst_m: float
    full_rms_m: float
    """Root mean square of the full model's deflection."""
    sigma_m: float | None
    """Standard deviation of a reading's coordinate it is compared with."""

    @property
    def share(self) -> float:
        """Of the full deflection, root mean squares."""
        return self.rms_m / self.full_rms_m if self.full_rms_m > 0.0 else 0.0

    @property
    def over_noise(self) -> float | None:
        """Root mean square difference over the noise of a reading's length, sigma sqrt(3)."""
        return None if self.sigma_m is None else self.rms_m / (self.sigma_m * 3**0.5)

    def __str__(self) -> str:
        if self.share < SAME:
            return "is the same to rounding"
        text = f"differs by {1e6 * self.rms_m:.3g} um rms, {1e6 * self.worst_m:.3g} um at worst"
        text += f" ({100 * self.share:.2g} % of the deflection)"
        noise = self.over_noise
        return text if noise is None else f"{text}, {noise:.2g} times the noise of a reading"


def stands_for(
    reduced: ParameterSet,
    full_values: Values,
    use_columns: Floats,
    *,
    values: Floats | None = None,
    sigma_m: float | None = None,
) -> StandsFor:
    """Compare a reduced model with the full one.

    ``use_columns`` (points, 3, full parameters) are the full model's over the region of use (`use_columns`);
    ``values`` are those of the reduced unknowns (default: those that stand closest).
    """
    truth = np.array([full_values[p.name] for p in reduced.full])
    rows = use_columns.reshape(-1, use_columns.shape[-1])
    if values is None:
        columns = reduced.columns(rows)
        length = np.linalg.norm(columns, axis=0)
        length[length == 0.0] = 1.0
        target = rows @ (truth - reduced.fixed)
        values = np.linalg.lstsq(columns / length, target, rcond=1e-12)[0] / length
    difference = (rows @ (reduced.expand(values) - truth)).reshape(-1, 3)
    distance = np.linalg.norm(difference, axis=1)
    full = np.linalg.norm((rows @ truth).reshape(-1, 3), axis=1)
    return StandsFor(_rms(distance), float(distance.max(initial=0.0)), _rms(full), sigma_m)


@dataclass(frozen=True)
class Reduced:
    """What a question's reduction leaves, and how well it stands for the full model."""

    rules: tuple[str, ...]
    full: int
    """Compliances of the full model."""
    left: int
    """Of the reduced one."""
    cost: StandsFor | None
    """None where the file states no compliance that the reduction could cost."""


def cost_of_reduction(
    model: ArmModel, rules: tuple[str, ...], design: Design | None = None, sigma_m: float | None = None
) -> Reduced:
    """What a reduced model costs by itself, for the compliances of the robot file.

    ``design`` holds the region of use (default: the workspace under forces and moments in any direction).
    """
    assert model.reduction is not None
    full = elastic_set(model.full)
    reduced = _part(model.reduction, set(full.names))
    values = {p.name: p.nominal for p in full.full}
    links = [name for name in full.names if name.startswith("link")]
    if not any(values[name] for name in links):
        return Reduced(rules, len(full), len(reduced), None)
    if design is None:
        columns = use_columns(model.full, full.names)
    else:
        rows = design_columns(replace(design, pose=False), model.full, full.names, deflection=True)
        columns = rows.reshape(-1, 3, len(full))
    return Reduced(rules, len(full), len(reduced), stands_for(reduced, values, columns, sigma_m=sigma_m))


def elastic_set(model: ArmModel) -> ParameterSet:
    """Every compliance of joints and links, free."""
    return ParameterSet.of([p for p in model.plain_parameters if p.elastic and COMPENSATOR not in p.name])


def _part(reduction: ParameterSet, names: set[str]) -> ParameterSet:
    """The rows of some parameters, with the unknowns that move them."""
    rows = [i for i, p in enumerate(reduction.full) if p.name in names]
    used = np.flatnonzero(reduction.matrix[rows].any(axis=0))
    return ParameterSet(
        tuple(reduction.full[i] for i in rows),
        tuple(reduction.names[i] for i in used),
        reduction.matrix[rows][:, used],
        reduction.fixed[rows],
    )


def use_columns(model: ArmModel, names: tuple[str, ...], question: Question | None = None) -> Floats:
    """(points, 3, parameters) deflections over the workspace: random configurations within the limits and loads."""
    asked = Wanted(model, names, True, False)
    position = question or Question(load="any")
    design = generic_design(model.robot, position, asked)
    rows = design_columns(design, model, names, deflection=True)
    return rows.reshape(-1, 3, len(names))


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
