"""The measured noise of paper 003 as an instrument, for campaigns and simulations of one's own.

Table 1 gives dispersions of *deflections*, 17 to 153 um by configuration and axis.  An instrument states the standard
deviation of a *reading*, and a deflection is the difference of two, so the table is divided by sqrt 2: used on
deflection rows it gives back what is printed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import SigmaTable
from stiffarm.papers.paper_003 import SIGMA_UM


def published_noise(experiments: Sequence[str]) -> SigmaTable:
    """Standard deviations of readings for up to 15 experiments, named in the order of the table.

    >>> published_noise(["e1", "e2"]).sigma_m[0]
    (0.00010606601717798211, 4.525483399593904e-05, 2.3334523779156065e-05)
    """
    if len(experiments) > len(SIGMA_UM):
        allowed = f"{len(SIGMA_UM)} experiments"
        raise InputError(Problem("the table has fewer configurations", found=str(len(experiments)), allowed=allowed))
    rows = (SIGMA_UM[: len(experiments)] * 1e-6 / np.sqrt(2.0)).tolist()
    return SigmaTable(tuple(experiments), tuple((x, y, z) for x, y, z in rows))
