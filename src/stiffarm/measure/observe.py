"""What an arm should show an instrument: the expected value of every reading of a campaign.

    position    T_setup (point under load and weights)
    deflection  R_setup (elastic displacement and rotation under the external wrench alone)
    pose        T_setup (point), R_setup (tool) as a rotation vector
    touches     (of a point, plane or sphere) have no value of their own: the point in the world, under load and weights

T_setup takes the world to the frame of the setup.  Readings are grouped by marker, since the columns of a
point are shared by all experiments that show it; within a group the batch is over experiments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.bent import columns_exactly, seen_exactly, with_weights
from stiffarm.measure.campaign import DEFAULT_MARKER, OBSERVATIONS, Campaign, Payload, Setup
from stiffarm.measure.targets import TOUCHED
from stiffarm.model.arm_model import Arm
from stiffarm.model.evaluate import Prediction, predict, sensitivity
from stiffarm.model.loads import Load, State
from stiffarm.model.rotations import rotate, vector_of
from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DIRECT = ("position", "deflection", "pose")
"""Kinds of reading whose expected value is known once the setup's frame is."""


@dataclass(frozen=True, eq=False)
class Group:
    """Readings of one marker, kind (deflection or not) and payload, evaluated together."""

    point: str
    deflection: bool
    pose: bool
    touched: bool
    payload: Payload | None
    rows: Ints
    """Readings, indices into `Readings`."""
    experiments: Ints
    """Distinct experiments they belong to."""
    member: Ints
    """For each row, which of ``experiments``."""


def groups(campaign: Campaign, kinds: Collection[str] = DIRECT) -> Iterator[Group]:
    """Readings of the given kinds in groups that share one evaluation."""
    readings = campaign.readings
    payloads = [setup.payload for setup in campaign.setups]
    distinct = list(dict.fromkeys(payloads)) or [None]
    payload_of = np.array([distinct.index(p) for p in payloads], dtype=np.int64)
    for kind in kinds:
        rows = np.flatnonzero(readings.kind == OBSERVATIONS.index(kind))
        if not len(rows):
            continue
        key = (readings.marker[rows] + 1) * len(distinct) + payload_of[readings.setup[rows]]
        for one in np.unique(key):
            marker, payload = divmod(int(one), len(distinct))
            marker -= 1
            chosen = rows[key == one]
            experiments, member = np.unique(readings.experiment[chosen], return_inverse=True)
            name = DEFAULT_MARKER if marker < 0 else campaign.markers[marker]
            is_kind = (kind == "deflection", kind == "pose", kind in TOUCHED)
            yield Group(name, *is_kind, distinct[payload], chosen, experiments, member.reshape(-1))


def use_measured_torque(campaign: Campaign, loads: str = "torque") -> bool:
    """Whether measured joint torques stand for the loads (``--loads torque`` and there are some)."""
    return loads == "torque" and campaign.experiments.joint_torque is not None


def state_of(arm: Arm, campaign: Campaign, group: Group, loads: str = "torque") -> State:
    """The loads and joints of a group's experiments.

    ``loads`` is ``model``, ``torque`` (measured torques when there are any) or ``none``.
    Deflections feel the external wrench alone; positions, poses and touches the weights as well.
    """
    experiments = campaign.experiments
    chosen = group.experiments
    q = np.ascontiguousarray(experiments.q[:, chosen])
    if loads == "none":
        return State(q)
    if use_measured_torque(campaign, loads) and not group.deflection:
        assert experiments.joint_torque is not None
        return State(q, joint_torque=np.ascontiguousarray(experiments.joint_torque[:, chosen]))
    external = tuple(
        Load(arm.chain.point(name, of="load point"), wrench[:3, chosen], wrench[3:, chosen])
        for name, wrench in zip(experiments.load_points, experiments.wrench_world, strict=True)
        if wrench[:, chosen].any()
    )
    if group.deflection:
        return State(q, external)
    payload = None if group.payload is None else (group.payload.mass_kg, group.payload.com_m)
    return State(q, (*external, *arm.weights(payload)))


def setup_frames(campaign: Campaign, found: Mapping[str, Rigid] | None = None) -> list[Rigid]:
    """Setup from world for every setup: found, else given in the campaign file, else identity."""
    known = found or {}
    return [known.get(setup.name) or given_frame(setup) or Rigid.identity() for setup in campaign.setups]


def given_frame(setup: Setup) -> Rigid | None:
    """The frame stated in the campaign file, if any."""
    return None if setup.placement is None else Rigid.of(setup.placement)


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected readings and what they are made of."""

    value: Floats
    """(6, rows) in the frame of each setup, m and rad; NaN for kinds that have no direct value."""
    world: Floats
    """(3, rows) the same positions (or displacements) in the world."""
    rotation: Floats
    """(3 columns, 3, rows) of the tool in the world under load; zero for rows that are no poses."""


def expected(
    arm: Arm, campaign: Campaign, frames: Mapping[str, Rigid] | None = None, loads: str = "torque"
) -> Expected:
    """Expected value of every reading for an arm and the frames of the setups."""
    return Observer(campaign, loads).expected(arm, frames)


def expected_with_columns(
    arm: Arm,
    campaign: Campaign,
    names: Collection[str],
    frames: Mapping[str, Rigid] | None = None,
    loads: str = "torque",
) -> tuple[Expected, Floats]:
    """Expected readings and their derivatives (parameters, 6, rows) in the frame of each setup.

    The last three components are the rotation of the reading, applied from the left in the frame of the setup.
    Touches are derived in the world.
    """
    return Observer(campaign, loads).with_columns(arm, names, frames)


class Observer:
    """What a campaign observes, sorted out once for any number of arms and frames."""

    def __init__(self, campaign: Campaign, loads: str = "torque") -> None:
        self.campaign, self.loads = campaign, loads
        self.groups = tuple(groups(campaign, (*DIRECT, *TOUCHED)))
        self._given = _rotations(setup_frames(campaign))

    def expected(self, arm: Arm, frames: Mapping[str, Rigid] | None = None) -> Expected:
        """Values only."""
        out, placed = self._empty(), _Placed.of(self.campaign, frames)
        for group in self.groups:
            if self.exact:
                prediction = seen_exactly(arm, self._stated(arm, group), group)
            else:
                prediction = predict(arm, state_of(arm, self.campaign, group, self.loads), group.point)
            self._place(out, group, prediction, placed)
        return out

    @property
    def exact(self) -> bool:
        """Whether equilibria are solved; without loads there is nothing to solve."""
        return self.campaign.exact and self.loads != "none"

    def _stated(self, arm: Arm, group: Group) -> State:
        """Everything that acts: of a deflection's experiments the weights as well."""
        state = state_of(arm, self.campaign, group, self.loads)
        return with_weights(arm, state, group.payload) if group.deflection else state

    def with_columns(
        self, arm: Arm, names: Collection[str], frames: Mapping[str, Rigid] | None = None
    ) -> tuple[Expected, Floats]:
        """Values and columns."""
        out, placed = self._empty(), _Placed.of(self.campaign, frames)
        columns = np.zeros((len(names), 6, len(self.campaign.readings)))
        for group in self.groups:
            turning = group.pose or (group.deflection and self._reads_rotation(group))
            if self.exact:
                prediction, part = columns_exactly(arm, self._stated(arm, group), group, names, rotation=turning)
            else:
                state = state_of(arm, self.campaign, group, self.loads)
                prediction, part = sensitivity(
                    arm, state, group.point, names, rotation=turning, deflection=group.deflection
                )
            self._place(out, group, prediction, placed)
            turn = self._turn(group, placed)
            columns[:, :3, group.rows] = self._turned(group, turn, part[:, :3])
            if turning:
                columns[:, 3:, group.rows] = self._turned(group, turn, part[:, 3:])
        return out, columns

    def _empty(self) -> Expected:
        n = len(self.campaign.readings)
        return Expected(np.full((6, n), np.nan), np.full((3, n), np.nan), np.zeros((3, 3, n)))

    def _turn(self, group: Group, placed: _Placed) -> Floats:
        """World to setup (setups, 3, 3) for a group; that of a deflection is stated or identity, never found.

        What is touched is in the world.
        """
        if group.touched:
            return np.broadcast_to(np.eye(3), placed.rotation.shape)
        return self._given if group.deflection else placed.rotation

    def _turned(self, group: Group, turn: Floats, world: Floats) -> Floats:
        """Vectors (..., 3, experiments) of the world as each row of a group sees them, in the frame of its setup."""
        setup = self.campaign.readings.setup[group.rows]
        if (setup == setup[0]).all():
            return np.take(turn[setup[0]] @ world, group.member, axis=-1)
        out = np.empty((*world.shape[:-1], len(setup)))
        for s in np.unique(setup):
            mine = np.flatnonzero(setup == s)
            out[..., mine] = turn[s] @ np.take(world, group.member[mine], axis=-1)
        return out

    def _reads_rotation(self, group: Group) -> bool:
        return bool(np.isfinite(self.campaign.readings.value[3:, group.rows]).any())

    def _place(self, out: Expected, group: Group, prediction: Prediction, placed: _Placed) -> None:
        rows, member, turn = group.rows, group.member, self._turn(group, placed)
        if group.deflection:
            out.world[:, rows] = prediction.deflection[:, member]
            out.value[:3, rows] = self._turned(group, turn, prediction.deflection)
            out.value[3:, rows] = self._turned(group, turn, prediction.deflection_rotation)
            return
        out.world[:, rows] = prediction.position[:, member]
        if group.touched:
            return
        shift = placed.shift[:, self.campaign.readings.setup[rows]]
        out.value[:3, rows] = self._turned(group, turn, prediction.position) + shift
        if group.pose:
            out.rotation[:, :, rows] = prediction.rotation[:, :, member]
            out.value[3:, rows] = vector_of(self._turned(group, turn, prediction.rotation))


@dataclass(frozen=True, eq=False)
class _Placed:
    """Frames of all setups."""

    rotation: Floats
    """(setups, 3, 3)"""
    shift: Floats
    """(3, setups)"""

    @staticmethod
    def of(campaign: Campaign, frames: Mapping[str, Rigid] | None) -> _Placed:
        found = setup_frames(campaign, frames)
        return _Placed(_rotations(found), np.array([frame.translation for frame in found]).reshape(-1, 3).T)


def _rotations(frames: list[Rigid]) -> Floats:
    return np.array([frame.rotation for frame in frames]).reshape(-1, 3, 3)


def residual(campaign: Campaign, value: Floats) -> Floats:
    """Read minus expected (6, rows); rotations as the vector that turns the expected into the read one.

    NaN where nothing was read.
    """
    read = campaign.readings.value
    out = read - value
    poses = np.flatnonzero(campaign.kind("pose") & np.isfinite(read[3:]).all(axis=0))
    if len(poses):
        unit = np.broadcast_to(np.eye(3)[:, :, None], (3, 3, len(poses)))
        back = rotate(-value[3:, poses], unit)
        out[3:, poses] = vector_of(rotate(read[3:, poses], back))
    return np.asarray(out)
