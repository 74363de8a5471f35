"""Points of a KUKA program: what ``NAME.src`` moves to, stated there or in ``NAME.dat``.

The text is followed from top to bottom as if it ran so.  A motion takes its base and tool from the last of

    $BASE={...}  $TOOL={...}             as they stand; also BASE_DATA[n]={...}
    $BASE=BASE_DATA[n]  BAS(#BASE,n)     by number; 0 is $NULLFRAME
    FDAT_ACT=FP1  WITH ...(FP1...)       the inline forms: DECL FDAT FP1={TOOL_NO 1,BASE_NO 3,...}

Points are aggregates of numbers, ``{X ..,Y ..,Z ..,A ..,B ..,C ..}`` or ``{A1 .. }``, in a motion or declared (E6POS,
POS, FRAME, E6AXIS, AXIS).  What is not (variables, sums, relative motions, points the program changes) is left and
named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stiffarm.compensate.conventions import frame_of
from stiffarm.compensate.programs.parts import (
    UNSTATED,
    WORLD,
    FrameUse,
    Left,
    Number,
    Point,
    Program,
    ProgramFile,
    arguments,
    nameless,
    number_at,
)

BLANK = re.compile(r'"[^"\r\n]*"|;[^\r\n]*|^&[^\r\n]*', re.MULTILINE)
ASSIGN = re.compile(
    r"(?:^|,)\s*(?:(?:GLOBAL|DECL|CONST)\s+)*(?:(?P<type>[A-Z_]\w*)\s+)?(?P<name>\$?\w+(?:\s*\[\s*\d+\s*\])?)\s*=\s*(?=\{)",
    re.IGNORECASE,
)
CHANGE = re.compile(
    r"^\s*(?P<name>\w+(?:\s*\[[^\]]*\])?)(?P<part>\.\w+)?\s*=(?!=)\s*(?P<value>[^{\s].*)?", re.IGNORECASE
)
MOTION = re.compile(r"^\s*(?P<word>S?PTP|S?LIN|S?CIRC|SPL|(?:S?PTP|S?LIN|S?CIRC)_REL)\b(?!\s*[=(.])", re.IGNORECASE)
SYSTEM = re.compile(r"^\s*\$(?P<what>BASE|TOOL)\s*=\s*(?P<value>.*\S)?", re.IGNORECASE)
BY_NUMBER = re.compile(r"^(?P<kind>BASE|TOOL)_DATA\s*\[\s*(?P<number>\d+)\s*\]$", re.IGNORECASE)
BAS = re.compile(r"^\s*BAS\s*\(\s*#(?P<kind>BASE|TOOL)\s*,\s*(?P<number>\d+)\s*\)", re.IGNORECASE)
FDAT_ACT = re.compile(r"^\s*FDAT_ACT\s*=\s*(?P<name>\w+)", re.IGNORECASE)
FDAT_USED = re.compile(r"\$(?:TOOL|BASE)\s*=\s*\w+\s*\(\s*(?:\w+\s*\(\s*)?(?P<name>\w+)", re.IGNORECASE)
WITH_FRAME = re.compile(r"\$(?P<kind>TOOL|BASE)\s*=", re.IGNORECASE)
PART = re.compile(r"^\s*\$(?P<kind>BASE|TOOL)\s*\.\s*\w+\s*=", re.IGNORECASE)
FIXED_TOOL = re.compile(r"\$IPO_MODE\s*=\s*#(?P<mode>\w+)", re.IGNORECASE)
FIELD = re.compile(r"(?P<name>[A-Z_]\w*)(?:\[\])?\s+(?P<value>[^,{}]+)", re.IGNORECASE)
KEYWORD = re.compile(r"\s+(?:C_\w+|WITH)\b.*$", re.IGNORECASE | re.DOTALL)
POSE = ("X", "Y", "Z", "A", "B", "C")
HERE = ("$AXIS_ACT", "$POS_ACT", "$AXIS_ACT_MEAS", "$POS_ACT_MES")
OUTSIDE_TOOL = "the tool is fixed in the room (IPO mode #TCP)"


@dataclass(frozen=True, eq=False)
class Aggregate:
    """``{NAME value, ...}`` where it stands."""

    name: str
    file: int
    row: int
    fields: Mapping[str, Number]
    """The numbers among its fields, by capital names."""
    words: Mapping[str, str]
    """The other fields."""

    def frame(self) -> FrameUse:
        """As a base or tool."""
        if not all(key in self.fields for key in POSE):
            return FrameUse(why=f"{self.name} is not six numbers")
        return FrameUse(frame_of(tuple(self.fields[key].value for key in POSE), "kuka"))


@dataclass(eq=False)
class _State:
    """What holds where the reading has come to."""

    base: FrameUse = UNSTATED
    tool: FrameUse = UNSTATED
    outside: bool = False
    known: dict[str, Aggregate] = field(default_factory=dict)


def read_krl(path: Path) -> Program:
    """The program of ``NAME.src``, with ``NAME.dat`` where there is one."""
    files = [ProgramFile.read(path, BLANK)]
    beside = next((one for ending in (".dat", ".DAT", ".Dat") if (one := path.with_suffix(ending)).exists()), None)
    if beside is not None:
        files.append(ProgramFile.read(beside, BLANK))
    return _Reader(tuple(files)).program()


class _Reader:
    def __init__(self, files: tuple[ProgramFile, ...]) -> None:
        self.files = files
        self.declared = [one for index in range(1, len(files)) for one in self.aggregates(index)]
        self.changed = self.changes()
        self.uses: dict[int, list[tuple[Aggregate, FrameUse, FrameUse]]] = {}
        self.left: list[Left] = []

    def program(self) -> Program:
        """Everything the text moves to."""
        state = _State(known={one.name: one for one in self.declared})
        source = self.files[0]
        for start, end in source.lines():
            line = source.code[start:end]
            if line.strip():
                self.statement(state, start, line)
        points = [point for used in self.uses.values() if (point := self.point(used)) is not None]
        moved = {name for used in self.uses.values() for name in (used[0][0].name,)} | {one.name for one in self.left}
        idle = [one for one in self.declared if _is_point(one) and one.name not in moved]
        self.left += [Left(one.name, one.row, one.file, "no motion of this program goes there") for one in idle]
        return Program("krl", self.files, tuple(points), tuple(self.left))

    def aggregates(self, index: int) -> Iterator[Aggregate]:
        """Every ``NAME={...}`` of a file."""
        file = self.files[index]
        for start, end in file.lines():
            yield from self.on_line(index, start, end)

    def on_line(self, index: int, start: int, end: int) -> Iterator[Aggregate]:
        file, at = self.files[index], start
        while found := ASSIGN.search(file.code[at:end]):
            opened = at + found.end()
            one = self.aggregate(index, opened, end, _plain(found["name"]))
            if one is not None:
                yield one
            at = max(file.code.find("}", opened), opened + 1)
            if file.code[at : at + 1] == "}":
                at += 1

    def aggregate(self, index: int, opened: int, end: int, name: str) -> Aggregate | None:
        """The aggregate that opens there; None when it does not close on its line."""
        file = self.files[index]
        closed = file.code.find("}", opened, end)
        if closed < 0:
            return None
        inside = opened + 1
        typed = re.match(r"\s*[A-Z_]\w*\s*:", file.code[inside:closed], re.IGNORECASE)
        inside += typed.end() if typed else 0
        fields, words = {}, {}
        for found in FIELD.finditer(file.code[inside:closed]):
            value, at = found["value"].rstrip(), inside + found.start("value")
            number = number_at(index, at, value)
            if number is not None:
                fields[found["name"].upper()] = number
            else:
                words[found["name"].upper()] = value
        return Aggregate(name, index, file.row(opened), fields, words)

    def changes(self) -> dict[str, int]:
        """Names that the program gives something else than an aggregate, or changes in part, with the row."""
        found: dict[str, int] = {}
        for start, end in self.files[0].lines():
            match = CHANGE.match(self.files[0].code[start:end])
            if match:
                name = _plain(match["name"])
                open_index = re.fullmatch(r"(\w+)\[(?!\d+\]).*\]", name)
                if match["part"] or match["value"] or open_index:
                    found.setdefault(open_index[1] if open_index else name, self.files[0].row(start))
        return found

    def changed_in(self, name: str) -> int | None:
        """Row in which the program changes a point of this name; None when it does not."""
        return self.changed.get(name, self.changed.get(name.split("[")[0]))

    def statement(self, state: _State, start: int, line: str) -> None:
        """What one line does to the state, and where it moves."""
        if mode := FIXED_TOOL.search(line):
            state.outside = mode["mode"].upper() == "TCP"
        if motion := MOTION.match(line):
            self.motion(state, start, line, motion)
            return
        if chosen := BAS.match(line):
            self.choose(state, chosen["kind"], _by_number(state, chosen["kind"], chosen["number"]))
        elif part := PART.match(line):
            self.choose(state, part["kind"], FrameUse(why=f"${part['kind'].upper()} is changed in part"))
        elif (system := SYSTEM.match(line)) and system["value"]:
            self.choose(state, system["what"], self.value(state, start, line, system))
        elif act := FDAT_ACT.match(line):
            self.inline(state, act["name"])
        else:
            for one in self.on_line(0, start, start + len(line)):
                state.known[one.name] = one
                if one.name == "FDAT_ACT":
                    self.inline(state, one.name)

    def choose(self, state: _State, kind: str, use: FrameUse) -> None:
        if kind.upper() == "BASE":
            state.base = use
        else:
            state.tool = use

    def value(self, state: _State, start: int, line: str, system: re.Match[str]) -> FrameUse:
        """What ``$BASE=`` or ``$TOOL=`` is set to."""
        value = system["value"].strip()
        if value.startswith("{"):
            name = f"${system['what'].upper()}"
            one = self.aggregate(0, start + system.start("value"), start + len(line), name)
            return FrameUse(why=f"{name} is not six numbers") if one is None else one.frame()
        if value.upper() == "$NULLFRAME" or (value.upper() == "$WORLD" and system["what"].upper() == "BASE"):
            return WORLD
        if number := BY_NUMBER.match(value):
            return _by_number(state, number["kind"], number["number"])
        if _plain(value) in state.known and self.changed_in(_plain(value)) is None:
            return state.known[_plain(value)].frame()
        return FrameUse(why=f"${system['what'].upper()} is set to {value[:40]}")

    def inline(self, state: _State, name: str) -> None:
        """Base and tool of an FDAT."""
        one = state.known.get(_plain(name))
        if one is None or "TOOL_NO" not in one.fields or "BASE_NO" not in one.fields:
            state.base = state.tool = FrameUse(why=f"{name} is no FDAT of this program")
            return
        state.base = _by_number(state, "BASE", str(int(one.fields["BASE_NO"].value)))
        state.tool = _by_number(state, "TOOL", str(int(one.fields["TOOL_NO"].value)))
        state.outside = one.words.get("IPO_FRAME", "").upper() == "#TCP"

    def motion(self, state: _State, start: int, line: str, motion: re.Match[str]) -> None:
        """Where a motion goes: one point, two of a circle."""
        word = motion["word"].upper()
        if fdat := FDAT_USED.search(line):
            self.inline(state, fdat["name"])
        elif set_here := WITH_FRAME.search(line):
            self.choose(state, set_here["kind"], FrameUse(why=f"its motion sets {set_here[0].strip()} for itself"))
        told = KEYWORD.sub("", line[motion.end() :])
        for offset, text in arguments(told)[: 2 if "CIRC" in word else 1]:
            at = start + motion.end() + offset
            row = self.files[0].row(at)
            if word.endswith("_REL"):
                self.left.append(Left(nameless(row), row, 0, f"{word} moves on from the point before it"))
            elif text.startswith("{"):
                one = self.aggregate(0, at, at + len(text), nameless(row))
                if one is not None:
                    self.use(state, one)
            elif (changed := self.changed_in(_plain(text))) is not None:
                self.left.append(Left(text, row, 0, f"the program changes it in row {changed}"))
            elif _plain(text) in state.known:
                self.use(state, state.known[_plain(text)])
            elif _plain(text) not in HERE:
                self.left.append(Left(text, row, 0, "it is no point stated in this program"))

    def use(self, state: _State, one: Aggregate) -> None:
        base, tool = state.base, state.tool
        if state.outside:
            base = tool = FrameUse(why=OUTSIDE_TOOL)
        place = id(one)
        self.uses.setdefault(place, []).append((one, base, tool))

    def point(self, used: list[tuple[Aggregate, FrameUse, FrameUse]]) -> Point | None:
        """The point of an aggregate; None when it is left."""
        one, base, tool = used[0]
        keys = one.fields
        arm = {int(key[1]) - 1: keys[key] for key in keys if re.fullmatch("A[1-6]", key)}
        external = {int(key[1]) - 1: keys[key] for key in keys if re.fullmatch("E[1-6]", key)}
        if not any(key in one.fields or key in one.words for key in POSE):
            return Point(one.name, one.row, one.file, "axes", arm=arm, external=external)
        missing = [key for key in POSE if key not in keys]
        why = None
        if missing:
            why = f"{' '.join(missing)} is no number there"
        elif any(not (base.same(b) and tool.same(t)) for _, b, t in used[1:]):
            why = "it is moved to in different bases or tools"
        else:
            why = base.why or tool.why
        if why is not None:
            self.left.append(Left(one.name, one.row, one.file, why))
            return None
        numbers = [keys[key] for key in POSE]
        return Point(
            one.name, one.row, one.file, "pose", place=tuple(numbers[:3]), turn=tuple(numbers[3:]), external=external,
            ways={key: keys[key] for key in ("S", "T") if key in keys}, base=base, tool=tool,
        )  # fmt: skip


def _plain(name: str) -> str:
    """A name as it is looked up: KRL knows no small letters."""
    return "".join(name.split()).upper()


def _is_point(one: Aggregate) -> bool:
    return all(key in one.fields for key in POSE) or "A1" in one.fields


def _by_number(state: _State, kind: str, number: str) -> FrameUse:
    stated = state.known.get(f"{kind.upper()}_DATA[{int(number)}]")
    if stated is not None:
        return stated.frame()
    return WORLD if int(number) == 0 else FrameUse(name=str(int(number)))
