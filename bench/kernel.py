"""What the kernel costs per configuration on one core, and what it keeps in memory.

    frames and six-axis Jacobian     at most 0.6 us on a nominal robot, 0.8 us on a calibrated one
    153 elastic columns              at most 3 us (seven symmetric 6x6 links and six joints under one force)
    a million configurations         at most 50 MB beyond the arrays that are returned

The KR 270 throughout, in a single thread.  Times are processor time, the best of many runs: other work on the
machine can only make a run longer.  Where Pinocchio is installed its loop runs over some of the same configurations;
its position and columns must be ours, so that both answer the same question.
"""
# ruff: noqa: E402

from __future__ import annotations

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # read when NumPy is loaded

import sys
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.model.evaluate import elastic_columns
from stiffarm.model.kernel import jacobian
from stiffarm.model.loads import Load, State
from stiffarm.robot.arm import Link, Robot
from stiffarm.robot.placement import chain_transforms, flange_transform, tool_transform
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]

CONFIGURATIONS = 100_000
CONFIGURATIONS_ELASTIC = 20_000
MANY = 1_000_000
REPEATS = 30
NOMINAL_LIMIT_US, CALIBRATED_LIMIT_US, ELASTIC_LIMIT_US = 0.6, 0.8, 3.0
MEMORY_LIMIT_MB = 50.0
ELASTIC_COLUMNS = 153


def best_us(work: Callable[[], object], configurations: int) -> float:
    """Microseconds per configuration in the quickest of several runs, after one that fills the caches."""
    work()
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds) / configurations * 1e6


def configurations(robot: Robot, n: int) -> Floats:
    """Joint values (joints, n) spread over the limits."""
    low, high = np.array([joint.limits or (-np.pi, np.pi) for joint in robot.joints]).T
    return np.random.default_rng(0).uniform(low[:, None], high[:, None], (len(low), n))


def calibrated(model: ArmModel) -> Arm:
    """Every geometric parameter of joints, base and tool off by about a millimetre or a milliradian."""
    rng = np.random.default_rng(1)
    owners = {"base", "tool", *model.robot.joint_names}
    wrong = [p for p in model.parameters if not p.elastic and p.name.split(".")[0] in owners]
    return model.at({p.name: p.nominal + p.scale * rng.normal() for p in wrong})


def jacobian_us(arm: Arm, q: Floats) -> float:
    """Frames, position and Jacobian at the tool."""
    point = arm.chain.point("tool")
    return best_us(lambda: jacobian(arm.chain, q, point), q.shape[1])


def elastic_us(robot: Robot, q: Floats) -> float:
    """Position rows of every elastic column at the tool, under one force at the load point."""
    links = tuple(Link(after=after, template="symmetric") for after in ("base", *robot.joint_names))
    model = ArmModel.of(replace(robot, links=links, compensators=(), priors=()))
    names = [p.name for p in model.parameters if p.elastic]
    assert len(names) == ELASTIC_COLUMNS, len(names)
    arm = calibrated(model)
    force_world = 2000.0 * np.random.default_rng(2).normal(size=(3, q.shape[1]))
    state = State(q, (Load(arm.chain.point("hook"), force_world),))
    return best_us(lambda: elastic_columns(arm, state, "tool", names), q.shape[1])


def extra_megabytes(arm: Arm) -> float:
    """Most memory beyond the returned arrays for a million configurations."""
    q = configurations(arm.robot, MANY)
    point = arm.chain.point("tool")
    tracemalloc.start()
    position, columns = jacobian(arm.chain, q, point)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - position.nbytes - columns.nbytes) / 1e6


def pinocchio_us(robot: Robot, q: Floats) -> float | None:
    """Pinocchio's forward kinematics and six-axis Jacobian of the tool, one call per configuration from Python."""
    try:
        import pinocchio as pin
    except ImportError:
        return None
    model, parent = pin.Model(), 0
    for joint, name in zip(chain_transforms(robot), robot.joint_names, strict=True):
        kind = pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        placement = pin.SE3(joint.fixed.rotation, joint.fixed.translation)
        parent = model.addJoint(parent, kind(joint.axis), placement, name)
    end = flange_transform(robot) @ tool_transform(robot)
    frame = model.addFrame(pin.Frame("tool", parent, pin.SE3(end.rotation, end.translation), pin.FrameType.OP_FRAME))
    data, columns_of = model.createData(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    few = np.ascontiguousarray(q.T[:2000])

    def loop() -> tuple[Floats, Floats]:
        for values in few:
            columns = pin.computeFrameJacobian(model, data, values, frame, columns_of)
            pin.updateFramePlacement(model, data, frame)
        return data.oMf[frame].translation, columns[:3]

    position, columns = loop()
    chain = ArmModel.of(robot).at().chain
    ours, our_columns = jacobian(chain, few[-1:].T.copy(), chain.point("tool"))
    assert np.allclose(chain.base.apply(position), ours[:, 0], atol=1e-9)
    assert np.allclose(chain.base.rotation @ columns, our_columns[:, :, 0].T, atol=1e-9)
    return best_us(loop, len(few))


def main() -> int:
    """Measure, print beside the limits, and say by the exit status whether all were kept."""
    robot = read_robot("kr270")
    model, q = ArmModel.of(robot), configurations(robot, CONFIGURATIONS)
    nominal = jacobian_us(model.at(), q)
    figures = [
        ("frames and six-axis Jacobian, nominal", nominal, NOMINAL_LIMIT_US, "us"),
        ("frames and six-axis Jacobian, calibrated", jacobian_us(calibrated(model), q), CALIBRATED_LIMIT_US, "us"),
        (
            f"{ELASTIC_COLUMNS} elastic columns",
            elastic_us(robot, q[:, :CONFIGURATIONS_ELASTIC]),
            ELASTIC_LIMIT_US,
            "us",
        ),
        (f"memory beyond the result, {MANY} of them", extra_megabytes(calibrated(model)), MEMORY_LIMIT_MB, "MB"),
    ]
    for what, figure, limit, unit in figures:
        print(f"{what:42} {figure:7.3f} {unit}  (at most {limit} {unit}){'' if figure <= limit else '  MISSED'}")
    other = pinocchio_us(robot, q)
    if other is None:
        print("Pinocchio is not installed: no loop beside ours")
    else:
        print(f"{'the same Jacobian, loop over Pinocchio':42} {other:7.3f} us  ({other / nominal:.1f} times ours)")
    return 0 if all(figure <= limit for _, figure, limit, _ in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
