"""M3 within a fit, and a reduced fit in the parameters of the robot's own effects.

M3: compliances that noise swamps, or without which a stated use is predicted no worse, are held at zero and everything
is fitted again without them.  Which ones is decided from the readings of this fit alone, so that folds and hold-outs
decide afresh from theirs.

A model with a reduction is fitted in its own unknowns r, with covariance C.  What is reported, kept in a model file and
used for predictions are the numbers of the robot's own effects,

    full = M r + fixed,        covariance M C M',

which no longer depend on how they were reduced.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stiffarm.identifiability.design import Design, design_columns
from stiffarm.identifiability.in_use import keep_for_use
from stiffarm.identifiability.practical import practical_class, swamped
from stiffarm.identifiability.question import COMPENSATOR
from stiffarm.identifiability.reductions import neglect
from stiffarm.identify.estimate import ParameterEstimate
from stiffarm.identify.options import Options
from stiffarm.model.parameters import Parameter, ParameterSet

if TYPE_CHECKING:
    from stiffarm.identify.data import Data
    from stiffarm.identify.fit import Fit
    from stiffarm.model.arm_model import ArmModel

Floats = NDArray[np.float64]


def without_swamped(found: Fit, data: Data, options: Options) -> Fit:
    """The fit once more without the compliances of links that noise swamps, or that help no prediction of use (M3)."""
    from stiffarm.identify.choose import Dropped
    from stiffarm.identify.fit import fit_asked

    asked = replace(found.asked, neglect=False, use=())
    reasons: dict[str, str] = {}
    if found.asked.neglect:
        why = f"below {options.nu[0]:g} times its standard deviation: left out, held at zero (M3)"
        reasons |= dict.fromkeys(_swamped(found, options), why)
    for use in found.asked.use:
        why = "predictions where the model is used are no worse without it: left out, held at zero (M3)"
        reasons |= dict.fromkeys(_useless(found, use), why)
    gone = [name for name in found.names if name in reasons]
    if not gone:
        return replace(found, asked=asked)
    own = {p.name: p for p in asked.model.parameters}
    smaller = asked.model.reduced(neglect(ParameterSet.of([own[name] for name in gone]), gone))
    left = set(gone)
    # what was merged stays held: taken up again, it would only stand for what has just been left out
    names = tuple(name for name in found.names if name not in left)
    again = replace(
        asked, model=smaller, names=names, priors={n: v for n, v in asked.priors.items() if n in set(names)}
    )
    fitted = fit_asked(again, data, options)
    listed = replace(again, names=tuple(name for name in asked.names if name not in left))
    dropped = (*found.dropped, *fitted.dropped, *(Dropped(name, reasons[name]) for name in gone))
    return replace(fitted, asked=listed, dropped=dropped)


def _swamped(found: Fit, options: Options) -> list[str]:
    weak = [i for i, name in enumerate(found.names) if name.startswith("link")]
    values = np.array([found.at.values[found.names[i]] for i in weak])
    order, _ = swamped(values, found.estimate.covariance[np.ix_(weak, weak)], options.nu[0])
    return [found.names[weak[i]] for i in order]


def _useless(found: Fit, use: Design) -> list[str]:
    """Compliances of links without which the deflections of a use are predicted no worse."""
    model = found.asked.model
    elastic = {p.name for p in model.parameters if p.elastic}
    bent = [i for i, name in enumerate(found.names) if name in elastic and COMPENSATOR not in name]
    names = tuple(found.names[i] for i in bent)
    if not names:
        return []
    values = np.array([found.at.values[name] for name in names])
    rows = design_columns(replace(use, pose=False), model, names, deflection=True)
    joints = [i for i, name in enumerate(names) if not name.startswith("link")]
    chosen = keep_for_use(values, found.estimate.covariance[np.ix_(bent, bent)], rows, wanted=joints)
    return [names[i] for i in chosen.dropped]


@dataclass(frozen=True, eq=False)
class Expanded:
    """Unknowns of a fit as numbers of the robot's own effects."""

    names: tuple[str, ...]
    """Those that any unknown fitted moves, in the model's order."""
    matrix: Floats
    """(names, fitted)"""

    def covariance(self, of_fitted: Floats) -> Floats:
        """M C M'."""
        return np.asarray(self.matrix @ of_fitted @ self.matrix.T)


def expanded(model: ArmModel, fitted: tuple[str, ...]) -> Expanded:
    """The numbers that some unknowns of a model move; the unknowns themselves when nothing is reduced."""
    if model.reduction is None:
        return Expanded(fitted, np.eye(len(fitted)))
    reduction = model.reduction
    at = [reduction.names.index(name) for name in fitted]
    matrix = reduction.matrix[:, at]
    rows = np.flatnonzero(matrix.any(axis=1))
    return Expanded(tuple(reduction.full[i].name for i in rows), matrix[rows])


def in_full(found: Fit, own: tuple[ParameterEstimate, ...], options: Options) -> tuple[ParameterEstimate, ...]:
    """Estimates of a reduced model's unknowns as those of the numbers they stand for.

    A number that only one unknown moves has that one's interval times its share; one that several move has an interval
    as many standard deviations wide as the widest of theirs.
    """
    model, by_name = found.asked.model, {p.name: p for p in own}
    reduction = model.reduction
    assert reduction is not None
    values = reduction.values(np.array([found.at.values[name] for name in reduction.names]))
    full = expanded(model, found.names)
    sigma = np.sqrt(np.maximum(np.diag(full.covariance(_block(found))), 0.0))
    std = dict(zip(full.names, sigma.tolist(), strict=True))
    out = []
    for parameter, row, fixed in zip(reduction.full, reduction.matrix, reduction.fixed, strict=True):
        shares = {reduction.names[i]: float(row[i]) for i in np.flatnonzero(row)}
        asked = {name: share for name, share in shares.items() if name in by_name}
        if shares and not asked:
            continue
        if not shares and fixed == parameter.nominal and not _left_out(parameter, by_name):
            continue
        value = values[parameter.name]
        if parameter.name in std:
            out.append(_told(parameter, value, std[parameter.name], asked, by_name, options))
        else:
            out.append(_held(parameter, value, asked, by_name, options))
    return tuple(out)


def _block(found: Fit) -> Floats:
    n = len(found.names)
    return found.estimate.covariance[:n, :n]


def _left_out(parameter: Parameter, by_name: dict[str, ParameterEstimate]) -> bool:
    """Whether a number that no unknown moves belongs to something that was asked for."""
    owner = parameter.name.split(".")[0]
    return parameter.elastic and any(name.split(".")[0] == owner for name in by_name)


def _told(
    parameter: Parameter,
    value: float,
    std: float,
    asked: dict[str, float],
    by_name: dict[str, ParameterEstimate],
    options: Options,
) -> ParameterEstimate:
    fitted = {name: share for name, share in asked.items() if by_name[name].std is not None}
    low, high = _ends(value, std, fitted, by_name)
    signal = abs(value if parameter.elastic else value - parameter.nominal)
    nu = min(signal / std if std > 0.0 else np.inf, 1e16)
    merged = tuple(dict.fromkeys(m for name in fitted for m in by_name[name].merged))
    return ParameterEstimate(
        parameter.name, parameter.unit, float(value), parameter.nominal, std, low, high, options.level, float(nu),
        practical_class(nu, options.nu), merged,
    )  # fmt: skip


def _ends(
    value: float, std: float, fitted: dict[str, float], by_name: dict[str, ParameterEstimate]
) -> tuple[float, float]:
    ends = [(share, by_name[name]) for name, share in fitted.items()]
    if len(ends) == 1:
        share, p = ends[0]
        assert p.low is not None
        assert p.high is not None
        assert p.value is not None
        low, high = sorted((share * (p.low - p.value), share * (p.high - p.value)))
        return value + low, value + high
    factor = max(
        (p.high - p.low) / (2.0 * p.std) for _, p in ends if p.std and p.low is not None and p.high is not None
    )
    return value - factor * std, value + factor * std


def _held(
    parameter: Parameter,
    value: float,
    asked: dict[str, float],
    by_name: dict[str, ParameterEstimate],
    options: Options,
) -> ParameterEstimate:
    """A number that is not known from the readings: held by a parameter that was not told, or left out."""
    kinds = [by_name[name].kind for name in asked]
    kind = kinds[0] if kinds else "negligible"
    merged = tuple(dict.fromkeys(m for name in asked for m in by_name[name].merged))
    unknown = bool(kinds) and parameter.elastic and value == parameter.nominal
    return ParameterEstimate(
        parameter.name, parameter.unit, None if unknown else float(value), parameter.nominal, None, None, None,
        options.level, None, kind, merged,
    )  # fmt: skip
