"""A path corrected by a model: targets for the controller, what is left of the error, and how sure that is.

Every point is solved on the exact model (`stiffarm.compensate.inverting`).  What is then left of the tool's error is
the residual r of that iteration, which is nanometres, and what the model does not know,

    left^2 = r^2 + trace(J C J'),        J = dp/dv at the corrected values, C the covariance of the parameters v,

so that ``removed`` = 1 - rms left / rms before is what will be removed of the *real* error if the model's intervals
are true, not what the model removes of its own.  ``removed_elastic`` is the same of the bending alone, with the
covariance of the elastic parameters.  A robot file has no covariance and is believed.

Points are worked on in chunks, by threads that share nothing; the result does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.corrected import CorrectedPath, Kinematics, Refused
from stiffarm.compensate.freedom import Freedom, freedom_of
from stiffarm.compensate.inverting import ARRIVED, LOST, SINGULAR, Found, Wished, invert, joint_words
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.wishing import Wish, tool_of
from stiffarm.identify.domain import leaving
from stiffarm.measure.paths import PathFile
from stiffarm.measure.writing import Cells
from stiffarm.model.arm_model import Arm
from stiffarm.model.evaluate import sensitivity
from stiffarm.model.rotations import vector_of
from stiffarm.showing import Shown

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Progress = Callable[[int, int], None]
Solved = tuple[Found, Floats | None, Floats | None]
"""A chunk: joint values, deviations of the corrected tool's position, the elastic part of these."""

CHUNK = 2048
NEAR_SINGULAR = 0.03
"""Tool motion per joint motion, both as lengths, below which a point is named as near singular."""
INTERRUPTED = "not worked on: interrupted before"


@dataclass(frozen=True)
class How:
    """What compensation is asked to do."""

    controller: Kinematics = "nominal"
    free: tuple[str, ...] = ()
    """Joints (rails) and turns of the tool that may be chosen (`stiffarm.compensate.freedom`)."""
    workers: int = 2


@dataclass(frozen=True, eq=False, repr=False)
class Compensation(Shown):
    """A corrected path and what is known of it; arrays are NaN where a point is refused."""

    path: CorrectedPath
    iterations: int
    """Corrections that the slowest point needed."""
    residual: Floats
    """(2, n) m and rad, of the iteration."""
    before: Floats
    """(n,) m, error of the tool's position without correction."""
    elastic: Floats
    """(n,) m, the bending part of it."""
    sigma: Floats | None
    """(3, n) m, standard deviations of the corrected tool's position in the world; None without a covariance."""
    sigma_elastic: Floats | None
    """(3, n) m, the part of them that is due to elastic parameters."""
    spread: Floats
    """(n,) tool motion per joint motion; small near a singularity."""
    warnings: tuple[str, ...] = ()

    @property
    def near_singular(self) -> Ints:
        """Points near a singularity that could be corrected."""
        return np.flatnonzero((self.spread < NEAR_SINGULAR) & np.isfinite(self.residual[0]))

    @property
    def max_residual_m(self) -> float | None:
        """Largest residual of the points that are commanded, m; None when none is."""
        known = self.residual[0][np.isfinite(self.residual[0])]
        return float(known.max()) if known.size else None

    @property
    def before_m(self) -> float | None:
        """Root mean square error without correction, m."""
        return _rms(self.before**2)

    @property
    def left_m(self) -> float | None:
        """Root mean square of what is left, m, with what the model does not know."""
        return _rms(self.residual[0] ** 2 + _variance(self.sigma))

    @property
    def worst(self) -> tuple[int, float] | None:
        """Line of the point that is expected to be farthest off, and how far, m; None where nothing is known."""
        left = np.sqrt(self.residual[0] ** 2 + _variance(self.sigma))
        if self.sigma is None or not np.isfinite(left).any():
            return None
        i = int(np.nanargmax(left))
        return int(self.path.row[i]), float(left[i])

    @property
    def removed(self) -> float | None:
        """Share of the error that will be gone; None when there is none."""
        return _share(self.left_m, self.before_m)

    @property
    def removed_elastic(self) -> float | None:
        """Share of the bending that will be gone; None when nothing bends."""
        left = _rms(self.residual[0] ** 2 + _variance(self.sigma_elastic))
        return _share(left, _rms(self.elastic**2))

    def saying(self, notes: tuple[str, ...], against_advice: tuple[str, ...] = ()) -> Compensation:
        """The same with sentences for the header of what is written."""
        path = replace(self.path, notes=(*self.path.notes, *notes, *against_advice), against_advice=against_advice)
        return replace(self, path=path)

    def summary(self) -> tuple[str, ...]:
        """What was corrected, what is left."""
        done = f"{len(self.path) - len(self.path.refused)} of {len(self.path)} points corrected"
        if self.before_m is None or self.left_m is None or self.removed is None:
            return (done,)
        left = f"error {1e3 * self.before_m:.4g} mm before, {1e3 * self.left_m:.4g} mm expected after"
        return (done, f"{left} (root mean squares), {100 * self.removed:.2f} % removed")

    def to_polars(self) -> pl.DataFrame:
        """Corrected joint values (rad, m) and what is known of each point."""
        import polars as pl

        q = {f"q.{name}": values for name, values in zip(self.path.joints, self.path.q, strict=True)}
        return pl.DataFrame({"row": self.path.row, **q, **self.remarks()})

    def remarks(self) -> dict[str, Cells]:
        """Columns beside the targets: residual, deviations, and reasons where points are refused."""
        columns: dict[str, Cells] = {"residual[m]": self.residual[0]}
        if self.sigma is not None:
            columns |= dict(zip(("sigma.x[m]", "sigma.y[m]", "sigma.z[m]"), self.sigma, strict=True))
        if self.path.refused:
            reasons = {one.row: one.reason for one in self.path.refused}
            columns["refused"] = [reasons.get(int(row), "") for row in self.path.row]
        return columns


def compensate(
    model: KnownModel, source: PathFile, wish: Wish, how: How | None = None, progress: Progress | None = None
) -> Compensation:
    """Correct a path; points that cannot be corrected are refused with a reason.  Ctrl-C refuses the rest."""
    how = how or How()
    freedom = freedom_of(model.robot, how.free)
    arm = model.arm()
    must = freedom.lacking or freedom.redundant or len(freedom.kept_turns) < 3
    tried = np.flatnonzero(wish.reached | must)
    parts = [tried[start : start + CHUNK] for start in range(0, len(tried), CHUNK)]
    table = _Table(model, source, wish, len(source))
    done = _in_threads(lambda rows: _solved(model, arm, wish.wished.take(rows), freedom), parts, how.workers, progress)
    for rows, (found, sigma, elastic) in done.items():
        table.put(parts[rows], found, sigma, elastic)
    return table.result(model.nominal() if how.controller == "nominal" else arm, how.controller)


def _solved(model: KnownModel, arm: Arm, wished: Wished, freedom: Freedom) -> Solved:
    """Work of one chunk."""
    found = invert(arm, wished, freedom)
    names = model.covariance_names
    if not names:
        return found, None, None
    columns = sensitivity(arm, wished.state(arm, np.nan_to_num(found.q)), "tool", names)[1]
    owner, effects = arm.model.owner, arm.model.effects
    bends = [effects[i].parameters[j].elastic or name.startswith("load.") for name in names for i, j in [owner[name]]]
    return found, _deviations(columns, model.covariance), _deviations(columns[bends], model.covariance[bends][:, bends])


def _deviations(columns: Floats, covariance: Floats) -> Floats:
    """(3, n) square roots of the diagonal of J C J'."""
    flat = columns.reshape(len(columns), -1)
    variance = np.einsum("pm,pm->m", flat, covariance @ flat).reshape(columns.shape[1:])
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _in_threads(
    work: Callable[[Ints], Solved], parts: list[Ints], workers: int, progress: Progress | None
) -> dict[int, Solved]:
    """Results by part; on Ctrl-C those that are there."""
    total, done = sum(map(len, parts)), 0
    out: dict[int, Solved] = {}
    pool = ThreadPoolExecutor(max(1, workers))
    waiting = {pool.submit(work, part): i for i, part in enumerate(parts)}
    try:
        while waiting:
            for future in wait(waiting, timeout=0.5, return_when=FIRST_COMPLETED).done:
                i = waiting.pop(future)
                out[i] = future.result()
                done += len(parts[i])
                if progress is not None:
                    progress(done, total)
    except KeyboardInterrupt:
        pass
    finally:
        pool.shutdown(cancel_futures=True)
    return out


class _Table:
    """Results of all points, filled part by part."""

    def __init__(self, model: KnownModel, source: PathFile, wish: Wish, n: int) -> None:
        self.model, self.source, self.wish = model, source, wish
        self.n, self.iterations = n, 0
        self.q = np.full((len(model.robot.joints), n), np.nan)
        self.residual, self.spread = np.full((2, n), np.nan), np.full(n, np.nan)
        self.before, self.elastic = np.full(n, np.nan), np.full(n, np.nan)
        known = bool(model.covariance_names)
        self.sigma = np.full((3, n), np.nan) if known else None
        self.sigma_elastic = np.full((3, n), np.nan) if known else None
        self.reasons: dict[int, str] = {int(i): _out_of_reach(wish, int(i)) for i in np.flatnonzero(~wish.reached)}
        self.worked_on = ~wish.reached

    def put(self, rows: Ints, found: Found, sigma: Floats | None, elastic: Floats | None) -> None:
        """Results of some points."""
        self.worked_on[rows] = True
        joints = self.model.robot.joints
        low, high = np.array([joint.limits or (-np.inf, np.inf) for joint in joints]).T
        beyond = ((found.q < low[:, None] - 1e-9) | (found.q > high[:, None] + 1e-9)).any(axis=0)
        good = (found.status == ARRIVED) & ~beyond
        for i in np.flatnonzero(~good):
            said = _why(found, int(i), self.model.robot.joint_names, self.wish.wished.q[:, rows[i]])
            slides = [joint.kind == "prismatic" for joint in joints]
            over = joint_words(self.model.robot.joint_names, found.q[:, i], low, high, slides)
            self.reasons[int(rows[i])] = over if over and found.status[i] != SINGULAR else said
        for i in rows[good]:
            self.reasons.pop(int(i), None)
        kept = rows[good]
        self.iterations = max(self.iterations, int(found.steps[good].max(initial=0)))
        self.q[:, kept], self.residual[:, kept] = found.q[:, good], found.residual[:, good]
        self.spread[rows] = found.spread
        self.before[kept] = np.linalg.norm(found.before[:, good], axis=0)
        self.elastic[kept] = np.linalg.norm(found.elastic[:, good], axis=0)
        for own, new in ((self.sigma, sigma), (self.sigma_elastic, elastic)):
            if own is not None and new is not None:
                own[:, kept] = new[:, good]

    def result(self, controller: Arm, kinematics: Kinematics) -> Compensation:
        """Everything together, the told poses among it."""
        for i in np.flatnonzero(~self.worked_on):
            self.reasons[int(i)] = INTERRUPTED
        position, axes = tool_of(controller, np.nan_to_num(self.q))
        told = np.concatenate([position, vector_of(axes)])
        told[:, np.isnan(self.q).any(axis=0)] = np.nan
        row, source = self.source.row, self.source
        refused = tuple(Refused(int(row[i]), self.reasons[i]) for i in sorted(self.reasons))
        path = CorrectedPath(
            self.model.robot.joint_names, self.q, told, row, kinematics, refused, source.time_s, source.feed_m_s
        )
        wrench = self.wish.wished.wrench_world
        beyond = leaving(
            self.model.domain, path.joints, self.q, np.zeros((0, 6, self.n)) if wrench is None else wrench, row
        )
        return Compensation(
            path, self.iterations, self.residual, self.before, self.elastic, self.sigma, self.sigma_elastic,
            self.spread, (*self.wish.warnings, *beyond),
        )  # fmt: skip


def _out_of_reach(wish: Wish, i: int) -> str:
    return f"out of reach: the nominal robot comes no nearer than {1e3 * wish.missed_m[i]:.3g} mm"


def _why(found: Found, i: int, names: tuple[str, ...], start: Floats) -> str:
    """Why a point has no answer."""
    if found.status[i] == LOST:
        return "the arm finds no equilibrium under its loads"
    error = 1e3 * float(np.linalg.norm(found.before[:, i]))
    if found.status[i] == SINGULAR or found.spread[i] < NEAR_SINGULAR:
        moved = found.q[:, i] - start
        worst = int(np.argmax(np.abs(moved)))
        return f"near a singularity: a correction of {error:.3g} mm would move {names[worst]} without end"
    left = max(float(found.residual[0, i]), 0.0)
    return f"the iteration does not settle: {1e3 * left:.3g} mm are left"


def _variance(sigma: Floats | None) -> Floats | float:
    return 0.0 if sigma is None else np.asarray((sigma**2).sum(axis=0))


def _rms(squares: Floats | float) -> float | None:
    known = np.asarray(squares)[np.isfinite(squares)]
    return float(np.sqrt(known.mean())) if known.size else None


def _share(left: float | None, before: float | None) -> float | None:
    return None if left is None or not before else 1.0 - left / before
