"""Published dispersions as instruments, used by name: ``[instrument] type = "table", table = "paper-003"``.

``paper-003`` is Table 1 of "Robust algorithm for calibration of robotic manipulator model" (2013): dispersions of
*deflections* of a heavy arm, 17 to 153 um by configuration and axis.  An instrument states the standard deviation of
a *reading*, and a deflection is the difference of two, so the table is divided by sqrt 2: on deflection rows it
gives back what is printed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.measure.campaign import SigmaTable

DEFLECTION_SIGMA_UM = {
    "paper-003": np.array([
        (150, 64, 33), (57, 86, 118), (97, 70, 44), (28, 19, 35), (72, 48, 17), (153, 46, 22), (112, 66, 53),
        (74, 55, 59), (80, 63, 102), (69, 73, 79), (80, 36, 26), (53, 39, 29), (26, 29, 29), (88, 121, 42),
        (90, 52, 50),
    ], dtype=float),
}  # fmt: skip
"""Configurations by x, y, z, in the order in which they are printed."""


def known_table(name: str) -> Problem | None:
    """What is wrong with the name of a published table; None when there is one."""
    if name in DEFLECTION_SIGMA_UM:
        return None
    hint = did_you_mean(name, list(DEFLECTION_SIGMA_UM))
    return Problem(
        "there is no published table of this name",
        found=found_text(name),
        allowed=f'{", ".join(DEFLECTION_SIGMA_UM)}, or a table of your own, {{ e1 = ["10 um", "10 um", "20 um"] }}',
        next_step=hint and hint[0].upper() + hint[1:],
    )


def published_noise(experiments: Sequence[str], name: str = "paper-003") -> SigmaTable:
    """Standard deviations of readings for experiments in the order of the table, at most as many as it has.

    >>> published_noise(["e1", "e2"]).sigma_m[0]
    (0.00010606601717798211, 4.525483399593904e-05, 2.3334523779156065e-05)
    """
    table = DEFLECTION_SIGMA_UM[name]
    if len(experiments) > len(table):
        allowed = f"{len(table)} experiments"
        raise InputError(
            Problem(f"the table '{name}' has fewer configurations", found=str(len(experiments)), allowed=allowed)
        )
    rows = (table[: len(experiments)] * 1e-6 / np.sqrt(2.0)).tolist()
    return SigmaTable(tuple(experiments), tuple((x, y, z) for x, y, z in rows))
