"""An estimate in words and tables: verdict first, then what was found, what was held, and what to do about it."""

from __future__ import annotations

import textwrap

from stiffarm.identify.estimate import Estimate, ParameterEstimate
from stiffarm.identify.separated import separation_lines

_SHOWN = {"m": (1e3, "mm"), "rad": (1e3, "mrad"), "rad/(N*m)": (1e6, "urad/(N m)"), "m/N": (1e6, "um/N")}
_ROW = "{:<24} {:>11} {:>11} {:<11} {}"


def estimate_text(estimate: Estimate) -> str:
    """The estimate for a terminal, at most 80 columns."""
    e = estimate
    lines = [f"{'USABLE' if e.verdict.usable else 'NOT USABLE'}", *(f"  - {r}" for r in e.verdict.reasons), ""]
    fit = e.fit
    rms = "" if fit.rms_m is None else f", residual {fit.rms_m * 1e3:.4g} mm (on what was fitted)"
    lines.append(f"{fit.n_rows} readings, {fit.rank} unknowns, estimator {fit.estimator}{rms}")
    if fit.lack_of_fit is not None and fit.lack_of_fit["F"] > 2:
        lines.append(
            f"lack of fit: F = {fit.lack_of_fit['F']:.3g}; the model misses by more than repeats scatter, "
            "intervals allow for it"
        )
    lines += ["", _ROW.format("parameter", "value", "+- std", "unit", "class"), "-" * 72]
    lines += [_line(p) for p in e.parameters if p.std is not None]
    lines += [line for one in e.separations for line in separation_lines(one)]
    held = [p for p in e.parameters if p.std is None]
    if held:
        lines += ["", f"held ({len(held)}):", *_by_reason(held, {d.name: d.why for d in e.dropped})]
    if e.outliers:
        lines += ["", f"do not fit the rest ({len(e.outliers)}; {e.outliers[0].action}):"]
        lines += [f"  {o.experiment} {o.marker}: {o.evidence}" for o in e.outliers[:20]]
    return "\n".join(_wrapped(line) for line in lines) + "\n"


def _line(p: ParameterEstimate) -> str:
    factor, unit = shown_unit(p.unit)
    assert p.value is not None
    assert p.std is not None
    return _ROW.format(p.name, f"{p.value * factor:.5g}", f"{p.std * factor:.2g}", unit, p.kind)


def _by_reason(held: list[ParameterEstimate], why: dict[str, str]) -> list[str]:
    """One line per reason, with everything held for it."""
    reasons: dict[str, list[str]] = {}
    for p in held:
        reasons.setdefault(why.get(p.name, "held"), []).append(p.name)
    return [f"  {', '.join(names)}: {reason}" for reason, names in reasons.items()]


def _wrapped(line: str, width: int = 80) -> str:
    if len(line) <= width:
        return line
    own = line[: len(line) - len(line.lstrip())]
    return "\n".join(textwrap.wrap(line.strip(), width, initial_indent=own, subsequent_indent=own + "    "))


def shown_unit(unit: str) -> tuple[float, str]:
    """Factor and unit in which people read numbers of a unit.

    >>> shown_unit("m")
    (1000.0, 'mm')
    """
    return _SHOWN.get(unit, (1.0, unit))
