"""Errors on readings that were not fitted over the workspace: whether the model is as good far out as near."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.estimate import UnseenErrors
from stiffarm.report.chart import Axis, Chart, ColourScale, Points
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.parts import Figure, Table

Floats = NDArray[np.float64]
MILLI = 1e3
MOST_COVERED = 0.98
"""Share of the errors that the colours cover; larger ones have the last colour."""
MOST_SHOWN = 60


def place_figures(shown: ShownArm) -> tuple[Figure, ...]:
    """Where the errors are: over a section of the workspace before and after, and over the reach."""
    holdout = shown.estimate.holdout
    unseen = None if holdout is None else holdout.unseen
    if unseen is None or not {"model", "nominal"} <= set(unseen.errors_m):
        return ()
    places = shown.places(unseen.experiment, unseen.marker)
    known = np.asarray(np.isfinite(places).all(axis=0))
    if known.sum() < 2:
        return ()
    reach = shown.reach(unseen.experiment, places)
    return (_section(unseen, reach, places[2], known), _over_reach(unseen, reach, places[2], known))


def _section(unseen: UnseenErrors, reach: Floats, height: Floats, known: NDArray[np.bool_]) -> Figure:
    """Reach and height of every reading, coloured by its error: the nominal robot and the model on one scale."""
    before, after = (MILLI * np.array(unseen.errors_m[key]) for key in ("nominal", "model"))
    most = float(np.quantile(np.concatenate([before[known], after[known]]), MOST_COVERED)) or 1.0
    colours = ColourScale("mm", 0.0, most)
    panels = tuple(
        Chart(
            Axis("distance from the first axis, mm"), Axis("height, mm"),
            (Points(_mm(reach[known]), _mm(height[known]), values=tuple(map(float, errors[known])),
                    texts=_texts(unseen, errors, known)),),
            title, 340.0, equal=True, colours=colours,
        )
        for title, errors in (("nominal robot", before), ("this model", after))
    )  # fmt: skip
    worst = int(np.argmax(np.where(known, after, -1.0)))
    reading = (
        f"Each mark is a marker in a configuration that was not fitted, both panels on one scale. The model's largest "
        f"error is {after[worst]:.3g} mm (root mean square where it was repeated), {unseen.marker[worst]} in "
        f"{unseen.experiment[worst]}."
    )
    table = _table(unseen, reach, height, known)
    return Figure("workspace", "Error along the workspace", reading, panels, table, wide=True)


def _over_reach(unseen: UnseenErrors, reach: Floats, height: Floats, known: NDArray[np.bool_]) -> Figure:
    """Error over the distance from the first axis, and its root mean square by thirds of the reach."""
    before, after = (MILLI * np.array(unseen.errors_m[key]) for key in ("nominal", "model"))
    marks = (
        Points(_mm(reach[known]), tuple(map(float, before[known])), "nominal", "diamond", "nominal robot",
               _texts(unseen, before, known)),
        Points(_mm(reach[known]), tuple(map(float, after[known])), "model", "circle", "this model",
               _texts(unseen, after, known)),
    )  # fmt: skip
    chart = Chart(Axis("distance from the first axis, mm"), Axis("3-D error, mm", 0.0), marks)
    order = np.array_split(np.flatnonzero(known)[np.argsort(reach[known], kind="stable")], 3)
    thirds = [rows for rows in order if len(rows)]
    rms = [[float(np.sqrt(np.mean(errors[rows] ** 2))) for errors in (before, after)] for rows in thirds]
    reading = f"Root mean square of the model's error: {rms[0][1]:.3g} mm near, {rms[-1][1]:.3g} mm far out."
    ends = [(MILLI * float(reach[rows[0]]), MILLI * float(reach[rows[-1]])) for rows in thirds]
    rows = tuple(
        (f"{low:.0f} to {high:.0f}", str(len(part)), f"{one:.3g}", f"{other:.3g}")
        for (low, high), part, (one, other) in zip(ends, thirds, rms, strict=True)
    )
    heads = ("distance, mm", "readings", "nominal robot, mm", "this model, mm")
    table = Table("Root mean square of the error by thirds of the reach", heads, rows, frozenset({1, 2, 3}))
    return Figure("reach", "Error over the reach", reading, (chart,), table)


def _mm(values: Floats) -> tuple[float, ...]:
    return tuple(map(float, MILLI * values))


def _texts(unseen: UnseenErrors, errors: Floats, known: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(f"{unseen.experiment[i]}, {unseen.marker[i]}: {errors[i]:.3g} mm" for i in np.flatnonzero(known))


def _table(unseen: UnseenErrors, reach: Floats, height: Floats, known: NDArray[np.bool_]) -> Table:
    model = MILLI * np.array(unseen.errors_m["model"])
    sorted_rows = np.argsort(-np.where(known, model, -1.0), kind="stable")
    order = sorted_rows[: min(MOST_SHOWN, int(known.sum()))].tolist()
    rows = tuple(
        (
            unseen.experiment[i], unseen.marker[i], f"{MILLI * reach[i]:.0f}", f"{MILLI * height[i]:.0f}",
            f"{MILLI * unseen.errors_m['nominal'][i]:.3g}", f"{model[i]:.3g}",
        )
        for i in order
    )  # fmt: skip
    heads = ("experiment", "marker", "distance, mm", "height, mm", "nominal robot, mm", "this model, mm")
    return Table("The largest errors of the model", heads, rows, frozenset({2, 3, 4, 5}), frozenset({0, 1}))
