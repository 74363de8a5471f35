"""Practical identifiability: how many parameters there are, and which of a beam's a test bench can see.

An element with six flexible directions carries 36 compliances, 21 when symmetric, 8 as a beam along x (the
diagonal, k26 and k35 with their mirror images).  A six-axis arm has seven of them, base and six links, beside six
scalar joints.

A bench that loads the free end with one wrench component at a time (F newton, or F newton metre) and reads
the six deflections with standard deviations s_p (m) and s_phi (rad) finds column j of k with deviations s/F, so
that the ratio of practical identifiability is nu_ij = |k_ij| F / s_i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.papers.items import PaperItem, Verdict, verdict_of

PAPER = "000"
ELEMENTS = 7
JOINTS = 6
LIKELY, CERTAIN = 2.0, 5.0
"""Bounds of nu below which a parameter is not, and above which it is surely identifiable in practice."""
BEAM = {(0, 0): 4.50e-8, (1, 1): 8.01e-5, (1, 5): 3.98e-4, (2, 2): 3.64e-5, (2, 4): -1.71e-4, (3, 3): 3.76e-3,
        (4, 2): -1.71e-4, (4, 4): 1.09e-3, (5, 1): 3.98e-4, (5, 5): 2.65e-3}  # fmt: skip
"""Eq. 15, SI (a beam of 0.300 m)."""
PRINTED_NU = {(0, 0): 0.18, (1, 1): 320.0, (1, 5): 1592.0, (2, 2): 146.0, (2, 4): 684.0, (3, 3): 1504.0,
              (4, 2): 68.4, (4, 4): 436.0, (5, 1): 159.0, (5, 5): 1060.0}  # fmt: skip
"""Eq. 18."""
FITTED_NU = ((0.12, 0.35, 0.74, 0.64, 0.31, 0.46), (1.81, 322.0, 0.83, 0.79, 0.46, 1593.0),
             (0.91, 1.50, 146.0, 0.89, 684.0, 0.45), (0.06, 0.73, 0.28, 1504.0, 0.44, 1.64),
             (1.31, 0.49, -67.3, 1.60, 436.0, 2.02), (1.04, 159.0, 0.42, 0.11, 0.02, 1060.0))  # fmt: skip
"""Eq. 17, of one draw of the noise."""


def items() -> tuple[PaperItem, ...]:
    """Counts and the table of practical identifiability."""
    return (*_counts(), *_ratios(), *_classes())


def _counts() -> tuple[PaperItem, ...]:
    symmetric, beam = 6 * 7 // 2, 6 + 2
    rows = (
        ("parameters of the complete model", 258.0, 36, "6 joints and 36 for each of base and six links; eq. 1 as "
         "printed leaves out the base and would give 222"),
        ("the same with symmetric elements", 153.0, symmetric, "21 for each of seven elements; this counts them, it "
         "does not say that they are independent"),
        ("the same with beam templates", 62.0, beam, "8 for each of seven elements"),
    )  # fmt: skip
    counts = [(name, printed, float(JOINTS + ELEMENTS * size), why) for name, printed, size, why in rows]
    return tuple(PaperItem(PAPER, name, printed, ours, "1", verdict_of(printed, ours, 0), why)
                 for name, printed, ours, why in counts)  # fmt: skip


def ratios(load: float, sigma_m: float, sigma_rad: float) -> NDArray[np.float64]:
    """(6, 6) nu of the beam under one reading of each unit load case of ``load`` N or N m."""
    k = np.zeros((6, 6))
    for (i, j), value in BEAM.items():
        k[i, j] = value
    return np.asarray(np.abs(k) * load / np.repeat([sigma_m, sigma_rad], 3)[:, None])


def _worst(nu: NDArray[np.float64]) -> float:
    """Largest relative deviation from eq. 18 over its entries, k11 to the two digits it is printed with."""
    shown = {at: round(float(nu[at]), 2) if nu[at] < 1.0 else float(nu[at]) for at in PRINTED_NU}
    return max(abs(shown[at] / printed - 1.0) for at, printed in PRINTED_NU.items())


def _ratios() -> tuple[PaperItem, ...]:
    hundred, ten = ratios(100.0, 25e-6, 0.25e-3), ratios(10.0, 25e-6, 0.25e-3)
    share = float(np.median([ten[at] / printed for at, printed in PRINTED_NU.items()]))
    agrees: Verdict = "reproduced" if _worst(hundred) < 0.004 else "wrong"
    return (
        PaperItem(PAPER, "eq. 18, largest deviation of an entry, for 100 N", None, 100.0 * _worst(hundred), "%", agrees,
                  "with 100 N and 100 N m, 25 um and 0.25 mrad (or 10 N with a tenth of the noise), every one of the "
                  "ten entries is the printed one within the rounding of the print"),
        PaperItem(PAPER, "eq. 18, share of the entries that 10 N give", 1.0, share, "1", verdict_of(1.0, share, 0.01),
                  "the text's 10 N and 10 N m with 25 um and 0.25 mrad, one reading each, give a tenth of every entry"),
    )  # fmt: skip


def classes(nu: NDArray[np.float64]) -> str:
    """Numbers of parameters surely, perhaps and not identifiable in practice."""
    size = np.abs(nu)
    sure = int((size > CERTAIN).sum())
    perhaps = int(((size >= LIKELY) & (size <= CERTAIN)).sum())
    return f"{sure}/{perhaps}/{size.size - sure - perhaps}"


def _classes() -> tuple[PaperItem, ...]:
    exact, fitted = classes(ratios(100.0, 25e-6, 0.25e-3)), classes(np.array(FITTED_NU))
    return (
        PaperItem(PAPER, "sure/perhaps/not identifiable, from eq. 18", "9/0/27", exact, "1",
                  "reproduced" if exact == "9/0/27" else "wrong", "the bounds are nu = 2 and 5"),
        PaperItem(PAPER, "sure/perhaps/not identifiable, from eq. 17", "9/0/27", fitted, "1",
                  "reproduced" if fitted == "9/0/27" else "wrong",
                  "k56 of this one draw stands at 2.02, just over the lower bound 2, which the text does not count"),
    )  # fmt: skip
