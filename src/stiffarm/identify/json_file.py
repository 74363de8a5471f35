"""A JSON file as what it holds, or one message that says where it is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from stiffarm.errors import InputError, Problem


def read_json(path: Path) -> Any:
    """What a JSON file holds; `InputError` when it cannot be read.

    ``NaN`` and ``Infinity``, which Python would read, are no JSON: what is not finite is written as null.
    """
    file = str(path)
    try:
        return json.loads(path.read_bytes(), parse_constant=_refuse)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        step = "Check the path; models are written by identify"
        raise InputError(Problem("the model file cannot be read", file, found=reason, next_step=step)) from None
    except json.JSONDecodeError as error:
        what = f"this is not JSON ({error.msg.lower()})"
        raise InputError(Problem(what, file, row=error.lineno, column=f"character {error.colno}")) from None
    except UnicodeDecodeError:
        raise InputError(Problem("this is not text in UTF-8", file)) from None
    except RecursionError:
        what, allowed = "this is not a model file: brackets are nested too deeply", "the levels that identify writes"
        raise InputError(Problem(what, file, found="hundreds of levels", allowed=allowed)) from None
    except ValueError as error:  # an integer of thousands of digits, a path no file system takes, or what is below
        raise InputError(Problem("this is not a model file", file, found=str(error)[:80], allowed="JSON")) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON; null stands for what is not finite")
