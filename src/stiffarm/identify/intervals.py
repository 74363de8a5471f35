"""Quantiles and tail probabilities of the normal, t and F laws, from scipy.special.

`scipy.stats` costs a third of a second to import; the special functions behind it do not.
Degrees of freedom may be infinite (variance known), then t is the normal law and d F is chi-square.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
FINITE_DOF = 1e8
"""Above this many degrees of freedom t and F have reached their limits to rounding."""


def t_quantile(level: float, dof: Array | float) -> Array:
    """Half width, in standard deviations, of a two-sided interval of the given level.

    >>> [round(float(t_quantile(0.95, dof)), 3) for dof in (5.0, np.inf)]
    [2.571, 1.96]
    """
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
    capped = np.minimum(np.asarray(dof, dtype=float), FINITE_DOF)
    return np.asarray(special.stdtrit(capped, 0.5 + 0.5 * level), dtype=np.float64)


def t_two_sided(statistic: Array, dof: Array | float) -> Array:
    """Probability that |t| exceeds |statistic|.

    >>> round(float(t_two_sided(np.array(2.571), 5.0)), 3)
    0.05
    """
    capped = np.minimum(np.asarray(dof, dtype=float), FINITE_DOF)
    return np.asarray(2.0 * special.stdtr(capped, -np.abs(statistic)), dtype=np.float64)


def f_upper(statistic: float, dof_above: float, dof_below: float) -> float:
    """Probability that F with these degrees of freedom exceeds the statistic.

    >>> round(f_upper(4.10, 2, 10), 3), round(f_upper(3.0, 2, np.inf), 3)
    (0.05, 0.05)
    """
    if dof_below > FINITE_DOF:
        return float(special.chdtrc(dof_above, dof_above * statistic))
    return float(special.fdtrc(dof_above, dof_below, statistic))
