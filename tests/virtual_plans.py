"""Plans built in code, for a small elastic arm with three markers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chains import SIX_AXIS
from stiffarm.measure.campaign import OBSERVATIONS, Campaign, Experiments, Readings, Setup
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.arm import BodyPoint, Robot, Tool

ROBOT: Robot = replace(
    SIX_AXIS,
    joints=tuple(replace(joint, compliance=1e-6 * (k + 1)) for k, joint in enumerate(SIX_AXIS.joints)),
    tool=Tool(
        SIX_AXIS.tool.placement,
        load_points=(BodyPoint("hook", (0.35, 0.1, -0.2)),),
        markers=(
            BodyPoint("P1", (0.15, 0.0, 0.05)),
            BodyPoint("P2", (-0.075, 0.13, 0.05)),
            BodyPoint("P3", (-0.075, -0.13, 0.05)),
        ),
        mass=7.0,
        com=(0.0, 0.03, 0.1),
    ),
)
MODEL = ArmModel.of(ROBOT)
MARKERS = ("P1", "P2", "P3")


def plan_of(
    experiments: int,
    rows: dict[str, Any],
    *,
    kind: str | Sequence[str] = "position",
    setups: tuple[Setup, ...] = (Setup("day"),),
    visits: int = 0,
    loaded: Sequence[bool] | None = None,
    seed: int = 3,
    **more: Any,
) -> Campaign:
    """A plan; ``rows`` holds the columns of the readings that are not at their defaults."""
    random = np.random.default_rng(seed)
    n = len(rows["experiment"])
    wrench = np.zeros((1, 6, experiments))
    wrench[0, :3] = random.uniform(-2000.0, 2000.0, (3, experiments))
    if loaded is not None:
        wrench[:, :, ~np.array(loaded)] = 0.0
    kinds = [kind] * n if isinstance(kind, str) else kind
    empty = np.full(n, np.nan)
    none = np.full(n, -1, dtype=np.int64)
    columns: dict[str, Any] = {
        "repeat": np.ones(n, dtype=np.int64),
        "setup": np.zeros(n, dtype=np.int64),
        "kind": np.array([OBSERVATIONS.index(one) for one in kinds], dtype=np.int64),
        "marker": np.arange(n, dtype=np.int64) % len(MARKERS),
        "value": np.full((6, n), np.nan),
        "sigma": np.full((6, n), np.nan),
        **dict.fromkeys(("reference", "target", "target2", "visit"), none),
        **dict.fromkeys(("distance_m", "sigma_distance_m", "radius_m", "sequence", "time_s"), empty),
        "row": np.arange(2, n + 2, dtype=np.int64),
    }
    columns |= {name: np.asarray(values) for name, values in rows.items()}
    return Campaign(
        "plan",
        ROBOT.joint_names,
        Experiments(
            tuple(f"e{i + 1}" for i in range(experiments)),
            random.uniform(-1.0, 1.0, (6, experiments)),
            ("hook",),
            wrench,
        ),
        Readings(**columns),
        MARKERS,
        setups,
        tuple(f"v{i + 1}" for i in range(visits)),
        **more,
    )


def sample_covariance(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance (numbers, numbers) of draws (numbers, n)."""
    return np.asarray(np.cov(draws))


def assert_same_covariance(found: NDArray[np.float64], stated: NDArray[np.float64], tolerance: float = 0.02) -> None:
    """Every entry agrees to a share of the standard deviations it is made of."""
    scale = np.sqrt(np.diag(stated))
    assert np.abs((found - stated) / np.outer(scale, scale)).max() < tolerance
