"""Loaded minus unloaded: rows with a ``reference`` become deflections.

The row and the unloaded row of the same marker, repeat and setup are two readings; their difference is the
deflection, and for poses the rotation that turns the unloaded tool into the loaded one.  Several rows may
subtract the same unloaded reading, which correlates them (`stiffarm.measure.covariance`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Readings
from stiffarm.measure.checks import pack
from stiffarm.measure.subset import with_readings
from stiffarm.model.rotations import matrix_of, rotate, vector_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Resolved:
    """A campaign without references, and where its rows came from."""

    campaign: Campaign
    """References subtracted; those rows are deflections now."""
    source: Campaign
    """As it was read."""
    origin: Ints
    """(rows,) row of the source that each row was."""
    subtracted: Ints
    """(rows,) row of the source whose reading was subtracted, or -1."""


def resolve_references(campaign: Campaign, *, keep_unloaded: bool = True) -> Resolved:
    """Subtract every reference.

    The unloaded rows stay as position or pose rows unless ``keep_unloaded`` is false.  What was subtracted is in
    the deflections already: a fit of both at once must leave the references unresolved or the unloaded rows out,
    or it counts those readings twice.
    """
    readings = campaign.readings
    every = np.arange(len(readings))
    subtracted = unloaded_rows(campaign)
    loaded = np.flatnonzero(subtracted >= 0)
    if not len(loaded):
        return Resolved(campaign, campaign, every, subtracted)
    value, kind = readings.value.copy(), readings.kind.copy()
    value[:, loaded] = _difference(readings, loaded, subtracted[loaded])
    kind[loaded] = OBSERVATIONS.index("deflection")
    done = replace(readings, value=value, kind=kind, reference=np.full_like(readings.reference, -1))
    keep = every if keep_unloaded else np.setdiff1d(every, subtracted)
    return Resolved(with_readings(replace(campaign, readings=done), keep), campaign, keep, subtracted[keep])


def unloaded_rows(campaign: Campaign) -> Ints:
    """(rows,) the row each row subtracts, or -1.

    Among rows of the same marker, repeat and setup, one of the same kind is preferred, then one of the same visit.
    """
    readings = campaign.readings
    found = np.full(len(readings), -1, dtype=np.int64)
    readable = np.flatnonzero(campaign.kind("position") | campaign.kind("pose"))
    must = (readings.marker, readings.repeat, readings.setup)
    for wish in ((readings.kind, readings.visit), (readings.kind,), ()):
        open_rows = np.flatnonzero((readings.reference >= 0) & (found < 0))
        if not len(open_rows):
            break
        wanted = [readings.reference[open_rows], *(c[open_rows] for c in (*must, *wish))]
        there = [readings.experiment[readable], *(c[readable] for c in (*must, *wish))]
        found[open_rows] = _first_match(wanted, there, readable)
    _check_found(campaign, found)
    return found


def _first_match(wanted: list[Ints], there: list[Ints], rows: Ints) -> Ints:
    """For each entry of the columns ``wanted`` the first of ``rows`` with equal columns ``there``, or -1."""
    keys = pack(*(np.concatenate(pair) for pair in zip(wanted, there, strict=True)))
    codes = np.unique(keys, return_inverse=True)[1].reshape(-1)
    first = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    count = len(wanted[0])
    first[codes[count:][::-1]] = rows[::-1]
    return np.asarray(first[codes[:count]])


def _check_found(campaign: Campaign, found: Ints) -> None:
    readings = campaign.readings
    missing = np.flatnonzero((readings.reference >= 0) & (found < 0))
    if len(missing):
        at = int(missing[0])
        raise InputError(
            Problem(
                "the reference has no reading of the same marker, repeat and setup",
                file=campaign.files[0] if len(campaign.files) == 1 else None,
                row=int(readings.row[at]),
                column="reference",
                found=found_text(campaign.experiments.names[readings.reference[at]]),
                allowed="a position or pose row of it",
            )
        )


def _difference(readings: Readings, loaded: Ints, unloaded: Ints) -> Floats:
    """Displacement and rotation (6, n) from the unloaded to the loaded readings; NaN where one was not read."""
    here, there = readings.value[:, loaded], readings.value[:, unloaded]
    out = here - there
    pose = OBSERVATIONS.index("pose")
    turned = np.isfinite(out[3:]).all(axis=0) & (readings.kind[loaded] == pose) & (readings.kind[unloaded] == pose)
    out[3:] = np.nan
    if turned.any():
        out[3:, turned] = vector_of(rotate(here[3:, turned], matrix_of(-there[3:, turned])))
    return np.asarray(out)
