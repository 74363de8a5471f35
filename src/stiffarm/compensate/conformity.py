"""Whether a corrected path keeps a required accuracy, with what probability: a guarded verdict after JCGM 106.

The tool's error at the points s of the path, run with the model's correction, in the frame the part is located in, is

    e(s) = J(s) dv + a g(s),        a^2 = lambda^2 + r^2

    dv      error of the parameters (and of the setup's frame), normal with the model's covariance C
    lambda  lack of fit: what neither the parameters' uncertainty nor the instrument explains of the validation readings
    r       repeatability: scatter of a configuration from visit to visit
    g       a normal field, each axis of variance 1, alike at points nearer than `ALIKE_RAD` in the joints

The measurand is eta = max |e(s)| over the path.  With a limit T and a stated risk R the path is accepted when

    P(eta <= T) >= 1 - R,   that is   eta_50 <= T - w,   w = eta_(1-R) - eta_50,

a guard band w on the limit; eta_p are quantiles (eta_50 is what to expect), and R bounds the probability that a path
that was accepted is beyond T.  The quantiles come from draws of dv, lambda and g.

lambda is not known but has a distribution.  The means y of the residuals of the m validation configurations follow

    y ~ N(F b, A C A' + N + lambda^2 I),

A the derivatives there, N the instrument's noise, F the frames, which are projected out: Q' F = 0.  With
Q' (A C A' + N) Q = U diag(w) U' and z = U' Q' y the likelihood of lambda is the product over i of
exp(-z_i^2 / 2 (w_i + lambda^2)) / sqrt(w_i + lambda^2); it is taken as the density of lambda >= 0.  Few
configurations leave a long tail: they are no ground for a yes.  Frames take six numbers each, so a covariance too
small, a frame that moved and gears nobody modelled all end in lambda, which is never below what was seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.asked import Asked
from stiffarm.compensate.model_file import KnownModel, KnownSetup
from stiffarm.compensate.predicting import frame_columns, joint_covariance, parts, turned_columns
from stiffarm.errors import InputError, Problem
from stiffarm.identify.holdout import configurations
from stiffarm.identify.validation import Judged, Validation
from stiffarm.measure.campaign import Campaign, Isotropic
from stiffarm.measure.observe import Observer
from stiffarm.model.evaluate import sensitivity
from stiffarm.model.kernel import cross
from stiffarm.robot.placement import Rigid
from stiffarm.showing import Shown

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ALIKE_RAD = 0.1
"""Joint distance (rad; m for slides) over which lack of fit stays alike: shorter than any gear's turn, so careful."""
DRAWS, PART = 4000, 250
MOST_POINTS, MOST_CONFIGURATIONS = 300, 300
FEWEST_FREE = 6
"""Numbers of the validation that must remain beside the frames."""
_GRID = 400


@dataclass(frozen=True, eq=False)
class Scatter:
    """What the validation says of errors that no parameter carries."""

    lack_m: Floats
    """(grid,) values of lambda, m along each axis."""
    weight: Floats
    """(grid,) their probabilities."""
    visit_m: float
    """r, m along each axis; 0 when nothing was visited twice."""
    configurations: int

    @property
    def expected_m(self) -> float:
        """Mean of lambda."""
        return float(self.lack_m @ self.weight)

    def quantile(self, share: float) -> float:
        """Value below which lambda lies with this probability, m."""
        return float(np.interp(share, np.cumsum(self.weight), self.lack_m))


@dataclass(frozen=True, eq=False, repr=False)
class Conformity(Shown):
    """The verdict on a path."""

    limit_m: float
    risk: float
    probability: float
    """That the largest error along the path is within the limit."""
    expected_m: float
    """Median of the largest error."""
    kept_m: float
    """Limit that is kept with probability 1 - risk."""
    parameters_m: float
    """Root mean square over the path of the 3-D standard deviation the parameters cause."""
    scatter: Scatter
    setup: str | None
    """Frame in which the part is located; None: the world, for the model has no setup."""
    worst_row: int
    """Line of the point whose error is largest most often."""
    points: int
    draws: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def conforms(self) -> bool:
        """Whether the path is accepted."""
        return self.probability >= 1.0 - self.risk

    @property
    def guard_m(self) -> float:
        """w, the guard band."""
        return self.kept_m - self.expected_m

    def summary(self) -> tuple[str, ...]:
        """The verdict and what was left out."""
        return (self.sentence(), *self.notes)

    def sentence(self) -> str:
        """The verdict in words."""
        words = "kept" if self.conforms else "NOT kept"
        return (
            f"{1e3 * self.limit_m:.4g} mm over the path is {words}: probability {100 * self.probability:.1f} %, "
            f"{100 * (1 - self.risk):.4g} % asked; expected at most {1e3 * self.expected_m:.3g} mm, "
            f"guard band {1e3 * self.guard_m:.3g} mm"
        )


def conformity(
    model: KnownModel,
    asked: Asked,
    validation: Validation,
    limit_m: float,
    *,
    risk: float = 0.05,
    seed: int = 0,
    draws: int = DRAWS,
) -> Conformity:
    """Judge a path by a model and by what a validation of it on readings that were not fitted left."""
    if not 0.0 < risk < 1.0:
        raise InputError(Problem("a risk is a probability", column="--risk", found=f"{risk:g}", allowed="0 to 1"))
    judged = validation.judged
    assert judged is not None, "a validation carries its readings"
    setup = _setup(model, judged.campaign)
    scatter = scatter_of(model, judged)
    rows = np.flatnonzero(np.isfinite(asked.q).all(axis=0))
    if not len(rows):
        raise InputError(Problem("the path has no points", file=asked.file))
    kept = rows[np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_POINTS)).round().astype(np.int64))]
    columns, covariance = _path_columns(model, asked, kept, setup)
    largest, where = _largest_errors(columns, covariance, asked.q[:, kept], scatter, np.random.default_rng(seed), draws)
    spread = np.einsum("pcn,cpn->n", columns, np.einsum("pq,qcn->cpn", covariance, columns))
    notes = [*validation.notes]
    if len(kept) < len(rows):
        notes.append(f"{len(kept)} of the path's {len(rows)} points were looked at")
    if not model.covariance_names:
        notes.append("the model states no uncertainty of its parameters")
    if scatter.visit_m == 0.0:
        notes.append("nothing was visited twice: repeatability is in the lack of fit")
    return Conformity(
        limit_m, risk, float(np.mean(largest <= limit_m)), float(np.median(largest)),
        float(np.quantile(largest, 1.0 - risk)), float(np.sqrt(np.mean(np.maximum(spread, 0.0)))), scatter,
        None if setup is None else setup.name, int(asked.row[kept[np.bincount(where).argmax()]]), len(kept), draws,
        seed, tuple(notes),
    )  # fmt: skip


def _setup(model: KnownModel, campaign: Campaign) -> KnownSetup | None:
    """Where the part is located: a setup of the validation that the model knows, else the model's first."""
    read = {setup.name for setup in campaign.setups}
    known = [setup for setup in model.setups if setup.name in read] or list(model.setups)
    return known[0] if known else None


def _path_columns(model: KnownModel, asked: Asked, rows: Ints, setup: KnownSetup | None) -> tuple[Floats, Floats]:
    """Derivatives (unknowns, 3, points) along the path by parameters and frame, and their covariance."""
    names, arm = model.covariance_names, model.arm(setup)
    frame = Rigid.identity() if setup is None else setup.frame
    with_frame = setup is not None and setup.covariance is not None
    out = np.zeros((len(names) + (6 if with_frame else 0), 3, len(asked)))
    for point, payload, part in parts(asked, len(names)):
        chosen = np.intersect1d(part, rows)
        if not len(chosen):
            continue
        found, columns = sensitivity(arm, asked.state(arm, chosen, payload), point, names)
        out[: len(names), :, chosen] = turned_columns(frame, columns)
        if with_frame:
            out[len(names) :, :, chosen] = frame_columns(frame.rotation @ found.position)[:, :3]
    covariance = model.covariance
    if with_frame:
        assert setup is not None
        assert setup.covariance is not None
        covariance = joint_covariance(covariance, setup.covariance, setup.cross)
    return out[:, :, rows], covariance


def _largest_errors(
    columns: Floats, covariance: Floats, q: Floats, scatter: Scatter, random: np.random.Generator, draws: int
) -> tuple[Floats, Ints]:
    """(draws,) largest 3-D error along the path, m, and the point where it is."""
    n = columns.shape[2]
    apart = np.linalg.norm(q[:, :, None] - q[:, None, :], axis=0)
    field = np.linalg.cholesky(np.exp(-0.5 * (apart / ALIKE_RAD) ** 2) + 1e-8 * np.eye(n))
    root = _root(covariance)
    flat = columns.reshape(len(covariance), 3 * n)
    largest, where = np.empty(draws), np.empty(draws, dtype=np.int64)
    for start in range(0, draws, PART):
        rows = slice(start, min(start + PART, draws))
        m = rows.stop - rows.start
        lack = random.choice(scatter.lack_m, m, p=scatter.weight)
        size = np.sqrt(lack**2 + scatter.visit_m**2)
        error = (random.normal(size=(m, len(covariance))) @ root.T @ flat).reshape(m, 3, n)
        error += size[:, None, None] * (random.normal(size=(m, 3, n)) @ field.T)
        length = np.linalg.norm(error, axis=1)
        largest[rows], where[rows] = length.max(axis=1), length.argmax(axis=1)
    return largest, where


def _root(covariance: Floats) -> Floats:
    """B with B B' = C, also where C is singular or rounding makes it slightly negative."""
    if not len(covariance):
        return covariance
    scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def scatter_of(model: KnownModel, judged: Judged) -> Scatter:
    """Lack of fit and repeatability as the validation shows them; `InputError` when it is too small for that."""
    campaign, rest = judged.campaign, judged.residual
    readings = campaign.readings
    used = np.flatnonzero((campaign.kind("position") | campaign.kind("pose")) & np.isfinite(rest[:3]).all(axis=0))
    code = np.stack([configurations(campaign), readings.setup])[:, used]
    member = np.unique(code, axis=1, return_inverse=True)[1].reshape(-1)
    kept = np.unique(member)
    if len(kept) > MOST_CONFIGURATIONS:
        kept = kept[np.linspace(0, len(kept) - 1, MOST_CONFIGURATIONS).round().astype(np.int64)]
    names = model.covariance_names
    found, columns = Observer(campaign).with_columns(model.arm(), names, judged.frames)
    setups = np.unique(readings.setup[used])
    shape = (len(kept), 3)
    y, noise = np.zeros(shape), np.zeros(len(kept))
    a, f = np.zeros((*shape, len(names))), np.zeros((*shape, 6 * len(setups)))
    visits: list[tuple[Floats, int]] = []
    for i, one in enumerate(kept):
        rows = used[member == one]
        y[i] = rest[:3, rows].mean(axis=1)
        a[i] = columns[:, :3, rows].mean(axis=2).T
        place = found.value[:3, rows].mean(axis=1)
        s = int(np.searchsorted(setups, readings.setup[rows[0]]))
        f[i, :, 6 * s : 6 * s + 3] = np.eye(3)
        f[i, :, 6 * s + 3 : 6 * s + 6] = cross(np.eye(3)[:, :, None], place[None, :, None])[:, :, 0].T
        means = _visit_means(campaign, rows, rest)
        if len(means) > 1:
            visits.append((means - means.mean(axis=0), len(means) - 1))
        noise[i] = _instrument_m(campaign) ** 2 / len(rows)
    dof = 3 * sum(free for _, free in visits)
    visit = float(np.sqrt(sum(float(np.sum(d**2)) for d, _ in visits) / dof)) if dof else 0.0
    lack, weight = _lack_of_fit(y, a, f, model.covariance, noise, campaign.name)
    return Scatter(lack, weight, visit, len(kept))


def _visit_means(campaign: Campaign, rows: Ints, rest: Floats) -> Floats:
    """(visits, 3) mean residual of a configuration's visits; without that column every repeat is one."""
    readings = campaign.readings
    visit = np.where(readings.visit[rows] >= 0, readings.visit[rows], -readings.repeat[rows])
    return np.array([rest[:3, rows[visit == one]].mean(axis=1) for one in np.unique(visit)])


def _instrument_m(campaign: Campaign) -> float:
    """Standard deviation of a reading along each axis, m; 0 when it is not stated, which leaves it in lambda."""
    stated = campaign.instrument
    return stated.sigma_m if isinstance(stated, Isotropic) else 0.0


def _lack_of_fit(
    y: Floats, a: Floats, f: Floats, covariance: Floats, noise: Floats, name: str
) -> tuple[Floats, Floats]:
    """Values of lambda (m) and their probabilities, from means y (m, 3), derivatives and frames."""
    n = y.size
    frames = f.reshape(n, -1)
    left, values, _ = np.linalg.svd(frames, full_matrices=True)
    rank = int((values > 1e-9 * values[0]).sum()) if values.size else 0
    if n - rank < FEWEST_FREE:
        raise InputError(
            Problem(
                "too few configurations to judge a path by",
                file=name,
                found=f"{n // 3} configurations, of whose {n} numbers {rank} place the setups",
                allowed=f"at least {FEWEST_FREE} numbers more",
                next_step="Read more configurations that were not fitted",
            )
        )
    free = left[:, rank:]
    columns = a.reshape(n, -1)
    known = columns @ covariance @ columns.T if columns.shape[1] else np.zeros((n, n))
    known = known + np.diag(np.repeat(noise, 3))
    w, u = np.linalg.eigh(free.T @ known @ free)
    z = u.T @ (free.T @ y.reshape(-1))
    high = 10.0 * float(np.sqrt(np.mean(z**2))) + 1e-9
    lack = np.linspace(0.0, high, _GRID)
    variance = np.maximum(w, 0.0)[:, None] + lack**2 + (1e-4 * high) ** 2
    log = -0.5 * np.sum(np.log(variance) + z[:, None] ** 2 / variance, axis=0)
    weight = np.exp(log - log.max())
    return lack, weight / weight.sum()
