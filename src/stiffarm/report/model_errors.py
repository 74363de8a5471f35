"""How far off a model is where nobody looked: its errors on readings that were not fitted, before and after."""

from __future__ import annotations

from stiffarm.identify.estimate import Estimate, Holdout
from stiffarm.identify.remains import SHARES
from stiffarm.report.chart import Axis, Chart, Dash, Line, Spans
from stiffarm.report.model_words import mm, rule_words
from stiffarm.report.palette import Role
from stiffarm.report.parts import Figure, Table

MILLI = 1e3
MODELS: tuple[tuple[str, str, Role, Dash], ...] = (
    ("nominal", "nominal robot", "nominal", "dot"),
    ("geometry", "geometry alone", "geometry", "dash"),
    ("model", "this model", "model", "solid"),
)
"""Key, words and look of what is judged, in every figure of errors."""
WIDE = 20.0
"""Ratio of numbers beyond which an axis is logarithmic."""


def error_figures(estimate: Estimate) -> tuple[Figure, ...]:
    """Before and after, and how the errors are spread."""
    holdout = estimate.holdout
    if holdout is None:
        return ()
    found = (before_after(holdout), spread(holdout))
    return tuple(figure for figure in found if figure is not None)


def before_after(holdout: Holdout) -> Figure | None:
    """Root mean squares of all that were judged on the same readings."""
    values = {"nominal": holdout.nominal_rms_m, "geometry": holdout.geometry_rms_m, "model": holdout.rms_m}
    known = [(words, MILLI * v, colour) for key, words, colour, _ in MODELS if (v := values[key]) is not None]
    if len(known) < 2 or holdout.nominal_rms_m is None or holdout.rms_m is None:
        return None
    marks = tuple(
        Spans(
            (float(i),), (0.0,), (value,), colour, 0.62, texts=(f"{words}: {value:.3g} mm",), words=(f"{value:.3g} mm",)
        )
        for i, (words, value, colour) in enumerate(known)
    )
    axis = Axis("root mean square of the 3-D error, mm", 0.0, 1.22 * max(value for _, value, _ in known) or 1.0)
    chart = Chart(axis, Axis("", names=tuple(words for words, _, _ in known)), marks, height=58.0 + 46.0 * len(known))
    gone = 1.0 - holdout.rms_m / holdout.nominal_rms_m if holdout.nominal_rms_m else 0.0
    reading = (
        f"From {mm(holdout.nominal_rms_m)} to {mm(holdout.rms_m)}: the model takes away {100 * gone:.3g} % of the "
    )
    reading += f"error on {holdout.rows} readings that were not fitted ({rule_words(holdout.rule)}). The nominal robot "
    reading += "has its frames and tool fitted on the same readings."
    rows = tuple((words, f"{value:.4g}") for words, value, _ in known)
    table = Table("Root mean square of the 3-D error", ("", "mm"), rows, frozenset({1}))
    return Figure("before-after", "Before and after", reading, (chart,), table)


def spread(holdout: Holdout) -> Figure | None:
    """Share of the unseen readings that are off by less than so much."""
    curves = [(key, words, colour, dash, tuple(MILLI * v for v in holdout.quantiles[key]))
              for key, words, colour, dash in MODELS if len(holdout.quantiles.get(key, ())) == len(SHARES)]  # fmt: skip
    if not curves:
        return None
    largest, least = max(values[-1] for *_, values in curves), min(values[1] for *_, values in curves)
    log = largest > WIDE * least
    low = max(least, 1e-4 * largest, 1e-9) if log else 0.0
    shares = tuple(100.0 * share for share in SHARES)
    marks = tuple(
        Line(values, shares, colour, dash, words, tuple(f"{words}: {s:.0f} % of the readings under {v:.3g} mm"
             for s, v in zip(shares, values, strict=True)))
        for _, words, colour, dash, values in curves
    )  # fmt: skip
    chart = Chart(Axis("3-D error, mm", low, largest or 1.0, log=log), Axis("% of readings below", 0.0, 100.0), marks)
    own = {key: values for key, *_, values in curves}.get("model")
    reading = "The further left a curve, the better." if own is None else (
        f"Half of the readings are off by less than {own[10]:.3g} mm, 95 % by less than {own[19]:.3g} mm, the worst by "
        f"{own[20]:.3g} mm."
    )  # fmt: skip
    rows = tuple((words, *(f"{values[i]:.3g}" for i in (5, 10, 15, 19, 20))) for _, words, _, _, values in curves)
    heads = ("mm", "25 %", "50 %", "75 %", "95 %", "worst")
    table = Table("Error that a share of the readings stays under", heads, rows, frozenset(range(1, 6)))
    return Figure("spread", "How the errors are spread", reading, (chart,), table)
