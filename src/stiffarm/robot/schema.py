"""What a robot file may say, as declared data: one class a table.

Every check that needs one table only stands here (or with the kind of value, in `values`); what joins
tables (names that must exist, the reach, a gas cylinder within the limits of its joint) is in `check`.
Values stay in the units of the file.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from stiffarm.robot.arm import STANDARD_GRAVITY, ZERO3
from stiffarm.robot.compliance_check import check_compliance
from stiffarm.robot.values import (
    Axis,
    GasExponent,
    Gravity,
    JointName,
    Limits,
    NotNegative,
    Number,
    PointName,
    Positive,
    Sign,
    SixBySix,
    Text,
    Vector,
    known_unit,
    refusal,
)

FORMAT = "stiffarm-robot/1"
CONVENTIONS = ("dh", "mdh", "frames", "urdf")


class Table(BaseModel):
    """A TOML table: no key but the declared ones, no value bent into another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class UnitsTable(Table):
    """``units`` of every length and angle in the file."""

    length: Annotated[str, known_unit("length")]
    angle: Annotated[str, known_unit("angle")]


class CouplingTable(Table):
    """``couples_to`` of a joint."""

    joint: str
    gain: Number


class PlacementTable(Table):
    """``[base]``, ``[flange]``, ``tool0``."""

    xyz: Vector = ZERO3
    rpy: Vector = ZERO3


class ControllerTable(Table):
    """``controller``."""

    brand: str | None = None
    absolute_accuracy: Literal["on", "off", "unknown"] = "unknown"
    tool0: PlacementTable = PlacementTable()


class JointTable(Table):
    """What a joint says in every convention."""

    name: JointName
    sign: Sign = 1
    limits: Limits | None = None
    speed: Positive | None = None
    compliance: NotNegative | None = None
    couples_to: CouplingTable | None = None
    mass: NotNegative = 0.0
    com: Vector = ZERO3


class DhJointTable(JointTable):
    """A row of a DH or modified-DH table."""

    type: Literal["revolute", "prismatic"]
    alpha: Number = 0.0
    a: Number = 0.0
    d: Number = 0.0
    theta: Number = 0.0


class FramesJointTable(JointTable):
    """A fixed transform and an axis."""

    type: Literal["revolute", "prismatic"]
    xyz: Vector = ZERO3
    rpy: Vector = ZERO3
    axis: Axis
    offset: Number = 0.0


class UrdfJointTable(Table):
    """What is added to a joint that the URDF describes; what is left out stays as the URDF has it."""

    name: JointName
    type: Literal["revolute", "prismatic"] | None = None
    sign: Sign | None = None
    offset: Number | None = None
    limits: Limits | None = None
    speed: Positive | None = None
    compliance: NotNegative | None = None
    couples_to: CouplingTable | None = None
    mass: NotNegative | None = None
    com: Vector | None = None


class CapsuleTable(Table):
    """``[[capsule]]``: how large a body is, for collisions."""

    on: str
    radius: Positive
    start: Vector | None = None
    end: Vector | None = None


class LinkTable(Table):
    """``[[link]]``: a 6x6 elastic element."""

    after: str
    template: Literal["full", "symmetric", "beam", "diagonal"] = "symmetric"
    xyz: Vector | None = None
    rpy: Vector = ZERO3
    compliance: SixBySix | None = None

    @model_validator(mode="after")
    def _compliance_fits(self) -> Self:
        if self.compliance is not None:
            check_compliance(self.compliance, self.template)
        return self


class CompensatorTable(Table):
    """What both kinds of ``[[compensator]]`` say: the triangle s^2 = a^2 + L^2 + 2 a L cos(alpha - q)."""

    joint: str
    L: Positive
    a: Positive
    alpha: Number


class SpringTable(CompensatorTable):
    """A coil spring."""

    type: Literal["spring"]
    stiffness: Positive
    s0: Positive


class GasTable(CompensatorTable):
    """A gas cylinder, by its zero-force and zero-volume lengths or by a reference state."""

    type: Literal["pneumatic"]
    side: Literal["push", "pull"]
    exponent: GasExponent
    area: Positive
    s0: Number | None = None
    sv: Number | None = None
    p_ref: Positive | None = None
    V_ref: Positive | None = None
    s_ref: Positive | None = None

    @model_validator(mode="after")
    def _one_description(self) -> Self:
        lengths = [key for key in ("s0", "sv") if getattr(self, key) is not None]
        state = [key for key in ("p_ref", "V_ref", "s_ref") if getattr(self, key) is not None]
        if (len(lengths), len(state)) not in ((2, 0), (0, 3)):
            given = ", ".join(["area", *lengths, *state])
            allowed = "area, s0, sv  or  area, p_ref, V_ref, s_ref"
            raise refusal("the gas needs one complete description", allowed, "Keep one set, complete", found=given)
        return self


class PriorTable(Table):
    """``[[prior]]``."""

    parameter: Text
    sigma: Positive
    unit: Annotated[str, known_unit()]


def _as_point(value: object) -> object:
    return {"xyz": value} if isinstance(value, list) else value


class PointTable(Table):
    """A marker or load point: a bare vector in the flange frame, or on the link of a joint."""

    xyz: Vector
    on: str | None = None


Point = Annotated[PointTable, BeforeValidator(_as_point)]


class ToolTable(PlacementTable):
    """``[tool]``, in the flange frame."""

    load_points: dict[PointName, Point] = Field(default_factory=dict)
    markers: dict[PointName, Point] = Field(default_factory=dict)
    mass: NotNegative = 0.0
    com: Vector = ZERO3


class UrdfTable(Table):
    """Where the chain of a ``urdf`` robot is described.

    With ``embedded`` the joints stand in this file as in the convention ``frames`` and the URDF, which may
    be elsewhere by now, is not opened.
    """

    file: Text
    base: Text | None = None
    tip: Text | None = None
    embedded: bool = False


class RobotTable(Table):
    """The file, but for its joints."""

    format: Literal["stiffarm-robot/1"]
    name: Text
    units: UnitsTable
    convention: Literal["dh", "mdh", "frames", "urdf"]
    gravity: Gravity = STANDARD_GRAVITY
    controller: ControllerTable = ControllerTable()
    source: str | None = None
    notes: list[str] = Field(default_factory=list)
    base: PlacementTable = PlacementTable()
    flange: PlacementTable = PlacementTable()
    tool: ToolTable = ToolTable()
    link: list[LinkTable] = Field(default_factory=list)
    compensator: list[Annotated[SpringTable | GasTable, Field(discriminator="type")]] = Field(default_factory=list)
    prior: list[PriorTable] = Field(default_factory=list)
    capsule: list[CapsuleTable] = Field(default_factory=list)


def _some(joints: list[Any]) -> list[Any]:
    if not joints:
        raise refusal("the robot has no joints", "one [[joint]] table for each joint")
    return joints


class DhRobotTable(RobotTable):
    """Conventions ``dh`` and ``mdh``."""

    joint: Annotated[list[DhJointTable], AfterValidator(_some)]


class FramesRobotTable(RobotTable):
    """Convention ``frames``."""

    joint: Annotated[list[FramesJointTable], AfterValidator(_some)]


class UrdfRobotTable(RobotTable):
    """Convention ``urdf``; lengths and angles of the URDF itself are m and rad whatever ``units`` says."""

    units: UnitsTable = UnitsTable(length="m", angle="rad")
    urdf: UrdfTable
    joint: list[UrdfJointTable] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _keys_of_the_urdf(cls, data: dict[str, Any]) -> dict[str, Any]:
        """``file``, ``base`` and ``tip`` may stand beside ``convention`` instead of in a table ``urdf``."""
        beside = {key: data[key] for key in ("file", "base", "tip") if key in data and not isinstance(data[key], dict)}
        if "urdf" in data or not beside:
            return data
        return {key: value for key, value in data.items() if key not in beside} | {"urdf": beside}

    @model_validator(mode="after")
    def _flange_is_the_tip(self) -> Self:
        if "flange" in self.model_fields_set:
            raise refusal(
                "the flange of a urdf robot is its tip link", "no table [flange]", "Name another tip", at=("flange",)
            )
        return self


class EmbeddedUrdfRobotTable(RobotTable):
    """Convention ``urdf`` with the chain in the file."""

    urdf: UrdfTable
    joint: Annotated[list[FramesJointTable], AfterValidator(_some)]


class UnknownRobotTable(RobotTable):
    """A file whose convention cannot be told: its joints are not looked into."""

    joint: Annotated[list[dict[str, Any]], AfterValidator(_some)]


def table_for(data: dict[str, Any]) -> type[RobotTable]:
    """The table of a file's convention."""
    convention = data.get("convention")
    if convention in ("dh", "mdh"):
        return DhRobotTable
    if convention == "frames":
        return FramesRobotTable
    if convention != "urdf":
        return UnknownRobotTable
    urdf = data.get("urdf")
    embedded = isinstance(urdf, dict) and urdf.get("embedded") is True
    return EmbeddedUrdfRobotTable if embedded else UrdfRobotTable
