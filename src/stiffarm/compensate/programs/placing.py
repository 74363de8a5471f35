"""Where the points of a program are: base and tool of each, and the joint values it means.

A pose P, seen from its base B and meant for its tool T', asks of the tool T of the robot file the pose

    B P T'^-1 T.

The joint values follow from the nominal robot, rails standing where the program has them.  Of the ways to take the
pose the one is meant that S or cfx name, where there is such a one, else the one nearest to the point before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stiffarm.compensate import branches
from stiffarm.compensate.axes import ControllerAxes, axes_of
from stiffarm.compensate.cell import UNNAMED, Cell, tool_of_file
from stiffarm.compensate.conventions import frame_of
from stiffarm.compensate.inverting import Wished
from stiffarm.compensate.programs.parts import FrameUse, Left, Number, Point, Program
from stiffarm.compensate.ways import ways_of
from stiffarm.compensate.wishing import Wish, tool_of
from stiffarm.errors import InputError, Problem
from stiffarm.measure.campaign import DEFAULT_MARKER
from stiffarm.measure.paths import PathFile
from stiffarm.model.arm_model import Arm
from stiffarm.model.inverse import inverse_kinematics
from stiffarm.model.rotations import matrix_of, vector_of
from stiffarm.robot.arm import Robot
from stiffarm.robot.placement import Rigid

Floats = NDArray[np.float64]

STRETCH = 256
"""Points whose ways are worked out in one go."""
MOST_NAMED = 5
FARTHEST = 1e6
"""mm or deg beyond which a number of a point is none."""


@dataclass(frozen=True, eq=False)
class Placed:
    """A program whose points are known as joint values and poses."""

    program: Program
    points: tuple[Point, ...]
    """Those that are corrected; every array below follows them."""
    bases: tuple[Rigid, ...]
    """World from base."""
    tools: tuple[Rigid, ...]
    """Tool of the robot file from the program's tool."""
    source: PathFile
    wish: Wish
    left: tuple[Left, ...]
    axes: ControllerAxes

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is left as it stands, a line each, the many together."""
        said = [
            f"{self.program.files[one.file].path.name} row {one.row}: {one.words} is left as it stands: {one.why}"
            for one in self.left[:MOST_NAMED]
        ]
        if len(self.left) > MOST_NAMED:
            said.append(f"{len(self.left) - MOST_NAMED} more points are left as they stand")
        return (*self.program.warnings, *said)


def placed(program: Program, cell: Cell, robot: Robot, nominal: Arm) -> Placed:
    """The points of a program in the world; `InputError` when a base or tool it names is not known."""
    axes = axes_of(robot)
    points, left = _complete(program, axes)
    if not points:
        what = "the program has no point that could be corrected"
        why = left[0].why if left else None
        raise InputError(Problem(what, str(program.files[0].path), left[0].row if left else None, found=why))
    bases, tools, warnings = _frames(program, points, cell, robot)
    told = _poses(program, points, bases, tools)
    held = _held(points, axes, len(robot.joints))
    solving = _Solving(nominal, axes, points, told, held, program.watched)
    q, missed, strayed = solving.solve()
    if strayed:
        some = ", ".join(points[i].name for i in strayed[:MOST_NAMED])
        more = " and more" if len(strayed) > MOST_NAMED else ""
        warnings.append(
            f"the arm of the robot file takes {some}{more} in no way such as S or the configuration there names: "
            "the way nearest to the point before is taken"
        )
    position, rotation = tool_of(nominal, q)
    for i, point in enumerate(points):
        if point.kind == "pose":
            position[:, i], rotation[:, :, i] = told[:3, i], matrix_of(told[3:, i : i + 1])[:, :, 0]
    wished = Wished(q, position, rotation, (), np.zeros((0, 6, len(points))))
    source = _source(program, points, robot, q, np.concatenate([position, vector_of(rotation)]))
    wish = Wish(wished, missed < 1e-6, missed, tuple(warnings))
    return Placed(program, points, bases, tools, source, wish, left, axes)


def _complete(program: Program, axes: ControllerAxes) -> tuple[tuple[Point, ...], tuple[Left, ...]]:
    """Points that state every axis the robot has, as far as they must."""
    good, left = [], list(program.left)
    for point in program.points:
        wanted = [(True, k) for k, joint in enumerate(axes.external) if joint is not None]
        if point.kind == "axes":
            wanted += [(False, k) for k, joint in enumerate(axes.arm) if joint is not None]
        missing = [key for key in wanted if key[1] not in (point.external if key[0] else point.arm)]
        if missing:
            names = " ".join(f"{'external axis' if outside else 'axis'} {k + 1}" for outside, k in sorted(missing))
            left.append(Left(point.name, point.row, point.file, f"{names} is no number there"))
        elif max(abs(one.value) for one in _stated(point)) > FARTHEST:
            left.append(Left(point.name, point.row, point.file, f"a number there is beyond {FARTHEST:g}"))
        else:
            good.append(point)
    return tuple(good), tuple(left)


def _stated(point: Point) -> list[Number]:
    return [*point.place, *point.turn, *point.arm.values(), *point.external.values()]


def _frames(
    program: Program, points: Sequence[Point], cell: Cell, robot: Robot
) -> tuple[tuple[Rigid, ...], tuple[Rigid, ...], list[str]]:
    """Base of every point, and the program's tool seen from that of the robot file."""
    of_file = tool_of_file(robot)
    back = of_file.inverse()
    problems: dict[str, Problem] = {}
    unstated: dict[str, str] = {}

    def base_of(use: FrameUse) -> Rigid:
        if use.frame is not None:
            return use.frame
        if use.name is None:
            unstated.setdefault("base", "the world")
            return cell.bases.get(UNNAMED, Rigid.identity())
        if use.name not in cell.bases:
            problems.setdefault(f"base {use.name}", _unknown("base", use.name, program))
        return cell.bases.get(use.name, Rigid.identity())

    def tool_from(use: FrameUse) -> Rigid:
        if use.frame is not None:
            return back @ use.frame
        if use.name is None:
            unstated.setdefault("tool", "the tool of the robot file")
        elif use.name not in cell.tools:
            problems.setdefault(f"tool {use.name}", _unknown("tool", use.name, program))
        stated = cell.tools.get(use.name or UNNAMED)
        return Rigid.identity() if stated is None else back @ stated

    poses = [point.kind == "pose" for point in points]
    bases = tuple(base_of(p.base) if is_pose else Rigid.identity() for p, is_pose in zip(points, poses, strict=True))
    tools = tuple(tool_from(p.tool) if is_pose else Rigid.identity() for p, is_pose in zip(points, poses, strict=True))
    if problems:
        raise InputError(list(problems.values()))
    stated = {"base": UNNAMED in cell.bases, "tool": UNNAMED in cell.tools}
    says = [
        f"{program.files[0].path.name} states no {kind} for some of its points: {meant} is taken"
        for kind, meant in unstated.items()
        if not stated[kind]
    ]
    return bases, tools, says


def _unknown(kind: str, name: str, program: Program) -> Problem:
    frame = "X,Y,Z,A,B,C" if program.language == "krl" else "x,y,z,q1,q2,q3,q4"
    own = f"{kind.upper()}_DATA[{name}]" if program.language == "krl" else name
    step = f"Say --{kind} {name}={frame} as {own} stands in the controller"
    if kind == "tool":
        step += f", or --tool {name}=file when it is the tool of the robot file"
    what = f"points of the program are stated for {kind} {name}, which is not known"
    return Problem(what, file=str(program.files[0].path), column=f"--{kind}", next_step=step)


def _poses(program: Program, points: Sequence[Point], bases: Sequence[Rigid], tools: Sequence[Rigid]) -> Floats:
    """(6, n) poses asked of the robot file's tool in the world; NaN for points that are stated by their axes."""
    told = np.full((6, len(points)), np.nan)
    brand = "kuka" if program.language == "krl" else "abb"
    for i, point in enumerate(points):
        if point.kind == "pose":
            numbers = tuple(one.value for one in (*point.place, *point.turn))
            if brand == "abb" and not 0.99 < float(np.linalg.norm(numbers[3:])) < 1.01:
                what = f"the orientation of {point.name} is no quaternion of length 1"
                file = program.files[point.file].path
                raise InputError(Problem(what, str(file), point.row, found=str(list(numbers[3:]))))
            asked = bases[i] @ frame_of(numbers, brand) @ tools[i].inverse()
            told[:3, i] = asked.translation
            told[3:, i] = vector_of(asked.rotation.T[:, :, None])[:, 0]
    return told


def _held(points: Sequence[Point], axes: ControllerAxes, joints: int) -> Floats:
    """(joints, n) values at which the program states joints: all of them or the external ones."""
    held = np.full((joints, len(points)), np.nan)
    for i, point in enumerate(points):
        stated: list[tuple[int | None, Number]] = [(axes.external[k], one) for k, one in point.external.items()]
        if point.kind == "axes":
            stated += [(axes.arm[k], one) for k, one in point.arm.items()]
        for joint, number in stated:
            if joint is not None:
                held[joint, i] = axes.si(joint, number.value)
    return held


def _source(program: Program, points: Sequence[Point], robot: Robot, q: Floats, pose: Floats) -> PathFile:
    n = len(points)
    return PathFile(
        file=str(program.files[0].path), headers=(), text={}, joints=robot.joint_names, q=q, pose_world=pose,
        load_points=(), wrench_world=np.zeros((0, 6, n)), markers=(DEFAULT_MARKER,), marker=np.zeros(n, dtype=np.int64),
        time_s=None, weight=np.ones(n), row=np.array([point.row for point in points]), warnings=(),
    )  # fmt: skip


class _Solving:
    """Joint values of points in turn."""

    def __init__(
        self, arm: Arm, axes: ControllerAxes, points: Sequence[Point], told: Floats, held: Floats, watched: bool
    ) -> None:
        self.arm, self.axes, self.points, self.told, self.held = arm, axes, points, told, held
        self.watched = watched
        self.poses = np.array([point.kind == "pose" for point in points])
        self.missed = np.zeros(len(points))
        self.strayed: list[int] = []
        self.q = np.where(np.isnan(held), 0.0, held)

    def solve(self) -> tuple[Floats, Floats, list[int]]:
        """Joint values, m by which poses are missed, and points that go no way such as they name."""
        rows = np.flatnonzero(self.poses)
        if branches.has_branches(self.arm, self.axes):
            for start in range(0, len(rows), STRETCH):
                self.by_ways(rows[start : start + STRETCH])
        else:
            self.by_neighbours(rows)
        return self.q, self.missed, self.strayed

    def by_ways(self, rows: NDArray[np.int64]) -> None:
        """Poses of an arm with a wrist centre: all ways at once, then one of them."""
        ways = ways_of(self.arm, self.axes, self.told[:, rows], self.held[:, rows])
        flat = np.ascontiguousarray(np.moveaxis(ways.q, 0, 2).reshape(ways.q.shape[1], -1))
        taken = branches.branch_of(self.arm, self.axes, flat).number.reshape(len(rows), -1)
        for k, i in enumerate(rows):
            self.choose(int(i), ways.q[:, :, k], ways.missed_m[:, k], taken[k])

    def choose(self, i: int, ways: Floats, missed: Floats, taken: NDArray[np.int64]) -> None:
        """One of the ways (8, joints) of a pose."""
        before = self.q[:, i - 1] if i else None
        turned = np.array([self.turned(i, way, before) for way in ways])
        reference = np.zeros(ways.shape[1]) if before is None else before
        far = np.abs(turned - reference).max(axis=1) + np.where(missed > 0.0, 1e3 * (1.0 + missed), 0.0)
        far += np.where(self.inside(turned), 0.0, 100.0)
        named = _named_way(self.points[i]) if self.watched or before is None else None
        good = np.flatnonzero((taken == named) & (missed == 0.0))
        if named is not None and not good.size and (missed == 0.0).any():
            self.strayed.append(i)
        best = int(good[np.argmin(far[good])]) if good.size else int(np.argmin(far))
        self.q[:, i], self.missed[i] = turned[best], missed[best]

    def by_neighbours(self, rows: NDArray[np.int64]) -> None:
        """Poses of other arms: runs between points that are stated by their axes, each nearest to the one before."""
        for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if rows.size else []:
            before = self.q[:, run[0] - 1] if run[0] else None
            found = inverse_kinematics(self.arm, self.told[:, run], before, self.held[:, run])
            for k, i in enumerate(run):
                self.q[:, i] = self.turned(int(i), found.q[:, k], found.q[:, k] if before is None else before)
                before = self.q[:, i]
            lost = found.position_error_m + found.rotation_error_rad
            self.missed[run] = np.where(found.reached, 0.0, lost)

    def inside(self, ways: Floats) -> NDArray[np.bool_]:
        """Which of the ways (8, joints) keep the joints' limits."""
        given = np.array([joint.limits or (-np.inf, np.inf) for joint in self.arm.robot.joints])
        return np.asarray(((ways >= given[:, 0] - 1e-9) & (ways <= given[:, 1] + 1e-9)).all(axis=1))

    def turned(self, i: int, q: Floats, before: Floats | None) -> Floats:
        """Values of a point, every joint by the whole turns that are named, else nearest to the point before."""
        out = np.array(q)
        ways = {key: int(one.value) for key, one in self.points[i].ways.items()}
        for place, joint in enumerate(self.axes.arm):
            if joint is None or self.axes.prismatic[joint] or not np.isnan(self.held[joint, i]):
                continue
            low, high = self.arm.robot.joints[joint].limits or (-2.0 * np.pi, 2.0 * np.pi)
            first = np.ceil((low - q[joint] - 1e-9) / (2.0 * np.pi))
            last = np.floor((high - q[joint] + 1e-9) / (2.0 * np.pi))
            choices = [float(one) for one in q[joint] + 2.0 * np.pi * np.arange(first, last + 1)]
            named = [one for one in choices if _turns_as_named(ways, place, one)]
            reference = 0.0 if before is None else before[joint]
            if choices:
                out[joint] = min(named or choices, key=lambda one: abs(one - reference))
        return out


def _named_way(point: Point) -> int | None:
    """The way (0 to 7) that S or cfx name."""
    if "S" in point.ways:
        return int(point.ways["S"].value) & branches.S_MASK
    if "cfx" in point.ways and 0 <= int(point.ways["cfx"].value) <= branches.S_MASK:
        return branches.branch_of_cfx(int(point.ways["cfx"].value))
    return None


def _turns_as_named(ways: dict[str, int], place: int, value: float) -> bool:
    """Whether an axis stands where T or a quadrant says; False when neither speaks of it."""
    degree = round(float(np.degrees(value)), 6)
    if "T" in ways:
        return bool(ways["T"] >> place & 1) == (degree < 0.0)
    key = {0: "cf1", 3: "cf4", 5: "cf6"}.get(place)
    return key in ways and ways[key] == int(np.floor(degree / 90.0)) if key else False
