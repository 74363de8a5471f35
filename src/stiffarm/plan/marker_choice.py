"""Which markers are worth reading, when there are more than one wants to read.

Every choice of so many markers is judged by the criterion of the plan, on stops spread evenly over all that is
allowed and each measured as much as the others,

    M(markers) = M_0 + N/n sum_i I_i(markers),        I_i by the columns and covariance of these markers alone.

The target (test poses and the points looked at there) is that of all of them, so that choices compare.  Only
compliances can be judged so: with geometry the coordinates of the markers themselves are among the unknowns.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, islice

import numpy as np

from stiffarm.errors import InputError, Problem
from stiffarm.plan.information import triangle
from stiffarm.plan.job import Job
from stiffarm.plan.told import spread_out

STOPS = 64
MOST_CHOICES = 5000
"""Choices that are tried, in the order of the markers."""


def best_markers(job: Job, count: int) -> tuple[str, ...]:
    """The markers that tell most, out of those of a job that reads them all."""
    markers = job.problem.reading.markers
    if not 1 <= count <= len(markers):
        raise InputError(
            Problem("so many markers there are not", column="--best-markers", found=str(count),
                    allowed=f"1 to {len(markers)}: {' '.join(markers)}")
        )  # fmt: skip
    if job.problem.reading.kind != "deflection":
        raise InputError(
            Problem("markers are chosen for deflections alone", column="--best-markers", found=job.problem.reading.kind,
                    allowed="--observe deflection; else name the markers by --marker")
        )  # fmt: skip
    choices = islice(combinations(markers, count), MOST_CHOICES)
    return min(choices, key=lambda some: value_of(job, some))


def value_of(job: Job, markers: tuple[str, ...]) -> float:
    """The criterion when only these markers are read at evenly spread stops."""
    information = job.refiner.information
    fewer = replace(information, reading=replace(information.reading, markers=markers))
    stops = spread_out(job.pool.stops, STOPS)
    rows = fewer.rows(stops) * np.sqrt(job.problem.experiments / len(stops))
    return float(job.criterion.judge(triangle(np.concatenate([fewer.known, rows.reshape(-1, fewer.size)]))).value)
