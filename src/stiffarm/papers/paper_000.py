"""Practical identifiability: how many parameters there are, and which of a beam's a test bench can see.

An element with six flexible directions carries 36 compliances, 21 when symmetric, 8 as a beam along x (the
diagonal, k26 and k35 with their mirror images).  A six-axis arm has seven of them, base and six links, beside six
scalar joints.

A bench that loads the free end with one wrench component at a time (F newton, or F newton metre) and reads
the six deflections with standard deviations s_p (m) and s_phi (rad) finds column j of k with deviations s/F, so
that the ratio of practical identifiability is nu_ij = |k_ij| F / s_i.  A symmetric k is seen twice in each entry off
the diagonal, once a row of each noise: its weights add, and k53, told by rotations alone with ten times the noise,
gains sqrt(1 + 10^2).

What a whole robot can tell stands in `stiffarm.papers.ranks_000`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.practical import covariance_of
from stiffarm.identifiability.reductions import beam, symmetrise, with_shape
from stiffarm.model.chain import AXES
from stiffarm.model.parameters import Parameter, ParameterSet
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


DRAWS = 40_000


def items() -> tuple[PaperItem, ...]:
    """Counts, the table of practical identifiability with its reductions, and what a robot can tell."""
    from stiffarm.papers.ranks_000 import rank_items

    return (*_counts(), *_ratios(), *_classes(), *_reduced(), *_draws(), *rank_items(PAPER))


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


def bench_rows(load: float, sigma_m: float, sigma_rad: float) -> NDArray[np.float64]:
    """(36, 36) white rows of the bench: six numbers read under each of six unit loads, k row by row."""
    rows = np.zeros((36, 36))
    for j in range(6):
        for i in range(6):
            rows[6 * j + i, 6 * i + j] = load / (sigma_m if i < 3 else sigma_rad)
    return rows


def element() -> ParameterSet:
    """One full 6x6 element."""
    return ParameterSet.of([Parameter(f"link1.compliance[{a},{b}]", "1", elastic=True) for a in AXES for b in AXES])


def _sizes(parameters: ParameterSet) -> NDArray[np.float64]:
    """(unknowns,) of the beam of eq. 15."""
    full = np.array([BEAM.get((i, j), 0.0) for i in range(6) for j in range(6)])
    return np.asarray(np.linalg.lstsq(parameters.matrix, full, rcond=None)[0])


def _reduced() -> tuple[PaperItem, ...]:
    rows = bench_rows(100.0, 25e-6, 0.25e-3)
    symmetric = symmetrise(element())
    shaped = with_shape(symmetric, beam("x"))
    found = []
    for parameters in (symmetric, shaped):
        sigma = np.sqrt(np.diag(covariance_of(parameters.columns(rows))))
        found.append(classes(_sizes(parameters) / sigma))
    at = list(symmetric.names).index("link1.compliance[z,ry]")
    alone = np.sqrt(np.diag(covariance_of(rows)))[6 * 4 + 2]
    gain = float(alone / np.sqrt(np.diag(covariance_of(symmetric.columns(rows))))[at])
    plain = rows * np.tile(np.repeat([25e-6, 0.25e-3], 3), 6)[:, None]
    condition = float(np.linalg.cond(plain))
    return (
        PaperItem(PAPER, "condition number of the observation matrix", 1.0, condition, "1",
                  verdict_of(1.0, condition, 1e-9), "of unweighted rows; whitened by the noise it is "
                  f"{np.linalg.cond(rows):.3g}"),
        PaperItem(PAPER, "sure/perhaps/not identifiable after M1", None, found[0], "1",
                  "reproduced" if found[0] == "7/0/14" else "wrong",
                  "the nine identifiable entries are seven unknowns once k35 = k53 and k26 = k62"),
        PaperItem(PAPER, "sure/perhaps/not identifiable after M1 and M2", None, found[1], "1",
                  "reproduced" if found[1] == "7/0/1" else "wrong", "only k11 stays under the noise"),
        PaperItem(PAPER, "standard deviation of k53 before over after M1", None, gain, "1",
                  verdict_of(101.0**0.5, gain, 1e-9), "sqrt(101): M1 gains for k53 and k62 only, the diagonal cannot "
                  "change, and what becomes better beyond that in eq. 25 is the other draw of the noise"),
    )  # fmt: skip


def _draws() -> tuple[PaperItem, ...]:
    """Largest relative error of an entry but k11, median over draws of the noise."""
    rows = bench_rows(100.0, 25e-6, 0.25e-3)
    shaped = with_shape(symmetrise(element()), beam("x"))
    noise = np.random.default_rng(0).standard_normal((len(rows), DRAWS))
    worst = []
    for parameters in (element(), shaped):
        size = _sizes(parameters)
        judged = (size != 0.0) & (np.abs(size) > 1e-6)
        error = np.linalg.lstsq(parameters.columns(rows), noise, rcond=None)[0]
        worst.append(100.0 * float(np.median(np.abs(error[judged] / size[judged, None]).max(axis=0))))
    why = f"the draw of the noise is unpublished; the median of {DRAWS} draws is ours, k11 left out"
    return (
        PaperItem(PAPER, "largest error of an entry, full matrix", 1.67, worst[0], "%", "not reproducible", why),
        PaperItem(PAPER, "largest error of an entry after M1 and M2", 0.4, worst[1], "%", "not reproducible", why),
    )
