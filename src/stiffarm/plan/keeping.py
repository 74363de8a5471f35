"""What a plan keeps of the room around and within the arm, as far as sizes are known."""

from __future__ import annotations

from stiffarm.errors import InputError, Problem
from stiffarm.model.arm_model import Arm
from stiffarm.plan.cable import CableCone, CableSteepness
from stiffarm.plan.cell_file import read_cell
from stiffarm.plan.clearance import cable_clearance, cell_clearance, self_clearance, sight_clearance
from stiffarm.plan.options import Room
from stiffarm.plan.problem import Cable, Constraint, Floats, Pull, Reading
from stiffarm.plan.solids import Cell


def room_constraints(
    arm: Arm, room: Room, pull: Pull | None, reading: Reading, low: Floats, high: Floats
) -> tuple[tuple[Constraint, ...], tuple[str, ...]]:
    """Constraints, and what cannot be looked after; ``low`` and ``high`` (joints,) are the joints' ranges."""
    cell = Cell() if room.cell is None else read_cell(room.cell)
    _refuse_empty(arm, room)
    found: list[Constraint | None] = [self_clearance(arm, low, high, room.clearance_m)]
    found.append(cell_clearance(arm, cell, room.clearance_m))
    if isinstance(pull, Cable):
        found.append(cable_clearance(arm, pull.load_point, cell, room.cable_clearance_m))
        if room.cable_cone is not None:
            found.append(CableCone(arm, pull.load_point, *room.cable_cone))
        if room.steepest_rad is not None:
            found.append(CableSteepness(arm, pull.load_point, room.steepest_rad))
    elif room.cable_cone is not None or room.steepest_rad is not None:
        raise InputError(
            Problem(
                "there is no cable whose direction could be kept",
                column="--cable-cone, --cable-steepest",
                allowed="--cable or --cable-box beside it",
            )
        )
    if reading.station_m is not None:
        found.append(sight_clearance(arm, reading.markers, reading.station_m, cell, room.clearance_m))
    return tuple(one for one in found if one is not None), _unlooked(arm)


def _refuse_empty(arm: Arm, room: Room) -> None:
    if arm.robot.capsules:
        return
    column = "--cell" if room.cell is not None else "--clearance" if room.clearance_m else None
    if column is not None:
        raise InputError(
            Problem(
                "how large the arm is is not known, so that nothing can be kept clear of it",
                column=column,
                found="no [[capsule]] in the robot file",
                allowed='capsules of the bodies that move, such as on = "A3", radius = 160.0',
            )
        )


def _unlooked(arm: Arm) -> tuple[str, ...]:
    if arm.robot.capsules:
        return ()
    return ("collisions are not looked for: the robot file does not say how large the arm is ([[capsule]])",)
