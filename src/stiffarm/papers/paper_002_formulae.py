"""The printed mechanics of the gas compensator, evaluated term by term beside the energy it should follow from.

With V = V0 + A (s - s0), the volume the text describes (it grows with the piston's way out: a cylinder that pushes),
an isothermal gas holds the energy U = P0 (V - V0) - P0 V0 ln(V / V0) against the ambient air, so that

    M_c = dU/dq = P0 A (A (s - s0) / V) s',        s' = a L sin(alpha - q2) / s

and V vanishes at s = s0 - V0 / A.  Eq. 5 has the opposite sign and one A less, eq. 6 the opposite sign at s_v.  Read as
a cylinder that pulls, V = V0 - A (s - s0) and s_v = s0 + V0 / A, eq. 7 times A is the derivative of the energy.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.compensator_law import AMBIENT_PA, CompensatorLaw, Lever, VentedGas
from stiffarm.papers.items import PaperItem, verdict_of

Floats = NDArray[np.float64]

PAPER = "002"
CASES = 200
SEED = 1
TABLE_1 = {"k1": (1.13, 0.15, 13.3), "k21": (0.34, 0.004, 1.1), "k22": (0.36, 0.005, 1.4), "k23": (0.35, 0.005, 1.4),
           "k24": (0.28, 0.007, 2.6), "k25": (0.32, 0.011, 3.6), "k26": (0.26, 0.007, 2.8), "k3": (0.43, 0.007, 1.8),
           "k4": (0.95, 0.31, 31.8), "k5": (3.82, 0.27, 7.0), "k6": (4.01, 0.35, 8.7)}  # fmt: skip
"""Value, half the interval (1e-6 rad/(N m)) and that as a share (%)."""


def items() -> tuple[PaperItem, ...]:
    """Equations 2, 5 to 7, 12, 14, the count of parameters and readings, and Table 1's own arithmetic."""
    return (*_mechanics(), *_counts(), *_table())


def random_cases(eps: float) -> list[tuple[CompensatorLaw, VentedGas, float]]:
    """Cylinders of either sense (isothermal) with an angle each."""
    rng = np.random.default_rng(SEED)
    out = []
    for _ in range(CASES):
        lever = Lever(rng.uniform(0.1, 0.4), rng.uniform(0.5, 1.0), rng.uniform(-3.0, 3.0))
        beyond, area = rng.uniform(0.05, 0.8), rng.uniform(1e-3, 2e-2)
        sv = lever.a - lever.L - beyond if eps > 0 else lever.a + lever.L + beyond
        gas = VentedGas(eps, area, 1.0, sv + eps * rng.uniform(5.0, 50.0), sv)
        out.append((CompensatorLaw(lever, gas), gas, float(rng.uniform(-2.5, 2.5))))
    return out


def equation_7(lever: Lever, s0: float, sv: float, q: float) -> float:
    """What eq. 7 adds to K_q2 as it is printed."""
    beta, product = lever.alpha - q, lever.a * lever.L
    s = math.sqrt(lever.a**2 + lever.L**2 + 2.0 * product * math.cos(beta))
    sine = product * math.sin(beta) ** 2
    bracket = sine * (s0 - sv) / (s - sv) + (-(s**2) * math.cos(beta) - sine) * (s - s0) / s
    return -AMBIENT_PA * product / (s**2 * (s - sv)) * bracket


def equation_5(lever: Lever, area: float, s0: float, volume: float, q: float) -> float:
    """What eq. 5 adds to K_q2 dq as it is printed."""
    beta = lever.alpha - q
    s = math.sqrt(lever.a**2 + lever.L**2 + 2.0 * lever.a * lever.L * math.cos(beta))
    swept = area * (s - s0)
    return -AMBIENT_PA * swept / (swept + volume) * lever.L * lever.a / s * math.sin(beta)


def _median_ratio(pairs: list[tuple[float, float]]) -> float:
    return float(np.median([printed / true for printed, true in pairs]))


def _mechanics() -> tuple[PaperItem, ...]:
    pull, push = random_cases(-1.0), random_cases(1.0)
    stiffness = {
        sense: _median_ratio([(gas.area * equation_7(law.lever, gas.s0, gas.sv, q), _stiffness(law, q))
                              for law, gas, q in cases])
        for sense, cases in (("pull", pull), ("push", push))
    }  # fmt: skip
    torque = _median_ratio(
        [(gas.area * equation_5(law.lever, gas.area, gas.s0, gas.area * (gas.s0 - gas.sv), q), _torque(law, q))
         for law, gas, q in push]
    )  # fmt: skip
    plain = _median_ratio([(equation_7(law.lever, gas.s0, gas.sv, q) / _stiffness(law, q) * gas.area, 1.0)
                           for law, gas, q in pull])  # fmt: skip
    where = _vanishing(push)
    energy = f"median of {CASES} random cylinders against the derivative of the energy"
    return (
        PaperItem(PAPER, "eq. 2: the constant distance a", "|P1 P2|", "|P0 P2|", "1", "wrong",
                  "|P1 P2| is called L in the same sentence and s = |P0 P1| is the third side of the triangle"),
        PaperItem(PAPER, "eq. 5: sign and size, times the area, of the torque of the volume printed", 1.0, torque, "1",
                  verdict_of(1.0, torque, 1e-9), f"{energy}: a gas whose volume grows with s pushes, so the sign must "
                  "be +"),
        PaperItem(PAPER, "eq. 5-7, 12: power of the piston's area in the compensator's part", 0.0, 1.0, "1", "wrong",
                  f"P0 L a / s is a force per length; times the area it is a torque, and then eq. 7 over the true "
                  f"stiffness is {plain:.3g} for a cylinder that pulls"),
        PaperItem(PAPER, "eq. 7 times the area over the true stiffness, cylinder that pulls", 1.0, stiffness["pull"],
                  "1", verdict_of(1.0, stiffness["pull"], 1e-9), f"{energy}, with s_v = s0 + V0 / A"),
        PaperItem(PAPER, "eq. 7 times the area over the true stiffness, cylinder that pushes", 1.0, stiffness["push"],
                  "1", verdict_of(1.0, stiffness["push"], 1e-9), f"{energy}, with s_v = s0 - V0 / A: the volume as "
                  "printed is that of such a cylinder, and the sign must be +"),
        PaperItem(PAPER, "eq. 6: s_v, where the volume printed vanishes, over s0 - V0 / A", -1.0, where, "1",
                  verdict_of(-1.0, where, 1e-9), "V0 + A (s - s0) is zero at s0 - V0 / A; V0 / A - s0 is its negative"),
    )  # fmt: skip


def _stiffness(law: CompensatorLaw, q: float) -> float:
    return float(law.torque(np.array([q]))[1][0])


def _torque(law: CompensatorLaw, q: float) -> float:
    return float(law.torque(np.array([q]))[0][0])


def _vanishing(cases: list[tuple[CompensatorLaw, VentedGas, float]]) -> float:
    """Median of the length without volume, found by bisection of V0 + A (s - s0), over s0 - V0 / A."""
    ratios = []
    for _, gas, _ in cases:
        volume = gas.area * (gas.s0 - gas.sv)
        low, high = gas.s0 - 100.0, gas.s0
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if volume + gas.area * (middle - gas.s0) < 0.0 else (low, middle)
        ratios.append(high / (gas.s0 - volume / gas.area))
    return float(np.median(ratios))


def _counts() -> tuple[PaperItem, ...]:
    unknowns = ("k1", "k3", "k4", "k5", "k6", "K_q2", "s0", "sv")
    angles = sum(name.startswith("k2") for name in TABLE_1)
    return (
        PaperItem(PAPER, "eq. 12: what the sum falls by when K_q2 does by one", 0.0, float(angles), "1", "wrong",
                  "without the measured 1/k_2i, a square and weights the sum is linear in K_q2 and has no minimum"),
        PaperItem(PAPER, "eq. 14: variance of a deflection, in those of a reading", 1.0, 2.0, "1", "wrong",
                  "a deflection is the difference of two readings (before and after loading, as the text says) with "
                  "independent errors"),
        PaperItem(PAPER, "physical parameters", 7.0, float(len(unknowns)), "1", "wrong",
                  f"those named in the text are {', '.join(unknowns)}"),
        PaperItem(PAPER, "readings of 31 configurations", 186.0, float(31 * 3 * 2), "1", "reproduced",
                  "three markers, each read before and after loading"),
    )  # fmt: skip


def _table() -> tuple[PaperItem, ...]:
    shares = {name: 100.0 * half / value for name, (value, half, _) in TABLE_1.items()}
    others = max(abs(shares[name] - printed) for name, (_, _, printed) in TABLE_1.items() if name != "k4")
    agrees = all(_within_rounding(name) for name in TABLE_1 if name != "k4")
    missing = "readings, configurations, angles of joint 2 and coordinates of load and markers are unpublished"
    return (
        *(PaperItem(PAPER, f"Table 1: {name}", value, None, "1e-6 rad/(N m)", "not reproducible", missing)
          for name, (value, _, _) in TABLE_1.items()),
        PaperItem(PAPER, "Table 1: unit of the compliances", "rad um/N", "1e-6 rad/(N m)", "1", "wrong",
                  "a revolute joint turns by k times a torque; the sizes are those of this unit"),
        PaperItem(PAPER, "Table 1: intervals as shares of their values, largest deviation of ten", None, others, "%",
                  "reproduced" if agrees else "wrong", "within what the digits of value and interval leave open"),
        PaperItem(PAPER, "Table 1: interval of k4 as a share", TABLE_1["k4"][2], shares["k4"], "%",
                  "reproduced" if _within_rounding("k4") else "wrong",
                  "0.31 over 0.95 is 31.9 to 33.3 % whatever their further digits are"),
    )  # fmt: skip


def _within_rounding(name: str) -> bool:
    """Whether a printed share can be that of the printed value and interval, each rounded."""
    value, half, share = TABLE_1[name]
    step = 0.0005 if half < 0.05 else 0.005
    low = 100.0 * (half - step) / (value + 0.005)
    high = 100.0 * (half + step) / (value - 0.005)
    return low - 0.05 <= share <= high + 0.05
