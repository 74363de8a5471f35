"""Plots for calibration without a tracker: its Fig. 3, errors before and after, and what a known length is worth."""

from __future__ import annotations

import numpy as np

from stiffarm.papers.paper_004 import FLANGE, SIGMA_M, error_in_use, fits, true_numbers, use_postures
from stiffarm.papers.touching import Numbers, nominal_numbers, tool_points
from stiffarm.report.chart import WIDE, Axis, Chart, Line, Spans
from stiffarm.report.palette import Role
from stiffarm.report.parts import Figure, Table

PRINTED_MM = 0.06
"""Largest error the paper reports after its calibration."""
SERIES: tuple[tuple[str, Role], ...] = (("x", "model"), ("y", "geometry"), ("z", "second"))


def figures() -> tuple[Figure, ...]:
    """Fig. 3, and the error with and without a known length."""
    return (_fig3(), _lengths())


def _fig3() -> Figure:
    found = fits(SIGMA_M, 0)[0].numbers
    before, after = _errors(nominal_numbers()), _errors(found)
    panels = (_panel("nominal numbers", before), _panel("identified numbers", after))
    rms = [float(np.sqrt(np.mean((e**2).sum(axis=0)))) for e in (before, after)]
    reading = (
        f"From {rms[0]:.2f} to {rms[1]:.2f} mm (rms over {before.shape[1]} postures), not to the printed {PRINTED_MM} "
        "mm: touches of unknown points do not show the scale, which is held."
    )
    rows = tuple(
        (name, f"{np.abs(b).max():.3f}", f"{np.abs(a).max():.3f}")
        for (name, _), b, a in zip(SERIES, before, after, strict=True)
    )
    table = Table("Largest errors, mm", ("axis", "nominal", "identified"), rows, frozenset({1, 2}))
    return Figure("fig3-004", "Fig. 3: errors of the tool point", reading, panels, table, wide=True)


def _errors(numbers: Numbers) -> np.ndarray:
    """(3, postures) mm"""
    q = use_postures()
    off = tool_points(numbers, q, FLANGE).position - tool_points(true_numbers(), q, FLANGE).position
    return np.asarray(1e3 * off)


def _panel(title: str, errors: np.ndarray) -> Chart:
    x = tuple(float(i + 1) for i in range(errors.shape[1]))
    marks = tuple(
        Line(x, tuple(map(float, row)), colour, name=name, thin=True)
        for (name, colour), row in zip(SERIES, errors, strict=True)
    )
    return Chart(Axis("posture"), Axis("error, mm"), marks, title, 240.0, WIDE)


def _lengths() -> Figure:
    cases = ((0, 37.5e-6, "0.0375 mm touches, no length known"), (3, 37.5e-6, "0.0375 mm touches, three distances"),
             (3, 15e-6, "0.015 mm touches, three distances"))  # fmt: skip
    errors = [
        1e3 * float(np.median([error_in_use(one.numbers) for one in fits(sigma, known)])) for known, sigma, _ in cases
    ]
    names = tuple(words for *_, words in cases)
    ends = tuple(f"{v:.3f} mm" for v in errors)
    marks = (Spans((0.0, 1.0, 2.0), (0.0,) * 3, tuple(errors), "model", 0.55, words=ends),)
    chart = Chart(Axis("error in use, mm", 0.0, 1.3 * max(errors)), Axis("", names=names), marks, height=190.0)
    reading = (
        f"One known length shows the scale: {errors[0]:.2f} mm become {errors[1]:.3f} mm with the same touches "
        f"and {errors[2]:.3f} mm with better ones."
    )
    table = Table("Error in use (median over draws)", ("", "mm"), tuple(zip(names, ends, strict=True)), frozenset({1}))
    return Figure("lengths-004", "What known lengths are worth", reading, (chart,), table)
