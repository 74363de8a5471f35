"""A map of 10 000 places: seconds, and how often a posture from many random starts is stiffer than the one taken.

Exit 1 beyond 10 s, when the exact deflection under the whole force differs by more than 1 %, or when more than 2 % of
the places looked at again have a posture that is stiffer by more than 0.1 %.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from stiffarm.compensate.compensating import NEAR_SINGULAR
from stiffarm.compensate.model_file import read_model
from stiffarm.compensate.region import read_region
from stiffarm.compensate.stiffness_map import STIFF, DeflectionMap, Pull, deflection_map
from stiffarm.compensate.wishing import tool_of
from stiffarm.model.arm_model import Arm
from stiffarm.model.cartesian import cartesian_compliance
from stiffarm.model.equilibrium import equilibrium
from stiffarm.model.loads import Load, State
from stiffarm.model.postures import Search
from stiffarm.model.reaching import joint_ranges
from stiffarm.model.rotations import vector_of
from stiffarm.model.statics import predict_exact

FORCE_N = 1000.0
MOST_SECONDS, MOST_APART, MOST_MISSED = 10.0, 0.01, 0.02
AGAIN, STARTS = 200, 300


def apart(arm: Arm, found: DeflectionMap) -> float:
    """Largest relative difference of the exact deflection."""
    at = np.flatnonzero(found.status == STIFF)
    q = np.ascontiguousarray(found.q[:, at])
    pull = Load(arm.chain.point("tool"), np.ascontiguousarray(found.force_world[:, at]))
    loaded, bare = (State(q, loads) for loads in ((pull, *arm.weights()), arm.weights()))
    moved = predict_exact(arm, loaded, "tool").position - predict_exact(arm, bare, "tool").position
    return float(np.abs(np.linalg.norm(moved, axis=0) / found.deflection[at] - 1.0).max())


def missed(arm: Arm, found: DeflectionMap, random: np.random.Generator) -> int:
    """Places looked at again from many random starts that have a stiffer posture."""
    at = random.choice(np.flatnonzero(found.status == STIFF), AGAIN, replace=False)
    place, axes = tool_of(arm, found.q[:, at])
    pose = np.concatenate([place, vector_of(axes)])
    search = Search(arm, pose, np.full((arm.chain.n_joints, AGAIN), np.nan))
    low, high = joint_ranges(arm)
    stiffer = 0
    for i in range(AGAIN):
        starts = random.uniform(low[:, None], high[:, None], (len(low), STARTS))
        index = np.full(STARTS, i)
        q, arrived = search.solve(starts, index)
        arrived &= search.spread(q, index) >= NEAR_SINGULAR
        state = State(np.ascontiguousarray(q[:, arrived]), arm.weights())
        compliance = cartesian_compliance(arm, state, "tool", found=equilibrium(arm, state))[:3, :3]
        least = FORCE_N * np.linalg.svd(np.moveaxis(compliance, -1, 0))[1][:, 0].min(initial=np.inf)
        stiffer += bool(least < 0.999 * found.deflection[at[i]])
    return stiffer


def main() -> int:
    """Print seconds, differences and misses."""
    model = read_model("kr270")
    region = read_region("x=1..2.5/25,y=-1..1/20,z=0.2..1.8/20[m]", model.robot)
    start, used = time.perf_counter(), time.process_time()
    found = deflection_map(model, region, Pull(FORCE_N))
    seconds, used = time.perf_counter() - start, time.process_time() - used
    arm = model.arm()
    wrong, stiffer = apart(arm, found), missed(arm, found, np.random.default_rng(0))
    reached = int((found.status == STIFF).sum())
    print(f"{len(region)} places, {reached} reached, {int(found.postures.sum())} postures compared")
    print(f"map: {seconds:.2f} s, {used:.2f} s of processor time (at most {MOST_SECONDS:.0f} s)")
    print(f"exact deflection under {FORCE_N:.0f} N: at most {wrong:.2%} apart (at most {MOST_APART:.0%})")
    print(f"{stiffer} of {AGAIN} have a stiffer posture among {STARTS} random starts (at most {MOST_MISSED:.0%})")
    return 0 if seconds <= MOST_SECONDS and wrong <= MOST_APART and stiffer <= MOST_MISSED * AGAIN else 1


if __name__ == "__main__":
    sys.exit(main())
