"""Stiffness of a joint whose drive and compensator act together, and its derivatives by what it is made of.

Under an external load a drive of stiffness K_q = 1/k and a compensator of energy U(q) beside it give way like one
spring whose stiffness follows the joint's angle (paper 002, eq. 7 with the piston's area and signs put right),

    K_2(q) = K_q + K_c(q; v),     K_c = U''(q),     k_2(q) = 1/K_2(q),

v being the compensator's numbers.  So

    dK_2/dK_q = 1,     dK_2/dk = -1/k^2,     dK_2/dv = dK_c/dv,     dk_2/dx = -k_2^2 dK_2/dx      for any x.

The compliances grouped by the joint's angle, ``J.compliance[1]``, ``[2]`` ..., are k_2 at those angles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stiffarm.model.compensator_law import CompensatorLaw
from stiffarm.robot.arm import Compensator

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Aggregated:
    """K_2 (N m/rad) of a joint at some of its angles."""

    names: tuple[str, ...]
    """``J.compliance``, then ``J.compensator.stiffness``, ``.s0`` ...: the parameters of `by_parameter`."""
    drive: float
    """K_q, N m/rad."""
    stiffness: Floats
    """(n,) K_2."""
    by_stiffness: Floats
    """(1 + numbers, n) derivatives of K_2 by K_q and by the compensator's numbers."""

    @property
    def by_parameter(self) -> Floats:
        """(1 + numbers, n) derivatives of K_2 by the parameters in `names`: by the compliance k, not by K_q."""
        out = self.by_stiffness.copy()
        out[0] *= -(self.drive**2)
        return out

    @property
    def compliance(self) -> Floats:
        """(n,) k_2, rad/(N m)."""
        return np.asarray(1.0 / self.stiffness)

    @property
    def compliance_by_parameter(self) -> Floats:
        """(1 + numbers, n) derivatives of k_2 by the parameters in `names`."""
        return np.asarray(-self.by_parameter / self.stiffness**2)


def aggregated(
    compensator: Compensator, drive: float, q: ArrayLike, numbers: Mapping[str, float] | None = None
) -> Aggregated:
    """Drive (N m/rad) and compensator together at joint values q (rad, controller sense).

    ``numbers`` are values of the compensator (``stiffness``, ``s0`` ...) that differ from its file's.

    >>> from stiffarm.robot.arm import Spring
    >>> both = aggregated(Compensator("A2", 0.2, 0.7, 1.4, Spring(1.8e5, 0.46)), 3.0e6, [0.0, -1.0])
    >>> both.names, both.stiffness.round().tolist()
    (('A2.compliance', 'A2.compensator.stiffness', 'A2.compensator.s0'), [3001900.0, 3007578.0])
    """
    angles = np.atleast_1d(np.asarray(q, dtype=float))
    law = CompensatorLaw.of(compensator, dict(numbers or {}))
    own = (f"{compensator.joint}.compensator.{name}" for name in law.law.names)
    by_number = law.by_parameter(angles)[1]
    return Aggregated(
        (f"{compensator.joint}.compliance", *own),
        drive,
        np.asarray(drive + law.torque(angles)[1]),
        np.vstack([np.ones_like(angles)[None, :], by_number]),
    )
