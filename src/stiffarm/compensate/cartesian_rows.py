"""Cartesian stiffness or compliance of the loaded arm at every row of a plan or path.

At the equilibrium of a row under its loads and the weights, the asked point gives way to a further small wrench by C,
and K = C^-1 (`stiffarm.model.cartesian`); in the frame of a setup, turned by R,

    C_setup = B C B^T,   K_setup = B K B^T,   B = diag(R, R).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.asked import Asked
from stiffarm.compensate.model_file import KnownModel, KnownSetup
from stiffarm.compensate.predicting import balanced, parts
from stiffarm.errors import InputError
from stiffarm.model.cartesian import cartesian_compliance, cartesian_stiffness
from stiffarm.model.chain import AXES

Floats = NDArray[np.float64]
Kind = Literal["stiffness", "compliance"]

_MOTION, _WRENCH = ("m", "m", "m", "rad", "rad", "rad"), ("N", "N", "N", "N*m", "N*m", "N*m")


def headers(kind: Kind) -> tuple[str, ...]:
    """Names of the 36 numbers, row by row.

    >>> headers("stiffness")[0], headers("stiffness")[3], headers("compliance")[9]
    ('K.x.x[N/m]', 'K.x.rx[N/rad]', 'C.y.rx[m/(N*m)]')
    """
    letter, above, below = ("K", _WRENCH, _MOTION) if kind == "stiffness" else ("C", _MOTION, _WRENCH)
    return tuple(
        f"{letter}.{a}.{b}[{above[i]}/{f'({below[j]})' if '*' in below[j] else below[j]}]"
        for i, a in enumerate(AXES)
        for j, b in enumerate(AXES)
    )


def cartesian_columns(model: KnownModel, asked: Asked, setup: KnownSetup | None, kind: Kind) -> dict[str, Floats]:
    """The 36 numbers of every row by header (SI); NaN where a row states no joint values.

    Raises `InputError` where there is no equilibrium and, for a stiffness, where the arm is rigid in some direction.
    """
    arm = model.arm(setup)
    turn = np.kron(np.eye(2), np.eye(3) if setup is None else setup.frame.rotation)
    found = np.full((6, 6, len(asked)), np.nan)
    compute = cartesian_stiffness if kind == "stiffness" else cartesian_compliance
    for point, payload, rows in parts(asked, 0):
        state = asked.state(arm, rows, payload)
        at_rest = balanced(arm, state, asked, rows)
        try:
            at_rows = compute(arm, state, point, found=at_rest)
        except InputError as error:
            raise InputError([replace(problem, file=asked.file) for problem in error.problems]) from None
        found[:, :, rows] = np.einsum("ij,jkn,lk->iln", turn, at_rows, turn)
    return dict(zip(headers(kind), found.reshape(36, -1), strict=True))
