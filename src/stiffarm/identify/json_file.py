"""A JSON file as what it holds, or one message that says where it is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

from stiffarm.errors import InputError, Problem, found_text


def read_json(path: Path, wanted: str = "a model file, which identify writes (-o my.model.json)") -> Any:
    """What a JSON file holds; `InputError`, which names what is ``wanted``, when it cannot be read.

    ``NaN`` and ``Infinity``, which Python would read, are no JSON: what is not finite is written as null.
    """
    file = str(path)
    try:
        return json.loads(path.read_bytes(), parse_constant=_refuse)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        what, step = "this file cannot be read", "Check the path"
        raise InputError(Problem(what, file, found=reason, allowed=wanted, next_step=step)) from None
    except json.JSONDecodeError as error:
        what = f"this is not JSON ({error.msg.lower()})"
        line = "nothing" if not error.doc.strip() else found_text(error.doc.split("\n")[error.lineno - 1].strip())
        place = f"character {error.colno}"
        raise InputError(Problem(what, file, error.lineno, place, found=line, allowed=wanted)) from None
    except UnicodeDecodeError:
        raise InputError(Problem("this is not text in UTF-8", file)) from None
    except RecursionError:
        what, allowed = "this is not a model file: brackets are nested too deeply", "the levels that identify writes"
        raise InputError(Problem(what, file, found="hundreds of levels", allowed=allowed)) from None
    except ValueError as error:  # an integer of thousands of digits, a path no file system takes, or what is below
        raise InputError(Problem("this is not a model file", file, found=str(error)[:80], allowed="JSON")) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON; null stands for what is not finite")
