"""What a function may be given in the place of a robot, a model, a campaign or a path.

A file's name, an object of ours, or a table in memory (`stiffarm.measure.frames`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stiffarm.compensate.model_file import KnownModel, model_from, read_model
from stiffarm.identify.estimate import Estimate
from stiffarm.identify.model_file import document, read_estimate
from stiffarm.measure.campaign import Campaign
from stiffarm.measure.frames import FrameFile, TableLike, listed, source_of
from stiffarm.measure.merging import read_campaigns
from stiffarm.measure.reading import read_plan
from stiffarm.robot.arm import Robot
from stiffarm.robot.reading import read_robot

RobotLike = Robot | str | Path
"""A robot, its file, or the name of a packaged one."""
ModelLike = Estimate | KnownModel | Robot | str | Path
"""An estimate, a model file, or a robot with its own values."""


def table(frame: TableLike, name: str = "table", settings: str | Path | None = None) -> FrameFile:
    """A data frame that stands for a file, with a name for messages and perhaps a settings file.

    ``frame`` has the columns of the file, units in their names.

    >>> import polars as pl
    >>> table(pl.DataFrame({"q.A1[deg]": [10.0], "force.z[N]": [-500.0]}), "job").name
    'job'
    """
    return FrameFile.of(frame, name, settings)


def robot_of(given: RobotLike) -> Robot:
    """A robot."""
    return given if isinstance(given, Robot) else read_robot(given)


def model_of(given: ModelLike) -> KnownModel:
    """A model to predict with."""
    if isinstance(given, KnownModel):
        return given
    if isinstance(given, Robot):
        from stiffarm.model.arm_model import ArmModel

        return KnownModel(given.name, ArmModel.of(given), {})
    if isinstance(given, Estimate):
        return model_from(document(given), Path(f"model of {given.robot.file}"))
    return read_model(given)


def estimate_of(given: Estimate | str | Path) -> Estimate:
    """An estimate, or that of a model file."""
    return given if isinstance(given, Estimate) else read_estimate(given)


def campaign_of(given: Campaign | TableLike | Sequence[TableLike], robot: Robot) -> Campaign:
    """A campaign, one or several files or tables of one."""
    if isinstance(given, Campaign):
        return given
    return read_campaigns([source_of(one) for one in listed(given)], robot)


def plan_of(given: Campaign | TableLike, robot: Robot) -> Campaign:
    """A campaign whose rows need no readings."""
    return given if isinstance(given, Campaign) else read_plan(source_of(given), robot)
