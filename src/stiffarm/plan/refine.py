"""Moving the stops of plans, and single stops, downhill with exact derivatives.

For plans the objective is log(criterion) plus a penalty for what is not kept,

    log phi + (rho/2) sum of min(0, margin - slack)^2,      d log phi = -sum_i r_i tr(N dI_i) / phi,

for many plans at once (`stiffarm.plan.descent`), with rho rising; the best are then brought exactly into what must
be kept by sequential quadratic programming.  For single stops it is -log(gain) with the same penalty: the largest
gain anywhere is what the certificate needs.  A penalty only makes the feasible set larger, so a maximum found with
it is never below the feasible one next to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, OptimizeResult, minimize

from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import jacobian
from stiffarm.plan.constraints import all_margins
from stiffarm.plan.criteria import Criterion
from stiffarm.plan.descent import descend
from stiffarm.plan.information import Information, triangle
from stiffarm.plan.problem import Constraint, Floats, Ints, Stops
from stiffarm.plan.variables import Space

SLACK = 1e-6
"""m or a cosine: margins are kept with this much to spare."""
PENALTIES = (30.0, 3e3)
"""1/m^2"""
Never = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class Refiner:
    """What is refined: a criterion over stops that keep constraints."""

    information: Information
    criterion: Criterion
    space: Space
    constraints: tuple[Constraint, ...]
    arm: Arm
    repeats: Ints
    min_distance_m: float = 0.0

    @property
    def poses(self) -> int:
        """Stops of a plan."""
        return len(self.repeats)

    def value(self, stops: Stops) -> float:
        """The criterion of one plan."""
        return float(self.values(stops, 1)[0])

    def values(self, stops: Stops, plans: int) -> Floats:
        """(plans,) criterion of plans whose stops stand one after the other."""
        return self.criterion.judge(self._triangles(self.information.rows(stops), plans)).value

    def _triangles(self, white: Floats, plans: int) -> Floats:
        """(plans, p, p) from white rows (plans * poses, numbers, p)."""
        root = np.sqrt(self.repeats.astype(float))[None, :, None, None]
        rows = white.reshape(plans, self.poses, *white.shape[1:]) * root
        rows = rows.reshape(plans, -1, white.shape[2])
        known = self.information.known
        return triangle(np.concatenate([np.broadcast_to(known, (plans, *known.shape)), rows], axis=1))

    def plans(self, x: Floats, like: Floats, weight: float) -> tuple[Floats, Floats]:
        """Objective (plans,) and gradient of plans (plans, variables); ``like`` (joints, plans * poses)."""
        each = self.space.spread(x, self.poses)
        stops = self.space.unpack(each, like)
        seen = self.information.at(stops)
        judged = self.criterion.judge(self._triangles(seen.white, len(x)))
        slope = np.repeat(judged.slope / judged.value[:, None, None], self.poses, axis=0)
        slope *= np.tile(self.repeats, len(x))[:, None, None]
        gains = seen.gains(np.nan_to_num(slope))
        penalty, by_q, by_aim = self._penalty(stops, weight)
        gradient = self.space.chained(each, by_q - gains.by_q, by_aim - gains.by_aim)
        total = np.log(judged.value) + penalty.reshape(len(x), -1).sum(axis=1)
        if self.min_distance_m > 0.0:
            apart, apart_q = self._apart(stops, len(x), weight)
            total += apart
            gradient += self.space.chained(each, apart_q, np.zeros((3, len(stops))))
        return total, self.space.gathered(gradient, self.poses)

    def stops(self, x: Floats, like: Floats, slope: Floats, weight: float) -> tuple[Floats, Floats]:
        """-log(gain) plus penalty of single stops (n, own + shared), and its gradient."""
        stops = self.space.unpack(x, like)
        gains = self.information.at(stops).gains(slope)
        penalty, by_q, by_aim = self._penalty(stops, weight)
        some = gains.value > 1e-200  # a criterion that is not convex can lose by a stop
        d = np.where(some, gains.value, 1.0)
        gradient = self.space.chained(x, by_q - gains.by_q / d, by_aim - gains.by_aim / d)
        return np.where(some, penalty - np.log(d), np.inf), gradient

    def _penalty(self, stops: Stops, weight: float) -> tuple[Floats, Floats, Floats]:
        """(n,), (joints, n), (3, n)"""
        margins = all_margins(self.constraints, stops)
        short = np.minimum(0.0, margins.value - SLACK)
        return (
            0.5 * weight * (short**2).sum(axis=0),
            weight * np.einsum("cn,cjn->jn", short, margins.by_q),
            weight * np.einsum("cn,cin->in", short, margins.by_aim),
        )

    def tools(self, stops: Stops) -> tuple[Floats, Floats]:
        """Tool points (3, n) and their motion (joints, 3, n) by the controller values."""
        position, columns = jacobian(self.arm.chain, stops.q, self.arm.chain.point("tool"))
        return position, np.einsum("jin,jk->kin", columns, self.arm.chain.mix)

    def _apart(self, stops: Stops, plans: int, weight: float) -> tuple[Floats, Floats]:
        """Penalty (plans,) of stops too near to one another, and its gradient by the joints."""
        position, moved = self.tools(stops)
        p = position.reshape(3, plans, self.poses)
        step = p[:, :, :, None] - p[:, :, None, :]
        distance = np.sqrt((step**2).sum(axis=0)) + np.eye(self.poses) * 1e9
        short = np.minimum(0.0, distance - self.min_distance_m - SLACK)
        by_p = weight * (short / distance * step).sum(axis=3).reshape(3, -1)
        return 0.25 * weight * (short**2).sum(axis=(1, 2)), np.einsum("kin,in->kn", moved, by_p)

    def refine(self, starts: Sequence[Stops], steps: int, stop: Never) -> tuple[list[Stops], Floats]:
        """Plans moved downhill together, the best first, with their objectives; constraints are nearly kept."""
        x = np.array([self.space.pack_plan(start) for start in starts])
        like = np.concatenate([start.q for start in starts], axis=1)
        low, high = self.space.plan_bounds(self.poses)
        value = np.zeros(len(x))
        for weight in PENALTIES if self.constraints or self.min_distance_m else PENALTIES[:1]:
            done = descend(self._batch(like, weight), x, low, high, steps=steps, stop=stop, tolerance=1e-6)
            x, value = done.x, done.value
        order = np.argsort(value, kind="stable")
        return [self._plan(x[i], starts[i].q) for i in order], value[order]

    def _batch(self, like: Floats, weight: float) -> _Batch:
        return _Batch(self, like.reshape(like.shape[0], -1, self.poses), weight)

    def _plan(self, x: Floats, like: Floats) -> Stops:
        return self.space.unpack(self.space.spread(x[None], self.poses), like)

    def polish(self, start: Stops, steps: int = 60) -> Stops:
        """One plan brought to the nearest optimum that keeps everything exactly (up to `SLACK`)."""
        low, high = self.space.plan_bounds(self.poses)
        like, x = start.q, self.space.pack_plan(start)

        def objective(x: Floats) -> tuple[float, Floats]:
            value, gradient = self.plans(x[None], like, 0.0)
            return (float(value[0]), gradient[0]) if np.isfinite(value[0]) else (1e6, np.zeros_like(x))

        limits = [{"type": "ineq", "fun": lambda x: self.margins(x, like)[0] - SLACK,
                   "jac": lambda x: self.margins(x, like)[1]}]  # fmt: skip
        constrained = bool(self.constraints) or self.min_distance_m > 0.0
        done: OptimizeResult = minimize(  # type: ignore[call-overload]
            objective, np.clip(x, low, high), jac=True, method="SLSQP",
            bounds=Bounds(low, high), constraints=limits if constrained else [],
            options={"maxiter": steps, "ftol": 1e-9},
        )  # fmt: skip
        return self._plan(np.clip(done.x, low, high), like)

    def margins(self, x: Floats, like: Floats) -> tuple[Floats, Floats]:
        """Margins of one plan that are near to being broken, and their derivatives by its variables."""
        each = self.space.spread(x[None], self.poses)
        stops = self.space.unpack(each, like)
        found = all_margins(self.constraints, stops)
        count = found.value.shape[0]
        values = [found.value.ravel()]
        rows = np.zeros((count * self.poses, len(x)))
        for c in range(count):
            slope = self.space.chained(each, found.by_q[c], found.by_aim[c])
            for i in range(self.poses):
                at = c * self.poses + i
                rows[at, i * self.space.own : (i + 1) * self.space.own] = slope[i, : self.space.own]
                rows[at, self.poses * self.space.own :] = slope[i, self.space.own :]
        blocks = [rows]
        if self.min_distance_m > 0.0:
            value, block = self._distances(each, stops, len(x))
            values.append(value)
            blocks.append(block)
        return np.concatenate(values), np.concatenate(blocks)

    def _distances(self, each: Floats, stops: Stops, size: int) -> tuple[Floats, Floats]:
        position, moved = self.tools(stops)
        i, j = np.triu_indices(self.poses, 1)
        step = position[:, i] - position[:, j]
        distance = np.sqrt((step**2).sum(axis=0)) + 1e-12
        u, rows = step / distance, np.zeros((len(i), size))
        zero = np.zeros((3, self.poses))
        for row, (a, b) in enumerate(zip(i, j, strict=True)):
            by_q = np.zeros_like(stops.q)
            by_q[:, a], by_q[:, b] = moved[:, :, a] @ u[:, row], -moved[:, :, b] @ u[:, row]
            slope = self.space.chained(each, by_q, zero)[:, : self.space.own]
            rows[row, : self.poses * self.space.own] = slope.ravel()
        return distance - self.min_distance_m, rows

    def climb(self, start: Stops, slope: Floats, steps: int, stop: Never) -> tuple[Stops, Floats]:
        """Single stops moved to larger gains for the slope N; with their gains."""
        x, like = self.space.pack(start), start.q
        low, high = self.space.bounds()
        weight = PENALTIES[-1]
        done = descend(_Single(self, like, slope, weight), x, low, high, steps=steps, stop=stop, tolerance=1e-6)
        stops = self.space.unpack(done.x, like)
        return stops, self.information.gains(stops, slope).value


class _Batch:
    """The objective of plans, of which `descend` asks for some at a time."""

    def __init__(self, refiner: Refiner, like: Floats, weight: float) -> None:
        self.refiner, self.like, self.weight = refiner, like, weight

    def __call__(self, x: Floats, which: Ints) -> tuple[Floats, Floats]:
        like = self.like[:, which]
        return self.refiner.plans(x, np.ascontiguousarray(like.reshape(like.shape[0], -1)), self.weight)


class _Single:
    """The objective of single stops."""

    def __init__(self, refiner: Refiner, like: Floats, slope: Floats, weight: float) -> None:
        self.refiner, self.like, self.slope, self.weight = refiner, like, slope, weight

    def __call__(self, x: Floats, which: Ints) -> tuple[Floats, Floats]:
        like = np.ascontiguousarray(self.like[:, which])
        return self.refiner.stops(x, like, self.slope, self.weight)
