"""A chain as a DH table: from its axes by common normals, and the table that comes nearest to a calibrated arm.

A table in the convention of Khalil and Craig,

    T(q) = B  prod_i RotX(alpha_i) TransX(a_i) RotZ(theta_i + q_i) TransZ(d_i)  E,

has x of frame i - 1 along the common normal of axes i - 1 and i.  With a base B and an end E of their own these are
enough for every chain of axes, so the *exact* table of a calibrated arm exists.  But axes that are nearly parallel
have their common normal far away: a tilt of 0.05 deg over 0.4 m of lateral offset puts d at hundreds of metres, one
against the other, which few controllers take.  With d held at its nominal value there (a controller's own table), the
tilt has no number, and what is left is a residual, which is computed and not guessed.

The nearest table minimises the errors of position and, times a lever, of orientation over joint values that are spread
over the limits, by Gauss-Newton steps of least norm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.poses import Poses
from stiffarm.compensate.wishing import tool_of
from stiffarm.model.arm_model import Arm
from stiffarm.model.kernel import frames
from stiffarm.model.rotations import vector_of
from stiffarm.robot.arm import DenavitHartenberg
from stiffarm.robot.placement import Rigid, rotation_about, rotation_from_vector

Floats = NDArray[np.float64]

LEVER_M = 0.25
"""m: an error of orientation counts as the motion it makes so far away from the tool."""
PARALLEL = 1e-6
"""rad between axes that are parallel by design."""
SAME_LINE_M = 1e-9
STEPS = 12
ENOUGH_M = 1e-12
_STEP = 1e-6


@dataclass(frozen=True, eq=False)
class Table:
    """A DH table with its base and end."""

    rows: tuple[DenavitHartenberg, ...]
    prismatic: tuple[bool, ...]
    base: Rigid
    """World from frame 0."""
    end: Rigid
    """Last frame from tool."""
    held: tuple[bool, ...]
    """By joint: whether d is held, the axis before being parallel by design."""

    def poses(self, q: Floats) -> Poses:
        """Tool in the world at joint values (joints, n), coupled joints by themselves."""
        n = q.shape[1]
        here = Poses(np.zeros((3, n)), np.repeat(np.eye(3)[:, :, None], n, axis=2)).carried_by(self.base)
        for row, slides, value in zip(self.rows, self.prismatic, q, strict=True):
            here = here.then(Rigid(rotation_about("x", row.alpha), np.array([row.a, 0.0, 0.0])))
            theta, d = (row.theta, row.d + value) if slides else (row.theta + value, np.full(n, row.d))
            here = _screwed(here, np.broadcast_to(theta, (n,)), d)
        return here.then(self.end)


def _screwed(here: Poses, theta: Floats, d: Floats) -> Poses:
    """Turned about z and moved along it."""
    x, y, z = here.rotation[:, 0], here.rotation[:, 1], here.rotation[:, 2]
    c, s = np.cos(theta), np.sin(theta)
    return Poses(here.position + z * d, np.stack([c * x + s * y, c * y - s * x, z], axis=1))


def table_of(arm: Arm, like: Table | None = None) -> Table:
    """The exact table of an arm's axes (gear errors apart); normals point as those of another table.

    Axes that are parallel get d = 0 for the second of them.
    """
    chain = arm.chain
    zero: Floats = np.zeros((chain.n_joints, 1))
    at = frames(chain, zero)
    z = [at.rotation[k + 1][2][:, 0] for k in range(chain.n_joints)]
    o = [at.origin[k + 1][:, 0] for k in range(chain.n_joints)]
    root = Rigid(at.rotation[0][:, :, 0].T, at.origin[0][:, 0])
    base = _first(root if like is None else like.base, z[0], o[0])
    place, rows, held = base, [], []
    axes = list(zip(z, o, strict=True))
    for k in range(len(axes)):
        across, foot, parallel = _normal(axes, k, place)
        if like is not None:
            across = across if float(across @ _normal_of(like, k)) >= 0.0 else -across
        row = _row(place, z[k], across, foot)
        place = place @ _rigid(row)
        rows.append(row)
        held.append(parallel)
    position, rotation = tool_of(arm, zero)
    tool = Rigid(rotation[:, :, 0].T, position[:, 0])
    # d of a joint is held when the axis before it is parallel to it
    return Table(tuple(rows), chain.prismatic, base, place.inverse() @ tool, (False, *held[:-1]))


def _first(root: Rigid, z: Floats, o: Floats) -> Rigid:
    """Frame 0: the root where axis 1 goes through it along its z, else a frame on axis 1 as near to it as can be."""
    away = root.translation - o
    foot = o + (away @ z) * z
    up = z if float(z @ root.rotation[:, 2]) >= 0.0 else -z
    if np.linalg.norm(root.translation - foot) < SAME_LINE_M and float(up @ root.rotation[:, 2]) > 1.0 - 1e-12:
        return root
    x = root.rotation[:, 0] - (root.rotation[:, 0] @ up) * up
    if np.linalg.norm(x) < 0.1:
        x = root.rotation[:, 1] - (root.rotation[:, 1] @ up) * up
    x = x / np.linalg.norm(x)
    return Rigid(np.column_stack([x, np.cross(up, x), up]), foot)


def _normal(axes: Sequence[tuple[Floats, Floats]], k: int, before: Rigid) -> tuple[Floats, Floats, bool]:
    """Direction of the common normal of axes k and k + 1, its foot on axis k, and whether they are parallel."""
    z, o = axes[k]
    if k + 1 == len(axes):  # any normal will do: the one before turned along
        x = before.rotation[:, 0] - (before.rotation[:, 0] @ z) * z
        if np.linalg.norm(x) < 1e-6:
            x = before.rotation[:, 1] - (before.rotation[:, 1] @ z) * z
        return x / np.linalg.norm(x), o, False
    z2, o2 = axes[k + 1]
    across = np.cross(z, z2)
    size = float(np.linalg.norm(across))
    if size < PARALLEL:
        foot = o + ((before.translation - o) @ z) * z
        away = o2 - foot
        away = away - (away @ z) * z
        if np.linalg.norm(away) < SAME_LINE_M:
            x = before.rotation[:, 0] - (before.rotation[:, 0] @ z) * z
            away = x if np.linalg.norm(x) > 1e-6 else np.cross(z, before.rotation[:, 2])
        return away / np.linalg.norm(away), foot, True
    along = float(np.cross(o2 - o, z2) @ across) / size**2
    gap = float((o2 - o) @ across) / size
    return across / size * (1.0 if gap >= -SAME_LINE_M else -1.0), o + along * z, False


def _normal_of(table: Table, k: int) -> Floats:
    """x of frame k + 1 of a table, all joints at zero."""
    place = table.base
    for row in table.rows[: k + 1]:
        place = place @ _rigid(row)
    return place.rotation[:, 0]


def _row(before: Rigid, z: Floats, x: Floats, foot: Floats) -> DenavitHartenberg:
    """The row that leads from a frame to the next, whose z and x are given."""
    r = before.rotation
    alpha = float(np.arctan2(np.cross(r[:, 2], z) @ r[:, 0], r[:, 2] @ z))
    between = r @ rotation_about("x", alpha)
    theta = float(np.arctan2(np.cross(between[:, 0], x) @ z, between[:, 0] @ x))
    step = foot - before.translation
    return DenavitHartenberg(alpha, float(step @ r[:, 0]), float(step @ z), theta)


def rows_as_dh(table: Table) -> tuple[Rigid, tuple[DenavitHartenberg, ...]]:
    """Frame 0 and rows in the convention RotZ(theta) TransZ(d) TransX(a) RotX(alpha): each row takes alpha and a of the
    one after it, frame 0 those of the first."""
    first = table.rows[0]
    frame = table.base @ Rigid(rotation_about("x", first.alpha), np.array([first.a, 0.0, 0.0]))
    after = [*table.rows[1:], DenavitHartenberg()]
    rows = (replace(row, alpha=last.alpha, a=last.a) for row, last in zip(table.rows, after, strict=True))
    return frame, tuple(rows)


def _rigid(row: DenavitHartenberg) -> Rigid:
    return Rigid(rotation_about("x", row.alpha), np.array([row.a, 0.0, 0.0])) @ Rigid(
        rotation_about("z", row.theta), np.array([0.0, 0.0, row.d])
    )


@dataclass(frozen=True, eq=False)
class Residual:
    """How far two arms stand apart over some joint values."""

    rms_m: float
    max_m: float
    rms_rad: float
    max_rad: float


def residual(found: Poses, wanted: Poses) -> Residual:
    """Distances of positions and angles between orientations."""
    error = errors(found, wanted)
    far, turned = np.linalg.norm(error[:3], axis=0), np.linalg.norm(error[3:], axis=0) / LEVER_M
    return Residual(_rms(far), float(far.max()), _rms(turned), float(turned.max()))


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


def errors(found: Poses, wanted: Poses) -> Floats:
    """(6, n) m: positions, and orientations times the lever, in the world."""
    back = np.einsum("ikn,jkn->ijn", found.rotation, wanted.rotation)
    return np.concatenate([found.position - wanted.position, LEVER_M * vector_of(back.swapaxes(0, 1))])


def arm_poses(arm: Arm, q: Floats) -> Poses:
    """The unloaded arm's tool in the world."""
    position, rotation = tool_of(arm, q)
    return Poses(position, rotation.swapaxes(0, 1))


def nearest(start: Floats, build: Callable[[Floats], Poses], wanted: Poses) -> Floats:
    """Parameters for which poses come nearest to wanted ones: Gauss-Newton, steps of least norm."""
    values, error = np.array(start), errors(build(start), wanted).ravel()
    for _ in range(STEPS):
        if np.abs(error).max() < ENOUGH_M:
            break
        columns = np.empty((error.size, values.size))
        for j in range(values.size):
            moved = np.array(values)
            moved[j] += _STEP
            ahead = errors(build(moved), wanted).ravel()
            moved[j] -= 2.0 * _STEP
            columns[:, j] = (ahead - errors(build(moved), wanted).ravel()) / (2.0 * _STEP)
        step = np.linalg.lstsq(columns, -error, rcond=1e-8)[0]
        tried = errors(build(values + step), wanted).ravel()
        if not tried @ tried < error @ error:
            break
        done = error @ error - tried @ tried < 1e-12 * (error @ error)
        values, error = values + step, tried
        if done:
            break
    return values


def nearest_table(start: Table, q: Floats, wanted: Poses) -> Table:
    """The table with its held d that comes nearest to poses at joint values (joints, n)."""
    free = [
        (k, name)
        for k, hold in enumerate(start.held)
        for name in ("alpha", "a", "d", "theta")
        if not (hold and name == "d")
    ]

    def build(values: Floats) -> Table:
        rows = list(start.rows)
        for (k, name), change in zip(free, values[:-12], strict=True):
            rows[k] = replace(rows[k], **{name: getattr(rows[k], name) + float(change)})
        base, end = (moved(frame, part) for frame, part in ((start.base, values[-12:-6]), (start.end, values[-6:])))
        return replace(start, rows=tuple(rows), base=base, end=end)

    return build(nearest(np.zeros(len(free) + 12), lambda values: build(values).poses(q), wanted))


def moved(frame: Rigid, twist: Floats) -> Rigid:
    """A frame shifted (m) and turned (rad) by its own axes."""
    return frame @ Rigid(rotation_from_vector(twist[3:]), np.array(twist[:3]))
