"""The scale of all lengths, which touches cannot see.

Every length of the arm and its tool times 1 + s, every compliance over 1 + s, and the arm touches the same things,
only that much farther away: to touches alone s is a null direction.  Worse, the sum of squares itself shrinks with the
arm and is least when all lengths are zero, so that a free fit of measured touches drifts there.  One known distance, a
sphere of known radius, or anything an instrument read tells s.  Without any, s is held:

    h.(x - nominal) = 0,      h_i = (l_i / sigma_i^2) / sum_j (l_j / sigma_j)^2

over the arm's lengths l_i that are fitted, with sigma_i what is known of each before measuring (its ``[[prior]]``, or
`LENGTH_SIGMA_M`).  h.(x - nominal) is the estimate of s that these make, with standard deviation
sigma_s = (sum (l_i / sigma_i)^2)^-1/2.  The direction in which the unknowns follow s is

    v = argmin |A v|  subject to  h.v = 1,      and every interval gets its share of      sigma_s^2 v v'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import LinearProblem
from stiffarm.identify.system import System
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.chain import drawing

Floats = NDArray[np.float64]

LENGTH_SIGMA_M = 0.5e-3
"""How well a length of an arm is known from its drawing when no prior says it (m)."""
UNSEEN = 1e-9
"""Columns shorter than this, relative to the longest, move nothing."""
FIRMNESS = 10.0
"""Weight of the row that holds the scale, relative to the longest column of a length it holds."""


@dataclass(frozen=True, eq=False)
class Scale:
    """The scale of an arm's lengths as a direction among the unknowns."""

    row: Floats
    """(parameters,) h, 1/m"""
    sigma: float
    """Standard deviation of s before measuring."""

    @classmethod
    def of(cls, model: ArmModel, names: Sequence[str], priors: Mapping[str, float], columns: Floats) -> Scale | None:
        """Over those of the named parameters that are lengths of the arm and move any row; None when there is none.

        ``columns`` (rows, parameters and more) are the derivatives by the named parameters.
        """
        length = lengths_of(model)
        moving = np.sqrt(np.einsum("ij,ij->j", columns, columns))[: len(names)]
        l_m = np.array([length.get(name, 0.0) for name in names]) * (moving > UNSEEN * moving.max(initial=0.0))
        sigma = np.array([priors.get(name, LENGTH_SIGMA_M) for name in names])
        total = float(np.sum((l_m / sigma) ** 2))
        return cls(l_m / sigma**2 / total, total**-0.5) if total > 0.0 else None

    def held_row(self, white: Floats) -> Floats:
        """(unknowns,) h, made firm beside white rows (rows, unknowns) of the problem."""
        n = len(self.row)
        longest = np.sqrt(np.max(np.sum(white[:, :n] ** 2, axis=0) * (self.row != 0.0)))
        return np.concatenate([self.row * FIRMNESS * longest / np.abs(self.row).max(), np.zeros(white.shape[1] - n)])

    def direction(self, white: Floats) -> Floats:
        """(unknowns,) v: how the unknowns follow the scale where nothing else tells."""
        firm = self.held_row(white)
        right = np.append(np.zeros(len(white)), np.max(np.abs(firm)) / np.abs(self.row).max())
        rows = np.vstack([white, firm])
        length = np.linalg.norm(rows, axis=0)
        length[length == 0.0] = 1.0
        return np.asarray(np.linalg.lstsq(rows / length, right, rcond=None)[0] / length)

    def seen_sigma(self, white: Floats) -> float:
        """Standard deviation of s that white rows of unit errors tell by themselves."""
        v = self.direction(white)
        size = float(np.linalg.norm(white @ v))
        return np.inf if size == 0.0 else 1.0 / size


def lengths_of(model: ArmModel) -> dict[str, float]:
    """Lengths (m) of the arm by the parameter that corrects each; those that are zero are none."""
    found = {}
    for joint, before in zip(model.robot.joints, drawing(model.robot).before, strict=True):
        own = before.rotation.T @ before.translation
        largest = float(np.abs(before.translation).max())
        for axis, size in zip("xyz", own, strict=True):
            if abs(size) > 1e-9 * largest:
                found[f"{joint.name}.{axis}"] = float(size)
    return found


def tells_scale(system: System) -> bool:
    """Whether anything of known length was read or stated."""
    targets = system.contacts.targets
    radii = any(target.radius_m is not None for target in targets.targets)
    return bool(targets.links) or radii or bool(system.campaign.placed.any())


def with_scale(found: LinearEstimate, problem: LinearProblem, scale: Scale) -> tuple[LinearEstimate, Floats]:
    """The estimate with what is not known of the scale in it, and the part of the covariance that is.

    Degrees of freedom are those of a sum of an estimated variance and a known one (Welch, Satterthwaite).
    """
    sigma = found.details.row_sigma if found.details.row_sigma is not None else problem.row_scale
    rows = [problem.A / sigma[:, None], problem.prior_rows[0][:-1]]  # the last is the one that holds it
    v = scale.sigma * scale.direction(np.vstack(rows))
    part = np.outer(v, v)
    data, total = np.diag(found.covariance), np.diag(found.covariance + part)
    dof = found.dof * (total / np.maximum(data, 1e-300)) ** 2
    return replace(found, covariance=found.covariance + part, dof=dof), part


def scale_sentence(scale: Scale) -> str:
    """What the user must know first."""
    return (
        "the scale of all lengths is not told by touches alone and is held at nominal; its uncertainty, "
        f"{scale.sigma * 1e3:.2g} mm per metre from what is known of the arm's lengths, is in every interval. "
        "State one known distance (ball bar, gauge block, sphere of known radius) to measure it"
    )
