"""Patterns in what the fit leaves: by configuration, marker and axis, and against the joints.

Residuals are turned into the axes of the world.  Their mean over the markers of a configuration is set against each
joint: a turning joint may leave a + b sin q + c cos q, one that slides or turns little a + b q.  Whether that explains
more than chance is an F test with 2 (1) and n - 3 (n - 2) degrees of freedom over the n configurations; as every joint
is tried with every axis, p is multiplied by the number of tries (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.report.chart import NARROW, SHAPES, Axis, Chart, ColourScale, Heat, Line, Mark, Points, Rule
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.palette import Role
from stiffarm.report.parts import Figure, Table

Floats = NDArray[np.float64]
MILLI = 1e3
AXES: tuple[tuple[str, Role], ...] = (("x", "model"), ("y", "geometry"), ("z", "second"))
MOST_ROWS = 8
"""Markers in the map of residuals."""
MOST_COVERED = 0.98
BEYOND_CHANCE = 0.01
LEAST_MM = 5e-5
MOST_TOLD = 150
"""Configurations of which each point says its name."""
MOST_DRAWN = 250
"""Configurations drawn against the joints; patterns are looked for in all."""
STILL_RAD, STILL_M = 0.02, 0.002
"""A joint that moves less is taken to have stood still."""
STRAIGHT_RAD = 1.0
"""Range of a turning joint over which it may leave a wave, below it a straight line."""
LEAST = 6
"""Configurations from which a pattern is looked for."""


@dataclass(frozen=True, eq=False)
class Residuals:
    """Mean residuals by experiment and marker, world axes."""

    experiment: tuple[str, ...]
    marker: tuple[str, ...]
    world: Floats
    """(3, n) m; NaN where not all three were read."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """What a joint explains of the residual along an axis."""

    joint: str
    axis: str
    explained: float
    """Share of the variance."""
    p: float
    """Of the test, times the number of tests."""
    coefficients: Floats


def residuals_of(shown: ShownArm) -> Residuals | None:
    """The residuals of an estimate; None when it does not hold them by axis."""
    remains = shown.estimate.remains
    if remains is None or not any(one is not None for one in remains.mean_m):
        return None
    own = np.array([(np.nan,) * 3 if one is None else one for one in remains.mean_m], dtype=float).T
    world = np.full_like(own, np.nan)
    for setup in dict.fromkeys(remains.setup):
        rows = np.array([one == setup for one in remains.setup])
        world[:, rows] = shown.world_from_setup(setup) @ own[:, rows]
    return Residuals(remains.experiment, remains.marker, world)


def pattern_figures(shown: ShownArm) -> tuple[Figure, ...]:
    """The map of residuals and residuals against each joint."""
    residuals = residuals_of(shown)
    if residuals is None:
        return ()
    against = joint_figure(shown, residuals)
    return (map_figure(residuals), *(() if against is None else (against,)))


def map_figure(residuals: Residuals) -> Figure:
    """Signed residuals: configurations across, markers and axes down."""
    experiments = tuple(dict.fromkeys(residuals.experiment))
    everyone = tuple(dict.fromkeys(residuals.marker))
    markers = everyone[:MOST_ROWS]
    column = {name: i for i, name in enumerate(experiments)}
    cells = np.full((3 * len(markers), len(experiments)), np.nan)
    for i, (experiment, marker) in enumerate(zip(residuals.experiment, residuals.marker, strict=True)):
        if marker in markers:
            k = 3 * markers.index(marker)
            cells[k : k + 3, column[experiment]] = MILLI * residuals.world[:, i]
    most = float(np.nanquantile(np.abs(cells), MOST_COVERED)) or 1.0
    names = tuple(f"{marker} {axis}" for marker in markers for axis, _ in AXES)
    heat = Heat(tuple(tuple(float(f"{v:.4g}") for v in row) for row in cells), unit="mm")
    across = Axis("configuration", names=experiments, code=True)
    colours = ColourScale("mm", -most, most, signed=True)
    chart = Chart(
        across, Axis("", names=names, code=True), (heat,), height=86.0 + 17.0 * len(names), width=720.0, colours=colours
    )
    known = np.isfinite(cells).any(axis=1)
    mean = np.full(len(names), np.nan)
    mean[known] = np.nanmean(cells[known], axis=1)
    rms = np.full(len(names), np.nan)
    rms[known] = np.sqrt(np.nanmean(cells[known] ** 2, axis=1))
    k = int(np.nanargmax(np.abs(mean)))
    reading = "A stripe down is a configuration that does not fit, a stripe across a marker or an axis that is off. "
    reading += f"The largest mean is {_signed(mean[k])} mm, of {names[k]} (world axes, read less expected)."
    if len(everyone) > len(markers):
        reading += f" {len(markers)} of {len(everyone)} markers are shown."
    rows = tuple((n, _signed(m), f"{r:.3g}") for n, m, r in zip(names, mean, rms, strict=True) if np.isfinite(m))
    heads = ("marker and axis", "mean, mm", "root mean square, mm")
    table = Table("Residuals by marker and axis", heads, rows, frozenset({1, 2}), frozenset({0}))
    return Figure("residual-map", "Residuals by configuration, marker and axis", reading, (chart,), table, wide=True)


def _signed(value: float) -> str:
    """A mean in mm to a tenth of a micrometre at best."""
    return f"{value:+.3g}" if abs(value) >= LEAST_MM else "0.0000"


def joint_figure(shown: ShownArm, residuals: Residuals) -> Figure | None:
    """Mean residual of every configuration against every joint."""
    experiments = tuple(dict.fromkeys(residuals.experiment))
    index = {name: i for i, name in enumerate(experiments)}
    member = np.array([index[name] for name in residuals.experiment])
    known = np.isfinite(residuals.world).all(axis=0)
    count = np.bincount(member[known], minlength=len(experiments))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = MILLI * np.stack(
            [np.bincount(member[known], one[known], len(experiments)) / count for one in residuals.world]
        )
    q = shown.joint_values(experiments)
    usable = np.asarray(np.isfinite(mean).all(axis=0) & np.isfinite(q).all(axis=0))
    if usable.sum() < 3:
        return None
    mean, q = mean[:, usable], q[:, usable]
    names = [name for name, use in zip(experiments, usable, strict=True) if use]
    found = patterns(shown, q, mean)
    few = np.unique(np.linspace(0, len(names) - 1, min(MOST_DRAWN, len(names))).astype(int))
    drawn, said = mean[:, few], [names[i] for i in few]
    panels = tuple(_panel(shown, k, q[k, few], drawn, said, found) for k in moving(shown, q))
    if not panels:
        return None
    table = Table(
        "What each joint explains of the residual along each axis",
        ("joint", "axis", "explained", "p"),
        tuple((p.joint, p.axis, f"{100 * p.explained:.0f} %", f"{p.p:.2g}") for p in found),
        frozenset({2, 3}), frozenset({0}),
    )  # fmt: skip
    reading = _pattern_words(found, len(names))
    shown_table = table if found else None
    return Figure("joints", "Residuals against the joints", reading, panels, shown_table, wide=True)


def _panel(shown: ShownArm, k: int, q: Floats, mean: Floats, names: list[str], found: list[Pattern]) -> Chart:
    joint = shown.robot.joints[k]
    factor, unit = (180.0 / np.pi, "deg") if joint.kind == "revolute" else (MILLI, "mm")
    at = tuple(map(float, factor * q))
    marks: list[Mark] = [Rule(0.0, dash="solid", colour="line")]
    along = np.linspace(q.min(), q.max(), 60)
    for i, (axis, colour) in enumerate(AXES):
        texts = tuple(f"{name}: {axis} {value:+.3g} mm" for name, value in zip(names, mean[i], strict=True))
        texts = texts if len(names) <= MOST_TOLD else ()
        marks.append(Points(at, tuple(map(float, mean[i])), colour, SHAPES[i], axis, texts))
        pattern = next((p for p in found if p.joint == joint.name and p.axis == axis and p.p < BEYOND_CHANCE), None)
        if pattern is not None:
            curve = design(along, turns(shown, k, q)) @ pattern.coefficients
            marks.append(Line(tuple(map(float, factor * along)), tuple(map(float, curve)), colour))
    return Chart(Axis(f"{joint.name}, {unit}"), Axis("residual, mm"), tuple(marks), joint.name, 235.0, NARROW)


def moving(shown: ShownArm, q: Floats) -> list[int]:
    """The joints that moved enough to leave a pattern."""
    least = [STILL_RAD if joint.kind == "revolute" else STILL_M for joint in shown.robot.joints]
    return [k for k in range(len(q)) if np.ptp(q[k]) > least[k]]


def turns(shown: ShownArm, k: int, q: Floats) -> bool:
    """Whether a joint turned far enough for a wave to differ from a straight line."""
    return shown.robot.joints[k].kind == "revolute" and bool(np.ptp(q) > STRAIGHT_RAD)


def design(q: Floats, turning: bool) -> Floats:
    """(n, 3 or 2) what a joint may leave: 1, sin q, cos q, or 1, q."""
    return np.stack([np.ones_like(q), np.sin(q), np.cos(q)] if turning else [np.ones_like(q), q], axis=1)


def patterns(shown: ShownArm, q: Floats, mean: Floats) -> list[Pattern]:
    """What every joint explains of every axis, the strongest first; none with too few configurations.

    ``q`` (joints, n) rad, m; ``mean`` (3, n) mm.
    """
    from scipy.special import fdtrc

    n = q.shape[1]
    moved = moving(shown, q)
    if n < LEAST or not moved:
        return []
    found = []
    for k in moved:
        columns = design(q[k], turns(shown, k, q[k]))
        free, used = n - columns.shape[1], columns.shape[1] - 1
        for i, (axis, _) in enumerate(AXES):
            coefficients = np.linalg.lstsq(columns, mean[i], rcond=None)[0]
            left = float(np.sum((mean[i] - columns @ coefficients) ** 2))
            total = float(np.sum((mean[i] - mean[i].mean()) ** 2))
            share = 1.0 - left / total if total > 0.0 else 0.0
            ratio = (total - left) / used / (left / free) if left > 0.0 else np.inf
            p = min(float(fdtrc(used, free, max(ratio, 0.0))) * 3 * len(moved), 1.0) if total > 0.0 else 1.0
            found.append(Pattern(shown.robot.joints[k].name, axis, max(share, 0.0), p, coefficients))
    return sorted(found, key=lambda one: one.p)


def _pattern_words(found: list[Pattern], n: int) -> str:
    if not found:
        return f"Mean over the markers of each configuration (world axes); {n} are too few to look for patterns."
    sure = [p for p in found if p.p < BEYOND_CHANCE]
    best = found[0]
    if not sure:
        return (
            f"No joint leaves a pattern beyond chance: the strongest, {best.axis} against {best.joint}, explains "
            f"{100 * best.explained:.0f} % (p = {best.p:.2g} after {len(found)} tries)."
        )
    return (
        f"{best.axis} follows {best.joint}: {100 * best.explained:.0f} % of it is explained (p = {best.p:.1g} after "
        f"{len(found)} tries). {len(sure)} of {len(found)} pairs are beyond chance and drawn as curves: something that "
        "turns with these joints is not in the model."
    )
