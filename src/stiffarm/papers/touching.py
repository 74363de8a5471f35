"""A robot in Denavit-Hartenberg numbers that touches points under a weight, and its calibration from them.

The 33 numbers are theta, a, d, alpha of six joints, six compliances and the tool point.  Their columns are those of
the frames: with frame k before joint k's motion,

    theta_k = k.rz     d_k = k.z     a_k, alpha_k: slide along and turn about x of frame k+1, brought back by
                                                   its theta and d

and for the last joint a_6 = e_x, alpha_6 = e_x x (tool point) in the flange's frame.

The fit takes Gauss-Newton steps in the directions that touches tell, judged on the nominal robot with postures that
truly meet in points; the others, the scale among them, stay where the nominal numbers are, in units of 0.5 mm, 0.1 deg
and a typical compliance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.campaign import Campaign
from stiffarm.measure.contact_rows import ContactRows
from stiffarm.measure.contacts import Contacts
from stiffarm.measure.touch_plan import KnownDistance, Touching, plan_of_touches
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.chain import AXES
from stiffarm.model.evaluate import Prediction, predict, sensitivity
from stiffarm.model.kernel import jacobian
from stiffarm.model.loads import Load, State
from stiffarm.model.reaching import touch_again
from stiffarm.robot.arm import DenavitHartenberg, Placement, Robot
from stiffarm.robot.reading import parse_robot

Floats = NDArray[np.float64]

FILE = "004.robot.toml"
JOINTS = 6
NAMES = (
    *(f"{name}{k}" for k in range(1, JOINTS + 1) for name in ("theta", "a", "d", "alpha")),
    *(f"k{k}" for k in range(1, JOINTS + 1)),
    *("x", "y", "z"),
)
ANGLE_RAD, LENGTH_M, COMPLIANCE = np.radians(0.1), 0.5e-3, 1e-5
"""Sizes of what is not known before: rad, m, rad/(N m)."""
MOST_STEPS = 30
STEP_DONE = 1e-9


def sizes() -> Floats:
    """(33,) typical sizes of the numbers."""
    table = [ANGLE_RAD, LENGTH_M, LENGTH_M, ANGLE_RAD] * JOINTS
    return np.array([*table, *(COMPLIANCE,) * JOINTS, *(10 * LENGTH_M,) * 3])


@dataclass(frozen=True, eq=False)
class Numbers:
    """The 33 numbers of one robot, SI."""

    table: Floats
    """(6, 4) theta, a, d, alpha."""
    compliance: Floats
    """(6,) rad/(N m)"""
    tool: Floats
    """(3,) m in the flange's frame."""

    @property
    def vector(self) -> Floats:
        """All of them, in the order of `NAMES`."""
        return np.concatenate([self.table.ravel(), self.compliance, self.tool])

    @staticmethod
    def of(vector: Floats) -> Numbers:
        """From the vector."""
        table, compliance, tool = np.split(vector, [4 * JOINTS, 5 * JOINTS])
        return Numbers(table.reshape(JOINTS, 4), compliance, tool)

    @cached_property
    def arm(self) -> Arm:
        """The robot of these numbers."""
        nominal = paper_robot()
        joints = tuple(
            replace(joint, geometry=DenavitHartenberg(*(float(x) for x in (alpha, a, d, theta))), compliance=float(k))
            for joint, (theta, a, d, alpha), k in zip(nominal.joints, self.table, self.compliance, strict=True)
        )
        x, y, z = (float(v) for v in self.tool)
        return ArmModel.of(
            replace(nominal, joints=joints, tool=replace(nominal.tool, placement=Placement((x, y, z))))
        ).at()


def paper_robot() -> Robot:
    """The robot of the paper's nominal table."""
    return parse_robot(files("stiffarm.papers").joinpath(FILE).read_bytes(), FILE)


def nominal_numbers() -> Numbers:
    """The paper's nominal table, its tool, and no compliance."""
    robot = paper_robot()
    rows = [g for joint in robot.joints if isinstance(g := joint.geometry, DenavitHartenberg)]
    table = np.array([(g.theta, g.a, g.d, g.alpha) for g in rows])
    return Numbers(table, np.zeros(JOINTS), np.array(robot.tool.placement.xyz))


@dataclass(frozen=True, eq=False)
class Weight:
    """Forces at a point of the tool."""

    point: str
    force_world: Floats
    """(3, 1) or (3, touches) N."""


def state(numbers: Numbers, q: Floats, weight: Weight) -> State:
    """Joint values with the load."""
    return State(q, (Load(numbers.arm.chain.point(weight.point), weight.force_world),))


def tool_points(numbers: Numbers, q: Floats, weight: Weight) -> Prediction:
    """Where the tool point is under load."""
    return predict(numbers.arm, state(numbers, q, weight), "tool")


def columns(numbers: Numbers, q: Floats, weight: Weight) -> tuple[Floats, Floats]:
    """Tool points (3, n), and their derivatives (33, 3, n) by the numbers."""
    names = numbers.arm.robot.joint_names
    wanted = [f"{name}.{axis}" for name in names for axis in AXES]
    wanted += [f"{name}.compliance" for name in names] + ["tool.x", "tool.y", "tool.z"]
    found, by_name = sensitivity(numbers.arm, state(numbers, q, weight), "tool", wanted)
    frame = by_name[: 6 * JOINTS].reshape(JOINTS, 6, 3, -1)
    x, y, z = by_name[-3:]
    rows = []
    for k in range(JOINTS):
        if k + 1 < JOINTS:
            (theta, _, d, _), (fx, fy, _, frx, fry, _) = numbers.table[k + 1], frame[k + 1]
            cosine, sine = np.cos(theta), np.sin(theta)
            a = cosine * fx - sine * fy
            alpha = cosine * frx - sine * fry - d * (sine * fx + cosine * fy)
        else:
            a = x + _lever(numbers, q, weight, np.array([1.0, 0.0, 0.0]))
            alpha = numbers.tool[1] * z - numbers.tool[2] * y
            alpha = alpha + _lever(numbers, q, weight, np.cross([1.0, 0.0, 0.0], _load_point(numbers, weight)))
        rows += [frame[k][5], a, frame[k][2], alpha]
    return found.position, np.stack([*rows, *by_name[6 * JOINTS :]])


def _load_point(numbers: Numbers, weight: Weight) -> Floats:
    """(3,) m in the flange's frame."""
    return np.array(next((p.xyz for p in numbers.arm.robot.tool.load_points if p.name == weight.point), (0.0,) * 3))


def _lever(numbers: Numbers, q: Floats, weight: Weight, shift: Floats) -> Floats:
    """Change (3, n) of the tool point's deflection when the load moves by ``shift`` (3,) in the flange's frame."""
    chain = numbers.arm.chain
    here = chain.point(weight.point)
    there = replace(here, xyz=here.xyz + chain.flange.rotation @ shift)
    by_joint = [jacobian(chain, q, point)[1] for point in (here, there)]
    torque = np.sum((by_joint[1] - by_joint[0]) * weight.force_world, axis=1)
    turned = numbers.compliance[:, None] * torque
    return np.asarray(np.einsum("kin,kn->in", jacobian(chain, q, chain.point("tool"))[1], turned))


def touch_points(
    numbers: Numbers, points_m: Floats, times: int, weight: Weight, random: np.random.Generator, sigma_m: float = 0.0
) -> Floats:
    """Joint values (6, points * times) that bring the loaded tool to points (points, 3), each with an error."""
    wanted = np.repeat(points_m.T, times, axis=1)
    wanted = wanted + sigma_m * random.standard_normal(wanted.shape)
    arm = numbers.arm
    q = touch_again(arm, "tool", wanted, random).q
    for _ in range(MOST_STEPS):
        off = wanted - tool_points(numbers, q, weight).position
        if np.abs(off).max() < 1e-13:
            break
        by_joint = jacobian(arm.chain, q, arm.chain.point("tool"))[1].transpose(2, 1, 0)
        q = q + np.einsum("nji,in->jn", np.linalg.pinv(by_joint), off)
    return q


def plan(q: Floats, points: int, sigma_m: float, known: tuple[KnownDistance, ...] = ()) -> Campaign:
    """The touches as a campaign: as many of each point."""
    touched = [Touching(f"P{i + 1}", "touch", part) for i, part in enumerate(np.split(q, points, axis=1))]
    return plan_of_touches(paper_robot().joint_names, touched, known, sigma_m=sigma_m)


@dataclass(frozen=True, eq=False)
class Rows:
    """White rows of touches at given numbers."""

    matrix: Floats
    """(rows, 33) per typical size."""
    right: Floats


def white_rows(numbers: Numbers, contacts: Contacts, weight: Weight) -> Rows:
    """Rows of all touches and distances, of unit variance."""
    known = len(contacts.campaign.readings) - len(contacts.point_rows)
    q = contacts.campaign.experiments.q[:, contacts.point_rows]
    position, by_number = columns(numbers, np.ascontiguousarray(q), weight)
    rows = ContactRows(contacts, np.concatenate([position, np.full((3, known), np.nan)], axis=1))
    padded = np.concatenate([by_number, np.zeros((len(by_number), 3, known))], axis=2)
    scale = contacts.scale_m
    return Rows(rows.columns(padded) * sizes() / scale, rows.residual / scale)


@dataclass(frozen=True, eq=False)
class Fitted:
    """What touches make of the numbers."""

    numbers: Numbers
    steps: int
    criterion: float
    """Sum of squares left, in variances of a touch."""


def fit(campaign: Campaign, told: Floats, weight: Weight, start: Numbers | None = None) -> Fitted:
    """Gauss-Newton steps within the told directions (33, rank) from the nominal numbers."""
    contacts, numbers = Contacts(campaign), start or nominal_numbers()
    steps, done = 0, False
    while steps < MOST_STEPS and not done:
        steps += 1
        rows = white_rows(numbers, contacts, weight)
        reduced = rows.matrix @ told
        length = np.linalg.norm(reduced, axis=0)
        step = told @ (np.linalg.lstsq(reduced / length, rows.right, rcond=None)[0] / length)
        numbers = Numbers.of(numbers.vector + sizes() * step)
        done = bool(np.abs(rows.matrix @ step).max() < STEP_DONE * max(1.0, float(np.abs(rows.right).max())))
    right = white_rows(numbers, contacts, weight).right
    return Fitted(numbers, steps, float(right @ right))
