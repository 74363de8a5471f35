"""The end of the demo: a job under load, corrected by the model that was identified."""

from __future__ import annotations

from pathlib import Path

from stiffarm.cli.demo_files import Files, Told

PATH_FROM_DEG, PATH_TO_DEG = (-25.0, -70.0, 75.0, 20.0, 40.0, 10.0), (20.0, -50.0, 60.0, 40.0, 55.0, -15.0)
POINTS = 41
PROCESS_N = (800.0, -1200.0, -1500.0)
"""Force of the process on the tool along the path, world."""


def compensate(files: Files, seed: int) -> Told:
    """A job under load, corrected by the model; the true arm says what that was worth."""
    import numpy as np

    from stiffarm.compensate.compensating import How
    from stiffarm.compensate.compensating import compensate as run
    from stiffarm.compensate.languages import Handover, language
    from stiffarm.compensate.model_file import read_model
    from stiffarm.compensate.predicting import predict_file
    from stiffarm.compensate.wishing import wish_of
    from stiffarm.measure.paths import read_path

    known, truth = read_model(files.model), read_model(files.truth)
    _write_path(files.path, known.robot.joint_names)
    source = read_path(files.path, known.robot)
    wish = wish_of(source, known.nominal())
    found = run(known, source, wish, How())
    handover = Handover(known, source, found.remarks())
    language("csv").writer()(found.path, handover, files.corrected)
    program = language("krl").writer()(found.path, handover, files.program)
    before, after = (
        predict_file(truth, path, exact=True).pose[:3] - wish.wished.position_world
        for path in (files.path, files.corrected)
    )
    off, left = (float(np.sqrt(np.mean(np.sum(error**2, axis=0)))) for error in (before, after))
    return Told(
        f"Compensate. On a path of {POINTS} points under {np.linalg.norm(PROCESS_N):.0f} N and its weight the true arm "
        f"strays by {1e3 * off:.2f} mm; told the corrected path, by {1e3 * left:.3f} mm.",
        (files.path, files.corrected, *program),
        {"path_rms[m]": off, "corrected_rms[m]": left},
    )


def _write_path(path: Path, joints: tuple[str, ...]) -> None:
    import numpy as np

    from stiffarm.measure.writing import write_table

    q = np.linspace(PATH_FROM_DEG, PATH_TO_DEG, POINTS).round(3)
    columns = {f"q.{joint}[deg]": values for joint, values in zip(joints, q.T, strict=True)}
    columns |= {f"force.{axis}[N]": np.full(POINTS, force) for axis, force in zip("xyz", PROCESS_N, strict=True)}
    write_table(path, list(columns), list(columns.values()))
