"""Parameters: the unknowns of a robot by name, and the maps between full and reduced sets of them.

A `ParameterSet` is the affine map

    full = M reduced + fixed

from the few numbers one solves for to every number the model needs.  Selecting columns, fixing, tying
(equal values), symmetry, sparsity and regrouping are all a choice of M and of the fixed vector, so that
whoever solves, plans or predicts handles one thing only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

import numpy as np
from numpy.typing import NDArray

from stiffarm.errors import InputError, Problem, did_you_mean
from stiffarm.units import UNITS, units_of

Floats = NDArray[np.float64]
Values = Mapping[str, float]

COMPLIANCE_UNITS = {"rad/(N*m)", "m/N", "rad/N", "1/N", "m/(N*m)"}


@dataclass(frozen=True)
class Parameter:
    """One unknown of a robot (SI)."""

    name: str
    unit: str
    """``m``, ``rad``, ``1``, ``kg``, ``rad/(N*m)``, ``m/N`` ..."""
    nominal: float = 0.0
    sigma: float | None = None
    """Standard deviation of what is known before measuring; None: nothing is known."""
    scale: float = 1.0
    """A typical size, for finite differences and for showing."""
    elastic: bool = False


def glob_match(name: str, pattern: str) -> bool:
    """Shell glob on parameter names, in which brackets stand for themselves (names are full of them).

    A bracket quoted as a shell would have it, ``[[]``, means the same.

    >>> glob_match("link3.compliance[x,rz]", "link3.*"), glob_match("A2.compliance[1]", "A2.compliance[*]")
    (True, True)
    >>> glob_match("A2.compliance[1]", "A2.compliance[[]*"), glob_match("A2.compliance", "A2.compliance[[]*")
    (True, False)
    """
    return fnmatchcase(name, pattern.replace("[[]", "[").replace("[", "[[]"))


def select(parameters: Sequence[Parameter], patterns: Iterable[str]) -> tuple[Parameter, ...]:
    """Parameters whose name matches any pattern, in the order of the model.

    Raises InputError for a pattern that matches nothing, naming what is there.
    """
    wanted: set[str] = set()
    names = [p.name for p in parameters]
    for pattern in patterns:
        hits = [name for name in names if glob_match(name, pattern)]
        if not hits:
            raise InputError(
                Problem(
                    "no parameter matches the pattern",
                    found=repr(pattern),
                    allowed=_families(names),
                    next_step=did_you_mean(pattern, names),
                )
            )
        wanted.update(hits)
    return tuple(p for p in parameters if p.name in wanted)


def _families(names: Sequence[str]) -> str:
    """Names shortened to what is before and after the first dot, so that a message stays readable."""
    heads = list(dict.fromkeys(name.split(".")[0] for name in names))
    tails = list(dict.fromkeys(name.split(".", 1)[1].split("[")[0] for name in names if "." in name))
    return f"{' '.join(heads[:14])} with .{' .'.join(tails[:14])}"


def with_priors(parameters: Sequence[Parameter], priors: Iterable[tuple[str, float, str]]) -> tuple[Parameter, ...]:
    """Parameters with prior standard deviations from (pattern, sigma, unit); later patterns win.

    A prior is about the parameters its unit fits: ``A2.*`` in mm says nothing of the angles of A2.  A file unit
    converts to the parameter's own (``mm`` for a length, ``deg`` for an angle).
    """
    known = list(parameters)
    for number, (pattern, sigma, unit) in enumerate(priors, start=1):
        hits = [i for i, p in enumerate(known) if glob_match(p.name, pattern)]
        if not hits:
            raise InputError(
                Problem(
                    "a prior names no parameter of this robot",
                    column=f"prior[{number}].parameter",
                    found=repr(pattern),
                    allowed=_families([p.name for p in known]),
                )
            )
        fitting = [i for i in hits if _fits(unit, known[i])]
        if not fitting:
            raise InputError(_impossible_unit([known[i] for i in hits], unit, number))
        for i in fitting:
            factor = 1.0 if unit == known[i].unit else UNITS[unit].factor
            known[i] = replace(known[i], sigma=sigma * factor)
    return tuple(known)


def _fits(unit: str, parameter: Parameter) -> bool:
    given, own = UNITS.get(unit), UNITS.get(parameter.unit)
    return unit == parameter.unit or (given is not None and own is not None and given.dimension == own.dimension)


def _impossible_unit(parameters: Sequence[Parameter], unit: str, number: int) -> Problem:
    own = list(dict.fromkeys(p.unit for p in parameters))
    allowed = dict.fromkeys(own)
    for symbol in own:
        allowed |= dict.fromkeys(units_of(UNITS[symbol].dimension) if symbol in UNITS else ())
    names = parameters[0].name if len(parameters) == 1 else f"{parameters[0].name} and {len(parameters) - 1} more"
    what = f"the prior of {names} has an impossible unit"
    return Problem(what, column=f"prior[{number}].unit", found=unit, allowed=" ".join(allowed))


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """The affine map full = matrix @ reduced + fixed between named parameters."""

    full: tuple[Parameter, ...]
    names: tuple[str, ...]
    """Names of the reduced unknowns."""
    matrix: Floats
    """(full, reduced)"""
    fixed: Floats
    """(full,)"""

    @staticmethod
    def of(parameters: Sequence[Parameter]) -> ParameterSet:
        """Everything free: the reduced set is the full one."""
        full = tuple(parameters)
        return ParameterSet(full, tuple(p.name for p in full), np.eye(len(full)), np.zeros(len(full)))

    def __len__(self) -> int:
        return len(self.names)

    def nominal(self) -> Floats:
        """Reduced values that stand closest to the nominal full ones (least squares on scaled values)."""
        scale = np.array([p.scale for p in self.full])
        target = np.array([p.nominal for p in self.full]) - self.fixed
        if not len(self):
            return np.zeros(0)
        return np.asarray(np.linalg.lstsq(self.matrix / scale[:, None], target / scale, rcond=None)[0])

    def expand(self, reduced: Floats) -> Floats:
        """Full values of reduced ones."""
        return np.asarray(self.matrix @ np.asarray(reduced, dtype=float) + self.fixed)

    def values(self, reduced: Floats) -> dict[str, float]:
        """Full values by name."""
        return {p.name: float(v) for p, v in zip(self.full, self.expand(reduced), strict=True)}

    def columns(self, full_columns: Floats) -> Floats:
        """Derivatives by the reduced unknowns from those by the full ones; parameters on the last axis."""
        return np.asarray(full_columns @ self.matrix)

    def fix(self, patterns: Iterable[str], values: Values | None = None) -> ParameterSet:
        """Hold reduced unknowns at given values (default: nominal)."""
        held = {p.name for p in select([Parameter(name, "") for name in self.names], patterns)}
        start = dict(zip(self.names, self.nominal(), strict=True)) | dict(values or {})
        keep = [i for i, name in enumerate(self.names) if name not in held]
        shift = sum(
            (self.matrix[:, i] * start[name] for i, name in enumerate(self.names) if name in held),
            start=np.zeros(len(self.full)),
        )
        return ParameterSet(
            self.full, tuple(self.names[i] for i in keep), self.matrix[:, keep], self.fixed + np.asarray(shift)
        )

    def tie(self, groups: Iterable[Sequence[str]]) -> ParameterSet:
        """Make the members of each group one unknown with one value, named after its first member."""
        leader = {name: group[0] for group in groups for name in group}
        unknown = [name for name in leader if name not in self.names]
        if unknown:
            raise InputError(
                Problem("a tie names what is not an unknown", found=unknown[0], allowed=_families(self.names))
            )
        kept = [name for name in self.names if leader.get(name, name) == name]
        merge = np.zeros((len(self.names), len(kept)))
        for i, name in enumerate(self.names):
            merge[i, kept.index(leader.get(name, name))] = 1.0
        return self.reduce(kept, merge)

    def reduce(self, names: Sequence[str], matrix: Floats, offset: Floats | None = None) -> ParameterSet:
        """Compose with a further map: this set's reduced = matrix @ new + offset."""
        shift = np.zeros(len(self.names)) if offset is None else offset
        return ParameterSet(self.full, tuple(names), self.matrix @ matrix, self.fixed + self.matrix @ shift)
