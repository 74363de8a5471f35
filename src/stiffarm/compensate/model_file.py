"""What prediction needs of a model: the arm at its identified values, their covariance, the frames of setups.

A model is a file `NAME.model.json`, or a robot file or packaged name, which stands for its own values without
a covariance.  In a model file ``robot`` is a packaged name, a path beside the model, or the robot file itself:
``{"file": ..., "text": ..., "groups": {JOINT: [angles]}}``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from stiffarm.errors import InputError, Problem, did_you_mean, found_text
from stiffarm.identify.estimate import Domain, ErrorModel
from stiffarm.identify.json_file import read_json
from stiffarm.identify.model_file import errors_of
from stiffarm.model.arm_model import Arm, ArmModel
from stiffarm.robot.arm import Robot
from stiffarm.robot.library import is_path
from stiffarm.robot.placement import Rigid, rotation_from_vector
from stiffarm.robot.reading import parse_robot, read_robot

Floats = NDArray[np.float64]
FORMAT = "stiffarm-model/1"
SUFFIX = ".json"

LARGEST = 1e15


def _number(value: object) -> float:
    """JSON has no word for what is not finite: such numbers are written as null."""
    if value is None:
        return np.nan
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"a number within -{LARGEST:g} and {LARGEST:g}, or null, is needed")
    return float(value)


Number = Annotated[float, BeforeValidator(_number)]
Triple = tuple[Number, Number, Number]


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore")


class RobotTable(_Table):
    """A robot carried in the model file."""

    file: str = "robot"
    text: str
    groups: dict[str, list[float]] = {}


class ParameterTable(_Table):
    """One identified parameter."""

    name: str
    value: Number


class CovarianceTable(_Table):
    """Covariance of the parameters that were identified, SI."""

    names: list[str]
    values: list[list[Number]]
    scale: list[list[Number]] = []


class SetupTable(_Table):
    """Frame (setup from world) and tool of one setup."""

    name: str
    xyz: Triple
    rotvec: Triple
    markers: dict[str, Triple] = {}
    tool_rotvec: Triple | None = None
    covariance: list[list[Number]] | None = None
    cross: list[list[Number]] | None = None
    scale: list[list[Number]] | None = None
    scale_cross: list[list[Number]] | None = None


class VerdictTable(_Table):
    """Whether the model may be used."""

    usable: bool = True
    reasons: list[str] = []


class DomainTable(_Table):
    """Where the model was learned: least and largest values, SI."""

    joints: dict[str, tuple[Number, Number]] = {}
    torque: dict[str, tuple[Number, Number]] = {}
    force: tuple[Number, Number] | None = None
    temperature: dict[str, tuple[Number, Number]] = {}


class ModelTable(_Table):
    """The parts of a model file used here."""

    format: Literal["stiffarm-model/1"]
    robot: str | RobotTable
    parameters: list[ParameterTable]
    covariance: CovarianceTable | None = None
    setups: list[SetupTable] = []
    verdict: VerdictTable = VerdictTable()
    domain: DomainTable | None = None
    errors: dict[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class KnownSetup:
    """A setup whose frame the model knows."""

    name: str
    frame: Rigid
    """Setup from world."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Parameters that have their own value in this setup: markers, rotation of the tool."""
    covariance: Floats | None = None
    """(6, 6) of the frame's translation (m), then its rotation from the left (rad)."""
    cross: Floats | None = None
    """(6, parameters) of the same with the model's parameters."""
    scale: Floats | None = None
    """The part of ``covariance`` that is due to loads which are not exactly known."""
    scale_cross: Floats | None = None


@dataclass(frozen=True, eq=False)
class KnownModel:
    """An arm at its best known values, with what is known of their errors."""

    file: str
    model: ArmModel
    values: Mapping[str, float]
    covariance_names: tuple[str, ...] = ()
    covariance: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    setups: tuple[KnownSetup, ...] = ()
    unusable: str | None = None
    """Why the model failed its validation; None when it did not."""
    domain: Domain | None = None
    """Where it was learned; None when nothing says so."""
    scale: Floats | None = None
    """The part of ``covariance`` that is due to loads which are not exactly known; None: that was not stated."""
    errors: ErrorModel | None = None
    """What no parameter carries; None when nothing says so."""

    @property
    def robot(self) -> Robot:
        """The robot as its file describes it."""
        return self.model.robot

    def arm(self, setup: KnownSetup | None = None) -> Arm:
        """The arm at the model's values, with those of a setup in their place."""
        return self.model.at({**self.values, **(setup.values if setup else {})})

    def nominal(self) -> Arm:
        """The arm of the robot file."""
        return self.model.at()

    def setup(self, name: str) -> KnownSetup:
        """A setup by name; `InputError` naming those there are."""
        known = [setup.name for setup in self.setups]
        if name not in known:
            raise InputError(
                Problem(
                    f"the model knows no setup '{name}'",
                    file=self.file,
                    allowed=", ".join(known) or "none: this model has no setups",
                    next_step=_capital(did_you_mean(name, known)) or "Leave --setup out for the world frame",
                )
            )
        return self.setups[known.index(name)]

    def one_tool(self, names: Collection[str]) -> Mapping[str, float]:
        """Markers and tool rotation of some of the setups, which must be the same in all of them."""
        setups = [setup for setup in self.setups if setup.name in names]
        for other in setups[1:]:
            if dict(other.values) != dict(setups[0].values):
                raise InputError(
                    Problem(
                        f"setups '{setups[0].name}' and '{other.name}' have different markers or tools",
                        file=self.file,
                        column="--truth",
                        allowed="one tool in all setups of the plan",
                        next_step="Simulate the setups one after another, each with a plan of its own",
                    )
                )
        return setups[0].values if setups else {}


def read_model(path_or_name: str | Path) -> KnownModel:
    """The model of a file `NAME.model.json`, or a robot (file or packaged name) as its own model."""
    if not str(path_or_name).lower().endswith(SUFFIX):
        robot = read_robot(path_or_name)
        return KnownModel(str(path_or_name), ArmModel.of(robot), {})
    path = Path(path_or_name)
    return model_from(read_json(path), path)


def model_from(document: object, path: Path) -> KnownModel:
    """The model of what a file holds; ``path`` is what messages name, and what a robot's file is looked for beside."""
    table = _table(document, path)
    model = _model(table.robot, path)
    values = {row.name: row.value for row in table.parameters if np.isfinite(row.value)}
    covariance = table.covariance or CovarianceTable(names=[], values=[])
    _check_once(path, [row.name for row in table.parameters], "parameters")
    _check_names(path, model, values, "parameters")
    _check_once(path, covariance.names, "covariance.names")
    _check_names(path, model, covariance.names, "covariance.names")
    size = len(covariance.names)
    return KnownModel(
        str(path),
        model,
        values,
        tuple(covariance.names),
        _square(path, covariance.values, size, "covariance.values"),
        tuple(_setup(path, model, setup, size) for setup in table.setups),
        None if table.verdict.usable else "; ".join(table.verdict.reasons) or "no reason is given",
        None if table.domain is None else Domain(**dict(table.domain)),
        _square(path, covariance.scale, size, "covariance.scale") if covariance.scale else None,
        _errors(path, table.errors),
    )


def _errors(path: Path, table: dict[str, Any] | None) -> ErrorModel | None:
    if table is None:
        return None
    try:
        return errors_of(table)
    except (KeyError, TypeError, ValueError) as error:
        what = "what the model says of its errors is damaged"
        step = "Write it again with stiffarm identify"
        raise InputError(Problem(what, str(path), column="errors", found=str(error)[:80], next_step=step)) from None


def _table(data: object, path: Path) -> ModelTable:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = found_text(data.get("format") if isinstance(data, dict) else data)
        what = "this is not a model file of a known version"
        raise InputError(Problem(what, file=str(path), column="format", found=found, allowed=f'"{FORMAT}"'))
    try:
        return ModelTable.model_validate(data)
    except ValidationError as error:
        raise InputError([_problem(path, detail) for detail in error.errors()]) from None


_WORDS = {
    "missing": "this key is missing",
    "model_type": "an object is needed here",
    "dict_type": "an object is needed here",
    "list_type": "a list is needed here",
    "string_type": "a text is needed here",
    "bool_type": "true or false is needed here",
}


def _problem(path: Path, detail: ErrorDetails) -> Problem:
    """What the checker of the file says, in words."""
    found = "nothing" if detail["type"] == "missing" else found_text(detail["input"])
    what = _WORDS.get(detail["type"], detail["msg"].removeprefix("Value error, ").lower())
    return Problem(what, str(path), None, _dotted(detail["loc"]), found, "what identify writes there")


def _dotted(path: tuple[str | int, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _model(robot: str | RobotTable, path: Path) -> ArmModel:
    if isinstance(robot, RobotTable):
        model = ArmModel.of(parse_robot(robot.text, f"{path} (robot)", path.parent))
        for joint, angles in robot.groups.items():
            model = model.grouped(joint, angles)
        return model
    beside = path.parent / robot
    return ArmModel.of(read_robot(beside if is_path(robot) and beside.exists() else robot))


def _check_once(path: Path, names: list[str], key: str) -> None:
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1] if len(set(names)) < len(names) else []
    if twice:
        what = f"parameter '{twice[0]}' stands twice"
        raise InputError(Problem(what, str(path), column=key, found=found_text(twice[0]), allowed="each name once"))


def _check_names(path: Path, model: ArmModel, names: Mapping[str, float] | list[str], key: str) -> None:
    known = list(model.nominal)
    problems = [
        Problem(
            f"parameter '{name}' does not exist for {model.robot.name}",
            file=str(path),
            column=key,
            next_step=_capital(did_you_mean(name, known)),
        )
        for name in names
        if name not in model.nominal
    ]
    if problems:
        raise InputError(problems)


def _square(path: Path, rows: list[list[float]], size: int, key: str) -> Floats:
    found = _matrix(path, rows, (size, size), key)
    if (np.diag(found) < 0.0).any():
        what, worst = "a variance is negative", int(np.argmin(np.diag(found)))
        found_there = f"{found[worst, worst]:.3g}"
        raise InputError(
            Problem(what, str(path), column=f"{key}[{worst}][{worst}]", found=found_there, allowed="0 or more")
        )
    return found


def _matrix(path: Path, rows: list[list[float]], shape: tuple[int, int], key: str) -> Floats:
    if any(len(row) != shape[1] for row in rows) or len(rows) != shape[0]:
        what = "the covariance has another size than its names"
        raise InputError(Problem(what, file=str(path), column=key, allowed=f"{shape[0]} rows of {shape[1]} numbers"))
    return np.array(rows, dtype=float).reshape(shape)


def _setup(path: Path, model: ArmModel, table: SetupTable, size: int) -> KnownSetup:
    """Markers of a setup replace those of the tool; its tool rotation is the correction ``tool.rx`` ..."""
    values = {
        f"tool.{marker}.{axis}": value
        for marker, xyz in table.markers.items()
        for axis, value in zip("xyz", xyz, strict=True)
    }
    if table.tool_rotvec is not None:
        values |= dict(zip(("tool.rx", "tool.ry", "tool.rz"), table.tool_rotvec, strict=True))
    key = f"setups[{table.name}]"
    _check_names(path, model, values, key)
    frame = Rigid(rotation_from_vector(np.array(table.rotvec)), np.array(table.xyz))
    shapes = {"covariance": (6, 6), "cross": (6, size), "scale": (6, 6), "scale_cross": (6, size)}
    stated = ((name, shape, getattr(table, name)) for name, shape in shapes.items())
    matrices = (None if m is None else _matrix(path, m, shape, f"{key}.{name}") for name, shape, m in stated)
    return KnownSetup(table.name, frame, values, *matrices)


def _capital(hint: str | None) -> str | None:
    return None if hint is None else hint[0].upper() + hint[1:]
