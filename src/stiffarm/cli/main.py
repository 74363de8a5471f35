"""The command `stiffarm`: its commands, what it says first, and what becomes of errors.

A command is a function in its own file; heavy packages are imported where they are used, so that help and
errors come at once.  Exit status: 0 done, 1 the verdict is no, 2 bad input (nothing was written), 3 a fault of
stiffarm itself (set ``STIFFARM_DEBUG=1`` for its traceback), 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import typer

from stiffarm import __version__
from stiffarm.cli.assess import assess
from stiffarm.cli.budget import budget
from stiffarm.cli.common import show_problems
from stiffarm.cli.compare import compare
from stiffarm.cli.compensate import compensate
from stiffarm.cli.demo import demo
from stiffarm.cli.identify import identify
from stiffarm.cli.map import map as map_command
from stiffarm.cli.outputs import guarded
from stiffarm.cli.papers import papers
from stiffarm.cli.plan import plan
from stiffarm.cli.predict import predict
from stiffarm.cli.report import report
from stiffarm.cli.robot import robot_app
from stiffarm.cli.simulate import simulate
from stiffarm.cli.validate import validate
from stiffarm.cli.view import view
from stiffarm.errors import InputError, StiffarmWarning

COMMANDS: tuple[Callable[..., Any] | typer.Typer, ...] = (
    robot_app,
    assess,
    plan,
    simulate,
    identify,
    validate,
    compare,
    report,
    view,
    predict,
    budget,
    compensate,
    map_command,
    papers,
    demo,
)
"""In the order of the help; a function is a command of its name, a `typer.Typer` a group of them."""

GREETING = """\
stiffarm makes a compliant robot arm behave like a stiff one: it calibrates
geometry and elasticity together. Start here:

  stiffarm demo                        the whole story, in a folder demo/
  stiffarm robot list                  robots that come along
  stiffarm robot show kr270            one of them in words
  stiffarm robot check MY.robot.toml   your own: every error with its place
  stiffarm plan MY.robot.toml          what to measure, and how much it tells
"""

DONE, BAD_INPUT, FAULT, INTERRUPTED = 0, 2, 3, 130

app = typer.Typer(
    name="stiffarm",
    help="Calibrate the geometry and the elasticity of robot arms that bend.",
    rich_markup_mode=None,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"stiffarm {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def first(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Say which version."),
) -> None:
    """Calibrate the geometry and the elasticity of robot arms that bend."""
    if context.invoked_subcommand is None:
        print(f"{GREETING}\n{context.get_help()}")


for _command in COMMANDS:
    if isinstance(_command, typer.Typer):
        for _member in _command.registered_commands:
            _member.callback = guarded(_member.callback) if _member.callback else None
        app.add_typer(_command)
    else:
        app.command()(_command if _command is demo else guarded(_command))  # the demo writes into a folder of its own


def run() -> None:
    """Entry point of the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name may have letters that a console or a log cannot show
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", StiffarmWarning)
        warnings.showwarning = _warning_shower(warnings.showwarning)
        try:
            return _status(arguments)
        except InputError as error:
            show_problems(error)
            return BAD_INPUT
        except typer.TyperException as error:
            _show_usage(error)
            return BAD_INPUT
        except (KeyboardInterrupt, typer.Abort):
            return _interrupted()
        except BrokenPipeError:  # the reader of a pipe has seen enough
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            return DONE
        except Exception as error:
            return _fault(error)


def _status(arguments: Sequence[str]) -> int:
    status = app(list(arguments), prog_name="stiffarm", standalone_mode=False)
    sys.stdout.flush()
    return _interrupted() if status == INTERRUPTED else status if isinstance(status, int) else DONE


def _show_usage(error: typer.TyperException) -> None:
    _say_what_was_found(error)
    show = getattr(error, "show", None)
    if show is None:
        print(f"error: {error}", file=sys.stderr)
    else:
        show()


def _say_what_was_found(error: typer.TyperException) -> None:
    """The library that reads options says what it should be, in its own way; what it is belongs there as well."""
    details = getattr(error.__cause__, "errors", None)
    if not callable(details) or not (known := details()):
        return
    found = repr(known[0]["input"])
    what = str(known[0]["msg"]).removeprefix("Value error, ").partition(", unable")[0].rstrip(".")
    what = what.replace("Input should", "it should", 1)
    error.message = f"{what}." if found in what else f"{what}; found: {found}."


def _interrupted() -> int:
    print("interrupted: nothing more was written.", file=sys.stderr)
    return INTERRUPTED


def _fault(error: Exception) -> int:
    if os.environ.get("STIFFARM_DEBUG") == "1":
        import traceback

        traceback.print_exc()
    what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    print(
        f"stiffarm: this is a fault of stiffarm, not of your input ({what}). STIFFARM_DEBUG=1 shows where.",
        file=sys.stderr,
    )
    return FAULT


def _warning_shower(other: Callable[..., None]) -> Callable[..., None]:
    """Shows our warnings as one line, all others as before."""

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, StiffarmWarning):
            print(f"warning: {message}", file=sys.stderr)
        else:
            other(message, category, filename, lineno, file, line)

    return show
