"""Reductions by rule, as they are asked for on a command line or in options: ``[LINKS=]RULE``.

    symmetric            M1: entries that mirror each other are one unknown
    beam:x|y|z|X,Y,Z     M2: a straight beam along an axis of the spring frame, or along any direction
    plane:x|y|z|X,Y,Z    M2: one plane of symmetry, by its normal
    diagonal             M2: six springs that know nothing of each other
    own:a,b;a,b;...      M2: these entries only, by names of axes
    zero:PATTERN         M3: these parameters are held at zero
    tie:NAME,NAME,...    these parameters have one value
    neglect              M3: what the noise of the readings swamps
    use:FILE             M3 for a use: what predicts the rows of a plan or path no better is held at zero

The last two take readings: `stiffarm identify` follows them, after all others.

Rules follow one another in their order.  ``link2=beam:x`` is for one link (a shell glob such as ``link*`` for several);
without ``LINKS=`` a rule is for every link.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.identifiability.reductions import (
    Shape,
    beam,
    diagonal,
    neglect,
    one_plane,
    own,
    symmetrise,
    with_shape,
)
from stiffarm.identifiability.stands_for import elastic_set
from stiffarm.model.arm_model import ArmModel
from stiffarm.model.parameters import Parameter, ParameterSet, glob_match, select

NEGLECT, USE = "neglect", "use:"
RULES = "symmetric beam:AXIS plane:NORMAL diagonal own:a,b;a,b zero:PATTERN tie:NAME,NAME neglect use:FILE"


def reduced_model(model: ArmModel, rules: Sequence[str]) -> ArmModel:
    """The model after some rules, those apart that wait for readings."""
    asked = [rule for rule in rules if not waits(rule)]
    if not asked:
        return model
    return model.reduced(reduced_set(elastic_set(model), asked))


def waits(rule: str) -> bool:
    """Whether a rule takes readings.

    >>> waits("neglect"), waits("use:job.path.csv"), waits("beam:x")
    (True, True, False)
    """
    return rule == NEGLECT or rule.startswith(USE)


def refuse_waiting(rules: Sequence[str]) -> None:
    """Before anything was read, nothing is known to be swamped."""
    if any(waits(rule) for rule in rules):
        raise InputError(
            Problem(
                "what noise swamps is known from readings",
                column="--reduce",
                found=" ".join(rule for rule in rules if waits(rule)),
                allowed="here zero:PATTERN",
                next_step="stiffarm identify --reduce neglect; a plan's classes say what will be negligible",
            )
        )


def reduced_set(parameters: ParameterSet, rules: Sequence[str]) -> ParameterSet:
    """A set after some rules, one after the other.

    >>> pairs = [Parameter(f"link1.compliance[{a},{b}]", "1", elastic=True) for a in "xyz" for b in "xyz"]
    >>> reduced_set(ParameterSet.of(pairs), ["symmetric", "link1=own:x,x;y,z"]).names
    ('link1.compliance[x,x]', 'link1.compliance[y,z]')
    """
    for rule in rules:
        parameters = _applied(parameters, rule)
    return parameters


def _applied(parameters: ParameterSet, text: str) -> ParameterSet:
    links, separator, rule = text.rpartition("=")
    kind, _, value = rule.partition(":")
    links = links if separator else "link*"
    if kind == "zero":
        found = select([Parameter(name, "") for name in parameters.names], [value])
        return neglect(parameters, [p.name for p in found])
    if kind == "tie":
        return parameters.tie([_names(value)])
    if kind not in SHAPES and kind != "symmetric":
        raise InputError(
            Problem(
                "there is no such reduction",
                column="--reduce",
                found=repr(text),
                allowed=f"[LINKS=]RULE, RULE one of {RULES}",
                next_step=did_you_mean(kind, ["symmetric", *SHAPES, "zero", "tie", NEGLECT]),
            )
        )
    if not any(glob_match(name.split(".")[0], links) for name in parameters.names if name.startswith("link")):
        raise InputError(
            Problem(
                "no elastic link to reduce",
                column="--reduce",
                found=repr(text),
                allowed=" ".join(dict.fromkeys(n.split(".")[0] for n in parameters.names if n.startswith("link")))
                or "no link is elastic",
                next_step="Ask for links (--elastic links), or describe them in the robot file",
            )
        )
    if kind == "symmetric":
        return symmetrise(parameters, links)
    return with_shape(parameters, SHAPES[kind](value), links)


def _names(value: str) -> list[str]:
    """Names with commas inside brackets, separated by commas outside of them."""
    names, depth = [""], 0
    for letter in value:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names]


def _axis(value: str) -> str | list[float]:
    if value in ("x", "y", "z"):
        return value
    try:
        numbers = [float(part) for part in value.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        raise InputError(
            Problem("an axis is needed", column="--reduce", found=repr(value), allowed="x y z, or X,Y,Z of a direction")
        )
    return numbers


def _own(value: str) -> Shape:
    pairs = [tuple(part.strip() for part in pair.split(",")) for pair in value.split(";")]
    if any(len(pair) != 2 for pair in pairs):
        raise InputError(
            Problem("pairs of axes are needed", column="--reduce", found=repr(value), allowed="own:x,x;y,y;y,rz")
        )
    return own([(pair[0], pair[1]) for pair in pairs])


def _diagonal(value: str) -> Shape:
    return diagonal()


SHAPES: dict[str, Callable[[str], Shape]] = {
    "beam": lambda value: beam(_axis(value or "x")),
    "plane": lambda value: one_plane(_axis(value or "y")),
    "diagonal": _diagonal,
    "own": _own,
}
