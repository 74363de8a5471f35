"""A campaign as scalar equations in the parameters and the setup frames, with exact derivatives.

Each finite number that was read is one equation  read - expected(x) = error.  Touches follow them, with what was
touched taken out of their equations already (`stiffarm.measure.contacts`).  Unknown are the selected
parameters and, for every setup whose frame is not given, six increments of its frame: a reading r of the setup
moves by

    d + w x (r - c)

with c the centre of the setup's readings, so that shift and turn are as good as independent.  A rotation that was
read has the residual log(Q_read Q_expected^T), whose derivative by a turn w of the expected one is -J_r^-1 w.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stiffarm.identify.data import resolved_of
from stiffarm.measure.campaign import OBSERVATIONS, Campaign
from stiffarm.measure.contact_rows import ContactRows
from stiffarm.measure.contacts import UNKNOWN_SCATTER_M, Contacts
from stiffarm.measure.observe import DIRECT, Observer, given_frame, residual
from stiffarm.measure.references import Resolved
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.kernel import cross
from stiffarm.model.rotations import inverse_right_jacobian
from stiffarm.robot.placement import Rigid, rotation_from_vector

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Point:
    """Where a solver stands: values of all parameters and frames of all setups."""

    values: Mapping[str, float]
    frames: Mapping[str, Rigid]


@dataclass(frozen=True, eq=False)
class Equations:
    """Residuals (read - expected) and derivatives of the expected, one row per scalar."""

    residual: Floats
    """(scalars,) m or rad."""
    columns: Floats
    """(scalars, parameters + 6 per unknown setup frame)."""


@dataclass(frozen=True, eq=False)
class System:
    """The scalar equations of a campaign for a model."""

    model: ArmModel
    campaign: Campaign
    loads: str = "torque"
    resolved: Resolved | None = None
    """Where the campaign's rows come from, when some of them are differences of readings."""
    touch_m: float = UNKNOWN_SCATTER_M
    """Standard deviation of touches that state none, beside known distances."""

    @cached_property
    def take(self) -> tuple[Ints, Ints]:
        """Component (0..5) and reading of each scalar: a reading's components stand together, touches at the end."""
        component, row = self.read
        touched, at = self.contacts.labels
        return np.concatenate([component, touched]), np.concatenate([row, at])

    @cached_property
    def read(self) -> tuple[Ints, Ints]:
        """The part of `take` that an instrument read."""
        readings = self.campaign.readings
        direct = np.isin(readings.kind, [OBSERVATIONS.index(kind) for kind in DIRECT])
        finite = np.isfinite(readings.value) & direct
        positions = self.campaign.kind("position")
        finite[3:, positions] = False
        row, component = np.nonzero(finite.T)
        return component, row

    @cached_property
    def contacts(self) -> Contacts:
        """What was touched."""
        return Contacts(self.campaign, self.touch_m)

    @property
    def touching(self) -> NDArray[np.bool_]:
        """(scalars,) which are of touches."""
        return np.arange(len(self)) >= len(self.read[0])

    @property
    def rows(self) -> Resolved:
        """The campaign's rows with their source."""
        return resolved_of(self.campaign) if self.resolved is None else self.resolved

    def __len__(self) -> int:
        return len(self.take[0])

    @cached_property
    def unknown_frames(self) -> tuple[int, ...]:
        """Setups whose frame is to be found: those with positions or poses and no frame in the campaign file."""
        used = set(np.unique(self.campaign.readings.setup[self.campaign.placed]).tolist())
        return tuple(i for i, s in enumerate(self.campaign.setups) if i in used and given_frame(s) is None)

    @cached_property
    def centres(self) -> Floats:
        """(3, setups) mean of what each setup read, m."""
        readings = self.campaign.readings
        centres = np.zeros((3, len(self.campaign.setups)))
        for i in self.unknown_frames:
            rows = (readings.setup == i) & self.campaign.placed
            centres[:, i] = np.nan_to_num(np.nanmean(readings.value[:3, rows], axis=1))
        return centres

    @cached_property
    def observer(self) -> Observer:
        """The campaign's readings, sorted for evaluation."""
        return Observer(self.campaign, self.loads)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names of the frame unknowns, six for each unknown setup."""
        return tuple(
            f"{self.campaign.setups[i].name}.{axis}"
            for i in self.unknown_frames
            for axis in ("x", "y", "z", "rx", "ry", "rz")
        )

    def arm(self, at: Point) -> Arm:
        """The arm at a point."""
        return self.model.at(at.values)

    def residual(self, at: Point) -> Floats:
        """Read minus expected, one number per scalar."""
        component, row = self.read
        found = self.observer.expected(self.arm(at), at.frames)
        read = residual(self.campaign, found.value)[component, row]
        if not len(self.contacts):
            return np.asarray(read)
        return np.concatenate([read, ContactRows(self.contacts, found.world).residual])

    def equations(self, at: Point, names: Sequence[str]) -> Equations:
        """Residuals and derivatives by the named parameters, then by the frames."""
        component, row = self.read
        found, columns = self.observer.with_columns(self.arm(at), names, at.frames)
        rest = residual(self.campaign, found.value)
        if self.unknown_frames:
            columns = np.concatenate([columns, self._frame_columns(found.value)])
        poses = self._poses
        if len(poses):
            turn = np.nan_to_num(rest[3:, poses])
            columns[:, 3:, poses] = inverse_right_jacobian(turn, columns[:, 3:, poses])
        read = Equations(np.asarray(rest[component, row]), np.ascontiguousarray(columns[:, component, row].T))
        if not len(self.contacts):
            return read
        touched = ContactRows(self.contacts, found.world)
        rows = touched.columns(columns[:, :3])
        return Equations(np.concatenate([read.residual, touched.residual]), np.concatenate([read.columns, rows]))

    @cached_property
    def _poses(self) -> Ints:
        return np.flatnonzero(self.campaign.kind("pose"))

    def _frame_columns(self, value: Floats) -> Floats:
        """(6 per unknown setup, 6, rows)"""
        out = np.zeros((6 * len(self.unknown_frames), 6, len(self.campaign.readings)))
        for k, (setup, rows) in enumerate(zip(self.unknown_frames, self._rows_of_frames, strict=True)):
            block = np.zeros((6, 6, len(rows)))
            block[range(6), range(6)] = 1.0
            block[3:, :3] = cross(np.eye(3)[:, :, None], value[:3, rows] - self.centres[:, setup, None])
            out[6 * k : 6 * k + 6, :, rows] = block
        return out

    @cached_property
    def _rows_of_frames(self) -> tuple[Ints, ...]:
        """Readings that each unknown frame moves."""
        setup, placed = self.campaign.readings.setup, self.campaign.placed
        return tuple(np.flatnonzero((setup == s) & placed) for s in self.unknown_frames)

    def moved(self, at: Point, names: Sequence[str], step: Floats) -> Point:
        """The point after a step in the named parameters and the frames."""
        values = dict(at.values)
        for name, change in zip(names, step, strict=False):
            values[name] += float(change)
        frames = dict(at.frames)
        increments = step[len(names) :].reshape(-1, 6)
        for setup, (shift, turn) in zip(self.unknown_frames, ((i[:3], i[3:]) for i in increments), strict=True):
            name, centre = self.campaign.setups[setup].name, self.centres[:, setup]
            turned = rotation_from_vector(turn)
            about_centre = Rigid(turned, centre - turned @ centre + shift)
            frames[name] = about_centre @ frames[name]
        return Point(values, frames)
