"""Programs for controllers: how exactly a corrected one says what was corrected, and how long a long one takes.

Every figure is read back from the text that was written and put through forward kinematics; the path it is compared
with is the corrected one in full precision.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate.cell import Cell
from stiffarm.compensate.compensating import compensate
from stiffarm.compensate.languages import Handover, language
from stiffarm.compensate.model_file import KnownModel
from stiffarm.compensate.programs.correcting import language_of_program, opened, read_program
from stiffarm.compensate.programs.placing import placed
from stiffarm.compensate.pulling import Asking
from stiffarm.compensate.wishing import tool_of, wish_of
from stiffarm.measure.paths import PathFile
from stiffarm.model.arm_model import ArmModel
from stiffarm.robot.reading import read_robot

Floats = NDArray[np.float64]
ARMS = ("kr270", "kr120", "kr500-rail", "irb6700-235")
POINTS, LONG = 400, 4000
MOST_UM = 1.0
MOST_S = 20.0
"""Processor time of a program of LONG points, read, solved, corrected and written."""
PULL = Asking(force_n=(300.0, -400.0, -1500.0))


def arm(name: str) -> KnownModel:
    """A packaged arm with springs in every joint."""
    robot = read_robot(name)
    joints = tuple(replace(joint, compliance=joint.compliance or 1e-6) for joint in robot.joints)
    return KnownModel(name, ArmModel.of(replace(robot, joints=joints)), {})


def path(model: KnownModel, n: int, seed: int) -> PathFile:
    """Joint values all over the limits, in the middle of them."""
    rng = np.random.default_rng(seed)
    limits = np.array([joint.limits or (-np.pi, np.pi) for joint in model.robot.joints])
    low, high = limits[:, :1], limits[:, 1:]
    q = rng.uniform(low + 0.1 * (high - low), high - 0.1 * (high - low), (len(limits), n))
    return PathFile(
        file="path", headers=(), text={}, joints=model.robot.joint_names, q=q, pose_world=None, load_points=(),
        wrench_world=np.zeros((0, 6, n)), markers=("tool",), marker=np.zeros(n, dtype=np.int64), time_s=None,
        weight=np.ones(n), row=np.arange(2, n + 2),
    )  # fmt: skip


def round_trip(name: str, to: str, targets: str, folder: Path) -> tuple[float, float]:
    """um by which a new program misses its path, and by which one corrected in place does."""
    model = arm(name)
    source = path(model, POINTS, seed=7)
    wish = wish_of(source, model.nominal()).under(PULL, source, model.robot)
    found = compensate(model, source, wish)
    kept = np.isfinite(found.path.q).all(axis=0)
    full = replace(found.path, q=found.path.q[:, kept], pose_world=found.path.pose_world[:, kept], refused=())
    plain = replace(full, q=source.q[:, kept], pose_world=pose(model, source.q[:, kept]))  # type: ignore[index]
    cell = Cell(targets=targets)  # type: ignore[arg-type]
    output = folder / f"job.{'src' if to == 'krl' else 'mod'}"
    misses = []
    for told in (full, plain):
        language(to).writer()(told, Handover(model, source, stated_cell=cell), output)
        if told is full:
            misses.append(missed(model, output, full.pose_world))
    job = opened(output, model, Cell(), None, folder / f"new{output.suffix}")
    again = compensate(model, job.source, job.wish.under(PULL, job.source, model.robot))
    good = again.path.complete
    language_of_program(job).writer()(again.path, Handover(model, job.source), folder / f"new{output.suffix}")
    misses.append(missed(model, folder / f"new{output.suffix}", again.path.pose_world) if good else np.inf)
    return misses[0], misses[1]


def pose(model: KnownModel, q: Floats) -> Floats:
    """(6, n) of the nominal robot's tool."""
    from stiffarm.model.rotations import vector_of

    position, axes = tool_of(model.nominal(), q)
    return np.concatenate([position, vector_of(axes)])


def missed(model: KnownModel, program: Path, wanted: Floats) -> float:
    """um between what a program says and wanted poses, in its order."""
    read = placed(read_program(program), Cell(), model.robot, model.nominal())
    position = tool_of(model.nominal(), read.source.q)[0]  # type: ignore[arg-type]
    here = position[:, -wanted.shape[1] :]
    return 1e6 * float(np.linalg.norm(here - wanted[:3], axis=0).max())


def long_program(folder: Path) -> float:
    """s of processor time for a KUKA program of many poses."""
    model = arm("kr270")
    source = path(model, LONG, seed=1)
    wish = wish_of(source, model.nominal())
    plain = replace(compensate(model, source, wish).path, q=source.q, refused=())  # type: ignore[arg-type]
    plain = replace(plain, pose_world=pose(model, plain.q))
    cell = Cell(targets="poses", most_points=LONG)
    language("krl").writer()(plain, Handover(model, source, stated_cell=cell), folder / "long.src")
    started = time.process_time()
    job = opened(folder / "long.src", model, Cell(), None, folder / "done.src")
    found = compensate(model, job.source, job.wish.under(PULL, job.source, model.robot))
    good = np.isfinite(found.path.q).all(axis=0)
    told = replace(found.path, q=np.where(good, found.path.q, job.wish.wished.q), refused=())
    told = replace(told, pose_world=np.where(good, found.path.pose_world, pose(model, told.q)))
    language_of_program(job).writer()(told, Handover(model, job.source), folder / "done.src")
    return time.process_time() - started


def main() -> int:
    """Print the figures; 1 when one is missed."""
    warnings.simplefilter("ignore")
    worst = 0.0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print(f"{'arm':12} {'language':9} {'targets':8} {'new program':>12} {'in place':>10}   um, worst of {POINTS}")
        for name in ARMS:
            for to in ("krl", "rapid"):
                for targets in ("joints", "poses"):
                    new, old = round_trip(name, to, targets, folder)
                    worst = max(worst, new, old)
                    print(f"{name:12} {to:9} {targets:8} {new:12.4f} {old:10.4f}")
        taken = long_program(folder)
    print(f"a program of {LONG} poses all over the workspace: {taken:.1f} s of processor time (at most {MOST_S:g})")
    print(f"worst {worst:.3f} um (at most {MOST_UM:g})")
    return int(worst > MOST_UM or taken > MOST_S)


if __name__ == "__main__":
    sys.exit(main())
