"""Robust weighting: what weights can gain at all, and what the published ones do.

With independent rows of known deviations the best weights are 1/sigma.  For one parameter they change the variance
by at most a Kantorovich factor: for any design, with kappa = (sigma_max / sigma_min)^2,

    sigma_OLS / sigma_WLS <= (kappa + 1) / (2 sqrt(kappa)),

and no weights do better.  The gain itself needs the design.  Coordinates of load point and markers are unpublished;
ours are hook (.30, .05, -.25) and markers (.28, -.08, -.20), (.28, .23, .05), (.28, -.10, .20) m from the flange,
with 265 kg hanging at the hook.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.measure.published import DEFLECTION_SIGMA_UM
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import elastic_columns, predict
from stiffarm.model.loads import Load, State
from stiffarm.papers import weights_003
from stiffarm.papers.items import PaperItem
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

PAPER = "003"
ROBOT = "kr270"
WEIGHT_N = 265.0 * 9.81
CONFIGURATIONS_DEG = (
    (79.20, -0.01, -5.57, 51.00, -97.52, -91.67), (63.00, -0.01, -12.22, -56.49, 41.42, 150.55),
    (63.00, -0.01, -47.98, -70.04, -61.55, 177.16), (95.00, -25.24, 33.00, 129.69, -98.10, 90.57),
    (95.00, -25.24, -107.01, 109.95, -61.19, 174.21), (105.00, -25.24, 14.30, 55.21, 41.26, -152.97),
    (56.60, -56.9, 44.54, -55.11, 41.90, 152.06), (56.60, -56.9, 64.73, -129.65, -98.26, -90.55),
    (144.80, -56.9, 104.49, -69.41, 61.67, -6.33), (-41.00, -99.85, -91.68, 55.12, 41.53, -152.48),
    (-143.00, -99.85, -32.64, 110.31, -61.47, -6.29), (-143.00, -99.85, -72.01, 129.65, -98.09, 90.82),
    (133.00, -140.0, 147.68, 129.64, -97.90, 90.99), (-60.00, -140.0, 7.59, -110.09, -61.36, -174.09),
    (-60.00, -140.0, -52.00, -124.89, -41.62, 27.78),
)  # fmt: skip
"""Table 2: A1 to A6."""
GROUP = np.repeat(np.arange(5), 3)
"""Which of the five compliances of joint 2 belongs to each configuration."""
SIGMA_UM = DEFLECTION_SIGMA_UM["paper-003"]
"""Table 1: configurations by axes."""
CLAIMED_GAIN = (27.2, 42.0)


@dataclass(frozen=True, eq=False)
class Observation:
    """The observation matrix of the published configurations."""

    columns: Floats
    """(configurations, markers, 3, parameters) m per rad/(N m); parameters k21 .. k25, k3 .. k6."""
    first: Floats
    """The same of joint 1's compliance, (configurations, markers, 3)."""
    points: Floats
    """(configurations, markers, 3) unloaded markers in the world, m."""


def items() -> tuple[PaperItem, ...]:
    """What the design can see, what weights can gain, and what the published ones do."""
    seen = observation()
    return (*_design(seen), *_gain(seen), *weights_003.items(seen.columns, seen.points))


def observation() -> Observation:
    """Columns of every compliance at every marker under the hanging weight."""
    serial = replace(read_robot(ROBOT), compensators=())  # whose effect is in the compliances grouped by q2
    arm = ArmModel.of(serial).at()
    state = _state(arm)
    names = [f"{joint}.compliance" for joint in arm.robot.joint_names]
    by_marker = [elastic_columns(arm, state, marker, names) for marker in arm.robot.marker_names]
    columns = np.stack(by_marker).transpose(3, 0, 2, 1)  # configurations, markers, axes, joints
    grouped = np.zeros((*columns.shape[:3], 5))
    grouped[np.arange(len(GROUP)), :, :, GROUP] = columns[..., 1]
    unloaded = State(state.q, ())
    points = np.stack([predict(arm, unloaded, marker).position.T for marker in arm.robot.marker_names], axis=1)
    return Observation(np.concatenate([grouped, columns[..., 2:]], axis=3), columns[..., 0], points)


def _state(arm: Arm) -> State:
    q = np.radians(np.array(CONFIGURATIONS_DEG)).T
    force = np.array([0.0, 0.0, -WEIGHT_N])[:, None] * np.ones(q.shape[1])
    return State(np.ascontiguousarray(q), (Load(arm.chain.point("hook", of="load point"), force, None),))


def _design(seen: Observation) -> tuple[PaperItem, ...]:
    size = seen.columns.shape
    equations = weights_003.REPEATS * int(np.prod(size[:3]))
    largest = float(np.abs(seen.first).max())
    flat = seen.columns.reshape(-1, size[3])
    norms = np.linalg.norm(flat, axis=0)
    singular = np.linalg.svd(flat / norms, compute_uv=False)
    return (
        PaperItem(PAPER, "equations for 9 parameters", 810.0, float(equations), "1",
                  "reproduced" if equations == 810 else "wrong",
                  "15 configurations, 3 markers, 3 axes, 6 repeats, which are no 810 independent errors"),
        PaperItem(PAPER, "largest entry of the column of k1", "left out", largest, "m/(rad/(N m))",
                  "reproduced" if largest == 0.0 else "wrong",
                  "a vertical load has no moment about axis 1, so k1 cannot be seen, wherever load and markers are"),
        PaperItem(PAPER, "longest over shortest column of the observation matrix", None,
                  float(norms.max() / norms.min()), "1", "not reproducible",
                  "coordinates of load point and markers are unpublished; with ours the columns differ this much"),
        PaperItem(PAPER, "condition number of its columns scaled to length 1", None,
                  float(singular[0] / singular[-1]), "1", "not reproducible",
                  "coordinates of load point and markers are unpublished; all nine can be told apart with ours"),
    )  # fmt: skip


def bound_on_gain(ratio: float) -> float:
    """Largest sigma_OLS / sigma_WLS of any design when deviations of rows differ by ``ratio``.

    >>> round(bound_on_gain(153 / 17), 2)
    4.56
    """
    kappa = ratio**2
    return float((kappa + 1.0) / (2.0 * np.sqrt(kappa)))


def true_gain(columns: Floats) -> Floats:
    """sigma_OLS / sigma_WLS of every parameter under the deviations of Table 1 and independent rows."""
    rows = columns.reshape(-1, columns.shape[3])
    sigma = np.broadcast_to(1e-6 * SIGMA_UM[:, None, :], columns.shape[:3]).reshape(-1)
    scale = np.linalg.norm(rows, axis=0)
    ordinary = np.linalg.pinv(rows / scale) * sigma
    weighted = np.linalg.pinv((rows / scale) / sigma[:, None])
    return np.asarray(np.linalg.norm(ordinary, axis=1) / np.linalg.norm(weighted, axis=1))


def _gain(seen: Observation) -> tuple[PaperItem, ...]:
    bound = bound_on_gain(float(SIGMA_UM.max() / SIGMA_UM.min()))
    gain = true_gain(seen.columns)
    low, high = CLAIMED_GAIN
    why = (
        "given Table 1 (17 to 153 um) and independent rows, no weights gain more than (kappa + 1)/(2 sqrt(kappa)) for "
        "any design"
    )
    return (
        PaperItem(PAPER, "Table 4, least gain of weights", low, f"at most {bound:.2f}", "1", "wrong", why),
        PaperItem(PAPER, "Table 4, largest gain of weights", high, f"at most {bound:.2f}", "1", "wrong", why),
        PaperItem(PAPER, "median gain of the right weights, over the parameters", 33.9, float(np.median(gain)), "1",
                  "wrong", f"weights 1/sigma of Table 1, our coordinates; {gain.min():.2f} to {gain.max():.2f} by "
                  "parameter, where the paper compares a claimed deviation with another"),
    )  # fmt: skip
