"""The elements of a URDF file, each with the line and the byte at which it stands.

A reader needs the line, to say where a mistake is; the writer of a calibrated file needs the byte, to
change a number and nothing else.  So the file is parsed by expat directly: it reports both, in the
bytes of the file as it is encoded, and it refuses document types, which have no use in a URDF and are
the way to make a small file expand without end or reach for other files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from stiffarm.errors import InputError, Problem, found_text

_OTHER_FORMATS = {
    "sdf": "This is an SDF file; convert it to URDF",
    "mujoco": "This is a MuJoCo model; convert it to URDF",
    "COLLADA": "This is a mesh; the URDF is the file that refers to it",
}


@dataclass(frozen=True)
class Element:
    """One XML element."""

    tag: str
    attributes: dict[str, str]
    line: int
    start: int
    """Byte of its ``<`` in the file."""
    children: list[Element] = field(default_factory=list)

    def every(self, tag: str) -> list[Element]:
        """Its children of one kind, in order."""
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """Itself and everything in it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


@dataclass(frozen=True)
class UrdfDocument:
    """A parsed file together with its bytes."""

    file: str
    data: bytes
    encoding: str
    """Of a slice of ``data``: never one that would add or expect a byte-order mark."""
    root: Element


def parse_urdf(path: Path) -> UrdfDocument:
    """The elements of a URDF file; raises `InputError` when it is not well-formed XML, or not a URDF."""
    file = str(path)
    data = _read_bytes(path)
    builder = _Builder(file)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InputError(_not_xml(file, data, error)) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(Problem("the encoding of the file is not known", file=file, row=1, found=str(error))) from None
    assert builder.root is not None, "expat accepts no document without a root"
    document = UrdfDocument(file, data, _slice_encoding(data, builder.encoding), builder.root)
    _refuse_other_roots(document)
    _refuse_xacro(document)
    return document


class _Builder:
    """Collects the elements that expat reports."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Element | None = None
        self.encoding: str | None = None
        self._open: list[Element] = []
        self.parser = expat.ParserCreate()
        self.parser.XmlDeclHandler = self._declaration
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.encoding = encoding

    def _refuse_doctype(self, *_doctype: object) -> None:
        raise InputError(
            Problem(
                "the file declares a document type (DOCTYPE)",
                file=self.file,
                row=self.parser.CurrentLineNumber,
                next_step="A URDF needs none, and entities are never expanded: delete the declaration",
            )
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self.parser.CurrentByteIndex)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)

    def _end(self, _tag: str) -> None:
        self._open.pop()


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(Problem(f"the file cannot be read ({error.strerror})", file=str(path))) from None
    if not data.strip():
        raise InputError(Problem("the file is empty", file=str(path), allowed="a URDF, <robot name=...>"))
    return data


def _not_xml(file: str, data: bytes, error: expat.ExpatError) -> Problem:
    reason = expat.ErrorString(error.code) or "syntax error"
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return Problem("this is not an XML file", file=file, row=1, found=found_text(_first_line(data)))
    return Problem(f"the file is not well-formed XML ({reason})", file=file, row=error.lineno)


def _first_line(data: bytes) -> str:
    return data.strip().splitlines()[0].decode("utf-8", errors="replace")


def _slice_encoding(data: bytes, declared: str | None) -> str:
    if data.startswith((b"\xff\xfe", b"<\x00")):
        return "utf-16-le"
    if data.startswith((b"\xfe\xff", b"\x00<")):
        return "utf-16-be"
    return declared or "utf-8"


def _refuse_other_roots(document: UrdfDocument) -> None:
    root = document.root
    if root.tag == "robot" or root.tag.startswith("xacro:"):
        return
    raise InputError(
        Problem(
            "this is not a URDF",
            file=document.file,
            row=root.line,
            found=f"<{root.tag}>",
            allowed="<robot name=...>",
            next_step=_OTHER_FORMATS.get(root.tag),
        )
    )


def _refuse_xacro(document: UrdfDocument) -> None:
    for element in document.root.walk():
        macro = next((value for value in element.attributes.values() if "${" in value or "$(" in value), None)
        if not element.tag.startswith("xacro:") and macro is None:
            continue
        raise InputError(
            Problem(
                "this is a xacro file, not yet a URDF",
                file=document.file,
                row=element.line,
                found=f"<{element.tag}>" if macro is None else found_text(macro),
                next_step="Run xacro first: xacro robot.urdf.xacro > robot.urdf",
            )
        )
