"""Points of an ABB module: robtargets and jointtargets that its instructions move to.

Points are declared (``CONST robtarget p10:=[[x,y,z],[q1,q2,q3,q4],[cf1,cf4,cf6,cfx],[eax ...]];``) or stand in the
instruction itself.  Their base is the instruction's ``\\WObj`` (user frame, then object frame), their tool its tool;
both as they are declared in the module, by name otherwise.  What is no list of numbers (Offs, arrays, variables,
points the module assigns to) is left and named.  Where ``ConfL`` or ``ConfJ`` is switched off the configurations of
targets are not heeded by the controller, and not here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from stiffarm.compensate.conventions import frame_of
from stiffarm.compensate.programs.parts import (
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

BLANK = re.compile(r'"(?:[^"\r\n]|"")*"|![^\r\n]*')
DECLARED = re.compile(
    r"\b(?:CONST|VAR|PERS)\s+(?P<type>robtarget|jointtarget|tooldata|wobjdata)\s+(?P<name>\w+)\s*"
    r"(?P<array>\{[^}]*\})?\s*(?::=\s*)?",
    re.IGNORECASE,
)
ASSIGNED = re.compile(r"(?<![\w\\.{])(?P<name>\w+)\s*(?:\{[^}]*\}\s*)?(?:\.\s*\w+\s*)*:=", re.IGNORECASE)
TOOL_AT: Mapping[str, int] = {
    "movel": 3, "movej": 3, "moveabsj": 3, "movec": 4, "moveldo": 3, "movejdo": 3, "movecdo": 4, "movelao": 3,
    "movelsync": 3, "movejsync": 3, "movecsync": 4, "triggl": 4, "triggj": 4, "triggabsj": 4, "triggc": 5,
    "arcl": 5, "arclstart": 5, "arclend": 5, "arcc": 6, "arccstart": 6, "arccend": 6, "movelgo": 3, "movejgo": 3,
}  # fmt: skip
"""Instructions that move to points, and the place of the tool among their arguments."""
MOVE = re.compile(r"(?<![\w\\.])(?P<word>" + "|".join(TOOL_AT) + r")\b(?=[\s\[\\])", re.IGNORECASE)
WORK_OBJECT = re.compile(r"\\WObj\s*:=\s*(?P<name>\w+)", re.IGNORECASE)
UNWATCHED = re.compile(r"\bConf[LJ]\s*\\\s*Off\b", re.IGNORECASE)
SHIFTED = re.compile(r"\b(?:PDispOn|PDispSet)\b", re.IGNORECASE)
DEEPEST = 8
"""Lists in lists: targets have two, work objects three."""
NAME = re.compile(r"\w+")

Value: TypeAlias = "Number | list[Value] | None"


@dataclass(frozen=True, eq=False)
class Declared:
    """Something the module declares."""

    type: str
    name: str
    row: int
    value: Value
    """Nested lists of numbers; None where it is something else."""
    flags: tuple[str, ...] = ()
    """TRUE and FALSE of a tool or work object, in their order."""
    constant: bool = True


def read_rapid(path: Path) -> Program:
    """The module of ``NAME.mod``."""
    return _Reader(ProgramFile.read(path, BLANK)).program()


class _Reader:
    def __init__(self, file: ProgramFile) -> None:
        self.file, self.code = file, file.code
        self.declared: dict[str, Declared] = {}
        self.skipped: set[int] = set()
        """Where declarations state their value: no assignments of the module's."""
        self.left: list[Left] = []
        self.uses: dict[int, list[tuple[Declared, FrameUse, FrameUse]]] = {}

    def program(self) -> Program:
        """Everything the module moves to."""
        self.declarations()
        assigned = {
            found["name"].lower(): self.file.row(found.start())
            for found in ASSIGNED.finditer(self.code)
            if found.start("name") not in self.skipped
        }
        for found in MOVE.finditer(self.code):
            self.move(found, assigned)
        points = [point for used in self.uses.values() if (point := self.point(used)) is not None]
        moved = {used[0][0].name.lower() for used in self.uses.values()} | {one.name.lower() for one in self.left}
        for one in self.declared.values():
            if one.type.endswith("target") and one.name.lower() not in moved:
                self.left.append(Left(one.name, one.row, 0, "no instruction of this module goes there by itself"))
        shifted = SHIFTED.search(self.code)
        warnings: tuple[str, ...] = ()
        if shifted:
            row = self.file.row(shifted.start())
            warnings = (f"row {row} displaces what follows ({shifted[0]}): points are corrected as if it did not",)
        watched = UNWATCHED.search(self.code) is None
        return Program("rapid", (self.file,), tuple(points), tuple(self.left), warnings, watched)

    def declarations(self) -> None:
        """Targets, tools and work objects by small names."""
        for found in DECLARED.finditer(self.code):
            name, type_, row = found["name"], found["type"].lower(), self.file.row(found.start())
            self.skipped.add(found.start("name"))
            value, _ = (None, 0) if found["array"] else self.list_at(found.end())
            end = self.code.find(";", found.end())
            flags = tuple(re.findall(r"\b(?:TRUE|FALSE)\b", self.code[found.end() : end].upper()))
            if found["array"] and type_.endswith("target"):
                self.left.append(Left(name, row, 0, "it is an array"))
            self.declared[name.lower()] = Declared(type_, name, row, value, flags)

    def list_at(self, at: int, depth: int = 0) -> tuple[Value, int]:
        """The list, number or other thing that stands there, and where it ends."""
        code = self.code
        while code[at : at + 1].isspace():
            at += 1
        if code[at : at + 1] != "[":
            end = at
            while end < len(code) and code[end] not in ",];":
                end += 1
            text = code[at:end].rstrip()
            return number_at(0, at, text), end
        parts: list[Value] = []
        at += 1
        if depth > DEEPEST:
            return None, len(code)
        while at < len(code) and code[at] != ";":
            one, at = self.list_at(at, depth + 1)
            parts.append(one)
            while code[at : at + 1].isspace():
                at += 1
            if code[at : at + 1] == "]":
                return parts, at + 1
            at += 1
        return None, at

    def move(self, found: re.Match[str], assigned: Mapping[str, int]) -> None:
        """Where an instruction goes."""
        start, word = found.end(), found["word"].lower()
        end = self.code.find(";", start)
        if end < 0:
            return
        statement = self.code[start:end]
        told = [one for one in arguments(statement) if not one[1].startswith("\\")]
        row = self.file.row(found.start())
        index = TOOL_AT[word]
        tool = self.tool(told[index][1]) if len(told) > index else FrameUse(why="it names no tool")
        named = WORK_OBJECT.search(statement)
        base = WORLD if named is None else self.base(named["name"])
        for offset, text in told[: 2 if _is_circle(word) else 1]:
            if text.startswith("["):
                value, _ = self.list_at(start + offset)
                one = Declared("inline", nameless(row), row, value)
                self.uses[id(one)] = [(one, base, tool)]
                continue
            plain = text.split("\\")[0].strip()
            known = self.declared.get(plain.lower())
            if known is None or not NAME.fullmatch(plain):
                if not any(one.name == plain for one in self.left):
                    self.left.append(Left(plain, row, 0, "it is no point stated in this module"))
            elif plain.lower() in assigned:
                self.left.append(Left(plain, row, 0, f"the module changes it in row {assigned[plain.lower()]}"))
            else:
                self.uses.setdefault(id(known), []).append((known, base, tool))

    def tool(self, text: str) -> FrameUse:
        """The tool of an instruction."""
        found = NAME.match(text)
        name = found[0] if found else ""
        known = self.declared.get(name.lower())
        if known is None or known.type != "tooldata":
            return WORLD if name.lower() == "tool0" else FrameUse(name=name)
        if known.flags[:1] != ("TRUE",):
            return FrameUse(why=f"{name} is fixed in the room")
        value = known.value
        frame = _frame(value[1]) if isinstance(value, list) and len(value) > 1 else None
        return FrameUse(why=f"{name} is no list of numbers") if frame is None else frame

    def base(self, name: str) -> FrameUse:
        """The work object of an instruction: user frame, then object frame."""
        known = self.declared.get(name.lower())
        if known is None or known.type != "wobjdata":
            return WORLD if name.lower() == "wobj0" else FrameUse(name=name)
        if known.flags[:2] != ("FALSE", "TRUE"):
            return FrameUse(why=f"{name} is moved by a mechanical unit or held by the robot")
        value = known.value
        frames = [_frame(one) for one in value[3:5]] if isinstance(value, list) and len(value) == 5 else []
        user, item = frames if len(frames) == 2 else (None, None)
        if user is None or item is None or user.frame is None or item.frame is None:
            return FrameUse(why=f"{name} is no list of numbers")
        return FrameUse(user.frame @ item.frame)

    def point(self, used: list[tuple[Declared, FrameUse, FrameUse]]) -> Point | None:
        """The point of a declaration or an instruction; None when it is left."""
        one, base, tool = used[0]
        rows = [_numbers(part) for part in one.value] if isinstance(one.value, list) else []
        shape = [len(row) if row is not None else -1 for row in rows]
        external = {k: n for k, n in enumerate(rows[-1] or ()) if n.value < 8.9e9} if rows else {}
        if shape == [6, 6]:
            arm = dict(enumerate(rows[0] or ()))
            return Point(one.name, one.row, 0, "axes", arm=arm, external=external)
        why = None
        if shape != [3, 4, 4, 6]:
            why = "it is no list of numbers as a target needs them"
        elif any(not (base.same(b) and tool.same(t)) for _, b, t in used[1:]):
            why = "it is moved to in different work objects or with different tools"
        else:
            why = base.why or tool.why
        if why is not None:
            self.left.append(Left(one.name, one.row, 0, why))
            return None
        place, turn, ways, _ = rows
        return Point(
            one.name, one.row, 0, "pose", place=place or (), turn=turn or (), external=external,
            ways=dict(zip(("cf1", "cf4", "cf6", "cfx"), ways or (), strict=True)), base=base, tool=tool,
        )  # fmt: skip


def _is_circle(word: str) -> bool:
    return word.startswith(("movec", "triggc", "arcc"))


def _numbers(value: Value) -> tuple[Number, ...] | None:
    """A list of nothing but numbers."""
    if not isinstance(value, list):
        return None
    found = tuple(one for one in value if isinstance(one, Number))
    return found if len(found) == len(value) else None


def _frame(value: Value) -> FrameUse | None:
    """``[[x,y,z],[q1,q2,q3,q4]]``."""
    if not isinstance(value, list) or len(value) != 2:
        return None
    place, turn = _numbers(value[0]), _numbers(value[1])
    if place is None or turn is None or (len(place), len(turn)) != (3, 4):
        return None
    numbers = tuple(one.value for one in (*place, *turn))
    return FrameUse(frame_of(numbers, "abb")) if np.linalg.norm(numbers[3:]) > 0.5 else None
