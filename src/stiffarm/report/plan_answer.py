"""What `stiffarm plan --json` answers, read back and checked, as a page shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from stiffarm.errors import InputError, Problem, found_text
from stiffarm.identify.json_file import read_json
from stiffarm.robot.arm import Robot

ANSWER = "the answer of a plan, which plan writes (-o my.plan.json)"
Triple = tuple[FiniteFloat, FiniteFloat, FiniteFloat]


class _Table(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class StopRow(_Table):
    """One distinct stop."""

    q: tuple[FiniteFloat, ...]
    """rad, m"""
    force: Triple = (0.0, 0.0, 0.0)
    """N, world"""
    load_point: str | None = None
    markers: tuple[str, ...] = ()
    repeats: Annotated[int, Field(ge=1)] = 1


class CurveRow(_Table):
    """The same number of experiments at another number of poses."""

    poses: int
    value: FiniteFloat
    efficiency: FiniteFloat | None = None


class CheckedRow(_Table):
    """A deviation out of virtual campaigns beside the predicted one."""

    predicted: FiniteFloat
    empirical: FiniteFloat
    ratio: FiniteFloat
    low: FiniteFloat
    high: FiniteFloat
    agrees: bool


class CheckTable(_Table):
    """What virtual campaigns say of the plan."""

    draws: int
    agrees: bool
    parameters: dict[str, CheckedRow] = {}


class PlanAnswer(_Table):
    """A plan as its JSON says it, SI."""

    criterion: str
    value: FiniteFloat
    bound: FiniteFloat | None = None
    efficiency: FiniteFloat | None = None
    joints: tuple[str, ...]
    experiments: tuple[StopRow, ...]
    attachment: Triple | None = None
    predicted_std: dict[str, FiniteFloat] = {}
    held: dict[str, str] = {}
    curve: tuple[CurveRow, ...] = ()
    enough_poses: int | None = None
    observe: str = "position"
    use: str | None = None
    finished: bool = True
    notes: tuple[str, ...] = ()
    seed: int = 0
    seconds: FiniteFloat = 0.0
    driving_s: FiniteFloat | None = None
    verify: CheckTable | None = None

    @property
    def count(self) -> int:
        """Experiments, repeats counted."""
        return sum(stop.repeats for stop in self.experiments)

    def shown(self, value: float) -> str:
        """A value of the criterion with its unit."""
        return f"{1e3 * value:.3g} mm" if self.criterion == "test" else f"{value:.4g}"


def read_plan_answer(path: Path, robot: Robot) -> PlanAnswer:
    """The answer in a file; `InputError` says what it is not."""
    return plan_answer_of(read_json(path, ANSWER), robot, str(path))


def plan_answer_of(document: Any, robot: Robot, file: str | None = None) -> PlanAnswer:
    """The answer of a document, for the robot it is about."""
    step = "Write it with stiffarm plan ... -o FILE.json"
    if not isinstance(document, dict) or "experiments" not in document:
        what = "this is not the answer of a plan"
        raise InputError(Problem(what, file, allowed="the JSON of stiffarm plan", next_step=step))
    try:
        found = PlanAnswer.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = found_text(first["input"], 40)
        raise InputError(Problem(f"{where}: {first['msg'].lower()}", file, found=said, next_step=step)) from None
    if found.joints != robot.joint_names or any(len(stop.q) != len(robot.joints) for stop in found.experiments):
        what, allowed = "the plan is for another robot", " ".join(robot.joint_names)
        raise InputError(Problem(what, file, column="joints", found=" ".join(found.joints), allowed=allowed))
    return found
