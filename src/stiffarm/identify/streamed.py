"""Least squares of a campaign in pieces: the same steps as `stiffarm.identify.fit`, through a running R factor.

At a point every piece gives white rows [A | N | r] (parameters and frames, errors nobody asked for, residual), of which
`RunningQR` keeps the triangle.  Which columns can be told apart is judged on the sample, whose rows each stand for
many.  Passes are made until a step moves no unknown by a thousandth of its deviation.  Memory is one piece and a
triangle, whatever the number of rows.

*Folds.*  Rows of a fold have a triangle of their own; the triangles of the others, stacked, are the fit without it, so
that five folds cost no pass more than none.

Turns of a frame are about the centre c of its readings, which differs from piece to piece: e x (r - c_piece) becomes
e x (r - c) by adding e x (c_piece - c), a combination of the columns of the shift.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.selection import Selection
from stiffarm.identify.choose import Dropped, keep, told_by_load
from stiffarm.identify.fit import priors_of
from stiffarm.identify.noise import RowNoise, assumed_noise
from stiffarm.identify.nonlinear import SAFETY, STEP_DONE, damping
from stiffarm.identify.nuisance import experiment_loads, nuisance_of
from stiffarm.identify.outcome import LinearEstimate
from stiffarm.identify.problem import Prior
from stiffarm.identify.streaming import RunningQR
from stiffarm.identify.system import Point, System
from stiffarm.identify.unknowns import Asked
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.spool import Spool, Told
from stiffarm.robot.placement import skew

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FoldOf = Callable[[Campaign], Ints]
"""Fold of every reading of a piece."""

MOST_PASSES = 8


@dataclass(frozen=True, eq=False)
class Stream:
    """A campaign in pieces with what is needed to make rows of them."""

    spool: Spool
    asked: Asked
    system: System
    """Of the sample: where frames are counted from."""
    noise: RowNoise
    """Of the sample: the scales of lengths and angles when nobody stated them."""
    unweighted: bool
    """All rows alike, whatever is known of their errors (`ols`)."""
    fold_of: FoldOf
    folds: int
    tell: Told | None = None

    @property
    def known(self) -> bool:
        """Whether white rows have variance one."""
        return self.noise.known and not self.unweighted

    def triangles(self, at: Point, names: Sequence[str], errors: Sequence[str], what: str) -> list[RunningQR]:
        """[A | N | r] of all pieces at a point, a triangle for every fold."""
        running = [RunningQR(len(names) + 6 * len(self.system.unknown_frames) + len(errors)) for _ in range(self.folds)]
        done = 0
        for piece in self.spool:
            system = System(self.asked.model, piece, self.system.loads)
            done += len(piece.readings)
            if len(system):
                rows = self._white_rows(system, at, names, errors)
                fold = self.fold_of(piece)[system.take[1]]
                for one in np.unique(fold):
                    mine = rows[fold == one]
                    running[one].add(mine[:, :-1], mine[:, -1])
            if self.tell is not None:
                self.tell(f"rows, {what}", done, self.spool.rows)
        return running

    def _white_rows(self, system: System, at: Point, names: Sequence[str], errors: Sequence[str]) -> Floats:
        equations = system.equations(at, names)
        n = len(names)
        frames = np.zeros((len(system), 6 * len(self.system.unknown_frames)))
        place = {self.system.campaign.setups[i].name: k for k, i in enumerate(self.system.unknown_frames)}
        for k, i in enumerate(system.unknown_frames):
            own = equations.columns[:, n + 6 * k : n + 6 * k + 6].copy()
            into = place[system.campaign.setups[i].name]
            own[:, 3:] -= own[:, :3] @ skew(system.centres[:, i] - self._centre(into))
            frames[:, 6 * into : 6 * into + 6] = own
        carried = np.zeros((len(system), len(errors)))
        if errors:
            found = nuisance_of(system, at, names)
            for j, name in enumerate(found.names):
                carried[:, list(errors).index(name)] = found.columns[:, j]
        rows = np.column_stack([equations.columns[:, :n], frames, carried, equations.residual])
        return rows if self.unweighted else self._noise(system, at).whiten(rows)

    def _centre(self, frame: int) -> Floats:
        return self.system.centres[:, self.system.unknown_frames[frame]]

    def _noise(self, system: System, at: Point) -> RowNoise:
        noise = assumed_noise(system, at)
        if not noise.known:
            scale = [
                float(self.noise.sigma[part].mean()) if part.any() else 1.0
                for part in (~self.noise.angular, self.noise.angular)
            ]
            noise = replace(noise, sigma=np.where(noise.angular, scale[1], scale[0]))
        return replace(noise, load=experiment_loads(system, at))


@dataclass(frozen=True, eq=False)
class Streamed:
    """What the passes found."""

    stream: Stream
    names: tuple[str, ...]
    errors: tuple[str, ...]
    before: Point
    """Where the last pass was made."""
    at: Point
    triangles: list[RunningQR]
    """By fold, at ``before``."""
    estimate: LinearEstimate
    """Of parameters, frames and errors, as the step from ``before``."""
    selection: Selection
    dropped: tuple[Dropped, ...]
    passes: int
    converged: bool

    @property
    def unknowns(self) -> int:
        """Parameters and coordinates of frames."""
        return len(self.names) + 6 * len(self.stream.system.unknown_frames)

    def variance(self, fitted: Sequence[int]) -> float:
        """Mean square of a white row's error."""
        whole = merged([self.triangles[i] for i in fitted])
        return whole.residual_sum() / max(whole.rows - self.unknowns, 1)

    def without(self, fold: int) -> Point:
        """The solution without the rows of a fold, whose own frames are then found with what the others say."""
        others = [t for i, t in enumerate(self.triangles) if i != fold]
        step = solved(self.stream, merged(others), self.names, self.before, len(self.errors)).values
        n, own = len(self.names), self.triangles[fold].triangle
        unseen = [j for j in range(n, self.unknowns) if not np.any(merged(others).triangle[:, j]) and np.any(own[:, j])]
        if unseen:
            rest = own[:, -1] - own[:, :-1] @ step
            step[unseen] = np.linalg.lstsq(own[:, unseen], rest, rcond=None)[0]
        return self.stream.system.moved(self.before, self.names, step[: self.unknowns])


def stream_fit(stream: Stream, start: Point, fitted: Sequence[int], what: str) -> Streamed:
    """Passes from a start at nominal geometry to the solution of the folds ``fitted``."""
    at, errors = start, tuple[str, ...]()
    selection, names, dropped = _kept(stream, start)
    triangles = stream.triangles(at, names, errors, f"pass 1 {what}")
    before, done, share, number = np.inf, False, 1.0, 1
    while True:
        whole = merged([triangles[i] for i in fitted])
        estimate = solved(stream, whole, names, at, len(errors))
        p = len(names) + 6 * len(stream.system.unknown_frames)
        step = estimate.values[:p]
        held = damping(stream.system, names, step, float(np.sqrt(_squares(whole) / whole.rows)))
        if held is not None:
            rows = np.zeros((len(held), whole.parameters + 1))
            rows[:, :p] = held
            back = RunningQR(whole.parameters, whole.rows, np.vstack([whole.triangle, rows]))
            step = solved(stream, back, names, at, len(errors)).values[:p]
        size = float(np.linalg.norm(whole.triangle[:, :p] @ step))
        scatter = np.sqrt(whole.residual_sum() / max(whole.rows - p, 1))
        coming = SAFETY * size * (size / before) ** 2 if number > 1 else np.inf
        last, cost, at = at, _squares(whole), stream.system.moved(at, names, step)
        felt = nuisance_of(stream.system, at, names).names  # a load that is uncertain acts on an arm that bends
        done = min(size, coming) <= STEP_DONE * scatter and felt == errors and held is None
        if done or number >= MOST_PASSES:
            break
        before, errors, share = size, felt, 1.0
        while number < MOST_PASSES:
            number += 1
            triangles = stream.triangles(at, names, errors, f"pass {number} {what}")
            if _squares(merged([triangles[i] for i in fitted])) <= cost * (1.0 + 1e-9):
                break
            share *= 0.5  # the step led uphill: half of it
            at = stream.system.moved(last, names, share * step)
    return Streamed(stream, names, errors, last, at, triangles, estimate, selection, dropped, number, done)


def _squares(triangle: RunningQR) -> float:
    """Sum of the squared white residuals where the triangle was made."""
    return float(np.sum(triangle.triangle[:, -1] ** 2))


def merged(triangles: Sequence[RunningQR]) -> RunningQR:
    """Several triangles as one."""
    total = RunningQR(triangles[0].parameters)
    for one in triangles:
        total.merge(one)
    return total


def solved(stream: Stream, triangle: RunningQR, names: Sequence[str], at: Point, errors: int) -> LinearEstimate:
    """The step of a triangle; unknowns that its rows do not touch stay where they are, with no variance."""
    p = triangle.parameters
    priors = priors_of(stream.asked, names)
    factor, mean = np.zeros((len(priors.index) + errors, p)), np.zeros(p)
    for row, (i, m, sigma) in enumerate(zip(priors.index, priors.mean, priors.sigma, strict=True)):
        factor[row, i], mean[i] = 1.0 / sigma, m - at.values[names[i]]
    factor[len(priors.index) :, p - errors :] = np.eye(errors)
    touched = np.flatnonzero(np.any(triangle.triangle[:, :p] != 0.0, axis=0) | np.any(factor != 0.0, axis=0))
    prior = Prior(mean[touched], factor[:, touched]) if len(factor) else None
    part = _some_columns(triangle, touched.tolist()).estimate(known=stream.known, prior=prior)
    values, covariance, dof = np.zeros(p), np.zeros((p, p)), np.full(p, np.inf)
    values[touched], dof[touched] = part.values, part.dof
    covariance[np.ix_(touched, touched)] = part.covariance
    return replace(part, values=values, covariance=covariance, dof=dof)


def _kept(stream: Stream, start: Point) -> tuple[Selection, tuple[str, ...], tuple[Dropped, ...]]:
    """What can be told, judged on the sample, of which every row stands for many."""
    system, asked = stream.system, stream.asked
    first = system.equations(start, asked.names)
    noise = stream.noise if not stream.unweighted else replace(stream.noise, known=False)
    weight = stream.spool.rows / len(system.campaign.readings)
    return keep(system, asked, first, noise, told_by_load(system, asked, start, first), weight)


def _some_columns(triangle: RunningQR, columns: Sequence[int]) -> RunningQR:
    """The triangle of some of the unknowns."""
    rows = triangle.triangle[:, [*columns, triangle.parameters]]
    return RunningQR(len(columns), triangle.rows, np.asarray(np.linalg.qr(rows, mode="r")) if len(rows) else rows)
