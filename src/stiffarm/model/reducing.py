"""A model with fewer unknowns: the map full = M reduced + fixed put before its effects.

The map may name any parameters of the model; those it does not name stay as they are.  An effect none of whose
parameters is changed stays itself, any other is put behind its own rows of the map
(`stiffarm.model.effects.reduced`).  An unknown that moves several effects (a tie) is a parameter of each of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stiffarm.model.effects import Effect
from stiffarm.model.effects.reduced import ReducedEffect
from stiffarm.model.parameters import Parameter, ParameterSet

Floats = NDArray[np.float64]


def composed(parameters: tuple[Parameter, ...], before: ParameterSet | None, further: ParameterSet) -> ParameterSet:
    """The map from all parameters of a model, after ``before`` and ``further`` over its unknowns."""
    current = ParameterSet.of(parameters) if before is None else before
    named = {p.name: i for i, p in enumerate(further.full)}
    at = {name: i for i, name in enumerate(current.names)}
    rest = [name for name in current.names if name not in named]
    names = [*rest, *further.names]
    matrix = np.zeros((len(current.names), len(names)))
    offset = np.zeros(len(current.names))
    for k, name in enumerate(rest):
        matrix[at[name], k] = 1.0
    for name, i in named.items():
        if name in at:
            matrix[at[name], len(rest) :] = further.matrix[i]
            offset[at[name]] = further.fixed[i]
    return current.reduce(names, matrix, offset)


def reduced_parameters(reduction: ParameterSet) -> dict[str, Parameter]:
    """What is known of every unknown of a map: unit, nominal value, typical size."""
    own = {p.name: p for p in reduction.full}
    nominal = reduction.nominal()
    share = np.abs(reduction.matrix)
    scale = share.T @ np.array([p.scale for p in reduction.full]) / np.maximum(share.sum(axis=0), 1e-300)
    found = {}
    for r, name in enumerate(reduction.names):
        moved = np.flatnonzero(share[:, r])
        if name in own and moved.size == 1 and reduction.full[moved[0]].name == name:
            found[name] = own[name]
            continue
        lead = own.get(name) or reduction.full[int(np.argmax(share[:, r]))]
        known = any(reduction.full[i].nominal != reduction.fixed[i] for i in moved)  # else zero, and not to rounding
        value = float(nominal[r]) if known else 0.0
        found[name] = Parameter(name, lead.unit, value, None, float(scale[r]), lead.elastic)
    return found


def reduced_effects(effects: tuple[Effect, ...], reduction: ParameterSet) -> tuple[Effect, ...]:
    """The effects behind a map over all their parameters, in their order."""
    known = reduced_parameters(reduction)
    out: list[Effect] = []
    start = 0
    for effect in effects:
        rows = slice(start, start + len(effect.parameters))
        start = rows.stop
        matrix, fixed = reduction.matrix[rows], reduction.fixed[rows]
        used = np.flatnonzero(matrix.any(axis=0))
        parameters = tuple(known[reduction.names[i]] for i in used)
        part = matrix[:, used]
        same = tuple(p.name for p in parameters) == tuple(p.name for p in effect.parameters)
        if same and np.array_equal(part, np.eye(len(part))) and not fixed.any():
            out.append(effect)
        else:
            out.append(ReducedEffect(effect, parameters, part, fixed))
    return tuple(out)
