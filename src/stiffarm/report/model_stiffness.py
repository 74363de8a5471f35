"""How the arm gives way: ellipsoids in measured postures, a map over its workspace, stiffness over an angle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.region import Pointing, section_of
from stiffarm.compensate.stiffness_map import STIFF, DeflectionMap, Pull, deflection_map
from stiffarm.errors import InputError
from stiffarm.identify.separated import Separation
from stiffarm.model.cartesian import cartesian_compliance
from stiffarm.model.equilibrium import equilibrium
from stiffarm.model.loads import State
from stiffarm.model.reaching import joint_ranges
from stiffarm.report.chart import DASHES, Axis, Band, Chart, Line, Mark, Points
from stiffarm.report.map_figures import Drawn, map_figure
from stiffarm.report.model_arm import ShownArm
from stiffarm.report.palette import SERIES, Role
from stiffarm.report.parts import Figure, Table
from stiffarm.report.scene import ArmLine, Cloud, Ellipsoid, Scene
from stiffarm.robot.arm import Robot

Floats = NDArray[np.float64]
MILLI = 1e3
FORCE_N = 1000.0
POSTURES = 5
LEAST_PLACES = 4
POINTING: dict[Pointing, str] = {"down": "down", "out": "outwards"}
"""How the tool may stand in a map, the first in which the arm gets anywhere."""
GRID = 25
"""Places along each side of the map."""
LARGEST = 0.16
"""Largest semi-axis drawn, as a share of the arm's reach."""


def bends(shown: ShownArm) -> bool:
    """Whether anything in the arm gives way."""
    values = shown.arm.values
    return any(p.elastic and values.get(p.name) for p in shown.arm.model.parameters)


def ellipsoid_figure(shown: ShownArm) -> Figure | None:
    """How far a force of 1 kN moves the tool, in every direction of the force, in a few postures."""
    names, q = _postures(shown)
    if not names or not bends(shown):
        return None
    state = State(np.ascontiguousarray(q), shown.arm.weights())
    compliance = cartesian_compliance(shown.arm, state, "tool", found=equilibrium(shown.arm, state))[:3, :3]
    found = np.asarray(np.isfinite(compliance).all(axis=(0, 1)))
    if not found.any():
        return None
    left, size, _ = np.linalg.svd(np.moveaxis(compliance[..., found], -1, 0))
    size = size * FORCE_N * MILLI
    lines = [MILLI * shown.skeleton(one, "tool") for one in q[:, found].T]
    span = max(float(np.ptp(np.concatenate(lines, axis=1), axis=1).max()), 1.0)
    scale = LARGEST * span / max(float(size.max()), 1e-12)
    things: list[ArmLine | Ellipsoid | Cloud] = []
    rows = []
    for i, (line, name) in enumerate(zip(lines, (n for n, f in zip(names, found, strict=True) if f), strict=True)):
        tip = line[:, -1]
        axes = tuple(tuple(map(float, scale * size[i, k] * left[i, :, k])) for k in range(3))
        text = f"{name}: softest {size[i, 0]:.3g} mm, stiffest {size[i, 2]:.3g} mm under 1 kN"
        things.append(ArmLine(tuple((float(a), float(b), float(c)) for a, b, c in line.T)))
        things.append(Ellipsoid(tuple(map(float, tip)), axes, "model", text))  # type: ignore[arg-type]
        rows.append((name, *(f"{v:.0f}" for v in tip), *(f"{v:.3g}" for v in size[i]), _direction(left[i, :, 0])))
    soft = max(rows, key=lambda row: float(row[4]))
    reading = (
        f"Drawn {scale:.0f} times as large. The softest of these is {soft[0]}: 1 kN along {soft[7]} moves the tool by "
    )
    reading += f"{soft[4]} mm, across by as little as {soft[6]} mm."
    heads = ("posture", "x, mm", "y, mm", "z, mm", "softest, mm", "middle, mm", "stiffest, mm", "softest along")
    table = Table("Motion of the tool under 1 kN", heads, tuple(rows), frozenset(range(1, 7)), frozenset({0}))
    title = "Compliance ellipsoids: how far 1 kN moves the tool, whatever its direction"
    return Figure("ellipsoids", title, reading, (Scene(tuple(things)),), table, wide=True)


def _direction(vector: Floats) -> str:
    """A direction in words a person checks by hand."""
    signed = vector * (-1.0 if vector[int(np.argmax(np.abs(vector)))] < 0.0 else 1.0)
    return "(" + ", ".join(f"{v + 0.0:.2f}" for v in signed) + ")"


def _postures(shown: ShownArm) -> tuple[list[str], Floats]:
    """Names and joint values (joints, n) of a few measured postures as far from one another as there are."""
    names = [name for name, q in shown.q.items() if np.isfinite(q).all()]
    if not names:
        return [], np.zeros((0, 0))
    tips = shown.places(names, ["tool"] * len(names))
    chosen = [int(np.argmax(np.linalg.norm(tips - tips.mean(axis=1, keepdims=True), axis=0)))]
    while len(chosen) < min(POSTURES, len(names)):
        away = np.min(np.linalg.norm(tips[:, :, None] - tips[:, None, chosen], axis=0), axis=1)
        chosen.append(int(np.argmax(away)))
    return [names[i] for i in chosen], np.stack([shown.q[names[i]] for i in chosen], axis=1)


def deflection_figure(shown: ShownArm) -> Figure | None:
    """Deflection under 1 kN in the worst direction over an upright section of the workspace."""
    if not bends(shown):
        return None
    try:
        model = _known(shown)
        arm = model.arm()
        low, high = joint_ranges(arm)
        standing = np.where(arm.chain.prismatic, 0.5 * (low + high), np.nan)
        region = section_of(arm, standing, GRID)
        slides = {n: float(v) for n, v in zip(model.robot.joint_names, standing, strict=True) if np.isfinite(v)}
        for pointing in POINTING:
            found = deflection_map(model, replace(region, pointing=pointing), Pull(FORCE_N), standing=slides)
            if (found.status == STIFF).sum() >= LEAST_PLACES:
                return _drawn(found, model.robot, POINTING[pointing])
    except InputError:  # an arm whose tool cannot be placed, or without an equilibrium
        pass
    return None


def _known(shown: ShownArm) -> KnownModel:
    """The model as predictions take it."""
    e = shown.estimate
    covariance = np.array(e.covariance, dtype=float).reshape(len(e.covariance_names), len(e.covariance_names))
    return KnownModel(e.robot.file, shown.arm.model, shown.arm.values, e.covariance_names, covariance, domain=e.domain)


def _drawn(found: DeflectionMap, robot: Robot, pointing: str) -> Figure | None:
    assert found.best is not None, "a map with places has a best one"
    assert found.worst is not None
    size, place = MILLI * found.deflection, found.region.position()
    where = [f"({place[0, i]:.2f}, {place[2, i]:.2f}) m" for i in (found.best, found.worst)]
    reading = f"{size[found.best]:.3g} mm at {where[0]}, up to {size[found.worst]:.3g} mm at {where[1]}: 1 kN in the "
    reading += f"worst direction, tool pointing {pointing}, in the stiffest posture. Empty: out of reach; marked: near "
    reading += "a singularity."
    words = "Deflection over an upright section of the workspace"
    drawn = Drawn(found.region, robot, found.deflection, found.sigma, found.status, found.best, words, reading)
    return map_figure(drawn, "deflection")


def separation_figures(separations: tuple[Separation, ...]) -> tuple[Figure, ...]:
    """Stiffness of a joint with a compensator over its angle: what was measured and what explains it."""
    return tuple(_separation(i, one) for i, one in enumerate(separations) if len(one.angles) > 1)


def _separation(i: int, one: Separation) -> Figure:
    degrees = tuple(float(np.degrees(angle)) for angle in one.angles)
    marks: list[Mark] = []
    for k, candidate in enumerate(one.candidates):
        value, std = (np.array(numbers) / 1e6 for numbers in (candidate.stiffness, candidate.std))
        own = candidate is one.best
        if own:
            band = [tuple(map(float, value + s * 2.0 * std)) for s in (-1.0, 1.0)]
            marks.insert(0, Band(degrees, band[0], band[1], "model", "± 2 standard deviations"))
        colour: Role = "model" if own else SERIES[1 + k % (len(SERIES) - 1)]
        dash = DASHES[0 if own else 1 + k % 2]
        texts = tuple(f"{candidate.kind}: {v:.4g} MN m/rad at {d:.4g} deg" for v, d in zip(value, degrees, strict=True))
        name = f"{candidate.kind}{' (chosen)' if own else ''}"
        marks.append(Line(degrees, tuple(map(float, value)), colour, dash, name, texts, thin=not own))
        if own:
            marks.append(Points(degrees, tuple(map(float, value)), colour, texts=texts))
    best, sure = np.array(one.best.stiffness) / 1e6, np.array(one.best.std) / 1e6
    room = max(0.15 * float(best.max()), 5.0 * float(sure.max()), 1.2 * float(np.ptp(best)))
    y = Axis("stiffness, MN m/rad", float(best.min()) - room, float(best.max()) + room)
    chart = Chart(Axis(f"{one.joint}, deg"), y, tuple(marks))
    rows = tuple(
        (c.kind, f"{100 * c.curve_rms:.2g} %", f"{c.bic:.4g}", "" if c.held_out is None else f"{c.held_out:.2g}")
        for c in one.candidates
    )
    heads = ("model", "known to", "criterion", "angle left out, std")
    table = Table("Models of the stiffness", heads, rows, frozenset({1, 2, 3}))
    title = f"Stiffness of {one.joint} over its angle"
    return Figure(f"separation-{i + 1}", title, ". ".join(one.sentences) + ".", (chart,), table)
