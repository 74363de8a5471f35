"""From a joint's compliances at several of its angles to its drive and its compensator, and to the model to prefer.

Given are compliances k_j at angles q_j with covariance C, a block of a larger fit in which they stand for what the
joint does.  A curve K_2(q; u) (`stiffarm.identify.curves`) with prior rows L (x(u) - m) is fitted to them by

    min over u of   (k - 1/K_2(q; u))' C^-1 (k - 1/K_2(q; u)) + |L (x(u) - m)|^2.

Readings are linear in the k_j, so that their sum of squares is its minimum plus the first term: this *two-step* answer
is that of one fit of all readings with u in the place of the k_j, whatever else was fitted beside them.

**Safe search.**  To first order k_j - 1/K_2 = (K_2 - 1/k_j) k_j^2, which is linear in all unknowns but one, the
logarithmic distance w of a gas.  So w is scanned on a grid with linear least squares in the others, and the valleys
found are followed to their bottoms with exact derivatives.

**Which model.**  A curve is preferred to the constant when two judges agree: Schwarz' criterion, chi^2 + p ln(rows),
and prediction of each k_j from the fit of the others (root mean square in standard deviations).  The interpolated
curve, straight between the angles, has one unknown for each of them.  The covariance of K_2(q) says how well the curve
is known, that of x(u) how well its split into drive and compensator is: they differ by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.curves import Constant, Curve, curves_of, known_part
from stiffarm.identify.separated import Candidate, Separation, Split
from stiffarm.robot.arm import Compensator, Joint

Floats = NDArray[np.float64]

STARTS = 3
"""Valleys of the scan that are followed."""
AT_BOUND = 1e-6
"""Distance, relative for large ones, from which an unknown stands at its bound."""
DIFFERENCE = 1e-30
"""Of the complex step, relative."""


@dataclass(frozen=True, eq=False)
class Block:
    """Compliances of one joint by its angle."""

    joint: Joint
    angles: Floats
    """(m,) rad, rising."""
    compliance: Floats
    """(m,) rad/(N m)."""
    covariance: Floats
    """(m, m)"""
    rows: int
    """Readings (scalars) they were fitted to."""
    priors: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Mean and standard deviation (SI) by name without the joint: ``compliance``, ``compensator.s0`` ..."""

    def without(self, j: int) -> Block:
        """All angles but one."""
        keep = np.arange(len(self.angles)) != j
        covariance = self.covariance[np.ix_(keep, keep)]
        return Block(self.joint, self.angles[keep], self.compliance[keep], covariance, self.rows, self.priors)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A curve through a block."""

    curve: Curve
    u: Floats
    covariance: Floats
    """Of u; zero rows where an unknown stands at its bound."""
    chi2: float
    """Of the compliances, without priors."""
    at_bound: NDArray[np.bool_]
    cost: float
    """chi^2 with priors."""

    def compliance(self, q: Floats) -> Floats:
        """1 / K_2."""
        return np.asarray(1.0 / self.curve.stiffness(self.u, q)[0])

    def spread(self, q: Floats) -> Floats:
        """Standard deviation of K_2 over K_2, (n,)."""
        stiffness, by_u = self.curve.stiffness(self.u, q)
        return np.asarray(np.sqrt(np.einsum("in,ij,jn->n", by_u, self.covariance, by_u)) / stiffness)


def separate(block: Block, compensator: Compensator | None = None) -> Separation:
    """Every curve that can be fitted to a block, and which of them to prefer.

    >>> from stiffarm.robot.arm import AxisPlacement
    >>> joint = Joint("A2", "revolute", AxisPlacement(), limits=(-2.0, 0.5))
    >>> q, k = np.linspace(-2.0, 0.0, 6), np.full(6, 0.3e-6)
    >>> separate(Block(joint, q, k, np.diag((0.01 * k) ** 2), 279)).chosen
    'constant'
    """
    fitted = [found for curve in curves_of(compensator, block.joint) if (found := fit_curve(block, curve)) is not None]
    best = {found.curve.kind: found for found in sorted(fitted, key=lambda found: -found.cost)}  # two gases: the better
    candidates = [_candidate(block, best[kind]) for kind in ("constant", "spring", "gas") if kind in best]
    candidates.append(_interpolated(block))
    chosen, why = choose(candidates)
    return Separation(block.joint.name, tuple(map(float, block.angles)), tuple(candidates), chosen, why)


def choose(candidates: Sequence[Candidate]) -> tuple[str, str]:
    """The model to prefer, and why: the constant unless both judges say otherwise."""
    constant = next(c for c in candidates if c.kind == "constant")
    others = [c for c in candidates if c is not constant]
    better = [c for c in others if c.bic < constant.bic]
    both = [c for c in better if c.held_out is not None and c.held_out < (constant.held_out or 0.0)]
    if both:
        best = min(both, key=lambda c: c.bic)
        return best.kind, (
            f"its criterion is {constant.bic - best.bic:.3g} lower than that of a constant, and an angle left out is "
            f"missed by {best.held_out:.2g} instead of {constant.held_out or 0.0:.2g} standard deviations"
        )
    if better:
        return constant.kind, "other curves fit better, and yet predict angles that were left out no better"
    return constant.kind, "no other curve fits better by more than its further unknowns would in pure noise"


def fit_curve(block: Block, curve: Curve) -> Fitted | None:
    """The curve nearest to a block; None when there are too few angles."""
    priors = _Priors.of(block, curve)
    if len(block.angles) + priors.count < len(curve.bounds[0]):
        return None
    root = np.asarray(np.linalg.cholesky(block.covariance), dtype=float)
    found = [_refined(block, root, curve, u, priors) for u in _starts(block, root, curve, priors)]
    return min(found, key=lambda fitted: fitted.cost) if found else None


@dataclass(frozen=True, eq=False)
class _Priors:
    """Rows (x(u) - mean) / sigma of the numbers with a prior."""

    curve: Curve
    index: tuple[int, ...]
    mean: Floats
    sigma: Floats

    @staticmethod
    def of(block: Block, curve: Curve) -> _Priors:
        chosen = [(i, *block.priors[name]) for i, name in enumerate(curve.names) if name in block.priors]
        index, mean, sigma = zip(*chosen, strict=True) if chosen else ((), (), ())
        return _Priors(curve, tuple(index), np.array(mean), np.array(sigma))

    @property
    def count(self) -> int:
        return len(self.index)

    def rows(self, u: Floats) -> tuple[Floats, Floats]:
        """Residuals and derivatives by u."""
        index = list(self.index)
        value = (self.curve.physical(u)[index] - self.mean) / self.sigma
        return value, jacobian(self.curve, u)[index] / self.sigma[:, None]


def jacobian(curve: Curve, u: Floats) -> Floats:
    """Derivatives (numbers, unknowns) of the physical numbers, exact to rounding (complex steps)."""
    columns = []
    for i, value in enumerate(u):
        h = DIFFERENCE * max(abs(float(value)), 1e-30)
        moved = u.astype(complex)
        moved[i] += 1j * h
        columns.append(np.imag(curve.physical(moved)) / h)
    return np.stack(columns, axis=1)


def _starts(block: Block, root: Floats, curve: Curve, priors: _Priors) -> list[Floats]:
    """Bottoms of the valleys of the scan (one without a scan), best first, and the priors' own point."""
    seen = 1.0 / block.compliance
    weigh = np.linalg.solve(root, np.diag(block.compliance**2))
    right = weigh @ (seen - known_part(curve, block.angles))
    low, high = curve.bounds
    found: list[tuple[float, Floats]] = []
    for scan in curve.scans if len(curve.scans) else (None,):
        columns = (
            (weigh @ curve.basis(block.angles, scan).T) if scan is not None else weigh @ curve.basis(block.angles).T
        )
        length = np.linalg.norm(columns, axis=0)
        linear = np.linalg.lstsq(columns / length, right, rcond=None)[0] / length
        u = np.clip(linear if scan is None else np.append(linear, scan), low, high)
        moved, _ = _residual(block, root, curve, u, priors)
        found.append((float(moved @ moved), u))
    costs = np.array([cost for cost, _ in found])
    padded = np.concatenate([[np.inf], costs, [np.inf]])
    valleys = [i for i in range(len(costs)) if padded[i] >= padded[i + 1] <= padded[i + 2]]
    chosen = [found[i][1] for i in sorted(valleys, key=lambda i: costs[i])[:STARTS]]
    if priors.count == len(curve.names):
        chosen.append(np.clip(curve.unknowns(dict(zip(curve.names, priors.mean, strict=True))), low, high))
    return chosen


def _residual(block: Block, root: Floats, curve: Curve, u: Floats, priors: _Priors) -> tuple[Floats, Floats]:
    """White residuals and their derivatives by u, priors last."""
    stiffness, by_u = curve.stiffness(u, block.angles)
    stiffness = np.where(stiffness > 0.0, stiffness, np.finfo(float).eps * u[0])  # no joint: as far off as can be
    rest = np.asarray(np.linalg.solve(root, block.compliance - 1.0 / stiffness), dtype=float)
    columns = np.asarray(np.linalg.solve(root, (by_u / stiffness**2).T), dtype=float)
    if not priors.count:
        return rest, columns
    value, by = priors.rows(u)
    return np.concatenate([rest, value]), np.vstack([columns, by])


def _refined(block: Block, root: Floats, curve: Curve, start: Floats, priors: _Priors) -> Fitted:
    from scipy.optimize import least_squares

    low, high = curve.bounds
    inside = np.clip(
        start, low + 1e-9 * np.maximum(np.abs(low), 1e-3), high - 1e-9 * np.abs(np.where(high < np.inf, high, 0))
    )

    def rest_at(u: Floats) -> Floats:
        return _residual(block, root, curve, u, priors)[0]

    def columns_at(u: Floats) -> Floats:
        return _residual(block, root, curve, u, priors)[1]

    found = least_squares(
        rest_at,
        inside,
        jac=columns_at,
        bounds=(low, high),
        x_scale="jac",
        xtol=1e-13,
        ftol=1e-14,
        gtol=1e-13,
        max_nfev=60,
    )
    u = np.asarray(found.x)
    at_bound = (u - low <= AT_BOUND * np.maximum(np.abs(low), 1.0)) | (high - u <= AT_BOUND)
    rest, columns = _residual(block, root, curve, u, priors)
    free = columns[:, ~at_bound]
    covariance = np.zeros((len(u), len(u)))
    covariance[np.ix_(~at_bound, ~at_bound)] = _inverse(free)
    chi2 = float(rest[: len(block.angles)] @ rest[: len(block.angles)])
    return Fitted(curve, u, covariance, chi2, at_bound, float(rest @ rest))


def _inverse(columns: Floats) -> Floats:
    """(A'A)^-1 by the singular values of scaled columns; directions that are not seen count as wide, not as lost."""
    length = np.linalg.norm(columns, axis=0)
    length = np.where(length > 0.0, length, 1.0)
    _, size, turn = np.linalg.svd(columns / length, full_matrices=False)
    size = np.maximum(size, 1e-12 * size.max(initial=1.0))
    half = turn.T / size / length[:, None]
    return np.asarray(half @ half.T)


def _candidate(block: Block, found: Fitted) -> Candidate:
    curve, joint = found.curve, block.joint.name
    by = jacobian(curve, found.u)
    std = np.sqrt(np.maximum(np.diag(by @ found.covariance @ by.T), 0.0))
    grid = _travel(block)
    stiffness = curve.stiffness(found.u, block.angles)[0]
    names = tuple(f"{joint}.{name}" for name in curve.names)
    numbers = tuple(map(float, curve.physical(found.u)))
    bound = tuple(name for name, is_at in zip(names, found.at_bound, strict=True) if is_at)
    return Candidate(
        kind=curve.kind,
        stiffness=tuple(map(float, stiffness)),
        std=tuple(map(float, stiffness * found.spread(block.angles))),
        bic=found.chi2 + len(found.u) * float(np.log(block.rows)),
        held_out=_held_out(block, curve),
        split=Split(names, numbers, tuple(map(float, std)), bound, _largest_torque(curve, found, grid)),
    )


def _travel(block: Block) -> Floats:
    """Angles over the joint's limits, or over what was measured."""
    low, high = block.joint.limits or (float(block.angles[0]), float(block.angles[-1]))
    return np.linspace(low, high, 181)


def _largest_torque(curve: Curve, found: Fitted, grid: Floats) -> tuple[float, float] | None:
    """Largest |M_c| (N m) over the travel and its standard deviation; None without compensator."""
    if curve.kind == "constant":
        return None
    torque = curve.torque(found.u, grid)
    worst = int(np.argmax(np.abs(torque)))
    step = np.sqrt(np.finfo(float).eps)
    by = []
    for i, value in enumerate(found.u):
        h = step * max(abs(float(value)), 1e-3)
        ends = [curve.torque(found.u + sign * h * (np.arange(len(found.u)) == i), grid[[worst]])[0] for sign in (1, -1)]
        by.append((ends[0] - ends[1]) / (2.0 * h))
    slope = np.array(by)
    return float(abs(torque[worst])), float(np.sqrt(slope @ found.covariance @ slope))


def _held_out(block: Block, curve: Curve) -> float | None:
    """Root mean square of (k_j - prediction from the other angles) over its standard deviation."""
    errors = []
    for j in range(len(block.angles)):
        part = block.without(j)
        found = fit_curve(part, curve)
        if found is None or len(part.angles) < len(curve.bounds[0]):
            return None
        errors.append(block.compliance[j] - found.compliance(block.angles[[j]])[0])
    return _in_deviations(block, errors)


def _in_deviations(block: Block, errors: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.array(errors) ** 2 / np.diag(block.covariance))))


def _interpolated(block: Block) -> Candidate:
    """Straight between the measured angles."""
    stiffness = 1.0 / block.compliance
    std = np.sqrt(np.diag(block.covariance)) * stiffness**2
    errors = [
        block.compliance[j] - 1.0 / np.interp(block.angles[j], rest.angles, 1.0 / rest.compliance)
        for j in range(len(block.angles))
        if len((rest := block.without(j)).angles)
    ]
    return Candidate(
        kind="interpolated",
        stiffness=tuple(map(float, stiffness)),
        std=tuple(map(float, std)),
        bic=len(block.angles) * float(np.log(block.rows)),
        held_out=_in_deviations(block, errors) if len(errors) == len(block.angles) and len(errors) > 1 else None,
        split=None,
    )


def constant_stiffness(block: Block) -> float:
    """K_2 of the constant that is nearest to a block, N m/rad."""
    found = fit_curve(block, Constant())
    assert found is not None, "one angle is enough"
    return float(found.u[0])
