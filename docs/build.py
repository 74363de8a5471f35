"""The documentation as HTML, with a reference of commands and files generated from the code.

    python docs/build.py [FOLDER]        (or: make docs)

Needs nothing but what the package needs; no network.  `reference.md` is made here and is never edited: what it says is
what the code says.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer.main
from markdown_it import MarkdownIt
from pydantic import BaseModel

from stiffarm.cli.main import app
from stiffarm.measure import columns, settings
from stiffarm.robot import schema

DOCS = Path(__file__).resolve().parent
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #535c67; --line: #dde1e6; --paper: #fff; --panel: #f5f6f8;
  --link: #1f5fbf; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8eaed; --soft: #a9b1bc; --line: #353b43; --paper: #14171b; --panel: #1d2126; --link: #7db0ff; } }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main, nav { max-width: 52rem; margin: 0 auto; padding: 1rem 1.1rem; } nav { border-bottom: 1px solid var(--line); }
nav a { margin-right: 1rem; white-space: nowrap; } a { color: var(--link); }
a:focus-visible { outline: 2px solid var(--link); }
pre, code { font: .88em/1.5 ui-monospace, Consolas, monospace; background: var(--panel); overflow-wrap: anywhere; }
pre { padding: .8rem; overflow-x: auto; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top;
padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); } td { min-width: 4rem; } th { color: var(--soft); }
"""


def main(folder: Path) -> list[Path]:
    """Write every page; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {path.stem: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
    pages["reference"] = reference()
    written = []
    for stem, text in pages.items():
        file = folder / ("index.html" if stem == "README" else f"{stem}.html")
        file.write_text(page(stem, text), encoding="utf-8")
        written.append(file)
    return written


def page(stem: str, text: str) -> str:
    """One page as HTML."""
    body = MarkdownIt("commonmark").enable("table").render(_links(text))
    body = body.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")
    body = re.sub(r"<h([1-3])>(.*?)</h\1>", _heading, body)
    title = next((line[2:] for line in text.splitlines() if line.startswith("# ")), stem)
    links = " ".join(f'<a href="{target}">{words}</a>' for target, words in (
        ("index.html", "Documentation"), ("tutorial.html", "First hour"), ("commands.html", "Commands"),
        ("reference.html", "Reference"), ("theory.html", "Theory"), ("errors.html", "Errors")))  # fmt: skip
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head += f"<title>{escape(title)} - stiffarm</title><style>{STYLE}</style>"
    body = f"<nav>{links}</nav><main>{body}</main>"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _heading(found: re.Match[str]) -> str:
    level, words = found.groups()
    slug = re.sub(r"[^a-z0-9]+", "-", re.sub(r"<[^>]*>", "", words).lower()).strip("-")
    return f'<h{level} id="{slug}">{words}</h{level}>'


def _links(text: str) -> str:
    """Links between pages; what lies outside the documentation is named and not linked."""
    text = re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", text)
    text = text.replace("](README.md)", "](index.html)")
    return re.sub(r"\]\(([\w-]+)\.md(#[^)]*)?\)", r"](\1.html\2)", text)


def reference() -> str:
    """Commands, options, keys and columns, as the code has them."""
    parts = ["# Reference", "Generated from the code.", "## Commands"]
    parts += commands(typer.main.get_command(app), "stiffarm")
    parts += ["## Keys of robot files", *keys(schema), "## Keys of campaign settings", *keys(settings)]
    parts += ["## Columns of campaign, plan and path files", *column_rows()]
    return "\n\n".join(parts) + "\n"


def commands(group: Any, prefix: str) -> Iterator[str]:
    """A section for every command."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
            continue
        arguments = " ".join(_usage(p) for p in command.params if p.param_type_name == "argument")
        yield f"### {prefix} {name} {arguments}".replace("[", "\\[").rstrip()
        yield (command.help or "").split("\f")[0].strip()
        rows = [f"| {_option(p)} | {_cell(p.help)} |" for p in command.params if p.param_type_name == "option"]
        yield "\n".join(["| option | |", "| --- | --- |", *rows])


def _usage(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    name = name + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{one}`" for one in [*parameter.opts, *parameter.secondary_opts])
    choices = choices_of(parameter.type_descriptor.annotation)
    what = "\\|".join(map(str, choices)) if choices else (parameter.metavar or "")
    return f"{names} {'' if parameter.is_flag else _cell(what)}".strip()


def choices_of(annotation: Any) -> tuple[str, ...]:
    """The words an option may have.

    >>> choices_of(Literal["a", "b"] | None)
    ('a', 'b')
    """
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    return tuple(word for part in get_args(annotation) for word in choices_of(part))


def _cell(text: str | None) -> str:
    return re.sub(r"(?<!\\)([|*<])", r"\\\1", " ".join((text or "").split()))


def keys(module: Any) -> Iterator[str]:
    """A table of keys for every kind of table in a TOML file."""
    for name, table in vars(module).items():
        if (
            not (isinstance(table, type) and issubclass(table, BaseModel))
            or name.startswith("_")
            or not table.model_fields
        ):
            continue
        rows = [
            f"| `{field.alias or key}` | {'required' if field.is_required() else 'optional'} |"
            for key, field in table.model_fields.items()
        ]
        about = " ".join((table.__doc__ or "").split()) if table.__doc__ != BaseModel.__doc__ else ""
        yield "\n".join([f"**{name.removesuffix('Table')}** {about}", "", "| key | |", "| --- | --- |", *rows])


def column_rows() -> Iterator[str]:
    """What every name means and which units it may have."""
    rows = [f"| `{name}` | {', '.join(dimensions) or 'text'} |" for name, dimensions in columns.described()]
    yield "\n".join(["| column | measures |", "| --- | --- |", *rows])


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS.parent / "build" / "docs"
    for one in main(target):
        print(one)
