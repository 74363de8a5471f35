"""`stiffarm robot frames`: a calibrated arm in the numbers of a controller, and what each way of telling it leaves."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stiffarm.cli.common import AsJson, Output, Quiet, Seed, answer

if TYPE_CHECKING:
    from stiffarm.compensate.controller_frames import ControllerFrames, Level
    from stiffarm.compensate.dh_table import Residual
    from stiffarm.robot.arm import DenavitHartenberg
    from stiffarm.robot.placement import Rigid

BRAND_OF = {"universal-robots": "ur"}
TOLD = {
    "base and tool": "base and tool",
    "zeros": "and zeros of the axes",
    "table": "and a DH table, d held",
    "exact table": "and all of a DH table",
}


class Brand(StrEnum):
    """Whose numbers."""

    KUKA = "kuka"
    ABB = "abb"
    FANUC = "fanuc"
    UR = "ur"


class TableConvention(StrEnum):
    """How the rows of a DH table are stated."""

    DH = "dh"
    MDH = "mdh"


def robot_frames(
    model: Annotated[str, typer.Argument(help="A model file, a robot file or a packaged robot.")],
    to: Annotated[Brand | None, typer.Option(help="Whose numbers. [default: the robot file's brand, else all]")] = None,
    convention: Annotated[TableConvention, typer.Option(help="Of the DH tables.")] = TableConvention.MDH,
    as_json: AsJson = False,
    seed: Seed = 0,
    quiet: Quiet = False,
    output: Output = None,
) -> None:
    """Base, tool, zeros and DH table of a calibrated arm for its controller, and what each leaves."""
    from stiffarm.compensate.controller_frames import controller_frames
    from stiffarm.compensate.model_file import read_model

    known = read_model(model)
    found = controller_frames(known, seed)
    own = known.robot.controller.brand or ""
    own = BRAND_OF.get(own, own)
    every = [one.value for one in Brand]
    brands = [to.value] if to is not None else [own] if own in every else every
    document = {"model": model, "robot": known.robot.name, **_document(found, brands, convention.value)}
    answer(document, "\n".join(_text(found, brands, convention.value)), as_json, output)


def _document(found: ControllerFrames, brands: list[str], convention: str) -> dict[str, Any]:
    from stiffarm.compensate.controller_frames import BRANDS

    return {
        "nominal": _residual(found.nominal),
        "levels": [_level(found, level, brands, convention) for level in found.levels],
        "takes": {brand: BRANDS[brand] for brand in brands},
        "seed": found.seed,
    }


def _residual(one: Residual) -> dict[str, float]:
    return {"rms[m]": one.rms_m, "max[m]": one.max_m, "rms[rad]": one.rms_rad, "max[rad]": one.max_rad}


def _level(found: ControllerFrames, level: Level, brands: list[str], convention: str) -> dict[str, Any]:
    names = found.model.robot.joint_names
    out: dict[str, Any] = {
        "told": level.name,
        **_residual(level.apart),
        "base": {brand: found.numbers(level.base, brand) for brand in brands},
        "tool": {brand: found.numbers(level.tool, brand) for brand in brands},
    }
    if level.zeros is not None:
        out["zeros"] = dict(zip(names, level.zeros.tolist(), strict=True))
    if level.table is not None:
        frame, rows = _rows(level, convention)
        out |= {
            "convention": convention,
            "rows": [
                {"joint": name, "alpha[rad]": row.alpha, "a[m]": row.a, "d[m]": row.d, "theta[rad]": row.theta}
                for name, row in zip(names, rows, strict=True)
            ],
            "held": [name for name, held in zip(names, level.table.held, strict=True) if held],
            "frame0": {brand: found.numbers(frame, brand) for brand in brands},
            "end": {brand: found.numbers(level.table.end, brand) for brand in brands},
        }
    return out


def _rows(level: Level, convention: str) -> tuple[Rigid, tuple[DenavitHartenberg, ...]]:
    from stiffarm.compensate.dh_table import rows_as_dh

    assert level.table is not None
    return rows_as_dh(level.table) if convention == "dh" else (level.table.base, level.table.rows)


def _text(found: ControllerFrames, brands: list[str], convention: str) -> list[str]:
    import textwrap

    from stiffarm.compensate.controller_frames import BRANDS

    robot = found.model.robot
    lines = [
        f"{robot.name}: what its controller may be told, and how far it then is",
        "from the calibrated arm without load (joint values spread over the limits)",
        "",
        f"  {'told':26}{'rms mm':>10}{'max mm':>10}{'rms mrad':>11}{'max mrad':>11}",
        _residual_line("nothing: the robot file", found.nominal),
        *(_residual_line(TOLD[level.name], level.apart) for level in found.levels),
    ]
    if len(found.levels) < len(TOLD):
        lines.append("  no DH table: joints of this robot move one another")
    for brand in brands:
        lines += ["", f"{brand}: frames", *_frame_lines(found, brand), *textwrap.wrap(BRANDS[brand], 78)]
    for level in found.levels:
        if level.zeros is not None:
            lines += ["", *_zero_lines(found, level)]
        if level.table is not None:
            lines += ["", *_table_lines(found, level, convention)]
    return [*lines, "", "Springs and gear errors are in none of these: stiffarm compensate has them."]


def _residual_line(name: str, one: Residual) -> str:
    values = (1e3 * one.rms_m, 1e3 * one.max_m, 1e3 * one.rms_rad, 1e3 * one.max_rad)
    return f"  {name:26}" + "".join(
        f"{value:{width}.4f}" for value, width in zip(values, (10, 10, 11, 11), strict=True)
    )


def _frame_lines(found: ControllerFrames, brand: str) -> list[str]:
    """Base and tool of every level; numbers as the brand shows them."""
    lines = []
    for level in found.levels:
        for kind, frame in (("base", level.base), ("tool", level.tool)):
            told = found.numbers(frame, brand)
            values = " ".join(f"{key.partition('[')[0]} {_number(key, value)}" for key, value in told.items())
            lines.append(f"  {level.name}, {kind}: {values}")
    return [part for line in lines for part in _wrapped(line)]


def _number(key: str, value: float) -> str:
    """0.1 um and 1e-6 deg, without a minus before zero.

    >>> _number("X[mm]", -0.00001), _number("rx[rad]", 0.5)
    ('0.0000', '0.500000')
    """
    places = 4 if key.endswith("[mm]") else 7 if key.endswith("[m]") else 6
    return f"{round(value, places) + 0.0:.{places}f}"


def _wrapped(line: str) -> list[str]:
    import textwrap

    return textwrap.wrap(line, 78, initial_indent="  ", subsequent_indent="      ")


def _zero_lines(found: ControllerFrames, level: Level) -> list[str]:
    """What each axis shows too little."""
    import numpy as np

    assert level.zeros is not None
    joints = found.model.robot.joints
    told = (
        f"{joint.name} {1e3 * value:.4f} mm"
        if joint.kind == "prismatic"
        else f"{joint.name} {np.degrees(value):.5f} deg"
        for joint, value in zip(joints, level.zeros, strict=True)
    )
    return ["zeros: add to what each axis shows (a new mastering)", *_wrapped(", ".join(told))]


def _table_lines(found: ControllerFrames, level: Level, convention: str) -> list[str]:
    """A DH table with its base and end."""
    import numpy as np

    assert level.table is not None
    frame, rows = _rows(level, convention)
    names = found.model.robot.joint_names
    order = {
        "dh": "RotZ(theta) TransZ(d) TransX(a) RotX(alpha)",
        "mdh": "RotX(alpha) TransX(a) RotZ(theta) TransZ(d)",
    }[convention]
    held = [name for name, one in zip(names, level.table.held, strict=True) if one]
    kept = f", d of {', '.join(held)} as in the robot file" if level.name == "table" and held else ""
    lines = [
        f"{level.name}{kept}",
        f"  {order}",
        f"  {'joint':8}{'alpha deg':>14}{'a mm':>16}{'d mm':>16}{'theta deg':>14}",
    ]
    for name, row in zip(names, rows, strict=True):
        alpha, theta = np.degrees(row.alpha), np.degrees(row.theta)
        lines.append(
            f"  {name:8}{_number('deg', alpha):>14}{_number('[mm]', 1e3 * row.a):>16}"
            f"{_number('[mm]', 1e3 * row.d):>16}{_number('deg', theta):>14}"
        )
    for kind, one in (("frame 0 in the world", frame), ("tool in the last frame", level.table.end)):
        numbers = " ".join(_number(key, value) for key, value in found.numbers(one, "kuka").items())
        lines += _wrapped(f"{kind} (mm; A B C deg): {numbers}")
    return lines
