"""Campaigns in the layout of paper 002: a KR 120, 31 configurations at six angles of joint 2, three markers, 120 kg.

What compensator the arm carries is chosen here: the published one cannot be had (its triangle is not printed).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fit_problems import plan
from stiffarm.identify.separation import Block
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Setup
from stiffarm.model.aggregated import aggregated
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.evaluate import elastic_columns, predict
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import BodyPoint, Compensator, GasCylinder, Robot, Spring
from stiffarm.robot.reading import read_robot

Array = NDArray[np.float64]

Q2_DEG = (-125.0, -105.0, -80.0, -55.0, -30.0, -5.0)
PER_ANGLE = (5, 5, 5, 5, 5, 6)
POOL = 200
"""Random configurations at one angle from which some are chosen."""
KG, GRAVITY = 120.0, 9.81
COMPLIANCE = (1.13e-6, 0.34e-6, 0.43e-6, 0.95e-6, 3.82e-6, 4.01e-6)
"""rad/(N m): Table 1 of the paper; joint 2 without its compensator, so that with one it is in the table's range."""
SIGMA_M = 0.03e-3
"""Of one coordinate of one reading; a deflection has two of them."""
TRIANGLE = {"L": 0.1847, "a": 0.697, "alpha": 1.393}

ELEMENTS = {
    "strong gas": GasCylinder("push", 1.2, 0.03, p_ref=3.0e7, V_ref=5e-3, s_ref=0.6),
    "strong spring": Spring(2.0e7, 0.47),
    "real gas": GasCylinder("pull", 1.2, 3.0e-3, p_ref=9.0e6, V_ref=4e-3, s_ref=0.6),
    "real spring": Spring(1.8e5, 0.458),
}
"""Two that change the stiffness of joint 2 by 6 % rms, and two as they are built, which change it by 0.1 %."""
MATTERS = {"strong gas": True, "strong spring": True, "real gas": False, "real spring": False}


def robot(kind: str) -> Robot:
    """The arm with Table 1's compliances, a hook, three markers and a compensator."""
    arm = read_robot("kr120")
    joints = tuple(replace(joint, compliance=k) for joint, k in zip(arm.joints, COMPLIANCE, strict=True))
    places = ((0.10, 0.05, 0.28), (-0.08, 0.23, 0.20), (0.12, -0.20, 0.15))
    markers = tuple(BodyPoint(f"P{i + 1}", xyz) for i, xyz in enumerate(places))
    tool = replace(arm.tool, markers=markers, load_points=(BodyPoint("hook", (-0.15, 0.05, 0.30)),))
    compensator = Compensator("A2", element=ELEMENTS[kind], **TRIANGLE)
    return replace(arm, joints=joints, tool=tool, compensators=(compensator,))


@cache
def configurations(seed: int = 0) -> Array:
    """(6, 31) joint values, rad: of random ones those that tell the compliances of A2 best, as the paper chose them."""
    rng = np.random.default_rng(seed)
    arm = robot("real spring")
    low, high = (np.array([joint.limits[i] for joint in arm.joints if joint.limits]) for i in (0, 1))
    q = rng.uniform(np.maximum(low, -2.6)[:, None], np.minimum(high, 2.6)[:, None], (6, POOL * len(Q2_DEG)))
    q[1] = np.repeat(np.radians(Q2_DEG), POOL)
    height = predict(ArmModel.of(arm).at(), State(q), "hook").position[2]
    rows = columns_at(arm, q).transpose(2, 0, 1) * np.array([*[COMPLIANCE[1]] * len(Q2_DEG), *COMPLIANCE[2:]])
    information = np.einsum("nri,nrj->nij", rows, rows)
    left = dict(enumerate(PER_ANGLE))
    total, chosen = 1e-12 * np.eye(rows.shape[2]), []
    for _ in range(sum(PER_ANGLE)):
        free = [i for i in range(q.shape[1]) if height[i] > 0.3 and i not in chosen and left[i // POOL]]
        trace = np.einsum("nii->n", np.linalg.inv(total + information[free])[:, : len(Q2_DEG), : len(Q2_DEG)])
        best = free[int(np.argmin(trace))]
        left[best // POOL] -= 1
        total = total + information[best]
        chosen.append(best)
    chosen = exchanged(information, chosen, height > 0.3)
    return np.ascontiguousarray(q[:, sorted(chosen)])


def exchanged(information: Array, chosen: list[int], allowed: Array) -> list[int]:
    """One configuration after another replaced by a better one at the same angle, until none is better."""
    m, before = len(Q2_DEG), np.inf
    while True:
        for place, old in enumerate(chosen):
            rest = information[[i for i in chosen if i != old]].sum(axis=0)
            angle = old // POOL
            others = [
                i for i in range(angle * POOL, (angle + 1) * POOL) if allowed[i] and (i == old or i not in chosen)
            ]
            trace = np.einsum("nii->n", np.linalg.inv(rest + information[others])[:, :m, :m])
            chosen[place] = others[int(np.argmin(trace))]
        now = float(np.trace(np.linalg.inv(information[chosen].sum(axis=0))[:m, :m]))
        if now >= before * (1.0 - 1e-9):
            return chosen
        before = now


def columns_at(arm: Robot, q: Array) -> Array:
    """(3 markers x 3, compliances, n) m per rad/(N m) under the hanging load; joint 1 is not seen by it."""
    names = [*(f"A2.compliance[{i + 1}]" for i in range(len(Q2_DEG))), *(f"A{i}.compliance" for i in (3, 4, 5, 6))]
    at = ArmModel.of(arm).grouped("A2", np.radians(Q2_DEG)).at()
    here = state(arm, q=q)
    columns = [elastic_columns(at, here, f"P{m}", names) for m in (1, 2, 3)]
    return np.concatenate([np.moveaxis(c, 0, 1) for c in columns])


def state(arm_of: Robot, side: float = 0.0, q: Array | None = None) -> State:
    """The load hanging from the hook, pulled aside by a share of its weight."""
    weight = KG * GRAVITY
    load = Load(ArmModel.of(arm_of).at().chain.point("hook"), np.array([[0.0], [side * weight], [-weight]]))
    return State(configurations() if q is None else q, (load,))


@dataclass(frozen=True, eq=False)
class Linear:
    """The readings as a linear problem in the compliances, joint 2 by its angles."""

    kind: str
    A: Array
    """(rows, 5 + 6) m per rad/(N m): joint 2 first."""
    truth: Array

    @property
    def stiffness(self) -> Array:
        """(6,) K_2 that is true, N m/rad."""
        return np.asarray(1.0 / self.truth[: len(Q2_DEG)])

    def block(self, rng: np.random.Generator, sigma: float = SIGMA_M) -> Block:
        """One campaign: the compliances of joint 2 that least squares finds, with their covariance."""
        p = self.A.shape[1]
        length = np.linalg.norm(self.A, axis=0)
        y = self.A @ self.truth + rng.standard_normal(len(self.A)) * sigma * np.sqrt(2.0)
        q, r = np.linalg.qr(self.A / length)
        inverse = np.linalg.inv(r) / length[:, None]
        found = inverse @ (q.T @ y)
        rest = y - self.A @ found
        covariance = inverse @ inverse.T * float(rest @ rest) / (len(y) - p)
        m = len(Q2_DEG)
        joint = robot(self.kind).joints[1]
        return Block(joint, np.radians(Q2_DEG), found[:m], covariance[:m, :m], len(y))


@cache
def linear(kind: str) -> Linear:
    """The observation matrix of the layout; joint 1 is not seen by a hanging load."""
    arm = robot(kind)
    A = columns_at(arm, configurations()).transpose(2, 0, 1).reshape(-1, len(Q2_DEG) + 4)
    both = aggregated(arm.compensators[0], 1.0 / COMPLIANCE[1], np.radians(Q2_DEG))
    return Linear(kind, A, np.concatenate([both.compliance, COMPLIANCE[2:]]))


def campaign(kind: str, seed: int, sigma: float = SIGMA_M, side: float = 0.0) -> Campaign:
    """The same as readings of a campaign: deflections of three markers, with noise."""
    arm = robot(kind)
    at, here = ArmModel.of(arm).at(), state(arm, side)
    deflection = np.stack([predict(at, here, f"P{m}").deflection for m in (1, 2, 3)])  # (marker, xyz, n)
    n = len(here)
    rng = np.random.default_rng(seed)
    value = np.full((6, 3 * n), np.nan)
    value[:3] = np.moveaxis(deflection, 0, 1).reshape(3, -1) + rng.normal(0.0, sigma * np.sqrt(2.0), (3, 3 * n))
    wrench = np.zeros((1, 6, n))
    wrench[0, :3] = here.loads[0].force_world
    return made(arm, here.q, wrench, value)


def made(arm: Robot, q: Array, wrench: Array, value: Array) -> Campaign:
    """A campaign of deflections of P1, P2, P3 under a load at the hook."""
    n = q.shape[1]
    experiments = Experiments(tuple(f"E{i + 1}" for i in range(n)), q, ("hook",), wrench)
    return plan(
        experiments,
        experiment=np.tile(np.arange(n), 3),
        marker=np.repeat(np.arange(3), n),
        kind=np.full(3 * n, OBSERVATIONS.index("deflection")),
        value=value,
        markers=arm.marker_names,
        setups=(Setup("day"),),
    )
